"""The metrics of samples with several labels at one moment: of each label, and averages over labels and samples."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from stream_metrics.catalog.spec import MetricSpec
from stream_metrics.catalog.table import ALIASES, CATALOG, LABEL_VALUED, find
from stream_metrics.errors import UnknownKeyError, no_attribute, quantity
from stream_metrics.evaluation.warnings import label_warnings
from stream_metrics.labels.json_names import label_names
from stream_metrics.snapshots.groups import GroupSnapshot
from stream_metrics.snapshots.rendering import Rendered
from stream_metrics.snapshots.snapshot import Snapshot, _of_label

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]
    from matplotlib.figure import Figure

    from stream_metrics.labels import Label
    from stream_metrics.report.document import Element, Medium

__all__ = ["MultiLabelSnapshot", "checked_keys", "parsed"]

OWN = {"subset_accuracy": ("subset", "accuracy"), "hamming_loss": ("macro", "zero_one_loss")}
AVERAGES = ("micro", "macro", "weighted", "samples")
OF_SAMPLES = {  # from the numbers of labels that are true, predicted, and both: numerator and denominator
    "precision": lambda t, p, both: (both, p),
    "recall": lambda t, p, both: (both, t),
    "f1": lambda t, p, both: (2 * both, t + p),
    "jaccard": lambda t, p, both: (both, t + p - both),
}
TOO_MANY = "the weights of all labels together reach 2**63"
SHOWN = {  # by the state that must be there
    "counts": (*OWN, *(f"{average}_{key}" for key in OF_SAMPLES for average in AVERAGES)),
    "ranks": tuple(f"{average}_{key}" for key in ("roc_auc", "average_precision") for average in AVERAGES[:3]),
    "losses": ("macro_log_loss", "macro_brier_score"),
}
OF_LABELS = {
    "counts": ("support", "predicted_count", *OF_SAMPLES),
    "ranks": ("roc_auc", "average_precision"),
    "losses": ("log_loss",),
}


def parsed(key: object) -> tuple[str, MetricSpec]:
    """Return the average that a key names, empty for the values of all labels, and the metric of a label."""
    name = str(ALIASES.get(key, key) if isinstance(key, str) else key)
    average, _, metric = name.partition("_")
    if name in OWN:
        average, metric = OWN[name]
    elif average not in AVERAGES or (metric not in CATALOG and metric not in ALIASES):
        average, metric = "", name
    spec = find(metric)
    if spec.kind == "matrix" or spec.key in LABEL_VALUED or spec.state == "confidence":
        raise UnknownKeyError(argument="key", expected="to be that of a metric of one label", got=key)
    if average == "samples" and spec.key not in OF_SAMPLES:
        expected = f"to be samples_ and one of {', '.join(OF_SAMPLES)}"
        raise UnknownKeyError(argument="key", expected=expected, got=key)
    return average, spec


def checked_keys(metrics: Iterable[Any]) -> tuple[str, ...]:
    """Return keys in their one spelling; KeyError for one that is not known, ValueError for a single text."""
    if isinstance(metrics, str | set | frozenset) or not isinstance(metrics, Iterable):
        raise ValueError(f"Expected `metrics` to be a sequence of keys, but got {metrics!r}")
    keys = []
    for metric in metrics:
        key = getattr(metric, "key", metric)
        average, row = parsed(key)
        keys.append(key if key in OWN else f"{average}_{row.key}" if average else row.key)
    return tuple(dict.fromkeys(keys))


class MultiLabelSnapshot(Rendered, Mapping[str, Any]):
    """A mapping from key to value: numbers for averages, a dict by label for the keys of the catalog.

    `snapshot["macro_f1"]` is an average, `snapshot["f1"]` a dict from label to number, and `snapshot["f1", "cat"]` one
    of these. Each metric of two classes of the catalog has a value for each label, and averages of these: micro (of
    the decisions on all labels together), macro (the mean over the labels), weighted (by how often a label is true).
    Averages over samples (samples) there are of precision, recall, f1 and jaccard.

    Parameters
    ----------
    state : MultiLabel
        The counts, which must not change from now on.

    Attributes
    ----------
    by_label : GroupSnapshot
        The snapshot of each label, with the classes False and True; it ranks labels and has their intervals.

    Notes
    -----
    Values of 0/0 are replaced before the mean is taken; those replaced by nan are left out. `undefined` lists them.
    Averages have no intervals, because the labels of a sample depend on each other: `by_label.intervals("f1",
    label=True)` has those of the labels.

    Examples
    --------
    >>> from stream_metrics import MultiLabel
    >>> tags = MultiLabel(["macro_f1", "samples_jaccard"])
    >>> tags.update_many([{"art", "film"}, {"film"}], [{"film"}, {"film"}])
    >>> s = tags.snapshot()
    >>> dict(s), s["f1", "art"], s.by_label.worst("f1", 1, label=True)
    ({'macro_f1': 0.5, 'samples_jaccard': 0.75}, 0.0, [('art', 0.0)])
    """

    __slots__ = ("_keys", "_sizes", "_state", "_states", "_together", "_values", "by_label")

    if not TYPE_CHECKING:  # for type checkers an unknown attribute is an error
        __getattr__ = no_attribute

    def __init__(self, state: Any) -> None:
        """Take over the counts."""
        views, self._together = state._views()
        self.by_label, self._sizes, self._state = GroupSnapshot(views, None, None), state._sized(), state
        self._states = tuple(next(iter(views.values())).evaluation.states) if views else ("counts",)
        usual = tuple(key for name in self._states for key in SHOWN[name])
        self._keys: tuple[str, ...] = usual if state.metrics is None else state.metrics
        self._values: dict[str, tuple[Any, Any]] = {}

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels, in the order of report."""
        return tuple(self.by_label)

    @property
    def n(self) -> int:
        """Number of samples counted, abstentions not included."""
        return int(self._state.n)

    @property
    def weight(self) -> int | float:
        """Sum of the sample weights; equals `n` where no weights were given."""
        return self._state._sizes.weight  # type: ignore[no-any-return]

    @property
    def abstained(self) -> int:
        """Number of samples without a prediction; they are in no metric."""
        return int(self._state.abstained)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about data that look wrong: labels of truth and predictions that have nothing in common."""
        true, predicted = ([a for a, count in self[key].items() if count] for key in ("support", "predicted_count"))
        return tuple(label_warnings(true, predicted, self.n)) if len(true) > 1 else ()

    def __getitem__(self, key: str | tuple[str, Label]) -> Any:
        """Return the value of a key, or with `snapshot[key, label]` that of one label."""
        if isinstance(key, tuple) and len(key) == 2:
            values = self[key[0]]
            if not isinstance(values, dict):
                raise UnknownKeyError(argument="key", expected="to be that of a label, beside a label", got=key[0])
            return _of_label(values, key[1])
        value = self._value(key)[0]
        return dict(value) if isinstance(value, dict) else value

    def _value(self, key: Any) -> tuple[Any, Any]:
        """Return the value of a key, and whether it is 0/0; of a key of labels a dict, and those labels."""
        if key not in self._values:
            average, row = parsed(key)
            if average:
                self._values[key] = self._average(average, row)
            else:
                pairs = {label: _of_class(view, row) for label, view in self.by_label.items()}
                undefined = [label for label, (_, lost) in pairs.items() if lost]
                self._values[key] = {label: value for label, (value, _) in pairs.items()}, undefined
        return self._values[key]

    def _average(self, average: str, row: MetricSpec) -> tuple[float, bool]:
        """Return an average, and whether it is 0/0."""
        instead = row.zero_division if self._state.zero_division is None else self._state.zero_division
        if average == "micro":
            if self._together is None:
                raise UnknownKeyError(argument="key", expected="to have a value", but=f"got {row.key!r}: {TOO_MANY}")
            return _of_class(self._together, row)
        if average == "subset":
            terms = [(float(t == p == both), weight) for t, p, both, weight in self._sizes]
        elif average == "samples":
            ratios = [(OF_SAMPLES[row.key](*numbers), weight) for *numbers, weight in self._sizes]
            terms = [(top / bottom if bottom else instead, weight) for (top, bottom), weight in ratios]
        else:
            values = self[row.key]
            support = self["support"] if average == "weighted" else dict.fromkeys(values, 1.0)
            terms = [(value, support[label]) for label, value in values.items()]
        terms = [(value, weight) for value, weight in terms if value == value]
        total = math.fsum(weight for _, weight in terms)
        if not total:
            return instead, True
        return math.fsum(value * weight for value, weight in terms) / total, False

    @property
    def undefined(self) -> tuple[str | tuple[str, Label], ...]:
        """The values shown that are 0/0 and were replaced by `zero_division`: "key", or ("key", label)."""
        keys: list[str | tuple[str, Label]] = []
        for key in dict.fromkeys([*self, *self._label_keys()]):
            lost = self._value(key)[1]
            keys += [key] if lost is True else [(key, label) for label in lost or ()]
        return tuple(keys)

    @property
    def omitted(self) -> Mapping[str, str]:
        """The keys to show that cannot be computed, and why; `snapshot[key]` raises for them."""
        omitted = {}
        for key in self._keys:
            try:
                self._value(key)
            except (KeyError, ValueError) as error:
                omitted[key] = str(error)
        return omitted

    def _label_keys(self) -> tuple[str, ...]:
        """Return the keys of labels that reports and tables show: those chosen, or else the usual ones."""
        chosen = tuple(key for key in self if isinstance(self[key], dict))
        return chosen or tuple(key for state in self._states for key in OF_LABELS.get(state, ()))

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys to show that can be computed."""
        omitted = self.omitted
        return (key for key in self._keys if key not in omitted)

    def __len__(self) -> int:
        """Number of keys over which this iterates."""
        return sum(1 for _ in self)

    def __contains__(self, key: object) -> bool:
        """Tell whether `key` is one of those over which this iterates."""
        return key in tuple(self)

    def _ipython_key_completions_(self) -> list[str]:
        """Return what notebooks complete in `snapshot[...]`."""
        return list(dict.fromkeys([*self, *self._label_keys()]))

    def __eq__(self, other: object) -> bool:
        """Tell whether both have the same counters, chosen keys and options."""
        return self._state == other._state if isinstance(other, MultiLabelSnapshot) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # equal by value

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the counters, not the values."""
        return MultiLabelSnapshot, (self._state,)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python types.

        Returns
        -------
        dict
            Values by key, those of labels under their JSON names.
        """
        names = label_names(self.labels)
        lost = [key if isinstance(key, str) else [key[0], names[self.labels.index(key[1])]] for key in self.undefined]
        values = {key: self[key] for key in dict.fromkeys([*self, *self._label_keys()])}
        per_label = {key: value for key, value in values.items() if isinstance(value, dict)}
        return {
            "n": self.n,
            "weight": self.weight,
            "abstained": self.abstained,
            "labels": names,
            "metrics": {key: value for key, value in values.items() if key not in per_label},
            "per_label": {key: dict(zip(names, each.values(), strict=True)) for key, each in per_label.items()},
            "undefined": lost,
            "omitted": dict(self.omitted),
            "warnings": list(self.warnings),
        }

    def to_frame(self) -> pandas.DataFrame:
        """Return the values of the labels as a pandas table.

        Returns
        -------
        pandas.DataFrame
            A row for each label, a column for each key of labels.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        from stream_metrics.report.frames import label_frame

        return label_frame(self)

    def plot(self) -> Figure:
        """Draw metrics of the labels with intervals that hold for all labels together, the lowest F1 on top.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; `figure.savefig(path)` writes it.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        from stream_metrics.plots.groups import groups

        of_scores = ["roc_auc"] if "ranks" in self._states else []
        figure = groups(self.by_label, ["f1", "precision", "recall", *of_scores], label=True)
        title = f"{quantity(len(self.labels), 'label')}, the lowest F1 on top, {quantity(self.n, 'sample')}"
        figure.suptitle(f"{title}, 95 % intervals for all labels together", fontsize=11)
        figure.axes[0].set_ylabel("Label")
        return figure

    def _document(self, medium: Medium) -> list[Element]:
        from stream_metrics.report.multilabel import document

        return document(self, medium)

    def __repr__(self) -> str:
        """Return one line: size and number of labels."""
        return f"<MultiLabelSnapshot n={self.n}, labels={len(self.by_label)}>"


def _of_class(view: Snapshot, row: MetricSpec) -> tuple[float, bool]:
    """Return the value of a label, and whether it is 0/0: that of the class True where each class has one."""
    value, lost = view.evaluation.value_and_undefined(row.key)
    if row.kind == "whole":
        return float(value), bool(lost)
    values = view.evaluation.per_class(row.key)
    return values.get(True, view.evaluation.zero_division_of(row)), True in lost or True not in values
