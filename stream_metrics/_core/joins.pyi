from typing import Any

from typing_extensions import disjoint_base

@disjoint_base
class Joins:
    logged: int
    def __init__(self, joiner: Any, missing: object, left: list[Any]) -> None: ...
    @property
    def keys(self) -> list[Any]: ...
    @property
    def bodies(self) -> list[bytes]: ...
    @property
    def columns(self) -> tuple[list[Any], ...]: ...
    def clear(self) -> None: ...
    def add(
        self,
        number: int,
        key: Any,
        truth: Any,
        prediction: Any,
        scores: Any,
        weight: Any,
        group: Any,
        predicted: float,
        labelled: float,
        origin: tuple[str, int, int],
        classes: tuple[Any, ...] | None,
        done: dict[Any, Any],
    ) -> int: ...
    def run(
        self, events: tuple[list[Any], ...], number: int, watermark: float, counts: Any
    ) -> tuple[list[float], float, int, int, int]: ...
