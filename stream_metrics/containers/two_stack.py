"""A window over panes is the merge of those that live, kept up to date with two stacks of merges.

Merging all panes at every reading would cost as many merges as there are panes. So merges are kept, as in a queue made
of two stacks: for every older pane the merge of it with all that follow up to an edge (`front`), and one merge of the
panes beyond (`back`). A reading then merges one of the front, the back and the newest pane. When the panes of the front
have left, the back becomes the new front, one merge a pane. What comes late for a pane that is in a merge is kept
beside it, and joins it when the front is next built.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from stream_metrics.states.protocols import Accumulator

__all__ = ["PaneForm", "StatesAsTheyAre", "TwoStackAggregator", "running_merges"]

State = TypeVar("State", bound="Accumulator")
Stored = TypeVar("Stored")  # what a pane is stored as


class PaneForm(Protocol[State, Stored]):
    """How panes that receive no more in order, and merges of them, are stored."""

    def freeze(self, pane: int, state: State) -> Stored:
        """Return the stored form of a pane, whose state is not used any more unless it is that form."""

    def read(self, stored: Stored) -> State:
        """Return the state of a stored form, which the caller does not change."""

    def thaw(self, stored: Stored) -> State:
        """Return the state of a stored form, a copy which the caller may change."""

    def keep(self, state: State) -> Stored:
        """Return the stored form of a state that changes afterwards."""

    def merges(self, stored: Sequence[Stored]) -> list[Stored]:
        """Return the stored forms of the first state, the merge of the first two, and so on."""


def running_merges(form: PaneForm[State, Stored], stored: Sequence[Stored]) -> list[Stored]:
    """Return the stored forms of the first state, the merge of the first two, and so on."""
    total: State | None = None
    merges = []
    for each in stored:
        total = form.thaw(each) if total is None else total.merge(form.read(each))
        merges.append(form.keep(total))
    return merges


class StatesAsTheyAre:
    """Panes are stored as states."""

    def freeze(self, pane: int, state: Accumulator) -> Accumulator:
        """Return the state itself."""
        return state

    def read(self, stored: Accumulator) -> Accumulator:
        """Return the state itself."""
        return stored

    def thaw(self, stored: Accumulator) -> Accumulator:
        """Return a copy."""
        return stored.copy()

    def keep(self, state: Accumulator) -> Accumulator:
        """Return a copy."""
        return state.copy()

    def merges(self, stored: Sequence[Accumulator]) -> list[Accumulator]:
        """Return copies of the running merge."""
        return running_merges(self, stored)


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
        self._front: list[Stored] = []  # the stored merge of the pane in `_keys` with all that follow up to the edge
        self._keys: list[int] = []
        self._back: State | None = None
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
        twin.frozen, twin._front, twin._keys = dict(self.frozen), list(self._front), list(self._keys)
        twin._back = None if self._back is None else self._back.copy()
        twin._first_back, twin._top, twin._stale = self._first_back, self._top, self._stale
        return twin

    def freeze(self, panes: dict[int, State], before: int) -> None:
        """Take over the panes before `before` that are newer than all taken so far."""
        newer = sorted(pane for pane in panes if pane < before and (self._top is None or pane > self._top))
        stale, self._stale = self._stale, self._stale or bool(newer)  # if a merge is interrupted, all are built again
        for pane in newer:
            stored = self._form.freeze(pane, panes[pane])
            state = panes.pop(pane)
            self.frozen[pane] = stored
            self._top = pane
            if self._back is not None:
                self._back.merge(state)
            else:
                self._back = self._form.thaw(self.frozen[pane]) if stored is state else state
                self._first_back = pane
        self._stale = stale

    def merged(self, panes: dict[int, State], low: int, high: int, empty: State) -> State:
        """Return a new state, the merge of all panes that are newer than `low` and not newer than `high`.

        What came late may be taken out of `panes` and be kept here from then on.
        """
        total: State | None = None
        if self._top is not None and high < self._top:
            parts = [self._form.read(stored) for pane, stored in self.frozen.items() if low < pane <= high]
        else:
            if self._stale or (self._back is not None and self._first_back <= low):
                self._flip(panes)
            at = bisect_right(self._keys, low)
            total = self._form.thaw(self._front[at]) if at < len(self._front) else None
            parts = [] if self._back is None else [self._back]
        parts += [state for pane, state in panes.items() if low < pane <= high]
        if total is None:
            total = parts.pop(0).copy() if parts else empty.copy()
        for part in parts:
            total.merge(part)
        return total

    def _flip(self, panes: dict[int, State]) -> None:
        """Build the front of all frozen panes and what came late for them."""
        self._stale = True  # until all is built: a reading that is interrupted leaves no half of it
        for pane in [pane for pane in panes if self._top is not None and pane <= self._top]:
            late = panes[pane]
            if pane in self.frozen:
                late = self._form.thaw(self.frozen[pane]).merge(late)
            stored = self._form.freeze(pane, late)
            del panes[pane]
            self.frozen[pane] = stored
        keys = sorted(self.frozen)
        front = self._form.merges([self.frozen[pane] for pane in reversed(keys)])
        self.forget_merges()
        self._keys, self._front, self._stale = keys, front[::-1], False

    def drop(self, gone: int) -> None:
        """Forget the panes up to `gone`."""
        dropped = [pane for pane in self.frozen if pane <= gone]
        for pane in dropped:
            del self.frozen[pane]
        at = bisect_right(self._keys, gone)
        del self._keys[:at], self._front[:at]
        if dropped and not self.frozen:
            self.forget_merges()

    def with_late(self, panes: Mapping[int, State]) -> dict[int, State]:
        """Return all panes in the order of time as states, each with what came late for it."""
        states = {pane: self._form.read(stored) for pane, stored in self.frozen.items()}
        both = {pane: state.copy().merge(panes[pane]) if pane in panes else state for pane, state in states.items()}
        return dict(sorted({**panes, **both}.items()))
