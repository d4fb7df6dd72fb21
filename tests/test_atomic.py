"""No operation of a state, metric, set or comparison can be left half done, whatever stops it.

An operation is stopped by an exception at any line of the package, by a handler of a signal at any moment, and by a
failed allocation at any point. Then the object has the bytes from before or from after the operation, those from before
if an allocation failed; the operation can be done again, and other threads are not locked out.
"""

import gc
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from support.stopping import Stop, stopped_at

import stream_metrics as sm
from stream_metrics._core.numeric.kernels import commit

DENSE = 100 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 15  # of this many lines, one more is left out

LABELS = ["cat", "dog", "fox"] * 6
OTHERS = ["dog", "dog", "eel"] * 6
WEIGHTS = [1, 2, 0.5] * 6
SCORES = [{"cat": 0.5, "dog": 0.3, "fox": 0.2}, {"dog": 0.75, "cat": 0.25}, {"eel": 0.5, "fox": 0.3, "dog": 0.2}] * 6
LOSSES = [round(i * 0.37 % 1, 2) for i in range(18)]
UNITS = [1, 2, 3] * 6
GROUPS, TIMES = ["g", "h", 1] * 6, [*range(0, 180, 10)]
SETS = [{"cat"}, {"dog", "fox"}, set[str]()] * 6
TRUTHS = {"detector": LOSSES, "several labels": SETS, "scores of labels": SETS}


class Closing(sm.TimeWindow):
    """A window whose bytes here have the windows that closed, too, at the latest by the next call; copies keep them."""

    def copy(self) -> sm.TimeWindow:
        twin = super().copy()
        twin.on_close, twin._closed, twin._closed_to = "keep", deque(self._closed), self._closed_to
        return twin

    def to_bytes(self) -> bytes:
        self._expire_due()
        return super().to_bytes() + b"".join(each.state.to_bytes() for each in self._closed)


class Workers(sm.Aggregate):
    """Workers that have each counted a batch; the first one is retired."""

    def update_many(self, truth: Any) -> None:
        for at, name in enumerate("uvw"):
            self.put(name, counted(truth[at:]), 1)
        self.retire("u")


def counted(truth: list[Any]) -> sm.MetricSet:
    """Return a set that has counted a batch."""
    state = sm.MetricSet()
    state.update_many(truth, OTHERS[: len(truth)])
    return state


# how each kind is made, and the arguments of a batch; a unit goes with every other one
KINDS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "matrix": (sm.ConfusionMatrix, {"y_pred": OTHERS, "w": WEIGHTS}),
    "hashed": (lambda: sm.ConfusionMatrix.from_counts(range(40), range(40), [1] * 40), {"y_pred": OTHERS}),
    "sketch": (lambda: sm.RankSketch(buckets=4, sample=3), {"scores": SCORES, "w": WEIGHTS}),
    "losses": (sm.ProbabilityLosses, {"scores": SCORES, "w": WEIGHTS}),
    "metric": (sm.MacroF1, {"y_pred": OTHERS, "unit": UNITS}),
    "set of labels": (sm.MetricSet, {"y_pred": OTHERS, "unit": UNITS}),
    "set of scores": (lambda: sm.MetricSet(scores=True), {"scores": SCORES, "w": WEIGHTS}),
    "coarse set": (lambda: sm.MetricSet(scores=True, buckets=4, sample=3), {"scores": SCORES}),
    "set of two": (lambda: sm.MetricSet(["roc_auc", "log_loss"]), {"scores": SCORES, "unit": UNITS}),
    "set of units": (lambda: sm.MetricSet(scores=True), {"scores": SCORES, "unit": UNITS}),
    "comparison": (sm.Comparison, {"pred_a": OTHERS, "pred_b": LABELS, "unit": UNITS}),
    "comparison of scores": (lambda: sm.Comparison(scores=True), {"pred_a": SCORES, "pred_b": SCORES[::-1]}),
    "several labels": (sm.MultiLabel, {"y_pred": SETS[1:] + SETS[:1], "w": WEIGHTS}),
    "scores of labels": (
        lambda: sm.MultiLabel(labels=["cat", "dog", "fox"], scores=True),
        {"scores": [dict(zip(("cat", "dog", "fox"), LOSSES[at:], strict=False)) for at in range(15)] + 3 * [None]},
    ),
    "detector": (lambda: sm.ChangeDetector(0.1, arl=30), {}),
    "window": (lambda: Closing(sm.MetricSet(), 40, 4, 15, on_close="keep"), {"y_pred": OTHERS, "t": TIMES}),
    "window without late samples": (lambda: sm.TimeWindow(sm.Accuracy(), 40, 4), {"y_pred": OTHERS, "t": TIMES}),
    "fading": (lambda: sm.Fading(sm.MetricSet(), "1s"), {"y_pred": OTHERS, "t": TIMES}),
    "rolling": (lambda: sm.Rolling(sm.MetricSet(), 5), {"y_pred": OTHERS, "w": WEIGHTS}),
    "groups": (lambda: sm.ByGroup(sm.MetricSet()), {"y_pred": OTHERS, "group": GROUPS}),
    "groups of scores": (lambda: sm.ByGroup(sm.MetricSet(scores=True)), {"scores": SCORES, "group": GROUPS}),
    "folded groups": (lambda: sm.ByGroup(sm.MetricSet(), 2), {"y_pred": OTHERS, "group": GROUPS}),
    "workers": (Workers, {}),
}  # fmt: skip


def _batch(kind: str, **more: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    arguments = KINDS[kind][1] | more
    return (TRUTHS.get(kind, LABELS),), arguments


def _sample(kind: str, at: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    (truth,), columns = _batch(kind)
    return (truth[at],), {name: values[at] for name, values in columns.items()}


def _new(kind: str, *batches: int) -> Any:
    """Return an object that has counted a batch so many times, from another row on each time."""
    state = KINDS[kind][0]()
    for first in batches:
        (truth,), columns = _batch(kind)
        state.update_many(truth[first:], **{name: values[first:] for name, values in columns.items()})
    return state


def _operations(kind: str) -> dict[str, Callable[[Any], object]]:
    """Return what is done to an object of a kind, by name."""
    if kind == "workers":
        return {
            "put": lambda state: state.put("v", counted(LABELS), 2),
            "fold": lambda state: state.put("v", counted(LABELS), 1, 5, fold=True),
            "expire": lambda state: state.expire(0),
            "drop": lambda state: state.drop("v"),
            "compact": lambda state: state.compact(),
            "merge": lambda state: state.merge(sm.Aggregate()),
            "reset": lambda state: state.reset(),
        }
    (truth,), columns = _batch(kind)
    single, more = _sample(kind, 2)
    if "t" in more:  # the time moves on in each operation
        columns["t"], more["t"] = [t + 30 for t in columns["t"]], 195
    operations: dict[str, Callable[[Any], object]] = {
        "update": lambda state: state.update(*single, **more),
        "update_many": lambda state: state.update_many(truth, **columns),
        "reset": lambda state: state.reset(),
    }
    if "window" in kind:
        late = {**more, "t": 165}
        operations["advance"] = lambda state: state.advance(195)
        operations["late"] = lambda state: state.update(*single, **late)
        operations["snapshot"] = lambda state: state.snapshot()
    if kind not in ("detector", "rolling"):
        other = _new(kind, 1)
        if "window" in kind:
            other.advance(195)
        operations["merge"] = lambda state: state.merge(other)
        new = {**more, **{name: {"yak": 0.5, "emu": 0.5} for name in more if isinstance(more[name], dict)}}
        new |= {name: "new" for name in more if name == "group"}
        if kind != "scores of labels":
            operations["update, new label"] = lambda state: state.update({"owl"} if kind in TRUTHS else "owl", **new)
    if hasattr(KINDS[kind][0](), "revert") and kind not in ("sketch", "coarse set"):
        operations["revert"] = lambda state: state.revert(*single, **more)
    if kind in ("set of scores", "coarse set"):
        operations["remove"] = lambda state: state.remove(*single, **more)
    if kind == "set of two":
        less = sm.MetricSet(["roc_auc"])
        less.update_many(truth, **columns)
        operations["merge of less"] = lambda state: state.merge(less)
    return operations


CASES = [(kind, name) for kind in KINDS for name in _operations(kind)]


def _check(state: Any, before: bytes, operation: Callable[[Any], object], after: bytes) -> None:
    """Check an object after its operation was stopped."""
    data: list[bytes] = []
    reader = threading.Thread(target=lambda: data.append(state.to_bytes()), daemon=True)
    reader.start()
    reader.join(20)
    assert data, "another thread is locked out"
    assert data[0] in (before, after), "half done"
    if data[0] == before != after:
        operation(state)
        assert state.to_bytes() == after
    if state.n:
        assert state.snapshot() == state.copy().snapshot(), "a merge of before"


def _before_and_after(kind: str, name: str) -> tuple[Callable[[Any], object], Any, bytes, bytes]:
    operation, state = _operations(kind)[name], _new(kind, 0)
    before = state.to_bytes()
    done = state.copy()
    operation(done)
    return operation, state, before, done.to_bytes()


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_an_exception_at_any_line_leaves_an_operation_whole(kind: str, name: str) -> None:
    """The k-th line that runs inside the package raises, for the first few k and some beyond; every night for more."""
    operation, state, before, after = _before_and_after(kind, name)
    line, stopped = 1, True
    while stopped:
        twin = state.copy() if line % 2 else _new(kind, 0)  # which shares no states
        stopped = stopped_at(line, lambda twin=twin: operation(twin))
        _check(twin, before, operation, after)
        line += 1 + line // DENSE  # most lines of long operations read the columns


@pytest.mark.parametrize(("kind", "name"), CASES)
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals of a timer are those of Unix")
def test_a_signal_at_any_moment_leaves_an_operation_whole(kind: str, name: str) -> None:
    """The handler of a real signal raises."""

    armed = False

    def handler(signum: int, frame: FrameType | None) -> None:
        nonlocal armed
        if armed:
            armed = False
            raise Stop

    operation, state, before, after = _before_and_after(kind, name)
    old = signal.signal(signal.SIGALRM, handler)
    gc.disable()  # a collection runs a callback of Hypothesis, in which the exception would be lost
    try:
        for delay in range(50):
            twin = state.copy()
            try:
                armed = True
                signal.setitimer(signal.ITIMER_REAL, 1e-6 * (1 + delay * 6))
                operation(twin)
                armed = False
            except Stop:
                pass
            _check(twin, before, operation, after)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
        gc.enable()


def _failed_allocations(kind: str) -> Iterator[str]:
    """Let allocations of every operation fail, one each time; yield what is wrong.

    They fail in the commit point, or in an operation without one: before it NumPy and msgspec read the arguments, which
    may crash themselves.
    """
    import _testcapi

    at, failing = None, False

    def without_memory(function: Callable[[Any], object], argument: Any) -> None:
        nonlocal failing
        failing = True
        if at is None:
            function(argument)
            return
        _testcapi.set_nomemory(at, at + 1)
        try:
            function(argument)
        finally:
            _testcapi.remove_mem_hooks()

    for module in [module for name, module in sys.modules.items() if name.startswith("stream_metrics.")]:
        if getattr(module, "commit", None) is commit:
            vars(module)["commit"] = partial(without_memory, commit)
    for name in _operations(kind):
        failing = False
        operation, state, before, after = _before_and_after(kind, name)
        failing = False
        operation(state.copy())
        whole, failed_at, successes = not failing, 0, 0
        while successes < 20:  # an operation can do without some allocations, so one success is not the end
            twin, at, possible = state.copy(), failed_at, after
            try:
                without_memory(operation, twin) if whole else operation(twin)
                successes += 1
            except BaseException:
                successes, possible = 0, before
            at = None  # what follows has memory
            try:
                assert twin.to_bytes() == possible, "an error after all was counted"
                _check(twin, before, operation, after)
            except AssertionError as error:
                yield f"{kind}, {name}, allocation {failed_at}: {error}"
            failed_at += 1 + failed_at // 50


@pytest.mark.parametrize("kind", KINDS)
def test_a_failed_allocation_leaves_an_operation_whole(kind: str) -> None:
    """So it does at every point; in a process of its own, which a crash would end."""
    pytest.importorskip("_testcapi", reason="CPython was built without _testcapi")
    code = f"import test_atomic as t; print(*t._failed_allocations({kind!r}), sep='\\n')"
    folder = Path(__file__).parent
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, cwd=folder)
    assert (run.returncode, run.stdout.strip()) == (0, ""), run.stderr[-2000:]


def test_a_merge_while_a_batch_is_read_loses_nothing() -> None:
    """A merge that leaves less to be counted replaces states; the batch is counted in those that are left."""
    state = sm.MetricSet(["roc_auc", "log_loss"])

    class Merging(dict[Any, float]):
        def items(self) -> Any:
            state.merge(sm.MetricSet(["roc_auc"]))
            return super().items()

    state.update(0, scores={1: 0.25, 0: 0.75})
    state.update_many([1, 0], scores=[Merging({1: 0.7, 0: 0.3}), {1: 0.5, 0: 0.5}])
    assert state.n == state.scored.ranks.n == 3
    assert state.score_states == ("ranks",)
