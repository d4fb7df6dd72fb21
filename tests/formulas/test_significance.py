"""How often tests reject what is true."""

from __future__ import annotations

import numpy as np
import pytest

from stream_metrics import ConfusionMatrix

STREAMS, LEVEL = 1_000, 0.05
NOISE = 3 * (LEVEL * (1 - LEVEL) / STREAMS) ** 0.5


@pytest.mark.parametrize(("n", "share"), [(100, 0.6), (400, 0.75), (400, 0.9)])
def test_which_tests_against_the_largest_class_keep_their_level(n: int, share: float) -> None:
    """A model that is right as often as the largest class is frequent, for any class: the binomial test takes the
    estimated share as known and rejects too often, as its docstring says; McNemar's test does not.
    """
    rng = np.random.default_rng(11)
    rejected = np.zeros(2)
    for _ in range(STREAMS):
        often = rng.binomial(n, share)
        one, other = rng.binomial(often, share), rng.binomial(n - often, share)
        matrix = np.array([[one, often - one], [n - often - other, other]])
        snapshot = ConfusionMatrix.from_matrix(matrix, ["often", "rare"]).snapshot()
        rejected += [snapshot["nir_p_value"] <= LEVEL, snapshot["majority_p_value"] <= LEVEL]
    binomial, mcnemar = rejected / STREAMS

    assert binomial > LEVEL + NOISE
    assert mcnemar < LEVEL + NOISE
