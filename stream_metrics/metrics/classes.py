"""The metric classes, one for each row of the catalog that names one; `metric` makes a class when it is first used.

`.ci/generate.py` writes `classes.pyi`: their signatures for type checkers, and their docstrings.
"""

from stream_metrics.catalog.table import CLASS_ROWS
from stream_metrics.metrics.metric import Metric, metric_class


def __getattr__(name: str) -> type[Metric]:
    if name not in CLASS_ROWS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return metric_class(CLASS_ROWS[name])


def __dir__() -> list[str]:
    return sorted({*globals(), *CLASS_ROWS})
