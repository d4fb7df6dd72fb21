from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

def first_of(body: bytes) -> int: ...
def id_hash(key: object) -> int: ...

@disjoint_base
class IdTable:
    oldest: int
    def __init__(self) -> None: ...
    def mark(self, key: object) -> int: ...
    def generation(self, hashed: int) -> int | None: ...
    def put(self, hashed: int, mark: int, generation: int) -> None: ...
    def put_many(self, hashes: npt.NDArray[np.uint64], marks: bytes, generation: int) -> None: ...

@disjoint_base
class Reader:
    def __init__(
        self,
        parse: Callable[[Any], Any],
        names: tuple[tuple[str, ...], ...],
        fields: Callable[[Any], Any] | None,
        unusual: Callable[[Any, float, float], tuple[Any, ...] | None],
        shape: Callable[[tuple[Any, ...], bool], tuple[Any, ...] | None],
        missing: object,
        labels: tuple[Any, ...],
        keeps_scores: bool,
        low: float,
        high: float,
        earliest: float,
        lightest: float,
        heaviest: float,
    ) -> None: ...
    def read(self, records: list[Any], now: float, latest: float) -> tuple[list[Any], ...]: ...

@disjoint_base
class Joins:
    logged: int
    def __init__(self, joiner: Any, missing: object, removed: list[Any]) -> None: ...
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
        self, events: tuple[list[Any], ...], number: int, votes: Votes, counts: Any
    ) -> tuple[list[float], int, int, int]: ...

@disjoint_base
class Votes:
    time: float
    def __new__(cls, most: int) -> Votes: ...
    @property
    def most(self) -> int: ...
    @property
    def newest(self) -> float | None: ...
    def see(self, time: float) -> float: ...
    def content(self) -> list[float]: ...
    def load(self, times: Sequence[float], time: float) -> None: ...

_Record = TypeVar("_Record")

def cut(data: bytes, topic: str, offset: int, record: type[_Record]) -> list[_Record]: ...
