"""Metrics in Structured Streaming: a state for each group, kept by Spark, that goes on counting after a restart.

    import stream_metrics as sm
    from stream_metrics.integrations.spark_streaming import accumulate_stream
    from stream_metrics.integrations.tables import Fields

    stream = spark.readStream.schema("country string, truth string, guess string").json("samples/")
    states = accumulate_stream(stream, "country", sm.MetricSet(), Fields("truth", "guess"))

    def show(batch, number):
        for row in batch.collect():
            print(number, row.country, row.n, sm.from_bytes(row.state).snapshot()["accuracy"])

    query = (states.writeStream.outputMode("update").option("checkpointLocation", "checkpoint/")
             .trigger(availableNow=True).foreachBatch(show).start())
    query.awaitTermination()

`spark` says which options to set; the store of states needs none. Rows are counted where they are read, so only states
are shuffled and stored. Spark stores them in its checkpoint together with the offsets of its source, so a micro-batch
that fails, or is run again after a restart, is counted once. A sink that may see a micro-batch twice sees the same
states twice.

Without a limit groups are kept for ever. Two limits, which may be combined with a prototype that forgets, as a
`TimeWindow` does:

- Windows of event time: a key is `F.window("at", "10 minutes")`, and `stream.withWatermark("at", "5 minutes")` says how
  late a row may be. Spark drops rows of windows that the watermark has passed, and their states. With
  `output_mode="append"` each window is written once, when it is complete.
- `ttl=3600`: a group without rows for so many seconds is dropped, and begins again with its next row. Spark then runs
  micro-batches without rows, so a query that is to end, as with `availableNow`, also needs the option
  `spark.sql.streaming.noDataMicroBatches.enabled` to be false.

The states are stored by `applyInPandasWithState`, which runs with every store of states. Spark refuses to start a query
with the checkpoint of another operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Literal

from stream_metrics.labels import Label
from stream_metrics.states.protocols import Accumulator
from stream_metrics.tables.fields import Fields

try:
    import pandas as pd  # type: ignore[import-untyped]
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
    from pyspark.sql.types import BinaryType, LongType, StructField, StructType

    from stream_metrics.integrations.spark import states_by_key
    from stream_metrics.integrations.spark_columns import ColumnRef, select
    from stream_metrics.integrations.spark_stream_rows import Limit, Total, pack, shown, unpack
except ImportError as error:
    raise ImportError('Expected PySpark, pandas and PyArrow: pip install "stream-metrics[spark]"') from error

__all__ = ["accumulate_stream"]

FIELDS = Fields()
ROW = StructField("row", BinaryType())
COLLATIONS = "__COLLATIONS"  # in the metadata of text that Spark does not compare by its bytes
WATERMARK = "spark.watermarkDelayMs"  # in the metadata of a column with a watermark


def accumulate_stream(
    df: DataFrame,
    keys: ColumnRef | Sequence[ColumnRef],
    prototype: Accumulator,
    fields: Fields = FIELDS,
    *,
    classes: Iterable[Label] | None = None,
    output_mode: Literal["update", "append"] = "update",
    ttl: float | None = None,
) -> DataFrame:
    """Return a streaming data frame of `keys`, `n` and `state`, for an output in the same `output_mode`.

    Parameters
    ----------
    df : DataFrame
        The stream of rows.
    keys : str, Column or sequence of these
        The columns of groups, windows of time among them. Null is a group.
    prototype : state, Metric, MetricSet or container
        The accumulator to count with. It is not changed, and samples that it has already are not included.
    fields : Fields, optional
        The columns; by default "y_true" and "y_pred".
    classes : iterable of Label, optional
        The classes of a column of arrays or vectors of scores, if `fields` has none.
    output_mode : {"update", "append"}, default "update"
        When a group is written: after each micro-batch that had rows of it, or once, when the watermark has passed its
        window, so that no more rows of it will be counted.
    ttl : float, optional
        Seconds without rows after which Spark drops the state of a group. By default groups stay.

    Returns
    -------
    DataFrame
        The columns of `keys`, `n`, the number of samples since the start of the query, and `state`, the bytes.

    Raises
    ------
    LabelError
        If `df` lacks a column.
    ValueError
        If there are no keys, or options do not go together.

    Notes
    -----
    A query that is restarted with a prototype that counts the same, but shows other metrics, goes on, and states then
    show what the new prototype does. With a prototype that counts something else it fails with MergeError.
    """
    selected = select(df, keys, fields, classes)
    if not selected.keys:
        raise ValueError("Expected `keys` to be one column or more, but got none")
    for field in selected.named_keys:
        if COLLATIONS in field.json():
            raise ValueError(f"Expected `keys` of a stream to be compared by their bytes, but {field.name!r} is not")
    parts = states_by_key(selected, prototype)
    *columns, state = parts.schema
    times = [field.name for field in columns if WATERMARK in field.metadata]
    if output_mode not in ("update", "append") or (output_mode == "append" and not times):
        raise ValueError(
            f"Expected `output_mode` to be 'update', or 'append' with a window of a column with a watermark among the "
            f"keys, but got {output_mode!r}"
        )
    if ttl is not None and (times or not ttl > 0):
        raise ValueError(f"Expected `ttl` to be seconds above 0, and no watermark on a key, but got {ttl!r}")
    limit = Limit(times[0] if times else None, output_mode == "append", None if ttl is None else int(ttl * 1000))
    if limit.time is not None:
        timeout = GroupStateTimeout.EventTimeTimeout
    else:
        timeout = GroupStateTimeout.NoTimeout if ttl is None else GroupStateTimeout.ProcessingTimeTimeout
    packed = parts.mapInArrow(pack, StructType([*columns, ROW])).groupBy(*selected.keys)
    update, stored = partial(_update, limit), StructType([state])
    groups = packed.applyInPandasWithState(update, StructType([ROW]), stored, output_mode, timeout)
    written = groups.mapInArrow(unpack, StructType([*columns, StructField("n", LongType()), state]))
    return selected.restored(written, ["n", "state"])


def _update(
    limit: Limit, key: tuple[object, ...], frames: Iterator[pd.DataFrame], stored: GroupState
) -> Iterator[pd.DataFrame]:
    """Count rows of a group, and yield its row, or drop a group that has ended."""
    if stored.hasTimedOut:
        yield from _ended(limit, stored)
        return
    total = Total.of(limit, frames, bytes(stored.get[0]) if stored.exists else None)
    # Spark drops late rows by the watermark of the last micro-batch, but ends groups by that of the current one
    is_over = total.end is not None and total.end <= stored.getCurrentWatermarkMs()
    stored.update((total.stored,))
    if limit.ttl is not None:
        stored.setTimeoutDuration(limit.ttl)
    elif total.end is not None and not is_over:
        stored.setTimeoutTimestamp(total.end)
    yield from total.frames
    if is_over:
        yield from _ended(limit, stored)


def _ended(limit: Limit, stored: GroupState) -> Iterator[pd.DataFrame]:
    """Drop a group; yield its row if groups are written at their end."""
    if limit.at_end:
        yield shown(stored.get[0])
    stored.remove()
