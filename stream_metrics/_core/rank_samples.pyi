from typing import Any

from typing_extensions import disjoint_base

from stream_metrics._core.ranked import Ranked

@disjoint_base
class RankSamples(Ranked):
    def update(self, y_true: Any, scores: Any, w: Any = 1, classes: Any = None) -> None: ...
    def revert(self, y_true: Any, scores: Any, w: Any = 1, classes: Any = None) -> None: ...
