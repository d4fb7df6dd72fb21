"""The uncertainty of a difference of two models, from their joint counts.

**Delta method.** A difference moves by g_b - g_a with each sample, the gradients of the metric in the cells that the
sample has in the two matrices; its variance over the joint cells is that of the difference, pairing included. Smooth
metrics only. **Bootstrap.** Drawing rows with replacement is a multinomial draw of the joint cells, so no rows are
kept. **Folds.** The statistic without each fold f, SE^2 = (F - 1)/F sum (theta_f - mean)^2, and the t quantile with F -
1 degrees of freedom: for dependent samples, weights and scores. Agresti 2013, sec. 16.1; Efron 1979; Quenouille 1956.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_metrics.catalog import find
from stream_metrics.formulas.protocol import Floats
from stream_metrics.inference.forms import CELLS, MARGINS
from stream_metrics.inference.forms_classes import PER_CLASS, RATES
from stream_metrics.inference.gradients import gradient, ratio_parts, step_classes
from stream_metrics.inference.tables import Cells, Tables, make_cells, tables_of

__all__ = ["Joint", "Side", "bootstrap", "delta_se", "jackknife", "sides", "value_of", "without_folds"]

CHUNK = 2**22  # numbers that are drawn at a time


class Joint(NamedTuple):
    """The joint cells: fold, true label, predictions of both models (as places in `labels`), and weight of each."""

    folds: NDArray[np.int64]
    truth: NDArray[np.int64]
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    values: Floats
    labels: tuple[Any, ...]
    fixed: int  # how many of the labels are fixed, the first ones
    parts: int  # the number of folds


class Side(NamedTuple):
    """One model's matrix: its own classes, its cells, and for every joint cell the cell that it is in."""

    labels: tuple[Any, ...]
    where: Cells
    cell: NDArray[np.int64]
    order: NDArray[np.int64]  # the joint cells in the order of the model's cells
    starts: NDArray[np.int64]

    def tables(self, values: Any) -> Tables:
        """Return the model's tables for weights of the joint cells, (..., joint cells)."""
        if not len(self.starts):
            return tables_of(np.zeros((*values.shape[:-1], 0)), self.where)
        return tables_of(np.add.reduceat(values[..., self.order], self.starts, axis=-1), self.where)


def sides(joint: Joint) -> tuple[Side, Side]:
    """Return the matrices of both models; the classes of each are the true labels and its own predictions."""
    return _side(joint, joint.a), _side(joint, joint.b)


def _side(joint: Joint, predicted: NDArray[np.int64]) -> Side:
    k = len(joint.labels)
    there = np.zeros(k, bool)
    there[: joint.fixed] = there[joint.truth] = there[predicted] = True
    place = np.cumsum(there) - 1
    own = int(there.sum())
    flat = place[joint.truth] * own + place[predicted]
    found, cell = np.unique(flat, return_inverse=True)
    order = np.argsort(cell, kind="stable")
    starts = np.flatnonzero(np.diff(cell[order], prepend=-1))
    values = np.bincount(cell, joint.values, len(found)) if len(found) else np.zeros(0)
    where = make_cells(found // max(own, 1), found % max(own, 1), values.astype(np.float64), own)
    return Side(
        tuple(x for x, kept in zip(joint.labels, there.tolist(), strict=True) if kept), where, cell, order, starts
    )


def value_of(key: str, side: Side, tables: Tables, label: Any = None) -> Any:
    """Return a metric of one model for tables of any leading shape, nan where it is 0/0; ValueError if it has none."""
    zero = find(key).zero_division
    if key in PER_CLASS:
        if label not in side.labels:
            return np.full(tables.n.shape, np.nan)
        return PER_CLASS[key](tables, zero)[..., side.labels.index(label)]
    form = MARGINS.get(key) or CELLS.get(key)
    if form is None:
        raise ValueError(f"Expected `key` to be a metric that two models can differ in, but got {key!r}")
    return form(tables, zero)


def delta_se(key: str, both: tuple[Side, Side], values: Floats, label: Any = None) -> float:
    """Return the standard error of the difference by the delta method; nan where a gradient is not defined."""
    with np.errstate(invalid="ignore", divide="ignore"):
        first, second = (_influence(key, side, values, label) for side in both)
    g = second - first
    mean = float(values @ g) / float(values.sum())
    return math.sqrt(float(values @ (g - mean) ** 2))


def _influence(key: str, side: Side, values: Floats, label: Any) -> Floats:
    """Return the derivative of a model's metric in every joint cell."""
    tables, zero = side.tables(values), find(key).zero_division
    rows, columns, *_ = side.where
    if key in PER_CLASS:
        if label not in side.labels:
            return np.full(len(values), np.nan)
        at = side.labels.index(label)
        a, b, p = ratio_parts(tables, RATES[key])[1] if key in RATES else step_classes(key, tables, zero)
        own, said = rows == at, columns == at
        g = np.where(own & said, a[at], 0.0) + np.where(own, b[at], 0.0) + np.where(said, p[at], 0.0)
    else:
        found = gradient(key, tables, zero)
        g = found.cells
        if g is None:
            d, true, predicted = (np.broadcast_to(part, (len(side.labels),)) for part in found[:3])
            g = true[rows] + predicted[columns] + np.where(rows == columns, d[rows], 0.0)
    influence: Floats = g[side.cell]
    return influence


def bootstrap(
    key: str, both: tuple[Side, Side], values: Floats, label: Any, draws: int, seed: int, level: float
) -> tuple[float, float, float, int]:
    """Return the quantiles of the difference over multinomial draws, its standard deviation, and draws that were
    0/0."""
    random = np.random.default_rng(seed)
    n, found = round(float(values.sum())), []
    for start in range(0, draws, size := max(1, CHUNK // max(1, len(values)))):
        drawn = random.multinomial(n, values / values.sum(), min(size, draws - start)).astype(np.float64)
        a, b = (value_of(key, side, side.tables(drawn), label) for side in both)
        found.append(b - a)
    differences = np.concatenate(found)
    kept = differences[np.isfinite(differences)]
    if len(kept) < 2:
        return math.nan, math.nan, math.nan, draws - len(kept)
    low, high = np.quantile(kept, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return low, high, float(kept.std(ddof=1)), draws - len(kept)


def without_folds(joint: Joint) -> Floats:
    """Return the weights of the joint cells without each fold in turn, a row a fold that has samples."""
    return np.array([np.where(joint.folds == fold, 0.0, joint.values) for fold in np.unique(joint.folds)])


def jackknife(estimates: Floats) -> float:
    """Return the standard error from the statistic without each fold in turn; nan where one of them is."""
    f = len(estimates)
    if f < 2:
        return math.nan
    return math.sqrt((f - 1) / f * float(((estimates - estimates.mean()) ** 2).sum()))

