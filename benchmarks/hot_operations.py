"""Operations whose instructions `against.py` counts; run under callgrind, which writes a part at each marker.

The marker is `os.getsid`: a function of the C library that nothing else here calls. Each operation runs in some rounds
with new objects, because the addresses of labels decide which of them share a place in a cache; the fewest instructions
of a round count. Garbage collection is off.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from timing import Loop, update_loop, weighted_loop

import stream_metrics as sm
from stream_metrics._core.confusion import kernels

ROUNDS = 3
Make = Callable[[int], tuple[Callable[[], object], int]]  # takes a round; returns a function and its number of samples

MANY, BATCH, FEW = 1000, 20_000, 20


def text(i: int, classes: int = 10) -> str:
    """Return a new text object."""
    return f"class_{i % classes}"


def pairs(n: int, classes: int = 10) -> list[tuple[int, int]]:
    """Return the numbers of true and predicted classes, the same ones in each round."""
    random = Random(0)
    return [(t, t if random.random() < 0.8 else random.randrange(classes)) for t in random.choices(range(classes), k=n)]


def shared(n: int, classes: int = 10) -> list[tuple[str, str]]:
    """Return pairs of text, one object for each class."""
    names = [text(i, classes) for i in range(classes)]
    return [(names[t], names[p]) for t, p in pairs(n, classes)]


def scored(n: int) -> list[tuple[str, dict[str, float]]]:
    """Return pairs of a label and a mapping of ten scores."""
    names = [text(i) for i in range(10)]
    rows = np.random.default_rng(0).dirichlet(np.ones(10), n).tolist()
    return [(names[t], dict(zip(names, row, strict=True))) for (t, _), row in zip(pairs(n), rows, strict=True)]


def each(counts: Any, samples: list[Any], loop: Loop = update_loop) -> Callable[[], object]:
    """Return a function that passes samples one by one."""
    return lambda: loop(counts, samples)


def repeat(function: Callable[[], object]) -> tuple[Callable[[], None], int]:
    """Return a function that calls another one a few times, and how many times."""

    def run() -> None:
        for _ in range(FEW):
            function()

    return run, FEW


def warm(run: Callable[[], object], n: int) -> tuple[Callable[[], object], int]:
    """Run once before it is counted."""
    run()
    return run, n


def update(_: int) -> tuple[Callable[[], object], int]:
    return warm(each(sm.MetricSet(), shared(MANY)), MANY)


def update_weighted(_: int) -> tuple[Callable[[], object], int]:
    return warm(each(sm.MetricSet(), [(t, p, 2) for t, p in shared(MANY)], weighted_loop), MANY)


def update_fresh(_: int) -> tuple[Callable[[], object], int]:
    counts = sm.MetricSet()
    warm(each(counts, shared(MANY)), 0)
    return each(counts, [(text(t), text(p)) for t, p in pairs(MANY)]), MANY


def update_first(_: int) -> tuple[Callable[[], object], int]:
    return each(sm.MetricSet(), shared(MANY, 300)), MANY


@cache
def columns() -> tuple[Any, Any]:
    """Return columns of true and predicted classes."""
    t, p = np.array(pairs(BATCH), np.int64).T.copy()
    return t, p


def batch(_: int) -> tuple[Callable[[], object], int]:
    counts, (t, p) = sm.MetricSet(), columns()
    return warm(lambda: counts.update_many(t, p), BATCH)


def batch_weighted(_: int) -> tuple[Callable[[], object], int]:
    counts, (t, p) = sm.MetricSet(), columns()
    weights = np.arange(BATCH) % 7
    return warm(lambda: counts.update_many(t, p, weights), BATCH)


def batch_lists(_: int) -> tuple[Callable[[], object], int]:
    counts, n = sm.MetricSet(), MANY
    counts.update_many([text(0)], [text(1)])
    t, p = ([text(i) for i in side] for side in zip(*pairs(n), strict=True))
    return lambda: counts.update_many(t, p), n


def filled(counts: Any) -> Any:
    """Return a state after it has counted samples."""
    update_loop(counts, shared(MANY))
    return counts


def merge(_: int) -> tuple[Callable[[], object], int]:
    one, other = filled(sm.MetricSet()), filled(sm.MetricSet())
    one.merge(other)
    return repeat(lambda: one.merge(other))


def merge_empty(_: int) -> tuple[Callable[[], object], int]:
    one, other = sm.MetricSet(scores=True), sm.MetricSet(scores=True)
    update_loop(one, scored(200))
    one.merge(other)
    return repeat(lambda: one.merge(other))


def reading(_: int) -> tuple[Callable[[], object], int]:
    metric = filled(sm.Accuracy())
    metric.get()
    return repeat(metric.get)


def update_scored(_: int) -> tuple[Callable[[], object], int]:
    return warm(each(sm.MetricSet(scores=True), scored(200)), 200)


def batch_scored(_: int) -> tuple[Callable[[], object], int]:
    counts, names = sm.MetricSet(scores=True), list(range(10))
    t, scores = columns()[0][:MANY], np.random.default_rng(0).dirichlet(np.ones(10), MANY)
    return warm(lambda: counts.update_many(t, scores=scores, classes=names), MANY)


def writing(_: int) -> tuple[Callable[[], object], int]:
    counts = filled(sm.MetricSet())
    counts.to_bytes()
    return repeat(counts.to_bytes)


def bytes_read(_: int) -> tuple[Callable[[], object], int]:
    data = filled(sm.MetricSet()).to_bytes()
    sm.from_bytes(data)
    return repeat(lambda: sm.from_bytes(data))


def groups() -> Any:
    counts = sm.ByGroup(sm.MetricSet())
    for i, (t, p) in enumerate(shared(MANY)):
        counts.update(t, p, group=i % FEW)
    return counts


def groups_read(_: int) -> tuple[Callable[[], object], int]:
    data = groups().to_bytes()
    sm.from_bytes(data)
    return lambda: sm.from_bytes(data), FEW


def groups_batch(_: int) -> tuple[Callable[[], object], int]:
    counts, (t, p) = sm.ByGroup(sm.MetricSet()), columns()
    keys = np.arange(BATCH) * 7 % 100
    return warm(lambda: counts.update_many(t, p, group=keys), BATCH)


OPERATIONS: dict[str, Make] = {
    "update, text": update,
    "update, int weights": update_weighted,
    "update, fresh text": update_fresh,
    "update, first samples of 300 classes": update_first,
    "update, mapping of ten scores": update_scored,
    "update_many, integers": batch,
    "update_many, integers and int weights": batch_weighted,
    "update_many, lists of fresh text": batch_lists,
    "update_many, ten scores a row": batch_scored,
    "ByGroup.update_many, 100 groups": groups_batch,
    "merge, ten classes": merge,
    "merge of an empty state with scores": merge_empty,
    "Accuracy.get": reading,
    "to_bytes, ten classes": writing,
    "from_bytes, ten classes": bytes_read,
    "from_bytes, a group of ten classes": groups_read,
}


def environment() -> dict[str, str]:
    """Return the tools and the machine that the number of instructions depends on."""
    compilers = re.findall(rb"(?:GCC: \([^)]*\)|clang version) [0-9.]+", Path(str(kernels.__file__)).read_bytes())
    simd = np.show_config(mode="dicts").get("SIMD Extensions", {})  # type: ignore[union-attr]
    return {
        "python": f"{platform.python_version()}, {platform.python_compiler()}",
        "numpy": f"{np.__version__}, {' '.join(simd.get('found', []))}",
        "compiler": b", ".join(sorted(set(compilers))).decode() or "unknown",
        "cython": type(kernels.count_codes).__module__.removeprefix("_cython_"),
        "system": " ".join((platform.system(), platform.machine(), *platform.libc_ver())),
    }


def main() -> None:
    """Run each operation between two markers, and print which parts of callgrind's output are theirs."""
    gc.disable()
    parts: dict[str, list[tuple[int, int]]] = {}
    part = 0
    for name, make in OPERATIONS.items():
        parts[name] = []
        for turn in range(ROUNDS):
            try:
                run, n = make(turn)
            except (TypeError, AttributeError) as error:  # an operation that an older version does not have
                print(f"{name}: {error}", file=sys.stderr)
                break
            os.getsid(0)
            run()
            os.getsid(0)
            part += 2
            parts[name].append((part, n))
    print(json.dumps({"environment": environment(), "parts": parts}))


if __name__ == "__main__":
    main()
