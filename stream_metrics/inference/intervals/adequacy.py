"""Whether the counts allow an asymptotic interval, one that takes a metric as normal around its value.

They do if every class has `ENOUGH` true positives, false negatives and false positives. Otherwise it depends on what
the metric reads: the accuracy does not mind a class without errors, the mean of the recalls may depend on it alone.
The influence of a sample on a metric is its gradient in the cell of the sample less the mean; the variance is the sum
of their squares. If that sum consists of m equal terms, `effective_count` is m; if a few samples make up most of it,
it is about their number, and a normal distribution does not describe the metric. A cell that is empty in the sample
need not be empty in the population: each class gets half a sample more of each of the three kinds, so that a class
without a single error counts as one whose errors are few, not as one that cannot have any.

Nothing here helps a mean over classes some of which have next to no samples: their values are biased, and all of them
in the same direction. `thin_share` tells how much of a variance comes from such classes. Classes that were never seen
make it worse: where they are likely, so are classes seen once, and the note gives their share of the samples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_metrics.errors import quantity
from stream_metrics.formulas.arithmetic import inner
from stream_metrics.formulas.protocol import Counts, Floats, Integers, Numbers, memoized
from stream_metrics.inference.intervals.batched_counts import BatchedCounts

if TYPE_CHECKING:
    from stream_metrics.inference.intervals.gradients import Gradient


Places: TypeAlias = tuple[Integers, Integers]  # rows and columns of cells
ENOUGH = 10
THIN, THIN_OF_MANY = 5, 10  # samples of a class, fewer of which say next to nothing of it; of more than two classes
FEW_CLASSES = 10  # of more, the prior of the posterior weighs next to nothing in a single class
FEWEST_SINGLE = 2  # classes with one sample
THIN_SHARE = 0.25  # of a variance
ONE_CLASS = "only one class has samples, and the value says nothing of any other"
NO_HIT = "a class without a hit decides the value alone"
HALF = 0.5  # a sample: what Jeffreys' prior adds


@memoized
def least_cells(c: Counts) -> int:
    """Return the fewest true positives, false negatives or false positives of any class that occurs."""
    tp, true, predicted = c.diagonal, c.true_totals, c.predicted_totals
    occurs = true + predicted > 0
    if not occurs.all():
        tp, true, predicted = tp[occurs], true[occurs], predicted[occurs]
    if not len(tp):
        return 0
    return int(min(tp.min(), (true - tp).min(), (predicted - tp).min()))


@memoized
def least_samples(c: Counts) -> int:
    """Return the fewest samples, or predictions, of a class that occurs in the truth or in the predictions."""
    true, predicted = c.true_totals, c.predicted_totals
    return int(np.minimum(true, predicted)[true + predicted > 0].min(initial=2**62))


def few_samples(c: Counts) -> str:
    """Return why no interval is to be trusted of a function that may lean on any class, or "" if nothing speaks so."""
    if np.count_nonzero(c.true_totals) == 1:
        return ONE_CLASS
    return _thin_classes(c) if c.k > 2 else ""


def asymptotic(c: Counts, one: BatchedCounts, slopes: Gradient) -> tuple[bool, str]:
    """Tell whether a whole value may be taken as normal, and why no interval of it is to be trusted, or "".

    `one` are the counts as tables of one matrix, `slopes` the gradient there.
    """
    if least_cells(c) >= ENOUGH:
        return True, ""
    if np.count_nonzero(c.true_totals) == 1:
        return False, ONE_CLASS
    weights, f, places = influence(one, slopes)
    count, note = effective_count(weights, f), ""
    if c.k > 2 and not count:
        note = NO_HIT
    elif least_samples(c) < _least_of_thin(c.k) and thin_share(c, weights, f, places) > THIN_SHARE:
        note = leaning(c)
    if slopes.cells is not None and c.k <= FEW_CLASSES:  # the gradient in empty cells is not known
        return False, note
    return count >= ENOUGH, note


def leaning(c: Counts) -> str:
    """Return that a value leans on classes with next to no samples, and how many there are."""
    return f"{_thin_classes(c)}, and the value leans on them"


def asymptotic_classes(c: Counts) -> NDArray[np.bool_]:
    """Tell of which classes the values may be taken as normal."""
    return least_cells_of_classes(c) >= ENOUGH


def least_cells_of_classes(c: Counts) -> Numbers:
    """Return the fewest true or false positives or negatives of every class, set against all others."""
    total, true, predicted, tp = int(c.total), c.true_totals, c.predicted_totals, c.diagonal
    wrong = np.minimum(true - tp, predicted - tp)
    return np.asarray(np.minimum(np.minimum(tp, total - true - predicted + tp), wrong))


def influence(c: BatchedCounts, slopes: Gradient) -> tuple[Floats, Floats, Places]:
    """Return the samples of each cell of one matrix, the influence of one of them, and rows and columns of the cells.

    With half a sample more of each kind in each class where the gradient is known in empty cells too.
    """
    where = c.where
    if slopes.cells is not None:
        weights, f, places = c.values, slopes.cells, (where.rows, where.columns)
    else:
        weights, f, places = _class_cells(c, slopes)
    return weights, f - inner(weights, f) / weights.sum(), places


def effective_count(weights: Floats, f: Floats) -> float:
    """Return on how many samples a variance rests, (sum f^2)^2 / sum f^4; 0 if no sample has any influence."""
    squares = f * f
    second, fourth = inner(weights, squares), inner(weights, squares * squares)
    return second * second / fourth if fourth > 0 else 0.0


def thin_share(c: Counts, weights: Floats, f: Floats, places: Places) -> float:
    """Return the share of a variance from classes with next to no samples, or next to no predictions.

    For predictions these are the samples that are wrongly taken for such a class.
    """
    parts, (rows, columns) = weights * f * f, places
    true, predicted = _thin_totals(c)
    total = float(parts.sum())
    return float(parts[true[rows] | (predicted[columns] & (rows != columns))].sum()) / total if total > 0 else 0.0


@memoized
def _thin_totals(c: Counts) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell which true and predicted totals are small; the average class, the last one, is not."""
    least = _least_of_thin(c.k)
    return np.append(c.true_totals < least, False), np.append(c.predicted_totals < least, False)


def _least_of_thin(k: int) -> int:
    """Return of how many samples a class says something of itself, by the number of classes."""
    return THIN if k <= 2 else THIN_OF_MANY


@memoized
def _thin_classes(c: Counts) -> str:
    """Return how many classes have next to no samples or predictions, as text; "" if none has."""
    true, predicted, least = c.true_totals, c.predicted_totals, _least_of_thin(c.k)
    few = int(np.count_nonzero(np.minimum(true, predicted)[true + predicted > 0] < least))
    if not few:
        return ""
    have = "has" if few == 1 else "have"
    return f"{few} of {quantity(c.k, 'class')} {have} fewer than {least} samples or predictions{_unseen(c)}"


def _unseen(c: Counts) -> str:
    """Return how many samples are probably of classes that never occurred, as text; "" if little speaks for such.

    Their share is about that of classes with a single sample (Good 1953), one of which alone says little.
    """
    single = int(np.count_nonzero(c.true_totals == 1))
    if c.k <= 2 or single < FEWEST_SINGLE:
        return ""
    return f", and about {100 * single / int(c.total):.2g} % of samples are of classes never seen"


def padded(c: BatchedCounts, unseen: bool = False) -> BatchedCounts:
    """Return the totals of one matrix with half a sample more of each kind in each class that occurs, without cells.

    With `unseen` also in the classes that do not.
    """
    d, true, predicted = c.totals
    more = HALF * (unseen | (true + predicted > 0))
    totals = d + more, true + 2 * more, predicted + 2 * more
    return BatchedCounts(*totals, c.total + 3 * more.sum(), c.values, c.where)


def _class_cells(c: BatchedCounts, slopes: Gradient) -> tuple[Floats, Floats, Places]:
    """Return the cells of a matrix and three more a class, the derivatives there, and rows and columns.

    A sample that is missed goes to an average class, which is numbered K; one that is invented comes from there.
    """
    where, n, k = c.where, float(c.total), c.true_totals.shape
    a, b, p = (part if np.shape(part) == k else np.broadcast_to(np.asarray(part, np.float64), k) for part in slopes[:3])
    cells = b[where.rows] + p[where.columns]
    cells[where.on] += a[where.rows[where.on]]
    missed, invented = b + c.predicted_totals @ p / n, p + c.true_totals @ b / n
    occurs, places = c.places_with_average
    extra = [part[occurs] for part in (a + b + p, missed, invented)]
    return np.concatenate([c.values, np.full(3 * len(occurs), HALF)]), np.concatenate([cells, *extra]), places
