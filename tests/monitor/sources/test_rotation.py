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
from support.monitor_events import CONFIG, NOW, START

from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.sources.file import FileSource
from stream_metrics.monitor.store import Store, StoreError

HEAD = b"# " + 400 * b"=" + b"\n"


def block(*numbers: int) -> bytes:
    """Return events as lines."""
    text = '{{"id": {0}, "time": {1}, "truth": "cat", "prediction": "dog"}}\n'
    return b"".join(text.format(at, START + at).encode() for at in range(*numbers))


def append(path: Path, data: bytes) -> None:
    """Write more to a file."""
    with open(path, "ab") as file:
        file.write(data)


def rotate(path: Path) -> None:
    """Rename a file and those that were renamed before, as logrotate does."""
    for number in range(8, 0, -1):
        old = Path(f"{path}.{number}")
        if old.exists():
            old.rename(f"{path}.{number + 1}")
    path.rename(f"{path}.1")


class Reader:
    """A monitor that follows a file, and can be stopped and started."""

    def __init__(self, folder: Path, truncated: str = "fail") -> None:
        self.path = folder / "events.jsonl"
        self.truncated = truncated
        self._state = str(folder / "state")
        self.start()

    def start(self) -> None:
        """Start, where the state file says."""
        self.monitor = Monitor(CONFIG, Store(self._state), lambda: NOW)
        self.source = FileSource(str(self.path), True, self.truncated)
        try:
            self.source.start(self.monitor)
        except StoreError:
            self.monitor.close()
            raise

    def read(self) -> int:
        """Read what is there, and return how many pairs are counted."""
        for _ in range(12):
            self.monitor.step(self.source.poll(0))
        return self.monitor.view().by_window["total"].n

    def stop(self) -> None:
        """Stop."""
        self.source.close()
        self.monitor.close()

    @property
    def incomplete(self) -> list[str]:
        """What the counts lack."""
        return self.monitor.view().incomplete


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    """A reader of an empty file."""
    (tmp_path / "events.jsonl").touch()
    made = Reader(tmp_path)
    yield made
    made.stop()


@settings(max_examples=25, deadline=None)
@given(actions=st.lists(st.sampled_from(["write", "rotate", "read", "restart", "rest"]), max_size=25))
def test_every_line_is_read_once(actions: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Any order of writes, rotations, reads and restarts: in the end all lines are counted, each once."""
    folder = tmp_path_factory.mktemp("rotated")
    path = folder / "events.jsonl"
    path.write_bytes(block(1))
    reader, n, rotations = Reader(folder), 1, 0
    for action in [*actions, "read", "read"]:
        if action == "write":
            append(path, block(n, n + 7))
            n += 7
        elif action == "rest":
            append(path, b'{"id": %d, "time": %d, "truth": "cat", ' % (n, START + n))
            append(path, b'"prediction": "dog"}\n')
            n += 1
        elif action == "rotate" and rotations < 6:
            rotate(path)
            path.write_bytes(block(n, n + 3))
            n, rotations = n + 3, rotations + 1
        elif action == "read":
            reader.read()
        elif action == "restart":
            reader.stop()
            reader.start()
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
    rotate(reader.path)
    reader.path.write_bytes(block(108, 116))
    rotate(reader.path)
    reader.path.write_bytes(block(116, 124))
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
    for name in (".bak", ".idx", ".lock", "2", ".tmp~"):
        Path(f"{reader.path}{name}" if name != "2" else f"{reader.path.parent}/other").write_bytes(block(900, 905))

    assert reader.read() == 30


def test_equal_beginnings(reader: Reader) -> None:
    """Files that begin alike for more than 256 bytes are distinguished by the bytes where reading stopped."""
    append(reader.path, HEAD + block(100))
    assert reader.read() == 100
    reader.stop()
    rotate(reader.path)
    reader.path.write_bytes(HEAD + block(100, 400))
    reader.start()

    assert reader.read() == 400


@pytest.mark.parametrize("truncated", ["fail", "reset"])
@pytest.mark.parametrize("gone", [1, 2])
def test_a_file_in_the_middle_that_is_gone(tmp_path: Path, truncated: str, gone: int) -> None:
    """Numbers tell that a file was deleted unread: that stops the monitor, or is among what the counts lack."""
    reader = Reader(tmp_path, truncated)
    for start in (0, 10, 20, 30):
        if start == 10:
            assert reader.read() == 10
            reader.stop()
        if start:
            rotate(reader.path)
        reader.path.write_bytes(block(start, start + 10))
    Path(f"{reader.path}.{gone}").unlink()

    if truncated == "fail":
        with pytest.raises(StoreError, match=rf"events.jsonl.{gone} was never read, and is gone"):
            reader.start()
        return
    reader.start()
    assert reader.read() == 30
    assert ["never read" in what for what in reader.incomplete] == [True]
    reader.stop()


@pytest.mark.parametrize("truncated", ["fail", "reset"])
def test_a_compressed_file_that_was_never_read(tmp_path: Path, truncated: str) -> None:
    """It cannot be read: that stops the monitor, or is among what the counts lack."""
    (tmp_path / "events.jsonl").write_bytes(block(10))
    reader = Reader(tmp_path, truncated)
    reader.read()
    rotate(reader.path)
    with gzip.open(f"{reader.path}.0.gz", "wb") as file:
        file.write(block(10, 20))
    reader.path.write_bytes(block(20, 30))

    if truncated == "fail":
        with pytest.raises(StoreError, match=r"events.jsonl.0.gz was never read, and is compressed"):
            reader.read()
    else:
        assert reader.read() == 20
        assert ["never read" in what for what in reader.incomplete] == [True]
    reader.stop()


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
    reader.stop()
    reader.start()
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


def test_a_state_file_that_is_deleted_is_said(reader: Reader, tmp_path: Path) -> None:
    """Checkpoints fail from then on and say why; put back, the state file is written again."""
    append(reader.path, block(10))
    reader.read()
    reader.monitor.checkpoint()
    os.rename(tmp_path / "state", tmp_path / "moved")
    append(reader.path, block(10, 20))
    reader.read()
    with pytest.raises(StoreError, match="the state file was deleted or replaced while it was in use"):
        reader.monitor.checkpoint()
    (tmp_path / "state").write_bytes(b"")
    with pytest.raises(StoreError, match="deleted or replaced"):
        reader.monitor.checkpoint()
    os.replace(tmp_path / "moved", tmp_path / "state")
    reader.monitor.checkpoint()
    reader.stop()
    reader.start()

    assert reader.read() == 20
    (tmp_path / "state").unlink()
    with pytest.raises(StoreError, match="deleted or replaced"):
        reader.stop()
    reader.start()
