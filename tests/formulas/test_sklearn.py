"""Metrics that scikit-learn and SciPy define too, on random labels, with weights and with 0/0."""

from __future__ import annotations

import math
import warnings
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from support.values import plain, same, value

import stream_metrics as sm

pytestmark = pytest.mark.quick
SEEDS = range(4)
ZEROS = (0.0, 1.0, math.nan)
BETA = {"fbeta": {"beta": 0.5}}


def sample(seed: int, weighted: bool) -> tuple[list[str], list[str], list[float] | None]:
    """Return labels of up to six classes, of which some are never true or never predicted, and weights."""
    rng = np.random.default_rng(seed)
    names = np.array(list("abcdef"))
    true = names[rng.choice(6, 60, p=[0.5, 0.2, 0.2, 0.1, 0, 0])]
    predicted = np.where(rng.random(60) < 0.5, true, names[rng.choice(6, 60, p=[0.4, 0.3, 0, 0.2, 0.1, 0])])
    weights = rng.choice([0.25, 0.5, 1, 3, 0.1], 60).tolist() if weighted else None
    return true.tolist(), predicted.tolist(), weights


def ours(key: str, sample: Any, zero: float | None = None, **options: Any) -> Any:
    """Return our value of a metric of such labels."""
    counts = sm.ConfusionMatrix()
    counts.update_many(*sample)
    return plain(sm.Snapshot(counts, zero_division=zero).value(key, **options))


def test_metrics_of_labels_are_those_of_sklearn() -> None:
    """Values agree to 1e-12, with weights and without, for every choice for 0/0 that scikit-learn offers."""
    from sklearn import metrics as sk

    without_choice = {
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
    averages = {"": None, "macro_": "macro", "micro_": "micro", "weighted_": "weighted"}
    rates, failures = ("precision", "recall", "f1", "fbeta", "jaccard"), []
    for seed, weighted in product(SEEDS, (False, True)):
        true, predicted, w = data = sample(seed, weighted)
        with warnings.catch_warnings(action="ignore"):
            theirs = {
                (key, None): function(true, predicted, sample_weight=w) for key, function in without_choice.items()
            }
        for name, (prefix, average), zero in product(rates, averages.items(), ZEROS):
            options = {"sample_weight": w, "average": average, "zero_division": zero, **BETA.get(name, {})}
            if name != "jaccard" or not math.isnan(zero):  # which has no zero_division=nan there
                theirs[prefix + name, zero] = getattr(sk, f"{name}_score")(true, predicted, **options)
        if not weighted:
            theirs["pair_fowlkes_mallows", None] = sk.fowlkes_mallows_score(true, predicted)
        for (key, zero), expected in theirs.items():
            if not same(ours(key, data, zero, **BETA.get(key.rpartition("_")[2], {})), np.asarray(expected).tolist()):
                failures.append((key, zero, seed, weighted))

    assert not failures


def test_metrics_of_labels_are_those_of_scipy() -> None:
    """Chi-square, Cramer's V, the binomial tests and Bowker's test, where no row and no column is empty."""
    from scipy import stats

    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        matrix, (a, b, c, d) = rng.integers(0, 30, (4, 4)) + np.eye(4, dtype=int), rng.integers(1, 40, 4).tolist()
        n, pair, errors = a + b + c + d, [[a, b], [c, d]], rng.integers(0, 4, (5, 5))
        above = stats.binomtest(a + d, n, max(a + b, c + d) / n, alternative="greater").pvalue
        upper, lower = errors[np.triu_indices(5, 1)], errors.T[np.triu_indices(5, 1)]
        some = upper + lower > 0
        statistic = ((upper - lower)[some] ** 2 / (upper + lower)[some]).sum()

        assert same(value("chi2", matrix), stats.chi2_contingency(matrix, correction=False).statistic)
        assert same(value("cramers_v", matrix), stats.contingency.association(matrix, method="cramer"))
        assert same(value("nir_p_value", pair), above)
        assert same(value("mcnemar_p_value", pair, exact=True), stats.binomtest(b, b + c).pvalue)
        assert same(value("mcnemar", errors), statistic)
        assert same(value("mcnemar_p_value", errors), stats.chi2.sf(statistic, some.sum()))
