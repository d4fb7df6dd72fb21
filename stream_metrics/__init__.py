"""Streaming, mergeable classification metrics: exact counters, every metric, any number of shards.

A name is imported from its module when it is first used, so that a program loads only what it needs. The classes of
metrics are those that the catalog names. `.ci/generate.py` writes `__init__.pyi`, which type checkers read.
"""

import importlib

import stream_metrics.metrics  # noqa: F401  the folder first: imported later, it would replace the function

__version__ = "0.1.0"

_FOLDERS = {"integrations", "plots", "testing"}  # they need other packages
_NAMES = {
    "arrays": "classification_report evaluate",
    "catalog.table": "UnknownMetricError metrics",
    "collector.reporter": "Reporter",
    "containers.aggregate": "Aggregate merge",
    "containers.workers": "PutResult",
    "containers.fading": "Fading",
    "containers.groups": "ByGroup",
    "containers.multilabel": "MultiLabel",
    "containers.rolling": "Rolling",
    "containers.timed": "TimeWindow",
    "errors": (
        "DecodeError LabelError MergeError OptionError ReportError ScoreError StreamMetricsError TimeError WeightError"
    ),
    "evaluation.evaluation": "Estimate",
    "inference.intervals.interval": "Interval",
    "inference.planning": "power samples_for_power samples_needed",
    "inference.running": "RunningInterval",
    "inputs.columns": "Categorical",
    "metrics.metric": "Metric",
    "metrics.metric_set": "MetricSet",
    "scoring": "scorer",
    "snapshots.groups": "GroupSnapshot",
    "snapshots.multilabel": "MultiLabelSnapshot",
    "snapshots.snapshot": "Snapshot",
    "states.confusion": "ConfusionMatrix",
    "states.detector": "ChangeDetector outcome",
    "states.joint": "Comparison",
    "states.losses": "ProbabilityLosses",
    "states.ranks": "RankSketch",
    "tables.bad_rows": "BadRows",
    "tables.fields": "count",
    "wire": "from_bytes",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

del metrics  # noqa: F821  the folder


def __getattr__(name: str) -> object:
    if name in _FOLDERS:
        return importlib.import_module(f"{__name__}.{name}")
    if name == "__all__":
        from stream_metrics.catalog.table import CLASS_ROWS

        value: object = sorted({*_MODULES, *CLASS_ROWS})
    elif name in _MODULES or (name[:1].isupper() and name in __getattr__("__all__")):  # type: ignore[operator]
        module = importlib.import_module(f"{__name__}.{_MODULES.get(name, 'metrics.classes')}")
        value = getattr(module, name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{_hint(name)}")
    globals()[name] = value
    return value


def _hint(name: str) -> str:
    """Return what to use instead of a function of another library, if there is such a thing."""
    if name.startswith("_"):
        return ""
    from stream_metrics.catalog.table import ALIASES, CATALOG

    if name in ("load", "loads", "from_file"):
        return "; use `stream_metrics.from_bytes(data)`"
    key = next((key for key in (name, name.removesuffix("_score")) if key in CATALOG or key in ALIASES), None)
    if key is None:
        return ""
    given = "y_pred" if CATALOG[ALIASES.get(key, key)].state == "counts" else "scores=y_score"
    return f"; use `evaluate(y_true, {given})[{key!r}]`"


def __dir__() -> list[str]:
    return sorted({*globals(), *_FOLDERS, *__getattr__("__all__")})
