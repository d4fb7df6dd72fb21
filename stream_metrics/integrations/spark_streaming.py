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

Spark passes states to Python through pandas, which has local times without a zone: in the hour that comes twice in
autumn two keys would become one. So a row with its key is passed as the bytes of an Arrow stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Literal, NamedTuple

from stream_metrics.containers.aggregate import merge
from stream_metrics.integrations.tables import Fields, empty_copy
from stream_metrics.labels import Label
from stream_metrics.states.protocols import Accumulator
from stream_metrics.wire import from_bytes

try:
    import pandas as pd  # type: ignore[import-untyped]
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
    from pyspark.sql.types import BinaryType, LongType, StructField, StructType

    from stream_metrics.integrations.spark_columns import ColumnRef, select
    from stream_metrics.integrations.spark_workers import Batches
except ImportError as error:
    raise ImportError('Expected PySpark, pandas and PyArrow: pip install "stream-metrics[spark]"') from error

__all__ = ["accumulate_stream"]

FIELDS = Fields()
ROW = StructField("row", BinaryType())
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
        The configuration of what counts; its own counts are not taken over.
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
    parts = selected.counted(empty_copy(prototype))
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
    timeout = GroupStateTimeout.EventTimeTimeout if times else GroupStateTimeout.ProcessingTimeTimeout
    packed = parts.mapInArrow(_pack, StructType([*columns, ROW]))
    update = packed.groupBy(*selected.keys).applyInPandasWithState(
        partial(_update, limit),
        StructType([ROW]),
        StructType([state]),
        output_mode,
        timeout if times or ttl is not None else GroupStateTimeout.NoTimeout,
    )
    shown = update.mapInArrow(_unpack, StructType([*columns, StructField("n", LongType()), state]))
    return selected.restored(shown, ["n", "state"])


class Limit(NamedTuple):
    """When a group is dropped, the watermark passing a key or after milliseconds, and whether it is written then."""

    time: str | None
    at_end: bool
    ttl: int | None


def _pack(batches: Batches) -> Batches:
    """Yield for each row its key, and the whole row as bytes."""
    for batch in batches:
        rows = [_written(batch.slice(at, 1)) for at in range(batch.num_rows)]
        columns = {name: batch.column(name) for name in batch.schema.names[:-1]}
        yield pa.RecordBatch.from_pydict({**columns, "row": pa.array(rows, pa.binary())})


def _update(
    limit: Limit, key: tuple[object, ...], frames: Iterator[pd.DataFrame], stored: GroupState
) -> Iterator[pd.DataFrame]:
    """Merge new states of a group into the one that Spark holds, and yield its row, or drop a group that has ended."""
    if stored.hasTimedOut:
        if limit.at_end:
            yield pd.DataFrame({"row": [_with_n(_table(bytes(stored.get[0])))]})
        stored.remove()
        return
    rows = [_table(data) for frame in frames for data in frame["row"]]
    # the new states come first, so that the prototype of today says what is shown
    states = [row["state"][0].as_py() for row in rows]
    if stored.exists:
        before = bytes(stored.get[0])
        states.append(_table(before)["state"][0].as_py() if limit.at_end else before)
    merged = pa.array([merge(states).to_bytes()], pa.binary())
    total = rows[0].drop_columns("state").append_column("state", merged)
    stored.update((_written(total) if limit.at_end else merged[0].as_py(),))
    if limit.time is not None:
        stored.setTimeoutTimestamp(_end(total[limit.time]))
    elif limit.ttl is not None:
        stored.setTimeoutDuration(limit.ttl)
    if not limit.at_end:
        yield pd.DataFrame({"row": [_with_n(total)]})


def _end(times: pa.ChunkedArray) -> int:
    """Return the time of a key, or the end of the window that it is, in milliseconds."""
    time = times.chunk(0).field("end") if pa.types.is_struct(times.type) else times.chunk(0)
    return int(time.cast(pa.int64())[0].as_py()) // 1000


def _with_n(row: pa.Table) -> bytes:
    """Return a row with the number of samples of its state, as bytes."""
    state = row["state"][0].as_py()
    columns = row.drop_columns("state").append_column("n", pa.array([from_bytes(state).n], pa.int64()))
    return _written(columns.append_column("state", row["state"]))


def _unpack(batches: Batches) -> Batches:
    """Yield rows of keys, counts and states."""
    for batch in batches:
        if batch.num_rows:
            tables = [_table(data.as_py()) for data in batch.column("row")]
            yield from pa.concat_tables(tables).combine_chunks().to_batches()


def _written(row: pa.Table | pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, row.schema) as stream:
        stream.write(row)
    return bytes(sink.getvalue())


def _table(data: bytes) -> pa.Table:
    return pa.ipc.open_stream(data).read_all()
