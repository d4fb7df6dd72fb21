"""Areas under ROC curves, certified, from one column of scores or from the areas of all pairs of classes.

Pairs are counted as integers and divided once, so an area at level 0 is the exact rank statistic to the bit. Above
level 0 the pairs within one mixed row may go either way: that is the certified interval. How they probably go is
`rank_resolve`'s business.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from stream_metrics.formulas.protocol import Floats, Numbers
from stream_metrics.formulas.rank_resolve import resolve
from stream_metrics.formulas.rank_steps import descend
from stream_metrics.formulas.rank_table import Table, count_pairs, root_sum_square, tabulate
from stream_metrics.formulas.ranks_protocol import NAN, OWN, REST, UNDEFINED, Certified, RankColumn, certified
from stream_metrics.formulas.score_codes import edge


def roc_auc(column: RankColumn) -> Certified:
    """The probability that own scores above rest.

    Formula: P(s_own > s_rest) + P(s_own = s_rest) / 2. Range: [0, 1]. Undefined: no own or no rest.
    Source: Hanley and McNeil 1982; Doering 2018.
    """
    table = tabulate(column)
    pairs = count_pairs(table)
    if not pairs.all:
        return UNDEFINED
    low = pairs.sure / (2 * pairs.all)
    if not pairs.open:
        return Certified(low, low, low, 0.0)
    inside = _inside(table) / pairs.all
    found = resolve(column, table, inside)
    value = low + float(found.shares.dot(inside))
    high = (pairs.sure + 2 * pairs.open) / (2 * pairs.all)
    return certified(value, low, high, root_sum_square(found.doubts * inside))


def _inside(table: Table) -> Floats:
    """Return how many pairs each mixed row holds, in units squared."""
    return (table.own[table.mixed] * table.rest[table.mixed]).astype(np.float64)


def gini(column: RankColumn) -> Certified:
    """Twice the ROC area less one, also known as Somers' D, accuracy ratio, rank-biserial correlation.

    Formula: 2 AUC - 1. Range: [-1, 1]. Undefined: no own or no rest. Source: Somers 1962.
    """
    value, low, high, se = roc_auc(column)
    return Certified(2 * value - 1, 2 * low - 1, 2 * high - 1, 2 * se)


def mean(parts: Iterable[Certified], weights: Iterable[float] | None = None) -> Certified:
    """The mean of the parts that are defined, plain or weighted; undefined if there are none.

    The interval is the mean of the intervals. The standard error treats the parts as independent.
    """
    parts = list(parts)
    scales = [1.0] * len(parts) if weights is None else [float(w) for w in weights]
    kept = [(part, w) for part, w in zip(parts, scales, strict=True) if not math.isnan(part.value)]
    total = math.fsum(w for _, w in kept)
    if not total:
        return UNDEFINED
    value, low, high = (math.fsum(part[i] * w for part, w in kept) / total for i in range(3))
    return Certified(value, low, high, math.sqrt(math.fsum((part.se * w) ** 2 for part, w in kept)) / total)


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
    value, low, high = (math.fsum(a[k] for a in areas) / len(areas) for k in range(3))
    se = math.sqrt(sum(math.fsum(a.se for a in row) ** 2 for row in rows)) / len(areas)
    return Certified(value, low, high, se)


def pair_areas(directed: Sequence[Sequence[Certified]]) -> list[list[Certified]]:
    """A(i,j) = (A(i|j) + A(j|i)) / 2 for all pairs, symmetric; the diagonal is undefined. Hand and Till 2001, eq. 6."""
    k = range(len(directed))
    return [[UNDEFINED if i == j else mean([directed[i][j], directed[j][i]]) for j in k] for i in k]


def turned(area: Certified) -> Certified:
    """The area with own and rest exchanged, or with the score negated."""
    return Certified(1 - area.value, 1 - area.high, 1 - area.low, area.se)


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
    if math.isnan(area.value) or direction == "up" or (direction == "auto" and _rises(column, area)):
        return area
    return turned(area)


def _rises(column: RankColumn, area: Certified) -> bool:
    """Tell whether the median of own is at least that of rest; the area decides if both lie in one mixed row."""
    table = tabulate(column)
    rest, own = (_median_rows(table, c) for c in (table.rest, table.own))
    if rest == own and np.isin(rest, table.mixed).any():
        return area.value >= 0.5
    scores = edge(table.starts)
    return bool(scores[list(rest)].mean() <= scores[list(own)].mean())


def _median_rows(table: Table, counts: Numbers) -> tuple[int, int]:
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
    steps = descend(column).fine
    p, n = steps.own, steps.rest
    own, rest = column.weight(OWN), column.weight(REST)
    if own <= 1 or rest <= 1:
        return NAN
    below, above = (rest - steps.fp + steps.shares * n) / rest, (steps.tp - p + steps.shares * p) / own
    area = float(p.dot(below)) / own
    variance = float(p.dot((below - area) ** 2)) / (own * (own - 1))
    variance += float(n.dot((above - area) ** 2)) / (rest * (rest - 1))
    return math.sqrt(variance)


def logit_interval(area: float, se: float, z: float = 1.959963984540054) -> tuple[float, float]:
    """The confidence interval of an area on the logit scale, logit A +- z se / (A (1 - A)); (A, A) at 0 and 1."""
    if not 0 < area < 1:
        return area, area
    centre, reach = math.log(area / (1 - area)), z * se / (area * (1 - area))
    return 1 / (1 + math.exp(reach - centre)), 1 / (1 + math.exp(-reach - centre))
