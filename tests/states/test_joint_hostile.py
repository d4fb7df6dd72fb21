"""Comparisons and detectors read their own bytes, and refuse all others with a correct checksum."""

from __future__ import annotations

import random
import zlib
from pathlib import Path
from typing import Any

import pytest

import stream_metrics as sm
from stream_metrics.states import detector, joint
from stream_metrics.wire import decoded, encoded

GOLDEN = Path(__file__).parents[1] / "golden"
NAMES = [path.stem for path in sorted(GOLDEN.glob("*_v1_*.bin")) if path.stem.startswith(("comparison", "detector"))]
WRONG = (
    None,
    True,
    -1,
    0,
    1,
    3,
    2**31,
    2**62,
    2**63,
    0.5,
    -0.0,
    float("nan"),
    float("inf"),
    "",
    "a",
    b"\xff",
    [],
    [0],
    [[]],
)
KINDS = {"comparison": joint.Comparison, "detector": detector.ChangeDetector}


def places(body: Any, at: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    """Return the ways to every value of nested lists."""
    found = [at] if at else []
    for i, item in enumerate(body if isinstance(body, list) else ()):
        found += places(item, (*at, i))
    return found


def changed(body: Any, at: tuple[int, ...], wrong: Any, how: int) -> Any:
    """Return a body with one value replaced, left out, or repeated."""
    if not at:
        return wrong
    items = list(body)
    if len(at) == 1 and how:
        items[at[0] : at[0] + 1] = [] if how == 1 else [items[at[0]]] * 2
    else:
        items[at[0]] = changed(items[at[0]], at[1:], wrong, how)
    return items


def with_lists(value: Any) -> Any:
    """Return a decoded value with its tuples as lists."""
    return [with_lists(item) for item in value] if isinstance(value, tuple) else value


@pytest.mark.parametrize("name", NAMES)
def test_changed_contents_are_refused_or_are_another_state(name: str) -> None:
    """With one value wrong, left out or repeated: a DecodeError, or a state that writes the same bytes."""
    data = (GOLDEN / f"{name}.bin").read_bytes()
    kind, content = with_lists(decoded(data[9:]))
    ways, draw = places(content), random.Random(name)
    for _ in range(60):
        other = changed(content, draw.choice(ways), draw.choice(WRONG), draw.choice((0, 0, 1, 2)))
        crafted = encoded([kind, other])
        data = b"SMET\x01" + zlib.crc32(crafted).to_bytes(4, "little") + crafted
        try:
            state = sm.from_bytes(data)
        except sm.DecodeError:
            continue
        assert state.to_bytes() == data
        assert isinstance(state, KINDS[kind])
        str(state.snapshot())
