"""Short texts of Arrow that are numbered by their bytes have the codes and the names that Arrow gives them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.arrow_columns import laid_out, pa

from stream_metrics.inputs.arrow import chunks_of
from stream_metrics.inputs.arrow_texts import encode_short
from stream_metrics.inputs.columns import as_column

KINDS = ["string", "large_string", "string_view", "binary", "large_binary", "binary_view"]
SHORTEST_VIEWS = [12, 13]  # bytes: a longer text does not lie in its view
MOST, LONGEST = 256, 64


def column(rows: list[Any], kind: str) -> Any:
    """Return rows of text as a column of a type of text or of bytes."""
    encoded = [row if row is None or "binary" not in kind else row.encode() for row in rows]
    return pa.array(encoded, getattr(pa, kind)())


def numbered(values: Any) -> tuple[list[int | None], list[Any]]:
    """Return the codes and the names that Arrow gives to a column."""
    if not len(values):
        return [], []
    encoded = pa.chunked_array(values.chunks if hasattr(values, "chunks") else [values], values.type)
    encoded = encoded.dictionary_encode().combine_chunks()
    encoded = encoded if isinstance(encoded, pa.DictionaryArray) else encoded.chunk(0)
    return encoded.indices.to_pylist(), encoded.dictionary.to_pylist()


def read(values: Any) -> tuple[list[int | None], list[Any]] | None:
    """Return the codes and the names of a column of short texts, None if there are none."""
    encoded = encode_short(values, chunks_of(values))
    if encoded is None:
        return None
    return [None if code < 0 else code for code in encoded[0].tolist()], encoded[1]


sizes = st.one_of(st.integers(0, 20), st.sampled_from([*SHORTEST_VIEWS, LONGEST]))
words = st.builds(
    lambda size, end: ("x" * size + end)[-size:] if size else "", sizes, st.sampled_from(["a", "b", "\0"])
)
texts = st.one_of(words, st.text(st.characters(codec="utf-8"), max_size=16))


@given(st.data(), st.sampled_from(KINDS))
def test_codes_and_names_are_those_of_arrow(data: Any, kind: str) -> None:
    """Any short texts, with nulls, in slices and in chunks, in the order of their first rows."""
    pool = data.draw(st.lists(texts, min_size=1, max_size=12))
    rows = data.draw(st.lists(st.sampled_from([*pool, None]), max_size=40))
    if "binary" in kind:
        rows = [row if row is None else row.encode() for row in rows]
    values = laid_out(data.draw, rows, getattr(pa, kind)())
    if pa.types.is_dictionary(values.type):
        values = pa.chunked_array([pa.array(rows, getattr(pa, kind)())])

    assert read(values) == numbered(values)


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_as_many_and_as_long_as_allowed(kind: str, nulls: bool) -> None:
    """256 texts of 64 bytes, in three chunks, are numbered; one more, or one longer by a byte, is left to Arrow."""
    names = [f"{at:0{LONGEST}}" for at in range(MOST)]
    rows = [names[at] for at in np.random.default_rng(1).integers(0, MOST, 5000).tolist()] + names + [None] * nulls
    whole = column([*rows, "one more"], kind)

    for values in (whole.slice(0, len(rows)), pa.chunked_array([whole[:7], whole[7:3000], whole[3000 : len(rows)]])):
        assert read(values) == numbered(values)
    assert read(whole) is None
    assert read(pa.chunked_array([whole[:-1], whole[-1:]])) is None
    assert read(column([*rows[:9], "x" * (LONGEST + 1)], kind)) is None
    for values in (whole, column([*rows[:9], "x" * (LONGEST + 1), "é" * LONGEST], kind)):
        assert as_column(values, "y_pred", True).objects() == values.to_pylist()


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_at_all(kind: str) -> None:
    """Columns without rows, of nulls alone, and of empty texts, whose buffer of data may be missing."""
    for rows in ([], [None] * 9, [""] * 9, ["", None, ""]):
        values = column(rows, kind)

        assert read(values) == numbered(values)
        assert as_column(values, "y_pred", True).objects() == values.to_pylist()


def test_what_is_no_utf_8_is_refused_as_before() -> None:
    """Bytes that Arrow holds as text, but that are none, raise when they are named, whichever way they are numbered."""
    offsets = pa.py_buffer(np.array([0, 2, 3], np.int32))
    values = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"\xff\xfea")])
    with pytest.raises(UnicodeDecodeError):
        as_column(values, "y_true", False)
    with pytest.raises(UnicodeDecodeError):
        numbered(values)
