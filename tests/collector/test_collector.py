"""The collector without HTTP: counts after any sequence of events, also if writing fails at any step."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.collector_server import (
    Collector,
    CollectorStore,
    CollectorUnavailable,
    Disk,
    Options,
    WorkerReport,
    counted,
)
from support.command_line import until
from support.refusals import refused

import stream_metrics as sm
from stream_metrics import PutResult

ACCEPTED, DUPLICATE, STALE, FENCED = PutResult
SLOW = Options(silent=60, retire=3600, forget=7200)


def sent(collector: Collector, worker: str, epoch: int, sequence: int, n: int, **more: Any) -> PutResult:
    """Send a report of n samples."""
    return collector.report(WorkerReport(worker, epoch, sequence, counted(n).to_bytes(), **more))


def started(collector: Collector, worker: str, n: int, **more: Any) -> int:
    """Register a worker and send its first report."""
    epoch = collector.register(worker)
    assert sent(collector, worker, epoch, 1, n, **more) is ACCEPTED
    return epoch


def live(collector: Collector) -> list[str]:
    """Return the workers that are neither retired nor finished."""
    return [name for name, (life, _) in collector.lives().items() if life.standing == "live"]


@contextlib.contextmanager
def collecting(path: Path, options: Options = SLOW) -> Iterator[Collector]:
    """Run a collector whose file is there."""
    with Collector(CollectorStore(str(path)), options) as collector:
        yield collector


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a file will be."""
    return tmp_path / "agg.sqlite"


def test_epochs_of_another_file(file: Path) -> None:
    """One that leaves no epochs for later workers is refused; one of a file that is gone is taken."""
    for epoch in (2**63 - 1, 2**62, 2**61 + 5):
        with collecting(file) as collector:
            error: Any = refused(lambda: sent(collector, "w", epoch, 1, 3), sm.LabelError)  # noqa: B023
            assert (error.argument, error.got) == ("epoch", epoch)
            assert (collector.lives(), collector.refused) == ({}, {"label": 1})
            assert collector.alive
            assert collector.register("other") < 2**40
    epoch = (1_000_000 << 32) + 17
    with collecting(file) as collector:
        assert sent(collector, "w", epoch, 4, 3) is ACCEPTED
        assert epoch < collector.register("w") < 2 * epoch
        assert sent(collector, "w", epoch, 5, 4) is ACCEPTED


def test_a_total_is_stored(file: Path) -> None:
    """What was reported is there after a restart, byte for byte, and goes on to be replaced."""
    with collecting(file) as collector:
        for worker in "xyz":
            epoch = started(collector, worker, 2)
            assert sent(collector, worker, epoch, 2, 5) is ACCEPTED
            assert sent(collector, worker, epoch, 2, 5) is DUPLICATE
            assert sent(collector, worker, epoch, 1, 2) is STALE
            assert sent(collector, worker, 1, 9, 9) is FENCED
        assert collector.outcomes == {"accepted": 6, "duplicate": 3, "stale": 3, "fenced": 3}
    with collecting(file) as collector:
        assert collector.total().to_bytes() == counted(15).to_bytes()
        assert sent(collector, "z", epoch, 3, 6) is ACCEPTED
        assert sent(collector, "z", epoch, 2, 5) is STALE
        assert collector.register("w") > epoch
        assert collector.total() == counted(16)


def test_lives_of_a_worker(file: Path) -> None:
    """The counts of an earlier life stay, or are replaced by those of a checkpoint; the earlier life is fenced.

    A worker that finishes is retired at once, unless its next life may replace its counts.
    """
    with collecting(file) as collector:
        for worker, fold in (("from nothing", True), ("from a checkpoint", False)):
            first = started(collector, worker, 3, fold=fold)
            second = collector.register(worker)
            sent(collector, worker, first, 2, 4, fold=fold)  # still the only one that has reported
            sent(collector, worker, second, 1, 5, fold=fold, last=True)
            assert sent(collector, worker, first, 3, 9, fold=fold) is FENCED
        assert collector.total() == counted(4 + 5 + 5)
        standing = {name: life.standing for name, (life, _) in collector.lives().items()}
        assert standing == {"from nothing": "finished", "from a checkpoint": "live"}
        started(collector, "from a checkpoint", 7, fold=False)
        started(collector, "from nothing", 6, fold=False)  # replaces 5 in the base
        assert collector.total() == counted(4 + 6 + 7)
    with collecting(file) as collector:
        assert collector.total() == counted(4 + 6 + 7)
        assert sent(collector, worker, first, 3, 9) is FENCED


@pytest.mark.parametrize("restart", [False, True])
def test_a_silent_worker_is_retired_and_comes_back(file: Path, restart: bool) -> None:
    """Its counts stay while it is away; when it reports again nothing is lost and nothing counts twice."""
    options = Options(silent=0.01, retire=0.05, forget=3600)
    with contextlib.ExitStack() as stack:
        collector = stack.enter_context(collecting(file, options))
        x, _ = started(collector, "x", 3), started(collector, "y", 3)
        until(lambda: not live(collector))
        if restart:
            stack.close()
            collector = stack.enter_context(collecting(file, options))
        assert collector.total() == counted(6)
        assert sent(collector, "x", x, 1, 3) is DUPLICATE  # a late message is no sign of life
        assert (live(collector), collector.total()) == ([], counted(6))
        assert sent(collector, "x", x, 2, 5) is ACCEPTED
        assert collector.total() == counted(8)
        started(collector, "y", 1)
        assert collector.total() == counted(9)
        stack.close()
        collector = stack.enter_context(collecting(file, options))
        assert collector.total() == counted(9)


def test_a_worker_that_is_forgotten(file: Path) -> None:
    """Its counts stay, its state leaves the file, and what comes of it later is fenced, also after a restart."""
    options = Options(silent=0.01, retire=0.02, forget=0.03)
    with collecting(file, options) as collector:
        epochs = {str(at): started(collector, str(at), 2) for at in range(50)}
        until(lambda: not collector.lives())
        assert collector.lives_in_base == 50
    with collecting(file, options) as collector:
        assert collector.total() == counted(100)
        assert {sent(collector, worker, epoch, 2, 3) for worker, epoch in epochs.items()} == {FENCED}
        started(collector, "new", 1)
        assert collector.total() == counted(101)
    with sqlite3.connect(file) as connection:
        assert connection.execute("select count(*) from workers").fetchone()[0] <= 1


def test_the_last_report_is_sent_again(file: Path) -> None:
    """The answer was lost, and the collector started again long after: the report is known and counts once."""
    options = Options(silent=0.01, retire=0.01, finished=3600)
    with collecting(file, options) as collector:
        epoch = started(collector, "worker", 2, last=True)
    with sqlite3.connect(file) as connection:
        connection.execute("update workers set seen = seen - 86400")
    with collecting(file, options) as collector:
        started(collector, "other", 1)
        until(lambda: not live(collector))  # it has looked who is silent
        assert sent(collector, "worker", epoch, 2, 2, last=True) is ACCEPTED
        assert collector.total() == counted(3)


def test_bad_reports_change_nothing(file: Path) -> None:
    """They raise the reason, are counted by it, and widen no labels; one that contradicts an option is not sent again.

    More labels of a state that is fenced, or does not merge, do not become those of the total.
    """
    old, weights, more = sm.MetricSet(labels=["a", "b"]), {"a": 1, "b": 2}, ["a", "b", "c"]
    old.update("a", "a")
    wide = sm.MetricSet(labels=more).to_bytes()
    with collecting(file) as collector:
        epoch, other = collector.register("w"), collector.register("v")
        assert collector.report(WorkerReport("w", epoch, 2, old.to_bytes())) is ACCEPTED
        assert collector.report(WorkerReport("w", epoch - 1, 1, wide)) is FENCED
        assert collector.report(WorkerReport("w", epoch, 1, wide)) is STALE
        refused(lambda: collector.report(WorkerReport("w", epoch, 3, b"nothing")), sm.DecodeError)
        for state in (
            sm.ConfusionMatrix(),
            sm.MetricSet(labels=more, scores=True),
            sm.ByGroup(sm.MetricSet(labels=more)),
        ):
            refused(lambda: collector.report(WorkerReport("v", other, 1, state.to_bytes())), sm.MergeError)  # noqa: B023
        refused(lambda: collector.report(WorkerReport("w", epoch, 2, wide)), sm.MergeError)
        assert collector.refused == {"decode": 1, "merge": 4}
        assert [letter.topic for letter in collector.letters] == [*"wvvvw"]
        assert collector.total().to_bytes() == old.to_bytes()
        assert collector.report(WorkerReport("w", epoch, 3, wide)) is ACCEPTED
    with collecting(file.with_name("metric")) as collector:
        weighted = sm.WeightedBalancedAccuracy(weights=weights, labels=[*weights])
        total = sm.WeightedBalancedAccuracy(weights=weights | {"c": 3}, labels=more)
        total.update("c", "c")
        assert collector.report(WorkerReport("new", collector.register("new"), 1, total.to_bytes())) is ACCEPTED
        each = WorkerReport("old", collector.register("old"), 1, weighted.to_bytes())
        refused(lambda: collector.report(each), sm.MergeError)
        assert collector.alive
        assert collector.total() == total


def script(collector: Collector, told: list[Any], epochs: dict[str, int]) -> None:
    """Have two workers live through everything; a report that was not stored is sent again."""
    fresh = {}
    for life in ("a", "b", "a again"):
        for _ in range(3):
            with contextlib.suppress(CollectorUnavailable):
                fresh[life] = collector.register(life[0])
                break
        else:
            return  # the process has ended
    epochs |= {name: epochs.get(name, epoch) for name, epoch in fresh.items()}
    for worker, life, sequence, n, last in (
        ("a", "a", 1, 2, False),
        ("b", "b", 1, 10, True),
        ("a", "a again", 1, 100, False),
        ("b", "b", 2, 20, False),
        ("b", "b", 3, 30, True),
    ):
        for _ in range(3):
            with contextlib.suppress(CollectorUnavailable):
                told.append(sent(collector, worker, epochs[life], sequence, n, last=last))
                break


@pytest.mark.parametrize("crash", [False, True])
def test_a_failure_at_any_step_of_writing(tmp_path: Path, disk: Disk, crash: bool) -> None:
    """What is not stored is not acknowledged; sent again it counts once, in memory and in the file.

    If the process ends there, the file has all that was acknowledged, and the rest is reported again.
    """
    at, steps = 0, 1
    while at < steps:
        at += 1
        told: list[Any] = []
        epochs: dict[str, int] = {}
        with collecting(tmp_path / f"{at}.sqlite") as collector:
            disk.fail(at, for_good=crash)
            script(collector, told, epochs)
            steps = max(steps, disk.seen)
            if not crash:
                assert told == [ACCEPTED] * 5, at
                assert collector.total() == counted(132), at
        disk.fail(0)
        with collecting(tmp_path / f"{at}.sqlite") as collector:
            if acknowledged := told.count(ACCEPTED):
                assert collector.total().n >= [2, 12, 112, 122, 132][acknowledged - 1]
            if crash:
                script(collector, [], epochs)
            assert collector.total() == counted(132), at
    assert steps > 15


def test_many_at_once(file: Path) -> None:
    """Reports that arrive while others are written are one batch, and each is answered for itself."""
    with collecting(file) as collector:
        results: list[Any] = []

        def work(at: int) -> None:
            results.append(sent(collector, f"w{at}", collector.register("w"), 1, at))

        with ThreadPoolExecutor(60) as threads:
            list(threads.map(work, range(60)))
        assert results == [ACCEPTED] * 60
        assert collector.total() == counted(sum(range(60)))


MAKES: list[Callable[..., Any]] = [
    sm.MetricSet,
    sm.ConfusionMatrix,
    sm.MacroF1,
    lambda labels: sm.ByGroup(sm.MetricSet(labels=labels)),
]
