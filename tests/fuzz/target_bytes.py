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
from support.thread_stress import CASES, feed
from support.wire_reader import framed

import stream_metrics as sm

COVERED = ("stream_metrics",)  # modules whose functions report what they cover
HEADER = 9  # magic, version and checksum
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
    """Return the bodies of all golden files, of every container around every state, and of aggregates of them."""
    written = [path.read_bytes() for path in sorted(GOLDEN.glob("*.bin"))]
    states = {name: case.make() for name, case in CASES.items()}
    for name, state in states.items():
        chance = Random(name)
        feed(state, [CASES[name].sample(chance) for _ in range(12)])
    for name in ("TimeWindow of scores", "MetricSet of scores", "Comparison of units"):
        states[f"Aggregate of {name}"] = total = sm.Aggregate()
        for number in range(3):
            total.put(f"worker {number}", states[name], number)
    return [data[HEADER:] for data in written + [state.to_bytes() for state in states.values()]]


def mutate(data: bytes, chance: Random, raw: mutation.Raw) -> bytes:
    """Return another body: mostly with values changed, sometimes bytes."""
    if chance.random() < 0.1:
        return raw(data, chance)
    return mutation.change_tree(data, chance, seeds(), TEXTS, raw)


def check(data: bytes) -> str:
    """Read a body, and use the state that it is; return the kind of state, or why there is none."""
    written = framed(data)
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
    _attempt(state, lambda twin: twin.merge(twin))
    if isinstance(state, sm.Aggregate) and state.workers():
        _attempt(state, lambda twin: twin.put("another", twin.total(), 2**40))
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
    repr(state)
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
    """Yield keyword arguments of an update that fit: a group, and a time that a window or fading by time asks for."""
    inside = [state]
    while getattr(inside[-1], "inner", None) is not None:
        inside.append(inside[-1].inner)
    group = {"group": "g"} if any(isinstance(each, sm.ByGroup) for each in inside) else {}
    yield group
    if any(isinstance(each, sm.TimeWindow | sm.Fading) for each in inside):
        yield {**group, "t": T}
        yield {**group, "t": min(max(T, getattr(state, "latest", None) or 0) + 1, 4.5e9)}
