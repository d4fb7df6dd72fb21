"""Columns copied piece by piece, each piece while it is in the cache.

A column that has to be copied anyway is copied into the narrowest integers that will do. For a few classes that writes
a byte a row; a copy of 64-bit integers would cost more than counting them, most of it for memory never used before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from stream_metrics.inputs.tensors import Array

DType: TypeAlias = np.dtype[Any]
Change: TypeAlias = Callable[[Array, Array], object]  # from integers to codes, which are the second array

BLOCK = 2**15  # rows that are copied at once
LENGTH = 2**18  # rows that are made alike at once
CELLS = 2**15  # numbers of a table that are copied at once


class Part(NamedTuple):
    """Integers, how they become codes, and if some are missing a buffer of bits, 0 for these, and the first bit."""

    values: Array
    change: Change
    valid: tuple[memoryview, int] | None


def min_int_dtype(count: int) -> DType:
    """Return the narrowest type that has room for codes below `count` and for -1."""
    return np.min_scalar_type(-max(count, 1))


def concat_codes(parts: Sequence[Part], dtype: DType) -> Array:
    """Return parts as one column of codes, -1 for what is missing."""
    out = np.empty(sum(len(values) for values, _, _ in parts), dtype)
    at = 0
    for values, change, valid in parts:
        for start in range(0, len(values), BLOCK):
            piece = values[start : start + BLOCK]
            codes = out[at : at + len(piece)]
            change(piece, codes)
            if valid is not None:
                codes |= bits(valid[0], valid[1] + start, len(piece)).view(np.int8) - 1
            at += len(piece)
    return out


def bits(data: memoryview, start: int, n: int) -> Array:
    """Return n bits of a buffer, from the bit `start` on, as bytes."""
    octets = np.frombuffer(data, np.uint8, offset=start // 8)
    return np.unpackbits(octets, count=start % 8 + n, bitorder="little")[start % 8 :]


def copy_codes(piece: Array, codes: Array) -> None:
    """Take over integers that fit."""
    np.copyto(codes, piece, casting="unsafe")


def subtract_codes(low: int) -> Change:
    """Return the change that takes `low` off, right modulo 2**64 whatever the type."""
    if low == 0:
        return copy_codes
    base = np.uint64(low % 2**64)
    return lambda piece, codes: np.copyto(codes, piece.astype(np.uint64) - base, casting="unsafe")


def lookup_codes(table: Array) -> Change:
    """Return the change that looks up new codes for old ones; those beyond the table have the last of it."""
    if np.array_equal(table[:-1], np.arange(len(table) - 1)):
        return copy_codes
    return lambda piece, codes: np.take(table, piece.astype(np.intp), out=codes, mode="clip")


def common_edges(t: Sequence[Array], p: Sequence[Array]) -> list[int]:
    """Return where two columns of equal length are to be cut so that each piece is in one array of either.

    If the arrays are of different types, pieces are so short that they stay in the cache when they are made alike.
    """
    ends = [*accumulate(map(len, t)), *accumulate(map(len, p))]
    short = range(0, ends[-1], LENGTH) if t[0].dtype != p[0].dtype else ()
    return sorted({0, *ends, *short})


def split_at(arrays: Sequence[Array], edges: Sequence[int]) -> Iterator[Array]:
    """Yield the pieces of a column between edges, among which are the ends of its arrays."""
    start, rest = 0, iter(arrays)
    array = next(rest)
    for low, high in pairwise(edges):
        while low - start >= len(array):
            start += len(array)
            array = next(rest)
        yield array[low - start : high - start]


def concat(arrays: Sequence[Array], names: int | None) -> Array:
    """Return arrays of integers, codes of so many names if this is no None, as one array."""
    if not arrays:
        return np.empty(0, np.int8)
    kind = np.iinfo(np.int8 if names is None else min_int_dtype(names))
    narrow = kind.bits < 8 * arrays[0].itemsize
    if narrow and all(kind.min <= int(array.min()) <= int(array.max()) <= kind.max for array in arrays if len(array)):
        return np.concatenate(arrays, dtype=kind.dtype, casting="unsafe")
    return np.concatenate(arrays)


def stack_columns(columns: Sequence[Array], n: int, dtype: DTypeLike) -> Array:
    """Return columns as a table, a row a sample."""
    table = np.empty((n, len(columns)), dtype)
    step = max(256, CELLS // max(len(columns), 1))
    for start in range(0, n, step):
        for column, place in zip(columns, table[start : start + step].T, strict=True):
            place[:] = column[start : start + step]
    return table
