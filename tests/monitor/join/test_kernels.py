"""Kernels of the join: entries as bytes, lines of a file, the table of remembered ids, and votes about the time."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.monitor_runs import Record
from support.refusals import refused
from support.wire_reader import packed

from stream_metrics.monitor._core.kernels import IdTable, cut, first_of, id_hash
from stream_metrics.wire import decoded, encoded

EDGES = (0, 5, 7, 8, 15, 16, 31, 32, 63, 64, 100)
NUMBERS = sorted({sign * 2**bits + more for bits in EDGES for sign in (1, -1) for more in (-1, 0)})  # where forms begin
FORMS: list[Any] = [
    *NUMBERS,
    *(value for n in (0, 15, 16, 31, 32, 255, 256, 65535, 65536) for value in ("a" * n, b"b" * n, (None,) * n)),
    *(value for n in (1, 31, 32, 65536) for value in ("\ud800" + "a" * (n - 1), ("\ud800",) * n)),  # lone surrogates
    *(None, False, True, -0.0, 1.5, {"a": 2**64, "\ud800": (1,)}, dict.fromkeys(range(16), "\ud800")),
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4).map(tuple),
    max_leaves=8,
)


def test_values_have_their_shortest_form() -> None:
    """At every length and size at which another form begins, with lone surrogates and large ints too."""
    forms = [(value, packed(value)) for value in FORMS]
    assert [data[:20] for value, data in forms if encoded(value) != data or repr(decoded(data)) != repr(value)] == []
    assert [first_of(encoded((number, 1, "x"))) for number in NUMBERS if 0 <= number < 2**63] == [
        number for number in NUMBERS if 0 <= number < 2**63
    ]
    refused(lambda: first_of(encoded((2**31,))[:4]), ValueError, "an entry")


@given(st.lists(VALUES, max_size=5).map(tuple), st.binary(max_size=40))
def test_entries_come_back(entry: tuple[Any, ...], damaged: bytes) -> None:
    """Labels and ids of any type are read as they were written; other bytes are refused or are a value."""
    assert repr(decoded(encoded(entry))) == repr(entry)
    try:
        value = decoded(damaged)
    except (ValueError, TypeError):
        return
    assert len(encoded(value)) <= len(damaged)


@pytest.mark.quick
@given(st.lists(st.sampled_from([b"", b" ", b"\t\r", b"{}", b" x", b"\xff", b"{"]), max_size=9), st.integers(0, 99))
def test_lines_are_cut_as_split_cuts_them(lines: list[bytes], start: int) -> None:
    """Empty lines belong to the record before them."""
    data = b"".join(line + b"\n" for line in lines)
    records = cut(data, "t", start, Record)
    ends = [record.offset for record in records[1:]] + [start + len(data)]

    assert [record.value for record in records] == [line for line in lines if line.strip()]
    assert [record.next for record in records] == ends[: len(records)]
    assert all(data[record.offset - start :].startswith(record.value or b"-") for record in records)
    assert all(type(record) is Record for record in records)


@pytest.mark.quick
def test_hashes_of_ids_stay() -> None:
    """They are stored: after an update of the package a label must find its prediction."""
    hashes: dict[Any, int] = {"id-1": 6314952109696706547, b"id-1": 1094906371078840043}
    hashes |= {"a text of 24 bytes, or so": 784200893095327615, 7: 8670951357300865476, -1: 12562800573542155708}
    hashes |= {2**70: 9988969954226011932, 1.5: 826110187254339051}
    assert {key: id_hash(key) for key in hashes} == hashes


CROWD = st.integers(0, 40)
HASHES = st.one_of(
    CROWD.map(lambda at: 1 + at),  # all belong to the first slot of the first part
    CROWD.map(lambda at: 2**64 - 1 - at),  # to the last one of the last
    CROWD.map(lambda at: 2**56 + (at << 50)),  # to slots in a row
    CROWD.map(id_hash),
)


@pytest.mark.quick
@given(st.lists(st.tuples(HASHES, st.integers(0, 255), st.sampled_from([0, 0, 0, 1, 1, 3, 70_000])), max_size=200))
def test_the_table_is_a_dict(puts: list[tuple[int, int, int]]) -> None:
    """Ids come, come again and are forgotten, many at one slot; put at once they are the same as one by one."""
    table, at_once, there, newest = IdTable(), IdTable(), dict[int, tuple[int, int]](), 0
    for hashed, mark, step in puts:
        newest += step
        table.oldest = at_once.oldest = max(newest - 2, 0)
        table.put(hashed, mark, newest)
        at_once.put_many(np.array([hashed], np.uint64), bytes([mark]), newest)
        there[hashed] = mark, newest
        alive = {key: each for key, (_, each) in there.items() if each >= table.oldest}
        assert {key: table.generation(key) for key in there} == {key: alive.get(key) for key in there}
        assert table.generation(hashed ^ 1 << 40) == alive.get(hashed ^ 1 << 40)
    for key in range(41):
        mark, generation = there.get(id_hash(key), (-1, -1))
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
    for at in range(60):
        table.put_many(more + np.uint64(at), bytes(1000), table.oldest)
    assert sys.getsizeof(table) < 19 * 60_000 + empty
