"""Files of lines, followed through rotation and truncation, over restarts; standard input; all of it counted once."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.monitor_events import CONFIG, NOW, START

from stream_metrics.monitor import config
from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.sources import Source
from stream_metrics.monitor.sources import file as file_module
from stream_metrics.monitor.sources import lines as lines_module
from stream_metrics.monitor.sources.file import FileSource, StdinSource
from stream_metrics.monitor.sources.lines import Lines
from stream_metrics.monitor.sources.make import make_source
from stream_metrics.monitor.store import Store, StoreError
from stream_metrics.monitor.store.rows import OtherSourceError


def line(number: int) -> bytes:
    """Return an event as a line."""
    return b'{"id": %d, "time": %d, "truth": "cat", "prediction": "dog"}\n' % (number, START + number)


def block(*numbers: int) -> bytes:
    """Return events as lines."""
    return b"".join(map(line, range(*numbers)))


def append(path: Path, data: bytes) -> None:
    """Write more to a file."""
    with open(path, "ab") as file:
        file.write(data)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of a log in a folder of its own."""
    (tmp_path / "logs").mkdir()
    return tmp_path / "logs" / "events.jsonl"


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., tuple[Monitor, FileSource]]:
    """Start a monitor on a file, with the state file of the test."""

    def started(path: Path, *arguments: object) -> tuple[Monitor, FileSource]:
        source = FileSource(str(path), *arguments)  # type: ignore[arg-type]
        monitor = Monitor(CONFIG, Store(str(tmp_path / "state")), lambda: NOW)
        try:
            source.start(monitor)
        except StoreError:
            assert monitor.store is not None
            monitor.store.close()
            raise
        return monitor, source

    return started


def run(monitor: Monitor, source: Source) -> int:
    """Read all that is there and return how many predictions have been joined so far."""
    while found := source.poll(0):
        monitor.step(found)
    return monitor.stats().joined


def stop(monitor: Monitor, source: Source) -> None:
    """Write a checkpoint and let go of everything."""
    monitor.close()
    source.close()


LINES = st.lists(st.sampled_from([b"", b" ", b"\r", b"{}", b'{"a": 1}', b"junk\r", "é".encode()]), max_size=12)


@given(LINES, st.booleans(), st.lists(st.integers(1, 9), min_size=1), st.integers(0, 10**6))
def test_lines_are_records_however_they_are_read(found: list[bytes], ended: bool, cuts: list[int], offset: int) -> None:
    """Any cut into blocks gives the same records; their offsets are those of bytes, and lead from one to the next."""
    data = b"\n".join(found) + (b"\n" if ended else b"")
    lines, records, at = Lines("t", offset), [], 0
    while at < len(data):
        size = cuts[at % len(cuts)]
        records += lines.add(data[at : at + size])
        at += size
    records += lines.last()

    full = [value for value in data.split(b"\n") if value.strip()]
    assert [record.value for record in records] == full
    assert all(data[record.offset - offset :].startswith(record.value or b"?") for record in records)
    assert all(before.next <= after.offset for before, after in pairwise(records))
    assert all(record.next <= offset + len(data) for record in records)
    assert lines.offset == offset + len(data)


def test_a_line_without_end_takes_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is longer than any event is cut down to its start, and what follows is read as usual."""
    monkeypatch.setattr(lines_module, "LONGEST", 1000)
    lines = Lines("t", 0)
    found = [record for _ in range(100) for record in lines.add(b"x" * 100)]

    found += lines.add(b"\n{}\n")

    assert [(record.offset, record.next, len(record.value or b"")) for record in found] == [
        (0, 10_001, found[0].value and len(found[0].value)),
        (10_001, 10_004, 2),
    ]
    assert len(found[0].value or b"") < 1500


@given(st.lists(st.integers(1, 9), min_size=1), st.booleans())
def test_a_line_that_is_too_long_is_no_event(cuts: list[int], ended: bool) -> None:
    """However it is read and whatever its start and end are, a line is read whole or is no JSON."""
    whole = b'{"id": 1, "truth": "a"}'
    space = b" " * 40
    data = b"\n".join([whole, whole + space + whole, b'{"id": 1, ' + space + b'"truth": "a"}', b"{}" + space, whole])
    data += b"\n" if ended else b""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines_module, "LONGEST", 30)
        patch.setattr(lines_module, "KEPT", len(whole))
        lines, records, at = Lines("t", 0), [], 0
        while at < len(data):
            records += lines.add(data[at : at + cuts[at % len(cuts)]])
            at += cuts[at % len(cuts)]
        records += lines.last()

    assert len(records) == 5
    for record, line in zip(records, data.split(b"\n"), strict=False):
        if record.value != line:
            assert len(line) > 30
            with pytest.raises(ValueError, match="utf-8"):
                json.loads(record.value or b"")


def test_a_file_is_read_to_its_end(path: Path, start: Callable[..., tuple[Monitor, FileSource]]) -> None:
    """Without `follow` the end of the file is the end, and a last line needs no newline."""
    path.write_bytes(block(100) + line(100).rstrip())
    monitor, source = start(path)
    first = source.poll(0)

    assert first[0] == Record("events.jsonl", 0, 0, len(line(0)), None, None, line(0).rstrip())
    monitor.step(first)
    assert source.lag()["events.jsonl", 0] <= 1
    assert run(monitor, source) == 101
    assert source.ended
    assert monitor.view().partitions[0].next == {"events.jsonl": path.stat().st_size}
    stop(monitor, source)


def test_a_file_that_is_left_in_its_middle_ends_in_no_half_line(
    path: Path, start: Callable[..., tuple[Monitor, FileSource]], caplog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block ends in the middle of a line, and the monitor is stopped: nothing is said of the last line."""
    monkeypatch.setattr(file_module, "BLOCK", len(line(0)) * 3 // 2)
    path.write_bytes(block(100))
    monitor, source = start(path)
    monitor.step(source.poll(0))
    stop(monitor, source)

    assert caplog.text == ""
    monitor, source = start(path)
    assert run(monitor, source) == 100
    stop(monitor, source)


@pytest.mark.parametrize("cut", [1, 2, 30, -2, -1])
@pytest.mark.parametrize("follow", [False, True])
def test_a_half_written_line_is_left_for_the_next_time(
    path: Path, start: Callable[..., tuple[Monitor, FileSource]], caplog, cut: int, follow: bool
) -> None:
    """A program still writes it: wherever it is cut, it is counted once it is whole, and what is left is said."""
    path.write_bytes(block(5) + line(5)[:cut])
    monitor, source = start(path, follow)
    whole = cut == -1 and not follow
    assert run(monitor, source) == 5 + whole
    stop(monitor, source)
    assert ("its last line has no end" in caplog.text) == (not whole)
    append(path, line(5)[cut:] + line(6))

    monitor, source = start(path)

    assert run(monitor, source) == 7
    assert monitor.view().records.rejected == {}
    stop(monitor, source)


def test_a_half_line_that_nothing_follows_is_rejected(path: Path) -> None:
    """Without a state file no other run goes on, so it is shown as what it is."""
    path.write_bytes(block(5) + line(5)[:30])
    source, monitor = FileSource(str(path)), Monitor(CONFIG, clock=lambda: NOW)
    source.start(monitor)

    assert run(monitor, source) == 5
    assert monitor.view().records.rejected == {"decode": 1}
    stop(monitor, source)


def test_a_restart_goes_on_where_it_stopped(path: Path, start: Callable[..., tuple[Monitor, FileSource]]) -> None:
    """What was read is sought over, not read again; what has come since is read."""
    path.write_bytes(block(50))
    monitor, source = start(path)
    run(monitor, source)
    stop(monitor, source)
    append(path, block(50, 60))
    monitor, source = start(path)

    found = source.poll(0)

    assert found[0].offset == len(block(50))
    monitor.step(found)
    assert monitor.stats().joined == 60
    stop(monitor, source)


def test_following_waits_for_more(path: Path, start: Callable[..., tuple[Monitor, FileSource]]) -> None:
    """A file that is not there yet is waited for, half a line is waited for, and `poll` comes back in time."""
    monitor, source = start(path, True)
    before = time.monotonic()
    assert source.poll(0.2) == []
    assert 0.2 <= time.monotonic() - before < 5

    path.write_bytes(block(3) + line(3)[:10])
    assert run(monitor, source) == 0 or monitor.stats().joined == 3
    assert run(monitor, source) == 3
    writer = threading.Timer(0.1, append, [path, line(3)[10:]])
    writer.start()
    monitor.step(source.poll(10))
    writer.join()
    assert monitor.stats().joined == 4
    assert not source.ended
    stop(monitor, source)


@pytest.mark.parametrize("restarts", [set(), {1}, {2}, {1, 2, 3}], ids=str)
@pytest.mark.parametrize("kind", ["renamed", "truncated", "removed"])
def test_rotation_loses_and_repeats_nothing(
    path: Path, start: Callable[..., tuple[Monitor, FileSource]], kind: str, restarts: set[int]
) -> None:
    """The file is renamed, copied and truncated, or removed: the new one is read from its start, after the old one."""
    path.write_bytes(block(20))
    monitor, source = start(path, True)
    assert run(monitor, source) == 20

    def restart(number: int) -> None:
        nonlocal monitor, source
        if number in restarts:
            stop(monitor, source)
            monitor, source = start(path, True)

    with open(path, "ab") as file:
        file.write(block(20, 30))
        if kind != "truncated":
            restart(1)
        if kind == "renamed":
            path.rename(path.with_suffix(".jsonl.1"))
            restart(2)
            file.write(block(30, 35) + line(35).rstrip())  # by one who has it open still
    if kind != "renamed":
        assert run(monitor, source) == 30
        os.truncate(path, 0) if kind == "truncated" else path.unlink()
    run(monitor, source)
    append(path, block(100, 105))
    run(monitor, source)
    restart(3)
    append(path, block(105, 107))

    assert run(monitor, source) == (36 if kind == "renamed" else 30) + 7
    assert run(monitor, source) == monitor.stats().counters.labels
    stop(monitor, source)


def test_a_file_that_was_replaced_is_not_taken_for_the_old_one(
    path: Path, start: Callable[..., tuple[Monitor, FileSource]], caplog: pytest.LogCaptureFixture
) -> None:
    """If records may be gone that were not read, that is an error, or the counts say that they lack some."""
    path.write_bytes(block(20))
    monitor, source = start(path)
    run(monitor, source)
    stop(monitor, source)
    path.write_bytes(block(500, 600))

    with pytest.raises(StoreError, match=r'followed byte \d+ of the file that was being read is gone; truncated = "r'):
        start(path)
    monitor, source = start(path, False, "reset")

    assert run(monitor, source) == 120
    assert "what followed byte" in monitor.view().incomplete[0]
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    stop(monitor, source)
    monitor, source = start(path)
    assert run(monitor, source) == 120
    stop(monitor, source)


@pytest.mark.parametrize("follow", [False, True])
def test_the_old_file_is_found_where_rotation_left_it(
    path: Path, start: Callable[..., tuple[Monitor, FileSource]], follow: bool
) -> None:
    """Rotated while the monitor was down: first the rest of the old file, then the new one."""
    path.write_bytes(block(20))
    monitor, source = start(path, True)
    run(monitor, source)
    stop(monitor, source)
    append(path, block(20, 30))
    path.rename(path.with_suffix(".jsonl.1"))
    path.write_bytes(block(30, 40))
    monitor, source = start(path, follow)

    assert run(monitor, source) == 30 or monitor.stats().joined == 40
    assert run(monitor, source) == 40
    assert monitor.view().incomplete == []
    stop(monitor, source)


@pytest.mark.parametrize("truncated", ["fail", "reset"])
def test_a_state_of_another_file_is_refused(
    path: Path, start: Callable[..., tuple[Monitor, FileSource]], tmp_path: Path, truncated: str
) -> None:
    """Ids that were counted under another name would be counted again; nothing changes, and the old one goes on."""
    path.write_bytes(block(100))
    first = start(path)
    run(*first)
    stop(*first)
    other = path.with_name("other.jsonl")
    other.write_bytes(line(1000) + block(100))
    with pytest.raises(OtherSourceError, match=r"Expected counts of .*other\.jsonl, but it has those of") as refused:
        start(other, False, truncated)
    monitor = Monitor(CONFIG, Store(str(tmp_path / "state")), lambda: NOW)
    with pytest.raises(OtherSourceError, match="standard input"):
        StdinSource().start(monitor)
    monitor.close()
    again = start(path)
    count = run(*again)
    stop(*again)

    assert (refused.value.stored, refused.value.given) == (str(path), str(other))
    assert count == 100


def test_a_file_that_was_renamed_goes_on(path: Path, start: Callable[..., tuple[Monitor, FileSource]]) -> None:
    """It is known by its content, twice and back again, with what was appended meanwhile; rotation goes on too."""
    path.write_bytes(block(100))
    counts = []
    for at, name in enumerate(["events.jsonl", "first.jsonl", "second.jsonl", "events.jsonl"], 1):
        path = path.rename(path.with_name(name))
        append(path, block(100 * at, 100 * at + 50))
        running = start(path)
        counts.append(run(*running))
        stop(*running)
    path.rename(path.with_name("log.1"))
    path.with_name("log").write_bytes(block(1000, 1020))
    running = start(path.with_name("log"), True)
    run(*running)  # to the end of the renamed one
    counts.append(run(*running))
    stop(*running)

    assert counts == [150, 200, 250, 300, 320]


def test_a_file_that_cannot_be_read_is_said(
    path: Path, tmp_path: Path, start: Callable[..., tuple[Monitor, FileSource]]
) -> None:
    """There is none, and the source does not follow; or it is a folder."""
    with pytest.raises(StoreError, match=r"events\.jsonl: No such file or directory"):
        start(path)
    with pytest.raises(StoreError, match="logs: Is a directory"):
        start(path.parent)


def test_standard_input_counts_its_bytes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Offsets are those of bytes since the first start; a restart says that what comes is new."""
    joined = []
    for _ in range(2):
        here, there = os.pipe()
        source, monitor = StdinSource(here), Monitor(CONFIG, Store(str(tmp_path / "state")), lambda: NOW)
        source.start(monitor)
        assert source.poll(0.01) == []
        os.write(there, block(0 if not joined else 10, 10 if not joined else 15) + b'{"id": 99')
        joined.append(run(monitor, source))
        os.close(there)
        joined.append(run(monitor, source))
        assert source.ended
        assert source.lag() is None
        stop(monitor, source)
        os.close(here)

    assert joined == [10, 10, 15, 15]
    assert monitor.view().records.rejected == {"decode": 2}
    assert [record.getMessage() for record in caplog.records] == [
        "standard input starts from its beginning; "
        f"what was read of it before, {len(block(10)) + 9} bytes, stays counted"
    ]


def test_the_configuration_names_the_source(path: Path) -> None:
    """A file, or standard input by its name or by a dash; other kinds have sources elsewhere."""
    assert isinstance(make_source(config.Source(path=str(path))), FileSource)
    assert isinstance(make_source(config.Source(path="-")), StdinSource)
    assert isinstance(make_source(config.Source(kind="stdin")), StdinSource)
    with pytest.raises(ValueError, match="Expected `kind` to be 'file', 'stdin' or 'kafka', but got 'memory'"):
        make_source(config.Source(kind="memory"))
    with pytest.raises(ValueError, match="Expected `path` to name a file"):
        make_source(config.Source())
