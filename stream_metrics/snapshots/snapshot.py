"""A frozen view of the states of one stream: every metric of the catalogue, computed on first use.

A snapshot holds its own copies of the states, so later updates do not move it. Its `evaluation` computes each value on
first access and stores it. The readings of scores are in `scores`, intervals in `intervals`, and rendering is in
`report`.

**Which keys.** `keys` (by default, the default rows of the catalogue) decide what iteration, `in`, `undefined`,
`to_dict` and the report contain. `snapshot[key]` works for every other row of the catalogue as well, because the
counters are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from functools import lru_cache
from typing import TYPE_CHECKING, Any, overload

from stream_metrics.catalog.spec import Obstacle
from stream_metrics.catalog.table import ALIASES, CATALOG, LABEL_VALUED, find
from stream_metrics.errors import UnknownKeyError
from stream_metrics.evaluation.evaluation import Evaluation, Options, States, read_only
from stream_metrics.evaluation.warnings import data_warnings
from stream_metrics.formulas.losses import LossState
from stream_metrics.formulas.protocol import CountState, Numbers
from stream_metrics.labels import canonical
from stream_metrics.ranking.classes import RankState, asked_class
from stream_metrics.snapshots.readings import IntervalDisplay, IntervalReadings, Rendered, ScoreReadings

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]
    from matplotlib.figure import Figure

    from stream_metrics.catalog.keys import ClassKey, MatrixKey, NumberKey
    from stream_metrics.inference.intervals.interval import Interval
    from stream_metrics.labels import Label
    from stream_metrics.report.data import SnapshotRows
    from stream_metrics.report.document import Element, Medium


COMPLETED = 100  # labels that notebooks complete


@lru_cache(maxsize=16)
def _default_keys(states: frozenset[str]) -> tuple[str, ...]:
    """Return the keys that are shown by default of the states with these names."""
    return tuple(key for key, row in CATALOG.items() if row.default and row.state in states)


class Snapshot(Rendered, ScoreReadings, IntervalReadings, Mapping[str, Any]):
    """The metrics of a stream at one moment.

    `snapshot[key]` is the value of the whole, `snapshot.per_class[key][label]` the value of one class. `undefined`
    lists the values that were 0/0. Snapshots come from the `snapshot` method of a state, a metric, a set or a window.

    Parameters
    ----------
    counts : ConfusionMatrix or table of counts, optional
        The counts of labels.
    ranks : RankSketch, optional
        The scores of all classes.
    confidence : RankSketch, optional
        The largest score of each sample.
    losses : ProbabilityLosses, optional
        The losses of probabilities.
    folds : mapping from int to dict, optional
        The states of each fold of units.
    keys : sequence of str, optional
        The metrics to show; all by default.
    zero_division : float, optional
        Value that stands for 0/0: 0.0, 1.0 or nan. By default that of each metric, 0.0 for labels, nan for losses and
        scores.
    options : mapping from str to dict, optional
        Options of the formulas by key, such as {"fbeta": {"beta": 2.0}}; the defaults of the catalog for all others.

    Notes
    -----
    Memory: the states, and each value once it was asked for.

    Examples
    --------
    >>> from stream_metrics import MetricSet
    >>> metrics = MetricSet()
    >>> metrics.update_many(["cat", "cat", "dog"], ["cat", "dog", "dog"])
    >>> snapshot = metrics.snapshot()
    >>> round(snapshot["macro_f1"], 4), snapshot.per_class["recall"]["cat"]
    (0.6667, 0.5)
    """

    __slots__ = ("_intervals", "_obstacles", "chosen_keys", "evaluation", "interval_display", "notes")

    def __init__(
        self,
        counts: CountState | None = None,
        *,
        ranks: RankState | None = None,
        confidence: RankState | None = None,
        losses: LossState | None = None,
        folds: Mapping[int, States] | None = None,
        keys: Sequence[str] | None = None,
        zero_division: float | None = None,
        options: Mapping[str, Options] | None = None,
    ) -> None:
        """Take over the states, which must not change from now on; at least one must be given.

        `folds` are the states of the samples of each fold of units, by the same names; see `metrics.base`.
        """
        given = {"counts": counts, "ranks": ranks, "confidence": confidence, "losses": losses}
        self.evaluation = Evaluation(given, folds, zero_division, options)
        self.chosen_keys = self.default_keys() if keys is None else tuple(dict.fromkeys(find(key).key for key in keys))
        self.interval_display: IntervalDisplay | None = None
        self._intervals: dict[str, Interval | dict[Label, Interval] | None] = {}
        self._obstacles: dict[str, Obstacle] | None = None
        self.notes: tuple[str, ...] = ()  # warnings from outside

    def default_keys(self) -> tuple[str, ...]:
        """Return the keys of a snapshot of these states that names none.

        Returns
        -------
        tuple of str
            Keys of the catalog, in its order.
        """
        return _default_keys(frozenset(self.evaluation.states))

    def with_keys(self, keys: Sequence[str]) -> Snapshot:
        """Return a snapshot of the same states with other chosen keys.

        Parameters
        ----------
        keys : sequence of str
            Keys of the catalog.

        Returns
        -------
        Snapshot
            A new snapshot.
        """
        evaluation = self.evaluation
        choices = keys, evaluation.zero_division, None, evaluation.slides
        return _restore(evaluation.states, *choices, evaluation.folds, self.notes, evaluation.options)

    def with_warning(self, sentence: str) -> Snapshot:
        """Return a snapshot with one more sentence in its `warnings`.

        Parameters
        ----------
        sentence : str
            What is to be known about the data, and not to be seen in the counters.

        Returns
        -------
        Snapshot
            A new snapshot.

        Examples
        --------
        >>> import stream_metrics as sm
        >>> sm.evaluate([0, 1], [0, 1]).with_warning("One of three files is missing").warnings
        ('One of three files is missing',)
        """
        snapshot = copy(self)
        snapshot.notes = (*self.notes, sentence)
        return snapshot

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes, in the order of report; rows and columns of the matrix follow it."""
        labels: tuple[Label, ...] = getattr(next(iter(self.evaluation.views.values())), "labels", ())
        return labels

    @property
    def n(self) -> int:
        """Number of samples counted, abstentions not included."""
        return int(self.evaluation.main.n)

    @property
    def scored(self) -> int:
        """Number of samples that came with scores."""
        return next((int(state.n) for name, state in self.evaluation.states.items() if name != "counts"), 0)

    @property
    def weight(self) -> int | float:
        """Sum of the sample weights; equals `n` where no weights were given."""
        return self.evaluation.main.weight  # type: ignore[no-any-return]

    @property
    def abstained(self) -> int:
        """Number of samples without a prediction; they are in no metric."""
        return int(self.evaluation.main.abstained)

    @property
    def confusion_matrix(self) -> Numbers:
        """Counts by true class (rows) and predicted class (columns), read-only; `ValueError` above 4096 classes."""
        matrix: Numbers = read_only(self.evaluation.view("counts", "confusion_matrix").matrix)
        return matrix

    @overload
    def __getitem__(self, key: NumberKey | tuple[str, Label]) -> float: ...
    @overload
    def __getitem__(self, key: ClassKey) -> dict[Label, float]: ...
    @overload
    def __getitem__(self, key: MatrixKey) -> Numbers: ...
    @overload
    def __getitem__(self, key: str) -> Any: ...
    def __getitem__(self, key: str | tuple[str, Label]) -> Any:
        """Return the value of a key, or with `snapshot[key, label]` that of one class.

        A per-class key without label gives a dict from class to value, of two classes as well: `snapshot["f1", 1]` is
        the number. A key of scores gives the value of `pos_label`, where that is one of two classes, or was chosen and
        is one of many. A matrix key gives a K x K array.
        """
        if isinstance(key, tuple):
            return self._of_class(*key)
        row = find(key)
        if row.kind != "per_class":
            return self.evaluation.value_and_undefined(row.key)[0]
        if row.state == "ranks":
            asked, labels = asked_class(self.evaluation.view("ranks", row.key)), self.evaluation.labels_of(row)
            if asked in labels:
                return self.evaluation.per_class(row.key)[asked]
            if len(labels) < 2:  # it may yet come
                return self.evaluation.zero_division_of(row)
        return dict(self.evaluation.per_class(row.key))

    def _of_class(self, key: str, *labels: Label) -> float:
        row = find(key)
        if row.kind != "per_class" or len(labels) != 1:
            raise UnknownKeyError(argument="key", expected="to be a per-class key and one label", got=(key, *labels))
        return _of_label(self.evaluation.per_class(row.key), labels[0])

    @property
    def per_class(self) -> Mapping[str, Mapping[Label, float]]:
        """The per-class values: key -> label -> float."""
        return _PerClass(self)

    def value(self, key: str, *, label: Label | None = None, **options: Any) -> Any:
        """Return the value of a metric with options of its formula.

        Parameters
        ----------
        key : str
            Key of the metric.
        label : Label, optional
            The class of a per-class metric; all by default.
        **options : object
            Options of the formula, such as beta=2.0. By default those of the metric that the snapshot is of.

        Returns
        -------
        float or dict or array
            The value; a per-class key gives a dict from label to float.

        Raises
        ------
        KeyError
            If there is no such key, or its state is missing.
        ValueError
            If an option is not allowed, or the value cannot be computed.
        """
        row = find(key)
        if label is not None and not options:
            return self[row.key, label]
        evaluation = self.evaluation.with_options(row.key, options) if options else self.evaluation
        if row.kind != "per_class":
            return evaluation.value_and_undefined(row.key)[0]
        values = dict(evaluation.per_class(row.key))
        return values if label is None else _of_label(values, label)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about data that look wrong; empty if nothing does.

        Classes of truth and predictions that have nothing in common, one class only, probabilities that do not sum to
        1, scores outside [0, 1], and weights that were rounded; rows that were not counted.
        """
        return (*self.notes, *data_warnings(self.evaluation))

    @property
    def undefined(self) -> tuple[str | tuple[str, Label], ...]:
        """The chosen values that are 0/0 and were replaced by `zero_division`: "key", or ("key", label)."""
        keys: list[str | tuple[str, Label]] = []
        for key in self.computable_keys():
            _, undefined = self.evaluation.value_and_undefined(key)
            keys += [key] if undefined is True else [(key, label) for label in undefined or ()]
        return tuple(keys)

    @property
    def omitted(self) -> Mapping[str, str]:
        """The chosen keys that cannot be computed from these states, and why; `snapshot[key]` raises for them.

        Square tables of more than 4096 classes; tests, which are about samples, where samples have weights other than
        1; pairs of samples where a weight has a fraction; keys that read a state which this snapshot does not have.
        """
        return {key: obstacle.reason for key, obstacle in self.obstacles().items()}

    def __iter__(self) -> Iterator[str]:
        """Iterate over the chosen keys that can be computed; `omitted` has the others.

        If no keys were chosen these are the keys with one number, and `per_class` has the values of the classes.
        """
        if self.chosen_keys != self.default_keys():
            return iter(self.computable_keys())
        return (key for key in self.computable_keys() if CATALOG[key].kind == "whole" and key not in LABEL_VALUED)

    def _ipython_key_completions_(self) -> list[str | tuple[str, Label]]:
        """Return what notebooks complete in `snapshot[...]`: keys, and per-class keys with a label."""
        of_classes = [(key, label) for key in self.per_class for label in self.labels[:COMPLETED]]
        return [*self.computable_keys(), *of_classes]

    def __contains__(self, key: object) -> bool:
        """Tell whether `key`, or the key of which it is an alias, is one of those over which this iterates."""
        key = ALIASES.get(key, key) if isinstance(key, str) else key
        return key in self.chosen_keys and key not in self.obstacles() and key in iter(self)

    def __len__(self) -> int:
        """Number of keys over which this iterates."""
        return sum(1 for _ in self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python types.

        Returns
        -------
        dict
            Values by key. Labels appear under their JSON names.

        Notes
        -----
        `confusion_matrix` is a list of rows, or above 4096 classes {rows, columns, values} of the cells that are not
        zero. `omitted` has the keys that cannot be computed here, with the reason. `scores` has the certified bounds of
        values that are not exact. `options` has those that a metric was made with, by key, where they are not the
        defaults. `warnings` are sentences about data that look wrong.
        """
        from stream_metrics.report.data import to_dict

        return to_dict(self)

    def to_frame(self, rows: SnapshotRows = "classes") -> pandas.DataFrame:
        """Return the values as a pandas table, in the order of the report.

        Parameters
        ----------
        rows : {"classes", "metrics", "confusion_matrix"}, default "classes"
            What a row is: a class, with a column for each per-class key; a metric that is one number, with the columns
            title, value, low, high and undefined (whether the value is 0/0); or a true class, with a column for each
            predicted class.

        Returns
        -------
        pandas.DataFrame
            The table. Its index has the labels, or the keys. Keys that were chosen are in that order. Index and
            columns of the confusion matrix have the names y_true and y_pred.

        Raises
        ------
        ImportError
            If pandas is not installed.
        ValueError
            If `rows` is something else.

        Notes
        -----
        Ends of intervals are those of a snapshot `with_intervals`: of classes in columns of their own (`f1_low`), of
        metrics in `low` and `high`, which are nan otherwise. Keys whose value is a label have no row.

        Examples
        --------
        >>> import stream_metrics as sm
        >>> snapshot = sm.evaluate([0, 1, 1, 0], [0, 1, 0, 0])
        >>> snapshot.to_frame()[["precision", "recall", "support"]].loc[1].tolist()
        [1.0, 0.5, 2.0]
        >>> float(snapshot.to_frame("metrics").loc["accuracy", "value"])
        0.75
        >>> int(snapshot.to_frame("confusion_matrix").loc[1, 0])  # truth 1, prediction 0
        1
        """
        from stream_metrics.report.data import snapshot_frame

        return snapshot_frame(self, rows)

    def _document(self, medium: Medium) -> list[Element]:
        from stream_metrics.report.sections import document

        return document(self, medium)

    def plot(self) -> Figure:
        """Draw the confusion matrix, and the curves of scores or the values of each class.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; `figure.savefig(path)` writes it.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If there are more than 4096 classes.

        See Also
        --------
        stream_metrics.plots : One figure at a time.
        """
        from stream_metrics.plots.panels import overview

        return overview(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the counters and the choices, not the values."""
        states, display = self.evaluation, self.interval_display
        choices = self.chosen_keys, states.zero_division, display, states.slides
        options = (states.options,) if states.options else ()
        return _restore, (states.states, *choices, states.folds, self.notes, *options)

    def __repr__(self) -> str:
        """Return one line: size and accuracy."""
        accuracy = f", accuracy={self['accuracy']:.6g}" if "accuracy" in self and self.n else ""
        return f"<Snapshot n={self.n}, classes={len(self.labels)}{accuracy}>"

    def obstacles(self) -> dict[str, Obstacle]:
        """Return why chosen keys cannot be computed.

        Returns
        -------
        dict of str to Obstacle
            The reason, by key.
        """
        if self._obstacles is None:
            self._obstacles = {}
            for keys in _conditional(self.chosen_keys, tuple(self.evaluation.states)):
                if obstacle := self.evaluation.obstacle(keys[0]):
                    self._obstacles |= {key: obstacle._replace(key=key) for key in keys}
        return self._obstacles

    def computable_keys(self) -> tuple[str, ...]:
        """Return the chosen keys that can be computed.

        Returns
        -------
        tuple of str
            Keys of the catalog, in the order of the choice.
        """
        refused = self.obstacles()
        return tuple([key for key in self.chosen_keys if key not in refused]) if refused else self.chosen_keys


def _of_label(values: Mapping[Label, float], label: Label) -> float:
    """Return the value of a class; KeyError names the classes there are."""
    label = canonical(label, "label")
    if label not in values:
        raise UnknownKeyError(argument="label", expected=f"to be one of the classes {list(values)!r:.60}", got=label)
    return values[label]


class _PerClass(Mapping[str, Mapping["Label", float]]):
    """The per-class half of a snapshot, read-only."""

    __slots__ = ("_snapshot",)

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def __getitem__(self, key: str) -> Mapping[Label, float]:
        row = find(key)
        if row.kind != "per_class":
            raise UnknownKeyError(f"Expected a per-class key, but {key!r} is not: snapshot[{key!r}]")
        return self._snapshot.evaluation.per_class(row.key)

    def __contains__(self, key: object) -> bool:
        snapshot = self._snapshot
        return key in snapshot.chosen_keys and CATALOG[str(key)].kind == "per_class" and key not in snapshot.obstacles()

    def __iter__(self) -> Iterator[str]:
        return (key for key in self._snapshot.computable_keys() if CATALOG[key].kind == "per_class")

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Values(dict[str, Any]):
    """Values by key; `omitted` says of the keys that could not be computed why."""

    __slots__ = ("omitted",)

    def __init__(self, snapshot: Snapshot) -> None:
        """Read every key over which a snapshot iterates."""
        super().__init__(snapshot)
        self.omitted = snapshot.omitted

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the values, not the snapshot."""
        return Values.__new__, (Values,), (None, {"omitted": self.omitted}), None, iter(self.items())

    def __repr__(self) -> str:
        """Return the dictionary, and behind it what it lacks."""
        return f"{super().__repr__()}{f' without {self.omitted!r}' if self.omitted else ''}"


@lru_cache(maxsize=256)
def _conditional(keys: tuple[str, ...], states: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return those of the keys that not every snapshot of such states can compute, together what needs the same."""
    groups: dict[tuple[str, bool, str], list[str]] = {}
    for row in map(CATALOG.__getitem__, keys):
        if row.quadratic or row.needs or row.state not in states:
            groups.setdefault((row.state, row.quadratic, row.needs), []).append(row.key)
    return tuple(map(tuple, groups.values()))


def _restore(
    states: States,
    keys: Sequence[str],
    zero_division: float | None,
    display: IntervalDisplay | None = None,
    slides: bool = False,
    folds: Mapping[int, States] | None = None,
    notes: tuple[str, ...] = (),
    options: Mapping[str, Options] | None = None,
) -> Snapshot:
    snapshot = Snapshot(**states, folds=folds, keys=keys, zero_division=zero_division, options=options)
    snapshot.interval_display, snapshot.evaluation.slides, snapshot.notes = display, slides, notes
    return snapshot
