"""Fixed labels that a new version of the workers adds: states with fewer labels are widened before they merge."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stream_metrics.containers.inner import walk_inner
from stream_metrics.errors import MergeError
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

    MergeError if its counts do not tell, as those of `other` do not, or its options do not.
    """
    own = fixed_labels(state)
    if own is None or labels is None or not set(own) < set(labels):
        return state
    try:
        return state.reconfigured(labels=labels)
    except ValueError as error:  # also of a formula, whose options have something for each label
        raise MergeError(f"Expected a state that can have the labels of the others, but: {error}") from None
