"""The lock of an accumulator: which threads wait, which raise, and its state in a forked child."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import stream_metrics as sm
from stream_metrics._core.numeric.kernels import Guarded, Lock

STRESS = Path(__file__).parent / "support" / "thread_stress.py"
MAKES = {
    "ConfusionMatrix": sm.ConfusionMatrix,
    "MetricSet": sm.MetricSet,
    "scores": lambda: sm.MetricSet(scores=True),
    "Rolling": lambda: sm.Rolling(sm.MetricSet(), 5),
    "TimeWindow": lambda: sm.TimeWindow(sm.MetricSet(), "1h"),
    "Fading": lambda: sm.Fading(sm.MetricSet(), 10),
    "ByGroup": lambda: sm.ByGroup(sm.MetricSet()),
}


def feed(state: Any, y_true: Any, y_pred: Any, w: Any = 1) -> None:
    """Count one sample."""
    state.update(y_true, y_pred, w, **({"group": "g"} if isinstance(state, sm.ByGroup) else {}))


def lock_of(state: Any) -> Guarded:
    """Return the lock of an accumulator: of a set of labels that of its state."""
    if isinstance(state, sm.MetricSet) and state.scored is None:
        return lock_of(state.state)
    return state if isinstance(state, Guarded) else state._lock


def test_rounds_of_everything_at_once() -> None:
    """Threads that do everything at once to every accumulator lose nothing; in a process of their own."""
    command = [sys.executable, "-X", "faulthandler", str(STRESS), "--rounds", "4"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)

    assert done.returncode == 0, done.stdout + done.stderr


class Caller:
    """A label that calls a function while it is read."""

    shape = ()

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function

    def item(self) -> str:
        """Return the label."""
        self.function()
        return "called"


@pytest.mark.parametrize("make", [MAKES[name] for name in ("ConfusionMatrix", "MetricSet", "Rolling", "TimeWindow")])
def test_a_label_may_use_the_object_that_reads_it(make: Callable[[], Any]) -> None:
    """Labels and weights are read before the lock is taken."""
    state = make()
    feed(state, Caller(lambda: (feed(state, "a", "a"), state.to_bytes())), "b")

    assert state.n == 2


@pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
def test_a_call_in_the_middle_of_another_one_is_refused(make: Callable[[], Any]) -> None:
    """What writes in a section of its own thread raises, and so does what reads in one that writes."""
    state = make()
    feed(state, "a", "b")
    before = state.to_bytes()
    with lock_of(state).writing():
        for call in (lambda: feed(state, "a", "b"), state.snapshot, state.copy, state.reset):
            with pytest.raises(RuntimeError, match=r"Expected no call of a .* in the middle of another one"):
                call()
    with lock_of(state).reading():
        assert state.to_bytes() == before
        with pytest.raises(RuntimeError, match="Expected no call of a"):
            state.reset()
    feed(state, "a", "b")

    assert state.n == 2


def test_a_finalizer_in_a_section_is_refused() -> None:
    """The collector may run finalizers in a section; one that counts raises there, and the section goes on."""
    state, refused = sm.MetricSet(scores=True), []

    class Counts:
        def __del__(self) -> None:
            try:
                state.update(1, 0.5)
            except RuntimeError as error:
                refused.append(error)

    waste: Any = Counts()
    waste.itself = waste
    with state.writing():
        del waste
        gc.collect()

    assert len(refused) == 1
    assert state.n == 0


@pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
def test_writers_and_readers_wait_for_a_section(make: Callable[[], Any]) -> None:
    """A thread that counts or reads while a section of another one is open goes on when it is closed."""
    state, done = make(), []
    tasks = [lambda: feed(state, "a", "a"), lambda: feed(state, ("t", 1), None), state.to_bytes, state.snapshot]
    threads = [threading.Thread(target=lambda task=task: done.append(task())) for task in tasks]
    with lock_of(state).writing():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(0.01)
        assert done == []
    for thread in threads:
        thread.join(100)

    assert len(done) == len(tasks)
    assert (state.n, state.abstained) == (1, 1)


def test_a_waiting_call_can_be_interrupted() -> None:
    """Ctrl-C ends a call that waits; nothing is counted, and the lock is free afterwards."""
    state, inside, leave = sm.ConfusionMatrix(), threading.Event(), threading.Event()

    def hold() -> None:
        with state.writing():
            inside.set()
            leave.wait(100)

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    def wait() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        state.update("a", "b")

    holder = threading.Thread(target=hold)
    holder.start()
    inside.wait(100)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            wait()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        leave.set()
        holder.join(100)
    state.update("a", "a")

    assert (state.n, state.correct) == (1, 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
def test_a_forked_child_can_use_a_state_that_was_locked(make: Callable[[], Any]) -> None:
    """The threads of the parent are not in the child, so their sections are closed there; threads can share it."""
    state, inside, leave = make(), threading.Event(), threading.Event()
    feed(state, "a", "a")

    def hold() -> None:
        with lock_of(state).writing():
            inside.set()
            leave.wait(100)

    def count() -> None:
        for _ in range(100):
            feed(state, ("t", 1), "b", 0.5)
            state.to_bytes()

    threads = [threading.Thread(target=hold), threading.Thread(target=lambda: (inside.wait(100), state.to_bytes()))]
    for thread in threads:
        thread.start()
    inside.wait(100)
    threads[1].join(0.02)  # it waits at the lock while the process forks
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        child = os.fork()
    if child == 0:
        signal.alarm(100)
        own = [threading.Thread(target=count) for _ in range(3)]
        for thread in own:
            thread.start()
        for thread in own:
            thread.join()
        os._exit(0 if state.n in (301, 5) else 1)
    leave.set()
    for thread in threads:
        thread.join(100)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert state.n == 1


def test_locks_of_a_child_of_a_child() -> None:
    """A lock that was taken and left in a child is as good as new in a child of its own."""
    if not hasattr(os, "fork"):
        return
    lock = Lock()
    child = os.fork()
    if child == 0:
        with lock:
            grandchild = os.fork()
            if grandchild == 0:
                with pytest.raises(RuntimeError):
                    lock.__enter__()
                os._exit(0)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]))

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


class CallingWeight:
    """A weight that calls a function while it is read."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function

    def __float__(self) -> float:
        self.function()
        return 1.0


@pytest.mark.parametrize("make", [make for name, make in MAKES.items() if name != "scores"])
def test_a_weight_may_use_the_object_that_reads_it(make: Callable[[], Any]) -> None:
    """Weights are read before the lock is taken."""
    state = make()
    seen = []
    feed(state, "a", "b", CallingWeight(lambda: seen.append(state.to_bytes())))
    feed(state, "a", "b", CallingWeight(lambda: seen or feed(state, "a", "a")))

    assert seen
    assert state.n == 2


def test_a_column_that_shrinks_while_it_is_read() -> None:
    """A list that is cut short while it is counted, by a thread or by what it holds, does no harm."""
    state = sm.ConfusionMatrix()
    labels: list[Any] = []
    labels += ["a", Caller(labels.clear), "b", "c"]
    state.update_many(labels, ["a", "a", "a", "a"])
    weights: list[Any] = []
    weights += [1, CallingWeight(weights.clear), 1, 1]
    with pytest.raises(IndexError):
        state.update_many(["a"] * 4, ["a"] * 4, weights)

    assert state.labels == ("a", "b", "c", "called")
    assert state.n == 4
