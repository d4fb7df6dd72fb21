from typing import Any, Self

from stream_metrics._core.rank_batch import Batch
from stream_metrics._core.rank_readings import RankReadings

class RankCounters(RankReadings):
    def commit(self, batch: Batch, abstained: int, rounded: int) -> bool: ...
    def merge(self, other: Self) -> Self: ...
    def copy(self) -> Self: ...
    def reset(self) -> None: ...
    def pack(self) -> tuple[Any, ...]: ...
    def restore(
        self,
        labels: list[Any],
        appearances: list[int],
        weights: bytes,
        columns: list[bytes],
        n: int,
        abstained: int,
        places: int,
        rounded: int,
    ) -> None: ...
