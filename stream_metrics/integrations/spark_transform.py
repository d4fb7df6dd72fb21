"""Groups of a stream in the store of `transformWithState`: a value with a time to live, and timers of event time.

Needs PySpark 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, StructField, StructType

from stream_metrics.integrations.spark_stream_rows import Limit, Total, shown

__all__ = ["GroupProcessor"]


class GroupProcessor(StatefulProcessor):  # type: ignore[misc]  # PySpark's is untyped
    """Counts a group; Spark makes one for each task."""

    def __init__(self, limit: Limit) -> None:
        self._limit = limit

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare what is stored."""
        self._handle = handle
        self._value = handle.getValueState("state", StructType([StructField("state", BinaryType())]), self._limit.ttl)

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        """Count rows of a group."""
        before = self._value.get()
        total = Total.of(self._limit, rows, None if before is None else bytes(before[0]))
        self._value.update((total.stored,))
        if before is None and total.end is not None:
            self._handle.registerTimer(total.end)
        yield from total.frames

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:
        """Drop a group whose window the watermark has passed."""
        stored = self._value.get()
        if stored is not None and self._limit.at_end:
            yield shown(stored[0])
        self._value.clear()
