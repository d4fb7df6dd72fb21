"""What do 100 000 classes with a million occupied cells cost in memory, and in time for one sample?

The memory is what the process grows by, measured in a process of its own, with the labels already there: they belong
to the caller. Samples are drawn uniformly from the million occupied pairs, the worst case for a cache, or with
Zipf's law (the r-th pair with a probability proportional to 1/r), as label sets of that size are in practice.

Labels and pairs lie in memory at random as well. A loop without a call reads several of them at once; one with a call
does not, whatever it calls. So a loop over the same pairs that counts two fixed labels of ten is timed beside them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import streams
from timing import Line, Run, clock, empty_loop, per_sample, update_loop

import stream_metrics as sm

CLASSES, CELLS = 100_000, 1_000_000
DRAWS, ROUNDS = 200_000, 15


def occupied() -> streams.Pairs:
    """Return a million distinct pairs of text labels in which every class occurs."""
    names = streams.names(CLASSES)
    draw = np.random.default_rng(5)
    diagonal = np.arange(CLASSES) * (CLASSES + 1)
    others = np.setdiff1d(draw.integers(0, CLASSES**2, 2 * CELLS), diagonal)
    chosen = np.concatenate([diagonal, draw.permutation(others)[: CELLS - CLASSES]])
    rows, columns = np.divmod(draw.permutation(chosen), CLASSES)
    return [(names[i], names[j]) for i, j in zip(rows.tolist(), columns.tolist(), strict=True)]


def filled(pairs: streams.Pairs) -> sm.ConfusionMatrix:
    """Return a state that has counted each pair once."""
    counts = sm.ConfusionMatrix()
    for y_true, y_pred in pairs:
        counts.update(y_true, y_pred)
    return counts


def resident() -> int:
    """Return the bytes of memory that this process occupies."""
    with open("/proc/self/statm", encoding="utf-8") as pages:
        return int(pages.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth() -> int:
    """Return by how many bytes the process grows when the state is built."""
    pairs = occupied()
    filled(pairs[:1000])
    before = resident()
    counts = filled(pairs)
    after = resident()
    assert counts.n == CELLS
    return after - before


def fixed_loop(target: Any, samples: Sequence[Any]) -> int:
    """Time `target.update` of the same two labels while a loop reads pairs."""
    first, second = streams.names(2)
    start = clock()
    for _y_true, _y_pred in samples:
        target.update(first, second)
    return clock() - start


def lines() -> Iterator[Line]:
    """Yield what is measured."""
    if Path("/proc/self/statm").exists():
        settings = os.environ | {
            "MALLOC_MMAP_THRESHOLD_": "65536"
        }  # freed memory is given back, none is found lying about
        run = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=True, env=settings)
        each = int(run.stdout) / CELLS
        yield Line("memory of 100 000 classes with 10^6 occupied cells", each, "bytes a cell", target=64)
    pairs = occupied()
    counts = filled(pairs)
    assert counts.k == CLASSES
    draw = np.random.default_rng(6)
    odds = 1 / np.arange(1, CELLS + 1)
    drawn = {
        "uniformly": draw.integers(0, CELLS, DRAWS).tolist(),
        "by Zipf's law": draw.choice(CELLS, DRAWS, p=odds / odds.sum()).tolist(),
    }
    small = streams.pairs(streams.names(10), DRAWS)
    streams_of = {"small": (sm.ConfusionMatrix(), small)}
    streams_of |= {how: (counts, [pairs[i] for i in at]) for how, at in drawn.items()}
    runs: dict[str, Run] = {}
    for name, (target, some) in streams_of.items():
        runs[name] = update_loop, target, partial(list, some)
        runs[f"{name}, no call"] = empty_loop, None, partial(list, some)
        runs[f"{name}, fixed"] = fixed_loop, streams_of["small"][0], partial(list, some)
    times = per_sample(runs, ROUNDS)
    ns = {name: times[name] - times[f"{name}, no call"] for name in streams_of}
    for how, target in zip(drawn, (7, 4), strict=True):
        figures = f"{ns[how]:.0f} / {ns['small']:.1f} ns"
        what = f"`update` / that of 10 classes, pairs drawn {how}"
        yield Line(what, ns[how] / ns["small"], target=target, figures=figures)
        fixed = times[f"{how}, fixed"] - times[f"{how}, no call"]
        what = f"`update` of two fixed labels in a loop over pairs drawn {how} / that of 10 classes"
        yield Line(what, fixed / ns["small"], figures=f"{fixed:.0f} / {ns['small']:.1f} ns")


if __name__ == "__main__":
    print(growth())
