"""The compiled rank sketch against the plain one in NumPy: columns of any scores and weights, and codes of scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import rank_oracle
from support.kernels import codes
from support.rank_streams import scores
from support.state_checks import assert_same_column

from stream_metrics import RankSketch

WHOLE = [1, 2, 5]
FRACTIONS = [0.5, 0.25, 1.75, 3 * 2.0**-20, 0.1, 2.0, 2.0**21, 1e-3, 1e-7, 1e-15, 2.0**-64, 2.0**60 + 1]


@pytest.mark.quick
@pytest.mark.parametrize("weights", [WHOLE, FRACTIONS], ids=["whole", "fractions"])
@pytest.mark.parametrize(("buckets", "sample"), [(2, 1), (3, 5), (16, 8), (1024, 512)])
@given(data=st.data())
def test_column_is_that_of_the_oracle(data: Any, buckets: int, sample: int, weights: list[float]) -> None:
    """Cells, sole codes, counts, offsets and samples are those of all raw scores at once, in units of the weights."""
    rows = data.draw(st.lists(st.tuples(st.booleans(), scores(), st.sampled_from(weights)), min_size=1))
    own, x, w = (np.array(column) for column in zip(*rows, strict=True))
    single, batch = RankSketch(buckets, sample, pairs=data.draw(st.booleans())), RankSketch(buckets, sample)
    for row in rows:
        single.update(*row)
    batch.update_many(own, x, w)

    for sketch in (single, batch):
        assert_same_column(sketch.column(True), rank_oracle.RankOracle(buckets, sample).column(x, own, w))


@pytest.mark.quick
def test_means_are_known_while_their_moment_fits() -> None:
    """The mean place in a cell of 2^63 codes is known while its weight is below 2^21, whole or not."""
    x = np.array([-0.5, -1e-300, 0.5, -2.0, 2.0])
    own = np.array([True, True, True, False, False])
    for weight in (2**21 - 1, 2**21 - 2.0**-20, 2**21, 2**21 + 2.0**-20, 2**40 + 0.5):
        w = np.array([1, weight - 1, 2.0**-20, 1, 1])
        sketch = RankSketch(2, 1)
        sketch.update_many(own, x, w)
        column = sketch.column(True)
        assert column.level == 63
        assert (column.counts[0] / column.units).tolist() == [1, weight]
        assert np.isnan(column.offsets[0, 1]) != (weight < 2**21)
        assert_same_column(column, rank_oracle.RankOracle(2, 1).column(x, own, w))


@pytest.mark.quick
def test_codes_of_scores() -> None:
    """The compiled code is that of the oracle for every exponent and branch; narrow floats keep their order."""
    patterns = np.array([0, 1, 2, 2**51, 2**52 - 1, 0x5555555555555, 0xAAAAAAAAAAAAA, 0x123456789ABCD], np.uint64)
    bits = (np.arange(2047, dtype=np.uint64)[:, None] << np.uint64(52)) | patterns
    near = np.array([0.5, 1.0, 1.5, 2.0, 1.5 * 2.0**921, 0.25, 3.0]).view(np.int64)[:, None] + np.arange(-50, 51)
    one = 1.0 - 2.0 ** -np.arange(1, 54)
    positive = np.concatenate([bits.view(np.float64).ravel(), near.view(np.float64).ravel(), one, 2 - one])
    assert np.array_equal(codes(positive), rank_oracle.code(positive))
    assert np.array_equal(codes(-positive), rank_oracle.code(-positive))
    halves = np.arange(0, 0x7C00, dtype=np.uint16).view(np.float16)
    singles = np.arange(0, 0x7F800000, 997, dtype=np.uint32).view(np.float32)
    for x in (halves, singles):
        assert np.all(np.diff(codes(x.astype(np.float64)).astype(np.int64) ^ np.int64(-(2**63))) > 0)
