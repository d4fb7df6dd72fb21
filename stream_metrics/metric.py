"""Live metrics: one row of the catalog with a state of its own, or many rows on one state.

The classes (`Accuracy`, `MacroF1`, `MCC`, ...) are made from the catalog, so that a metric is added by a formula and a
row.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, ClassVar, Self

from stream_metrics._core.confusion import Feed
from stream_metrics.catalog import CATALOG, Row, checked_zero_division, evaluate, find
from stream_metrics.errors import MergeError
from stream_metrics.labels import Label, canonical, ordering
from stream_metrics.snapshot import Snapshot
from stream_metrics.states.confusion import ConfusionMatrix
from stream_metrics.wire import Portable

__all__ = ["CLASSES", "Metric", "MetricSet"]


class _OnCounts(Feed, Portable):
    """What Metric and MetricSet share: a confusion matrix, and configuration kept apart from it."""

    labels: tuple[Label, ...] | None
    other: Label | None
    zero_division: float | None

    def __init__(self, labels: Iterable[Label] | None, other: Label | None, zero_division: float | None) -> None:
        self._attach(ConfusionMatrix(labels, other))
        self.labels, self.other = self.state.fixed_labels, self.state.other
        self.zero_division = None if zero_division is None else checked_zero_division(zero_division)

    def update_many(self, y_true: Any, y_pred: Any, w: Any = None) -> None:
        """Count a batch; see `ConfusionMatrix.update_many`."""
        self.state.update_many(y_true, y_pred, w)

    def merge(self, other: Self) -> Self:
        """Add the counts of another shard and return self; MergeError if the configurations differ."""
        if type(other) is not type(self):
            raise MergeError(f"Expected to merge a {type(self).__name__}, but got a {type(other).__name__}")
        mine, theirs = self._configuration(), other._configuration()
        if repr(mine) != repr(theirs):
            raise MergeError(f"Expected the same configuration in both, but got {mine} and {theirs}")
        self.state.merge(other.state)
        return self

    def copy(self) -> Self:
        """Return an independent copy of configuration and counts."""
        return self._with(self.state.copy())

    def _with(self, state: ConfusionMatrix) -> Self:
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._attach(state)
        return twin

    def reset(self) -> None:
        """Forget every sample; the configuration stays."""
        self.state.reset()

    @property
    def n(self) -> int:
        """The number of samples counted."""
        return int(self.state.n)

    @property
    def abstained(self) -> int:
        """The number of samples without a prediction."""
        return int(self.state.abstained)

    def _configuration(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def _checked(self, content: Any) -> Self:
        """Return self if it would write the configuration that was read."""
        if repr(content[0]) != repr(self._configuration()):
            raise ValueError(f"a configuration as it is written, {self._configuration()}, but got {content[0]}")
        return self

    def _content(self) -> list[Any]:
        return [self._configuration(), self.state._content()]


class Metric(_OnCounts):
    """One metric over a state of its own, to be updated sample by sample and read at any time.

    The classes derived from it are made from the catalog; `key` names the row and the entry in a snapshot.
    """

    KIND: ClassVar[str] = "metric"
    zero_division: float
    row: ClassVar[Row]
    key: ClassVar[str]
    bigger_is_better: ClassVar[bool]
    requires_labels: ClassVar[bool] = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not hasattr(self, "row"):
            raise TypeError("Metric has no formula of its own; use a class such as stream_metrics.MacroF1")
        bound = inspect.signature(type(self)).bind(*args, **kwargs)
        bound.apply_defaults()
        given = dict(bound.arguments)
        instead = given.pop("zero_division")
        instead = self.row.zero_division if instead is None else instead
        super().__init__(given.pop("labels"), given.pop("other"), instead)
        self.pos_label = canonical(given.pop("pos_label"), "pos_label") if "pos_label" in given else None
        for name, value in given.items():
            setattr(self, name, value)
        self._options = {name: _plain(value) for name, value in given.items()}
        extra = {"zero_division": self.zero_division} if self.row.averages else {}
        extra.update(self._options)
        self._formula = partial(self.row.formula, **extra) if extra else self.row.formula
        evaluate(self.row, ConfusionMatrix(self.labels, self.other), self.zero_division, **self._options)

    def get(self) -> float:
        """Return the current value; `zero_division` where it is 0/0."""
        value = self._formula(self.state)
        return value if value == value else self.zero_division

    def snapshot(self) -> Snapshot:
        """Return a frozen copy of the counts, from which this and every other metric can be read."""
        return Snapshot(self.state.copy(), zero_division=self.zero_division)

    def _configuration(self) -> tuple[Any, ...]:
        return self.key, self.zero_division, () if self.pos_label is None else (self.pos_label,), self._options

    @classmethod
    def _restore(cls, content: Any) -> Metric:
        (key, zero_division, pos_label, options), state = content
        counts = ConfusionMatrix._restore(state)
        kwargs = {"pos_label": pos_label[0]} if pos_label else {}
        kind = CLASSES[find(key).class_name or ""]
        kind = cls if issubclass(cls, kind) else kind
        metric = kind(labels=counts.fixed_labels, other=counts.other, zero_division=zero_division, **kwargs, **options)
        return metric._with(counts)._checked(content)

    def __repr__(self) -> str:
        return f"{type(self).__name__}: {self.get():.6g}"


class _OneClassMetric(Metric):
    """A metric of one class, `pos_label`, against the rest."""

    def get(self) -> float:
        """Return the current value for `pos_label`; `zero_division` where it is 0/0."""
        value: float = self._formula(self.state.one_vs_rest(self.pos_label)).item(0)
        return value if value == value else self.zero_division


class MetricSet(_OnCounts):
    """Many metrics over one state: one update feeds all, a snapshot evaluates what is asked for.

    `metrics` are keys of the catalog or metric classes; None stands for every metric that needs no more than labels.
    `labels`, `other`: see `ConfusionMatrix`. `zero_division` (0.0, 1.0 or nan) replaces every
    0/0; None stands for each metric's own default, which is 0.0 but for losses.
    """

    KIND: ClassVar[str] = "set"

    def __init__(
        self,
        metrics: Iterable[str | type[Metric]] | None = None,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float | None = None,
    ) -> None:
        super().__init__(labels, other, zero_division)
        if isinstance(metrics, str):
            raise ValueError(f"Expected `metrics` to be a sequence of keys, but got {metrics!r}")
        keys = None if metrics is None else [m if isinstance(m, str) else m.key for m in metrics]
        self.metrics = None if keys is None else tuple(find(key).key for key in dict.fromkeys(keys))
        self.snapshot()  # refuses a zero_division that is none

    def get(self) -> dict[str, Any]:
        """Return the current values of the whole-matrix metrics by key."""
        current = Snapshot(self.state, keys=self.metrics, zero_division=self.zero_division)
        return {key: current[key] for key in current}

    def snapshot(self) -> Snapshot:
        """Return a frozen copy of the counts from which the metrics are read; later updates do not move it."""
        return Snapshot(self.state.copy(), keys=self.metrics, zero_division=self.zero_division)

    def _configuration(self) -> tuple[Any, ...]:
        return self.metrics, self.zero_division

    @classmethod
    def _restore(cls, content: Any) -> Self:
        (metrics, zero_division), state = content
        counts = ConfusionMatrix._restore(state)
        restored = cls(metrics, labels=counts.fixed_labels, other=counts.other, zero_division=zero_division)
        return restored._with(counts)._checked(content)

    def __repr__(self) -> str:
        which = "every metric" if self.metrics is None else f"{len(self.metrics)} metrics"
        return f"MetricSet({which}, {self.n} samples, {self.state.k} classes)"


def _plain(value: Any) -> Any:
    """Return an option in the one form in which it is compared and written."""
    if isinstance(value, Mapping):
        labels = [canonical(label) for label in value]
        numbers = [_plain(number) for number in value.values()]
        return {labels[i]: numbers[i] for i in ordering(labels)}
    if isinstance(value, str | bool | float) or value is None or callable(value):
        return value
    if hasattr(value, "__float__") and not hasattr(value, "__len__"):
        return float(value)
    return tuple(_plain(item) for item in value)


def _signature(row: Row) -> inspect.Signature:
    """Options of the formula first, then what every class takes by keyword."""
    parameter, both, keyword = (
        inspect.Parameter,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.KEYWORD_ONLY,
    )
    options = [parameter(name, both, default=default) for name, default in row.options.items()]
    common: list[tuple[str, Any]] = [("labels", None), ("other", None), ("zero_division", row.zero_division)]
    if row.kind == "per_class":
        common.insert(0, ("pos_label", True))
    return inspect.Signature(options + [parameter(name, keyword, default=default) for name, default in common])


def _make(row: Row) -> type[Metric]:
    """Make the class of a row."""
    signature = _signature(row)
    with_self = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY), *signature.parameters.values()]

    def __init__(self: Metric, *args: Any, **kwargs: Any) -> None:
        Metric.__init__(self, *args, **kwargs)

    __init__.__signature__ = signature.replace(parameters=with_self)  # type: ignore[attr-defined]
    made: type[Metric] = type(
        row.class_name or "",
        (_OneClassMetric if row.kind == "per_class" else Metric,),
        {
            "__doc__": f"{row.title}.\n\n{inspect.getdoc(row.formula)}\n\nKey: {row.key}. 0/0: {row.undefined}.\n",
            "__module__": "stream_metrics",
            "__signature__": signature,
            "__init__": __init__,
            "row": row,
            "key": row.key,
            "bigger_is_better": row.better == "higher",
        },
    )
    return made


CLASSES: dict[str, type[Metric]] = {row.class_name: _make(row) for row in CATALOG.values() if row.class_name}
