"""How far off is the area under the ROC curve from a bounded state: ours, KLL's, and those of fixed thresholds?

A million scores, a default sketch of ours (at most 64 KB), four draws of every shape; errors are root mean squares over
the draws. The shapes are those of the tests, and a rare class with calibrated probabilities.

* DataSketches' KLL, the package itself: two sketches, one for each class, every retained score with its weight. Its
  generator cannot be seeded. Of the two kinds, float32 (k = 2800) and double (k = 1400), both within 64 KB, the better.
* Keras, TFMA, torchmetrics and river count at fixed thresholds in [0, 1] and draw trapezoids between them. That rule is
  emulated here in double precision, without the packages; river's is compared with the package on some samples of every
  shape. Bytes are those of the bare counters. TFMA's are more than ours, so a grid of 4094 steps, which takes 64 KB,
  stands beside it, for information. Scores outside [0, 1] fall beyond the last thresholds, as in river and TFMA;
  Keras refuses them, torchmetrics takes them for logits and applies the sigmoid.

    python benchmarks/rank_peers.py               # one line for each shape
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import datasketches
import numpy as np
from river import metrics
from timing import Line

import stream_metrics as sm
from stream_metrics.ranking.areas import roc_auc

sys.path.append(str(Path(__file__).parents[1] / "tests"))
shapes: Any = importlib.import_module("support.rank_shapes")

N, DRAWS = 1_000_000, 4
BYTES = 65536
EPSILON = 1e-7  # how far Keras and river move the outer thresholds beyond 0 and 1
PEER_TABLE = ("logit", "rare, calibrated", "saturated", "cosine", "cluster 1e-3, 2% tail", "cluster and 600 decades")
KILOBYTES = {
    "ours": "64", "KLL 200": "5", "KLL 64 KB": "64",
    "Keras 200": "3", "torchmetrics 200": "6", "river 10": "0.3", "4094 steps": "64", "TFMA 10,000": "160",
}  # fmt: skip
Array = np.ndarray[Any, Any]
Parts = tuple[Array, Array]
Errors = dict[str, float]


def calibrated(n: int, seed: int) -> tuple[Array, Array]:
    """Return the probabilities of a class of one in a thousand, and where it came true."""
    g = np.random.default_rng([seed, 31])
    scores = 1 / (1 + np.exp(8 - 1.5 * g.normal(size=n)))
    return scores, g.uniform(size=n) < scores


def drawn(name: str, n: int, seed: int) -> tuple[Array, Array]:
    """Return scores of a shape, and which of them are own."""
    scores, own = calibrated(n, seed) if name == "rare, calibrated" else shapes.draw(name, n, seed)
    return scores, own


def split(scores: Array, own: Array) -> Parts:
    """Return the scores of rest and of own in increasing order."""
    return np.sort(scores[~own]), np.sort(scores[own])


def area(thresholds: Array, parts: Parts, side: Literal["left", "right"] = "right") -> float:
    """Return the trapezoid under the curve through thresholds; "left" counts scores at a threshold as above it."""
    fpr, tpr = (1 - np.searchsorted(part, thresholds, side) / len(part) for part in parts)
    return float(-np.trapezoid(tpr, fpr))


def outer(n: int) -> Array:
    """Return n thresholds, the outer two beyond 0 and 1."""
    thresholds = np.linspace(0, 1, n)
    thresholds[[0, -1]] += -EPSILON, EPSILON
    return thresholds


def torchmetrics(parts: Parts) -> float:
    """Return what torchmetrics does with 200 thresholds, all scores in one batch."""
    rest, own = parts
    if min(rest[0], own[0]) < 0 or max(rest[-1], own[-1]) > 1:
        rest, own = (1 / (1 + np.exp(-np.clip(part, -700, 700))) for part in parts)
    return area(np.linspace(0, 1, 200), (rest, own), "left")


def kll(cls: Any, k: int, dtype: type, scores: Array, own: Array) -> float:
    """Return the area from two sketches."""
    sketches = [cls(k), cls(k)]
    with np.errstate(over="ignore"):
        for sketch, chosen in zip(sketches, (~own, own), strict=True):
            sketch.update(scores[chosen].astype(dtype))
    if sum(len(sketch.serialize()) for sketch in sketches) > BYTES:
        raise AssertionError("the KLL sketches take more memory than ours")
    retained, weights = np.array(list(chain.from_iterable(sketches))).T
    return float(shapes.exact_auc(retained, np.repeat([False, True], [s.num_retained for s in sketches]), weights))


def river_agrees(scores: Array, own: Array, n: int = 2000) -> None:
    """Hold the emulation of river against river."""
    metric = metrics.ROCAUC()
    for y_true, score in zip(own[:n].tolist(), scores[:n].tolist(), strict=True):
        metric.update(y_true, score)
    assert abs(metric.get() - area(outer(10), split(scores[:n], own[:n]))) < 1e-12


def ours(scores: Array, own: Array) -> float:
    """Return the area from a default sketch."""
    state = sm.RankSketch()
    state.update_many(own, scores)
    return roc_auc(state.column(True)).value


SKETCHES: dict[str, Callable[[Array, Array], float]] = {
    "ours": ours,
    "KLL 200": partial(kll, datasketches.kll_floats_sketch, 200, np.float32),
    "KLL float": partial(kll, datasketches.kll_floats_sketch, 2800, np.float32),
    "KLL double": partial(kll, datasketches.kll_doubles_sketch, 1400, np.float64),
}
GRIDS: dict[str, Callable[[Parts], float]] = {
    "Keras 200": partial(area, outer(200)),
    "torchmetrics 200": torchmetrics,
    "river 10": partial(area, outer(10)),
    "4094 steps": partial(area, outer(4095)),
    "TFMA 10,000": partial(area, outer(10_001)),
}


@cache
def errors(name: str) -> Errors:
    """Return the root mean square of the errors on a shape, by rule."""
    squares = dict.fromkeys([*SKETCHES, *GRIDS], 0.0)
    for seed in range(DRAWS):
        scores, own = drawn(name, N, seed)
        exact = shapes.exact_auc(scores, own)
        if not seed:
            river_agrees(scores, own)
        parts = split(scores, own)
        areas = {rule: read(scores, own) for rule, read in SKETCHES.items()}
        areas |= {rule: read(parts) for rule, read in GRIDS.items()}
        for rule, value in areas.items():
            squares[rule] += (value - exact) ** 2
    errors = {rule: math.sqrt(total / DRAWS) for rule, total in squares.items()}
    errors["KLL 64 KB"] = min(errors.pop("KLL float"), errors.pop("KLL double"))
    return errors


def least(names: tuple[str, ...], rule: str) -> tuple[float, str]:
    """Return by how much ours is better at least, and where."""
    return min((errors(name)[rule] / max(errors(name)["ours"], 1e-300), name) for name in names)


def lines() -> Iterator[Line]:
    """Yield what is measured."""
    ordinary = (*shapes.ORDINARY, "rare, calibrated")
    evenly = f"{len(PEER_TABLE)} shapes not evenly spread over [0, 1]"
    yield compared("KLL 64 KB", ordinary, f"{len(ordinary)} ordinary shapes", 50)
    yield compared("KLL 200", ordinary, f"{len(ordinary)} ordinary shapes", 50)
    yield compared("KLL 64 KB", tuple(shapes.WITH_ATOM), "a continuous distribution with an atom")
    for rule in GRIDS:
        yield compared(rule, PEER_TABLE, evenly, None if rule == "4094 steps" else 1)


def compared(rule: str, names: tuple[str, ...], where: str, target: float | None = None) -> Line:
    """Return by how much ours is better at least, and on which shape."""
    ratio, worst = least(names, rule)
    figures = f"least at {worst}: {errors(worst)[rule]:.1e} / {errors(worst)['ours']:.1e}"
    return Line(f"error, {rule} / ours, {where}", ratio, target=target, at_least=True, figures=figures)


def table() -> Iterator[str]:
    """Yield the errors by shape as a Markdown table."""
    rules = tuple(KILOBYTES)
    yield "| shape | " + " | ".join(f"{rule} ({KILOBYTES[rule]} KB)" for rule in rules) + " |"
    yield "| --- " * (len(rules) + 1) + "|"
    for name in (*shapes.ORDINARY, "rare, calibrated", *shapes.WITH_ATOM, *shapes.FEW, *shapes.HARD):
        yield f"| {name} | " + " | ".join(f"{errors(name)[rule]:.0e}" for rule in rules) + " |"


if __name__ == "__main__":
    for row in table():
        print(row, flush=True)
