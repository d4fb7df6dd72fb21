"""Alerts from ok to firing and back: how long, how far, what is unknown, and what a restart keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.alert_receiver import alerting, evaluated
from support.monitor_runs import START, Alerts, Clock, Monitor, crash, feed, pair

VALUES = st.lists(st.sampled_from([None, 1, 4, 6]), max_size=20)


def started(rule: str, path: object = None) -> tuple[Monitor, Alerts]:
    """Return a monitor with one rule that is told to nobody."""
    return alerting(path, log=False, rules=(rule,), defaults=False)


def seen(both: tuple[Monitor, Alerts], values: list[int | None], start: float = 0.0) -> str:
    """Return the state after each value of lag, one a second: o, p, f or u."""
    states = ""
    for at, value in enumerate(values):
        evaluated(*both, value, START + start + at)
        states += both[0].view().alerts[0].state[0]
    return states


STATES: list[tuple[str, list[int | None], str]] = [
    ("lag > 5", [1, 6, 6, 1], "offo"),
    ("lag > 5 for 2s", [6, 6, 6, 6], "ppff"),
    ("lag > 5 for 2s", [6, 6, 1, 6, 6, 6], "ppoppf"),
    ("lag > 5 for 2s", [6, 6, 6, 1, 1, 6, 1, 1, 1], "ppffffffo"),
    ("lag > 5 until < 3", [6, 4, 5, 3, 2, 4, 6], "ffffoof"),
    ("lag > 5 for 2s until < 3", [6, 6, 6, 4, 2], "ppffo"),
    ("lag > 5", [None, 6, None, 1, None], "uffou"),
    ("lag > 5 for 2s", [6, None, None, None, 6, 6, 6], "puuuppf"),
    ("lag > 5 for 2s", [6, 6, 6, 1, None, None, None, 1, 1, 1], "ppfffffffo"),
]


@pytest.mark.quick
def test_states() -> None:
    """Pending for as long as `for` says, firing until it is over, and an unknown value changes nothing."""
    assert [seen(started(rule), values) for rule, values, _ in STATES] == [states for *_, states in STATES]


@given(VALUES, VALUES, st.sampled_from(["", " until < 3"]))
def test_a_restart_neither_forgets_nor_tells_again(
    tmp_path_factory: pytest.TempPathFactory, before: list[int | None], after: list[int | None], until: str
) -> None:
    """One that starts a day later, with the value that it saw last, goes on as if it had never stopped.

    The time between does not count, and the state of a rule that is gone is forgotten.
    """
    rule, path = f"lag > 5 for 2s{until}", tmp_path_factory.mktemp("alerts") / "state"
    straight, first = started(rule), started(rule, path)
    assert seen(first, before) == (states := seen(straight, before))
    first[0].close()
    second = started(rule, path)
    resumed = seen(second, [*before[-1:], *after], start=86_400)
    second[0].close()

    assert resumed == states[-1:] + seen(straight, after, start=len(before))
    other = started("lag > 6", path)  # the state of a rule that is gone is forgotten
    alert = other[0].view().alerts[0]
    assert (alert.rule, alert.state, alert.since, alert.value) == ("lag > 6", "unknown", None, None)
    other[0].close()


def test_metrics_of_rules_are_in_the_view() -> None:
    """A rule on a metric that is no part of the page, and on groups, has its value."""
    rules = ("micro_jaccard < 0.9", "max_gap(recall, country) > 0.3")
    monitor, alerts = alerting(log=False, rules=rules)
    rows = [("a", "de"), ("b", "fr")] * 30 + [("a", "fr"), ("b", "fr")] * 15
    events = [pair(at, truth, "a", time=START, group=group) for at, (truth, group) in enumerate(rows)]
    view = feed(monitor, events).view()
    alerts.see(view)

    assert [(alert.state, alert.value) for alert in view.alerts] == [
        ("firing", pytest.approx(2 / 6)),
        ("firing", pytest.approx(0.5)),
    ]


CHANGED = "changed(accuracy) arl=50 reference=80"


def test_a_restart_neither_forgets_a_change_nor_tells_it_again(tmp_path: Path) -> None:
    """An alarm is sent once, over crashes before and after, and its end once its partition knows what is normal."""
    told, counts = list[Any](), list[tuple[int, str]]()

    def run(truths: str, *, look: bool = True) -> str | None:
        """Read pairs in a new process, which evaluates the rule at its start and at its end, and crashes."""
        monitor, alerts = alerting(tmp_path / "state", Clock(), log=False, rules=(CHANGED,), defaults=False)
        at = monitor.assign([0]).get(("t", 0), 0)
        told.extend(alerts.see(monitor.view()) if look else ())
        feed(monitor, [pair(k, truth, "a", time=START) for k, truth in enumerate(truths, at)], start=at)
        monitor.checkpoint()
        if look:
            told.extend(alerts.see(monitor.view()))
            monitor.checkpoint()
            counts.append((len(told), monitor.view().alerts[0].state))
        note = monitor.view().alerts[0].note
        crash(monitor)
        return note

    normal = ("a" * 9 + "b") * 10 + "a"
    first, *notes = run(normal[:50]), run(normal[50:]), run("b" * 10, look=False), run("b"), run(""), run("b" * 80)

    assert counts == [(0, "unknown"), (0, "ok"), (1, "firing"), (1, "firing"), (2, "ok")]
    assert first == "learning what is normal: 50 of 80 outcomes"
    assert str(notes[0]).startswith("evidence ")
    assert str(notes[2]).startswith("changed; learning what is normal now: ")
