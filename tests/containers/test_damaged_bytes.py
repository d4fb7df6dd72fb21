"""Bytes of windows, fading states and groups: a state writes the bytes that it was read from; others are refused."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from typing import Any

import pytest

import stream_metrics as sm
from stream_metrics.wire import MAGIC, VERSION, Portable, encoded


def window() -> sm.TimeWindow:
    """Return a window with panes, one of them late."""
    made = sm.TimeWindow(sm.MetricSet(), "30s", 3, "5s")
    for t in (1, 12, 25, 3):
        made.update("a", "b", t=t)
    return made


def groups() -> sm.ByGroup:
    """Return groups of every type of key, some of them folded."""
    made = sm.ByGroup(sm.MetricSet(), 4)
    for key in ("a", 1, True, 2.5, b"x", ("y", 1), 7, "b"):
        made.update("a", "b", group=key)
    return made


def fading() -> sm.Fading:
    """Return a state of two stretches."""
    made = sm.Fading(sm.MetricSet(), "1s")
    for t in (0, 39, 41, 45):
        made.update("a", "b", t=t)
    return made


def nested() -> sm.ByGroup:
    """Return groups of windows."""
    made = sm.ByGroup(sm.TimeWindow(sm.Accuracy(), "30s", 3))
    for t in range(40):
        made.update(t % 3, t % 2, group=t % 2 == 0, t=t)
    return made


def changed(content: Any, rng: random.Random) -> Any:
    """Return the content with one thing in it changed: another value, one less, one twice, two in turn."""
    if isinstance(content, list | tuple) and content and rng.random() < 0.85:
        items, at = list(content), rng.randrange(len(content))
        kind = rng.random()
        if kind < 0.8:
            items[at] = changed(items[at], rng)
        elif kind < 0.9:
            del items[at]
        else:
            items.insert(at, items[rng.randrange(len(items))])
        return items
    others = [
        None,
        True,
        False,
        -1,
        0,
        1,
        2,
        60,
        10**9,
        3 * 10**10,
        2**62,
        2**70,
        0.5,
        "",
        "a",
        "set",
        b"",
        [],
        [[]],
        [0],
    ]
    return rng.choice(others)


@pytest.mark.parametrize("make", [window, groups, fading, nested])
def test_changed_bytes_are_refused_or_read_as_they_stand(make: Callable[[], Portable]) -> None:
    """Three thousand changes to the content, with a right checksum: a DecodeError, or a state that writes the same."""
    rng, state = random.Random(2), make()
    content, refused = state._content(), 0
    for _ in range(3000):
        body = encoded([state.KIND, changed(content, rng)])
        data = MAGIC + bytes([VERSION]) + zlib.crc32(body).to_bytes(4, "little") + body
        try:
            again = sm.from_bytes(data)
        except sm.DecodeError:
            refused += 1
        else:
            assert again.to_bytes() == data
            again.snapshot()
            assert again.copy() == again

    assert refused > 1500
    assert sm.from_bytes(state.to_bytes()) == state
