"""`reconfigured`: a state with other options is what one that had them would have counted, or is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics import testing
from stream_metrics.errors import LabelError, OptionError

POOL = ["a", "b", "c", 0, 1, 2.0, True, b"a", (1, "x")]
labels = st.sampled_from(POOL)
distinct = st.lists(labels, unique=True, max_size=5)
configurations = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"labels": distinct}),
    st.fixed_dictionaries({"labels": distinct, "other": st.sampled_from([*POOL, "rest", -1])}),
)
samples = st.tuples(labels, st.one_of(labels, st.none()), testing.weights())


def counted(options: dict[str, Any], stream: list[Any]) -> tuple[sm.ConfusionMatrix, list[Any]]:
    """Return a state with the samples that it admits, and these samples."""
    state, admitted = sm.ConfusionMatrix(**options), []
    for sample in stream:
        try:
            state.update(*sample)
        except LabelError:
            continue
        admitted.append(sample)
    return state, admitted


@settings(deadline=None, max_examples=500)
@given(before=configurations, after=configurations, stream=st.lists(samples, max_size=12), copied=st.booleans())
def test_labels_are_those_of_a_state_that_had_them(
    before: dict[str, Any], after: dict[str, Any], stream: list[Any], copied: bool
) -> None:
    """Where it is not refused, bytes are those of a state with the new labels; the old state stays."""
    state, admitted = counted(before, stream)
    state = sm.from_bytes(state.to_bytes()) if copied else state
    unchanged = state.to_bytes()
    try:
        again = state.reconfigured(**{"labels": None, "other": None} | after)
    except OptionError:
        pass
    else:
        direct, left = counted(after, admitted)
        refused = [sample for sample in admitted if sample not in left]
        assert all(y_pred is None or w < 2.0**-64 for _, y_pred, w in refused)  # which leave no label
        if left == admitted:
            assert again.to_bytes() == direct.to_bytes()
    assert state.to_bytes() == unchanged


@settings(deadline=None, max_examples=200)
@given(data=st.data(), fixed=distinct, stream=st.lists(samples, max_size=12))
def test_fixed_labels_can_become_more_in_any_order(data: st.DataObject, fixed: list[Any], stream: list[Any]) -> None:
    """Wider labels merge with those of a state that had them, in either order."""
    more = [label for label in data.draw(distinct) if label not in fixed]
    wide = data.draw(st.permutations([*fixed, *more]))
    state, _ = counted({"labels": fixed}, stream)
    other, _ = counted({"labels": sorted(wide, key=repr)}, stream)

    widened = state.reconfigured(labels=wide)
    assert widened.fixed_labels == tuple(wide)
    assert (widened + other).reconfigured(labels=wide) == (other + widened).reconfigured(labels=wide)
    assert (widened + other).n == state.n + other.n


@pytest.mark.parametrize(
    ("before", "sample", "after", "message"),
    [
        (
            {"labels": ["a", "b"]},
            ("a", "b"),
            {"labels": ["a"]},
            r"`labels` .* \('a',\) in place of \('a', 'b'\): 'b' was",
        ),
        (
            {"labels": ["a"], "other": "z"},
            ("a", "q"),
            {"labels": ["a", "q"]},
            "`labels` .* counted as 'z', and of which",
        ),
        ({"labels": ["a"], "other": "z"}, ("a", "q"), {"labels": None, "other": None}, "`labels` .* counted as 'z'"),
        ({"labels": ["a"], "other": "z"}, ("a", "q"), {"other": None}, "`other` .* None in place of 'z'"),
        ({"labels": ["a", 1]}, ("a", 1), {"labels": None}, "`labels` .* None .*: how often a number appeared as bool"),
        ({}, ("a", "b"), {"labels": ["a"], "other": 3}, "`other` .* 3 in place of None: .* a text would do"),
    ],
)
def test_what_does_not_follow_is_refused(before: Any, sample: Any, after: Any, message: str) -> None:
    """The error names the option, both values and the reason."""
    state, _ = counted(before, [sample])
    with pytest.raises(OptionError, match=message):
        state.reconfigured(**after)


@pytest.mark.parametrize(
    "state",
    [
        sm.ConfusionMatrix(),
        sm.RankSketch(),
        sm.ProbabilityLosses(),
        sm.Comparison(),
        sm.MetricSet(),
        sm.MetricSet(scores=True),
        sm.Accuracy(),
        sm.ROCAUC(),
        sm.ByGroup(sm.MacroF1()),
        sm.Rolling(sm.Accuracy(), 3),
        sm.Fading(sm.MetricSet(), half_life=3),
    ],
    ids=repr,
)
def test_only_options_can_change(state: Any) -> None:
    """An option that a state does not have is a TypeError that names those it has."""
    with pytest.raises(TypeError, match=r"option of an? \w+, which are \[.*'(labels|pos_label)'.*\], but got 'metric'"):
        state.reconfigured(metric=["accuracy"])


@pytest.mark.parametrize("weight", [None, 0.25])
def test_many_labels_are_folded(weight: float | None) -> None:
    """From a hashed matrix of 2,000 classes into a dense one of 50, with and without fractions of weights."""
    truth, predicted = np.arange(6000) % 2000, np.arange(6000) * 7 % 2000
    w = None if weight is None else np.full(6000, weight)
    state, direct = sm.ConfusionMatrix(), sm.ConfusionMatrix(range(50), other="rest")
    for each in (state, direct):
        each.update_many(truth, predicted, w)

    folded = state.reconfigured(labels=range(50), other="rest")
    assert folded.to_bytes() == direct.to_bytes()
    assert (folded.correct, folded.snapshot()["macro_f1"]) == (direct.correct, direct.snapshot()["macro_f1"])
    assert direct.reconfigured(labels=range(10)) == state.reconfigured(labels=range(10), other="rest")
    assert state.reconfigured(labels=range(2000)[::-1]).labels == tuple(range(2000)[::-1])


@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_smaller_sketches_are_those_that_were_always_small(data: st.DataObject) -> None:
    """Fewer buckets, a smaller sample and no pairs give the bytes of a sketch of that size; larger may be refused."""
    sizes = st.sampled_from([2, 3, 5, 8, 16, 64])
    before = {"buckets": data.draw(sizes), "sample": data.draw(sizes), "pairs": data.draw(st.booleans())}
    after = {"buckets": data.draw(sizes), "sample": data.draw(sizes), "pairs": data.draw(st.booleans())}
    scores = st.one_of(st.sampled_from([0.0, 1.0, -2.5, 1e300, 5e-324, 0.1]), st.floats(-1, 1), st.floats(0, 1))
    stream = data.draw(
        st.lists(
            st.tuples(st.sampled_from("abc"), st.dictionaries(st.sampled_from("abcd"), scores), testing.weights()),
            max_size=40,
        )
    )
    state, direct = sm.RankSketch(**before), sm.RankSketch(**after)
    for sample in stream:
        state.update(*sample)
        direct.update(*sample)
    unchanged = state.to_bytes()
    less = all(after[name] <= before[name] for name in after)
    try:
        again = state.reconfigured(**after)
    except OptionError:
        assert not less
    else:
        assert again.to_bytes() == direct.to_bytes()
        assert again.merge(direct).n == 2 * direct.n
    assert state.to_bytes() == unchanged


def test_sketches_shrink_in_one_step_or_in_two() -> None:
    """Also columns of many different scores, and of more than 64 classes, whose pairs were dropped."""
    rng = np.random.default_rng(5)
    classes = [f"c{i}" for i in range(70)]
    rows = rng.random((300, 70)) ** 8
    truth = [classes[i] for i in rng.integers(0, 70, 300)]
    weights = rng.choice([1, 0.5, 3], 300)
    state, direct = sm.RankSketch(256, 64), sm.RankSketch(16, 8, pairs=False)
    for each in (state, direct):
        each.update_many(truth, rows, weights, classes=classes)

    half = state.reconfigured(buckets=64, sample=32)
    assert state.reconfigured(buckets=16, sample=8, pairs=False) == direct
    assert half.reconfigured(buckets=16, sample=8, pairs=False) == direct
    with pytest.raises(OptionError, match=r"`buckets` .* 1024 in place of 64: some scores share"):
        half.reconfigured(buckets=1024)


def test_a_sketch_without_pairs_cannot_have_them() -> None:
    """Nor can the class of single numbers change; both can as long as nothing was counted."""
    state = sm.RankSketch(pairs=False)
    assert state.reconfigured(pairs=True, pos_label="a") == sm.RankSketch(pos_label="a")
    state.update(1, 0.5)
    with pytest.raises(OptionError, match=r"`pairs` .* True in place of False"):
        state.reconfigured(pairs=True)
    with pytest.raises(OptionError, match=r"`pos_label` .* 0 in place of True: single numbers"):
        state.reconfigured(pos_label=0)


@pytest.mark.parametrize("abstained", [0, 1])
def test_a_sketch_that_gets_its_pairs_back_goes_on_with_them(abstained: int) -> None:
    """Without samples, the sketch counts later ones as one that had pairs from the start, alone and merged."""
    state, direct = sm.RankSketch(pairs=False), sm.RankSketch()
    for _ in range(abstained):
        state.update("a", None)
        direct.update("a", None)
    again = state.reconfigured(pairs=True)
    for each in (again, direct):
        each.update_many(
            ["a", "b", "c"], scores=[[0.5, 0.25, 0.25], [0.5, 0.25, 0.25], [0.25, 0.25, 0.5]], classes=["a", "b", "c"]
        )
    assert again.to_bytes() == direct.to_bytes()
    assert again.snapshot()["roc_auc_ovo"] == direct.snapshot()["roc_auc_ovo"]


def test_losses_take_other_classes() -> None:
    """Classes say how sequences are read, which is not counted; `pos_label` is."""
    state = sm.ProbabilityLosses(classes=["a", "b"])
    state.update("a", [0.75, 0.25])
    again = state.reconfigured(classes=["b", "a"])
    again.update("a", [0.25, 0.75])
    assert (again.classes, state.classes) == (("b", "a"), ("a", "b"))
    assert again.numbers() == state.merge(state).numbers()
    assert state.merge(again).classes == ("a", "b")
    with pytest.raises(OptionError, match=r"`pos_label`"):
        state.reconfigured(pos_label="a")
