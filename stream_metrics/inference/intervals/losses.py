"""Intervals of mean losses: log loss, Brier score and spherical score, from exact sums and sums of squares.

**One look.** The mean on the logit scale of its range with its standard error, and Student's t of the effective number
of losses less one: (sum of losses)^2 / (sum of squares) is m if m equal losses make up the sum. That knows nothing of
losses that have not been seen, such as those of a model that is sure of itself and has not been wrong yet. So the
interval also holds the one that n samples and one more with the worst loss would have. The worst Brier loss is known.
Of log loss it is that of an error of a model as sure as this one, -log(1 - exp(-mean)): the largest loss that can be
counted, 36, would make every interval useless.

**All looks.** All three are bounded, log loss because a probability counts as 2^-52 at least. So they have a sequence
that is valid from the first sample on, without any assumption about their distribution; see `bounded_sequence`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from stream_metrics.catalog.spec import MetricSpec
from stream_metrics.evaluation.evaluation import Options
from stream_metrics.formulas.losses import LOSS_UNITS, LossState, is_halved
from stream_metrics.formulas.stats.normal import t_quantile
from stream_metrics.inference.intervals.adequacy import ENOUGH
from stream_metrics.inference.intervals.anytime import bounded_sequence
from stream_metrics.inference.intervals.count_intervals import on_logit_scale
from stream_metrics.inference.intervals.interval import Interval, IntervalRequest

LOSSES = {"log_loss": 2, "brier_score": 3, "spherical_score": 4}  # the place of the sum of squares
WORST_LOG_LOSS = 52 * math.log(2) + 1e-9
WORST_BRIER = 2 + 2.0**-10  # of a row that sums to 1, but for rounding; what is worse has no square
FEW = f"fewer than {ENOUGH} samples make up the loss"
OLD = "some samples come from bytes that hold no squares of losses, so their variance_of_padded is not known"


class _Moments(NamedTuple):
    """Losses of n samples as shares of the worst one: their sum and that of their squares."""

    n: int
    total: float
    squares: float
    variance: float
    worst: float


def unknown(key: str, state: LossState) -> str:
    """Return why the variance_of_padded of a loss is not known; empty if it is."""
    squares = state.squares()
    if squares is None:
        return OLD
    if key == "brier_score" and squares[1]:
        return f"the Brier loss of {squares[1]} of {state.n} samples is above 2: their probabilities do not sum to 1"
    return ""


def interval(row: MetricSpec, state: LossState, request: IntervalRequest, options: Options) -> Interval:
    """Return the interval of a mean loss; `ValueError` if the squares are not known."""
    reason = unknown(row.key, state)
    if reason:
        raise ValueError(f"Expected squares of all losses for the interval of {row.key!r}, but {reason}")
    if not options.pop("normalize", True):
        raise ValueError("Expected normalize=True for an interval of 'log_loss': a sum grows with the samples")
    value = float(row.formula(state, **options))
    method = "bounded" if request.valid == "anytime" else "student"
    if not state.n:
        return Interval(value, math.nan, math.nan, request.level, method, request.valid)
    best, scale, moments = _moments(row.key, state, options)
    ends, note = _ends(row.key, moments, request)
    low, high = sorted(best + scale * end for end in ends)
    top = float(math.floor(scale)) if row.key == "brier_score" else math.inf if scale > 0 else best
    low, high = max(0.0, min(low, value)), max(min(high, top), value)
    se = abs(scale) * math.sqrt(moments.variance / moments.n)
    return Interval(value, low, high, request.level, method, request.valid, se, moments.n, 0, note)


def _moments(key: str, state: LossState, options: Options) -> tuple[float, float, _Moments]:
    """Return the value without loss, the worst value less this one, and the losses as shares of the worst.

    A spherical score of 1 is without loss. The variance is computed with whole numbers.
    """
    sums = state.squares()
    assert sums is not None, "the squares are known"
    n, squares = int(state.n), int(sums[LOSSES[key]])
    total = int({"log_loss": state.log_loss_units, "brier_score": state.brier_units}.get(key, state.spherical_units))
    half = is_halved(state, options.get("scale_by_half", "auto")) if key == "brier_score" else False  # type: ignore[arg-type]
    if key == "spherical_score":
        total, squares = n * LOSS_UNITS - total, squares - 2 * total + n * LOSS_UNITS
    worst = {"log_loss": WORST_LOG_LOSS, "brier_score": WORST_BRIER}.get(key, 1.0)
    if half is None:  # of twice the losses, which are whole numbers
        _, binary, binary_squares = state.binary_numbers()
        total, squares, worst = 2 * total - binary, 4 * squares - 3 * binary_squares, 2 * worst
    variance_of_padded = max(n * squares * LOSS_UNITS - total * total, 0) / (n * max(n - 1, 1) * LOSS_UNITS**2)
    one = total / LOSS_UNITS / worst, squares / LOSS_UNITS / worst**2, variance_of_padded / worst**2
    if key == "spherical_score":
        return 1.0, -1.0, _Moments(n, *one, 1.0)
    if key == "log_loss":
        mean = max(total / LOSS_UNITS / n, 2.0**-104)
        return 0.0, worst, _Moments(n, *one, min(-math.log(-math.expm1(-mean)) / worst, 1.0))
    return 0.0, worst if half is False else worst / 2, _Moments(n, *one, 1.0)


def _ends(key: str, m: _Moments, request: IntervalRequest) -> tuple[tuple[float, float], str]:
    """Return the shares of the worst loss between which the mean lies, and a note."""
    if request.valid == "anytime":
        return bounded_sequence(m.total, m.squares, m.n, request.level), ""
    level, mean = request.level, m.total / m.n
    effective = [m.total**2 / m.squares if m.squares > 0 else m.n]
    if key != "log_loss":
        rest = m.n - 2 * m.total + m.squares
        effective.append((m.n - m.total) ** 2 / rest if rest > 0 else m.n)
    multiplier = t_quantile(level, max(min(*effective, m.n) - 1, 1.0))
    ends = on_logit_scale(mean, math.sqrt(m.variance / m.n), (0.0, 1.0), multiplier) if m.variance > 0 else (mean, mean)
    more = m.n + 1
    padded = (m.total + m.worst) / more
    variance_of_padded = max((m.squares + m.worst**2) / more - padded * padded, 0.0) * more / m.n
    far = t_quantile(level, float(max(m.n - 1, 1))) * math.sqrt(variance_of_padded / m.n)
    both = max(0.0, min(ends[0], padded - far)), min(1.0, max(ends[1], padded + far))
    return both, FEW if min(*effective, m.n) < ENOUGH else ""
