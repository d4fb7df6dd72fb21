"""The formulas of the catalogue for many matrices at once, by what they read.

A batched formula takes `BatchedCounts` and the number that replaces a component that is 0/0 (nan: left out). It returns
one value for each matrix, or for each class of each matrix, nan where it is 0/0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from stream_metrics.catalog.table import CATALOG
from stream_metrics.formulas.protocol import Form
from stream_metrics.formulas.rates import FORMS
from stream_metrics.formulas.two_classes import TwoByTwo
from stream_metrics.inference.intervals.batched_counts import Batch, BatchedCounts

__all__ = ["CELLS", "MARGINS", "PAIR_LIMIT", "PER_CLASS", "RATES", "BatchedFormula"]

BatchedFormula: TypeAlias = Callable[[BatchedCounts | TwoByTwo, float], Batch]
PAIR_LIMIT = 128  # classes; the pairs of more are ten thousand numbers for each of thousands of matrices


def _batched(key: str) -> BatchedFormula:
    row = CATALOG[key]
    if row.uses_zero_division:
        return lambda c, zero_division: row.formula(c, zero_division=zero_division)
    return lambda c, _: row.formula(c)


def _of_pairs(key: str) -> BatchedFormula:
    formula = _batched(key)

    def of(c: BatchedCounts | TwoByTwo, zero_division: float) -> Batch:
        if isinstance(c, BatchedCounts) and c.k > PAIR_LIMIT:
            raise ValueError(
                f"Expected at most {PAIR_LIMIT} classes for an interval of a mean over pairs, but got {c.k}"
            )
        return formula(c, zero_division)

    return of


def _by_key(keys: Iterable[str]) -> dict[str, BatchedFormula]:
    return {key: (_of_pairs if "ovo" in key else _batched)(key) for key in keys}


MARGINS = _by_key((  # of C_kk, t_k, p_k and N alone
    "accuracy", "average_accuracy", "balanced_accuracy", "balanced_accuracy_adjusted", "cohen_kappa",
    "expected_accuracy", "general_f1", "general_f1_geometric", "general_f1_harmonic", "general_f1_power_2",
    "general_fowlkes_mallows", "general_fowlkes_mallows_geometric", "general_fowlkes_mallows_harmonic",
    "general_fowlkes_mallows_power_2", "geometric_mean", "macro_f1", "macro_f1_of_means", "macro_fbeta",
    "macro_jaccard", "macro_precision", "macro_recall", "macro_specificity", "matthews_corrcoef", "micro_f1",
    "micro_fbeta", "micro_jaccard", "micro_precision", "micro_recall", "power_mean_all_precision_recall",
    "weighted_balanced_accuracy", "weighted_f1", "weighted_fbeta", "weighted_jaccard", "weighted_precision",
    "weighted_recall", "zero_one_loss",
))  # fmt: skip
CELLS = _by_key((  # of all cells
    "accuracy_ovo", "chi2", "cohen_kappa_ovo", "cramers_v", "f1_ovo", "f1_ovo_first_positive", "generalized_mcc",
    "matthews_corrcoef_ovo", "ovo", "pair_fowlkes_mallows", "weighted_kappa", "weighted_kappa_linear",
    "weighted_kappa_quadratic",
))  # fmt: skip
RATES: dict[str, tuple[Form, Form]] = {
    **FORMS,
    "prevalence": ((0, 1, 0, 0), (0, 0, 0, 1)),
    "detection_rate": ((1, 0, 0, 0), (0, 0, 0, 1)),
    "detection_prevalence": ((0, 0, 1, 0), (0, 0, 0, 1)),
}
PER_CLASS = _by_key((  # of C_kk, t_k, p_k and N of the class alone
    *RATES, "expected_accuracy_term", "fbeta", "fowlkes_mallows", "ova_balanced_accuracy", "ova_matthews_corrcoef",
    "p4", "power_mean_four_rates", "power_mean_precision_recall",
))  # fmt: skip
