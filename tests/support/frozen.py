"""What users see, as text that is compared with the files in `tests/golden`: the interface, values, reports, commands.

`python tests/golden/write_frozen.py` writes the files again; a commit that changes one says why.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import inspect
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import stream_metrics as sm

GOLDEN = Path(__file__).parents[1] / "golden"
ROOT = Path(__file__).parents[2]
COMMANDS = (
    "", "run", "merge", "show", "metrics", "monitor", "monitor backup", "monitor restore", "monitor inspect", "query",
    "collect", "demo",
)  # fmt: skip
ADAPTERS = (
    "beam", "dask", "ray", "river", "spark", "spark_sql", "spark_streaming", "tables", "torch", "torchmetrics",
)  # fmt: skip
SCHEMAS = {"view": "--schema", "config": "--config-schema"}


# ---- the public interface


def api() -> str:
    """Return every public name with its signature, and of every class the documented members."""
    lines = []
    for name in sm.__all__:
        lines += _described(name, getattr(sm, name))
    lines += _described("ComparisonSnapshot", type(sm.Comparison().snapshot()))
    for module in (sm.plots, sm.testing):
        for name in module.__all__:
            if inspect.isroutine(getattr(module, name)) or inspect.isclass(getattr(module, name)):
                lines += _described(f"{module.__name__.rpartition('.')[2]}.{name}", getattr(module, name))
    for name in ADAPTERS:
        lines += _adapter(name)
    for key, info in sm.metrics().items():
        described = (info.kind, info.reads, info.class_name, info.range, info.better, info.aliases)
        lines.append(f"metric {key}: {', '.join(map(str, described))}")
    return "\n".join(lines) + "\n"


def _described(name: str, value: Any) -> Iterator[str]:
    """Yield the lines about one public name: members of a base that is public itself are listed there."""
    if not inspect.isclass(value):
        yield f"{name}{inspect.signature(value)}"
        return
    bases = [base for base in value.__mro__[1:] if base.__name__ in sm.__all__]
    yield f"class {name}{_signature(value)}" + (f" of {bases[0].__name__}" if bases else "")
    if bases and bases[0] is sm.Metric:
        return  # all metrics have the same members
    for member in dir(value):
        if member.startswith("_"):
            continue
        line = f"    {member}{_signature(inspect.getattr_static(value, member), value, member)}"
        if bases and hasattr(bases[0], member):
            inherited = f"    {member}{_signature(inspect.getattr_static(bases[0], member), bases[0], member)}"
            if line == inherited:
                continue
        home = next(base for base in value.__mro__ if member in vars(base))
        if home.__module__.startswith("stream_metrics"):
            yield line


def _signature(item: Any, owner: type | None = None, member: str = "") -> str:
    """Return the parameters of what can be called, and nothing for a property."""
    value = getattr(owner, member, item) if owner is not None else item
    if not callable(value):
        return ""
    try:
        return str(inspect.signature(value)).replace("'", "")
    except (TypeError, ValueError):
        return "(...)"


def _adapter(module: str) -> Iterator[str]:
    """Yield what an adapter defines, from its source, since its library may not be installed."""
    source = ROOT / "stream_metrics" / "integrations" / f"{module}.py"
    for node in ast.parse(source.read_text()).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield f"integrations.{module}.{node.name}({ast.unparse(node.args)})"
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield f"class integrations.{module}.{node.name}"
            for member in node.body:
                if isinstance(member, ast.FunctionDef) and (member.name[0] != "_" or member.name == "__init__"):
                    yield f"    {member.name}({ast.unparse(member.args)})"


# ---- commands


def output_of(arguments: str) -> str:
    """Return what a command prints, 100 columns wide."""
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "stream_metrics", *arguments.split()]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


# ---- values


def exact(value: Any) -> Any:
    """Return a value as JSON has it, each float in hexadecimal."""
    if isinstance(value, bool | np.bool_ | None | str):
        return value if value is None or isinstance(value, str) else bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value).hex()
    if isinstance(value, Mapping):
        return {str(key): exact(each) for key, each in value.items()}
    if dataclasses.is_dataclass(value):
        return {field.name: exact(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return [exact(each) for each in value]


def attempted(read: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Return what a call gives, or the type of the error that it raises."""
    try:
        return exact(read(*arguments, **options))
    except (ValueError, KeyError) as error:
        return type(error).__name__


def matrices(count: int = 200) -> Iterator[tuple[list[list[int]], list[Any], float]]:
    """Yield counts, labels and the value of 0/0: small and large, with empty rows, columns and classes."""
    generator = np.random.Generator(np.random.PCG64(20261124))
    for i in range(count):
        k = 2 + i % 5
        counts = generator.integers(0, (3, 12, 100, 10**6, 2**52)[i % 17 % 5], (k, k)) + np.eye(k, dtype=int) * (i % 3)
        if i % 7 == 3:
            counts[i % k] = 0
        if i % 11 == 5:
            counts[:, (i // 11) % k] = 0
        if i % 23 == 22:
            counts[i % k] = counts[:, i % k] = 0
        labels: list[Any] = list(range(k)) if i % 2 else [f"class {chr(97 + j)}" for j in range(k)]
        yield counts.tolist(), labels, (0.0, 1.0, float("nan"))[i % 4 % 3]


def intervals(read: Callable[..., Any], keys: list[str], **more: Any) -> dict[str, Any]:
    """Return the intervals of all keys, for one look and for all looks."""
    ways: dict[str, dict[str, Any]] = {"fixed": {}, "anytime": {"valid": "anytime"}}
    return {way: {key: attempted(read, key, draws=20, **more, **how) for key in keys} for way, how in ways.items()}


def label_values() -> Iterator[dict[str, Any]]:
    """Yield the values of all keys for each matrix, and the intervals of some with all numbers of classes."""
    for i, (counts, labels, zero_division) in enumerate(matrices()):
        state = sm.MetricSet(labels=labels, zero_division=zero_division)
        pairs = [(t, p) for t in labels for p in labels]
        state.update_counts([t for t, _ in pairs], [p for _, p in pairs], [n for row in counts for n in row])
        snapshot = state.snapshot()
        case: dict[str, Any] = {"counts": counts, "zero_division": exact(zero_division), "values": {}}
        for key in sm.metrics():
            case["values"][key] = attempted(snapshot.value, key)
        case["fbeta beta=2"] = attempted(snapshot.value, "fbeta", beta=2.0)
        case["undefined"] = sorted(map(str, snapshot.undefined))
        case["warnings"] = list(snapshot.warnings)
        if i % 13 == 0:
            case["intervals"] = intervals(snapshot.interval, [key for key in sm.metrics() if "literal" not in key])
        yield case


def score_rows(i: int, models: int = 1) -> tuple[list[Any], list[np.ndarray[Any, Any]], list[Any], list[float] | None]:
    """Return truths, tables of probabilities, classes and weights of the case i."""
    generator = np.random.Generator(np.random.PCG64(1000 + i))
    k, n = 2 + i % 3, int(generator.integers(2, 60))
    classes: list[Any] = [0, 1, 2, 3][:k] if i % 2 else ["ant", "bee", "cow", "dog"][:k]
    truth = [classes[j] for j in generator.integers(0, k - (i % 13 == 12), n)]
    tables = []
    for _ in range(models):
        table = generator.integers(1, (5, 1000, 10**6)[i % 5 % 3], (n, k)) / 1.0
        tables.append(table / table.sum(axis=1, keepdims=True))
    weights = (generator.integers(1, 8, n) / 2).tolist() if i % 4 == 3 else None
    return truth, tables, classes, weights


def score_values() -> Iterator[dict[str, Any]]:
    """Yield the values and estimates of all keys of scores, and the intervals of every seventh."""
    options = [("top_k_accuracy", {"k": 1}), ("tpr_at_fpr", {"fpr": 0.2}), ("partial_roc_auc", {"max_fpr": 0.5})]
    keys = [key for key, info in sm.metrics().items() if info.reads != "labels"]
    for i in range(100):
        truth, (table,), classes, weights = score_rows(i)
        state = sm.MetricSet(scores=True, **({"buckets": 16, "sample": 16} if i % 5 == 1 else {}))
        state.update_many(truth, scores=table, w=weights, classes=classes)
        snapshot = state.snapshot()
        case: dict[str, Any] = {"values": {}, "estimates": {}}
        for key in keys:
            case["values"][key] = attempted(snapshot.value, key)
            if "auc" in key or "average_precision" in key:
                case["estimates"][key] = attempted(snapshot.estimate, key)
        for key, option in options:
            case[f"{key} {option}"] = attempted(snapshot.value, key, **option)
        case["accuracy"] = exact(snapshot["accuracy"])
        case["warnings"] = list(snapshot.warnings)
        if i % 7 == 0:
            case["intervals"] = intervals(snapshot.interval, keys)
        yield case


def comparison_values() -> Iterator[dict[str, Any]]:
    """Yield the differences of two models: of the usual keys, and of all keys for every tenth."""
    for i in range(50):
        truth, tables, classes, weights = score_rows(i, models=2)
        state = sm.Comparison(scores=True)
        state.update_many(truth, *tables, weights, classes=classes)
        snapshot = state.snapshot()
        case: dict[str, Any] = {"all": exact(snapshot.to_dict())}
        case["mcnemar"] = attempted(snapshot.mcnemar)
        case["evidence"] = attempted(snapshot.evidence)
        if i % 10 == 0:
            case["differences"] = intervals(snapshot.difference, list(sm.metrics()))
            case["of a class"] = intervals(snapshot.difference, ["recall", "f1"], label=classes[-1])
        yield case


def detector_values() -> Iterator[dict[str, Any]]:
    """Yield what detectors with all options make of losses that change three times."""
    losses = np.random.Generator(np.random.PCG64(7)).random(400) ** np.repeat([4, 1, 8, 0.5], 100)
    levels = {"p0": 0.2}, {"p0": 1e-5}, {"reference": 40, "learn": "running"}, {"reference": 40, "learn": "bound"}
    for level, direction, method, block, restart in itertools.product(
        levels, ("up", "down", "both"), ("sr", "cusum", "calibrated"), (1, 3), ("same", "stop", "reference")
    ):
        options = {"direction": direction, "method": method, "block": block, "restart": restart}
        with contextlib.suppress(ValueError):
            detector = sm.ChangeDetector(arl=10_000 if restart == "stop" else 200, **level, **options)
            case: dict[str, Any] = {**level, **options, "steps": []}
            for x in losses[:, None]:
                detector.update_many(x)
                case["steps"].append(exact([detector.evidence, detector.alarm]))
            yield case | {"levels": exact(detector.levels or []), "changes": exact(detector.changes)}


VALUES: dict[str, Callable[[], Iterator[dict[str, Any]]]] = {
    "labels": label_values, "scores": score_values, "comparisons": comparison_values, "detectors": detector_values
}  # fmt: skip


def lines_of(cases: Iterator[dict[str, Any]]) -> list[str]:
    """Return each case as a line of JSON."""
    return [json.dumps(case, separators=(",", ":")) for case in cases]


# ---- reports


def snapshots() -> dict[str, Any]:
    """Return ten results of every kind, by name."""
    binary = sm.evaluate([0, 1, 1, 0, 1, 0, 1, 1], [0, 1, 0, 0, 1, 1, 1, 1])
    truth, (table,), classes, _ = score_rows(8)
    pair = sm.Comparison("old", "new")
    pair.update_many(*(np.arange(90) * step % 7 % 3 for step in (1, 3, 8)))
    groups = sm.ByGroup(sm.MetricSet(["accuracy", "macro_f1", "recall"]))
    groups.update_many([0, 1, 1, 0, 1] * 6, [0, 1, 0, 0, 1] * 6, group=["north", "south", "<west>"] * 10)
    hostile = sm.evaluate(["<b>", "é&", '"', "<b>", "a\nb"], ["<b>", '"', '"', "é&", None], w=[0.5, 1.25, 3, 1, 2])
    many = np.arange(4000) * 37 % 101 % 40
    absent = sm.MetricSet(labels=["a", "b", "c"])
    absent.update_many(["a", "a", "b"], ["a", "a", "a"])
    return {
        "binary": binary,
        "intervals": binary.with_intervals(),
        "scored": sm.evaluate(truth, scores=table, classes=classes),
        "scored_binary": sm.evaluate([0, 1, 1, 0, 1], scores=[0.1, 0.8, 0.35, 0.4, 0.9]),
        "hostile_labels": hostile,
        "many_classes": sm.evaluate(many, (many + (np.arange(4000) % 9 == 0)) % 40),
        "empty": sm.MetricSet().snapshot(),
        "absent_class": absent.snapshot(),
        "groups": groups.snapshot(),
        "comparison": pair.snapshot(),
    }
