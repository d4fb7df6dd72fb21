"""Functions that Spark's workers apply to a partition: count rows, merge states, read metrics from states.

A task of `mapInArrow` calls one of these with all batches of its partition; it yields rows of a data frame. Beside the
columns that are counted there may be `n`, of how many rows a row is the count, and `at`, the number that Spark gives to
a row (`monotonically_increasing_id`), of which errors and records have the partition and the row. Where rows of one key
follow each other, the column `first` is true in the first of them: which keys are equal is for Spark to say. Keys of
groups may have any type: each distinct key gets a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark import TaskContext

from stream_metrics.catalog.table import find
from stream_metrics.containers.keyed import merge_unordered
from stream_metrics.errors import StreamMetricsError
from stream_metrics.integrations.tables import Job, part_of, parts_of
from stream_metrics.labels import Label
from stream_metrics.snapshots.snapshot import Snapshot
from stream_metrics.states.batches import label_counts
from stream_metrics.states.protocols import Accumulator
from stream_metrics.tables.bad_rows import BadRows, new_record
from stream_metrics.tables.counting import START, UNKNOWN, LabelLimit, Place
from stream_metrics.tables.fields import count_table
from stream_metrics.wire import from_bytes

Codes: TypeAlias = NDArray[np.int64]


def key_codes(keys: pa.Table) -> Codes:
    """Return for each row of one column or more a number from 0 on, the same for rows that are equal.

    Null is a value, and so is nan. Keys that Spark takes for equal may differ here.
    """
    return _together([_codes(_in_one(column)) for column in keys.columns])


def _codes(column: pa.Array) -> Codes:
    kind = column.type
    if pa.types.is_null(kind):
        return np.zeros(len(column), np.int64)
    if pa.types.is_struct(kind):
        valid = np.asarray(column.is_valid()).astype(np.int64)
        return _together([valid, *(_codes(child) for child in column.flatten())])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        ends = np.cumsum(np.asarray(pc.fill_null(pc.list_value_length(column), 0))).tolist()
        items = _codes(column.flatten())
        texts = [items[low:high].tobytes() for low, high in zip([0, *ends], ends, strict=False)]
        valid = np.asarray(column.is_valid()).astype(np.int64)
        return _together([valid, _codes(pa.array(texts, pa.binary()))])
    encoded = column.dictionary_encode(null_encoding="encode")
    return np.asarray(encoded.indices, np.int64)


def _together(columns: list[Codes]) -> Codes:
    """Return the codes of rows from those of their columns."""
    codes = columns[0]
    for more in columns:
        codes = np.unique(codes * (more.max(initial=0) + 1) + more, return_inverse=True)[1]
    return codes


def _in_one(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


Batches: TypeAlias = "Iterator[pa.RecordBatch]"

BLOCK_BYTES = 1 << 22  # bytes of rows that are counted at once
KEYED_BYTES = 1 << 25  # bytes of rows of keys that a task holds
LARGE = 1 << 18  # bytes of rows of a key, of those, that become a state
BATCH_STATES = 1_000  # states in a batch
PARTS = pa.schema([("state", pa.binary()), ("bad", pa.binary())])
ROW_BITS = 33  # of the number of a row, below those of its partition


def count_into(state: Accumulator, bad: BadRows | None, job: Job, table: pa.Table, place: Place = START) -> None:
    """Count a table of rows or of counts into a state; bad rows raise, or are recorded in `bad`."""
    numbers = table["at"] if "at" in table.column_names else None

    def placed(position: int) -> Place:
        number = None if numbers is None else numbers[position].as_py()
        return place.at(position) if number is None else Place(None, number >> ROW_BITS, number % (1 << ROW_BITS))

    def refuse(error: Exception, _: Place, rows: Sequence[int]) -> None:
        for row in rows:
            bad.add(error, placed(row))  # type: ignore[union-attr]  # which is one if there is a function

    try:
        if "n" in table.column_names:
            matrix: Any = label_counts(state)
            matrix.update_counts(table["y_true"], table["y_pred"], table["n"])
        else:
            count_table(state, table, job.fields, START if bad is None else UNKNOWN, None if bad is None else refuse)
    except StreamMetricsError as error:
        if error.position is None:
            raise
        where = placed(error.position)
        raise error.with_position(where.row, where.holder) from None


def count_all(job: Job, batches: Batches) -> Batches:
    """Yield one state of all rows of a partition, and the record of the bad ones, if there are any rows."""
    state, bad, limit = job.empty.copy(), new_record(job.on_bad), job.limit()
    task, row = TaskContext.get(), 0
    for table in _in_blocks(batches, BLOCK_BYTES):
        count_into(state, bad, job, table, Place(None, None if task is None else task.partitionId(), row))
        limit.add(state)
        row += len(table)
    if row:
        yield from _rows([(None, part_of(state, bad))])


def merge_parts(job: Job, batches: Batches) -> Batches:
    """Yield the merge of the states and of the records of a partition."""
    yield from _rows([(None, job.merge(part for batch in batches for part in parts_of(batch)))])


def count_by_key(job: Job, keys: list[str], least: int, batches: Batches) -> Batches:
    """Yield for each key with `least` bytes of rows in a block a state and a record, and other rows as they are.

    Rows that stand for a state have nulls in the columns of rows, and the other way round.
    """
    limit = job.limit()
    for table in _in_blocks(batches, KEYED_BYTES):
        codes = key_codes(table.select(keys))
        order, ends = np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes)).tolist()
        row_bytes, others, done = table.nbytes / len(table), np.zeros(len(table), bool), []
        for low, high in pairwise([0, *ends]):
            rows = order[low:high]
            if len(rows) * row_bytes < least:
                others[rows] = True
                continue
            state, bad = job.empty.copy(), new_record(job.on_bad)
            count_into(state, bad, job, table.take(rows))
            limit.add(state)
            done.append((table.select(keys).slice(rows[0], 1), part_of(state, bad)))
        yield from _rows(done, table.schema)
        small = table.filter(others).combine_chunks()
        nothing = [pa.nulls(len(small), field.type) for field in PARTS]
        small = pa.Table.from_arrays([*small.columns, *nothing], [*small.column_names, *PARTS.names])
        yield from small.to_batches(max(1, BLOCK_BYTES * len(small) // max(1, small.nbytes)))


def merge_runs(job: Job, keys: list[str], batches: Batches) -> Batches:
    """Yield a state and a record for each key from states, rows and counts that follow each other by key.

    A key without a good row has no state.
    """
    limit, key, done = job.limit(), None, []
    state, bad = job.empty.copy(), new_record(job.on_bad)
    for table in _in_blocks(batches, BLOCK_BYTES):
        first = np.asarray(table["first"])
        for low, high in pairwise(sorted({0, *np.flatnonzero(first).tolist(), len(table)})):
            if first[low]:
                if key is not None:
                    done.append((key, _end_of_run(job, state, bad, limit)))
                key = table.select(keys).slice(low, 1)
                state.reset()
                bad = new_record(job.on_bad)
            _merge_rows(state, bad, job, table.slice(low, high - low))
        yield from _rows(done)
        done = []
    if key is not None:
        yield from _rows([(key, _end_of_run(job, state, bad, limit))])


def _end_of_run(job: Job, state: Accumulator, bad: BadRows | None, limit: LabelLimit) -> tuple[bytes | None, ...]:
    """Return the state of a key, None if all its rows are bad, and its record if some are."""
    limit.add(state)
    data, record = part_of(state, bad or None)
    return None if record is not None and data == job.empty.to_bytes() else data, record


def _merge_rows(state: Accumulator, bad: BadRows | None, job: Job, table: pa.Table) -> None:
    """Add rows of one key to its state: those that are states, and those that are to be counted."""
    if "state" in table.column_names:
        for data, record in parts_of(table.filter(table["state"].is_valid())):
            state.merge(from_bytes(data))
            if bad is not None and record is not None:
                bad.merge(from_bytes(record))
        table = table.filter(table["state"].is_null())
    if len(table):
        count_into(state, bad, job, table)


def _rows(done: Sequence[tuple[pa.Table | None, tuple[bytes | None, ...]]], schema: pa.Schema | None = None) -> Batches:
    """Yield states and records after the columns of their keys, and nulls for other columns that a `schema` has."""
    if not done:
        return
    columns: dict[str, Any] = {}
    if done[0][0] is not None:
        keys = pa.concat_tables([key for key, _ in done]).combine_chunks()
        columns = {field.name: pa.nulls(len(keys), field.type) for field in schema or ()}
        columns |= {name: keys[name] for name in keys.column_names}
    for at, field in enumerate(PARTS):
        columns[field.name] = pa.array([part[at] for _, part in done], field.type)
    yield from pa.table(columns).to_batches(BATCH_STATES)


def _in_blocks(batches: Batches, size: int) -> Iterator[pa.Table]:
    """Yield rows in larger blocks than Spark sends, since each call of `update_many` has a fixed cost."""
    waiting, waiting_bytes = [], 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            waiting_bytes += batch.nbytes
        if waiting_bytes >= size:
            yield pa.Table.from_batches(waiting)
            waiting, waiting_bytes = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def merge_all(states: Iterable[bytes | None]) -> bytes | None:
    """Return the merge of states, or of records of bad rows, as bytes, the same in any order; None if there is none."""
    parts = (from_bytes(data) for data in states if data is not None)
    total = next(parts, None)
    return None if total is None else bytes(reduce(_merged, parts, total).to_bytes())


def _merged(mine: Any, theirs: Any) -> Any:
    records = isinstance(mine, BadRows) or isinstance(theirs, BadRows)  # which merge to the same in any order
    return mine.merge(theirs) if records else merge_unordered(mine, theirs)


def read(shown: Sequence[str], pos_label: Label, batches: Batches) -> Batches:
    """Yield states with their metrics, after the columns of their keys."""
    for batch in batches:
        columns = {name: batch.column(name) for name in batch.schema.names}
        states = columns.pop("state")
        snapshots = [from_bytes(state.as_py()).snapshot() for state in states]
        columns["n"] = pa.array([snapshot.n for snapshot in snapshots], pa.int64())
        for at, key in enumerate(shown):
            values = [metric_value(snapshot, key, pos_label) for snapshot in snapshots]
            columns[f"m{at}"] = pa.array(values, pa.float64())
        yield pa.RecordBatch.from_pydict({**columns, "state": states})


def metric_value(snapshot: Snapshot, key: str, label: Label) -> float:
    """Return a metric as one number; a per-class metric as that of a label, nan if it is not a class."""
    if find(key).kind == "per_class":
        return snapshot.per_class[key].get(label, np.nan)
    return float(snapshot[key])
