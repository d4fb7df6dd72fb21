"""What the formula tests share: both implementations of counts, and one call from a matrix to a value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from support.oracle import Oracle

from stream_metrics import ConfusionMatrix
from stream_metrics.catalog.table import find
from stream_metrics.evaluation.evaluate import evaluate


@pytest.fixture(scope="session", params=[Oracle, ConfusionMatrix], ids=["oracle", "core"])
def counts_class(request: pytest.FixtureRequest) -> Any:
    """Each class that keeps counts."""
    return request.param


@pytest.fixture(scope="session")
def value(counts_class: Any) -> Callable[..., Any]:
    """A function from a key, a matrix and options to a value."""

    def read(key: str, matrix: Any, labels: Any = None, zero_division: float | None = None, **options: Any) -> Any:
        counts = counts_class.from_matrix(matrix, labels)
        found = evaluate(find(key), counts, zero_division, **options)[0]
        return found.tolist() if hasattr(found, "tolist") else found

    return read


@pytest.fixture(scope="session")
def same() -> Callable[[Any, Any], bool]:
    """A function telling whether two numbers, or nested lists of them, agree within rounding; nan equals nan."""

    def compare(a: Any, b: Any, tolerance: float = 1e-12) -> bool:
        if isinstance(a, list | tuple):
            return len(a) == len(b) and all(compare(x, y, tolerance) for x, y in zip(a, b, strict=True))
        return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)

    return compare
