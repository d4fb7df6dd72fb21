from collections.abc import Callable
from typing import Any

from typing_extensions import disjoint_base

@disjoint_base
class Reader:
    def __init__(
        self,
        parse: Callable[[Any], Any],
        names: tuple[str, ...],
        fields: Callable[[Any], Any] | None,
        unusual: Callable[[Any, float, float], tuple[Any, ...] | None],
        shape: Callable[[tuple[Any, ...], bool], tuple[Any, ...] | None],
        missing: object,
        labels: tuple[Any, ...],
        kept: bool,
        low: float,
        high: float,
        earliest: float,
        heaviest: float,
    ) -> None: ...
    def read(self, records: list[Any], now: float, latest: float) -> tuple[list[Any], ...]: ...
