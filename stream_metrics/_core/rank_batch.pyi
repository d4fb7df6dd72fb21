from typing import Any

from numpy import ndarray
from typing_extensions import disjoint_base

from stream_metrics._core.ranked import Ranked

_Array = ndarray[Any, Any]

def unified(labels: list[Any]) -> tuple[list[int], list[Any]]: ...

@disjoint_base
class Batch:
    def __init__(
        self,
        truth: _Array,
        truths: list[Any],
        labels: list[Any],
        label_seen: _Array | None,
        weights: tuple[_Array | None, _Array | None],
        pairs: bool,
        pos_label: Any,
    ) -> None: ...
    def count_matrix(self, into: Ranked, x: _Array) -> None: ...
    def count_entries(self, into: Ranked, row: _Array, label: _Array, codes: _Array) -> None: ...
    def finish(self) -> None: ...
    def totals(self) -> tuple[list[int], list[int]]: ...
