from collections.abc import Callable
from typing import Any, Self, TypeAlias, final

from typing_extensions import disjoint_base

from stream_metrics._core.numeric.kernels import Guarded
from stream_metrics.labels import Label
from stream_metrics.labels.class_names import ClassNames

_Sample: TypeAlias = tuple[object, object, object]  # truth, prediction, weight

@final
class ExtendedPrediction:
    def __new__(cls, predicted: object, more: dict[str, object]) -> ExtendedPrediction: ...
    @property
    def predicted(self) -> object: ...
    @property
    def more(self) -> dict[str, object]: ...

@disjoint_base
class ExactAuc:
    def __new__(cls, *args: object, **kwargs: object) -> Self: ...

@disjoint_base
class RollingUpdateBase(Guarded):
    def __new__(cls, *args: object, **kwargs: object) -> Self: ...
    @property
    def window(self) -> int: ...
    @property
    def held(self) -> int: ...
    def memory(self) -> int: ...
    def _samples(self) -> list[_Sample]: ...
    @property
    def inner(self) -> Any: ...
    @property
    def state(self) -> Any: ...
    @property
    def n(self) -> int: ...
    @property
    def abstained(self) -> int: ...
    def update(
        self,
        y_true: object,
        y_pred: object = ...,
        w: object = 1,
        *,
        scores: object = ...,
        classes: object = None,
        group: object = None,
        unit: object = None,
    ) -> None: ...
    def reset(self) -> None: ...
    def get(self) -> Any: ...
    def _set_up(self, inner: Any, window: int) -> None: ...
    def _set_reads(self, soft: bool, hard: bool, keys: ClassNames) -> None: ...
    def _attach(self, live: Any) -> None: ...
    def _pass(self, truth: object, predicted: object, weight: object) -> None: ...
    def _join(self, batch: Any, samples: list[_Sample]) -> None: ...
    def _snapshot(self, options: dict[str, object]) -> Any: ...
    def _refill(self, live: Any, samples: list[_Sample]) -> None: ...
    def _copy_to(self, twin: RollingUpdateBase) -> None: ...

@disjoint_base
class RollingAucBase(RollingUpdateBase):
    def _set_auc(self, positive: object, scale: int, shift: int, instead: float) -> None: ...
    def _is_auc(self) -> bool: ...

@disjoint_base
class PaneUpdateBase(Guarded):
    def __new__(cls, *args: object, **kwargs: object) -> Self: ...
    @property
    def _open(self) -> dict[int, Any]: ...
    @property
    def inner(self) -> Any: ...
    @property
    def clock(self) -> Callable[[], object]: ...
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
    _capacity: int
    _started: bool
    _timed: bool
    _watched: bool
    def _attach(self, inner: Any, length: int, panes: int, lateness: int, clock: Callable[[], object]) -> None: ...
    def _gone(self) -> int: ...
    def _move(self, latest: int) -> None: ...
    def _forget(self) -> None: ...
    def _drop(self, samples: int) -> None: ...
    def update(
        self,
        y_true: object,
        y_pred: object = ...,
        w: object = 1,
        *,
        t: object = None,
        group: object = None,
        scores: object = ...,
        classes: object = None,
        unit: object = None,
    ) -> None: ...

@disjoint_base
class Slot:
    def __new__(cls, state: Any, forms: tuple[int, ...] = ...) -> Self: ...
    @property
    def state(self) -> Any: ...
    @property
    def forms(self) -> tuple[int, int, int, int]: ...

@disjoint_base
class GroupUpdateBase(Guarded):
    def __new__(cls, *args: object, **kwargs: object) -> Self: ...
    _slots: dict[Label, Slot]
    _folded: dict[Label, None]
    _capacity: int
    _rest: Slot | None
    def update(
        self,
        y_true: object,
        y_pred: object = ...,
        w: object = 1,
        *,
        group: object,
        t: object = None,
        scores: object = ...,
        classes: object = None,
        unit: object = None,
    ) -> None: ...
    def _revert(
        self,
        y_true: object,
        y_pred: object = ...,
        w: object = 1,
        *,
        group: object,
        t: object = None,
        scores: object = ...,
        classes: object = None,
        unit: object = None,
    ) -> None: ...

@final
class FadingState:
    def __new__(cls, state: Any, origin: float) -> Self: ...

@disjoint_base
class FadingUpdateBase(Guarded):
    def __new__(cls, *args: object, **kwargs: object) -> Self: ...
    inner: Any
    clock: Callable[[], Any]
    @property
    def _half(self) -> int | float: ...
    _capacity: float
    _needs_seen: bool
    _latest: int | None
    def _configure(
        self, inner: Any, by_count: bool, half: float, first_power: int, clock: Callable[[], object]
    ) -> None: ...
    def _set_current(self, older: FadingState | None, newer: FadingState | None, first: int, last: int) -> None: ...
    def update(
        self,
        y_true: object,
        y_pred: object = ...,
        w: object = 1,
        *,
        t: object = None,
        group: object = None,
        scores: object = ...,
        classes: object = None,
    ) -> None: ...
