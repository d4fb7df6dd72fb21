"""Standard errors against finite differences, draws against their moments, posteriors against integrals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.values import plain, snapshot, with_interval

import stream_metrics as sm

pytestmark = pytest.mark.quick
special = pytest.importorskip("scipy.special", reason="SciPy is the oracle here and is not installed")
stats = pytest.importorskip("scipy.stats", reason="SciPy is the oracle here and is not installed")
METRICS = sm.metrics()
MATRIX = [[24, 2, 1], [3, 30, 4], [0, 5, 31]]


DELTA = [key for key in with_interval() if key != "pair_fowlkes_mallows"]  # which needs whole weights


def standard_errors(matrix: Any, keys: list[str], zero: float | None = None) -> dict[str, np.ndarray[Any, Any]]:
    """Return the standard errors of the delta method from central differences of the values in each cell."""
    cells, step = np.array(matrix, float), 2.0**-9
    places, shares, n = np.argwhere(cells > 0), cells[cells > 0] / cells.sum(), cells.sum()
    moved = np.zeros((len(places), *cells.shape))
    moved[np.arange(len(places)), *places.T] = step
    ends = [[snapshot(cells + sign * one, zero_division=zero) for sign in (1, -1)] for one in moved]
    errors = {}
    for key in keys:
        g = np.array([np.subtract(plain(up.value(key)), plain(down.value(key))) for up, down in ends]) * n / (2 * step)
        errors[key] = np.atleast_1d(np.sqrt(np.maximum((shares @ (g * g) - (shares @ g) ** 2) / n, 0)))
    return errors


@pytest.mark.parametrize("zero", [None, 1.0, math.nan])
@pytest.mark.parametrize(
    "matrix",
    [
        [[124, 20, 5, 11], [13, 90, 24, 7], [10, 25, 81, 9], [6, 8, 30, 70]],
        [[30, 5, 0, 2], [4, 40, 0, 1], [6, 3, 0, 3], [0, 0, 0, 0]],  # one class never predicted, one never true
        [[10, 20, 5], [20, 40, 10], [7, 9, 30]],  # singular in part
        [[240, 31], [52, 110]],
    ],
)
def test_standard_errors_are_those_of_finite_differences(matrix: Any, zero: float | None) -> None:
    """For every metric with a gradient; what stands for 0/0 is a constant, or the class is left out."""
    taken, failures = snapshot(matrix, zero_division=zero), []
    expected = standard_errors(matrix, DELTA, zero)
    for key in DELTA:
        actual = taken.interval(key, draws=2)
        for at, one in enumerate(actual.values() if isinstance(actual, dict) else [actual]):
            se = expected[key][at]
            if one.method == "delta" and not math.isnan(one.low + se) and one.se != pytest.approx(se, 1e-4, 1e-7):
                failures.append((key, at, one.se, se))

    assert len(DELTA) > 50
    assert not failures


def drawn(matrix: Any, draws: int) -> np.ndarray[Any, Any]:
    """Return the matrices that an interval of a function is computed from."""
    seen: list[Any] = []

    def accuracy(c: Any) -> float:
        seen.append(np.array(c.matrix, float))
        return float(c.hits / c.total)

    snapshot(matrix).interval(accuracy, draws=draws)
    return np.array(seen[1 : draws + 1])


def test_draws_have_their_moments() -> None:
    """A posterior has one sample more for each class, half of it on the diagonal, half beside it."""
    for matrix, prior in (
        ([[8, 1, 0], [0, 5, 0], [2, 0, 0]], np.full((3, 3), 1 / 6) + np.eye(3) / 6),
        ([[4, 0], [1, 2]], np.full((2, 2), 0.5)),
    ):
        draws, expected = drawn(matrix, 4000), np.array(matrix) + prior
        shares = draws / draws.sum((1, 2), keepdims=True)
        assert shares.mean(0) == pytest.approx(expected / expected.sum(), abs=0.006)


def test_draws_follow_from_counts_and_seed() -> None:
    """Another route of merging makes no difference, to the bit; another seed does."""
    true, predicted = np.arange(600) % 3, np.arange(600) * 7 % 11 % 3
    parts = [sm.ConfusionMatrix() for _ in range(2)]
    for part, rows in zip(parts, (slice(250, None), slice(250)), strict=True):
        part.update_many(true[rows], predicted[rows])
    merged = parts[0].merge(parts[1]).snapshot()
    one, again, other = (
        taken.interval(lambda c: c.hits / c.total, draws=100, seed=seed)
        for taken, seed in ((snapshot(merged["confusion_matrix"]), 1), (merged, 1), (merged, 7))
    )

    assert one == again != other


@pytest.mark.parametrize("counts", [(7, 3, 171, 19), (10, 0, 188, 2)])
def test_the_posterior_of_balanced_accuracy_holds_the_integral(counts: tuple[int, ...]) -> None:
    """Of two classes, by the midpoint rule over SciPy's distribution functions."""
    tp, fn, tn, fp = counts
    grid = np.arange(8001) / 8000
    weights, middles = np.diff(special.betainc(tn + 0.5, fp + 0.5, grid)), (grid[1:] + grid[:-1]) / 2
    actual = snapshot([[tn, fp], [fn, tp]]).interval("balanced_accuracy")

    below, upto = ((weights * special.betainc(tp + 0.5, fn + 0.5, np.clip(2 * end - middles, 0, 1))).sum()
                   for end in actual)  # fmt: skip
    assert actual.method == "posterior"
    assert below < 0.0252 < 0.9748 < upto


def test_posteriors_of_draws_have_the_moments_of_betas() -> None:
    """Three classes: the mean of independent betas; a class has the posterior of its own table against the rest."""
    matrix = np.array([[5, 1, 1], [2, 30, 4], [0, 5, 60]])
    many, two = snapshot(matrix), snapshot([[5, 2], [2, 99]])
    a, n = np.diag(matrix) + 1 / 3, matrix.sum(axis=1) + 2 / 3
    se = (a * (n - a) / (n**2 * (n + 1))).sum() ** 0.5 / 3

    assert many.interval("balanced_accuracy", draws=20_000).se == pytest.approx(se, 0.03)
    for key in ("p4", "ova_matthews_corrcoef"):
        actual, expected = (taken.interval(key, label=0, draws=20_000) for taken in (many, two))
        assert actual.method == "posterior"
        assert tuple(actual) == pytest.approx(tuple(expected), abs=0.01)


def test_cramers_v_inverts_chi_square() -> None:
    """For more than two classes its ends leave at most 2.5 % of a noncentral chi-square; for two it is |MCC|."""
    two = snapshot([[300, 50], [60, 90]])
    for matrix in ([[90, 110, 100], [100, 105, 95], [110, 98, 104]], [[99, 105, 110], [90, 110, 100], [115, 93, 104]]):
        taken = snapshot(matrix)
        actual, x, scale = taken.interval("cramers_v"), taken["chi2"], 2 * taken.n
        low, high = actual.low**2 * scale, actual.high**2 * scale
        assert actual.low == 0 or stats.ncx2.sf(x, 4, low) < 0.0275
        assert 1e-5 < stats.ncx2.cdf(x, 4, high) < 0.0275
    assert snapshot([[10, 20], [10, 20]]).interval("cramers_v").low == 0
    assert snapshot([[250, 230], [260, 270]]).interval("cramers_v").low == 0
    assert [*two.interval("cramers_v")] == [*two.interval("generalized_mcc")]
    wrong = snapshot([[50, 300], [90, 60]])
    low, high = wrong.interval("generalized_mcc")
    assert [*wrong.interval("cramers_v")] == pytest.approx([-high, -low])
