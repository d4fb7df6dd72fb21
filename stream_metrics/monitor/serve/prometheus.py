"""The view as Prometheus reads it: text format 0.0.4.

The number of label values is bounded. Names become label values first come, first served, and keep their place, so that
series do not come and go.

Counts of classes and groups are gauges with a `window`: a correction takes back what it replaces, so they may fall.
They are exact and add up over workers at any moment: accuracy is
`sum(class_true_positives{window="1h"}) / sum(class_support{window="1h"})`. Ratios are gauges with a `window` as well. A
metric is called by its key, with `_ratio` if its range is 0 to 1; what is undefined is NaN. Counters are what only
grows, as of the last checkpoint: see ``view.view``.

Every series has the label `model`, the title of the monitor, since one job may watch several models.

There are at most `max_classes` classes and `max_groups` groups, and one more for the rest; of a confusion matrix, which
must be asked for, 10 classes. Ids are never exported.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from stream_metrics.monitor.config import ServeTable
from stream_metrics.monitor.counts.coverage import Delays
from stream_metrics.monitor.view.types import Alert, Matrix, Number, View, WindowView
from stream_metrics.monitor.view.window_reading import split_key

OTHER = "__other__"  # the name of all that have no series of their own


def label_text(name: str) -> str:
    """Return a name as a label value may be: without lone surrogates, which are no UTF-8."""
    return name.encode("utf-8", "backslashreplace").decode()


class LabelBudget:
    """The first names that came, at most `most` of them, and what they are called."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.names: dict[str, str] = {}
        self._used = {OTHER}

    def take(self, names: Iterable[str]) -> None:
        """Choose names up to the limit; one that would be shown like another is never chosen."""
        for name in names:
            text = label_text(name)
            if len(self.names) < self.most and name not in self.names and text not in self._used:
                self.names[name] = text
                self._used.add(text)

    def shared(self, numbers: Mapping[str, Number], rest: Number = 0) -> dict[str, Number]:
        """Return the numbers of those that are chosen, and of all others together with `rest`, if there are any."""
        shown = {text: numbers[name] for name, text in self.names.items() if name in numbers}
        others = [number for name, number in numbers.items() if name not in self.names]
        return shown | {OTHER: sum(others, rest)} if others or rest else shown


PREFIX = "stream_metrics_"
RESERVED = ("_total", "_sum", "_count", "_bucket")  # what names of gauges may not end with
NAMES = {"matthews_corrcoef": "mcc"}
MOST_CELLS, MOST_REASONS = 10, 50
COUNTERS = {
    "labels_joined": "Predictions that met their label.",
    "labels_late": "Labels of predictions that had expired.",
    "labels_duplicate": "Labels that came again, and were not counted.",
    "predictions_duplicate": "Predictions that came again, and were not counted.",
    "predictions_expired": "Predictions that were given up without a label.",
    "predictions_expired_early": "Predictions that were given up because too many waited for a label.",
    "ids_forgotten": "Ids that were forgotten because there were too many; they would be counted again.",
    "corrections": "Labels that changed an earlier one, and were counted instead.",
    "corrections_refused": "Labels that changed an earlier one that could not be taken back.",
    "records_read": "Records that were read.",
}
REJECTED = "Records that could not be used, by reason."
REPORTS = "States that workers reported, by what became of them."
COUNTS = {
    "class_support": "Labelled predictions by their true class.",
    "class_true_positives": "Labelled predictions of a class that were right.",
    "class_false_positives": "Labelled predictions of a class that were wrong.",
    "labelled_predictions": "Labelled predictions by true and predicted class.",
    "group_support": "Labelled predictions by group.",
}
STANDING = ("live", "silent", "missing", "retired")

Labels = Sequence[tuple[str, str]]


class Sample(NamedTuple):
    """A number with its labels."""

    value: Number | None
    labels: Labels = ()
    suffix: str = ""


class Family(NamedTuple):
    """All samples of a name."""

    name: str
    kind: str
    about: str
    samples: Sequence[Sample]


def text(view: View, config: ServeTable) -> str:
    """Return one view as text; `Exporter` is for several in turn."""
    exporter = Exporter(config)
    exporter.note(view)
    return exporter.text(view)


class Exporter(Collector):
    """Writes views, with label values that stay from one view to the next; it has a registry of its own."""

    def __init__(self, config: ServeTable) -> None:
        self._classes, self._groups = LabelBudget(config.max_classes), LabelBudget(config.max_groups)
        self._cells, self._reasons = LabelBudget(MOST_CELLS if config.matrix else 0), LabelBudget(MOST_REASONS)
        self._shown = View()
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def note(self, view: View) -> None:
        """Choose the names that have series of their own; call it with every view."""
        total = view.by_window["total"]
        support = {row.label: row.support for row in total.classes}
        self._classes.take(sorted(support, key=lambda label: -support[label]))
        if not total.matrix.omitted:
            self._cells.take(self._classes.names)
        rows = {row.group: row.n for row in total.groups.rows}
        self._groups.take(sorted(rows, key=lambda group: -rows[group]))
        self._reasons.take(view.flows.rejected)

    def text(self, view: View) -> str:
        """Return the text of a view that was noted."""
        self._shown = view
        return generate_latest(self._registry).decode()

    def describe(self) -> list[Metric]:
        """Nothing: what there is depends on the view."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics of the view that is shown, for the registry."""
        model = ("model", self._shown.title)
        return (_metric(family, model) for family in self.families(self._shown) if family.samples)

    def families(self, view: View) -> Iterator[Family]:
        """Yield what is exported of a view that was noted."""
        yield from self._counters(view)
        yield _delays(view.flows.delays)
        yield from self._windows(view.by_window)
        for name, about, value in _gauges(view):
            yield Family(name, "gauge", about, [Sample(value)])
        if view.workers is not None:
            standing = [Sample(getattr(view.workers, name), (("state", name),)) for name in STANDING]
            yield Family("workers", "gauge", "Workers of a collector by state.", standing)
        yield _in_state(view.alerts, "firing", "Whether an alert of the monitor is firing.")
        yield _in_state(view.alerts, "unknown", "Whether an alert rule has no value, so that it cannot fire.")
        evidence = [Sample(row.evidence, (("rule", label_text(row.rule)),)) for row in view.changes]
        about = "Evidence of a change, which raises the alarm where it reaches the arl of the rule."
        yield Family("change_evidence", "gauge", about, evidence)
        yield Family("monitor_info", "gauge", "What this monitor is called.", [Sample(1, (("title", view.title),))])

    def _counters(self, view: View) -> Iterator[Family]:
        """Yield the counters; one of which nothing is known is 0."""
        counts = view.flows.counts
        for name, about in COUNTERS.items():
            yield Family(name, "counter", about, [Sample(counts.get(name, 0))])
        rejected = self._reasons.shared(view.flows.rejected)
        yield Family("records_rejected", "counter", REJECTED, _labelled("reason", rejected))
        failures = [Sample(view.delivery_failures)]
        yield Family("alert_delivery_failures", "counter", "Posts of alerts that were not accepted.", failures)
        if view.workers is not None:
            yield Family("reports", "counter", REPORTS, _labelled("outcome", view.workers.outcomes))

    def _windows(self, windows: Mapping[str, WindowView]) -> Iterator[Family]:
        """Yield what there is of each window, family by family."""
        families: dict[tuple[str, str], list[Sample]] = {}
        for window, part in windows.items():
            at = ("window", window)
            for name, about, value, labels in (*self._counts(part), *self._metrics(part)):
                families.setdefault((name, about), []).append(Sample(value, (at, *labels)))
        for (name, about), samples in families.items():
            yield Family(name, "gauge", about, samples)

    def _counts(self, part: WindowView) -> Iterator[tuple[str, str, Number | None, Labels]]:
        """Yield the exact counts of a window by class, cell of the matrix, and group."""
        weight, right = part.weight or 0, part.correct
        for name, numbers, every in (
            ("class_support", {row.label: row.support for row in part.classes}, weight),
            ("class_true_positives", {row.label: row.true_positives for row in part.classes}, right),
            (
                "class_false_positives",
                {row.label: max(row.predicted - row.true_positives, 0) for row in part.classes},
                weight - right,
            ),
        ):
            omitted = max(every - sum(numbers.values()), 0) if part.classes_omitted else 0
            for label, number in self._classes.shared(numbers, omitted).items():
                yield name, COUNTS[name], number, (("class", label),)
        for (actual, predicted), number in self._cells_of(part.matrix).items():
            labels = ("actual", actual), ("predicted", predicted)
            yield "labelled_predictions", COUNTS["labelled_predictions"], number, labels
        groups = self._groups.shared({row.group: row.n for row in part.groups.rows}, part.groups.folded)
        for group, number in groups.items():
            yield "group_support", COUNTS["group_support"], number, (("group", group),)

    def _cells_of(self, matrix: Matrix) -> dict[tuple[str, str], Number]:
        counts: dict[tuple[str, str], Number] = {}
        if not self._cells.most or matrix.omitted:
            return counts
        names = [self._cells.names.get(label, OTHER) for label in matrix.labels]
        for actual, row in zip(names, matrix.counts, strict=True):
            for predicted, count in zip(names, row, strict=True):
                counts[actual, predicted] = counts.get((actual, predicted), 0) + count
        return counts

    def _metrics(self, part: WindowView) -> Iterator[tuple[str, str, Number | None, Labels]]:
        """Yield name, help, value and labels of the samples of a window: metrics, their bounds, those of groups."""
        yield "window_predictions", "Labelled predictions in a window.", part.n, ()
        about = "Labelled predictions with a class beyond max_classes."
        yield "window_folded_predictions", about, part.classes_folded, ()
        about = "Labelled predictions by all that are old enough to have a label."
        yield "label_coverage_ratio", about, part.coverage.ratio, ()
        names = {key: _metric_name(split_key(key)[0], part.range.get(key, ())) for key in part.metrics}
        of = {key: _of_class(key) for key in part.metrics}
        for key, value in part.metrics.items():
            yield names[key], f"The metric {split_key(key)[0]}.", value, of[key]
        for key, bounds in part.intervals.items():
            for side, bound in zip(("low", "high"), bounds or (None, None), strict=True):
                about = f"The {side} end of the confidence interval of {split_key(key)[0]}."
                yield f"{names[key]}_{side}", about, bound, of[key]
        for key, bounds in part.label_bounds.items():
            for side, bound in zip(("least", "most"), bounds, strict=True):
                metric = split_key(key)[0]
                about = f"The {side} that {metric} can be, whichever of the classes so far the missing labels are."
                yield f"{names[key]}_{side}", about, bound, of[key]
        for row in part.groups.rows:
            group = self._groups.names.get(row.group)
            for key, value in row.metrics.items() if group is not None else ():
                labels = (("group", group or ""), *of.get(key, ()))
                yield f"group_{names.get(key, key)}", f"The metric {split_key(key)[0]} of a group.", value, labels


def _of_class(key: str) -> Labels:
    """Return the class that a metric is of, as labels."""
    name = split_key(key)[1]
    return () if name is None else (("class", name),)


def _labelled(label: str, numbers: Mapping[str, Number]) -> list[Sample]:
    return [Sample(number, ((label, name),)) for name, number in numbers.items()]


def _delays(delays: Delays) -> Family:
    samples, below = [], 0
    bounds = [*(f"{bound:.12g}" for bound in delays.le), "+Inf"]
    for bound, count in zip(bounds, delays.counts or (0,), strict=True):
        below += count
        samples.append(Sample(below, (("le", bound),), "_bucket"))
    samples += [Sample(delays.sum, (), "_sum"), Sample(below, (), "_count")]
    return Family("label_delay_seconds", "histogram", "Time from a prediction to its label.", samples)


def _in_state(alerts: Sequence[Alert], state: str, about: str) -> Family:
    """Return whether each rule is in a state; rules that are written alike are one."""
    rules: dict[str, int] = {}
    for alert in alerts:
        rule = label_text(alert.rule)
        rules[rule] = max(int(alert.state == state), rules.get(rule, 0))
    return Family(f"alert_{state}", "gauge", about, _labelled("rule", rules))


def _gauges(view: View) -> Iterable[tuple[str, str, Number | None]]:
    """Return name, help and value of the gauges without labels; unknown ones are left out."""
    lag, checkpoint, source = view.lag, view.checkpoint, view.source
    gauges = (
        ("pending_predictions", "Predictions that wait for a label.", view.join.pending),
        ("unmatched_labels", "Labels without a prediction, waiting or given up.", view.join.labels_unmatched),
        ("last_event_timestamp_seconds", "The time of the newest event.", view.event_time),
        ("start_timestamp_seconds", "When the monitor was started.", view.started),
        ("source_up", "Whether the source can be read.", int(source.up)),
        ("source_silence_seconds", "Time since the last event came.", source.silence),
        ("window_end_timestamp_seconds", "The time at which windows end; it passes without events.", source.time),
        ("consumer_lag_records", "Records that are still to be read.", lag.records),
        ("consumer_lag_seconds", "Age of the newest event.", lag.seconds),
        ("checkpoint_age_seconds", "Time since the last checkpoint.", checkpoint.age),
        ("checkpoint_duration_seconds", "Time that the last checkpoint took.", checkpoint.duration),
        ("checkpoint_size_bytes", "Size of the last checkpoint.", checkpoint.bytes),
        ("checkpoint_failing", "Whether the last checkpoint failed.", int(bool(checkpoint.error))),
        ("unreadable_partitions", "Partitions of which no record was an event so far.", len(view.unreadable)),
        ("alerts_undelivered", "Alerts that were not delivered, within a day.", len(view.undelivered)),
        ("incomplete_partitions", "Partitions whose counts lack records.", len(view.incomplete)),
    )
    return [(name, help_text, value) for name, help_text, value in gauges if value is not None]


def _metric_name(key: str, bounds: Sequence[float | None]) -> str:
    """Return the name of a metric, without the prefix."""
    if key.endswith(RESERVED):
        return f"{key}_now"
    ratio = list(bounds) == [0, 1] and not key.endswith("_ratio")
    return NAMES.get(key, f"{key}_ratio" if ratio else key)


def _metric(family: Family, model: tuple[str, str]) -> Metric:
    """Return a family with a label more, as the client of Prometheus has it."""
    metric = Metric(f"{PREFIX}{family.name}", family.about, family.kind)
    end = "_total" if family.kind == "counter" else ""
    for sample in family.samples:
        labels = {name: label_text(value) for name, value in (*sample.labels, model)}
        value = math.nan if sample.value is None else float(sample.value)
        metric.add_sample(f"{metric.name}{end}{sample.suffix}", labels, value)
    return metric
