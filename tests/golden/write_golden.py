"""Write the states of wire format 1 that every later release must read: one file a state, and what each holds.

    python tests/golden/write_golden.py NAME...

writes the named states that are new, and refuses to change a file: bytes that were released stay as they are.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from inspect import signature
from operator import mul
from pathlib import Path
from typing import Any

import stream_metrics as sm

HERE = Path(__file__).parent
MANIFEST = HERE / "states_v1.json"


def counted(state: Any, *samples: tuple[Any, ...]) -> Any:
    """Return the state after the samples."""
    for sample in samples:
        state.update(*sample)
    return state


def sparse() -> sm.ConfusionMatrix:
    """Return a state of 1500 classes."""
    state = sm.ConfusionMatrix()
    state.update_many(range(1500), [(7 * i) % 1500 for i in range(1500)])
    return state


LABELS = [False, 1, 2.5, -(2**63), 2**64 - 1, 2**70, -(2**70), "a", "é", "", "\ud800", b"a", b"", (), (1, "x", (b"y",))]

STATES: dict[str, Callable[[], Any]] = {
    "confusion_v1_empty": sm.ConfusionMatrix,
    "confusion_v1_plain": lambda: counted(sm.ConfusionMatrix(), ("cat", "dog"), ("cat", "cat"), ("dog", None)),
    "confusion_v1_every_label": lambda: counted(sm.ConfusionMatrix(), *((x, y) for x in LABELS for y in LABELS[::4])),
    "confusion_v1_fractions": lambda: counted(sm.ConfusionMatrix(), (1, 2, 0.1), (True, 1.0, 2.0**-64), (2.0, 2, 1e15)),
    "confusion_v1_large": lambda: counted(
        sm.ConfusionMatrix(), ("a", "a", 2**62), ("a", "b", 2**53 + 1), ("b", "b", 0)
    ),
    "confusion_v1_fixed": lambda: counted(sm.ConfusionMatrix(labels=["b", "a", 1.0]), ("a", True), ("b", {})),
    "confusion_v1_other": lambda: counted(sm.ConfusionMatrix(labels=["a"], other="rest"), ("a", "z"), ("y", "a", 0.5)),
    "confusion_v1_sparse": sparse,
    "metric_v1_mcc": lambda: counted(sm.MCC(), ("a", "b"), ("a", "a"), ("b", "b")),
    "metric_v1_fbeta": lambda: counted(sm.FBeta(2.0, pos_label="a", zero_division=1.0), ("a", "b"), ("a", "a")),
    "metric_v1_weights": lambda: counted(
        sm.WeightedBalancedAccuracy({"b": 3, "a": 0.5}, labels=["a", "b"], zero_division=float("nan")), ("a", "a")
    ),
    "set_v1_default": lambda: counted(sm.MetricSet(), (1, 1), (1, 0), (0, 0, 3)),
    "set_v1_chosen": lambda: counted(sm.MetricSet(["accuracy", "recall"], labels=[0, 1], other=9), (1, 5)),
}


def contents(state: Any) -> dict[str, Any]:
    """Return what a state holds, as plain data."""
    counts = getattr(state, "state", state)
    rows, columns, values = (column.tolist() for column in counts.cells())
    return {
        "type": type(state).__name__,
        "configuration": {name: repr(getattr(state, name)) for name in signature(type(state)).parameters}
        if counts is not state
        else {},
        "labels": repr(counts.labels) if counts.k < 100 else f"{counts.k} labels",
        "fixed_labels": repr(counts.fixed_labels),
        "other": repr(counts.other),
        "n": counts.n,
        "abstained": counts.abstained,
        "total": str(counts.total),
        "true_dot_predicted": str(counts.true_dot_predicted),
        "cells": [rows, columns, values] if counts.k < 100 else sum(map(mul, rows, columns)),
    }


def main(names: list[str]) -> None:
    """Write the states named, and enter them in the manifest."""
    manifest = json.loads(MANIFEST.read_text()) if MANIFEST.exists() else {}
    for name in names:
        path = HERE / f"{name}.bin"
        if path.exists():
            sys.exit(f"{path.name} exists: released bytes are never rewritten")
        state = STATES[name]()
        path.write_bytes(state.to_bytes())
        manifest[name] = contents(sm.from_bytes(path.read_bytes()))
    MANIFEST.write_text(json.dumps(dict(sorted(manifest.items())), indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
