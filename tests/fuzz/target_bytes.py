"""States as bytes: what is read writes the same bytes and can be used like any other state; all else is a DecodeError.

An input is the msgpack body of a state, [kind, content]; header and checksum are added here.
"""

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from fuzz import mutation

import stream_metrics as sm
from stream_metrics import wire

__all__ = ["COVERED", "check", "mutate", "seeds"]

COVERED = ("stream_metrics",)  # modules whose functions report what they cover
GOLDEN = Path(__file__).parents[1] / "golden"
T = 1_700_000_000
SAMPLES: list[tuple[Any, ...]] = [(True, True), ("a", "b", 2), ("a", 0.25, 0.5), (True, 0.75), (1, None)]
SAMPLES.append(("b", {"a": 0.5, "b": 0.25}))
TEXTS = [str(line).split()[0] for line in str(sm.metrics()).splitlines() if line.strip()]
TEXTS += ["confusion", "metric", "ranks", "losses", "set", "rolling", "timed", "fading", "groups", "comparison", "a"]
TEXTS += ["detector", "aggregate", "b", "worse", "up", "down", "both", "beta", "weights", "same", "stop", "learn"]
DIGITS = re.compile(r"\d+|'[^']*'|\"[^\"]*\"|\(.*\)|\[.*\]", re.DOTALL)
REFUSED = (sm.StreamMetricsError, ValueError)


@functools.cache
def seeds() -> list[bytes]:
    """Return the bodies of all golden files and of some states in states."""
    golden = [path.read_bytes()[wire.HEADER :] for path in sorted(GOLDEN.glob("*.bin"))]
    inner = sm.MetricSet(scores=True, buckets=8, sample=2)
    nested: list[Any] = [
        sm.Rolling(inner, 4),
        sm.Fading(inner, "5s"),
        sm.ByGroup(inner, 2),
        sm.ByGroup(sm.Fading(sm.MetricSet(["f1"]), "20s"), 2),
        sm.TimeWindow(inner, "1m", 3),
    ]
    for state in nested:
        for at in range(5):
            group = {"group": "abc"[at % 3]} if isinstance(state, sm.ByGroup) else {}
            predicted = at % 3 == 0 if isinstance(getattr(state, "inner", None), sm.Fading) else at / 8
            state.update(at % 2 == 0, predicted, **_context(state), **group)
    return golden + [state.to_bytes()[wire.HEADER :] for state in nested]


def signed(body: bytes) -> bytes:
    """Return a body with its header and checksum."""
    return wire.MAGIC + bytes([wire.VERSION]) + zlib.crc32(body).to_bytes(4, "little") + body


def mutate(data: bytes, chance: Random, raw: mutation.Raw) -> bytes:
    """Return another body: mostly with values changed, sometimes bytes."""
    if chance.random() < 0.1:
        return raw(data, chance)
    return mutation.change_tree(data, chance, seeds(), TEXTS, raw)


def check(data: bytes) -> str:
    """Read a body, and use the state that it is; return the kind of state, or why there is none."""
    written = signed(data)
    try:
        state = sm.from_bytes(written)
    except sm.DecodeError as error:
        return DIGITS.sub("#", str(error))[:120]
    assert state.to_bytes() == written, "other bytes than were read"
    _use(state)
    assert state.to_bytes() == written, "a copy was not independent"
    return f"taken: {type(state).__name__}"


def _use(state: Any) -> None:
    """Show, merge, update and empty copies of a state; what is refused leaves them as they were."""
    shown = _shown(state.copy())
    if zlib.crc32(state.to_bytes()) % 8 == 0 and hasattr(shown, "to_dict"):
        shown.to_dict()
    _attempt(state, lambda twin: twin.merge(state))
    for sample in _samples(state):
        for more in _contexts(state):
            _attempt(state, lambda twin, sample=sample, more=more: twin.update(*sample, **more))
    empty = state.copy()
    empty.reset()
    assert sm.from_bytes(empty.to_bytes()).to_bytes() == empty.to_bytes(), "an empty state with other bytes"


def _attempt(state: Any, change: Callable[[Any], object]) -> None:
    """Change a copy: it can be read again and shown, or is refused and as it was."""
    twin = state.copy()
    try:
        change(twin)
    except REFUSED:
        assert twin.to_bytes() == state.to_bytes(), "a refused change left something behind"
        return
    written = twin.to_bytes()
    again = sm.from_bytes(written)
    assert again.to_bytes() == written, "other bytes than were written"
    _shown(again)


def _shown(state: Any) -> Any:
    """Return a snapshot, or None of an aggregate without workers, which has none."""
    return None if isinstance(state, sm.Aggregate) and not state.workers() else state.snapshot()


def _samples(state: Any) -> Sequence[tuple[Any, ...]]:
    """Return arguments of an update."""
    if isinstance(state, sm.ChangeDetector):
        return (0.5,), (1,), ("a", "b")
    if isinstance(state, sm.Comparison):
        samples = [(truth, prediction, *more[:1], *more) for truth, prediction, *more in SAMPLES if more]
        return [*samples, (1, "a", None)]
    return () if isinstance(state, sm.Aggregate) else SAMPLES


def _contexts(state: Any) -> Iterator[dict[str, Any]]:
    """Yield keyword arguments of an update that fit."""
    group = {"group": "g"} if isinstance(state, sm.ByGroup) else {}
    yield group
    if _context(state):
        yield {**group, "t": T}


def _context(state: Any) -> dict[str, Any]:
    """Return the time that a window or fading by time asks for."""
    while state is not None:
        if isinstance(state, sm.TimeWindow | sm.Fading):
            return {"t": T}
        state = getattr(state, "inner", None)
    return {}
