"""Recording and alerting rules for Prometheus, for all models at once. The thresholds are examples, to be changed.

How good a model must be only its owner knows: rules about that are those of the monitor itself, which
arrive here as `stream_metrics_alert_firing`, but for one, a fall of accuracy below that of the longest window.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from stream_metrics.inputs.times import parse_duration
from stream_metrics.monitor.config import Config

__all__ = ["AlertingRule", "RECORDED", "Recorded", "alerts_of", "rules_file"]


class Recorded(NamedTuple):
    """A series that Prometheus computes."""

    name: str
    expression: str


class AlertingRule(NamedTuple):
    """An alert, after `lasting` in which its expression has had a value."""

    name: str
    expression: str
    lasting: str
    severity: str
    summary: str


def _ratio(above: str, below: Sequence[str], *by: str) -> str:
    """Return a ratio of counts of classes in each window, over all workers; nothing where there are none."""
    labels = ", ".join(("job", "model", "window", *by))
    sums = [f"sum by ({labels}) (stream_metrics_class_{name})" for name in (above, *below)]
    return f"{sums[0]} / ({' + '.join(sums[1:])} > 0)"


INFO = "stream_metrics_monitor_info"
COVERAGE = 'stream_metrics_label_coverage_ratio{window!="total"}'
RECORDED = (
    Recorded("job_model_window:stream_metrics_accuracy:ratio", _ratio("true_positives", ["support"])),
    Recorded("job_model_window_class:stream_metrics_recall:ratio", _ratio("true_positives", ["support"], "class")),
    Recorded(
        "job_model_window_class:stream_metrics_precision:ratio",
        _ratio("true_positives", ["true_positives", "false_positives"], "class"),
    ),
    Recorded(
        "job_model:stream_metrics_labels_joined:rate5m",
        "sum by (job, model) (rate(stream_metrics_labels_joined_total[5m]))",
    ),
)
ALERTS = (
    AlertingRule(
        "ModelAlert", "stream_metrics_alert_firing == 1", "0s", "critical", "A rule of the monitor: {{ $labels.rule }}"
    ),
    AlertingRule(
        "ModelMonitorGone",
        f"(count by (job, model) (last_over_time({INFO}[1d])) unless count by (job, model) ({INFO})) or absent({INFO})",
        "5m",
        "critical",
        "No monitor of the model {{ $labels.model }} is scraped",
    ),
    AlertingRule(
        "ModelMonitorDown",
        f"up == 0 and on (job, instance) last_over_time({INFO}[1d])",
        "2m",
        "warning",
        "The monitor at {{ $labels.instance }} cannot be scraped",
    ),
    AlertingRule(
        "ModelMonitorBlind",
        "stream_metrics_source_up == 0",
        "1m",
        "critical",
        "The monitor cannot read its source, so no other alert can be trusted",
    ),
    AlertingRule(
        "ModelEventsStopped",
        "stream_metrics_source_silence_seconds > 900",
        "0s",
        "critical",
        "No event has come for {{ $value | humanizeDuration }}",
    ),
    AlertingRule(
        "ModelAlertUnknown",
        "stream_metrics_alert_unknown == 1",
        "30m",
        "warning",
        "A rule of the monitor has had no value for half an hour: {{ $labels.rule }}",
    ),
    AlertingRule(
        "ModelMonitorBehind",
        "time() - stream_metrics_last_event_timestamp_seconds > 900",
        "5m",
        "warning",
        "The newest event is {{ $value | humanizeDuration }} old",
    ),
    AlertingRule(
        "ModelMonitorLagGrows",
        "stream_metrics_consumer_lag_records > 10000 and deriv(stream_metrics_consumer_lag_records[15m]) > 0",
        "15m",
        "warning",
        "{{ $value }} records are still to be read, and there are more and more",
    ),
    AlertingRule(
        "ModelRecordsRejected",
        "sum by (job, model) (rate(stream_metrics_records_rejected_total[5m])) / "
        "sum by (job, model) (rate(stream_metrics_records_read_total[5m])) > 0.01",
        "10m",
        "warning",
        "{{ $value | humanizePercentage }} of the records cannot be used",
    ),
    AlertingRule(
        "ModelPartitionUnreadable",
        "stream_metrics_unreadable_partitions > 0",
        "0s",
        "critical",
        "None of the first records of {{ $value }} partitions is an event",
    ),
    AlertingRule(
        "ModelPredictionsGivenUp",
        "increase(stream_metrics_predictions_expired_early_total[1h]) > 0",
        "0s",
        "warning",
        "More predictions wait for labels than max_pending; the oldest are given up before their time",
    ),
    AlertingRule(
        "ModelCountsIncomplete",
        "stream_metrics_incomplete_partitions > 0",
        "0s",
        "warning",
        "Counts lack records that were gone before they were read",
    ),
    AlertingRule(
        "ModelAlertsUndelivered",
        "stream_metrics_alerts_undelivered > 0",
        "5m",
        "critical",
        "{{ $value }} alerts of the monitor were not delivered",
    ),
    AlertingRule(
        "ModelCheckpointFails",
        "stream_metrics_checkpoint_failing == 1 or stream_metrics_checkpoint_age_seconds > 120",
        "2m",
        "critical",
        "State is not saved; after a crash much will be read again",
    ),
)


def alerts_of(config: Config) -> list[AlertingRule]:
    """Return all alerts for the windows and the age of labels of a configuration."""
    return [*ALERTS, _labels_missing(config.join.due), *_accuracy_fell(config.counting.windows)]


def _labels_missing(due: str) -> AlertingRule:
    """Return the alert on labels that do not come.

    How many labels there should be is known of predictions that are `due`. Without such an age, labels may take days,
    and coverage is compared with that of a week ago.
    """
    if parse_duration(due, "due", zero=True):
        expression = f"{COVERAGE} < 0.8"
    else:
        expression = f"{COVERAGE} < 0.5 * ({COVERAGE} offset 1w)"
    summary = "Only {{ $value | humanizePercentage }} of the predictions of {{ $labels.window }} have their label"
    return AlertingRule("ModelLabelsMissing", expression, "30m", "warning", summary)


def _accuracy_fell(windows: Sequence[str]) -> list[AlertingRule]:
    """Return the alert that compares the shortest window with the longest, or the only one with the total."""
    if not windows:
        return []
    ordered = sorted(windows, key=lambda window: parse_duration(window, "windows"))
    recent, before = ordered[0], ordered[-1] if len(ordered) > 1 else "total"
    accuracy = "job_model_window:stream_metrics_accuracy:ratio{{window={}}}"
    now, then = (accuracy.format(json.dumps(window)) for window in (recent, before))
    summary = f"Accuracy of {recent} is {{{{ $value | humanizePercentage }}}}, over 5 points below that of {before}"
    return [AlertingRule("ModelAccuracyFell", f"{now} < ignoring (window) {then} - 0.05", "15m", "warning", summary)]


def rules_file(config: Config) -> str:
    """Return the file of rules for a configuration, YAML."""
    lines = ["# Written by: stream-metrics monitor --export-dashboards", "groups:"]
    recorded = (
        line
        for rule in RECORDED
        for line in (f"      - record: {json.dumps(rule.name)}", f"        expr: {json.dumps(rule.expression)}")
    )
    lines += _group("stream_metrics_recorded", recorded)
    lines += _group("stream_metrics_alerts", (line for rule in alerts_of(config) for line in _alert(rule)))
    return "\n".join(lines) + "\n"


def _group(name: str, rules: Iterable[str]) -> list[str]:
    return [f"  - name: {json.dumps(name)}", "    rules:", *rules]


def _alert(rule: AlertingRule) -> list[str]:
    return [
        f"      - alert: {json.dumps(rule.name)}",
        f"        expr: {json.dumps(rule.expression)}",
        f"        for: {rule.lasting}",
        f"        labels: {{severity: {rule.severity}}}",
        f"        annotations: {{summary: {json.dumps(rule.summary)}}}",
    ]
