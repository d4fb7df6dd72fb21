"""Stored panes have every sample once, regardless of the order, the age, the checkpoints and the crashes."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.memory_panes import MemoryPanes

import stream_metrics as sm
from stream_metrics.monitor.archive.reading import complete, cut_every, merged, pieces, steps
from stream_metrics.monitor.archive.retention import Retention
from stream_metrics.monitor.archive.writing import COUNTS, Archive, by_group

SECOND = 10**9
RULE = Retention.of(("1m for 20m", "10m for 2h", "1h"))
OTHER = Retention.of(("2m for 10m", "20m"))
GROUP = by_group("country")
EMPTY = {
    COUNTS: sm.MetricSet(scores=True, buckets=16, sample=8, pairs=False),
    GROUP: sm.ByGroup(sm.ConfusionMatrix(), 3),
}
Sample = tuple[int, str, float, str]

samples = st.tuples(
    st.integers(0, 6 * 3600),
    st.sampled_from("ab"),
    st.integers(0, 100).map(lambda n: n / 100),
    st.sampled_from("vwxyz"),
)
actions = st.lists(
    st.one_of(
        st.tuples(st.just("count"), st.lists(samples, min_size=1, max_size=5)),
        st.tuples(st.sampled_from(["checkpoint", "crash", "correct", "settle", "rule"]), st.integers(0, 10**6)),
    ),
    max_size=40,
)


def count(state: Any, sample: Sample, do: str = "update") -> None:
    _, truth, score, group = sample
    if isinstance(state, sm.ByGroup):
        label = "a" if score >= 0.5 else "b"
        state.update(truth, label, group=group) if do == "update" else state.revert_one(truth, label, 1, group)
    else:
        getattr(state, do)(truth, scores={"a": score, "b": 1 - score})


def counted(name: str, *some: Sample) -> Any:
    state = EMPTY[name].copy()
    for sample in some:
        count(state, sample)
    return state


class Process:
    """What reads samples from a log in order and counts them; it may die at any moment."""

    def __init__(self) -> None:
        self.rows, self.committed, self.retention = MemoryPanes(), 0, RULE
        self.seen: int | None = None
        self.stored_seen: int | None = None
        self.start()

    def start(self) -> None:
        before = None if self.stored_seen is None else self.stored_seen + 1
        self.archive = Archive(self.retention, EMPTY, self.rows, 0, before)
        self.read, self.seen = self.committed, self.stored_seen

    def follow(self, log: list[Sample]) -> None:
        for sample in log[self.read :]:
            t, truth, score, group = sample
            self.archive.add(COUNTS, t * SECOND, counted(COUNTS, sample), 0)
            self.archive.add_samples(t * SECOND, [(truth, "a" if score >= 0.5 else "b", 1, group)], 0)
            self.seen = max(self.seen or 0, sample[0] * SECOND)
        self.read = len(log)

    def checkpoint(self) -> None:
        self.rows.checkpoint(0, self.archive, self.seen)
        self.committed, self.stored_seen = self.read, self.seen


def recount(log: list[Sample], name: str, start: int, end: int) -> bytes | None:
    """Return the state of the samples of a range, counted at once; None if there are none."""
    some = [sample for sample in log if start <= sample[0] * SECOND < end]
    return counted(name, *some).to_bytes() if some else None


@settings(max_examples=60, deadline=None)
@given(actions, st.integers(0, 6 * 3600), st.integers(1, 6 * 3600), st.integers(1, 20))
def test_any_range_equals_a_recount(done: list[Any], start: int, length: int, most: int) -> None:
    """Late samples, corrections, crashes and another retention in between change nothing, byte for byte."""
    process, log = Process(), []
    for what, value in done:
        if what == "count":
            log += value
            process.follow(log)
        elif what == "checkpoint":
            process.checkpoint()
        elif what == "crash":
            process.start()
            process.follow(log)
        elif what == "rule":
            process.checkpoint()
            process.retention = OTHER if process.retention is RULE else RULE
            process.start()
        elif what == "settle":
            process.archive.settle()
        elif log:
            at = value % len(log)
            _correct(process, log, at)
    process.follow(log)
    process.checkpoint()
    wanted = steps(start * SECOND, (start + length) * SECOND, most)
    for name in EMPTY:
        found = pieces(process.rows, name, wanted)
        assert found[0].start <= wanted[0]
        assert found[-1].end >= wanted[-1]
        assert all(one.end == two.start for one, two in itertools.pairwise(found))
        for piece in [*found, (found[0].start, found[-1].end)]:
            state = merged(process.rows, name, piece[0], piece[1])
            expected = recount(log, name, piece[0], piece[1])
            assert (state and state.to_bytes()) == expected


def _correct(process: Process, log: list[Sample], at: int) -> None:
    """Take a sample back and count it with another truth, as a record of its own would have it."""
    process.checkpoint()  # so that a crash does not repeat what the log no longer has
    old = log[at]
    new = (old[0], "b" if old[1] == "a" else "a", *old[2:])
    changes = []
    for name in EMPTY:
        for key, state in process.archive.copies(name, old[0] * SECOND):  # noqa: B007
            try:
                count(state, old, "revert")
                break
            except sm.WeightError:  # another pane has it
                pass
        else:  # a folded group that would be left empty, or a sketch that is full
            return
        count(state, new)
        changes.append((name, key, state))
    for change in changes:
        process.archive.replace(*change)
    log[at] = new
    process.checkpoint()


@pytest.mark.parametrize("settled", [False, True])
def test_corrections_of_one_pane_of_another_retention_add_up(settled: bool) -> None:
    """Between two checkpoints, in a pane that is longer than new ones are."""
    process, first = Process(), [(at, "a", 0.1, "v") for at in range(6)]
    process.retention = OTHER
    process.start()
    process.follow(first)
    process.checkpoint()
    process.retention = RULE
    process.start()
    for old in first[:3]:
        key, state = next(process.archive.copies(COUNTS, old[0] * SECOND))
        count(state, old, "revert")
        process.archive.replace(COUNTS, key, state)
        if settled:
            process.archive.settle()
    process.checkpoint()

    state = merged(process.rows, COUNTS, 0, 3600 * SECOND)
    assert state is not None
    assert state.to_bytes() == recount(first[3:], COUNTS, 0, 3600 * SECOND)


def test_a_pane_is_as_long_as_its_age_has_it() -> None:
    """Old panes become longer, each sample is in one pane, and a late one joins the pane of its time."""
    process = Process()
    process.follow([(at * 60, "a", 0.1, "v") for at in range(360)])
    process.checkpoint()
    lengths = [key[2] // (60 * SECOND) for key in process.rows.rows if key[1] == COUNTS]
    assert sorted(set(lengths)) == [1, 10, 60]
    assert sum(lengths) == 360
    assert lengths.count(1) <= 30
    assert lengths.count(10) <= 18
    before = len(process.rows.rows)
    process.follow([(at * 60, "a", 0.1, "v") for at in range(360)] + [(30, "b", 0.9, "w")])
    process.checkpoint()
    assert len(process.rows.rows) == before
    whole = merged(process.rows, COUNTS, 0, 3600 * SECOND)
    assert whole is not None
    assert whole.n == 61


def test_old_panes_are_deleted_after_the_last_age() -> None:
    process = Process()
    process.retention = Retention.of(("1m for 10m", "10m for 1h"))
    process.start()
    process.follow([(at * 60, "a", 0.1, "v") for at in range(180)])
    process.checkpoint()
    starts = [key[3] // (60 * SECOND) for key in process.rows.rows if key[1] == COUNTS]
    assert min(starts) == 110
    assert complete(process.rows, COUNTS) == 110 * 60 * SECOND
    process.archive.add(COUNTS, 0, counted(COUNTS, (0, "a", 0.1, "v")), 0)
    assert not [*process.archive.copies(COUNTS, 0)]


def test_a_name_that_comes_later_is_complete_from_then_on() -> None:
    """Earlier samples are not in its panes, even if they come late, and the answer says so."""
    process = Process()
    process.follow([(at * 60, "a", 0.1, "v") for at in range(10)])
    process.checkpoint()
    both = {**EMPTY, by_group("city"): EMPTY[GROUP]}
    archive = Archive(RULE, both, process.rows, 0, (process.seen or 0) + 1)
    for name, t, panes in (by_group("city"), 9 * 60, 0), (by_group("city"), 10 * 60, 1), (GROUP, 0, 1):
        archive.add(name, t * SECOND, counted(GROUP, (t, "a", 0.1, "v")), 0)
        assert len([*archive.copies(name, t * SECOND)]) == panes
    process.rows.checkpoint(0, archive, process.seen)
    assert complete(process.rows, by_group("city")) == 600 * SECOND
    assert complete(process.rows, GROUP) is None
    assert complete(process.rows, by_group("planet")) > 10**18


def test_between_checkpoints_memory_is_bounded() -> None:
    """All but a few states are bytes, and many changed panes ask for a checkpoint."""
    process = Process()
    chance = random.Random(1)
    process.follow([(chance.randrange(1, 600) * 60, "a", 0.1, "v") for _ in range(50)])
    process.archive.settle()
    assert len(process.archive._open) <= 4
    assert not process.archive.full
    process.follow([(at * 60, "a", 0.1, "v") for at in range(600)])
    assert process.archive.full


def test_panes_that_are_newer_than_all_stored_ones_are_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process()
    looked = list[int]()
    stored = process.rows.pane
    monkeypatch.setattr(process.rows, "pane", lambda *key: looked.append(key[3] // SECOND) or stored(*key))
    process.follow(log := [(at, "a", 0.1, "v") for at in (0, 60, 120)])
    process.checkpoint()
    process.start()
    process.follow(log := [*log, *((at, "a", 0.1, "v") for at in (121, 180, 240))])
    process.archive.settle()
    assert looked == [120, 120]
    process.follow([*log, (0, "a", 0.1, "v")])
    process.archive.settle()
    assert looked == [120, 120, 0, 0]


def test_even_times_are_multiples_of_a_usual_step() -> None:
    hour = 3600 * SECOND
    assert steps(0, hour, 60) == list(range(0, hour + 1, 60 * SECOND))
    assert steps(90 * SECOND, hour, 12) == [90 * SECOND, *range(300 * SECOND, hour + 1, 300 * SECOND)]
    assert len(steps(0, 4000 * 24 * hour, 10)) <= 12
    assert cut_every(0, 10, 3) == [0, 3, 6, 9, 10]


def test_bytes_of_batches_are_those_of_the_panes_that_have_counted_nothing_else() -> None:
    """Windows use them instead of writing the same state again."""
    process = Process()
    process.follow([(7200, "a", 0.1, "v")])
    process.archive.settle()
    for batch, t in enumerate([0, 60, 120, 120, 180, 7200, *range(240, 7200, 60)]):
        sample = (t, "a", 0.1, "v")
        process.archive.add(COUNTS, t * SECOND, counted(COUNTS, sample), batch)
        process.archive.add_samples(t * SECOND, [("a", "b", 1, "v")], batch)
    counts, groups = process.archive.settle()
    assert {0, 1, 4, 6} <= {*counts}
    assert {0, 1, 4, 6} <= {*groups}
    assert not {2, 3, 5} & {*counts, *groups}
    assert {*counts.values()} == {counted(COUNTS, (0, "a", 0.1, "v")).to_bytes()}
    assert {*groups.values()} == {counted(GROUP, (0, "a", 0.1, "v")).to_bytes()}
    process.archive.add(COUNTS, 0, counted(COUNTS, (0, "a", 0.1, "v")), 1000)
    process.archive.add_samples(0, [("a", "b", 1, "v")], 1000)
    assert process.archive.settle() == ({}, {})
