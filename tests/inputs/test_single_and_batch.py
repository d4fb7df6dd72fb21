"""A sample in any form counts the same alone and in a batch, in every state, window and group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.input_forms import FLOATS, NUMBERS, OTHERS

import stream_metrics as sm

FORMS = FLOATS | NUMBERS | OTHERS
WHOLE = [3.0, 1.0, 7.0, 9.0, 1.0, 0.0, 1.0, 5.0]
EDGES = [0.1, 0.3, 0.7, 0.9, 0.1, 0.0, 1.0, 0.5]  # float32 holds neither 0.1, 0.3, 0.7 nor 0.9
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
    "set with scores": lambda: sm.MetricSet(scores=True),
    "metric": sm.MacroF1,
    "rolling": lambda: sm.Rolling(sm.MetricSet(), 5),
    "window": lambda: sm.TimeWindow(sm.MetricSet(), 60),
    "fading": lambda: sm.Fading(sm.MacroF1(), 4),
    "groups": lambda: sm.ByGroup(sm.MetricSet()),
}


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


def together(
    make: Callable[[], Any], y_true: Any, y_pred: Any, w: Any = None, n: int | None = None, **more: Any
) -> Any:
    """Return what the batch leaves; one that is refused leaves nothing."""
    state, empty = make(), make().to_bytes()

    def feed() -> Any:
        state.update_many(y_true, y_pred, w, **named(state, len(TRUTH) if n is None else n), **more)
        return state

    after = outcome(feed)
    assert after != "refused" or state.to_bytes() == empty
    return after


forms = pytest.mark.parametrize("form", FORMS)


@forms
def test_predictions(form: str) -> None:
    """A column of predictions is read as its rows are: floats are scores, other numbers may be labels."""
    for make in SCORED.values():
        column, rows = FORMS[form](EDGES)
        batch = together(make, TRUTH, column)

        assert batch == alone(make, TRUTH, rows)
        assert isinstance(batch, bytes) or form not in FLOATS


@forms
def test_scores(form: str) -> None:
    """A column of scores is read as its rows are, and every finite number is a score."""
    for make in SETS.values():
        column, rows = FORMS[form](EDGES)
        batch = together(make, TRUTH, None, scores=column)

        assert batch == alone(make, TRUTH, [None] * len(rows), scores=rows)
        assert isinstance(batch, bytes) or form in OTHERS


@forms
def test_labels(form: str) -> None:
    """A column of labels is read as its rows are."""
    for make in LABELS.values():
        (truth, truth_rows), (predicted, predicted_rows) = FORMS[form](WHOLE), FORMS[form](WHOLE[::-1])
        if make is LABELS["set with scores"]:
            predicted = predicted_rows = [x > 0.5 for x in EDGES]
        batch = together(make, truth, predicted)

        assert batch == alone(make, truth_rows, predicted_rows)
        assert isinstance(batch, bytes) or form not in FLOATS or make is LABELS["fixed matrix"]


@forms
def test_weights(form: str) -> None:
    """A column of weights is read as its rows are, and every number from 0 is a weight."""
    for make in (SCORED | LABELS).values():
        column, rows = FORMS[form](EDGES)
        predicted = EDGES if make in SCORED.values() else TRUTH[::-1]
        batch = together(make, TRUTH, predicted, column)

        assert batch == alone(make, TRUTH, predicted, rows)
        assert isinstance(batch, bytes) or form in OTHERS


@forms
def test_mappings_and_rows(form: str) -> None:
    """The numbers of a mapping, of a row with `classes` and of a table of them are read as single scores are."""
    for make in SCORED.values():
        _, first = FORMS[form](EDGES)
        _, second = FORMS[form]([1 - x for x in EDGES])
        mappings = [{True: a, False: b} for a, b in zip(first, second, strict=True)]
        batch = together(make, TRUTH, mappings)

        assert batch == alone(make, TRUTH, mappings)
        assert isinstance(batch, bytes) or form in OTHERS
        if make not in SETS.values():
            continue
        rows = [list(pair) for pair in zip(first, second, strict=True)]
        classes = [[True, False]] * len(rows)
        assert batch == together(make, TRUTH, rows, classes=classes[0]) == alone(make, TRUTH, rows, classes=classes)


@pytest.mark.parametrize("form", [form for form in FORMS if type(FORMS[form]) is type(FORMS["float32"])])
def test_tables(form: str) -> None:
    """A table of scores is read as its rows are."""
    column, _ = FORMS[form](EDGES)
    if not hasattr(column, "dtype") or not hasattr(column, "reshape"):
        pytest.skip("not an array")
    table = column.reshape(-1, 2)
    for make in SETS.values():
        classes = [["a", "b"]] * len(table)
        truth = ["a", "b", "a", "b"]
        batch = together(make, truth, None, scores=table, classes=classes[0], n=4)
        assert batch == alone(make, truth, [None] * 4, scores=list(table), classes=classes)
        assert batch == together(make, truth, table, classes=classes[0], n=4)
        assert isinstance(batch, bytes) or form in OTHERS


@forms
@pytest.mark.parametrize("scores", [False, True, "any"])
def test_two_models(form: str, scores: Any) -> None:
    """A comparison reads both predictions, weights and units in a batch as one by one."""
    for which in ("pred_a", "pred_b", "w", "unit"):
        if (which, form) == ("unit", "missing"):
            continue  # a sample may come without a unit, but a column of units has one in every row
        plain = EDGES if scores else TRUTH
        column, rows = FORMS[form](EDGES if scores else WHOLE)
        given = {"pred_a": plain, "pred_b": plain[::-1], "w": [1] * len(plain), "unit": list(range(len(plain)))}

        def feed(many: bool) -> Any:
            state = sm.Comparison(scores=scores)
            if many:
                state.update_many(TRUTH, **{**given, which: column})  # noqa: B023
                return state
            for row, y_true in enumerate(TRUTH):
                state.update(y_true, **{name: (rows if name == which else given[name])[row] for name in given})  # noqa: B023
            return state

        batch = outcome(lambda: feed(True))
        assert batch == outcome(lambda: feed(False))
        assert isinstance(batch, bytes) or form not in FLOATS


BESIDE = [None, {}, 0.2, np.float32(0.1), {True: 0.4, False: 0.6}, {0.5: 0.4, 1.5: 0.6}]


@pytest.mark.parametrize("make", SETS.values(), ids=SETS)
@pytest.mark.parametrize("predicted", [0.5, 1.5, np.float32(0.1), np.array(0.7), True, "a", None, {}, {True: 0.3}, 1])
def test_predictions_beside_scores(make: Callable[[], Any], predicted: Any) -> None:
    """A float or a mapping is a label beside scores and the scores where there are none, alone and in a batch."""
    for y_true in (True, 0.5, "a"):
        for scores in [[None, x] for x in BESIDE] + [[x, x] for x in BESIDE]:
            alike = [y_true, y_true]
            batch = together(make, alike, [predicted, predicted], scores=scores, n=2)

            assert batch == alone(make, alike, [predicted, predicted], scores=scores)


def test_a_float_label_beside_a_missing_score() -> None:
    """Where the score of a row is missing, a float prediction is the score, whether the row comes alone or not."""
    for feed in (
        lambda state: state.update(1, 1.5, scores=None),
        lambda state: state.update_many([1, 0], [1.5, 1.0], scores=[None, 0.2]),
        lambda state: state.update_many(np.array([1, 0]), np.array([1.5, 1.0]), scores=[None, 0.2]),
    ):
        state = sm.MetricSet(scores=True)
        with pytest.raises(sm.ScoreError, match=r"from 0 to 1, but got 1\.5"):
            feed(state)
        assert state == sm.MetricSet(scores=True)


def test_columns_without_an_order() -> None:
    """Sets and mappings are no columns: which of their items belongs to which row is not said."""
    y, p, s, w = ["a", "b"], ["a", "a"], [0.25, 0.75], [1, 2]
    for bad in ({"a", "b"}, frozenset("ab"), {"a": 1, "b": 2}, {"a": 1, "b": 2}.keys(), {"a": 1, "b": 2}.items()):
        for make in LABELS.values():
            for arguments in ((bad, p, None), (y, bad, None), (y, p, bad), ({1, 2}, p, None), (y, p, {1, 2})):
                assert together(make, *arguments, n=2) == "refused"
        for make in SETS.values():
            for columns in ((bad, None, w, s), (y, bad, w, s), (y, None, bad, s), (y, None, w, bad), (y, bad, w, None)):
                assert together(make, *columns[:3], scores=columns[3], n=2) == "refused"
        for make in SCORED.values():
            assert together(make, [True, False], {0.25, 0.75}, n=2) == "refused"
            assert together(make, [True, False], {0.25: 0.5, 0.75: 0.5}, n=2) == "refused"
            assert together(make, [True, False], s, {1: 1, 2: 1}, n=2) == "refused"
        for scores in (False, True):
            with pytest.raises(sm.StreamMetricsError, match="to be a column"):
                sm.Comparison(scores=scores).update_many([True, False], bad, s)
            with pytest.raises(sm.LabelError, match="`unit` to be a column"):
                sm.Comparison(scores=scores).update_many([True, False], s, s, unit=bad)
        with pytest.raises(sm.LabelError, match="`group` to be a column"):
            sm.ByGroup(sm.MetricSet()).update_many(y, p, group=bad)
    with pytest.raises(ValueError, match="`t` to be a column of times"):
        sm.TimeWindow(sm.MetricSet(), 60).update_many(y, p, t={1.0, 2.0})


def test_rows_and_classes_without_an_order() -> None:
    """A set cannot be a row of scores, the names of its places, the labels of a state or the keys of a set."""
    for make in (lambda: sm.MetricSet(scores=True), sm.RankSketch):
        state = make()
        with pytest.raises(sm.ScoreError):
            state.update("a", {0.25, 0.75}, classes=["a", "b"])
        with pytest.raises(sm.LabelError, match="`classes` to be a sequence"):
            state.update("a", [0.25, 0.75], classes={"a", "b"})
        with pytest.raises(sm.LabelError, match="`classes` to be a sequence"):
            state.update_many(["a"], [[0.25, 0.75]], classes={"a", "b"})
        assert state == make()
    with pytest.raises(sm.LabelError, match="`labels` to be a sequence"):
        sm.ConfusionMatrix({"a", "b"})
    with pytest.raises(ValueError, match="`metrics` to be a sequence"):
        sm.MetricSet({"accuracy", "macro_f1"})


@pytest.mark.parametrize(
    "t", [np.array(1.7e9), np.float32(17.0), np.int64(17), np.array("2020-01-01", "M8[ns]")], ids=str
)
def test_one_time_for_a_batch(t: Any) -> None:
    """A time without dimensions is that of every row."""
    for many, one in ((sm.TimeWindow(sm.MetricSet(), 60), sm.TimeWindow(sm.MetricSet(), 60)),):
        many.update_many([1, 2], [1, 1], t=t)
        one.update(1, 1, t=t)
        one.update(2, 1, t=t)
        assert many == one
    groups = sm.ByGroup(sm.TimeWindow(sm.MetricSet(), 60))
    groups.update_many([1, 2], [1, 1], t=t, group=[1, 2])
    assert groups.state(1).latest == many.latest


@pytest.mark.parametrize(
    "form", ["float16", "float32", "longdouble", "list of 0-d float32", "mixed", "device array", "generator"]
)
def test_times(form: str) -> None:
    """Times are read as numbers in double, alone and in a batch; a generator is read once for all groups."""
    column, rows = FORMS[form]([1.1, 2.3, 3.7, 66.2])
    many, one = (sm.ByGroup(sm.TimeWindow(sm.MetricSet(), 60)) for _ in range(2))
    many.update_many([1, 2, 1, 2], [1, 1, 1, 1], t=column, group=[1, 2, 1, 2])
    for row, t in enumerate(rows):
        one.update(1 + row % 2, 1, t=t, group=1 + row % 2)

    assert many == one
