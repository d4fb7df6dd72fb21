"""The list of counted files beside a state: a repeated, resumed or interrupted run counts no record twice."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal

import pytest

import stream_metrics as sm

RNG = random.Random(4)
PAIRS = [(RNG.choice("abc"), RNG.choice("abc")) for _ in range(600)]


@pytest.fixture(autouse=True)
def interrupts():
    """Interrupts raise, also where the test run was started in the background, which ignores them."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


def fill(path, pairs, form="jsonl"):
    """Write pairs as a file of lines and return its path."""
    head = "y_true,y_pred\n" if form == "csv" else ""
    lines = [f"{a},{b}\n" if form == "csv" else json.dumps({"y_true": a, "y_pred": b}) + "\n" for a, b in pairs]
    path.write_text(head + "".join(lines))
    return path


def counted(pairs):
    """Return the bytes of a state that has counted pairs."""
    state = sm.MetricSet()
    state.update_many([a for a, _ in pairs], [b for _, b in pairs])
    return state.to_bytes()


@pytest.fixture
def parts(tmp_path):
    """Return three files."""
    (tmp_path / "data").mkdir()
    return [fill(tmp_path / "data" / f"{at}.jsonl", PAIRS[at * 200 : at * 200 + 200]) for at in range(3)]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_repeated_run_counts_nothing(cli, tmp_path, parts, jobs):
    """Files that were counted into a state are left out, however they are named; new ones are counted."""
    state = tmp_path / "s"
    cli("run", *parts[:2], "--state", state, "--jobs", jobs)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "data")

    again = cli("run", parts[0], "--resume", state, "--state", state, "--jobs", jobs)
    assert (again.status, again.err) == (0, "stream-metrics: 1 file counted before, and not counted again\n")
    assert counted(PAIRS[:400]) == state.read_bytes()

    more = cli("run", link, "--resume", state, "--state", tmp_path / "t", "--jobs", jobs)
    assert more.err == "stream-metrics: 2 files counted before, and not counted again\n"
    assert counted(PAIRS) == (tmp_path / "t").read_bytes()

    assert cli("run", link / "*", "--resume", tmp_path / "t", "--state", state).status == 0
    assert counted(PAIRS) == state.read_bytes()


def test_the_bytes_of_a_state_do_not_depend_on_files(cli, tmp_path, parts):
    """The list lies beside the state; a state without one is read, and goes on without it."""
    cli("run", *parts, "--state", tmp_path / "s")
    assert counted(PAIRS) == (tmp_path / "s").read_bytes()

    cli("run", "-", "--state", tmp_path / "t", stdin=parts[0].read_bytes())
    assert not (tmp_path / "t.files").exists()
    cli("run", "-", "--resume", tmp_path / "t", "--state", tmp_path / "t", stdin=parts[0].read_bytes())
    assert counted(PAIRS[:200] * 2) == (tmp_path / "t").read_bytes()


CHANGES = {
    "grown": (lambda path: path.write_bytes(path.read_bytes() * 2), "has grown since it was counted, from "),
    "cut": (lambda path: path.write_bytes(path.read_bytes()[:33]), "has become shorter since it was counted, from "),
    "touched": (lambda path: os.utime(path, ns=(1, 1)), "has changed since it was counted"),
}


def test_a_file_that_has_changed_is_an_error(cli, tmp_path, parts):
    """A file that was counted and then written again is refused, and the state stays as it is."""
    for at, (alter, reason) in enumerate(CHANGES.values()):
        state = tmp_path / "s"
        cli("run", parts[at], "--state", state)
        before = state.read_bytes()
        alter(parts[at])

        result = cli("run", parts[at], "--resume", state, "--state", state)

        assert (result.status, result.out) == (1, "")
        assert result.err.startswith(f"stream-metrics: {parts[at]}: {reason}")
        assert before == state.read_bytes()


def test_merged_lists(cli, tmp_path, parts):
    """A merged state has the files of all; one that was counted into two of them is refused by name."""
    for at in range(3):
        cli("run", parts[at], "--state", tmp_path / f"{at}.state")
    cli("merge", tmp_path / "[01].state*", "-o", tmp_path / "all")

    more = cli("run", *parts, "--resume", tmp_path / "all", "--state", tmp_path / "all")
    assert more.err == "stream-metrics: 2 files counted before, and not counted again\n"
    assert counted(PAIRS) == (tmp_path / "all").read_bytes()

    twice = cli("merge", tmp_path / "all", tmp_path / "2.state", "-o", tmp_path / "wrong")
    assert (twice.status, twice.out) == (1, "")
    assert f"{parts[2]} was counted into" in twice.err
    assert not (tmp_path / "wrong").exists()


def test_a_list_of_another_state(cli, tmp_path, parts):
    """A list that does not belong to the state beside it, or is damaged, is refused."""
    for name, some in (("s", parts[:1]), ("t", parts[:2])):
        cli("run", *some, "--state", tmp_path / name)
    shutil.copy(tmp_path / "t", tmp_path / "s")
    wrong = cli("run", parts[2], "--resume", tmp_path / "s")
    assert (wrong.status, wrong.out) == (1, "")
    assert "s.files: lists the files of another state" in wrong.err

    for content in (b"", b"{}\n", b"[\n", (tmp_path / "t.files").read_bytes()[:-9], b"\xff"):
        (tmp_path / "t.files").write_bytes(content)
        damaged = cli("run", parts[2], "--resume", tmp_path / "t")

        assert (damaged.status, damaged.out) == (1, "")
        assert "t.files: is not a list of counted files" in damaged.err


def test_a_file_that_is_no_list_is_not_replaced(cli, tmp_path, parts):
    """Where a file of another kind lies in the place of the list, the run is refused before it counts."""
    for content in (b"my notes", b"", b"[1]"):
        (tmp_path / "s.files").write_bytes(content)
        for command in (("run", parts[0], "--state", tmp_path / "s"), ("merge", tmp_path / "s", "-o", tmp_path / "s")):
            result = cli(*command)

            assert (result.status, result.out) == (1, "")
            assert "s.files: is not a list of counted files" in result.err
        assert (tmp_path / "s.files").read_bytes() == content


def test_bad_records_are_reported_once(cli, tmp_path):
    """A run that goes on after Ctrl-C does not report, or end at, the bad records of the part that was read."""
    path = fill(tmp_path / "a.jsonl", PAIRS)
    lines = path.read_text().splitlines(keepends=True)
    lines[5] = lines[500] = "[]\n"
    path.write_text("".join(lines))
    first = cli("run", path, "--skip-bad", "--every", 50, "--state", tmp_path / "s", interrupt_after=5)
    assert first.status == 130

    ended = cli("run", path, "--resume", tmp_path / "s")
    assert f"{path}, line 501: " in ended.err
    rest = cli("run", path, "--resume", tmp_path / "s", "--skip-bad", "--format", "json")
    assert (json.loads(rest.out)["skipped"]["count"], json.loads(rest.out)["n"]) == (1, 598)


def test_a_crash_between_the_list_and_the_state(cli, tmp_path, parts):
    """If the list was written and the state was not, the list fits the old state, and the run can be repeated."""
    state = tmp_path / "s"
    cli("run", parts[0], "--state", state)
    old = state.read_bytes()
    command = "run", *parts, "--resume", state, "--state", state
    cli(*command)
    state.write_bytes(old)

    result = cli(*command)

    assert (result.status, result.err) == (0, "stream-metrics: 1 file counted before, and not counted again\n")
    assert counted(PAIRS) == state.read_bytes()


def test_a_state_from_elsewhere_replaces_the_list(cli, tmp_path, parts):
    """A fresh run over an old state starts a list of its own."""
    state = tmp_path / "s"
    cli("run", *parts, "--state", state)
    cli("run", "-", "--state", state, stdin=parts[0].read_bytes())

    result = cli("run", *parts, "--resume", state, "--state", state)

    assert (result.status, result.err) == (0, "")
    assert counted(PAIRS[:200] + PAIRS) == state.read_bytes()


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_an_interrupted_run_goes_on(cli, tmp_path, form):
    """After Ctrl-C at any record, runs with one process or two count the rest, and no record twice."""
    paths = [tmp_path / f"{at}.{form}" for at in range(2)]
    for path, pairs in zip(paths, (PAIRS[:350], PAIRS[350:]), strict=True):
        if form == "parquet":
            pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
            pq = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow with Parquet")
            columns = {"y_true": [a for a, _ in pairs], "y_pred": [b for _, b in pairs]}
            pq.write_table(pa.table(columns), path, row_group_size=40)
        else:
            fill(path, pairs, form)
    for stop, jobs in ((2, 1), (6, 1), (39, 2), (40, 1), (62, 1)):
        state = tmp_path / f"s{stop}"
        order = ("run", *paths, "--state", state)
        assert cli(*order, "--every", 9, interrupt_after=stop).status == 130
        resume = ("--resume", state)
        assert cli(*order, *resume, "--every", 5, interrupt_after=3).status == 130
        assert 9 * (stop - 1) < sm.from_bytes(state.read_bytes()).n < 600

        rest = cli(*order, *resume, "--jobs", jobs)
        assert rest.status == 0
        assert counted(PAIRS) == state.read_bytes()
        assert "counted before" in cli("run", *paths, "--resume", state).err
