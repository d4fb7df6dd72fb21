"""The view as Prometheus reads it: text format 0.0.4.

Counts of the total are counters, so that PromQL has metrics of any stretch of time and sums over workers: accuracy is
`sum(rate(true_positives_total[1h])) / sum(rate(support_total[1h]))`. They move when labels arrive. Ratios are gauges
with a `window`. A metric is called by its key, with `_ratio` if its range is 0 to 1; what is undefined is NaN.

There are at most `max_classes` classes and `max_groups` groups, and one more for the rest; of a confusion matrix, which
must be asked for, 10 classes. Ids are never exported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from stream_metrics.monitor.config import Serve
from stream_metrics.monitor.serving.counters import OTHER, Counters, LabelBudget, label_text
from stream_metrics.monitor.view_types import Matrix, Number, View, WindowView

__all__ = ["Exporter", "metric_name", "text"]

PREFIX = "stream_metrics_"
RESERVED = ("_total", "_sum", "_count", "_bucket")
NAMES = {"matthews_corrcoef": "mcc"}
MOST_CELLS, MOST_REASONS = 10, 50
ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})
COUNTERS = {
    "true_positives": ("Labelled predictions of a class that were right.", ("class",)),
    "false_positives": ("Labelled predictions of a class that were wrong.", ("class",)),
    "support": ("Labelled predictions by their true class.", ("class",)),
    "labelled_predictions": ("Labelled predictions by true and predicted class.", ("actual", "predicted")),
    "group_support": ("Labelled predictions by group.", ("group",)),
    "labels_joined": ("Predictions that met their label.", ()),
    "labels_late": ("Labels of predictions that had expired.", ()),
    "labels_duplicate": ("Labels that came again, and were not counted.", ()),
    "predictions_duplicate": ("Predictions that came again, and were not counted.", ()),
    "predictions_expired": ("Predictions that were given up without a label.", ()),
    "predictions_expired_early": ("Predictions that were given up because too many waited for a label.", ()),
    "ids_forgotten": ("Ids that were forgotten because there were too many; they would be counted again.", ()),
    "corrections": ("Labels that changed an earlier one, and were counted instead.", ()),
    "corrections_refused": ("Labels that changed an earlier one that could not be taken back.", ()),
    "records_read": ("Records that were read.", ()),
    "records_rejected": ("Records that could not be used, by reason.", ("reason",)),
    "reports": ("States that workers reported, by what became of them.", ("outcome",)),
}
JOINED = ("labels_late", "labels_duplicate", "predictions_duplicate", "predictions_expired", "corrections")

STANDING = ("live", "silent", "missing", "retired")

Labels = Sequence[tuple[str, str]]


class Sample(NamedTuple):
    """A number with its labels."""

    value: Number | None
    labels: Labels = ()
    suffix: str = ""


def text(view: View, config: Serve) -> str:
    """Return one view as text; `Exporter` is for several in turn."""
    exporter = Exporter(config)
    exporter.note(view)
    return exporter.text(view)


def metric_name(key: str, bounds: Sequence[float | None]) -> str:
    """Return the name of a metric, without the prefix; endings that are those of counters are not left last."""
    if key.endswith(RESERVED):
        return f"{key}_now"
    ratio = list(bounds) == [0, 1] and not key.endswith("_ratio")
    return NAMES.get(key, f"{key}_ratio" if ratio else key)


class Exporter:
    """Writes views, with counters that do not fall and label values that stay from one view to the next."""

    def __init__(self, config: Serve) -> None:
        self._classes, self._groups = LabelBudget(config.max_classes), LabelBudget(config.max_groups)
        self._cells, self._reasons = LabelBudget(MOST_CELLS if config.matrix else 0), LabelBudget(MOST_REASONS)
        self._counters = Counters()

    def note(self, view: View) -> None:
        """Take the counts of a view; call it with every view, so that no change of partitions is missed."""
        total = view.by_window["total"]
        counts: dict[tuple[str, ...], Number] = {}
        self._note_classes(counts, total)
        self._note_cells(counts, total.matrix)
        rows = {row.group: row.n for row in total.groups.rows}
        self._groups.take(sorted(rows, key=lambda group: -rows[group]))
        _add(counts, "group_support", self._groups.shared(rows, total.groups.folded))
        counts[("labels_joined",)], counts[("records_read",)] = view.join.joined, view.records.read
        counts |= {(name,): getattr(view.join, name) for name in (*JOINED, "corrections_refused")}
        counts[("predictions_expired_early",)] = view.join.expired_early
        counts[("ids_forgotten",)] = view.join.forgotten
        self._reasons.take(view.records.rejected)
        _add(counts, "records_rejected", self._reasons.shared(view.records.rejected))
        counts |= {("delay", str(at)): count for at, count in enumerate(view.delays.counts)}
        counts[("delay_sum",)] = view.delays.sum
        if view.workers is not None:
            _add(counts, "reports", view.workers.outcomes)
        self._counters.note(counts, frozenset(part.partition for part in view.partitions))

    def _note_classes(self, counts: dict[tuple[str, ...], Number], total: WindowView) -> None:
        rows = {row.label: row for row in total.classes}
        self._classes.take(sorted(rows, key=lambda label: -rows[label].support))
        weight = total.weight or 0
        for family, numbers, every in (
            ("support", {label: row.support for label, row in rows.items()}, weight),
            ("true_positives", {label: row.true_positives for label, row in rows.items()}, total.correct),
            (
                "false_positives",
                {label: max(row.predicted - row.true_positives, 0) for label, row in rows.items()},
                weight - total.correct,
            ),
        ):
            omitted = max(every - sum(numbers.values()), 0) if total.classes_omitted else 0
            _add(counts, family, self._classes.shared(numbers, omitted))

    def _note_cells(self, counts: dict[tuple[str, ...], Number], matrix: Matrix) -> None:
        if not self._cells.most or matrix.omitted:
            return
        self._cells.take(self._classes.names)
        names = [self._cells.names.get(label, OTHER) for label in matrix.labels]
        for actual, row in zip(names, matrix.counts, strict=True):
            for predicted, count in zip(names, row, strict=True):
                key = "labelled_predictions", actual, predicted
                counts[key] = counts.get(key, 0) + count

    def text(self, view: View) -> str:
        """Return the text of a view that was noted."""
        lines: list[str] = []
        for family, (help_text, labels) in COUNTERS.items():
            counts = self._counters.of(family)
            samples = [Sample(number, tuple(zip(labels, key, strict=True))) for key, number in counts]
            _write(lines, f"{family}_total", "counter", help_text, samples)
        self._write_delays(lines, view.delays.le)
        self._write_windows(lines, view.by_window)
        for name, help_text, value in _gauges(view):
            _write(lines, name, "gauge", help_text, [Sample(value)])
        if view.workers is not None:
            standing = [Sample(getattr(view.workers, name), (("state", name),)) for name in STANDING]
            _write(lines, "workers", "gauge", "Workers of a collector by state.", standing)
        firing: dict[str, int] = {}
        for alert in view.alerts:
            rule = label_text(alert.rule)
            firing[rule] = max(int(alert.state == "firing"), firing.get(rule, 0))
        fires = [Sample(number, (("rule", rule),)) for rule, number in firing.items()]
        _write(lines, "alert_firing", "gauge", "Whether an alert of the monitor is firing.", fires)
        unknown: dict[str, int] = {}
        for alert in view.alerts:
            rule = label_text(alert.rule)
            unknown[rule] = max(int(alert.state == "unknown"), unknown.get(rule, 0))
        blind = [Sample(number, (("rule", rule),)) for rule, number in unknown.items()]
        _write(lines, "alert_unknown", "gauge", "Whether an alert rule has no value, so that it cannot fire.", blind)
        evidence = [Sample(row.evidence, (("rule", label_text(row.rule)),)) for row in view.changes]
        help_text = "Evidence of a change, which raises the alarm where it reaches the arl of the rule."
        _write(lines, "change_evidence", "gauge", help_text, evidence)
        titled = [Sample(1, (("title", view.title),))]
        _write(lines, "monitor_info", "gauge", "What this monitor is called.", titled)
        return "\n".join(lines) + "\n"

    def _write_delays(self, lines: list[str], bounds: Sequence[float]) -> None:
        cells = {int(key[0]): number for key, number in self._counters.of("delay")}
        samples, below = [], 0.0
        for at, bound in enumerate([*(f"{bound:.12g}" for bound in bounds), "+Inf"]):
            below += cells.get(at, 0)
            samples.append(Sample(below, (("le", bound),), "_bucket"))
        total = next((number for _, number in self._counters.of("delay_sum")), 0.0)
        samples += [Sample(total, (), "_sum"), Sample(below, (), "_count")]
        _write(lines, "label_delay_seconds", "histogram", "Time from a prediction to its label.", samples)

    def _write_windows(self, lines: list[str], windows: Mapping[str, WindowView]) -> None:
        """Write what there is of each window, family by family."""
        families: dict[tuple[str, str], list[Sample]] = {}
        for window, part in windows.items():
            at = ("window", window)
            for name, help_text, value, group in self._of_window(part):
                families.setdefault((name, help_text), []).append(Sample(value, (at, *group)))
        for (name, help_text), samples in families.items():
            _write(lines, name, "gauge", help_text, samples)

    def _of_window(self, part: WindowView) -> Iterator[tuple[str, str, Number | None, Labels]]:
        """Yield name, help, value and labels of the samples of a window: metrics, their bounds, those of groups."""
        yield "window_predictions", "Labelled predictions in a window.", part.n, ()
        help_text = "Labelled predictions by all that are old enough to have a label."
        yield "label_coverage_ratio", help_text, part.coverage.ratio, ()
        names = {key: metric_name(key, part.range.get(key, ())) for key in part.metrics}
        for key, value in part.metrics.items():
            yield names[key], f"The metric {key}.", value, ()
        for key, bounds in part.intervals.items():
            for side, bound in zip(("low", "high"), bounds or (None, None), strict=True):
                help_text = f"The {side} end of the confidence interval of {key}."
                yield f"{names.get(key, key)}_{side}", help_text, bound, ()
        for key, bounds in part.label_bounds.items():
            for side, bound in zip(("least", "most"), bounds, strict=True):
                help_text = f"The {side} that {key} can be, whichever of the classes so far the missing labels are."
                yield f"{names.get(key, key)}_{side}", help_text, bound, ()
        for row in part.groups.rows:
            group = self._groups.names.get(row.group)
            for key, value in row.metrics.items() if group is not None else ():
                yield f"group_{names.get(key, key)}", f"The metric {key} of a group.", value, (("group", group or ""),)


def _gauges(view: View) -> Iterable[tuple[str, str, Number | None]]:
    """Return name, help and value of the gauges without labels; unknown ones are left out."""
    lag, checkpoint, source = view.lag, view.checkpoint, view.source
    gauges = (
        ("pending_predictions", "Predictions that wait for a label.", view.join.pending),
        ("unmatched_labels", "Labels without a prediction, waiting or given up.", view.join.labels_unmatched),
        ("last_event_timestamp_seconds", "The time of the newest event.", view.event_time),
        ("start_timestamp_seconds", "When the monitor was started.", view.started),
        ("source_up", "Whether the source can be read.", int(source.state != "away")),
        ("source_silence_seconds", "Time since the last event came.", source.silence),
        ("window_end_timestamp_seconds", "The time at which windows end; it passes without events.", source.time),
        ("consumer_lag_records", "Records that are still to be read.", lag.records),
        ("consumer_lag_seconds", "Age of the newest event.", lag.seconds),
        ("checkpoint_age_seconds", "Time since the last checkpoint.", checkpoint.age),
        ("checkpoint_duration_seconds", "Time that the last checkpoint took.", checkpoint.duration),
        ("checkpoint_size_bytes", "Size of the last checkpoint.", checkpoint.bytes),
        ("checkpoint_failing", "Whether the last checkpoint failed.", int(bool(checkpoint.error))),
        ("unreadable_partitions", "Partitions of which no record was an event so far.", len(view.unreadable)),
        ("incomplete_partitions", "Partitions whose counts lack records.", len(view.incomplete)),
    )
    return [(name, help_text, value) for name, help_text, value in gauges if value is not None]


def _add(counts: dict[tuple[str, ...], Number], family: str, numbers: Mapping[str, Number]) -> None:
    counts.update({(family, name): number for name, number in numbers.items()})


def _write(lines: list[str], name: str, kind: str, help_text: str, samples: Iterable[Sample]) -> None:
    """Write a family; one without samples is left out."""
    written = [f"{PREFIX}{name}{s.suffix}{_labels(s.labels)} {_number(s.value)}" for s in samples]
    if written:
        lines += [f"# HELP {PREFIX}{name} {help_text}", f"# TYPE {PREFIX}{name} {kind}", *written]


def _labels(labels: Labels) -> str:
    inside = ",".join(f'{name}="{label_text(value).translate(ESCAPES)}"' for name, value in labels)
    return f"{{{inside}}}" if inside else ""


def _number(value: Number | None) -> str:
    return "NaN" if value is None else repr(int(value) if float(value).is_integer() else float(value))
