"""The detectors of one partition: outcomes, labels of classes, false alarms, given levels."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from stream_metrics.errors import DecodeError
from stream_metrics.labels.json_names import labels_shown_as
from stream_metrics.monitor.alerts.drift import DriftDetectors, changes_view
from stream_metrics.monitor.alerts.rule_reading import parse
from stream_metrics.monitor.alerts.rules import Changed
from stream_metrics.monitor.config import Counting
from stream_metrics.monitor.counts.batches import Rows
from stream_metrics.monitor.counts.counting import Counts
from stream_metrics.monitor.counts.pairs import Pair
from stream_metrics.monitor.events.records import MISSING
from stream_metrics.states.detector import ChangeDetector

START = 1_700_000_000.0


def watched(text: str) -> Changed:
    """Return a rule about changes."""
    rule = parse(text)
    assert isinstance(rule, Changed)
    return rule


def feed(changes: DriftDetectors, pairs: Sequence[tuple[Any, Any]]) -> None:
    """Feed pairs of truth and prediction."""
    assert changes.watch is not None
    truths, labels = zip(*pairs, strict=True)
    changes.watch([Rows(range(len(pairs)), list(truths), list(labels), None)], ())


@pytest.mark.parametrize(
    ("rate", "errors", "n"),
    [
        ("accuracy", 2, 5),
        ('recall["cat"]', 1, 3),
        ('precision["cat"]', 1, 3),
        ('specificity["cat"]', 1, 2),
        ('npv["cat"]', 1, 2),
    ],
)
def test_rates_have_their_own_outcomes(rate, errors, n) -> None:
    """An abstention is no outcome, and of the rate of a class only some pairs are."""
    changes = DriftDetectors([watched(f"changed({rate}) arl=50 reference=100")])

    feed(changes, [("cat", "cat"), ("cat", "cat"), ("cat", "dog"), ("dog", "cat")])
    feed(changes, [("dog", "dog"), ("cat", None)])

    (watch,) = changes._watches.values()
    assert (watch.detector.n, watch.detector._numbers()[7]) == (n, errors)


@pytest.mark.parametrize(
    ("text", "labels", "others"),
    [
        ("cat", ["cat"], ["Cat"]),
        ("1", ["1", 1, 1.0, True], [2, "01"]),
        ("int(1)", [1, True], ["1", "int(1)"]),
        ("(1, 'a')", [(1, "a"), "(1, 'a')"], ["a"]),
        ("b'x'", [b"x", "b'x'"], ["x"]),
        ("[1]", ["[1]"], [1]),
        ("(" * 400, ["(" * 400], []),
    ],
)
def test_a_class_is_named_as_it_is_shown(text, labels, others) -> None:
    """The text of a rule stands for the text, and for the label that is shown so."""
    meant = labels_shown_as(text)

    assert all(label in meant for label in labels)
    assert not any(label in meant for label in others)


def test_only_what_is_counted_is_an_outcome() -> None:
    """Rows of several kinds keep their order, labels may come from scores, and what is refused is no outcome."""
    chance, soft, pairs, losses = random.Random(2), {"a": 0.75, "b": 0.25}, list[Pair](), list[float]()
    for at in range(300):
        truth, said, scores = chance.choice("ab"), chance.choice(["a", "b", None]), chance.choice([soft, MISSING])
        if at % 10 == 3:
            said = "other"
        elif said is not None or scores is soft:
            losses.append(float(truth != (said or "a")))
        pairs.append(Pair(truth, said, scores, 1 + at % 2, None, START, START, ("t", 0, at)))
    counts = Counts(Counting(scores=True, windows=(), labels=("a", "b")))
    changes = DriftDetectors([watched("changed(accuracy) arl=1000000 reference=40 direction=both")])
    counts.watch = changes.watch

    refused = counts.add(pairs)

    (watch,), alone = changes._watches.values(), ChangeDetector(reference=40, arl=1_000_000, direction="both")
    alone.update_many(losses)
    assert len(refused) == 30
    assert watch.detector.to_bytes() == alone.to_bytes()


def test_false_alarms_are_no_more_frequent_over_partitions() -> None:
    """Without a change the mean number of outcomes of four partitions to the first alarm is above `arl`."""
    rule, chance, lengths = watched("changed(accuracy) arl=100 p0=0.1"), random.Random(0), []
    for _ in range(100):
        four, n = [DriftDetectors([rule]) for _ in range(4)], 0
        while not any(row.alarms for row in changes_view(enumerate(four))):
            for changes in four:
                feed(changes, [("a", "a" if chance.random() < 0.9 else "b")])
            n += 4
        lengths.append(n)

    assert 100 < sum(lengths) / len(lengths) < 1000


def test_a_level_that_is_given_is_kept_and_may_be_left_both_ways() -> None:
    """With `p0` watching begins at once and goes on after an alarm, which holds for 1000 outcomes more."""
    fall, rise = [("a", "b")] * 30, [("a", "a")] * 1100
    for direction, pairs, alarms in (("worse", fall, 1), ("better", fall, 0), ("better", rise, 1), ("both", fall, 1)):
        changes = DriftDetectors([watched(f"changed(accuracy) p0=0.2 arl=1000 direction={direction}")])

        feed(changes, pairs)

        (row,) = changes_view([(7, changes)])
        assert min(row.alarms, 1) == alarms
        assert row.evidence is not None
        if direction == "worse":
            assert row.note.startswith("changed; ")
            feed(changes, [("a", "a")] * 1000)
            assert changes_view([(7, changes)])[0].note == "evidence 11 of 1 000"


def test_a_detector_that_is_damaged_is_refused() -> None:
    """Bytes of a detector are checked as all others are."""
    changes = DriftDetectors([watched("changed(accuracy) arl=1000")])
    ((text, data),) = changes.content()[0]

    with pytest.raises(DecodeError, match="the checksum"):
        changes.load([(text, data[:-3] + b"abc")])
