"""States with every weight multiplied by one factor, as a reading of faded weights needs them."""

from __future__ import annotations

import math

import numpy as np

from stream_metrics._core.confusion.kernels import UpdateBase
from stream_metrics._core.numeric.kernels import commit, split_weights
from stream_metrics.containers.keyed import Keyed
from stream_metrics.states.confusion import ConfusionMatrix
from stream_metrics.states.losses import ProbabilityLosses
from stream_metrics.states.protocols import Accumulator
from stream_metrics.states.ranks import RankSketch

__all__ = ["has_sketch", "scale_weights"]


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
