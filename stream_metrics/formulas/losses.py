"""Losses of probabilities: means of exact sums over the samples, and top-k accuracy from the rank of the true class.

A row need not sum to 1, and nothing is rescaled: log loss takes the probability of the true class as it is, the Brier
score the squared distance of the row as it is, and the spherical score is the same for a row and any multiple of it.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from stream_metrics._core.losses.kernels import LossSums
from stream_metrics.formulas.arithmetic import NAN, ratio

LossState: TypeAlias = LossSums
MOST_RANKS = 10
WEIGHT_TO_LOSS = 2**40  # a loss is counted in units of 2^-104, a weight in units of 2^-64
LOSS_UNITS = 2**104


def log_loss(c: LossState, *, normalize: bool = True) -> float:
    """Mean negative logarithm of the probability of the true class: cross-entropy, in nats.

    -(1/N) sum w ln max(q_t, 2^-52) with the probability q_t of the true class

    The value is at most 36.05 if normalised. A true class without a score has q_t = 0.
    """
    n = c.weight_units
    if not n:
        return NAN
    return c.log_loss_units / (n * WEIGHT_TO_LOSS if normalize else LOSS_UNITS)


def brier_score(c: LossState, *, scale_by_half: bool | Literal["auto"] = "auto") -> float:
    """Mean squared distance between the probabilities and the truth.

    (1/N) sum w sum_k (q_k - y_k)^2

    Halved it lies in [0, 1], and is (q - y)^2 for a single probability. A class without a score has q_k = 0.
    """
    half = is_halved(c, scale_by_half)
    doubled = c.brier_units if half else 2 * c.brier_units - (0 if half is False else c.binary_brier_units)
    return ratio(doubled, 2 * c.weight_units * WEIGHT_TO_LOSS)


def is_halved(c: LossState, scale_by_half: bool | Literal["auto"]) -> bool | None:
    """Tell whether the Brier losses of all samples are halved, or of none; None if only those of binary samples are."""
    if scale_by_half not in (True, False, "auto"):
        raise ValueError(f"Expected `scale_by_half` to be True, False or 'auto', but got {scale_by_half!r}")
    if scale_by_half != "auto":
        return bool(scale_by_half)
    if c.classes is not None:
        return len(c.classes) <= 2
    return c.binary_weight_units == c.weight_units if c.binary_weight_units in (0, c.weight_units) else None


def spherical_score(c: LossState) -> float:
    """Mean cosine of the angle between the probabilities and the truth.

    (1/N) sum w q_t / sqrt(sum_k q_k^2) with the probability q_t of the true class

    A row of zeros counts as 0.
    """
    return ratio(c.spherical_units, c.weight_units * WEIGHT_TO_LOSS)


def top_k_accuracy(c: LossState, *, k: int = 2) -> float:
    """Share of the samples whose true class is among the k classes with the largest probabilities.

    weight of the samples with rank of the true class <= k, over N

    The rank is 1 + classes scored higher + tied classes earlier in the order of the labels (scikit-learn prefers the
    later one).
    """
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MOST_RANKS:
        raise ValueError(f"Expected `k` to be an int from 1 to {MOST_RANKS}, but got {k!r}")
    return ratio(sum(c.rank_units[:k]), c.weight_units)
