"""Columns of Arrow for tests: any type, in any layout that Arrow allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st

pa: Any = pytest.importorskip("pyarrow", reason="needs pyarrow")

WORDS = ["cat", "dog", "", "é", "a long name of a class", "cow"]
INTEGERS = [0, 1, 7, 100, 127]
SIGNED = [*INTEGERS, -1, -128]
FLOATS = [0.0, -0.0, 1.0, 3.0, -2.0]
TYPES: dict[str, tuple[Any, list[Any]]] = {
    **{f"int{bits}": (getattr(pa, f"int{bits}")(), SIGNED) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (getattr(pa, f"uint{bits}")(), INTEGERS) for bits in (8, 16, 32, 64)},
    "far": (pa.int64(), [-(2**63), 2**63 - 1, 0, 10**12]),
    "far uint64": (pa.uint64(), [2**64 - 1, 2**63, 0, 5]),
    "high uint64": (pa.uint64(), [2**64 - 1, 2**64 - 3, 2**64 - 200]),
    "bool": (pa.bool_(), [False, True]),
    **{f"float{bits}": (getattr(pa, f"float{bits}")(), FLOATS) for bits in (16, 32, 64)},
    **{name: (getattr(pa, name)(), WORDS) for name in ("string", "large_string", "string_view")},
    **{name: (getattr(pa, name)(), [w.encode() for w in WORDS]) for name in ("binary", "large_binary", "binary_view")},
    "fixed_size_binary": (pa.binary(2), [b"ab", b"cd", b"\0\xff"]),
    "null": (pa.null(), [None]),
}
INDICES = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
Draw = Callable[[Any], Any]


def dictionary(draw: Draw, rows: list[Any], kind: Any) -> Any:
    """Return rows as codes of a dictionary with unused, equal and null values, some codes being null."""
    more = draw(st.lists(st.sampled_from([*rows, None]), max_size=4)) if rows else [None]
    values = draw(st.permutations([*dict.fromkeys(rows), *more]))
    places = [[at for at, value in enumerate(values) if value == row] for row in rows]
    codes = [
        None if row is None and draw(st.booleans()) else draw(st.sampled_from(at))
        for row, at in zip(rows, places, strict=True)
    ]
    return pa.DictionaryArray.from_arrays(pa.array(codes, draw(st.sampled_from(INDICES))), pa.array(values, kind))


def array(draw: Draw, rows: list[Any], kind: Any) -> Any:
    """Return rows as an array or a slice of one."""
    before, after = (draw(st.lists(st.sampled_from(rows), max_size=9)) if rows else [] for _ in "ab")
    return pa.array([*before, *rows, *after], kind).slice(len(before), len(rows))


def laid_out(draw: Draw, rows: list[Any], kind: Any) -> Any:
    """Return rows as Arrow may hold them: encoded or not, sliced, in chunks of which some are empty."""
    encoded = draw(st.booleans())
    make = dictionary if encoded else array
    if draw(st.booleans()):
        return make(draw, rows, kind)
    cuts = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=3)))
    parts = [rows[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    if not encoded:
        return pa.chunked_array([make(draw, part, kind) for part in parts], kind)
    if draw(st.booleans()):
        whole = make(draw, rows, kind)
        return pa.chunked_array([whole.slice(a, b - a) for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)])
    chunks = [make(draw, part, kind) for part in parts]
    return pa.chunked_array([pa.DictionaryArray.from_arrays(c.indices.cast("int16"), c.dictionary) for c in chunks])


@st.composite
def columns(draw: Draw, n: int, null: bool, kinds: Any = tuple(TYPES)) -> Any:
    """Return a column of n rows, with nulls among them if it may have some."""
    kind, pool = TYPES[draw(st.sampled_from([name for name in kinds if null or name != "null"]))]
    some = st.sampled_from([*pool, None]) if null and draw(st.booleans()) else st.sampled_from(pool)
    return laid_out(draw, draw(st.lists(some, min_size=n, max_size=n)), kind)


@st.composite
def pairs(draw: Draw) -> tuple[Any, Any, Any]:
    """Return a column of truths, one of predictions, and weights or None."""
    n = draw(st.integers(0, 30))
    weights = (
        st.just((None, None)),
        st.tuples(st.just(pa.int64()), st.lists(st.integers(0, 2**60 // 30), min_size=n, max_size=n)),
        st.tuples(st.just(pa.float64()), st.lists(st.sampled_from([0, 0.5, 1, 0.1, 2.0**55]), min_size=n, max_size=n)),
        st.tuples(st.just(pa.uint8()), st.lists(st.integers(0, 255), min_size=n, max_size=n)),
    )
    kind, w = draw(st.one_of(weights))
    return draw(columns(n, False)), draw(columns(n, True)), None if w is None else laid_out(draw, w, kind)


def listed(values: Any) -> Any:
    """Return a column as Python objects."""
    return None if values is None else values.to_pylist()


def laid(draw: Draw, rows: list[Any], kind: Any) -> Any:
    """Return rows as a slice of an array or as chunks."""
    if draw(st.booleans()):
        return array(draw, rows, kind)
    at = draw(st.integers(0, len(rows)))
    return pa.chunked_array([array(draw, rows[:at], kind), array(draw, rows[at:], kind)], kind)
