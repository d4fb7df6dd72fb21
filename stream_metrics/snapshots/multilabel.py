"""The metrics of samples with several labels at one moment: of each label, and averages over labels and samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

from stream_metrics.catalog.spec import MetricSpec
from stream_metrics.catalog.table import ALIASES, CATALOG, LABEL_VALUED, find
from stream_metrics.errors import UnknownKeyError, quantity
from stream_metrics.evaluation.warnings import label_warnings
from stream_metrics.labels.json_names import label_names
from stream_metrics.snapshots.groups import GroupSnapshot
from stream_metrics.snapshots.readings import Rendered
from stream_metrics.snapshots.snapshot import COMPLETED, Snapshot, _of_label

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]
    from matplotlib.figure import Figure

    from stream_metrics.labels import Label
    from stream_metrics.report.document import Element, Medium


AVERAGES = ("micro", "macro", "weighted", "samples")
OF_SAMPLES: dict[str, Callable[..., tuple[int, int]]] = {  # of true, predicted, and both labels
    "subset_accuracy": lambda t, p, both: (t == p == both, 1),
    "samples_precision": lambda t, p, both: (both, p),
    "samples_recall": lambda t, p, both: (both, t),
    "samples_f1": lambda t, p, both: (2 * both, t + p),
    "samples_jaccard": lambda t, p, both: (both, t + p - both),
}
OF_LABELS = {  # keys of labels that reports and tables show, by the state that must be there
    "counts": ("support", "predicted_count", "precision", "recall", "f1", "jaccard"),
    "ranks": ("roc_auc", "average_precision"),
    "losses": ("log_loss",),
}
SHOWN = {
    "counts": ("subset_accuracy", "hamming_loss", *(f"{a}_{key}" for key in OF_LABELS["counts"][2:] for a in AVERAGES)),
    "ranks": tuple(f"{average}_{key}" for key in OF_LABELS["ranks"] for average in AVERAGES[:3]),
    "losses": ("macro_log_loss", "macro_brier_score"),
}


def parsed(key: object) -> tuple[str, str, MetricSpec]:
    """Return the one spelling of a key, the average, empty for the values of all labels, and the metric of a label."""
    name = ALIASES.get(key, key) if isinstance(key, str) else str(key)
    average, _, metric = ("macro_zero_one_loss" if name == "hamming_loss" else name).partition("_")
    if name not in OF_SAMPLES and (average not in AVERAGES or (metric not in CATALOG and metric not in ALIASES)):
        average, metric = "", name
    row = find(metric)
    if name != "hamming_loss":
        name = f"{average}_{row.key}" if average else row.key
    if row.kind == "matrix" or row.key in LABEL_VALUED or row.state == "confidence":
        raise UnknownKeyError(argument="key", expected="to be that of a metric of one label", got=key)
    if average == "samples" and name not in OF_SAMPLES:
        raise UnknownKeyError(argument="key", expected=f"to be one of {', '.join(OF_SAMPLES)}", got=key)
    return name, average, row


def checked_keys(metrics: Iterable[Any]) -> tuple[str, ...]:
    """Return keys in their one spelling; KeyError for one that is not known, ValueError for a single text."""
    if isinstance(metrics, str | set | frozenset) or not isinstance(metrics, Iterable):
        raise ValueError(f"Expected `metrics` to be a sequence of keys, but got {metrics!r}")
    return tuple(dict.fromkeys(parsed(getattr(metric, "key", metric))[0] for metric in metrics))


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
    labels : tuple of Label
        The labels, in the order of report.
    n : int
        Number of samples counted, abstentions not included.
    weight : int or float
        Sum of the sample weights; equals `n` where no weights were given.
    abstained : int
        Number of samples without a prediction; they are in no metric.

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

    __slots__ = ("__dict__", "abstained", "by_label", "labels", "n", "weight")

    def __init__(self, state: Any) -> None:
        """Take over the counts."""
        self._state, self._sizes, self._numbers = state, state._sized(), dict[str, Any]()
        self._by_label = state._sets or state._by_label()
        views = {label: state._view(each) for label, each in self._by_label.items()}
        self.by_label = GroupSnapshot(views, None, None)
        self.labels: tuple[Label, ...] = tuple(self.by_label)
        self.n, self.weight, self.abstained = state.n, state._sizes.weight, state.abstained
        self._states = next((tuple(view.evaluation.states) for view in self.by_label.values()), ("counts",))
        usual = tuple(key for name in self._states for key in SHOWN[name])
        self._chosen: tuple[str, ...] = usual if state.metrics is None else state.metrics

    def __getitem__(self, key: str | tuple[str, Label]) -> Any:
        """Return the value of a key, or with `snapshot[key, label]` that of one label."""
        if isinstance(key, tuple) and len(key) == 2:
            values = self[key[0]]
            if not isinstance(values, dict):
                raise UnknownKeyError(argument="key", expected="to be that of a label, beside a label", got=key[0])
            return _of_label(values, key[1])
        number, instead = self._number(key), self._instead(key)
        if isinstance(number, dict):
            return {label: instead if math.isnan(x) else x for label, x in number.items()}
        return instead if math.isnan(number) else number

    def _instead(self, key: object) -> float:
        """Return what stands for 0/0."""
        own = self._state.zero_division
        return parsed(key)[2].zero_division if own is None else own

    def _number(self, key: Any) -> Any:
        """Return the value of a key, nan if it is 0/0; of a key of labels a dict."""
        if key not in self._numbers:
            name, average, row = parsed(key)
            if name in OF_SAMPLES:
                instead = self._instead(key)
                ratios = [(OF_SAMPLES[name](*numbers), weight) for *numbers, weight in self._sizes]
                number: Any = _mean([(top / bottom if bottom else instead, weight) for (top, bottom), weight in ratios])
            elif average == "micro":
                number = _of_label_view(self._together, row)
            elif average:
                values = self[row.key]
                support = self["support"] if average == "weighted" else dict.fromkeys(values, 1)
                number = _mean([(value, support[label]) for label, value in values.items()])
            else:
                number = {label: _of_label_view(view, row) for label, view in self.by_label.items()}
            self._numbers[key] = number
        return self._numbers[key]

    @cached_property
    def _together(self) -> Snapshot:
        """The snapshot of the decisions on all labels; WeightError if they weigh too much."""
        total = reduce(lambda total, each: total.merge(each), self._by_label.values(), self._state._of_label.copy())
        return self._state._view(total)  # type: ignore[no-any-return]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about data that look wrong: labels of truth and predictions that have nothing in common."""
        true, predicted = ([a for a, count in self[key].items() if count] for key in ("support", "predicted_count"))
        return tuple(label_warnings(true, predicted, self.n)) if len(true) > 1 else ()

    @property
    def undefined(self) -> tuple[str | tuple[str, Label], ...]:
        """The values shown that are 0/0 and were replaced by `zero_division`: "key", or ("key", label)."""
        keys: list[str | tuple[str, Label]] = []
        for key in self._shown_keys():
            number = self._number(key)
            if isinstance(number, dict):
                keys += [(key, label) for label, x in number.items() if math.isnan(x)]
            elif math.isnan(number):
                keys.append(key)
        return tuple(keys)

    @cached_property
    def omitted(self) -> Mapping[str, str]:
        """The keys to show that cannot be computed, and why; `snapshot[key]` raises for them."""
        omitted = {}
        for key in self._chosen:
            try:
                self._number(key)
            except (KeyError, ValueError) as error:
                omitted[key] = str(error)
        return omitted

    def _label_keys(self) -> tuple[str, ...]:
        """Return the keys of labels that reports and tables show: those chosen, or else the usual ones."""
        chosen = tuple(key for key in self if not parsed(key)[1])
        return chosen or tuple(key for state in self._states for key in OF_LABELS[state])

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys to show that can be computed."""
        return (key for key in self._chosen if key not in self.omitted)

    def __len__(self) -> int:
        """Number of keys over which this iterates."""
        return len(self._chosen) - len(self.omitted)

    def __contains__(self, key: object) -> bool:
        """Tell whether `key` is one of those over which this iterates."""
        return key in tuple(self)

    def _ipython_key_completions_(self) -> list[str | tuple[str, Label]]:
        """Return what notebooks complete in `snapshot[...]`: keys, and keys of labels with a label."""
        return [*self._shown_keys(), *((key, label) for key in self._label_keys() for label in self.labels[:COMPLETED])]

    def _shown_keys(self) -> list[str]:
        """Return the keys that data have, each once."""
        return list(dict.fromkeys([*self, *self._label_keys()]))

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
        names = dict(zip(self.labels, label_names(self.labels), strict=True))
        values = {key: self[key] for key in self._shown_keys()}
        per_label = {key: value for key, value in values.items() if isinstance(value, dict)}
        return {
            "n": self.n,
            "weight": self.weight,
            "abstained": self.abstained,
            "labels": list(names.values()),
            "metrics": {key: value for key, value in values.items() if key not in per_label},
            "per_label": {key: {names[label]: x for label, x in each.items()} for key, each in per_label.items()},
            "undefined": [key if isinstance(key, str) else [key[0], names[key[1]]] for key in self.undefined],
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
        from stream_metrics.report.data import label_frame

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
        return f"<MultiLabelSnapshot n={self.n}, labels={len(self.labels)}>"


def _of_label_view(view: Snapshot, row: MetricSpec) -> float:
    """Return the value of a label, nan if it is 0/0: that of the class True where each class has one."""
    value, lost = view.evaluation.value_and_undefined(row.key)
    if row.kind == "whole":
        return math.nan if lost else float(value)
    return math.nan if True in lost else view.evaluation.per_class(row.key).get(True, math.nan)


def _mean(terms: list[tuple[float, float]]) -> float:
    """Return the mean of values with weights, without those that are nan; nan if nothing is left."""
    terms = [(value, weight) for value, weight in terms if not math.isnan(value)]
    total = math.fsum(weight for _, weight in terms)
    return math.fsum(value * weight for value, weight in terms) / total if total else math.nan
