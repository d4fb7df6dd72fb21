"""Questions that a snapshot cannot answer: the error names the argument, what is expected, and what it got."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics.evaluation.numbers import number_of
from stream_metrics.inference.comparison.tests import mcnemar_test
from stream_metrics.inference.planning import samples_for_power, samples_needed


def labels() -> sm.Snapshot:
    """Return the snapshot of a set of labels."""
    metrics = sm.MetricSet()
    metrics.update_many(list("aabbbc") * 20, list("abbbbc") * 20)
    return metrics.snapshot()


def scores() -> sm.Snapshot:
    """Return the snapshot of a set of scores."""
    rng = np.random.default_rng(1)
    truth = rng.random(200) < 0.5
    metrics = sm.MetricSet(scores=True)
    metrics.update_many(truth, scores=np.where(truth, rng.beta(2, 1, 200), rng.beta(1, 2, 200)))
    return metrics.snapshot()


def comparison(unit: Any = None) -> sm.ComparisonSnapshot:
    """Return the snapshot of two models."""
    state = sm.Comparison()
    state.update_many(list("aabb") * 10, list("abab") * 10, list("aaab") * 10, unit=unit)
    return state.snapshot()


def detector() -> Any:
    """Return the snapshot of a change detector."""
    return sm.ChangeDetector(0.2, arl=100).snapshot()


QUESTIONS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: comparison().evidence("c"), ValueError, "`better` to be 'a', 'b' or 'either', but got 'c'"),
    (lambda: comparison().difference("accuracy", level=1), ValueError, "`level` to be between 0 and 1, but got 1"),
    (lambda: comparison().difference("accuracy", valid="ever"), ValueError, "`valid` to be 'fixed' or 'anytime'"),
    (lambda: comparison().difference("recall"), KeyError, "a label for a per-class key .* but got 'recall', None"),
    (lambda: comparison().difference("accuracy", label="a"), KeyError, "none for a whole one, but got 'accuracy', 'a'"),
    (lambda: comparison().difference("accuracy", "exact"), ValueError, "`level` to be a number, but got 'exact'"),
    (lambda: comparison().difference("accuracy", method="exact"), ValueError, "`method` to be one of .*'exact'"),
    (lambda: comparison().difference("accuracy", method="folds"), ValueError, "with a `unit` for the method 'folds'"),
    (
        lambda: comparison(unit=range(40)).difference("accuracy", method="delta"),
        ValueError,
        "the method 'folds' for samples with a `unit`, but got 'delta'",
    ),
    (lambda: mcnemar_test(1, 2, "wald"), ValueError, "`method` to be 'midp', 'exact' or 'chi2', but got 'wald'"),
    (lambda: labels().interval(lambda c: 0.5, method="wilson"), ValueError, "`method` for a function .*'wilson'"),
    (lambda: labels().interval(lambda c: 0.5, valid="anytime"), ValueError, "valid='fixed' for a function"),
    (lambda: number_of(labels().evaluation, "confusion_matrix"), KeyError, "'confusion_matrix' is a matrix"),
    (lambda: scores().interval("roc_auc_ovr", label=True), KeyError, "no label for 'roc_auc_ovr'"),
    (lambda: scores().interval("roc_auc", max_fpr=0.5), ValueError, "no options for the interval of 'roc_auc'"),
    (
        lambda: scores().interval("ks_statistic", label=True, valid="anytime"),
        ValueError,
        "valid='fixed' for 'ks_statistic'",
    ),
    (lambda: samples_needed(0.1, rate=0.9, level=2), ValueError, r"a `level` in \(0, 1\) .* but got 2"),
    (
        lambda: samples_needed(0.1, snapshot=sm.MetricSet().snapshot(), key="accuracy", valid="anytime"),
        ValueError,
        "a guess with a value of 'accuracy', but it is 0/0",
    ),
    (lambda: samples_for_power(0.5, 1e-12, rate=0.5), ValueError, r"a number of samples below 2\*\*62"),
    (lambda: detector().speed, AttributeError, r"one of \['abstained', .*\], but got 'speed'"),
]


@pytest.mark.parametrize(("ask", "error", "message"), QUESTIONS, ids=range(len(QUESTIONS)))
def test_the_error_names_the_argument(ask: Callable[[], Any], error: type[Exception], message: str) -> None:
    """A question that makes no sense raises before anything is computed."""
    with pytest.raises(error, match=message):
        ask()
