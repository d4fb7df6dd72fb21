"""Rejected records are a share of the recent ones, an alert without being asked for, and values for rules."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stream_metrics.monitor.alerts.alerting import Alerts
from stream_metrics.monitor.alerts.rule_reading import parse
from stream_metrics.monitor.config import Alerts as AlertsConfig
from stream_metrics.monitor.config import Config, Counting
from stream_metrics.monitor.events.recent import RecentRejects
from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.monitor import Monitor


def test_a_share_of_what_is_recent() -> None:
    """The last five minutes count, the last thousand records if these took longer, and never less than a hundred."""
    recent = RecentRejects()
    assert recent.share(0.0) is None
    recent.note(0.0, 3, 1)
    assert recent.share(0.0) == 0.01
    recent.note(10.0, 997, 0)
    assert recent.share(1e6) == pytest.approx(1 / 1000)
    recent.note(400.0, 500, 500)
    assert recent.share(400.0) == pytest.approx(500 / 1497)
    recent.note(600.0, 1000, 0)
    assert recent.share(700.0) == pytest.approx(500 / 1500)
    assert recent.share(900.0) == 0.0


def test_marks_are_bounded() -> None:
    """For any records, there are no more marks than seconds, or than records if these are rare."""
    recent = RecentRejects()
    for second in range(3000):
        recent.note(second, 10_000, 5)
        recent.note(second + 0.5, 1, 0)
        recent.share(second + 0.9)
    assert len(recent._marks) < 310
    assert recent.share(3000) == pytest.approx(5 / 10_001, rel=1e-3)


def monitored(lines: list[bytes], **alerts: Any) -> tuple[Monitor, Alerts]:
    """Return a monitor that has read records, with its alerts."""
    config = Config(counting=Counting(windows=("1h",)), alerts=AlertsConfig(log=False, **alerts))
    monitor = Monitor(config, clock=lambda: 2e9)
    told = Alerts(config, monitor, sinks={})
    monitor.assign([0])
    monitor.step([Record("t", 0, at, at + 1, None, None, line) for at, line in enumerate(lines)])
    return monitor, told


GOOD = [json.dumps({"id": at, "time": 1.7e9, "truth": at % 2, "prediction": at % 2}).encode() for at in range(400)]
BAD = [b"no JSON", json.dumps({"id": 1, "time": 1.7e9, "truth": 1, "weight": -1, "prediction": 1}).encode()]


def test_rejecting_records_fires_without_a_rule() -> None:
    """More than one record of a hundred is an alert; a few are not, and nothing is shown of rules that are well."""
    monitor, told = monitored(GOOD + BAD)
    view = monitor.view()
    assert told.see(view) == [] == view.alerts

    monitor, told = monitored(GOOD + 10 * BAD)
    view = monitor.view()
    (change,) = told.see(view)
    assert (change.rule, change.state) == ("rejected_share > 0.01", "firing")
    assert change.value == view.records.rejected_share == 20 / 420
    assert [alert.rule for alert in view.alerts] == ["rejected_share > 0.01"]
    assert view.records.rejected == {"decode": 10, "weight": 10}

    monitor, told = monitored(GOOD + 10 * BAD, defaults=False)
    assert told.see(monitor.view()) == []
    monitor, told = monitored(GOOD, rules=("rejected_share > 0.01",))
    view = monitor.view()
    told.see(view)
    assert [(alert.rule, alert.state) for alert in view.alerts] == [("rejected_share > 0.01", "ok")]


def test_reasons_are_values_of_rules() -> None:
    """Each reason can have a rule of its own."""
    view = monitored(GOOD + 10 * BAD)[0].view()
    values = {reason: parse(f"rejected_{reason} > 5").read(view) for reason in ("decode", "weight", "label", "other")}
    assert values == {"decode": 10, "weight": 10, "label": 0, "other": 0}


def test_labels_of_two_types_fire_without_a_rule() -> None:
    """Predictions that are texts of the numbers of the labels are an alert, while the window has them."""
    wrong = [json.dumps({"id": at, "time": 1.7e9, "truth": 1, "prediction": "1"}).encode() for at in range(5)]
    monitor, told = monitored(wrong)
    view = monitor.view()
    (change,) = told.see(view)
    assert (change.rule, parse("mismatched_labels > 0").read(view)) == ("mismatched_labels > 0", 1)
    assert "'1'" in view.by_window["1h"].mismatch

    monitor, told = monitored(GOOD)
    assert told.see(monitor.view()) == []
