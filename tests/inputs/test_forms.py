"""A sample in any form, missing ones too, counts the same alone and in a batch, in every state, window and group."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.input_forms import FLOATS, MAKERS, NUMBERS, OTHERS, Form, columns_and_rows, needing
from support.input_states import LABELS, SCORED, SETS, alone, together
from support.refusals import refused

import stream_metrics as sm

WHOLE = [3.0, 1.0, 7.0, 9.0, 1.0, 0.0, 1.0, 5.0]
EDGES = [0.1, 0.3, 0.7, 0.9, 0.1, 0.0, 1.0, 0.5]  # float32 has neither 0.1, 0.3, 0.7 nor 0.9
TRUTH = [True, False, True, True, False, False, True, True]

Compared = Iterator[tuple[str, Any, Any]]  # the name of a state, the batch, and the rows one by one


def given(names: str, form: Form, values: list[float] = EDGES, **plain: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns of a batch, those of some names in a form, and the same columns as rows."""
    formed = {name: form(values) for name in names.split()}
    batch, rows = ({name: pair[at] for name, pair in formed.items()} for at in (0, 1))
    return {"y_true": TRUTH} | plain | batch, {"y_true": TRUTH} | plain | rows


def numbers(argument: str, makes: dict[str, Callable[[], Any]]) -> Callable[[Form], Compared]:
    """Return what compares predictions, of which floats are scores and others may be labels, or scores."""

    def compared(form: Form) -> Compared:
        for name, make in makes.items():
            batch, rows = given(argument, form)
            yield name, together(make, 8, **batch), alone(make, **rows)

    return compared


def labels(form: Form) -> Compared:
    """Compare truths and predictions that are labels, and truths beside predictions of a set with scores."""
    for name, make in LABELS.items():
        batch, rows = given("y_true", form, WHOLE, y_pred=WHOLE[::-1])
        yield f"{name}, y_true", together(make, 8, **batch), alone(make, **rows)
        batch, rows = given("y_pred", form, WHOLE[::-1], y_true=WHOLE)
        yield f"{name}, y_pred", together(make, 8, **batch), alone(make, **rows)
        batch, rows = given("y_true y_pred", form, WHOLE, w=[2, 0.5, 0, 1, 2**55, 1, 1, 1])
        yield f"{name}, both", together(make, 8, **batch), alone(make, **rows)
    batch, rows = given("y_true", form, WHOLE, y_pred=[x > 0.5 for x in EDGES])
    yield "set with scores", together(SETS["set"], 8, **batch), alone(SETS["set"], **rows)


def weights(form: Form) -> Compared:
    """Compare weights: every number from 0 is one."""
    for name, make in (SCORED | LABELS).items():
        batch, rows = given("w", form, y_pred=EDGES if name in SCORED else TRUTH[::-1])
        yield name, together(make, 8, **batch), alone(make, **rows)


def mappings(form: Form) -> Compared:
    """Compare the numbers of mappings, of rows with `classes` and of tables of these."""
    for name, make in SCORED.items():
        (_, first), (_, second) = form(EDGES), form([1 - x for x in EDGES])
        pairs = [{True: a, False: b} for a, b in zip(first, second, strict=True)]
        batch = together(make, 8, y_true=TRUTH, y_pred=pairs)
        yield name, batch, alone(make, y_true=TRUTH, y_pred=pairs)
        if name in SETS:
            rows = [[*pair.values()] for pair in pairs]
            yield f"{name}, rows", batch, alone(make, y_true=TRUTH, y_pred=rows, classes=[[True, False]] * 8)
            yield f"{name}, rows", batch, together(make, 8, y_true=TRUTH, y_pred=rows, classes=[True, False])


def tables(form: Form) -> Compared:
    """Compare tables of scores with their rows."""
    column, _ = form(EDGES)
    if not hasattr(column, "dtype") or not hasattr(column, "reshape"):
        return
    table, truth = column.reshape(-1, 2), ["a", "b", "a", "b"]
    for name, make in SETS.items():
        batch = together(make, 4, y_true=truth, scores=table, classes=["a", "b"])
        yield name, batch, together(make, 4, y_true=truth, y_pred=table, classes=["a", "b"])
        yield name, batch, alone(make, y_true=truth, scores=list(table), classes=[["a", "b"]] * 4)


def two_models(form: Form) -> Compared:
    """Compare predictions of both models, weights and units of a comparison, with scores and without."""
    for scores, which in product((False, True, "any"), ("pred_a", "pred_b", "w", "unit")):
        plain = EDGES if scores else TRUTH
        columns = {"pred_a": plain, "pred_b": plain[::-1], "w": [1] * 8, "unit": list(range(8))}
        batch, rows = given(which, form, EDGES if scores else WHOLE, **columns)
        if which == "unit" and rows["unit"] == [None] * 8:
            continue  # a sample may come without a unit, but a column of units has one in every row
        make = lambda scores=scores: sm.Comparison(scores=scores)  # noqa: E731
        yield f"{which}, {scores}", together(make, 8, **batch), alone(make, **rows)


ENTRIES: dict[str, tuple[Callable[[Form], Compared], dict[str, Form]]] = {  # with the forms that must be taken
    "predictions": (numbers("y_pred", SCORED), FLOATS),
    "scores": (numbers("scores", SETS), FLOATS | NUMBERS),
    "labels": (labels, FLOATS),
    "weights": (weights, FLOATS | NUMBERS),
    "mappings": (mappings, FLOATS | NUMBERS),
    "tables": (tables, FLOATS | NUMBERS),
    "two models": (two_models, FLOATS),
}


@pytest.mark.parametrize(("entry", "library"), [*product(ENTRIES, ("numpy", "ml_dtypes", "torch"))])
def test_every_form_counts_alike(entry: str, library: str) -> None:
    """A column in any form is read as its rows are, wherever it is given, and numbers are taken where they may be."""
    compared, taken = ENTRIES[entry]
    failures = []
    tried = FLOATS | NUMBERS | OTHERS
    for name, form in needing(library, tried).items():
        for state, batch, single in compared(form):
            if batch != single:
                failures.append((name, state, batch, single))
            if name in taken and not isinstance(batch, bytes) and "fixed matrix" not in state:
                failures.append((name, state, batch))

    assert not failures


BESIDE = [None, {}, 0.2, np.float32(0.1), {True: 0.4, False: 0.6}, {0.5: 0.4, 1.5: 0.6}]


def test_predictions_beside_scores() -> None:
    """A float or a mapping is a label beside scores and the scores where there are none, alone and in a batch."""
    failures = []
    values = (0.5, 1.5, np.float32(0.1), np.array(0.7), True, "a", None, {}, {True: 0.3}, 1)
    beside = [[None, x] for x in BESIDE] + [[x, x] for x in BESIDE]
    makes = {name: SETS[name] for name in ("set", "set, any scores", "rolling set", "groups of windows")}
    for predicted, scores, truth, (name, make) in product(values, beside, (True, 0.5, "a"), makes.items()):
        columns: dict[str, Any] = {"y_true": [truth] * 2, "y_pred": [predicted] * 2, "scores": scores}
        if together(make, 2, **columns) != alone(make, **columns):
            failures.append((name, columns))

    assert not failures


ARGUMENTS: dict[str, Callable[[Any], tuple[Any, dict[str, Any]]]] = {  # a state, and the column beside good ones
    "y_true": lambda x: (sm.ConfusionMatrix(), {"y_true": x, "y_pred": NAMES}),
    "y_pred": lambda x: (sm.ConfusionMatrix(), {"y_true": NAMES, "y_pred": x}),
    "fixed y_true": lambda x: (sm.ConfusionMatrix(["a", 1], other="é"), {"y_true": x, "y_pred": NAMES}),
    "fixed y_pred": lambda x: (sm.MetricSet(labels=["b", "a", 1]), {"y_true": NAMES, "y_pred": x, "w": [2, 0.5, 0]}),
    "kept y_pred": lambda x: (sm.Rolling(sm.MetricSet(), 5), {"y_true": NAMES, "y_pred": x}),
    "soft y_pred": lambda x: (sm.MetricSet(scores=True, threshold=0.1), {"y_true": [True, False, True], "y_pred": x}),
    "pred_a": lambda x: (sm.Comparison(), {"y_true": NAMES, "pred_a": x, "pred_b": NAMES}),
    "soft pred_a": lambda x: (sm.Comparison(scores=True), {"y_true": [1, 0, 1], "pred_a": x, "pred_b": [0.5] * 3}),
    "rows of pred_b": lambda x: (
        sm.Comparison(scores="any"),
        {"y_true": NAMES, "pred_a": [[0.5, 0.5]] * 3, "pred_b": x, "classes": ["a", "b"]},
    ),
    "y_pred beside scores": lambda x: (
        sm.MetricSet(scores=True),
        {"y_true": NAMES, "y_pred": x, "scores": [{"a": 1}, None, None]},
    ),
    "w": lambda x: (sm.ConfusionMatrix(), {"y_true": NAMES, "y_pred": NAMES, "w": x}),
    "scores": lambda x: (sm.ProbabilityLosses(), {"y_true": [1, 0, 1], "scores": x}),
    "scores of classes": lambda x: (sm.MetricSet(scores=True), {"y_true": NAMES, "scores": x}),
    "kept scores": lambda x: (sm.Rolling(sm.MetricSet(scores=True), 5), {"y_true": NAMES, "scores": x}),
    "group": lambda x: (sm.ByGroup(sm.MetricSet()), {"y_true": NAMES, "y_pred": NAMES, "group": x}),
    "grouped": lambda x: (sm.ByGroup(sm.MetricSet()), {"y_true": NAMES, "y_pred": x, "group": NAMES}),
    "unit": lambda x: (sm.MetricSet(), {"y_true": NAMES, "y_pred": NAMES, "unit": x}),
    "t": lambda x: (sm.TimeWindow(sm.Accuracy(), "900d"), {"y_true": NAMES, "y_pred": NAMES, "t": x}),
    "t of groups": lambda x: (
        sm.ByGroup(sm.TimeWindow(sm.MetricSet(), "900d")),
        {"y_true": NAMES, "y_pred": NAMES, "t": x, "group": NAMES},
    ),
    "t of fading": lambda x: (sm.Fading(sm.Accuracy(), "900d"), {"y_true": NAMES, "y_pred": NAMES, "t": x}),
    "x": lambda x: (sm.ChangeDetector(0.2, arl=100), {"x": x}),
}
NAMES = ["a", "b", "a"]


def ending(argument: str, column: Any) -> Any:
    """Return the bytes after a column, or the error, which a column that is refused as a whole has without a row."""
    state, columns = ARGUMENTS[argument](column)
    try:
        state.update_many(**columns)
    except sm.StreamMetricsError as error:
        return "refused" if error.argument else error
    except ValueError as error:
        return "refused" if argument == "x" and str(error).startswith("Expected `x`") else error
    return state.to_bytes()


@pytest.mark.quick
@pytest.mark.parametrize("library", MAKERS)
def test_every_column_equals_its_rows(library: str) -> None:
    """A column of any type of any library leaves the bytes of the list of its rows, or both are refused."""
    failures, listed = [], {}
    for (name, make, rows), argument in product(columns_and_rows(library), ARGUMENTS):
        same = argument, repr(rows)
        listed[same] = listed[same] if same in listed else ending(argument, rows)
        column = ending(argument, make())
        if column != listed[same] or not isinstance(column, bytes | str):
            failures.append((name, argument, column, listed[same]))

    assert not failures


THREE = [1, 0, 1]
FORMS: dict[str, Callable[[], Any]] = {
    "None": lambda: [1, 0, None],
    "empty mapping": lambda: [1, 0, {}],
    "nan": lambda: [1, 0, float("nan")],
    "float64": lambda: np.array([1, 0, np.nan]),
    "NaT": lambda: [1, 0, pd.NaT],
    "NumPy NaT": lambda: [1, 0, np.datetime64("NaT")],
    "NA": lambda: [1, 0, pd.NA],
    "O": lambda: pd.Series([1, 0, None], dtype="O"),
    "Int64": lambda: pd.Series([1, 0, None], dtype="Int64"),
}


@pytest.mark.quick
def test_a_missing_prediction_is_an_abstention() -> None:
    """One by one, in a batch and taken back, weighted or not, in every state and window; two others are counted."""
    for (name, make), form, w in product(LABELS.items(), FORMS, ([1, 1, 1], [1, 2.5, 3])):
        rows = list(FORMS[form]())
        batch = together(make, 3, y_true=THREE, y_pred=FORMS[form](), w=w)
        assert batch == alone(make, y_true=THREE, y_pred=rows, w=w), (name, form)
        state = sm.from_bytes(batch)
        if isinstance(state, sm.ByGroup):
            continue
        assert (state.n, state.abstained) == (0 if name == "full window" else 2, 1), (name, form)
        if isinstance(state, sm.ConfusionMatrix | sm.MetricSet | sm.Metric):
            for row in zip(THREE, rows, w, strict=True):
                state.revert(*row)
            assert state == make(), (name, form)


@pytest.mark.quick
def test_a_missing_truth_is_an_error() -> None:
    """The error names the row, and nothing is counted."""
    for form, make in FORMS.items():
        state = sm.ConfusionMatrix()
        error: Any = refused(lambda: state.update_many(make(), THREE), sm.LabelError)  # noqa: B023
        assert (error.argument, error.position) == ("y_true", 2), form
        assert state == sm.ConfusionMatrix()


@pytest.mark.quick
def test_a_missing_score_that_is_no_number_is_an_abstention() -> None:
    """NA and NaT are no scores; nan is a number that a model should not return."""
    windows = lambda: sm.Rolling(sm.ROCAUC(), 9), lambda: sm.MetricSet(scores=True)
    for make in (sm.ROCAUC, sm.LogLoss, sm.RankSketch, *windows):
        for missing in (None, pd.NA, pd.NaT):
            state, batch = make(), make()
            state.update(1, 0.5)
            state.update(1, missing)
            batch.update_many([1, 1], [0.5, missing])
            assert (state.n, state.abstained) == (1, 1)
            assert state == batch
        refused(lambda: state.update(1, float("nan")), sm.ScoreError)  # noqa: B023
    masked = sm.MetricSet(scores=True)
    masked.update_many([True, False], np.ma.array([0.25, 0.75], mask=[False, True]))
    assert (masked.n, masked.abstained, masked.snapshot().scored) == (1, 1, 1)


@pytest.mark.quick
def test_a_comparison_abstains_alike() -> None:
    """Either model may abstain in any spelling."""
    for form in ("nan", "float64", "NA", "O"):
        batch, single = sm.Comparison(), sm.Comparison()
        batch.update_many(THREE, FORMS[form](), THREE)
        for row in zip(THREE, list(FORMS[form]()), THREE, strict=True):
            single.update(*row)
        assert single == batch
        assert batch.n == 2
