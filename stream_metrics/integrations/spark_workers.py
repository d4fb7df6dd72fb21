"""Functions that Spark's workers apply to a partition: count rows, merge states, read metrics from states.

A task of `mapInArrow` calls one of these with all batches of its partition; it yields rows of a data frame. Where rows
of one key follow each other, the column `first` is true in the first of them: which keys are equal is for Spark to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from stream_metrics.catalog.table import find
from stream_metrics.containers.inner import merge_unordered
from stream_metrics.integrations.spark_keys import key_codes
from stream_metrics.integrations.tables import Fields, count_table
from stream_metrics.labels import Label
from stream_metrics.snapshots.snapshot import Snapshot
from stream_metrics.states.batches import label_counts, run_writer
from stream_metrics.states.protocols import Accumulator
from stream_metrics.tables.bad_rows import BadRows, OnBad, new_record
from stream_metrics.tables.counting import LabelLimit, Place
from stream_metrics.wire import from_bytes

__all__ = [
    "Batches",
    "count",
    "count_all",
    "in_blocks",
    "merge_all",
    "merge_batches",
    "merge_counts",
    "merge_runs",
    "metric_value",
    "read",
]

Batches: TypeAlias = "Iterator[pa.RecordBatch]"
Count: TypeAlias = Callable[[int, int], None]  # counts the rows of a block from one number up to another
Write: TypeAlias = Callable[[Any], list[bytes]]  # returns the states of the runs of rows that start at these numbers

BLOCK_BYTES = 1 << 22  # bytes of rows that are counted at once
MOST_ROWS = 1 << 25  # bytes of rows of keys that a task holds before it lets them go
MOST_STATES = 1 << 27  # bytes of their states
LARGE = 1 << 18  # bytes of rows of a key, of those that a task holds, that become a state: more of them will come
BATCH_STATES = 1_000  # states in a batch


def count(
    empty: bytes,
    keys: list[str],
    fields: Fields,
    keeps_rows: bool,
    batches: Batches,
    max_labels: int | None = None,
) -> Batches:
    """Yield the states of a partition, one or more for each key, after the columns of the key.

    With `keeps_rows`, keys whose state would be no smaller than their rows are let go as rows, which have no state.
    """
    if not keys:
        yield from count_all(empty, fields, "raise", batches, max_labels)
        return
    task = _Task(empty, keys, fields, keeps_rows, fields.limit(max_labels))
    for batch in batches:
        yield from task.add(batch)
    yield from task.finish()


def count_all(empty: bytes, fields: Fields, on_bad: OnBad, batches: Batches, max_labels: int | None = None) -> Batches:
    """Yield one state of all rows, if there are any, and with on_bad="count" the record of those that are bad."""
    state, bad = from_bytes(empty), new_record(on_bad)
    limit = fields.limit(max_labels)
    task, row = TaskContext.get(), 0
    for table in in_blocks(batches):
        place = Place(partition=None if task is None else task.partitionId(), row=row)
        count_table(state, table, fields, place, None if bad is None else bad.add, limit)
        row += len(table)
    limit.add(state)
    if row:
        parts = {"state": state} if bad is None else {"state": state, "bad": bad}
        columns = {name: pa.array([part.to_bytes()], pa.binary()) for name, part in parts.items()}
        yield pa.RecordBatch.from_pydict(columns)


def merge_runs(
    empty: bytes, keys: list[str], fields: Fields, batches: Batches, max_labels: int | None = None
) -> Batches:
    """Yield a state for each key from states and rows that follow each other by key."""
    total, state = fields.limit(max_labels), from_bytes(empty)

    def counter(table: pa.Table) -> tuple[Count, None]:
        states = table["state"]
        valid, plain = np.asarray(states.is_valid()), not states.null_count

        def merge_rows(low: int, high: int) -> None:
            for at in (np.flatnonzero(valid[low:high]) + low).tolist():
                state.merge(from_bytes(states[at].as_py()))
            if not (plain or valid[low:high].all()):
                part = table.slice(low, high - low)
                count_table(state, part.filter(~valid[low:high]) if valid[low:high].any() else part, fields)
            total.add(state)

        return merge_rows, None

    return _by_runs(state, state.reset, keys, counter, batches)


def merge_counts(empty: bytes, keys: list[str], batches: Batches, max_labels: int | None = None) -> Batches:
    """Yield a state for each key from counts of pairs of labels that follow each other by key."""
    total, state = Fields().limit(max_labels), from_bytes(empty)
    matrix: Any = label_counts(state)
    if not keys:
        return _merged_counts(state, matrix, batches, total)
    writer = run_writer(state)

    def counter(table: pa.Table) -> tuple[Count, Write | None]:
        if max_labels is not None:
            every = matrix.copy()
            every.reset()
            every.update_many(table["y_true"], table["y_pred"])
            total.add(every)
        columns = table["y_true"], table["y_pred"], table["n"]
        weights = None if "weight" not in table.column_names else _sums(table)

        def count_pairs(low: int, high: int) -> None:
            w = None if weights is None else weights[low:high]
            matrix.update_counts(*(column[low:high] for column in columns), w)

        return count_pairs, None if writer is None or weights is not None else partial(writer, *columns)

    return _by_runs(state, matrix.reset, keys, counter, batches)


def merge_batches(fields: Fields, batches: Batches, max_labels: int | None = None) -> Batches:
    """Yield the merge of each column of a partition, of states or of records of bad rows, if there is one."""
    total = fields.limit(max_labels)
    merged: dict[str, bytes | None] = {}
    for batch in batches:
        for name in batch.schema.names:
            merged[name] = merge_all([merged.get(name), *batch.column(name).to_pylist()], total)
    if any(data is not None for data in merged.values()):
        yield pa.RecordBatch.from_pydict({name: pa.array([data], pa.binary()) for name, data in merged.items()})


def merge_all(states: Iterable[bytes | None], limit: LabelLimit | None = None) -> bytes | None:
    """Return the merge of states, or of records of bad rows, as bytes, the same in any order; None if there is none."""
    total: Any = None
    for data in states:
        if data is not None:
            state: Any = from_bytes(data)
            if limit is not None and not isinstance(state, BadRows):
                limit.add(state)
            if total is None:
                total = state
            elif isinstance(total, BadRows) or isinstance(state, BadRows):  # records merge to the same in any order
                total.merge(state)
            else:
                total = merge_unordered(total, state)
    return None if total is None else bytes(total.to_bytes())


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


class _Task:
    """Rows and states that a task holds; rows of a key become a state once that is smaller than they are."""

    def __init__(self, empty: bytes, keys: list[str], fields: Fields, keeps_rows: bool, limit: LabelLimit) -> None:
        self.empty, self.keys, self.fields, self.keeps_rows, self.limit = empty, keys, fields, keeps_rows, limit
        self.waiting: list[pa.Table] = []
        self.waiting_bytes = 0
        self.states: dict[bytes, tuple[pa.Table, bytes]] = {}
        self.state_bytes = 0
        self.schema = pa.schema([])  # of what is yielded

    def add(self, batch: pa.RecordBatch) -> Batches:
        """Take rows; yield what the task cannot hold."""
        fields = [field for field in batch.schema if self.keeps_rows or field.name in self.keys]
        self.schema = pa.schema([*(field.with_nullable(True) for field in fields), ("state", pa.binary())])
        self.waiting.append(pa.Table.from_batches([batch]))
        self.waiting_bytes += batch.nbytes
        if self.waiting_bytes > MOST_ROWS:
            self._count(LARGE)
            if self.waiting_bytes > MOST_ROWS // 2:
                yield from self._raw_rows()
            if self.state_bytes > MOST_STATES:
                yield from self._held_states()

    def finish(self) -> Batches:
        """Yield everything that is left."""
        if self.waiting:
            self._count(None)
        yield from self._raw_rows()
        yield from self._held_states()

    def _count(self, large: int | None) -> None:
        """Turn rows into states, the largest keys first, as long as rows are `large`, or their state is smaller."""
        table, self.waiting = pa.concat_tables(self.waiting).combine_chunks(), []
        codes = key_codes(table.select(self.keys))
        order, sizes = np.argsort(codes, kind="stable"), np.bincount(codes)
        table, ends = table.take(order), np.cumsum(sizes)
        row_bytes, counted = table.nbytes / len(table), np.zeros(len(sizes), bool)
        for code in np.argsort(-sizes, kind="stable").tolist():
            part = table.slice(ends[code] - sizes[code], sizes[code])
            state: Accumulator = from_bytes(self.empty)
            count_table(state, part, self.fields)
            self.limit.add(state)
            data = state.to_bytes()
            is_large = large is not None and sizes[code] * row_bytes >= large
            if self.keeps_rows and not is_large and len(data) >= sizes[code] * row_bytes:
                break
            counted[code] = True
            self._hold(part.select(self.keys).slice(0, 1), data)
        rest = table.filter(~counted[codes[order]])
        self.waiting, self.waiting_bytes = [rest] if len(rest) else [], rest.nbytes

    def _hold(self, key: pa.Table, data: bytes) -> None:
        """Add a state to that of its key, if the task has one."""
        name = _as_bytes(key)
        if name in self.states:
            key, before = self.states[name]
            self.state_bytes -= len(before)
            data = from_bytes(before).merge(from_bytes(data)).to_bytes()
        self.states[name] = key, data
        self.state_bytes += len(data)

    def _raw_rows(self) -> Batches:
        for table in self.waiting:
            size = max(1, BLOCK_BYTES * len(table) // max(1, table.nbytes))
            columns = [*table.columns, pa.nulls(len(table), pa.binary())]
            yield from pa.Table.from_arrays(columns, schema=self.schema).to_batches(size)
        self.waiting, self.waiting_bytes = [], 0

    def _held_states(self) -> Batches:
        """Yield all states; each with nulls for the columns of rows, if rows are yielded too."""
        if self.states:
            keys = pa.concat_tables([key for key, _ in self.states.values()])
            columns = {name: keys[name] for name in self.keys}
            columns["state"] = pa.array([data for _, data in self.states.values()], pa.binary())
            every = [columns.get(field.name, pa.nulls(len(keys), field.type)) for field in self.schema]
            yield from pa.Table.from_arrays(every, schema=self.schema).to_batches(BATCH_STATES)
        self.states, self.state_bytes = {}, 0


def _by_runs(
    state: Accumulator,
    reset: Callable[[], object],
    keys: list[str],
    counter: Callable[[pa.Table], tuple[Count, Write | None]],
    batches: Batches,
) -> Batches:
    """Yield the bytes of `state` for each run of rows of one key, after the key.

    `counter` prepares a block of rows. It returns a function that counts rows, and one that returns the states of all
    runs inside the block, or None if each run is to be counted.
    """
    key: pa.Table | None = None
    for table in in_blocks(batches):
        count_rows, write = counter(table)
        starts = np.flatnonzero(np.asarray(table["first"]))
        begins = int(starts[0]) if len(starts) else len(table)
        if begins:
            count_rows(0, begins)
        if not len(starts):
            continue
        begun, done = table.select(keys).take(starts), []
        if key is not None:
            begun, done = pa.concat_tables([key, begun]), [state.to_bytes()]
        if write is not None:
            done += write(starts)
        else:
            for low, high in pairwise(starts.tolist()):
                reset()
                count_rows(low, high)
                done.append(state.to_bytes())
        reset()
        count_rows(int(starts[-1]), len(table))
        key = begun.slice(len(done)).combine_chunks()
        yield from _with_states(begun.slice(0, len(done)), done)
    if key is not None:
        yield from _with_states(key, [state.to_bytes()])


def _with_states(keys: pa.Table, states: list[bytes]) -> Batches:
    yield from keys.append_column("state", pa.array(states, pa.binary())).combine_chunks().to_batches(BATCH_STATES)


def _merged_counts(state: Accumulator, matrix: Any, batches: Batches, limit: LabelLimit) -> Batches:
    """Yield one state of all counts of pairs of labels, which are in its matrix, if there are any."""
    table = None
    for table in in_blocks(batches):
        w = _sums(table) if "weight" in table.column_names else None
        matrix.update_counts(table["y_true"], table["y_pred"], table["n"], w)
        limit.add(state)
    if table is not None:
        yield pa.RecordBatch.from_pydict({"state": pa.array([state.to_bytes()], pa.binary())})


def _sums(table: pa.Table) -> list[int | None]:
    """Return the sums of weights of rows that stand for `n` samples of one weight."""
    pairs = zip(table["weight"].to_pylist(), table["n"].to_pylist(), strict=True)
    return [None if weight is None else int(weight) * n for weight, n in pairs]


def in_blocks(batches: Batches) -> Iterator[pa.Table]:
    """Yield rows in larger blocks than Spark sends, since each call of `update_many` has a fixed cost."""
    waiting, size = [], 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            size += batch.nbytes
        if size >= BLOCK_BYTES:
            yield pa.Table.from_batches(waiting)
            waiting, size = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def _as_bytes(row: pa.Table) -> bytes:
    """Return a row as bytes: the same for equal rows that were written alike."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, row.schema) as stream:
        stream.write(row.combine_chunks())
    return bytes(sink.getvalue())
