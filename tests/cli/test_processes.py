"""Commands in processes of their own, and ``run --jobs``: workers count as one does, and end cleanly after Ctrl-C."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from support.command_line import as_csv, as_json_lines, counted, saved, start_command, until, write_parquet

import stream_metrics as sm

RNG = random.Random(6)
N = 1200
TRUTHS = [RNG.choice("abc") for _ in range(N)]
ANSWERS = [RNG.choice(["a", "b", "c", None]) for _ in range(N)]
LANDS = [RNG.choice(["fi", "de", "fr"]) for _ in range(N)]
TIMES = [1_700_000_000 + RNG.randrange(900) for _ in range(N)]
SCORES = [{"a": x / 4, "b": 1 - x / 4} for x in (RNG.randrange(5) for _ in range(N))]
WEIGHTS = [RNG.choice([0.1, 1.0, 0.7]) for _ in range(N)]
COLUMNS = {"y_true": TRUTHS, "y_pred": ANSWERS, "land": LANDS, "t": TIMES, "scores": SCORES, "w": WEIGHTS}
FILES, ROWS, LINES = 256, 1 << 20, 1 << 18


@pytest.fixture(scope="module", params=["parquet", "csv"])
def large(tmp_path_factory, request):
    """Return a folder which takes threads, or processes, some seconds to count: one file by many names."""
    path = tmp_path_factory.mktemp("large") / f"part-0.{request.param}"
    if path.suffix == ".parquet":
        pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
        labels = pa.array([RNG.choice("abcdefghij") for _ in range(1 << 16)]).dictionary_encode()
        column = pa.chunked_array([labels] * 256)
        write_parquet(path, {"y_true": column, "y_pred": column}, ROWS)
    else:
        lines = "".join(f"{RNG.choice('abc')},{RNG.choice('abc')}\n" for _ in range(LINES // 16))
        path.write_text("y_true,y_pred\n" + lines * 16)
    for at in range(1, FILES):
        os.link(path, path.with_name(f"part-{at}{path.suffix}"))
    return path.parent


SCORED = ("--scores", "--pred", "y_pred", "--weight", "w", "--by", "land", "--time-field", "t")
SEEN = {"scores": SCORES, "t": TIMES, "group": LANDS}
CASES = [
    (SCORED, ("--window", "5m", "--panes", "3"), sm.TimeWindow(sm.ByGroup(sm.MetricSet(scores=True)), "5m", 3), SEEN),
    (("--weight", "w"), ("--labels", "a,b", "--other", "z"), sm.MetricSet(labels=["a", "b"], other="z"), {}),
]


@pytest.mark.usefixtures("small_pieces")
def test_parquet_counts_as_by_one_worker(cli, tmp_path):
    """Row groups dealt out to threads merge to the bytes of one worker, also onto a resumed state."""
    data = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path, part, rows in zip(data, (slice(1000), slice(1000, N)), (130, 40), strict=True):
        write_parquet(path, {name: values[part] for name, values in COLUMNS.items()}, rows)
    copies = [shutil.copy(path, tmp_path / f"copy-{path.name}") for path in data]
    for fields, options, empty, seen in CASES:
        expected, state = counted(empty.copy(), TRUTHS, ANSWERS, WEIGHTS, **seen), tmp_path / "once"
        result = cli("run", *data, *fields, "--jobs", "2", *options, "--state", state)
        again = cli("run", *copies, *fields, "--jobs", "2", "--resume", state, "--state", tmp_path / "twice")

        assert (result.status, result.err, again.status, expected.to_bytes()) == (0, "", 0, state.read_bytes())
        assert expected.copy().merge(expected).to_bytes() == (tmp_path / "twice").read_bytes()


@pytest.mark.usefixtures("small_pieces")
def test_files_of_lines_count_as_by_one_worker(tmp_path):
    """Of CSV and JSON Lines, packed or not, each file is a piece."""
    pairs = [(RNG.choice(["a", "b\n", 'c"', "ä,d"]), RNG.choice(["a", "b\n", 'c"', None])) for _ in range(4000)]
    for form in ("jsonl", "csv"):
        paths = [tmp_path / f"{at}.{form}" for at in (0, 1)] + [tmp_path / f"2.{form}.gz"]
        for at, path in enumerate(paths):
            table = io.StringIO(newline="")
            csv.writer(table, quoting=csv.QUOTE_ALL).writerows([("y_true", "y_pred"), *pairs[at::3]])
            records = as_json_lines({"y_true": a, "y_pred": b} for a, b in pairs[at::3])
            data = table.getvalue().encode() if form == "csv" else records
            path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
        assert saved(*paths, "--jobs", "2") == counted(sm.MetricSet(), *zip(*pairs, strict=True)).to_bytes(), form


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_bad_records_are_reported_in_their_order(cli, tmp_path, form):
    """Several workers report the bad records that one reports; without --skip-bad the first one ends the run."""
    truths = ["" if at % 97 == 50 else label for at, label in enumerate(TRUTHS)]
    path, place = tmp_path / f"a.{form}", "row" if form == "parquet" else "line"
    if form == "parquet":
        write_parquet(path, {"y_true": [truth or None for truth in truths], "y_pred": ANSWERS}, 130)
    else:
        path.write_bytes(as_csv((truth, answer or "") for truth, answer in zip(truths, ANSWERS, strict=True)))
    skipped, ended, missing = (
        [cli("run", path, *options, "--jobs", jobs) for jobs in (1, 2)]
        for options in (("--skip-bad", "--format", "json"), ("--state", tmp_path / "s"), ("--true", "label"))
    )

    numbers = [number + (form == "csv") for number in (51, 148, 245, 342, 439)]
    for one, two in (skipped, ended, missing):
        assert one == two
    report = json.loads(skipped[0].out)["skipped"]
    assert (report["count"], [bad[place] for bad in report["first"]]) == (len(range(50, N, 97)), numbers)
    assert ended[0].err.startswith(f"stream-metrics: {path}, {place} {numbers[0]}: ")
    assert not (tmp_path / "s").exists()
    assert (missing[0].status, "column 'label'" in missing[0].err) == (1, True)


def processes_of(pid):
    """Return the processes that a process has started and that count."""
    command = ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(pid)]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    return [int(line.split()[0]) for line in listed.stdout.splitlines() if "spawn_main" in line]


def stat(pid):
    """Return the state of a process and the time that it has spent computing; "Z" if there is none."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return fields[0], sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
    return "Z", 0.0


def busy(pid):
    """Tell whether a process has got as far as counting, for a while."""
    with contextlib.suppress(OSError):
        counts = any("_core/confusion" in line for line in Path(f"/proc/{pid}/maps").read_text().splitlines())
        return counts and stat(pid)[1] > 0.1
    return False


@contextlib.contextmanager
def running(*arguments):
    """Run with two workers in a session of its own; nothing of it is left."""
    process = start_command("run", *arguments, "--jobs", 2, text=True)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def counting(process):
    """Wait until two processes count, and return them."""
    return until(lambda: (workers := processes_of(process.pid))[1:] and all(map(busy, workers)) and workers)


linux = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="looks into /proc")
INTERRUPTED = "stream-metrics: interrupted; what was read until then is counted\n"


@linux
@pytest.mark.parametrize("large", ["csv"], indirect=True)
def test_ctrl_c_keeps_what_was_counted(tmp_path, large):
    """Ctrl-C reaches all processes; what they have counted is printed and saved, and a second run counts the rest."""
    state, some = tmp_path / "s", [large / f"part-{at}.csv" for at in range(8)]
    with running(*some, "--state", state, "--format", "json") as process:
        workers = counting(process)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, INTERRUPTED)
    assert json.loads(out)["n"] == sm.from_bytes(state.read_bytes()).n < len(some) * LINES
    assert all(stat(pid)[0] == "Z" for pid in workers)

    with running(*some, "--resume", state, "--state", state) as process:
        process.communicate(timeout=100)
    pairs = Counter(some[0].read_text().split()[1:])
    expected = [[len(some) * pairs[f"{truth},{answer}"] for answer in "abc"] for truth in "abc"]
    assert sm.from_bytes(state.read_bytes()).snapshot().confusion_matrix.tolist() == expected


@linux
@pytest.mark.parametrize("large", ["parquet"], indirect=True)
def test_ctrl_c_stops_threads(tmp_path, large):
    """What threads have counted when Ctrl-C comes is printed and saved, and no process was started for them."""
    with running(large, "--state", tmp_path / "s", "--format", "json") as process:
        until(lambda: stat(process.pid)[1] > 1.2)
        processes = processes_of(process.pid)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)

    snapshot = sm.from_bytes((tmp_path / "s").read_bytes()).snapshot()
    assert (processes, process.returncode, err) == ([], 130, INTERRUPTED)
    listed = [json.loads(line) for line in (tmp_path / "s.files").read_text().splitlines()[1:]]
    assert json.loads(out)["n"] == snapshot.n == sum(line["ranges"][0][1] or 1 << 24 for line in listed) < FILES << 24
    assert snapshot["accuracy"] == 1


@linux
@pytest.mark.parametrize("large", ["csv"], indirect=True)
def test_processes_that_die(tmp_path, large):
    """If a worker is killed, the run ends in one line, saves nothing, and leaves no other; nor if it is killed."""
    with running(large, "--state", tmp_path / "s") as process:
        workers = counting(process)
        os.kill(workers[0], signal.SIGKILL)
        out, err = process.communicate(timeout=60)
    said = "stream-metrics: a process of --jobs has ended, out of memory perhaps; nothing is saved\n"
    assert (process.returncode, out, err, (tmp_path / "s").exists()) == (1, "", said, False)
    assert stat(workers[1])[0] == "Z"

    with running(large) as process:
        workers = counting(process)
        process.kill()
        until(lambda: all(stat(pid)[0] == "Z" for pid in workers))
        assert not process.stdout.read()


# The command in a process of its own: pipes that break, what it imports, what it sets up.
RECORD = b'{"y_true": 1, "y_pred": 1}\n'
posix = pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")


@posix
def test_ctrl_c_on_a_pipe_keeps_what_was_counted(tmp_path):
    """Ctrl-C on a live pipe prints and saves the records read so far and exits with 130."""
    state = tmp_path / "state"
    with start_command("run", "-", "--every", 10, "--scores", "--state", state) as process:
        process.stdin.write(b'{"y_true": 1, "scores": {"1": 0.7, "0": 0.3}}\n' * 13)
        process.stdin.flush()
        header, line = process.stdout.readline(), process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)

    assert (header.split()[0], line.split()[0]) == (b"n", b"10")
    assert process.returncode == 130
    assert b"interrupted" in err
    assert b"Traceback" not in err
    assert sm.from_bytes(state.read_bytes()).n in range(10, 14)
    assert out


@posix
def test_broken_pipe_is_quiet():
    """A reader that goes away ends the run without a word."""
    with start_command("run", "-", "--every", 1) as process:
        process.stdin.write(RECORD)
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        process.stdin.write(RECORD * 100)
        process.stdin.close()
        err = process.stderr.read()
        process.wait(timeout=60)

    assert (process.returncode, err) == (141, b"")


@posix
def test_the_line_of_progress_is_wiped_out():
    """On a terminal it is drawn while records come, and nothing of it is left when the report comes."""
    ours, theirs = os.openpty()
    drawn = b""
    with start_command("run", "-", stderr=theirs) as process:
        os.close(theirs)
        while b" records  " not in drawn:
            process.stdin.write(RECORD * 1000)
            process.stdin.flush()
            if select.select([ours], [], [], 0)[0]:
                drawn += os.read(ours, 10_000)
        out, _ = process.communicate(timeout=60)
        with contextlib.suppress(OSError):  # the other side has ended
            while block := os.read(ours, 10_000):
                drawn += block
    os.close(ours)

    assert drawn.endswith(b"\r\x1b[K")
    assert b"samples, " in out


# What a process does before and after the command that its arguments are; the last line on stderr is what it found.
PROGRAM = """
import gc, os, sys
from stream_metrics.cli.main import main
objects = []
gc.callbacks.append(lambda phase, info: objects.append(len(gc.get_objects()) if phase == "start" else 0))
threshold = gc.get_threshold()
try:
    status = main()
except SystemExit as error:
    status = error.code
assert gc.isenabled() and gc.get_threshold() == threshold
tasks = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1
names = [name.removeprefix("stream_metrics.") for name in sys.modules if name.startswith("stream_metrics.")]
print(status, os.environ.get("OPENBLAS_NUM_THREADS"), tasks, max(objects, default=0), *names, file=sys.stderr)
"""


def seen_after(*arguments, **environment):
    """Return status, threads that numpy may start, threads, objects searched for garbage, and modules imported."""
    clean = {name: value for name, value in os.environ.items() if not name.endswith("NUM_THREADS")}
    order = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    done = subprocess.run(order, env=clean | environment, capture_output=True, text=True, check=True, timeout=60)
    status, numbers, tasks, objects, *modules = done.stderr.splitlines()[-1].split()
    return int(status), numbers, int(tasks), int(objects), set(modules)


def test_a_command_imports_and_starts_only_what_it_needs(tmp_path):
    """Starting takes longer than counting a small file.

    Unless it is asked to, numpy starts no threads, which would wait for work in a loop; and modules are not searched
    for garbage, which takes as long as a count.
    """
    path = tmp_path / "pairs.csv"
    path.write_text("y_true,y_pred\na,a\na,b\nb,b\n")
    (*seen, plain), (*own, window), (*other, inspect) = (
        seen_after("run", path),
        seen_after("run", path, "--window", "2", "--every", "1", OPENBLAS_NUM_THREADS="3"),
        seen_after("monitor", "inspect", "--help", OMP_NUM_THREADS="2"),
    )

    assert [each[:2] for each in (seen, own, other)] == [[0, "1"], [0, "3"], [0, "None"]]
    assert seen[2] == 1
    assert max(seen[3], own[3], other[3]) < 5000
    assert not {"monitor", "collector", "plots", "containers.rolling", "containers.timed"} & plain
    assert "containers.rolling" in window
    assert not {"monitor", "collector", "plots", "containers.timed"} & window
    assert not {"cli.run", "collector"} & inspect


WHILE_IMPORTING = """
import os, signal, sys
module, sys.argv[1:] = sys.argv[1], ["run", "-"]
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
signal.signal(signal.SIGINT, signal.default_int_handler)
import runpy
runpy.run_module("stream_metrics", run_name="__main__", alter_sys=True)
"""


@posix
@pytest.mark.parametrize("module", ["numpy._core.multiarray", "stream_metrics.cli.jobs"])
def test_ctrl_c_during_imports(module):
    """The process ends by the signal, and prints nothing."""
    order = [sys.executable, "-c", WHILE_IMPORTING, module]
    done = subprocess.run(order, capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


@posix
def test_an_ignored_ctrl_c_stays_ignored(cli):
    """While and after the command runs, SIGINT has the handler that the caller gave it."""
    usual = signal.getsignal(signal.SIGINT)
    try:
        for handler in (signal.default_int_handler, signal.SIG_IGN):
            signal.signal(signal.SIGINT, handler)
            ignored = handler is signal.SIG_IGN
            assert cli("run", "-", "--every", 1, stdin=RECORD * 9, interrupt_after=2).status == (0 if ignored else 130)
            assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, usual)


def test_the_list_of_commands_is_whole(cli):
    """The bare command prints the help; the error of a wrong one lists every command."""
    wrong, names = cli("counts").err, ("run", "merge", "show", "metrics", "monitor", "query", "collect", "demo")

    assert [name for name in names if repr(name) not in wrong] == []
    assert cli() == (0, cli("--help").out, "")
    assert cli("--version") == (0, f"stream-metrics {sm.__version__}\n", "")
