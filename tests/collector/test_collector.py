"""The collector without HTTP: counts after any sequence of events, also if writing fails at any step."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.collector_server import Collector, Disk, Options, Report, Store, Unavailable, counted
from support.command_line import until

import stream_metrics as sm
from stream_metrics import PutResult

ACCEPTED, DUPLICATE, STALE, FENCED = PutResult
SLOW = Options(silent=60, retire=3600, forget=7200)


def report(worker: str, epoch: int, sequence: int, n: int, **more: Any) -> Report:
    """Return a report of n samples."""
    return Report(worker, epoch, sequence, counted(n).to_bytes(), **more)


@contextlib.contextmanager
def collecting(path: Path, options: Options = SLOW) -> Iterator[Collector]:
    """Run a collector whose file is there."""
    with Collector(Store(str(path)), options) as collector:
        yield collector


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a file will be."""
    return tmp_path / "agg.sqlite"


def test_an_epoch_that_was_never_given_out_is_refused(file: Path) -> None:
    """It would leave no epochs for workers that start later; nothing changes, not even the labels."""
    for epoch in (2**63 - 1, 2**62, 2**61 + 5):
        with collecting(file) as collector:
            with pytest.raises(sm.LabelError) as caught:
                collector.report(report("w", epoch, 1, 3))
            assert (caught.value.argument, caught.value.got) == ("epoch", epoch)
            assert (collector.lives(), collector.refused) == ({}, {"label": 1})
            assert collector.alive
            assert collector.register("other") < 2**40


def test_epochs_of_a_lost_file_are_taken(file: Path) -> None:
    """A worker whose epoch came from a file that is gone goes on, and later epochs are larger."""
    epoch = (1_000_000 << 32) + 17
    with collecting(file) as collector:
        assert collector.report(report("w", epoch, 4, 3)) is ACCEPTED
        assert epoch < collector.register("w") < 2 * epoch
        assert collector.report(report("w", epoch, 5, 4)) is ACCEPTED


def test_a_total_is_stored(file: Path) -> None:
    """What was reported is there after a restart, byte for byte, and goes on to be replaced."""
    with collecting(file) as collector:
        for worker in "xyz":
            epoch = collector.register(worker)
            assert collector.report(report(worker, epoch, 1, 2)) is ACCEPTED
            assert collector.report(report(worker, epoch, 2, 5)) is ACCEPTED
            assert collector.report(report(worker, epoch, 2, 5)) is DUPLICATE
            assert collector.report(report(worker, epoch, 1, 2)) is STALE
            assert collector.report(report(worker, 1, 9, 9)) is FENCED
        assert collector.outcomes == {"accepted": 6, "duplicate": 3, "stale": 3, "fenced": 3}
    with collecting(file) as collector:
        assert collector.total().to_bytes() == counted(15).to_bytes()
        assert collector.report(report("z", epoch, 3, 6)) is ACCEPTED
        assert collector.report(report("z", epoch, 2, 5)) is STALE
        assert collector.register("w") > epoch
        assert collector.total() == counted(16)


@pytest.mark.parametrize("restart", [False, True])
def test_lives_of_a_worker(file: Path, restart: bool) -> None:
    """The counts of an earlier life stay, or are replaced by those of a checkpoint; the earlier life is fenced."""
    with collecting(file) as collector:
        for worker, fold in (("from nothing", True), ("from a checkpoint", False)):
            first = collector.register(worker)
            collector.report(report(worker, first, 1, 3, fold=fold))
            second = collector.register(worker)
            collector.report(report(worker, first, 2, 4, fold=fold))  # still the only one that has reported
            collector.report(report(worker, second, 1, 5, fold=fold))
            assert collector.report(report(worker, first, 3, 9, fold=fold)) is FENCED
        if not restart:
            assert collector.total() == counted(4 + 5 + 5)
    with collecting(file) as collector:
        assert collector.total() == counted(4 + 5 + 5)
        assert collector.report(report(worker, first, 3, 9)) is FENCED


@pytest.mark.parametrize("restart", [False, True])
def test_a_silent_worker_is_retired_and_comes_back(file: Path, restart: bool) -> None:
    """Its counts stay while it is away; when it reports again nothing is lost and nothing counts twice."""
    options = Options(silent=0.01, retire=0.05, forget=3600)
    with contextlib.ExitStack() as stack:
        collector = stack.enter_context(collecting(file, options))
        epochs = {worker: collector.register(worker) for worker in "xy"}
        for worker, epoch in epochs.items():
            collector.report(report(worker, epoch, 1, 3))
        until(lambda: not collector.aggregate().workers())
        if restart:
            stack.close()
            collector = stack.enter_context(collecting(file, options))
        assert collector.total() == counted(6)
        assert collector.report(report("x", epochs["x"], 1, 3)) is FENCED  # a late message is no sign of life
        assert collector.total() == counted(6)
        assert collector.report(report("x", epochs["x"], 2, 5)) is ACCEPTED
        assert collector.total() == counted(8)
        assert collector.report(report("y", collector.register("y"), 1, 1)) is ACCEPTED
        assert collector.total() == counted(9)
        stack.close()
        collector = stack.enter_context(collecting(file, options))
        assert collector.total() == counted(9)


def test_a_worker_that_is_forgotten(file: Path) -> None:
    """Its counts stay, its state leaves the file, and what comes of it later is fenced, also after a restart."""
    options = Options(silent=0.01, retire=0.02, forget=0.03)
    with collecting(file, options) as collector:
        epochs = {str(at): collector.register(str(at)) for at in range(50)}
        for worker, epoch in epochs.items():
            collector.report(report(worker, epoch, 1, 2))
        until(lambda: not collector.lives())
        assert collector.lives_in_base == 50
    with collecting(file, options) as collector:
        assert collector.total() == counted(100)
        for worker, epoch in epochs.items():
            assert collector.report(report(worker, epoch, 2, 3)) is FENCED
        assert collector.report(report("new", collector.register("new"), 1, 1)) is ACCEPTED
        assert collector.total() == counted(101)
    with sqlite3.connect(file) as connection:
        assert connection.execute("select count(*) from workers").fetchone()[0] <= 1


@pytest.mark.parametrize("restart", [False, True])
def test_the_first_report_of_a_worker_is_late(file: Path, restart: bool) -> None:
    """What it counts is counted once, though workers that registered after it have come and were forgotten."""
    quick = Options(retire=3600, forget=7200, finished=0.05)
    with collecting(file, quick) as collector:
        late, later = collector.register("late"), collector.register("later")
        assert collector.report(report("later", later, 1, 5, last=True)) is ACCEPTED
        until(lambda: not collector.lives())
        if not restart:
            assert collector.report(report("late", late, 1, 1, last=True)) is ACCEPTED
    with collecting(file, quick) as collector:
        if restart:
            assert collector.register("other") > later
            assert collector.report(report("never registered", late, 1, 1)) is FENCED
            assert collector.report(report("late", late - 1, 1, 1)) is FENCED
            assert collector.report(report("late", late, 1, 1, last=True)) is ACCEPTED
        until(lambda: not collector.lives())
        assert collector.report(report("late", late, 2, 1)) is FENCED
        assert collector.total() == counted(6)
    with collecting(file, quick) as collector:
        assert collector.report(report("late", late, 2, 1)) is FENCED
        assert collector.total() == counted(6)


def test_the_last_report_is_sent_again(file: Path) -> None:
    """The answer was lost, and the collector started again long after: the report is known and counts once."""
    options = Options(silent=0.01, retire=0.01, finished=3600)
    with collecting(file, options) as collector:
        epoch = collector.register("worker")
        assert collector.report(report("worker", epoch, 1, 2, last=True)) is ACCEPTED
    with sqlite3.connect(file) as connection:
        connection.execute("update workers set seen = seen - 86400")
    with collecting(file, options) as collector:
        collector.report(report("other", collector.register("other"), 1, 1))
        until(lambda: not collector.aggregate().workers())  # it has looked who is silent
        assert collector.report(report("worker", epoch, 2, 2, last=True)) is ACCEPTED
        assert collector.total() == counted(3)


def test_a_worker_that_finishes_is_retired_at_once(file: Path) -> None:
    """Unless its next life replaces its counts, for which they must not be mixed with others."""
    with collecting(file) as collector:
        for worker, fold in (("ends", True), ("from a checkpoint", False)):
            collector.report(report(worker, collector.register(worker), 1, 2, fold=fold, last=True))
        assert {name: life.standing for name, (life, _) in collector.lives().items()} == {
            "ends": "finished",
            "from a checkpoint": "live",
        }
        collector.report(report("from a checkpoint", collector.register(worker), 1, 7, fold=False))
        assert collector.total() == counted(9)


def test_a_checkpoint_replaces_what_was_retired(file: Path) -> None:
    """A life that contains the counts of one that was retired takes them out of the base."""
    with collecting(file) as collector:
        collector.report(report("w", collector.register("w"), 1, 2, last=True))
        collector.report(report("v", collector.register("v"), 1, 1, last=True))
        collector.report(report("w", collector.register("w"), 1, 5, fold=False))
        assert collector.total() == counted(6)
    with collecting(file) as collector:
        assert collector.total() == counted(6)


def test_bad_reports_change_nothing(file: Path) -> None:
    """They raise the reason, are counted by it, and do not affect others of their batch."""
    with collecting(file) as collector:
        epoch = collector.register("w")
        collector.report(report("w", epoch, 1, 2))
        with pytest.raises(sm.DecodeError):
            collector.report(Report("w", epoch, 2, b"nothing"))
        with pytest.raises(sm.MergeError):
            collector.report(Report("v", collector.register("v"), 1, sm.ConfusionMatrix().to_bytes()))
        with pytest.raises(sm.MergeError):
            collector.report(report("w", epoch, 1, 3))
        assert collector.refused == {"decode": 1, "merge": 2}
        assert [letter.topic for letter in collector.letters] == ["w", "v", "w"]
        assert collector.total() == counted(2)


def test_refused_labels_widen_nothing(file: Path) -> None:
    """More labels of a state that is fenced, or does not merge, do not become those of the total."""
    with collecting(file) as collector:
        old = sm.MetricSet(labels=["a", "b"])
        old.update("a", "a")
        epoch = collector.register("w")
        assert collector.report(Report("w", epoch, 2, old.to_bytes())) is ACCEPTED
        more = ["a", "b", "c"]
        wide = sm.MetricSet(labels=more).to_bytes()
        assert collector.report(Report("w", epoch - 1, 1, wide)) is FENCED
        assert collector.report(Report("w", epoch, 1, wide)) is STALE
        for other in (sm.MetricSet(labels=more, scores=True), sm.ByGroup(sm.MetricSet(labels=more))):
            with pytest.raises(sm.MergeError):
                collector.report(Report("x", collector.register("x"), 1, other.to_bytes()))
        assert collector.total().to_bytes() == old.to_bytes()
        assert collector.report(Report("w", epoch, 3, wide)) is ACCEPTED


def test_options_that_more_labels_contradict(file: Path) -> None:
    """A metric with weights of the old labels is refused, not to be sent again, and nothing else is."""
    weighted = sm.WeightedBalancedAccuracy(weights={"a": 1, "b": 2}, labels=["a", "b"])
    more = {"a": 1, "b": 2, "c": 3}
    wide = sm.WeightedBalancedAccuracy(weights=more, labels=list(more))
    wide.update("c", "c")
    with collecting(file) as collector:
        assert collector.report(Report("new", collector.register("new"), 1, wide.to_bytes())) is ACCEPTED
        with pytest.raises(sm.MergeError):
            collector.report(Report("old", collector.register("old"), 1, weighted.to_bytes()))
        assert collector.alive
        assert collector.total() == wide


def test_a_file_has_one_collector(file: Path, tmp_path: Path) -> None:
    """A second one is refused, and so is a file of something else, which stays as it is."""
    other = tmp_path / "other.sqlite"
    with contextlib.closing(sqlite3.connect(other)) as connection:
        connection.execute("create table t (x)")
    before = other.read_bytes()
    with collecting(file):
        for path in (file, other, tmp_path / "none" / "agg.sqlite"):
            with pytest.raises(sm.StreamMetricsError):
                Store(str(path))
    assert other.read_bytes() == before


def script(collector: Collector, told: list[Any], epochs: dict[str, int]) -> None:
    """Have two workers live through everything; a report that was not stored is sent again."""
    fresh = {}
    for life in ("a", "b", "a again"):
        for _ in range(3):
            with contextlib.suppress(Unavailable):
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
        each = report(worker, epochs[life], sequence, n, last=last)
        for _ in range(3):
            with contextlib.suppress(Unavailable):
                told.append(collector.report(each))
                break


def test_a_failure_at_any_step_of_writing(tmp_path: Path, disk: Disk) -> None:
    """What is not stored is not acknowledged; sent again it counts once, in memory and in the file."""
    at, steps = 0, 1
    while at < steps:
        at += 1
        path = tmp_path / f"{at}.sqlite"
        told: list[Any] = []
        with collecting(path) as collector:
            disk.fail(at)
            script(collector, told, {})
            steps = max(steps, disk.seen)
            assert told == [ACCEPTED] * 5, at
            assert collector.total() == counted(132), at
        disk.fail(0)
        with collecting(path) as collector:
            assert collector.total() == counted(132), at
    assert steps > 15


def test_a_crash_at_any_step_of_writing(tmp_path: Path, disk: Disk) -> None:
    """If the process ends there, the file has all that was acknowledged; the rest is reported again."""
    at, steps = 0, 1
    while at < steps:
        at += 1
        path = tmp_path / f"{at}.sqlite"
        told: list[Any] = []
        epochs: dict[str, int] = {}
        with collecting(path) as collector:
            disk.fail(at, for_good=True)
            script(collector, told, epochs)
            steps = max(steps, disk.seen)
        disk.fail(0)
        with collecting(path) as collector:
            if acknowledged := told.count(ACCEPTED):
                assert collector.total().n >= [2, 12, 112, 122, 132][acknowledged - 1]
            script(collector, [], epochs)
            assert collector.total() == counted(132), at
    assert steps > 15


def test_many_at_once(file: Path) -> None:
    """Reports that arrive while others are written are one batch, and each is answered for itself."""
    with collecting(file) as collector:
        results: list[Any] = []

        def work(at: int) -> None:
            results.append(collector.report(report(f"w{at}", collector.register("w"), 1, at)))

        threads = [threading.Thread(target=work, args=(at,)) for at in range(60)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == [ACCEPTED] * 60
        assert collector.total() == counted(sum(range(60)))
        assert collector.changes < 120


def groups(labels: Any) -> Any:
    """Return groups of sets with fixed labels."""
    return sm.ByGroup(sm.MetricSet(labels=labels))


@pytest.mark.parametrize("make", [sm.MetricSet, sm.ConfusionMatrix, sm.MacroF1, groups])
def test_a_deploy_with_one_more_fixed_label(file: Path, make: Callable[..., Any]) -> None:
    """Old workers, retired ones and new ones go on together, in any order and after a restart; others are refused."""
    more: dict[str, Any] = {"group": "g"} if isinstance(make(labels=["a"]), sm.ByGroup) else {}
    versions = [["a", "b"], ["a", "c", "b"], ["a", "b"], ["d", "b", "c", "a"], ["c", "a", "b"]]
    epochs, states = {}, {}

    def send(collector: Collector, name: str, sequence: int, last: bool = False) -> PutResult:
        states[name].update("a", "b", **more)
        return collector.report(Report(name, epochs[name], sequence, states[name].to_bytes(), last=last))

    with collecting(file) as collector:
        for at, labels in enumerate(versions):
            name = f"w{at}"
            epochs[name], states[name] = collector.register(name), make(labels=labels)
            assert send(collector, name, 1, last=at == 0) is ACCEPTED
        assert collector.total().n == 5
    with collecting(file) as collector:
        for name in states:
            assert send(collector, name, 2) is ACCEPTED
        assert send(collector, "w1", 3, last=True) is ACCEPTED
        epochs["w1"] = collector.register("w1")
        states["w1"] = make(labels=versions[0])
        assert send(collector, "w1", 1) is ACCEPTED
        total = collector.total()
        assert total.n == 12
        for labels in (None, ["a", "e"]):
            with pytest.raises(sm.MergeError):
                collector.report(Report("other", collector.register("other"), 1, make(labels=labels).to_bytes()))
        assert collector.total() == total
    whole = [state.reconfigured(labels=versions[3]) for state in states.values()]
    assert total.n == sm.merge(whole).n + 3
    with collecting(file) as collector:
        assert collector.total() == total
