"""How wide is the certified interval, and how far off the area, for the scores of real classifiers on real data?

The area is that of the ROC curve, and Hand and Till's mean over pairs of classes where there are more than two. The
exact value comes from all pairs of raw scores, counted as integers. A column is exact, and says so, while the sketch
has as many buckets as the column has different scores; samples of each class are half as many as the buckets.

    python benchmarks/real_scores.py              # one line for each model
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from rank_peers import shapes
from real_models import Scores, real
from threadpoolctl import threadpool_limits
from timing import Line

import stream_metrics as sm
from stream_metrics.ranking.areas import delong_se, hand_till, roc_auc
from stream_metrics.ranking.protocol import UNDEFINED, Certified

SIZES = (256, 1024, 4096)
ROUNDING = 1e-15  # of a mean over pairs of classes
HEAD = "width; error; standard error; level; KB"


class Found(NamedTuple):
    """What a sketch of some size says of a model."""

    area: Certified
    error: float
    level: int
    size: int


class Row(NamedTuple):
    """A model, the exact area, and what each sketch says."""

    of: Scores
    exact: float
    sketches: dict[int, Found]


def pairs(classes: list[Any]) -> list[tuple[int, int]]:
    """Return all ordered pairs of class numbers."""
    return [(i, j) for i in range(len(classes)) for j in range(len(classes)) if i != j]


def exact(of: Scores) -> float:
    """Return the area of the raw scores."""
    if of.classes is None:
        return float(shapes.exact_auc(of.scores, of.truth))
    number = np.searchsorted(of.classes, of.truth)
    rows = [np.flatnonzero(number == i) for i in range(len(of.classes))]
    areas = []
    for i, j in pairs(of.classes):
        both = np.concatenate([rows[i], rows[j]])
        areas.append(shapes.exact_auc(of.scores[both, i], number[both] == i))
    return statistics.fmean(areas)


def sketched(of: Scores, buckets: int, value: float) -> Found:
    """Return what a sketch says."""
    state = sm.RankSketch(buckets, buckets // 2)
    state.update_many(of.truth, of.scores, classes=of.classes)
    if of.classes is None:
        area, level = roc_auc(state.column(True)), state.column(True).level
    else:
        k = len(of.classes)
        table = [[UNDEFINED] * k for _ in range(k)]
        for i, j in pairs(of.classes):
            table[i][j] = roc_auc(state.column(of.classes[i], own=of.classes[i], rest=of.classes[j]))
        area, level = hand_till(table), max(state.column(label).level for label in of.classes)
    return Found(area, abs(area.value - value), level, len(state.to_bytes()))


@cache
def rows() -> tuple[Row, ...]:
    """Return a row for each model."""
    with threadpool_limits(1):  # the sets are small, and threads that wait for each other cost more than they give
        models = list(real())
    results = []
    for of in models:
        value = exact(of)
        results.append(Row(of, value, {buckets: sketched(of, buckets, value) for buckets in SIZES}))
    return tuple(results)


def lines() -> Iterator[Line]:
    """Yield what is measured."""
    every = [(row, row.sketches[buckets]) for row in rows() for buckets in SIZES]
    outside = sum(
        not estimate.area.low - ROUNDING <= row.exact <= estimate.area.high + ROUNDING for row, estimate in every
    )
    yield Line(f"exact areas outside their intervals, of {len(every)}", outside, "", target=0)
    worse = sum(estimate.error > 3 * estimate.area.se + ROUNDING for _, estimate in every)
    yield Line(f"errors above three standard errors of the sketch, of {len(every)}", worse, "", target=0)
    for buckets in SIZES:
        estimates = [row.sketches[buckets] for row in rows()]
        widths, errors = [f.area.high - f.area.low for f in estimates], [f.error for f in estimates]
        figures = f"median {statistics.median(widths):.0e}; error: median {statistics.median(errors):.0e}"
        what = f"widest interval of {len(estimates)} models, {buckets} buckets"
        yield Line(what, max(widths), "", figures=f"{figures}, largest {max(errors):.0e}")


def statistical(of: Scores) -> str:
    """Return the standard error of the area as an estimate for the population, for two classes."""
    if of.classes is not None:
        return "-"
    state = sm.RankSketch()
    state.update_many(of.truth, of.scores)
    return f"{delong_se(state.column(True)):.0e}"


def cell(estimate: Found) -> str:
    """Return what a sketch says as a cell of the table."""
    size = f"{estimate.size / 1024:.0f}"
    if estimate.level == 0:
        return f"exact; {size}"
    area = estimate.area
    return f"{area.high - area.low:.0e}; {estimate.error:.0e}; {area.se:.0e}; {estimate.level}; {size}"


def table() -> Iterator[str]:
    """Yield the models as a Markdown table."""
    sizes = " | ".join(f"{buckets} buckets: {HEAD}" for buckets in SIZES)
    yield f"| data | scores | n | different | exact | DeLong | {sizes} |"
    yield "| --- " * (6 + len(SIZES)) + "|"
    for row in rows():
        of = row.of
        columns = of.scores.reshape(len(of.scores), -1).T
        n = f"{len(of.scores)}" + ("" if of.classes is None else f" x {len(of.classes)}")
        different = max(len(np.unique(column)) for column in columns)
        about = of.data, of.model, n, str(different), f"{row.exact:.6f}", statistical(of)
        yield "| " + " | ".join((*about, *(cell(row.sketches[b]) for b in SIZES))) + " |"


if __name__ == "__main__":
    for text in table():
        print(text)
    for line in lines():
        print(" | ".join(line.cells()))
