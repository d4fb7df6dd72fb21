"""States by key: a table becomes a state for each combination of keys, and such states are merged by key.

A key is a row of a data frame, so it keeps the types of its columns. Keys that are equal are in one bucket, whatever
the types of their columns, and a bucket is merged by one task.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa

from stream_metrics.containers.groups import ByGroup
from stream_metrics.integrations.tables import Job
from stream_metrics.labels import is_missing
from stream_metrics.states.protocols import Accumulator
from stream_metrics.tables.bad_rows import new_record
from stream_metrics.tables.counting import Place, count_columns
from stream_metrics.tables.fields import Fields, check_columns, columns_of, names_of

__all__ = ["GroupJob", "key_frame", "key_names"]

STATE = "state"
BYTES = pd.ArrowDtype(pa.binary())  # Dask would turn objects into text


@dataclass(frozen=True)
class GroupJob:
    """The order to every worker: the job without groups, the keys, and the number of buckets of keys."""

    job: Job
    keys: list[str]
    buckets: int

    @classmethod
    def of(
        cls,
        prototype: Accumulator,
        keys: str | Sequence[str],
        fields: Fields,
        on_bad: str,
        max_labels: int | None,
        buckets: int,
        argument: str,
    ) -> Self:
        """Return a job; ValueError for options that are not allowed. `argument` is the caller's name of `buckets`."""
        if type(buckets) is not int or buckets < 1:
            raise ValueError(f"Expected `{argument}` to be a whole number above 0, but got {buckets!r}")
        ByGroup(prototype)  # which must have no groups
        return cls(Job.of(prototype, fields, on_bad, max_labels), key_names(keys), buckets)

    def count(self, table: Any, partition: int | None = None) -> list[Any]:
        """Return for each bucket a data frame of keys and states, and then the record of bad rows as bytes, or None."""
        job = self.job
        groups, bad = ByGroup(job.empty), new_record(job.on_bad)
        check_columns(self.keys, names_of(table), "table")
        keys = key_frame(table, self.keys)
        codes = _codes(keys)
        columns = {**columns_of(groups, table, job.fields), "group": codes}
        limit = job.fields.limit(job.max_labels)
        count_columns(groups, columns, Place(partition=partition), None if bad is None else bad.add, limit)
        limit.add(groups)
        counted = np.array(groups.groups, np.int64)
        firsts = np.unique(codes, return_index=True)[1]
        frame = keys.iloc[firsts[counted]].reset_index(drop=True)
        frame[STATE] = pd.Series([groups.state(code).to_bytes() for code in counted.tolist()], dtype=BYTES)
        place = np.fromiter((_bucket(row, self.buckets) for row in frame[self.keys].itertuples(index=False)), np.int64)
        parts: list[Any] = [frame[place == at] for at in range(self.buckets)]
        return [*parts, None if bad is None else bad.to_bytes()]

    def no_rows(self, table: Any) -> Any:
        """Return what a bucket without rows is, by the types of the keys in a table."""
        return key_frame(table, self.keys).iloc[:0].assign(**{STATE: pd.Series([], dtype=BYTES)})

    def merge(self, frames: Sequence[Any]) -> Any:
        """Return the merge of the states of each key, in the order in which keys first come."""
        frame = pd.concat([part for part in frames if len(part)] or frames[:1], ignore_index=True)
        codes = _codes(frame[self.keys])
        read = type(self.job.empty).from_bytes
        states: dict[int, Accumulator | bytes] = {}
        for code, data in zip(codes.tolist(), frame[STATE], strict=True):
            before = states.get(code)
            if before is None:
                states[code] = data
            else:
                states[code] = (read(before) if isinstance(before, bytes) else before).merge(read(data))
        firsts = np.unique(codes, return_index=True)[1]
        merged = frame[self.keys].iloc[firsts].reset_index(drop=True)
        whole = (states[code] for code in range(len(firsts)))
        merged[STATE] = pd.Series([x if isinstance(x, bytes) else x.to_bytes() for x in whole], dtype=BYTES)
        return merged


def key_names(keys: str | Sequence[str]) -> list[str]:
    """Return the names of the columns of keys; ValueError for none, twice the same, and that of the states."""
    names = [keys] if isinstance(keys, str) else list(keys)
    if not names or len({*names, STATE}) <= len(names):
        raise ValueError(f"Expected `keys` to be columns, each once, and none called {STATE!r}, but got {names}")
    return names


def key_frame(table: Any, names: list[str]) -> Any:
    """Return the columns of keys as a data frame of pandas: categories as values, and no negative zero."""
    if hasattr(table, "iloc"):
        frame = table.reset_index()[names] if any(name not in table.columns for name in names) else table[names]
        frame = frame.reset_index(drop=True)
    elif hasattr(table, "column_names"):  # integers with nulls would lose digits as floats
        frame = table.select(names).to_pandas(types_mapper=pd.ArrowDtype)
    else:
        frame = pd.DataFrame({name: table[name] for name in names})
    for name in names:
        column = frame[name]
        if isinstance(column.dtype, pd.CategoricalDtype):
            frame = frame.assign(**{name: column.astype(column.cat.categories.dtype)})
        elif isinstance(column.dtype, pd.ArrowDtype) and pa.types.is_dictionary(column.dtype.pyarrow_dtype):
            frame = frame.assign(**{name: column.astype(pd.ArrowDtype(column.dtype.pyarrow_dtype.value_type))})
        elif column.dtype.kind == "f":
            frame = frame.assign(**{name: column + 0.0})
    return frame


def _codes(keys: Any) -> Any:
    """Number the keys of rows, from 0."""
    if not len(keys):
        return np.empty(0, np.int64)
    return keys.groupby(list(keys.columns), dropna=False, observed=True, sort=False).ngroup().to_numpy(np.int64)


def _bucket(key: Iterable[object], buckets: int) -> int:
    """Return the bucket of a key: the same for equal keys of other types, in every process."""
    return zlib.crc32(repr([_plain(value) for value in key]).encode("utf-8", "surrogatepass")) % buckets


def _plain(value: Any) -> object:
    if is_missing(value):
        return None
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, float) and value.is_integer() else value
