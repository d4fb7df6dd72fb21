"""Standard errors from folds: the statistic without each of them in turn."""

from __future__ import annotations

import math
from collections.abc import Mapping

from stream_metrics.evaluation.evaluate import State
from stream_metrics.formulas.protocol import Floats

__all__ = ["Folds", "jackknife", "left_out"]

Folds = Mapping[int, tuple[Mapping[str, State], ...]]


def jackknife(estimates: Floats) -> float:
    """Return the standard error from the statistic without each fold in turn; nan where one of them is."""
    f = len(estimates)
    if f < 2:
        return math.nan
    return math.sqrt((f - 1) / f * float(((estimates - estimates.mean()) ** 2).sum()))


def left_out(folds: Folds, reads: str) -> tuple[list[State], list[list[State]]]:
    """Return the states of both models, and those without each fold; three merges a fold, by prefix and suffix."""
    states = [[side[reads] for side in pair] for pair in folds.values()]
    ahead, behind = _running(states), _running(states[::-1])[::-1]
    rest = [
        [x if y is None else y.copy() if x is None else x.copy().merge(y) for x, y in zip(p, q, strict=True)]
        for p, q in zip(ahead[:-1], behind[1:], strict=True)
    ]
    return ahead[-1], [pair for pair in rest if None not in pair]


def _running(folds: list[list[State]]) -> list[list[State]]:
    """Return the merges of no fold, of the first, of the first two, and so on."""
    total: list[list[State]] = [[None] * len(folds[0])]
    for pair in folds:
        total.append([y.copy() if x is None else x.copy().merge(y) for x, y in zip(total[-1], pair, strict=True)])
    return total
