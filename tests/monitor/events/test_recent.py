"""Rejected records are a share of the recent ones, an alert without being asked for, and values for rules."""

from __future__ import annotations

from typing import Any

import pytest
from support.monitor_runs import Alerts, config, feed, pair, started

from stream_metrics.monitor.events.recent import RecentRejects

GOOD = [pair(at, at % 2, at % 2) for at in range(400)]
BAD: list[Any] = [b"no JSON", pair(1, 1, 1, weight=-1)]
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
        (GOOD + BAD, {}, [], []),
        (GOOD + 10 * BAD, {}, [(DEFAULTS[0], "firing", 20 / 420)], [DEFAULTS[0]]),
        (GOOD + 10 * BAD, {"defaults": False}, [], []),
        (GOOD, {"rules": [DEFAULTS[0]]}, [], [DEFAULTS[0]]),
        (GOOD + 10 * BAD, {"rules": REASONS, "defaults": False}, [(r, "firing", 10) for r in REASONS[:2]], [*REASONS]),
        (WRONG, {}, [(DEFAULTS[1], "firing", 1)], [DEFAULTS[1]]),
        (GOOD, {}, [], []),
    ):
        how = config(counting={"windows": ["1h"]}, alerts={"log": False, **settings})
        monitor = started(how)
        alerts = Alerts(how, monitor, {})
        view = feed(monitor, events).view()
        assert [(each.rule, each.state, each.value) for each in alerts.see(view)] == fired
        assert [alert.rule for alert in view.alerts] == shown
        assert ("'1'" in view.by_window["1h"].mismatch) == (events is WRONG)
