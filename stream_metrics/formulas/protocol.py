"""What a formula reads: the exact counts of a confusion matrix, and what several formulas have in common.

The protocol is narrow on purpose. Sums over classes come as exact numbers (`total`, `hits`, the three inner
products), ratios per class come from linear forms (`_ratios`, `_mean_ratio`), and cells come sparse (`cells`), so that
a formula costs O(1), O(K) or O(non-zero cells) in every implementation.

Types are those of one matrix. The formulas also take counts of many matrices, whose numbers are arrays with one element
for each matrix, and arrays per class have the matrices first. They return such arrays then.

**Memoized counts.** A report evaluates a hundred formulas on the same counts. Most of that time would go into reading
the same totals, cells and pairs again, so `MemoizedCounts` stores each answer. A formula stays a pure function of
counts: it calls a `memoized` function, which looks the answer up if it is given `MemoizedCounts` and computes it
otherwise. Nothing is stored outside that object.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from stream_metrics.labels import Label

Exact: TypeAlias = int | Fraction
Form: TypeAlias = tuple[float, float, float, float]
Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
NumberOrArray: TypeAlias = Any  # a number, or an array of one for each matrix or class
Numbers: TypeAlias = NDArray[Any]  # int64, or float64 where a weight had a fraction; in units Python ints


class HasRatios(Protocol):
    """Anything with ratios per class: `Counts`, or tables of two classes."""

    def _ratios(self, numerator: Form, denominator: Form) -> Floats:
        """See `Counts._ratios`."""


class Counts(Protocol):
    """Weights by (true class, predicted class), rows true.

    A class is one of a fixed set, or one with a count. "Order of report" is the order of a fixed set, otherwise
    canonical. Exact numbers are Python ints, or Fractions once a weight had a fraction.
    """

    @property
    def k(self) -> int:
        """The number of classes."""

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes in the order of report."""

    @property
    def total(self) -> Exact:
        """N, the sum of all weights."""

    @property
    def hits(self) -> Exact:
        """c, the weight on the diagonal."""

    @property
    def true_dot_true(self) -> Exact:
        """sum t_k^2."""

    @property
    def true_dot_predicted(self) -> Exact:
        """sum t_k p_k."""

    @property
    def predicted_dot_predicted(self) -> Exact:
        """sum p_k^2."""

    @property
    def true_totals(self) -> Numbers:
        """t_k in the order of report."""

    @property
    def predicted_totals(self) -> Numbers:
        """p_k in the order of report."""

    @property
    def diagonal(self) -> Numbers:
        """C_kk in the order of report."""

    @property
    def unit(self) -> int:
        """How many units of `unit_totals` and `unit_cells` a weight of 1 is: 1, or 2^64 if a weight has a fraction."""

    def unit_totals(self) -> tuple[list[int], list[int], list[int]]:
        """Return t_k, p_k and C_kk in the order of report as whole numbers of 1 / `unit`, without rounding."""

    def unit_cells(self) -> tuple[NDArray[np.int64], NDArray[np.int64], list[int]]:
        """Return the non-zero cells as `cells`, their values as whole numbers of 1 / `unit`, without rounding."""

    @property
    def matrix(self) -> Numbers:
        """The square matrix in the order of report; `ValueError` above 4096 classes."""

    def cells(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Numbers]:
        """Return rows, columns and values of the non-zero cells in row-major order."""

    def _ratios(self, numerator: Form, denominator: Form) -> Floats:
        """Return numerator / denominator for every class, nan where the denominator is exactly 0.

        A form (a, b, c, d) stands for a*C_kk + b*t_k + c*p_k + d*N.
        """

    def _mean_ratio(self, numerator: Form, denominator: Form, undefined: float, by_support: bool = False) -> float:
        """Return the mean over the classes of ratios in [0, 1]; their order does not matter.

        A class whose denominator is 0 counts as `undefined`, or is left out if that is nan; nan if no class is left.
        With `by_support` the classes are weighted by t_k.
        """

    def one_vs_rest(self, label: Label) -> Counts:
        """Return the counts of two classes: `label` first, then everything else."""


class CountState(Counts, Protocol):
    """Counts that know how many samples they come from."""

    @property
    def n(self) -> int:
        """The number of samples."""

    @property
    def weight(self) -> int | float:
        """The sum of the weights."""

    @property
    def abstained(self) -> int:
        """The number of samples without a prediction."""


C = TypeVar("C")
T = TypeVar("T")


class MemoizedCounts:
    """A view of a state that reads every attribute at most once; the state must not change while the view is used."""

    def __init__(self, counts: Any) -> None:
        self._counts = counts
        self.memo: dict[object, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_counts":
            raise AttributeError(name)
        value = getattr(self._counts, name)
        self.__dict__[name] = value
        return value

    def cells(self) -> tuple[Integers, Integers, Numbers]:
        """Return the non-zero cells; see `Counts.cells`."""
        cells: tuple[Integers, Integers, Numbers] = self._counts.cells()
        self.__dict__["cells"] = lambda: cells
        return cells


def memo_of(counts: object) -> dict[object, Any]:
    """Return the dictionary in which results for these counts are stored; a new one for counts that may change."""
    return counts.memo if type(counts) is MemoizedCounts else {}


def memoized(compute: Callable[[C], T]) -> Callable[[C], T]:
    """Compute a function of counts once per `MemoizedCounts`."""

    def read(c: C) -> T:
        if type(c) is not MemoizedCounts:
            return compute(c)
        memo: dict[object, T] = c.memo  # type: ignore[attr-defined]
        if compute not in memo:
            memo[compute] = compute(c)
        return memo[compute]

    read.__doc__ = compute.__doc__
    return read
