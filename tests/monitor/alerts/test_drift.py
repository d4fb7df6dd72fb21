"""DriftDetectors of a rate in a monitored stream: found once, regardless of the batches, restarts and partitions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from support.monitor_events import CONFIG, NOW, START, events, offline, records
from support.prometheus_text import unlabelled

from stream_metrics.monitor.alerts.alerting import Alerts as Alerting
from stream_metrics.monitor.config import Alerts, Config, Counting, Serve
from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.serve.prometheus import text
from stream_metrics.monitor.store import Store
from stream_metrics.monitor.store.backups import restore
from stream_metrics.monitor.view.summary import summary
from stream_metrics.report.layout import number
from stream_metrics.states.detector import ChangeDetector

RECALL, ACCURACY = 'changed(recall["cat"]) arl=1000 reference=100', "changed(accuracy) arl=1000 reference=150"


def config_of(*rules: str, like: Config = CONFIG) -> Config:
    """Return the usual configuration with rules."""
    return structs.replace(like, alerts=Alerts(rules=rules))


CHANGING = config_of(RECALL, ACCURACY, like=Config(counting=Counting(windows=("1h",))))


def drifting(n: int, at: int, seed: int = 0, right: float = 0.97, wrong: float = 0.6) -> list[dict[str, Any]]:
    """Return events, labels up to a minute after their predictions, of a model that gets worse from prediction `at`."""
    chance, found = random.Random(seed), []
    for key in range(n):
        time, truth = START + key, "cat" if chance.random() < 0.5 else "dog"
        well = chance.random() < (right if key < at else wrong)
        said = truth if well else {"cat": "dog", "dog": "cat"}[truth]
        found.append({"id": key, "time": time, "prediction": said})
        found.append({"id": key, "time": time + chance.random() * 60, "truth": truth})
    return sorted(found, key=lambda event: event["time"])


def outcomes(found: Sequence[dict[str, Any]], label: str | None = None) -> list[float]:
    """Return the errors in the order of the labels, of one class if it is given."""
    said = {event["id"]: event["prediction"] for event in found if "prediction" in event}
    labels = [(event["truth"], said[event["id"]]) for event in found if "truth" in event]
    return [float(truth != guess) for truth, guess in labels if label in (None, truth)]


def state(monitor: Monitor, partition: int = 0) -> tuple[Any, Any]:
    """Return the bytes of detectors, and what is shown of changes but for what was before they were loaded."""
    shown = monitor.view().changes
    for rule in shown:
        for row in rule.partitions:
            row.before = 0
    return monitor._partitions[partition].changes.content(), shown


def started(config: Config, path: Path) -> Monitor:
    """Return a monitor that goes on where the store was left."""
    monitor = Monitor(config, Store(str(path)), lambda: NOW)
    monitor.assign([0])
    return monitor


@pytest.mark.parametrize("at_once", [1, 97, 100_000])
def test_any_batches_give_the_same_bytes_and_the_same_alarm(at_once) -> None:
    """What the detectors saw is the order of the stream: that of a detector which is fed by hand."""
    found = drifting(700, 450)
    stream = records(found)

    monitor, other = offline(stream, CHANGING, at_once), offline(stream, CHANGING)

    content, shown = state(monitor)
    assert (content, shown) == state(other)
    assert monitor._partitions[0].state() == other._partitions[0].state()
    for row, label, reference in zip(shown, ("cat", None), (100, 150), strict=True):
        detector = ChangeDetector(reference=reference, arl=1000)
        detector.update_many(outcomes(found, label))
        assert dict(content[0])[row.rule] == detector.to_bytes()
        assert detector.alarms == row.alarms == 1
        assert 0.6 < detector.changes[0] / detector.n < 0.85


def test_a_kill_neither_loses_nor_repeats_an_outcome(tmp_path: Path) -> None:
    """Killed between checkpoints, again and again, a monitor ends with the bytes of one that ran through."""
    stream, chance, at = records(drifting(700, 450)), random.Random(1), 0
    while at < len(stream):
        monitor = started(CHANGING, tmp_path / "state")
        at = monitor.assign([0]).get(("t", 0), 0)
        kept = at + chance.randrange(1, 200)
        monitor.step(stream[at:kept])
        monitor.checkpoint()
        monitor.step(stream[kept : kept + 100])
        at = kept + 100
        found = state(monitor)
        assert monitor.store is not None
        monitor.store.close()

    assert found == state(offline(stream, CHANGING))
    assert [row.alarms for row in found[1]] == [1, 1]


def test_each_partition_has_its_own_level_and_alarm() -> None:
    """Of two partitions with levels of their own, the one that gets worse is named; the other watches on."""
    config = config_of(ACCURACY, like=CHANGING)
    worse = records(drifting(500, 380, seed=3), partition=0)
    steady = records(drifting(500, 0, seed=4, wrong=0.6), partition=1)

    monitor = offline([record for pair in zip(worse, steady, strict=True) for record in pair], config)

    (row,) = monitor.view().changes
    first, second = row.partitions
    assert (row.alarms, row.holds, first.alarms, second.alarms) == (1, True, 1, 0)
    assert row.note.startswith("changed in partition 0; learning what is normal now: ")
    assert row.evidence == second.evidence < 1000
    assert [state(monitor, at)[0] for at in (0, 1)] == [
        state(offline(each, config), at)[0] for at, each in enumerate((worse, steady))
    ]


def test_a_correction_takes_nothing_back_and_adds_nothing() -> None:
    """Evidence comes from the first label, at the time it arrived."""
    asked = [{"id": at, "time": START, "prediction": "a", "truth": "a"} for at in range(20)]
    corrected = [{"id": at, "time": START + 1, "truth": "b"} for at in range(10)]
    config = config_of(ACCURACY, like=Config(counting=Counting(windows=())))

    monitor, without = offline(records([*asked, *corrected]), config), offline(records(asked), config)

    assert monitor.stats().corrections == 10
    assert monitor.view().by_window["total"].metrics["accuracy"] == 0.5
    assert state(monitor) == state(without)


def test_rules_come_and_go(tmp_path: Path) -> None:
    """The detector of a new rule begins where the stream is; that of a rule that is gone is forgotten."""
    stream, seen = records(drifting(400, 400)), []
    for rules, end in (((ACCURACY,), 200), ((RECALL, ACCURACY), 400), ((), 600), ((RECALL,), 800)):
        monitor = started(config_of(*rules, like=CHANGING), tmp_path / "state")
        at = monitor.assign([0]).get(("t", 0), 0)
        monitor.step(stream[at:end])
        rows = monitor.view().changes
        monitor.close()
        assert [row.rule for row in rows] == [*rules]
        seen.append(monitor_outcomes(rows))

    labels = [sum(b"truth" in (record.value or b"") for record in stream[:end]) for end in (200, 400)]
    parts = stream[200:400], stream[600:800]
    cats = [sum(b'"truth": "cat"' in (record.value or b"") for record in part) for part in parts]
    assert seen == [[labels[0]], [cats[0], labels[1]], [], [cats[1]]]


def monitor_outcomes(rows: list[dict[str, Any]]) -> list[int]:
    """Return how many outcomes each rule has seen."""
    return [row.partitions[0].outcomes for row in rows]


def test_without_rules_nothing_is_kept() -> None:
    """No detector is called, the bytes of a partition have nothing of them, and the view says that there are none."""
    stream = records(events(200))

    without, with_rule = offline(stream), offline(stream, config_of(ACCURACY))

    assert without._partitions[0].counts.watch is None
    assert without._partitions[0].changes.content() == []
    assert without.view().changes == []
    assert len(without._partitions[0].state()) < len(with_rule._partitions[0].state())
    assert without.counts().to_bytes() == with_rule.counts().to_bytes()


def test_an_export_has_the_detectors(tmp_path: Path) -> None:
    """A state file that is restored from an export goes on watching."""
    store = structs.replace(CHANGING.store, export=str(tmp_path / "export"))
    config = structs.replace(CHANGING, store=store)
    stream: list[Record] = records(drifting(300, 300))
    monitor = started(config, tmp_path / "state")
    monitor.step(stream)
    before = monitor_outcomes(monitor.view().changes)
    monitor.close()

    restore(str(tmp_path / "state"), str(tmp_path / "export"))
    monitor = started(config, tmp_path / "state")

    assert monitor_outcomes(monitor.view().changes) == before
    monitor.close()


def test_the_evidence_is_shown() -> None:
    """Page, report, terminal and Prometheus say how a rule about changes stands."""
    config = config_of(ACCURACY, like=CHANGING)
    monitor = offline(records(drifting(100, 100)), config)
    alerts = Alerting(config, monitor, {})
    views = [monitor.view() for _ in range(2)]
    monitor.step(records(drifting(700, 450))[200:])
    views.append(monitor.view())
    for view in views:
        alerts.see(view)

    early, late = views[0], views[-1]
    evidence = late.changes[0].evidence
    assert early.alerts[0].note == "learning what is normal: 100 of 150 outcomes"
    assert f"({early.alerts[0].note})" in summary(early, 200)
    assert f"evidence {number(round(evidence))} of 1 000" == late.alerts[0].note
    assert f'stream_metrics_change_evidence{{rule="{ACCURACY}"}} ' in unlabelled(text(late, Serve()))
    assert "stream_metrics_change_evidence" not in text(offline(records(events(20))).view(), Serve())
