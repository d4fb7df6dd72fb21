"""Shared by the engines: the columns that are read of a table, what a worker does with one, and a tree of merges.

A table is an Arrow table or record batch, a data frame of pandas or polars, or a mapping from name to column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Self, TypeAlias, TypeVar

from stream_metrics.states.protocols import Accumulator
from stream_metrics.tables.bad_rows import BadRows, Counted, new_record
from stream_metrics.tables.counting import MOST_LABELS, LabelLimit, Place
from stream_metrics.tables.fields import Fields, check_columns, count_table, count_tables, empty_copy

__all__ = [
    "MOST_LABELS",
    "Fields",
    "Job",
    "Part",
    "check_columns",
    "count_table",
    "empty_copy",
    "merge_in_tree",
    "merge_records",
    "part_of",
    "parts_of",
]

T = TypeVar("T")
Part: TypeAlias = tuple[bytes, bytes | None]  # what a worker returns: a state, and a record of bad rows if there is one


@dataclass(frozen=True)
class Job:
    """The order to every worker of a job: an empty state, the columns, what becomes of bad rows, how many labels."""

    empty: Accumulator
    fields: Fields
    on_bad: str
    max_labels: int | None

    @classmethod
    def of(cls, prototype: Accumulator, fields: Fields, on_bad: str, max_labels: int | None) -> Self:
        """Return a job; ValueError for a prototype that does not merge, and for an option that is not allowed."""
        empty = empty_copy(prototype)
        new_record(on_bad)
        fields.limit(max_labels)
        return cls(empty, fields, on_bad, max_labels)

    def count(self, tables: Iterable[tuple[Any, Place]]) -> Part:
        """Return the state of tables, each with its place, and the record of their bad rows."""
        return part_of(*count_tables(self.empty.copy(), tables, self.fields, self.on_bad, self.max_labels))

    def merge(self, parts: Iterable[Part]) -> Part:
        """Return the merge of the results of workers; of none, what a worker without rows returns."""
        return part_of(*self._merged(None, parts))

    def result(self, parts: Iterable[Part]) -> Any:
        """Return what the job returns: a state, or with bad rows a `Counted`."""
        state, bad = self._merged(self.empty.copy(), parts)
        return state if bad is None else Counted(state, bad)

    def _merged(self, total: Accumulator | None, parts: Iterable[Part]) -> tuple[Accumulator, BadRows | None]:
        bad = new_record(self.on_bad)
        for data, record in parts:
            state = type(self.empty).from_bytes(data)
            total = state if total is None else total.merge(state)
            if bad is not None and record is not None:
                bad.merge(BadRows.from_bytes(record))
        total = self.empty.copy() if total is None else total
        self.limit().add(total)
        return total, bad

    def limit(self) -> LabelLimit:
        """Return the limit of labels of a task."""
        return self.fields.limit(self.max_labels)


def part_of(state: Accumulator, bad: BadRows | None) -> Part:
    """Return a state, and a record of bad rows if there is one, as bytes."""
    return bytes(state.to_bytes()), None if bad is None else bad.to_bytes()


def parts_of(table: Any) -> list[Part]:
    """Return the states and records that are rows of an Arrow table."""
    return list(zip(table["state"].to_pylist(), table["bad"].to_pylist(), strict=True))


def merge_records(records: Iterable[bytes | BadRows]) -> BadRows:
    """Return the merge of records of bad rows."""
    total = BadRows()
    for record in records:
        total.merge(BadRows.from_bytes(record) if isinstance(record, bytes) else record)
    return total


def merge_in_tree(parts: Iterable[T], merge: Callable[[list[T]], T], fan_in: int) -> list[T]:
    """Merge `fan_in` parts at a time, as they come, then such merges; return the last ones, at most `fan_in`.

    Raises ``ValueError`` if `fan_in` is not a whole number above 1.
    """
    if not isinstance(fan_in, int) or fan_in < 2:
        raise ValueError(f"Expected `fan_in` to be a whole number above 1, but got {fan_in!r}")
    levels: list[list[T]] = [[]]
    for part in parts:
        levels[0].append(part)
        level = 0
        while len(levels[level]) > fan_in:
            merged, levels[level] = merge(levels[level][:fan_in]), levels[level][fan_in:]
            level += 1
            if level == len(levels):
                levels.append([])
            levels[level].append(merged)
    last = [part for level_parts in reversed(levels) for part in level_parts]
    while len(last) > fan_in:
        last = [*last[:-fan_in], merge(last[-fan_in:])]
    return last
