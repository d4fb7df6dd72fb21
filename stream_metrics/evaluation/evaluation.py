"""The frozen states of one stream, and the metrics read from them, each computed once.

**Formulas** are called, and 0/0 is replaced, here only. A formula returns nan exactly where its value is 0/0, so
undefined values are found by looking for nan, and a caller sees both the number that stands for them and where they
were. A formula of scores returns its value with the interval that certainly holds it; `point_value` takes the value
out.

Snapshots, intervals, reports and figures all read values here, so that a value that several of them need is computed
once. Nothing is computed before its first use.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from stream_metrics._core.numeric.kernels import whole
from stream_metrics.catalog.spec import MISSING, MetricSpec, Obstacle, check, obstacle
from stream_metrics.catalog.table import CATALOG, find
from stream_metrics.errors import UnknownKeyError, unexpected_label
from stream_metrics.formulas.arithmetic import has_nan
from stream_metrics.formulas.losses import MOST_RANKS
from stream_metrics.formulas.protocol import MemoizedCounts, Numbers
from stream_metrics.inputs.arguments import real, truth
from stream_metrics.labels import Label, canonical
from stream_metrics.ranking.calibration import MOST_BINS, has_margins
from stream_metrics.ranking.classes import asked_class, classes, columns
from stream_metrics.ranking.protocol import Certified, RankColumn

State: TypeAlias = Any  # a `CountState`, `RankState` or `LossState`, whichever the metric reads
Computed: TypeAlias = Any  # a number, label or array, or `Certified` values in lists
Value: TypeAlias = Any  # a number, a label, or an array of numbers
Options: TypeAlias = dict[str, object]  # those of a formula, such as beta=2
MOST = {"bins": MOST_BINS, "k": MOST_RANKS}  # of options that are whole numbers


def evaluate(
    row: MetricSpec, c: State, zero_division: float | None = None, **options: object
) -> tuple[Value, bool | list[Label]]:
    """Return the value of a row, and what was 0/0.

    `zero_division` (0.0, 1.0, nan, or None for the row's own) stands for 0/0. `c` is the state that the row reads.
    What was 0/0 is True or False for a whole value, the list of classes for a per-class one, False for a matrix. A
    label that is undefined stays None. Errors as for `compute`.
    """
    return replace_undefined(row, c, compute(row, c, zero_division, **options), zero_division)


def compute(row: MetricSpec, c: State, zero_division: float | None = None, **options: object) -> Computed:
    """Return what the formula of a row returns, certified intervals and all, with 0/0 as nan.

    `ValueError` if the row cannot be computed from these counts (see `catalog.spec`), or for an option the row lacks.
    """
    if row.quadratic or row.needs:
        check(row, c)
    if options:
        options = checked_options(row, options)
    if row.uses_zero_division:
        options["zero_division"] = _instead(row, zero_division)
    return row.formula(c, **options)


def checked_options(row: MetricSpec, options: Options) -> Options:
    """Return options of a row, numbers of every type as int or float; `ValueError` for one of a wrong type."""
    return {name: _checked_option(row, name, value) for name, value in options.items()}


def _checked_option(row: MetricSpec, name: str, value: object) -> object:
    if name not in row.options:
        known = f"one of the options {', '.join(row.options)}" if row.options else "no options"
        raise ValueError(f"Expected {known} for {row.key!r}, but got {name!r}")
    default = row.options[name]
    if isinstance(default, bool):
        return truth(value, name)
    if isinstance(default, int):
        return whole(value, name, 1, MOST[name])
    if isinstance(default, float) or (name == "p" and value is not None):
        return real(value, name)
    if isinstance(default, str) and not (isinstance(value, str | bool) or callable(value)):
        raise ValueError(f"Expected `{name}` to be a name such as {default!r}, but got {value!r:.60}")
    return value


def replace_undefined(
    row: MetricSpec, c: State, computed: Computed, zero_division: float | None
) -> tuple[Value, bool | list[Label]]:
    """Return a computed value without its interval and with 0/0 replaced, and what was 0/0; see `evaluate`."""
    value, instead = point_value(computed), _instead(row, zero_division)
    if row.kind == "whole":
        if value is None:
            return None, True
        return (instead, True) if value != value else (value, False)
    where: bool | list[Label] = [] if row.kind == "per_class" else False
    if value.dtype != np.float64:
        return value, where
    if row.kind == "per_class" and not has_nan(value):
        return value, where
    lost = np.isnan(value)
    if row.kind == "per_class":
        where = [label for label, bad in zip(value_labels(row, c), lost.tolist(), strict=True) if bad]
    return np.where(lost, instead, value), where


def value_labels(row: MetricSpec, c: State) -> tuple[Label, ...]:
    """Return the classes that the values of a per-class or matrix row belong to."""
    labels: tuple[Label, ...] = classes(c) if row.state == "ranks" and row.kind == "per_class" else c.labels
    return labels


def point_value(computed: Computed) -> Value:
    """Return a certified value, or a list of them, or a list of lists, without the intervals."""
    if isinstance(computed, Certified):
        return computed.value
    if isinstance(computed, list):
        size = (len(computed), len(computed)) if computed and isinstance(computed[0], list) else len(computed)
        return np.array([point_value(item) for item in computed], np.float64).reshape(size)
    return computed


def _instead(row: MetricSpec, zero_division: float | None) -> float:
    return row.zero_division if zero_division is None else checked_zero_division(zero_division)


def checked_zero_division(value: float) -> float:
    """Return `value` as a float if it is 0.0, 1.0 or nan; `ValueError` otherwise."""
    with suppress(ValueError):
        number = real(value, "zero_division")
        if number in (0, 1) or math.isnan(number):
            return number
    raise ValueError(f"Expected `zero_division` to be 0.0, 1.0 or nan, but got {value!r}")


States: TypeAlias = Mapping[str, State]  # by what reads them: "counts", "ranks", "confidence", "losses"


class Estimate(NamedTuple):
    """A value of a metric, and the interval that certainly holds what the raw data would give.

    Parameters
    ----------
    value : float or array
        The value.
    low, high : float or array
        The ends of the interval; both are the value where it is known exactly.
    se : float
        How far the value may be from that of the raw scores.
    kind : {"exact", "certified", "undefined"}
        "exact" for a function of exact counters, "certified" for one of a rank sketch, "undefined" for 0/0, when the
        value is the number that stands for it.

    Notes
    -----
    This is not about the uncertainty that comes from the data being a sample; see `Interval`.

    Examples
    --------
    >>> from stream_metrics import RankSketch
    >>> state = RankSketch()
    >>> state.update_many([1, 0, 1], [0.9, 0.2, 0.4])
    >>> state.snapshot().estimate("roc_auc")
    Estimate(value=1.0, low=1.0, high=1.0, se=0.0, kind='certified')
    """

    value: Value
    low: Value
    high: Value
    se: float
    kind: str


class Evaluation:
    """States that no longer change, with every value that was read from them.

    `states` are the states by name and `views` the same with memoized readings; `folds` are the states of the samples
    of each fold of units, by fold; `slides` is whether they come from a window that forgets; `options` are those that a
    metric was made with, by key, where they are not the defaults; `left_out` stores the states without each fold, by
    name, and `weight_problem` why weights allow no intervals, None until that was asked.
    """

    __slots__ = (
        "_estimates", "_tables", "_values", "folds", "left_out", "options", "slides", "states", "views",
        "weight_problem", "zero_division",
    )  # fmt: skip

    def __init__(
        self,
        states: States,
        folds: Mapping[int, States] | None,
        zero_division: float | None,
        options: Mapping[str, Options] | None = None,
    ) -> None:
        """Take over the states; at least one must be given."""
        self.states = {name: state for name, state in states.items() if state is not None}
        if not self.states:
            raise ValueError("Expected at least one state, but got none")
        self.views = {name: MemoizedCounts(state) for name, state in self.states.items()}
        self.folds = dict(folds or {})
        self.slides = False
        self.options = dict(options or {})
        self.zero_division = None if zero_division is None else checked_zero_division(zero_division)
        self.left_out: dict[str, list[State]] = {}
        self.weight_problem: str | None = None
        self._values: dict[str, tuple[Value, bool | list[Label]]] = {}
        self._estimates: dict[str, Computed] = {}
        self._tables: dict[str, dict[Label, float]] = {}

    @property
    def main(self) -> State:
        """The state that has counted every sample."""
        return next(iter(self.states.values()))

    @property
    def n(self) -> int:
        """The number of samples."""
        return int(self.main.n)

    def zero_division_of(self, row: MetricSpec) -> float:
        """Return the number that replaces a value or component of a metric that is 0/0."""
        return row.zero_division if self.zero_division is None else self.zero_division

    def options_of(self, key: str, given: Options) -> Options:
        """Return the options with which a key is read: those given, and of the others those of the metric."""
        own = self.options.get(key)
        return {**own, **given} if own else given

    def with_options(self, key: str, options: Options) -> Evaluation:
        """Return an evaluation of the same states in which a key has other options."""
        twin = Evaluation(self.states, self.folds, self.zero_division, {key: self.options_of(key, options)})
        twin.views, twin.slides, twin.left_out = self.views, self.slides, self.left_out
        return twin

    def title(self, key: str) -> str:
        """Return the title of a key, and behind it the options that the metric was made with."""
        row = find(key)
        given = self.options.get(row.key, {}).items()
        options = ", ".join(f"{name}={value}" for name, value in given if isinstance(value, str | int | float))
        return f"{row.title} ({options})" if options else row.title

    def view(self, reads: str, key: str) -> State:
        """Return the view of the state that a key reads; KeyError if there is none."""
        view = self.views.get(reads)
        if view is None:
            needs = MISSING[reads]
            if reads != "counts" and "ranks" in self.views and any(map(has_margins, columns(self.views["ranks"]))):
                needs = "probabilities, and a score lies outside [0, 1]: apply softmax or sigmoid to logits first"
            raise UnknownKeyError(f"Expected a key that can be read here, but {key!r} needs {needs}")
        return view

    def obstacle(self, key: str) -> Obstacle | None:
        """Return why a key cannot be computed here, None if it can."""
        row = find(key)
        return obstacle(row, self.views.get(row.state))

    def value_and_undefined(self, key: str) -> tuple[Value, Any]:
        """Return the value of a key and which part of it is 0/0; see `evaluate`."""
        pair = self._values.get(key)
        if pair is None:
            row = find(key)
            view = self.views.get(row.state) or self.view(row.state, key)
            computed = compute(row, view, self.zero_division, **self.options.get(row.key, {}))
            if row.state != "counts":
                self._estimates[key] = computed
            value, undefined = replace_undefined(row, view, computed, self.zero_division)
            pair = self._values[key] = (value if row.kind == "whole" else read_only(value)), undefined
        return pair

    def estimates(self, key: str) -> Computed:
        """Return the value of a key of scores with its certified interval: `Certified`, or a list of them."""
        self.value_and_undefined(key)
        return self._estimates[key]

    def labels_of(self, row: MetricSpec) -> tuple[Label, ...]:
        """Return the classes that the values of a row belong to."""
        return value_labels(row, self.views[row.state])

    def per_class(self, key: str) -> Mapping[Label, float]:
        """Return the values of a per-class key by label."""
        if key not in self._tables:
            values = self.value_and_undefined(key)[0].tolist()
            self._tables[key] = dict(zip(self.labels_of(CATALOG[key]), values, strict=True))
        return MappingProxyType(self._tables[key])

    def label_positions(self, key: str, labels: Sequence[Label]) -> list[int]:
        """Return the positions of labels in the value of a key; KeyError for too many, too few or unknown ones."""
        row = CATALOG[key]
        if row.kind == "whole":
            if labels:
                raise unexpected_label(key, labels)
            return []
        view = self.view(row.state, key)
        if not labels and row.state == "ranks" and (asked := asked_class(view)) is not None:
            labels = (asked,)
        if row.kind == "per_class" and len(labels) != 1:
            example = f"estimate({key!r}, 'cat')"
            raise UnknownKeyError(f"Expected one label for {key!r}, such as {example}, but got {labels!r}")
        return [_position(value_labels(row, view), label) for label in labels]

    def column(self, label: Label | None) -> RankColumn:
        """Return the scores of a class against the rest, without a label those of the class that is asked for."""
        view = self.view("ranks", "roc_auc")
        known, wanted = classes(view), asked_class(view) if label is None else label
        if wanted is None or (label is None and len(known) > 1 and wanted not in known):
            expected = f"to be given, one of {', '.join(map(repr, known[:8]))}{', ...' * (len(known) > 8)}"
            raise UnknownKeyError(argument="label", expected=expected, but="got none")
        return columns(view)[_position(known, wanted)]

    def estimate(self, key: str, *labels: Label, **options: object) -> Estimate:
        """Return the value of a key with its certified interval; see `Snapshot.estimate`."""
        row = find(key)
        if row.kind == "matrix" and (row.state != "ranks" or len(labels) != 2):
            raise UnknownKeyError(f"Expected a key with one value, but {key!r} is a matrix: snapshot[{key!r}]")
        if options:
            return self.with_options(row.key, options).estimate(row.key, *labels)
        value, lost = self.value_and_undefined(row.key)
        certified: Computed = self._estimates.get(row.key, value)
        undefined = lost is True or (row.kind == "per_class" and bool(labels) and canonical(labels[0]) in lost)
        for at in self.label_positions(row.key, labels):
            value, certified = value[at], certified[at]
        if not isinstance(certified, Certified):
            value = value.item() if hasattr(value, "item") else value
            return Estimate(value, value, value, 0.0, "undefined" if undefined else "exact")
        if certified.value != certified.value:
            return Estimate(float(value), float(value), float(value), 0.0, "undefined")
        return Estimate(*certified, "certified")


def number_of(evaluation: Evaluation, key: str, label: Label | None = None, **options: object) -> float:
    """Return a value as a float; nan if it is 0/0, or there is no such class."""
    row = find(key)
    if row.kind == "matrix":
        raise UnknownKeyError(f"Expected a key with one value, but {key!r} is a matrix")
    if options:
        evaluation = evaluation.with_options(row.key, options)
    value, undefined = evaluation.value_and_undefined(key)
    if row.kind == "whole":
        if label is not None:
            raise unexpected_label(key, label)
        return math.nan if undefined or not isinstance(value, int | float) else float(value)
    if label is None:
        label = asked_class(evaluation.view("ranks", key)) if row.state == "ranks" else None
        if label is None:
            expected = f"to be the class for the per-class key {key!r}"
            raise UnknownKeyError(argument="label", expected=expected, but="got none")
    label, table = canonical(label, "label"), evaluation.per_class(key)
    return math.nan if label not in table or label in undefined else float(table[label])


def read_only(array: Numbers) -> Numbers:
    """Return an array whose elements cannot be assigned."""
    array.setflags(write=False)
    return array


def _position(labels: tuple[Label, ...], label: Label) -> int:
    label = canonical(label, "label")
    try:
        return labels.index(label)
    except ValueError:
        shown = ", ".join(map(repr, labels[:8])) + (", ..." if len(labels) > 8 else "")
        raise UnknownKeyError(argument="label", expected=f"to be one of {shown or 'none yet'}", got=label) from None
