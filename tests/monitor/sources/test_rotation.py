"""Files that are rotated, copied, truncated or compressed: every line is read once, or its loss is said."""

from __future__ import annotations

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


ACTIONS = st.sampled_from(["write", "rotate", "read", "restart", "down", "rest", "truncate", "remove"])


@settings(max_examples=25, deadline=None)
@given(actions=st.lists(ACTIONS, max_size=25))
def test_every_line_is_read_once(actions: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Any order of writes, rotations, reads and restarts: in the end all lines are counted, each once.

    A file is truncated or removed once it was read, as nothing can read it later. A program may write to a file that
    was renamed, and leave its last line without an end. What is done after "down" is done while no monitor runs.
    """
    reader, n, rotations, down = Reader(tmp_path_factory.mktemp("rotated"), block(1)), 1, 0, False
    path = reader.path
    for action in [*actions, "read", "read"]:
        if down and action not in ("write", "rest", "rotate"):
            reader.start()
            down = False
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
        elif action == "down":
            reader.read()
            reader.stop()
            down = True
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


@pytest.mark.parametrize("truncated", ["fail", "reset"])
def test_what_cannot_be_read_any_more_is_reported(reader: Reader, truncated: str) -> None:
    """A rotated file that was deleted unread stops the monitor, or is among what the counts lack."""
    append(reader.path, block(10))
    assert reader.read() == 10
    reader.stop()
    for start in (10, 20, 30):
        rotate(reader.path, block(start, start + 10))
    os.remove(f"{reader.path}.1")
    if truncated == "fail":
        refused(lambda: (reader.start(), reader.read()), StoreError, "events.jsonl.1 was never read, and is gone")
    else:
        reader.start(truncated=truncated)
        assert (reader.read(), ["never read" in what for what in reader.incomplete]) == (30, [True])


def test_a_truncated_file_is_read_from_its_start(reader: Reader, caplog: pytest.LogCaptureFixture) -> None:
    """Also if it has become as long as it was; what may have been lost is in the log, and what a copy has is read."""

    def write_again(data: bytes) -> None:
        with open(reader.path, "r+b") as file:
            file.truncate(0)
            file.write(data)

    append(reader.path, block(10, 20))
    reader.read()
    write_again(block(20, 30))
    assert reader.read() == 20
    assert "was truncated after byte" in caplog.text
    append(reader.path, block(30, 610))
    assert reader.read() == 600
    append(reader.path, block(610, 620))
    shutil.copy(reader.path, f"{reader.path}.1")
    write_again(block(620, 1410))
    assert reader.read() == 1400
    reader.restart()
    append(reader.path, block(1410, 1420))
    assert reader.read() == 1410
