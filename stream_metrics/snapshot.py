"""A frozen view of one confusion matrix: every metric of the catalogue, computed when it is asked for.

A snapshot holds its own copy of the counters, so later updates do not move it. Values are computed on first access
and kept. No formula stands here: each value comes from `catalog.evaluate`.

**Which keys.** `keys` (by default, the default rows of the catalogue) decide what iteration, `in`, `undefined`,
`to_dict` and the report contain. `snapshot[key]` answers every other row of the catalogue as well: the counters are
there, so refusing would only cost the caller a second snapshot.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from stream_metrics.catalog import CATALOG, checked_zero_division, evaluate, find
from stream_metrics.formulas.frozen import FrozenCounts
from stream_metrics.formulas.protocol import Counts
from stream_metrics.jsonable import label_names, without_nan

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]

    from stream_metrics.labels import Label

__all__ = ["Estimate", "Snapshot"]

DEFAULT = tuple(key for key, row in CATALOG.items() if row.default)
LABEL_VALUED = frozenset({"majority_class"})  # keys whose value is a label, not a number
MATRIX_LIMIT = 4096  # classes; beyond, K x K tables are refused and the matrix is written cell by cell


class Estimate(NamedTuple):
    """A value with the interval that contains it: `low <= value <= high`, standard error `se`.

    `kind` is "exact" where the value is a function of exact counters; then `low == value == high` and `se == 0.0`.
    """

    value: Any
    low: Any
    high: Any
    se: float
    kind: str


class Counted(Counts, Protocol):
    """What a snapshot is taken of: counts that know how many samples they come from."""

    @property
    def n(self) -> int:
        """The number of samples."""

    @property
    def weight(self) -> int | float:
        """The sum of the weights."""

    @property
    def abstained(self) -> int:
        """The number of samples without a prediction."""


class Snapshot:
    """The metrics of a confusion matrix at one moment.

    `snapshot[key]` is a whole-matrix value, `snapshot.per_class[key][label]` the value of one class.
    `zero_division` (0.0, 1.0 or nan) stands for values that are 0/0; without it, the number that the catalogue has for
    each metric, which is 0.0, and nan for losses. `undefined` lists the values that were replaced.
    Memory: the counters, plus each value once it was asked for.
    """

    __slots__ = ("_cache", "_counts", "_keys", "_state", "_tables", "_zero_division")

    def __init__(
        self, counts: Counted, *, keys: Sequence[str] | None = None, zero_division: float | None = None
    ) -> None:
        """Take over `counts`, which nobody else may change from now on."""
        self._state = counts
        self._counts = FrozenCounts(counts)
        self._keys = DEFAULT if keys is None else tuple(dict.fromkeys(find(key).key for key in keys))
        self._zero_division = None if zero_division is None else checked_zero_division(zero_division)
        self._cache: dict[str, tuple[Any, Any]] = {}
        self._tables: dict[str, dict[Label, float]] = {}

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes, in the order of report; rows and columns of the matrix follow it."""
        labels: tuple[Label, ...] = self._counts.labels
        return labels

    @property
    def n(self) -> int:
        """Number of samples counted, abstentions not included."""
        return self._state.n

    @property
    def weight(self) -> int | float:
        """Sum of the sample weights; equals `n` where no weights were given."""
        return self._state.weight

    @property
    def abstained(self) -> int:
        """Number of samples without a prediction; they are in no metric."""
        return self._state.abstained

    @property
    def confusion_matrix(self) -> np.ndarray[Any, Any]:
        """Counts by true class (rows) and predicted class (columns), read-only; `ValueError` above 4096 classes."""
        if "" not in self._cache:
            self._cache[""] = _frozen(self._counts.matrix), False
        matrix: np.ndarray[Any, Any] = self._cache[""][0]
        return matrix

    def __getitem__(self, key: str) -> Any:
        """Return the value of a whole-matrix key, or the K x K array of a matrix key."""
        if find(key).kind == "per_class":
            raise KeyError(f"Expected a whole-matrix key, but {key!r} is per class: snapshot.per_class[{key!r}][label]")
        return self._entry(key)[0]

    @property
    def per_class(self) -> Mapping[str, Mapping[Label, float]]:
        """The per-class values: key -> label -> float."""
        return _PerClass(self)

    def value(self, key: str, **options: Any) -> Any:
        """Return the value of `key` with the formula's options, such as `value("fbeta", beta=2.0)`; nothing is kept.

        A per-class key gives a dict from label to float.
        """
        row = find(key)
        value, _ = evaluate(row, self._counts, self._zero_division, **options)
        return dict(zip(self.labels, value.tolist(), strict=True)) if row.kind == "per_class" else value

    def estimate(self, key: str) -> Estimate:
        """Return the value of a whole-matrix key with its interval; one point, since counters are exact."""
        if find(key).kind == "matrix":
            raise KeyError(f"Expected a key with one value, but {key!r} is a matrix: snapshot[{key!r}]")
        value = self[key]
        return Estimate(value, value, value, 0.0, "exact")

    @property
    def undefined(self) -> tuple[str | tuple[str, Label], ...]:
        """The chosen values that are 0/0 and were replaced by `zero_division`: "key", or ("key", label)."""
        found: list[str | tuple[str, Label]] = []
        for key in self._computable():
            _, undefined = self._entry(key)
            found += [key] if undefined is True else [(key, label) for label in undefined or ()]
        return tuple(found)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the chosen whole-matrix keys."""
        return (key for key in self._keys if CATALOG[key].kind == "whole")

    def __contains__(self, key: object) -> bool:
        """Tell whether `key` is one of the chosen whole-matrix keys."""
        return key in self._keys and CATALOG[str(key)].kind == "whole"

    def __len__(self) -> int:
        """Number of chosen whole-matrix keys."""
        return sum(1 for _ in self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python types; labels appear under their JSON names (see `jsonable`).

        `confusion_matrix` is a list of rows, or above 4096 classes {rows, columns, values} of the cells that are not
        zero. `omitted` lists the keys refused because of the number of classes.
        """
        names = label_names(self.labels)
        name: dict[Any, str] = dict(zip(self.labels, names, strict=True))
        values: dict[str, dict[str, Any]] = {"whole": {}, "per_class": {}, "matrix": {}}
        undefined: list[Any] = []
        computable = self._computable()
        for key in computable:
            value, lost = self._entry(key)
            kind = CATALOG[key].kind
            if kind == "per_class":
                value = dict(zip(names, value.tolist()))  # noqa: B905  (strict costs a tenth of all)
            elif kind == "matrix":
                value = value.tolist()
            elif key in LABEL_VALUED:
                value = name.get(value)
            values[kind][key] = value
            if lost:
                undefined += [key] if lost is True else [[key, name[label]] for label in lost]
        return {
            "n": self.n,
            "weight": self.weight,
            "abstained": self.abstained,
            "labels": names,
            "confusion_matrix": self._matrix_data(),
            "metrics": values["whole"],
            "per_class": values["per_class"],
            "matrices": values["matrix"],
            "undefined": undefined,
            "omitted": [key for key in self._keys if key not in computable] if computable != self._keys else [],
        }

    def to_json(self, indent: int | None = None) -> str:
        """Return `to_dict()` as JSON text; nan becomes null."""
        data = self.to_dict()
        try:
            return json.dumps(data, indent=indent, allow_nan=False)
        except ValueError:
            return json.dumps(without_nan(data), indent=indent, allow_nan=False)

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas table: one row per class, one column per chosen per-class key."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame() needs pandas: pip install pandas") from error
        index = pd.Index(list(self.labels), dtype=object, tupleize_cols=False, name="label")
        columns = {key: self._entry(key)[0] for key in self._keys if CATALOG[key].kind == "per_class"}
        return pd.DataFrame(columns, index=index)

    def report(self, width: int | None = None) -> str:
        """Return the text report at `width` columns (at least 40); without it, at the width of the terminal."""
        from stream_metrics.report import report

        return report(self, width)

    def __str__(self) -> str:
        """Return the text report at the width of the terminal."""
        return self.report()

    def _repr_html_(self) -> str:
        """Return the report as HTML for notebooks."""
        from stream_metrics.report import html

        return html(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the counters and the choices, not the values."""
        return _restore, (self._state, self._keys, self._zero_division)

    def __repr__(self) -> str:
        """Return one line: size and accuracy."""
        accuracy = f", accuracy={self['accuracy']:.6g}" if "accuracy" in self and self._counts.total else ""
        return f"<Snapshot n={self.n}, classes={self._counts.k}{accuracy}>"

    def _entry(self, key: str) -> tuple[Any, Any]:
        """Return (value, undefined) of a key as `evaluate` gives them, from the cache after the first time."""
        entry = self._cache.get(key)
        if entry is None:
            row = find(key)
            value, undefined = evaluate(row, self._counts, self._zero_division)
            entry = self._cache[key] = (value if row.kind == "whole" else _frozen(value)), undefined
        return entry

    def _table(self, key: str) -> Mapping[Label, float]:
        if key not in self._tables:
            self._tables[key] = dict(zip(self.labels, self._entry(key)[0].tolist(), strict=True))
        return MappingProxyType(self._tables[key])

    def _computable(self) -> tuple[str, ...]:
        if self._counts.k <= MATRIX_LIMIT:
            return self._keys
        return tuple(key for key in self._keys if not CATALOG[key].quadratic)

    def _matrix_data(self) -> Any:
        if self._counts.k <= MATRIX_LIMIT:
            return self.confusion_matrix.tolist()
        rows, columns, values = self._counts.cells()
        return {"rows": rows.tolist(), "columns": columns.tolist(), "values": values.tolist()}


class _PerClass(Mapping[str, Mapping["Label", float]]):
    """The per-class half of a snapshot, read-only."""

    __slots__ = ("_snapshot",)

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def __getitem__(self, key: str) -> Mapping[Label, float]:
        if find(key).kind != "per_class":
            raise KeyError(f"Expected a per-class key, but {key!r} is not: snapshot[{key!r}]")
        return self._snapshot._table(key)

    def __contains__(self, key: object) -> bool:
        return key in self._snapshot._keys and CATALOG[str(key)].kind == "per_class"

    def __iter__(self) -> Iterator[str]:
        return (key for key in self._snapshot._keys if CATALOG[key].kind == "per_class")

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _restore(counts: Counted, keys: tuple[str, ...], zero_division: float | None) -> Snapshot:
    return Snapshot(counts, keys=keys, zero_division=zero_division)


def _frozen(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array.setflags(write=False)
    return array
