"""What containers of states share: the state inside, and merges of panes.

A window over panes is the merge of those that live. Merging them all at every reading would cost as many merges as
there are panes, so merges are kept, as in a queue made of two stacks: for every older pane the merge of it with all
that follow up to an edge (`front`), and one merge of the panes beyond (`back`). A reading then merges one of the front,
the back and the newest pane. When the panes of the front have left, the back becomes the new front, one merge a pane.
What comes late for a pane that is in a merge is kept beside it, and joins it when the front is next built.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from stream_metrics.errors import MergeError
from stream_metrics.states.batches import Batch, mergeable
from stream_metrics.wire import Portable, encoded

__all__ = ["Batch", "TwoStackAggregator", "check_same", "empty_prototype", "mergeable", "state_decoder", "walk_inner"]

FORGETTING = {"rolling": "Rolling", "timed": "TimeWindow", "fading": "Fading"}  # by the kind in bytes


def empty_prototype(inner: Any, holder: str, *, keeps_all: bool = True) -> Any:
    """Return an empty copy of `inner`; ValueError if it is no accumulator, or `holder` can make nothing of it."""
    if not isinstance(inner, Portable) or not hasattr(inner, "snapshot"):
        raise ValueError(f"Expected `inner` to be a state, a metric or a set of metrics, but got {inner!r:.60}")
    if not getattr(inner, "of_pairs", True):
        raise ValueError(
            f"Expected `inner` of a {holder} to count pairs of truth and prediction, "
            f"but a {type(inner).__name__} does not"
        )
    for state in walk_inner(inner):
        if keeps_all and state.KIND in FORGETTING:
            raise ValueError(
                f"Expected `inner` of a {holder} to keep whatever it is fed, but got a {FORGETTING[state.KIND]}, which "
                f"forgets by a rule of its own"
            )
    empty = inner.copy()
    empty.reset()  # type: ignore[attr-defined]
    return empty


def walk_inner(state: Any) -> Iterator[Any]:
    """Yield a state, the one inside it, the one inside that."""
    while state is not None:
        yield state
        state = getattr(state, "inner", None)


def state_decoder(empty: Any) -> Callable[[Any], Any]:
    """Return what reads states from contents; ValueError unless one is configured as `empty` is and holds a sample."""
    kind, nothing = type(empty), encoded(empty._content())

    def restored(content: Any) -> Any:
        state = kind._restore(content)
        twin = state.copy()
        twin.reset()
        if encoded(content) == nothing or encoded(twin._content()) != nothing:
            raise ValueError("states of the configuration inside, each with a sample")
        return state

    return restored


def check_same(mine: Any, theirs: Any, configuration: Iterable[str]) -> None:
    """Raise MergeError unless both are of one type and all these attributes agree."""
    if type(mine) is not type(theirs):
        raise MergeError(f"Expected to merge a {type(mine).__name__}, but got a {type(theirs).__name__}")
    for name in configuration:
        a, b = getattr(mine, name), getattr(theirs, name)
        if name == "inner" and type(a) is type(b):
            a.copy().merge(b)  # names what differs inside
        if a != b or repr(a) != repr(b):
            raise MergeError(f"Expected `{name}` to be the same in both, but got {a!r} and {b!r}")


class TwoStackAggregator:
    """Merges of the panes that receive no more in order; `frozen` holds these panes."""

    def __init__(self) -> None:
        self.frozen: dict[int, Any] = {}
        self._front: list[Any] = []  # the merge of the pane in `_keys` with all that follow up to the edge
        self._keys: list[int] = []
        self._back: Any = None
        self._first_back = self._top = 0

    def freeze(self, panes: dict[int, Any], before: int) -> None:
        """Take over the panes before `before` that are newer than all taken so far."""
        complete = sorted(pane for pane in panes if pane < before and not (self.frozen and pane <= self._top))
        for pane in complete:
            state = self.frozen[pane] = panes.pop(pane)
            self._top = pane
            if self._back is None:
                self._back, self._first_back = state.copy(), pane
            else:
                self._back.merge(state)

    def merged(self, panes: dict[int, Any], low: int, high: int, empty: Any) -> Any:
        """Return a new state, the merge of all panes that are newer than `low` and not newer than `high`.

        What came late may be taken out of `panes` and be kept here from then on.
        """
        if self.frozen and high < self._top:
            parts = [state for pane, state in self.frozen.items() if low < pane <= high]
        else:
            if self._back is not None and self._first_back <= low:
                self._flip(panes)
            at = bisect_right(self._keys, low)
            parts = self._front[at : at + 1] + ([] if self._back is None else [self._back])
        parts += [state for pane, state in panes.items() if low < pane <= high]
        total = parts[0].copy() if parts else empty.copy()
        for part in parts[1:]:
            total.merge(part)
        return total

    def _flip(self, panes: dict[int, Any]) -> None:
        """Make the front anew, of all panes taken so far and of what came late for them."""
        for pane in [pane for pane in panes if pane <= self._top]:
            late = panes.pop(pane)
            self.frozen[pane] = self.frozen[pane].merge(late) if pane in self.frozen else late
        self._keys, self._front, self._back = sorted(self.frozen), [], None
        for pane in reversed(self._keys):
            state = self.frozen[pane]
            self._front.append(state.copy() if not self._front else self._front[-1].copy().merge(state))
        self._front.reverse()

    def drop(self, gone: int) -> None:
        """Forget the panes up to `gone`."""
        for pane in [pane for pane in self.frozen if pane <= gone]:
            del self.frozen[pane]
        at = bisect_right(self._keys, gone)
        del self._keys[:at], self._front[:at]
        if not self.frozen:
            self._back = None

    def with_late(self, panes: Mapping[int, Any]) -> dict[int, Any]:
        """Return all panes in the order of time, each with what came late for it."""
        both = {
            pane: self.frozen[pane].copy().merge(panes[pane]) if pane in panes else self.frozen[pane]
            for pane in self.frozen
        }
        return dict(sorted({**panes, **both}.items()))
