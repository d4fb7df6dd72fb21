"""Work of the processes in tests of pickling; spawned processes import it by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import stream_metrics as sm

ROWS = 400
PROTOTYPES: dict[str, Callable[[], Any]] = {
    "metric": sm.MCC,
    "set": sm.MetricSet,
    "set of scores": lambda: sm.MetricSet(scores=True, buckets=32, sample=16),
    "confusion matrix": lambda: sm.ConfusionMatrix(labels=range(4)),
    "rank sketch": lambda: sm.RankSketch(buckets=32, sample=16),
    "losses": sm.ProbabilityLosses,
    "groups": lambda: sm.ByGroup(sm.MetricSet(), max_groups=3),
    "window": lambda: sm.TimeWindow(sm.ConfusionMatrix(), "1h"),
    "groups of windows": lambda: sm.ByGroup(sm.TimeWindow(sm.MacroF1(), "1h", panes=6)),
}


def count(state: Any, low: int, high: int) -> Any:
    """Return a state that has counted some of the rows."""
    random = np.random.default_rng(4)
    truth = random.integers(0, 4, ROWS)
    p = random.dirichlet(np.ones(4), ROWS)
    number = np.arange(ROWS)
    rows = slice(low, high)
    named: dict[str, Any] = {}
    if isinstance(state, sm.ByGroup):
        named["group"] = (number % 7)[rows]
    if isinstance(state, sm.TimeWindow) or isinstance(getattr(state, "inner", None), sm.TimeWindow):
        named["t"] = (number * 20.0)[rows]
    if isinstance(state, sm.RankSketch | sm.ProbabilityLosses) or getattr(state, "scored", None) is not None:
        state.update_many(truth[rows], p[rows], classes=range(4))
    else:
        state.update_many(truth[rows], p.argmax(1)[rows], **named)
    return state


def refuse(state: Any) -> Any:
    """Raise the error of a label that is none."""
    state.update_many([float("nan")], [1])


def returned(value: Any) -> Any:
    """Return what was sent."""
    return value
