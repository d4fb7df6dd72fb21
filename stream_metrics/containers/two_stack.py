"""A window over panes is the merge of those that live, kept up to date with two stacks of merges.

Merging all panes at every reading would cost as many merges as there are panes. So merges are kept, as in a queue made
of two stacks: for every older pane the merge of it with all that follow up to an edge (`front`), and one merge of the
panes beyond (`back`). A reading then merges one of the front, the back and the newest pane. When the panes of the front
have left, the back becomes the new front, one merge a pane. What comes late for a pane that is in a merge is kept
beside it, and joins it when the front is next built.

`parts` only selects what a reading merges, which is quick, and returns a function that merges it. So a window can be
read under a lock and merged outside, while counting goes on. The first reading of a front builds it.

Panes that receive no more in order, and merges of them, are stored in a form that changes no more. The `form` has the
functions `freeze(pane, opened)` and `state(opened)` of a pane that the caller has, `thaw(stored)`, `copied(stored)` (a
state that may be changed), `keep(state)`, and `add_late(pane, stored, late)` (None leaves what came late beside).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from stream_metrics._core.numeric.kernels import Guarded
from stream_metrics._core.windows.kernels import move_key

if TYPE_CHECKING:
    from stream_metrics.states.protocols import Accumulator

__all__ = ["TwoStackAggregator"]

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
