"""Columns of a batch: whatever holds labels becomes an integer array, with names unless the integers are the labels.

**Containers.** Whatever holds a column or a table becomes one of a few forms, before its rows are read. These are an
array of NumPy, a list, a column or a table of pyarrow, codes with categories, and a data frame of pandas. Sets and
mappings have no order that two columns could share, so they are no columns. Nothing is imported to recognise the
columns of other libraries.

**Columns.** A column is read without a Python object per row where its memory allows: integers and booleans as they
are, categoricals by their codes, fixed-width text and floats by their bytes, what Arrow holds as `arrow` says. Lists
and object arrays are read object by object, because a conversion by NumPy would turn mixed labels into text. Nothing is
imported to recognise pandas, Arrow or torch.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import accumulate, compress, pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.confusion.kernels import (
    codes_that_occur,
    count_codes,
    count_integers,
    encode_bytes,
    encode_near,
    encode_objects,
)
from stream_metrics.errors import LabelError, WeightError
from stream_metrics.inputs import arrow
from stream_metrics.inputs.arrow import COLUMNS, LABELS, Array, Values, native, tensor_to_numpy
from stream_metrics.labels import Label, canonical
from stream_metrics.labels.label import LONGEST


def as_container(values: Any, argument: str) -> Any:
    """Return a column or a table in a form that can be read more than once; those forms are returned as they are.

    Raises the error of the argument for what is no column: text, a single value, a set or a mapping.
    """
    if type(values) is list:
        return values
    if type(values) is np.ndarray and values.ndim:
        return native(values)
    data = arrow.as_pyarrow(values)
    if data is not None:
        return arrow.rows(data, argument) if str(getattr(data, "type", "")).startswith(arrow.ROW_BY_ROW) else data
    values = _plain_pandas(tensor_to_numpy(values, argument))
    unordered = isinstance(values, str | bytes | bytearray | Set | Mapping)
    has_rows = isinstance(values, Iterable) or hasattr(values, "__array__")
    if unordered or getattr(values, "shape", None) == () or not has_rows:
        error, what = COLUMNS.get(argument, LABELS)
        raise error(argument=argument, expected=f"to be {what}", got=values)
    if hasattr(values, "mask") and hasattr(values, "filled"):
        if values.ndim == 2 and values.dtype.kind in "iufb":
            return values.astype(np.float64).filled(np.nan)
        return list(values) if values.dtype.kind in "mM" else values.tolist()
    if is_coded(values) or hasattr(values, "iloc"):
        return values
    if hasattr(values, "__arrow_c_stream__") and hasattr(values, "to_list"):  # of polars, which NumPy may round
        return values.to_list()
    if hasattr(values, "__array__") or isinstance(values, memoryview | array):
        return native(np.asarray(values))
    return list(values)


def is_coded(values: object) -> bool:
    """Tell whether a column is codes and the names that they stand for."""
    return hasattr(values, "codes") and hasattr(values, "categories") and not hasattr(values, "iloc")


def is_table(values: object) -> bool:
    """Tell whether it is a data frame of pandas or a table of Arrow."""
    return hasattr(values, "column_names") or (hasattr(values, "iloc") and hasattr(values, "columns"))


def row_objects(column: Any, argument: str = "y_pred") -> list[Any]:
    """Return the rows of a column that `as_container` returned as objects."""
    if arrow.is_pyarrow(column):
        return arrow.rows(column, argument)
    if is_coded(column):
        names, codes = list(column.categories), np.asarray(column.codes)
        for code in {int(codes.min()), int(codes.max())} if len(codes) else ():
            if not -1 <= code < len(names):
                raise LabelError(argument="codes", expected=f"to be from -1 to {len(names) - 1}", got=code)
        return [None if code == -1 else names[code] for code in codes.tolist()]
    if isinstance(column, np.ndarray) and column.dtype.kind in "mM":
        return list(column)  # some units would be numbers
    return list(column.tolist() if hasattr(column, "tolist") else column)


def _plain_pandas(values: Any) -> Any:
    """Return a Series as the array in it, and one with gaps as objects: NumPy would make nan or floats of them."""
    dtype = getattr(values, "dtype", None)
    masked = type(getattr(dtype, "na_value", None)).__name__ == "NAType"
    if masked and getattr(dtype, "kind", "O") in "iufb" and values.isna().any():
        return values.to_numpy(dtype=object)
    if hasattr(dtype, "storage") and values.isna().any():  # text, whose gaps may be nan
        return values.to_numpy(dtype=object, na_value=None)
    return values.array if hasattr(values, "iloc") and hasattr(values, "array") else values


Namer: TypeAlias = Callable[[Mapping[Any, Any], int], Mapping[Any, Any]]  # the scores of a row by class

SHORTEST = 2**14  # rows of a piece that is worth being counted by itself, on average
LENGTH = 2**18  # rows of a piece of two types, of which one is converted while it is in the cache
LARGEST = 2**14  # cells of the counts of pieces
CLOSE = 2**16  # integers stand for themselves if they lie so close together and all of them occur


class Categorical(NamedTuple):
    """A column of labels as integer codes and the labels that they stand for; code -1 is a missing label.

    Parameters
    ----------
    codes : array-like of int of shape (n,)
        The code of each row.
    categories : sequence of Label
        The label of each code.

    Notes
    -----
    For columns that are categorical already, without pandas or Arrow, which have such columns themselves.

    Examples
    --------
    >>> from stream_metrics import Accuracy, Categorical
    >>> metric = Accuracy()
    >>> metric.update_many(Categorical([0, 1, 1], ["cat", "dog"]), ["cat", "dog", "cat"])
    >>> round(metric.get(), 4)
    0.6667
    """

    codes: Sequence[int] | Array
    categories: Sequence[Label] | Array


class Column:
    """Integers, one a row, and what they stand for: names by position, or themselves if `names` is None."""

    __slots__ = ("n", "names", "parts")

    def __init__(self, values: Array | list[Array], names: list[Label] | None) -> None:
        """Hold the integers, which may come in several arrays of one type."""
        self.parts, self.names = values if isinstance(values, list) else [values], names
        self.n = sum(map(len, self.parts))

    @property
    def values(self) -> Array:
        """The integers as one array; they are joined when this is first read."""
        if len(self.parts) != 1:
            self.parts = [np.concatenate(self.parts) if self.parts else np.empty(0, np.int8)]
        return self.parts[0]

    def take(self, rows: Array) -> Column:
        """Return some rows, given by their positions or by a mask; of many names only those that occur."""
        values = self.values[rows]
        if self.names is None or len(self.names) <= 32 + 2 * len(values):
            return Column(values, self.names)
        used, codes = np.unique(values, return_inverse=True)
        missing = int(len(used) > 0 and used[0] < 0)
        names = self.names
        return Column(codes.astype(np.int32) - missing, [names[code] for code in used[missing:].tolist()])

    def objects(self, rows: slice = slice(None)) -> list[Any]:
        """Return the labels of rows; None for a missing one."""
        return self.labels(self.values[rows].tolist())

    def labels(self, values: list[int]) -> list[Any]:
        """Return what stands behind integers of this column, read as signed; None for a missing label."""
        if self.names is not None:
            names = self.names
            return [None if code < 0 else names[code] for code in values]
        dtype = self.parts[0].dtype
        return [value % (1 << 8 * dtype.itemsize) for value in values] if dtype.kind == "u" else values

    def positions(self, classes: Sequence[Label]) -> NDArray[np.int32]:
        """Return for each row the position of its label among `classes`, or -1."""
        place = {label: i for i, label in enumerate(classes)}
        if self.names is None and self.n:
            low, high = int(self.values.min()), int(self.values.max())
            if high - low < 256 + self.n and high < 2**63:
                table = np.array([place.get(label, -1) for label in range(low, high + 1)], np.int32)
                return np.asarray(table[np.subtract(self.values, low, dtype=np.intp, casting="unsafe")])
        codes, labels = factorize(self)
        return np.asarray(np.array([place.get(label, -1) for label in labels], np.int32)[codes])


def row_count(column: Any) -> int:
    """Return the number of rows of a `Column` or of a container that `as_container` returned."""
    return column.n if isinstance(column, Column) else len(column.codes if is_coded(column) else column)


def take_rows(column: Any, rows: Array | slice) -> Any:
    """Return rows of a `Column` or of a container that `as_container` returned, by their positions or by a mask."""
    mask = not isinstance(rows, slice) and rows.dtype == bool
    if isinstance(column, list):
        if isinstance(rows, slice):
            return column[rows]
        return [*compress(column, rows.tolist())] if mask else [column[row] for row in rows.tolist()]
    if is_coded(column):
        return Categorical(np.asarray(column.codes)[rows], column.categories)
    if hasattr(column, "iloc"):
        return column.iloc[rows]
    whole = isinstance(column, np.ndarray) or (isinstance(rows, slice) and arrow.is_pyarrow(column))
    if whole:
        return column[rows]
    return column.filter(rows) if mask and arrow.is_pyarrow(column) else column.take(rows)


class PairCounts(NamedTuple):
    """Counted pairs: labels by code, cells of codes, appearances of codes, and numbers of samples.

    `weighted` of the `n` samples have a weight other than 1; `abstained` are not among them.
    """

    truth: list[Label]
    predicted: list[Label]
    cells: tuple[Array, Array, Array, Array | None]
    seen: tuple[Array, Array]
    n: int
    abstained: int
    weighted: int


def as_column(values: object, argument: str, may_abstain: bool, named: Namer | None = None) -> Column:
    """Return the column that `values` is or holds; LabelError names argument and position of an invalid label.

    Predictions that are mappings become their largest label, after `named` has returned those of a row by class.
    """
    if isinstance(values, Column):
        return values
    if type(values) is np.ndarray and values.ndim == 1:
        return _from_array(np.ascontiguousarray(native(values)), argument, may_abstain, named)
    rows = as_container(values, argument)
    if is_coded(rows):
        return _from_codes(rows, argument, may_abstain, named)
    if is_table(rows):
        hint = "; did you mean `scores=`?" if may_abstain else ""
        raise LabelError(argument=argument, expected="to be a column of labels", but=f"got a table{hint}")
    if arrow.is_pyarrow(rows):
        rows = arrow.labels(rows, argument)
        if isinstance(rows, tuple):
            return Column(*rows)
    if isinstance(rows, list):
        rows = list(rows) if rows is values else rows  # reading a label may change the caller's list
        return Column(*encode_objects(rows, argument, may_abstain, named))
    if rows.ndim != 1:
        hint = "; did you mean `scores=`?" if rows.ndim == 2 and rows.dtype.kind == "f" and may_abstain else ""
        if rows.ndim == 2 and not may_abstain:
            hint = "; did you mean MultiLabel?"
        but = f"got the shape {rows.shape}{hint}"
        raise LabelError(argument=argument, expected="to have one dimension", but=but)
    return _from_array(np.ascontiguousarray(rows), argument, may_abstain, named)


def _from_codes(column: Any, argument: str, may_abstain: bool, named: Namer | None) -> Column:
    codes, names = np.asarray(column.codes), row_objects(as_container(column.categories, "categories"))
    if codes.ndim != 1 or (len(codes) and codes.dtype.kind not in "iu"):
        subject = f"the codes of `{argument}`"
        raise LabelError(argument=argument, subject=subject, expected="to be a column of integers", got=codes)
    if codes.dtype.kind == "u" and len(codes) and codes.max() >= len(names):
        raise _bad_code(codes, names, int(codes.max()), argument)
    try:
        names = [canonical(name) for name in names]
    except LabelError:  # which no row may have
        for code in {int(codes.min()), int(codes.max())} if len(codes) else ():
            if not -1 <= code < len(names):
                raise _bad_code(codes, names, code, argument) from None
        return Column(*encode_objects(row_objects(column), argument, may_abstain, named))
    if codes.dtype.kind == "i":
        return Column(np.ascontiguousarray(codes, codes.dtype.newbyteorder("=")), names)
    return Column(codes.astype(np.int32), names)


def check_codes(c: Column, seen: Iterable[int], argument: str, may_abstain: bool) -> None:
    """Raise LabelError for the first of the codes `seen` in a column that stands for no label."""
    if c.names is not None:
        for code in seen:
            if not -may_abstain <= code < len(c.names):
                raise _bad_code(c.values, c.names, code, argument)


def check_column(c: Column, argument: str, may_abstain: bool) -> None:
    """Raise LabelError for the first row of a column whose code stands for no label."""
    if c.names is not None and c.n:
        check_codes(c, (int(c.values.min()), int(c.values.max())), argument, may_abstain)


def checked_column(
    values: object, argument: str, may_abstain: bool = False, rows: int | None = None, named: Namer | None = None
) -> Column:
    """Return the column of labels that `values` is or holds, every row checked; there must be so many `rows`."""
    c = as_column(values, argument, may_abstain, named)
    if rows is not None and c.n != rows:
        raise LabelError(argument=argument, expected=f"to have as many rows as `y_true`, {rows}", got=c.n)
    check_column(c, argument, may_abstain)
    return c


def admit_labels(admit: Callable[..., Label], labels: list[Label], column: Column, argument: str) -> list[Label]:
    """Return the labels under which a state counts those of a column, or name the first row that it refuses."""
    try:
        return [admit(label, argument) for label in labels]
    except LabelError:
        for position, label in enumerate(column.objects()):
            if label is not None:
                admit(label, argument, position)
        raise


def _bad_code(codes: Array, names: list[Label], code: int, argument: str) -> LabelError:
    at = int(np.flatnonzero(codes == code)[0])
    if code == -1:
        return LabelError(argument=argument, position=at, expected="to be a label", but="it is missing")
    subject = f"the codes of `{argument}`"
    expected = f"from -1 to {len(names) - 1}"
    return LabelError(argument=argument, position=at, subject=subject, expected=expected, got=code, position_last=True)


def _from_array(array: Array, argument: str, may_abstain: bool, named: Namer | None = None) -> Column:
    kind = array.dtype.kind
    if kind in "iu":
        return Column(array.astype(array.dtype.newbyteorder("="), copy=False), None)
    if kind == "b":
        return Column((array.view(np.uint8) != 0).view(np.int8), [False, True])  # a byte may be neither 0 nor 1
    if kind == "f":
        array = array.astype(np.float64) + 0.0  # -0.0 becomes 0.0
        bad = np.flatnonzero(np.isinf(array) if may_abstain else ~np.isfinite(array))
        if len(bad):
            canonical(array[bad[0]].item(), argument, int(bad[0]))
    if kind in "fUS" and len(array) and 0 < array.itemsize <= LONGEST:
        codes, firsts = encode_bytes(array.view(np.uint8).reshape(len(array), -1))
        names = array[firsts].tolist()
        if kind == "f" and any(map(math.isnan, names)):  # abstentions: labels joined by pandas come as such
            numbers = np.cumsum([name == name for name in names], dtype=np.int32) - 1
            numbers[np.isnan(array[firsts])] = -1
            codes, names = numbers[codes], [name for name in names if name == name]
        return Column(codes, names)
    times = kind in "mM"  # in a list of Python objects some units would be numbers
    return Column(*encode_objects(list(array) if times else array.tolist(), argument, may_abstain, named))


def count_pairs(
    t: Column, p: Column, wholes: Array | None = None, parts: Array | None = None, samples: Array | None = None
) -> PairCounts:
    """Count the pairs of two columns of labels, with weights or without, and touch no state.

    A row is one sample, or as many as `samples` says; its weight is then that of all of them.
    """
    n = t.n
    if p.n != n:
        raise LabelError(argument="y_pred", expected=f"to have as many rows as `y_true`, {n}", got=p.n)
    if wholes is None and samples is None and n:
        counted = _in_pieces(t.parts, p.parts) if n >= 2 * SHORTEST else None
        counted = counted or count_integers(*_alike(t.values, p.values))
        if counted is not None:
            return _from_table(t, p, n, *counted)
    check_column(t, "y_true", False)
    check_column(p, "y_pred", True)
    t_codes, t_low, t_labels = _numbered(t)
    p_codes, p_low, p_labels = _numbered(p)
    sizes = len(t_labels), len(p_labels)
    codes = _alike(t_codes, p_codes)
    cells, seen, abstained, weighted = count_codes(*codes, *sizes, wholes, parts, samples, t_low, p_low)
    total = n if samples is None else int(samples.sum())
    return PairCounts(t_labels, p_labels, cells, seen, total - abstained, abstained, weighted)


def _from_table(t: Column, p: Column, n: int, low: int, table: Array) -> PairCounts:
    """Turn a table of counts of integers into counts of labels."""
    missing = -1 - low if p.names is not None and low < 0 else None  # where code -1 is
    abstained = 0
    a = np.flatnonzero(table.any(axis=1))  # those of abstentions too: they must be labels that are allowed
    check_codes(t, (a + low).tolist(), "y_true", False)
    check_codes(p, (np.flatnonzero(table.any(axis=0)) + low).tolist(), "y_pred", True)
    if missing is not None:
        abstained = int(table[:, missing].sum())
        table[:, missing] = 0
    b = np.flatnonzero(table.any(axis=0))
    table = table[np.ix_(a, b)]
    rows, columns = np.nonzero(table)
    cells, seen = (rows, columns, table[rows, columns], None), (table.sum(axis=1), table.sum(axis=0))
    true, predicted = t.labels((a + low).tolist()), p.labels((b + low).tolist())
    return PairCounts(true, predicted, cells, seen, n - abstained, abstained, 0)


def _in_pieces(t: list[Array], p: list[Array]) -> tuple[int, Array] | None:
    """Count as `count_integers` does, each piece of two columns where it lies.

    None if they are in one piece and of one type, in too many pieces, or their integers too far apart.
    """
    sides = [(arrays, [0, *accumulate(map(len, arrays))]) for arrays in (t, p)]
    short = range(0, sides[0][1][-1], LENGTH) if t[0].dtype != p[0].dtype else ()
    edges = sorted({*sides[0][1], *sides[1][1], *short})
    if len(edges) == 2 or edges[-1] < SHORTEST * len(edges):
        return None
    counted: list[tuple[int, Array]] = []
    for low, high in pairwise(edges):
        places = [(arrays, starts, bisect_right(starts, low) - 1) for arrays, starts in sides]
        a, b = (arrays[at][low - starts[at] : high - starts[at]] for arrays, starts, at in places)
        piece = count_integers(*_alike(a, b))
        if piece is None or piece[1].size > LARGEST:
            return None
        counted.append(piece)
    first, end = min(low for low, _ in counted), max(low + len(table) for low, table in counted)
    if (end - first) ** 2 > LARGEST:
        return None
    total = np.zeros((end - first, end - first), np.int64)
    for low, table in counted:
        place = slice(low - first, low - first + len(table))
        total[place, place] += table
    return first, total


def _alike(t: Array, p: Array) -> tuple[Array, Array]:
    """Return both arrays as signed integers of one width; unsigned ones keep their bits."""
    if t.dtype != p.dtype and (t.dtype.kind != p.dtype.kind or t.itemsize != p.itemsize):
        both = np.result_type(t, p)
        both = both if both.kind in "iu" else np.dtype(np.int64)
        t, p = t.astype(both), p.astype(both)
    signed = np.dtype(f"i{t.itemsize}")
    return t.view(signed), p.view(signed)


def _numbered(c: Column) -> tuple[Array, int, list[Label]]:
    """Return a column as signed integers, the one that stands for the first name, and the names, all of which occur."""
    if c.names is None and c.n:
        low, high = int(c.values.min()), int(c.values.max())
        signed = np.dtype(f"i{c.values.itemsize}")
        if high - low < min(CLOSE, c.n) and high <= np.iinfo(signed).max:
            values = c.values.view(signed)
            if codes_that_occur(values, low, high - low + 1)[:-1].all():
                return values, low, list(range(low, high + 1))
    codes, names = factorize(c)
    return codes, 0, names


def factorize(c: Column) -> tuple[Array, list[Label]]:
    """Return a column as int32 codes and the names that occur."""
    if c.names is not None:
        codes = c.values.astype(np.int32, copy=False)
        occurs = codes_that_occur(codes, 0, len(c.names))
        if occurs[:-1].all():
            return codes, c.names
        renumbered = np.where(occurs, np.cumsum(occurs) - 1, -1).astype(np.int32)
        renumbered[-1] = -1
        return renumbered[codes], [name for name, used in zip(c.names, occurs[:-1].tolist(), strict=True) if used]
    if not len(c.values):
        return np.empty(0, np.int32), []
    low, high = int(c.values.min()), int(c.values.max())
    if high - low < len(c.values) and high < 2**63:
        codes, firsts = encode_near(np.ascontiguousarray(c.values, np.int64), low, high - low + 1)
    else:
        codes, firsts = encode_bytes(c.values.view(np.uint8).reshape(len(c.values), -1))
    return codes, c.values[firsts].tolist()


def read_weights(w: object, n: int, argument: str = "w") -> Array | list[float]:
    """Return the weights of n rows as int64, as float64, or as a list; WeightError if they are no n numbers."""
    weights = read_numbers(w, argument)
    shape = (len(weights),) if isinstance(weights, list) else weights.shape
    if shape != (n,):
        what = COLUMNS[argument][1].removeprefix("a column of ")
        raise WeightError(argument=argument, expected=f"to be a column of {n} {what}", but=f"got the shape {shape}")
    if isinstance(weights, list):
        return weights
    if weights.dtype.kind == "u" and weights.itemsize == 8 and n and weights.max() >= 2**63:
        largest = int(weights.argmax())
        raise WeightError(argument=argument, position=largest, expected="to be below 2**63", got=int(weights[largest]))
    return np.ascontiguousarray(weights, np.float64 if weights.dtype.kind == "f" else np.int64)


def read_numbers(values: object, argument: str) -> Values:
    """Return a column of numbers, or if `argument` is "t" of times, as an array; as a list if some may be neither."""
    rows = as_container(values, argument)
    if is_table(rows):
        error, what = COLUMNS[argument]
        raise error(argument=argument, expected=f"to be {what}", but="got a table")
    if arrow.is_pyarrow(rows):
        rows = arrow.numbers(rows, argument)
    typed = isinstance(rows, np.ndarray) and rows.dtype.kind in ("iufbM" if argument == "t" else "iufb")
    return rows if typed else row_objects(rows)
