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

`spark` says which options to set; the store of states needs none. Rows are counted where they
are read, so only states are shuffled and kept. Spark keeps them in its checkpoint together with the offsets of its
source, so a micro-batch that fails, or is run again after a restart, is counted once. A sink that may see a micro-batch
twice sees the same states twice.

Groups are kept for ever. The prototype decides which samples are forgotten: a `TimeWindow` keeps its last panes.

Spark hands states to Python by way of pandas, where a time is what a clock shows, so that of the hour which comes twice
in autumn two keys would become one. So a row with its key goes through as the bytes of an Arrow stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from stream_metrics.containers.aggregate import merge
from stream_metrics.integrations.spark import partial_states
from stream_metrics.integrations.tables import Fields
from stream_metrics.labels import Label
from stream_metrics.states.protocols import Accumulator
from stream_metrics.wire import from_bytes

try:
    import pandas as pd  # type: ignore[import-untyped]
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
    from pyspark.sql.types import BinaryType, LongType, StructField, StructType

    from stream_metrics.integrations.spark_workers import Batches
except ImportError as error:
    raise ImportError('Expected PySpark, pandas and PyArrow: pip install "stream-metrics[spark]"') from error

__all__ = ["accumulate_stream"]

FIELDS = Fields()
ROW = StructField("row", BinaryType())


def accumulate_stream(
    df: DataFrame,
    keys: str | Sequence[str],
    prototype: Accumulator,
    fields: Fields = FIELDS,
    *,
    classes: Iterable[Label] | None = None,
) -> DataFrame:
    """Return a streaming data frame of `keys`, `n` and `state`, for an output in the mode "update".

    After each micro-batch it has a row for each combination of `keys` that was in it: how many samples the state has
    counted since the start of the query, and its bytes. Null is a key. Arguments are those of `accumulate_by`. A query
    that is restarted with a prototype that counts the same, but shows other metrics, goes on: states then show what the
    new one does. A prototype that counts something else fails with MergeError.
    """
    parts = partial_states(df, keys, prototype, fields, classes=classes)
    names = parts.columns[:-1]
    *columns, state = parts.schema
    if not columns or "n" in names:
        raise ValueError(f"Expected `keys` to be one column or more, but none called 'n', but got {names}")
    packed = parts.mapInArrow(_pack, StructType([*columns, ROW]))
    update = packed.groupBy(*names).applyInPandasWithState(
        _update, StructType([ROW]), StructType([state]), "update", GroupStateTimeout.NoTimeout
    )
    return update.mapInArrow(_unpack, StructType([*columns, StructField("n", LongType()), state]))


def _pack(batches: Batches) -> Batches:
    """Yield for each row its key, and the whole row as bytes."""
    for batch in batches:
        rows = [_written(batch.slice(at, 1)) for at in range(batch.num_rows)]
        columns = {name: batch.column(name) for name in batch.schema.names[:-1]}
        yield pa.RecordBatch.from_pydict({**columns, "row": pa.array(rows, pa.binary())})


def _update(key: tuple[object, ...], frames: Iterator[pd.DataFrame], stored: GroupState) -> Iterator[pd.DataFrame]:
    """Merge new states of a group into the one that Spark holds, and yield its row."""
    rows = [_table(data) for frame in frames for data in frame["row"]]
    # the new states come first, so that the prototype of today says what is shown
    states = [row["state"][0].as_py() for row in rows] + ([bytes(stored.get[0])] if stored.exists else [])
    total = merge(map(from_bytes, states))
    merged = total.to_bytes()
    stored.update((merged,))
    keys = rows[0].drop_columns("state")
    row = keys.append_column("n", pa.array([total.n])).append_column("state", pa.array([merged], pa.binary()))
    yield pd.DataFrame({"row": [_written(row)]})


def _unpack(batches: Batches) -> Batches:
    """Yield rows of keys, counts and states."""
    for batch in batches:
        tables = [_table(data.as_py()) for data in batch.column("row")]
        yield from pa.concat_tables(tables).combine_chunks().to_batches()


def _written(row: pa.Table | pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, row.schema) as stream:
        stream.write(row)
    return bytes(sink.getvalue())


def _table(data: bytes) -> pa.Table:
    return pa.ipc.open_stream(data).read_all()
