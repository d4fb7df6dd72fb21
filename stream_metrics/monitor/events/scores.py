"""Scores of an event as bytes: a double for each of its classes, little-endian.

They take a sixth of the memory of a mapping, are written as they are, and those of many events are a table once they
are put together.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from stream_metrics.labels import Label

__all__ = ["mapping", "packed", "table"]

DOUBLE = 8  # bytes


def packed(values: Iterable[float]) -> bytes:
    """Return numbers as bytes."""
    numbers = tuple(values)
    return struct.pack(f"<{len(numbers)}d", *numbers)


def mapping(scores: bytes, classes: Sequence[Label]) -> dict[Label, float]:
    """Return the scores by class."""
    return dict(zip(classes, struct.unpack(f"<{len(classes)}d", scores), strict=True))


def table(rows: Sequence[bytes], width: int) -> NDArray[np.float64]:
    """Return the scores of events that have equally many, one row for each."""
    return np.frombuffer(b"".join(rows), "<f8").reshape(-1, width)
