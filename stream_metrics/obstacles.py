"""Why a metric cannot be computed from a state: the one place that decides it, and says so.

A square table of many classes would need more memory than anybody expects. A test is a statement about a number of
samples, and counts do not say how many stand behind a weight: the same weights in another unit would give another
p-value. Pairs of samples cannot be counted where a weight has a fraction.

A sample of weight 0 has a weight other than 1; an abstention is no sample of the matrix and does not matter. Weights
that happen to sum to the number of samples, in whole cells, cannot be told from weights of 1.
"""

from __future__ import annotations

from typing import Any

from stream_metrics.catalog_row import Row

__all__ = ["SQUARE_LIMIT", "obstacle", "weighted"]

SQUARE_LIMIT = 4096  # classes; a square table beyond needs more than 128 MB


def weighted(state: Any) -> str:
    """Return how it shows that samples of a state have weights other than 1; empty if it does not."""
    if state.weight != state.n:
        return f"{state.n} samples weigh {state.weight}"
    return "a weight has a fraction" if getattr(state, "unit", 1) != 1 else ""


def obstacle(row: Row, state: Any) -> str:
    """Return why a row cannot be computed from the state that it reads, as the text of an error; empty if it can."""
    if row.quadratic and len(state.labels) > SQUARE_LIMIT:
        return f"Expected at most {SQUARE_LIMIT} classes for {row.key!r}, but got {len(state.labels)}"
    if row.needs == "samples" and (reason := weighted(state)):
        return f"Expected samples of weight 1 for {row.key!r}, which is a test of samples, but {reason}"
    if row.needs == "whole_weights" and state.unit != 1:
        return f"Expected whole weights for {row.key!r}, which counts pairs of samples, but a weight has a fraction"
    return ""
