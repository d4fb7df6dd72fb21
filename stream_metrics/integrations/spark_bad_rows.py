"""Bad rows of groups: workers remove them before they count groups, and record them in a separate pass.

Both passes check the same rows in the same way. Within a block of rows each group is counted alone, so rows of one
group cannot make a row of another group bad.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from stream_metrics.integrations.spark_keys import key_codes
from stream_metrics.integrations.spark_workers import Batches, in_blocks
from stream_metrics.integrations.tables import Fields, count_table
from stream_metrics.states.protocols import Accumulator
from stream_metrics.tables.bad_rows import BadRows
from stream_metrics.tables.counting import UNKNOWN, Place
from stream_metrics.wire import from_bytes

__all__ = ["good_rows", "record_bad_rows"]

Errors = dict[int, Exception]  # by the number of a row in its block


def good_rows(empty: bytes, keys: list[str], fields: Fields, batches: Batches) -> Batches:
    """Yield the rows of a partition that can be counted."""
    for table, errors in _checked(empty, keys, fields, batches):
        if errors:
            good = np.ones(len(table), bool)
            good[list(errors)] = False
            table = table.filter(good)
        yield from table.to_batches()


def record_bad_rows(empty: bytes, keys: list[str], fields: Fields, batches: Batches) -> Batches:
    """Yield the record of the rows of a partition that cannot be counted, if there are any."""
    task, row, bad = TaskContext.get(), 0, BadRows()
    for table, errors in _checked(empty, keys, fields, batches):
        place = Place(partition=None if task is None else task.partitionId(), row=row)
        for at, error in sorted(errors.items()):
            bad.add(error, place.at(at))
        row += len(table)
    if bad:
        yield pa.RecordBatch.from_pydict({"bad": pa.array([bad.to_bytes()], pa.binary())})


def _checked(empty: bytes, keys: list[str], fields: Fields, batches: Batches) -> Iterator[tuple[pa.Table, Errors]]:
    """Yield rows in blocks, with the errors of the bad ones."""
    state: Accumulator = from_bytes(empty)
    for table in in_blocks(batches):
        errors = _errors(state, table, fields)
        yield table, _errors_by_key(state, table, keys, fields, list(errors)) if errors else {}


def _errors_by_key(state: Accumulator, table: pa.Table, keys: list[str], fields: Fields, suspects: list[int]) -> Errors:
    """Count each key of the suspects alone, and return the errors of its rows."""
    codes = key_codes(table.select(keys))
    order = np.argsort(codes, kind="stable")
    in_order, wanted = codes[order], np.unique(codes[suspects])
    errors: Errors = {}
    for low, high in zip(np.searchsorted(in_order, wanted), np.searchsorted(in_order, wanted, "right"), strict=True):
        rows = order[low:high]
        errors |= {int(rows[at]): error for at, error in _errors(state, table.take(rows), fields).items()}
    return errors


def _errors(state: Accumulator, table: pa.Table, fields: Fields) -> Errors:
    """Return the errors of the rows that an empty state refuses."""
    errors: Errors = {}

    def refuse(error: Exception, place: Place, rows: Sequence[int]) -> None:
        errors.update(dict.fromkeys(rows, error))

    state.reset()
    count_table(state, table, fields, UNKNOWN, refuse)
    return errors
