"""Streams of probabilities whose losses and calibration errors in the population are known."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

__all__ = ["LOSSES", "STREAMS", "ProbabilityStream", "drawn", "multiclass", "truths"]

LOSSES = ("log_loss", "brier_score", "spherical_score")
BINS = 15


class ProbabilityStream(NamedTuple):
    """The logit of the true probability is normal; the score has `slope` times this logit."""

    shift: float
    spread: float
    slope: float = 1.0


STREAMS = {
    "calibrated": ProbabilityStream(0, 1.5),
    "sharp": ProbabilityStream(0, 6),
    "too sure": ProbabilityStream(0, 2, 2),
    "1 % positive": ProbabilityStream(-5, 1),
    "1 error in 300, all alike": ProbabilityStream(5.7, 0.01),
    "knows nothing": ProbabilityStream(0, 0, 0),
}


def drawn(stream: ProbabilityStream, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return truths and scores."""
    logits = rng.normal(stream.shift, stream.spread, n)
    return rng.random(n) < 1 / (1 + np.exp(-logits)), 1 / (1 + np.exp(-stream.slope * logits))


def truths(stream: ProbabilityStream) -> dict[str, float]:
    """Return the values of the population, by quadrature."""
    z = np.linspace(-8, 8, 200_001)
    weights = np.exp(-z * z / 2)
    weights /= weights.sum()
    logits = stream.shift + stream.spread * z
    p, q = 1 / (1 + np.exp(-logits)), 1 / (1 + np.exp(-stream.slope * logits))
    hit, miss = (np.minimum(np.logaddexp(0, sign * stream.slope * logits), 52 * math.log(2)) for sign in (-1, 1))
    length = np.sqrt(q * q + (1 - q) ** 2)
    place = np.minimum((q * BINS).astype(int), BINS - 1)
    share, excess = np.bincount(place, weights, BINS), np.bincount(place, weights * (p - q), BINS)
    return {
        "log_loss": float(weights @ (p * hit + (1 - p) * miss)),
        "brier_score": float(weights @ (p * (1 - q) ** 2 + (1 - p) * q * q)),
        "spherical_score": float(weights @ ((p * q + (1 - p) * (1 - q)) / length)),
        "debiased_calibration_error": math.sqrt(float(np.sum(excess**2 / np.maximum(share, 1e-300)))),
    }


def multiclass(k: int, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return true classes, equally frequent, and calibrated probabilities of all of them."""
    truth, scores = rng.integers(0, k, n), rng.normal(size=(n, k))
    scores[np.arange(n), truth] += 1.5
    scores = np.exp(1.5 * scores)
    return truth, scores / scores.sum(1, keepdims=True)
