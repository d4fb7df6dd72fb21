"""Golden states as JSON, for readers in other languages: the value of the body, counters, and values of metrics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import stream_metrics as sm

from .wire_reader import confusion_cells, rank_columns, read

GOLDEN = Path(__file__).parents[1] / "golden"
FOLDER = GOLDEN / "vectors"
NAMES = sorted(path.stem for path in FOLDER.glob("*_v1_*.json"))  # those of their golden files
KEYS = "accuracy", "macro_f1", "matthews_corrcoef", "log_loss", "brier_score"
KEYS_OF_CLASSES = "precision", "recall", "f1", "roc_auc"


def plain(value: Any) -> Any:
    """Return a value as JSON: bytes, floats, maps and large integers as objects with one key."""
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, int) and abs(value) >= 2**53:
        return {"int": str(value)}
    if isinstance(value, dict):
        return {"map": plain([*value.items()])}
    return [*map(plain, value)] if isinstance(value, list | tuple) else value


def counters(value: Any) -> list[Any]:
    """Return labels and cells of matrices, and labels, weights and columns of sketches, in the order of the body."""
    types = [type(item) for item in value] if isinstance(value, tuple) else []
    if len(types) in (7, 8) and bytes in types[5:7]:
        return [confusion_cells(value) if types[6] is bytes else rank_columns(value)]
    return [each for item in value for each in counters(item)] if types else []


def values(snapshot: Any) -> list[dict[str, Any]]:
    """Return the first twenty values of metrics; those of areas with the limits that are certain."""
    named = [(key, [], [snapshot[key]]) for key in KEYS if key in snapshot]
    for key in KEYS_OF_CLASSES:
        for label, value in snapshot.per_class.get(key, {}).items():
            named.append((key, [plain(label)], snapshot.estimate(key, label)[:3] if key == "roc_auc" else [value]))
    return [{"key": key, "label": label, "decimal": x, "hex": [*map(float.hex, x)]} for key, label, x in named[:20]]


def vector(name: str) -> str:
    """Return the vector of a golden file."""
    data = (GOLDEN / f"{name}.bin").read_bytes()
    state, body = sm.from_bytes(data), read(data)
    shown = [] if isinstance(state, sm.ByGroup) else values(state.snapshot())
    parts = {"file": f"{name}.bin", "body": plain(body), "counters": plain(counters(body)), "values": shown}
    return "{\n" + ",\n".join(f'"{key}": {json.dumps(part)}' for key, part in parts.items()) + "\n}\n"
