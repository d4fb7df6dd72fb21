"""The last N samples, counted as if nothing else had ever been."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from functools import partial
from typing import Any, ClassVar, Never, Self

import numpy as np

from stream_metrics._core.windows.kernels import RollingUpdateBase
from stream_metrics.containers.fading import has_sketch
from stream_metrics.containers.keyed import InRiver, empty_prototype, reconfigured_inner, walk_inner
from stream_metrics.errors import MergeError, OptionError, quantity, with_article
from stream_metrics.inputs.arguments import named_arguments
from stream_metrics.inputs.samples import Reads, Sample, feed, plain_rows, plain_sample, read_samples, write_samples
from stream_metrics.inputs.score_tables import materialize, names_of_state
from stream_metrics.labels import Label, unique
from stream_metrics.metrics.base import MetricBase
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.metrics.rules import count_unignored
from stream_metrics.snapshots.readings import of_window
from stream_metrics.states.batches import is_common
from stream_metrics.states.losses import ProbabilityLosses
from stream_metrics.states.protocols import Accumulator, Load, not_counted
from stream_metrics.states.ranks import RankSketch
from stream_metrics.wire import Portable, packed, unpacked

MOST = 2**40  # samples
LONGEST = 2**24  # samples whose scores a sketch can tell apart


class Rolling(RollingUpdateBase, InRiver, Portable):
    """A state, a metric or a set of metrics over the last `window` samples.

    Every value is that of a fresh `inner` that has counted these samples, to the bit: a sample that leaves the window
    is taken back exactly. Abstentions and samples of weight 0 take a place in the window. Sketches get as many
    `buckets` as the window has samples, so that they stay exact.

    Parameters
    ----------
    inner : state, Metric, MetricSet or ByGroup
        The configuration of what counts. Its own counts are not taken over.
    window : int
        Number of samples, at most 2**40, or 2**24 where scores are ranked.

    Attributes
    ----------
    window : int
        Number of samples.
    held : int
        Number of samples in the window, abstentions included.
    inner : object
        An empty state with the configuration.

    Raises
    ------
    ValueError
        If `window` is out of range, or `inner` cannot take samples back.

    Notes
    -----
    A mapping of scores is copied, so the caller may change it afterwards.

    Memory: that of `inner`, and for labels 24 bytes for each sample in the window. A weight with a fraction adds its
    float (24 bytes), and scores add theirs or a dict (at most 360 bytes up to five classes).

    Time: `update` does not depend on `window`. Reading an area under a curve takes a sort of the samples in the window.

    Guarantee: the same samples in the window give the same bytes, whatever came before and however they came. Threads
    may share it: a sample enters and the oldest one leaves in one step.

    Examples
    --------
    >>> from stream_metrics import Accuracy, Rolling
    >>> window = Rolling(Accuracy(), 3)
    >>> window.update_many(["cat", "cat", "dog", "dog"], ["dog", "cat", "dog", "cat"])
    >>> round(window.get(), 4)
    0.6667
    """

    KIND: ClassVar[str] = "rolling"

    @named_arguments
    def __init__(self, inner: Accumulator, window: int) -> None:
        empty = empty_prototype(inner, "Rolling")
        _check_reverts(empty)
        self._set_up(_sized(empty, _checked(window)), window)
        self._describe()

    def _describe(self) -> None:
        """Note what follows from `inner`: what it reads, and the classes of its rows."""
        *_, leaf = walk_inner(self.inner)
        self._reads: Reads = _reads(leaf)
        self._keys = names_of_state(leaf)
        self._set_reads(self._reads != "labels", self._reads == "both", self._keys)
        state = getattr(leaf, "state", leaf)
        self._classes = state.classes if isinstance(state, ProbabilityLosses) else None
        if isinstance(leaf, MetricSet) and leaf.scored is not None:
            self._classes = leaf.labels

    def _plainly(self, given: tuple[object, ...], w: object, more: dict[str, object]) -> Sample:
        return plain_sample(self._reads, given, w, more, self._classes, self._keys)

    def _feed(self, state: Accumulator, samples: list[Sample]) -> None:
        feed(state, samples)

    @named_arguments
    def update_many(
        self,
        y_true: object,
        y_pred: object = None,
        w: object = None,
        *,
        scores: object = None,
        classes: Iterable[Label] | None = None,
        group: object = None,
        unit: object = None,
    ) -> None:
        """Count a batch row by row; one bad row rejects the whole batch.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            True labels: a list, an array, a column of pandas or Arrow, or a tensor on the CPU.
        y_pred : array-like of length n, optional
            Predictions, as `inner` takes them.
        w : array-like of shape (n,), optional
            Weights >= 0; 1 for every sample by default.
        scores : array-like of shape (n,) or (n, K), optional
            Scores: those of `pos_label`, or a column for each of `classes`.
        classes : sequence of Label of length K, optional
            The classes of the columns of a table of scores; a data frame brings its own.
        group : array-like of shape (n,) or Label, optional
            Groups of the samples, if `inner` has groups.
        unit : array-like of shape (n,) or Label, optional
            Units of the samples, or one unit for all of them; see `update`.

        Raises
        ------
        LabelError
            If a label is not allowed; the message names argument and position.
        ScoreError
            If a score is not allowed.
        WeightError
            If a weight is negative or not finite, or the sum of all weights would reach 2**63.

        Notes
        -----
        A batch that is longer than the window leaves its last rows.
        """
        given = {"y_true": y_true, "y_pred": y_pred, "w": w, "scores": scores, "group": group, "unit": unit}
        columns = {name: _kept(values, name) for name, values in given.items()}
        names = None if classes is None else unique(classes, "classes")
        count_unignored(self._sample_rule, columns, partial(self._count_columns, names))

    def _count_columns(self, classes: tuple[Label, ...] | None, columns: dict[str, Any]) -> None:
        """Count a batch of samples of which none is left out."""
        y_true, y_pred, w = columns.pop("y_true"), columns.pop("y_pred"), columns.pop("w")
        more = {name: values for name, values in {**columns, "classes": classes}.items() if values is not None}
        batch = self.inner.copy()
        batch.update_many(y_true, y_pred, w, **more)
        n, rows = plain_rows(self._reads, y_true, y_pred, w, more, self.window, self._classes, self._keys)
        if n < self.window:
            self._join(batch, rows)
        elif n == self.window:
            self._refill(batch, rows)
        else:
            self._count_samples(rows)

    def _count_samples(self, samples: list[Sample]) -> None:
        """Have these samples, and no others."""
        live = self.inner.copy()
        feed(live, samples)
        self._refill(live, samples)

    def merge(self, other: object) -> Never:
        """Raise `MergeError`: windows of two streams have no common order.

        Parameters
        ----------
        other : Rolling
            Another window.

        Returns
        -------
        Never
            This method does not return.

        Raises
        ------
        MergeError
            Always. The message names `TimeWindow`, which merges.
        """
        raise MergeError(
            "Expected states that can be merged, but got a Rolling: the last N samples of two streams together do not "
            "follow from the last N of each; TimeWindow merges, pane by pane"
        )

    def _merge_load(self) -> Load:
        """Return bounds of what the samples in the window add to a merge; see `states.protocols`."""
        load: Load = self.state._merge_load()
        return load

    def copy(self) -> Self:
        """Return an independent window with the same samples.

        Returns
        -------
        Rolling
            The copy.
        """
        twin: Self = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        self._copy_to(twin)
        return twin

    def reconfigured(self, **options: Any) -> Self:
        """Return a new window of the same samples with other options.

        Parameters
        ----------
        **options : object
            Options of `inner`, such as `metrics` or `labels`, and `window`. What is left out stays.

        Returns
        -------
        Rolling
            What a window with these options would have counted.

        Raises
        ------
        OptionError
            If that does not follow from the samples in the window, or samples would be read otherwise.
        TypeError
            If there is no such option.
        """
        length = options.pop("window", self.window)
        twin: Self = type(self)(reconfigured_inner(self.inner, options), length)
        with self._reading():
            samples, full = self._samples(), self.held == self.window
        if full and length > self.window:
            raise not_counted("window", self.window, length, "older samples were forgotten")
        if samples and (twin._reads, twin._classes) != (self._reads, self._classes):
            before, after = (self._reads, self._classes), (twin._reads, twin._classes)
            raise not_counted("inner", before, after, "samples in the window were read for these scores and classes")
        twin._count_samples(samples[-length:])
        return twin

    def snapshot(self, **options: object) -> Any:
        """Return a frozen copy of the state of the samples in the window.

        Parameters
        ----------
        **options : object
            What `snapshot` of `inner` takes, such as `zero_division`.

        Returns
        -------
        Snapshot or GroupSnapshot
            The metrics at this moment.
        """
        with self._reading():
            return of_window(self.state.snapshot(**options))

    @property
    def n(self) -> int:
        """The number of samples in the window that were counted."""
        with self._reading():
            return int(self.state.n)

    @property
    def abstained(self) -> int:
        """The number of samples in the window without a prediction."""
        with self._reading():
            return int(self.state.abstained)

    def _content(self) -> list[object]:
        return [self.window, packed(self.inner), *write_samples(self._reads, self._samples())]

    @classmethod
    def _restore(cls, content: Any) -> Self:
        window, inner, *written = content
        rolling = cls(unpacked(inner), window)
        samples = read_samples(written)
        if len(samples) > window:
            raise ValueError("no more samples than the window holds")
        rolling._count_samples(samples)
        return rolling

    def __repr__(self) -> str:
        with self._reading():
            return f"Rolling({self.state!r}, window {self.window}, {quantity(self.n, 'sample')})"


def _checked(window: object) -> int:
    if isinstance(window, bool) or not isinstance(window, int) or not 1 <= window <= MOST:
        raise OptionError(argument="window", expected=f"to be a number of samples from 1 to {MOST}", got=window)
    return window


def _check_reverts(inner: Accumulator) -> None:
    for state in walk_inner(inner):
        why = "" if hasattr(state, "revert") and hasattr(state, "merge") else ", which has no `revert`"
        if getattr(state, "max_groups", None) is not None:
            why = " with `max_groups`: groups that are folded into one cannot be told apart again"
        if why:
            expected = "Expected `inner` to take back what leaves the window"
            raise ValueError(f"{expected}, but got {with_article(type(state))}{why}")


def _reads(leaf: object) -> Reads:
    """Tell what a sample of a state is made of."""
    if isinstance(leaf, MetricBase):
        return leaf._reads
    return "scores" if isinstance(leaf, RankSketch | ProbabilityLosses) else "labels"


def _sized(inner: Any, window: int) -> Any:
    """Return an empty state whose sketches keep the scores of `window` samples apart."""
    *_, leaf = walk_inner(inner)
    ranked = has_sketch(leaf) and not (isinstance(leaf, MetricSet) and not leaf.scored.sketches())
    if not ranked or getattr(leaf, "buckets", window) >= window:
        return inner
    if window > LONGEST:
        expected = f"to be at most {LONGEST} samples where scores are ranked"
        raise OptionError(argument="window", expected=expected, got=window)
    return _with_buckets(inner, window)


def _with_buckets(inner: Any, buckets: int) -> Any:
    """Return an empty state with larger sketches; the constructor of a subclass need not take `buckets`."""
    if hasattr(inner, "inner"):
        return inner._mapped(_with_buckets(inner.inner, buckets), lambda state: state)
    parameters = inspect.signature(type(inner)).parameters.values()
    if any(each.name == "buckets" or each.kind is each.VAR_KEYWORD for each in parameters):
        return inner.reconfigured(buckets=buckets)
    twin = inner.copy()
    twin.buckets = buckets
    twin._attach(inner.state.reconfigured(buckets=buckets))
    return twin


def _kept(values: Any, argument: str) -> Any:
    """Return what can be read more than once, and floats as doubles, as which they are kept."""
    if values is not None and not is_common(argument, values):
        values = materialize(values, argument)
    return values.astype(np.float64) if getattr(values, "dtype", None) in (np.float32, np.float16) else values
