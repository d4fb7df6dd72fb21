"""A sample in any form counts the same alone and in a batch, in every state, window and group."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from support.input_forms import FLOATS, NUMBERS, OTHERS, Form, needing
from support.refusals import refused

import stream_metrics as sm

WHOLE = [3.0, 1.0, 7.0, 9.0, 1.0, 0.0, 1.0, 5.0]
EDGES = [0.1, 0.3, 0.7, 0.9, 0.1, 0.0, 1.0, 0.5]  # float32 has neither 0.1, 0.3, 0.7 nor 0.9
TRUTH = [True, False, True, True, False, False, True, True]

SETS: dict[str, Callable[[], Any]] = {
    "set": lambda: sm.MetricSet(scores=True, threshold=0.1),
    "set, other threshold": lambda: sm.MetricSet(scores=True, threshold=0.3),
    "set, any scores": lambda: sm.MetricSet(scores="any", threshold=0.7),
    "rolling set": lambda: sm.Rolling(sm.MetricSet(scores=True, threshold=0.1), 5),
    "window": lambda: sm.TimeWindow(sm.MetricSet(scores=True, threshold=0.1), 60),
    "fading": lambda: sm.Fading(sm.MetricSet(scores=True, threshold=0.1), 4),
    "groups": lambda: sm.ByGroup(sm.MetricSet(scores=True, threshold=0.1)),
    "groups of windows": lambda: sm.ByGroup(sm.Rolling(sm.MetricSet(scores=True, threshold=0.1), 3)),
}
SCORED: dict[str, Callable[[], Any]] = SETS | {
    "sketch": sm.RankSketch,
    "losses": sm.ProbabilityLosses,
    "area": sm.ROCAUC,
    "log loss": sm.LogLoss,
    "rolling area": lambda: sm.Rolling(sm.ROCAUC(), 5),
    "rolling losses": lambda: sm.Rolling(sm.ProbabilityLosses(), 5),
    "window of a sketch": lambda: sm.TimeWindow(sm.RankSketch(), 60),
    "groups of losses": lambda: sm.ByGroup(sm.ProbabilityLosses()),
}
LABELS: dict[str, Callable[[], Any]] = {
    "matrix": sm.ConfusionMatrix,
    "fixed matrix": lambda: sm.ConfusionMatrix([0, 1], other=2),
    "set": sm.MetricSet,
    "metric": sm.MacroF1,
    "rolling": lambda: sm.Rolling(sm.MetricSet(), 5),
    "window": lambda: sm.TimeWindow(sm.MetricSet(), 60),
    "fading": lambda: sm.Fading(sm.MacroF1(), 4),
    "groups": lambda: sm.ByGroup(sm.MetricSet()),
}
Compared = Iterator[tuple[str, Any, Any]]  # the name of a state, the batch, and the rows one by one


def outcome(feed: Callable[[], Any]) -> Any:
    """Return the bytes of a state that was fed, "refused" if it raised an error of the package."""
    try:
        state = feed()
    except sm.StreamMetricsError as error:
        return "refused" if str(error).startswith("Expected ") else error
    return state.to_bytes()


def named(state: Any, n: int, row: int | None = None) -> dict[str, Any]:
    """Return the arguments that a state needs beside a sample, or beside a batch of n."""
    if isinstance(state, sm.TimeWindow):
        return {"t": [float(at) for at in range(n)] if row is None else float(row)}
    if isinstance(state, sm.ByGroup):
        return {"group": [at % 2 for at in range(n)] if row is None else row % 2}
    return {}


def alone(make: Callable[[], Any], y_true: list[Any], y_pred: list[Any], w: Any = None, **more: list[Any]) -> Any:
    """Return what one sample after the other leaves."""

    def feed() -> Any:
        state = make()
        for row, (truth, predicted) in enumerate(zip(y_true, y_pred, strict=True)):
            beside = {name: values[row] for name, values in more.items()}
            state.update(truth, predicted, 1 if w is None else w[row], **named(state, 0, row), **beside)
        return state

    return outcome(feed)


def together(make: Callable[[], Any], y_true: Any, y_pred: Any, w: Any = None, n: int = 8, **more: Any) -> Any:
    """Return what the batch leaves; one that is refused leaves nothing."""
    state, empty = make(), make().to_bytes()

    def feed() -> Any:
        state.update_many(y_true, y_pred, w, **named(state, n), **more)
        return state

    after = outcome(feed)
    assert after != "refused" or state.to_bytes() == empty
    return after


def predictions(form: Form) -> Compared:
    """Compare predictions: floats are scores, other numbers may be labels."""
    for name, make in SCORED.items():
        column, rows = form(EDGES)
        yield name, together(make, TRUTH, column), alone(make, TRUTH, rows)


def scores(form: Form) -> Compared:
    """Compare scores: every finite number is one."""
    for name, make in SETS.items():
        column, rows = form(EDGES)
        yield name, together(make, TRUTH, None, scores=column), alone(make, TRUTH, [None] * len(rows), scores=rows)


def labels(form: Form) -> Compared:
    """Compare truths and predictions that are labels, and truths beside predictions of a set with scores."""
    for name, make in LABELS.items():
        (truth, truth_rows), (predicted, predicted_rows) = form(WHOLE), form(WHOLE[::-1])
        yield name, together(make, truth, predicted), alone(make, truth_rows, predicted_rows)
    truth, rows = form(WHOLE)
    beside = [x > 0.5 for x in EDGES]
    make = lambda: sm.MetricSet(scores=True)  # noqa: E731
    yield "set with scores", together(make, truth, beside), alone(make, rows, beside)


def weights(form: Form) -> Compared:
    """Compare weights: every number from 0 is one."""
    for name, make in (SCORED | LABELS).items():
        column, rows = form(EDGES)
        predicted = EDGES if make in SCORED.values() else TRUTH[::-1]
        yield name, together(make, TRUTH, predicted, column), alone(make, TRUTH, predicted, rows)


def mappings(form: Form) -> Compared:
    """Compare the numbers of mappings, of rows with `classes` and of tables of these."""
    for name, make in SCORED.items():
        (_, first), (_, second) = form(EDGES), form([1 - x for x in EDGES])
        pairs = [{True: a, False: b} for a, b in zip(first, second, strict=True)]
        yield name, together(make, TRUTH, pairs), alone(make, TRUTH, pairs)
        if make in SETS.values():
            rows, classes = [[*pair.values()] for pair in pairs], [[True, False]] * len(pairs)
            batch = together(make, TRUTH, rows, classes=classes[0])
            yield f"{name}, rows", batch, together(make, TRUTH, pairs)
            yield f"{name}, rows", batch, alone(make, TRUTH, rows, classes=classes)


def tables(form: Form) -> Compared:
    """Compare tables of scores with their rows."""
    column, _ = form(EDGES)
    if not hasattr(column, "dtype") or not hasattr(column, "reshape"):
        return
    table, truth = column.reshape(-1, 2), ["a", "b", "a", "b"]
    classes = [["a", "b"]] * len(table)
    for name, make in SETS.items():
        batch = together(make, truth, None, scores=table, classes=classes[0], n=4)
        yield name, batch, together(make, truth, table, classes=classes[0], n=4)
        yield name, batch, alone(make, truth, [None] * 4, scores=list(table), classes=classes)


def two_models(form: Form) -> Compared:
    """Compare predictions of both models, weights and units of a comparison, with scores and without."""
    for scores in (False, True, "any"):
        for which in ("pred_a", "pred_b", "w", "unit"):
            plain = EDGES if scores else TRUTH
            column, rows = form(EDGES if scores else WHOLE)
            if which == "unit" and all(row is None for row in rows):
                continue  # a sample may come without a unit, but a column of units has one in every row
            given = {"pred_a": plain, "pred_b": plain[::-1], "w": [1] * len(plain), "unit": list(range(len(plain)))}
            many, one = (sm.Comparison(scores=scores) for _ in "ab")  # type: ignore[arg-type]

            def batch(many: Any = many, given: Any = {**given, which: column}) -> Any:  # noqa: B006
                many.update_many(TRUTH, **given)
                return many

            def single(one: Any = one, given: Any = {**given, which: rows}) -> Any:  # noqa: B006
                for row, truth in enumerate(TRUTH):
                    one.update(truth, **{name: values[row] for name, values in given.items()})
                return one

            yield f"{which}, {scores}", outcome(batch), outcome(single)


def times(form: Form) -> Compared:
    """Compare times, which a generator gives once for all groups."""
    column, rows = form([1.1, 2.3, 3.7, 66.2])
    many, one = (sm.ByGroup(sm.TimeWindow(sm.MetricSet(), 60)) for _ in range(2))

    def batch() -> Any:
        many.update_many([1, 2, 1, 2], [1, 1, 1, 1], t=column, group=[1, 2, 1, 2])
        return many

    def single() -> Any:
        for row, t in enumerate(rows):
            one.update(1 + row % 2, 1, t=t, group=1 + row % 2)
        return one

    yield "groups of windows", outcome(batch), outcome(single)


ENTRIES: dict[str, tuple[Callable[[Form], Compared], dict[str, Form]]] = {  # with the forms that must be taken
    "predictions": (predictions, FLOATS),
    "scores": (scores, FLOATS | NUMBERS),
    "labels": (labels, FLOATS),
    "weights": (weights, FLOATS | NUMBERS),
    "mappings": (mappings, FLOATS | NUMBERS),
    "tables": (tables, FLOATS | NUMBERS),
    "two models": (two_models, FLOATS),
    "times": (times, FLOATS),
}


@pytest.mark.parametrize("library", ["numpy", "ml_dtypes", "torch"])
@pytest.mark.parametrize("entry", ENTRIES)
def test_every_form_counts_alike(entry: str, library: str) -> None:
    """A column in any form is read as its rows are, wherever it is given, and numbers are taken where they may be."""
    compared, taken = ENTRIES[entry]
    failures = []
    tried = FLOATS | NUMBERS | (OTHERS if entry != "times" else {})
    for name, form in needing(library, tried).items():
        for state, batch, single in compared(form):
            if batch != single:
                failures.append((name, state, batch, single))
            if name in taken and not isinstance(batch, bytes) and state != "fixed matrix":
                failures.append((name, state, batch))

    assert not failures


BESIDE = [None, {}, 0.2, np.float32(0.1), {True: 0.4, False: 0.6}, {0.5: 0.4, 1.5: 0.6}]


def test_predictions_beside_scores() -> None:
    """A float or a mapping is a label beside scores and the scores where there are none, alone and in a batch."""
    failures = []
    for predicted in (0.5, 1.5, np.float32(0.1), np.array(0.7), True, "a", None, {}, {True: 0.3}, 1):
        for scores in [[None, x] for x in BESIDE] + [[x, x] for x in BESIDE]:
            for name, make in SETS.items():
                for truth in (True, 0.5, "a"):
                    batch = together(make, [truth] * 2, [predicted] * 2, scores=scores, n=2)
                    if batch != alone(make, [truth] * 2, [predicted] * 2, scores=scores):
                        failures.append((name, truth, predicted, scores))

    assert not failures


@pytest.mark.quick
def test_a_float_label_beside_a_missing_score() -> None:
    """Where the score of a row is missing, a float prediction is the score, whether the row comes alone or not."""
    for feed in (
        lambda state: state.update(1, 1.5, scores=None),
        lambda state: state.update_many([1, 0], [1.5, 1.0], scores=[None, 0.2]),
        lambda state: state.update_many(np.array([1, 0]), np.array([1.5, 1.0]), scores=[None, 0.2]),
    ):
        state = sm.MetricSet(scores=True)
        assert refused(lambda: feed(state), sm.ScoreError).got == 1.5  # type: ignore[attr-defined]  # noqa: B023
        assert state == sm.MetricSet(scores=True)


@pytest.mark.quick
def test_one_time_for_a_batch() -> None:
    """A time without dimensions is that of every row."""
    for t in (np.array(1.7e9), np.float32(17.0), np.int64(17), np.array("2020-01-01", "M8[ns]")):
        many, one = (sm.TimeWindow(sm.MetricSet(), 60) for _ in range(2))
        many.update_many([1, 2], [1, 1], t=t)
        one.update(1, 1, t=t)
        one.update(2, 1, t=t)
        assert many == one
        groups = sm.ByGroup(sm.TimeWindow(sm.MetricSet(), 60))
        groups.update_many([1, 2], [1, 1], t=t, group=[1, 2])
        assert groups.state(1).latest == many.latest
