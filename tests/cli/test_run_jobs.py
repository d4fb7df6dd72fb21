"""``stream-metrics run --jobs``: several workers count the same as one, and end cleanly after errors and Ctrl-C."""

from __future__ import annotations

import contextlib
import gzip
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import stream_metrics as sm
from stream_metrics.cli import interrupts, plans
from stream_metrics.cli.counting import Skipped
from stream_metrics.cli.jobs import WorkerPool
from stream_metrics.cli.plans import Piece
from stream_metrics.cli.progress import Progress
from stream_metrics.cli.reading import Fields
from stream_metrics.cli.scores import Classes
from stream_metrics.cli.sources import InputFile
from stream_metrics.cli.worker import Task

pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
pq = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow with Parquet")

COMMAND = [sys.executable, "-m", "stream_metrics", "run", "--jobs", "2"]
RNG = random.Random(6)
N = 1200
TRUTHS = [RNG.choice("abc") for _ in range(N)]
ANSWERS = [RNG.choice(["a", "b", "c", None]) for _ in range(N)]
LANDS = [RNG.choice(["fi", "de", "fr"]) for _ in range(N)]
TIMES = [1_700_000_000 + RNG.randrange(900) for _ in range(N)]
SCORES = [{"a": x / 4, "b": 1 - x / 4} for x in (RNG.randrange(5) for _ in range(N))]
WEIGHTS = [RNG.choice([0.1, 1.0, 0.7]) for _ in range(N)]
COLUMNS = {"y_true": TRUTHS, "y_pred": ANSWERS, "land": LANDS, "t": TIMES, "scores": SCORES, "w": WEIGHTS}
FILES = 256
posix = pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals")


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    """Deal out every row group, however small."""
    monkeypatch.setattr(plans, "SMALLEST", 1)


@pytest.fixture
def data(tmp_path):
    """Return two files of Parquet with row groups of uneven sizes."""
    table, paths = pa.table(COLUMNS), [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path, rows, size in zip(paths, (table.slice(0, 1000), table.slice(1000)), (130, 7), strict=True):
        pq.write_table(rows, path, row_group_size=size)
    return paths


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Return a folder of Parquet which takes threads some seconds to count: one file by many names."""
    folder = tmp_path_factory.mktemp("large")
    labels = pa.array([RNG.choice("abcdefghij") for _ in range(1 << 16)]).dictionary_encode()
    column = pa.chunked_array([labels] * 256)
    pq.write_table(pa.table({"y_true": column, "y_pred": column}), folder / "part-0.parquet")
    for at in range(1, FILES):
        os.link(folder / "part-0.parquet", folder / f"part-{at}.parquet")
    return folder


@pytest.fixture(scope="module")
def large_lines(tmp_path_factory):
    """Return a folder of CSV which takes processes some seconds to count: one file by many names."""
    folder = tmp_path_factory.mktemp("large-lines")
    lines = "".join(f"{RNG.choice('abc')},{RNG.choice('abc')}\n" for _ in range(1 << 16))
    (folder / "part-0.csv").write_text("y_true,y_pred\n" + lines * 16)
    for at in range(1, FILES):
        os.link(folder / "part-0.csv", folder / f"part-{at}.csv")
    return folder


SCORED = ("--scores", "--pred", "y_pred", "--weight", "w", "--by", "land", "--time-field", "t")
CASES = {
    "everything": (
        SCORED,
        ("--window", "5m", "--panes", "3"),
        lambda: sm.TimeWindow(sm.ByGroup(sm.MetricSet(scores=True)), "5m", 3),
        {"scores": SCORES, "t": TIMES, "group": LANDS},
    ),
    "labels": (
        ("--weight", "w"),
        ("--labels", "a,b", "--other", "z"),
        lambda: sm.MetricSet(labels=["a", "b"], other="z"),
        {},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_parquet_counts_as_by_one_worker(cli, tmp_path, data, case):
    """Row groups dealt out to threads merge to the bytes of one worker, also onto a resumed state."""
    fields, configuration, empty, more = CASES[case]
    expected, options = empty(), (*data, *fields, "--jobs", "2")
    expected.update_many(TRUTHS, ANSWERS, WEIGHTS, **more)

    result = cli("run", *options, *configuration, "--state", tmp_path / "once")
    copies = [shutil.copy(path, tmp_path / f"copy-{path.name}") for path in data]
    cli("run", *copies, *fields, "--jobs", "2", "--resume", tmp_path / "once", "--state", tmp_path / "twice")

    assert (result.status, result.err) == (0, "")
    assert expected.to_bytes() == (tmp_path / "once").read_bytes()
    assert expected.copy().merge(expected).to_bytes() == (tmp_path / "twice").read_bytes()


def comma_separated(record):
    """Return a record as a line of CSV."""
    return ",".join(value or "" for value in record.values())


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_files_of_lines_are_dealt_out_whole(cli, tmp_path, form):
    """Of CSV and JSON Lines, packed or not, each file is a piece."""
    paths = [tmp_path / f"{at}.{form}" for at in range(3)]
    records = [{"y_true": x, "y_pred": y} for x, y in zip(TRUTHS, ANSWERS, strict=True)]
    for at, path in enumerate(paths):
        head, write = ("", json.dumps) if form == "jsonl" else ("y_true,y_pred\n", comma_separated)
        path.write_text(head + "".join(write(record) + "\n" for record in records[at::3]))
    packed = tmp_path / f"2.{form}.gz"
    packed.write_bytes(gzip.compress(paths.pop().read_bytes()))
    expected = sm.MetricSet()
    expected.update_many(TRUTHS, ANSWERS)

    result = cli("run", *paths, packed, "--jobs", "2", "--state", tmp_path / "s")

    assert (result.status, result.err) == (0, "")
    assert expected.to_bytes() == (tmp_path / "s").read_bytes()


def test_bad_records_are_reported_in_their_order(cli, tmp_path):
    """Several workers report the bad records that one reports; without --skip-bad the first one ends the run."""
    truths = [None if at % 97 == 50 else label for at, label in enumerate(TRUTHS)]
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"y_true": truths, "y_pred": ANSWERS}), path, row_group_size=40)
    skipped = [cli("run", path, "--skip-bad", "--format", "json", "--jobs", jobs) for jobs in (1, 2)]
    ended = [cli("run", path, "--state", tmp_path / "s", "--jobs", jobs) for jobs in (1, 2)]

    assert skipped[0] == skipped[1]
    assert json.loads(skipped[0].out)["skipped"]["count"] == len(range(50, N, 97))
    assert [bad["row"] for bad in json.loads(skipped[0].out)["skipped"]["first"]] == [51, 148, 245, 342, 439]
    assert ended[0] == ended[1]
    assert ended[0].err.startswith(f"stream-metrics: {path}, row 51: ")
    assert not (tmp_path / "s").exists()


def test_what_jobs_do_not_go_with(cli, tmp_path, data):
    """The last N records, running values and stdin are refused with the reason."""
    refused = {
        (*data, "--window", "10"): "the last N samples of two streams together do not follow",
        (*data, "--every", "10"): "have no order",
        ("-", "--input", "csv"): "stdin is none",
        (tmp_path / "missing.parquet",): "No such file",
        (*data, "--true", "truth"): "column 'truth' is not in the file",
    }
    for arguments, reason in refused.items():
        result = cli("run", *arguments, "--jobs", "2")

        assert (result.status, result.out) in ((1, ""), (2, ""))
        assert reason in result.err


def test_one_piece_needs_no_second_worker(cli, tmp_path):
    """A single row group is counted here, whatever --jobs says."""
    pq.write_table(pa.table({"y_true": TRUTHS, "y_pred": TRUTHS}), tmp_path / "a.parquet")

    result = cli("run", tmp_path / "a.parquet", "--jobs", "9", "--format", "json")

    assert json.loads(result.out)["n"] == N


def children(pid):
    """Return the processes that a process has started and that count."""
    command = ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(pid)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return [int(line.split()[0]) for line in found.stdout.splitlines() if "spawn_main" in line]


@contextlib.contextmanager
def running(folder, *options):
    """Start a run over a folder in a session of its own."""
    usual = {"start_new_session": True, "preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([*COMMAND, str(folder), *options], **pipes, **usual)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@contextlib.contextmanager
def started(folder, *options):
    """Start a run over a folder of lines and wait until its processes count."""
    with running(folder, *options) as process:
        yield process, until(lambda: len(found := children(process.pid)) == 2 and all(map(busy, found)) and found)


def until(condition, seconds=60):
    """Return what a condition returns once that is true."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
    return found


def alive(pid):
    """Return whether a process runs and is not a zombie."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def busy(pid):
    """Tell whether a process has got as far as counting."""
    with contextlib.suppress(OSError):
        return any("_core/confusion" in line for line in Path(f"/proc/{pid}/maps").read_text().splitlines())
    return False


def processor_seconds(pid):
    """Return the time that a process has spent computing."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


linux = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="looks into /proc")


@posix
@linux
def test_ctrl_c_keeps_what_was_counted(tmp_path, large_lines):
    """Ctrl-C reaches all processes; what they have counted until then is printed and saved, and none is left."""
    with started(large_lines, "--state", str(tmp_path / "s"), "--format", "json") as (process, found):
        time.sleep(0.3)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)

    state = sm.from_bytes((tmp_path / "s").read_bytes())
    assert process.returncode == 130
    assert err == "stream-metrics: interrupted; what was read until then is counted\n"
    assert json.loads(out)["n"] == state.n < FILES << 20
    assert not any(map(alive, found))


@posix
@linux
def test_ctrl_c_stops_threads(tmp_path, large):
    """What threads have counted when Ctrl-C comes is printed and saved, and no process was started for them."""
    with running(large, "--state", str(tmp_path / "s"), "--format", "json") as process:
        until(lambda: processor_seconds(process.pid) > 1.2)
        processes = children(process.pid)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)

    state = sm.from_bytes((tmp_path / "s").read_bytes())
    assert processes == []
    assert process.returncode == 130
    assert err == "stream-metrics: interrupted; what was read until then is counted\n"
    assert json.loads(out)["n"] == state.n < FILES << 24
    assert state.state.correct == state.n > 0


@posix
@linux
def test_a_process_that_dies_ends_the_run(tmp_path, large_lines):
    """A process that is killed is reported in one line; nothing is saved, and no other process is left."""
    with started(large_lines, "--state", str(tmp_path / "s")) as (process, found):
        os.kill(found[0], signal.SIGKILL)
        out, err = process.communicate(timeout=60)

    assert (process.returncode, out) == (1, "")
    assert err == (
        "stream-metrics: a process of --jobs was ended by SIGKILL, out of memory perhaps; nothing is saved\n"
    )
    assert not (tmp_path / "s").exists()
    assert not alive(found[1])


@posix
@linux
def test_no_process_outlives_the_run(large_lines):
    """Where the run itself is killed, the processes that count for it end."""
    with started(large_lines) as (process, found):
        process.kill()
        until(lambda: not any(map(alive, found)))

        assert not process.stdout.read()


@posix
@linux
@pytest.mark.parametrize("kind", ["large", "large_lines"])
def test_progress_of_all_workers(request, kind):
    """On a terminal one line shows the share of all rows that is done by all workers."""
    folder = request.getfixturevalue(kind)
    pty = pytest.importorskip("pty", reason="needs pseudo terminals")
    ours, theirs = pty.openpty()
    try:
        command = [*COMMAND, str(folder), "--metrics", "accuracy"]
        with subprocess.Popen(command, stderr=theirs, stdout=subprocess.DEVNULL) as process:
            drawn = b""
            while b"left" not in drawn:
                drawn += os.read(ours, 10_000)
            process.send_signal(signal.SIGINT)
    finally:
        os.close(ours)
        os.close(theirs)

    assert b"% [" in drawn
    assert b" records  " in drawn


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_an_unexpected_error_in_a_process_ends_the_others(tmp_path):
    """An unexpected exception in a worker ends the run at once, although another worker waits for its input."""
    os.mkfifo(tmp_path / "endless")
    fields = Fields("y_true", "y_pred", None, None, Classes(None, None))
    pieces = [Piece(InputFile(str(tmp_path / "endless")), None, 1), Piece(("no", "file"), None, 1)]
    task = Task("jsonl", fields, sm.ConfusionMatrix().to_bytes(), Skipped(False), pieces)
    pool = WorkerPool(task, 2)

    with pytest.raises(AttributeError):
        pool.count(sm.ConfusionMatrix(), Skipped(False), Progress(pool.progress, 2))

    assert not multiprocessing.active_children()


def test_an_unexpected_error_in_a_thread_ends_the_others(data):
    """An unexpected exception in a thread ends the run, although another thread has more pieces to count."""
    fields = Fields("y_true", "y_pred", None, None, Classes(None, None))
    _, pieces = plans.plan_jobs(
        [InputFile(str(path), size=path.stat().st_size) for path in data], "parquet", fields, 2, Skipped(False)
    )
    pieces[1:1] = [Piece(("no", "file"), None, 1)]
    task = Task("parquet", fields, sm.ConfusionMatrix().to_bytes(), Skipped(False), pieces)
    pool = WorkerPool(task, 2)

    with pytest.raises(AttributeError):
        pool.count(sm.ConfusionMatrix(), Skipped(False), Progress(pool.progress, 2))


def test_default_number_of_workers(cli, tmp_path, monkeypatch, data):
    """Tables are counted by a worker for each processor; few lines and records whose order matters by one."""
    numbers = []
    plan = plans.plan_jobs
    monkeypatch.setattr(plans, "plan_jobs", lambda *more: numbers.append(more[3]) or plan(*more))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    (tmp_path / "few.csv").write_text("y_true,y_pred\na,b\n" * 9)
    size = (tmp_path / "few.csv").stat().st_size
    timed = ("--time-field", "t", "--window", "5m")

    for options in (data, (*data, "--every", "700"), (*data, *timed), (*data, "--window", "9")):
        assert cli("run", *options, "--metrics", "accuracy").status == 0
    assert numbers == [3]
    assert cli("run", tmp_path / "few.csv").status == 0
    assert cli("run", "-", "--input", "csv", stdin=b"y_true,y_pred\na,b\n").status == 0
    assert numbers == [3]
    monkeypatch.setattr(plans, "WORTH_A_PROCESS", size // 2)
    assert cli("run", tmp_path / "few.csv").status == 0
    assert numbers == [3, 2]


def test_ctrl_c_in_the_main_thread_leaves_a_worker_alone():
    """A thread that defers Ctrl-C neither defers it for the main thread nor raises what is pending there."""
    raised = []

    def work():
        try:
            with interrupts.defer_interrupts():
                raised.append(interrupts._INTERRUPTS.deferred)
        except KeyboardInterrupt as error:
            raised.append(error)

    with interrupts.interruptible():
        interrupts._INTERRUPTS.pending = True
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        interrupts._INTERRUPTS.pending = False

    assert raised == [False]
