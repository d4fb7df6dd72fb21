"""What SQLite and PostgreSQL have in common: checkpoints are atomic, a partition has one owner, damage is detected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.stores import change, content

from stream_metrics.monitor.events.records import Rejected
from stream_metrics.monitor.store import StaleOwner, StoreError, tables
from stream_metrics.monitor.store.opening import open_store
from stream_metrics.monitor.store.rows import Moves, Row, Segment, Written
from stream_metrics.monitor.store.tables import StateStore

LETTER = Rejected("t", 0, 3, "decode", "no \ud800 JSON")


@pytest.fixture
def store(store_path: str) -> Iterator[StateStore]:
    """A store of each kind, closed at the end."""
    opened = open_store(store_path)
    yield opened
    opened.close()


class Broken(Exception):
    """What a test has go wrong."""


DAMAGE = [
    ("state set state = ?", "the state of partition 0 is damaged"),
    ("state set next = ?", "the state of partition 0 is damaged"),
    ("parts set body = ? where name = 'total'", "'total' of partition 0 is damaged"),
    ("log set body = ? where shelf = 1", "segment 1 of the log of partition 0 is damaged"),
    ("notes set body = ?", "the note 'a' is damaged"),
]


def test_what_is_written_is_read(store: StateStore, store_path: str) -> None:
    """State, parts, log, pending rows, dead letters and notes come back, also to another process of a later time."""
    row = store.claim(0)
    store.save([change(row, 1)], [LETTER], {"alerts": b"note"})
    store.save([change(row._replace(next={"t": 1}), 2)], [], {})
    store.close()
    again = open_store(store_path)
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


def test_a_segment_replaces_one_of_the_same_number(store: StateStore) -> None:
    """As a small one of ids grows; those before it are deleted as ever."""
    row = store.claim(0)
    for at, (number, body) in enumerate([(3, b"a"), (4, b"b"), (4, b"bc")]):
        ids = Written(Segment(number, len(body), at, body), number, Moves(), 0, [])
        store.save([change(row._replace(next={"t": at} if at else {}), at + 1)._replace(ids=ids)], [], {})

    assert store.claim(0).ids == [Segment(4, 2, 2, b"bc")]


def test_an_owner_is_known_by_its_epoch(store: StateStore) -> None:
    """Once a partition is claimed again, its last owner writes nothing, not even the other partitions of its change."""
    mine, other = store.claim(0), store.claim(1)
    store.save([change(mine, 1)], [], {})
    store.claim(0)
    before = content(store)

    with pytest.raises(StaleOwner, match="partition 0 has another owner") as raised:
        store.save([change(other, 5, 1), change(mine._replace(next={"t": 1}), 2)], [LETTER], {"a": b"1"})

    assert raised.value.part == 0
    assert content(store) == before


def test_an_owner_is_known_by_its_offsets(store: StateStore) -> None:
    """A state that does not follow the one that is there is refused: it would roll it back."""
    row = store.claim(0)
    store.save([change(row, 1)], [], {})

    with pytest.raises(StaleOwner):
        store.save([change(row, 1)], [], {})


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_fault_at_any_step_leaves_all_or_nothing(store: StateStore, after: bool) -> None:
    """If any statement of a checkpoint fails, at any time, the store is as it was; then it can be written."""
    row = store.claim(0)
    store.save([change(row, 1)], [], {})
    number, broken = 1, 0
    while broken == number - 1:
        before, row = content(store), row._replace(next={"t": number})
        with pytest.MonkeyPatch.context() as patch:
            steps = iter(range(100))
            for name in ("_run", "_run_many", "_take_pending", "_add_pending"):
                patch.setattr(store, name, failing(getattr(store, name), steps, number - 1, after))
            try:
                store.save([change(row, number + 1)], [LETTER], {"a": b"1"})
            except Broken:
                broken += 1
                assert content(store) == before
        if broken == number:
            store.save([change(row, number + 1)], [LETTER], {"a": b"1"})
        number += 1

    assert broken >= 15
    assert store.claim(0).next == {"t": number}
    assert store.notes() == {"a": b"1"}


def failing(run: Callable[..., Any], steps: Iterator[int], number: int, after: bool) -> Callable[..., Any]:
    """Return a function that breaks before or after a step; nothing breaks after a commit."""

    def step(*values: Any) -> Any:
        mine = next(steps) == number
        if mine and not after:
            raise Broken(values)
        result = run(*values)
        if mine and values[0] != "commit":
            raise Broken(values)
        return result

    return step


def test_dead_letters_are_bounded_and_come_once(store: StateStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last ones stay; one that comes again, after a crash, is the same one."""
    monkeypatch.setattr(tables, "LETTERS", 5)
    letters = [LETTER._replace(offset=offset) for offset in range(9)]
    store.save([], letters[:4], {})
    store.save([], letters[2:], {})

    assert [letter.offset for letter in store.letters()] == [8, 7, 6, 5, 4]
    assert [letter.offset for letter in store.letters(2)] == [8, 7]


@pytest.mark.parametrize(("statement", "said"), DAMAGE, ids=[said for _, said in DAMAGE])
def test_damage_is_found(store: StateStore, statement: str, said: str) -> None:
    """Every blob has a checksum, and what is wrong is named."""
    store.save([change(store.claim(0), 1)], [], {"a": b"1"})
    store._run(f"update {statement}", b"\0")

    with pytest.raises(StoreError, match=said + ": expected crc .* an export can be restored in its place"):
        store.claim(0) and store.notes()


