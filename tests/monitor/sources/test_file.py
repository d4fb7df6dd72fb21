"""Files of lines and standard input: lines are records, a restart goes on, all of it is counted once."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.inner_monitor import OtherSourceError, StdinSource, StoreError
from support.log_files import Reader, append, block, line
from support.monitor_events import CONFIG, NOW
from support.monitor_runs import crash
from support.refusals import refused

from stream_metrics.monitor import Monitor, Record, Store, config, make_source


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    """A reader of a file in a folder, which is not started."""
    reader = Reader(tmp_path, follow=False)
    yield reader
    if hasattr(reader, "source"):
        reader.stop()


LINES = st.lists(st.sampled_from([b"", b" ", b"\r", b"{}", b'{"a": 1}', b"junk\r", "é".encode()]), max_size=12)


@given(LINES, st.booleans(), st.lists(st.integers(1, 9), min_size=1))
def test_lines_are_records_however_they_are_read(values: list[bytes], ended: bool, cuts: list[int]) -> None:
    """Any cut into blocks gives the same records; their offsets are those of bytes, and lead from one to the next."""
    data = b"\n".join(values) + (b"\n" if ended else b"")
    here, there = os.pipe()
    source, records, at = StdinSource(here), [], 0
    source.start(Monitor(CONFIG, clock=lambda: NOW))
    while at < len(data):
        at += os.write(there, data[at : at + cuts[at % len(cuts)]])
        records += source.poll(1)
    os.close(there)
    while not source.ended:
        records += source.poll(1)
    os.close(here)

    assert [record.value for record in records] == [value for value in data.split(b"\n") if value.strip()]
    assert all(data[record.offset :].startswith(record.value or b"?") for record in records)
    assert all(before.next <= after.offset for before, after in pairwise(records))
    assert all(record.next <= len(data) for record in records)


def test_a_line_that_is_too_long_is_no_event(reader: Reader) -> None:
    """A line of more than 16 MB takes no memory and is no JSON, whatever its start and its end are; others are read."""
    whole, space = line(1).rstrip(), b" " * (18 << 20)
    rows = [whole, whole + space + whole, whole[:9] + space + whole[9:], b"{}" + space, whole]
    reader.path.write_bytes(b"\n".join(rows))
    reader.start()
    records = [record for _ in range(80) for record in reader.source.poll(0)]

    assert len(records) == 5
    assert [record.value for record in (records[0], records[-1])] == [whole, whole]
    assert [record.next for record in records[:-1]] == [record.offset for record in records[1:]]
    for record in records[1:-1]:
        assert len(record.value) < 1500
        with pytest.raises(ValueError, match="utf-8"):
            json.loads(record.value)


def test_a_file_is_read_to_its_end_and_continued(reader: Reader, caplog: pytest.LogCaptureFixture) -> None:
    """Without `follow` the end of the file is the end, and a last line needs no newline; a restart reads what is new.

    A stop in the middle of a file that is read in several blocks is no half line.
    """
    n = 40_000
    reader.path.write_bytes(block(n) + line(n).rstrip())
    reader.start()
    first = reader.source.poll(0)
    assert first[0] == Record("events.jsonl", 0, 0, len(line(0)), None, None, line(0).rstrip())
    assert len(first) < n
    reader.monitor.step(first)
    assert abs(reader.source.lag()["events.jsonl", 0] - (n + 1 - len(first))) < n / 100
    assert not reader.source.ended
    reader.restart()
    assert reader.source.poll(0)[0].offset == first[-1].next
    reader.restart()
    assert reader.read() == n + 1
    assert reader.source.ended
    assert reader.source.lag() == {("events.jsonl", 0): 0}
    assert reader.monitor.view().partitions[0].next == {"events.jsonl": reader.path.stat().st_size}
    assert caplog.text == ""


@pytest.mark.parametrize("follow", [False, True])
def test_a_half_written_line_is_left_for_the_next_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, follow: bool
) -> None:
    """A program still writes it: wherever it is cut, it is counted once it is whole, and what is left is logged.

    Without a state file no other run goes on, so it is shown as what it is.
    """
    for cut in (1, 2, 30, -2, -1):
        folder = tmp_path / str(cut)
        folder.mkdir()
        reader = Reader(folder, block(5) + line(5)[:cut], follow=follow)
        whole = cut == -1 and not follow
        assert reader.read() == 5 + whole
        caplog.clear()
        reader.stop()
        assert ("its last line has no end" in caplog.text) == (not whole)
        append(reader.path, line(5)[cut:] + line(6))
        reader.start()
        assert reader.read() == 7
        assert reader.monitor.view().records.rejected == {}
        reader.stop()
    append(reader.path, line(7)[:30])
    source, alone = make_source(config.SourceTable(path=str(reader.path))), Monitor(CONFIG, clock=lambda: NOW)
    source.start(alone)
    while not source.ended:
        alone.step(source.poll(0))
    source.close()
    assert (alone.stats().joined, alone.view().records.rejected) == (7, {"decode": 1})


def test_following_waits_for_more(reader: Reader) -> None:
    """A file that is not there yet is waited for, half a line is waited for, and `poll` comes back in time."""
    reader.start(follow=True)
    assert reader.source.poll(0.2) == []
    assert reader.source.problem is not None
    assert reader.source.lag() == {("events.jsonl", 0): 0}

    reader.path.write_bytes(block(3) + line(3)[:10])
    assert reader.read() == 3
    assert reader.source.problem is None
    writer = threading.Thread(target=append, args=(reader.path, line(3)[10:]))
    writer.start()
    reader.monitor.step(reader.source.poll(60))
    writer.join()
    assert reader.read() == 4
    old = reader.path.rename(f"{reader.path}.1")
    reader.path.mkdir()
    assert reader.source.poll(0) == []
    assert reader.source.problem == f"{reader.path}: Is a directory"
    reader.path.rmdir()
    old.rename(reader.path)
    append(reader.path, line(4))
    assert (reader.read(), reader.source.problem, reader.source.ended) == (5, None, False)


@pytest.mark.parametrize("events", [0, 20])
def test_a_file_that_was_replaced_is_not_taken_for_the_old_one(
    reader: Reader, caplog: pytest.LogCaptureFixture, events: int
) -> None:
    """It is refused, also if the process was killed before the first event, or read, and the counts say so.

    A start that is refused stores nothing: the rest of the old file is read under its new name.
    """
    reader.path.write_bytes(block(20))
    reader.start()
    for records in [reader.source.poll(0)] if events else []:
        reader.monitor.step(records)
        reader.monitor.checkpoint()
    reader.source.close()
    crash(reader.monitor)
    old, path = reader.path.rename(f"{reader.path}.1"), reader.path
    path.write_bytes(block(500, 600))
    append(old, block(20, 30))
    stored = contents(reader.state)
    about = f"{path} is not the file that was read, up to byte {len(block(events))}."
    refused(reader.start, StoreError, about)
    path.rename(f"{path}.2")
    refused(reader.start, StoreError, "No such file")
    assert contents(reader.state) == stored
    reader.path = old
    reader.start()
    assert reader.read() == 30
    reader.stop()
    reader.path = Path(f"{path}.2").rename(path)
    refused(reader.start, StoreError, 'truncated = "reset" goes on with the file that is there')

    caplog.clear()
    reader.start(truncated="reset")
    assert reader.read() == 130
    assert "may be missing, or counted twice" in reader.incomplete[0]
    assert [record.levelno for record in caplog.records][-1] == logging.WARNING
    reader.restart(truncated="fail")
    assert reader.read() == 130


def contents(state: str) -> list[str]:
    """Return all that a state file has."""
    with closing(sqlite3.connect(state)) as connection:
        return list(connection.iterdump())


ACTIONS = st.sampled_from(["write", "rotate", "read", "restart", "rest", "truncate", "remove"])


@settings(max_examples=25, deadline=None)
@given(actions=st.lists(ACTIONS, max_size=25))
def test_every_line_is_read_once(actions: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Any order of writes, rotations, reads and restarts: in the end all lines are counted, each once.

    A file is truncated or removed once it was read, as nothing can read it later. A program may write to a file that
    was renamed, and leave its last line without an end. The monitor runs while a file is renamed.
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
        elif action == "rotate":
            path.rename(f"{path}.{rotations}")
            path.write_bytes(block(n, n + 3))
            append(Path(f"{path}.{rotations}"), line(n + 3).rstrip())
            n, rotations = n + 4, rotations + 1
            reader.read()
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


def test_a_truncated_file_is_read_from_its_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Also if it has become as long as it was; what may have been lost is in the log."""
    reader = Reader(tmp_path, block(10))
    reader.read()
    with open(reader.path, "r+b") as file:
        file.truncate(0)
        file.write(block(20, 30))
    assert reader.read() == 20
    assert "was truncated after byte" in caplog.text
    append(reader.path, block(30, 610))
    reader.restart()
    assert reader.read() == 600
    reader.stop()


@pytest.mark.parametrize("truncated", ["fail", "reset"])
def test_a_state_of_another_file_is_refused(reader: Reader, truncated: str) -> None:
    """Ids that were counted under another name would be counted again; nothing changes, and the old one goes on."""
    path, other = reader.path, reader.path.with_name("other.jsonl")
    path.write_bytes(block(100))
    reader.start()
    reader.read()
    reader.stop()
    other.write_bytes(line(1000) + block(100))
    reader.path = other
    error = refused(lambda: reader.start(truncated=truncated), OtherSourceError)
    with closing(Monitor(CONFIG, Store(reader.state), lambda: NOW)) as monitor:
        refused(lambda: StdinSource().start(monitor), OtherSourceError, "standard input")
    assert (error.stored, error.given) == (str(path), str(other))
    reader.path = path
    reader.start()
    assert reader.read() == 100
    reader.stop()
    with closing(sqlite3.connect(reader.state)) as connection, connection:
        connection.execute("update parts set crc = crc + 1")
    stored = contents(reader.state)
    refused(reader.start, StoreError, "damaged")
    assert contents(reader.state) == stored


def test_a_file_that_was_renamed_goes_on(reader: Reader) -> None:
    """It is known by its content, twice and back again, with what was appended meanwhile."""
    reader.path.write_bytes(block(100))
    for at, name in enumerate(["events.jsonl", "first.jsonl", "second.jsonl", "events.jsonl"], 1):
        reader.path = reader.path.rename(reader.path.with_name(name))
        append(reader.path, block(100 * at, 100 * at + 50))
        reader.start()
        assert reader.read() == 100 + 50 * at
        reader.stop()


def test_standard_input_counts_its_bytes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Offsets are those of bytes since the first start; a restart says that what comes is new."""
    for data, n in ((block(10), 10), (block(10, 15), 15)):
        here, there = os.pipe()
        source, monitor = StdinSource(here), Monitor(CONFIG, Store(str(tmp_path / "state")), lambda: NOW)
        source.start(monitor)
        assert source.poll(0.01) == []
        os.write(there, data + b'{"id": 99')
        monitor.step(source.poll(1))
        assert monitor.stats().joined == n
        os.close(there)
        while not source.ended:
            monitor.step(source.poll(1))
        assert (monitor.stats().joined, source.lag()) == (n, None)
        rejected = monitor.view().records.rejected
        monitor.close()
        os.close(here)

    assert rejected == {"decode": 2}
    (message,) = [record.getMessage() for record in caplog.records]
    assert message.startswith("standard input starts from its beginning")
    assert f"{len(block(10)) + 9} bytes, stays counted" in message


def test_the_configuration_names_the_source(reader: Reader) -> None:
    """A file, or standard input by its name or by a dash; what cannot be read, or is no kind, is refused."""
    for told in (config.SourceTable(path="-"), config.SourceTable(kind="stdin")):
        assert isinstance(make_source(told), StdinSource)
    refused(lambda: make_source(config.SourceTable(kind="memory")), ValueError, "'file', 'stdin' or 'kafka'")
    refused(lambda: make_source(config.SourceTable()), ValueError, "Expected `path` to name a file")
    refused(reader.start, StoreError, "events.jsonl: No such file or directory")
    reader.path = reader.path.parent
    refused(reader.start, StoreError, "Is a directory")
