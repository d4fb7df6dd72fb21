"""The intersection of all intervals that were looked at: an interval that never becomes wider again."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from stream_metrics.catalog.table import find
from stream_metrics.errors import MergeError, quantity
from stream_metrics.inference.intervals.folds import check_interval_options
from stream_metrics.inference.intervals.interval import Interval
from stream_metrics.inference.intervals.methods import ONE_LOOK, refusal
from stream_metrics.labels import canonical
from stream_metrics.wire import Portable

if TYPE_CHECKING:
    from stream_metrics.labels import Label
    from stream_metrics.snapshots.snapshot import Snapshot


CROSSED = "no value was in all intervals so far: the population has changed, or an interval was wrong, as a few may be"


class RunningInterval(Portable):
    """The interval of a metric that follows from all looks at one stream together.

    An interval with ``valid="anytime"`` holds the value of the population at every look at once, with the stated
    probability. So all of them together do, and their intersection, which is narrower than the last one and never
    grows.

    Parameters
    ----------
    key : str
        A metric that has an interval for all looks.
    level : float, default 0.95
        The probability that no look ever misses the value.
    label : Label, optional
        The class of a per-class metric.
    t_opt : float, optional
        See `Snapshot.interval`.

    Notes
    -----
    The value must stay the same: independent samples of one population. A single interval for all looks at a proportion
    holds a mean that changes; their intersection does not. If no value is left, `low` and `high` are nan and the note
    says so.

    Memory: under 1 kB. No `merge`: see `merge` for what to do instead.

    Examples
    --------
    >>> import stream_metrics as sm
    >>> state, running = sm.ConfusionMatrix(), sm.RunningInterval("accuracy")
    >>> for start in range(0, 400, 100):
    ...     state.update_many([1] * 100, [1] * 80 + [0] * 20)
    ...     interval = running.look(state.snapshot())
    >>> round(interval.low, 3), round(interval.high, 3), running.looks
    (0.724, 0.864, 4)
    """

    KIND: ClassVar[str] = "running"
    __slots__ = ("_high", "_low", "key", "label", "level", "looks", "n", "t_opt")

    def __init__(
        self, key: str, level: float = 0.95, *, label: Label | None = None, t_opt: float | None = None
    ) -> None:
        row = find(key)
        reason = "it has no sequence" if key in ONE_LOOK else refusal(row)
        if reason is not None:
            raise ValueError(f"Expected a metric with an interval for all looks, but {key!r} has none: {reason}")
        if (row.kind == "per_class") != (label is not None):
            raise ValueError(
                f"Expected a label for a per-class key and none for a whole one, but got {key!r}, {label!r}"
            )
        self.key, self.label = key, None if label is None else canonical(label, "label")
        self.level, _, self.t_opt = check_interval_options(level, "anytime", t_opt)
        self.reset()

    def reset(self) -> None:
        """Forget every look; the configuration stays."""
        row = find(self.key)
        self.n, self.looks, self._low, self._high = 0, 0, row.low, row.high

    def look(self, snapshot: Snapshot) -> Interval:
        """Take a look at the stream, and return what all looks so far allow.

        Parameters
        ----------
        snapshot : Snapshot
            The metrics of the stream at this moment.

        Returns
        -------
        Interval
            The intersection of all intervals. `value` is that of this look, and may lie outside.

        Raises
        ------
        ValueError
            If there are fewer samples than at an earlier look, or the snapshot can have no such interval.
        """
        if snapshot.n < self.n:
            raise ValueError(f"Expected looks at one stream, which grows, but got {snapshot.n} samples after {self.n}")
        looked = snapshot.interval(self.key, self.level, label=self.label, valid="anytime", t_opt=self.t_opt)
        now = cast(Interval, looked)
        if not math.isnan(now.low):
            self._low, self._high = max(self._low, now.low), min(self._high, now.high)
        self.n, self.looks = snapshot.n, self.looks + 1
        if self._low > self._high:
            return replace(now, low=math.nan, high=math.nan, note=CROSSED)
        return replace(now, low=self._low, high=self._high)

    def merge(self, other: Self) -> Self:
        """Raise `MergeError`: looks at shards are looks at different streams.

        Parameters
        ----------
        other : RunningInterval
            Another running interval.

        Returns
        -------
        Never
            This method does not return.

        Raises
        ------
        MergeError
            Always. The message says what to do instead.
        """
        raise MergeError(
            "Expected no merge of running intervals, which of shards would be wrong more often than each of them: "
            "merge the counts, and look at the whole"
        )

    def _content(self) -> list[object]:
        return [self.key, self.level, self.label, self.t_opt, self.n, self.looks, self._low, self._high]

    @classmethod
    def _restore(cls, content: Any) -> Self:
        key, level, label, t_opt, n, looks, low, high = content
        running = cls(key, level, label=label, t_opt=t_opt)
        if type(n) is not int or type(looks) is not int or n < 0 or looks < bool(n):
            raise ValueError("numbers of samples and looks")
        if not (isinstance(low, float) and isinstance(high, float) and low >= running._low and high <= running._high):
            raise ValueError("limits within the range of the metric")
        running.n, running.looks, running._low, running._high = n, looks, low, high
        return running

    def __repr__(self) -> str:
        of = self.key if self.label is None else f"{self.key} of {self.label!r}"
        looks, samples = quantity(self.looks, "look"), quantity(self.n, "sample")
        return f"RunningInterval({of}, {100 * self.level:g} %, {looks}, {samples})"
