"""Bytes of the columns of a rank sketch: what is read is what would be written, so all else is refused."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

import stream_metrics as sm
from stream_metrics import wire
from stream_metrics.states.ranks import RankSketch

COLUMNS = 6  # the place of the columns in the content of a sketch


def sketches() -> Iterator[RankSketch]:
    """Yield sketches at every kind of level, of whole and of fractional weights, with pairs and without."""
    random_of = random.Random(3)
    for buckets, spread, weights, pairs in (
        (64, 1, (1,), False),
        (4, 1, (1,), False),
        (4, 1, (1, 0.5, 0.1), False),
        (8, 1, (1, 0.25), True),
        (64, 1, (1, 2**-40), True),
        (2, 40, (1,), False),
        (2, 300, (1, 0.5), False),
    ):
        sketch = RankSketch(buckets=buckets, sample=4, pairs=pairs)
        for _ in range(40):
            scores = {name: random_of.choice((0.5, 1.0, random_of.random())) for name in "abc"}
            scores["a"] *= 10.0 ** random_of.randrange(-spread, spread)
            sketch.update(random_of.choice("abc"), scores, random_of.choice(weights))
        yield sketch


SKETCHES = list(sketches())


def mutated(column: bytes, others: list[bytes], source: random.Random) -> bytes:
    """Return a column with some numbers changed, added, removed, or taken from another one."""
    data = bytearray(column)
    for _ in range(source.choice((1, 1, 2, 4))):
        at, what = source.randrange(min(len(data), source.choice((4, len(data))))), source.randrange(6)
        if what == 0:
            data[at] ^= 1 << source.randrange(8)
        elif what == 1:
            data[at] = source.choice((0, 1, 2, 63, 64, 127, 128, 255, source.randrange(256)))
        elif what == 2:
            data.insert(at, source.choice((0, 1, 128, source.randrange(256))))
        elif what == 3 and len(data) > 1:
            del data[at]
        elif what == 4:
            data[at:at] = source.choice(others)[: source.randrange(6)]
        else:
            data[0] ^= 64
    return bytes(data)


def outcome(content: list[Any], body: bytes) -> str:
    """Return what became of a content; AssertionError if it is read and would be written otherwise."""
    try:
        sketch = RankSketch.from_content(wire.decoded(wire.encoded(content)))
    except sm.DecodeError:
        return "refused"
    assert wire.encoded(sketch.to_content()) == wire.encoded(content)
    return "same" if wire.encoded(content) == body else "read"


def run(at: int, mutations: int, seed: int) -> set[str]:
    """Return the outcomes of mutants of the columns of a sketch."""
    source, content = random.Random(seed), list(SKETCHES[at].to_content())
    body, columns = wire.encoded(content), list(content[COLUMNS])
    outcomes = set()
    for _ in range(mutations):
        place = source.randrange(len(columns))
        some = mutated(columns[place], columns, source)
        content[COLUMNS] = [*columns[:place], some, *columns[place + 1 :]]
        outcomes.add(outcome(content, body))
    return outcomes


@pytest.mark.parametrize("at", range(len(SKETCHES)))
def test_a_column_is_refused_or_written_as_it_was_read(at: int) -> None:
    """Whatever is changed in it, with the rest of the sketch as it was."""
    assert "refused" in run(at, 1500, at)


@pytest.mark.parametrize("column", [None, "", 0, (), False])
def test_a_column_is_bytes(column: object) -> None:
    """Also an empty one."""
    sketch = RankSketch(pairs=False)
    sketch.update("a", {"b": 0.5})
    content = list(sketch.to_content())
    assert content[COLUMNS][0] == b""
    content[COLUMNS] = [column, *content[COLUMNS][1:]]

    with pytest.raises(sm.DecodeError, match="columns of bytes"):
        RankSketch.from_content(wire.decoded(wire.encoded(content)))


def test_a_padded_fraction_is_refused() -> None:
    """A column may not say that fractions follow where all are 0."""
    sketch = RankSketch(pairs=False)
    sketch.update("a", {"a": 0.5})
    content = list(sketch.to_content())
    level, mode, *rest = content[COLUMNS][0]
    assert (level, mode) == (0, 0)
    content[COLUMNS] = [bytes([level, 1, *rest, 0])]

    with pytest.raises(sm.DecodeError, match="fractions where any is not 0"):
        RankSketch.from_content(wire.decoded(wire.encoded(content)))
