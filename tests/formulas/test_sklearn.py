"""Metrics that scikit-learn, SciPy and river define too, on random labels, with weights and with 0/0."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from river import metrics as river
from scipy import stats
from sklearn import metrics as sk

from stream_metrics.catalog.table import CATALOG
from stream_metrics.evaluation.evaluate import evaluate

SEEDS = range(6)
ZEROS = (0.0, 1.0, math.nan)


def sample(seed: int, weighted: bool) -> tuple[list[str], list[str], list[float] | None]:
    """Return labels of up to six classes, of which some are never true or never predicted, and weights."""
    rng = np.random.default_rng(seed)
    names = np.array(list("abcdef"))
    true = names[rng.choice(6, 60, p=[0.5, 0.2, 0.2, 0.1, 0, 0])]
    predicted = np.where(rng.random(60) < 0.5, true, names[rng.choice(6, 60, p=[0.4, 0.3, 0, 0.2, 0.1, 0])])
    weights = rng.choice([0.25, 0.5, 1, 3, 0.1], 60).tolist() if weighted else None
    return true.tolist(), predicted.tolist(), weights


def counted(counts_class: Any, true: list[str], predicted: list[str], weights: list[float] | None) -> Any:
    """Return the counts of these samples."""
    counts = counts_class()
    for row in zip(true, predicted, weights or [1] * len(true), strict=True):
        counts.update(*row)
    return counts


def averaged(name: str) -> dict[str, Callable[..., Any]]:
    """Return scikit-learn's function of that name with each average, by our keys."""
    function = getattr(sk, f"{name}_score")
    averages = {f"{kind}_{name}": partial(function, average=kind) for kind in ("macro", "micro", "weighted")}
    return averages | {name: partial(function, average=None)}


PLAIN: dict[str, Callable[..., Any]] = {
    "accuracy": sk.accuracy_score,
    "zero_one_loss": sk.zero_one_loss,
    "balanced_accuracy": sk.balanced_accuracy_score,
    "balanced_accuracy_adjusted": partial(sk.balanced_accuracy_score, adjusted=True),
    "matthews_corrcoef": sk.matthews_corrcoef,
    "cohen_kappa": sk.cohen_kappa_score,
    "weighted_kappa_linear": partial(sk.cohen_kappa_score, weights="linear"),
    "weighted_kappa_quadratic": partial(sk.cohen_kappa_score, weights="quadratic"),
    "confusion_matrix": sk.confusion_matrix,
}
WITH_ZERO_DIVISION = averaged("precision") | averaged("recall") | averaged("f1")
BETA = {key: partial(function, beta=0.5) for key, function in averaged("fbeta").items()}
JACCARD = averaged("jaccard")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("key", PLAIN)
def test_plain(counts_class: Any, same: Any, key: str, weighted: bool) -> None:
    """Metrics without a choice for 0/0 agree with scikit-learn."""
    for seed in SEEDS:
        true, predicted, weights = sample(seed, weighted)
        with warnings.catch_warnings(action="ignore"):
            expected = PLAIN[key](true, predicted, sample_weight=weights)
        actual, _ = evaluate(CATALOG[key], counted(counts_class, true, predicted, weights))

        assert same(np.asarray(actual).tolist(), np.asarray(expected).tolist())


@pytest.mark.parametrize("zero_division", ZEROS)
@pytest.mark.parametrize("key", [*WITH_ZERO_DIVISION, *BETA, *JACCARD])
def test_zero_division(counts_class: Any, same: Any, key: str, zero_division: float) -> None:
    """Rates and their averages agree with scikit-learn for every choice for 0/0 that it offers."""
    if key in JACCARD and math.isnan(zero_division):
        pytest.skip("scikit-learn's Jaccard index has no zero_division=nan")
    for seed in SEEDS:
        true, predicted, weights = sample(seed, seed % 2 == 1)
        function = (WITH_ZERO_DIVISION | BETA | JACCARD)[key]
        expected = function(true, predicted, sample_weight=weights, zero_division=zero_division)
        options = {"beta": 0.5} if key in BETA else {}
        actual, _ = evaluate(CATALOG[key], counted(counts_class, true, predicted, weights), zero_division, **options)

        assert same(np.asarray(actual).tolist(), np.asarray(expected).tolist())


def test_after_every_prefix(counts_class: Any, same: Any) -> None:
    """The headline metrics agree with scikit-learn after every sample of a stream."""
    true, predicted, _ = sample(0, False)
    counts = counts_class()
    for n, row in enumerate(zip(true, predicted, strict=True), start=1):
        counts.update(*row)
        for key in ("accuracy", "macro_f1", "weighted_precision", "matthews_corrcoef"):
            function = (PLAIN | WITH_ZERO_DIVISION)[key]
            options = {"zero_division": 0.0} if key in WITH_ZERO_DIVISION else {}
            with warnings.catch_warnings(action="ignore"):
                expected = function(true[:n], predicted[:n], **options)
            assert same(evaluate(CATALOG[key], counts)[0], float(expected))


def test_indices_over_pairs(counts_class: Any, same: Any) -> None:
    """The pair-counting index is that of scikit-learn and of river."""
    for seed in SEEDS:
        true, predicted, _ = sample(seed, False)
        theirs = river.FowlkesMallows()
        for row in zip(true, predicted, strict=True):
            theirs.update(*row)
        actual, _ = evaluate(CATALOG["pair_fowlkes_mallows"], counted(counts_class, true, predicted, None))

        assert same(actual, sk.fowlkes_mallows_score(true, predicted))
        assert same(actual, theirs.get())


def test_geometric_mean(counts_class: Any, same: Any) -> None:
    """The geometric mean of the recalls is that of river where every class occurs."""
    true, predicted = list("aabbbccab"), list("abbbacccb")
    theirs = river.GeometricMean()
    for row in zip(true, predicted, strict=True):
        theirs.update(*row)

    assert same(evaluate(CATALOG["geometric_mean"], counted(counts_class, true, predicted, None))[0], theirs.get())


def test_association(value: Any, same: Any) -> None:
    """Chi-square and Cramer's V are SciPy's where no row and no column is empty."""
    for seed in SEEDS:
        matrix = np.random.default_rng(seed).integers(0, 30, (4, 4)) + np.eye(4, dtype=int)
        rows = matrix.tolist()

        assert same(value("chi2", rows), stats.chi2_contingency(matrix, correction=False).statistic)
        assert same(value("cramers_v", rows), stats.contingency.association(matrix, method="cramer"))


def test_binomial_tests(value: Any, same: Any) -> None:
    """The p-values of the binomial and the exact McNemar test are SciPy's."""
    for seed in SEEDS:
        matrix = np.random.default_rng(seed).integers(1, 40, (2, 2))
        (a, b), (c, d) = rows = matrix.tolist()
        share = max(a + b, c + d) / matrix.sum()
        above = stats.binomtest(a + d, matrix.sum(), share, alternative="greater").pvalue

        assert same(value("nir_p_value", rows), above)
        assert same(value("mcnemar_p_value", rows, exact=True), stats.binomtest(b, b + c).pvalue)


def test_bowker(value: Any, same: Any) -> None:
    """The p-value of the symmetry test is the chi-square tail of the statistic, a degree for each pair with errors."""
    for seed in SEEDS:
        matrix = np.random.default_rng(seed).integers(0, 4, (5, 5))
        upper, lower = matrix[np.triu_indices(5, 1)], matrix.T[np.triu_indices(5, 1)]
        kept = upper + lower > 0
        statistic = ((upper - lower)[kept] ** 2 / (upper + lower)[kept]).sum()

        assert same(value("mcnemar", matrix.tolist()), statistic)
        assert same(value("mcnemar_p_value", matrix.tolist()), stats.chi2.sf(statistic, kept.sum()))
