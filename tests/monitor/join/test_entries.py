"""Values and entries of the join as bytes: msgpack in its shortest form."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_metrics.monitor._core.kernels import cut, first_of
from stream_metrics.monitor.events.records import Record
from stream_metrics.wire import decoded, encoded

NUMBERS = {  # every size at which another form begins
    0: "00", 127: "7f", 128: "cc80", 255: "ccff", 256: "cd0100", 65535: "cdffff", 65536: "ce00010000",
    2**32 - 1: "ceffffffff", 2**32: "cf0000000100000000", 2**63 - 1: "cf7fffffffffffffff",
    2**64 - 1: "cfffffffffffffffff",
    -1: "ff", -32: "e0", -33: "d0df", -128: "d080", -129: "d1ff7f", -32768: "d18000", -32769: "d2ffff7fff",
    -(2**31): "d280000000", -(2**31) - 1: "d3ffffffff7fffffff", -(2**63): "d38000000000000000",
    2**64: "c70901010000000000000000", -(2**63) - 1: "c70901ff7fffffffffffffff",
}  # fmt: skip
TEXTS = {0: "a0", 31: "bf", 32: "d920", 255: "d9ff", 256: "da0100", 65535: "daffff", 65536: "db00010000"}
BYTES = {0: "c400", 255: "c4ff", 256: "c50100", 65535: "c5ffff", 65536: "c600010000"}
ITEMS = {0: "90", 15: "9f", 16: "dc0010", 65535: "dcffff", 65536: "dd00010000"}
LONE = b"\xed\xa0\x80"  # a lone surrogate, which UTF-8 does not allow
FORMS: list[tuple[Any, bytes]] = [
    *((value, bytes.fromhex(form)) for value, form in NUMBERS.items()),
    *(("a" * n, bytes.fromhex(head) + b"a" * n) for n, head in TEXTS.items()),
    *(
        ("\ud800" + "a" * (n - 3), bytes.fromhex(head) + LONE + b"a" * (n - 3))
        for n, head in TEXTS.items()
        if n
    ),
    *((b"b" * n, bytes.fromhex(head) + b"b" * n) for n, head in BYTES.items()),
    *(((None,) * n, bytes.fromhex(head) + b"\xc0" * n) for n, head in ITEMS.items()),
    *((("\ud800",) * n, bytes.fromhex(head) + (b"\xa3" + LONE) * n) for n, head in ITEMS.items()),
    *((value, bytes.fromhex(form)) for value, form in ((None, "c0"), (False, "c2"), (True, "c3"))),
    (-0.0, bytes.fromhex("cb8000000000000000")),
    (1.5, bytes.fromhex("cb3ff8000000000000")),
    ({"a": 2**64, "\ud800": (1,)}, bytes.fromhex("82a161c70901010000000000000000a3eda0809101")),
    (
        dict.fromkeys(range(16), "\ud800"),
        bytes.fromhex("de0010") + b"".join(bytes([i]) + b"\xa3\xed\xa0\x80" for i in range(16)),
    ),
]

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4).map(tuple),
    max_leaves=8,
)


@pytest.mark.parametrize(("value", "data"), FORMS, ids=lambda value: repr(value)[:20])
def test_values_have_their_shortest_form(value: Any, data: bytes) -> None:
    """Every length and size at which another form begins; lone surrogates and large ints too."""
    assert encoded(value) == data
    assert repr(decoded(data)) == repr(value)


@given(st.lists(VALUES, max_size=5).map(tuple))
def test_entries_come_back(entry: tuple[Any, ...]) -> None:
    """For labels and ids of any type; both writers give equal bytes for equal values."""
    body = encoded(entry)

    assert decoded(body) == entry
    assert [repr(value) for value in decoded(body)] == [repr(value) for value in entry]


@given(st.binary(max_size=40))
def test_damaged_bytes_are_refused_or_are_a_value(data: bytes) -> None:
    """No bytes do anything else, such as reading beyond their end."""
    try:
        value = decoded(data)
    except (ValueError, TypeError):
        return
    assert len(encoded(value)) <= len(data)


@pytest.mark.parametrize("number", [number for number in NUMBERS if 0 <= number < 2**63])
def test_the_number_of_an_entry_is_read_alone(number: int) -> None:
    """It is the first item, in any of the forms of a whole number."""
    assert first_of(encoded((number, 1, "x"))) == number
    with pytest.raises(ValueError, match="Expected an entry"):
        first_of(encoded((2**31,))[:4])


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
