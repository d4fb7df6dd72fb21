"""Recording and alerting rules for Prometheus. The thresholds are examples, to be changed.

How good a model must be only its owner knows: rules about that are those of the monitor itself, which
arrive here as `stream_metrics_alert_firing`, but for one, a fall of accuracy below what it was over a day.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["ALERTS", "RECORDED", "Alert", "Recorded", "rules_file"]


class Recorded(NamedTuple):
    """A series that Prometheus computes."""

    name: str
    expression: str


class Alert(NamedTuple):
    """An alert, after `lasting` in which its expression has had a value."""

    name: str
    expression: str
    lasting: str
    severity: str
    summary: str


def _right(span: str, *by: str) -> str:
    """Return the share of right predictions among those whose label came in a span."""
    labels = ", ".join(("job", *by))
    right, all_of_it = (
        f"sum by ({labels}) (rate(stream_metrics_{name}_total[{span}]))" for name in ("true_positives", "support")
    )
    return f"{right} / {all_of_it}"


RECORDED = (
    Recorded("job:stream_metrics_accuracy:ratio_rate5m", _right("5m")),
    Recorded("job:stream_metrics_accuracy:ratio_rate1h", _right("1h")),
    Recorded("job:stream_metrics_accuracy:ratio_rate1d", _right("1d")),
    Recorded("job_class:stream_metrics_recall:ratio_rate1h", _right("1h", "class")),
    Recorded(
        "job_class:stream_metrics_precision:ratio_rate1h",
        "sum by (job, class) (rate(stream_metrics_true_positives_total[1h])) / "
        "(sum by (job, class) (rate(stream_metrics_true_positives_total[1h])) + "
        "sum by (job, class) (rate(stream_metrics_false_positives_total[1h])))",
    ),
    Recorded("job:stream_metrics_support:rate5m", "sum by (job) (rate(stream_metrics_support_total[5m]))"),
)
ALERTS = (
    Alert(
        "ModelAlert", "stream_metrics_alert_firing == 1", "0s", "critical", "A rule of the monitor: {{ $labels.rule }}"
    ),
    Alert(
        "ModelAccuracyFell",
        "job:stream_metrics_accuracy:ratio_rate1h < job:stream_metrics_accuracy:ratio_rate1d - 0.05",
        "15m",
        "warning",
        "Accuracy of the last hour is {{ $value | humanizePercentage }}, more than 5 points below that of the last day",
    ),
    Alert("ModelMonitorGone", "absent(stream_metrics_monitor_info)", "5m", "critical", "No monitor is scraped"),
    Alert(
        "ModelMonitorBlind",
        "stream_metrics_source_up == 0",
        "1m",
        "critical",
        "The monitor cannot read its source, so no other alert can be trusted",
    ),
    Alert(
        "ModelEventsStopped",
        "stream_metrics_source_silence_seconds > 900",
        "0s",
        "critical",
        "No event has come for {{ $value | humanizeDuration }}",
    ),
    Alert(
        "ModelAlertUnknown",
        "stream_metrics_alert_unknown == 1",
        "30m",
        "warning",
        "A rule of the monitor has had no value for half an hour: {{ $labels.rule }}",
    ),
    Alert(
        "ModelMonitorBehind",
        "time() - stream_metrics_last_event_timestamp_seconds > 900",
        "5m",
        "warning",
        "The newest event is {{ $value | humanizeDuration }} old",
    ),
    Alert(
        "ModelMonitorLagGrows",
        "stream_metrics_consumer_lag_records > 10000 and deriv(stream_metrics_consumer_lag_records[15m]) > 0",
        "15m",
        "warning",
        "{{ $value }} records are still to be read, and there are more and more",
    ),
    Alert(
        "ModelLabelsMissing",
        'stream_metrics_label_coverage_ratio{window!="total"} < 0.8',
        "30m",
        "warning",
        "Only {{ $value | humanizePercentage }} of the predictions of {{ $labels.window }} have their label",
    ),
    Alert(
        "ModelRecordsRejected",
        "sum by (job) (rate(stream_metrics_records_rejected_total[5m])) / "
        "sum by (job) (rate(stream_metrics_records_read_total[5m])) > 0.01",
        "10m",
        "warning",
        "{{ $value | humanizePercentage }} of the records cannot be used",
    ),
    Alert(
        "ModelPartitionUnreadable",
        "stream_metrics_unreadable_partitions > 0",
        "0s",
        "critical",
        "None of the first records of {{ $value }} partitions is an event",
    ),
    Alert(
        "ModelPredictionsGivenUp",
        "increase(stream_metrics_predictions_expired_early_total[1h]) > 0",
        "0s",
        "warning",
        "More predictions wait for labels than max_pending; the oldest are given up before their time",
    ),
    Alert(
        "ModelCountsIncomplete",
        "stream_metrics_incomplete_partitions > 0",
        "0s",
        "warning",
        "Counts lack records that were gone before they were read",
    ),
    Alert(
        "ModelCheckpointFails",
        "stream_metrics_checkpoint_failing == 1 or stream_metrics_checkpoint_age_seconds > 120",
        "2m",
        "critical",
        "State is not saved; after a crash much will be read again",
    ),
)


def rules_file() -> str:
    """Return the file of rules, YAML."""
    lines = ["# Written by: stream-metrics monitor --export-dashboards", "groups:"]
    recorded = (
        line
        for rule in RECORDED
        for line in (f"      - record: {json.dumps(rule.name)}", f"        expr: {json.dumps(rule.expression)}")
    )
    lines += _group("stream_metrics_recorded", recorded)
    lines += _group("stream_metrics_alerts", (line for rule in ALERTS for line in _alert(rule)))
    return "\n".join(lines) + "\n"


def _group(name: str, rules: Iterable[str]) -> list[str]:
    return [f"  - name: {json.dumps(name)}", "    rules:", *rules]


def _alert(rule: Alert) -> list[str]:
    return [
        f"      - alert: {json.dumps(rule.name)}",
        f"        expr: {json.dumps(rule.expression)}",
        f"        for: {rule.lasting}",
        f"        labels: {{severity: {rule.severity}}}",
        f"        annotations: {{summary: {json.dumps(rule.summary)}}}",
    ]
