"""Tables of any library, counted in one call with bounded memory.

A table is an Arrow table or record batch, a data frame of pandas or polars, or a mapping from name to column. Sources
are read as tables one after another: whole, or in batches if they have them. A source is recognised by its methods, so
no package is imported but pyarrow, for the Arrow stream protocol. If a source can select columns, only those that are
counted are read.

**Refused rows.** Their record has how many, for which reasons, and where the first of them are. It merges like a state.
Of the examples the first in the order of places are kept, and of the reasons the first in the order of text, because
both choices depend on the rows alone and not on how they were split or merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias, TypeVar

import numpy as np

from stream_metrics.containers.groups import ByGroup
from stream_metrics.containers.keyed import emptied, walk_inner
from stream_metrics.errors import LabelError, ScoreError, StreamMetricsError, other_kind, quantity
from stream_metrics.inputs.arrow import pyarrow
from stream_metrics.labels import Label
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.states.batches import mergeable
from stream_metrics.states.protocols import Accumulator
from stream_metrics.tables.counting import (
    MOST_EXAMPLES,
    MOST_LABELS,
    START,
    UNKNOWN,
    LabelLimit,
    Place,
    Refuse,
    count_columns,
)
from stream_metrics.wire import Portable

OnBad: TypeAlias = Literal["raise", "count"]

MOST_REASONS = 20
LONGEST = 300  # characters of an error or a reason


class BadRow(NamedTuple):
    """A row that was refused.

    Parameters
    ----------
    file : str or None
        The file that it is in, if known.
    partition : int or None
        The partition that it is in, if known.
    row : int or None
        Its number in the file, the partition or the table, from 0, if known.
    error : str
        Why it was refused.
    """

    file: str | None
    partition: int | None
    row: int | None
    error: str

    def __str__(self) -> str:
        """Return the place and the error in one line."""
        row = None if self.row is None else f"row {self.row}"
        place = ", ".join(part for part in (Place(self.file, self.partition).holder, row) if part is not None)
        return f"{place}: {self.error}" if place else self.error


class BadRows(Portable):
    """The rows that were not counted because a state refused them.

    Calls with `on_bad="count"` return one beside the state. It is false while it has no rows, and merges like a state:
    with `merge`, `+`, `sum`, `stream_metrics.merge`, and as bytes.

    Attributes
    ----------
    n : int
        Number of bad rows.
    reasons : dict of str to int
        Number of bad rows by reason, for at most 20 reasons, the first in the order of text.
    first : tuple of BadRow
        At most 10 examples, the first by file, partition and row.

    Notes
    -----
    Memory: at most 10 examples and 20 reasons, of at most 300 characters each.

    Guarantee: if rows are split over several records, their merge is the record of all rows, in whatever order.

    Examples
    --------
    >>> import stream_metrics as sm
    >>> matrix, bad = sm.ConfusionMatrix(["cat", "dog"]), sm.BadRows()
    >>> bad.count_into(matrix, ["cat", None, "dog"], ["cat", "dog", "bird"], file="march.csv")
    >>> matrix.n, bad.n
    (1, 2)
    >>> print(bad.first[1])
    march.csv, row 2: Expected `y_pred` to be one of the fixed labels ['cat', 'dog'], but got 'bird'
    """

    KIND: ClassVar[str] = "bad_rows"

    def __init__(self) -> None:
        self.n = 0
        self.reasons: dict[str, int] = {}
        self.first: tuple[BadRow, ...] = ()

    def count_into(
        self,
        state: Accumulator,
        y_true: object,
        y_pred: object = None,
        w: object = None,
        *,
        file: str | None = None,
        partition: int | None = None,
        row: int = 0,
        **columns: object,
    ) -> None:
        """Let a state count the good rows of a batch, and record the bad ones.

        Parameters
        ----------
        state : state, Metric, MetricSet or container
            What counts. A batch without bad rows costs it no more than `update_many`.
        y_true : array-like of shape (n,)
            True labels.
        y_pred : array-like of length n, optional
            Predictions, as the state takes them.
        w : array-like of shape (n,), optional
            Weights.
        file : str, optional
            The file that the batch is from.
        partition : int, optional
            The partition that the batch is from.
        row : int, default 0
            The number of the first row of the batch in its file, partition or table.
        **columns : object
            Other arguments of `update_many` of the state: scores, classes, group, t, unit.

        Raises
        ------
        StreamMetricsError or ValueError
            If the batch as a whole is wrong, such as columns of different lengths.
        """
        columns |= {"y_true": y_true, "y_pred": y_pred, "w": w}
        count_columns(state, columns, Place(file, partition, row), self.add)

    def add(self, error: Exception, place: Place = UNKNOWN, rows: Sequence[int] = (0,)) -> None:
        """Record rows that were refused for the same reason.

        Parameters
        ----------
        error : Exception
            Why the first of them was refused.
        place : tuple of file, partition and row, optional
            Where the batch begins that they are in; each may be None.
        rows : sequence of int, default (0,)
            Their positions in the batch. The first is kept as an example.
        """
        if isinstance(error, StreamMetricsError):
            reason, text = error.rule, str(error.with_position(None))
        else:
            text = str(error)
            reason = f"{type(error).__name__}: {text.partition(chr(10))[0]}"
        first = BadRow(*Place(*place).at(rows[0]), _clean(text))
        self._add(len(rows), {_clean(reason): len(rows)}, [first])

    def _add(self, n: int, reasons: Mapping[str, int], examples: Iterable[BadRow]) -> None:
        totals = dict(self.reasons)
        for reason, times in reasons.items():
            totals[reason] = totals.get(reason, 0) + times
        self.n += n
        self.reasons = {reason: totals[reason] for reason in sorted(totals)[:MOST_REASONS]}
        self.first = tuple(sorted([*self.first, *examples], key=_order)[:MOST_EXAMPLES])

    def reset(self) -> None:
        """Forget all rows."""
        self.n, self.reasons, self.first = 0, {}, ()

    def merge(self, other: Self) -> Self:
        """Add the rows of another record.

        Parameters
        ----------
        other : BadRows
            It stays as it is.

        Returns
        -------
        Self
            This record.

        Raises
        ------
        MergeError
            If it is not a record of bad rows.
        """
        if not isinstance(other, BadRows):
            raise other_kind(BadRows, other)
        self._add(other.n, other.reasons, other.first)
        return self

    def __bool__(self) -> bool:
        """Tell whether there is a bad row."""
        return self.n > 0

    def __str__(self) -> str:
        """Return the reasons with their numbers, and the examples, a line each."""
        if not self.n:
            return "No bad rows"
        rest = self.n - sum(self.reasons.values())
        lines = [f"{quantity(self.n, 'bad row', ',')}, not counted:"]
        lines += [f"  {times:,}: {reason}" for reason, times in self.reasons.items()]
        lines += [f"  {rest:,}: other reasons"] if rest else []
        return "\n".join([*lines, f"The first {len(self.first)}:", *(f"  {row}" for row in self.first)])

    def __repr__(self) -> str:
        return f"BadRows({quantity(self.n, 'row', ',')})"

    def sentence(self, rows: int) -> str | None:
        """Return what a report says of the bad rows; None if there are none.

        Parameters
        ----------
        rows : int
            Number of rows that were counted.

        Returns
        -------
        str or None
            The sentence.
        """
        if not self.n:
            return None
        return f"{self.n:,} of {rows + self.n:,} rows could not be counted; the first: {self.first[0]}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python types.

        Returns
        -------
        dict
            `n`, `reasons`, and `first`, a list of dicts with file, partition, row and error.
        """
        return {"n": self.n, "reasons": dict(self.reasons), "first": [row._asdict() for row in self.first]}

    def _content(self) -> list[object]:
        return [self.n, [[reason, times] for reason, times in self.reasons.items()], [list(row) for row in self.first]]

    @classmethod
    def _restore(cls, content: Any) -> Self:
        n, reasons, first = content
        record = cls()
        record._add(n, dict(reasons), [BadRow(*row) for row in first])
        counts, texts = [n, *record.reasons.values()], [*record.reasons, *(row.error for row in record.first)]
        if not all(type(count) is int and count >= 0 for count in counts) or n < sum(record.reasons.values()):
            raise ValueError("numbers of rows")
        if not all(type(text) is str and len(text) <= LONGEST for text in texts) or 0 in record.reasons.values():
            raise ValueError("reasons and errors")
        if len(record.first) != min(n, MOST_EXAMPLES) or not all(map(_is_example, record.first)):
            raise ValueError("examples of rows")
        return record


class Counted(NamedTuple):
    """What a call with `on_bad="count"` returns.

    Parameters
    ----------
    state : state, Metric, MetricSet or container
        The good rows, counted.
    bad : BadRows
        The other rows.
    """

    state: Any
    bad: BadRows


def new_record(on_bad: str) -> BadRows | None:
    """Return an empty record if bad rows are to be counted, None if they raise; ValueError for another option."""
    if on_bad not in ("raise", "count"):
        raise ValueError(f"Expected `on_bad` to be 'raise' or 'count', but got {on_bad!r}")
    return BadRows() if on_bad == "count" else None


def _order(row: BadRow) -> tuple[Any, ...]:
    return *((value is None, 0 if value is None else value) for value in row[:3]), row.error


def _is_example(row: BadRow) -> bool:
    numbers = (row.partition, row.row)
    named = row.file is None or type(row.file) is str
    return named and all(number is None or type(number) is int for number in numbers)


def _clean(text: str) -> str:
    """Return a text of limited length that can be written as UTF-8."""
    text = text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
    return text.encode("utf-8", "backslashreplace").decode()[:LONGEST]


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
