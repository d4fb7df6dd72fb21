"""The score code and its inverse: order, symmetry, reserved values, thresholds."""

from __future__ import annotations

import numpy as np
from support import rank_oracle

from stream_metrics.ranking.score_codes import edge

LIMIT = np.nextafter(1.5 * 2.0**921, 0)  # the first score that shares its code


def doubles() -> np.ndarray:
    """Return doubles of all exponents and both signs, and many around the turning points of the code."""
    g = np.random.default_rng(1)
    bits = g.integers(0, 0x7FF0000000000000, 40_000, dtype=np.uint64).view(np.float64)
    near = [0.0, 5e-324, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 16.0, LIMIT, np.finfo(float).max]
    around = [np.abs(np.array(x).view(np.int64) + np.arange(-50, 51)).view(np.float64) for x in near]
    values = np.concatenate([bits, g.uniform(0, 2, 40_000), *around])
    values = values[np.isfinite(values)]
    return np.unique(np.concatenate([values, -values]))


def test_order() -> None:
    """Codes rise strictly with the score below 1.5 * 2^921 and never fall beyond."""
    x = doubles()
    codes = rank_oracle.code(x)
    inner = np.abs(x) < LIMIT

    assert (codes[1:] >= codes[:-1]).all()
    assert (np.diff(codes[inner].astype(object)) > 0).all()


def test_symmetry() -> None:
    """Negating or complementing scores permutes the codes; 0 and 2^64 - 1 stay free."""
    x = doubles()
    x = x[x != 0]
    p = np.random.default_rng(2).integers(1, 2**53, 10_000) * 2.0**-53
    codes = rank_oracle.code(x)

    assert (rank_oracle.code(-x) == ~codes).all()
    assert (rank_oracle.code(p) - np.uint64(2**63) + rank_oracle.code(1 - p) == np.uint64(2**63 + 2044 * 2**52)).all()
    assert (codes.min(), codes.max()) == (1, 2**64 - 2)
    assert rank_oracle.code([0.0, -0.0]).tolist() == [2**63, 2**63]


def test_edge_inverts() -> None:
    """The edge of a code is the smallest double with at least that code: the score itself where codes are distinct."""
    x = doubles()
    x = x[~np.isin(rank_oracle.code(x), rank_oracle.ENDS)]
    g = np.random.default_rng(3)
    codes = g.integers(0, 2**64 - 1, 3000, dtype=np.uint64)
    codes = np.concatenate([codes, codes >> np.uint64(45) << np.uint64(45), rank_oracle.code(x)[::60] + np.uint64(1)])
    codes = np.concatenate([codes, np.array([0, 1, 2, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1], np.uint64)])

    assert (edge(rank_oracle.code(x)) == x).all()
    np.testing.assert_array_equal(edge(codes), rank_oracle.edge(codes))
