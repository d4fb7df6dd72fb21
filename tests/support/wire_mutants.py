"""Damaged bytes: mutants of every kind of state, under a header and a checksum that are right.

    python tests/support/wire_mutants.py --mutations 1000000 --jobs 2
    python tests/support/wire_mutants.py --mutations 1000 --only fading

A mutant is refused with `DecodeError`, or it is a state that can be written: then its bytes are the mutant's, and it
can be copied, read, merged and updated; what it refuses leaves it as it was. Half of the mutants change bytes, half
change a value of the decoded content. A run is a function of its seed; a violation prints the bytes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import resource
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import stream_metrics as sm

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from support.thread_stress import CASES
from support.wire_reader import framed, packed, unpacked

GOLDEN = Path(__file__).parents[1] / "golden"
SLOWEST = 5.0  # seconds for one mutant: far above what any takes, far below what one without a bound would
INTERESTING: list[Any] = [
    *(0, 1, -1, 2, 127, 128, 255, 2**31, 2**53, 2**61 - 1, 2**61, 2**62, 2**63 - 3, 2**63 - 1, 2**63, 2**64 - 1),
    *(2**64, 2**70, -(2**63), -(2**70), 2**2047, 2**4000, True, False, None, 0.0, -0.0, 1.0, 0.5, 1e300, 5e-324),
    *(float("inf"), float("nan"), "", "a", "z", "accuracy", "roc_auc", b"", b"\0", b"\x01\x01", (), (None,), ((),), {}),
]


def corpus() -> dict[str, Any]:
    """Return a small state of every kind, of every container around one, and of aggregates of them."""
    states = {path.stem: sm.from_bytes(path.read_bytes()) for path in sorted(GOLDEN.glob("*.bin"))}
    for name, case in CASES.items():
        states[name], rng = case.make(), random.Random(name)
        for _ in range(12):
            arguments, more = case.sample(rng)
            states[name].update(*arguments, **more)
    for name in ("TimeWindow of scores", "MetricSet of scores", "Comparison of units"):
        total = states[f"Aggregate of {name}"] = sm.Aggregate()
        for number in range(3):
            total.put(f"worker {number}", states[name], number)
    return states


class Mutator:
    """Draws mutants of one body."""

    def __init__(self, body: bytes, rng: random.Random) -> None:
        self.body, self.rng = body, rng
        self.content = unpacked(body)
        self.paths = list(_paths(self.content))
        self.values = [_at(self.content, path) for path in self.paths]

    def mutant(self) -> bytes | None:
        """Return the body of a mutant; None for one that cannot be written."""
        if self.rng.random() < 0.5:
            data = self.body
            for _ in range(self.rng.choice([1, 1, 1, 2, 3])):
                data = self._bytes(data)
            return data
        content = self.content
        for _ in range(self.rng.choice([1, 1, 1, 2, 3])):
            path = self.rng.choice(self.paths)
            try:
                content = _replaced(content, path, self._value)
            except (IndexError, KeyError, TypeError):  # an earlier change has removed the place
                continue
        try:
            return packed(content)
        except (ValueError, OverflowError, TypeError, RecursionError):
            return None

    def _bytes(self, data: bytes) -> bytes:
        """Return bytes with one place changed, dropped, or with more bytes in it."""
        rng = self.rng
        if not data:
            return rng.randbytes(1)
        at, other = rng.randrange(len(data)), rng.randrange(len(data))
        before, here, after = data[:at], data[at : at + rng.randint(1, 8)], data[at + 1 :]
        special = rng.choice([b"\0", b"\x01", b"\x7f", b"\x80", b"\xff", rng.randbytes(1)])
        return rng.choice([
            before + bytes([data[at] ^ 1 << rng.randrange(8)]) + after,
            before + special + after,
            before + data[at + rng.randint(1, 4) :],
            before + rng.randbytes(rng.randint(1, 3)) + data[at:],
            before + here + data[at:],
            before + data[other : other + rng.randint(1, 8)] + after,
        ])  # fmt: skip

    def _value(self, value: Any) -> Any:
        """Return what stands instead of a value."""
        rng, own = self.rng, list[Any]()
        if isinstance(value, bytes):
            own = [self._bytes(value)]
        elif isinstance(value, int):
            own = [value + 1, value - 1, -value, 2 * value, value << 32, 1 << rng.randrange(70)]
        elif isinstance(value, float):
            own = [value + 1, -value, value * 2.0**-60, value * 2.0**60, 1]
        elif isinstance(value, tuple) and value:
            at, other = rng.randrange(len(value)), rng.randrange(len(value))
            swapped = list(value)
            swapped[at], swapped[other] = value[other], value[at]
            before, after = value[:at], value[at + 1 :]
            own = [before + after, (*before, value[other], *value[at:]), tuple(swapped), before]
            own.append((*value, rng.choice(INTERESTING)))
        elif isinstance(value, dict):
            own = [{**value, rng.choice(["a", "beta", 1]): rng.choice(INTERESTING)}]
        if own and rng.random() < 0.6:
            return rng.choice(own)
        return rng.choice([(value,), rng.choice(self.values), rng.choice(INTERESTING), rng.choice(INTERESTING)])


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = enumerate(value) if isinstance(value, tuple) else value.items() if isinstance(value, dict) else ()
    for at, item in items:
        yield from _paths(item, (*path, at))


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for at in path:
        value = value[at]
    return value


def _replaced(value: Any, path: tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    if not path:
        return change(value)
    if isinstance(value, dict):
        return {**value, path[0]: _replaced(value[path[0]], path[1:], change)}
    return (*value[: path[0]], _replaced(value[path[0]], path[1:], change), *value[path[0] + 1 :])


def unchanged(state: Any, act: Callable[[], Any]) -> None:
    """Let a state do something; if it refuses, it is as it was."""
    before = state.to_bytes()
    with suppress(sm.StreamMetricsError, ValueError, KeyError):
        act()
        return
    assert state.to_bytes() == before, "refused, and changed"


def updates(state: Any) -> Iterator[Callable[[], Any]]:
    """Yield updates of which at least one suits the state."""
    inside = [state]
    while getattr(inside[-1], "inner", None) is not None:
        inside.append(inside[-1].inner)
    kinds = {each.KIND for each in inside}
    if "aggregate" in kinds:
        if state.workers():
            yield lambda: state.put("another", state.total(), 2**40)
        return
    if "comparison" in kinds:
        yield lambda: state.update(True, 0.25, 0.75) if state.scores else state.update("a", "a", "b")
        return
    more: dict[str, Any] = {"group": "g"} if "groups" in kinds else {}
    if "timed" in kinds or any(not getattr(each, "by_count", True) for each in inside):
        latest = max([1_700_000_000, *(each.latest for each in [state] if getattr(each, "latest", None))])
        more["t"] = min(latest + 1, 4.5e9)
    if inside[-1].KIND == "detector" and inside[-1].of is None:
        yield lambda: state.update(0.5, **more)
        return
    yield lambda: state.update(True, 0.75, **more)
    yield lambda: state.update("a", "b", 3, **more)
    yield lambda: state.update("a", {"a": 0.5, "b": 0.25}, 0.5, **more)
    yield lambda: state.update("a", None, **more)


def use(state: Any, data: bytes) -> None:
    """Do with a state that was read what can be done with any; AssertionError for what cannot be."""
    twin = state.copy()
    assert state.to_bytes() == data, "written as other bytes than it was read from"
    assert twin.to_bytes() == data, "a copy has other bytes"
    show(twin)
    for act in (lambda: twin.merge(twin), lambda: twin.merge(state), *updates(twin)):
        unchanged(twin, act)
    written = twin.to_bytes()
    assert state.to_bytes() == data, "merged into another, and changed"
    assert sm.from_bytes(written).to_bytes() == written, "written after merges and updates, and not read"
    show(twin)


def show(state: Any) -> None:
    """Take a snapshot, which an aggregate without workers does not have."""
    repr(state)
    if not isinstance(state, sm.Aggregate) or state.workers():
        state.snapshot()


def fuzz(name: str, state: Any, mutations: int, seed: int) -> Counter[str]:
    """Try so many mutants of a state; return how many were refused and read, or raise with the bytes of a violation."""
    rng = random.Random(f"{name} {seed}")
    mutator = Mutator(state.to_bytes()[9:], rng)
    outcomes = Counter[str]()
    for _ in range(mutations):
        body = mutator.mutant()
        if body is None or body == mutator.body:
            outcomes["not written"] += 1
            continue
        data, start = framed(body), time.perf_counter()
        try:
            try:
                twin = sm.from_bytes(data)
            except sm.DecodeError:
                outcomes["refused"] += 1
            else:
                outcomes["read"] += 1
                use(twin, data)
        except Exception as error:
            raise AssertionError(f"{name}: {type(error).__name__}: {error!s:.300} for {data!r}") from error
        if time.perf_counter() - start > SLOWEST:
            raise AssertionError(f"{name}: {time.perf_counter() - start:.1f} s for {data!r}")
    return outcomes


def _job(job: tuple[str, int, int, int]) -> tuple[str, Counter[str], list[str]]:
    name, mutations, seed, memory = job
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    warnings.simplefilter("ignore")
    state, outcomes, violations = corpus()[name], Counter[str](), []
    for part in range(0, mutations, 1000):
        try:
            outcomes += fuzz(name, state, min(1000, mutations - part), seed + part)
        except AssertionError as error:
            violations.append(str(error))
    return name, outcomes, violations


def main(arguments: list[str]) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Try mutants of the bytes of every kind of state.")
    parser.add_argument("--mutations", type=int, default=10_000, help="mutants of each state")
    parser.add_argument("--only", default="", help="states whose name contains this text")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--memory", type=int, default=3, help="address space of a process in GB")
    chosen = parser.parse_args(arguments)
    names = [name for name in corpus() if chosen.only in name]
    jobs = [(name, chosen.mutations, chosen.seed, chosen.memory << 30) for name in names]
    total, failed = Counter[str](), 0
    with multiprocessing.get_context("spawn").Pool(chosen.jobs, maxtasksperchild=1) as pool:
        for name, outcomes, violations in pool.imap_unordered(_job, jobs):
            print(f"{name}: {dict(outcomes)}, {len(violations)} violations", flush=True)
            for violation in violations[:5]:
                print(f"    {violation[:20_000]}", flush=True)
            total += outcomes
            failed += len(violations)
    print(f"all: {dict(total)}, {failed} violations")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
