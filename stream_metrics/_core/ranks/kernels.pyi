from collections.abc import Iterable
from typing import Any, Self, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from stream_metrics._core.confusion.kernels import SetUpdateBase
from stream_metrics._core.losses.kernels import LossSums
from stream_metrics._core.numeric.kernels import Guarded, Step
from stream_metrics.formulas.protocol import Floats, Numbers
from stream_metrics.labels import Label

_Codes: TypeAlias = NDArray[np.uint64]
# the fields of `RankColumn`
_Column: TypeAlias = tuple[
    int,
    _Codes,
    _Codes,
    Numbers,
    Floats,
    Numbers,
    tuple[_Codes, _Codes],
    tuple[Numbers, Numbers],
    tuple[float, float],
    int,
    float,
    bool,
    float,
]

# the number of a cell, and where its codes start and end in the samples of rest and of own
_Crowded: TypeAlias = tuple[int, int, int, int, int]

MOST_PAIRED: int
DENSE: int
UNIFORM: float

def first_bad(x: NDArray[np.float64]) -> tuple[int, int] | None: ...
def count_pairs(
    level: int, cells: _Codes, sole: _Codes, counts: Numbers, offsets: Floats, totals: Numbers
) -> tuple[int, int, int, NDArray[np.intp], Floats, Floats]: ...
def edges(codes: _Codes) -> Floats: ...
def table_rows(
    level: int, cells: _Codes, sole: _Codes, counts: Numbers, totals: Numbers
) -> tuple[_Codes, Numbers, Numbers, NDArray[np.intp], NDArray[np.intp]]: ...
def row_scores(
    table: tuple[_Codes, NDArray[np.intp], NDArray[np.intp]],
    level: int,
    cells: _Codes,
    sole: _Codes,
    offsets: Floats,
    rest: Floats,
    own: Floats,
) -> tuple[Floats, Floats, Floats, Floats]: ...
def crowded_cells(level: int, cells: _Codes, sole: _Codes, rest: _Codes, own: _Codes) -> list[_Crowded]: ...
def inspect_cells(
    level: int,
    crowded: list[_Crowded],
    cells: _Codes,
    counts: Floats,
    means: Floats,
    codes: tuple[_Codes, _Codes],
    weights: tuple[Floats, Floats],
    tau: tuple[float, float],
) -> list[tuple[tuple[Floats, Floats], tuple[Floats, Floats], float, float, float]]: ...
def codes(scores: NDArray[np.float64]) -> NDArray[np.uint64]: ...

@disjoint_base
class CellScratch:
    def __new__(cls, most: int) -> Self: ...

@disjoint_base
class ScoreTable:
    def __new__(
        cls,
        truth: NDArray[np.int32],
        truths: list[Label],
        labels: list[Label] | list[None],
        x: NDArray[np.float64],
        wholes: NDArray[np.int64] | None,
        parts: NDArray[np.uint64] | None,
        rounded: NDArray[np.uint8] | None,
        samples: NDArray[np.int64] | None = None,
    ) -> Self: ...
    def count(self, into: RankCounters, start: int, end: int) -> None: ...

def table_step(into: RankCounters, table: ScoreTable) -> Step: ...
def samples_step(
    into: RankCounters,
    truth: NDArray[np.int32],
    truths: list[Label],
    samples: list[Any],
    classes: tuple[Label, ...] | None,
    weights: tuple[NDArray[np.int64] | None, NDArray[np.uint64] | None, NDArray[np.bool_] | None],
    repeats: NDArray[np.int64] | None,
) -> Step: ...

@disjoint_base
class RankCounters(Guarded):
    def __new__(cls, buckets: int = 1024, sample: int = 512, pos_label: Label = True, pairs: bool = True) -> Self: ...
    @property
    def buckets(self) -> int: ...
    @property
    def sample(self) -> int: ...
    @property
    def pos_label(self) -> Label: ...
    @property
    def pairs(self) -> bool: ...
    @property
    def paired(self) -> bool: ...
    def take_names_as_given(self) -> None: ...
    @property
    def _needs_pairs(self) -> bool: ...
    @property
    def n(self) -> int: ...
    @property
    def abstained(self) -> int: ...
    @property
    def rounded(self) -> int: ...
    @property
    def _binary_only(self) -> bool: ...
    def allow_binary_only(self) -> None: ...
    def require_pairs(self) -> None: ...
    def _check_new(self, label: Label, argument: str, position: int | None = None) -> None: ...
    @property
    def labels(self) -> tuple[Label, ...]: ...
    @property
    def weight(self) -> int | float: ...
    def _merge_load(self) -> tuple[int, int, int]: ...
    @property
    def _exact(self) -> bool: ...
    def _total_units(self) -> int: ...
    def memory(self) -> int: ...
    def appearances(self) -> list[int]: ...
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
    def _update_step(self, y_true: object, y_pred: object, w: object) -> Step: ...
    def _revert_step(self, y_true: object, y_pred: object, w: object) -> Step: ...
    def _arrays(self, label: Label, own: Label | None = None, rest: Label | None = None) -> _Column: ...
    def _pairs_against(
        self, label: Label, rests: Iterable[Label]
    ) -> list[tuple[int, int, int, float, float] | None]: ...
    def _merge_step(self, other: object) -> Step: ...
    def _reset_step(self) -> Step: ...
    def merge(self, other: Self) -> Self: ...
    def _add_resized(self, other: RankCounters) -> None: ...
    def copy(self) -> Self: ...
    def reset(self) -> None: ...
    def pack(self, columns: bool = True) -> tuple[object, ...]: ...
    def _fill(
        self,
        labels: list[Label],
        appearances: list[int],
        weights: bytes,
        columns: list[bytes],
        n: int,
        abstained: int,
        places: int,
        rounded: int,
    ) -> None: ...

@disjoint_base
class ScoreCounters:
    ranks: RankCounters | None
    confidence: RankCounters | None
    losses: LossSums | None
    removed: Any
    negative: tuple[Label] | None
    def configure(
        self,
        ranks: RankCounters | None,
        confidence: RankCounters | None,
        losses: LossSums | None,
        pos_label: Label,
        negative: tuple[Label] | None,
        fixed: dict[Label, Label] | None,
        threshold: float,
    ) -> None: ...
    def decision(self, truth: object, scores: object) -> tuple[Label, float] | None: ...

class ScoredUpdateBase(SetUpdateBase): ...

@final
class RemovedStep(Step):
    def __init__(self, owner: ScoreCounters, removed: object) -> None: ...
