"""Metrics and sets that count the same merge whatever they show; `reconfigured` gives another view, or less."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics.errors import DecodeError, LabelError, OptionError
from stream_metrics.metrics.metric import METRIC_CLASSES
from stream_metrics.wire import decoded, encoded

BINARY = {
    "counts": [(1, 1), (1, 0), (0, 0), (0, None), (1, 1)],
    "ranks": [(1, {1: 0.9, 0: 0.1}), (0, {1: 0.4, 0: 0.6}), (0, None), (1, {1: 0.3, 0: 0.7})],
    "losses": [(1, {1: 0.9, 0: 0.1}), (0, {1: 0.4, 0: 0.6}), (0, None), (1, {1: 0.3, 0: 0.7})],
}
BY_STATE: dict[tuple[Any, ...], list[type[sm.Metric]]] = {}
for metric_class in METRIC_CLASSES.values():
    made = metric_class()
    identity = made.row.state, getattr(made.state, "binary_only", None), getattr(made.state, "pairs", None)
    BY_STATE.setdefault(identity, []).append(metric_class)
ALIKE = [pair for classes in BY_STATE.values() for pair in pairwise([*classes, classes[0]])]


def fed(state: Any, samples: Any, **named: Any) -> Any:
    """Return the state after the samples."""
    for sample in samples:
        state.update(*sample, **named)
    return state


@pytest.mark.parametrize(("mine", "theirs"), ALIKE, ids=lambda cls: cls.__name__)
def test_classes_that_count_the_same_merge(mine: type[sm.Metric], theirs: type[sm.Metric]) -> None:
    """The result is of the class of the left one, and has its value for all samples."""
    samples = BINARY[mine.row.state]
    whole = fed(mine(), samples * 2)

    total = fed(mine(), samples) + fed(theirs(), samples)
    assert total == whole
    assert type(total) is mine
    assert total.get() == whole.get() or total.get() != total.get()
    assert sm.merge([fed(theirs(), samples), whole]) == fed(theirs(), samples * 3)


def test_what_only_some_classes_take_does_not_merge() -> None:
    """A metric of one class with the default takes 0/1 only, so it has not counted what the other one would have."""
    spam = fed(sm.Accuracy(), [("spam", "ham")])
    for mine, theirs in ((sm.F1(), spam), (spam, sm.F1()), (sm.F1(), sm.F1(pos_label="spam"))):
        with pytest.raises(
            sm.MergeError, match=r"`pos_label` to allow the same labels .*; reconfigured\(pos_label=\.\.\."
        ):
            mine.merge(theirs)
    ones = fed(sm.F1(), [(1, 1), (0, 1)])
    assert (spam + ones.reconfigured(pos_label=1)).n == 3
    assert (ones + sm.Precision()).get() == 2 / 3
    assert (sm.F1(labels=[0, 1]) + sm.Accuracy(labels=[1, 0])).labels == (0, 1)
    with pytest.raises(OptionError, match=r"`pos_label` .* True in place of 'ham': 'ham' was counted"):
        fed(sm.F1(pos_label="ham"), [("spam", "ham")]).reconfigured(pos_label=True)


class Twice(sm.Accuracy):
    """A metric that counts in its own way."""

    def update(self, *arguments: Any, **named: Any) -> None:
        """Count a sample twice."""
        super().update(*arguments, **named)
        super().update(*arguments, **named)


def test_a_class_that_counts_in_its_own_way_merges_with_its_own_kind_alone() -> None:
    """Whether it counts the same cannot be known."""
    assert (fed(Twice(), [(1, 1)]) + Twice()).n == 2
    for mine, theirs in ((Twice(), sm.Accuracy()), (sm.Accuracy(), Twice())):
        with pytest.raises(sm.MergeError, match=r"to merge an? (Twice|Accuracy), but got an? (Twice|Accuracy)"):
            mine.merge(theirs)


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        (sm.FBeta(2.0), {"beta": 0.5}),
        (sm.Recall(), {"zero_division": 1.0}),
        (sm.Recall(pos_label=1), {"pos_label": 0}),
        (sm.Accuracy(), {"labels": [1, 0]}),
        (sm.ROCAUC(), {"buckets": 2, "sample": 1}),
        (sm.PartialROCAUC(), {"max_fpr": 0.5}),
        (sm.TopKAccuracy(2), {"k": 3}),
        (sm.HandTillAUC(), {"zero_division": 0.0}),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, sm.Metric) else str(each),
)
@pytest.mark.parametrize("unit", [None, "customer"])
def test_a_metric_with_other_options(metric: Any, options: dict[str, Any], unit: Any) -> None:
    """It is what one with these options would have counted, folds included; the old one stays."""
    samples, named = BINARY[metric.row.state], {} if unit is None else {"unit": unit}
    metric = fed(metric.clone(), samples, **named)
    before = metric.to_bytes()

    again = metric.reconfigured(**options)
    assert again.to_bytes() == fed(type(metric)(**metric._arguments() | options), samples, **named).to_bytes()
    assert metric.to_bytes() == before
    assert fed(again, samples, **named).n == 2 * metric.n


def test_options_that_are_counted_are_refused() -> None:
    """Where samples were counted with them; not before."""
    metric = sm.ROCAUC()
    assert metric.reconfigured(pos_label="a") == sm.ROCAUC(pos_label="a")
    with pytest.raises(OptionError, match=r"`pos_label` .* 'a' in place of True"):
        fed(metric, BINARY["ranks"]).reconfigured(pos_label="a")
    with pytest.raises(TypeError, match="beta"):
        metric.reconfigured(beta=2)


def attempt(state: Any, **options: Any) -> tuple[Any, str | None]:
    """Return the state with other options, or None and the option that was refused."""
    try:
        return state.reconfigured(**options), None
    except OptionError as error:
        return None, error.argument


KEYS = ["accuracy", "macro_f1", "roc_auc", "roc_auc_ovo", "log_loss", "confidence_auc"]
SOFT = [("a", {"a": 0.9, "b": 0.1}), ("b", {"a": 0.4, "b": 0.5, "c": 0.1}), ("c", None), ("b", "a"), ("a", {"b": 1.0})]
sizes = st.sampled_from([2, 4, 64])
options_of_sets = st.fixed_dictionaries(
    {
        "metrics": st.one_of(st.none(), st.lists(st.sampled_from(KEYS), unique=True)),
        "scores": st.sampled_from([False, True, "any"]),
        "pairs": st.booleans(),
        "buckets": sizes,
        "sample": sizes,
        "labels": st.sampled_from([None, ("a", "b", "c"), ("c", "b", "a", "d")]),
        "zero_division": st.sampled_from([None, 0.0, 1.0]),
    }
)


def made_of(options: dict[str, Any]) -> sm.MetricSet:
    """Return a set with these options; the threshold, which decides what is counted, is always the same."""
    metric_set = sm.MetricSet(**options)
    return metric_set if metric_set.scored is None else sm.MetricSet(**options, threshold=0.5)


@settings(deadline=None, max_examples=300)
@given(
    before=options_of_sets, after=options_of_sets, rows=st.lists(st.sampled_from(SOFT), max_size=12), unit=st.booleans()
)
def test_a_set_with_all_options_of_another_counts_what_that_one_does(
    before: dict[str, Any], after: dict[str, Any], rows: list[Any], unit: bool
) -> None:
    """Bytes are those of the other one, or the error names the missing states."""
    named = {"unit": 5} if unit else {}
    mine, theirs = fed(made_of(before), rows, **named), fed(made_of(after), rows, **named)
    more = {*theirs.score_states} - {*mine.score_states}
    larger = any(after[name] > before[name] for name in ("buckets", "sample"))
    threshold = {} if theirs.scored is None else {"threshold": 0.5}
    again, error = attempt(mine, **after, **threshold)
    if again is None:
        assert more or larger
        assert error in after
    else:
        assert again.to_bytes() == theirs.to_bytes()
        assert (again + theirs).n == 2 * theirs.n


@settings(deadline=None, max_examples=150)
@given(before=options_of_sets, keys=st.lists(st.sampled_from(KEYS), unique=True), rows=st.lists(st.sampled_from(SOFT)))
def test_metrics_alone_never_lose_counts(before: dict[str, Any], keys: list[str], rows: list[Any]) -> None:
    """Other metrics are another view: the set merges with the old one, and the way back gives the old bytes."""
    mine = fed(sm.MetricSet(**before), rows)
    again, error = attempt(mine, metrics=keys)
    if again is None:
        assert rows
        assert error == "metrics"
        return
    assert again.metrics == tuple(keys)
    if rows:
        assert again.score_states == mine.score_states
        assert again.reconfigured(metrics=before["metrics"]) == mine
        assert (mine + again).n == (again + mine).n == 2 * mine.n
        assert again.clone().merge(mine) == again
    assert sm.from_bytes(again.to_bytes()) == again
    assert {*again.get()} <= {*keys}


def test_a_deploy_with_one_more_metric_goes_on_merging() -> None:
    """Old and new workers merge in both orders, through bytes; the view is that of the left one."""
    old = fed(sm.MetricSet(["accuracy", "macro_f1"], zero_division=0.0), [("a", "a"), ("b", "a")])
    new = fed(sm.MetricSet(["matthews_corrcoef", "macro_f1", "accuracy"]), [("b", "b")])

    assert [*(old + new).get()] == ["accuracy", "macro_f1"]
    assert [*sm.merge([new.to_bytes(), old.to_bytes()]).get()] == ["matthews_corrcoef", "macro_f1", "accuracy"]
    assert sum([old, new]).zero_division == 0.0
    assert (old + new).state == (new + old).state
    assert (old + new).reconfigured(metrics=new.metrics, zero_division=None) == new + old


def test_sets_that_need_other_states_say_so() -> None:
    """The error names options and states; with the options of the smaller one both merge."""
    small, large = fed(sm.MetricSet(["roc_auc"]), SOFT), fed(sm.MetricSet(scores=True), SOFT)
    with pytest.raises(
        sm.MergeError,
        match=r"`scores` .* True in one and False in the other, where \['ranks', 'pairs', 'confidence', "
        r"'losses'\] and \['ranks'\] are counted of scores; reconfigured\(scores=\.\.\., metrics=",
    ):
        large.merge(small)
    assert (large.reconfigured(metrics=["roc_auc"], scores=False) + small) == fed(sm.MetricSet(["roc_auc"]), SOFT * 2)

    labels = fed(sm.MetricSet(), SOFT)
    with pytest.raises(sm.MergeError, match=r"one keeps scores, the other labels only; reconfigured\(scores=False\)"):
        labels.merge(large)
    assert labels + large.reconfigured(scores=False) == fed(sm.MetricSet(), SOFT * 2)
    with pytest.raises(OptionError, match=r"`scores` .* True in place of False: this needs \['ranks', 'pairs', "):
        labels.reconfigured(scores=True)
    with pytest.raises(sm.MergeError, match=r"reconfigured\(scores=False\) .*, together with metrics=... of labels$"):
        labels.merge(small)
    assert small.reconfigured(metrics=["accuracy"], scores=False) == fed(sm.MetricSet(["accuracy"]), SOFT)
    with pytest.raises(OptionError, match=r"`metrics` .* needs \['losses'\] of scores, which were not counted"):
        small.reconfigured(metrics=["log_loss"])


def test_pairs_go_on_request_only() -> None:
    """Nothing else that can change drops them."""
    metrics = fed(sm.MetricSet(scores=True), SOFT)
    assert metrics.reconfigured(metrics=["accuracy"]).score_states == metrics.score_states
    without = metrics.reconfigured(pairs=False)
    assert without == fed(sm.MetricSet(scores=True, pairs=False), SOFT)
    with pytest.raises(sm.MergeError, match=r"`pairs` .* True in one and False in the other"):
        metrics.merge(without)
    with pytest.raises(OptionError, match=r"`pairs` .* True in place of False"):
        without.reconfigured(pairs=True)


def test_thresholds_of_single_scores_are_counted() -> None:
    """They decide labels, so they do not merge and cannot change, unless no scores were counted."""
    mine, theirs = sm.MetricSet(scores=True, threshold=0.25), sm.MetricSet(scores=True)
    assert mine.reconfigured(threshold=0.5) == theirs
    mine.update(True, 0.3)
    with pytest.raises(sm.MergeError, match=r"`threshold` .* 0.25 in one and 0.5 in the other$"):
        mine.merge(theirs)
    with pytest.raises(OptionError, match=r"`threshold` .* 0.5 in place of 0.25: single numbers"):
        mine.reconfigured(threshold=0.5)
    assert mine.reconfigured(scores="any").threshold == 0.25
    assert mine.reconfigured(scores=False) == fed(sm.MetricSet(), [(True, True)])


def test_labels_of_a_set_with_scores_become_more() -> None:
    """In every state and fold; the two sets then merge in both orders."""
    mine, theirs = sm.MetricSet(scores=True, labels=["b", "a"]), sm.MetricSet(scores=True, labels=["a", "b", "c"])
    for each in (mine, theirs):
        each.update_many(["a", "b", "b"], scores=[{"a": 0.6, "b": 0.4}, {"a": 0.9}, {"b": 1.0}], unit=[1, 2, 1])

    assert mine.reconfigured(labels=["a", "b", "c"]) == theirs
    assert theirs.reconfigured(labels=["b", "a"]) == mine
    with pytest.raises(sm.MergeError, match=r"`labels` .* \('b', 'a'\) in one and \('a', 'b', 'c'\) .*; reconfigured"):
        mine.merge(theirs)


@pytest.mark.parametrize("fixed", [None, ["a", "b", "x"]])
def test_labels_that_only_scores_name_cannot_go(fixed: list[str] | None) -> None:
    """A set with fixed labels has scores of these alone, so one that counted scores of others does not become it."""
    mine, both = sm.MetricSet(scores=True, labels=fixed), sm.Comparison(labels=fixed, scores=True)
    rows = [{"a": 0.5, "b": 0.25, "x": 0.25}, {"a": 0.25, "b": 0.5, "x": 0.25}]
    mine.update_many(["a", "b"], rows)
    both.update_many(["a", "b"], rows, rows)
    for state in (mine, both):
        with pytest.raises(sm.OptionError, match=r"`labels` .*'x' was counted"):
            state.reconfigured(labels=["a", "b"])
        assert state.reconfigured(labels=["x", "b", "a"]).n == 2
    assert mine.reconfigured(labels=["b", "a"], scores=False).labels == ("b", "a")


def test_options_may_be_iterators() -> None:
    """They are read for the set and for each fold."""
    mine = sm.MetricSet()
    mine.update_many(["a", "b"], ["a", "b"], unit=[1, 2])
    again = mine.reconfigured(metrics=(key for key in ["accuracy"]), labels=iter("bca"))
    assert again == mine.reconfigured(metrics=["accuracy"], labels=["b", "c", "a"])
    assert (again.metrics, again.labels) == (("accuracy",), ("b", "c", "a"))
    groups = sm.ByGroup(mine)
    groups.update_many(["a", "b"], ["a", "b"], group=["x", "y"])
    assert groups.reconfigured(metrics=iter(["accuracy"])) == groups.reconfigured(metrics=["accuracy"])


def test_folds_take_the_order_of_labels_of_their_owner() -> None:
    """Those that only the other shard has, too."""
    mine, theirs = sm.MetricSet(labels=["a", "b"]), sm.MetricSet(["accuracy"], labels=["b", "a"])
    mine.update("a", "b", unit=1)
    theirs.update_many(["a", "b", "a"], ["a", "b", "b"], unit=[2, 3, 1])
    whole = sm.MetricSet(labels=["a", "b"])
    whole.update_many(["a", "a", "b", "a"], ["b", "a", "b", "b"], unit=[1, 2, 3, 1])

    assert mine.merge(theirs).to_bytes() == whole.to_bytes()
    assert sm.from_bytes(mine.to_bytes()) == whole


def content(*configuration: Any) -> Any:
    """Return the content of an empty set with this configuration, as it is read from bytes."""
    states = sm.MetricSet(scores=True).reconfigured(metrics=["accuracy"]).to_content()[1:]
    return decoded(encoded([configuration, *states]))


def test_only_sets_that_count_more_than_they_show_have_more_in_their_bytes() -> None:
    """Others have the bytes of earlier versions; a list that no set would write is refused."""
    plain = sm.MetricSet(["accuracy"], scores=True)
    assert plain.reconfigured(metrics=["macro_f1"]).to_bytes() == sm.MetricSet(["macro_f1"], scores=True).to_bytes()

    head = (("accuracy",), None, True, True, 0.5, 1024, 512, True)
    written = ("ranks", "pairs", "confidence", "losses")
    assert encoded(content(*head, written)) == encoded(
        sm.MetricSet(scores=True).reconfigured(metrics=["accuracy"]).to_content()
    )
    assert sm.MetricSet.from_content(content(*head, written)).score_states == written
    wrong = [(), ("ranks",), written[::-1], (*written, "more"), 5, ("ranks", "confidence", "losses"), ("pairs",)]
    for names in wrong:
        with pytest.raises(DecodeError):
            sm.MetricSet.from_content(content(*head, names))
    for metric, names in (("roc_auc_ovo", ("ranks", "confidence", "losses")), ("log_loss", ("ranks", "pairs"))):
        with pytest.raises(DecodeError):
            sm.MetricSet.from_content(content((metric,), *head[1:], names))
    with pytest.raises(DecodeError):
        sm.MetricSet.from_content(content(*head, written, written))


def test_a_subclass_keeps_its_own_constructor() -> None:
    """What a constructor does not take cannot change."""

    class Fixed(sm.MetricSet):
        def __init__(self) -> None:
            super().__init__(["accuracy"], labels=["a", "b"])

    metrics = fed(Fixed(), [("a", "b")])
    assert metrics.reconfigured() == metrics
    with pytest.raises(TypeError, match="labels"):
        metrics.reconfigured(labels=["a", "b", "c"])
    with pytest.raises(LabelError):
        sm.MetricSet(labels=["a"]).reconfigured(labels=["a", "a"])
