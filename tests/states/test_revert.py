"""revert, subtract and merge of matrices: what was counted can be removed, states that fit add up, and no others."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from support.refusals import refused
from support.state_checks import check_refused, counted

import stream_metrics as sm

pytestmark = pytest.mark.quick


def test_what_was_not_counted_cannot_be_removed() -> None:
    """More than a cell or a count has is refused, in square and in sparse tables, and so is what `update` refuses."""
    cells = [
        ("a", "b", 4), ("a", "b", 3.5), ("b", "a"), ("z", "a"), ("a", "z"), ("a", "a", 1), ("b", "b", 0.75),
        ("a", "c", 2**62),
    ]  # fmt: skip
    parts: list[list[Any]] = [
        [("a", "b", 3)], ["ba"], ["zz"], ["ab"] * 3, [("a", None)] * 2, [("a", "a", 0)] * 2000,
        [("a", "b", 2), ("a", "c", 1.5)], [("a", "b", 0.1), ("a", "c", 1 + 2.0**-40)],
    ]  # fmt: skip
    for classes in (0, 1500):
        more = [(i, i) for i in range(classes)]
        state = counted("ab", "ab", "ab", ("b", "b", 0.5), "ac", *more)
        check_refused(state, "revert", [(sample, sm.WeightError) for sample in cells])
        state.revert("a", "b", 3)
        check_refused(state, "revert", [(("a", "b", 2.0**-64), sm.WeightError)])
        whole = counted(("a", "b", 2), "ac", ("a", None), *more)
        check_refused(whole, "subtract", [((counted(*part),), sm.WeightError) for part in parts])
    empty = [("a", "a"), ("a", None), ("a", "a", 0)]
    check_refused(sm.ConfusionMatrix(), "revert", [(sample, sm.WeightError) for sample in empty])
    bad = [((truth, "a"), sm.LabelError, "y_true") for truth in (float("nan"), "z")]
    bad += [(("a", "a", -1), sm.WeightError, "w"), (("a", {"a": "x"}), sm.ScoreError, "y_pred")]
    check_refused(counted("aa", labels=["a"]), "revert", [*bad, (("a", None), sm.WeightError)])
    with pytest.raises(sm.WeightError, match="counted, but got y_true='a', y_pred='b', w=4"):
        counted("ab").revert("a", "b", 4)


def test_other_configurations_and_kinds_do_not_merge() -> None:
    """A MergeError names what differs with both values, or the kind; nothing changes."""
    cases: list[Any] = [
        ({}, {"labels": ["a"]}, "nothing in one and ('a',) in"),
        ({"labels": ["a", "b"]}, {"labels": ["b", "a", "c"]}, "('a', 'b') in one and ('b', 'a', 'c')"),
        ({"labels": ["a", 1]}, {"labels": ["a", True]}, "('a', 1) in one and ('a', True)"),
        ({"labels": ["a"]}, {"labels": ["a"], "other": "z"}, "nothing in one and 'z'"),
        ({"labels": ["a"], "other": 1}, {"labels": ["a"], "other": 1.0}, "1 in one and 1.0"),
    ]
    for mine, theirs, values in cases:
        state, other = counted("aa", **mine), sm.ConfusionMatrix(**theirs)
        for call in ("merge", "subtract"):
            check_refused(state, call, [((other,), sm.MergeError, "other" if "other" in theirs else "labels")])
        refused(partial(state.merge, other), sm.MergeError, values)
    for other in (None, 5, {}, sm.MetricSet(), sm.Accuracy()):
        name = type(other).__name__
        for call in (sm.ConfusionMatrix().merge, sm.ConfusionMatrix().subtract):
            refused(partial(call, other), sm.MergeError, f"a ConfusionMatrix, but got {name}")


def test_weighted_counts_samples_whose_weight_is_not_one() -> None:
    """They have no interval, even if weights sum to the number of samples; abstentions are not among them."""
    truth, predicted = [0, 0, 1, 1] * 50, [0, 1, 0, 0] * 50
    for weights in ([2, 1, 0.5, 0.5] * 50, [2, 1, 0, 1] * 50):
        batch = sm.ConfusionMatrix()
        batch.update_many(truth, predicted, weights)
        single = counted(*zip(truth, predicted, weights, strict=True))
        for state in (batch, single, sm.from_bytes(single.to_bytes()), sm.ConfusionMatrix().merge(batch)):
            assert state == batch
            assert state.weighted == sum(w != 1 for w in weights)
            with pytest.raises(ValueError, match="samples have a weight other than 1"):
                state.snapshot().interval("accuracy")
            assert "majority_p_value" in state.snapshot().omitted
    weights = [1, 1.0, True, 2, 0.5, 0, 0.0, 2**40]
    rows = [("abc"[i % 3], ["a", "b", None][i // 3 % 3], weights[i % 8]) for i in range(72)]
    assert counted(*rows).weighted == sum(w != 1 and p is not None for _, p, w in rows)
