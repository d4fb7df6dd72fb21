"""The list of counted files beside a state: a repeated, resumed or interrupted run counts no record twice."""

from __future__ import annotations

import os
import random
import shutil

import pytest
from support.command_line import as_csv, as_json_lines, of_pairs, refusal, run_json, write_parquet

import stream_metrics as sm

pytestmark = pytest.mark.usefixtures("interrupts")
RNG = random.Random(4)
PAIRS = [(RNG.choice("abc"), RNG.choice("abc")) for _ in range(600)]


def fill(path, pairs):
    """Write pairs in the format of a path and return it."""
    if path.suffix == ".parquet":
        return write_parquet(path, {"y_true": [a for a, _ in pairs], "y_pred": [b for _, b in pairs]}, 40)
    records = ({"y_true": a, "y_pred": b} for a, b in pairs)
    path.write_bytes(as_csv(pairs) if path.suffix == ".csv" else as_json_lines(records))
    return path


@pytest.fixture
def parts(tmp_path):
    """Return three files."""
    (tmp_path / "data").mkdir()
    return [fill(tmp_path / "data" / f"{at}.jsonl", PAIRS[at * 200 : at * 200 + 200]) for at in range(3)]


def test_a_repeated_run_counts_nothing(cli, tmp_path, parts):
    """Files that were counted into a state are left out, however they are named; the bytes do not depend on files."""
    state, link = tmp_path / "s", tmp_path / "link"
    cli("run", *parts[:2], "--state", state)
    link.symlink_to(tmp_path / "data")

    again = cli("run", parts[0], "--resume", state, "--state", state)
    assert (again.status, again.err) == (0, "stream-metrics: 1 file counted before, and not counted again\n")
    assert of_pairs(PAIRS[:400]) == state.read_bytes()

    more = cli("run", link, "--resume", state, "--state", tmp_path / "t", "--jobs", "2")
    assert more.err == "stream-metrics: 2 files counted before, and not counted again\n"
    assert of_pairs(PAIRS) == (tmp_path / "t").read_bytes()

    assert cli("run", link / "*", "--resume", tmp_path / "t", "--state", state).status == 0
    assert of_pairs(PAIRS) == state.read_bytes()


def test_stdin_has_no_list(cli, tmp_path, parts):
    """A state of stdin is read, and goes on without a list; a fresh run over an old state starts a list of its own."""
    state, data = tmp_path / "s", parts[0].read_bytes()
    cli("run", "-", "--state", state, stdin=data)
    assert not (tmp_path / "s.files").exists()
    cli("run", "-", "--resume", state, "--state", state, stdin=data)
    assert of_pairs(PAIRS[:200] * 2) == state.read_bytes()

    cli("run", *parts, "--state", state)
    cli("run", "-", "--state", state, stdin=data)
    result = cli("run", *parts, "--resume", state, "--state", state)
    assert (result.status, result.err) == (0, "")
    assert of_pairs(PAIRS[:200] + PAIRS) == state.read_bytes()


CHANGES = {
    "has grown since it was counted, from ": lambda path: path.write_bytes(path.read_bytes() * 2),
    "has become shorter since it was counted, from ": lambda path: path.write_bytes(path.read_bytes()[:33]),
    "has changed since it was counted": lambda path: os.utime(path, ns=(1, 1)),
}


def test_a_file_that_has_changed_is_an_error(cli, tmp_path, parts):
    """A file that was counted and then written again is refused, and the state stays as it is."""
    state = tmp_path / "s"
    for path, (reason, alter) in zip(parts, CHANGES.items(), strict=True):
        cli("run", path, "--state", state)
        before = state.read_bytes()
        alter(path)

        said = refusal("run", path, "--resume", state, "--state", state)

        assert said.startswith(f"stream-metrics: {path}: {reason}")
        assert before == state.read_bytes()


def test_merged_lists(cli, tmp_path, parts):
    """A merged state has the files of all; one that was counted into two of them is refused by name."""
    for at in range(3):
        cli("run", parts[at], "--state", tmp_path / f"{at}.state")
    cli("merge", tmp_path / "[01].state*", "-o", tmp_path / "all")

    more = cli("run", *parts, "--resume", tmp_path / "all", "--state", tmp_path / "all")
    assert more.err == "stream-metrics: 2 files counted before, and not counted again\n"
    assert of_pairs(PAIRS) == (tmp_path / "all").read_bytes()

    twice = cli("merge", tmp_path / "all", tmp_path / "2.state", "-o", tmp_path / "wrong")
    assert (twice.status, twice.out, (tmp_path / "wrong").exists()) == (1, "", False)
    assert f"{parts[2]} was counted into" in twice.err


def test_lists_that_do_not_fit(cli, tmp_path, parts):
    """A list of another state, or a damaged one, is refused; what is no list is not replaced, before it counts."""
    for name, some in (("s", parts[:1]), ("t", parts[:2])):
        cli("run", *some, "--state", tmp_path / name)
    shutil.copy(tmp_path / "t", tmp_path / "s")
    other = cli("run", parts[2], "--resume", tmp_path / "s")
    assert (other.status, other.out) == (1, "")
    assert "s.files: lists the files of another state" in other.err

    apart = (tmp_path / "t.files").read_text().replace("[[0,null]]", "[[0,9],[40,null]]")
    (tmp_path / "t.files").write_text(apart)
    assert "t.files: is not a list of counted files" in refusal("run", parts[2], "--resume", tmp_path / "t")

    for content in (b"", b"{}\n", b"[\n", (tmp_path / "t.files").read_bytes()[:-9], b"\xff"):
        (tmp_path / "t.files").write_bytes(content)
        damaged = cli("run", parts[2], "--resume", tmp_path / "t")
        assert (damaged.status, damaged.out) == (1, "")
        assert "t.files: is not a list of counted files" in damaged.err

    for content in (b"my notes", b"", b"[1]"):
        (tmp_path / "u.files").write_bytes(content)
        for command in (("run", parts[0], "--state", tmp_path / "u"), ("merge", tmp_path / "u", "-o", tmp_path / "u")):
            result = cli(*command)
            assert (result.status, result.out) == (1, "")
            assert "u.files: is not a list of counted files" in result.err
        assert (tmp_path / "u.files").read_bytes() == content


def test_bad_records_are_reported_once(cli, tmp_path):
    """A run that goes on after Ctrl-C does not report, or end at, the bad records of the part that was read."""
    path, state = fill(tmp_path / "a.jsonl", PAIRS), tmp_path / "s"
    lines = path.read_text().splitlines(keepends=True)
    lines[5] = lines[500] = "[]\n"
    path.write_text("".join(lines))
    assert cli("run", path, "--skip-bad", "--every", 50, "--state", state, interrupt_after=5).status == 130

    assert f"{path}, line 501: " in cli("run", path, "--resume", state).err
    rest = run_json("run", path, "--resume", state, "--skip-bad")
    assert (rest["skipped"]["count"], rest["n"]) == (1, 598)


def test_a_crash_between_the_list_and_the_state(cli, tmp_path, parts):
    """If the list was written and the state was not, the list fits the old state, and the run can be repeated."""
    state, command = tmp_path / "s", ("run", *parts, "--resume", tmp_path / "s", "--state", tmp_path / "s")
    cli("run", parts[0], "--state", state)
    old = state.read_bytes()
    for _ in range(2):
        result = cli(*command)
        assert (result.status, result.err) == (0, "stream-metrics: 1 file counted before, and not counted again\n")
        assert of_pairs(PAIRS) == state.read_bytes()
        state.write_bytes(old)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_an_interrupted_run_goes_on(cli, tmp_path, form):
    """After Ctrl-C at any record, runs with one process or two count the rest, and no record twice."""
    paths = [fill(tmp_path / f"{at}.{form}", pairs) for at, pairs in enumerate((PAIRS[:350], PAIRS[350:]))]
    for stop, jobs in ((2, 1), (39, 2), (40, 1), (62, 1)):
        state = tmp_path / f"s{stop}"
        order, resume = ("run", *paths, "--state", state), ("--resume", state)
        assert cli(*order, "--every", 9, interrupt_after=stop).status == 130
        assert cli(*order, *resume, "--every", 5, interrupt_after=3).status == 130
        assert 9 * (stop - 1) < sm.from_bytes(state.read_bytes()).n < 600

        assert cli(*order, *resume, "--jobs", jobs).status == 0
        assert of_pairs(PAIRS) == state.read_bytes()
        assert "counted before" in cli("run", *paths, "--resume", state).err
