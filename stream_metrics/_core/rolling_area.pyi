from typing import Any

from typing_extensions import disjoint_base

from stream_metrics._core.rolling import RollingFeed

@disjoint_base
class AreaFeed(RollingFeed):
    def _set_area(self, positive: Any, scale: int, shift: int, instead: float) -> None: ...
    def _is_area(self) -> bool: ...
