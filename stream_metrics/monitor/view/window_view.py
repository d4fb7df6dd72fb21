"""One window as plain data: what a page, an exporter and an alert show of it.

Curves are few points, enough to draw them, of the classes with the most samples. The points are those of
`Snapshot.roc_curve` and `pr_curve`, computed together and without their thresholds, which take two thirds of the time
and are not drawn.

A number is that of the snapshot, and None where it is 0/0 or has no finite value: a page that shows the 0.0 which
stands for 0/0 would say that a model without data is the worst there is, and an alert would fire. Metrics that cost
more than a few milliseconds, such as average precision, are computed only if they are asked for.

Size is bounded: 200 classes and 50 in the matrix, those with the most samples; 10 curves of 200 points.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from stream_metrics.containers.groups import ByGroup
from stream_metrics.errors import quantity
from stream_metrics.evaluation.warnings import matrix_mismatch
from stream_metrics.labels import Label
from stream_metrics.labels.json_names import json_number
from stream_metrics.metrics.metric_set import MetricSet, states_by_name
from stream_metrics.monitor.counts.class_limit import ANOTHER, OTHER
from stream_metrics.monitor.counts.coverage import DELAYS, Covered, delay_quantile
from stream_metrics.monitor.view.group_view import ShownGroups, group_value, groups_view
from stream_metrics.monitor.view.types import (
    Bounds,
    ClassRow,
    Curve,
    Curves,
    DelayQuantiles,
    Ends,
    GroupRow,
    LabelCoverage,
    Matrix,
    Number,
    WindowView,
)
from stream_metrics.monitor.view.window_reading import (
    Reading,
    check_cut,
    class_intervals,
    class_label_bounds,
    interval_meaning,
    intervals,
    label_bounds,
    labelled,
    names_of,
    spec,
    value,
)
from stream_metrics.ranking.calibration import reliability_curve
from stream_metrics.ranking.classes import only_column
from stream_metrics.ranking.steps import threshold_sweep
from stream_metrics.report.headlines import MONITOR_VIEW, MONITOR_VIEW_OF_SCORES
from stream_metrics.snapshots.snapshot import Snapshot

MOST_CURVES, MOST_POINTS = 10, 200
DIGITS = 5  # after the point; a screen shows three
Floats = NDArray[np.float64]
EVENLY: Floats = np.arange(MOST_POINTS, dtype=np.float64)


def curves(snapshot: Snapshot, names: Mapping[Label, str]) -> Curves:
    """Return ROC and precision-recall curves by class, and how well the largest score of a sample is calibrated."""
    shown = Curves()
    if not snapshot.scored:
        return shown
    support = dict(zip(snapshot.labels, snapshot.evaluation.value_and_undefined("support")[0].tolist(), strict=True))
    classes = [label for label in snapshot.per_class["roc_auc"] if label in names]
    most = sorted(classes, key=lambda label: -support.get(label, 0))[:MOST_CURVES]
    for label in (label for label in classes if label in most):
        roc, pr = _both(snapshot, label)
        for lines, (x, y) in ((shown.roc, roc), (shown.pr, pr)):
            if x:
                lines.append(Curve(names[label], x, y))
    if "confidence" in snapshot.evaluation.views:
        top = reliability_curve(only_column(snapshot.evaluation.views["confidence"]))
        x, y, w = (np.round(column, DIGITS).tolist() for column in top)
        if x:
            shown.reliability.append(Curve("top", x, y, w))
    return shown


def _both(snapshot: Snapshot, label: Label) -> tuple[tuple[list[float], list[float]], ...]:
    """Return the points of the two curves of a class; none where no sample, or no other one, has scores."""
    check_cut()
    column = snapshot.evaluation.column(label)
    steps, (rest, own) = threshold_sweep(column).fine, (column.weight(0), column.weight(1))
    if not own:
        return ([], []), ([], [])
    recall = _after(0.0, steps.tp / own)
    precision = _after(1.0, steps.tp / (steps.tp + steps.fp))
    roc = _thinned(_after(0.0, steps.fp / rest), recall) if rest else ([], [])
    return roc, _thinned(recall, precision)


def _after(first: float, values: Floats) -> Floats:
    """Return the values with one before them."""
    column = np.empty(len(values) + 1)
    column[0], column[1:] = first, values
    return column


def _thinned(x: Floats, y: Floats) -> tuple[list[float], list[float]]:
    """Return points evenly along a curve, the first and the last included."""
    if len(x) > MOST_POINTS:
        along = np.empty(len(x))
        along[0] = 0.0
        np.hypot(x[1:] - x[:-1], y[1:] - y[:-1]).cumsum(out=along[1:])
        at = along.searchsorted(EVENLY * (along[-1] / (MOST_POINTS - 1)))
        at[0], at[-1] = 0, len(x) - 1
        new = np.empty(MOST_POINTS, bool)
        new[0] = True
        np.not_equal(at[1:], at[:-1], out=new[1:])  # they rise
        x, y = x[at[new]], y[at[new]]
    return x.round(DIGITS).tolist(), y.round(DIGITS).tolist()


MOST_CLASSES, MOST_CELLS = 200, 50
CLASSES = ("precision", "recall", "f1")
SHARES = (0.5, 0.9, 0.99)
NO_GROUPS: Mapping[Label, Snapshot] = {}
NO_LABELS = Covered(0, 0, np.zeros(DELAYS, np.int64))  # none was awaited


def window_view(
    reading: Reading,
    headline: Sequence[str],
    extra_metrics: Sequence[str] = (),
    valid: str = "fixed",
    shown_groups: ShownGroups | None = None,
) -> WindowView:
    """Return everything that is shown of a window, with `extra_metrics`; the states of the reading are taken over.

    `valid` is that of the intervals; `shown_groups` are those of the last view with the same options.
    """
    groups, snapshot = reading.groups, snapshot_of(reading.state)
    by_group = _by_group(groups)
    return snapshot_view(
        *(snapshot, headline, extra_metrics, valid),
        by_group=by_group,
        shown_groups=shown_groups,
        folded=groups.folded,
        covered=reading.covered,
        late=reading.late,
        partial=len(reading.partial),
    )


def _by_group(groups: ByGroup) -> dict[Label, Snapshot]:
    """Return the snapshots of the groups that have samples, without a copy of the states."""
    states = {group: groups.state(group) for group in groups.groups}
    return {group: Snapshot(each) for group, each in states.items() if each.n + each.abstained}


def group_rows(groups: ByGroup, keys: Sequence[str]) -> list[GroupRow]:
    """Return these metrics of every group, without a copy of the states."""
    by_group = _by_group(groups)
    names = names_of(tuple(by_group))
    return [
        GroupRow(name, each.n, {key: group_value(each, key) for key in keys})
        for name, each in zip(names, by_group.values(), strict=True)
    ]


def snapshot_of(state: MetricSet) -> Snapshot:
    """Return a snapshot of the state, without a copy."""
    return Snapshot(**states_by_name(state.state, state.scored))


def values_and_intervals(
    state: MetricSet, keys: Sequence[str]
) -> tuple[int, dict[str, Number | None], dict[str, Bounds | None]]:
    """Return the number of samples, the metrics, and the intervals that can be trusted; the state is not copied."""
    snapshot = snapshot_of(state)
    values = {key: value(snapshot, key) for key in keys}
    bounds, notes = intervals(snapshot, [key for key in keys if values[key] is not None], "fixed")
    return snapshot.n, values, {key: ends for key, ends in bounds.items() if key not in notes}


def snapshot_view(
    snapshot: Snapshot,
    headline: Sequence[str],
    extra_metrics: Sequence[str] = (),
    valid: str = "fixed",
    *,
    by_group: Mapping[Label, Snapshot] = NO_GROUPS,
    shown_groups: ShownGroups | None = None,
    folded: int = 0,
    covered: Covered = NO_LABELS,
    late: int = 0,
    partial: int = 0,
) -> WindowView:
    """Return everything that is shown of a snapshot and of groups.

    `folded` is the number of samples of groups beyond the limit, `partial` that of classes with some folded samples.
    """
    of_scores = MONITOR_VIEW_OF_SCORES if "ranks" in snapshot.evaluation.views else ()
    keys = tuple(dict.fromkeys((*headline, *extra_metrics, *MONITOR_VIEW, *of_scores)))
    values = {key: value(snapshot, key) for key in keys}
    names = _names(snapshot)
    unlabelled, known = covered.due - covered.labelled, [key for key in keys if values[key] is not None]
    bounds, notes = intervals(snapshot, known, valid)
    by_labels, unbounded = label_bounds(snapshot, known, unlabelled)
    most = np.argsort(-snapshot.evaluation.value_and_undefined("support")[0], kind="stable")
    shown = np.sort(most[:MOST_CLASSES]).tolist()
    counted = counted_view(snapshot, covered, late)
    return structs.replace(
        counted,
        metrics=values,
        estimates=_estimates(snapshot, known),
        intervals=bounds,
        interval_notes=notes,
        interval=interval_meaning(valid),
        label_bounds=by_labels,
        label_bounds_missing=unbounded,
        better={key: spec(key).direction for key in keys},
        range={key: _range(key) for key in keys},
        mismatch=matrix_mismatch(snapshot.evaluation) or "",
        warnings=[*snapshot.warnings, *_warnings(counted.classes_folded, partial)],
        classes=_classes(snapshot, shown, names, valid, unlabelled),
        classes_omitted=len(most) - len(shown),
        matrix=_matrix(snapshot, np.sort(most[:MOST_CELLS]), list(names.values())),
        curves=curves(snapshot, names),
        groups=groups_view(by_group, folded, tuple(dict.fromkeys((*headline, *extra_metrics))), valid, shown_groups),
    )


@lru_cache(maxsize=1024)
def _range(key: str) -> tuple[Number | None, Number | None]:
    row = spec(key)
    return json_number(row.low), json_number(row.high)


def counted_view(snapshot: Snapshot, covered: Covered, late: int) -> WindowView:
    """Return the counts of a window: its samples, how many have labels, and the delays of these."""
    due, labelled, delays = covered
    return WindowView(
        n=snapshot.n,
        weight=json_number(snapshot.weight),
        correct=snapshot.evaluation.value_and_undefined("tp_sum")[0],
        abstained=snapshot.abstained,
        late=late,
        classes_folded=_folded(snapshot),
        coverage=LabelCoverage(labelled / due if due else None, labelled, due),
        delay=DelayQuantiles(*(delay_quantile(delays, share) for share in SHARES)),
    )


def _folded(snapshot: Snapshot) -> Number:
    """Return the weight of the samples whose truth or prediction is a class that is not counted apart."""
    labels = [at for at, label in enumerate(snapshot.labels) if label in (OTHER, ANOTHER)]
    if not labels:
        return 0
    rows, columns, counts = snapshot.evaluation.views["counts"].cells()
    weight = json_number(counts[np.isin(rows, labels) | np.isin(columns, labels)].sum())
    return 0 if weight is None else weight


def _warnings(classes_folded: Number, partial: int) -> Iterator[str]:
    if classes_folded:
        yield (
            f"{classes_folded:,.12g} samples have a class beyond max_classes; these are counted as one class, "
            f"{OTHER}, in all metrics of classes"
        )
    if partial:
        yield f"Of {quantity(partial, 'class')} some samples are counted as {OTHER}, by partitions of another store"


def _names(snapshot: Snapshot) -> dict[Label, str]:
    return dict(zip(snapshot.labels, names_of(snapshot.labels), strict=True))


def _estimates(snapshot: Snapshot, keys: Sequence[str]) -> dict[str, Ends]:
    estimates = {}
    for key in keys:
        if spec(key).state != "counts":
            metric, label = labelled(snapshot, key)
            estimates[key] = snapshot.estimate(metric, label=label)
    return {
        key: Ends(json_number(estimate.low), json_number(estimate.high))
        for key, estimate in estimates.items()
        if estimate.kind == "certified"
    }


def _classes(
    snapshot: Snapshot, shown: Sequence[int], names: Mapping[Label, str], valid: str, unlabelled: int
) -> list[ClassRow]:
    """Return the rows of some classes, given by their number in the order of report."""
    areas: Mapping[Label, float] = snapshot.per_class["roc_auc"] if snapshot.scored else {}
    read = snapshot.evaluation.value_and_undefined
    columns = {key: read(key)[0].tolist() for key in ("support", "predicted_count", "tp", *CLASSES)}
    lost = {key: set(read(key)[1] or ()) for key in CLASSES}
    bounds = class_intervals(snapshot, CLASSES, valid)
    by_labels = class_label_bounds(snapshot, CLASSES, unlabelled)
    labels, rows = snapshot.labels, []
    for at in shown:
        label = labels[at]
        row = ClassRow(
            label=names[label],
            support=columns["support"][at],
            predicted=columns["predicted_count"][at],
            true_positives=columns["tp"][at],
            **{key: None if label in lost[key] else columns[key][at] for key in CLASSES},
            roc_auc=json_number(areas.get(label)),
            intervals={key: by_label[label] for key, by_label in bounds.items() if label in by_label},
            label_bounds={key: ends[label] for key, ends in by_labels.items() if label not in lost[key]},
        )
        rows.append(row)
    return rows


def _matrix(snapshot: Snapshot, shown: NDArray[np.intp], names: Sequence[str]) -> Matrix:
    """Return the counts of some classes, rows true; the cells are read sparse, regardless of the number of classes."""
    rows, columns, counts = snapshot.evaluation.views["counts"].cells()
    place = np.full(len(names), -1)
    place[shown] = np.arange(len(shown))
    inside = (place[rows] >= 0) & (place[columns] >= 0)
    table = np.zeros((len(shown), len(shown)), counts.dtype)
    table[place[rows[inside]], place[columns[inside]]] = counts[inside]
    labels = [names[at] for at in shown.tolist()]
    return Matrix(labels, table.tolist(), len(names) - len(shown))
