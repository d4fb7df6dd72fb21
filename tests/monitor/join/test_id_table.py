"""The table of ids: what it finds, what it forgets, how much room it takes."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_metrics.monitor._core.kernels import IdTable, id_hash
from stream_metrics.monitor.join.id_memory import EXPIRED_MARK, REFUSED_MARK, IdMemory, truth_mark

CROWD = st.integers(0, 40)
HASHES = st.one_of(
    CROWD.map(lambda at: 1 + at),  # all belong to the first slot of the first part
    CROWD.map(lambda at: 2**64 - 1 - at),  # to the last one of the last
    CROWD.map(lambda at: 2**56 + (at << 50)),  # to slots in a row
    CROWD.map(lambda at: at * 0x9E3779B97F4A7C15 % 2**64 or 1),
)


@settings(max_examples=200)
@given(st.lists(st.tuples(HASHES, st.integers(0, 255), st.sampled_from([0, 0, 0, 1, 1, 3, 70_000])), max_size=200))
def test_the_table_is_a_dict(puts: list[tuple[int, int, int]]) -> None:
    """Ids that come, come again and are forgotten, many of them at one slot; a generation may be far from the last."""
    table, there, newest = IdTable(), dict[int, tuple[int, int]](), 0
    for hashed, mark, step in puts:
        newest += step
        table.oldest = max(newest - 2, 0)
        table.put(hashed, mark, newest)
        there[hashed] = mark, newest
        alive = {key: each for key, (_, each) in there.items() if each >= table.oldest}
        assert {key: table.generation(key) for key in there} == {key: alive.get(key) for key in there}
        assert table.generation(hashed ^ 1 << 40) == alive.get(hashed ^ 1 << 40)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 255), st.sampled_from([0, 0, 1])), max_size=120))
def test_marks_are_those_of_a_dict(puts: list[tuple[int, int, int]]) -> None:
    """The last mark of an id counts, by keys; ids put at once are the same as one by one."""
    table, at_once, there, newest = IdTable(), IdTable(), dict[int, tuple[int, int]](), 0
    for key, mark, step in puts:
        newest += step
        table.oldest = at_once.oldest = max(newest - 3, 0)
        table.put(id_hash(key), mark, newest)
        at_once.put_many(np.array([id_hash(key)], np.uint64), bytes([mark]), newest)
        there[key] = mark, newest
    for key in range(61):
        mark, generation = there.get(key, (-1, -1))
        assert table.mark(key) == at_once.mark(key) == (mark if generation >= table.oldest else -1)


def test_hundreds_of_thousands_take_19_bytes_each() -> None:
    """While they become more, while as many are forgotten as come, and when fewer are left; empty parts take 0.1 MB."""
    table, n, size, empty = IdTable(), 100_000, list[float](), 100_000
    hashes = np.random.default_rng(0).integers(1, 2**64, 4 * n, dtype=np.uint64).reshape(-1, 1000)
    for at, some in enumerate(hashes):
        table.oldest = max(at + 1 - n // 1000, 0)
        table.put_many(some, bytes(1000), at)
        if at >= 20:
            size.append((sys.getsizeof(table) - empty) / min(1000 * (at + 1), n))
    assert min(size) > 12
    assert max(size) < 19

    table.oldest = len(hashes) + 5
    table.put_many(hashes.reshape(-1)[:n], bytes(n), len(hashes) + 5)
    assert sys.getsizeof(table) < 19 * n + empty
    table.oldest += 1
    more = np.arange(1, 1_001, dtype=np.uint64) << np.uint64(54)
    for _ in range(60):
        table.put_many(more, bytes(1000), table.oldest)
        more = more + np.uint64(1)
    assert sys.getsizeof(table) < 19 * 60_000 + empty


def test_a_crowd_behind_the_last_slot() -> None:
    """More ids than there is room for behind the last slot, while the part has slots enough."""
    table, before = IdTable(), [(255 << 56) + (at << 45) for at in range(1, 2000)]
    crowd = [2**64 - 1 - at for at in range(0, 300, 3)]
    for at, hashed in enumerate(before + crowd):
        table.put(hashed, 1, at)

    assert [table.generation(hashed) for hashed in before + crowd] == list(range(len(before + crowd)))
    assert all(table.generation(hashed - 1) is None for hashed in crowd)


@pytest.mark.parametrize(
    "wrong",
    [(0, 1, 5), (2**64, 1, 5), (-1, 1, 5), (7, 256, 5), (7, -1, 5), (7, 1, 4), (7, 1, 2**32), (7, 1, 5 + 65_536)],
)
def test_what_does_not_fit_changes_nothing(wrong: tuple[int, int, int]) -> None:
    """No hash, no mark, a generation that is gone, or one that is too far from the oldest."""
    table = IdTable()
    table.oldest = 5
    table.put(7, 3, 6)
    with pytest.raises((ValueError, OverflowError)):
        table.put(*wrong)
    assert table.generation(7) == 6
    assert table.generation(8) is None


def test_as_many_marks_as_hashes() -> None:
    """Nothing is put if one is missing."""
    table = IdTable()
    with pytest.raises(ValueError, match="as many marks as hashes, 2, but got 1"):
        table.put_many(np.array([3, 4], np.uint64), b"a", 0)
    assert table.generation(3) is None


def test_what_is_noted_of_segments_does_not_grow() -> None:
    """A checkpoint each second for days: the first segment to keep is right, and few are noted."""
    memory, log = IdMemory(64.0, 1000), dict[int, Any]()
    for at in range(3000):
        memory.advance(at / 10)
        memory.put(at, 1)
        if at > 500:
            memory.remark(at - 500, 2)
        done = memory.prepared()
        assert done.segment is not None
        log[done.segment.number] = done.segment
        memory.written(done)
        log = {number: segment for number, segment in log.items() if number >= done.first}
        assert len(memory._segments) <= 2 * 64 + 2
    again = IdMemory(64.0, 1000)
    again.load(memory.content(), log.values())

    assert [again.mark(key) for key in range(3000)] == [memory.mark(key) for key in range(3000)]
    assert memory.mark(2000) is None
    assert (memory.mark(2400), memory.mark(2900)) == (2, 1)
    assert len(log) < 1200


def test_hashes() -> None:
    """Ids of every type have hashes; equal ones are equal, and text is not the number that it spells."""
    ids = ["", "a", "b", "aaaaaaaa", "aaaaaaab", "aaaaaaaaa", "\ud800", 0, 1, -1, 2**63, 2**64, 1.5, b"a", "1"]
    hashes = [id_hash(key) for key in ids]

    assert len(set(hashes)) == len(ids)
    assert all(0 < each < 2**64 for each in hashes)
    assert id_hash(True) == id_hash(1)
    assert len({id_hash(f"id-{at}") for at in range(200_000)}) == 200_000
    assert len({id_hash(at) for at in range(200_000)}) == 200_000
    assert len({EXPIRED_MARK, REFUSED_MARK, *map(truth_mark, ["a", "b", 0, 1])}) == 6


def test_a_table_grows_and_forgets() -> None:
    """A hundred thousand ids of which a tenth is kept: what is left is found, and takes no more room than it needs."""
    table = IdTable()
    for at in range(100_000):
        table.oldest = max(at // 1000 - 10, 0)
        table.put(id_hash(at), at % 256, at // 1000)

    assert [table.mark(at) for at in range(89_000, 100_000)] == [at % 256 for at in range(89_000, 100_000)]
    assert all(table.mark(at) == -1 for at in range(89_000))
    assert table.generation(id_hash(99_999)) == 99
    assert table.generation(id_hash("other")) is None
