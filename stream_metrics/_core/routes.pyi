from collections.abc import Callable
from typing import Any, Self

from typing_extensions import disjoint_base

from stream_metrics._core.guard import Guarded

@disjoint_base
class PaneFeed(Guarded):
    def __new__(cls, *args: Any, **kwargs: Any) -> Self: ...
    @property
    def _open(self) -> dict[int, Any]: ...
    @property
    def inner(self) -> Any: ...
    @property
    def clock(self) -> Callable[[], Any]: ...
    @property
    def dropped(self) -> int: ...
    @property
    def _length(self) -> int: ...
    @property
    def _panes(self) -> int: ...
    @property
    def _lateness(self) -> int: ...
    @property
    def _latest(self) -> int: ...
    _due: int
    _room: int
    _started: bool
    _timed: bool
    _watched: bool
    def _attach(self, inner: Any, length: int, panes: int, lateness: int, clock: Callable[[], Any]) -> None: ...
    def _gone(self) -> int: ...
    def _move(self, latest: int) -> None: ...
    def _forget(self) -> None: ...
    def _drop(self, samples: int) -> None: ...
    def update(
        self,
        y_true: Any,
        y_pred: Any = None,
        w: Any = 1,
        *,
        t: Any = None,
        group: Any = None,
        scores: Any = None,
        classes: Any = None,
        unit: Any = None,
    ) -> None: ...

@disjoint_base
class Slot:
    def __new__(cls, state: Any, forms: tuple[int, ...] = ...) -> Self: ...
    @property
    def state(self) -> Any: ...
    @property
    def forms(self) -> tuple[int, int, int, int]: ...

@disjoint_base
class GroupFeed(Guarded):
    def __new__(cls, *args: Any, **kwargs: Any) -> Self: ...
    _slots: dict[Any, Slot]
    _folded: dict[Any, None]
    _room: int
    _rest: Slot | None
    def update(
        self,
        y_true: Any,
        y_pred: Any = None,
        w: Any = 1,
        *,
        group: Any,
        t: Any = None,
        scores: Any = None,
        classes: Any = None,
        unit: Any = None,
    ) -> None: ...
    def _revert(
        self,
        y_true: Any,
        y_pred: Any = None,
        w: Any = 1,
        *,
        group: Any,
        t: Any = None,
        scores: Any = None,
        classes: Any = None,
        unit: Any = None,
    ) -> None: ...
