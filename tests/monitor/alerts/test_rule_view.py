"""Rules have the same values in the small view that they are evaluated over as in the view of the page."""

from __future__ import annotations

import json

import numpy as np
import pytest

from stream_metrics.monitor import config
from stream_metrics.monitor.alerts.alerting import Alerts
from stream_metrics.monitor.alerts.rule_reading import parse
from stream_metrics.monitor.alerts.rules import Rule
from stream_metrics.monitor.config import Config, Counting
from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.monitor import Monitor

NOW = 1_700_000_000.0
RULES = (
    "accuracy[5m] < 0.5",
    "recall < 0.5",
    "log_loss[1h] > 9",
    "roc_auc_ovr[5m] < 0.4",
    'recall["c1"][5m] < 0.1',
    'roc_auc["c1"][5m] < 0.1',
    'support["c0"] < 9',
    'predicted["c2"][1h] > 999',
    'f1["absent"][5m] < 0.1',
    "max_gap(recall, country)[5m] > 0.9",
    "max_gap(accuracy, country) > 0.9 with n >= 30",
    "n[5m] < 9",
    "abstained[5m] > 99",
    "classes_folded > 0",
    "coverage[5m] < 0.1",
    "delay_p90[5m] > 99",
    "rejected > 5",
    "mismatched_labels > 0",
    "lag_seconds > 99",
    "pending > 99",
)


def monitor_of(classes: int, samples: int, rules: tuple[str, ...] = (), scores: bool = False) -> Monitor:
    """Return a monitor that has counted pairs of classes of which the first are the most frequent."""
    counting = Counting(scores=scores, windows=("5m", "1h"))
    monitor = Monitor(Config(counting=counting, alerts=config.Alerts(rules=rules)), clock=lambda: NOW + samples / 10)
    monitor.assign([0])
    rng, values = np.random.default_rng(4), []
    for at in range(samples):
        truth, said = (f"c{int(classes * x * x)}" for x in rng.random(2))
        said = truth if at % 3 else said
        event = {"id": at, "time": NOW + at / 10, "truth": truth, "prediction": said, "group": "ab"[at % 2]}
        event |= {"scores": {said: 0.6, "c0": 0.4} if said != "c0" else {"c0": 1.0}} if scores else {}
        values.append(b"broken" if at == 7 else json.dumps(event).encode())
    monitor.step([Record("t", 0, at, at + 1, None, None, value) for at, value in enumerate(values)])
    return monitor


@pytest.mark.parametrize("text", RULES)
@pytest.mark.parametrize("scores", [False, True], ids=["labels", "scores"])
def test_every_rule_reads_the_same(text: str, scores: bool) -> None:
    """Value and reason, whatever a rule names."""
    if not scores and ("log_loss" in text or "roc_auc" in text):
        pytest.skip("needs scores")
    monitor = monitor_of(3, 300, (text,), scores)
    alerts = Alerts(monitor.config, monitor)
    rule = parse(text)
    assert isinstance(rule, Rule)

    whole, part = monitor.view(), monitor.rule_view(alerts.engine.needs)

    expected = rule.read(whole)
    assert rule.read(part) == (expected if expected is None else pytest.approx(expected))
    if expected is None:
        assert rule.why_unknown(part) == rule.why_unknown(whole)
    else:
        assert [alert.value for alert in alerts.look() or alerts.engine.shown()] == [pytest.approx(expected)]


def test_a_rule_about_a_rare_class_has_a_value() -> None:
    """A class beyond those that a page shows is evaluated all the same."""
    monitor = monitor_of(400, 3_000, ('support["c399"] < 1',))
    alerts = Alerts(monitor.config, monitor)

    shown = {row.label for row in monitor.view().by_window["total"].classes}
    (alert,) = alerts.look() or alerts.engine.shown()

    assert "c399" not in shown
    assert alert.value is not None
    assert alert.value >= 1
