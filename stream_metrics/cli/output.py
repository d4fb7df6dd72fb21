"""What commands print: a snapshot as report or JSON, and the running values of ``run --every``."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import stream_metrics as sm
from stream_metrics.catalog import CATALOG
from stream_metrics.cli.problems import UsageProblem
from stream_metrics.metric import Metric
from stream_metrics.report.layout import number
from stream_metrics.snapshot import Snapshot

__all__ = ["RunningValues", "print_snapshot", "view"]

HEADLINE = ("accuracy", "balanced_accuracy", "macro_f1", "matthews_corrcoef", "cohen_kappa")
OF_SCORES = ("accuracy", "macro_f1", "matthews_corrcoef", "log_loss", "roc_auc_ovr")  # lines of 80 columns
NEEDED = {
    "counts": "labels, but the state keeps scores only",
    "ranks": "scores, but the state keeps none: run --scores",
    "confidence": "probabilities of all classes, but the state keeps none: run --scores without --margins",
    "losses": "probabilities, but the state keeps none: run --scores without --margins",
}  # what a metric needs that a state lacks
ALONE: dict[str, type[Any]] = {"ranks": sm.RankSketch, "losses": sm.ProbabilityLosses}


def view(state: Any, keys: Sequence[str] | None) -> Snapshot:
    """Return a snapshot of ``state`` that contains ``keys`` only, or all that it has by default."""
    if keys is None:
        snapshot: Snapshot = state.snapshot()
        return snapshot
    states = _states(state)
    missing = [key for key in keys if CATALOG[key].reads not in states]
    if missing:
        raise UsageProblem(f"--metrics names {missing[0]}, which needs {NEEDED[CATALOG[missing[0]].reads]}")
    copies = {name: held.copy() for name, held in states.items()}
    return Snapshot(**copies, keys=keys, zero_division=getattr(state, "zero_division", None))


def _states(state: Any) -> dict[str, Any]:
    """Return the states within a state, by what metrics read of it."""
    if isinstance(state, sm.MetricSet):
        scored = state.scored
        parts = {} if scored is None else {name: getattr(scored, name) for name in ("ranks", "confidence", "losses")}
        return {"counts": state.state, **{name: part for name, part in parts.items() if part is not None}}
    if isinstance(state, Metric):
        return {state.row.reads: state.state}
    return {next((name for name, kind in ALONE.items() if isinstance(state, kind)), "counts"): state}


def print_snapshot(snapshot: Snapshot, form: str, extra: dict[str, Any] | None = None, indent: int | None = 2) -> None:
    """Print a snapshot; ``extra`` entries appear in JSON only."""
    if form == "table":
        print(snapshot)
    elif extra:
        print(json.dumps({**json.loads(snapshot.to_json()), **extra}, indent=indent))
    else:
        print(snapshot.to_json(indent=indent))


def _headline(state: Any) -> list[str]:
    """Return the keys of a line of running values."""
    states = _states(state)
    return [key for key in (OF_SCORES if "ranks" in states else HEADLINE) if CATALOG[key].reads in states]


class RunningValues:
    """Prints one line of values at a time: columns under one header, or one JSON object a line."""

    def __init__(self, keys: Sequence[str] | None, form: str) -> None:
        self._keys = keys
        self._json = form == "json"
        self._started = False

    def print(self, state: Any) -> None:
        """Print the values of ``state`` now."""
        snapshot = view(state, self._keys)
        values = {key: snapshot[key] for key in (_headline(state) if self._keys is None else snapshot)}
        if not values:
            raise UsageProblem("--every prints metrics of the whole matrix, but --metrics names none")
        if self._json:
            line = json.dumps({"n": snapshot.n, **{key: _plain(value) for key, value in values.items()}})
        else:
            cells = (f"{_shown(value):>{_width(key)}}" for key, value in values.items())
            line = "  ".join((f"{number(snapshot.n):>12}", *cells))
        if not self._started and not self._json:
            print("  ".join((f"{'n':>12}", *(f"{key:>{_width(key)}}" for key in values))))
        self._started = True
        print(line, flush=True)


def _width(key: str) -> int:
    return max(len(key), 8)


def _shown(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return None if math.isnan(value) else value
    return value if isinstance(value, bool | int | str) else repr(value)
