"""Our metrics, sets, windows and groups as river metrics, and river's confusion matrices as ours.

    import stream_metrics as sm
    from river import datasets, evaluate, linear_model
    from stream_metrics.integrations.river import as_river

    evaluate.progressive_val_score(datasets.Phishing(), linear_model.LogisticRegression(), as_river(sm.ROCAUC()))

A live metric (`sm.MCC()`) can be handed to most of river as it is. The adapter is for the rest: `+`, multioutput and
forests, which ask for an instance of river's own class; sets, windows and groups, whose `get` is not one number; and
code that sorts by values, which must not be nan.

river makes a clone from the attributes that are named like the arguments of the constructor, and names columns by
class. So an adapter keeps an empty accumulator as its configuration, apart from the one that it feeds, and each metric
gets a class with a name of its own. Where nothing can be undone `revert` is None, since river's `Rolling` looks for it
when it is made, not when the window is full. Forests and successive halving read a value much more often than it
changes, and a ranking takes a third of a millisecond to read, so values are kept until the next update.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, Self, TypeAlias

import numpy as np

try:
    from river import base
    from river.metrics.base import ClassificationMetric
except ImportError as error:
    raise ImportError('Expected river to be installed: pip install "stream-metrics[river]"') from error

from stream_metrics._core.numeric.kernels import commit, split_weights
from stream_metrics.catalog.spec import MetricSpec, ObstacleError
from stream_metrics.catalog.table import find
from stream_metrics.containers.groups import ByGroup
from stream_metrics.containers.keyed import walk_inner
from stream_metrics.labels import Label, canonical
from stream_metrics.metrics.metric import Metric
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.states.batches import mergeable
from stream_metrics.states.confusion import ConfusionMatrix
from stream_metrics.states.losses import ProbabilityLosses
from stream_metrics.states.protocols import Accumulator
from stream_metrics.states.ranks import RankSketch

__all__ = ["RiverMetric", "RiverWindow", "as_river", "from_river"]

Key: TypeAlias = str | Callable[..., float] | None
Better: TypeAlias = Literal["higher", "lower"] | None
Context: TypeAlias = Callable[[], Mapping[str, object]] | None

WORST = 36.0  # stands for an infinite worst value: about the log loss of a true class of probability 0
RESIDUE = 1e-9  # a cell whose fraction is smaller is left over from river's own reverts
MAIN = {ConfusionMatrix: "accuracy", RankSketch: "roc_auc", ProbabilityLosses: "log_loss"}  # the key of a state's value
HIDDEN = ("inner", "clock", "on_close")  # arguments that are not part of a name


class RiverMetric(ClassificationMetric):  # type: ignore[misc]
    """A river metric that feeds an accumulator of ours; `as_river` makes it and explains the arguments."""

    requires_labels = True  # these three are properties of river's class
    bigger_is_better = True
    _fmt = ".2%"

    def __init__(
        self,
        metric: Accumulator,
        key: Key = None,
        label: Label | None = None,
        undefined: float | None = None,
        better: Better = None,
        context: Context = None,
    ) -> None:
        self._live: Any = metric.copy()  # with `get` and `revert`, if it has them
        self.metric = metric.copy()
        self.metric.reset()
        self.key, self.label, self.undefined, self.better, self.context = key, label, undefined, better, context
        core = self._plan(list(walk_inner(self.metric)))
        self.requires_labels = _requires_labels(core)
        self._singles = isinstance(core, MetricSet) and core.scored is not None
        self._undefined = self._worst if undefined is None else float(undefined)
        if not math.isfinite(self._undefined):
            raise ValueError(f"Expected `undefined` to be a finite number, but got {undefined!r}")
        self._value: float | None = None
        if isinstance(key, str):
            self._read()  # raises if the accumulator has no such key

    def _plan(self, chain: list[Any]) -> Any:
        """Choose how values are read from a chain of windows and groups; return the accumulator inside."""
        self._core = core = chain[-1]
        self._read_as = _main_key(core) if self.key is None else self.key
        row = None if callable(self._read_as) else find(self._read_as)
        self._kind = "computed" if row is None else row.kind
        groups = [part for part in chain if isinstance(part, ByGroup)]
        if self._kind == "matrix":
            raise ValueError(f"Expected `key` to be of one number, but {self.key!r} is a matrix")
        if self._kind != "computed" and any(mergeable(part.inner) for part in groups):
            raise ValueError("Expected `key` to be a function of the snapshot, as the groups cannot be read together")
        own = isinstance(core, Metric) and self.key is None
        self._by_itself, self._options = own and not groups, {}
        if own:
            self._options = {name: getattr(core, name) for name in core._row.options}
        positive = getattr(core, "pos_label", None) if self.label is None else canonical(self.label, "label")
        self._class = True if positive is None else positive
        self._keeps = not any(hasattr(part, "clock") for part in chain)  # a window of time changes as it passes
        self.bigger_is_better = row.direction == "higher" if row and self.better is None else self.better != "lower"
        self._fmt = ".2%" if row is not None and -1 <= row.low < row.high <= 1 else ".6g"
        self._worst = _worst(row, self.better)
        return core

    def update(self, y_true: object, y_pred: object, w: float = 1, **context: object) -> None:
        """Count a sample; `context` goes to the accumulator (`t`, `group`). None and {} are abstentions."""
        self._value = None
        if self._singles and type(y_pred) is int:
            y_pred = float(y_pred)  # the score of an anomaly detector, not the class 0
        if self.context is not None:
            context = {**self.context(), **context}
        if context:
            self._live.update(y_true, y_pred, w, **context)
        else:
            self._live.update(y_true, y_pred, w)

    def revert(self, y_true: object, y_pred: object, w: float = 1, **context: object) -> None:
        """Undo an update with the same arguments."""
        self._value = None
        if self._singles and type(y_pred) is int:
            y_pred = float(y_pred)
        self._live.revert(y_true, y_pred, w, **context)

    def get(self) -> float:
        """Return the current value, a finite number."""
        if self._value is not None:
            return self._value
        value = self._read()
        value = value if value == value else self._undefined
        if self._keeps:
            self._value = value
        return value

    def _read(self) -> float:
        """Return the current value, nan if it is undefined."""
        if self._by_itself:
            return float(self._live.get())
        snapshot = self._live.snapshot()
        if self._kind == "computed":
            return float(self._read_as(snapshot))  # type: ignore[operator]
        value = getattr(snapshot, "overall", snapshot).value(self._read_as, **self._options)
        return float(value.get(self._class, math.nan) if self._kind == "per_class" else value)

    @property
    def live(self) -> Any:
        """The accumulator that is fed, to be read, merged or written; once it was asked for, no value is kept."""
        self._value, self._keeps = None, False
        return self._live

    def snapshot(self) -> Any:
        """Return a snapshot of the accumulator."""
        return self._live.snapshot()

    def merge(self, other: RiverMetric) -> Self:
        """Add the samples of another shard and return self; MergeError if they count differently."""
        self._live.merge(other._live)
        self._value = None
        return self

    def works_with(self, model: base.Estimator) -> bool:
        """Tell whether the metric can count a model's predictions: classes, or for rankings anomaly scores too."""
        if isinstance(self._core, Metric):
            return self._core.works_with(model)
        if self.requires_labels:
            return isinstance(model, base.Classifier | base.Clusterer)
        anomalies = () if isinstance(self._core, ProbabilityLosses) else (base.AnomalyDetector, base.AnomalyFilter)
        return isinstance(model, (base.Classifier, *anomalies))

    def clone(self, new_params: Mapping[str, object] | None = None, include_attributes: bool = False) -> RiverMetric:
        """Return an empty adapter of the same configuration, but for `new_params`; a full one, `include_attributes`."""
        attributes = {"metric": self._live} if include_attributes else {}
        return as_river(**copy.deepcopy({**self._get_params(), **attributes, **(new_params or {})}))

    def __repr__(self) -> str:
        try:
            value = self._read()
        except ObstacleError as error:
            return f"{type(self).__name__}: {error.obstacle.reason}"
        return f"{type(self).__name__}: " + (f"{value:{self._fmt}}" if value == value else "undefined")

    def __reduce__(self) -> tuple[object, ...]:
        factory = type(self).__dict__.get("_made")
        return (_restore_adapter, factory, self.__dict__) if factory else super().__reduce__()


class RiverWindow(RiverMetric):
    """A river metric over an accumulator that cannot undo an update, such as a window."""

    revert = None  # type: ignore[assignment]


def as_river(
    metric: Accumulator,
    key: Key = None,
    label: Label | None = None,
    undefined: float | None = None,
    better: Better = None,
    context: Context = None,
) -> RiverMetric:
    """Return any accumulator of ours as a river metric, an instance of river's ClassificationMetric.

    The adapter feeds a copy, `live`, samples included, so adapters of one accumulator do not count for each other. Its
    class is named after the metric, `FBeta(beta=2.0)` or `Rolling(MCC, window=100)`, so that the columns of river's
    step dicts do not collide.

    `key` is the value that `get` returns, where the accumulator has several: a key of the catalog (by default, the
    first that a set names, else accuracy; for groups, of all of them together), of the class `label` if it is per
    class; or a function of a snapshot, whose direction is `better` ("higher" without it).

    `undefined` stands for a value that is nan; by default the worst end of the range, 36 where that is infinite, so
    that a model without data is no better than another. (Forests weigh votes by values above 0: give them 0.)

    `context` is called at every update and returns further arguments: `lambda: {"t": now, "group": country}`. Without
    it a window of time takes its clock. With it nothing can be reverted, as its answer is not kept.

    A single number, int or float, is the score of `pos_label`. river's SRP passes labels to every metric:
    those of scores then take numbers for scores, and raise ScoreError for other labels.
    """
    undoes = context is None and callable(getattr(metric, "revert", None))
    adapter: type[RiverMetric] = _class_named(RiverMetric if undoes else RiverWindow, _name(metric, key, label))
    return adapter(metric, key, label, undefined, better, context)


def from_river(matrix: Any) -> ConfusionMatrix:
    """Return river's ConfusionMatrix, or that of a river metric (its `cm`), as a state of ours, exact from there on.

    A prediction of None is an abstention. Weights below 1e-9, left over from river's reverts, are ignored.
    LabelError for a truth that is None, or a label that is nan; WeightError for a negative cell.
    """
    matrix = getattr(matrix, "cm", matrix)
    if not (hasattr(matrix, "n_samples") and hasattr(matrix, "data")):
        raise TypeError(f"Expected a ConfusionMatrix of river or a metric with one, but got {type(matrix).__name__}")
    cells = [(t, p, float(w)) for t, row in matrix.data.items() for p, w in row.items()]
    cells = [(t, p, w) for t, p, w in cells if w and not (w % 1 and abs(w) < RESIDUE)]
    abstained = round(sum(w for _, p, w in cells if p is None))
    counted = [(canonical(t, "y_true"), canonical(p, "y_pred"), w) for t, p, w in cells if p is not None]
    names = list(dict.fromkeys(label for t, p, _ in counted for label in (t, p)))
    at = {label: i for i, label in enumerate(names)}
    rows = np.array([at[t] for t, _, _ in counted], np.int64)
    columns = np.array([at[p] for _, p, _ in counted], np.int64)
    wholes, parts = split_weights(np.array([w for _, _, w in counted], np.float64))
    times = np.maximum(wholes, 1)  # how often a label has appeared, as far as weights tell
    seen = [np.bincount(side, times, len(names)).astype(np.int64) for side in (rows, columns)]
    state = ConfusionMatrix()
    numbers = matrix.n_samples - abstained, abstained, 0
    commit([state._cells_step(names, names, (rows, columns, wholes, parts), seen, *numbers)])
    return state


@cache
def _class_named(kind: Any, name: str) -> Any:
    """Make the class of a name; equal names are one class."""
    return type(kind)(name, (kind,), {"__doc__": kind.__doc__, "__module__": __name__, "_made": (kind, name)})


def _restore_adapter(kind: Any, name: str) -> RiverMetric:
    revived: RiverMetric = object.__new__(_class_named(kind, name))
    return revived


def _main_key(core: Accumulator) -> str:
    """Return the key that `get` reads by default."""
    if isinstance(core, Metric):
        return core.key
    if isinstance(core, MetricSet):
        return core.metrics[0] if core.metrics else "accuracy"
    key = next((key for kind, key in MAIN.items() if isinstance(core, kind)), None)
    if key is None:
        raise TypeError(f"Expected a metric, set, state, window or group of ours, but got {type(core).__name__}")
    return key


def _requires_labels(core: Accumulator) -> bool:
    if isinstance(core, Metric):
        return core.requires_labels
    return core.scored is None if isinstance(core, MetricSet) else isinstance(core, ConfusionMatrix)


def _worst(row: MetricSpec | None, better: Better) -> float:
    """Return the worst value there is, as a finite number."""
    lower = (better or (row.direction if row else None)) == "lower"
    worst = (row.high if lower else row.low) if row else (math.inf if lower else 0.0)
    return worst if math.isfinite(worst) else math.copysign(WORST, worst)


def _name(metric: Accumulator, key: Key, label: Label | None) -> str:
    """Return the name of a metric as a call: its class and the arguments that differ from the defaults."""
    inner = getattr(metric, "inner", None)
    if inner is not None:
        chosen = [_name(inner, key, label)]
    else:
        key = _main_key(metric) if key is None and not isinstance(metric, Metric) else key
        chosen = [] if key is None else [key if isinstance(key, str) else getattr(key, "__name__", "function")]
        chosen += [] if label is None else [repr(label)]
    if inner is not None or isinstance(metric, Metric):
        for name, argument in inspect.signature(type(metric)).parameters.items():
            value = getattr(metric, name, argument.default)
            if name not in HIDDEN and repr(value) != repr(argument.default) and value != "0d":
                chosen.append(f"{name}={value!r}")
    return type(metric).__name__ + (f"({', '.join(chosen)})" if chosen else "")
