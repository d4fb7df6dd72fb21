"""The state file: checkpoints are atomic, one writer, one owner, damage is detected."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stream_metrics.monitor.records import Rejected
from stream_metrics.monitor.store import Change, Row, StaleOwner, Store, StoreError, locks, offsets
from stream_metrics.monitor.store import sqlite as module
from stream_metrics.monitor.store.export import Export, Exported, read_export, restore, write_export
from stream_metrics.monitor.store.rows import EmptyStoreError, Moves, Segment, Written
from stream_metrics.monitor.store.schema import SCHEMA, read_only

LETTER = Rejected("t", 0, 3, "decode", "no \ud800 JSON")
NOTHING = Written(None, 0, Moves(), 0, [])


@pytest.fixture
def path(tmp_path: Path) -> str:
    """The path of a state file."""
    return str(tmp_path / "state.sqlite")


@pytest.fixture
def store(path: str) -> Iterator[Store]:
    """A state file that is closed at the end."""
    made = Store(path)
    yield made
    made.close()


def change(row: Row, number: int, part: int = 0) -> Change:
    """Return a change that writes something everywhere, all of it numbered."""
    waiting = Written(Segment(number, 2, number, b"w%d" % number), number, Moves(number, (), _rows(number)), number, [])
    done = Written(Segment(number, 1, number, b"d%d" % number), max(number - 1, 0), Moves(), number, [])
    parts, gone = {"total": b"%d" % number, f"pane/{number}": b"p"}, [f"pane/{number - 1}"]
    following = offsets({"t": number})
    return Change(part, row.epoch, offsets(row.next), following, b"state %d" % number, parts, gone, waiting, done)


def _rows(number: int) -> tuple[tuple[int, bytes, bytes], ...]:
    return ((number, b"id", b"entry %d" % number),)


def content(store: Store) -> dict[str, list[Any]]:
    """Return all that is in a file but times and epochs."""
    tables = ["parts", "log", "pending", "dead_letters", "notes"]
    held = {table: store._run(f"select * from {table} order by 1, 2, 3").fetchall() for table in tables}
    return held | {"state": store._run("select part, next, state, crc from state").fetchall()}


def test_what_is_written_is_read(store: Store, path: str) -> None:
    """State, parts, log, pending rows, dead letters and notes come back, also to another process of a later time."""
    row = store.claim(0)
    store.save([change(row, 1)], [LETTER], {"alerts": b"note"})
    store.save([change(row._replace(next={"t": 1}), 2)], [], {})
    store.close()
    again = Store(path)
    found = again.claim(0)

    assert row == Row(0, 1, {}, b"", {}, False, [], [], 0.0, [])
    assert found[:6] == (0, 2, {"t": 2}, b"state 2", {"total": b"2", "pane/2": b"p"}, False)
    assert found.waiting == [Segment(2, 2, 2, b"w2")]
    assert found.done == [Segment(1, 1, 1, b"d1"), Segment(2, 1, 2, b"d2")]
    assert again.rows_of(0, [b"id", b"no"]) == [(2, b"id", b"entry 2")]
    assert again.following(0, 0, 10) == [(2, b"id", b"entry 2")]
    assert again.rows_of(1, [b"id"]) == again.following(0, 3, 10) == []
    assert again.letters() == [LETTER._replace(detail="no ? JSON")]
    assert again.notes() == {"alerts": b"note"}
    again.close()


def test_an_owner_is_known_by_its_epoch(store: Store) -> None:
    """Once a partition is claimed again, its last owner writes nothing, not even the other partitions of its change."""
    mine, other = store.claim(0), store.claim(1)
    store.save([change(mine, 1)], [], {})
    store.claim(0)
    before = content(store)

    with pytest.raises(StaleOwner, match="partition 0 has another owner") as raised:
        store.save([change(other, 5, 1), change(mine._replace(next={"t": 1}), 2)], [LETTER], {"a": b"1"})

    assert raised.value.part == 0
    assert content(store) == before


def test_an_owner_is_known_by_its_offsets(store: Store) -> None:
    """A state that does not follow the one that is there is refused: it would roll it back."""
    row = store.claim(0)
    store.save([change(row, 1)], [], {})

    with pytest.raises(StaleOwner):
        store.save([change(row, 1)], [], {})


STATEMENTS = 16


class Broken(Exception):
    """What a test has go wrong."""


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("number", range(STATEMENTS))
def test_a_fault_at_any_step_leaves_all_or_nothing(
    store: Store, number: int, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever statement of a checkpoint fails, and whenever, the file is as it was; then it can be written."""
    row = store.claim(0)
    store.save([change(row, 1)], [], {})
    before, steps, row = content(store), iter(range(100)), row._replace(next={"t": 1})

    def failing(run: Callable[..., Any]) -> Callable[..., Any]:
        def step(statement: str, *values: Any) -> Any:
            mine = next(steps)
            if mine == number and not after:
                raise Broken(statement)
            found = run(statement, *values)
            if mine == number and statement != "commit":
                raise Broken(statement)
            return found

        return step

    with monkeypatch.context() as patch:
        patch.setattr(store, "_run", failing(store._run))
        patch.setattr(store, "_run_many", failing(store._run_many))
        if number == STATEMENTS - 1 and after:
            store.save([change(row, 2)], [LETTER], {"a": b"1"})
            assert next(steps) == STATEMENTS
        else:
            with pytest.raises(Broken):
                store.save([change(row, 2)], [LETTER], {"a": b"1"})
            assert content(store) == before
            patch.undo()
            store.save([change(row, 2)], [LETTER], {"a": b"1"})

    assert store.claim(0).next == {"t": 2}
    assert store.notes() == {"a": b"1"}


def test_dead_letters_are_bounded_and_come_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last ones stay; one that comes again, after a crash, is the same one."""
    monkeypatch.setattr(module, "LETTERS", 5)
    letters = [LETTER._replace(offset=offset) for offset in range(9)]
    store.save([], letters[:4], {})
    store.save([], letters[2:], {})

    assert [letter.offset for letter in store.letters()] == [8, 7, 6, 5, 4]
    assert [letter.offset for letter in store.letters(2)] == [8, 7]


def test_a_second_writer_is_refused_at_the_start(store: Store, path: str) -> None:
    """One process has the file for life, and is named; readers are welcome."""
    store.save([change(store.claim(0), 1)], [], {})

    for shared in (False, True):
        with pytest.raises(StoreError, match=rf"only writer, but it is in use by process {os.getpid()}"):
            Store(path, shared)
    reader = read_only(path)
    assert reader.execute("select state from state").fetchall() == [(b"state 1",)]
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader.execute("delete from state")
    reader.close()


def test_sharing_keeps_others_out(path: str) -> None:
    """Those who share a file share it with those who share it; after them anybody may have it."""
    one, two = Store(path, shared=True), Store(path, shared=True)

    with pytest.raises(StoreError, match="in use by workers that share it"):
        Store(path)
    one.close()
    two.save([change(two.claim(0), 1)], [], {})
    two.close()
    Store(path).close()


HOLDER = """
import sys, time
from stream_metrics.monitor.store import Store
store = Store(sys.argv[1], shared=len(sys.argv) > 2)
if len(sys.argv) > 2:
    store._lock.turn().__enter__()
print("has it", flush=True)
time.sleep(60)
"""


def test_a_stopped_process_keeps_its_file_and_a_dead_one_does_not(path: str) -> None:
    """What hangs may wake up and write; what was killed will not."""
    with subprocess.Popen([sys.executable, "-c", HOLDER, path], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "has it\n"
        holder.send_signal(signal.SIGSTOP)
        with pytest.raises(StoreError, match=f"process {holder.pid};"):
            Store(path)
        holder.kill()
        holder.wait()

    Store(path).close()


def test_a_turn_that_does_not_end_is_said(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that is stopped in the middle of a transaction holds up the others; they say so, and go on after it."""
    monkeypatch.setattr(locks, "PATIENCE", 0.2)
    one, two = Store(path, shared=True), Store(path, shared=True)
    row = one.claim(0)
    with two._lock.turn(), pytest.raises(StoreError, match="another worker has been writing for 0 s"):
        one.save([change(row, 1)], [], {})

    one.save([change(row, 1)], [], {})

    assert two.claim(0).next == {"t": 1}
    one.close()
    two.close()


def test_a_newer_schema_is_refused_with_both_numbers(path: str) -> None:
    """What a later version wrote is not touched."""
    Store(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"pragma user_version = {SCHEMA + 1}")
    connection.close()

    for opened in (Store, read_only):
        with pytest.raises(StoreError, match=f"expected schema {SCHEMA}, but the file has schema {SCHEMA + 1}"):
            opened(path)


def test_files_of_others_are_refused(tmp_path: Path) -> None:
    """A database of another program, a text, a folder: none is overwritten."""
    with sqlite3.connect(tmp_path / "other") as connection:
        connection.execute("create table t (x)")
    connection.close()
    (tmp_path / "text").write_bytes(b"not a database, but long enough to be one " * 100)
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty").touch()

    with pytest.raises(StoreError, match="other: expected the state file of a monitor, but it is a database of ano"):
        Store(str(tmp_path / "other"))
    with pytest.raises(StoreError, match="text: file is not a database"):
        Store(str(tmp_path / "text"))
    with pytest.raises(StoreError, match="folder: unable to open"):
        Store(str(tmp_path / "folder"))
    with pytest.raises(StoreError, match=r"no such file|No such file"):
        Store(str(tmp_path / "nowhere" / "state"))
    with pytest.raises(EmptyStoreError, match="nothing has been written to it yet"):
        read_only(str(tmp_path / "empty"))
    Store(str(tmp_path / "empty")).close()


DAMAGE = [
    ("update state set state = x'00'", "the state of partition 0 is damaged"),
    ("update state set next = x'90'", "the state of partition 0 is damaged"),
    ("update parts set body = x'00' where name = 'total'", "'total' of partition 0 is damaged"),
    ("update log set body = x'00' where shelf = 1", "segment 1 of the log of partition 0 is damaged"),
    ("update notes set body = x'00'", "the note 'a' is damaged"),
]


@pytest.mark.parametrize(("statement", "said"), DAMAGE, ids=[said for _, said in DAMAGE])
def test_damage_is_found(store: Store, statement: str, said: str) -> None:
    """Every blob has a checksum, and what is wrong is named."""
    store.save([change(store.claim(0), 1)], [], {"a": b"1"})
    store._run(statement)

    with pytest.raises(StoreError, match=said + ": expected crc .* an export can be restored in its place"):
        store.claim(0) and store.notes()


def test_a_file_cut_short_is_refused(path: str) -> None:
    """Half of a state file is none."""
    store = Store(path)
    store.save([change(store.claim(0), 1)], [], {"big": b"x" * 100_000})
    store.close()
    os.truncate(path, 30_000)

    def use() -> None:
        cut = Store(path)
        try:
            cut.claim(0)
            cut.notes()
        finally:
            cut.close()

    with pytest.raises(StoreError, match=r"malformed|not a database"):
        use()


def test_an_export_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault while it is written leaves the one before, and nothing beside it."""
    path = str(tmp_path / "export")
    first = Export(1.0, [Exported(0, {"t": 5}, b"s", {"total": b"x"})])
    write_export(path, first)
    for step in ("fsync", "replace", "chmod"):
        with monkeypatch.context() as patch:
            patch.setattr(os, step, _failing)
            with pytest.raises(StoreError, match="export: no space"):
                write_export(path, Export(2.0, []))

    assert read_export(path) == first
    assert os.listdir(tmp_path) == ["export"]
    with pytest.raises(StoreError, match="No such file or directory"):
        write_export(str(tmp_path / "nowhere" / "export"), first)


def _failing(*arguments: Any) -> None:
    raise OSError(28, "no space")


def test_a_damaged_export_changes_nothing(store: Store, path: str, tmp_path: Path) -> None:
    """It is read before anything is moved; nor is a file that is in use replaced."""
    export = tmp_path / "export"
    write_export(str(export), Export(1.0, []))
    with pytest.raises(StoreError, match="in use by process"):
        restore(path, str(export))
    export.write_bytes(export.read_bytes()[:-1])
    store.close()

    with pytest.raises(StoreError, match="export: Expected the checksum to match"):
        restore(path, str(export))
    assert not [name for name in os.listdir(tmp_path) if "damaged" in name]
    store.__init__(path)  # type: ignore[misc]


def test_a_checkpoint_is_on_the_disk_before_it_is_acknowledged(path: str, tmp_path: Path) -> None:
    """The write-ahead log is forced to disk with every commit."""
    store = Store(path)

    assert store._run("pragma journal_mode").fetchone() == ("wal",)
    assert store._run("pragma synchronous").fetchone() == (2,)  # FULL
    store.save([change(store.claim(0), 1)._replace(written=1.5e9)], [], {})
    assert store._run("select written from state").fetchone()[0] == 1.5e9
    store.close()
