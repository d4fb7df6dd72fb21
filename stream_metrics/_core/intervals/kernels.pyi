from typing import Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from stream_metrics.formulas.protocol import Floats

_Places = NDArray[np.intp]
_Flags = NDArray[np.uint8]

def refuted_distance(
    total: float,
    squares: float,
    n: float,
    goal: float,
    bets: tuple[Floats, Floats, Floats],
    distances: Floats,
    parts: Floats,
    refinements: int,
) -> float: ...
def distinct(x: Floats, n: Floats) -> tuple[_Places, _Places]: ...
def lower_root(x: float, rest: float, n: float, goal: float) -> float: ...

@disjoint_base
class MatrixSlopes:
    def __new__(
        cls,
        values: Floats,
        rows: _Places,
        columns: _Places,
        first_class: _Places,
        first_cell: _Places,
        diagonal: Floats,
        true: Floats,
        predicted: Floats,
    ) -> Self: ...
    def variances(self) -> Floats: ...
    def influences(
        self,
        true: Floats,
        predicted: Floats,
        samples: Floats,
        occurs: _Flags,
        thin_true: _Flags,
        thin_predicted: _Flags,
    ) -> Floats: ...
