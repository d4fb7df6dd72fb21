"""Many metrics over shared states: one of labels and, if scores are kept, those that `states.score_states` holds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import partialmethod
from operator import attrgetter, is_
from typing import Any, ClassVar, Literal, Self

import numpy as np

from stream_metrics._core.confusion.kernels import FoldsStep
from stream_metrics._core.numeric.kernels import Step, Swap, commit, whole
from stream_metrics._core.ranks.kernels import ScoredUpdateBase
from stream_metrics.catalog.table import CATALOG, find
from stream_metrics.errors import MergeError, ScoreError, options_differ, quantity
from stream_metrics.evaluation.evaluation import checked_zero_division
from stream_metrics.inputs.arguments import named_arguments, real, truth
from stream_metrics.inputs.batch import mixed_batch
from stream_metrics.inputs.rules import Missing
from stream_metrics.labels import Label, canonical
from stream_metrics.labels.pos_label import as_counted_before, check_possible, is_default
from stream_metrics.metrics.base import MetricBase, PlainSample
from stream_metrics.metrics.metric import Metric, metric_class
from stream_metrics.snapshots.snapshot import Snapshot, Values
from stream_metrics.states.confusion import ConfusionMatrix
from stream_metrics.states.losses import ProbabilityLosses
from stream_metrics.states.protocols import not_counted
from stream_metrics.states.ranks import RankSketch
from stream_metrics.states.score_labels import LabelRule
from stream_metrics.states.score_states import (
    NAMES,
    Classes,
    ReadSample,
    ScoreStates,
    UncountedPairs,
    check_counted,
    checked_scores,
    in_order,
)
from stream_metrics.wire import NEWER

LARGEST = 2**24  # numbers of buckets and of sampled scores
STATES_OF_SCORES = {True: {"ranks", "confidence", "losses"}, "any": {"ranks"}, False: set[str]()}
COUNTED = ("pos_label", "threshold", "buckets", "sample")  # options of these states
counted_options = attrgetter(*COUNTED)
DEFAULTS: dict[str, Any] = {"scores": False, "pos_label": True, "buckets": 1024, "sample": 512, "pairs": True}


class MetricSet(ScoredUpdateBase, MetricBase):
    """Many metrics over shared states: one update counts for all, a snapshot computes what is read.

    A prediction is a label, a mapping from label to score, whose largest is its label, or, where scores are kept, a
    float, the score of `pos_label`. None and {} are abstentions.

    Parameters
    ----------
    metrics : iterable of str or Metric class, optional
        Keys of the catalog or metric classes. By default every metric that the states allow.
    scores : bool or "any", default False
        Whether scores are kept beside labels. True is for probabilities in [0, 1]: areas, curves, calibration and
        losses are read from them. "any" is for other finite numbers, which have no losses. Metrics that are named bring
        the states that they need.
    pos_label : Label, default True
        The class whose score a single number is; only where scores are kept. By default single numbers are scores of
        class 1 or True, and the true labels beside them are 0/1 or False/True. The class beside `pos_label` is the
        other one of two `labels`, of 0 and 1, or else the only other label that was seen.
    threshold : float, optional
        A single number predicts `pos_label` if it is at least this: 0.5 for probabilities and 0 for "any" scores by
        default. At inf none does, as `best_threshold` may have it. Only where scores are kept.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported; see `ConfusionMatrix`. The columns of a table of scores
        without `classes` are in this order, too.
    other : Label, optional
        The label that stands for all labels that are not in `labels`; only without scores.
    buckets, sample : int, default 1024 and 512
        The size of sketches; see `RankSketch`.
    pairs : bool, default True
        Whether pairs of classes are compared, for up to 64 classes of scores; see `RankSketch`.
    zero_division : float, optional
        Value that stands for 0/0: 0.0, 1.0 or nan. By default that of each metric, 0.0 for labels, nan for losses and
        scores.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Attributes
    ----------
    state : ConfusionMatrix
        The counts of labels.
    scored : object or None
        The states of scores.

    Notes
    -----
    Samples of one `unit` (a customer, a session) depend on each other. They are counted in one of 32 folds as well, by
    a hash of the unit, and `snapshot().interval(key)` leaves out one fold at a time; that holds for weighted samples
    too. Where errors come in runs, a unit is a block of time, many times as long as a run: `unit=int(t // 3600)`.

    Keys of scores that are all text, as JSON, structs and data frames have them, name numbers where the true label is a
    number: `"1"` is 1 and `"true"` is True beside a 0. With `labels` a key names the label that is written so. That
    depends on the sample alone, and holds for every state of scores.

    Memory: that of the states; with units up to 33 times as much.

    Guarantee: shards that are merged, in any order and tree, have the bytes of one process.

    Examples
    --------
    >>> from stream_metrics import MetricSet
    >>> metrics = MetricSet(["accuracy", "macro_f1"])
    >>> metrics.update_many(["cat", "cat", "dog"], ["cat", "dog", "dog"])
    >>> metrics.get()["accuracy"]
    0.6666666666666666

    An interval needs the units of samples that depend on each other:

    >>> known, unknown = MetricSet(), MetricSet()
    >>> for customer in range(200):
    ...     for _ in range(10):  # all samples of a customer are right, or all are wrong
    ...         predicted = "b" if customer % 7 == 3 else "a"
    ...         known.update("a", predicted, unit=customer)
    ...         unknown.update("a", predicted)
    >>> for metrics in known, unknown:
    ...     interval = metrics.snapshot().interval("accuracy")
    ...     print(f"{interval.value:.2f} [{interval.low:.2f}, {interval.high:.2f}] {interval.method}")
    0.85 [0.80, 0.90] folds
    0.85 [0.84, 0.87] wilson
    """

    KIND: ClassVar[str] = "set"

    @named_arguments
    def __init__(
        self,
        metrics: Iterable[str | type[Metric]] | None = None,
        *,
        scores: bool | Literal["any"] = False,
        pos_label: Label = True,
        threshold: float | None = None,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        buckets: int = 1024,
        sample: int = 512,
        pairs: bool = True,
        zero_division: float | None = None,
        missing: Missing = "abstain",
        ignore_index: Label | None = None,
    ) -> None:
        options: dict[str, Any] = {"metrics": metrics, "scores": scores, "pos_label": pos_label, "labels": labels}
        options |= {"other": other, "buckets": buckets, "sample": sample, "pairs": pairs}
        self._set_options({**options, "zero_division": zero_division, "threshold": _checked_threshold(threshold)})
        self._set_rule(missing, ignore_index)

    def _set_options(
        self, options: Mapping[str, Any], names: tuple[str, ...] | None = None, always: tuple[str, ...] = ()
    ) -> None:
        """Check the options of the constructor but those of the rule, and start empty.

        Of scores the states of these `names` are counted, by default those that the options need; see `_needed`.
        """
        metrics, scores, threshold = (options.get(name) for name in ("metrics", "scores", "threshold"))
        if metrics is not None and (isinstance(metrics, str | set | frozenset) or not isinstance(metrics, Iterable)):
            raise ValueError(f"Expected `metrics` to be a sequence of keys, but got {metrics!r}")
        self.scores = checked_scores(scores)
        keys = [metric.key if hasattr(metric, "key") else metric for metric in metrics or ()]
        self.metrics = None if metrics is None else tuple(dict.fromkeys(find(key).key for key in keys))
        zero_division = options["zero_division"]
        self.zero_division = None if zero_division is None else checked_zero_division(zero_division)
        self._attach(ConfusionMatrix(options["labels"], options["other"]))
        self.labels, self.other = self.state.fixed_labels, self.state.other
        self.buckets = whole(options["buckets"], "buckets", 2, LARGEST)
        self.sample = whole(options["sample"], "sample", 1, LARGEST)
        self.pairs, given = truth(options["pairs"], "pairs"), options["pos_label"]
        names = self._needed(always) if names is None else names
        if not names:
            unused = {} if given is True or (isinstance(given, np.bool_) and given) else {"pos_label": given}
            for name, value in (unused if threshold is None else unused | {"threshold": threshold}).items():
                keeps = "labels only, which MetricSet(scores=True) is not"
                raise ValueError(f"Expected no `{name}` in a set that keeps {keeps}, but got {value!r:.60}")
        self.pos_label = canonical(given, "pos_label") if names else given
        if names and not is_default(given):
            check_possible(self.pos_label, self.labels)
        self.threshold = (0.0 if scores == "any" else 0.5) if threshold is None else threshold
        self._start_scores(names)

    def _needed(self, always: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return what the options need to be counted of scores, as `score_states` names it; empty for labels alone.

        `always` are states that are counted wherever scores are.
        """
        if not self.scores and self.metrics is None:
            return ()
        states = STATES_OF_SCORES[self.scores] | _named_states(self.metrics, False)
        states = states.union(always) if states else states
        quadratic = self.metrics is None or any(CATALOG[key].quadratic for key in self.metrics)
        return in_order(states | ({"pairs"} if self.pairs and "ranks" in states and quadratic else set()))

    @property
    def score_states(self) -> tuple[str, ...]:
        """What is counted of scores, by name: "ranks", whether with "pairs" of classes, "confidence", "losses"."""
        return () if self.scored is None else self.scored.names

    def _start_scores(self, names: tuple[str, ...]) -> None:
        """Count these states of scores from now on, starting empty."""
        if names and self.other is not None:
            raise ValueError(f"Expected no `other` where scores are kept, but got {self.other!r}")
        size, states = (self.buckets, self.sample), dict[str, Any]()
        if "ranks" in names:
            states["ranks"] = RankSketch(*size, self.pos_label, "pairs" in names)
        if "confidence" in names:
            states["confidence"] = RankSketch(*size, pairs=False)
        if "losses" in names:
            states["losses"] = ProbabilityLosses(self.pos_label)
        rule = LabelRule(self.pos_label, self.labels, self.threshold)
        self._attach_scored(ScoreStates(rule, **states) if names else None)

    def _update_scored_slowly(
        self, y_true: object, y_pred: object, w: object, scores: object, classes: Classes, reverts: bool = False
    ) -> None:
        sample = self._read_sample(y_true, y_pred, w, scores, classes)
        with self._writing():  # a merge may have replaced `scored` meanwhile
            commit(self.scored.steps(self.state, sample, reverts))

    _revert_scored = partialmethod(_update_scored_slowly, reverts=True)

    def _read_sample(self, y_true: object, y_pred: object, w: object, scores: object, classes: Classes) -> ReadSample:
        return self._with_scores().read_sample(y_true, y_pred, w, scores, classes, lambda: self.state.labels)

    def remove(
        self,
        y_true: object,
        y_pred: object = None,
        w: object = 1,
        *,
        scores: object = None,
        classes: Iterable[Label] | None = None,
    ) -> None:
        """Undo one `update` with the same arguments, also where `revert` cannot: after sketches have coarsened.

        Parameters
        ----------
        y_true : Label
            The true label.
        y_pred : Label or mapping from Label to float or float or None
            The prediction, as `update` takes it.
        w : int or float, default 1
            Weight of the sample, >= 0.
        scores : mapping from Label to float or float or sequence of float, optional
            Scores beside a prediction that is not their largest.
        classes : sequence of Label, optional
            The classes that a sequence of scores belongs to.

        Raises
        ------
        WeightError
            If the counts of labels or losses show that there was no such update. Nothing changes then.
        ValueError
            If samples have units.

        Notes
        -----
        Counts of labels, losses and weights are those of the samples that are left, to the bit. While every sketch is
        exact, so is the whole set. Otherwise the scores are counted in a second sketch, of removed samples, which is
        subtracted when metrics are read: areas and curves have certified intervals that hold, and may be wider than
        those of a set that never had the sample. The sample must have been counted; a coarse sketch cannot tell.

        Memory: up to twice that of the sketches.

        Examples
        --------
        >>> from stream_metrics import MetricSet
        >>> metrics = MetricSet(scores=True, buckets=2)
        >>> metrics.update_many([1, 0, 1, 0], scores=[0.9, 0.2, 0.6, 0.7])
        >>> metrics.remove(0, scores=0.7)
        >>> metrics.snapshot()["accuracy"], metrics.n
        (1.0, 3)
        """
        if self._unit_folds:
            raise ValueError("Expected samples without units for `remove`, but some have units: use `revert`")
        if self.scored is None:
            self.revert(y_true, y_pred, w, scores=scores, classes=classes)
            return
        if self._sample_rule is not None and self._sample_rule.ignores(y_true):
            return
        sample = self._read_sample(y_true, y_pred, w, scores, classes)
        with self._writing():
            commit(self.scored.remove_steps(self.state, sample))

    def _with_scores(self) -> ScoreStates:
        if self.scored is None:
            but, none = "got some; MetricSet(scores=True) counts them", "no `scores` and `classes`"
            raise ScoreError(argument="scores", subject=none, expected="in a set that keeps labels only", but=but)
        scored: ScoreStates = self.scored
        return scored

    def _update_many(self, y_true: object, y_pred: object, w: object, scores: object, classes: Classes) -> None:
        if self.scored is None and scores is None and classes is None:
            self.state.update_many(y_true, y_pred, w)
        else:
            self._with_scores().update_many(self, mixed_batch(y_true, y_pred, w, scores, classes))

    def _merge_steps(self, other: Any) -> list[Step]:
        """Return the steps of a merge; called in a section of both."""
        if self.scored is None:
            return super()._merge_steps(other)
        common: ScoreStates = self.scored.only(other.score_states)
        if common is self.scored:
            return super()._merge_steps(other)
        twin: MetricSet = self._with(self.state.copy(), common.copy())
        twin._prototype = None
        twin._unit_folds = {fold: twin._empty().copy().merge(part) for fold, part in self._unit_folds.items()}
        twin.merge(other)
        return [Swap(self.state, twin.state), FoldsStep(self, twin._unit_folds, twin.scored)]

    @property
    def _reads(self) -> str:
        """Whether a sample has labels, or labels and scores."""
        return "labels" if self.scored is None else "both"

    @property
    def requires_labels(self) -> bool:
        """Whether river passes labels to the set; it keeps scores otherwise, and river passes those."""
        return self.scored is None

    def _update_unit(self, unit: Label, y_true: object, y_pred: object, w: object, more: dict[str, object]) -> None:
        if self.scored is None and more:
            self._with_scores()
        super()._update_unit(unit, y_true, y_pred, w, more)

    def _sample_steps(self, sample: PlainSample, reverts: bool = False) -> list[Step]:
        """Return the steps that count a plain sample in all states but the folds, or undo that."""
        if self.scored is None:
            return super()._sample_steps(sample, reverts)
        y_true, y_pred, w, more = sample
        classes: Any = more.get("classes")
        read = self._read_sample(y_true, y_pred, w, more.get("scores"), classes)
        steps: list[Step] = self.scored.steps(self.state, read, reverts)
        return steps

    def _check_same(self, other: object) -> None:
        super()._check_same(other)
        assert isinstance(other, MetricSet)
        if self.scored is None and other.scored is None:
            return
        if self.score_states != other.score_states:
            by_options = repr((self.scores, self.pairs)) != repr((other.scores, other.pairs))
            if by_options or not {*self.score_states} & {*other.score_states}:
                raise _other_states(self, other)
        mine, theirs = counted_options(self), counted_options(other)
        if not all(map(is_, mine, theirs)) and repr(mine) != repr(theirs):
            named = (dict(zip(COUNTED, options, strict=True)) for options in (mine, theirs))
            raise options_differ(next(named), next(named), ("buckets", "sample"))

    def _with(self, state: Any, scored: Any = None) -> Self:
        twin = super()._with(state)
        twin._attach_scored(scored)
        return twin

    def _arguments(self, of: type[Any] | None = None) -> dict[str, Any]:
        arguments = super()._arguments(of)
        if self.scored is None:
            arguments.pop("threshold", None)  # which needs scores
        return arguments

    def get(self) -> Values:
        """Return the current values of the whole metrics.

        Returns
        -------
        Values
            A dict from key to value. Its `omitted` names the keys that have none, as `Snapshot.omitted` does.
        """
        return Values(self.snapshot())

    def snapshot(self) -> Snapshot:
        """Return a frozen copy of the states from which the metrics are read.

        Returns
        -------
        Snapshot
            The metrics at this moment; later updates do not change it.
        """
        with self._reading():
            counts, scored = self.state.copy(), None if self.scored is None else self.scored.copy()
            folds = {fold: states_by_name(part.state, part.scored) for fold, part in self._copied_folds().items()}
        states = states_by_name(counts, scored)
        if "ranks" in states and "pairs" in {*self._needed()} - {*self.score_states}:  # a merge has dropped them
            states["ranks"] = UncountedPairs(states["ranks"])
        return Snapshot(**states, folds=folds, keys=self.metrics, zero_division=self.zero_division)

    def _like(self, options: Mapping[str, Any]) -> Self:
        """Return an empty set with other options; unless `scores` is given, it counts whatever this one counts."""
        arguments, inherits = self._arguments(MetricSet) | dict(options), "scores" not in options
        if "threshold" in options:
            arguments["threshold"] = _checked_threshold(options["threshold"])
        twin: Self = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        if not inherits:  # without scores there is no class whose score a number is
            twin._set_options(arguments | {"pos_label": True, "threshold": None} | dict(options))
        if inherits or twin.scored is not None:
            twin._set_options(arguments, self.score_states if inherits and self.score_states else None)
        if inherits and self.scored is not None:
            counted = {*self.score_states}
            if "metrics" in options:
                counted |= _named_states(twin.metrics, twin.pairs)
            if "pairs" in options:
                counted = counted - {"pairs"} | {"pairs"} & {*twin._needed()}
            twin._start_scores(in_order(counted))
        twin._set_rule(arguments["missing"], arguments["ignore_index"])
        return twin

    def _count_again(self, twin: Self) -> None:
        twin.state.merge(self.state.reconfigured(labels=twin.labels, other=twin.other))
        if not (self.n or self.abstained):
            return
        missing = [name for name in twin.score_states if name not in self.score_states]
        if missing and (missing != ["pairs"] or self.scored.n):
            changed = [name for name in ("scores", "pairs") if getattr(twin, name) != getattr(self, name)]
            argument = changed[0] if changed else "metrics"
            reason = f"this needs {missing} of scores, which were not counted"
            raise not_counted(argument, getattr(self, argument), getattr(twin, argument), reason)
        if self.scored is not None and twin.scored is not None:
            self.scored.count_again(twin.scored)

    def _configuration(self) -> tuple[object, ...]:
        rule = self._written_rule()
        if self.scored is None:
            return (self.metrics, self.zero_division, *([rule] if rule else []))
        sketch = self.buckets, self.sample, self.pairs
        states = () if self.score_states == self._needed(always=("ranks",)) else (self.score_states,)
        of_scores = self.scores, self.pos_label, self.threshold, *sketch, *states
        return (self.metrics, self.zero_division, *of_scores, *([rule] if rule else []))

    def _written_folds(self) -> list[object]:
        """Return the folds, and the sketches of samples that were removed, as the last parts of a content."""
        folds = super()._written_folds()
        if self.scored is None or self.scored.removed is None:
            return folds
        return [*(folds or [[]]), [sketch._content() for sketch in self.scored.removed.sketches()]]

    @classmethod
    def _restore(cls, content: Any) -> Self:
        (metrics, zero_division, *rest), counts_content, *contents = content
        rule = rest.pop() if rest and isinstance(rest[-1], Mapping) else {}
        counts = ConfusionMatrix._from_content(counts_content)
        rest, score_states = rest[:6], rest[6:]
        names = score_states[0] if score_states else None
        if not {*(names or ())} <= {*NAMES} or len(score_states) > 1:
            raise ValueError(f"states of {NAMES}, but got {names!r:.60}{NEWER}")
        written = dict(zip(("scores", "pos_label", "threshold", "buckets", "sample", "pairs"), rest, strict=bool(rest)))
        options = DEFAULTS | written | {"metrics": metrics, "zero_division": zero_division}
        options |= {"labels": counts.fixed_labels, "other": counts.other}
        if rest:  # earlier versions let an infinity pass
            options["threshold"] = real(options["threshold"], "threshold")
        metric_set = cls.__new__(cls)
        as_counted_before(metric_set._set_options, options, names, ("ranks",))
        as_counted_before(metric_set._set_rule, **{"missing": "abstain", "ignore_index": None, **rule})
        metric_set._attach(counts)
        states: dict[str, Any] = {} if metric_set.scored is None else metric_set.scored._states()
        written_states = {}
        for (name, state), state_content in zip(states.items(), contents[: len(states)], strict=True):
            written_states[name] = written_state = type(state)._from_content(state_content)
            if isinstance(written_state, ProbabilityLosses) and written_state.classes is not None:
                raise ValueError("losses without classes of their own")  # a merge would forget them
            state._merge_step(written_state)  # MergeError if they count differently
        if metric_set.scored is not None:
            metric_set._attach_scored(metric_set.scored.with_states(written_states))
        folds, removed = contents[len(states) : len(states) + 1], contents[len(states) + 1 :]
        if len(removed) > (metric_set.scored is not None):
            raise ValueError("the states of a set, its folds and the samples removed")
        for sketches in removed:
            metric_set.scored.restore_removed(sketches)
        if metric_set.scored is not None:
            check_counted([metric_set.scored], counts.n)
        metric_set._read_folds(content[0], [each for each in folds if each or not removed])
        return metric_set

    def __repr__(self) -> str:
        which = "every metric" if self.metrics is None else quantity(len(self.metrics), "metric")
        parts = [which, quantity(self.n, "sample"), quantity(self.state.k, "class"), *self._shown_rule()]
        return f"MetricSet({', '.join(parts)})"


def metric_of_key(key: str, **options: Any) -> Metric | MetricSet:
    """Return a metric whose value is one number: of the class of the key, or else a set of this metric alone.

    Raises UnknownMetricError for no key, ValueError for values of each class and options that do not fit.
    """
    row = find(key)
    if row.class_name:
        return metric_class(row)(**options)
    if row.kind != "whole":
        raise ValueError(f"Expected the key of one number, but {row.key!r} has one for each class")
    unfit = sorted(options.keys() - {"zero_division"})
    if unfit:
        raise ValueError(f"Expected no option {unfit[0]!r} for {row.key!r}, which has no class of its own")
    return MetricSet([row.key], **options)


def _named_states(metrics: Iterable[str] | None, pairs: bool) -> set[str]:
    """Return what the metrics that are named read of scores; pairs only if they are wanted."""
    rows = [CATALOG[key] for key in metrics or ()]
    paired = pairs and any(row.quadratic and row.state == "ranks" for row in rows)
    return {str(row.state) for row in rows} - {"counts"} | ({"pairs"} if paired else set())


def _other_states(mine: MetricSet, theirs: MetricSet) -> MergeError:
    """Return the error of a merge of two sets that do not count the same of scores."""
    if not (mine.score_states and theirs.score_states):
        but = "got two of which one keeps scores, the other labels only; reconfigured(scores=False) is what both have"
        if _named_states((mine if mine.score_states else theirs).metrics, False):
            but += ", together with metrics=... of labels"
        return MergeError(argument="scores", expected="to be the same in both", got=theirs.scores, but=but)
    names = [name for name in ("scores", "pairs") if getattr(mine, name) != getattr(theirs, name)] or ["metrics"]
    before, after = ({name: getattr(each, name) for name in names} for each in (mine, theirs))
    counted = f", where {[*mine.score_states]} and {[*theirs.score_states]} are counted of scores"
    less = "; reconfigured(scores=..., metrics=..., pairs=...) as in the one with less drops the rest"
    common = {*mine.score_states} & {*theirs.score_states}
    return options_differ(before, after, note=counted + (less if common else ", and nothing is counted by both"))


def _checked_threshold(threshold: object) -> float | None:
    """Return a threshold that is given as a float."""
    number = None if threshold is None else real(threshold, "threshold")
    if number is not None and not number > -math.inf:
        raise ValueError(f"Expected `threshold` to be a finite number or inf, but got {threshold!r}")
    return number


def states_by_name(counts: ConfusionMatrix, scored: ScoreStates | None) -> dict[str, Any]:
    """Return the states of a set by their names in the catalog, without those that are missing."""
    return {"counts": counts, **({} if scored is None else scored.by_name())}
