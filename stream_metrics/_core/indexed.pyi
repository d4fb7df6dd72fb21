from typing import Any, Self

from typing_extensions import disjoint_base

from stream_metrics._core.readings import Readings
from stream_metrics.labels import Label

LARGEST_INT: int
LONGEST_LABEL: int

@disjoint_base
class Indexed(Readings):
    def __new__(cls, labels: Any = None, other: Any = None) -> Self: ...
    @property
    def fixed_labels(self) -> tuple[Any, ...] | None: ...
    @property
    def other(self) -> Any: ...
    @property
    def labels(self) -> tuple[Any, ...]: ...
    def admit(self, label: object, argument: str, position: int | None = None) -> Label: ...
    def appearances(self) -> list[int]: ...
