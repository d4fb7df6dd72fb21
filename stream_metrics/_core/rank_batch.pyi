from typing import Any

from numpy import ndarray
from typing_extensions import disjoint_base

from stream_metrics._core.ranked import Ranked

Array = ndarray[Any, Any]

def rounded(wholes: Array, parts: Array | None) -> tuple[Array, Array | None]: ...
def unified(labels: list[Any]) -> tuple[list[int], list[Any]]: ...

@disjoint_base
class Batch:
    def __init__(
        self,
        truth: Array,
        truths: list[Any],
        labels: list[Any],
        label_seen: Array | None,
        weights: tuple[Array | None, Array | None],
        pairs: bool,
        pos_label: Any,
    ) -> None: ...
    def count_matrix(self, into: Ranked, x: Array) -> None: ...
    def count_entries(self, into: Ranked, row: Array, label: Array, codes: Array) -> None: ...
    def finish(self) -> None: ...
    def totals(self) -> tuple[list[int], list[int]]: ...
