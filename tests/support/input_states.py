"""States, sets, windows and groups that count samples, and how they are fed one by one and in batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stream_metrics as sm

Make = Callable[[], Any]
SETS: dict[str, Make] = {  # thresholds that float32 does not have
    "set": lambda: sm.MetricSet(scores=True, threshold=0.1),
    "set, other threshold": lambda: sm.MetricSet(scores=True, threshold=0.3),
    "set, any scores": lambda: sm.MetricSet(scores="any", threshold=0.7),
    "rolling set": lambda: sm.Rolling(sm.MetricSet(scores=True, threshold=0.1), 3),
    "window": lambda: sm.TimeWindow(sm.MetricSet(scores=True, threshold=0.1), 60),
    "fading": lambda: sm.Fading(sm.MetricSet(scores=True, threshold=0.1), 4),
    "groups": lambda: sm.ByGroup(sm.MetricSet(scores=True, threshold=0.1)),
    "groups of windows": lambda: sm.ByGroup(sm.Rolling(sm.MetricSet(scores=True, threshold=0.1), 3)),
}
SCORED: dict[str, Make] = SETS | {
    "sketch": sm.RankSketch,
    "losses": sm.ProbabilityLosses,
    "area": sm.ROCAUC,
    "log loss": sm.LogLoss,
    "rolling area": lambda: sm.Rolling(sm.ROCAUC(), 5),
    "rolling losses": lambda: sm.Rolling(sm.ProbabilityLosses(), 3),
    "window of a sketch": lambda: sm.TimeWindow(sm.RankSketch(), 60),
    "groups of losses": lambda: sm.ByGroup(sm.ProbabilityLosses()),
}
LABELS: dict[str, Make] = {
    "matrix": sm.ConfusionMatrix,
    "fixed matrix": lambda: sm.ConfusionMatrix([0, 1], other=2),
    "set of labels": sm.MetricSet,
    "metric": sm.MacroF1,
    "full window": lambda: sm.Rolling(sm.Accuracy(), 1),
    "rolling labels": lambda: sm.Rolling(sm.MetricSet(), 5),
    "window of labels": lambda: sm.TimeWindow(sm.MetricSet(), 60),
    "fading labels": lambda: sm.Fading(sm.MacroF1(), 4),
    "groups of labels": lambda: sm.ByGroup(sm.MetricSet()),
}


def beside(state: Any, at: Any) -> dict[str, Any]:
    """Return the arguments that a state needs beside a sample at a position, or beside a batch of positions."""
    if isinstance(state, sm.TimeWindow):
        return {"t": [float(i) for i in at] if isinstance(at, range) else float(at)}
    if isinstance(state, sm.ByGroup):
        return {"group": [i % 2 for i in at] if isinstance(at, range) else at % 2}
    return {}


def outcome(feed: Callable[[], Any]) -> Any:
    """Return the bytes of a state that was fed, "refused" if it raised an error of the package."""
    try:
        state = feed()
    except sm.StreamMetricsError as error:
        return "refused" if str(error).startswith("Expected ") else error
    return state.to_bytes()


def alone(make: Make, **columns: Any) -> Any:
    """Return what the rows of columns leave one after the other."""

    def feed() -> Any:
        state = make()
        for row, values in enumerate(zip(*columns.values(), strict=True)):
            state.update(**dict(zip(columns, values, strict=True)), **beside(state, row))
        return state

    return outcome(feed)


def together(make: Make, n: int, cut: int = 0, common: dict[str, Any] | None = None, **columns: Any) -> Any:
    """Return what columns of n rows leave as a batch, or as two; one that is refused leaves nothing."""
    parts = [(range(n), columns)]
    if cut:
        parts = [
            (range(n)[at], {name: column[at] for name, column in columns.items()}) for at in (slice(cut), slice(cut, n))
        ]
    state = make()

    def feed() -> Any:
        for rows, part in parts:
            state.update_many(**part, **beside(state, rows), **common or {})
        return state

    after = outcome(feed)
    assert cut or after != "refused" or state.to_bytes() == make().to_bytes()
    return after
