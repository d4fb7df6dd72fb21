"""Intervals of what is read from scores: areas, points of curves, and the accuracy of the k largest.

The samples are a sample of the population, and above level 0 the sketch leaves a little open besides. The first is
measured by the influence of each sample on the value (for the ROC area: DeLong et al. 1988), on the logit scale and
with Student's t of as many degrees of freedom as the rarer class has samples less one. For one look, the standard error
of the sketch joins that of the sample in quadrature, and the interval holds the certified one besides. For all looks,
the second is added to both ends: low - (value - certified low), high + (certified high - value).

**Means over classes.** One sample has a score in every column, so the columns depend on each other, and the sketch does
not keep how. The standard error of a mean is at most the mean of the standard errors; that bound is taken, so these
intervals are wider than they had to be.

**A perfect ranking** has no spread. Its lower end is that of min(own, rest) independent pairs that are all in order:
(alpha/2)^(1/m).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_metrics.catalog import Row
from stream_metrics.formulas.protocol import Floats
from stream_metrics.formulas.rank_steps import descend
from stream_metrics.formulas.ranks import delong_se
from stream_metrics.formulas.ranks_protocol import NAN, OWN, REST, Certified, RankColumn
from stream_metrics.formulas.scored import classes, columns
from stream_metrics.inference.choice import DEFAULTS
from stream_metrics.inference.counted import BURN_IN, on_logit_scale, share_bounds
from stream_metrics.inference.intervals import Asked, Interval, Snapshot, refuse_weights
from stream_metrics.inference.resampling import percentiles
from stream_metrics.inference.sequences import asymptotic_multiplier
from stream_metrics.inference.special import t_reach

if TYPE_CHECKING:
    from stream_metrics.labels import Label

__all__ = ["average_precision_se", "interval", "resampled"]


def interval(
    snapshot: Snapshot, row: Row, asked: Asked, label: Label | None
) -> Interval | dict[Label, Interval]:
    """Return the interval of a metric of scores; of a per-class key that of `label`, or all by label."""
    view = snapshot._view(row.reads, row.key)
    refuse_weights(snapshot)
    snapshot._entry(row.key)
    found = snapshot._estimates[row.key]
    if row.key == "top_k_accuracy":
        return _top(view, found, asked)
    if row.kind == "per_class":
        if label is not None:
            at = snapshot._places(row.key, (label,))[0]
            return _of_column(row, columns(view)[at], found[at], asked)
        pairs = zip(classes(view), columns(view), found, strict=True)
        return {name: _of_column(row, column, value, asked) for name, column, value in pairs}
    if label is not None:
        raise KeyError(f"Expected no label for {row.key!r}, which is one value, but got {label!r}")
    if row.key == "confidence_auc":
        return _of_column(row, view.column(view.pos_label), found, asked)
    return _mean(row, view, found, asked)


def _top(view: Any, value: float, asked: Asked) -> Interval:
    n, x = view.n, round(value * view.n) if view.n else 0
    method = "beta_binomial" if asked.valid == "anytime" else asked.method or "wilson"
    low, high, se = share_bounds("top_k_accuracy", np.array(x), np.array(n), asked, 2)
    ends = (min(float(low), value), max(float(high), value)) if n else (NAN, NAN)
    return Interval(value, *ends, asked.level, method, asked.valid, float(se), n)


def _of_column(row: Row, column: RankColumn, value: Certified, asked: Asked) -> Interval:
    method = asked.method or DEFAULTS[row.key]
    own, rest = column.weight(OWN), column.weight(REST)
    n = int(own + rest)
    if math.isnan(value.value):
        return Interval(value.value, NAN, NAN, asked.level, method, asked.valid, n=n)
    if asked.valid == "anytime" and method == "bootstrap":
        raise ValueError(f"Expected valid='fixed' for {row.key!r}, which has no standard error, but got 'anytime'")
    if method == "bootstrap":
        low, high, se, skipped = resampled(row, column, asked)
        return _widened(row, value, (low, high), Interval(0.0, 0.0, 0.0, asked.level, method, "fixed", se, n, skipped))
    if row.key == "ks_statistic":
        return _band(row, value, own, rest, asked)
    se = math.hypot(_se(row.key, column), value.se if asked.valid == "fixed" else 0.0)
    least = min(own, rest)
    ends = on_logit_scale(value.value, se, (row.low, row.high), _reach(n, least, asked))
    if asked.valid == "fixed" and not se > 0 and value.value == row.high and least:
        ends = row.low + (row.high - row.low) * ((1 - asked.level) / 2) ** (1 / least), row.high
    name = "asymptotic" if asked.valid == "anytime" else method
    return _widened(row, value, ends, Interval(0.0, 0.0, 0.0, asked.level, name, asked.valid, se, n))


def _band(row: Row, value: Certified, own: float, rest: float, asked: Asked) -> Interval:
    """Return the interval of the largest distance of two distribution functions: that by which the two can differ.

    value -+ sqrt(log(2 / alpha) (1/P + 1/N) / 2), the quantile of Kolmogorov's distribution. A maximum over thresholds
    is biased upwards, so its own standard error would not do.
    """
    if asked.valid == "anytime":
        raise ValueError(f"Expected valid='fixed' for {row.key!r}, which has no standard error, but got 'anytime'")
    reach = math.sqrt(math.log(2 / (1 - asked.level)) * (1 / own + 1 / rest) / 2)
    shape = Interval(0.0, 0.0, 0.0, asked.level, "band", "fixed", n=int(own + rest))
    return _widened(row, value, (value.value - reach, value.value + reach), shape)


def _reach(n: int, least: float, asked: Asked) -> float:
    if asked.valid == "fixed":
        return t_reach(asked.level, max(least - 1, 1.0))
    return asymptotic_multiplier(n, asked.t_opt, 1 - asked.level) if least >= BURN_IN else math.inf


def _se(key: str, column: RankColumn) -> float:
    if key.startswith("average_precision"):
        return average_precision_se(column)
    return delong_se(column) * (2 if key == "gini" else 1)


def _mean(row: Row, view: Any, value: Certified, asked: Asked) -> Interval:
    """Return the interval of a mean over classes, or over pairs of classes, by the bound of its standard error."""
    n, name = int(view.n), "asymptotic" if asked.valid == "anytime" else DEFAULTS[row.key]
    if math.isnan(value.value):
        return Interval(value.value, NAN, NAN, asked.level, name, asked.valid, n=n)
    pairs = _directed(view) if row.key == "roc_auc_ovo" else columns(view)
    kept = [column for column in pairs if column.weight(OWN) and column.weight(REST)]
    if not kept:  # one class: nothing is set against it
        return Interval(value.value, row.low, row.high, asked.level, name, asked.valid, n=n)
    errors = np.array([_se(row.key, column) for column in kept])
    least = min(min(column.weight(OWN), column.weight(REST)) for column in kept)
    weights = np.array([column.weight(OWN) for column in kept]) if row.key.endswith("weighted") else np.ones(len(kept))
    share = weights / weights.sum()
    se = float(share @ np.nan_to_num(errors, nan=0.5))
    if row.key.endswith("weighted"):
        parts = np.array([part.value for part in _parts(row, kept)])
        se += math.sqrt(float(share @ (parts - share @ parts) ** 2) / n)
    se = math.hypot(se, value.se if asked.valid == "fixed" else 0.0)
    ends = on_logit_scale(value.value, se, (row.low, row.high), _reach(n, least, asked))
    if asked.valid == "fixed" and not se > 0 and value.value == row.high:
        ends = ((1 - asked.level) / 2) ** (1 / least), row.high
    return _widened(row, value, ends, Interval(0.0, 0.0, 0.0, asked.level, name, asked.valid, se, n))


def _parts(row: Row, found: list[RankColumn]) -> list[Certified]:
    from stream_metrics.formulas.average_precision import average_precision
    from stream_metrics.formulas.ranks import roc_auc

    measure = average_precision if row.key.startswith("average_precision") else roc_auc
    return [measure(column) for column in found]


def _directed(view: Any) -> list[RankColumn]:
    labels = classes(view)
    if len(labels) == 1:  # one score decides between two classes
        return columns(view)
    return [view.column(a, a, b) for a in labels for b in labels if a != b]


def _widened(row: Row, value: Certified, ends: tuple[float, float], shape: Interval) -> Interval:
    """Return an interval with the value, its ends moved outwards for what the sketch leaves open."""
    below, above = (value.value - value.low, value.high - value.value) if shape.valid == "anytime" else (0.0, 0.0)
    low = max(row.low, min(ends[0], value.value) - below)
    high = min(row.high, max(ends[1], value.value) + above)
    low, high = min(low, value.low), max(high, value.high)
    return shape._replace(value=value.value, low=low, high=high)


def average_precision_se(column: RankColumn) -> float:
    """The standard error of average precision as an estimate for the population, by the influence of each sample.

    With f, t the weight of rest and own at or above a score and AP = 1/P sum t / (t + f) over own: a sample of own at s
    moves it by (t_s / (t_s + f_s) - AP + sum f / (t + f)^2) / P, one of rest by -sum t / (t + f)^2 / P, sums over own
    at or below s. Range: >= 0. Undefined: no own.
    """
    steps = descend(column).fine
    own = float(steps.own.sum())
    if not own:
        return NAN
    upto = steps.tp + steps.fp
    precision = steps.tp / upto
    average = float(steps.own @ precision) / own
    gain, loss = (_below(steps.own * part / upto**2) for part in (steps.fp, steps.tp))
    moved = float(steps.own @ (precision - average + gain) ** 2) + float(steps.rest @ loss**2)
    n = own + float(steps.rest.sum())
    return math.sqrt(moved * n / max(n - 1, 1)) / own


def _below(values: Floats) -> Floats:
    """Return the sums from each row to the last."""
    return values[::-1].cumsum()[::-1]


def resampled(row: Row, column: RankColumn, asked: Asked) -> tuple[float, float, float, int]:
    """Return quantiles, standard deviation and skipped draws of a measure of one column over resampled samples.

    The rows of the sketch are resampled together with the scores that are 0; places within a cell stay.
    """
    measure = getattr(row.formula, "measure", None) or row.formula.__wrapped__  # type: ignore[attr-defined]
    zeros = column.totals - column.counts.sum(axis=0)
    counts = np.concatenate([column.counts, zeros[None]]).astype(np.float64)
    n, rng = round(counts.sum()), np.random.default_rng(asked.seed)
    values = np.empty(asked.draws)
    for at in range(asked.draws):
        draw = rng.multinomial(n, counts.ravel() / counts.sum()).reshape(counts.shape)
        rows = draw[:-1].any(axis=1)
        values[at] = measure(_redrawn(column, draw, rows)).value
    low, high, se, skipped = percentiles(values, asked.level)
    return float(low), float(high), float(se), int(skipped)


def _redrawn(column: RankColumn, draw: Any, rows: Any) -> RankColumn:
    kept = draw[:-1][rows]
    return column._replace(
        cells=column.cells[rows], sole=column.sole[rows], counts=kept, offsets=column.offsets[rows],
        totals=draw.sum(axis=0),
    )  # fmt: skip
