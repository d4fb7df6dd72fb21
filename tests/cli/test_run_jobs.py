"""``stream-metrics run --jobs``: several workers count the same as one, and end cleanly after errors and Ctrl-C."""

from __future__ import annotations

import contextlib
import csv
import gzip
import json
import os
import random
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from support.command_line import (
    as_csv,
    as_json_lines,
    counted,
    of_pairs,
    run_command,
    saved,
    start_command,
    until,
    write_parquet,
)  # fmt: skip

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
FILES, ROWS = 256, 1 << 20


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
        lines = "".join(f"{RNG.choice('abc')},{RNG.choice('abc')}\n" for _ in range(ROWS // 16))
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
def test_parquet_counts_as_by_one_worker(tmp_path):
    """Row groups dealt out to threads merge to the bytes of one worker, also onto a resumed state."""
    data = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path, part, rows in zip(data, (slice(1000), slice(1000, N)), (130, 40), strict=True):
        write_parquet(path, {name: values[part] for name, values in COLUMNS.items()}, rows)
    copies = [shutil.copy(path, tmp_path / f"copy-{path.name}") for path in data]
    for fields, options, empty, seen in CASES:
        expected, state = counted(empty.copy(), TRUTHS, ANSWERS, WEIGHTS, **seen), tmp_path / "once"
        result = run_command("run", *data, *fields, "--jobs", "2", *options, "--state", state)
        again = run_command("run", *copies, *fields, "--jobs", "2", "--resume", state, "--state", tmp_path / "twice")

        assert (result.status, result.err, again.status, expected.to_bytes()) == (0, "", 0, state.read_bytes())
        assert expected.copy().merge(expected).to_bytes() == (tmp_path / "twice").read_bytes()


@pytest.mark.usefixtures("small_pieces")
def test_files_of_lines_count_as_by_one_worker(tmp_path):
    """Of CSV and JSON Lines, packed or not, each file is a piece; large ones may be split, quoted line ends too."""
    pairs = [(a, b or "") for a, b in zip(TRUTHS, ANSWERS, strict=True)]
    for form in ("jsonl", "csv"):
        paths = [tmp_path / f"{at}.{form}" for at in (0, 1)] + [tmp_path / f"2.{form}.gz"]
        for at, path in enumerate(paths):
            records = ({"y_true": a, "y_pred": b or None} for a, b in pairs[at::3])
            data = as_csv(pairs[at::3]) if form == "csv" else as_json_lines(records)
            path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
        assert saved(*paths, "--jobs", "2") == counted(sm.MetricSet(), TRUTHS, ANSWERS).to_bytes(), form

    pairs = [(RNG.choice(["a", "b\n", 'c"', "ä,d"]), RNG.choice(["a", "b\n", 'c"'])) for _ in range(4000)]
    with (tmp_path / "a.csv").open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([("y_true", "y_pred"), *pairs])
    assert saved(tmp_path / "a.csv", "--jobs", "2") == of_pairs(pairs)


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


def test_what_jobs_do_not_go_with(cli, tmp_path):
    """The last N records, running values and stdin are refused with the reason; so are files with no records."""
    (tmp_path / "a.csv").write_text("y_true,y_pred\na,b\n")
    (tmp_path / "b.csv").write_text("y_true,y_pred\n,b\n")
    refused = {
        (tmp_path / "a.csv", "--window", "10"): "the last N samples of two streams together do not follow",
        (tmp_path / "a.csv", "--every", "10"): "have no order",
        ("-", "--input", "csv"): "stdin is none",
        (tmp_path / "missing.csv",): "No such file",
        (tmp_path / "a.csv", "--true", "truth"): "column 'truth' is not in the header",
        (tmp_path / "b.csv", "--skip-bad"): "no record could be counted",
    }
    for arguments, reason in refused.items():
        result = cli("run", *arguments, "--jobs", "2")
        assert (result.status in (1, 2), result.out, reason in result.err) == (True, "", True), result


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
    state, some = tmp_path / "s", [large / f"part-{at}.csv" for at in range(6)]
    with running(*some, "--state", state, "--format", "json") as process:
        workers = counting(process)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, INTERRUPTED)
    assert json.loads(out)["n"] == sm.from_bytes(state.read_bytes()).n < len(some) * ROWS
    assert all(stat(pid)[0] == "Z" for pid in workers)

    with running(*some, "--resume", state, "--state", state, "--format", "json") as process:
        out, _ = process.communicate(timeout=100)
    with running(some[0], "--format", "json") as process:
        one = json.loads(process.communicate(timeout=60)[0])
    assert json.loads(out)["confusion_matrix"] == [[len(some) * n for n in row] for row in one["confusion_matrix"]]


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
    assert json.loads(out)["n"] == snapshot.n < FILES << 24
    assert snapshot["accuracy"] == 1


@linux
@pytest.mark.parametrize("large", ["csv"], indirect=True)
def test_processes_that_die(tmp_path, large):
    """If a worker is killed, the run ends in one line, saves nothing, and leaves no other; nor if it is killed."""
    with running(large, "--state", tmp_path / "s") as process:
        workers = counting(process)
        os.kill(workers[0], signal.SIGKILL)
        out, err = process.communicate(timeout=60)
    said = "stream-metrics: a process of --jobs was ended by SIGKILL, out of memory perhaps; nothing is saved\n"
    assert (process.returncode, out, err, (tmp_path / "s").exists()) == (1, "", said, False)
    assert stat(workers[1])[0] == "Z"

    with running(large) as process:
        workers = counting(process)
        process.kill()
        until(lambda: all(stat(pid)[0] == "Z" for pid in workers))
        assert not process.stdout.read()


@linux
def test_progress_of_all_workers(large):
    """On a terminal one line shows the share of all rows that is done by all workers."""
    pty = pytest.importorskip("pty", reason="needs pseudo terminals")
    ours, theirs = pty.openpty()
    with start_command("run", large, "--jobs", 2, stderr=theirs, stdout=subprocess.DEVNULL) as process:
        os.close(theirs)
        drawn, interrupted = b"", False
        with contextlib.suppress(OSError):  # the other side has ended
            while block := os.read(ours, 10_000):
                drawn += block
                if b"left" in drawn and not interrupted:
                    process.send_signal(signal.SIGINT)
                    interrupted = True
    os.close(ours)

    assert re.search(rb" *\d+% \[[#.]{24}\]  [\d ]+ records  [\d ]+/s  [\d:]+ left", drawn)
