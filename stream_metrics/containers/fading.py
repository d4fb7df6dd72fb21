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

import math
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from stream_metrics._core.confusion.kernels import UpdateBase
from stream_metrics._core.numeric.kernels import checked_weight, commit, split_weights
from stream_metrics._core.windows.kernels import FadingUpdateBase, Slot
from stream_metrics.containers.keyed import Keyed, Slots, StatePacker, TimeReader, empty_prototype, walk_inner
from stream_metrics.errors import OptionError, WeightError, quantity
from stream_metrics.inputs.arguments import named_arguments
from stream_metrics.inputs.columns import read_weights as checked_weights
from stream_metrics.inputs.times import Length, Time, column_to_epoch_ns, format_duration, parse_duration, to_epoch_ns
from stream_metrics.labels import Label
from stream_metrics.metrics.rules import count_unignored
from stream_metrics.states.batches import KeyedBatch, mergeable
from stream_metrics.states.confusion import ConfusionMatrix
from stream_metrics.states.losses import ProbabilityLosses
from stream_metrics.states.protocols import MOST, Accumulator, Load
from stream_metrics.states.ranks import RankSketch
from stream_metrics.wire import Portable, packed, unpacked


def scale_weights(state: Accumulator, factor: float) -> Accumulator:
    """Return a state, which may be changed for it, with every weight times `factor`; sketches stay as they are."""
    if isinstance(state, ConfusionMatrix):
        return _faded_counts(state, factor)
    if isinstance(state, ProbabilityLosses):
        return _faded_losses(state, factor)
    if isinstance(state, Keyed):
        return state._mapped(state.inner, lambda part: scale_weights(part, factor))
    if isinstance(state, UpdateBase):
        scored = getattr(state, "scored", None)
        if scored is not None and scored.losses is not None:
            scored.losses = scale_weights(scored.losses, factor)
        state._attach(scale_weights(state.state, factor))
    return state


def _faded_counts(counts: ConfusionMatrix, factor: float) -> ConfusionMatrix:
    rows, columns, values = counts.cells()
    wholes, parts = split_weights(np.ascontiguousarray(values * factor, np.float64))
    some = wholes != 0 if parts is None else (wholes != 0) | (parts != 0)
    labels = list(counts.labels)
    cells = rows[some], columns[some], wholes[some], None if parts is None else parts[some]
    seen = np.ones(len(labels), np.int64)  # labels are shown as they were
    twin = counts.copy()
    twin.reset()
    commit([twin._cells_step(labels, labels, cells, (seen, seen), counts.n, counts.abstained, counts.weighted)])
    return twin


def _faded_losses(losses: ProbabilityLosses, factor: float) -> ProbabilityLosses:
    mantissa, power = math.frexp(factor)
    n, abstained, weight, *numbers = losses.numbers()
    binary = losses.binary_numbers()[:2]
    of_all = binary[0] == weight
    numbers = [(x * int(mantissa * 2**53) << max(power, 0)) >> 53 + max(-power, 0) for x in (*numbers, *binary)]
    two, *sums, binary_weight, binary_brier = numbers
    weight = sum(sums[:-3])
    two = min(two, weight)
    binary = [two if of_all else min(binary_weight, two), binary_brier]
    twin = losses.copy()
    numbers, binary = (part if weight else [0] * len(part) for part in (sums, binary))
    twin._fill([n, abstained, weight, two, *numbers], None, binary)
    return twin


def has_sketch(state: object) -> bool:
    """Tell whether a state counts scores in a sketch, whose weights are coarser, or merges with one that does."""
    return isinstance(getattr(state, "state", state), RankSketch) or getattr(state, "scored", None) is not None


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
    _CONFIGURATION: ClassVar[tuple[str, ...]] = ("half_life",)
    _OWN: ClassVar[tuple[str, ...]] = ("by_count", "_half", "clock")

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
        self._set_up(prototype, StatePacker(prototype), by_count, half, clock)

    def _set_up(
        self, inner: Any, store: StatePacker[Any], by_count: bool, half: Any, clock: Callable[[], Time]
    ) -> None:
        grain = "coarse" if any(has_sketch(state) for state in walk_inner(inner)) else "fine"
        self.by_count, self._reach, self._first = by_count, REACH[grain], FIRST[grain]
        self._stretch = half * self._reach
        self._configure(inner, store)
        self._fade(by_count, half, self._first, clock)
        scored = [getattr(state, "scored", None) for state in walk_inner(inner)]
        self._needs_seen = any(states is not None and states.negative is None for states in scored)

    def _fill(self, slots: Slots, like: Self) -> None:
        if slots and self._reach != like._reach:
            but = "labels alone fade in other stretches of time than scores"
            raise OptionError(argument="scores", expected="to stay", got=self._reach < like._reach, but=but)
        self._keep(slots, like._latest, 0.0)

    def _follow(self, before: Self) -> None:
        self._keep(self._slots, self._latest, self._room, before.dropped)

    @property
    def half_life(self) -> int | float | str:
        """The number of samples, or the length of time, after which a sample counts half as much."""
        return self._half if self.by_count else format_duration(int(self._half))

    @property
    def latest(self) -> float | None:
        """The latest time seen, in seconds since 1970; None if there was none, or if samples fade by count."""
        return None if self._latest is None or self.by_count else self._latest / 1e9

    def _places(self, t: object, n: int) -> list[int]:
        """Return where the next samples lie on the axis of time, or of updates."""
        if not self.by_count:
            times: list[int] = column_to_epoch_ns(self.clock() if t is None else t, n).tolist()
            return times
        if t is not None:
            raise ValueError(f"Expected no `t` where samples fade by count, but got {t!r}")
        first = (self._latest or 0) + 1
        if first + n - 1 > MOST:
            raise WeightError(f"Expected fewer than 2**63 - 2 samples where they fade by count, but got {n} more")
        return [*range(first, first + n)]

    def _place(self, t: object) -> int:
        return self._places(t, 1)[0]

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
            self._keep(self._slots, self._latest, self._room, self.dropped + 1)
            return
        if float(weight) + 1 > self._room or newest != self._newest(self._latest or 0):
            self._find_room(self._slots, latest, float(weight) + 1)
        slots, counting = self._slots, range(newest - 1, own + 1)
        states = {at: self._store.copied(slots[at].state) if at in slots else self.inner.copy() for at in counting}
        if self._needs_seen and newest in counting:
            self._check_seen(states[newest], y_true, y_pred, named)
        for at, state in states.items():
            state.update(y_true, y_pred, weight * self._scale(place, at), **named)
        counted = {at: Slot(state) for at, state in states.items()}
        self._keep({**slots, **counted}, latest, self._room - float(weight) - 1)

    def _check_seen(self, state: Any, y_true: object, y_pred: object, named: dict[str, object]) -> None:
        """Raise if a state refuses a sample because of the labels that it has counted, or has not."""
        if hasattr(state, "inner"):
            state = state._state_for(named["group"]) if "group" in named else state.inner
        state._read_sample(y_true, y_pred, 1, named.get("scores"), named.get("classes"))

    def _keep(self, slots: Slots, latest: int | None, room: float, dropped: int | None = None) -> None:
        """Keep those of some slots that are not forgotten at the latest time, or number of updates, and this time."""
        newest = self._newest(latest or 0)
        older, newer = slots.get(newest - 1), slots.get(newest)
        margin = 0 if isinstance(self._half, int) else 1  # where the end of a stretch may be rounded
        first, last = (int(n * self._stretch) + sign * margin for n, sign in ((newest, 1), (newest + 1, -1)))
        current = older, newer, (newest - 1) * self._stretch, newest * self._stretch, first, last
        if older is None or newer is None or first >= last or max(-first, last, 4 * self._stretch) > 2**62:
            current = None, None, 0, 0, 1, 0  # not to be counted without a look at all
        changes = {at: slots.get(at) if at >= newest - 1 else None for at in {**self._slots, **slots}}
        self._move(changes, latest, current, room, self.dropped if dropped is None else dropped)

    def _shown(self, slots: Slots, latest: int) -> float:
        """Return a bound of the sum of weights that is read at the latest time."""
        if not slots:
            return 0.0
        first = min(slots)
        weights: int = slots[first].state._merge_load()[0]
        return weights / self._scale(latest, first)

    def _find_room(self, slots: Slots, latest: int, taken: float) -> None:
        """Find out how much weight can come until a new state begins; WeightError if that is less than `taken`."""
        newest = self._newest(latest)
        slots = {stretch: slot for stretch, slot in slots.items() if stretch >= newest - 1}
        shown, self._room = self._shown(slots, latest), 0.0
        left, loads = MOST_FADED - shown, [(slot.state._merge_load(), stretch) for stretch, slot in slots.items()]
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
        self._room = min([left, *costs])

    def _merge_load(self) -> Load:
        """Return bounds of what a merge adds up; see `states.protocols`."""
        loads = [slot.state._merge_load() for slot in self._slots.values()]
        weights, samples, abstentions = map(max, zip((0, 0, 0), *loads, strict=True))
        return max(weights, 2 * int(self._shown(self._slots, self._latest or 0))), samples, abstentions

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
            slots = dict(self._slots)
            for stretch in (newest - 1, newest):
                rows = [row for row, mine in enumerate(own) if mine >= stretch]
                scaled = [weight[row] * self._scale(places[row], stretch) for row in rows]
                if rows:
                    state = batch._count_rows(np.array(rows, np.int64), self.inner, scaled)
                    before = slots.get(stretch)
                    slots[stretch] = Slot(state if before is None else self._store.copied(before.state).merge(state))
            late = [row for row, mine in enumerate(own) if mine < newest - 1]
            if late:
                batch._count_rows(np.array(late, np.int64), self.inner)  # which may refuse them
            before_all = None if self._latest is None else self._newest(self._latest) - 1
            dropped = 0 if before_all is None else sum(mine < before_all for mine in own)
            self._find_room(slots, latest, 0)
            self._keep(slots, latest, self._room, self.dropped + dropped)

    def _take_over(self, changes: Slots, other: Self, capacity: int) -> None:
        latest = max((each._latest for each in (self, other) if each._latest is not None), default=None)
        slots = {**self._slots, **changes}
        self._find_room(slots, latest or 0, 0)
        self._keep(slots, latest, self._room)

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
            first = self._newest(at) - 1  # of the stretches that an update at `t` leaves
            alive = [stretch for stretch in self._slots if stretch >= first]
            if not alive:
                return self.inner.copy()
            oldest = self._store.copied(self._slots[min(alive)].state)
        return scale_weights(oldest, 1 / self._scale(at, min(alive)))

    def _reading_time(self) -> int | None:
        """Return the latest time, by which groups are read together."""
        return None if self.by_count else self._latest

    def _sum_at(self, name: str, t: Time | None = None) -> int:
        """Return a number of samples, `n` or `abstained`, as it is read at a time."""
        with self._reading():
            return int(getattr(self._slots[min(self._slots)].state, name)) if self._slots else 0

    def _content(self) -> list[object]:
        with self._reading():
            latest = [] if self._latest is None else [self._latest]
            states = [[stretch, self._slots[stretch].state._content()] for stretch in sorted(self._slots)]
        return [packed(self.inner), self.by_count, self._half, latest, states]

    @classmethod
    def _restore(cls, content: Any) -> Self:
        inner, by_count, half, latest, states = content
        template = unpacked(inner)
        window = cls(template, half if by_count else f"{half}ns")
        seen: Any = latest[0] if latest else None
        if bool(latest) != bool(states) or (by_count and latest and not 0 < seen <= MOST):
            raise ValueError("the latest time, or the number of updates, if there is any")
        if latest and not by_count:
            to_epoch_ns(np.datetime64(seen, "ns"))  # which refuses what is too far away
        slots = {stretch: Slot(window._store.read(data)) for stretch, data in states}
        newest = window._newest(seen or 0)
        if not slots.keys() <= {newest - 1, newest} or (slots and newest - 1 not in slots):
            raise ValueError("states of the last two stretches")
        if len(slots) > 1:
            older, newer = slots[newest - 1].state, slots[newest].state
            if older.n < newer.n or older.abstained < newer.abstained:
                raise ValueError("a first state with all samples of the second")
        window._keep(slots, seen, 0.0)
        window._find_room(slots, seen or 0, 0)
        return window

    def __repr__(self) -> str:
        return f"Fading({self.merged()!r}, half-life {self.half_life}, {quantity(self.n, 'sample')})"


def _reals(w: object, n: int) -> list[float]:
    """Return a column of weights as floats; WeightError names the position of one that is refused."""
    checked = checked_weights(w, n)
    split_weights(checked)
    return [float(checked_weight(x)) for x in checked]
