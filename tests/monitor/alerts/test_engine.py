"""Alerts from ok to firing and back: how long, how far, what is unknown, and what a restart keeps."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_metrics.monitor.alerts.alerting import Alerts as Alerting
from stream_metrics.monitor.alerts.engine import Engine
from stream_metrics.monitor.alerts.outbox import MOST, Outbox
from stream_metrics.monitor.alerts.rule_reading import parse, rules_of
from stream_metrics.monitor.config import Alerts, Config, Counting, Serve
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.serve.prometheus import text
from stream_metrics.monitor.sources.memory import records
from stream_metrics.monitor.store import Store, StoreError
from stream_metrics.monitor.view.types import Alert, DetectorRow, DriftRow, Lag, View

NOW = 1_700_000_000.0


def made(text: str) -> Engine:
    """Return an engine of one rule."""
    return Engine([parse(text)], "model")


def seen(engine: Engine, values: list[float | None], step: float = 1.0, start: float = 0.0) -> str:
    """Return the state after each value of lag, one a step: o, p, f or u."""
    states = ""
    for at, value in enumerate(values):
        engine.evaluate(View(lag=Lag(value)), NOW + start + at * step)
        states += engine.shown()[0].state[0]
    return states


@pytest.mark.parametrize(
    ("rule", "values", "states"),
    [
        ("lag > 5", [1, 6, 6, 1], "offo"),
        ("lag > 5 for 2s", [6, 6, 6, 6], "ppff"),
        ("lag > 5 for 2s", [6, 6, 1, 6, 6, 6], "ppoppf"),
        ("lag > 5 for 2s", [6, 6, 6, 1, 1, 6, 1, 1, 1], "ppffffffo"),
        ("lag > 5 until < 3", [6, 4, 5, 3, 2, 4, 6], "ffffoof"),
        ("lag > 5 for 2s until < 3", [6, 6, 6, 4, 2], "ppffo"),
        ("lag > 5", [None, 6, None, 1, None], "uffou"),
        ("lag > 5 for 2s", [6, None, None, None, 6, 6, 6], "puuuppf"),
        ("lag > 5 for 2s", [6, 6, 6, 1, None, None, None, 1, 1, 1], "ppfffffffo"),
    ],
)
def test_states(rule, values, states) -> None:
    """Pending for as long as `for` says, firing until it is over, and an unknown value changes nothing."""
    assert seen(made(rule), values) == states


def test_changes_say_what_and_since_when() -> None:
    """Only the start and the end of firing are sent; the id of each does not depend on the worker."""
    engine, again = made("lag > 5 for 2s"), made("lag > 5 for 2s")
    views = [View(lag=Lag(value)) for value in (6, 7, 8, 1, 1, 1)]

    changes = [change for at, view in enumerate(views) for change in engine.evaluate(view, NOW + at)]

    assert [change[1:] for change in changes] == [
        ("model", "lag > 5 for 2s", "firing", NOW + 2, NOW + 2, 8),
        ("model", "lag > 5 for 2s", "ok", NOW + 5, NOW + 2, 1),
    ]
    assert changes == [change for at, view in enumerate(views) for change in again.evaluate(view, NOW + at)]
    assert changes[0].id != changes[1].id


@given(st.lists(st.sampled_from([None, 1, 4, 6]), max_size=20), st.integers(0, 20), st.sampled_from(["", " until < 3"]))
def test_a_restart_neither_forgets_nor_tells_again(values, at, until) -> None:
    """Without time between, an engine that is restored anywhere goes on as if it had never stopped."""
    rule = f"lag > 5 for 2s{until}"
    whole, first, second = made(rule), made(rule), made(rule)
    states = seen(whole, values)

    before = seen(first, values[:at])
    second.restore(first.state())
    second._last = NOW + at - 1  # time goes on from where the first engine stopped, as without a stop
    second._alerts[rule].counting = first._alerts[rule].counting

    assert before + seen(second, values[at:], start=at) == states


def test_time_without_a_look_does_not_count() -> None:
    """A pending alert that is restored a day later has been pending for as long as it was seen to be."""
    engine, later = made("lag > 5 for 2s"), made("lag > 5 for 2s")
    assert seen(engine, [6, 6]) == "pp"

    later.restore(engine.state())

    assert seen(later, [6, 6, 6], start=86400) == "pff"


def test_other_rules_and_other_data_are_refused() -> None:
    """The state of a rule that is gone is forgotten, and what is no state is refused."""
    engine = made("lag > 5")
    engine.restore({"lag > 6": ("firing", NOW, 0.0)})
    assert engine.shown() == [Alert("lag > 5", "unknown", None, None)]

    for data in ({"lag > 5": ("wild", NOW, 0.0)}, {"lag > 5": 3}, 7):
        with pytest.raises(ValueError, match="Expected alerts as"):
            engine.restore(data)


class Kept:
    """A sink that stores what it gets, unless it is broken."""

    def __init__(self) -> None:
        self.outbox, self.told, self.broken = Outbox("kept"), list[str](), False

    def start(self) -> None:
        self.tell()

    def tell(self) -> None:
        while not self.broken and (change := self.outbox.first()) is not None:
            self.told.append(f"{change.state} {change.id}")
            self.outbox.delivered(change)

    def close(self) -> None:
        pass


def alerting(path: Path, sink: Kept, rule: str = "rejected > 0") -> tuple[Monitor, Alerting]:
    """Start a monitor with a rule, by default one that is broken once anything was rejected."""
    config = Config(counting=Counting(windows=("1h",)), alerts=Alerts(rules=(rule,)))
    monitor = Monitor(config, Store(str(path)), lambda: NOW)
    alerts = Alerting(config, monitor, {"kept": sink})
    monitor.assign([0])
    alerts.start()
    return monitor, alerts


def crash(monitor: Monitor) -> None:
    """End a monitor without a last checkpoint."""
    assert monitor.store is not None
    monitor.store.close()


def bad(monitor: Monitor) -> None:
    """Have a monitor reject a record and count one."""
    good = {"id": 1, "time": NOW, "truth": "a", "prediction": "a"}
    monitor.step(records([good, {"id": 2, "time": NOW}]))


def test_an_alert_is_told_once_over_restarts(tmp_path) -> None:
    """An alert that was sent before a crash is neither sent nor evaluated again; it continues to fire."""
    first, second = Kept(), Kept()
    monitor, alerts = alerting(tmp_path / "state", first)
    bad(monitor)

    assert len(alerts.see(monitor.view())) == 1
    assert first.told == []  # not before a checkpoint has it
    alerts.settle()
    monitor.checkpoint()
    crash(monitor)
    monitor, alerts = alerting(tmp_path / "state", second)

    assert alerts.see(monitor.view()) == []
    assert (len(first.told), second.told) == (1, [])
    assert [(alert.state, alert.since) for alert in monitor.view().alerts] == [("firing", NOW)]
    crash(monitor)


def test_what_did_not_arrive_is_in_every_view(tmp_path) -> None:
    """An alert that a sink could not deliver is shown, exported and a value of rules, also after a restart."""
    sink = Kept()
    sink.broken = True
    monitor, alerts = alerting(tmp_path / "state", sink)
    bad(monitor)
    (change,) = alerts.see(monitor.view())
    alerts.settle()
    assert monitor.view().undelivered == []
    sink.outbox.failed(change, "status 404", lambda tries: 1.0, 60.0)
    alerts.see(monitor.view())
    monitor.checkpoint()
    crash(monitor)
    monitor, alerts = alerting(tmp_path / "state", Kept())
    view = monitor.view()

    assert [(each.sink, each.tries, each.problem) for each in view.undelivered] == [("kept", 1, "status 404")]
    assert 'stream_metrics_alerts_undelivered{model="model"} 1.0\n' in text(view, Serve())
    assert rules_of(["alerts_undelivered > 0"], Counting())[0].read(view) == 1
    crash(monitor)


def test_a_crash_around_the_delivery_tells_it_again_with_its_id(tmp_path) -> None:
    """Before the delivery the next process sends the alert; after it, again, under the id that it had."""
    sinks = [Kept(), Kept(), Kept()]
    sinks[0].broken = True
    for sink in sinks:
        monitor, alerts = alerting(tmp_path / "state", sink)
        if sink is sinks[0]:
            bad(monitor)
            alerts.see(monitor.view())
            alerts.settle()
        crash(monitor)

    assert sinks[0].told == []
    assert sinks[1].told == sinks[2].told != []


def test_alerts_do_not_wait_for_a_disk_that_fails(tmp_path, monkeypatch) -> None:
    """If the checkpoint fails they are sent nevertheless, and the view says what is wrong."""
    sink = Kept()
    monitor, alerts = alerting(tmp_path / "state", sink)
    bad(monitor)
    alerts.see(monitor.view())
    monkeypatch.setattr(monitor, "checkpoint", lambda: (_ for _ in ()).throw(StoreError("disk full")))

    alerts.settle()

    assert len(sink.told) == 1
    assert monitor.last_error == "disk full"
    crash(monitor)


def test_metrics_of_rules_are_in_the_view(tmp_path) -> None:
    """A rule on a metric that is no part of the page, and on groups, has its value."""
    rules = ("micro_jaccard < 0.9", "max_gap(recall, country) > 0.3")
    config = Config(alerts=Alerts(rules=rules))
    monitor = Monitor(config, clock=lambda: NOW)
    alerts = Alerting(config, monitor, {})
    monitor.assign([0])
    events: list[dict[str, Any]] = [
        {"id": at, "time": NOW, "truth": truth, "prediction": "a", "group": group}
        for at, (truth, group) in enumerate([("a", "de"), ("b", "fr")] * 30 + [("a", "fr"), ("b", "fr")] * 15)
    ]
    monitor.step(records(events))

    view = monitor.view()
    alerts.see(view)

    assert [(alert.state, alert.value) for alert in view.alerts] == [
        ("firing", pytest.approx(2 / 6)),
        ("firing", pytest.approx(0.5)),
    ]


def test_an_outbox_is_bounded(caplog) -> None:
    """If no sink accepts alerts, the oldest are dropped, and the log says so."""
    engine, outbox = made("lag > 5"), Outbox("nobody")
    for at in range(MOST + 2):
        outbox.add(engine.evaluate(View(lag=Lag(6 * (at % 2 == 0))), NOW + at))
        outbox.release(outbox.mark())

    first = outbox.first()

    assert len(outbox) == MOST
    assert first is not None
    assert first.at == NOW + 2
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 2


CHANGED = "changed(accuracy) arl=50 reference=20"


def changed(engine: Engine, *partitions: tuple[int, int, int, bool]) -> str:
    """Return the state after a look at partitions: number, alarms, alarms before it was loaded, whether one holds."""
    rows = [DetectorRow(number, 0, 0, None, *row) for number, *row in partitions]
    alarms, holds = sum(row.alarms for row in rows), any(row.holds for row in rows)
    shown = DriftRow(CHANGED, 50, 3.5, alarms, holds, "a note", rows)
    engine.evaluate(View(changes=[shown] if rows else []), NOW)
    return str(engine.shown()[0].state)[0]


def test_changes_fire_with_every_alarm_and_hold() -> None:
    """An alarm that is over by the time of the look is sent; an earlier one is not, unless it holds."""
    engine = made(CHANGED)

    assert [changed(engine, (0, alarms, 0, holds)) for alarms, holds in ((0, 0), (1, 1), (1, 0), (2, 0), (2, 0))] == [
        *"ofofo"
    ]
    assert changed(engine, (0, 2, 0, False), (1, 4, 4, False)) == "o"  # came from elsewhere, long over
    assert changed(engine, (0, 2, 0, False), (1, 4, 4, False), (2, 1, 1, True)) == "f"
    assert engine.shown()[0].value == 50.0
    assert changed(engine) == "f"  # no partition is at hand
    assert changed(engine, (0, 2, 0, False)) == "o"
    assert changed(engine, (0, 2, 0, False), (1, 5, 5, False)) == "o"  # its alarm was told where it was


def test_a_restart_neither_forgets_a_change_nor_tells_it_again(tmp_path) -> None:
    """An alarm is sent once, over crashes before and after, and its end once its partition knows what is normal."""
    sink, told = Kept(), []

    def run(truths: str, *, look: bool = True) -> None:
        monitor, alerts = alerting(tmp_path / "state", sink, CHANGED.replace("20", "80"))
        at = monitor.assign([0]).get(("memory", 0), 0)
        found = [{"id": k, "time": NOW, "prediction": "a", "truth": truth} for k, truth in enumerate(truths, at)]
        if look:
            alerts.see(monitor.view())  # as at every start
        monitor.step(records(found, start=at))
        monitor.checkpoint()
        if look:
            alerts.see(monitor.view())
            alerts.settle()
            monitor.checkpoint()
            told.append((len(sink.told), alerts.engine.shown()[0]))
        crash(monitor)

    run(("a" * 9 + "b") * 10 + "a")
    run("b" * 10, look=False)
    run("b")
    run("")
    run("b" * 80)

    assert [(number, alert.state) for number, alert in told] == [(0, "ok"), (1, "firing"), (1, "firing"), (2, "ok")]
    assert str(told[0][1].note).startswith("evidence ")
    assert str(told[1][1].note).startswith("changed; learning what is normal now: ")
