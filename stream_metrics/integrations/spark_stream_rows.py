"""Rows of streams, each a key with a state, as bytes; the rows of a group are merged into one.

Spark passes stored states to Python through pandas, which has local times without a zone. In the hour that repeats in
autumn, two keys would become one. So a row is passed with its key as the bytes of an Arrow stream.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa

from stream_metrics.containers.aggregate import merge
from stream_metrics.integrations.spark_workers import Batches
from stream_metrics.wire import from_bytes

__all__ = ["Limit", "Total", "pack", "shown", "unpack"]


class Limit(NamedTuple):
    """When a group is dropped: when the watermark passes the key `time`, or `ttl` milliseconds after its last row.

    With `at_end` the group is written when it is dropped, and not before.
    """

    time: str | None
    at_end: bool
    ttl: int | None


class Total(NamedTuple):
    """The total of a group: the bytes that Spark stores, the rows to write now, and the end of its window."""

    stored: bytes
    frames: list[pd.DataFrame]
    end: int | None

    @classmethod
    def of(cls, limit: Limit, frames: Iterable[pd.DataFrame], stored: bytes | None) -> Total:
        """Merge new states of a group, which have come as rows, into what Spark has stored."""
        rows = [_read(data) for frame in frames for data in frame["row"]]
        # a merge shows the metrics of its first state: those of the current prototype
        states = [row["state"][0].as_py() for row in rows]
        if stored is not None:
            states.append(_read(stored)["state"][0].as_py() if limit.at_end else stored)
        state = merge(states).to_bytes()
        total = rows[0].drop_columns("state").append_column("state", pa.array([state], pa.binary()))
        end = None if limit.time is None else _end(total[limit.time])
        if limit.at_end:
            return cls(_written(total), [], end)
        return cls(state, [_with_n(total)], end)


def shown(stored: bytes) -> pd.DataFrame:
    """Return the row that is written for a group whose window has ended."""
    return _with_n(_read(stored))


def pack(batches: Batches) -> Batches:
    """Yield for each row its key, and the whole row as bytes."""
    for batch in batches:
        columns = {name: batch.column(name) for name in batch.schema.names[:-1]}
        yield pa.RecordBatch.from_pydict({**columns, "row": _rows(batch)})


def unpack(batches: Batches) -> Batches:
    """Yield rows of keys, counts and states."""
    for batch in batches:
        if batch.num_rows:
            tables = [_read(data.as_py()) for data in batch.column("row")]
            yield from pa.concat_tables(tables).combine_chunks().to_batches()


def _end(times: pa.ChunkedArray) -> int | None:
    """Return a key of time, or the end of a key that is a window, in milliseconds; None for null."""
    time = times.chunk(0).field("end") if pa.types.is_struct(times.type) else times.chunk(0)
    microseconds = time.cast(pa.int64())[0].as_py()
    return None if microseconds is None else int(microseconds) // 1000


def _with_n(row: pa.Table) -> pd.DataFrame:
    """Return a row with the number of samples of its state, as bytes."""
    state = row["state"][0].as_py()
    columns = row.drop_columns("state").append_column("n", pa.array([from_bytes(state).n], pa.int64()))
    return pd.DataFrame({"row": [_written(columns.append_column("state", row["state"]))]})


def _rows(batch: pa.RecordBatch) -> pa.Array:
    return pa.array([_written(batch.slice(at, 1)) for at in range(batch.num_rows)], pa.binary())


def _written(row: pa.Table | pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, row.schema) as stream:
        stream.write(row)
    return bytes(sink.getvalue())


def _read(data: bytes) -> pa.Table:
    return pa.ipc.open_stream(bytes(data)).read_all()
