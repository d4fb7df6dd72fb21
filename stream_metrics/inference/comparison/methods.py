"""The uncertainty of a difference of two models, from their joint counts.

**Delta method.** A difference moves by g_b - g_a with each sample, the gradients of the metric in the cells that the
sample has in the two matrices; its variance over the joint cells is that of the difference, pairing included. Smooth
metrics only. **Posterior.** Joint cells are drawn from a Dirichlet distribution, where the variance rests on few
samples. **Folds.** The statistic without each fold f, SE^2 = (F - 1)/F sum (theta_f - mean)^2, and the t quantile with
F - 1 degrees of freedom: for dependent samples, weights and scores. Agresti 2013, sec. 16.1; Quenouille 1956.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_metrics.catalog.spec import MetricSpec
from stream_metrics.evaluation.evaluation import Options, checked_options, compute
from stream_metrics.formulas.arithmetic import inner
from stream_metrics.formulas.protocol import Floats, NumberOrArray
from stream_metrics.inference.comparison.shares import DiscordantPairs, pairs_of
from stream_metrics.inference.intervals.adequacy import HALF, THIN_SHARE, effective_count, padded
from stream_metrics.inference.intervals.anytime import exact_bounds, exact_classes, rests_on_enough
from stream_metrics.inference.intervals.batched_counts import (
    BatchedCounts,
    MatrixCells,
    MatrixCounts,
    batched,
    make_cells,
)
from stream_metrics.inference.intervals.gradients import (
    CELLS,
    MARGINS,
    PAIR_LIMIT,
    PER_CLASS,
    BatchedFormula,
    Gradient,
    class_slopes,
    gradient,
)
from stream_metrics.labels import Label

CHUNK = 2**22  # numbers that are drawn at a time
FEW, FEW_OF_MANY = 10, 15  # samples of a class of two, and of more, that say next to nothing of it
DENSE = 512  # classes of a matrix that is written out


class Joint(NamedTuple):
    """The joint cells: fold, true label, predictions of both models (as places in `labels`), and weight of each."""

    folds: NDArray[np.int64]
    truth: NDArray[np.int64]
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    values: Floats
    labels: tuple[Label, ...]
    fixed: int  # how many of the labels are fixed, the first ones
    parts: int  # the number of folds


class Side(NamedTuple):
    """One model's matrix: its own classes, its cells, and for every joint cell the cell that it is in."""

    labels: tuple[Label, ...]
    where: MatrixCells
    cell: NDArray[np.int64]
    order: NDArray[np.int64]  # the joint cells in the order of the model's cells
    starts: NDArray[np.int64]

    def counts(self, values: Floats) -> BatchedCounts:
        """Return the model's counts for weights of the joint cells, (..., joint cells)."""
        if not len(self.starts):
            return batched(np.zeros((*values.shape[:-1], 0)), self.where)
        return batched(np.add.reduceat(values[..., self.order], self.starts, axis=-1), self.where)


class Measure(NamedTuple):
    """A metric of labels, with options that are not its defaults, if there are any."""

    row: MetricSpec
    options: Options
    formula: BatchedFormula | None  # None if it reads scores

    def pairs(self, joint: Joint, label: Label | None) -> tuple[list[DiscordantPairs], int]:
        """Return the rates whose mean the metric is, as `pairs_of` does."""
        return ([], 1) if self.options else pairs_of(self.row.key, joint, label)


def measure(row: MetricSpec, options: Options) -> Measure:
    """Return a metric with options; ValueError if two models cannot be compared by it, or an option is wrong."""
    checked = checked_options(row, options)
    if not checked.get("normalize", True):
        raise ValueError(f"Expected normalize=True to compare two models by {row.key!r}: a sum grows with the samples")
    options = {name: value for name, value in checked.items() if repr(value) != repr(row.options[name])}
    if row.state != "counts":
        return Measure(row, options, None)
    formula = MARGINS.get(row.key) or CELLS.get(row.key) or PER_CLASS.get(row.key)
    if formula is None:
        raise ValueError(f"Expected `key` to be a metric that two models can differ in, but got {row.key!r}")
    return Measure(row, options, formula)


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
    cells, cell = np.unique(flat, return_inverse=True)
    order = np.argsort(cell, kind="stable")
    starts = np.flatnonzero(np.diff(cell[order], prepend=-1))
    values = np.bincount(cell, joint.values, len(cells)) if len(cells) else np.zeros(0)
    where = make_cells(cells // max(own, 1), cells % max(own, 1), values.astype(np.float64), own)
    return Side(
        tuple(x for x, occurs in zip(joint.labels, there.tolist(), strict=True) if occurs), where, cell, order, starts
    )


def value_of(metric: Measure, side: Side, counts: BatchedCounts, label: Label | None = None) -> NumberOrArray:
    """Return a metric of one model for counts of any leading shape, nan where it is 0/0; ValueError if it has none."""
    if metric.row.key in PER_CLASS and label not in side.labels:
        return np.full(np.shape(counts.total), np.nan)
    assert metric.formula is not None, "it reads labels"
    if metric.options:
        values: NumberOrArray = _with_options(metric, side, counts.values)
    else:
        values = metric.formula(counts, metric.row.zero_division)
    return values[..., side.labels.index(label)] if metric.row.key in PER_CLASS else values


def _with_options(metric: Measure, side: Side, values: Floats) -> Floats:
    """Return a metric with options for weights of a model's cells, (..., cells), one matrix at a time."""
    k = len(side.labels)
    if k > PAIR_LIMIT:
        raise ValueError(f"Expected at most {PAIR_LIMIT} classes for a metric with options, but got {k}")
    computed = []
    for weights in values.reshape(-1, values.shape[-1]):
        matrix = np.zeros((k, k), np.float64 if (weights % 1).any() else np.int64)
        matrix[side.where.rows, side.where.columns] = weights
        computed.append(compute(metric.row, MatrixCounts(matrix, side.labels), None, **metric.options))
    return np.array(computed, np.float64).reshape((*values.shape[:-1], *np.shape(computed[0])))


def delta_se(metric: Measure, both: tuple[Side, Side], values: Floats, label: Label | None = None) -> float:
    """Return the standard error of the difference by the delta method; nan where a gradient is not defined."""
    with np.errstate(invalid="ignore", divide="ignore"):
        first, second = (_influence(metric, side, values, label) for side in both)
    g = second - first
    mean = inner(values, g) / float(values.sum())
    return math.sqrt(inner(values, (g - mean) ** 2))


def _influence(metric: Measure, side: Side, values: Floats, label: Label | None) -> Floats:
    """Return the derivative of a model's metric in every joint cell."""
    rows, columns, *_ = side.where
    slopes = _slopes(metric, side, side.counts(values), label)
    g = slopes.cells
    if g is None:
        g = slopes.true[rows] + slopes.predicted[columns] + np.where(rows == columns, slopes.diagonal[rows], 0.0)
    influence: Floats = g[side.cell]
    return influence


def _slopes(metric: Measure, side: Side, counts: BatchedCounts, label: Label | None) -> Gradient:
    """Return the gradient of a model's metric; of a value of one class it is 0 in all others."""
    zero, k = metric.row.zero_division, len(side.labels)
    if metric.options:
        return Gradient(0.0, 0.0, 0.0, _differences(metric, side, counts, label))
    if metric.row.key not in PER_CLASS:
        slopes = gradient(metric.row.key, counts, zero)
        return slopes if slopes.cells is not None else Gradient(*(np.broadcast_to(p, (k,)) for p in slopes[:3]))
    if label not in side.labels:
        return Gradient(*np.full((3, k), np.nan))
    here = np.arange(k) == side.labels.index(label)
    return Gradient(*(np.where(here, part, 0.0) for part in class_slopes(metric.row.key, counts, zero)))


def _differences(metric: Measure, side: Side, counts: BatchedCounts, label: Label | None) -> Floats:
    """Return the derivative of a model's metric in each of its cells, as what one sample less there makes it lose."""
    values = counts.values
    step = np.minimum(values / 2, 1.0) if (values % 1).any() else np.ones(len(values))
    less = batched(values - np.diag(step), side.where)
    whole, without = (value_of(metric, side, part, label) for part in (counts, less))
    return np.asarray((whole - without) / step)


def steady(metric: Measure, both: tuple[Side, Side], joint: Joint, label: Label | None, enough: int) -> bool:
    """Tell whether the variance of a difference rests on enough samples; see `adequacy` and `anytime`.

    Half a sample more of each kind that only one model gets right is added to every class: missed by one of them, or
    taken for it by one of them.
    """
    if not joint.values.any():
        return False
    with np.errstate(invalid="ignore", divide="ignore"):
        first, second = (_influence(metric, side, joint.values, label) for side in both)
    f, weights = second - first, joint.values
    if metric.options or metric.row.key in CELLS:  # the gradient in empty cells is not known
        f = f - inner(weights, f) / weights.sum()
        return bool(least_discordant(joint) >= enough and effective_count(weights, f) >= enough)
    added, _ = _added(metric, both, joint, label)
    f = np.concatenate([f, added])
    weights = np.concatenate([weights, np.full(len(added), HALF)])
    f = f - inner(weights, f) / weights.sum()
    return bool(np.isfinite(f).all()) and rests_on_enough(weights, f, len(added), enough)


def leans(metric: Measure, both: tuple[Side, Side], joint: Joint) -> bool:
    """Tell whether a whole difference leans on classes with next to no samples or predictions.

    More than a quarter of its variance comes from them, with half a sample more of each kind as in `steady`. If the
    gradient in empty cells is not known, the difference is taken to lean on every class.
    """
    if metric.options or metric.row.key in CELLS:
        return True
    k, wrong = len(joint.labels), (joint.truth != joint.a, joint.truth != joint.b)
    few = FEW if k <= 2 else FEW_OF_MANY
    thin = np.bincount(joint.truth, joint.values, k) < few
    predicted = [np.bincount(side, joint.values, k) < few for side in (joint.a, joint.b)]
    with np.errstate(invalid="ignore", divide="ignore"):
        first, second = (_influence(metric, side, joint.values, None) for side in both)
    added, classes = _added(metric, both, joint, None)
    f, weights = np.append(second - first, added), np.append(joint.values, np.full(len(added), HALF))
    parts = weights * (f - inner(weights, f) / weights.sum()) ** 2
    rare = thin[joint.truth] | (predicted[0][joint.a] & wrong[0]) | (predicted[1][joint.b] & wrong[1])
    share = parts[np.append(rare, (thin | predicted[0] | predicted[1])[classes])].sum() / parts.sum()
    return not share <= THIN_SHARE


def apart(metric: Measure, both: tuple[Side, Side], label: Label | None, level: float) -> tuple[float, float] | None:
    """Return the limits of a difference from the exact sequence of each model, each with half of the error."""
    if metric.options:
        return None
    ends = []
    for side in both:
        k = len(side.labels)
        if k > DENSE or (metric.row.key in PER_CLASS and label not in side.labels):
            return None
        matrix = np.zeros((k, k), np.int64)
        matrix[side.where.rows, side.where.columns] = side.where.values
        counts = MatrixCounts(matrix, side.labels)
        if metric.row.key in PER_CLASS:
            bounds = exact_classes(metric.row.key, counts, np.array([side.labels.index(label)]), (1 + level) / 2)
        else:
            bounds = exact_bounds(metric.row.key, counts, (1 + level) / 2)
        if bounds is None:
            return None
        ends.append((np.max(bounds.low), np.max(bounds.high)))
    (low_a, high_a), (low_b, high_b) = ends
    return float(low_b - high_a), float(high_b - low_a)


def least_discordant(joint: Joint) -> int:
    """Return the fewest samples of any true class that only one of the models gets right."""
    one = (joint.a == joint.truth) != (joint.b == joint.truth)
    return int(np.bincount(joint.truth, joint.values * one)[np.unique(joint.truth)].min())


def _added(
    metric: Measure, both: tuple[Side, Side], joint: Joint, label: Label | None
) -> tuple[Floats, NDArray[np.intp]]:
    """Return the influence of a sample of each class that one model misses, and that one takes for it; the classes."""
    true = np.bincount(joint.truth, joint.values, len(joint.labels))
    (hit_a, missed_a, taken_a), (hit_b, missed_b, taken_b) = (_kinds(metric, side, joint, label) for side in both)
    parts = np.array([missed_b - hit_a, hit_b - missed_a, true @ hit_b / true.sum() - taken_a,
                      taken_b - true @ hit_a / true.sum()])  # fmt: skip
    parts[:2, true <= 0] = np.nan
    kinds, classes = np.nonzero(np.isfinite(parts))
    return parts[kinds, classes], classes


def _kinds(metric: Measure, side: Side, joint: Joint, label: Label | None) -> tuple[Floats, Floats, Floats]:
    """Return the derivative of a model's metric in a hit of each class of both, a miss, and a false alarm.

    A miss goes to an average class, a false alarm comes from one; nan where the model never says the class.
    """
    counts = padded(side.counts(joint.values), unseen=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b, p, _ = _slopes(metric, side, counts, label)
    n = float(counts.total)
    own = a + b + p, b + counts.predicted_totals @ p / n, p + counts.true_totals @ b / n
    places = {name: at for at, name in enumerate(side.labels)}
    at = np.array([places.get(name, -1) for name in joint.labels])
    hit, missed, taken = (np.where(at >= 0, part[at], np.nan) for part in own)
    return np.nan_to_num(hit), np.nan_to_num(missed), taken


def posterior(
    metric: Measure, joint: Joint, label: Label | None, draws: int, seed: int, level: float
) -> tuple[float, float, float, int]:
    """Return quantiles and standard deviation of the difference over draws of the joint cells, and draws lost.

    Cells follow a Dirichlet distribution; its prior has up to half a sample in every class for each of: both right, one
    right, the other right, both wrong. Of more than two classes it has as much as the matrix of one model has.
    """
    k = len(joint.labels)
    if k < 2:
        return math.nan, math.nan, math.nan, draws
    at, true = np.arange(k), np.bincount(joint.truth, joint.values, k)
    often = np.argsort(-true, kind="stable")[:2]
    wrong = np.where(at == often[0], often[1], often[0])  # the most frequent class but this one
    truth, a, b = np.tile(at, 4), np.concatenate([at, at, wrong, wrong]), np.concatenate([at, wrong, at, wrong])
    extended = joint._replace(
        folds=np.zeros(len(joint.values) + 4 * k, np.int64),
        truth=np.concatenate([joint.truth, truth]), a=np.concatenate([joint.a, a]), b=np.concatenate([joint.b, b]),
        values=np.concatenate([joint.values, np.full(4 * k, min(HALF, 1 / k))]),
    )  # fmt: skip
    both, random, parts = sides(extended), np.random.default_rng(seed), []
    size = max(1, CHUNK // len(extended.values))
    for start in range(0, draws, size):
        drawn = random.standard_gamma(extended.values, (min(size, draws - start), len(extended.values)))
        first, second = (value_of(metric, side, side.counts(drawn), label) for side in both)
        parts.append(second - first)
    differences = np.concatenate(parts)
    defined = differences[np.isfinite(differences)]
    if len(defined) < 2:
        return math.nan, math.nan, math.nan, draws - len(defined)
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return low, high, float(defined.std(ddof=1)), draws - len(defined)


def without_folds(joint: Joint) -> Floats:
    """Return the weights of the joint cells without each fold in turn, a row a fold that has samples."""
    return np.array([np.where(joint.folds == fold, 0.0, joint.values) for fold in np.unique(joint.folds)])
