"""The posterior of balanced accuracy: against SciPy's integral and against draws."""

from __future__ import annotations

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics.inference.intervals.posterior import balanced_accuracy_posterior

special = pytest.importorskip("scipy.special", reason="SciPy is the oracle here and is not installed")


def integrated(tp, fn, tn, fp, prior=0.5, cells=8_000):
    """Return the same interval by the midpoint rule over SciPy's distribution functions."""
    grid = np.arange(cells + 1) / cells
    weights = np.diff(special.betainc(tn + prior, fp + prior, grid))
    middles = (grid[1:] + grid[:-1]) / 2

    def quantile(goal):
        low, high = 0.0, 1.0
        for _ in range(40):
            x = (low + high) / 2
            below = (weights * special.betainc(tp + prior, fn + prior, np.clip(2 * x - middles, 0, 1))).sum()
            low, high = (x, high) if below < goal else (low, x)
        return (low + high) / 2

    return quantile(0.025), quantile(0.975)


@pytest.mark.parametrize("counts", [(7, 3, 171, 19), (10, 0, 188, 2), (0, 1, 3, 0), (300, 80, 9000, 40)])
@pytest.mark.parametrize("prior", [0.5, 1.0])
def test_it_is_the_integral(counts, prior):
    """To four digits for any counts, also where a density is infinite at its end."""
    assert balanced_accuracy_posterior(*counts, prior=prior) == pytest.approx(integrated(*counts, prior), abs=1e-4)


def test_rare_classes_take_it():
    """A class with ten samples: the default is the posterior, and of two classes the exact one."""
    snapshot = sm.ConfusionMatrix.from_matrix([[188, 2], [0, 10]]).snapshot()
    found = snapshot.interval("balanced_accuracy")

    assert found.method == "posterior"
    assert (found.low, found.high) == (balanced_accuracy_posterior(188, 2, 10, 0)[0], found.high)
    assert found.high >= found.value


def test_draws_agree_with_it():
    """The Dirichlet draws have the same distribution: geometric neighbours within the noise of 20,000 draws."""
    snapshot = sm.ConfusionMatrix.from_matrix([[171, 19], [3, 7]]).snapshot()
    drawn = snapshot.interval("balanced_accuracy_adjusted", method="posterior", draws=20_000)
    low, high = balanced_accuracy_posterior(7, 3, 171, 19)

    assert (drawn.low, drawn.high) == pytest.approx((2 * low - 1, 2 * high - 1), abs=0.01)


def test_more_classes_have_the_moments_of_betas():
    """Three classes: the variance of the mean of three independent betas."""
    matrix = np.array([[5, 1, 0], [2, 30, 4], [0, 5, 60]])
    snapshot = sm.ConfusionMatrix.from_matrix(matrix).snapshot()
    found = snapshot.interval("balanced_accuracy", method="posterior", draws=20_000)
    a, n = np.diag(matrix) + 1 / 3, matrix.sum(axis=1) + 2 / 3
    variance = (a * (n - a) / (n**2 * (n + 1))).sum() / 9

    assert found.se == pytest.approx(variance**0.5, rel=0.03)


def test_a_class_has_the_posterior_of_its_own_table():
    """The recall of a class is beta(hits + 1/2, misses + 1/2), for any other classes."""
    matrix = np.array([[5, 1, 1], [2, 30, 4], [0, 5, 60]])
    both = np.array([[5, 2], [2, 99]])
    many, two = (sm.ConfusionMatrix.from_matrix(m).snapshot() for m in (matrix, both))

    for key in ("p4", "ova_matthews_corrcoef"):
        found, expected = (snapshot.interval(key, label=0, draws=20_000) for snapshot in (many, two))
        assert found.method == "posterior"
        assert tuple(found) == pytest.approx(tuple(expected), abs=0.01)
    recall = many.interval("recall", method="posterior", label=0, draws=20_000)
    expected = [float(special.betaincinv(5.5, 2.5, q)) for q in (0.025, 0.975)]
    assert tuple(recall) == pytest.approx(expected, abs=0.01)
