"""A window over panes is the merge of those that live, kept up to date with two stacks of merges.

Merging all panes at every reading would cost as many merges as there are panes. So merges are kept, as in a queue made
of two stacks: for every older pane the merge of it with all that follow up to an edge (`front`), and one merge of the
panes beyond (`back`). A reading then merges one of the front, the back and the newest pane. When the panes of the front
have left, the back becomes the new front, one merge a pane. What comes late for a pane that is in a merge is kept
beside it, and joins it when the front is next built.

`parts` only selects what a reading merges, which is quick, and `Parts.merged` merges it. So a window can be read under
a lock and merged outside, while counting goes on. The first reading of a front builds it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from stream_metrics._core.numeric.kernels import Guarded
from stream_metrics._core.windows.kernels import move_key

if TYPE_CHECKING:
    from stream_metrics.states.protocols import Accumulator

__all__ = ["PaneForm", "Parts", "TwoStackAggregator"]

State = TypeVar("State", bound="Accumulator")
Stored = TypeVar("Stored")  # what a pane is stored as


class PaneForm(Protocol[State, Stored]):
    """How panes that receive no more in order, and merges of them, are stored: in a form that changes no more."""

    def state(self, opened: Any) -> State:
        """Return the state of a pane that the caller has among the others."""

    def freeze(self, pane: int, opened: Any) -> Stored:
        """Return the stored form of a pane, whose state is not used any more unless it is that form."""

    def add_late(self, pane: int, stored: Stored | None, late: Any) -> Stored | None:
        """Return the stored form of a pane with what came late, which is not used any more; None to leave it beside."""

    def thaw(self, stored: Stored) -> State:
        """Return the state of a stored form, which the caller does not change."""

    def copied(self, stored: Stored) -> State:
        """Return the state of a stored form, a copy which the caller may change."""

    def keep(self, state: State) -> Stored:
        """Return the stored form of a state that changes afterwards."""


class _Front(Generic[State, Stored]):
    """For each pane the stored merge of it with all that follow, built when it is first read; any thread may."""

    def __init__(self, form: PaneForm[State, Stored], panes: Mapping[int, Stored]) -> None:
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
                self._merges = self._built()
                self._stored = []
            return self._merges[at]

    def _built(self) -> list[Stored]:
        total, merges = None, list[Stored]()
        for stored in self._stored[::-1]:
            total = self._form.copied(stored) if total is None else total.merge(self._form.thaw(stored))
            merges.append(self._form.keep(total))
        return merges[::-1]

    def without(self, gone: int) -> _Front[State, Stored]:
        """Return the front without the panes up to `gone`; itself if that saves no memory yet."""
        at, merges = bisect_right(self.panes, gone), self._merges
        if at == 0 or merges is None:
            return self
        rest: _Front[State, Stored] = _Front(self._form, {})
        rest.panes, rest._merges = self.panes[at:], merges[at:]
        return rest


class Parts(Generic[State, Stored]):
    """What a reading merges: a part of the front, stored panes, and states."""

    def __init__(
        self,
        form: PaneForm[State, Stored],
        front: tuple[_Front[State, Stored], int] | None,
        stored: Sequence[Stored],
        states: Sequence[State],
        empty: State,
    ) -> None:
        self._form, self._front, self._stored, self._states, self._empty = form, front, stored, states, empty

    def merged(self) -> State:
        """Return the merge, a new state."""
        newer = None if self._front is None else self._front[0].newer(self._front[1])
        total: State | None = None if newer is None else self._form.copied(newer)
        states = [*map(self._form.thaw, self._stored), *self._states]
        if total is None:
            total = states.pop(0).copy() if states else self._empty.copy()
        for state in states:
            total.merge(state)
        return total


class TwoStackAggregator(Generic[State, Stored]):
    """Merges of the panes that receive no more in order; `frozen` has these panes in their stored form.

    The panes that still receive samples, and what came late for others, are a dict of the caller.
    """

    def __init__(self, form: PaneForm[State, Stored]) -> None:
        self.frozen: dict[int, Stored] = {}
        self._form = form
        self.forget_merges()

    def forget_merges(self) -> None:
        """Forget all merges, since frozen panes have changed; they are built again at the next reading."""
        self._front: _Front[State, Stored] = _Front(self._form, {})  # of the panes up to an edge
        self._back: State | None = None
        self._back_is_lent = False  # to parts that may be merged later
        self._first_back = 0
        self._top = max(self.frozen, default=None)
        self._stale = bool(self.frozen)

    def take_out(self, pane: int) -> None:
        """Forget a frozen pane, which the caller has among the others from now on, until the next reading."""
        if self.frozen.pop(pane, None) is not None:
            top = self._top
            self.forget_merges()
            self._top, self._stale = top, True

    def copy(self, form: PaneForm[State, Stored]) -> TwoStackAggregator[State, Stored]:
        """Return an independent copy of an aggregator whose stored forms are immutable."""
        twin = TwoStackAggregator(form)
        twin.frozen, twin._front = dict(self.frozen), self._front
        twin._back = None if self._back is None else self._back.copy()
        twin._first_back, twin._top, twin._stale = self._first_back, self._top, self._stale
        return twin

    def freeze(self, panes: dict[int, State], before: int) -> None:
        """Take over the panes before `before` that are newer than all taken so far."""
        newer = sorted(pane for pane in panes if pane < before and (self._top is None or pane > self._top))
        stale, self._stale = self._stale, self._stale or bool(newer)  # if a merge is interrupted, all are built again
        for pane in newer:
            if pane in self.frozen:  # an interrupted call got so far
                continue
            state, stored = self._form.state(panes[pane]), self._form.freeze(pane, panes[pane])
            move_key(panes, self.frozen, pane, stored)
            self._top = pane
            if self._back is not None:
                if self._back_is_lent:
                    self._back, self._back_is_lent = self._back.copy(), False
                self._back.merge(state)
            else:
                same = stored is state
                self._back = state.copy() if same else state
                self._first_back = pane
        self._stale = stale

    def expect_late(self, panes: Iterable[int]) -> None:
        """Build all merges again at the next reading if something comes late for many of some panes."""
        self._stale = self._stale or any(pane in self.frozen for pane in panes)

    def merged(self, panes: dict[int, State], low: int, high: int, empty: State) -> State:
        """Return a new state, the merge of all panes that are newer than `low` and not newer than `high`.

        What came late may be taken out of `panes` and be kept here from then on.
        """
        return self._parts(panes, low, high, empty, copies=False).merged()

    def parts(self, panes: dict[int, State], low: int, high: int, empty: State) -> Parts[State, Stored]:
        """Return what `merged` merges, which the window changes no more if stored forms are immutable."""
        return self._parts(panes, low, high, empty, copies=True)

    def _parts(self, panes: dict[int, State], low: int, high: int, empty: State, copies: bool) -> Parts[State, Stored]:
        front, stored, states = None, list[Stored](), list[State]()
        if self._top is not None and high < self._top:
            stored = [each for pane, each in self.frozen.items() if low < pane <= high]
        else:
            if self._stale or (self._back is not None and self._first_back <= low):
                self._flip(panes)
            front = self._front, low
            if self._back is not None:
                states.append(self._back)
                self._back_is_lent |= copies
        newest = [self._form.state(panes[pane]) for pane in panes if low < pane <= high]
        states += [state.copy() for state in newest] if copies else newest
        return Parts(self._form, front, stored, states, empty)

    def _flip(self, panes: dict[int, State]) -> None:
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
        self._front = self._front.without(gone)
        if self._top is not None and not self.frozen:
            self.forget_merges()
