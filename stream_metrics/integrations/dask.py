"""The partitions of Dask become one state: counted where they lie, merged in a tree, lazily.

    import dask.dataframe as dd
    import pandas as pd
    import stream_metrics as sm
    from stream_metrics.integrations.dask import accumulate
    from stream_metrics.integrations.tables import Fields

    rows = pd.DataFrame({"label": ["cat", "dog", "dog"], "guess": ["cat", "cat", "dog"], "country": ["fr", "fr", "de"]})
    frame = dd.from_pandas(rows.astype("category"), npartitions=2)  # or dd.read_parquet("predictions/")

    total = accumulate(frame, sm.ByGroup(sm.MetricSet()), Fields("label", "guess", group="country"))
    groups = total.compute().snapshot()
    print(groups["de"]["accuracy"], groups.overall["accuracy"])

`accumulate` returns a `Delayed`, so that several states are computed in one pass over the data by
`dask.compute(labels, scores)`, states of several sources are merged by `dask.delayed(sm.merge)([march, april])`, and
`client.compute(total, retries=3)` gives a future. A partition is counted by a function of its rows alone: when Dask
runs a task again, or has lost a worker with its results, the merged state has the same bytes.

Arrays that have the same chunks are handed over chunk by chunk:

    pairs = zip(truth.to_delayed(), guess.to_delayed(), strict=True)
    total = accumulate([dask.delayed(dict)(y_true=t, y_pred=p) for t, p in pairs], sm.MCC())

Categorical columns, and the dictionary-encoded ones of Parquet files, are read by their codes. Text is numbered first,
which takes about fifty times as long.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from stream_metrics.containers.aggregate import merge
from stream_metrics.errors import LabelError
from stream_metrics.integrations.tables import Fields, count_table, empty_copy, merge_in_tree
from stream_metrics.states.protocols import Accumulator

try:
    from dask.delayed import Delayed, delayed
except ImportError as error:
    raise ImportError('Expected Dask to be installed: pip install "stream-metrics[dask]"') from error

__all__ = ["accumulate"]

FIELDS = Fields()


def accumulate(collection: Any, prototype: Accumulator, fields: Fields = FIELDS, *, fan_in: int = 16) -> Delayed:
    """Return the `Delayed` of a new state like `prototype` that has counted all rows; of no rows, an empty one.

    `collection` is a data frame of Dask, of which only the columns of `fields` are read; a bag; or an iterable of
    partitions, which are `Delayed`, futures, or at hand. A partition is a table (a pandas data frame, an Arrow table, a
    mapping from name to column), or holds rows: mappings by name, or tuples of the columns that `fields` names, in the
    order of its arguments. A task merges at most `fan_in` states, which travel between tasks as `to_bytes()`.

    `prototype` is the configuration, any accumulator that merges; its counts are ignored.

    Raises ``ValueError`` if it is none, or does not merge; ``TypeError`` for another collection; ``LabelError`` for a
    column that the data frame lacks. A bad row raises when its partition is computed, with its position.
    """
    empty = empty_copy(prototype)
    # With pure=True a task is known by its arguments, and one over a file that has changed would not run again.
    count = delayed(partial(_count, empty, fields), pure=False)
    join = delayed(partial(_join, type(empty)), pure=False)
    states = merge_in_tree(map(count, _partitions(collection, fields)), join, fan_in)
    return delayed(partial(_whole, empty), pure=False)(states)


def _partitions(collection: Any, fields: Fields) -> list[Any]:
    """Return the partitions of a collection, with no more columns than are read."""
    if isinstance(collection, Delayed):
        return [collection]
    if hasattr(collection, "columns") and hasattr(collection, "to_delayed"):
        fields.check(collection.columns, "data frame")
        collection = collection[fields.columns()]
    parts = collection.to_delayed() if hasattr(collection, "to_delayed") else collection
    if _is_table(parts) or hasattr(parts, "ndim"):
        raise TypeError(
            f"Expected `collection` to be a data frame or a bag of Dask, or an iterable of partitions, "
            f"but got {type(collection).__name__}"
        )
    return list(parts)


def _is_table(partition: object) -> bool:
    return isinstance(partition, Mapping) or hasattr(partition, "columns")


def _count(empty: Accumulator, fields: Fields, partition: Any) -> bytes:
    """Return the state of a partition, as bytes."""
    state = empty.copy()
    if _is_table(partition):
        count_table(state, partition, fields)
    elif rows := list(partition):
        count_table(state, _columns(rows, fields.columns()), fields)
    return bytes(state.to_bytes())


def _columns(rows: list[Any], names: list[str]) -> dict[str, list[object]]:
    """Return rows as columns."""
    if isinstance(rows[0], Mapping):
        try:
            return {name: [row[name] for row in rows] for name in names}
        except KeyError as error:
            raise LabelError(f"Expected {error.args[0]!r} to be in every row; the first has {list(rows[0])}") from None
    if set(map(len, rows)) != {len(names)}:
        at = next(at for at, row in enumerate(rows) if len(row) != len(names))
        raise LabelError(f"Expected rows of {len(names)}, {names}, but got {rows[at]!r:.60} at position {at}")
    return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def _join(kind: type[Accumulator], states: list[bytes]) -> bytes:
    """Return the merge of states, all as bytes."""
    return merge(map(kind.from_bytes, states)).to_bytes()


def _whole(empty: Accumulator, states: list[bytes]) -> Accumulator:
    """Return the merge of an empty state and of states that are bytes."""
    return merge([empty, *map(type(empty).from_bytes, states)])
