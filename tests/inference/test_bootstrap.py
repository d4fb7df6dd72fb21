"""Draws around a matrix: exact in distribution, the same for the same counts, honest about what they skip."""

from __future__ import annotations

import math

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics.inference.intervals import resampling
from stream_metrics.inference.intervals.matrix_counts import MatrixCounts
from stream_metrics.inference.intervals.resampling import drawn, percentiles, prior_cells

MATRIX = [[24, 2, 1], [3, 30, 4], [0, 5, 31]]


def test_draws_have_the_moments_of_the_multinomial():
    """Means n p, variances n p (1 - p), and every draw has as many samples as the matrix."""
    c = sm.ConfusionMatrix.from_matrix(MATRIX)
    (run,) = drawn(c, "bootstrap", 4000, 1)
    counts = run.where.values

    assert (run.total == 100).all()
    assert run.values.mean(axis=0) == pytest.approx(counts, abs=0.4)
    assert run.values.var(axis=0) == pytest.approx(counts * (1 - counts / 100), rel=0.12)
    assert run.matrix[0].sum() == 100


def test_runs_make_no_difference(monkeypatch):
    """Draws that do not fit at once come in runs, and are as many."""
    c = sm.ConfusionMatrix.from_matrix(MATRIX)
    monkeypatch.setattr(resampling, "AT_ONCE", 90)

    runs = list(drawn(c, "bootstrap", 25, 1))

    assert [len(run.total) for run in runs] == [11, 11, 3]


def test_the_prior_is_two_samples():
    """Half on the diagonal, half beside it, and nothing for a class that does not occur; of one of two classes, one."""
    c = sm.ConfusionMatrix.from_matrix([[8, 1, 0, 0], [0, 5, 0, 0], [2, 0, 0, 0], [0, 0, 0, 0]])
    cells = prior_cells(c)
    full = np.zeros((4, 4))
    full[cells.rows, cells.columns] = cells.values

    assert (full - c.matrix)[:3, :3] == pytest.approx(np.full((3, 3), 1 / 6) + np.eye(3) / 6)
    assert full[3].sum() == full[:, 3].sum() == 0
    assert prior_cells(sm.ConfusionMatrix.from_matrix([[4, 0], [1, 2]])).values.tolist() == [4.5, 0.5, 1.5, 2.5]


def test_the_prior_of_many_classes(monkeypatch):
    """Of many classes only cells that occur, the diagonal, and one beside it have a share of the one sample."""
    monkeypatch.setattr(resampling, "DENSE", 2)
    c = sm.ConfusionMatrix.from_matrix([[8, 1, 0], [0, 5, 0], [2, 2, 0]])
    cells = prior_cells(c)
    full = np.zeros((3, 3))
    full[cells.rows, cells.columns] = cells.values

    assert 6 * (full - c.matrix) == pytest.approx(np.array([[2, 2, 0], [0, 2, 2], [1, 1, 2]]))


def test_percentiles_leave_out_what_is_undefined():
    """Draws that are nan are skipped and counted, column by column."""
    values = np.array([[0.0, math.nan], [1.0, 5.0], [2.0, math.nan], [3.0, math.nan], [4.0, math.nan]])
    low, high, spread, skipped = percentiles(values, 0.5)

    assert (low[0], high[0]) == (1.0, 3.0)
    assert (low[1], high[1], spread[1]) == (5.0, 5.0, 0.0)
    assert skipped.tolist() == [0, 4]


def test_skipped_draws_are_counted():
    """A class of two samples is lost in about one draw of e^2, where its recall is 0/0."""
    snapshot = sm.ConfusionMatrix.from_matrix([[30, 1], [1, 1]]).snapshot()
    found = snapshot.interval("recall", method="bootstrap", label=1)

    assert 100 < found.skipped < 170
    assert snapshot.interval("matthews_corrcoef", method="bootstrap").skipped > 100


def test_the_same_counts_give_the_same_interval():
    """Order, shards and the route of merging make no difference, to the bit; another seed does."""
    rng = np.random.default_rng(0)
    true = rng.choice(list("abc"), 600)
    predicted = np.where(rng.random(600) < 0.7, true, rng.choice(list("abc"), 600))
    whole, other, one, two = (sm.ConfusionMatrix() for _ in range(4))
    whole.update_many(true, predicted)
    order = rng.permutation(600)
    other.update_many(true[order], predicted[order])
    one.update_many(true[:250], predicted[:250])
    two.update_many(true[250:], predicted[250:])
    two.merge(one)

    for key in ("macro_f1", "generalized_mcc", "accuracy"):
        for options in ({}, {"method": "bootstrap"}, {"method": "posterior"}, {"valid": "anytime"}):
            found = {state.snapshot().interval(key, **options) for state in (whole, other, two)}
            assert len(found) == 1
    assert whole.snapshot().interval("macro_f1", method="bootstrap") != whole.snapshot().interval(
        "macro_f1", method="bootstrap", seed=7
    )


def test_a_plain_matrix_reads_as_a_state_does():
    """Every formula gives the same of a plain matrix as of the state with the same counts."""
    from stream_metrics.catalog.table import CATALOG
    from stream_metrics.evaluation.evaluate import compute

    matrix = np.array(MATRIX)
    state = sm.ConfusionMatrix.from_matrix(matrix, list("abc"))
    plain = MatrixCounts(matrix, ("a", "b", "c"))

    for key, row in CATALOG.items():
        if row.state == "counts":
            expected, found = compute(row, state), compute(row, plain)
            if not isinstance(expected, str):
                found, expected = np.asarray(found, float), np.asarray(expected, float)
                np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=key)
    assert plain.one_vs_rest("b").matrix.tolist() == state.one_vs_rest("b").matrix.tolist()
