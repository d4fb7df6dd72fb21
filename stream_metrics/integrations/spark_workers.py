"""Functions that Spark's workers apply to a partition: count rows, merge states, read metrics from states.

A task of `mapInArrow` calls one of these with all batches of its partition; it yields rows of a data frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stream_metrics.catalog.table import find
from stream_metrics.errors import ScoreError
from stream_metrics.integrations.tables import Fields, count_table
from stream_metrics.labels import Label
from stream_metrics.snapshots.snapshot import Snapshot
from stream_metrics.states.protocols import Accumulator
from stream_metrics.wire import from_bytes

__all__ = ["Batches", "count", "merge_all", "merge_batches", "read"]

Batches: TypeAlias = "Iterator[pa.RecordBatch]"

BLOCK_BYTES = 1 << 22  # bytes of rows that are counted at once
MOST_STATES = 10_000  # states of keys that a task holds before it lets them go
BATCH_STATES = 1_000  # states in a batch


def count(empty: bytes, keys: list[str], fields: Fields, classes: list[Label] | None, batches: Batches) -> Batches:
    """Yield the states of a partition, one for each key, after the columns of the key."""
    states: dict[str, Accumulator] = {}
    rows: list[pa.Table] = []
    for table in _in_blocks(batches):
        for key, row, part in _parts(table, keys):
            if key not in states:
                states[key] = from_bytes(empty)
                rows.append(row)
            count_table(states[key], *_prepare(part, fields, classes))
        if len(states) > MOST_STATES:
            yield from _state_rows(rows, states.values())
            states, rows = {}, []
    if states:
        yield from _state_rows(rows, states.values())


def merge_batches(batches: Batches) -> Batches:
    """Yield the merge of all states of a partition, if there is one."""
    merged = merge_all(state.as_py() for batch in batches for state in batch.column("state"))
    if merged is not None:
        yield pa.RecordBatch.from_pydict({"state": pa.array([merged], pa.binary())})


def merge_all(states: Iterable[bytes | None]) -> bytes | None:
    """Return the merge of states as bytes; None if there is none."""
    total: Accumulator | None = None
    for data in states:
        if data is not None:
            state = from_bytes(data)
            total = state if total is None else total.merge(state)
    return None if total is None else bytes(total.to_bytes())


def read(shown: Sequence[str], pos_label: Label, batches: Batches) -> Batches:
    """Yield states with their metrics, after the columns of their keys."""
    for batch in batches:
        columns = {name: batch.column(name) for name in batch.schema.names}
        states = columns.pop("state")
        snapshots = [from_bytes(state.as_py()).snapshot() for state in states]
        columns["n"] = pa.array([snapshot.n for snapshot in snapshots], pa.int64())
        for key in shown:
            columns[key] = pa.array([_value(snapshot, key, pos_label) for snapshot in snapshots], pa.float64())
        yield pa.RecordBatch.from_pydict({**columns, "state": states})


def _in_blocks(batches: Batches) -> Iterator[pa.Table]:
    """Yield rows in larger blocks than Spark sends, since each call of `update_many` has a fixed cost."""
    waiting, size = [], 0
    for batch in batches:
        waiting.append(batch)
        size += batch.nbytes
        if size >= BLOCK_BYTES:
            yield pa.Table.from_batches(waiting)
            waiting, size = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def _parts(table: pa.Table, keys: list[str]) -> Iterator[tuple[str, pa.Table, pa.Table]]:
    """Yield for each key in a table a text that stands for it, the columns of the key in one row, and its rows.

    Keys that Spark takes for equal may differ here; Spark then merges their states.
    """
    if not keys:
        yield "", table.select(keys), table
        return
    codes = np.zeros(table.num_rows, np.int64)
    for name in keys:
        column = pa.concat_arrays(table[name].chunks).dictionary_encode(null_encoding="encode")
        codes = codes * len(column.dictionary) + column.indices.to_numpy()
        firsts, codes = np.unique(codes, return_index=True, return_inverse=True)[1:]
    rows, ordered = table.select(keys).take(firsts), table.take(np.argsort(codes, kind="stable"))
    sizes = np.bincount(codes)
    for at, (size, end) in enumerate(zip(sizes.tolist(), np.cumsum(sizes).tolist(), strict=True)):
        row = rows.slice(at, 1)
        yield repr(row.to_pylist()), row, ordered.slice(end - size, size)


def _prepare(table: pa.Table, fields: Fields, classes: list[Label] | None) -> tuple[Mapping[str, object], Fields]:
    """Return the columns that are read, and the fields that name them; of arrays of scores, a column a class.

    Where an array is null, rows become mappings instead, as a column of numbers has no place for that.
    """
    columns: dict[str, pa.ChunkedArray] = {name: table[name] for name in fields.columns()}
    if classes is None:
        return columns, fields
    scores, k = columns[str(fields.scores)], len(classes)
    lengths = set(pc.unique(pc.list_value_length(scores)).to_pylist())
    if lengths - {None, k}:
        raise ScoreError(f"Expected {k} `scores` in each row, for {classes!r}, but got {max(lengths - {None, k})}")
    if None in lengths:
        rows = [None if row is None else dict(zip(classes, row, strict=True)) for row in scores.to_pylist()]
        return {**columns, str(fields.scores): rows}, fields
    matrix = pa.concat_arrays([chunk.flatten() for chunk in scores.chunks]).to_numpy(zero_copy_only=False)
    apart = {name: f"{fields.scores} {at}" for at, name in enumerate(classes)}
    return {**columns, **dict(zip(apart.values(), matrix.reshape(-1, k).T, strict=True))}, fields._replace(scores=apart)


def _state_rows(rows: Sequence[pa.Table], states: Iterable[Accumulator]) -> Batches:
    """Yield the states of keys, each after its row of key columns."""
    keys, data = pa.concat_tables(rows), [state.to_bytes() for state in states]
    columns = {name: keys[name] for name in keys.column_names}
    yield from pa.table({**columns, "state": pa.array(data, pa.binary())}).to_batches(BATCH_STATES)


def _value(snapshot: Snapshot, key: str, pos_label: Label) -> float:
    """Return a metric as one number."""
    if find(key).kind == "per_class":
        return snapshot.per_class[key].get(pos_label, np.nan)
    return float(snapshot[key])
