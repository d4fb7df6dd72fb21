"""What do rank sketches cost beside river, DataSketches and scikit-learn, in time and in memory?

The scores are the `logit` shape of `rank_peers.py`, ten of them a sample where there are ten classes (then rows of
softmax outputs). Counting one sample is timed on sketches that have seen a million scores before, with new draws every
turn: a repeated sample would find its code already there.

DataSketches' KLL keeps ranks of one class, so an area needs two sketches. They are given what costs them least. One
sample at a time: methods bound beforehand. Sketches of float32 take ten times as long for a Python float that is no
float32 as those of doubles do, so both kinds are shown. Batches: the scores of each class apart and in the right type
already, and the faster of the two kinds. k = 200 is the default; two sketches of doubles with k = 1400, or of float32
with k = 2800, take the 64 KB of a default binary sketch of ours.

Memory is what a process of its own grows by, where glibc is told to give back every freed page at once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import datasketches
import numpy as np
import streams
from many_classes import resident
from rank_peers import shapes
from river import metrics
from sklearn.metrics import roc_auc_score
from timing import Line, Run, best, clock, empty_loop, per_sample, update_loop

import stream_metrics as sm
from stream_metrics.ranking import classes
from stream_metrics.ranking.areas import hand_till, roc_auc
from stream_metrics.ranking.protocol import UNDEFINED, Certified

N, K = 1_000_000, 10
DOUBLES, FLOATS = (datasketches.kll_doubles_sketch, np.float64), (datasketches.kll_floats_sketch, np.float32)
KLL = {"k = 200": {DOUBLES: 200, FLOATS: 200}, "64 KB": {DOUBLES: 1400, FLOATS: 2800}}
SHARDS, SHARD = 1000, 10_000
CLASSES = 64  # the most that pairs are kept of
Array = np.ndarray[Any, Any]


def lines() -> Iterator[Line]:
    """Yield what is measured."""
    scores, own = shapes.draw("logit", N, 0)
    yield from one_sample(scores, own)
    yield from one_batch(scores, own)
    yield from ten_classes()
    yield from reading_and_merging()
    yield from memory()


def draw(turn: np.random.Generator, n: int) -> list[tuple[bool, float]]:
    """Return n new samples with one score."""
    scores, own = shapes.draw("logit", n, int(turn.integers(2**31)))
    return list(zip(own.tolist(), scores.tolist(), strict=True))


def kll_loop(target: Any, samples: Sequence[Any]) -> int:
    """Time two bound methods, of the sketch of each class."""
    start = clock()
    for y_true, score in samples:
        target[y_true](score)
    return clock() - start


def kll(k: int, parts: Sequence[Array], kind: Any = DOUBLES[0]) -> list[Any]:
    """Return KLL sketches of rest and of own."""
    pair = [kind(k), kind(k)]
    for sketch, part in zip(pair, parts, strict=True):
        sketch.update(part)
    return pair


def one_sample(scores: Array, own: Array) -> Iterator[Line]:
    """Yield what one score costs, net of the loop."""
    ours, new = sketch(own, scores), partial(draw, np.random.default_rng(1), 10_000)
    runs: dict[str, Run] = {
        "ours": (update_loop, ours, new),
        "river": (update_loop, metrics.ROCAUC(), new),
        "nothing": (empty_loop, None, new),
    }
    parts = scores[~own], scores[own]
    for name, k in KLL.items():
        for kind in (DOUBLES, FLOATS):
            pair = kll(k[kind], [part.astype(kind[1]) for part in parts], kind[0])
            runs[f"{kind[0].__name__}, {name}"] = kll_loop, [s.update for s in pair], new
    times = per_sample(runs, 20)
    nothing = times.pop("nothing")
    mine = times.pop("ours") - nothing
    yield beside("river `ROCAUC().update` / ours, binary", times.pop("river") - nothing, mine, 20)
    for name, time in times.items():
        yield beside(f"`{name.replace(',', '.update`,')} / ours, binary", time - nothing, mine, 5)


def one_batch(scores: Array, own: Array) -> Iterator[Line]:
    """Yield what a score costs in a batch of a million."""
    contenders: dict[str, Callable[[], object]] = {"ours": partial(sketch, own, scores)}
    for kind, dtype in (DOUBLES, FLOATS):
        parts = [scores[chosen].astype(dtype) for chosen in (~own, own)]
        for name, k in KLL.items():
            contenders[f"{name}, {dtype.__name__}"] = partial(kll, k[kind, dtype], parts, kind)
    ns = {name: time / N for name, time in best(contenders, 12).items()}
    yield Line("`update_many`, 10^6 scores, binary", ns["ours"], "ns a score", target=12)
    for name in KLL:
        theirs = min(ns[f"{name}, {dtype.__name__}"] for _, dtype in (DOUBLES, FLOATS))
        yield beside(f"KLL `update` of arrays, {name} / `update_many`, binary", theirs, ns["ours"], 2.5)


def softmax(n: int, k: int = K) -> tuple[Array, Array]:
    """Return n true classes of k, and rows of scores that add up to one."""
    g = np.random.default_rng(2)
    truth = g.integers(0, k, n)
    power = np.exp(1.5 * g.normal(size=(n, k)) + 2 * (truth[:, None] == np.arange(k)))
    return truth, power / power.sum(axis=1, keepdims=True)


def sketch(truth: Array, scores: Array, classes: Sequence[Any] | None = None) -> sm.RankSketch:
    """Count a batch in a new default sketch."""
    state = sm.RankSketch()
    state.update_many(truth, scores, classes=classes)
    return state


def evaluate(truth: Array, scores: Array) -> Certified:
    """Return Hand and Till's measure of raw scores, by way of a sketch."""
    state, k = sketch(truth, scores, list(range(K))), range(K)
    return hand_till([[UNDEFINED if i == j else roc_auc(state.column(i, own=i, rest=j)) for j in k] for i in k])


def ten_classes() -> Iterator[Line]:
    """Yield what ten scores a sample cost: one sample at a time, in a batch, and for a whole evaluation."""
    truth, scores = softmax(N)
    mean, exact = evaluate(truth, scores), roc_auc_score(truth, scores, multi_class="ovo", average="macro")
    assert mean.low <= exact <= mean.high
    names = streams.names(K)

    def mappings() -> streams.Pairs:
        rows = np.random.default_rng(clock()).integers(0, N, 2000)
        some = zip(truth[rows].tolist(), scores[rows].tolist(), strict=True)
        return [(names[t], dict(zip(names, row, strict=True))) for t, row in some]

    ours = sketch(np.array(names)[truth], scores, names)
    whole = sm.MetricSet(scores=True)
    whole.update_many(np.array(names)[truth], None, scores=scores, classes=names)
    runs = {"one": (update_loop, ours, mappings), "set": (update_loop, whole, mappings)}
    times = per_sample({**runs, "nothing": (empty_loop, None, mappings)}, 30)
    for who, what in (("one", "`update`"), ("set", "`MetricSet(scores=True).update`")):
        yield Line(f"{what}, mapping of 10 scores", (times[who] - times["nothing"]) / 1e3, "us a sample", target=1.2)
    batch = {"": partial(sketch, truth, scores, list(range(K)))}
    yield Line("`update_many`, 10^6 x 10 scores", best(batch, 3)[""] / scores.size, "ns a score", target=9)
    peer = partial(roc_auc_score, truth, scores, multi_class="ovo", average="macro")
    ns = best({"theirs": peer, "ours": partial(evaluate, truth, scores)}, 2)
    difference = f"difference {abs(mean.value - exact):.0e}"
    what = f"scikit-learn `roc_auc_score(multi_class='ovo')` / ours, all of it, 10^6 x 10, {difference}"
    yield beside(what, ns["theirs"] / 1e6, ns["ours"] / 1e6, 25, "ms")


def area(state: sm.RankSketch) -> Certified:
    """Read the area of `True` against the rest."""
    return roc_auc(state.column(True))


def reading_and_merging() -> Iterator[Line]:
    """Yield what it costs to read an area right after an update, and to merge a thousand sketches."""
    scores, own = shapes.draw("logit", N, 3)
    ours = sketch(own, scores)
    new = iter(draw(np.random.default_rng(4), 2000))

    def read() -> Certified:
        ours.update(*next(new))
        return area(ours)

    yield Line("`update`, then `roc_auc` of a full sketch", best({"": read}, 30, 20)[""] / 1e3, "us", target=100)
    crowded = [sketch(*reversed(shapes.draw(name, N // 5, 0))) for name in shapes.HARD]
    us = max(best({str(i): partial(area, state) for i, state in enumerate(crowded)}, 30).values()) / 1e3
    yield Line(f"`roc_auc` of a sketch with crowded cells, the slowest of {len(crowded)} shapes", us, "us", target=200)
    many = sketch(*softmax(60_000, CLASSES), list(range(CLASSES)))
    seconds = best({"": partial(classes.hand_till, many)}, 5)[""] / 1e9
    yield Line(f"Hand and Till's measure of a state of {CLASSES} classes", seconds, "s", target=0.15)
    shards = [sketch(*reversed(shapes.draw("logit", SHARD, seed))) for seed in range(SHARDS)]
    ms = best({"": partial(sm.merge, shards)}, 3)[""] / 1e6
    yield Line(f"`merge` of {SHARDS} binary sketches of {SHARD} scores each", ms, "ms", target=100)


def memory() -> Iterator[Line]:
    """Yield what sketches hold, measured in another process, and in bytes as written."""
    scores, own = shapes.draw("logit", N, 5)
    ours = sketch(own, scores)
    yield Line("`to_bytes()` of a binary sketch of 10^6 scores", len(ours.to_bytes()) / 1024, "KB", target=64)
    if not Path("/proc/self/statm").exists():
        return
    settings = os.environ | {"MALLOC_MMAP_THRESHOLD_": "4096", "MALLOC_TRIM_THRESHOLD_": "0"}
    run = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=True, env=settings)
    size, grown = json.loads(run.stdout)
    bound = ours.memory_bound() / 1024
    yield Line("memory of a binary sketch, `memory_bound()` the target", size / 1024, "KB", target=round(bound, 1))
    yield Line("growth of the process from 10^6 to 10^8 scores / memory of a sketch", grown / size, target=0.1)


def beside(what: str, theirs: float, ours: float, target: float, unit: str = "ns") -> Line:
    """Return how many times faster ours is."""
    return Line(what, theirs / ours, target=target, at_least=True, figures=f"{theirs:.4g} / {ours:.3g} {unit}")


def growth() -> tuple[float, int]:
    """Return the bytes that the process grows by for each of many sketches, and between 10^6 and 10^8 scores of one.

    A sketch has counted some batches before, so what the batches themselves leave behind is there already.
    """
    g, size = np.random.default_rng(6), 100_000
    scores, own = g.random(size), g.random(size) < 1 / 3
    first = sketch(own, scores)
    for _ in range(9):
        first.update_many(own, g.random(size, out=scores))
    before = resident()
    many = [sketch(own, g.random(size, out=scores)) for _ in range(100)]
    with_sketches = resident()
    while many[0].n < 10**6:
        many[0].update_many(own, g.random(size, out=scores))
    filled = resident()
    while many[0].n < 10**8:
        many[0].update_many(own, g.random(size, out=scores))
    return (with_sketches - before) / len(many), resident() - filled


if __name__ == "__main__":
    print(json.dumps(growth()))
