"""The formulas of values per class for many matrices at once: functions of C_kk, t_k, p_k and N of the class alone.

A form takes `Tables` and what stands for a component that is 0/0, and returns an array with the classes last.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from stream_metrics.formulas.protocol import Form
from stream_metrics.formulas.rates import F1, FORMS, NPV, PRECISION, RECALL, SPECIFICITY
from stream_metrics.inference.intervals.forms import divided, fowlkes_mallows
from stream_metrics.inference.intervals.tables import Tables

__all__ = ["PER_CLASS", "RATES"]

SHARES: dict[str, tuple[Form, Form]] = {
    "prevalence": ((0, 1, 0, 0), (0, 0, 0, 1)),
    "detection_rate": ((1, 0, 0, 0), (0, 0, 0, 1)),
    "detection_prevalence": ((0, 0, 1, 0), (0, 0, 0, 1)),
}
RATES: dict[str, tuple[Form, Form]] = {**FORMS, **SHARES}


def _rate(c: Tables, _: float, form: tuple[Form, Form]) -> Any:
    return c.ratios(*form)


def _table(c: Tables) -> tuple[Any, Any, Any, Any]:
    """Return TP, FN, FP and TN of every class."""
    tp = c.diagonal
    fn, fp = c.true - tp, c.predicted - tp
    return tp, fn, fp, c.total - c.true - fp


def _p4(c: Tables, _: float) -> Any:
    tp, fn, fp, tn = _table(c)
    right, product = tp + tn, 4 * tp * tn
    return divided(product, product + (right + (right == 0)) * (fp + fn))


def _matthews(c: Tables, _: float) -> Any:
    tp, fn, fp, tn = _table(c)
    with np.errstate(invalid="ignore"):
        below = np.sqrt(c.true * (c.total - c.true)) * np.sqrt(c.predicted * (c.total - c.predicted))
        return divided(tp * tn - fp * fn, below)


def _balanced(c: Tables, _: float) -> Any:
    found, rejected = c.ratios(*RECALL), c.ratios(*SPECIFICITY)
    return np.where(np.isnan(found), rejected, np.where(np.isnan(rejected), found, (found + rejected) / 2))


def _four(c: Tables, _: float) -> Any:
    """Return the harmonic mean of the four rates: 0 if one of them is, else 0/0 if one of them is."""
    rates = [c.ratios(*form) for form in (RECALL, PRECISION, SPECIFICITY, NPV)]
    zero = np.logical_or.reduce([rate == 0 for rate in rates])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(zero, 0.0, 4 / sum(1 / np.where(zero, 1.0, rate) for rate in rates))


def _two(c: Tables, _: float) -> Any:
    """Return F1 where both rates are defined; 0 if only one is, because that one is then 0."""
    return c.ratios(*F1)


PER_CLASS: dict[str, Callable[[Tables, float], Any]] = {
    **{key: partial(_rate, form=form) for key, form in RATES.items()},
    "expected_accuracy_term": lambda c, _: divided(c.true * c.predicted, c.total * c.total),
    "fbeta": partial(_rate, form=F1),
    "fowlkes_mallows": fowlkes_mallows,
    "ova_balanced_accuracy": _balanced,
    "ova_matthews_corrcoef": _matthews,
    "p4": _p4,
    "power_mean_four_rates": _four,
    "power_mean_precision_recall": _two,
}
