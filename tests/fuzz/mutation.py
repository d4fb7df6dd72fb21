"""Mutations that keep an input readable: of the values in msgpack, and of the words of a text.

A mutation of bytes alone rarely gets past the first check of a format. These change one value or one word at a time.
Every choice comes from a `Random`, so that the same numbers give the same inputs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from stream_metrics import wire

Raw = Callable[[bytes, Random], bytes]
INTEGERS = (0, 1, 2, 3, 63, 64, 127, 128, 255, 256, 1023, 1024, 4096, 2**31, 2**32, 2**52, 2**53, 2**61 - 1, 2**62)
INTEGERS += (2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**127, -1, -2, -(2**31), -(2**63), -(2**63) - 1)
FLOATS = (0.0, -0.0, 0.5, 1.0, 1.5, -1.0, 2.0**-60, 5e-324, 1e-300, 2.0**53, 2.0**63, 1.7e308, math.inf, math.nan)
WORD = re.compile(rb'"(?:[^"\\]|\\.)*"|\w+(?:\.\w+)?|\s+|.', re.DOTALL)
MOST_CHANGES = 4


def change_bytes(data: bytes, chance: Random) -> bytes:
    """Return bytes with a few of them changed, removed, repeated or inserted."""
    result = bytearray(data)
    for _ in range(chance.randint(1, MOST_CHANGES)):
        at = chance.randint(0, len(result))
        pieces = [b"", b"\0", b"\xff", chance.randbytes(1), chance.randbytes(4), bytes(result[at : at + 8])]
        inserted = chance.choice(pieces)
        result[at : at + chance.choice([0, 1, 1, 1, 2, 8])] = inserted
    return bytes(result)


def change_words(data: bytes, chance: Random, words: Sequence[bytes]) -> bytes:
    """Return text with a few words or signs changed, removed, repeated, exchanged or inserted."""
    parts = WORD.findall(data)
    for _ in range(chance.randint(1, MOST_CHANGES)):
        at = chance.randint(0, len(parts))
        kind = chance.randrange(6)
        if kind == 0 or not parts[at : at + 1]:
            parts.insert(at, chance.choice(words))
        elif kind == 1:
            parts[at] = chance.choice(words)
        elif kind == 2:
            del parts[at : at + chance.choice([1, 1, 2, 5])]
        elif kind == 3:
            parts[at:at] = parts[at : at + chance.choice([1, 2, 5, 20])]
        elif kind == 4:
            other = chance.randrange(len(parts))
            parts[at], parts[other] = parts[other], parts[at]
        else:
            parts[at] = change_bytes(parts[at], chance)
    return b"".join(parts)


def unpack(data: bytes) -> Any:
    """Return the value of msgpack with lists that can be changed; ValueError and others for what is none."""
    return _with_lists(wire.decoded(data))


def _with_lists(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_with_lists(item) for item in value]
    if isinstance(value, dict):
        return {key: _with_lists(item) for key, item in value.items()}
    return value


def change_tree(data: bytes, chance: Random, others: Sequence[bytes], texts: Sequence[str], raw: Raw) -> bytes:
    """Return msgpack with a few values changed, or replaced by values of `others`; `raw` changes bytes and text."""
    try:
        tree = unpack(data)
        for _ in range(chance.randint(1, MOST_CHANGES)):
            tree = _changed(tree, chance, others, texts, raw)
        return wire.encoded(tree)
    except (OverflowError, RecursionError, TypeError, ValueError):
        return raw(data, chance)


def _changed(tree: Any, chance: Random, others: Sequence[bytes], texts: Sequence[str], raw: Raw) -> Any:
    """Return a tree of which one value, every one as likely as another, is changed in place."""
    places = list(_places(tree))
    if not places:
        return _value(tree, chance, texts, raw)
    holder, key = chance.choice(places)
    kind = chance.randrange(8)
    if kind == 0:
        donor = tree if chance.random() < 0.5 else unpack(chance.choice(others))
        inner = [holder[key] for holder, key in _places(donor)]
        holder[key] = _copy(chance.choice(inner)) if inner else donor
    elif kind == 1 and isinstance(holder, list):
        del holder[key]
    elif kind == 2 and isinstance(holder, list):
        holder.insert(key, _copy(holder[key]))
    elif kind == 3 and isinstance(holder, list):
        other = chance.randrange(len(holder))
        holder[key], holder[other] = holder[other], holder[key]
    else:
        holder[key] = _value(holder[key], chance, texts, raw)
    return tree


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (holder, key) of every value in a tree but the outermost."""
    keys: Any = range(len(tree)) if isinstance(tree, list) else tree if isinstance(tree, dict) else ()
    for key in keys:
        yield tree, key
        yield from _places(tree[key])


def _copy(value: Any) -> Any:
    return unpack(wire.encoded(value)) if isinstance(value, list | dict) else value


def _value(value: Any, chance: Random, texts: Sequence[str], raw: Raw) -> Any:
    """Return another value, mostly of the same type."""
    if chance.random() < 0.05:
        return chance.choice([None, True, False, 0, 1.0, "", b"", [], {}])
    if isinstance(value, bool) or value is None:
        return chance.choice([None, True, False, 0, 1])
    if isinstance(value, int):
        flipped = value ^ (1 << chance.randrange(64))
        return chance.choice([value + 1, value - 1, flipped, -value, chance.choice(INTEGERS)])
    if isinstance(value, float):
        return chance.choice([value + 1, -value, value * 2, value / 3, chance.choice(FLOATS)])
    if isinstance(value, str):
        if chance.random() < 0.5:
            return chance.choice(texts)
        return raw(value.encode("utf-8", "surrogatepass"), chance).decode("utf-8", "replace")
    if isinstance(value, bytes):
        return raw(value, chance)
    return [] if isinstance(value, list) else {}
