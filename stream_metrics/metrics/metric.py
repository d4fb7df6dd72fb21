"""Live metrics: one row of the catalog with a state of its own, read at any time.

The classes (`Accuracy`, `MacroF1`, `MCC`, `ROCAUC`, ...) are made from the catalog, so that a metric is added by a
formula and a row. A row says which state its formula reads; `STATES` says how such a state is made, and which of its
options a class takes.

A metric has every member by which river uses one (`clone`, `works_with`, `is_better_than`, ...), so that it can be
handed to river as it is. Where river asks for an instance of its own class, `integrations.river` has an adapter.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, ClassVar, Literal, Self

from stream_metrics._core.confusion.kernels import Feed
from stream_metrics._core.numeric.kernels import real_number
from stream_metrics.catalog.obstacles import ObstacleError, check
from stream_metrics.catalog.table import CATALOG, Row, find
from stream_metrics.errors import MergeError
from stream_metrics.evaluation.evaluate import checked_options, checked_zero_division, compute, plain
from stream_metrics.inputs.options import sequence
from stream_metrics.labels import Label, canonical, ordering
from stream_metrics.metrics.folds import batch_of, copied, merge_folds, read_folds, revert_unit, update_unit, written
from stream_metrics.snapshots.snapshot import Snapshot
from stream_metrics.states.confusion import ConfusionMatrix
from stream_metrics.states.losses import ProbabilityLosses
from stream_metrics.states.ranks import RankSketch
from stream_metrics.wire import Portable, encoded

__all__ = ["CLASSES", "Live", "Metric"]

SKETCH = {"pos_label": True, "buckets": 1024, "sample": 512}
STATES: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "counts": (ConfusionMatrix, {"labels": None, "other": None}),
    "ranks": (RankSketch, SKETCH),
    "losses": (ProbabilityLosses, {"pos_label": True}),
}  # by what a row reads: the state, and the options of it that a metric takes


class Live(Feed, Portable):
    """What Metric and MetricSet share: a state that is fed, and configuration kept apart from it."""

    zero_division: float | None
    works_with_weights: ClassVar[bool] = True

    def update_many(
        self,
        y_true: Any,
        y_pred: Any,
        w: Any = None,
        *,
        classes: Iterable[Label] | None = None,
        unit: Any = None,
    ) -> None:
        """Count a batch; see `update_many` of the state.

        `classes` names the columns of a table of scores; `unit` is a column of units, or one for all rows.
        """
        if unit is not None:
            self.merge(batch_of(self, {"y_true": y_true, "y_pred": y_pred, "w": w}, unit, classes))
        elif classes is None:
            self.state.update_many(y_true, y_pred, w)
        else:
            self.state.update_many(y_true, y_pred, w, classes)

    def merge(self, other: Self) -> Self:
        """Add the counts of another shard and return self; MergeError if the configurations differ."""
        self._check_same(other)
        with self._merging(other):
            self._check_merge(other)
            self._merge_states(other)
            merge_folds(self, other)
        return self

    def _check_merge(self, other: Self) -> None:
        """Raise what `merge` would, before anything is changed."""
        self._check_same(other)
        self.state._check_merge(other.state)

    def _states(self) -> list[Any]:
        """Return the states of all samples."""
        return [self.state]

    def _merge_states(self, other: Self) -> None:
        """Add the counts of all samples, but not those of the folds."""
        self.state.merge(other.state)

    @property
    def _reads(self) -> Literal["labels", "scores", "both"]:
        """What a sample is made of."""
        raise NotImplementedError

    def _update_unit(self, unit: Label, y_true: Any, y_pred: Any, w: Any, more: dict[str, Any]) -> None:
        """Count a sample that has a unit."""
        update_unit(self, unit, (y_true, y_pred), w, more)

    def _revert_unit(self, unit: Label | None, y_true: Any, y_pred: Any, w: Any, more: dict[str, Any]) -> None:
        """Undo one update, where some samples have units."""
        revert_unit(self, unit, (y_true, y_pred), w, more)

    def _count(self, y_true: Any, y_pred: Any, w: Any, more: dict[str, Any]) -> None:
        """Count a plain sample in all states but the folds; called in a section that writes."""
        self.state.update(y_true, y_pred, w)

    def _uncount(self, y_true: Any, y_pred: Any, w: Any, more: dict[str, Any]) -> None:
        """Undo `_count`."""
        self.state.revert(y_true, y_pred, w)

    def _load(self) -> tuple[int, int, int]:
        """Return bounds of what a merge adds up: the sum of weights, samples, abstentions."""
        load: tuple[int, int, int] = self.state._load()
        return load

    def _check_same(self, other: Self) -> None:
        if type(other) is not type(self):
            raise MergeError(f"Expected to merge a {type(self).__name__}, but got a {type(other).__name__}")
        mine, theirs = self._configuration(), other._configuration()
        if repr(mine) != repr(theirs):
            raise MergeError(f"Expected the same configuration in both, but got {mine} and {theirs}")

    def copy(self) -> Self:
        """Return an independent copy of configuration and counts."""
        with self._reading():
            twin = self._with(self.state.copy())
            twin._folds = copied(self)
        return twin

    def _with(self, state: Any) -> Self:
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._attach(state)
        return twin

    def reset(self) -> None:
        """Forget every sample; the configuration stays."""
        with self._writing():
            self._reset_states()
            self._folds.clear()

    def _reset_states(self) -> None:
        self.state.reset()

    def clone(self, new_params: Mapping[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """Return an empty one, configured alike but for `new_params`; `include_attributes` keeps the samples."""
        arguments = {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}
        twin = type(self)(**arguments | dict(new_params or {}))
        return twin.merge(self) if include_attributes else twin

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
        if encoded(content[0]) != encoded(self._configuration()):
            raise ValueError(f"a configuration as it is written, {self._configuration()}, but got {content[0]}")
        return self

    def _content(self) -> list[Any]:
        with self._reading():
            return [self._configuration(), self.state._content(), *written(self)]


class Metric(Live):
    """One metric over a state of its own, to be updated sample by sample and read at any time.

    The classes derived from it are made from the catalog; `key` names the row and the entry in a snapshot.
    """

    KIND: ClassVar[str] = "metric"
    zero_division: float
    row: ClassVar[Row]
    key: ClassVar[str]
    bigger_is_better: ClassVar[bool]
    requires_labels: ClassVar[bool]
    _fmt: ClassVar[str] = ".6g"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not hasattr(self, "row"):
            raise TypeError("Metric has no formula of its own; use a class such as stream_metrics.MacroF1")
        bound = inspect.signature(type(self)).bind(*args, **kwargs)
        bound.apply_defaults()
        given = dict(bound.arguments)
        instead = given.pop("zero_division")
        self.zero_division = checked_zero_division(self.row.zero_division if instead is None else instead)
        kind, taken = STATES[self.row.reads]
        chosen = {name: given.pop(name) for name in taken if name in given}
        pos_label = given.pop("pos_label", chosen.get("pos_label"))
        self.pos_label = None if pos_label is None else canonical(pos_label, "pos_label")
        self._attach(kind(**chosen, **_sketched(self.row)))
        for name in chosen:
            setattr(self, name, getattr(self.state, "fixed_labels" if name == "labels" else name))
        for name, value in given.items():
            if callable(value):
                raise ValueError(
                    f"Expected `{name}` of a metric, which is written as bytes, to be a name, but got {value!r:.60}; "
                    f"a snapshot takes a function: snapshot.value({self.key!r}, {name}=...)"
                )
            setattr(self, name, value)
        whole = {name for name, default in self.row.options.items() if type(default) is int}
        checked = checked_options(self.row, given)
        self._options = {name: value if name in whole else _plain(value, name) for name, value in checked.items()}
        extra = {"zero_division": self.zero_division} if self.row.averages else {}
        extra.update(self._options)
        self._formula = partial(self.row.formula, **extra) if extra else self.row.formula
        if self.row.quadratic or self.row.needs:
            self._formula = partial(_checked_formula, self.row, self._formula)
        compute(self.row, self.state, self.zero_division, **self._options)
        self.get()  # refuses options out of range

    def get(self) -> float:
        """Return the current value; `zero_division` where it is 0/0.

        `ValueError` if it cannot be computed: a test of weighted samples, a square table of more than 4096 classes.
        """
        value: float = self._read(self._formula)
        return value if value == value else self.zero_division

    def snapshot(self) -> Snapshot:
        """Return a frozen copy of the state, from which this and every other metric of it can be read."""
        reads: str = self.row.reads
        with self._reading():
            state, parts = self.state.copy(), copied(self)
        folds = {fold: {reads: part.state} for fold, part in parts.items()}
        return Snapshot(**{reads: state}, folds=folds, zero_division=self.zero_division)

    @property
    def _reads(self) -> Literal["labels", "scores", "both"]:
        return "labels" if self.row.reads == "counts" else "scores"

    def is_better_than(self, other: Any) -> bool:
        """Tell whether the value here is the better one; False if one of them is nan."""
        mine, theirs = self.get(), other.get()
        return bool(mine > theirs if self.bigger_is_better else mine < theirs)

    __gt__ = is_better_than

    def works_with(self, model: Any) -> bool:
        """Tell whether a model of river predicts what is read here: classes, or for rankings anomaly scores too."""
        base = sys.modules.get("river.base")  # who has a model of river has loaded it
        if base is None:
            return False
        others = {"counts": (base.Clusterer,), "ranks": (base.AnomalyDetector, base.AnomalyFilter)}
        return isinstance(model, (base.Classifier, *others.get(self.row.reads, ())))

    def _configuration(self) -> tuple[Any, ...]:
        own = () if self.pos_label is None or self.row.reads != "counts" else (self.pos_label,)
        return self.key, self.zero_division, own, self._options

    @classmethod
    def _restore(cls, content: Any) -> Metric:
        (key, zero_division, pos_label, options), held, *folds = content
        row = find(key)
        kind, taken = STATES[row.reads]
        state = kind._restore(held)
        kwargs = {name: getattr(state, "fixed_labels" if name == "labels" else name) for name in taken}
        if pos_label:
            kwargs["pos_label"] = pos_label[0]
        made = CLASSES[row.class_name or ""]
        made = cls if issubclass(cls, made) else made
        metric = made(zero_division=zero_division, **kwargs, **options)
        if metric.state._content()[0] != state._content()[0] and row.reads == "ranks":
            raise ValueError("a sketch such as this metric makes")
        metric._attach(state)
        read_folds(metric, content[0], folds)
        return metric._checked(content)

    def __repr__(self) -> str:
        try:
            value = f"{self.get():.6g}"
        except ObstacleError as error:
            value = error.obstacle.reason
        return f"{type(self).__name__}: {value}"


class _OneClassMetric(Metric):
    """A metric of one class, `pos_label`, against the rest."""

    def get(self) -> float:
        """Return the current value for `pos_label`; `zero_division` where it is 0/0."""
        value: float = self._formula(self.state.one_vs_rest(self.pos_label)).item(0)
        return value if value == value else self.zero_division


class _ScoreMetric(Metric):
    """A metric of the scores of all classes, or of those of `pos_label` against the rest."""

    def get(self) -> float:
        """Return the current value, without its interval; `zero_division` where it is 0/0."""
        if self.row.kind == "per_class":
            computed = self.row.formula.measure(self.state.column(self.pos_label), **self._options)  # type: ignore[attr-defined]
        else:
            computed = self._read(self._formula)
        value: float = plain(computed)
        return value if value == value else self.zero_division


def _plain(value: Any, argument: str) -> Any:
    """Return an option in the one form in which it is compared and written."""
    if isinstance(value, Mapping):
        labels = [canonical(label) for label in value]
        numbers = [_plain(number, argument) for number in value.values()]
        return {labels[i]: numbers[i] for i in ordering(labels)}
    if isinstance(value, str | bool | float) or value is None:
        return value
    number = real_number(value)
    return tuple(_plain(item, argument) for item in sequence(value, argument)) if number is None else number


def _checked_formula(row: Row, formula: Callable[..., Any], state: Any) -> Any:
    """Return the value of a formula that not every state allows."""
    check(row, state)
    return formula(state)


def _sketched(row: Row) -> dict[str, bool]:
    """Return what a row needs of its sketch: every class apart, if it compares pairs of classes."""
    return {"pairs": row.quadratic} if row.reads == "ranks" else {}


def _signature(row: Row) -> inspect.Signature:
    """Options of the formula first, then what every class takes by keyword."""
    both, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    options = [inspect.Parameter(name, both, default=default) for name, default in row.options.items()]
    common: dict[str, Any] = {"pos_label": True} if row.kind == "per_class" else {}
    common |= {**STATES[row.reads][1], "zero_division": row.zero_division}
    return inspect.Signature(
        options + [inspect.Parameter(name, keyword, default=default) for name, default in common.items()]
    )


def _make(row: Row) -> type[Metric]:
    """Make the class of a row."""
    signature = _signature(row)
    with_self = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY), *signature.parameters.values()]
    of_counts = _OneClassMetric if row.kind == "per_class" else Metric

    def __init__(self: Metric, *args: Any, **kwargs: Any) -> None:
        Metric.__init__(self, *args, **kwargs)

    __init__.__signature__ = signature.replace(parameters=with_self)  # type: ignore[attr-defined]
    made: type[Metric] = type(
        row.class_name or "",
        (of_counts if row.reads == "counts" else _ScoreMetric,),
        {
            "__doc__": f"{row.title}.\n\n{inspect.getdoc(row.formula)}\n\nKey: {row.key}. 0/0: {row.undefined}.\n",
            "__module__": "stream_metrics",
            "__signature__": signature,
            "__init__": __init__,
            "row": row,
            "key": row.key,
            "bigger_is_better": row.better == "higher",
            "requires_labels": row.reads == "counts",
        },
    )
    return made


CLASSES: dict[str, type[Metric]] = {row.class_name: _make(row) for row in CATALOG.values() if row.class_name}
CLASSES |= {row.alias: CLASSES[row.class_name or ""] for row in CATALOG.values() if row.alias}
