"""Windows that can receive no more, found among the panes that are left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from stream_metrics.states.protocols import Accumulator

__all__ = ["Closed", "closing"]


class Closed(NamedTuple):
    """A window that can receive no more: start <= t < end in seconds since 1970, and the state of its samples."""

    start: float
    end: float
    state: Accumulator


def closing(panes: Mapping[int, Accumulator], number: int, length: int, since: int | None, gone: int) -> list[Closed]:
    """Return the windows of `number` panes that hold samples and start after pane `since`, and not after `gone`."""
    starts: set[int] = set()
    for pane in panes:
        first = pane - number + 1
        starts.update(range(first if since is None else max(first, since + 1), min(pane, gone) + 1))
    windows = []
    for start in sorted(starts):
        live = [state for pane, state in panes.items() if start <= pane < start + number]
        state = live[0].copy()
        for part in live[1:]:
            state.merge(part)
        windows.append(Closed(start * length / 1e9, (start + number) * length / 1e9, state))
    return windows
