"""Areas under ROC curves, certified, from one column of scores or from the areas of all pairs of classes.

Pairs are counted as integers and divided once, so an area at level 0 is the exact rank statistic, correctly rounded.
Above level 0 the pairs within one mixed row may go either way: that is the certified interval. How they probably go is
estimated in `steps`. Weights that were rounded may move an area by the share that they may have lost of own, and
of rest (see `protocol`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from stream_metrics.formulas.protocol import Floats, Numbers
from stream_metrics.ranking.protocol import (
    EPSILON,
    NAN,
    OWN,
    REST,
    UNDEFINED,
    Certified,
    RankColumn,
    Ratio,
    edge,
    exact,
    lost_in_classes,
    mean_of_ratios,
    once,
    round_down,
    round_up,
    widened,
)
from stream_metrics.ranking.steps import (
    Pairs,
    ScoreTable,
    estimate_within_cells,
    pairs_of,
    root_sum_square,
    tabulate,
    threshold_sweep,
)


def roc_auc(column: RankColumn) -> Certified:
    """Probability that a sample of the class scores above a sample of the rest.

    P(s_own > s_rest) + P(s_own = s_rest) / 2
    """
    return _area(column, 1, 0)


def _area(column: RankColumn, scale: int, shift: int) -> Certified:
    """Return scale * area + shift."""
    pairs, mixed = pairs_of(column)
    within, se = 0.0, 0.0
    if pairs.open:
        resolved = estimate_within_cells(column, mixed.cells, mixed.inside, mixed.above)
        within = float(resolved.shares.dot(mixed.inside))
        se = root_sum_square(resolved.std_errors * mixed.inside)
    return area_of(pairs, within, se, lost_in_classes(column), scale, shift)


def area_of(pairs: Pairs, within: float, se: float, lost: float = 0.0, scale: int = 1, shift: int = 0) -> Certified:
    """Return scale * area + shift.

    `within` is which share of all pairs are in order within a mixed row, `se` its standard error, and `lost` the most
    by which rounded weights may move the shares of both classes.
    """
    if not pairs.all:
        return UNDEFINED
    all_twice = 2 * pairs.all
    low = scale * pairs.sure + shift * all_twice
    if not pairs.open and not lost:
        return exact(low, all_twice)
    value = low / all_twice + scale * within
    bounds = round_down(low, all_twice), round_up(low + 2 * scale * pairs.open, all_twice)
    return widened(value, *bounds, scale * se, scale * lost, shift, scale + shift)


def gini(column: RankColumn) -> Certified:
    """Twice the ROC AUC less one, also known as Somers' D or accuracy ratio.

    2 AUC - 1
    """
    return _area(column, 2, -1)


def mean(parts: Iterable[Certified], weights: Iterable[int] | None = None, lost: float = 0.0) -> Certified:
    """The mean of the parts that are defined, plain or weighted; undefined if there are none.

    The interval is the mean of the intervals. The standard error treats the parts as independent. `lost` is the share
    of all weights that rounding may have moved.
    """
    parts = list(parts)
    scales = [1] * len(parts) if weights is None else list(weights)
    defined = [(part, w) for part, w in zip(parts, scales, strict=True) if not math.isnan(part.value)]
    total = sum(w for _, w in defined)
    if not total:
        return UNDEFINED
    se = math.sqrt(math.fsum((part.se * w / total) ** 2 for part, w in defined))
    return _mean([part for part, _ in defined], [w for _, w in defined], se, lost)


def _mean(parts: Sequence[Certified], weights: Sequence[int], se: float, lost: float = 0.0) -> Certified:
    ratios = [part.ratio for part in parts if isinstance(part, Ratio)]
    if len(ratios) == len(parts) and not lost:
        return mean_of_ratios(ratios, weights)
    total = sum(weights)
    shares = [w / total for w in weights]
    value, low, high = (math.fsum(part[i] * share for part, share in zip(parts, shares, strict=True)) for i in range(3))
    least, most = min(part.low for part in parts), max(part.high for part in parts)
    if low == high and not lost:
        return Certified(low, low, high, 0.0)
    error = lost * (most - least) + 8 * EPSILON * max(-least, most)
    return widened(value, low, high, se, error, least, most)


def hand_till(directed: Sequence[Sequence[Certified]]) -> Certified:
    """The mean ROC area over all ordered pairs of classes, M.

    `directed[i][j]` is A(i|j): own i, rest j, the score of class i. Pairs with a class that does not occur are left
    out, the diagonal is not read. Formula: 1/(c(c-1)) sum_{i != j} A(i|j). Range: [0, 1]. Undefined: fewer than two
    classes occur. The areas of one column share its cells, so their standard errors add; columns are independent.
    Source: Hand and Till 2001, eq. 7.
    """
    rows = [[a for j, a in enumerate(row) if j != i and not math.isnan(a.value)] for i, row in enumerate(directed)]
    areas = [a for row in rows for a in row]
    if not areas:
        return UNDEFINED
    se = math.sqrt(sum(math.fsum(a.se for a in row) ** 2 for row in rows)) / len(areas)
    return _mean(areas, [1] * len(areas), se)


def pair_areas(directed: Sequence[Sequence[Certified]]) -> list[list[Certified]]:
    """A(i,j) = (A(i|j) + A(j|i)) / 2 for all pairs, symmetric; the diagonal is undefined. Hand and Till 2001, eq. 6."""
    k = range(len(directed))
    return [[UNDEFINED if i == j else mean([directed[i][j], directed[j][i]]) for j in k] for i in k]


def turned(area: Certified) -> Certified:
    """The area with own and rest exchanged, or with the score negated."""
    if isinstance(area, Ratio):
        a, b = area.ratio
        return exact(b - a, b)
    return widened(1 - area.value, 1 - area.high, 1 - area.low, area.se, EPSILON, 0.0, 1.0)


def single_score_auc(columns: Sequence[RankColumn], *, direction: str = "up") -> Certified:
    """The mean ROC area over all pairs of classes for one score that decides between all of them.

    `columns` has one column per pair of classes, of the same score, own the later class. With direction "up" or "down"
    later classes are expected to score higher or lower. "auto" decides per pair by the medians; that is optimistic.
    Range: [0, 1], with "auto" about [1/2, 1]. Undefined: no pair of classes occurs.
    Source: Hand and Till 2001; Robin et al. 2011 (pROC), multiclass.roc.
    """
    if direction not in ("up", "down", "auto"):
        raise ValueError(f"Expected `direction` to be 'up', 'down' or 'auto', but got {direction!r}")
    return mean([_directed(column, direction) for column in columns])


def _directed(column: RankColumn, direction: str) -> Certified:
    area = roc_auc(column)
    if math.isnan(area.value) or direction == "up":
        return area
    other = turned(area)
    if direction == "down":
        return other
    rises, sure = _rises(column, area)
    likely = area if rises else other
    if sure:
        return likely
    return Certified(likely.value, min(area.low, other.low), max(area.high, other.high), likely.se)


def _rises(column: RankColumn, area: Certified) -> tuple[bool, bool]:
    """Tell whether the median of own is at least that of rest, and whether that is certain.

    The area decides if both lie in one mixed row.
    """
    table = tabulate(column)
    rest, own = (_median_rows(table, c) for c in (table.rest, table.own))
    apart = max(rest) < min(own) or max(own) < min(rest)
    mixed = bool(np.isin((*rest, *own), table.mixed).any())
    sure = not column.slack and (apart or not mixed)
    if rest == own and mixed:
        return area.value >= 0.5, sure
    scores = edge(table.starts)
    return bool(scores[list(rest)].mean() <= scores[list(own)].mean()), sure


def _median_rows(table: ScoreTable, counts: Numbers) -> tuple[int, int]:
    """Return the rows of the two middle scores."""
    upto = np.cumsum(counts)
    total = int(upto[-1])
    lower, upper = (total - table.units) // 2, total // 2
    return int(np.searchsorted(upto, lower, "right")), int(np.searchsorted(upto, upper, "right"))


def delong_se(column: RankColumn) -> float:
    """The standard error of the ROC area as an estimate for the population that the samples come from.

    Formula: sum p_b (v10_b - A)^2 / (P(P-1)) + sum n_b (v01_b - A)^2 / (N(N-1)) under the root, v10_b the share of rest
    below own's score, v01_b the share of own above rest's; ties half. Range: [0, 1/2]. Undefined: fewer than two of own
    or of rest. Weights count as repeated samples. Source: DeLong et al. 1988; Sun and Xu 2014.
    """
    if column.weight(OWN) <= 1 or column.weight(REST) <= 1:
        return NAN
    weights, squares = delong_influence(column)
    return math.sqrt(float(weights.dot(squares)))


@once
def delong_influence(column: RankColumn) -> tuple[Floats, Floats]:
    """Return the weights of the scores of own and of rest, and the square of what each adds to the standard error."""
    steps = threshold_sweep(column).fine
    p, n = steps.own, steps.rest
    own, rest = column.weight(OWN), column.weight(REST)
    below, above = (rest - steps.fp + steps.shares * n) / rest, (steps.tp - p + steps.shares * p) / own
    area = float(p.dot(below)) / own
    squares = (below - area) ** 2 / (own * (own - 1)), (above - area) ** 2 / (rest * (rest - 1))
    return np.concatenate([p, n]), np.concatenate(squares)
