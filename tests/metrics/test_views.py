"""Metrics and sets that count the same merge whatever they show; `reconfigured` gives another view, or less."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import every_case
from support.metric_classes import CLASSES
from support.refusals import refused
from support.state_checks import fed, with_batch
from support.wire_reader import read

import stream_metrics as sm

SCORED = [(1, {1: 0.9, 0: 0.1}), (0, {1: 0.4, 0: 0.6}), (0, None), (1, {1: 0.3, 0: 0.7})]
BINARY: dict[type, list[tuple[Any, Any]]] = {
    sm.ConfusionMatrix: [(1, 1), (1, 0), (0, 0), (0, None), (1, 1)],
    sm.RankSketch: SCORED,
    sm.ProbabilityLosses: SCORED,
}
NAN = float("nan")
SCORE_KEYS = [key for key, info in sm.metrics().items() if info.reads == "scores"]
KEYS = ["accuracy", "macro_f1", "roc_auc", "roc_auc_ovo", "log_loss", "confidence_auc"]
SOFT = [("a", {"a": 0.9, "b": 0.1}), ("b", {"a": 0.4, "b": 0.5, "c": 0.1}), ("c", None), ("b", "a"), ("a", {"b": 1.0})]


def binary(metric: Any) -> list[tuple[Any, Any]]:
    """Return samples of 0 and 1 that a metric takes."""
    return BINARY[type(metric.state)]


def says(error: Exception, *parts: str) -> None:
    """Assert that an error has these parts in its text."""
    assert not [part for part in parts if part not in str(error)], error


@pytest.mark.quick
def test_classes_that_count_the_same_merge() -> None:
    """The result is of the class of the left one, and has its value for all samples."""
    alike: dict[tuple[Any, ...], list[Any]] = {}
    for cls in dict.fromkeys(CLASSES.values()):
        metric, one_class = cls(), sm.metrics()[cls.key].kind == "per_class"
        alike.setdefault((type(metric.state), one_class, getattr(metric.state, "pairs", None)), []).append(cls)
    assert len(alike) == 6
    with every_case() as case:
        for mine, theirs in [pair for classes in alike.values() for pair in pairwise([*classes, classes[0]])]:
            with case((mine, theirs)):
                samples = binary(mine())
                whole = fed(mine(), samples * 2)
                total = fed(mine(), samples) + fed(theirs(), samples)
                assert total == whole
                assert type(total) is mine
                assert repr(total.get()) == repr(whole.get())
                assert sm.merge([fed(theirs(), samples), whole]) == fed(theirs(), samples * 3)
    ones, spam = fed(sm.F1(), [(1, 1), (0, 1)]), fed(sm.Accuracy(), [("spam", "ham")])
    assert (spam + ones.reconfigured(pos_label=1)).n == 3
    assert (ones + sm.Precision()).get() == 2 / 3
    assert (sm.F1(labels=[0, 1]) + sm.Accuracy(labels=[1, 0])).labels == (0, 1)
    for mine, theirs in [  # one configuration, however it is written
        (sm.FBeta(2), sm.FBeta(beta=2.0)), (sm.Recall(zero_division=NAN), sm.Recall(zero_division=float("nan"))),
        (sm.WeightedBalancedAccuracy({0: 1, 1: 2}), sm.WeightedBalancedAccuracy({1: 2.0, 0: 1.0})),
    ]:  # fmt: skip
        assert mine == theirs
        assert fed(mine.merge(fed(theirs, [(1, 1)])), [(1, 0)]).n == 2


@pytest.mark.quick
def test_what_counts_other_things_does_not_merge() -> None:
    """A MergeError names both, whichever is merged into which, and nothing changes."""
    more = {"pos_label": "a"}, {"threshold": 0.6}, {"sample": 256}, {"labels": ["a", "b"]}, {"pairs": False}
    pairs: list[tuple[Any, Any]] = [
        *((sm.MetricSet(scores=True), sm.MetricSet(scores=True, **options)) for options in more),
        (sm.MetricSet(["roc_auc"]), sm.MetricSet(["accuracy"])), (sm.MetricSet(), sm.MetricSet(labels=["a"])),
        *((sm.Recall(), other) for other in (sm.Recall(pos_label=1), sm.Accuracy(), sm.Recall(labels=[0, 1]))),
        (sm.MCC(), sm.MetricSet()), (sm.MCC(), sm.ConfusionMatrix()), (sm.LogLoss(), sm.LogLoss(pos_label="a")),
        *((sm.ROCAUC(), other) for other in (sm.ROCAUC(pos_label="b"), sm.HandTillAUC(), sm.LogLoss())),
        (sm.ROCAUC(), sm.MetricSet(scores=True)), (sm.ROCAUC(), sm.RankSketch(pairs=False)),
    ]  # fmt: skip
    with every_case() as case:
        for mine, theirs in [*pairs, *(pair[::-1] for pair in pairs)]:
            with case((type(mine).__name__, mine, theirs)):
                before = mine.to_bytes()
                says(refused(partial(mine.merge, theirs), sm.MergeError, "Expected"), ", but got ")
                assert mine.to_bytes() == before
    spam = fed(sm.Accuracy(), [("spam", "ham")])
    for mine, theirs in ((sm.F1(), spam), (spam, sm.F1()), (sm.F1(), sm.F1(pos_label="spam"))):
        error = refused(partial(mine.merge, theirs), sm.MergeError, "pos_label")
        says(error, "to allow the same labels", "reconfigured(pos_label=...")


@pytest.mark.quick
def test_a_metric_with_other_options() -> None:
    """It is what one with these options would have counted, folds included; the old one stays."""
    changes: list[tuple[type[sm.Metric], dict[str, Any], dict[str, Any]]] = [
        (sm.FBeta, {"beta": 2.0}, {"beta": 0.5}), (sm.Recall, {}, {"zero_division": 1.0}),
        (sm.Recall, {"pos_label": 1}, {"pos_label": 0}), (sm.Accuracy, {}, {"labels": [1, 0]}),
        (sm.ROCAUC, {}, {"buckets": 2, "sample": 1}), (sm.PartialROCAUC, {}, {"max_fpr": 0.5}),
        (sm.TopKAccuracy, {"k": 2}, {"k": 3}), (sm.HandTillAUC, {}, {"zero_division": 0.0}),
    ]  # fmt: skip
    with every_case() as case:
        for cls, given, options in changes:
            for named in ({}, {"unit": "customer"}):
                with case((cls, options, named)):
                    samples = binary(cls(**given))
                    metric = fed(cls(**given), samples, **named)
                    before = metric.to_bytes()
                    again = metric.reconfigured(**options)
                    assert again.to_bytes() == fed(cls(**given | options), samples, **named).to_bytes()
                    assert metric.to_bytes() == before
                    assert fed(again, samples, **named).n == 2 * metric.n


@pytest.mark.quick
def test_options_that_are_counted_are_refused() -> None:
    """Where samples were counted with them; not before."""
    metric = sm.ROCAUC()
    assert metric.reconfigured(pos_label="a") == sm.ROCAUC(pos_label="a")
    area = fed(metric, SCORED)
    says(refused(partial(area.reconfigured, pos_label="a"), sm.OptionError, "pos_label"), "'a' in place of True")
    refused(partial(metric.reconfigured, beta=2), TypeError, "beta")
    ham = fed(sm.F1(pos_label="ham"), [("spam", "ham")])
    error = refused(partial(ham.reconfigured, pos_label=True), sm.OptionError, "pos_label")
    says(error, "True in place of 'ham': 'ham' was counted")


sizes = st.sampled_from([2, 4, 64])
options_of_sets = st.fixed_dictionaries({
    "metrics": st.one_of(st.none(), st.lists(st.sampled_from(KEYS), unique=True)),
    "scores": st.sampled_from([False, True, "any"]), "pairs": st.booleans(), "buckets": sizes, "sample": sizes,
    "labels": st.sampled_from([None, ("a", "b", "c"), ("c", "b", "a", "d")]),
    "zero_division": st.sampled_from([None, 0.0, 1.0]),
})  # fmt: skip
rows_of_sets = st.lists(st.sampled_from(SOFT), max_size=12)


def set_of(options: dict[str, Any]) -> sm.MetricSet:
    """Return a set with these options; the threshold, which decides what is counted, is always the same."""
    metrics = sm.MetricSet(**options)
    return metrics if metrics.scored is None else sm.MetricSet(**options, threshold=0.5)


def attempt(state: Any, **options: Any) -> tuple[Any, str | None]:
    """Return the state with other options, or None and the option that was refused."""
    try:
        return state.reconfigured(**options), None
    except sm.OptionError as error:
        return None, error.argument


@settings(max_examples=150)
@given(before=options_of_sets, after=options_of_sets, rows=rows_of_sets, unit=st.booleans())
def test_a_set_with_all_options_of_another_counts_what_that_one_does(
    before: dict[str, Any], after: dict[str, Any], rows: list[Any], unit: bool
) -> None:
    """Bytes are those of the other one, or the error names the missing states; metrics alone never lose counts."""
    named = {"unit": 5} if unit else {}
    mine, theirs = fed(set_of(before), rows, **named), fed(set_of(after), rows, **named)
    again, refused_option = attempt(mine, **after, **({} if theirs.scored is None else {"threshold": 0.5}))
    if again is None:
        larger = any(after[name] > before[name] for name in ("buckets", "sample"))
        unknown = refused_option == "labels" and "ranks" not in mine.score_states  # which classes the scores named
        assert larger or unknown or {*theirs.score_states} - {*mine.score_states}
        assert refused_option in after
    else:
        assert again.to_bytes() == theirs.to_bytes()
        assert (again + theirs).n == 2 * theirs.n

    keys = after["metrics"] or []
    view, refused_option = attempt(mine, metrics=keys)
    if view is None:
        assert rows
        assert refused_option == "metrics"
        return
    assert view.metrics == tuple(keys)
    if rows:
        assert view.score_states == mine.score_states
        assert view.reconfigured(metrics=before["metrics"]) == mine
        assert (mine + view).n == (view + mine).n == 2 * mine.n
        assert view.clone().merge(mine) == view
    assert sm.from_bytes(view.to_bytes()) == view
    assert {*view.get()} <= {*keys}


@pytest.mark.quick
@settings(max_examples=20)
@given(keys=st.lists(st.sampled_from(SCORE_KEYS), min_size=1, unique=True))
def test_a_set_counts_and_writes_what_its_keys_read(keys: list[str]) -> None:
    """Values are those of a set of everything; bytes with a sketch that no key reads stay, and merge with others."""
    scores = [{"a": i % 5 / 8, "b": i % 3 / 8, "c": 1 - i % 5 / 8 - i % 3 / 8} for i in range(40)]
    columns = ["a", "b", "c", "b"] * 10, scores
    empty, unread = sm.MetricSet(keys), sm.MetricSet([*keys, "gini"]).reconfigured(metrics=keys)
    small, values = with_batch(empty.copy(), *columns), with_batch(sm.MetricSet(scores=True), *columns).snapshot()
    assert {key: repr(value) for key, value in small.get().items()} == {key: repr(values[key]) for key in small.get()}
    assert {*small.score_states} == {name for key in keys for name in sm.MetricSet([key]).score_states}
    assert len(small.to_bytes()) < sum(len(state.to_bytes()) + 20 for state in small._states()) + len(repr(keys)) + 99
    assert len(read(unread.to_bytes())[1][0]) == 8
    times = [*range(40)]
    wraps: list[tuple[Any, dict[str, Any]]] = [
        (sm.MetricSet.copy, {}), (sm.MetricSet.copy, {"unit": times}), (sm.ByGroup, {"group": [1, 2] * 20}),
        (partial(sm.TimeWindow, period=60, panes=6), {"t": times}), (partial(sm.Fading, half_life=9), {}),
    ]  # fmt: skip
    for wrap, named in wraps:
        one, two = (with_batch(wrap(each), *columns, **named) for each in (empty, unread))
        assert [*map(sm.from_bytes, (one.to_bytes(), two.to_bytes()))] == [one, two]
        assert sm.from_bytes((one + two).to_bytes()) == one + two == two + one


@pytest.mark.quick
def test_sets_that_need_other_states_say_so() -> None:
    """The error names options and states; with the options of the smaller one both merge."""
    options: list[dict[str, Any]] = [{"metrics": ["roc_auc"]}, {"scores": True}, {}]
    small, large, labels = (fed(sm.MetricSet(**given), SOFT) for given in options)
    states = "['ranks', 'pairs', 'confidence', 'losses'] and ['ranks'] are counted of scores"
    without = large.reconfigured(pairs=False)  # pairs go on request only
    for call, kind, argument, *parts in [
        (partial(large.merge, small), sm.MergeError, "scores", states, "reconfigured(scores=..., metrics="),
        (partial(labels.merge, small), sm.MergeError, "scores", ", together with metrics=... of labels"),
        (partial(labels.reconfigured, scores=True), sm.OptionError, "scores", "this needs ['ranks', 'pairs', "),
        (partial(small.reconfigured, metrics=["log_loss"]), sm.OptionError, "metrics", "needs ['losses'] of scores"),
        (partial(large.merge, without), sm.MergeError, "pairs", "True in one and False in the other"),
        (partial(without.reconfigured, pairs=True), sm.OptionError, "pairs", "True in place of False"),
    ]:
        says(refused(call, kind, argument), *parts)
    assert (large.reconfigured(metrics=["roc_auc"], scores=False) + small) == fed(sm.MetricSet(["roc_auc"]), SOFT * 2)
    assert labels + large.reconfigured(scores=False) == fed(sm.MetricSet(), SOFT * 2)
    assert small.reconfigured(metrics=["accuracy"], scores=False) == fed(sm.MetricSet(["accuracy"]), SOFT)
    assert large.reconfigured(metrics=["accuracy"]).score_states == large.score_states
    assert without == fed(sm.MetricSet(scores=True, pairs=False), SOFT)


@pytest.mark.quick
def test_thresholds_of_single_scores_are_counted() -> None:
    """They decide labels, so they do not merge and cannot change, unless no scores were counted."""
    mine, theirs = sm.MetricSet(scores=True, threshold=0.25), sm.MetricSet(scores=True)
    assert mine.reconfigured(threshold=0.5) == theirs
    mine.update(True, 0.3)
    error = refused(partial(mine.merge, theirs), sm.MergeError, "threshold")
    assert str(error).endswith(" 0.25 in one and 0.5 in the other")
    error = refused(partial(mine.reconfigured, threshold=0.5), sm.OptionError, "threshold")
    says(error, "0.5 in place of 0.25: single numbers")
    assert mine.reconfigured(scores="any").threshold == 0.25
    assert mine.reconfigured(scores=False) == fed(sm.MetricSet(), [(True, True)])


def test_labels_that_only_scores_name_cannot_go() -> None:
    """The error names the label; with another order of labels, or without scores, nothing is lost."""
    rows = [{"a": 0.5, "b": 0.25, "x": 0.25}, {"a": 0.25, "b": 0.5, "x": 0.25}]
    for fixed in (None, ["a", "b", "x"]):
        one = with_batch(sm.MetricSet(scores=True, labels=fixed), ["a", "b"], rows)
        two = with_batch(sm.Comparison(labels=fixed, scores=True), ["a", "b"], rows, rows)
        for state in (one, two):
            says(refused(partial(state.reconfigured, labels=["a", "b"]), sm.OptionError, "labels"), "'x' was counted")
            assert state.reconfigured(labels=["x", "b", "a"]).n == 2
        assert one.reconfigured(labels=["b", "a"], scores=False).labels == ("b", "a")


@pytest.mark.quick
def test_options_may_be_iterators_and_those_of_a_subclass_stay() -> None:
    """They are read for the set and for each fold; what a constructor does not take cannot change."""
    mine = with_batch(sm.MetricSet(), ["a", "b"], ["a", "b"], unit=[1, 2])
    again = mine.reconfigured(metrics=(key for key in ["accuracy"]), labels=iter("bca"))
    assert again == mine.reconfigured(metrics=["accuracy"], labels=["b", "c", "a"])
    assert (again.metrics, again.labels) == (("accuracy",), ("b", "c", "a"))
    groups = with_batch(sm.ByGroup(mine), ["a", "b"], ["a", "b"], group=["x", "y"])
    assert groups.reconfigured(metrics=iter(["accuracy"])) == groups.reconfigured(metrics=["accuracy"])

    class Fixed(sm.MetricSet):
        def __init__(self) -> None:
            super().__init__(["accuracy"], labels=["a", "b"])

    metrics = fed(Fixed(), [("a", "b")])
    assert metrics.reconfigured() == metrics
    refused(partial(metrics.reconfigured, labels=["a", "b", "c"]), TypeError, "labels")
    refused(partial(sm.MetricSet(labels=["a"]).reconfigured, labels=["a", "a"]), sm.LabelError)
