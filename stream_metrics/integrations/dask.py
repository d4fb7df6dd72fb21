"""The partitions of Dask become one state: counted where they lie, merged in a tree, lazily.

    import dask.dataframe as dd
    import pandas as pd
    import stream_metrics as sm
    from stream_metrics.integrations.dask import accumulate, accumulate_by
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

Arrays are given by name, or in the order of the arguments:

    total = accumulate({"y_true": truth, "y_pred": guess}, sm.MCC())
    total = accumulate((truth, scores), sm.MetricSet(scores=True), Fields(y_pred=None, scores="s", classes=[0, 1, 2]))

A state for each of many groups is a row of a data frame, which no process holds as a whole:

    states = accumulate_by(frame, "country", sm.MetricSet(), Fields("label", "guess"))
    states.assign(n=states.state.map(lambda state: sm.from_bytes(state).n, meta=("n", int))).compute()

Rows that cannot be counted are left out and recorded on request:

    total, bad = accumulate(frame, sm.MetricSet(), Fields("label", "guess"), on_bad="count").compute()
    print(bad)

Categorical columns, and the dictionary-encoded ones of Parquet files, are read by their codes. Text is numbered first,
which takes about fifty times as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from stream_metrics.errors import LabelError
from stream_metrics.integrations.tables import Job, Part, merge_in_tree, merge_records
from stream_metrics.states.protocols import Accumulator
from stream_metrics.tables.bad_rows import Counted, OnBad
from stream_metrics.tables.counting import MOST_LABELS, Place
from stream_metrics.tables.fields import Fields, check_columns

try:
    from dask.delayed import Delayed, delayed
except ImportError as error:
    raise ImportError('Expected Dask to be installed: pip install "stream-metrics[dask]"') from error

__all__ = ["accumulate", "accumulate_by"]

FIELDS = Fields()


def accumulate(
    collection: Any,
    prototype: Accumulator,
    fields: Fields = FIELDS,
    *,
    fan_in: int = 16,
    on_bad: OnBad = "raise",
    max_labels: int | None = MOST_LABELS,
) -> Delayed:
    """Return the `Delayed` of a new state like `prototype` that has counted all rows; of no rows, an empty one.

    Parameters
    ----------
    collection : data frame or bag of Dask, mapping, tuple or iterable
        A data frame, of which only the columns of `fields` are read, perhaps its index among them; a bag; a mapping
        from name to arrays of Dask, or a tuple of the arrays that `fields` names, in the order of its arguments; or an
        iterable of partitions, which are `Delayed`, futures or values. A partition is a table (a pandas data frame, an
        Arrow table, a mapping from name to column), or holds rows: mappings by name, or tuples of the columns that
        `fields` names.
    prototype : state, Metric, MetricSet or container
        The accumulator to count with. It is not changed, and samples that it has already are not included.
    fields : Fields, optional
        The columns; by default "y_true" and "y_pred".
    fan_in : int, default 16
        The largest number of states that a task merges. They travel between tasks as `to_bytes()`.
    on_bad : {"raise", "count"}, default "raise"
        Whether a row that cannot be counted raises, or is left out and recorded.
    max_labels : int or None, default 100_000
        The largest number of distinct labels, as for `stream_metrics.count`. None is no limit.

    Returns
    -------
    Delayed
        Of the state; with on_bad="count" of the named tuple (state, bad), whose second is a `BadRows`.

    Raises
    ------
    ValueError
        If `prototype` is not an accumulator or does not merge, or an option is not allowed.
    TypeError
        If `collection` is something else.
    LabelError
        If the data frame lacks a column. A bad row, and a column with too many labels, raise when their partition is
        computed; the error of a row has the numbers of row and partition.
    """
    job = Job.of(prototype, fields, on_bad, max_labels)
    # With pure=True a task is known by its arguments, and one over a file that has changed would not run again.
    count, join = delayed(partial(_count, job), pure=False), delayed(job.merge, pure=False)
    parts = enumerate(_partitions(collection, fields.columns()))
    merged = merge_in_tree((count(part, at) for at, part in parts), join, fan_in)
    return delayed(job.result, pure=False)(merged)


def accumulate_by(
    frame: Any,
    keys: str | Sequence[str],
    prototype: Accumulator,
    fields: Fields = FIELDS,
    *,
    npartitions: int = 16,
    on_bad: OnBad = "raise",
    max_labels: int | None = MOST_LABELS,
) -> Any:
    """Return a data frame of Dask with a row for each combination of `keys`: these columns, and `state`, bytes.

    Parameters
    ----------
    frame : data frame of Dask
        The rows.
    keys : str or sequence of str
        The columns of groups. Groups are those of `groupby(keys, dropna=False)`: missing keys are one group.
    prototype : state, Metric, MetricSet or container
        The accumulator to count each group with, as for `accumulate`; not a `ByGroup`.
    fields : Fields, optional
        The columns; by default "y_true" and "y_pred".
    npartitions : int, default 16
        The number of partitions of the result. The states of a group are merged in one of them, which the hash of its
        key chooses, so that no process holds the states of all groups.
    on_bad : {"raise", "count"}, default "raise"
        Whether a row that cannot be counted raises, or is left out and recorded.
    max_labels : int or None, default 100_000
        The largest number of distinct labels, as for `stream_metrics.count`. None is no limit.

    Returns
    -------
    data frame of Dask or Counted
        The groups; with on_bad="count" the named tuple (frame, bad), whose second is the `Delayed` of a `BadRows`. Both
        come from one pass over the data by `dask.compute(frame.to_delayed(), bad)`.

    Raises
    ------
    TypeError
        If `frame` is not a data frame of Dask.
    ValueError
        If a key is called state or comes twice, `prototype` does not merge, or an option is not allowed.
    LabelError
        As for `accumulate`.
    """
    if not (hasattr(frame, "columns") and hasattr(frame, "to_delayed")):
        raise TypeError(f"Expected `frame` to be a data frame of Dask, but got {type(frame).__name__}")
    from dask.dataframe import from_delayed  # arrays and bags need no pandas

    from stream_metrics.integrations.group_states import GroupJob

    job = GroupJob.of(prototype, keys, fields, on_bad, max_labels, npartitions, "npartitions")
    count, merge = delayed(job.count, pure=False, nout=npartitions + 1), delayed(job.merge, pure=False)
    parts = _partitions(frame, [*job.keys, *fields.columns()])
    counted = [count(part, at) for at, part in enumerate(parts)]
    buckets = [merge([part[at] for part in counted]) for at in range(npartitions)]
    states = from_delayed(buckets, meta=job.no_rows(frame._meta))  # the only way to its types
    if on_bad == "raise":
        return states
    join = delayed(merge_records, pure=False)
    return Counted(states, join(merge_in_tree((part[npartitions] for part in counted), join, 16)))


def _partitions(collection: Any, names: list[str]) -> list[Any]:
    """Return the partitions of a collection, with no more columns than the named ones."""
    if isinstance(collection, Delayed):
        return [collection]
    if hasattr(collection, "columns") and hasattr(collection, "to_delayed"):
        index = [] if collection.index.name is None else [collection.index.name]
        check_columns(names, [*collection.columns, *index], "data frame")
        collection = collection[[name for name in dict.fromkeys(names) if name in collection.columns]]
    if isinstance(collection, Mapping | tuple) and collection and all(map(_is_array, _values(collection))):
        return _blocks(collection, names)
    parts = collection.to_delayed() if hasattr(collection, "to_delayed") else collection
    if _is_table(parts) or hasattr(parts, "ndim"):
        raise TypeError(
            f"Expected `collection` to be a data frame or a bag of Dask, a mapping or a tuple of its arrays, or an "
            f"iterable of partitions, but got {type(collection).__name__}"
        )
    return list(parts)


def _values(arrays: Mapping[str, Any] | tuple[Any, ...]) -> list[Any]:
    return list(arrays.values() if isinstance(arrays, Mapping) else arrays)


def _is_array(value: object) -> bool:
    return hasattr(value, "numblocks") and hasattr(value, "rechunk")


def _blocks(arrays: Mapping[str, Any] | tuple[Any, ...], names: list[str]) -> list[Delayed]:
    """Return the blocks of arrays as tables: rows in the blocks of the first array, and scores in whole rows."""
    if not isinstance(arrays, Mapping):
        if len(arrays) != len(names):
            raise LabelError(f"Expected {len(names)} arrays, for {names}, but got {len(arrays)}")
        arrays = dict(zip(names, arrays, strict=True))
    check_columns(names, list(arrays), "mapping")
    rows = arrays[names[0]].chunks[0]
    columns = []
    for name in names:
        array = arrays[name]
        if array.ndim > 1 or array.chunks[0] != rows:
            same = len(array.chunks[0]) == len(rows) and any(size != size for size in (*rows, *array.chunks[0]))
            array = array.rechunk(dict.fromkeys(range(1, array.ndim), -1) | ({} if same else {0: rows}))
        columns.append(array.to_delayed().ravel().tolist())
    table = delayed(dict, pure=False)
    return [table(list(zip(names, blocks, strict=True))) for blocks in zip(*columns, strict=True)]


def _is_table(partition: object) -> bool:
    return isinstance(partition, Mapping) or hasattr(partition, "columns")


def _count(job: Job, partition: Any, at: int) -> Part:
    """Return the state of a partition, and the record of its bad rows, as bytes."""
    place = Place(partition=at)
    return job.count([(partition, place)] if _is_table(partition) else _columns(partition, job.fields.columns(), place))


def _columns(rows: Iterable[Any], names: list[str], place: Place) -> Iterator[tuple[Any, Place]]:
    """Yield rows as columns, and between them the errors of rows that lack some."""
    table: dict[str, list[object]] = {name: [] for name in names}
    start = 0
    for at, row in enumerate(rows):
        try:
            values = _values_of(row, names)
        except LabelError as error:
            yield table, place.at(start)
            yield error, place.at(at)
            table, start = {name: [] for name in names}, at + 1
        else:
            for name, value in zip(names, values, strict=True):
                table[name].append(value)
    yield table, place.at(start)


def _values_of(row: Any, names: list[str]) -> list[object]:
    """Return the columns of a row."""
    if isinstance(row, Mapping):
        missing = next((name for name in names if name not in row), None)
        if missing is None:
            return [row[name] for name in names]
        raise LabelError(f"Expected {missing!r} to be in every row, but got {list(row)!r:.60}")
    if not isinstance(row, Sequence) or isinstance(row, str | bytes) or len(row) != len(names):
        raise LabelError(f"Expected rows of {len(names)}, {names}, but got {row!r:.60}")
    return list(row)
