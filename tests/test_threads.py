"""One state shared by threads: nothing crashes, nothing is lost, every reading is of one moment."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.thread_stress import run

import stream_metrics as sm

STRESS = Path(__file__).parent / "support" / "thread_stress.py"
RNG = np.random.default_rng(1)
NAMES = ["a", "b", "c"]


@pytest.fixture(autouse=True)
def frequent_switches() -> Iterator[None]:
    """Let the interpreter change threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def while_counting(count: Callable[[], Any], read: Callable[[], Any]) -> None:
    """Let two threads read until others have counted, and once after that."""
    done = threading.Event()

    def reading() -> None:
        last = False
        while not last:
            last = done.is_set()
            read()

    def counting() -> None:
        try:
            count()
        finally:
            done.set()

    run(counting, reading, reading)


def test_rounds_of_everything_at_once() -> None:
    """Threads that do everything at once to every accumulator lose nothing; in a process of their own."""
    command = [sys.executable, "-X", "faulthandler", str(STRESS), "--rounds", "4"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)

    assert done.returncode == 0, done.stdout + done.stderr


LABELS = [(f"{name} {i % 300}", f"{name} {i % 7}") for name in NAMES for i in range(4_000)]
TABLE = np.round(RNG.dirichlet(np.ones(3), 1000), 2) / 2
SOFT = [(NAMES[i % 3], dict(zip(NAMES, row, strict=True))) for i, row in enumerate(TABLE.tolist() * 2)]
KINDS: dict[str, tuple[Callable[[], Any], list[Any], tuple[Any, Any], dict[str, Any]]] = {
    "matrix": (sm.ConfusionMatrix, LABELS, (RNG.integers(0, 50, 1000), RNG.integers(0, 50, 1000)), {}),
    "set": (sm.MetricSet, LABELS, (RNG.integers(0, 50, 1000), RNG.integers(0, 50, 1000)), {}),
    "ranks": (sm.RankSketch, SOFT, (NAMES * 333 + ["a"], TABLE), {"classes": NAMES}),
    "coarse ranks": (
        lambda: sm.RankSketch(64, 16, pairs=False), SOFT, (NAMES * 333 + ["a"], TABLE), {"classes": NAMES},
    ),
    "losses": (lambda: sm.ProbabilityLosses(classes=NAMES), SOFT, (NAMES * 333 + ["none"], TABLE), {}),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost(kind: str) -> None:
    """What threads count, take back and merge gives the bytes of one thread; readings are of one moment."""
    make, samples, columns, named = KINDS[kind]
    state, part, whole, seen = make(), make(), make(), list[int]()
    part.update_many(*columns, **named)
    reverts = kind != "coarse ranks"

    def one_by_one(into: Any, w: Any) -> None:
        for at, (truth, predicted) in enumerate(samples):
            into.update(truth, predicted, w)
            into.update(truth, None)
            if reverts:
                into.update(f"gone {at % 10}", predicted)
                into.revert(f"gone {at % 10}", predicted)

    def batches(into: Any) -> None:
        for _ in range(25):
            into.update_many(*columns, **named)
            into.merge(part)

    def read() -> None:
        twin, snapshot = sm.from_bytes(state.to_bytes()), state.snapshot()
        counts = getattr(twin, "state", twin)
        snapshot.to_dict()
        if isinstance(counts, sm.ConfusionMatrix):
            assert counts.true_totals.sum() == counts.total
            assert snapshot.weight == snapshot.confusion_matrix.sum()
            seen.append(snapshot.n)
        elif isinstance(counts, sm.RankSketch):
            column = state.column("a")
            assert twin.weight == sum(twin.column(label).weight(1) for label in twin.labels)
            assert (column.counts.sum(axis=0) <= column.totals).all()
            assert (np.diff(column.cells.astype(object)) > 0).all()
        else:
            assert sum(twin.rank_units) == twin.weight_units

    def count() -> None:
        run(lambda: one_by_one(state, 1), lambda: one_by_one(state, Fraction(1, 2)), lambda: batches(state))

    while_counting(count, read)
    one_by_one(whole, 1)
    one_by_one(whole, 0.5)
    batches(whole)
    assert state == whole
    assert (state.n, state.abstained) == (2 * len(samples) + 50_000, 2 * len(samples))
    assert kind not in ("matrix", "set") or seen.count(state.n) >= 2  # each thread has read the last moment
    assert sm.merge([part, make(), part]).n == 2_000


def test_labels_may_come_and_go_in_several_threads() -> None:
    """Labels that come while labels are sorted are not forgotten; those that are all reverted leave nothing."""
    state, growing = sm.ConfusionMatrix(), sm.ConfusionMatrix()

    def window(name: str) -> None:
        for i in range(5_010):
            if i < 5_000:
                state.update(f"{name} {i}", name)
            if i >= 10:
                state.revert(f"{name} {i - 10}", name)

    def grow() -> None:
        for i in range(3_000):
            growing.update((i, "x"), (i, "y"))

    run(*(lambda name=name: window(name) for name in NAMES))
    while_counting(grow, lambda: growing.labels)
    assert state == sm.ConfusionMatrix()
    assert growing.k == len(growing.labels) == 6_000
    assert growing.true_totals.sum() == 3_000
