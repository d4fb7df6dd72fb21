"""Whole arrays in one call: for data that are all there, and need no state that goes on counting.

Belongs here: functions from columns to a result. What may be a column is `inputs`; what counts it is `metrics`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stream_metrics._core.numeric.kernels import real_number
from stream_metrics.catalog.table import find
from stream_metrics.containers.groups import ByGroup
from stream_metrics.evaluation.warnings import matrix_mismatch
from stream_metrics.inputs.arguments import named_arguments
from stream_metrics.inputs.rules import Missing
from stream_metrics.inputs.score_tables import is_mapping, materialize, own_names, score_table
from stream_metrics.labels import Label, unique
from stream_metrics.metrics.metric import Metric
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.snapshots.groups import GroupSnapshot
from stream_metrics.snapshots.snapshot import Snapshot
from stream_metrics.tables.bad_rows import OnBad, new_record
from stream_metrics.tables.counting import Place, count_columns

__all__ = ["classification_report", "evaluate"]

Floats = NDArray[np.float64]
FEW_GROUPS = 1000  # that are added up to look at their classes


@overload
def evaluate(
    y_true: ArrayLike,
    y_pred: ArrayLike | None = None,
    *,
    scores: ArrayLike | None = None,
    classes: Iterable[Label] | None = None,
    w: ArrayLike | None = None,
    group: None = None,
    metrics: Iterable[str | type[Metric]] | None = None,
    pos_label: Label | None = None,
    labels: Iterable[Label] | None = None,
    on_bad: OnBad = "raise",
    missing: Missing = "abstain",
    ignore_index: Label | None = None,
) -> Snapshot: ...


@overload
def evaluate(
    y_true: ArrayLike,
    y_pred: ArrayLike | None = None,
    *,
    scores: ArrayLike | None = None,
    classes: Iterable[Label] | None = None,
    w: ArrayLike | None = None,
    group: ArrayLike,
    metrics: Iterable[str | type[Metric]] | None = None,
    pos_label: Label | None = None,
    labels: Iterable[Label] | None = None,
    on_bad: OnBad = "raise",
    missing: Missing = "abstain",
    ignore_index: Label | None = None,
) -> GroupSnapshot: ...


@named_arguments
def evaluate(
    y_true: Any,
    y_pred: Any = None,
    *,
    scores: Any = None,
    classes: Iterable[Label] | None = None,
    w: Any = None,
    group: Any = None,
    metrics: Iterable[str | type[Metric]] | None = None,
    pos_label: Label | None = None,
    labels: Iterable[Label] | None = None,
    on_bad: OnBad = "raise",
    missing: Missing = "abstain",
    ignore_index: Label | None = None,
) -> Snapshot | GroupSnapshot:
    """Evaluate predictions, scores or both against the true labels.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels: a list, an array, a column of pandas, polars or Arrow, or a tensor on the CPU.
    y_pred : array-like of shape (n,), optional
        Predicted labels; by default those of the largest score.
    scores : array-like of shape (n,) or (n, K), optional
        Scores: those of `pos_label`, or a column for each of `classes`. Numbers outside [0, 1] are no probabilities:
        they have areas and curves, but neither losses nor calibration.
    classes : sequence of Label of length K, optional
        The classes of the columns of `scores`; a data frame brings its own. `labels` by default.
    w : array-like of shape (n,), optional
        Weights >= 0; 1 for every sample by default.
    group : array-like of shape (n,), optional
        Groups of the samples.
    metrics : iterable of str or Metric class, optional
        Keys of the catalog or metric classes; see `metrics()`. By default every metric that the data allow.
    pos_label : Label, optional
        The class whose score a single number is. By default 1, or True, where the labels are 0 and 1.
    labels : iterable of Label, optional
        All classes, in the order in which they are reported; any other label is an error.
    on_bad : {"raise", "count"}, default "raise"
        Whether a row that cannot be counted raises, or is left out and named in `warnings` of the result.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Returns
    -------
    Snapshot or GroupSnapshot
        The metrics; with `group` those of every group.

    Raises
    ------
    LabelError
        If a label is not allowed; the message names argument and position.
    ScoreError
        If a score is not allowed.
    WeightError
        If a weight is negative or not finite, or the sum of all weights would reach 2**63.
    ValueError
        If columns differ in length, or an option has no effect on these data.

    Warns
    -----
    UserWarning
        If true labels and predictions seem to be written differently: they have no class in common, or a class occurs
        as a number and as its text. `warnings` of the result has this and other doubts as sentences.

    See Also
    --------
    MetricSet : The same for samples that come one by one, in batches or in shards.

    Examples
    --------
    >>> import stream_metrics as sm
    >>> s = sm.evaluate(["cat", "dog", "dog", "cat"], ["cat", "dog", "cat", "cat"])
    >>> s["accuracy"], s["recall", "dog"]
    (0.75, 0.5)

    A score for each sample:

    >>> s = sm.evaluate(["spam", "ham", "spam"], scores=[0.9, 0.6, 0.7], pos_label="spam")
    >>> s["roc_auc"], s["accuracy"]
    (1.0, 0.6666666666666666)

    A table of scores, and groups:

    >>> table = [[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]]
    >>> by = sm.evaluate(["a", "b", "b"], scores=table, classes=["a", "b"], group=["x", "x", "y"])
    >>> by.values_of("accuracy")
    {'x': 1.0, 'y': 0.0}
    """
    if y_pred is None and scores is None:
        raise ValueError("Expected `y_pred`, `scores` or both beside `y_true`, but got neither")
    if isinstance(metrics, str):
        raise ValueError(f"Expected `metrics` to be a sequence of keys, but got {metrics!r}")
    columns = {"y_true": y_true, "y_pred": y_pred, "w": w, "scores": scores, "group": group}
    columns = {name: materialize(column, name) for name, column in columns.items()}
    if scores is None and isinstance(columns["y_pred"], list) and any(map(is_mapping, columns["y_pred"])):
        columns["scores"], columns["y_pred"] = columns["y_pred"], None
    scored = columns["scores"] is not None
    rows = None if metrics is None else [find(key if isinstance(key, str) else key.key) for key in metrics]
    unread = [row.key for row in rows or () if row.state != "counts"]
    if unread and not scored:
        raise ValueError(f"Expected `scores`, which {unread[0]!r} is computed from, but got labels only")
    fixed = None if labels is None else unique(labels, "labels")
    classes = None if classes is None else unique(classes, "classes")
    kind: bool | Literal["any"] = scored
    if scored:
        table = score_table(columns["scores"])
        kind = True if _in_unit_interval(table) else "any"
    options: dict[str, Any] = {"missing": missing, "ignore_index": ignore_index}
    options |= {} if pos_label is None else {"pos_label": pos_label}
    state: Any = MetricSet(None if rows is None else [row.key for row in rows], scores=kind, labels=fixed, **options)
    if kind is True and fixed is None and state.scored.losses is not None:
        state.scored.declared = own_names(columns["scores"]) or classes
    if group is None:
        del columns["group"]
    else:
        state = ByGroup(state)
    bad = new_record(on_bad)
    count_columns(state, {**columns, "classes": classes}, Place(), None if bad is None else bad.add)
    snapshot: Snapshot | GroupSnapshot = state.snapshot()
    whole = snapshot if isinstance(snapshot, Snapshot) else snapshot.overall if len(snapshot) <= FEW_GROUPS else None
    if whole is not None:
        _warn_of_mismatch(whole)
    sentence = None if bad is None else bad.sentence(state.n + state.abstained)
    return snapshot if sentence is None else snapshot.with_warning(sentence)


def _warn_of_mismatch(snapshot: Snapshot) -> None:
    """Warn a caller of this module where truth and predictions are written differently, so that no number counts."""
    mismatch = matrix_mismatch(snapshot.evaluation)
    if mismatch is not None:
        warnings.warn(mismatch, stacklevel=4)


def _in_unit_interval(table: Any) -> bool:
    """Tell whether no score is outside [0, 1]; nan and what is no number is left to the states."""
    if not isinstance(table, list):
        return not bool(((table < 0) | (table > 1)).any())
    numbers: list[Any] = []
    for row in table:
        values: Any = row if isinstance(row, list | tuple | np.ndarray) else [row]
        numbers.extend(row.values() if is_mapping(row) else values)  # `+=` would add an array to the numbers
    return not any(number is not None and (number < 0 or number > 1) for number in map(real_number, numbers))


class _ClassRow(NamedTuple):
    """A line of a report: three rates and the weight of the class."""

    precision: float
    recall: float
    f1: float
    support: float

    def as_dict(self) -> dict[str, float]:
        return dict(zip(("precision", "recall", "f1-score", "support"), self, strict=True))


@overload
def classification_report(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    labels: Sequence[Label] | None = None,
    target_names: Sequence[str] | None = None,
    w: ArrayLike | None = None,
    digits: int = 2,
    output_dict: Literal[False] = False,
    zero_division: float = 0.0,
    missing: Missing = "abstain",
    ignore_index: Label | None = None,
) -> str: ...


@overload
def classification_report(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    labels: Sequence[Label] | None = None,
    target_names: Sequence[str] | None = None,
    w: ArrayLike | None = None,
    digits: int = 2,
    output_dict: Literal[True],
    zero_division: float = 0.0,
    missing: Missing = "abstain",
    ignore_index: Label | None = None,
) -> dict[str, Any]: ...


@named_arguments
def classification_report(
    y_true: Any,
    y_pred: Any,
    *,
    labels: Sequence[Label] | None = None,
    target_names: Sequence[str] | None = None,
    w: Any = None,
    digits: int = 2,
    output_dict: bool = False,
    zero_division: float = 0.0,
    missing: Missing = "abstain",
    ignore_index: Label | None = None,
) -> str | dict[str, Any]:
    """Return precision, recall, F1 and support of each class, in the layout of scikit-learn.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    y_pred : array-like of shape (n,)
        Predicted labels.
    labels : sequence of Label, optional
        The classes to report, in this order; by default all that occur.
    target_names : sequence of str, optional
        Names to print instead of the labels, in the same order.
    w : array-like of shape (n,), optional
        Weights >= 0; 1 for every sample by default.
    digits : int, default 2
        Digits after the point; of the text only.
    output_dict : bool, default False
        Whether to return a dict from name to values instead of text.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is; see `evaluate`.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Returns
    -------
    str or dict
        The report. With `output_dict` a dict from the name of each class, "accuracy", "macro avg" and "weighted avg"
        to a dict with "precision", "recall", "f1-score" and "support"; that of "accuracy" is a float.

    Raises
    ------
    LabelError
        If a label is not allowed; the message names argument and position.
    ValueError
        If there are not as many `target_names` as classes, or no class is left.

    See Also
    --------
    evaluate : Every metric, with intervals, figures and data.

    Notes
    -----
    Where `labels` leaves out a class that occurs, "micro avg" stands in place of "accuracy". With nan for 0/0, means
    leave such a class out.

    Examples
    --------
    >>> import stream_metrics as sm
    >>> print(sm.classification_report(["cat", "dog", "dog"], ["cat", "dog", "cat"]))
                  precision    recall  f1-score   support
    <BLANKLINE>
             cat       0.50      1.00      0.67         1
             dog       1.00      0.50      0.67         2
    <BLANKLINE>
        accuracy                           0.67         3
       macro avg       0.75      0.75      0.67         3
    weighted avg       0.83      0.67      0.67         3
    <BLANKLINE>
    """
    state = MetricSet(zero_division=zero_division, missing=missing, ignore_index=ignore_index)
    state.update_many(y_true, y_pred, w)
    if state.n == 0:
        raise ValueError("Expected at least one sample with a prediction, but got none")
    snapshot = state.snapshot()
    _warn_of_mismatch(snapshot)
    per_class = snapshot.per_class
    chosen = list(snapshot.labels) if labels is None else list(unique(labels, "labels"))
    names = [str(label) for label in chosen] if target_names is None else [str(name) for name in target_names]
    if len(names) != len(chosen):
        raise ValueError(f"Expected {len(chosen)} `target_names`, one for each class, but got {len(names)}")
    keys = ("precision", "recall", "f1", "support")
    absent = _ClassRow(zero_division, zero_division, zero_division, 0.0)
    rows = [
        _ClassRow(*(float(per_class[key][label]) for key in keys)) if label in per_class["support"] else absent
        for label in chosen
    ]
    support = sum(row.support for row in rows)
    report: dict[str, Any] = {name: row.as_dict() for name, row in zip(names, rows, strict=True)}
    if set(snapshot.labels) <= set(chosen):
        report["accuracy"] = snapshot["accuracy"]
    else:
        report["micro avg"] = _micro(snapshot, chosen, zero_division, support).as_dict()
    weights = {"macro avg": np.ones(len(rows)), "weighted avg": np.array([row.support for row in rows])}
    for name, weight in weights.items():
        precision, recall, f1 = (_mean(np.array([row[at] for row in rows]), weight, zero_division) for at in range(3))
        report[name] = _ClassRow(precision, recall, f1, support).as_dict()
    whole = all(float(row.support).is_integer() for row in rows)
    return report if output_dict else _report_text(report, names, digits, support, whole)


def _micro(snapshot: Snapshot, chosen: list[Label], zero_division: float, support: float) -> _ClassRow:
    """Return the rates of the cells of some classes added up."""
    cells = {key: snapshot.per_class[key] for key in ("tp", "fp", "fn")}
    tp, fp, fn = (sum(float(cell.get(label, 0.0)) for label in chosen) for cell in cells.values())

    def ratio(numerator: float, denominator: float) -> float:
        return numerator / denominator if denominator else zero_division

    return _ClassRow(ratio(tp, tp + fp), ratio(tp, tp + fn), ratio(2 * tp, 2 * tp + fp + fn), support)


def _mean(values: Floats, weights: Floats, zero_division: float) -> float:
    """Return the mean of the values that are not nan."""
    there = ~np.isnan(values)
    total = float(weights[there].sum())
    return float(values[there] @ weights[there]) / total if total else zero_division


def _report_text(report: dict[str, Any], names: list[str], digits: int, support: float, whole: bool) -> str:
    """Return the report as text; the columns are those of scikit-learn."""
    width = max(len("weighted avg"), digits, *map(len, names))
    columns = ("precision", "recall", "f1-score", "support")
    lines = [f"{'':>{width}} " + "".join(f" {column:>9}" for column in columns), ""]
    for name, values in report.items():
        if name == list(report)[len(names)]:
            lines.append("")
        row = {"f1-score": values, "support": support} if name == "accuracy" else values
        rates = "".join(f" {row[key]:>9.{digits}f}" if key in row else f" {'':>9}" for key in columns[:3])
        lines.append(f"{name:>{width}} {rates} {row['support']:>9.{0 if whole else digits}f}")
    return "\n".join(lines) + "\n"
