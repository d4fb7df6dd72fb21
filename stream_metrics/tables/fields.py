"""Tables of any library, counted in one call with bounded memory: which of their columns are read, and in which pieces.

A table is an Arrow table or record batch, a data frame of pandas or polars, or a mapping from name to column. Sources
are read as tables one after another: whole, or in batches if they have them. A source is recognised by its methods, so
no package is imported but pyarrow, for the Arrow stream protocol. If a source can select columns, only those that are
counted are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from stream_metrics.containers.groups import ByGroup
from stream_metrics.containers.keyed import emptied, walk_inner
from stream_metrics.errors import LabelError, ScoreError, StreamMetricsError
from stream_metrics.inputs.arrow import pyarrow
from stream_metrics.labels import Label
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.states.batches import mergeable
from stream_metrics.states.protocols import Accumulator
from stream_metrics.tables.bad_rows import BadRows, Counted, OnBad, new_record
from stream_metrics.tables.counting import MOST_LABELS, START, LabelLimit, Place, Refuse, count_columns
from stream_metrics.wire import Portable

S = TypeVar("S", bound=Accumulator)
Placed: TypeAlias = Iterator[tuple[Any, Place]]

WHOLE = "iloc", "get_column", "column_names"  # what data frames of pandas and of polars and tables of Arrow have
BATCH = 1 << 16  # rows of a batch of a dataset or a query
AHEAD = {"batch_readahead": 4, "fragment_readahead": 2}  # batches and files that a scan holds in memory


class Fields(NamedTuple):
    """The columns of a table that are read; None for a column that does not exist.

    Parameters
    ----------
    y_true : str, default "y_true"
        The column of true labels.
    y_pred : str or None, default "y_pred"
        The column of predictions. With scores, labels may be left to them.
    scores : str or mapping from Label to str, optional
        A column of scores: of `pos_label`, of mappings from class to score, or of arrays of the scores of `classes`. Or
        for each class its column.
    weight : str, optional
        The column of weights.
    group : str, optional
        The column of groups.
    time : str, optional
        The column of times.
    classes : sequence of Label, optional
        The classes of a column of arrays of scores, in their order.
    """

    y_true: str = "y_true"
    y_pred: str | None = "y_pred"
    scores: str | Mapping[Label, str] | None = None
    weight: str | None = None
    group: str | None = None
    time: str | None = None
    classes: Sequence[Label] | None = None

    def columns(self) -> list[str]:
        """Return the names of all columns that are read, each once."""
        scores = list(self.scores.values()) if isinstance(self.scores, Mapping) else [self.scores]
        named = [self.y_true, self.y_pred, *scores, self.weight, self.group, self.time]
        return list(dict.fromkeys(name for name in named if name is not None))

    def check(self, names: Iterable[str], holder: str) -> None:
        """Raise LabelError unless all columns that are read are among the `names` of a table, or of a `holder`."""
        check_columns(self.columns(), names, holder)

    def limit(self, max_labels: int | None) -> LabelLimit:
        """Return the limit of labels; ValueError if it is neither a whole number above 0 nor None."""
        if max_labels is not None and (type(max_labels) is not int or max_labels < 1):
            raise ValueError(f"Expected `max_labels` to be a whole number above 0, or None, but got {max_labels!r}")
        scores = self.scores if isinstance(self.scores, str) else None
        return LabelLimit(max_labels, self.y_true, self.y_pred or scores)


def count(
    table: Any,
    prototype: Accumulator | None = None,
    *,
    y_true: str = "y_true",
    y_pred: str | None = None,
    w: str | None = None,
    scores: str | Mapping[Label, str] | None = None,
    classes: Sequence[Label] | None = None,
    group: str | None = None,
    t: str | None = None,
    on_bad: OnBad = "raise",
    max_labels: int | None = MOST_LABELS,
) -> Any:
    """Count the rows of a table, or of a reader in batches, whose columns are named.

    Parameters
    ----------
    table : table, reader, query, mapping or iterable
        Anything with an Arrow stream (a table or a reader of pyarrow, a relation of DuckDB, ...), a dataset or a
        scanner of pyarrow, a data frame of pandas or polars, a lazy frame of polars, a mapping from name to column, or
        an iterable of these.
    prototype : state, Metric, MetricSet or container, optional
        A state with the configuration to count with; its counts are ignored. By default a `MetricSet`, with scores if
        `scores` are named; with `group` in a `ByGroup`.
    y_true : str, default "y_true"
        The column of true labels; of a data frame of pandas also a level of the index, as every column here.
    y_pred : str, optional
        The column of predictions. By default "y_pred", or with `scores` none: the class of the largest score.
    w : str, optional
        The column of weights.
    scores : str or mapping from Label to str, optional
        A column of scores: of `pos_label`, mappings from class to score, or arrays of the scores of `classes`. Or for
        each class its column.
    classes : sequence of Label, optional
        The classes of a column of arrays of scores, in their order.
    group : str, optional
        The column of groups.
    t : str, optional
        The column of times, for a prototype that has them.
    on_bad : {"raise", "count"}, default "raise"
        Whether a row that cannot be counted raises, or is left out and recorded.
    max_labels : int or None, default 100_000
        The largest number of distinct labels, because a column of identifiers is most likely a mistake. None is no
        limit.

    Returns
    -------
    state or Counted
        A new state like `prototype`; with on_bad="count" the named tuple (state, bad), whose second is a `BadRows`.

    Raises
    ------
    LabelError
        If a column is missing, there are more labels than `max_labels`, or a label is not allowed; the message names
        the column, or the row with its file.
    ScoreError, WeightError, TimeError
        If a score, a weight or a time is not allowed, unless on_bad="count".
    ValueError
        If `prototype` does not merge, or an option is not allowed.
    TypeError
        If `table` is not a source of rows.

    See Also
    --------
    evaluate : Columns in, metrics out.

    Notes
    -----
    Memory: the state, and of a source in batches a few batches. Batches of any size give the same bytes.

    Examples
    --------
    >>> import stream_metrics as sm
    >>> rows = {"label": ["cat", "dog", None], "guess": ["cat", "cat", "dog"]}
    >>> state, bad = sm.count(rows, y_true="label", y_pred="guess", on_bad="count")
    >>> state.snapshot()["accuracy"], bad.n, bad.first[0].row
    (0.5, 1, 2)
    """
    fields = Fields(y_true, "y_pred" if y_pred is None and scores is None else y_pred, scores, w, group, t, classes)
    state = empty_copy(MetricSet(scores=scores is not None) if prototype is None else prototype)
    if group is not None and not any(isinstance(part, ByGroup) for part in walk_inner(state)):
        state = ByGroup(state)
    state, bad = count_tables(state, tables_of(table, fields), fields, on_bad, max_labels)
    return state if bad is None else Counted(state, bad)


def check_columns(wanted: Iterable[str], names: Iterable[str], holder: str) -> None:
    """Raise LabelError unless all columns that are wanted are among the `names` that a `holder` has."""
    names = list(names)
    for name in wanted:
        if name not in names:
            raise LabelError(f"Expected {name!r} to be a column of the {holder}, but it has {names}")


def empty_copy(prototype: S) -> S:
    """Return an empty copy of an accumulator; ValueError if it is not an accumulator, or does not merge."""
    if not isinstance(prototype, Portable) or not hasattr(prototype, "reset"):
        raise ValueError(f"Expected `prototype` to be a state, a metric or a set of metrics, but got {prototype!r:.60}")
    reason = mergeable(prototype)
    if reason is not None:
        raise ValueError(f"Expected `prototype` to be mergeable, but: {reason}")
    return emptied(prototype)


def count_table(
    state: Accumulator,
    table: Any,
    fields: Fields,
    place: Place = START,
    refuse: Refuse | None = None,
    limit: LabelLimit | None = None,
) -> None:
    """Count the rows of a table into `state`; LabelError names a column that the table does not have.

    Without `refuse` a bad row raises, with the place that is given. Otherwise the good rows are counted and `refuse`,
    such as `BadRows().add`, is called with error and place of the others. A table that raises may be counted in part if
    there is a `limit` of labels; otherwise it is not.
    """
    count_columns(state, columns_of(state, table, fields), place, refuse, limit)


def columns_of(state: Accumulator, table: Any, fields: Fields) -> dict[str, Any]:
    """Return the columns of a table as arguments of `update_many` of a state, by name."""
    fields.check(names_of(table), "table")
    if fields.classes is not None and not isinstance(fields.scores, str):
        but = f"got `scores` {fields.scores!r}"
        raise ScoreError(argument="classes", expected="with one column of arrays of scores only", but=but)
    named = {"y_true": fields.y_true, "y_pred": fields.y_pred, "w": fields.weight, "group": fields.group}
    columns = {name: _column(table, field) for name, field in {**named, "t": fields.time}.items() if field is not None}
    if fields.scores is not None:
        *_, last = walk_inner(state)  # to a single metric, and to a sketch, scores are the prediction
        columns["scores" if isinstance(last, MetricSet) else "y_pred"] = _scores(table, fields.scores)
        columns["classes"] = list(fields.scores) if isinstance(fields.scores, Mapping) else fields.classes
    return columns


def count_tables(
    state: S, tables: Iterable[tuple[Any, Place]], fields: Fields, on_bad: str, max_labels: int | None
) -> tuple[S, BadRows | None]:
    """Count tables, each with its place; return the state, and the record of bad rows if these do not raise.

    In the place of a table there may be the error of a row that is in none.
    """
    bad = new_record(on_bad)
    limit = fields.limit(max_labels)
    for table, place in tables:
        if isinstance(table, StreamMetricsError):
            if bad is None:
                raise table.with_position(place.row, place.holder)
            bad.add(table, place)
            continue
        count_table(state, table, fields, place, None if bad is None else bad.add, limit)
    limit.add(state)
    return state, bad


def names_of(table: Any) -> list[str]:
    """Return the names of the columns of a table, and those of the index of a data frame of pandas."""
    if hasattr(table, "iloc"):
        return [*table.columns, *(name for name in table.index.names if name is not None)]
    names = getattr(table, "column_names", None)  # of Arrow
    return list(names if names is not None else getattr(table, "columns", table))


def _column(table: Any, name: str) -> Any:
    if hasattr(table, "iloc") and name not in table.columns:
        return table.index.get_level_values(name)
    return table[name]


def _scores(table: Any, scores: str | Mapping[Label, str]) -> Any:
    """Return a column of scores, or columns of them side by side."""
    if isinstance(scores, str):
        return _column(table, scores)
    names = list(scores.values())
    if hasattr(table, "select") and len(set(names)) == len(names):  # of Arrow and polars, which know nulls
        return table.select(names)
    return np.column_stack([np.asarray(_column(table, name)) for name in names])


def tables_of(source: Any, fields: Fields) -> Placed:
    """Yield the tables of a source, each with the place of its first row; TypeError if it is not a source.

    LabelError for a column that the source does not have, if that is known before it is read.
    """
    if isinstance(source, Mapping) or any(hasattr(source, name) for name in WHOLE):
        return iter([(source, Place())])
    if hasattr(source, "get_fragments") and hasattr(source, "scanner"):  # a dataset of Arrow
        fields.check(source.schema.names, "dataset")
        scanner = source.scanner(columns=fields.columns(), batch_size=BATCH, **AHEAD)
        return _scanned(scanner, getattr(source, "_scan_options", {}).get("filter") is None)
    if hasattr(source, "scan_batches"):  # a scanner of Arrow
        fields.check(source.projected_schema.names, "scanner")
        return _scanned(source, False)
    if hasattr(source, "collect_schema") and hasattr(source, "collect"):  # a query of polars
        fields.check(source.collect_schema().names(), "query")
        query = source.select(fields.columns())
        parts = query.collect_batches(chunk_size=BATCH) if hasattr(query, "collect_batches") else [query.collect()]
        return _in_order(parts)
    if hasattr(source, "__arrow_c_stream__"):
        return _streamed(source, fields)
    if hasattr(source, "__arrow_c_array__"):
        return iter([(pyarrow().record_batch(source), Place())])
    if not isinstance(source, Iterable) or isinstance(source, str | bytes) or hasattr(source, "to_delayed"):
        raise TypeError(
            f"Expected `table` to be a table, a data frame, a reader or a dataset of Arrow, a query, a mapping of "
            f"columns, or an iterable of tables, but got {type(source).__name__}; stream_metrics.integrations has "
            f"functions for Spark, Dask, Ray and Beam"
        )
    return _one_by_one(source, fields)


def _streamed(source: Any, fields: Fields) -> Placed:
    """Yield the batches of an Arrow stream."""
    pa = pyarrow()
    try:
        reader = source if isinstance(source, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(source)
    except pa.ArrowInvalid:
        raise TypeError("Expected `table` to be a table, but got a column") from None
    fields.check(reader.schema.names, "table")
    return _in_order(reader)


def _in_order(batches: Iterable[Any]) -> Placed:
    """Yield batches that follow each other."""
    row = 0
    for batch in batches:
        yield batch, Place(row=row)
        row += len(batch)


def _scanned(scanner: Any, whole: bool) -> Placed:
    """Yield the batches of files; the numbers of their rows are known if `whole` files are read."""
    rows: dict[str | None, int] = {}
    for tagged in scanner.scan_batches():
        batch, file = tagged.record_batch, getattr(tagged.fragment, "path", None)
        yield batch, Place(file, None, rows.get(file, 0) if whole else None)
        rows[file] = rows.get(file, 0) + batch.num_rows


def _one_by_one(sources: Iterable[Any], fields: Fields) -> Placed:
    """Yield the tables of several sources, numbered as partitions."""
    for partition, source in enumerate(sources):
        for table, place in tables_of(source, fields):
            yield table, place if place.file is not None else place._replace(partition=partition)
