from typing import Any

from stream_metrics._core.rank_samples import RankSamples
from stream_metrics.labels import Label

class RankReadings(RankSamples):
    def arrays(self, label: Label, own: Label | None = None, rest: Label | None = None) -> tuple[Any, ...]: ...
