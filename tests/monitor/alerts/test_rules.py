"""Alert rules: the values that they read from a view, what is shown of them, and errors of invalid rules."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from support.alert_receiver import alerting
from support.monitor_runs import START, Alerts, Monitor, config, feed, pair, started
from support.refusals import refused

from stream_metrics.monitor.events.records import RecentRejects

PART: dict[str, Any] = {
    "n": 200,
    "abstained": 3,
    "metrics": {"accuracy": 0.9, "macro_recall": 0.7, "log_loss": None},
    "classes": [
        {"label": 'c"at', "support": 40, "predicted": 50, "true_positives": 24, "precision": None, "recall": 0.6}
        | {"f1": None, "roc_auc": 0.8}
    ],
    "groups": {
        "rows": [
            {"group": group, "n": n, "metrics": {"macro_recall": value}}
            for group, n, value in (("fr", 100, 0.5), ("de", 90, 0.75), ("it", 2, 0.0), ("es", 95, None))
        ]
    },
    "coverage": {"ratio": 0.95, "labelled": 190, "due": 200},
    "delay": {"p50": 1.0, "p90": 2.0, "p99": None},
}
VIEW: dict[str, Any] = {
    "by_window": {"total": PART, "1h": PART | {"n": 7}},
    "lag": {"records": 12},
    "checkpoint": {"age": 0.5},
    "records": {"read": 5, "rejected": {"decode": 2, "time": 3}, "per_second": 10.0},
    "join": {"pending": 4},
}
READ = {
    "accuracy < 1": 0.9,
    "accuracy < 1 with n >= 201": None,
    "accuracy < 1 with n >= 200": 0.9,
    "accuracy[1h] < 1 with n >= 7": 0.9,
    "recall < 1": 0.7,
    "log_loss < 1": None,
    'recall["c\\"at"] < 1': 0.6,
    'recall["c\\"at"] < 1 with n >= 41': None,
    'precision["c\\"at"] < 1': None,
    'support["c\\"at"] < 1': 40,
    'recall["fox"] < 1': None,
    "max_gap(recall, country) > 0": 0.25,
    "max_gap(recall, country) > 0 with n >= 1": 0.75,
    "max_gap(recall, country) > 0 with n >= 50": 0.25,
    "max_gap(recall, country) > 0 with n >= 99": None,
    "n[1h] < 1": 7,
    "coverage[1h] < 1": 0.95,
    "delay_p90 > 1": 2.0,
    "delay_p99 > 1": None,
    "lag > 1": 12,
    "lag_seconds > 1": None,
    "checkpoint_age > 1": 0.5,
    "rejected > 1": 5,
    "pending > 1": 4,
    "records_per_second < 1": 10.0,
    "forgotten > 0": 0,
}


def test_what_rules_read() -> None:
    """The value is that of the view; None where it is unknown or of too few samples."""
    monitor, alerts = alerting(rules=tuple(READ), counting={"scores": True, "windows": ["1h"]}, defaults=False)
    view = msgspec.convert(VIEW, type(monitor.view()))
    alerts.see(view)

    assert {alert.rule: alert.value for alert in view.alerts} == READ
    assert all((alert.state == "unknown") == (alert.value is None) == bool(alert.note) for alert in view.alerts)


def test_what_rules_mean() -> None:
    """A rule names a value, a comparison, and in any order how long, until when and of how many samples."""
    states = {
        "max_gap(recall, country)[1h]>0.1": "firing",
        'recall["c\\"at"][1h] <= .6': "firing",
        "lag >= 1.2e1": "firing",
        "lag > 12": "ok",
        "lag <= 11.9": "ok",
        "accuracy < 0.95 until > 0.97 with n >= 100 for 1h30m": "pending",
        "lag > 5 until <= 5": "firing",
        "lag > 5": "firing",
    }
    spaced = [f" {rule}\n" if " for " in rule else rule for rule in states]
    monitor, alerts = alerting(rules=(*spaced, "lag > 5"), defaults=False)
    view = msgspec.convert(VIEW, type(monitor.view()))
    alerts.see(view)

    assert {alert.rule: alert.state for alert in view.alerts} == states
    assert len(view.alerts) == len(states)


BAD = [
    ("acuracy < 1", 0, "did you mean accuracy"),
    ("accuracy[1h] = 0.8", 13, "a comparison"),
    ("accuracy[1x] < 3", 9, "length of time"),
    ("accuracy < 0.8 for", 18, "the end"),
    ("accuracy < 0.8abc", 11, "a number"),
    ("accuracy <  1e999", 12, "a number that a double can hold"),
    ('recall["cat] < 3', 7, 'a class of a metric that has them, such as "cat"'),
    ('recall["\\q"] < 3', 7, "as in JSON"),
    ("lag[1h] > 3", 3, "no window"),
    ("roc_auc < 3", 8, 'as in roc_auc["cat"]'),
    ("accuracy < 0.8 for 5m for 3m", 22, "only once"),
    ("lag > 3 with n >= 3", 8, "no number of samples"),
    ("max_gap(recall)[1h] > 1", 14, "a comma"),
    ("accuracy < 0.8 5m", 15, "to end here"),
    ("changed(lag) arl=5", 8, "the name of a value"),
    ("changed(recall) arl=5", 14, 'as in recall["cat"]'),
    ("changed(accuracy[1h]) arl=5", 16, "no window"),
    ("changed(accuracy) arl=1", 22, "above 1"),
    ("changed(accuracy) arl=0.5", 22, "above 1"),
    ("changed(accuracy) p0=0.1", 24, "arl=NUMBER"),
    ("changed(accuracy) arl=5 p0=1", 27, "between 0 and 1"),
    ("changed(accuracy) arl=5 arl=6", 24, "only once"),
    ("changed(accuracy) arl=5 p0=0.1 reference=9", 31, "either p0 or reference"),
    ("changed(accuracy) arl=5 reference=0", 34, "above 0"),
    ("changed(accuracy) arl=5 direction=up", 34, "worse, better or both"),
    ("changed(accuracy) arl=5 for 5m", 24, "to end here"),
    ('accuracy["cat"] < 1', 9, "a window"),
    ("accuracy < 0.8 until > 0.7", 21, "false wherever the rule is broken"),
    ("accuracy < 0.8 until  < 0.9 for 5m", 22, "false wherever the rule is broken"),
    ("lag >= 5 until <= 5", 15, "false wherever the rule is broken"),
    ("", 0, "the name of a value"),
    ("x" * 600, 0, "at most 500 characters"),
]


def alerts_of(text: str, **counting: Any) -> Alerts:
    """Return the alerts of a rule."""
    how = config(alerts={"rules": [text]}, counting=counting)
    return Alerts(how, Monitor(how))


def test_bad_rules_show_where() -> None:
    """The error names what was expected, and a caret stands below the place."""
    wrong = []
    for text, at, message in BAD:
        error: Any = refused(lambda text=text: alerts_of(text), ValueError)
        first, rule, caret = str(error).split("\n")
        if message not in first or caret != "  " + " " * at + "^" or rule[2:12] != text[:10] or error.at != at:
            wrong.append((text, str(error)))
    assert wrong == []


def test_rules_must_fit_what_is_counted() -> None:
    """A window that is not counted, and a metric of scores without scores, are refused."""
    refused(lambda: alerts_of("accuracy[2h] < 1"), ValueError, "['total', '1h', '1d'], but got '2h'")
    for rule in ("log_loss > 1", 'roc_auc["a"] < 1'):
        refused(lambda rule=rule: alerts_of(rule), ValueError, "Expected `scores` to be counted")
    assert alerts_of('roc_auc["a"] < 1', scores=True)


RULES = (
    *(rule.replace('c\\"at', "c0") for rule in READ if rule != "records_per_second < 1"),
    *("roc_auc_ovr[1h] < 0.4", 'roc_auc["c1"][1h] < 0.1', 'f1["absent"][1h] < 0.1', 'predicted["c2"] > 999'),
    *("micro_jaccard < 0.1", "abstained[1h] > 99", "classes_folded > 0", "mismatched_labels > 0"),
)


def monitor_of(classes: int, samples: int, rules: Sequence[str], scores: bool = False) -> tuple[Monitor, Alerts]:
    """Return a monitor that has counted pairs of classes of which the first are the most frequent, and its alerts."""
    how = config(counting={"scores": scores, "windows": ["1h"]}, alerts={"rules": rules, "defaults": False})
    monitor = started(how, clock=lambda: START + samples / 10)
    rng, values = np.random.default_rng(4), list[Any]()
    for at in range(samples):
        truth, said = (f"c{int(classes * x * x)}" for x in rng.random(2))
        said = truth if at % 3 else said
        event = {"id": at, "time": START + at / 10, "truth": truth, "prediction": said, "group": "ab"[at % 2]}
        event |= {"scores": {said: 0.6, "c0": 0.4} if said != "c0" else {"c0": 1.0}} if scores else {}
        values.append(b"broken" if at == 7 else json.dumps(event).encode())
    alerts = Alerts(how, monitor)
    return feed(monitor, values, 10_000), alerts


@pytest.mark.parametrize("scores", [False, True], ids=["labels", "scores"])
def test_the_small_view_of_rules_reads_the_same(scores: bool) -> None:
    """Value and reason of every rule are those of the view of the page."""
    rules = [rule for rule in RULES if scores or not rule.startswith(("log_loss", "roc_auc"))]
    monitor, alerts = monitor_of(3, 300, rules, scores)
    whole = monitor.view()
    alerts.see(whole)
    alerts.look()
    shown = monitor.view().alerts

    assert [(alert.rule, alert.note) for alert in shown] == [(alert.rule, alert.note) for alert in whole.alerts]
    for small, large in zip(shown, whole.alerts, strict=True):
        assert small.value == (large.value if large.value is None else pytest.approx(large.value)), small.rule
    assert sum(alert.value is None for alert in shown) < len(rules) / 3


def test_a_rule_about_a_rare_class_has_a_value() -> None:
    """A class beyond those that a page shows is evaluated all the same."""
    monitor, alerts = monitor_of(400, 3_000, ('support["c399"] < 1',))
    alerts.look()
    view = monitor.view()

    assert "c399" not in {row.label for row in view.by_window["total"].classes}
    assert view.alerts[0].value >= 1


GOOD = [pair(at, at % 2, at % 2) for at in range(400)]
JUNK: list[Any] = [b"no JSON", pair(1, 1, 1, weight=-1)]
WRONG = [pair(at, 1, "1") for at in range(5)]
REASONS = tuple(f"rejected_{reason} > 5" for reason in ("decode", "weight", "label", "other"))
DEFAULTS = ("rejected_share > 0.01", "mismatched_labels > 0")


@pytest.mark.quick
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
    for second in range(900, 3900):
        recent.note(second, 10_000, 5)
        recent.note(second + 0.5, 1, 0)
    assert recent.share(3900) == pytest.approx(5 / 10_001, rel=1e-3)


def test_defaults_fire_without_a_rule() -> None:
    """Over one rejected record of a hundred, and labels of two types, alert; each reason can have a rule of its own."""
    for events, settings, fired, shown in (
        (GOOD + JUNK, {}, [], []),
        (GOOD + 10 * JUNK, {}, [(DEFAULTS[0], "firing", 20 / 420)], [DEFAULTS[0]]),
        (GOOD + 10 * JUNK, {"defaults": False}, [], []),
        (GOOD, {"rules": [DEFAULTS[0]]}, [], [DEFAULTS[0]]),
        (GOOD + 10 * JUNK, {"rules": REASONS, "defaults": False}, [(r, "firing", 10) for r in REASONS[:2]], [*REASONS]),
        (WRONG, {}, [(DEFAULTS[1], "firing", 1)], [DEFAULTS[1]]),
        (GOOD, {}, [], []),
    ):
        how = config(counting={"windows": ["1h"]}, alerts={"log": False, **settings})
        monitor = started(how)
        alerts = Alerts(how, monitor)
        view = feed(monitor, events).view()
        assert [(each.rule, each.state, each.value) for each in alerts.see(view)] == fired
        assert [alert.rule for alert in view.alerts] == shown
        assert ("'1'" in view.by_window["1h"].mismatch) == (events is WRONG)
