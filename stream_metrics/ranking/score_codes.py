"""From codes back to scores.

The code of a score is the bit pattern of |x| around 0, mirrored around 1/2 and once more around 1, so that
probabilities near 0 and near 1, and scores near 1, are resolved alike. It rises with the score and saturates beyond
1.5 * 2^921. Plain bit patterns would crowd everything near 1 into a few cells; the sketch of a sigmoid's outputs would
be 400 times less exact.
"""

from __future__ import annotations

import numpy as np

from stream_metrics.formulas.protocol import Floats
from stream_metrics.ranking.protocol import ZERO, Codes

OCTAVE = 2**52
HALF = 1022 * OCTAVE  # bits of 0.5
ONE = 1075 * OCTAVE  # magnitude of 1.0
ABOVE = 105 * OCTAVE  # from bits of a-1 to magnitudes, 1 < a <= 3/2
FAR = 103 * OCTAVE + OCTAVE // 2  # from bits to magnitudes, a > 3/2
TURN = 1127 * OCTAVE  # magnitude of 1.5
TOP = 2048 * OCTAVE - 2  # magnitude of the largest double


def magnitude(a: Floats) -> Codes:
    """Return the code of scores a >= 0, less 2^63."""
    bits = a.view(np.uint64)
    with np.errstate(invalid="ignore"):
        below, above = np.abs(1.0 - a).view(np.uint64), np.abs(a - 1.0).view(np.uint64)
    small = np.where(a <= 0.5, bits, np.uint64(2 * HALF) - below)
    if (a < 1.0).all():  # as probabilities are
        return small
    one = np.where(a == 1.0, np.uint64(ONE), above + np.uint64(ABOVE))
    far = np.minimum(bits, np.uint64(TOP - FAR)) + np.uint64(FAR)
    return np.where(a < 1.0, small, np.where(a <= 1.5, one, far))


def edge(codes: Codes) -> Floats:
    """Return the smallest double whose code is at least the given one; inf if there is none."""
    codes = np.asarray(codes, np.uint64)
    negative = codes < np.uint64(ZERO)
    goal = np.where(negative, np.uint64(ZERO) - codes, codes - np.uint64(ZERO))
    smallest = _smallest(goal)
    return np.where(negative, -np.nextafter(smallest, 0.0), smallest) + 0.0


def _smallest(goal: Codes) -> Floats:
    """Return the smallest double >= 0 of at least that magnitude: invert the branch, then correct a rounding."""
    goal = np.asarray(goal, np.uint64)
    capped = np.minimum(goal, np.uint64(TOP))
    plain = np.minimum(capped, np.uint64(HALF)).view(np.float64)
    mirror = 1.0 - (np.uint64(2 * HALF) - np.clip(capped, np.uint64(HALF), np.uint64(2 * HALF))).view(np.float64)
    guess = np.where(goal <= HALF, plain, mirror)
    if (goal > ONE).any():  # unlike those of probabilities
        above = 1.0 + (np.clip(capped, np.uint64(ONE), np.uint64(TURN)) - np.uint64(ABOVE)).view(np.float64)
        far = (np.maximum(capped, np.uint64(TURN)) - np.uint64(FAR)).view(np.float64)
        guess = np.where(goal <= ONE, guess, np.where(goal <= TURN, above, far))
    before = np.nextafter(guess, 0.0)
    guess = np.where((guess > 0) & (magnitude(before) >= goal), before, guess)
    guess = np.where(magnitude(guess) < goal, np.nextafter(guess, np.inf), guess)
    return np.where(goal > TOP, np.inf, guess)
