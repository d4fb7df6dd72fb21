"""The states of stored panes: read from bytes, and merged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

from stream_metrics.containers.groups import ByGroup
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.wire import from_bytes

__all__ = ["State", "merged_bytes", "state_of"]

State: TypeAlias = MetricSet | ByGroup


def state_of(data: bytes) -> State:
    """Return the state of a stored pane."""
    return cast(State, from_bytes(data))


def merged_bytes(parts: Sequence[bytes]) -> bytes:
    """Return the bytes of the merged states of some panes."""
    if len(parts) == 1:
        return parts[0]
    first, *rest = map(state_of, parts)
    for state in rest:
        first.merge(state)  # type: ignore[arg-type]
    return first.to_bytes()
