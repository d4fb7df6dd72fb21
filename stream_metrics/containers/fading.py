"""Exponential forgetting: a sample that is a half-life older counts half as much.

A state cannot age, but a sample can be counted with a larger weight than the one before: 2^((t - r) / h) for a
reference time r. Every ratio of weights, and so every metric, is then that of faded weights, and what was counted is
never touched. Such weights run out of range, so references follow each other at fixed times, every `REACH` half-lives,
the same for all shards. Two states are kept, with the last two references. A state begins at its reference, counts
every sample since, and is read during the next stretch, when whatever it has not seen is so old that its weight is
below 2^-REACH of a new one.

The state is a function of the samples and their times (to the last bit on machines whose `2.0 ** x` agree), which no
rescaling of one state could be: it would round at moments that depend on the shard. It also fades sketches, whose
weights cannot be rescaled, as sampled scores have to keep agreeing with their cells. The price is a second update.

    weights of            unit     first weight   reach   what is forgotten    room for weights of 1 now
    labels and losses     2^-64    2^-54          40      below 2^-40 = 1e-12   2^37
    scores (sketches)     2^-64    2^-14          24      below 2^-24 = 6e-8    2^29

A weight is rounded to the unit, which for the oldest that are read is 2^-11 (2^-51) of a weight that itself counts
2^-40 (2^-24) of a new one. Sketches once had a unit of 2^-20, hence their short reach, which their bytes depend on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from stream_metrics._core.numeric.kernels import checked_weight, split_weights
from stream_metrics._core.windows.kernels import FadingState, FadingUpdateBase
from stream_metrics.containers.inner import TimeReader, empty_prototype, reconfigured_inner, walk_inner
from stream_metrics.containers.keyed import Keyed, StatePacker
from stream_metrics.containers.rescale import has_sketch, scale_weights
from stream_metrics.errors import OptionError, WeightError, quantity
from stream_metrics.inputs.arguments import named_arguments
from stream_metrics.inputs.columns import read_weights as checked_weights
from stream_metrics.inputs.times import Length, Time, column_to_epoch_ns, format_duration, parse_duration, to_epoch_ns
from stream_metrics.labels import Label
from stream_metrics.metrics.rules import count_unignored
from stream_metrics.states.batches import KeyedBatch, mergeable
from stream_metrics.states.limits import MOST, Load
from stream_metrics.states.protocols import Accumulator
from stream_metrics.states.reconfiguring import settled
from stream_metrics.wire import Portable, packed, unpacked

__all__ = ["Fading"]

MOST_FADED = 2.0**62  # the sum of weights as they are read; half of what a state can count, as floats are rounded
APPEARANCES = 3  # of a label, at most, by one sample
REACH, FIRST = {"fine": 40, "coarse": 24}, {"fine": -54, "coarse": -14}


class Fading(Keyed, FadingUpdateBase, TimeReader, Portable):
    """A state in which a sample that is a half-life older counts half as much.

    By count, every update ages all samples by one, abstentions too. In a snapshot a sample that comes now has its own
    weight, and one of a half-life ago half of it; sketches keep the ratios only. Samples that are 40 half-lives old (24
    where scores are kept) or somewhat more are forgotten. One that comes so late is not counted, but adds to `dropped`.

    Parameters
    ----------
    inner : state, Metric, MetricSet or ByGroup
        The configuration of what counts. Its own counts are not taken over.
    half_life : int or float or str or timedelta
        A number of samples, or a length of time such as "10m"; then every sample has a time.
    clock : callable, default time.time
        Returns the time of a sample that comes without one.

    Attributes
    ----------
    dropped : int
        Number of samples that came too late.

    Notes
    -----
    Memory: two states of `inner`.

    Guarantee: values are those of weights 2**(-age / half_life) to 1e-12 (1e-6 where scores are kept), as far as
    floating point has it. By time, a stream that is split over states gives the same state, however they are merged, to
    the byte where `2.0 ** x` agrees. By count, `merge` counts the samples of two shards as if they had come side by
    side, the last with the last; that depends on how the stream was split. Threads may share it.

    Examples
    --------
    >>> from stream_metrics import Accuracy, Fading
    >>> fading = Fading(Accuracy(), half_life=1)
    >>> fading.update_many(["cat", "cat"], ["dog", "cat"])
    >>> round(fading.get(), 4)
    0.6667
    """

    KIND: ClassVar[str] = "fading"
    _CONFIGURATION: ClassVar[tuple[str, ...]] = ("inner", "half_life")

    @named_arguments
    def __init__(self, inner: Accumulator, half_life: Length, clock: Callable[[], Time] = time.time) -> None:
        prototype = empty_prototype(inner, "Fading")
        reason = mergeable(prototype)
        if reason is not None:
            raise ValueError(f"Expected `inner` of a Fading to be mergeable, but: {reason}")
        by_count = not isinstance(half_life, str | timedelta | np.timedelta64)
        if not by_count:
            half: int | float = parse_duration(half_life, "half_life")
        elif isinstance(half_life, bool) or not isinstance(half_life, int | float) or not 0.01 <= half_life <= 1e15:
            raise ValueError(f"Expected `half_life` to be a number of samples, or of time, but got {half_life!r}")
        else:
            half = int(half_life) if half_life == int(half_life) else half_life
        grain = "coarse" if any(has_sketch(state) for state in walk_inner(prototype)) else "fine"
        self._reach, self._first = REACH[grain], FIRST[grain]
        self._stretch = half * self._reach
        self.by_count = by_count
        self._configure(prototype, by_count, half, self._first, clock)
        scored = [getattr(state, "scored", None) for state in walk_inner(prototype)]
        self._needs_seen = any(states is not None and states.negative is None for states in scored)
        self.reset()

    @property
    def half_life(self) -> int | float | str:
        """The number of samples, or the length of time, after which a sample counts half as much."""
        return self._half if self.by_count else format_duration(int(self._half))

    @property
    def latest(self) -> float | None:
        """The latest time seen, in seconds since 1970; None if there was none, or if samples fade by count."""
        return None if self._latest is None or self.by_count else self._latest / 1e9

    def reset(self) -> None:
        """Forget every sample; the configuration stays."""
        with self._writing():
            self._keep({}, None, 0.0, 0)

    def _place(self, t: object) -> int:
        """Return where the next sample lies on the axis of time, or of updates."""
        if not self.by_count:
            return self._instant(self.clock() if t is None else t)
        if t is not None:
            raise ValueError(f"Expected no `t` where samples fade by count, but got {t!r}")
        if self._latest is not None and self._latest >= MOST:
            raise WeightError("Expected fewer than 2**63 - 2 samples where they fade by count, but got one more")
        return (self._latest or 0) + 1

    def _scale(self, place: float, stretch: int) -> float:
        """Return the weight of a sample in the state that began with a stretch."""
        return float(2.0 ** ((place - stretch * self._stretch) / self._half + self._first))

    def _newest(self, place: int) -> int:
        return int(place // self._stretch)

    def _count_slowly(
        self, place: int, y_true: object, y_pred: object, weight: float, named: dict[str, object]
    ) -> None:
        """Count one sample that may be of another stretch than the one before; called in a section."""
        latest = place if self._latest is None else max(self._latest, place)
        newest, own = self._newest(latest), self._newest(place)
        if own < newest - 1:
            self.inner.copy().update(y_true, y_pred, weight, **named)  # which may refuse it
            self._keep(self._states, self._latest, self._capacity, self.dropped + 1)
            return
        if float(weight) + 1 > self._capacity or newest != self._newest(self._latest or 0):
            self._find_faded_capacity(self._states, latest, float(weight) + 1)
        states = {stretch: state for stretch, state in self._states.items() if stretch >= newest - 1}
        counting = range(newest - 1, own + 1)
        states |= {stretch: states.get(stretch, self.inner).copy() for stretch in counting}
        if self._needs_seen and newest in counting:
            self._check_seen(states[newest], y_true, y_pred, named)
        for stretch in counting:
            states[stretch].update(y_true, y_pred, weight * self._scale(place, stretch), **named)
        self._keep(states, latest, self._capacity - float(weight) - 1, self.dropped)

    def _check_seen(self, state: Any, y_true: object, y_pred: object, named: dict[str, object]) -> None:
        """Raise if a state refuses a sample because of the labels that it has counted, or has not."""
        if hasattr(state, "inner"):
            state = state._state_for(named["group"]) if "group" in named else state.inner
        state._read_sample(y_true, y_pred, 1, named.get("scores"), named.get("classes"))

    def _keep(
        self, states: dict[int, Accumulator], latest: int | None, capacity: float, dropped: int, inner: Any = None
    ) -> None:
        """Keep states by the stretches at whose start they began, and the latest time or number of updates."""
        current = self._current(states, latest)
        self._take(states, latest, current, capacity, dropped, self.inner if inner is None else inner)

    def _current(
        self, states: dict[int, Accumulator], latest: int | None
    ) -> tuple[FadingState | None, FadingState | None, int, int]:
        """Return the two states that count the samples of a stretch, and where it begins and ends, if that is known."""
        newest = self._newest(latest or 0)
        older, newer = states.get(newest - 1), states.get(newest)
        margin = 0 if isinstance(self._half, int) else 1  # where the end of a stretch may be rounded
        first, last = (int(n * self._stretch) + sign * margin for n, sign in ((newest, 1), (newest + 1, -1)))
        if older is None or newer is None or first >= last or max(-first, last, 4 * self._stretch) > 2**62:
            return None, None, 1, 0
        old = FadingState(older, (newest - 1) * self._stretch)
        return old, FadingState(newer, newest * self._stretch), first, last

    def _shown(self, states: dict[int, Accumulator], latest: int) -> float:
        """Return a bound of the sum of weights that is read at the latest time."""
        if not states:
            return 0.0
        first = min(states)
        weights: int = states[first]._merge_load()[0]
        return weights / self._scale(latest, first)

    def _find_faded_capacity(self, states: dict[int, Accumulator], latest: int, taken: float) -> None:
        """Find out how much weight can come until a new state begins; WeightError if that is less than `taken`."""
        newest = self._newest(latest)
        states = {stretch: state for stretch, state in states.items() if stretch >= newest - 1}
        shown, self._capacity = self._shown(states, latest), 0.0
        left, loads = MOST_FADED - shown, [(state._merge_load(), stretch) for stretch, state in states.items()]
        if left < taken or any(MOST - load[0] < taken * self._scale(latest, stretch) for load, stretch in loads):
            raise WeightError(
                f"Expected the sum of faded weights to stay below 2**62, but got {taken:g} on top of {shown:g}"
            )
        most, least = max((max(load) for load, _ in loads), default=0), APPEARANCES if taken else 0
        if MOST - most < least:
            raise WeightError(
                f"Expected the number of samples, and of appearances of a label, to stay below 2**63 - 2, "
                f"but got {least} on top of {most}"
            )
        end = (newest + 1) * self._stretch  # where weights are largest
        costs = [(MOST - max(load)) / max(APPEARANCES, self._scale(end, stretch)) for load, stretch in loads]
        self._capacity = min([left, *costs])

    def _merge_load(self) -> Load:
        """Return bounds of what a merge adds up; see `states.limits`."""
        loads = [state._merge_load() for state in (self._read(), *self._states.values())]
        weights, samples, abstentions = map(max, zip(*loads, strict=True))
        return max(weights, 2 * int(self._shown(self._states, self._latest or 0))), samples, abstentions

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
    ) -> None:
        """Count a batch of samples; one bad row rejects the whole batch.

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

        Raises
        ------
        LabelError
            If a label is not allowed; the message names argument and position.
        ScoreError
            If a score is not allowed.
        WeightError
            If a weight is negative or not finite, or the sum of all weights would reach 2**63.
        ValueError
            If times are given and samples fade by count.
        """
        given = {"y_true": y_true, "y_pred": y_pred, "w": w, "scores": scores, "t": t, "group": group}
        count_unignored(self._sample_rule, given, partial(self._count_columns, classes))

    def _count_columns(self, classes: Iterable[Label] | None, columns: dict[str, Any]) -> None:
        """Count a batch of samples of which none is left out."""
        w, t = columns.pop("w"), columns.pop("t")
        batch = KeyedBatch(columns, classes)
        if not batch.n:
            return
        weight = [1.0] * batch.n if w is None else _reals(w, batch.n)
        times = None if self.by_count and t is None else self._places(t, batch.n)
        with self._writing():
            places = self._places(None, batch.n) if times is None else times
            latest = max([*places, *([] if self._latest is None else [self._latest])])
            newest, own = self._newest(latest), [self._newest(place) for place in places]
            states = {}
            for stretch in (newest - 1, newest):
                rows = [row for row, mine in enumerate(own) if mine >= stretch]
                scaled = [weight[row] * self._scale(places[row], stretch) for row in rows]
                before = self._states.get(stretch)
                if rows:
                    state = batch._count_rows(np.array(rows, np.int64), self.inner, scaled)
                    states[stretch] = state if before is None else before.copy().merge(state)
                elif before is not None:
                    states[stretch] = before
            late = [row for row, mine in enumerate(own) if mine < newest - 1]
            if late:
                batch._count_rows(np.array(late, np.int64), self.inner)  # which may refuse them
            before_all = None if self._latest is None else self._newest(self._latest) - 1
            dropped = 0 if before_all is None else sum(mine < before_all for mine in own)
            self._find_faded_capacity(states, latest, 0)
            self._keep(states, latest, self._capacity, self.dropped + dropped)

    def _places(self, t: object, n: int) -> list[int]:
        first = self._place(t if self.by_count else self.clock())
        times: list[int] = []
        if self.by_count or t is None:
            times = [first + row if self.by_count else first for row in range(n)]
            if self.by_count and times[-1] > MOST:
                raise WeightError(f"Expected fewer than 2**63 - 2 samples where they fade by count, but got {n} more")
        return times or column_to_epoch_ns(t, n).tolist()

    def _add(self, other: Self) -> None:
        """Add the states of another shard with the same prototype, as of the later time of both."""
        latest = max((each._latest for each in (self, other) if each._latest is not None), default=None)
        newest, states = self._newest(latest or 0), {}
        for stretch in (newest - 1, newest):
            parts = [each._states[stretch] for each in (self, other) if stretch in each._states]
            if parts:
                states[stretch] = parts[0].copy()
                for part in parts[1:]:
                    states[stretch].merge(part)
        self._find_faded_capacity(states, latest or 0, 0)
        self._keep(states, latest, self._capacity, self.dropped)

    def _become(self, whole: Self) -> None:
        """Have the states and the prototype of a twin."""
        self._keep(whole._states, whole._latest, whole._capacity, self.dropped, whole.inner)

    def _mapped(self, inner: Any, change: Callable[[Any], Any]) -> Self:
        """Return a state of the same samples with a prototype and changed copies of states."""
        twin: Self = type(self)(inner, self._half if self.by_count else f"{self._half}ns", self.clock)
        if self._states and twin._reach != self._reach:
            but = "labels alone fade in other stretches of time than scores"
            raise OptionError(argument="scores", expected="to stay", got=twin._reach < self._reach, but=but)
        twin._keep({stretch: change(state) for stretch, state in self._states.items()}, self._latest, 0.0, 0)
        return twin

    def copy(self) -> Self:
        """Return an independent copy.

        Returns
        -------
        Fading
            The copy.
        """
        with self._reading():
            return self._mapped(self.inner, lambda state: state.copy())

    def reconfigured(self, **options: Any) -> Self:
        """Return a new state of the same samples with other options.

        Parameters
        ----------
        **options : object
            Options of `inner`, such as `metrics` or `labels`. What is left out stays.

        Returns
        -------
        Fading
            What a state with these options would have counted.

        Raises
        ------
        OptionError
            If that does not follow from the counts. `half_life` cannot change, and scores cannot be dropped, since they
            fade in shorter stretches of time.
        TypeError
            If there is no such option.
        """
        options = settled(options)
        inner = reconfigured_inner(self.inner, options, ("half_life",))
        with self._reading():
            return self._mapped(inner, lambda state: reconfigured_inner(state, options))

    def _read(self) -> Accumulator:
        """Return the state that began first, which holds every sample that is not forgotten."""
        oldest: Accumulator = self._states[min(self._states)] if self._states else self.inner
        return oldest

    def merged(self, t: Time | None = None) -> Any:
        """Return a new state like `inner` with the weights that samples have at a time.

        Parameters
        ----------
        t : float or datetime or numpy.datetime64, optional
            The time of the reading; the latest time seen by default.

        Returns
        -------
        object
            A state of the class of `inner`.
        """
        with self._reading():
            if self._latest is None:
                return self.inner.copy()
            at = self._latest if t is None else self._place(t)
            if at < self._latest:
                raise ValueError(f"Expected `t` not to be before the latest time seen, but got {t!r}")
            alive = [
                stretch for stretch in self._states if stretch >= self._newest(at) - 1
            ]  # as an update at `t` leaves it
            if not alive:
                return self.inner.copy()
            oldest = self._states[min(alive)].copy()
        return scale_weights(oldest, 1 / self._scale(at, min(alive)))

    def _reading_time(self) -> int | None:
        """Return the latest time, by which groups are read together."""
        return None if self.by_count else self._latest

    def _sum_at(self, name: str, t: Time | None = None) -> int:
        """Return a number of samples, `n` or `abstained`, as it is read at a time."""
        with self._reading():
            return int(getattr(self._read(), name))

    def _content(self) -> list[object]:
        with self._reading():
            latest = [] if self._latest is None else [self._latest]
            states = [[stretch, self._states[stretch]._content()] for stretch in sorted(self._states)]
        return [packed(self.inner), self.by_count, self._half, latest, states]

    @classmethod
    def _restore(cls, content: Any) -> Self:
        inner, by_count, half, latest, states = content
        template = unpacked(inner)
        window = cls(template, half if by_count else f"{half}ns")
        if bool(latest) != bool(states):
            raise ValueError("the latest time if there is any")
        seen: int | None = None
        for at in latest:
            if by_count and not 0 < at <= MOST:
                raise ValueError("the latest time, or the number of updates")
            seen = at if by_count else to_epoch_ns(np.datetime64(at, "ns"))
        store = StatePacker(template)
        window._keep({stretch: store.thaw(store.read(data)) for stretch, data in states}, seen, 0.0, 0)
        newest = window._newest(window._latest or 0)
        if not set(window._states) <= {newest - 1, newest} or (states and newest - 1 not in window._states):
            raise ValueError("states of the last two stretches")
        if len(window._states) > 1:
            older, newer = window._states[newest - 1], window._states[newest]
            if older.n < newer.n or older.abstained < newer.abstained:
                raise ValueError("a first state with all samples of the second")
        if window._states:
            window._find_faded_capacity(window._states, window._latest or 0, 0)
        return window

    def __repr__(self) -> str:
        return f"Fading({self.merged()!r}, half-life {self.half_life}, {quantity(self.n, 'sample')})"


def _reals(w: object, n: int) -> list[float]:
    """Return a column of weights as floats; WeightError names the position of one that is refused."""
    checked = checked_weights(w, n)
    split_weights(checked)
    return [float(checked_weight(x)) for x in checked]
