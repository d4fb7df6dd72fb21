"""The confusion matrix in plain Python: a dict of exact numbers, every reading taken the straightforward way.

It is the specification of `stream_metrics.ConfusionMatrix` and what the kernel is tested against, never a fallback. It
shares no code with the package but the errors that it raises.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from stream_metrics.errors import LabelError, MergeError, ScoreError, WeightError

UNIT = 2**64  # a weight is a whole number of 1/UNIT
FORMS = (bool, int, float)  # from narrow to wide
LARGEST = 2**63 - 1


def canonical(value: Any) -> Any:
    """Return the plain Python label that `value` stands for; LabelError if it is none."""
    if getattr(value, "shape", None) == ():
        value = value.item()
    for kind in (bool, int, str, bytes):
        if isinstance(value, kind):
            return kind(value) if kind is not str else str.__str__(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value) + 0.0
    if isinstance(value, tuple):
        items = [canonical(item) for item in value]
        return tuple(int(x) if isinstance(x, bool | float) and x == int(x) else x for x in items)
    raise LabelError(f"{value!r} is no label")


def sort_key(label: Any) -> tuple[Any, ...]:
    """Return a key for canonical order: numbers by value, then str, bytes, tuples item by item."""
    if isinstance(label, tuple):
        return 3, [sort_key(item) for item in label]
    return next(place for place, kind in enumerate([(int, float), str, bytes]) if isinstance(label, kind)), label


def argmax(scores: Mapping[Any, Any]) -> Any:
    """Return the label with the largest score, the first in canonical order among equals."""
    labels = [canonical(key) for key in scores]
    values = list(scores.values())
    for value in values:
        if not isinstance(value, int | float | np.generic) or not math.isfinite(value):
            raise ScoreError(f"{value!r} is no score")
    best = max(values)
    return min((label for label, value in zip(labels, values, strict=True) if value == best), key=sort_key)


def exact_weight(w: Any) -> int | Fraction:
    """Return a weight as a whole number of 1/UNIT, rounded half to even; WeightError if it is none."""
    try:
        value = Fraction(int(w)) if hasattr(w, "__index__") else Fraction(w.__float__())
    except (AttributeError, TypeError, ValueError, OverflowError):
        raise WeightError(f"{w!r} is no weight") from None
    if not 0 <= value < LARGEST - 1023:
        raise WeightError(f"{w!r} is out of range")
    return narrow(Fraction(round(value * UNIT), UNIT))


def narrow(x: int | Fraction) -> int | Fraction:
    """Return a whole number as int."""
    return int(x) if x == int(x) else x


class Oracle:
    """Exact weights by (true label, predicted label)."""

    def __init__(self, labels: Iterable[Any] | None = None, other: Any = None) -> None:
        if isinstance(labels, str | bytes):
            raise LabelError("`labels` is one label")
        self.fixed_labels = None if labels is None else tuple(canonical(label) for label in labels)
        self.other = None if other is None else canonical(other)
        if self.other is not None and self.fixed_labels is None:
            raise LabelError("`other` needs `labels`")
        if self.fixed_labels is not None and len(set(self.fixed_labels)) < len(self.fixed_labels):
            raise LabelError("`labels` has a label twice")
        self.reset()

    def reset(self) -> None:
        """Forget every sample."""
        self.table: dict[tuple[Any, Any], int | Fraction] = {}  # no zeros
        self.forms: dict[Any, list[int]] = {}
        self.n = self.abstained = 0

    @classmethod
    def from_matrix(cls, matrix: Any, labels: Iterable[Any] | None = None) -> Oracle:
        """Return the state of a square matrix with those labels; a whole cell is that many samples, another is one."""
        rows = [list(row) for row in matrix]
        state = cls(range(len(rows)) if labels is None else labels)
        for true, row in zip(state.fixed_labels, rows, strict=True):
            for predicted, w in zip(state.fixed_labels, row, strict=True):
                weight = exact_weight(w)
                state._add({(true, predicted): weight})
                state.n += weight if isinstance(weight, int) else 1
        return state

    # ---- counting

    def _resolve(self, y_true: Any, y_pred: Any) -> tuple[Any, Any]:
        true = self._admit(y_true)
        missing = isinstance(y_pred, float) and y_pred != y_pred
        if y_pred is None or missing or (isinstance(y_pred, Mapping) and not y_pred):
            return true, None
        return true, self._admit(argmax(y_pred) if isinstance(y_pred, Mapping) else y_pred)

    def _admit(self, label: Any) -> Any:
        label = canonical(label)
        if self.fixed_labels is not None and label in self.fixed_labels:
            return label
        named = [*(self.fixed_labels or ()), self.other]
        if isinstance(label, float) and label % 1 and not any(isinstance(x, float) and x % 1 for x in named):
            raise LabelError(f"{label!r} is a number with a fraction")
        if self.fixed_labels is None:
            return label
        if self.other is None:
            raise LabelError(f"{label!r} is not one of {self.fixed_labels}")
        return self.other

    def _add(self, cells: Mapping[tuple[Any, Any], int | Fraction], sign: int = 1) -> None:
        if sign > 0 and int(sum(cells.values())) + int(self.total) >= LARGEST:
            raise WeightError("the sum of all weights is too large")
        if sign < 0 and any(self.table.get(cell, 0) < w for cell, w in cells.items()):
            raise WeightError("more is taken away than was counted")
        for cell, w in cells.items():
            self.table[cell] = narrow(self.table.get(cell, 0) + sign * w)
            if not self.table[cell]:
                del self.table[cell]

    def _see(self, label: Any, count: int, form: int | None = None) -> None:
        """Count how often a number was seen as bool, int and float; a class without weight forgets it."""
        if not any(label in cell for cell in self.table):
            self.forms.pop(label, None)
        elif isinstance(label, int | float):
            seen = self.forms.setdefault(label, [0, 0, 0])
            start = FORMS.index(type(label)) if form is None else form
            for place in (start, (start + 1) % 3, (start + 2) % 3):
                step = max(count, -seen[place])
                seen[place] += step
                count -= step

    def update(self, y_true: Any, y_pred: Any, w: Any = 1) -> None:
        """Count one sample."""
        weight = exact_weight(w)
        true, predicted = self._resolve(y_true, y_pred)
        if predicted is None:
            self.abstained += 1
            return
        self._add({(true, predicted): weight})
        self.n += 1
        for label in (true, predicted):
            self._see(label, 1 if weight else 0)

    def update_many(self, y_true: Iterable[Any], y_pred: Iterable[Any], w: Iterable[Any] | None = None) -> None:
        """Count a batch, or nothing if a row is bad."""
        true, predicted = list(y_true), list(y_pred)
        twin = self.copy()
        for row in zip(true, predicted, [1] * len(true) if w is None else list(w), strict=True):
            twin.update(*row)
        self.__dict__ = twin.__dict__

    def revert(self, y_true: Any, y_pred: Any, w: Any = 1) -> None:
        """Undo one `update`."""
        weight = exact_weight(w)
        true, predicted = self._resolve(y_true, y_pred)
        if self.abstained < 1 if predicted is None else self.n < 1:
            raise WeightError("there was no such sample")
        if predicted is None:
            self.abstained -= 1
            return
        emptied = weight > 0 and self.table.get((true, predicted), 0) == weight
        if self.n - 1 < len(self.table) - emptied:
            raise WeightError("fewer samples than cells with a weight would be left")
        self._add({(true, predicted): weight}, -1)
        self.n -= 1
        for label in (true, predicted):
            self._see(label, -1 if weight else 0)

    def _combine(self, other: Oracle, sign: int) -> Oracle:
        if (self.fixed_labels, self.other) != (other.fixed_labels, other.other):
            raise MergeError("the configurations differ")
        theirs = other.copy()
        self._add(theirs.table, sign)
        self.n, self.abstained = self.n + sign * theirs.n, self.abstained + sign * theirs.abstained
        for label in {label for cell in theirs.table for label in cell}:
            for form, count in enumerate(theirs.forms.get(label, [0, 0, 0])):
                self._see(label, sign * count, form)
        return self

    def merge(self, other: Oracle) -> Oracle:
        """Add another state's counts to this one."""
        return self._combine(other, 1)

    def subtract(self, other: Oracle) -> Oracle:
        """Take another state's counts out of this one."""
        if self.n < other.n or self.abstained < other.abstained:
            raise WeightError("more is taken away than was counted")
        return self._combine(other, -1)

    def copy(self) -> Oracle:
        """Return an independent state with the same counts."""
        return copy.deepcopy(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Oracle) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    # ---- reading

    @property
    def _classes(self) -> list[Any]:
        """The classes as keys of the table, in the order of report."""
        fixed = list(self.fixed_labels or ())
        return fixed + sorted({label for cell in self.table for label in cell} - set(fixed), key=sort_key)

    @property
    def labels(self) -> tuple[Any, ...]:
        """The classes, numbers in the narrowest form seen unless they were fixed."""
        return tuple(label if label in (self.fixed_labels or ()) else self._shown(label) for label in self._classes)

    def _shown(self, label: Any) -> Any:
        forms = [kind for kind, count in zip(FORMS, self.forms.get(label, ()), strict=False) if count]
        return forms[0](label) if forms else label

    k = property(lambda self: len(self._classes))
    total = property(lambda self: narrow(sum(self.table.values())))
    hits = property(lambda self: narrow(sum(w for (true, predicted), w in self.table.items() if true == predicted)))
    weight = property(lambda self: self.total if isinstance(self.total, int) else float(self.total))
    correct = property(lambda self: self.hits if isinstance(self.hits, int) else float(self.hits))
    true_dot_true = property(lambda self: narrow(sum(t * t for _, t, _ in self._totals())))
    true_dot_predicted = property(lambda self: narrow(sum(t * p for _, t, p in self._totals())))
    unit = property(lambda self: 1 if all(isinstance(w, int) for w in self.table.values()) else UNIT)
    predicted_dot_predicted = property(lambda self: narrow(sum(p * p for _, _, p in self._totals())))
    diagonal = property(lambda self: self._array([d for d, _, _ in self._totals()]))
    true_totals = property(lambda self: self._array([t for _, t, _ in self._totals()]))
    predicted_totals = property(lambda self: self._array([p for _, _, p in self._totals()]))

    def _totals(self) -> list[tuple[Any, Any, Any]]:
        """Return diagonal, true total and predicted total of every class."""
        sums: dict[Any, list[Any]] = {label: [0, 0, 0] for label in self._classes}
        for (true, predicted), w in self.table.items():
            sums[true][1] += w
            sums[predicted][2] += w
            sums[true][0] += w if true == predicted else 0
        return [tuple(row) for row in sums.values()]  # type: ignore[misc]

    def _array(self, values: list[Any]) -> np.ndarray[Any, Any]:
        whole = all(isinstance(w, int) for w in self.table.values())
        array = np.array(values, np.int64) if whole else np.array([float(x) for x in values])
        array.flags.writeable = False
        return array

    def _entries(self) -> list[tuple[Any, ...]]:
        """Return rows, columns and exact values of the non-zero cells in row-major order."""
        place = {label: i for i, label in enumerate(self._classes)}
        entries = sorted((place[true], place[predicted], w) for (true, predicted), w in self.table.items())
        return list(zip(*entries, strict=True)) or [(), (), ()]

    def cells(self) -> tuple[Any, Any, Any]:
        """Return the non-zero cells and their values."""
        rows, columns, values = self._entries()
        return np.array(rows, np.int64), np.array(columns, np.int64), self._array(list(values))

    def unit_cells(self) -> tuple[Any, Any, list[int]]:
        """Return the non-zero cells, their values as whole numbers of 1 / `unit`."""
        rows, columns, values = self._entries()
        return np.array(rows, np.int64), np.array(columns, np.int64), [int(w * self.unit) for w in values]

    def unit_totals(self) -> tuple[list[int], list[int], list[int]]:
        """Return true totals, predicted totals and diagonal as whole numbers of 1 / `unit`."""
        rows = [(true, predicted, right) for right, true, predicted in self._totals()]
        return tuple([int(row[at] * self.unit) for row in rows] for at in range(3))  # type: ignore[return-value]

    @property
    def matrix(self) -> np.ndarray[Any, Any]:
        """The square matrix."""
        if self.k > 4096:
            raise ValueError("too many classes for a square matrix")
        rows, columns, values = self.cells()
        square = np.zeros((self.k, self.k), values.dtype)
        square[rows, columns] = values
        return square

    def _exact_ratios(self, numerator: Any, denominator: Any) -> list[Fraction | None]:
        total = self.total  # once, as it is a sum over all cells

        def form(factors: Any, row: Any) -> Fraction:
            return sum((Fraction(f) * part for f, part in zip(factors, (*row, total), strict=True)), Fraction())

        return [form(numerator, row) / form(denominator, row) if form(denominator, row) else None
                for row in self._totals()]  # fmt: skip

    def _ratios(self, numerator: Any, denominator: Any) -> np.ndarray[Any, Any]:
        """Return the ratio of two linear forms for every class, nan where the denominator is 0."""
        ratios = self._exact_ratios(numerator, denominator)
        return np.array([math.nan if x is None else float(x) for x in ratios], float)

    def _mean_ratio(self, numerator: Any, denominator: Any, undefined: float, by_support: bool = False) -> float:
        """Return the mean of these ratios, a 0/0 counted as `undefined` or, if that is nan, left out."""
        ratios = self._exact_ratios(numerator, denominator)
        weights = [t if by_support else 1 for _, t, _ in self._totals()]
        instead = [] if math.isnan(undefined) else [Fraction(undefined)]
        pairs = [
            (x, w) for ratio, w in zip(ratios, weights, strict=True) for x in (instead if ratio is None else [ratio])
        ]
        below = sum(w for _, w in pairs)
        return float(sum(x * w for x, w in pairs) / Fraction(below)) if below else math.nan

    def one_vs_rest(self, label: Any) -> Oracle:
        """Return the counts of `label`, class 0, against the rest, class 1."""
        label, table = canonical(label), Oracle(labels=(0, 1))
        for (true, predicted), w in self.table.items():
            table._add({(int(true != label), int(predicted != label)): w})
        return table
