"""Samples that are left out, and missing predictions that are wrong or refused: in metrics, sets and containers."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given
from hypothesis import strategies as st
from support.refusals import refused

import stream_metrics as sm

ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "x"]), st.sampled_from(["a", "b", None, "x"]), st.sampled_from([1, 2, 0.5])),
    min_size=1,
    max_size=12,
)
KINDS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {  # with what stands beside a sample
    "set": (sm.MetricSet, ()),
    "units": (sm.MetricSet, ("unit",)),
    "metric": (lambda **rule: sm.Recall(pos_label="a", **rule), ()),
    "groups": (lambda **rule: sm.ByGroup(sm.MetricSet(**rule)), ("group",)),
    "window": (lambda **rule: sm.TimeWindow(sm.MacroF1(**rule), 60), ("t",)),
    "fading": (lambda **rule: sm.Fading(sm.MetricSet(**rule), "4s"), ("t",)),
    "rolling": (lambda **rule: sm.Rolling(sm.MetricSet(**rule), 5), ()),
    "groups of windows": (lambda **rule: sm.ByGroup(sm.TimeWindow(sm.MetricSet(**rule), 60)), ("group", "t")),
    "windows of groups": (lambda **rule: sm.TimeWindow(sm.ByGroup(sm.MetricSet(**rule)), 60), ("group", "t")),
}
BESIDE = {"group": "gh" * 6, "t": list(map(float, range(12))), "unit": list(range(12))}


def counted(state: Any, rows: list[Any], names: tuple[str, ...], at_once: bool, places: list[int]) -> Any:
    """Return a state that has counted rows, which have their own places beside them."""
    beside = [{name: BESIDE[name][place] for name in names} for place in places]
    if at_once:
        columns = list(zip(*rows, strict=True)) or [(), (), ()]
        state.update_many(*map(list, columns), **{name: [each[name] for each in beside] for name in names})
    for row, more in zip(rows if not at_once else [], beside, strict=not at_once):
        state.update(*row, **more)
    return state


@pytest.mark.quick
@pytest.mark.parametrize("kind", KINDS)
@given(rows=ROWS, missing=st.sampled_from(["abstain", "wrong"]))
def test_a_rule_counts_what_the_rows_would_be_by_hand(kind: str, rows: list[Any], missing: str) -> None:
    """A sample whose truth is ignored might not be there, and a missing prediction may be a class of its own."""
    make, names = KINDS[kind]
    rule = {"missing": missing, "ignore_index": "x"}
    places = [at for at, (truth, *_) in enumerate(rows) if truth != "x"]
    instead = "(missing)" if missing == "wrong" else None
    plain = [(rows[at][0], instead if rows[at][1] is None else rows[at][1], rows[at][2]) for at in places]
    every = list(range(len(rows)))
    state, batch = (counted(make(**rule), rows, names, at_once, every) for at_once in (False, True))

    assert state.to_bytes() == batch.to_bytes() == pickle.loads(pickle.dumps(state)).to_bytes()
    assert state.snapshot().to_json() == counted(make(), plain, names, False, places).snapshot().to_json()
    if kind != "rolling":
        half = len(rows) // 2
        shards = [
            counted(make(**rule), rows[part], names, True, every[part]) for part in (slice(half), slice(half, 12))
        ]
        assert shards[0].merge(shards[1]) == state
        refused(lambda: make().merge(state), sm.MergeError, "ignore_index")


@pytest.mark.quick
@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_prediction_is_refused(kind: str) -> None:
    """The error names the caller's row, also where rows before it are left out, and nothing is counted."""
    make, names = KINDS[kind]
    state = make(missing="raise", ignore_index="x")
    before = state.to_bytes()
    rows = [("x", None, 1), ("a", "b", 1), ("b", None, 1), ("a", None, 1)]
    error: Any = refused(lambda: counted(state, rows, names, True, [0, 1, 2, 3]), sm.LabelError, "it is missing")
    assert (error.argument, error.position) == ("y_pred", 2)
    refused(lambda: counted(state, [("a", float("nan"), 1)], names, False, [0]), sm.LabelError, "it is missing")
    assert state.to_bytes() == before


@pytest.mark.quick
def test_scores_and_counts_follow_the_rule() -> None:
    """Rows of scores are left out or refused, counts and reverts too, and what has no meaning is an error."""
    truth, table = np.array([0, 1, 2, 1, 0]), np.array([[0.7, 0.2, 0.1]] * 5)
    rest, rows = truth != 2, [dict(enumerate(row)) for row in table.tolist()]
    for make in (lambda **rule: sm.MetricSet(scores=True, **rule), sm.LogLoss, sm.MacroROCAUC):
        ours, plain, one = make(ignore_index=np.float32(2)), make(), make(ignore_index=2)
        ours.update_many(truth, scores=table, classes=[0, 1, 2])
        plain.update_many(truth[rest], scores=table[rest], classes=[0, 1, 2])
        for y, row in zip(truth.tolist(), rows, strict=True):
            one.update(y, scores=row)
        assert ours.to_bytes() == one.to_bytes()
        assert ours.snapshot().to_json() == plain.snapshot().to_json()
        if hasattr(ours, "remove"):
            ours.remove(2, scores=rows[2])
            assert ours.to_bytes() == one.to_bytes()
        call = lambda make=make: make(missing="raise").update_many(truth, scores=[*rows[:3], None, {}])  # noqa: E731
        assert refused(call, sm.LabelError, "it is missing").position == 3  # type: ignore[attr-defined]
        twice = lambda ours=ours: ours.update_many([2, 0], scores=table[:2], classes=[0, 0, 1])  # noqa: E731
        assert refused(twice, sm.LabelError, "distinct").position == 1  # type: ignore[attr-defined]
        refused(lambda make=make: make(missing="wrong"), ValueError, "where scores are read")
    state = sm.ByGroup(sm.MetricSet(missing="wrong", ignore_index=2))
    state.update_counts([0, 1, 2], [0, None, 0], [3, 4, 5], group=["a", "b", "c"])
    assert (state.n, state.abstained, [*state.snapshot()]) == (7, 0, ["a", "b"])
    chosen = sm.MetricSet(ignore_index=2)
    chosen.update_many([0, 2], [0, 0])
    refused(lambda: chosen.reconfigured(ignore_index=None), sm.OptionError, "ignore_index")
    assert sm.evaluate([0.0, 0.5, 1.0], [0, 1, 1], labels=[0, 0.5, 1], ignore_index=0.5)["accuracy"] == 1
    refused(lambda: sm.F1(missing="wrong"), ValueError, "`pos_label`")
    refused(lambda: sm.MetricSet(labels=["a"], missing="wrong"), ValueError, "`other`")
    wrong = sm.MetricSet(missing="wrong")
    refused(lambda: wrong.update("(missing)", "a"), sm.LabelError, "y_true")
    refused(lambda: wrong.update_many(["a", "(missing)"], ["a", "a"]), sm.LabelError, "y_true")
    refused(lambda: sm.MetricSet(missing="drop"), ValueError, "`missing`")


def test_a_class_of_its_own_is_that_of_scikit_learn() -> None:
    """`evaluate` and the report see a missing prediction as scikit-learn sees a label that is never true."""
    rng = np.random.default_rng(1)
    truth, predicted = rng.integers(0, 3, 90).astype(str), rng.integers(0, 3, 90).astype(str).astype(object)
    filled = np.where(rng.random(90) < 0.3, "(missing)", predicted)
    predicted[filled == "(missing)"] = None
    ours = sm.evaluate(truth, predicted, missing="wrong")
    assert ours["accuracy"] == sk.accuracy_score(truth, filled)
    assert ours["matthews_corrcoef"] == pytest.approx(sk.matthews_corrcoef(truth, filled), rel=1e-12)
    report = sm.classification_report(truth, predicted, output_dict=True, missing="wrong", ignore_index="2")
    expected = sk.classification_report(truth[truth != "2"], filled[truth != "2"], output_dict=True, zero_division=0)
    for name, values in expected.items():
        assert report[name] == pytest.approx(values, rel=1e-12), name
