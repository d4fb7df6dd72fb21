"""Fixed labels that a new version of the workers adds: states with fewer labels are widened before they merge."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stream_metrics.containers.inner import walk_inner
from stream_metrics.labels import Label

__all__ = ["Labels", "fixed_labels", "widened", "widest"]

Labels = tuple[Label, ...]


def fixed_labels(state: Any) -> Labels | None:
    """Return the labels that a state is fixed to; None if it is not."""
    *_, inside = walk_inner(state)
    labels: Labels | None = getattr(getattr(inside, "state", inside), "fixed_labels", None)
    return labels


def widest(states: Iterable[Any]) -> Labels | None:
    """Return the most labels that a state is fixed to; None if none is."""
    return max(filter(None, map(fixed_labels, states)), key=len, default=None)


def widened(state: Any, labels: Labels | None) -> Any:
    """Return a state with these fixed labels if they contain its own and more, and the state itself otherwise.

    OptionError if its counts do not tell, as those of `other` do not.
    """
    own = fixed_labels(state)
    return state if own is None or labels is None or not set(own) < set(labels) else state.reconfigured(labels=labels)
