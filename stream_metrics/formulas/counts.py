"""Counts: totals of the classes, sums over the classes, and the integers behind MCC and kappa. They are never 0/0."""

from __future__ import annotations

from stream_metrics.formulas.arithmetic import plain
from stream_metrics.formulas.protocol import Counts, Floats, Form, Numbers
from stream_metrics.formulas.two_classes import in_weights, one_vs_all

EVERYTHING: Form = (0, 0, 0, 1)
PREVALENCE: tuple[Form, Form] = (0, 1, 0, 0), EVERYTHING
DETECTION_PREVALENCE: tuple[Form, Form] = (0, 0, 1, 0), EVERYTHING


def confusion_matrix(c: Counts) -> Numbers:
    """Weight by true class (rows) and predicted class (columns).

    C_ij
    """
    return c.matrix


def support(c: Counts) -> Numbers:
    """Weight of the samples of a class.

    t_k
    """
    return c.true_totals


def predicted_count(c: Counts) -> Numbers:
    """Weight of the predictions of a class.

    p_k
    """
    return c.predicted_totals


def tp(c: Counts) -> Numbers:
    """True positives of a class against the rest.

    C_kk
    """
    return c.diagonal


def fn(c: Counts) -> Numbers:
    """False negatives of a class against the rest.

    t_k - C_kk
    """
    return in_weights(one_vs_all(c).fn, c.unit)


def fp(c: Counts) -> Numbers:
    """False positives of a class against the rest.

    p_k - C_kk
    """
    return in_weights(one_vs_all(c).fp, c.unit)


def tn(c: Counts) -> Numbers:
    """True negatives of a class against the rest.

    N - t_k - p_k + C_kk
    """
    return in_weights(one_vs_all(c).tn, c.unit)


def tp_sum(c: Counts) -> int | float:
    """True positives summed over the classes.

    c
    """
    return plain(c.hits)


def fn_sum(c: Counts) -> int | float:
    """False negatives summed over the classes.

    N - c
    """
    return plain(c.total - c.hits)


def fp_sum(c: Counts) -> int | float:
    """False positives summed over the classes.

    N - c
    """
    return plain(c.total - c.hits)


def tn_sum(c: Counts) -> int | float:
    """True negatives summed over the classes.

    (K - 2) N + c
    """
    return plain((c.k - 2) * c.total + c.hits)


def cov_true_pred(c: Counts) -> int | float:
    """Covariance of truth and prediction, up to a factor: the numerator of MCC and of kappa.

    c N - sum t_k p_k
    """
    return plain(c.hits * c.total - c.true_dot_predicted)


def cov_pred_pred(c: Counts) -> int | float:
    """Variance of the prediction, up to the same factor.

    N^2 - sum p_k^2
    """
    return plain(c.total * c.total - c.predicted_dot_predicted)


def cov_true_true(c: Counts) -> int | float:
    """Variance of the truth, up to the same factor.

    N^2 - sum t_k^2
    """
    return plain(c.total * c.total - c.true_dot_true)


def prevalence(c: Counts) -> Floats:
    """Share of the samples that belong to a class.

    t_k / N
    """
    return c._ratios(*PREVALENCE)


def detection_rate(c: Counts) -> Floats:
    """Share of all samples that belong to a class and are predicted as the class.

    C_kk / N
    """
    return c._ratios((1, 0, 0, 0), EVERYTHING)


def detection_prevalence(c: Counts) -> Floats:
    """Share of the predictions that name a class.

    p_k / N
    """
    return c._ratios(*DETECTION_PREVALENCE)
