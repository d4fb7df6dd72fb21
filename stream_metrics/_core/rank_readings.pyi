from typing import Any

from typing_extensions import disjoint_base

from stream_metrics._core.rank_samples import RankSamples
from stream_metrics.labels import Label

@disjoint_base
class RankReadings(RankSamples):
    def arrays(self, label: Label, own: Label | None = None, rest: Label | None = None) -> tuple[Any, ...]: ...
    def group_totals(self, j: int, numbers: list[list[int]]) -> list[int]: ...
