"""One state shared by threads: nothing crashes, nothing is lost, every reading is of one moment."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.thread_stress import run

import stream_metrics as sm

STRESS = Path(__file__).parent / "support" / "thread_stress.py"


@pytest.fixture(autouse=True)
def frequent_switches() -> Iterator[None]:
    """Let the interpreter change threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_rounds_of_everything_at_once() -> None:
    """Threads that do everything at once to every accumulator lose nothing; in a process of their own."""
    command = [sys.executable, "-X", "faulthandler", str(STRESS), "--rounds", "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)

    assert done.returncode == 0, done.stdout + done.stderr


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

    def read() -> None:
        assert all(len(growing.labels) <= growing.k for _ in range(200))

    run(*(lambda name=name: window(name) for name in "abc"))
    run(grow, read, read)
    assert state == sm.ConfusionMatrix()
    assert growing.k == len(growing.labels) == 6_000
    assert growing.true_totals.sum() == 3_000
