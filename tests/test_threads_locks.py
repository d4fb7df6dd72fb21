"""The lock of an accumulator: which threads wait, which raise, and its state in a forked child."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
from support.cases import every_case
from support.refusals import refused
from support.thread_stress import CASES

import stream_metrics as sm

HAS_FORK = hasattr(os, "fork")
PARTS = "ConfusionMatrix", "MetricSet", "Rolling, plain", "TimeWindow, plain"  # whose labels are read by the core
MAKES = {name: CASES[name].make for name in (*PARTS, "MetricSet of scores", "Fading by count", "ByGroup")}


def feed(state: Any, y_true: Any, y_pred: Any, w: Any = 1) -> None:
    """Count one sample."""
    state.update(y_true, y_pred, w, **({"group": "g"} if isinstance(state, sm.ByGroup) else {}))


def locked(state: Any) -> Any:
    """Return what has the lock of an accumulator: of a set of labels its matrix."""
    return state.state if isinstance(state, sm.MetricSet) and state.scored is None else state


@contextmanager
def locked_by_another(state: Any) -> Iterator[None]:
    """Let another thread keep the lock of a state."""
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with locked(state)._writing():
            inside.set()
            leave.wait(100)

    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(100)
    try:
        yield
    finally:
        leave.set()
        thread.join(100)


def label_that(function: Callable[[], Any]) -> Any:
    """Return a label that calls a function while it is read."""
    return type("Label", (), {"shape": (), "item": lambda self: (function(), "called")[1]})()


def weight_that(function: Callable[[], Any]) -> Any:
    """Return a weight that calls a function while it is read."""
    return type("Weight", (), {"__float__": lambda self: (function(), 1.0)[1]})()


@pytest.mark.quick
def test_labels_and_weights_may_use_the_object_that_reads_them() -> None:
    """They are read before the lock is taken; a column that is cut short while it is read does no harm."""
    with every_case() as case:
        for name, make in MAKES.items():
            with case(name):
                state = make()
                if name in PARTS:
                    feed(state, label_that(lambda: (feed(state, "a", "a"), state.to_bytes())), "b")  # noqa: B023
                    assert state.n == 2
                if name != "MetricSet of scores":
                    state, seen = make(), list[bytes]()
                    weight = weight_that(lambda: seen.append(state.to_bytes()))  # noqa: B023
                    feed(state, "a", "b", weight)
                    feed(state, "a", "b", weight_that(lambda: seen or feed(state, "a", "a")))  # noqa: B023
                    assert seen
                    assert state.n == 2
    matrix, labels, weights = sm.ConfusionMatrix(), list[Any](), list[Any]()
    labels += ["a", label_that(labels.clear), "b", "c"]
    matrix.update_many(labels, ["a", "a", "a", "a"])
    weights += [1, weight_that(weights.clear), 1, 1]
    matrix.update_many(["a"] * 4, ["a"] * 4, weights)
    assert (matrix.labels, matrix.n, matrix.weight) == (("a", "b", "c", "called"), 8, 8)


@pytest.mark.quick
def test_a_call_in_the_middle_of_another_one_is_refused() -> None:
    """What writes in a section of its own thread, such as a finalizer, raises, and what reads in one that writes."""
    with every_case() as case:
        for name, make in (MAKES | {kind.__name__: kind for kind in (sm.RankSketch, sm.ProbabilityLosses)}).items():
            with case(name):
                state, other = make(), "b" if name in MAKES else {"b": 1.0}
                feed(state, "a", other)
                before, twin = state.to_bytes(), state.copy()
                calls = [lambda: feed(state, "a", other), state.snapshot, state.copy, state.reset, state.to_bytes]  # noqa: B023
                if "Rolling" not in name:
                    calls += [lambda: state.merge(twin), lambda: twin.merge(state)]  # noqa: B023
                with locked(state)._writing():
                    for call in calls:
                        refused(call, RuntimeError, "in the middle of another one")
                with locked(state)._reading():
                    assert state.to_bytes() == before
                    refused(state.reset, RuntimeError, "Expected no call of a")
                feed(state, "a", other)
                assert state.n == 2


def test_writers_and_readers_wait_for_a_section() -> None:
    """A thread that counts or reads while a section of another one is open goes on when it is closed."""
    with every_case() as case:
        for name, make in MAKES.items():
            with case(name):
                state, done = make(), []
                tasks = [lambda: feed(state, "a", "a"), lambda: feed(state, ("t", 1), None)]  # noqa: B023
                tasks += [state.to_bytes, state.snapshot]
                threads = [threading.Thread(target=lambda task=task: done.append(task())) for task in tasks]  # noqa: B023
                with locked(state)._writing():
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
    state = sm.ConfusionMatrix()

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    def wait() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        state.update("a", "b")

    before = signal.signal(signal.SIGALRM, interrupt)
    with locked_by_another(state):
        try:
            with pytest.raises(KeyboardInterrupt):
                wait()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    state.update("a", "a")
    assert (state.n, state.correct) == (1, 1)


@pytest.mark.skipif(not HAS_FORK, reason="there is no fork here")
def test_a_forked_child_can_use_a_state_that_was_locked() -> None:
    """The threads of the parent are not in the child, so their sections are closed there; threads can share it."""
    with every_case() as case:
        for name, make in MAKES.items():
            with case(name):
                state = make()
                feed(state, "a", "a")
                reader = threading.Thread(target=state.to_bytes)
                with locked_by_another(state), warnings.catch_warnings():
                    reader.start()
                    reader.join(0.02)  # it waits at the lock while the process forks
                    warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
                    child = os.fork()
                    if child == 0:
                        os._exit(count_in_child(state))
                reader.join(100)
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
                assert state.n == 1


def count_in_child(state: Any) -> int:
    """Count in three threads of a forked process, and return its status."""
    signal.alarm(100)

    def count() -> None:
        for _ in range(100):
            feed(state, ("t", 1), "b", 0.5)
            state.to_bytes()

    threads = [threading.Thread(target=count) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 0 if state.n in (301, 20) else 1
