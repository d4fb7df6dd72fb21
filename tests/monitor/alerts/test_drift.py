"""Detectors of a rate in a monitored stream: a change is found once, whatever the batches, restarts and partitions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.monitor_runs import START, Config, Monitor, config, crash, exported, feed, pair, started

import stream_metrics as sm

RECALL, ACCURACY = 'changed(recall["cat"]) arl=1000 reference=100', "changed(accuracy) arl=1000 reference=150"
FLIP = {"cat": "dog", "dog": "cat"}


def ruled(*rules: str, **counting: Any) -> Config:
    """Return a configuration with rules."""
    return config(counting={"windows": [], **counting}, alerts={"rules": rules})


CHANGING = ruled(RECALL, ACCURACY)


def drifting(n: int, at: int, seed: int = 0, wrong: float = 0.6) -> list[dict[str, Any]]:
    """Return events, labels up to a minute after their predictions, of a model that gets worse from prediction `at`."""
    chance, events = random.Random(seed), []
    for key in range(n):
        time, truth = START + key, "cat" if chance.random() < 0.5 else "dog"
        well = chance.random() < (0.97 if key < at else wrong)
        events.append({"id": key, "time": time, "prediction": truth if well else FLIP[truth]})
        events.append({"id": key, "time": time + chance.random() * 60, "truth": truth})
    return sorted(events, key=lambda event: event["time"])


def outcomes(events: Sequence[dict[str, Any]], label: str | None = None) -> list[float]:
    """Return the errors in the order of the labels, of one class if it is given."""
    said = {event["id"]: event["prediction"] for event in events if "prediction" in event}
    labels = [(event["truth"], said[event["id"]]) for event in events if "truth" in event]
    return [float(truth != guess) for truth, guess in labels if label in (None, truth)]


def rows_of(monitor: Monitor) -> list[Any]:
    """Return what is shown of changes, but for the alarms that were there when they were loaded."""
    shown = monitor.view().changes
    for rule in shown:
        for row in rule.partitions:
            row.before = 0
    return shown


@pytest.mark.parametrize("at_once", [1, 97, 100_000])
def test_any_batches_give_the_same_alarm(at_once: int) -> None:
    """What the detectors saw is the order of the stream: that of a detector which is fed by hand."""
    events = drifting(700, 450)
    shown = rows_of(feed(started(CHANGING), events, at_once))

    for row, label, reference in zip(shown, ("cat", None), (100, 150), strict=True):
        detector = sm.ChangeDetector(reference=reference, arl=1000)
        detector.update_many(outcomes(events, label))
        (part,) = row.partitions
        assert (part.outcomes, part.alarms, part.since) == (detector.n, 1, detector.n - detector.changes[0])
        assert part.evidence == (None if detector.learning else detector.evidence)
        assert 0.6 < detector.changes[0] / detector.n < 0.85


def test_kills_restarts_and_rules_that_come_and_go(tmp_path: Path) -> None:
    """Killed again and again, a monitor ends as one that ran through; a new rule begins where the stream is."""
    events, chance, at, rows = drifting(700, 450), random.Random(1), 0, list[Any]()
    while at < len(events):
        monitor = started(CHANGING, tmp_path / "state")
        at = monitor.assign([0]).get(("t", 0), 0)
        until = at + chance.randrange(1, 200)
        feed(monitor, events[at:until], start=at).checkpoint()
        feed(monitor, events[until : until + 100], start=until)
        at, rows = until + 100, rows_of(monitor)
        crash(monitor)
    assert rows == rows_of(feed(started(CHANGING), events))
    assert [row.alarms for row in rows] == [1, 1]

    events, seen, at = drifting(400, 400), [], 0
    for rules in ((ACCURACY,), (RECALL, ACCURACY), (), (RECALL,)):
        monitor = feed(started(ruled(*rules), tmp_path / "other"), events[at : at + 200], start=at)
        assert [row.rule for row in monitor.view().changes] == [*rules]
        seen.append([row.partitions[0].outcomes for row in monitor.view().changes])
        monitor.close()
        at += 200
    parts = [sum("truth" in event for event in events[:end]) for end in (200, 400)]
    cats = [sum(event.get("truth") == "cat" for event in events[at : at + 200]) for at in (200, 600)]
    assert seen == [[parts[0]], [cats[0], parts[1]], [], [cats[1]]]


def test_each_partition_has_its_own_level_and_alarm() -> None:
    """Of two partitions with levels of their own, the one that gets worse is named; the other watches on."""
    how, both = ruled(ACCURACY), (drifting(500, 380, seed=3), drifting(500, 0, seed=4))
    monitor = started(how, parts=(0, 1))
    for at in range(1000):
        for part, events in enumerate(both):
            feed(monitor, events[at : at + 1], start=at, partition=part)

    (row,) = rows_of(monitor)
    first, second = row.partitions
    assert f'stream_metrics_change_evidence{{rule="{ACCURACY}"}} ' in exported(monitor)
    assert (row.alarms, row.holds, first.alarms, second.alarms) == (1, True, 1, 0)
    assert row.note.startswith("changed in partition 0; learning what is normal now: ")
    assert row.evidence == second.evidence < 1000
    for part, events in zip(row.partitions, both, strict=True):
        (alone,) = rows_of(feed(started(how), events))[0].partitions
        assert (part.outcomes, part.evidence, part.alarms) == (alone.outcomes, alone.evidence, alone.alarms)


def test_a_correction_takes_nothing_back_and_adds_nothing() -> None:
    """Evidence comes from the first label, at the time it arrived; without rules nothing is shown."""
    asked = [pair(at, "a", "a", time=START) for at in range(20)]
    corrected = [{"id": at, "time": START + 1, "truth": "b"} for at in range(10)]
    monitor, without = (feed(started(ruled(ACCURACY)), events) for events in ([*asked, *corrected], asked))
    plain = feed(started(ruled()), [*asked, *corrected])

    assert monitor.view().join.corrections == 10
    assert rows_of(monitor) == rows_of(without)
    assert plain.view().changes == []
    assert plain.counts().parts() == monitor.counts().parts()


RATES = {  # the places of errors among the outcomes of a rate, and the number of these
    "accuracy": ((2, 3), 5),
    'recall["cat"]': ((2,), 3),
    'precision["cat"]': ((2,), 3),
    'specificity["cat"]': ((0,), 2),
    'npv["cat"]': ((0,), 2),
}


def test_rates_have_their_own_outcomes() -> None:
    """An abstention is no outcome, of the rate of a class only some pairs are, and each error raises the evidence."""
    said = [("cat", "cat"), ("cat", "cat"), ("cat", "dog"), ("dog", "cat"), ("dog", "dog"), ("cat", None)]
    rules = [f"changed({rate}) arl=50 p0=0.2" for rate in RATES]
    shown = rows_of(feed(started(ruled(*rules)), [pair(at, *each) for at, each in enumerate(said)]))
    for row, (rate, (places, n)) in zip(shown, RATES.items(), strict=True):
        detector = sm.ChangeDetector(0.2, arl=50)
        detector.update_many([float(at in places) for at in range(n)])
        assert (row.partitions[0].outcomes, row.evidence) == (n, detector.evidence), rate


def test_a_class_is_named_as_it_is_shown() -> None:
    """The text of a rule stands for the text, and for the label that is shown so."""
    for text, labels, others in (
        ("cat", ["cat"], ["Cat"]),
        ("1", ["1", 1, 1.0, True], [2, "01"]),
        ("int(1)", [1, True], ["1"]),
        ("[1]", ["[1]"], [1]),
        ("(" * 300, ["(" * 300], []),
    ):
        events = [pair(at, label, "other") for at, label in enumerate([*labels, *others])]
        monitor = feed(started(ruled(f'changed(recall["{text}"]) arl=50 p0=0.2')), events)
        assert monitor.view().changes[0].partitions[0].outcomes == len(labels), text


def test_only_what_is_counted_is_an_outcome() -> None:
    """Rows of several kinds keep their order, labels may come from scores, and what is refused is no outcome."""
    chance, events, losses = random.Random(2), list[Any](), list[float]()
    for at in range(300):
        truth, said = chance.choice("ab"), chance.choice(["a", "b", None])
        event = pair(at, truth, said, **({"scores": {"a": 0.75, "b": 0.25}} if chance.random() < 0.5 else {}))
        if at % 10 == 3:
            event |= {"scores": 0.5}  # of no class that is known
        elif said is not None or "scores" in event:
            losses.append(float(truth != (said or "a")))
        events.append(event)
    rule = "changed(accuracy) arl=1000000 reference=40 direction=both"
    monitor = feed(started(ruled(rule, scores=True)), events)
    detector = sm.ChangeDetector(reference=40, arl=1_000_000, direction="both")
    detector.update_many(losses)

    assert sum(monitor.view().records.rejected.values()) == 30
    (row,) = monitor.view().changes
    assert (row.partitions[0].outcomes, row.evidence) == (detector.n, detector.evidence)


def test_a_level_that_is_given_may_be_left_both_ways() -> None:
    """With `p0` watching begins at once and goes on after an alarm, which holds for 1000 outcomes more."""
    fall, rise = [("a", "b")] * 30, [("a", "a")] * 1100
    for direction, said, alarms in (("worse", fall, 1), ("better", fall, 0), ("better", rise, 1), ("both", fall, 1)):
        monitor = started(ruled(f"changed(accuracy) p0=0.2 arl=1000 direction={direction}"))
        feed(monitor, [pair(at, *each, time=START) for at, each in enumerate(said)])
        (row,) = monitor.view().changes
        assert min(row.alarms, 1) == alarms
        assert row.evidence is not None
        if direction == "worse":
            assert row.note.startswith("changed; ")
            feed(monitor, [pair(at, "a", "a", time=START) for at in range(30, 1030)], start=30)
            assert monitor.view().changes[0].note == "evidence 11 of 1 000"
