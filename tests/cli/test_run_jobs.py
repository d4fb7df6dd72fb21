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
from support.command_line import start_command, until

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
PROGRESS = re.compile(rb" *\d+% \[[#.]{24}\]  [\d ]+ records  [\d ]+/s  [\d:]+ left")


def stored(path, **columns):
    """Write columns as Parquet with row groups of uneven sizes, or skip, and return the path."""
    pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
    pq = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow with Parquet")
    pq.write_table(pa.table(columns), path, row_group_size=130 if path.stem == "a" else 40)
    return path


def linked(path):
    """Let a file have many names, and return their folder."""
    for at in range(1, FILES):
        os.link(path, path.with_name(f"part-{at}{path.suffix}"))
    return path.parent


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Return a folder of Parquet which takes threads some seconds to count: one file by many names."""
    path = tmp_path_factory.mktemp("large") / "part-0.parquet"
    pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
    labels = pa.array([RNG.choice("abcdefghij") for _ in range(1 << 16)]).dictionary_encode()
    column = pa.chunked_array([labels] * 256)
    pytest.importorskip("pyarrow.parquet").write_table(pa.table({"y_true": column, "y_pred": column}), path)
    return linked(path)


@pytest.fixture(scope="module")
def large_lines(tmp_path_factory):
    """Return a folder of CSV which takes processes some seconds to count: one file by many names."""
    path = tmp_path_factory.mktemp("large-lines") / "part-0.csv"
    lines = "".join(f"{RNG.choice('abc')},{RNG.choice('abc')}\n" for _ in range(ROWS // 16))
    path.write_text("y_true,y_pred\n" + lines * 16)
    return linked(path)


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


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("case", CASES)
def test_parquet_counts_as_by_one_worker(cli, tmp_path, case):
    """Row groups dealt out to threads merge to the bytes of one worker, also onto a resumed state."""
    fields, configuration, empty, more = CASES[case]
    data = [stored(tmp_path / "a.parquet", **{name: values[:1000] for name, values in COLUMNS.items()})]
    data.append(stored(tmp_path / "b.parquet", **{name: values[1000:] for name, values in COLUMNS.items()}))
    expected = empty()
    expected.update_many(TRUTHS, ANSWERS, WEIGHTS, **more)

    result = cli("run", *data, *fields, "--jobs", "2", *configuration, "--state", tmp_path / "once")
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


@pytest.mark.usefixtures("small_pieces")
def test_a_large_file_counts_as_by_one_worker(cli, tmp_path):
    """Whether or not it is split, with quoted line ends, a file leaves the bytes of one process."""
    pairs = [(RNG.choice(["a", "b\n", 'c"', "ä,d"]), RNG.choice(["a", "b\n", 'c"'])) for _ in range(4000)]
    with (tmp_path / "a.csv").open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([("y_true", "y_pred"), *pairs])
    expected = sm.MetricSet()
    expected.update_many(*map(list, zip(*pairs, strict=True)))

    assert cli("run", tmp_path / "a.csv", "--jobs", "2", "--state", tmp_path / "s").status == 0
    assert expected.to_bytes() == (tmp_path / "s").read_bytes()


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_bad_records_are_reported_in_their_order(cli, tmp_path, form):
    """Several workers report the bad records that one reports; without --skip-bad the first one ends the run."""
    truths = [None if at % 97 == 50 else label for at, label in enumerate(TRUTHS)]
    path, place = tmp_path / f"a.{form}", "row"
    if form == "parquet":
        stored(path, y_true=truths, y_pred=ANSWERS)
    else:
        place = "line"
        lines = [f"{truth or ''},{answer or ''}\n" for truth, answer in zip(truths, ANSWERS, strict=True)]
        path.write_text("y_true,y_pred\n" + "".join(lines))
    skipped = [cli("run", path, "--skip-bad", "--format", "json", "--jobs", jobs) for jobs in (1, 2)]
    ended = [cli("run", path, "--state", tmp_path / "s", "--jobs", jobs) for jobs in (1, 2)]
    missing = [cli("run", path, "--true", "label", "--jobs", jobs) for jobs in (1, 2)]

    numbers = [number + (form == "csv") for number in (51, 148, 245, 342, 439)]
    assert skipped[0] == skipped[1]
    assert json.loads(skipped[0].out)["skipped"]["count"] == len(range(50, N, 97))
    assert [bad[place] for bad in json.loads(skipped[0].out)["skipped"]["first"]] == numbers
    assert ended[0] == ended[1]
    assert ended[0].err.startswith(f"stream-metrics: {path}, {place} {numbers[0]}: ")
    assert not (tmp_path / "s").exists()
    assert missing[0] == missing[1]
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

        assert (result.status in (1, 2), result.out) == (True, "")
        assert reason in result.err


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
    """Tell whether a process has got as far as counting."""
    with contextlib.suppress(OSError):
        return any("_core/confusion" in line for line in Path(f"/proc/{pid}/maps").read_text().splitlines())
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
    """Wait until two processes count, for a while, and return them."""

    def both():
        workers = processes_of(process.pid)
        return len(workers) == 2 and all(map(busy, workers)) and all(stat(pid)[1] > 0.1 for pid in workers) and workers

    return until(both)


linux = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="looks into /proc")
INTERRUPTED = "stream-metrics: interrupted; what was read until then is counted\n"


@linux
def test_ctrl_c_keeps_what_was_counted(tmp_path, large_lines):
    """Ctrl-C reaches all processes; what they have counted is printed and saved, and a second run counts the rest."""
    state, some = tmp_path / "s", [large_lines / f"part-{at}.csv" for at in range(6)]
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
def test_processes_that_die(tmp_path, large_lines):
    """If a worker is killed, the run ends in one line, saves nothing, and leaves no other; nor if it is killed."""
    with running(large_lines, "--state", tmp_path / "s") as process:
        workers = counting(process)
        os.kill(workers[0], signal.SIGKILL)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    assert err == (
        "stream-metrics: a process of --jobs was ended by SIGKILL, out of memory perhaps; nothing is saved\n"
    )
    assert not (tmp_path / "s").exists()
    assert stat(workers[1])[0] == "Z"

    with running(large_lines) as process:
        workers = counting(process)
        process.kill()
        until(lambda: all(stat(pid)[0] == "Z" for pid in workers))
        assert not process.stdout.read()


@linux
@pytest.mark.parametrize("kind", ["large", "large_lines"])
def test_progress_of_all_workers(request, kind):
    """On a terminal one line shows the share of all rows that is done by all workers."""
    folder = request.getfixturevalue(kind)
    pty = pytest.importorskip("pty", reason="needs pseudo terminals")
    ours, theirs = pty.openpty()
    with start_command("run", folder, "--jobs", 2, stderr=theirs, stdout=subprocess.DEVNULL) as process:
        os.close(theirs)
        drawn, interrupted = b"", False
        with contextlib.suppress(OSError):  # the other side has ended
            while block := os.read(ours, 10_000):
                drawn += block
                if b"left" in drawn and not interrupted:
                    process.send_signal(signal.SIGINT)
                    interrupted = True
    os.close(ours)

    assert PROGRESS.search(drawn)
