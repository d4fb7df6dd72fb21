"""The window of the last hour, or of any period: panes that are merged.

**Two stacks.** Merging all panes at every reading would cost as many merges as there are panes. So merges are kept, as
in a queue made of two stacks: for every older pane the merge of it with all that follow up to an edge (`front`), and
one merge of the panes beyond (`back`). A reading then merges one of the front, the back and the newest pane. When the
panes of the front have left, the back becomes the new front, one merge a pane. What comes late for a pane that is in a
merge is kept beside it, and joins it when the front is next built.

`parts` only selects what a reading merges, which is quick, and returns a function that merges it. So a window can be
read under a lock and merged outside, while counting goes on. The first reading of a front builds it.

Panes that receive no more in order, and merges of them, are stored in a form that changes no more. The `form` has the
functions `freeze(pane, opened)` and `state(opened)` of a pane that the caller has, `thaw(stored)`, `copied(stored)` (a
state that may be changed), `keep(state)`, and `add_late(pane, stored, late)` (None leaves what came late beside).

**Panes.** A pane is the time from k * length to (k + 1) * length since 1970, so every shard has the same panes and they
merge one by one. Which panes are kept depends on the latest time seen and on nothing else. A sample that finds its pane
gone would have been in a pane that is gone by the end in whatever order the samples had come, so the state is a
function of the samples and their times. What was dropped, and which windows were given to whom, are not, and not in the
bytes.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.numeric.kernels import Guarded
from stream_metrics._core.windows.kernels import PaneUpdateBase, Slot, move_key
from stream_metrics.containers.keyed import Keyed, Slots, StatePacker, TimeReader, empty_prototype
from stream_metrics.errors import OptionError, quantity
from stream_metrics.inputs.arguments import named_arguments
from stream_metrics.inputs.times import Length, Time, column_to_epoch_ns, format_duration, parse_duration, to_epoch_ns
from stream_metrics.labels import Label
from stream_metrics.metrics.rules import count_unignored
from stream_metrics.states.batches import KeyedBatch, mergeable
from stream_metrics.states.protocols import MOST, Accumulator, Load, load_of
from stream_metrics.wire import Portable, packed, unpacked

State = TypeVar("State", bound="Accumulator")
Stored = TypeVar("Stored")  # what a pane is stored as


class _Front(Generic[Stored]):
    """For each pane the stored merge of it with all that follow, built when it is first read; any thread may."""

    def __init__(self, form: Any, panes: Mapping[int, Stored]) -> None:
        self.panes = sorted(panes)
        self._form = form
        self._stored = [panes[pane] for pane in self.panes]
        self._merges: list[Stored] | None = None
        self._building = Guarded()  # an interrupt at the end of `with` leaves no lock behind

    def newer(self, low: int) -> Stored | None:
        """Return the merge of the panes that are newer than `low`; None if there are none."""
        at = bisect_right(self.panes, low)
        if at == len(self.panes):
            return None
        with self._building._writing():
            if self._merges is None:
                total, merges = None, list[Stored]()
                for stored in self._stored[::-1]:
                    total = self._form.copied(stored) if total is None else total.merge(self._form.thaw(stored))
                    merges.append(self._form.keep(total))
                self._merges, self._stored = merges[::-1], []
            return self._merges[at]

    def without(self, gone: int) -> _Front[Stored]:
        """Return the front without the panes up to `gone`; itself if that saves no memory yet."""
        at, merges = bisect_right(self.panes, gone), self._merges
        if at == 0 or merges is None:
            return self
        rest: _Front[Stored] = _Front(self._form, {})
        rest.panes, rest._merges = self.panes[at:], merges[at:]
        return rest


class TwoStackAggregator(Generic[State, Stored]):
    """Merges of the panes that receive no more in order; `frozen` has these panes in their stored form.

    The panes that still receive samples, and what came late for others, are a dict of the caller.
    """

    def __init__(self, form: Any) -> None:
        self.frozen: dict[int, Stored] = {}
        self._form = form
        self.forget_merges()

    def forget_merges(self) -> None:
        """Forget all merges, since frozen panes have changed; they are built again at the next reading."""
        self._front: _Front[Stored] = _Front(self._form, {})  # of the panes up to an edge
        self._back: State | None = None
        self._back_is_shared = False
        self._first_back = 0
        self._top = max(self.frozen, default=None)
        self._stale = bool(self.frozen)

    def take_out(self, pane: int) -> None:
        """Forget a frozen pane, which the caller has among the others from now on, until the next reading."""
        if self.frozen.pop(pane, None) is not None:
            top = self._top
            self.forget_merges()
            self._top, self._stale = top, True

    def copy(self, form: Any) -> TwoStackAggregator[State, Stored]:
        """Return an independent copy of an aggregator whose stored forms are immutable."""
        self._back_is_shared = True
        twin = TwoStackAggregator[State, Stored](form)
        twin.__dict__.update(self.__dict__, frozen=dict(self.frozen), _form=form)
        return twin

    def freeze(self, panes: dict[int, Any], before: int) -> None:
        """Take over the panes before `before` that are newer than all taken so far."""
        newer = sorted(pane for pane in panes if pane < before and (self._top is None or pane > self._top))
        stale, self._stale = self._stale, self._stale or bool(newer)  # if a merge is interrupted, all are built again
        for pane in newer:
            if pane in self.frozen:  # an interrupted call got so far
                continue
            state, stored = self._form.state(panes[pane]), self._form.freeze(pane, panes[pane])
            move_key(panes, self.frozen, pane, stored)
            self._top = pane
            if self._back is None:
                self._back, self._first_back, self._back_is_shared = state, pane, stored is state
                continue
            if self._back_is_shared:
                self._back, self._back_is_shared = self._back.copy(), False
            self._back.merge(state)
        self._stale = stale

    def expect_late(self, panes: Iterable[int]) -> None:
        """Build all merges again at the next reading if something comes late for many of some panes."""
        self._stale = self._stale or any(pane in self.frozen for pane in panes)

    def merged(self, panes: dict[int, Any], low: int, high: int, empty: State) -> State:
        """Return a new state, the merge of all panes that are newer than `low` and not newer than `high`.

        What came late may be taken out of `panes` and be kept here from then on.
        """
        return self._merge(*self._selected(panes, low, high), empty)

    def parts(self, panes: dict[int, Any], low: int, high: int, empty: State) -> Callable[[], State]:
        """Return what does as `merged` for the panes as they are now, if stored forms are immutable."""
        front, at, stored, states = self._selected(panes, low, high)
        self._back_is_shared = True
        opened = [state if state is self._back else state.copy() for state in states]
        return partial(self._merge, front, at, stored, opened, empty)

    def _selected(
        self, panes: dict[int, Any], low: int, high: int
    ) -> tuple[_Front[Stored], int, list[Stored], list[State]]:
        """Return what `_merge` merges: the front and from where on, stored panes, and states."""
        front, stored, back = self._front, list[Stored](), self._back
        if self._top is not None and high < self._top:
            front, back = _Front(self._form, {}), None
            stored = [each for pane, each in self.frozen.items() if low < pane <= high]
        elif self._stale or (back is not None and self._first_back <= low):
            self._flip(panes)
            front, back = self._front, None
        states = [self._form.state(panes[pane]) for pane in panes if low < pane <= high]
        return front, low, stored, states if back is None else [back, *states]

    def _merge(self, front: _Front[Stored], low: int, stored: list[Stored], states: list[State], empty: State) -> State:
        newer, states = front.newer(low), [*map(self._form.thaw, stored), *states]
        first = empty if newer is not None or not states else states.pop(0)
        total: State = first.copy() if newer is None else self._form.copied(newer)
        for state in states:
            total.merge(state)
        return total

    def _flip(self, panes: dict[int, Any]) -> None:
        """Start a new front from all frozen panes and what came late for them."""
        self._stale = True  # until all is done: a reading that is interrupted leaves no half of it
        self._top = max(self.frozen, default=None)
        for pane in [pane for pane in panes if self._top is not None and pane <= self._top]:
            stored = self._form.add_late(pane, self.frozen.get(pane), panes[pane])
            if stored is not None:
                move_key(panes, self.frozen, pane, stored)
        self.forget_merges()
        self._front, self._stale = _Front(self._form, self.frozen), False

    def drop(self, gone: int) -> None:
        """Forget the panes up to `gone`."""
        for pane in [pane for pane in self.frozen if pane <= gone]:
            del self.frozen[pane]
        self.trim(gone)

    def trim(self, gone: int) -> None:
        """Forget the merges of panes up to `gone`, which were removed."""
        if self._top is not None:
            self._front = self._front.without(gone)
            if not self.frozen:
                self.forget_merges()


NO_TIME, MOST_PANES = -(2**62), 1_000_000
OnClose: TypeAlias = "Callable[[float, float, Accumulator], object] | Literal['keep'] | None"


class Closed(NamedTuple):
    """A window that can receive no more: start <= t < end in seconds since 1970, and the state of its samples."""

    start: float
    end: float
    state: Accumulator


class TimeWindow(Keyed, PaneUpdateBase, TimeReader, Portable):
    """A state, a metric or a set of metrics over the last `period` of time.

    The window at the time T is the pane of T and the `panes` - 1 before it, so it covers from `period` less one pane to
    `period`. A sample belongs to the pane of its own time, whenever it arrives. T is the latest time seen, or the time
    of the clock if no sample ever had a time, or the time that the reader gives. Older samples are left out of every
    reading, whether new ones arrive or not.

    Parameters
    ----------
    inner : state, Metric, MetricSet or ByGroup
        The configuration of what counts. Its own counts are not taken over.
    period : float or str or timedelta
        Length of the window: seconds, or text such as "1h".
    panes : int, default 60
        Number of panes that the window is made of. With 1, windows do not overlap.
    lateness : float or str or timedelta, default 0
        How late a sample may come after the window that it is in.
    clock : callable, default time.time
        Returns the time of a sample that comes without one.
    on_close : callable or "keep", optional
        Called with start, end and state of every window, one for each pane, once it can receive no more samples. "keep"
        keeps these for `closed`.

    Attributes
    ----------
    dropped : int
        Number of samples that came too late.
    inner : object
        An empty state with the configuration.

    Notes
    -----
    A pane stays while it is in the window that ended `lateness` ago. A sample that comes later is not counted, but adds
    to `dropped`. One sample far ahead of the others moves the window there, and the others are gone. A pane is a whole
    number of nanoseconds. Clock and `on_close` are in neither bytes nor comparisons.

    A merge gives up the panes that are gone by the latest time of either shard. It closes no window, because a window
    that ended for one shard only would be incomplete.

    Memory: at most panes + lateness / pane + 1 states of `inner`, and as many merges of them once it is read.

    Guarantee: a stream that is split over windows gives the same bytes, however they are merged. Threads may share it.
    `on_close` is called by the thread that closed a window, after its own call has taken effect, so it may use the
    window; calls by several threads may overlap.

    Examples
    --------
    >>> from stream_metrics import Accuracy, TimeWindow
    >>> window = TimeWindow(Accuracy(), "1h", panes=4)
    >>> window.update_many(["cat", "cat", "dog"], ["dog", "cat", "dog"], t=[0, 3600, 3660])
    >>> window.get()
    1.0
    """

    KIND: ClassVar[str] = "timed"
    _CONFIGURATION: ClassVar[tuple[str, ...]] = ("period", "panes", "lateness")
    _OWN: ClassVar[tuple[str, ...]] = ("_length", "_panes", "_lateness", "clock")
    on_close: OnClose

    @named_arguments
    def __init__(
        self,
        inner: Accumulator,
        period: Length,
        panes: int = 60,
        lateness: Length = 0,
        clock: Callable[[], Time] = time.time,
        on_close: OnClose = None,
    ) -> None:
        empty = empty_prototype(inner, "TimeWindow")
        reason = mergeable(empty)
        if reason is not None:
            raise ValueError(f"Expected `inner` of a TimeWindow to be mergeable, but: {reason}")
        if not isinstance(panes, int) or isinstance(panes, bool) or not 1 <= panes <= MOST_PANES:
            raise OptionError(argument="panes", expected=f"to be a whole number from 1 to {MOST_PANES}", got=panes)
        whole, late = parse_duration(period, "period"), parse_duration(lateness, "lateness", zero=True)
        if whole % panes:
            fewer = next(number for number in range(min(panes, whole), 0, -1) if whole % number == 0)
            expected = "to divide into panes of a whole number of nanoseconds"
            but = f"got {format_duration(whole)} for {panes} panes: {fewer} would do"
            raise OptionError(argument="period", expected=expected, got=period, but=but)
        if not (on_close is None or on_close == "keep" or callable(on_close)):
            raise ValueError(f"Expected `on_close` to be a function, 'keep' or None, but got {on_close!r}")
        self._set_up(empty, StatePacker(empty), whole // panes, panes, late, clock)
        self.on_close = on_close

    def _set_up(self, inner: Any, store: StatePacker[Any], *division: Any) -> None:
        self.on_close = None
        self._configure(inner, store)
        self._divide(TwoStackAggregator(store), deque(), *division)

    def _fill(self, slots: Slots, like: Self) -> None:
        self._move(slots, like._latest, like._timed, 0, like._capacity)
        self._expire_due()

    def _follow(self, before: Self) -> None:
        self._closed = before._closed
        self._move({}, self._latest, False, before.dropped, self._capacity)

    @property
    def period(self) -> str:
        """The length of the window."""
        return format_duration(self._length * self._panes)

    @property
    def panes(self) -> int:
        """The number of panes in the window."""
        return self._panes

    @property
    def lateness(self) -> str:
        """How late a sample may come after the window that it is in."""
        return format_duration(self._lateness)

    @property
    def latest(self) -> float | None:
        """The latest time seen, in seconds since 1970; None if there was none."""
        return None if self._latest == NO_TIME else self._latest / 1e9

    @named_arguments
    def update_many(
        self,
        y_true: object,
        y_pred: object = None,
        w: object = None,
        *,
        t: object = None,
        group: object = None,
        scores: object = None,
        classes: Iterable[Label] | None = None,
        unit: object = None,
    ) -> None:
        """Count a batch of samples at their times; one bad row rejects the whole batch.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            True labels: a list, an array, a column of pandas or Arrow, or a tensor on the CPU.
        y_pred : array-like of length n, optional
            Predictions, as `inner` takes them.
        w : array-like of shape (n,), optional
            Weights >= 0; 1 for every sample by default.
        t : array-like of shape (n,) or one time, optional
            Times of the samples, or one time for all of them.
        group : array-like of shape (n,) or Label, optional
            Groups of the samples, if `inner` has groups.
        scores : array-like of shape (n,) or (n, K), optional
            Scores: those of `pos_label`, or a column for each of `classes`.
        classes : sequence of Label of length K, optional
            The classes of the columns of a table of scores; a data frame brings its own.
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
        ValueError
            If a time is none, or lies outside the years 1677 to 2262.

        Notes
        -----
        A sample that was in time before the batch is counted, regardless of the order of the rows.
        """
        given = {"y_true": y_true, "y_pred": y_pred, "w": w, "scores": scores, "t": t, "unit": unit, "group": group}
        count_unignored(self._sample_rule, given, partial(self._count_columns, classes))
        self._report()

    @named_arguments
    def update_counts(
        self, y_true: object, y_pred: object, n: object, w: object = None, *, t: object, group: object = None
    ) -> None:
        """Count a table of counts by time, such as SQL's `GROUP BY` gives; for an `inner` that reads labels only.

        Parameters
        ----------
        y_true : array-like of shape (rows,)
            True labels, in the forms that `update_many` takes.
        y_pred : array-like of shape (rows,)
            Predictions; a row without one stands for abstentions.
        n : array-like of shape (rows,)
            Number of samples that each row stands for: whole numbers >= 0, also as floats or Decimals.
        w : array-like of shape (rows,), optional
            Sum of the weights of these samples; `n` by default.
        t : array-like of shape (rows,), or one time
            A time in the pane of the samples, such as its start: group by a time truncated to the length of a pane.
        group : array-like of shape (rows,) or Label, optional
            The groups of the rows, if `inner` has groups.

        Raises
        ------
        LabelError
            If a label is not valid, or outside the fixed labels; the message names argument and position.
        OptionError
            If `inner` reads scores.
        WeightError
            If `n` is negative or has a fraction, if a weight is negative, not finite, or not 0 where `n` is 0, or if a
            sum is too large.
        ValueError
            If a time is none, or lies outside the years 1677 to 2262.

        Examples
        --------
        >>> from stream_metrics import MetricSet, TimeWindow
        >>> window = TimeWindow(MetricSet(), "1h")
        >>> window.update_counts(["cat", "cat"], ["cat", "dog"], [9, 1], t=["2024-05-01T10:01", "2024-05-01T10:02"])
        >>> window.snapshot(t="2024-05-01T10:30")["accuracy"]
        0.9
        """
        given = {"y_true": y_true, "y_pred": y_pred, "n": n, "w": w, "t": t, "group": group}
        self._count_counts(getattr(self.inner, "inner", self.inner), given)
        self._report()

    @classmethod
    def from_counts(
        cls, inner: Accumulator, period: Length, y_true: object, y_pred: object, n: object, w: object = None, *,
        t: object, group: object = None, **options: Any,
    ) -> Self:  # fmt: skip
        """Return the window of a table of counts by time, such as SQL's `GROUP BY` gives.

        Parameters
        ----------
        inner : state, Metric, MetricSet or ByGroup
            The configuration of what counts.
        period : float or str or timedelta
            Length of the window.
        y_true, y_pred, n, w, t, group : array-like of shape (rows,)
            The table; see `update_counts`.
        **options : object
            Options of `TimeWindow`, such as `panes`.

        Returns
        -------
        TimeWindow
            A new window, with the bytes of one that counted the samples.
        """
        new = cls(inner, period, **options)
        new.update_counts(y_true, y_pred, n, w, t=t, group=group)
        return new

    def _count_columns(self, classes: Iterable[Label] | None, columns: dict[str, Any]) -> None:
        """Count a batch of samples of which none is left out."""
        t, samples = columns.pop("t"), columns.get("n")  # which a row of a table of counts has
        batch = KeyedBatch(columns, classes)
        if not batch.n:
            return
        times = column_to_epoch_ns(self.clock() if t is None else t, batch.n)
        filled: NDArray[np.bool_] = np.ones(batch.n, bool) if samples is None else samples > 0
        if not filled.any():
            return
        panes = times // self._length
        with self._writing():
            self._expire_due()
            gone, old = self._gone(), self._slots.get
            panes = np.maximum(panes, gone)  # what comes too late is counted as one, and dropped
            dealt = batch.split_by_key(panes, lambda pane: self._store.state(old(pane)), self.inner, filled)
            late = dealt.pop(gone, self.inner)
            added = self._cost(batch, (self._store.state(old(pane)) for pane in dealt), dealt.values())
            slots = {pane: Slot(state) for pane, state in dealt.items()}
            latest, dropped = int(times[filled].max()), late.n + late.abstained
            self._move(slots, latest, t is not None, dropped, self._capacity - added)
            self._expire_due(True)

    def _load(self) -> Load:
        return load_of([*(slot.state for slot in self._slots.values()), *self._merges.frozen.values()])

    def advance(self, t: Time | None = None) -> None:
        """Move the time on without a sample: panes expire and windows close.

        Parameters
        ----------
        t : float or datetime or numpy.datetime64, optional
            The time; that of the clock by default.
        """
        latest = to_epoch_ns(self.clock() if t is None else t)
        with self._writing():
            self._expire_due()
            self._move({}, latest, t is not None, 0, self._capacity)
            self._expire_due(True)
        self._report()

    def _expire(self) -> None:
        """Give up the panes that are too old, and close the windows that can receive no more."""
        gone = self._gone()
        if self.on_close is not None:
            self._close(gone)
        self._remove(gone)
        self._merges.trim(gone)

    def _report(self) -> None:
        """Pass the windows that have closed to `on_close`, which may use this one."""
        while self._closed and callable(self.on_close):
            with self._writing():
                if not self._closed:
                    return
                closed = self._closed.popleft()
            self.on_close(*closed)

    def _close(self, gone: int) -> None:
        """Note the windows that hold samples and can receive no more; those of before were noted already."""
        number, starts = self._panes, list[int]()
        for pane in self._panes_to(gone):
            last = starts[-1] if starts else self._closed_to
            starts += range(max(pane - number, last) + 1, min(pane, gone) + 1)
        for start in starts:
            ends = start * self._length / 1e9, (start + number) * self._length / 1e9
            self._note_closed(Closed(*ends, self._merged(start - 1, start + number - 1)), start)
        self._closed_to = gone

    def closed(self) -> Iterator[Closed]:
        """Return the windows that have closed since the last call, and forget them.

        Returns
        -------
        iterator of Closed
            Start, end and state of each window, oldest first.

        Raises
        ------
        ValueError
            If `on_close` is not "keep".
        """
        if self.on_close != "keep":
            raise ValueError(f"Expected a window with on_close='keep', but got on_close={self.on_close!r}")
        with self._writing():
            self._expire_due()
            closed: deque[Closed] = self._closed
            self._closed = deque()
        return iter(closed)

    def _take_over(self, changes: Slots, other: Self, capacity: int) -> None:
        self._merges.expect_late(changes)
        self._expire_due()
        self._move(changes, other._latest, other._timed, 0, capacity, False)
        self._expire_due(True)

    def _panes_stored(self) -> dict[int, Any]:
        """Return the states of all panes in the order of time, with what came late."""
        panes = dict(self._merges.frozen)
        for pane, slot in self._slots.items():
            panes[pane] = self._store.merged(panes[pane], slot.state) if pane in panes else slot.state
        return dict(sorted(panes.items()))

    def _share(self) -> Slots:
        panes = self._panes_stored()
        super()._share()
        self._leave_pane()
        return {pane: Slot(state, own=False) for pane, state in panes.items()}

    def _reading_time(self) -> int:
        """Return the time at which the window is read by default."""
        return self._latest if self._timed else max(to_epoch_ns(self.clock()), self._latest)

    def _window(self, t: Time | None) -> tuple[int, int]:
        """Return the newest pane before the window at `t`, and the newest in it."""
        at = self._reading_time() if t is None else to_epoch_ns(t)
        high = at // self._length
        if high < self._gone() + self._panes:
            raise ValueError(
                f"Expected `t` to be in or after the oldest window that is kept, which ends at "
                f"{(self._gone() + self._panes + 1) * self._length / 1e9} s, but got {t!r}"
            )
        return high - self._panes, high

    def merged(self, t: Time | None = None) -> Any:
        """Return the window as a new state like `inner`.

        Parameters
        ----------
        t : float or datetime or numpy.datetime64, optional
            The time of the reading; the latest time seen by default.

        Returns
        -------
        object
            A state of the class of `inner`.

        Raises
        ------
        ValueError
            If panes of the window are gone already.
        """
        with self._writing():
            return self._merged(*self._window(t))

    def _merged(self, low: int, high: int) -> Any:
        """Return a new state, the merge of the panes that are newer than `low` and not newer than `high`."""
        self._leave_pane()  # its state may change no more
        self._merges.freeze(self._slots, min(self._latest // self._length, high + 1))
        return self._merges.merged(self._slots, low, high, self.inner)

    def _sum_at(self, name: str, t: Time | None = None) -> int:
        """Return a number of samples, `n` or `abstained`, as it is read at a time."""
        with self._reading():
            low, high = self._window(t)
            panes = [*((pane, slot.state) for pane, slot in self._slots.items()), *self._merges.frozen.items()]
            return sum(getattr(state, name) for pane, state in panes if low < pane <= high)

    def _content(self) -> list[object]:
        with self._reading():
            latest, gone = [] if self._latest == NO_TIME else [self._latest], self._gone()
            panes = [[pane, state._content()] for pane, state in self._panes_stored().items() if pane > gone]
            return [packed(self.inner), self._length, self._panes, self._lateness, latest, self._timed, panes]

    @classmethod
    def _restore(cls, content: Any) -> Self:
        inner, pane_length, number, lateness, latest, timed, panes = content
        if {type(pane_length), type(number)} - {int}:  # a text times a large number fills the memory
            raise ValueError("whole numbers of nanoseconds and of panes")
        template = unpacked(inner)
        window = cls(template, f"{pane_length * number}ns", number, f"{lateness}ns")
        if panes and not latest:
            raise ValueError("the latest time")
        if {type(pane) for pane, _ in panes} - {int} or any(pane > latest[0] // pane_length for pane, _ in panes):
            raise ValueError("panes by their numbers, none of them after the latest time")
        slots = {pane: Slot(window._store.read(data)) for pane, data in panes}
        window._move(slots, latest[0] if latest else NO_TIME, timed, 0, MOST)
        window._expire_due()
        window._find_capacity(0)
        return window

    def __repr__(self) -> str:
        panes, samples = quantity(self.panes, "pane"), quantity(self.n, "sample")
        return f"TimeWindow({self.merged()!r}, {self.period}, {panes}, {samples})"
