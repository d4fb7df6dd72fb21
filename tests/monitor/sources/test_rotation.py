"""Files that are rotated twice, copied, truncated or compressed: every line is read once, or its loss is said."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.inner_monitor import StoreError
from support.log_files import Reader, append, block, line, rotate
from support.refusals import refused

HEAD = b"# " + 400 * b"=" + b"\n"


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    """A reader of an empty file."""
    reader = Reader(tmp_path, b"")
    yield reader
    reader.stop()


ACTIONS = st.sampled_from(["write", "rotate", "read", "restart", "rest", "truncate", "remove"])


@settings(max_examples=25, deadline=None)
@given(actions=st.lists(ACTIONS, max_size=25))
def test_every_line_is_read_once(actions: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Any order of writes, rotations, reads and restarts: in the end all lines are counted, each once.

    A file is truncated or removed once it was read, as nothing can read it later. A program may write to a file that
    was renamed, and leave its last line without an end.
    """
    reader, n, rotations = Reader(tmp_path_factory.mktemp("rotated"), block(1)), 1, 0
    path = reader.path
    for action in [*actions, "read", "read"]:
        if action == "write":
            append(path, block(n, n + 7))
            n += 7
        elif action == "rest":
            append(path, line(n)[:30])
            append(path, line(n)[30:])
            n += 1
        elif action == "rotate" and rotations < 6:
            rotate(path, block(n, n + 3))
            append(Path(f"{path}.1"), line(n + 3).rstrip())
            n, rotations = n + 4, rotations + 1
        elif action == "read":
            reader.read()
        elif action == "restart":
            reader.restart()
        elif action in ("truncate", "remove"):
            reader.read()
            os.truncate(path, 0) if action == "truncate" else path.unlink()
            reader.read()
            append(path, block(n, n + 2))
            n += 2
            reader.read()
    view = reader.monitor.view()

    assert view.by_window["total"].n == n
    assert view.join.predictions_duplicate == 0
    assert view.incomplete == []
    assert view.records.rejected == {}
    reader.stop()


@pytest.mark.parametrize("down", [True, False])
def test_the_file_in_the_middle(reader: Reader, down: bool) -> None:
    """Rotated twice while the monitor is down, or between two looks: the file in the middle is read in its turn."""
    append(reader.path, block(100))
    assert reader.read() == 100
    if down:
        reader.stop()
    append(reader.path, block(100, 108))
    rotate(reader.path, block(108, 116))
    rotate(reader.path, block(116, 124))
    if down:
        reader.start()

    assert reader.read() == 124


def test_dates_and_other_files(reader: Reader) -> None:
    """Rotated files may have dates as names; files that are none of them are left alone."""
    append(reader.path, block(10))
    reader.read()
    for day in (1, 2):
        reader.path.rename(f"{reader.path}-2026-01-0{day}")
        reader.path.write_bytes(block(10 * day, 10 * day + 10))
    for name in ("events.jsonl.bak", "events.jsonl.idx", "events.jsonl.lock", "other", "events.jsonl.tmp~"):
        reader.path.with_name(name).write_bytes(block(900, 905))

    assert reader.read() == 30


def test_equal_beginnings(reader: Reader) -> None:
    """Files that begin alike for more than 256 bytes are distinguished by the bytes where reading stopped."""
    append(reader.path, HEAD + block(100))
    assert reader.read() == 100
    reader.stop()
    rotate(reader.path, HEAD + block(100, 400))
    reader.start()

    assert reader.read() == 400


def test_a_file_in_the_middle_that_is_gone(tmp_path: Path) -> None:
    """Numbers tell that a file was deleted unread: that stops the monitor, or is among what the counts lack."""
    for gone, truncated in ((1, "fail"), (2, "fail"), (1, "reset"), (2, "reset")):
        folder = tmp_path / f"{gone}-{truncated}"
        folder.mkdir()
        reader = Reader(folder, block(10), truncated=truncated)
        assert reader.read() == 10
        reader.stop()
        for start in (10, 20, 30):
            rotate(reader.path, block(start, start + 10))
        Path(f"{reader.path}.{gone}").unlink()
        if truncated == "fail":
            refused(reader.start, StoreError, f"events.jsonl.{gone} was never read, and is gone")
            continue
        reader.start()
        assert reader.read() == 30
        assert ["never read" in what for what in reader.incomplete] == [True]
        reader.stop()


def test_a_compressed_file_that_was_never_read(reader: Reader) -> None:
    """It cannot be read: that stops the monitor, or is among what the counts lack."""
    append(reader.path, block(10))
    reader.read()
    rotate(reader.path, block(20, 30))
    with gzip.open(f"{reader.path}.0.gz", "wb") as file:
        file.write(block(10, 20))

    refused(reader.read, StoreError, "events.jsonl.0.gz was never read, and is compressed")
    reader.restart(truncated="reset")
    assert reader.read() == 20
    assert ["never read" in what for what in reader.incomplete] == [True]


def test_a_compressed_file_that_was_read(reader: Reader) -> None:
    """The file that was being read is compressed as it is rotated, at any time: nothing is missing."""
    append(reader.path, block(10))
    reader.read()
    with open(reader.path, "rb") as plain, gzip.open(f"{reader.path}.1.gz", "wb") as packed:
        shutil.copyfileobj(plain, packed)
    reader.path.unlink()
    reader.path.write_bytes(block(10, 20))

    assert reader.read() == 20
    assert reader.incomplete == []


def test_truncated_and_written_beyond_the_old_end(reader: Reader) -> None:
    """Between two looks a file is copied, truncated, and longer than before: it is read from its start."""
    append(reader.path, block(600))
    assert reader.read() == 600
    append(reader.path, block(600, 610))  # which only the copy has
    shutil.copy(reader.path, f"{reader.path}.1")
    with open(reader.path, "r+b") as file:
        file.truncate(0)
        file.write(block(610, 1300))

    assert reader.read() == 1300
    reader.restart()
    append(reader.path, block(1300, 1310))
    assert reader.read() == 1310


def test_truncated_without_a_copy(reader: Reader, caplog: pytest.LogCaptureFixture) -> None:
    """What may have been lost is in the log; reading starts again, also if the new file is as long as the old one."""
    append(reader.path, block(10, 20))
    reader.read()
    with open(reader.path, "r+b") as file:
        file.truncate(0)
        file.write(block(20, 30))

    assert reader.read() == 20
    assert "was truncated after byte" in caplog.text


def test_a_state_file_that_is_deleted_is_reported(reader: Reader, tmp_path: Path) -> None:
    """Checkpoints fail from then on and say why; put back, the state file is written again."""
    append(reader.path, block(10))
    reader.read()
    reader.monitor.checkpoint()
    os.rename(tmp_path / "state", tmp_path / "moved")
    append(reader.path, block(10, 20))
    reader.read()
    refused(reader.monitor.checkpoint, StoreError, "the state file was deleted or replaced while it was in use")
    (tmp_path / "state").write_bytes(b"")
    refused(reader.monitor.checkpoint, StoreError, "deleted or replaced")
    os.replace(tmp_path / "moved", tmp_path / "state")
    reader.monitor.checkpoint()
    reader.restart()

    assert reader.read() == 20
    (tmp_path / "state").unlink()
    refused(reader.stop, StoreError, "deleted or replaced")
    reader.start()
