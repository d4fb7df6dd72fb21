"""The compiled rank sketch against the plain one in NumPy, and the facts of the score code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import rank_oracle
from support.rank_streams import scores

from stream_metrics._core.ranks.kernels import codes
from stream_metrics.ranking.protocol import RankColumn
from stream_metrics.states.ranks import RankSketch

H = 0x3FE << 52  # the bits of 0.5


def assert_same(actual: RankColumn, expected: RankColumn) -> None:
    for name, a, b in zip(RankColumn._fields, actual, expected, strict=True):
        for x, y in zip(a, b, strict=True) if isinstance(a, tuple) else [(a, b)]:
            np.testing.assert_array_equal(x, y, err_msg=name)
            assert np.asarray(x).dtype == np.asarray(y).dtype, name


@pytest.mark.parametrize("pairs", [True, False])
@pytest.mark.parametrize(("buckets", "sample"), [(2, 1), (3, 5), (16, 8), (1024, 512)])
@given(data=st.data())
def test_column_is_that_of_the_oracle(data: Any, pairs: bool, buckets: int, sample: int) -> None:
    """Cells, sole codes, counts, offsets and samples are those of all raw scores at once."""
    rows = data.draw(st.lists(st.tuples(st.booleans(), scores(), st.sampled_from([1, 2, 5])), min_size=1))
    own, x, w = (np.array(column) for column in zip(*rows, strict=True))
    sketch = RankSketch(buckets, sample, pairs=pairs)
    for row in rows:
        sketch.update(*row)

    assert_same(sketch.column(True), rank_oracle.RankOracle(buckets, sample).column(x, own, w))


@given(st.data())
def test_fractions_agree_with_the_oracle(data: Any) -> None:
    """Weights with fractions give the same columns, in units as fine as they need, down to 2^-64."""
    weight = st.sampled_from(
        [0.5, 0.25, 1.75, 3 * 2.0**-20, 0.1, 2.0, 2.0**21, 1e-3, 1e-7, 1e-15, 2.0**-64, 2.0**60 + 1]
    )
    rows = data.draw(st.lists(st.tuples(st.booleans(), scores(), weight), min_size=1))
    own, x, w = (np.array(column) for column in zip(*rows, strict=True))
    sketch = RankSketch(4, 3)
    sketch.update_many(own, x, w)

    assert_same(sketch.column(True), rank_oracle.RankOracle(4, 3).column(x, own, w))


@pytest.mark.parametrize(
    ("weight", "known"),
    [(2**21 - 1, True), (2**21 - 2.0**-20, True), (2**21, False), (2**21 + 2.0**-20, False), (2**40 + 0.5, False)],
)
def test_means_are_known_while_their_moment_fits(weight: float, known: bool) -> None:
    """The mean place in a cell of 2^63 codes is known while its weight is below 2^21, whole or not."""
    x = np.array([-0.5, -1e-300, 0.5, -2.0, 2.0])
    own = np.array([True, True, True, False, False])
    w = np.array([1, weight - 1, 2.0**-20, 1, 1])
    sketch = RankSketch(2, 1)
    sketch.update_many(own, x, w)
    column = sketch.column(True)

    assert column.level == 63
    assert (column.counts[0] / column.units).tolist() == [1, weight]
    assert np.isnan(column.offsets[0, 1]) != known
    assert_same(column, rank_oracle.RankOracle(2, 1).column(x, own, w))


@pytest.mark.parametrize("shape", ["uniform", "gauss", "cauchy", "grid", "narrow"])
def test_large_batches_agree_with_the_oracle(shape: str) -> None:
    """So they do for a hundred thousand scores, in one batch, in many, and merged."""
    rng = np.random.default_rng(7)
    n = 100_000
    x = {
        "uniform": rng.random(n),
        "gauss": rng.normal(size=n),
        "cauchy": rng.standard_cauchy(n),
        "grid": rng.integers(0, 5000, n) / 5000,
        "narrow": np.where(rng.random(n) < 0.9, 0.5 + 1e-9 * rng.normal(size=n), rng.normal(size=n)),
    }[shape]
    own = rng.random(n) < 0.3
    expected = rank_oracle.RankOracle(256, 128).column(x, own)
    whole, parts, merged = RankSketch(256, 128), RankSketch(256, 128, pairs=False), RankSketch(256, 128)
    whole.update_many(own, x)
    for some in np.array_split(np.arange(n), 37):
        parts.update_many(own[some], x[some])
        shard = RankSketch(256, 128)
        shard.update_many(own[some], x[some])
        merged.merge(shard)

    for sketch in (whole, parts, merged):
        assert_same(sketch.column(True), expected)
    assert whole == merged


def exponents_and_patterns() -> np.ndarray:
    """Return doubles of every exponent with telling bit patterns, and the neighbours of every change of branch."""
    patterns = np.array([0, 1, 2, 2**51, 2**52 - 1, 0x5555555555555, 0xAAAAAAAAAAAAA, 0x123456789ABCD], np.uint64)
    bits = (np.arange(2047, dtype=np.uint64)[:, None] << np.uint64(52)) | patterns
    near = np.array([0.5, 1.0, 1.5, 2.0, 1.5 * 2.0**921, 0.25, 3.0]).view(np.int64)[:, None] + np.arange(-50, 51)
    one = 1.0 - 2.0 ** -np.arange(1, 54)
    return np.unique(np.concatenate([bits.view(np.float64).ravel(), near.view(np.float64).ravel(), one, 2 - one]))


def test_codes_rise_with_scores_and_leave_both_ends_free() -> None:
    """The code never falls, and rises strictly up to the last double but one below 1.5 * 2^921."""
    positive = exponents_and_patterns()
    x = np.concatenate([-positive[::-1], positive[1:]])
    code = codes(x)

    assert np.array_equal(code, rank_oracle.code(x))
    assert code.min() == 1
    assert code.max() == 2**64 - 2
    assert np.all(code[1:] >= code[:-1])
    inner = np.abs(x) < np.nextafter(1.5 * 2.0**921, 0)
    assert np.all(np.diff(code[inner].astype(object)) > 0)


def test_negating_and_complementing_permutes_the_codes() -> None:
    """code(-x) is the complement of code(x), and the magnitudes of x and 1-x add up to twice that of 1/2."""
    positive = exponents_and_patterns()[1:]
    k = np.random.default_rng(1).integers(1, 2**53, 20_000)
    x = k * 2.0**-53

    assert np.array_equal(codes(-positive), ~codes(positive))
    assert codes(np.array([0.0]))[0] == codes(np.array([-0.0]))[0] == 2**63
    magnitude = codes(x) - np.uint64(2**63)
    assert np.all(magnitude + (codes(1 - x) - np.uint64(2**63)) == np.uint64(2 * H))


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_narrow_floats_keep_their_order(kind: Any) -> None:
    """Every finite float16, and a grid of float32, has a code of its own (but where codes saturate) in order."""
    if kind is np.float16:
        x = np.arange(0, 0x7C00, dtype=np.uint16).view(np.float16)
    else:
        x = np.arange(0, 0x7F800000, 997, dtype=np.uint32).view(np.float32)

    assert np.all(np.diff(codes(x.astype(np.float64)).astype(np.int64) ^ np.int64(-(2**63))) > 0)


@given(scores())
def test_edge_is_the_smallest_score_of_a_code(x: float) -> None:
    """No smaller double has at least the code of the edge."""
    code = codes(np.array([x]))
    edge = rank_oracle.edge(code)

    assert codes(edge) == code
    assert edge[0] == -np.finfo(float).max or codes(np.nextafter(edge, -np.inf)) < code
