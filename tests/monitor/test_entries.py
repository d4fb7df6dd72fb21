"""Entries of the join as bytes: those that msgpack writes, read as it reads them."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_metrics.monitor._core import kernels as entries
from stream_metrics.monitor._core.kernels import cut, first_of
from stream_metrics.monitor.packing import Packer, entry_of, packed_each
from stream_metrics.monitor.records import Record
from stream_metrics.wire import encoded

SIZES = [0, 31, 32, 255, 256, 65535, 65536]
EDGES = [0, 127, 128, 255, 256, 65535, 65536, 2**32 - 1, 2**32, 2**63 - 1]
EDGES += [-1, -32, -33, -128, -129, -32768, -32769, -(2**31), -(2**31) - 1, -(2**63)]
PLAIN = [None, True, False, -0.0, 1.5, float("inf"), "é", *EDGES, *("a" * n for n in SIZES), *(b"b" * n for n in SIZES)]
UNUSUAL: list[Any] = [2**63, 2**70, -(2**63) - 1, "\ud800", tuple(range(16))]

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4).map(tuple),
    max_leaves=8,
)


@pytest.mark.parametrize("value", PLAIN, ids=lambda value: repr(value)[:20])
def test_plain_values_are_written_as_msgpack_does(value: Any) -> None:
    """Every length and size at which another form begins."""
    (found,) = entries.packed([value])

    assert found == msgpack.packb(value)
    assert entries.unpacked(msgpack.packb([1, value])) == (1, value)


@given(st.lists(VALUES, max_size=5).map(tuple))
def test_entries_come_back(entry: tuple[Any, ...]) -> None:
    """Whatever labels and ids are made of; equal values are written alike, here and there."""
    body = Packer().one(entry)

    assert entry_of(body) == entry
    assert [repr(value) for value in entry_of(body)] == [repr(value) for value in entry]
    assert packed_each([*entry]) == [encoded(value) for value in entry]


def test_what_is_unusual_is_left_to_msgpack() -> None:
    """Whole numbers beyond 64 bits, surrogates, long tuples: neither written nor read, but by msgpack."""
    assert entries.packed(UNUSUAL) == [None] * len(UNUSUAL)
    assert all(entry_of(Packer().one((0, value))) == (0, value) for value in UNUSUAL)


@given(st.binary(max_size=40))
def test_damaged_entries_are_not_read(data: bytes) -> None:
    """Whatever the bytes, nothing beyond their end is looked at."""
    found = entries.unpacked(data)

    assert found is None or type(found) is tuple


@pytest.mark.parametrize("number", [0, 1, *EDGES[1:10]])
def test_the_number_of_an_entry_is_read_alone(number: int) -> None:
    """It is the first item, in any of the forms of a whole number."""
    assert first_of(Packer().one((number, 1, "x"))) == number
    with pytest.raises(ValueError, match="Expected an entry"):
        first_of(Packer().one((2**31,))[:4])


@given(st.lists(st.sampled_from([b"", b" ", b"\t\r", b"{}", b" x", b"\xff", b"{"]), max_size=9), st.integers(0, 99))
def test_lines_are_cut_as_split_cuts_them(lines: list[bytes], start: int) -> None:
    """Empty lines belong to the record before them."""
    data = b"".join(line + b"\n" for line in lines)
    found = cut(data, "t", start, Record)
    ends = [record.offset for record in found[1:]] + [start + len(data)]

    assert [record.value for record in found] == [line for line in lines if line.strip()]
    assert [record.next for record in found] == ends[: len(found)]
    assert all(data[record.offset - start :].startswith(record.value or b"-") for record in found)
    assert all(type(record) is Record for record in found)
