"""Columns of scores without the samples that were removed, against the raw scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import cell_oracle
from support.rank_oracle import MIXED, ZERO, code
from support.rank_reading import check_area
from support.rank_shapes import exact_auc
from support.rank_streams import scores

import stream_metrics as sm
from stream_metrics.ranking.remaining import RemainingRanks, subtract

WEIGHTS = st.sampled_from([1, 1, 1, 2, 5, 0.5, 0.1, 2.0**-40])


def sketch(rows: Any, buckets: int, sample: int) -> sm.RankSketch:
    """Return a sketch of samples."""
    state = sm.RankSketch(buckets, sample)
    for row in rows:
        state.update(*row)
    return state


@pytest.mark.parametrize(("buckets", "sample"), [(2, 1), (3, 5), (16, 8)])
@given(data=st.data())
def test_what_is_left_is_counted_exactly(data: Any, buckets: int, sample: int) -> None:
    """Cells have the weights of the samples that are left, sampled codes theirs, and an area its interval."""
    row = st.tuples(st.booleans(), scores(), WEIGHTS, st.booleans())
    drawn = data.draw(st.lists(row, min_size=2, max_size=30))
    rows, gone = [r[:3] for r in drawn], [r[:3] for r in drawn if r[3]]
    left = [r[:3] for r in drawn if not r[3]]
    if not gone or not left:
        return
    all_ = sketch(rows, buckets, sample)
    remaining = RemainingRanks(all_, sketch(gone, buckets, sample))
    column, whole = remaining.column(True), all_.column(True)

    assert remaining.n == len(left)
    for c in (0, 1):
        own = [(int(code([x])[0]), w) for y, x, w in left if y == bool(c)]
        by_cell: dict[int, float] = {}
        for at, w in own:
            if at != ZERO:
                by_cell[at >> whole.level] = by_cell.get(at >> whole.level, 0) + w
        counts = {int(k): n[c] / column.units for k, n in zip(column.cells, column.counts, strict=True) if n[c]}
        assert counts == pytest.approx({k: n for k, n in by_cell.items() if n}, abs=1e-12)
        assert int(column.totals[c]) / column.units == pytest.approx(sum(w for _, w in own), abs=1e-12)
        sampled = dict(zip(map(int, column.sample_codes[c]), column.sample_weights[c], strict=True))
        for at in map(int, whole.sample_codes[c]):
            assert sampled.pop(at, 0) / column.units == pytest.approx(sum(w for x, w in own if x == at), abs=1e-12)
        assert not sampled
        assert column.tau == whole.tau
    truth = np.array([bool(y) for y, _, _ in left])
    if all(column.totals):
        area = cell_oracle.roc_auc(column)
        exact = exact_auc(np.array([x for _, x, _ in left]) + 0.0, truth, [w for _, _, w in left])
        assert area.low - 1e-9 <= exact <= area.high + 1e-9


def test_means_are_those_of_what_is_left() -> None:
    """Mean places within cells are subtracted as well, regardless of the level of the removed scores."""
    rng = np.random.default_rng(5)
    x, y = rng.random(4000), rng.random(4000) < 0.5
    for removed in (3, 200, 3900):
        all_, gone, left = sm.RankSketch(64, 32), sm.RankSketch(64, 32), sm.RankSketch(64, 32)
        all_.update_many(y, x)
        gone.update_many(y[:removed], x[:removed])
        left.update_many(y[removed:], x[removed:])
        column, expected = subtract(all_.column(True), gone.column(True)), left.column(True)

        assert gone.column(True).level <= column.level
        shift = np.uint64(column.level - expected.level)
        if not shift:
            assert np.array_equal(column.cells, expected.cells)
            mixed = (expected.sole == np.uint64(MIXED))[:, None] & (expected.counts > 0)
            assert np.allclose(column.offsets[mixed], expected.offsets[mixed], rtol=0, atol=1e-9)
        assert cell_oracle.roc_auc(column).value == pytest.approx(cell_oracle.roc_auc(expected).value, abs=2e-3)


def test_areas_of_pairs_after_removal() -> None:
    """A set that removed samples reads the area of each pair of classes from what is left of their column."""
    g = np.random.default_rng(2)
    truth, rows = g.integers(0, 3, 400), g.random((400, 4))
    rows[:, -1] = 0.0
    metrics = sm.MetricSet(scores=True, buckets=8, sample=64)
    counted, gone = sm.RankSketch(8, 64), sm.RankSketch(8, 64)
    metrics.update_many(truth, scores=rows, classes=list(range(4)))
    counted.update_many(truth, rows, classes=list(range(4)))
    gone.update_many(truth[:50], rows[:50], classes=list(range(4)))
    for label, row in zip(truth[:50].tolist(), rows[:50].tolist(), strict=True):
        metrics.remove(label, dict(enumerate(row)))
    snapshot, remaining = metrics.snapshot(), RemainingRanks(counted, gone)

    for a in range(3):
        for b in {0, 1, 2} - {a}:
            check_area(snapshot.estimate("roc_auc_ovo_directed", a, b), remaining.column(a, a, b))
