"""`reconfigured`: a state with other options is what one that had them would have counted, or is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.refusals import refused
from support.state_checks import counted, fed, with_batch

import stream_metrics as sm
from stream_metrics import OptionError, RankSketch, testing

POOL = ["a", "b", "c", 0, 1, 2.0, True, b"a", (1, "x")]
labels = st.sampled_from(POOL)
distinct = st.lists(labels, unique=True, max_size=5)
others = st.sampled_from([*POOL, "rest", -1])
configurations = st.fixed_dictionaries({}) | st.fixed_dictionaries({"labels": distinct}, optional={"other": others})
streams = st.lists(st.tuples(labels, st.one_of(labels, st.none()), testing.weights()), max_size=12)


def admitted_by(options: dict[str, Any], stream: list[Any]) -> tuple[sm.ConfusionMatrix, list[Any]]:
    """Return a state with the samples that it admits, and these samples."""
    state, admitted = sm.ConfusionMatrix(**options), []
    for sample in stream:
        try:
            state.update(*sample)
        except sm.LabelError:
            continue
        admitted.append(sample)
    return state, admitted


@settings(max_examples=200)
@given(before=configurations, after=configurations, stream=streams, copied=st.booleans())
def test_labels_are_those_of_a_state_that_had_them(
    before: dict[str, Any], after: dict[str, Any], stream: list[Any], copied: bool
) -> None:
    """Where it is not refused, bytes are those of a state with the new labels, in either order of merging."""
    state, admitted = admitted_by(before, stream)
    state = sm.from_bytes(state.to_bytes()) if copied else state
    unchanged = state.to_bytes()
    try:
        again = state.reconfigured(**{"labels": None, "other": None} | after)
    except OptionError:
        assert "labels" in after or "labels" in before
    else:
        direct, left = admitted_by(after, admitted)
        lost = [sample for sample in admitted if sample not in left]
        assert all(y_pred is None or w < 2.0**-64 for _, y_pred, w in lost)  # which leave no label
        assert left != admitted or again.to_bytes() == direct.to_bytes()
        assert again.fixed_labels == direct.fixed_labels
        assert (again + direct).to_bytes() == (direct + again).to_bytes()
    assert state.to_bytes() == unchanged


@pytest.mark.quick
def test_what_does_not_follow_is_refused() -> None:
    """The error names the option, both values and the reason; an option that a state does not have is a TypeError."""
    other: dict[str, Any] = {"labels": ["a"], "other": "z"}
    none = "`labels` .* None .*: how often a number appeared as bool"
    text = "`other` .* 3 in place of None: .* a text would do"
    cases: list[tuple[Any, Any, Any, str]] = [
        ({"labels": ["a", "b"]}, "ab", {"labels": ["a"]}, r"`labels` .* \('a',\) in place of \('a', 'b'\): 'b' was"),
        (other, "aq", {"labels": ["a", "q"]}, "`labels` .* counted as 'z', and of which"),
        (other, "aq", {"labels": None, "other": None}, "`labels` .* counted as 'z'"),
        (other, "aq", {"other": None}, "`other` .* None in place of 'z'"),
        ({"labels": ["a", 1]}, ("a", 1), {"labels": None}, none),
        ({}, "ab", {"labels": ["a"], "other": 3}, text),
    ]
    for before, sample, after, message in cases:
        with pytest.raises(OptionError, match=message):
            counted(sample, **before).reconfigured(**after)
    for state in (
        sm.ConfusionMatrix(), RankSketch(), sm.ProbabilityLosses(), sm.Comparison(), sm.MetricSet(), sm.Accuracy(),
        sm.MetricSet(scores=True), sm.ROCAUC(), sm.ByGroup(sm.MacroF1()), sm.Rolling(sm.Accuracy(), 3),
        sm.Fading(sm.MetricSet(), half_life=3),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=r"of an? \w+, which are \[.*'(labels|pos_label)'.*\], but got 'metric'"):
            state.reconfigured(metric=["accuracy"])


def test_many_labels_are_folded() -> None:
    """From a sparse matrix of 2,000 classes into a dense one of 50, with and without fractions of weights."""
    truth, predicted = np.arange(6000) % 2000, np.arange(6000) * 7 % 2000
    for w in (None, np.full(6000, 0.25)):
        empty = sm.ConfusionMatrix(), sm.ConfusionMatrix(range(50), other="rest")
        state, direct = (with_batch(each, truth, predicted, w) for each in empty)
        folded = state.reconfigured(labels=range(50), other="rest")
        assert folded.to_bytes() == direct.to_bytes()
        assert (folded.correct, folded.snapshot()["macro_f1"]) == (direct.correct, direct.snapshot()["macro_f1"])
        assert direct.reconfigured(labels=range(10)) == state.reconfigured(labels=range(10), other="rest")
        assert state.reconfigured(labels=range(2000)[::-1]).labels == tuple(range(2000)[::-1])


sizes = st.sampled_from([2, 3, 5, 8, 16, 64])
options = st.fixed_dictionaries({"buckets": sizes, "sample": sizes, "pairs": st.booleans()})
scores = st.one_of(st.sampled_from([0.0, 1.0, -2.5, 1e300, 5e-324, 0.1]), st.floats(-1, 1), st.floats(0, 1))
rows = st.tuples(st.sampled_from("abc"), st.dictionaries(st.sampled_from("abcd"), scores), testing.weights())


@settings(max_examples=100)
@given(options, options, st.lists(rows, max_size=40))
def test_smaller_sketches_are_those_that_were_always_small(before: Any, after: Any, stream: list[Any]) -> None:
    """Fewer buckets, a smaller sample and no pairs give the bytes of a sketch of that size; larger may be refused."""
    state, direct = fed(RankSketch(**before), stream), fed(RankSketch(**after), stream)
    unchanged = state.to_bytes()
    try:
        again = state.reconfigured(**after)
    except OptionError:
        assert any(after[name] > before[name] for name in after)
    else:
        assert again.to_bytes() == direct.to_bytes()
        assert again.merge(direct).n == 2 * direct.n
    assert state.to_bytes() == unchanged


def test_sketches_shrink_in_one_step_or_in_two() -> None:
    """Also columns of many different scores, and of more than 64 classes, whose pairs were dropped."""
    rng = np.random.default_rng(5)
    classes = [f"c{i}" for i in range(70)]
    truth, weights = [classes[i] for i in rng.integers(0, 70, 300)], rng.choice([1, 0.5, 3], 300)
    table, empty = rng.random((300, 70)) ** 8, (RankSketch(256, 64), RankSketch(16, 8, pairs=False))
    state, direct = (with_batch(each, truth, table, weights, classes=classes) for each in empty)
    half = state.reconfigured(buckets=64, sample=32)
    assert state.reconfigured(buckets=16, sample=8, pairs=False) == direct
    assert half.reconfigured(buckets=16, sample=8, pairs=False) == direct
    with pytest.raises(OptionError, match=r"`buckets` .* 1024 in place of 64: some scores share"):
        half.reconfigured(buckets=1024)


@pytest.mark.quick
def test_pairs_come_back_only_without_samples() -> None:
    """Then later samples are counted as from the start; nor can the class of single numbers change."""
    state = RankSketch(pairs=False)
    assert state.reconfigured(pairs=True, pos_label="a") == RankSketch(pos_label="a")
    state.update(1, 0.5)
    refused(lambda: state.reconfigured(pairs=True), OptionError, "pairs")
    refused(lambda: state.reconfigured(pos_label=0), OptionError, "pos_label")
    for abstained in ([], [("a", None)]):
        again, direct = fed(RankSketch(pairs=False), abstained).reconfigured(pairs=True), fed(RankSketch(), abstained)
        for each in (again, direct):
            each.update_many(list("abc"), np.array([[2, 1, 1], [2, 1, 1], [1, 1, 2]]) / 4, classes=list("abc"))
        assert again.to_bytes() == direct.to_bytes()
        assert again.snapshot()["roc_auc_ovo"] == direct.snapshot()["roc_auc_ovo"]


@pytest.mark.quick
def test_losses_take_other_classes() -> None:
    """Classes say how sequences are read, which is not counted; `pos_label` is."""
    state = fed(sm.ProbabilityLosses(classes=["a", "b"]), [("a", [0.75, 0.25])])
    again = fed(state.reconfigured(classes=["b", "a"]), [("a", [0.25, 0.75])])
    assert (again.classes, state.classes) == (("b", "a"), ("a", "b"))
    assert again.numbers() == state.merge(state).numbers()
    assert state.merge(again).classes == ("a", "b")
    refused(lambda: state.reconfigured(pos_label="a"), OptionError, "pos_label")
