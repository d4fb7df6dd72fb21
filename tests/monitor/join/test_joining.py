"""The join of predictions and labels: equal to a plain Python join of one event after another, for any batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.monitor_oracle import FakeCounts, Oracle

from stream_metrics.monitor.config import Join
from stream_metrics.monitor.events.records import MISSING, Checked, Events
from stream_metrics.monitor.events.scores import packed
from stream_metrics.monitor.join.id_memory import IdMemory
from stream_metrics.monitor.join.joining import Joiner
from stream_metrics.monitor.join.outcomes import JoinStats
from stream_metrics.monitor.join.spill import Spill

SIZES = {"max_pending": st.integers(0, 8), "max_joined": st.integers(0, 8), "in_memory": st.integers(0, 4)}
OTHERS = {"votes": st.sampled_from([1, 2, 5, 9, 32]), "keep_ids": st.sampled_from(["0s", "2d"])}
LENGTHS = {"ttl": st.sampled_from(["1s", "10s", "1h"]), "keep_joined": st.sampled_from(["1s", "10s", "1h"])}


@st.composite
def streams(draw: Any) -> list[Checked]:
    """Predictions, labels and both, of few ids, so that they meet in every way; time goes on with steps and jumps."""
    now, events = 1.7e9, []
    for _ in range(draw(st.integers(0, 60))):
        now += draw(st.sampled_from([0.0, 0.1, 0.3, 1.0, 5.0, -2.0, 11.0]))
        said = draw(st.sampled_from(["prediction", "label", "both"]))
        truth = MISSING if said == "prediction" else draw(st.sampled_from("abc"))
        prediction = MISSING if said == "label" else draw(st.sampled_from(["a", "b", None]))
        scores = None if said == "label" else draw(st.sampled_from([None, packed([0.25, 0.75])]))
        weight, group = draw(st.sampled_from([None, 1, 2, 3])), draw(st.sampled_from([None, "fr", "de"]))
        classes = None if scores is None else ("a", "b")
        events.append(Checked(draw(st.integers(0, 9)), now, truth, prediction, scores, weight, group, classes))
    return events


class Table:
    """Pending rows in memory, as the state file has them."""

    def __init__(self) -> None:
        self.rows: dict[int, tuple[bytes, bytes]] = {}

    def rows_of(self, part: int, ids: Sequence[bytes]) -> list[tuple[int, bytes, bytes]]:
        """Return the rows of some ids."""
        return [(row, *held) for row, held in self.rows.items() if held[0] in ids]

    def following(self, part: int, row: int, most: int) -> list[tuple[int, bytes, bytes]]:
        """Return the first rows from a number on."""
        return [(number, *held) for number, held in sorted(self.rows.items()) if number >= row][:most]

    def move(self, moves: Any) -> None:
        """Do what a checkpoint does."""
        self.rows = {row: held for row, held in self.rows.items() if row >= moves.floor and row not in moves.taken}
        self.rows |= {row: held for row, *held in moves.added}


class Kept:
    """A join with its log and its rows, which can be written and read again."""

    def __init__(self, config: Join) -> None:
        self.config, self.table, self.counts = config, Table(), FakeCounts()
        self.logs: tuple[dict[int, Any], ...] = ({}, {}, {})
        self.joiner = Joiner(config, Spill(self.table, 0))

    def checkpoint(self) -> None:
        """Write what has changed."""
        shelves = self.joiner.waiting, self.joiner.done, self.joiner.ids
        for shelf, log in zip(shelves, self.logs, strict=True):
            done = shelf.prepared() if isinstance(shelf, IdMemory) else shelf.prepared(self.joiner.number)
            for number in [number for number in log if number < done.first]:
                del log[number]
            if done.segment is not None:
                log[done.segment.number] = done.segment
            self.table.move(done.moves) if shelf is self.joiner.waiting else None
            shelf.written(done)

    def restart(self) -> None:
        """Forget everything that was not written, which is nothing, and read it again."""
        self.checkpoint()
        content = self.joiner.content()
        self.joiner = Joiner(self.config, Spill(self.table, 0))
        self.joiner.load(content, *(log.values() for log in self.logs))


def origin(number: int) -> tuple[str, int, int]:
    """Return where the record of an event is."""
    return "t", 0, number


def plain(events: list[Checked], config: Join) -> Oracle:
    """Return what plain Python makes of events."""
    oracle = Oracle(config)
    for number, event in enumerate(events):
        oracle.feed(event, origin(number))
    return oracle


def check_law(stats: JoinStats) -> None:
    """Every prediction and every label that was read is in one place."""
    counters = stats.counters

    settled = counters.joined + counters.predictions_expired + counters.predictions_duplicate + counters.refused
    assert counters.predictions == counters.pending + settled
    assert counters.labels == (
        counters.labels_waiting
        + counters.joined
        + counters.labels_expired
        + counters.labels_late
        + counters.labels_duplicate
        + counters.corrections
        + counters.corrections_refused
        + counters.refused
        + counters.labels_refused
    )


def test_many_that_expire_at_once_are_written() -> None:
    """One event can leave more behind than there were events since the last checkpoint."""
    kept = Kept(Join(ttl="10s", keep_joined="1h", votes=1))
    waiting = [Checked(key, 1.7e9, MISSING, "a", None, None, None, None) for key in range(50)]
    kept.joiner.feed(Events.of(waiting, map(origin, range(50))), kept.counts)  # type: ignore[arg-type]
    kept.checkpoint()
    late = Checked(99, 1.7e9 + 100, "a", MISSING, None, None, None, None)
    kept.joiner.feed(Events.of([late], [origin(50)]), kept.counts)  # type: ignore[arg-type]

    kept.restart()

    assert kept.joiner.stats().predictions_expired == len(kept.joiner.done) == 50
    assert len(kept.joiner.waiting) == 1


@given(streams(), st.builds(Join, **SIZES, **LENGTHS, **OTHERS), st.data())
def test_it_is_what_plain_python_makes_of_it(events: list[Checked], config: Join, data: st.DataObject) -> None:
    """Any cut into batches, with checkpoints and restarts in between: the same pairs, counters and delays."""
    oracle, kept = plain(events, config), Kept(config)
    at = 0
    while at < len(events):
        size = data.draw(st.integers(1, 20))
        batch = events[at : at + size]
        rows = Events.of(batch, [origin(number) for number in range(at, at + len(batch))])
        kept.joiner.feed(rows, kept.counts)  # type: ignore[arg-type]
        check_law(kept.joiner.stats())
        at += size
        data.draw(st.sampled_from([kept.checkpoint, kept.restart, lambda: None]))()

    stats = kept.joiner.stats()
    assert stats.counters == oracle.counters
    assert list(stats.delays.counts) == oracle.delays
    assert kept.counts.content() == oracle.counts.content()
    assert len(kept.joiner.waiting) == len(oracle.of_kinds("P", "L"))
    assert len(kept.joiner.done) == len(oracle.of_kinds("J", "X", "R"))
