"""Classes of `labels` that have not occurred: what a mean over classes may still become.

Such a class counts in the mean with the value of 0/0, usually 0, although nothing is known of it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stream_metrics.catalog.table import MetricSpec
from stream_metrics.errors import quantity
from stream_metrics.formulas.protocol import Counts
from stream_metrics.inference.intervals.batched_counts import BatchedCounts, batch_of_one
from stream_metrics.inference.intervals.batched_formulas import MARGINS
from stream_metrics.inference.intervals.interval import Interval

__all__ = ["COUNT_ABSENT", "including_absent"]

COUNT_ABSENT = frozenset((  # metrics that also average classes without samples and predictions
    "accuracy_ovo", "average_accuracy", "cohen_kappa_ovo", "f1_ovo", "f1_ovo_first_positive", "general_f1",
    "general_f1_geometric", "general_f1_harmonic", "general_f1_power_2", "general_fowlkes_mallows",
    "general_fowlkes_mallows_geometric", "general_fowlkes_mallows_harmonic", "general_fowlkes_mallows_power_2",
    "macro_f1", "macro_f1_of_means", "macro_fbeta", "macro_jaccard", "macro_precision", "macro_recall",
    "macro_specificity", "matthews_corrcoef_ovo", "ovo", "power_mean_all_precision_recall",
))  # fmt: skip


def including_absent(row: MetricSpec, c: Counts, interval: Interval, zero: float) -> Interval:
    """Return the interval of a mean over classes, extended to what it would be if absent classes occurred.

    Their values are between those of a class with one hit and of a class with one sample and one prediction, both
    wrong. Means over pairs of classes may be anything.
    """
    absent = c.true_totals + c.predicted_totals == 0
    if row.key not in COUNT_ABSENT or not absent.any() or np.isnan(interval.low):
        return interval
    low, high = row.low, row.high
    if row.key in MARGINS:
        one, more = batch_of_one(c), absent.astype(np.float64)
        d, true, predicted = one.totals
        ends = [
            BatchedCounts(d + hit * more, true + more, predicted + more, one.total + more.sum(), one.values, one.where)
            for hit in (0, 1)
        ]
        now, least, most = (float(MARGINS[row.key](each, zero)) for each in (one, *ends))
        low, high = max(low, interval.low + min(least - now, 0.0)), min(high, interval.high + max(most - now, 0.0))
    count = int(np.count_nonzero(absent))
    have = "has" if count == 1 else "have"
    note = f"{count} of {quantity(c.k, 'class')} {have} not occurred, and the interval includes what the value may be"
    return replace(interval, low=low, high=high, note="; ".join(filter(None, (interval.note, note))))
