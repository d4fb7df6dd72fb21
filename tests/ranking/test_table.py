"""Rows of a column: the place of zeros, exact products of counts of any size, no empty rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rank_oracle import MIXED, RankOracle, code

from stream_metrics.ranking.areas import roc_auc
from stream_metrics.ranking.protocol import ZERO
from stream_metrics.ranking.score_codes import edge
from stream_metrics.ranking.table import SAFE, count_pairs, large_table, pairs_of, shares, tabulate


def test_zeros() -> None:
    """The zeros are one pure row between negative and positive scores, regardless of the level."""
    scores = np.concatenate([np.linspace(-1, 1, 201), [0.0] * 7, [5e-324, -5e-324]])
    for buckets in (1024, 32, 2):
        table = tabulate(RankOracle(buckets).column(scores, np.ones(len(scores), bool)))
        place = int(np.flatnonzero(table.starts == ZERO)[0])

        assert place not in table.mixed
        assert table.own[place] == 8
        assert table.own[:place].sum() == table.own[place + 1 :].sum() == 101
        assert (np.diff(edge(table.starts)) > 0).all()


def test_large_weights() -> None:
    """Pairs beyond 2^63 are counted exactly."""
    huge = 2**61
    column = RankOracle().column([0.1, 0.2, 0.2, 0.3], [0, 1, 0, 1], [huge, huge - 1, 3, 1])
    pairs = count_pairs(tabulate(column))

    assert pairs.all == (huge + 3) * huge
    assert pairs.sure == 2 * ((huge - 1) * huge + huge + 3) + 3 * (huge - 1)
    assert roc_auc(column).value == float(Fraction(pairs.sure, 2 * pairs.all))


def test_fractional_weights() -> None:
    """Fractional weights give the exact ratio of their multiples of 2^-20."""
    column = RankOracle().column([0.1, 0.2, 0.2, 0.3], [0, 1, 0, 1], [0.5, 0.25, 1.5, 3.0])

    assert roc_auc(column).value == (0.25 * 0.5 + 0.25 * 1.5 / 2 + 3 * 2) / (3.25 * 2)


def test_saturated_scores() -> None:
    """Scores beyond 2.6e277 share a code and are mixed, at level 0 too, so nothing wrong is certified."""
    scores, own = np.array([1e300, 1e301, -1e300, -1e301, 1.0]), np.array([1, 0, 0, 1, 1], bool)
    column = RankOracle().column(scores, own)
    area = roc_auc(column)

    assert column.level == 0
    assert area.low == pytest.approx(2 / 6)
    assert area.high == pytest.approx(4 / 6)
    assert roc_auc(RankOracle().column([1e300, 1.0], [1, 0])).high == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_rows_hold_their_scores(seed: int) -> None:
    """Every count agrees with the raw scores between the starts of its row and the next."""
    g = np.random.default_rng(seed)
    scores = np.concatenate([g.normal(size=500), g.uniform(size=500), [0.0] * 50, [0.25] * 50])
    own = g.uniform(size=len(scores)) < 0.5
    column = RankOracle(64, 64).column(scores, own)
    table = tabulate(column)
    row = np.searchsorted(table.starts, code(scores), "right") - 1

    np.testing.assert_array_equal(table.own, np.bincount(row[own], minlength=len(table.own)))
    np.testing.assert_array_equal(table.rest, np.bincount(row[~own], minlength=len(table.own)))
    assert set(table.cells.tolist()) == set(np.flatnonzero(column.sole == np.uint64(MIXED)).tolist())


VALUES = [0.0, -0.0, 0.25, 0.25 + 2**-40, 0.5, 1.0, 3.0, -2.0, 5e-324, 1e300, 1e301, -1e300]


SAMPLES = st.lists(st.tuples(st.sampled_from(VALUES), st.booleans(), st.sampled_from([1, 2, 0.5])), max_size=20)


@given(samples=SAMPLES, buckets=st.sampled_from([2, 3, 1024]))
def test_compiled_rows(samples: list[tuple[float, bool, float]], buckets: int) -> None:
    """The rows of a column, compiled for int64, are those that are made with Python integers."""
    scores, own, w = zip(*samples, strict=True) if samples else ((), (), ())
    column = RankOracle(buckets).column(np.array(scores), np.array(own, bool), np.array(w))
    rows = tabulate(column)

    for mine, theirs in zip(rows, large_table(column), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert (rows.rest.dtype, rows.own.dtype, rows.starts.dtype) == (np.int64, np.int64, np.uint64)


@given(samples=SAMPLES, many=st.sampled_from([1, 2**28, 2**31]), buckets=st.sampled_from([2, 3, 1024]))
def test_compiled_pairs(samples: list[tuple[float, bool, float]], many: int, buckets: int) -> None:
    """The pairs of a column, with int64 or with Python integers, are those of its rows."""
    scores, own, w = zip(*samples, strict=True) if samples else ((), (), ())
    column = RankOracle(buckets).column(np.array(scores), np.array(own, bool), np.array(w) * many)
    table = tabulate(column)
    pairs, mixed = pairs_of(column)

    assert pairs == count_pairs(table)
    np.testing.assert_array_equal(mixed.cells, table.cells)
    products = (table.own * table.rest)[table.mixed].astype(float)
    np.testing.assert_array_equal(mixed.inside, products / max(pairs.all, 1))
    np.testing.assert_array_equal(mixed.above, shares(column, table.cells))
    assert (table.own.dtype == object) == (int(column.totals[0]) * int(column.totals[1]) > SAFE)
