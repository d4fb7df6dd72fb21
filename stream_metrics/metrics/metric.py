"""One metric with a state of its own, read at any time.

`metric_class` creates the classes (`Accuracy`, `MacroF1`, `MCC`, `ROCAUC`, ...), each from a row of the catalog when it
is first used: a key, a constructor and a docstring. What they do is in `Metric`. A row says which state its formula
reads; `STATES` says how such a state is created, and which of its options a class takes.

A metric has every member by which river uses one (`clone`, `works_with`, `is_better_than`, ...), so river takes it as
it is. Where river asks for an instance of its own class, `integrations.river` has an adapter.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from math import nan
from typing import Any, ClassVar, Literal, Self

from stream_metrics._core.confusion.kernels import LinearRatio, ReadingBase
from stream_metrics._core.numeric.kernels import real_number
from stream_metrics.catalog.spec import MetricSpec, ObstacleError, check
from stream_metrics.catalog.table import find
from stream_metrics.errors import MergeError
from stream_metrics.evaluation.evaluation import checked_options, checked_zero_division, compute, point_value
from stream_metrics.formulas.protocol import CountState
from stream_metrics.formulas.rates import linear_forms
from stream_metrics.inputs.arguments import named_arguments, sequence
from stream_metrics.labels import Label, canonical, ordering
from stream_metrics.labels.pos_label import as_counted_before, check_possible, is_binary, is_default
from stream_metrics.metrics.base import MetricBase
from stream_metrics.snapshots.snapshot import Snapshot
from stream_metrics.states.confusion import ConfusionMatrix
from stream_metrics.states.losses import ProbabilityLosses
from stream_metrics.states.protocols import not_counted
from stream_metrics.states.ranks import RankSketch
from stream_metrics.wire import from_bytes

SKETCH: dict[str, object] = {"pos_label": True, "buckets": 1024, "sample": 512}
STATES: dict[str, tuple[type[Any], dict[str, object]]] = {
    "counts": (ConfusionMatrix, {"labels": None, "other": None}),
    "ranks": (RankSketch, SKETCH),
    "losses": (ProbabilityLosses, {"pos_label": True}),
}  # by what a row reads: the state, and the options of it that a metric takes
COUNTING = ("update", "update_many", "update_counts", "revert", "_sample_steps")  # what a class may do in its own way
OF_HINTS = {"Iterable": Iterable, "Label": Label, "Literal": Literal, "Mapping": Mapping, "Sequence": Sequence}
ANNOTATIONS: dict[object, str] = {  # of the options that are not of the type of their default
    "average": "Literal['arithmetic', 'geometric', 'harmonic', 'power']",
    "direction": "Literal['up', 'down', 'auto']",
    "ignore_index": "Label | None",
    "labels": "Iterable[Label] | None",
    "missing": "Literal['abstain', 'wrong', 'raise']",
    "other": "Label | None",
    "pos_label": "Label",
    "scale_by_half": "bool | Literal['auto']",
    "strategy": "Literal['uniform', 'quantile']",
    "variant": "Literal['mean_of_f1', 'f1_of_means']",
    ("p", None): "float | None",
    ("weights", None): "Mapping[Label, float] | Sequence[float] | None",
    ("weights", "linear"): "Literal['linear', 'quadratic']",
}


class Metric(ReadingBase, MetricBase):
    """One metric with a state of its own, updated sample by sample and read at any time.

    This is the base class. The classes to use, such as `MacroF1` and `ROCAUC`, derive from it: one for each metric that
    is watched alone. Each names the `key` under which a snapshot and a `MetricSet` have the same value.

    Parameters
    ----------
    **arguments : Any
        The arguments of the derived class, by name.

    Attributes
    ----------
    key : str
        The key of the value in a snapshot and in a `MetricSet`.
    state : ConfusionMatrix or RankSketch or ProbabilityLosses
        What is counted.
    zero_division : float
        Value that stands for 0/0.
    bigger_is_better : bool
        Whether a larger value is better.

    Raises
    ------
    TypeError
        If the class is `Metric` itself, which has no formula.
    ValueError
        If an argument has a value that the metric does not allow.

    Notes
    -----
    The formulas in the docstrings of the classes use this notation:

    - C_ij: weight of the samples of true class i that are predicted as class j.
    - t_k, p_k: weight of the samples whose true class is k, and of those whose predicted class is k.
    - c, N, K: weight of the samples predicted right, of all samples, and the number of classes.
    - TP_k, FN_k, FP_k, TN_k: C_kk, t_k - C_kk, p_k - C_kk and N - t_k - p_k + C_kk, for class k against the rest.
    - P_k, R_k, S_k, V_k: precision, recall, specificity and negative predictive value of class k.
    - own, rest: the samples of the class whose score is read, and all others.
    - phi^p: the power mean with exponent p: -1 is the harmonic, 0 the geometric, 1 the arithmetic mean.

    Guarantee: counts are exact. Shards that are merged, in any order and tree, have the bytes of one process.

    Examples
    --------
    >>> from stream_metrics import MacroF1
    >>> shards = MacroF1(), MacroF1()
    >>> shards[0].update("cat", "cat")
    >>> shards[1].update_many(["cat", "dog"], ["dog", "dog"])
    >>> total = shards[0].merge(shards[1])
    >>> round(total.get(), 4)
    0.6667
    >>> total.snapshot()["accuracy"]
    0.6666666666666666
    """

    KIND: ClassVar[str] = "metric"
    zero_division: float
    _row: ClassVar[MetricSpec]
    key: ClassVar[str]
    bigger_is_better: ClassVar[bool]
    requires_labels: ClassVar[bool]
    _fmt: ClassVar[str] = ".6g"

    def __init_subclass__(cls, **options: object) -> None:
        """Look up the row of a class that has a key of its own."""
        super().__init_subclass__(**options)
        if "key" in cls.__dict__:
            cls._row = find(cls.key)
            cls.bigger_is_better = cls._row.direction == "higher"
            cls.requires_labels = cls._row.state == "counts"

    def __init__(self, **arguments: Any) -> None:
        if not hasattr(self, "_row"):
            raise TypeError("Metric has no formula of its own; use a class such as stream_metrics.MacroF1")
        row, options = self._row, arguments
        zero_division = options.pop("zero_division")
        self.zero_division = checked_zero_division(row.zero_division if zero_division is None else zero_division)
        kind, names = STATES[row.state]
        rule = options.pop("missing"), options.pop("ignore_index")
        for_state = {name: options.pop(name) for name in names}
        pos_label = for_state["pos_label"] if "pos_label" in for_state else options.pop("pos_label", None)
        self.pos_label = None if pos_label is None else canonical(pos_label, "pos_label")
        state = kind(**for_state, **_sketched(row))
        if row.kind == "per_class" and row.state == "counts" and self.pos_label is not None:
            check_possible(self.pos_label, state.fixed_labels, state.other)
        self._attach(state)
        self._set_rule(*rule)
        if rule[0] == "wrong" and row.kind == "per_class" and is_default(pos_label):
            raise ValueError("Expected `pos_label` with missing='wrong', which adds a class, but got its default")
        for name in for_state:
            setattr(self, name, getattr(self.state, "fixed_labels" if name == "labels" else name))
        self._set_options(options)
        compute(row, self.state, self.zero_division, **self._options)
        self.get()  # refuses options out of range

    def _set_options(self, options: dict[str, object]) -> None:
        """Check the options of the formula, and bind them to it."""
        row = self._row
        for name, value in options.items():
            if callable(value):
                raise ValueError(
                    f"Expected `{name}` of a metric, which is written as bytes, to be a name, but got {value!r:.60}; "
                    f"a snapshot takes a function: snapshot.value({self.key!r}, {name}=...)"
                )
            setattr(self, name, value)
        whole = {name for name, default in row.options.items() if type(default) is int}
        checked = checked_options(row, options)
        self._options = {name: value if name in whole else _plain(value, name) for name, value in checked.items()}
        bound = {"zero_division": self.zero_division, **self._options} if row.uses_zero_division else self._options
        self._formula: Callable[..., Any] = partial(row.formula, **bound) if bound else row.formula
        if row.quadratic or row.needs:
            self._formula = partial(_checked_formula, row, self._formula)
        if (forms := linear_forms(row.key, self._options)) is not None:
            self._linear_ratio = LinearRatio(*forms, self.pos_label if row.kind == "per_class" else None)

    def _value(self) -> float:
        """Return what `get` does, by calling the formula."""
        if self._row.kind != "per_class":
            value: float = point_value(self._read(self._formula))
        elif self._row.state == "counts":
            value = self._formula(self.state.one_vs_rest(self.pos_label)).item(0)
        else:
            measure = self._row.formula.measure  # type: ignore[attr-defined]
            value = point_value(measure(self.state.column(self.pos_label), **self._options))
        return value if value == value else self.zero_division

    def _attach(self, state: Any) -> None:
        """Count in this state from now on.

        With the default `pos_label`, metrics of a class take 0/1 and False/True only. Metrics of pairs of classes
        refuse more classes than pairs are kept of.
        """
        row = getattr(self, "_row", None)
        if row is not None and row.quadratic and isinstance(state, RankSketch):
            state.require_pairs()
        if row is not None and row.kind == "per_class" and is_default(getattr(self, "pos_label", None)):
            state.allow_binary_only()
        super()._attach(state)

    def snapshot(self) -> Snapshot:
        """Return a frozen copy of the state, from which every metric of it can be read.

        Returns
        -------
        Snapshot
            The metrics at this moment; later updates do not change it.
        """
        name: str = self._row.state
        with self._reading():
            state, parts = self.state.copy(), self._copied_folds()
        folds = {fold: {name: part.state} for fold, part in parts.items()}
        own = {name: value for name, value in self._options.items() if value != self._row.options[name]}
        options = {self._row.key: own} if own else None
        return Snapshot(**{name: state}, folds=folds, zero_division=self.zero_division, options=options)

    def _with(self, state: Any, scored: Any = None) -> Self:
        twin = super()._with(state)
        twin._linear_ratio = self._linear_ratio  # of the same class
        return twin

    @property
    def _reads(self) -> str:
        """Whether a sample has labels or scores."""
        return "labels" if self._row.state == "counts" else "scores"

    def is_better_than(self, other: Metric) -> bool:
        """Return whether this value is better than another metric's.

        Parameters
        ----------
        other : Metric
            The other metric.

        Returns
        -------
        bool
            False if one of the values is nan.
        """
        mine, theirs = self.get(), other.get()
        return bool(mine > theirs if self.bigger_is_better else mine < theirs)

    __gt__ = is_better_than

    def _configuration(self) -> tuple[object, ...]:
        own = () if self.pos_label is None or self._row.state != "counts" else (self.pos_label,)
        return self.key, self.zero_division, own, self._options | self._written_rule()

    def _counts_like(self, other: object) -> bool:
        if not isinstance(other, Metric) or self._row.state != other._row.state:
            return False
        return all(getattr(type(self), name) is getattr(type(other), name) for name in COUNTING)

    def _check_same(self, other: object) -> None:
        super()._check_same(other)
        states = self.state, other.state  # type: ignore[attr-defined]
        if _takes_binary_only(states[0]) != _takes_binary_only(states[1]):
            names = [("any labels", "only 0/1 and False/True")[_takes_binary_only(each)] for each in states]
            but = f"got {names[0]} in one and {names[1]} in the other; reconfigured(pos_label=...) names the class"
            expected, got = "to allow the same labels in both", getattr(other, "pos_label", None)
            raise MergeError(argument="pos_label", expected=expected, got=got, but=but)

    def _count_again(self, twin: Self) -> None:
        names = STATES[self._row.state][1]
        options = {name: getattr(twin, name) for name in names} | _sketched(self._row)
        state = self.state.reconfigured(**options)
        if _takes_binary_only(twin.state) and not _takes_binary_only(state):
            for label in state.labels:
                if not is_binary(label):
                    raise not_counted("pos_label", self.pos_label, twin.pos_label, f"{label!r:.60} was counted")
        twin.state.merge(state)

    @classmethod
    def _restore(cls, content: Any) -> Metric:
        (key, zero_division, pos_label, options), state_content, *folds = content
        row = find(key)
        if row.class_name is None and row.state != "counts":
            raise ValueError(f"a metric that has a class, not {key!r}")
        kind, names = STATES[row.state]
        state = kind._from_content(state_content)
        for_state = {name: getattr(state, "fixed_labels" if name == "labels" else name) for name in names}
        if pos_label:
            for_state["pos_label"] = pos_label[0]
        named = metric_class(row)
        chosen = cls if issubclass(cls, named) else named
        metric: Metric = as_counted_before(chosen, zero_division=zero_division, **for_state, **options)
        if metric.state._content()[0] != state._content()[0] and row.state == "ranks":
            raise ValueError("a sketch such as this metric makes")
        metric._attach(state)
        metric._read_folds(content[0], folds)
        return metric

    def __reduce__(self) -> tuple[object, ...]:
        return super().__reduce__() if self._row.class_name else (from_bytes, (self.to_bytes(),))

    def __repr__(self) -> str:
        try:
            value = f"{self.get():.6g}"
        except ObstacleError as error:
            value = error.obstacle.reason
        rule = ", ".join(self._shown_rule())
        return f"{type(self).__name__}({rule}): {value}" if rule else f"{type(self).__name__}: {value}"


def _takes_binary_only(state: Any) -> bool:
    """Return whether a state refuses labels but 0/1 and False/True that another one takes."""
    open_labels = getattr(state, "fixed_labels", None) is None or state.other is not None
    return getattr(state, "_binary_only", False) and open_labels


class _Documentation:
    """The docstring of a metric class, read from `classes.pyi` when it is asked for; without that file, the summary."""

    def __get__(self, metric: Metric | None, owner: type[Metric]) -> str:
        return _docstrings().get(owner.__name__, owner._row.summary)


@cache
def _docstrings() -> dict[str, str]:
    from importlib.resources import files

    stub = files(__package__) / "classes.pyi"
    body = ast.parse(stub.read_text(encoding="utf-8")).body if stub.is_file() else []
    return {node.name: ast.get_docstring(node) or "" for node in body if isinstance(node, ast.ClassDef)}


def signature(row: MetricSpec) -> inspect.Signature:
    """Return the signature of a constructor: the options of the formula, then by name those of the state."""
    by_name = ({"pos_label": True} if row.kind == "per_class" else {}) | STATES[row.state][1]
    rule = {"missing": "abstain", "ignore_index": None}
    defaults = row.options | by_name | {"zero_division": row.zero_division} | rule
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for name, default in defaults.items():
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if name in row.options else inspect.Parameter.KEYWORD_ONLY
        annotation = ANNOTATIONS.get(name) or ANNOTATIONS.get((name, default)) or type(default).__name__
        parameters.append(inspect.Parameter(name, kind, default=default, annotation=annotation))
    return inspect.Signature(parameters, return_annotation="None")


_classes: dict[str, type[Metric]] = {}


def metric_class(row: MetricSpec) -> type[Metric]:
    """Return the class of a row; a row that names none has one, too, so that bytes of format 1 stay readable."""
    if row.key in _classes:
        return _classes[row.key]
    name, written = row.class_name or f"Metric[{row.key}]", signature(row)
    passed = ", ".join(f"{option}={option}" for option in [*written.parameters][1:])
    namespace: dict[str, Any] = {"nan": nan, "configure": Metric.__init__, "__name__": "stream_metrics", **OF_HINTS}
    source = f"def __init__{written}:\n    configure(self, {passed})"
    exec(compile(source, f"<{name}>", "exec", dont_inherit=True), namespace)  # so do `dataclasses`
    constructor = named_arguments(namespace["__init__"])
    constructor.__qualname__ = f"{name}.__init__"
    members = {"__module__": "stream_metrics", "__doc__": _Documentation(), "key": row.key, "__init__": constructor}
    return _classes.setdefault(row.key, type(name, (Metric,), members))  # two threads get the same one


def _plain(value: object, argument: str) -> object:
    """Return an option in the one form in which it is compared and written."""
    if isinstance(value, Mapping):
        labels = [canonical(label) for label in value]
        numbers = [_plain(number, argument) for number in value.values()]
        return {labels[i]: numbers[i] for i in ordering(labels)}
    if isinstance(value, str | bool | float) or value is None:
        return value
    number = real_number(value)
    return tuple(_plain(item, argument) for item in sequence(value, argument)) if number is None else number


def _checked_formula(row: MetricSpec, formula: Callable[..., Any], state: CountState) -> Any:
    """Return the value of a formula that not every state allows."""
    check(row, state)
    return formula(state)


def _sketched(row: MetricSpec) -> dict[str, bool]:
    """Return the options of the sketch of a row: every class is counted apart if it compares pairs of classes."""
    return {"pairs": row.quadratic} if row.state == "ranks" else {}
