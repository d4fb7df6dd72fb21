"""Panes equal a `TimeWindow`, whether they are states, bytes or merged states."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics.errors import MergeError
from stream_metrics.monitor.counts.panes import Panes

SECOND = 10**9
labels = st.sampled_from("ab")
steps = st.lists(
    st.one_of(
        st.tuples(st.just("feed"), st.integers(0, 20), labels, labels),
        st.tuples(st.sampled_from(["read", "write", "copy", "revive", "merge"]), st.integers(0, 6), labels, labels),
    ),
    max_size=40,
)


def feed(panes: Panes, t: int, truth: str, label: str) -> None:
    """Let a pane count a sample."""
    state = panes.at(t * SECOND)
    if state is not None:
        state.update(truth, label)
    panes.settle(t * SECOND)


def revived(panes: Panes) -> Panes:
    """Return panes that were written and read."""
    made = Panes(panes.inner, panes.period, panes.panes)
    made.fill(panes.seen, panes.written())
    return made


@given(steps)
def test_panes_are_a_time_window(done: list[Any]) -> None:
    """After any feeding, reading, writing, copying and merging, every reading is that of a plain window."""
    panes, window = Panes(sm.MetricSet(), "4s", 4), sm.TimeWindow(sm.MetricSet(), "4s", 4)
    for what, t, truth, label in done:
        if what == "feed":
            feed(panes, t, truth, label)
            window.update(truth, label, t=t)
        elif what == "read" and panes.seen is not None:
            later = panes.seen // SECOND + t
            assert panes.merged(later * SECOND) == window.merged(later)
        elif what == "write":
            panes.written()
        elif what == "copy":
            panes = panes.copy()
        elif what == "revive":
            panes = revived(panes)
        elif what == "merge" and panes.seen is not None:
            other = Panes(sm.MetricSet(), "4s", 4)
            feed(other, panes.seen // SECOND - 3 + t, truth, label)
            window.update(truth, label, t=panes.seen // SECOND - 3 + t)
            panes.merge(other)

    if panes.seen is not None:
        assert panes.merged(panes.seen) == window.merged()
        assert panes.snapshot().to_dict() == window.snapshot().to_dict()
        states = window._merges.with_late(window._open)
        assert panes.written() == {pane: state.to_bytes() for pane, state in states.items()}


@given(st.lists(st.tuples(st.integers(0, 40), st.sampled_from("abc"), st.booleans()), max_size=20))
def test_bytes_of_batches_are_used_for_panes_that_have_counted_nothing_else(batches: list[Any]) -> None:
    """They are offered for every batch, as if all had been written elsewhere."""
    panes, without, written = Panes(sm.MetricSet(), "40s", 4), Panes(sm.MetricSet(), "40s", 4), dict[int, bytes]()
    for number, (t, label, together) in enumerate(batches):
        state = sm.MetricSet()
        state.update(label, "a")
        written[number] = state.to_bytes()
        panes.add(t * SECOND, state, number)
        without.add(t * SECOND, state)
        if not together:
            panes.share(written)
            panes.settle(t * SECOND)
            without.settle(t * SECOND)
    assert panes.written() == without.written()


@pytest.mark.parametrize("seed", range(8))
def test_what_was_selected_can_be_merged_at_any_later_time(seed: int) -> None:
    """Samples in order and late, expiry, checkpoints and corrections meanwhile change nothing of it."""
    random = Random(seed)
    panes, samples = Panes(sm.MetricSet(), "6s", 6), list[tuple[int, str, str]]()
    selected, now = list[tuple[Any, sm.MetricSet]](), 10

    def check(at: int) -> None:
        parts, expected = selected.pop(at)
        assert parts.merged() == expected

    for _ in range(400):
        now += random.random() < 0.2
        t, pair = now - int(random.expovariate(0.5)), (random.choice("ab"), random.choice("ab"))
        what = random.choice(["feed"] * 6 + ["write", "correct", "settle", "revive"] + ["select"] * 3 + ["merge"] * 2)
        if what in ("feed", "correct") and panes.number(t * SECOND) is not None:
            samples.append((t, *pair))
            if what == "feed":
                feed(panes, t, *pair)
            else:
                state = panes.alone(t)
                state.update(*pair)
                panes.replace(t, state)
        elif what == "write":
            panes.written()
        elif what == "settle":
            panes.settle(now * SECOND)
        elif what == "revive" and random.random() < 0.2:
            panes = revived(panes)
        elif what == "merge" and selected:
            check(random.randrange(len(selected)))
        elif what == "select" and panes.seen is not None:
            at = panes.seen // SECOND + random.choice((0, 0, 0, 1, 4))
            expected = sm.MetricSet()
            for time, *labels in samples:
                if at - 6 < time <= at:
                    expected.update(*labels)
            selected.append((panes.parts(at * SECOND), expected))
    while selected:
        check(0)


def test_several_threads_merge_what_was_selected_while_the_window_goes_on() -> None:
    """The panes are merged once, by one of them, and every thread gets the sum of all samples."""
    panes, calls = Panes(sm.MetricSet(), "60s", 60), list[int]()
    for t in range(60):
        feed(panes, t, "a", "b")
    panes = revived(panes)
    form = panes._merges._form
    merges, started, go_on = form.merges, threading.Event(), threading.Event()

    def slow(stored: Any) -> Any:
        calls.append(len(stored))
        started.set()
        assert go_on.wait(10)
        return merges(stored)

    form.merges = slow  # type: ignore[method-assign]
    with ThreadPoolExecutor(3) as threads:
        futures = [threads.submit(panes.parts(59 * SECOND).merged) for _ in range(3)]
        assert started.wait(10)
        for t in range(40, 80):
            feed(panes, t, "a", "a")
        go_on.set()
        counted = [future.result().n for future in futures]

    assert counted == [60, 60, 60]
    assert calls == [59]
    assert panes.merged(79 * SECOND).n == 40 + 40
    assert calls == [59]


def test_old_panes_are_kept_as_bytes() -> None:
    """Only the newest pane, and what came late, are states."""
    panes = Panes(sm.MetricSet(), "60s", 60)
    for t in range(100, 200):
        feed(panes, t, "a", "b")
    late = panes.written()
    feed(panes, 150, "a", "a")

    assert sorted(panes._open) == [150, 199]
    assert panes.merged(199 * SECOND).n == 61
    changed = [pane for pane, data in panes.written().items() if data is not late[pane]]
    assert changed == [150]


def test_a_time_before_the_window_cannot_be_read() -> None:
    """What is gone cannot be told, so it is an error and no smaller number."""
    panes = Panes(sm.MetricSet(), "4s", 4)
    feed(panes, 100, "a", "a")

    with pytest.raises(ValueError, match="or later"):
        panes.merged(99 * SECOND)


def test_other_panes_do_not_merge() -> None:
    """Another state, length or number of panes is named."""
    panes = Panes(sm.MetricSet(), "4s", 4)
    for other in (
        Panes(sm.MetricSet(), "8s", 4),
        Panes(sm.MetricSet(), "4s", 2),
        Panes(sm.MetricSet(labels=["a", "b"]), "4s", 4),
    ):
        with pytest.raises(MergeError):
            panes.merge(other)
