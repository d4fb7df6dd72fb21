from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Self, TypeAlias, TypeVar, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from stream_metrics._core.numeric.kernels import Guarded, Step
from stream_metrics.formulas.protocol import Counts, Form
from stream_metrics.labels import Label
from stream_metrics.labels.class_names import ClassNames

_T = TypeVar("_T")
# rows, columns, whole parts, fractions or None
_CellArrays: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64] | None]

@disjoint_base
class Cells(Guarded): ...

DENSE_LIMIT: int

@disjoint_base
class ConfusionAggregates(Cells):
    @property
    def labels(self) -> tuple[Label, ...]: ...
    @property
    def k(self) -> int: ...
    @property
    def total(self) -> int | Fraction: ...
    @property
    def hits(self) -> int | Fraction: ...
    @property
    def true_dot_true(self) -> int | Fraction: ...
    @property
    def true_dot_predicted(self) -> int | Fraction: ...
    @property
    def predicted_dot_predicted(self) -> int | Fraction: ...
    @property
    def true_totals(self) -> NDArray[np.int64] | NDArray[np.float64]: ...
    @property
    def predicted_totals(self) -> NDArray[np.int64] | NDArray[np.float64]: ...
    @property
    def diagonal(self) -> NDArray[np.int64] | NDArray[np.float64]: ...
    @property
    def unit(self) -> int: ...
    def unit_totals(self) -> tuple[list[int], list[int], list[int]]: ...
    def unit_cells(self) -> tuple[NDArray[np.int64], NDArray[np.int64], list[int]]: ...
    @property
    def matrix(self) -> NDArray[np.int64] | NDArray[np.float64]: ...
    def _ratios(
        self, numerator: tuple[float, float, float, float], denominator: tuple[float, float, float, float]
    ) -> NDArray[np.float64]: ...
    def _mean_ratio(
        self,
        numerator: tuple[float, float, float, float],
        denominator: tuple[float, float, float, float],
        undefined: float,
        by_support: bool = False,
    ) -> float: ...
    def cells(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64] | NDArray[np.float64]]: ...
    def ordered(self) -> _CellArrays: ...

def pack_cells(
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    wholes: NDArray[np.int64],
    parts: NDArray[np.uint64] | None,
    classes: int,
) -> bytes: ...
def pack_runs(
    truth: NDArray[np.int64],
    predicted: NDArray[np.int64],
    samples: NDArray[np.int64],
    starts: NDArray[np.int64],
    forms: list[bytes],
    fixed: int,
) -> list[bytes]: ...

def count_integers(
    t: NDArray[np.signedinteger], p: NDArray[np.signedinteger]
) -> tuple[int, NDArray[np.int64]] | None: ...
def encode_near(numbers: NDArray[np.int64], low: int, span: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]: ...
def encode_bytes(rows: NDArray[np.uint8]) -> tuple[NDArray[np.int32], NDArray[np.int64]]: ...
def encode_objects(
    values: list[object],
    argument: str,
    may_abstain: bool,
    named: Callable[[Mapping[Any, Any], int], Mapping[Any, Any]] | None = None,
) -> tuple[NDArray[np.int32], list[Label]]: ...
def codes_that_occur(x: NDArray[np.signedinteger], low: int, names: int) -> NDArray[np.bool_]: ...
def count_codes(
    t: NDArray[np.signedinteger],
    p: NDArray[np.signedinteger],
    true_labels: int,
    predicted_labels: int,
    wholes: NDArray[np.int64] | None,
    parts: NDArray[np.uint64] | None,
    samples: NDArray[np.int64] | None = None,
    true_low: int = 0,
    predicted_low: int = 0,
) -> tuple[_CellArrays, tuple[NDArray[np.int64], NDArray[np.int64]], int, int]: ...

@disjoint_base
class ConfusionCounters(ConfusionAggregates):
    def __new__(cls, labels: Iterable[Label] | None = None, other: Label | None = None) -> Self: ...
    @property
    def class_names(self) -> ClassNames: ...
    @property
    def fixed_labels(self) -> tuple[Label, ...] | None: ...
    @property
    def other(self) -> Label | None: ...
    @property
    def labels(self) -> tuple[Label, ...]: ...
    @property
    def _binary_only(self) -> bool: ...
    def allow_binary_only(self) -> None: ...
    def _admit(self, label: object, argument: str, position: int | None = None) -> Label: ...
    def appearances(self) -> list[int]: ...
    @property
    def n(self) -> int: ...
    @property
    def abstained(self) -> int: ...
    @property
    def weighted(self) -> int: ...
    @property
    def weight(self) -> int | float: ...
    @property
    def correct(self) -> int | float: ...
    def update(
        self,
        y_true: object,
        y_pred: object = ...,
        w: object = 1,
        *,
        scores: object = ...,
        classes: Iterable[Label] | None = None,
    ) -> None: ...
    def revert(
        self,
        y_true: object,
        y_pred: object = ...,
        w: object = 1,
        *,
        scores: object = ...,
        classes: Iterable[Label] | None = None,
    ) -> None: ...
    def _count_coded(
        self,
        truth: tuple[NDArray[np.int32], list[Label], NDArray[np.int64]],
        predicted: tuple[NDArray[np.int32], list[Label], NDArray[np.int64]],
        rows: NDArray[np.int64],
        samples: NDArray[np.int64] | None = None,
        wholes: NDArray[np.int64] | None = None,
        parts: NDArray[np.uint64] | None = None,
    ) -> None: ...
    def _merge_load(self) -> tuple[int, int, int]: ...
    def _update_step(self, y_true: object, y_pred: object, w: object) -> Step: ...
    def _revert_step(self, y_true: object, y_pred: object, w: object) -> Step: ...
    def _merge_step(self, other: object) -> Step: ...
    def _reset_step(self) -> Step: ...
    def _pairs_step(self, truth: list[Label], predicted: list[Label], w: object) -> Step: ...
    def _cells_step(
        self,
        truth: list[Label],
        predicted: list[Label],
        cells: _CellArrays,
        label_counts: Sequence[NDArray[np.int64]],
        n: int,
        abstained: int,
        weighted: int,
    ) -> Step: ...
    def _refill(
        self,
        labels: list[Label],
        cells: bytes,
        appearances: list[int],
        n: int,
        abstained: int,
        weighted: int,
    ) -> None: ...
    def merge(self, other: Self) -> Self: ...
    def _add_renamed(self, other: ConfusionCounters, renamed: dict[Label, Label]) -> None: ...
    def subtract(self, other: Self) -> Self: ...
    def copy(self) -> Self: ...
    def reset(self) -> None: ...
    def one_vs_rest(self, label: object) -> Counts: ...


@disjoint_base
class UpdateBase(Guarded):
    def __new__(cls, *args: object, **kwargs: object) -> Self: ...
    @property
    def state(self) -> Any: ...
    def _attach(self, state: Any) -> None: ...
    def _read(self, function: Callable[[Any], _T]) -> _T: ...
    _sample_rule: Any
    _unit_folds: dict[int, Any]
    _prototype: Any
    def update(
        self,
        y_true: object,
        y_pred: object = ...,
        w: object = 1,
        *,
        scores: object = ...,
        classes: Iterable[Label] | None = None,
        unit: object = None,
    ) -> None: ...
    def revert(
        self,
        y_true: object,
        y_pred: object = ...,
        w: object = 1,
        *,
        scores: object = ...,
        classes: Iterable[Label] | None = None,
        unit: object = None,
    ) -> None: ...

@final
class LinearRatio:
    def __new__(cls, numerator: Form, denominator: Form, label: Label | None = None) -> Self: ...

@disjoint_base
class ReadingBase(UpdateBase):
    _linear_ratio: LinearRatio | None
    def get(self) -> float: ...

@disjoint_base
class SetUpdateBase(UpdateBase):
    @property
    def scored(self) -> Any: ...
    def _attach_scored(self, scored: Any) -> None: ...
    def update(
        self,
        y_true: object,
        y_pred: object = ...,
        w: object = 1,
        *,
        scores: object = ...,
        classes: object = None,
        unit: object = None,
    ) -> None: ...
    def revert(
        self,
        y_true: object,
        y_pred: object = ...,
        w: object = 1,
        *,
        scores: object = ...,
        classes: object = None,
        unit: object = None,
    ) -> None: ...

@final
class FoldsStep(Step):
    def __init__(self, owner: UpdateBase, folds: dict[int, Any], scored: object = ...) -> None: ...
