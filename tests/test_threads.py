"""One state shared by threads: nothing crashes, nothing is lost, every reading is of one moment."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics.states.ranks import RankSketch


@pytest.fixture(autouse=True)
def frequent_switches() -> Iterator[None]:
    """Let the interpreter change threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def run(*tasks: Callable[[], Any]) -> None:
    """Run the tasks at the same time, and raise what one of them raised."""
    errors: list[BaseException] = []
    start = threading.Barrier(len(tasks))

    def guarded(task: Callable[[], Any]) -> None:
        start.wait()
        try:
            task()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def updates(state: Any, name: str, n: int, w: Any = 1) -> Callable[[], None]:
    """Return a task that counts fresh labels one by one."""

    def task() -> None:
        for i in range(n):
            state.update(f"{name} {i % 300}", f"{name} {i % 7}", w)

    return task


def batches(state: Any, n: int) -> Callable[[], None]:
    """Return a task that counts batches."""
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 50, (2, 1000))

    def task() -> None:
        for _ in range(n):
            state.update_many(*columns)

    return task


@pytest.mark.parametrize("make", [sm.ConfusionMatrix, sm.MetricSet])
def test_nothing_is_lost(make: Any) -> None:
    """What several threads count, one by one and in batches, is all there."""
    state = make()
    run(updates(state, "a", 20_000), updates(state, "b", 20_000, 0.5), updates(state, "a", 20_000), batches(state, 30))
    counts = getattr(state, "state", state)

    assert counts.n == 90_000
    assert counts.total == 80_000 - 10_000 * Fraction(0)
    assert counts.k == 300 + 300 + 50
    assert counts.true_totals.sum() == counts.total


def test_weights_that_run_python_code_may_change_threads() -> None:
    """While a weight is turned into a number another thread may count, and forget what this one had looked up."""
    state = sm.ConfusionMatrix()
    run(*(updates(state, name, 5_000, Fraction(1, 2)) for name in "abc"))

    assert state.total == 7_500
    assert state.k == 900


def test_readings_are_of_one_moment() -> None:
    """Snapshots, copies and bytes taken while others count are whole: their parts fit together."""
    state, done = sm.MetricSet(), threading.Event()
    seen = []

    def read() -> None:
        last = False
        while not last:
            last = done.is_set()
            twin, snapshot = sm.from_bytes(state.to_bytes()), state.snapshot()
            assert twin.state.true_totals.sum() == twin.state.total == twin.n
            assert snapshot.n == snapshot.weight == snapshot.confusion_matrix.sum()
            seen.append(snapshot.n)

    def count() -> None:
        run(updates(state, "a", 10_000), updates(state, "b", 10_000), batches(state, 20))
        done.set()

    run(count, read, read)

    assert state.n == 40_000
    assert seen.count(40_000) >= 2  # each thread has read the last moment
    assert len(state.state.labels) == 650


def test_a_label_that_comes_while_labels_are_sorted_is_not_forgotten() -> None:
    """A reading of the live state that is interrupted by new labels does not hide them from the next one."""
    state, done = sm.ConfusionMatrix(), threading.Event()

    def read() -> None:
        while not done.is_set():
            state.labels  # noqa: B018

    def count() -> None:
        for i in range(3_000):
            state.update((i, "x"), (i, "y"))
        done.set()

    run(count, read, read)

    assert state.k == len(state.labels) == 6_000
    assert state.true_totals.sum() == 3_000


def test_labels_may_come_and_go_in_several_threads() -> None:
    """Updates and reverts of many labels from several threads leave nothing behind."""
    state = sm.ConfusionMatrix()

    def window(name: str) -> Callable[[], None]:
        def task() -> None:
            for i in range(5_000):
                state.update(f"{name} {i}", name)
                if i >= 10:
                    state.revert(f"{name} {i - 10}", name)
            for i in range(4_990, 5_000):
                state.revert(f"{name} {i}", name)

        return task

    run(*(window(name) for name in "abc"))

    assert state == sm.ConfusionMatrix()


def test_shards_of_threads_merge() -> None:
    """The way to use many threads: one state each, then a merge."""
    shards = [sm.ConfusionMatrix() for _ in range(4)]
    whole = sm.ConfusionMatrix()
    run(*(batches(shard, 10) for shard in shards))
    batches(whole, 40)()

    assert sm.merge(shards) == whole


@pytest.mark.parametrize(("make", "reverts"), [(RankSketch, True), (lambda: RankSketch(64, 16, pairs=False), False)])
def test_no_score_is_lost(make: Any, reverts: bool) -> None:
    """What several threads count in a rank sketch, take back, merge, copy and read gives the bytes of one thread."""
    state, part, done = make(), make(), threading.Event()
    rng = np.random.default_rng(1)
    truth, table = rng.integers(0, 3, 1000), np.round(rng.random((1000, 3)), 2)
    part.update_many(truth, table[::-1], classes=range(3))

    def one_by_one(into: Any, w: Any) -> None:
        for t, row in zip(truth.tolist(), table.tolist(), strict=True):
            into.update(t, {0: row[0], 1: row[1], f"new {t}": row[2]}, w)
            if reverts:
                into.update(t, {2: 0.125, "gone": row[0]})
                into.revert(t, {2: 0.125, "gone": row[0]})

    def batches(into: Any) -> None:
        for some in np.array_split(np.arange(1000), 25):
            into.update_many(truth[some], table[some], classes=range(3))
            into.merge(part)

    def read() -> None:
        while not done.is_set():
            twin, column = RankSketch.from_bytes(state.to_bytes()), state.column(1)
            assert twin.weight == sum(twin.column(label).weight(1) for label in twin.labels)
            assert (column.counts.sum(axis=0) <= column.totals).all()
            assert (np.diff(column.cells.astype(object)) > 0).all()

    def count() -> None:
        try:
            run(lambda: one_by_one(state, 1), lambda: one_by_one(state, Fraction(1, 2)), lambda: batches(state))
        finally:
            done.set()

    run(count, read)
    whole = make()
    one_by_one(whole, 1)
    one_by_one(whole, 0.5)
    batches(whole)

    assert state == whole
    assert state.n == 3_000 + 25 * 1000


def test_no_loss_is_lost() -> None:
    """What several threads add to sums of losses gives the bytes of one thread."""
    state, done = sm.ProbabilityLosses(classes=("a", "b", "c")), threading.Event()
    table = np.random.default_rng(2).dirichlet(np.ones(3), 500)
    truth = ["a", "b", "c", "none", "a"] * 100

    def one_by_one(into: Any, w: Any) -> None:
        for t, row in zip(truth * 8, table.tolist() * 8, strict=True):
            into.update(t, row, w)
            into.update(t, None)
            into.update(t, {t: 0.5}, w)
            into.revert(t, {t: 0.5}, w)

    def batches(into: Any) -> None:
        for _ in range(40):
            into.update_many(truth, table)

    def read() -> None:
        while not done.is_set():
            twin = sm.from_bytes(state.to_bytes())
            assert sum(twin.rank_units) == twin.weight_units
            state.snapshot().to_dict()

    def count() -> None:
        try:
            run(lambda: one_by_one(state, 1), lambda: one_by_one(state, Fraction(1, 2)), lambda: batches(state))
        finally:
            done.set()

    run(count, read)
    whole = sm.ProbabilityLosses(classes=("a", "b", "c"))
    one_by_one(whole, 1)
    one_by_one(whole, 0.5)
    batches(whole)

    assert state == whole
    assert state.abstained == 8_000
