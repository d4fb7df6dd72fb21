"""A reader of wire format 1 written from docs/wire-format.md alone, and a writer of its frame and values."""

from __future__ import annotations

import struct
import zlib
from fractions import Fraction
from typing import Any, NamedTuple

MASK = 2**64 - 1
ENDS = (1, MASK - 1)
Weight = int  # in units of 2^-64


class Damaged(ValueError):
    """Bytes that are not of format 1."""


class Cell(NamedTuple):
    """A cell of a column: its key, its only code if it has one, weights and moments by group."""

    key: int
    sole: int | None
    weights: dict[int, Weight]
    moments: dict[int, int]


class Column(NamedTuple):
    """The scores of one class: level, cells, and for each group the weights of sampled codes."""

    level: int
    above: bool
    cells: list[Cell]
    samples: list[dict[int, Weight]]


def read(data: bytes) -> tuple[str, Any]:
    """Return kind and content; `Damaged` for a wrong frame."""
    if data[:4] != b"SMET" or data[4] != 1 or int.from_bytes(data[5:9], "little") != zlib.crc32(data[9:]):
        raise Damaged("frame")
    kind, content = unpacked(data[9:])
    return kind, content


def framed(body: bytes) -> bytes:
    """Return a body with the header and checksum that belong to it."""
    return b"SMET\x01" + zlib.crc32(body).to_bytes(4, "little") + body


def unpacked(body: bytes) -> Any:
    """Return the value of a body; `Damaged` or another error for what is none."""
    reader = _Msgpack(body)
    value = reader.value()
    if reader.at != len(body):
        raise Damaged("something after the body")
    return value


def packed(value: Any) -> bytes:
    """Return a value in the shortest form of msgpack; bytes in a list that stand for themselves are `Raw`."""
    if isinstance(value, Raw):
        return value.data
    if value is None or isinstance(value, bool):
        return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value]
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, str):
        data = value.encode("utf-8", "surrogatepass")
        return _head(len(data), 0xA0, 31, (0xD9, 0xDA, 0xDB)) + data
    if isinstance(value, bytes):
        return _head(len(value), 0, -1, (0xC4, 0xC5, 0xC6)) + value
    if isinstance(value, dict):
        items = b"".join(packed(key) + packed(item) for key, item in value.items())
        return _head(len(value), 0x80, 15, (None, 0xDE, 0xDF)) + items
    return _head(len(value), 0x90, 15, (None, 0xDC, 0xDD)) + b"".join(map(packed, value))


class Raw(NamedTuple):
    """Bytes that stand for themselves among values."""

    data: bytes


def _head(n: int, short: int, longest: int, heads: tuple[int | None, ...]) -> bytes:
    if n <= longest:
        return bytes([short | n])
    size = next(size for size in range(3) if heads[size] is not None and n < 1 << (8 << size))
    return bytes([heads[size] or 0]) + n.to_bytes(1 << size, "big")


def _integer(value: int) -> bytes:
    if -32 <= value < 128:
        return bytes([value % 256])
    sign = int(value < 0)
    for size in range(4):
        if -(1 << (8 << size)) // 2 * sign <= value < 1 << (8 << size):
            return bytes([(0xCC, 0xD0)[sign] + size]) + value.to_bytes(1 << size, "big", signed=value < 0)
    data = value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)
    fixed = {1: 0xD4, 2: 0xD5, 4: 0xD6, 8: 0xD7, 16: 0xD8}.get(len(data))
    head = _head(len(data), 0, -1, (0xC7, 0xC8, 0xC9)) if fixed is None else bytes([fixed])
    return head + b"\1" + data


class _Msgpack:
    """The types of msgpack that the format uses."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, n: int) -> bytes:
        self.at += n
        if self.at > len(self.data):
            raise Damaged("cut short")
        return self.data[self.at - n : self.at]

    def number(self, n: int, signed: bool = False) -> int:
        return int.from_bytes(self.take(n), "big", signed=signed)

    def value(self) -> Any:
        head = self.number(1)
        if head < 0x80 or head >= 0xE0:
            return head - 256 * (head >= 0xE0)
        if head < 0xC0:
            part = self.map if head < 0x90 else self.array
            return part(head & 15) if head < 0xA0 else self.text(head & 31)
        if head in (0xC0, 0xC2, 0xC3):
            return {0xC0: None, 0xC2: False, 0xC3: True}[head]
        if head == 0xCB:
            return struct.unpack(">d", self.take(8))[0]
        if 0xCC <= head <= 0xD3:
            return self.number(1 << (head & 3), signed=head >= 0xD0)
        for first, n, read in ((0xC4, 1, self.take), (0xD9, 1, self.text), (0xDC, 2, self.array), (0xDE, 2, self.map)):
            if first <= head < first + 4 - n:
                return read(self.number(n << (head - first)))
        return self.integer(head)

    def integer(self, head: int) -> int:
        """Read an extension: an integer outside 64 bits."""
        size = 1 << (head - 0xD4) if 0xD4 <= head <= 0xD8 else self.number(1 << (head - 0xC7))
        if self.number(1) != 1:
            raise Damaged("extension type")
        return self.number(size, signed=True)

    def text(self, n: int) -> str:
        return self.take(n).decode("utf-8", "surrogatepass")

    def array(self, n: int) -> tuple[Any, ...]:
        return tuple(self.value() for _ in range(n))

    def map(self, n: int) -> dict[Any, Any]:
        return {self.value(): self.value() for _ in range(n)}


class _Varints:
    """Whole numbers in a bin."""

    def __init__(self, data: bytes, places: int = 64) -> None:
        self.data, self.at, self.places = data, 0, places

    def next(self) -> int:
        number = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    def weight(self, fractions: bool) -> Weight:
        return (self.next() << 64) + (self.next() << (64 - self.places) if fractions else 0)

    @property
    def at_end(self) -> bool:
        return self.at == len(self.data)


def confusion_cells(content: Any) -> tuple[list[Any], dict[tuple[int, int], Weight]]:
    """Return the classes and the weights of the occupied cells of a `confusion` content."""
    fixed, _, _, _, labels, _, cells, *_ = content
    classes = [*(fixed or ()), *labels]
    numbers, weights, number = _Varints(cells[1:]), {}, 0
    while not numbers.at_end:
        number += 0 if cells[0] & 1 else numbers.next()
        weight = numbers.weight(bool(cells[0] & 2))
        if weight:
            weights[divmod(number, len(classes))] = weight
        number += 1
    return classes, weights


def rank_columns(content: Any) -> tuple[list[Any], list[Weight], list[Column | None]]:
    """Return the labels, their weights and their columns of a `ranks` content."""
    configuration, _, _, labels, _, weights, columns, *fine = content
    places = fine[0][0] if fine else 20
    numbers = _Varints(weights, places)
    totals = [numbers.weight(True) for _ in labels]
    groups = len(labels) if configuration[3] else 2
    return list(labels), totals, [_column(_Varints(data, places), groups) if data else None for data in columns]


def _column(numbers: _Varints, groups: int) -> Column:
    level, mode, size = numbers.next(), numbers.next() == 1, numbers.next()
    above, level = level >= 64, level % 64
    cells, key = [], 0
    for _ in range(size):
        key += numbers.next()
        pure = level == 0 or numbers.next() == 1
        sole = (key << level) + (numbers.next() if level else 0) if pure else None
        if sole in ENDS:
            pure, sole = False, None
        mask, weights, moments = numbers.next(), {}, {}
        for group in range(groups):
            if mask >> group & 1:
                weights[group] = numbers.weight(mode)
                moments[group] = numbers.weight(mode) if level and not pure else 0
        cells.append(Cell(key, sole, weights, moments))
    samples = [_sample(numbers, mode) for _ in range(groups)] if level else []
    if not numbers.at_end:
        raise Damaged("something after a column")
    return Column(level, above, cells, samples)


def _sample(numbers: _Varints, mode: bool) -> dict[int, Weight]:
    weights, hashed = {}, 0
    for _ in range(numbers.next()):
        hashed += numbers.next()
        weights[_code_of_hash(hashed)] = numbers.weight(mode)
    return weights


def _code_of_hash(x: int) -> int:
    x = (x ^ (x >> 31) ^ (x >> 62)) * 0x319642B2D24D8EC3 & MASK
    x = (x ^ (x >> 27) ^ (x >> 54)) * 0x96DE1B173F119089 & MASK
    return x ^ (x >> 30) ^ (x >> 60)


def fold_of_int(unit: int, folds: int = 32) -> int:
    """Return the fold of a unit that is an integer."""
    x = (unit + 0x9E3779B97F4A7C15) & MASK
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return (x ^ (x >> 31)) % folds


def loss_sums(content: Any) -> dict[str, Fraction | int]:
    """Return the sums of a `losses` content by name, in units of 1."""
    names = ["n", "abstained", "weight", "two", *(f"rank_{r}" for r in range(1, 12)), "log_loss", "brier", "spherical"]
    units = [1, 1, *[2**64] * 13, *[2**104] * 3]
    sums = {name: Fraction(x, unit) for name, unit, x in zip(names, units, content[2:20], strict=True)}
    more = content[25:] if len(content) >= 25 else content[20:]
    return {**sums, "binary": Fraction(more[1], 2**104) if more else sums["brier"] * (sums["two"] == sums["weight"])}
