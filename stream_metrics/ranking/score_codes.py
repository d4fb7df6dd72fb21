"""From codes back to scores.

The code of a score is the bit pattern of |x| around 0, mirrored around 1/2 and once more around 1, so that
probabilities near 0 and near 1, and scores near 1, are resolved alike. It rises with the score and saturates beyond
1.5 * 2^921. Plain bit patterns would crowd everything near 1 into a few cells; the sketch of a sigmoid's outputs would
be 400 times less exact.
"""

from __future__ import annotations

import numpy as np

from stream_metrics._core.ranks import kernels
from stream_metrics.formulas.protocol import Floats
from stream_metrics.ranking.protocol import Codes


def edge(codes: Codes) -> Floats:
    """Return the smallest double whose code is at least the given one; inf if there is none."""
    codes = np.asarray(codes, np.uint64)
    return kernels.edges(codes.ravel()).reshape(codes.shape)
