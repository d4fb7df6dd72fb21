"""The comparison of two models as a state: what it counts, the laws, bytes, and what it refuses."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics.states.joint import Comparison

text = st.sampled_from(["a", "b", "c", ""])


@given(st.lists(st.tuples(text, text, text, st.integers(0, 3), st.one_of(st.none(), st.integers(-3, 10)))))
def test_cells_are_those_of_a_counter(stream: list[Any]) -> None:
    """Cells are what a Python Counter of (unit or none, truth, both predictions) has."""
    state, expected = Comparison(folds=1000), Counter[Any]()
    for truth, a, b, w, unit in stream:
        state.update(truth, a, b, w, unit=unit)
        expected[None if unit is None else unit, truth, a, b] += w
    folds, i, j, k, weights, _ = state.cells()

    found = Counter[Any]()
    for fold, *places, weight in zip(*(x.tolist() for x in (folds, i, j, k, weights)), strict=True):
        found[fold, *(state.labels[place] for place in places)] += weight
    by_unit = {key[0]: fold for key in expected for fold in [1000 if key[0] is None else None] if fold}
    assert {key[1:]: n for key, n in found.items() if key[0] == 1000} == {
        key[1:]: n for key, n in expected.items() if key[0] is None and n
    }
    assert sum(found.values()) == sum(expected.values())
    assert state.n == len(stream)
    assert state.keyed == sum(unit is not None for *_, unit in stream)
    assert by_unit in ({}, {None: 1000})


def test_both_matrices_are_those_of_the_models() -> None:
    """Each model's values are those of a matrix of its own, whose classes are the truths and its own predictions."""
    random = np.random.default_rng(3)
    truth, a, b = random.integers(0, 4, 500), random.integers(0, 5, 500), random.integers(1, 6, 500)
    comparison = Comparison()
    comparison.update_many(truth, a, b)
    snapshot = comparison.snapshot()

    for predicted, name in ((a, "a"), (b, "b")):
        matrix = sm.ConfusionMatrix()
        matrix.update_many(truth, predicted)
        for key in ("accuracy", "macro_f1", "matthews_corrcoef", "balanced_accuracy", "cohen_kappa_ovo"):
            assert getattr(snapshot.difference(key), name) == pytest.approx(matrix.snapshot()[key], abs=1e-12)
        recall = matrix.snapshot().per_class["recall"][2]
        assert getattr(snapshot.difference("recall", label=2), name) == pytest.approx(recall, abs=1e-12)


def test_scores_are_those_of_the_models() -> None:
    """Areas and losses are those of a set of metrics for each model, regardless of the fold."""
    random = np.random.default_rng(4)
    truth, a, b = random.random(300) < 0.4, random.random(300), random.random(300)
    comparison = Comparison(scores=True)
    comparison.update_many(truth, a, b, unit=np.arange(300))
    snapshot = comparison.snapshot()

    for scores, name in ((a, "a"), (b, "b")):
        alone = sm.MetricSet(scores=True)
        alone.update_many(truth, scores=scores)
        for key in ("roc_auc", "average_precision", "log_loss", "brier_score", "accuracy"):
            assert getattr(snapshot.difference(key), name) == pytest.approx(alone.snapshot()[key], abs=1e-9)


def test_units_of_equal_value_are_one_unit() -> None:
    """1, True, 1.0 and NumPy's 1 fall into one fold, in batches and alone; text and bytes do not."""
    states = [Comparison() for _ in range(4)]
    for state, unit in zip(states, (1, True, 1.0, np.int8(1)), strict=True):
        state.update("x", "x", "y", unit=unit)
    batch = Comparison()
    batch.update_many(["x"], ["x"], ["y"], unit=np.array([1], np.uint16))

    assert all(state == batch for state in states)
    folds = {unit: Comparison(folds=1000) for unit in ("1", b"1", (1,), 1)}
    for unit, state in folds.items():
        state.update("x", "x", "y", unit=unit)
    assert len({state.cells()[0].item() for state in folds.values()}) == 4


def test_abstentions_are_counted_apart() -> None:
    """A sample without one of the predictions is in no cell; who was silent is kept."""
    state = Comparison()
    for a, b in ((None, "x"), ("x", None), ("x", {}), (None, {}), ("x", "x")):
        state.update("x", a, b)

    assert (state.n, state.abstentions, state.abstained) == (1, (1, 2, 1), 4)


def test_a_refused_sample_leaves_nothing_behind() -> None:
    """Bad labels, weights, units and scores raise by name, alone and in a batch, and the state stays as it was."""
    state, soft = Comparison(labels=["a", "b"]), Comparison(scores=True)
    state.update("a", "b", "a", 2**62)
    soft.update(True, 0.5, 0.25)
    before = state.to_bytes(), soft.to_bytes()

    for error, match, call in (
        (sm.LabelError, "`pred_b`.*'z'", lambda: state.update("a", "a", "z")),
        (sm.LabelError, "`pred_a` at position 1", lambda: state.update_many(["a", "a"], ["a", "z"], ["a", "a"])),
        (sm.LabelError, "`pred_b` to have as many rows", lambda: state.update_many(["a"], ["a"], ["a", "b"])),
        (sm.LabelError, "`unit`", lambda: state.update("a", "a", "b", unit=float("nan"))),
        (sm.WeightError, "`w`", lambda: state.update("a", "a", "b", -1)),
        (sm.WeightError, "stay below", lambda: state.update("a", "a", "b", 2**62)),
        (sm.WeightError, "stay below", lambda: state.update_many(["a"], ["a"], ["b"], [2**62])),
        (sm.WeightError, "position 1", lambda: state.update_many(["a", "a"], ["a", "b"], ["a", "a"], [1, -1])),
        (sm.ScoreError, "0 to 1|probabilit", lambda: soft.update(True, 0.5, 1.5)),
        (sm.ScoreError, "`pred_a`", lambda: soft.update(True, "yes", 0.5)),
        (sm.ScoreError, "position 1", lambda: soft.update_many([True, True], [0.5, 0.5], [0.5, 2.0])),
    ):
        with pytest.raises(error, match=match):
            call()
        assert (state.to_bytes(), soft.to_bytes()) == before


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"a": "x", "b": "x"}, "two different names"),
        ({"folds": 1}, "`folds`"),
        ({"folds": 2000}, "`folds`"),
        ({"scores": "some"}, "`scores`"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], match: str) -> None:
    """Options name themselves."""
    with pytest.raises(ValueError, match=match):
        Comparison(**options)


def test_other_configurations_are_not_merged() -> None:
    """Merging names what differs and both values; nor is another state merged, or a comparison put into a window."""
    for options in ({"a": "old"}, {"folds": 8}, {"labels": ["x"]}, {"scores": True}):
        with pytest.raises(sm.MergeError, match=f"`{min(options)}`"):
            Comparison().merge(Comparison(**options))
    with pytest.raises(sm.MergeError, match="got MCC"):
        Comparison().merge(sm.MCC())  # type: ignore[arg-type]
    for hold in (lambda: sm.ByGroup(Comparison()), lambda: sm.TimeWindow(Comparison(), "1h")):
        with pytest.raises(ValueError, match="pairs of truth and prediction"):
            hold()


def test_weights_beyond_a_double_are_exact() -> None:
    """Counts stay exact above 2**53, and fractions that add up to a whole are that whole."""
    state, halves, whole = Comparison(), Comparison(), Comparison()
    state.update("a", "a", "b", 2**53 + 1)
    state.update("a", "a", "b")
    for _ in range(2):
        halves.update("a", "a", "b", 0.5)
    whole.update("a", "a", "b", 1.0)

    assert state.cells()[4].tolist() == [2**53 + 2]
    assert [x if x is None else x.tolist() for x in halves.cells()] == [
        x if x is None else x.tolist() for x in whole.cells()
    ]


def test_a_class_too_many_is_in_no_state() -> None:
    """A sample with scores that brings a label too many is refused before any state has counted it."""
    state, most = Comparison(scores=True), 2**18 - 1
    state.update(0, {0: 0.9}, {0: 0.8}, unit=1)
    rows = np.arange(most)
    state._commit([list(range(most)), [0], [0]], [rows, rows * 0, rows * 0], rows * 0 + state.folds, None, None)
    with pytest.raises(sm.LabelError, match=f"at most {most} labels"):
        state.update("new", {0: 0.9}, {0: 0.8}, unit=1)
    ((a, b),) = state._scored.values()

    assert a.ranks.n == b.ranks.n == 1
    assert len(state.labels) == most
    state.update("new", {0: 0.9}, {0: 0.8}, 0, unit=1)
    state.update(most - 1, {0: 0.9}, {0: 0.8}, unit=1)
    assert a.ranks.n == b.ranks.n == state.n - most == 3
