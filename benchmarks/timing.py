"""Timing for every question: the contenders run in turn, A B A B ..., and the best time of each counts.

A busy machine slows down whatever runs at that moment. Taking turns spreads this over all contenders, and the minimum
of many rounds is the time that each needs when nothing disturbs it, so ratios hold where single times do not. The
clock counts the processor time of this process, all threads included, so time given to other processes is not counted;
where that clock is coarse (Windows), it is the wall clock.

A loop over samples runs in a code object of its own for every contender: CPython specialises the call inside a loop for
what it met there, and contenders that share one loop would pay for each other. The loop without a call is timed as one
more contender and subtracted. Garbage collection is off meanwhile.
"""

from __future__ import annotations

import gc
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from math import isnan
from time import get_clock_info, perf_counter_ns, process_time_ns
from types import FunctionType
from typing import Any, NamedTuple

PEERS = ("numpy", "river", "scikit-learn", "pandas", "cython", "datasketches", "pyarrow", "duckdb", "polars", "pyspark")
clock = process_time_ns if get_clock_info("process_time").resolution < 1e-6 else perf_counter_ns
Loop = Callable[[Any, Sequence[Any]], int]
Run = tuple[Loop, Any, Callable[[], Sequence[Any]]]  # a loop, the object it calls, what makes the samples


class Line(NamedTuple):
    """One line of the table: a measured number and, unless it is there for information only, its target."""

    what: str
    measured: float
    unit: str = "x"
    target: float | None = None
    at_least: bool = False
    figures: str = ""

    @property
    def missed(self) -> bool:
        """Whether there is a target and the number lies on the wrong side of it."""
        if self.target is None:
            return False
        return self.measured < self.target if self.at_least else self.measured > self.target

    def cells(self) -> tuple[str, ...]:
        """Question, target, measured number, verdict, figures behind it."""
        unit = self.unit if self.unit == "x" else f" {self.unit}"
        sign = "at least" if self.at_least else "at most"
        target = "" if self.target is None else f"{sign} {self.target:g}{unit}"
        if isnan(self.measured):
            return self.what, target, "", "not measured", self.figures
        verdict = "" if self.target is None else "MISSED" if self.missed else "met"
        return self.what, target, f"{self.measured:.3g}{unit}", verdict, self.figures


def table(lines: Iterable[tuple[str, Line]]) -> str:
    """Return lines, each with the file that yielded it, as a Markdown table."""
    rows: list[tuple[str, ...]] = [("file", "question", "target", "measured", "", "figures"), ("---",) * 6]
    rows += [(file, *line.cells()) for file, line in lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


@contextmanager
def _undisturbed() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def best(contenders: Mapping[str, Callable[[], object]], rounds: int, calls: int = 1) -> dict[str, float]:
    """Return the nanoseconds of one call of each contender: the best of `rounds` turns of `calls` calls."""
    times = dict.fromkeys(contenders, float("inf"))
    with _undisturbed():
        for _ in range(rounds):
            for name, run in contenders.items():
                start = clock()
                for _ in range(calls):
                    run()
                times[name] = min(times[name], (clock() - start) / calls)
    return times


def update_loop(target: Any, samples: Sequence[Any]) -> int:
    """Time `target.update` over pairs, called as a user writes it."""
    start = clock()
    for y_true, y_pred in samples:
        target.update(y_true, y_pred)
    return clock() - start


def weighted_loop(target: Any, samples: Sequence[Any]) -> int:
    """Time `target.update` over pairs with a weight."""
    start = clock()
    for y_true, y_pred, w in samples:
        target.update(y_true, y_pred, w)
    return clock() - start


def reading_loop(target: Any, samples: Sequence[Any]) -> int:
    """Time `target.get` after every update, so that nothing can be served from a cache; the update is included."""
    start = clock()
    for y_true, y_pred in samples:
        target.update(y_true, y_pred)
        target.get()
    return clock() - start


def empty_loop(_target: Any, samples: Sequence[Any]) -> int:
    """Time the loop over pairs alone."""
    start = clock()
    for _y_true, _y_pred in samples:
        pass
    return clock() - start


def empty_weighted_loop(_target: Any, samples: Sequence[Any]) -> int:
    """Time the loop over triples alone."""
    start = clock()
    for _y_true, _y_pred, _w in samples:
        pass
    return clock() - start


def _specialised(loop: Loop) -> Loop:
    return FunctionType(loop.__code__.replace(), loop.__globals__)


def per_sample(contenders: Mapping[str, Run], rounds: int) -> dict[str, float]:
    """Return the nanoseconds a sample of each contender: the best of `rounds` turns.

    Building the samples is not timed. They are read once before, so that no contender pays for a cache that the
    previous one emptied.
    """
    loops = {name: _specialised(loop) for name, (loop, _, _) in contenders.items()}
    times = dict.fromkeys(contenders, float("inf"))
    with _undisturbed():
        for _ in range(rounds):
            for name, (_, target, samples) in contenders.items():
                fresh = samples()
                for _sample in fresh:
                    pass
                times[name] = min(times[name], loops[name](target, fresh) / len(fresh))
    return times


def net_updates(contenders: Mapping[str, Any], samples: Callable[[], Sequence[Any]], rounds: int) -> dict[str, float]:
    """Return the nanoseconds of one `update` of each object, net of the empty loop."""
    weighted = len(samples()[0]) == 3
    loop, empty = (weighted_loop, empty_weighted_loop) if weighted else (update_loop, empty_loop)
    runs: dict[str, Run] = {name: (loop, target, samples) for name, target in contenders.items()}
    runs[""] = empty, None, samples
    times = per_sample(runs, rounds)
    nothing = times.pop("")
    return {name: time - nothing for name, time in times.items()}


def machine() -> str:
    """Return one line: versions of Python and the peers, processor, number of processors."""
    names = [f"Python {platform.python_version()}", *(f"{name} {_version(name)}" for name in PEERS if _version(name))]
    return ", ".join([*names, f"{_processor()}, {os.cpu_count()} processors, {platform.system()} {platform.machine()}"])


def _version(package: str) -> str:
    """Return the version of a package, nothing if it is absent."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            return next(line.partition(":")[2].strip() for line in info if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"
