"""The rows that a state refuses: how many, for which reasons, and where the first of them are.

A record merges like a state. Of the examples the first in the order of places are kept, and of the reasons the first in
the order of text, because both choices depend on the rows alone and not on how they were split or merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias

from stream_metrics.errors import StreamMetricsError, other_kind, quantity
from stream_metrics.states.protocols import Accumulator
from stream_metrics.tables.counting import MOST_EXAMPLES, UNKNOWN, Place, count_columns
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
