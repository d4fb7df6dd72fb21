from typing import Any

from stream_metrics._core.ranked import Ranked

class RankSamples(Ranked):
    def update(self, y_true: Any, scores: Any, w: Any = 1, classes: Any = None) -> None: ...
    def revert(self, y_true: Any, scores: Any, w: Any = 1, classes: Any = None) -> None: ...
