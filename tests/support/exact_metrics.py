"""Every metric of counts as its definition says, in fractions and in decimals of 80 digits.

`REFERENCES` maps a key to a function of `Exact`, and to how far a value may be from it. It shares nothing with the
package. A value is a number, a `Fraction`, a `Decimal`, None for 0/0, or lists of these.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

decimal.getcontext().prec = 80
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")
ULP = 2.0**-53
Value = Any


class Bound(NamedTuple):
    """A value may differ by `relative` of the reference plus `absolute`; both 0: it is the nearest float."""

    relative: float = 0.0
    absolute: float = 0.0


ROUNDED = Bound()
FEW_ROUNDINGS, SOME_ROUNDINGS, MORE_ROUNDINGS = Bound(6 * ULP), Bound(8 * ULP), Bound(10 * ULP)
MEAN = Bound(4 * ULP, 2.0**-79)  # the kernel adds ratios in units of 2^-80
WEIGHTED_MEAN = Bound(4 * ULP, 2.0**-61)  # and of 2^-62
LOGARITHMS = Bound(2.0**-44)
NEAR_ONE = Bound(0, 2.0**-48)  # differences of numbers from 0 to 1; docs/guarantees.md says which bound is whose


def over(a: Any, b: Any) -> Value:
    """Return a / b, None if b is 0."""
    return a / b if b else None


def dot(a: list[Fraction], b: list[Fraction]) -> Fraction:
    """Return the inner product."""
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


class Exact:
    """A square matrix of weights, rows true, and what stands for 0/0 within an average."""

    def __init__(self, cells: list[list[Fraction]], zero: float = 0.0) -> None:
        self.cells, self.zero, self.k, self.classes = cells, zero, len(cells), range(len(cells))
        self.true = [sum(row, Fraction(0)) for row in cells]
        self.predicted = [sum(column, Fraction(0)) for column in zip(*cells, strict=True)]
        self.diagonal = [cells[i][i] for i in self.classes]
        self.total, self.hits = sum(self.true, Fraction(0)), sum(self.diagonal, Fraction(0))
        self.chance = dot(self.true, self.predicted)
        self.occurring = [i for i in self.classes if self.true[i] or self.predicted[i]]
        rows = list(zip(self.diagonal, self.true, self.predicted, strict=True))
        self.recalls = [tp / t for tp, t, _ in rows if t]
        self.tables = [(tp, t - tp, p - tp, self.total - t - p + tp) for tp, t, p in rows]  # TP, FN, FP, TN
        self.pairs = [(cells[i][i], cells[i][j], cells[j][i], cells[j][j]) for i, j in combinations(self.classes, 2)]

    def filled(self, values: list[Value]) -> list[Value]:
        """Return the values of an average: None becomes `zero`, or is left out if that is nan; none without data."""
        instead = [] if math.isnan(self.zero) else [Fraction(self.zero)]
        return [x for value in values for x in (instead if value is None else [value])] if self.total else []


def decimals(x: Any) -> Decimal:
    """Return a number with 80 digits."""
    return x if isinstance(x, Decimal) else Decimal(x.numerator) / Decimal(x.denominator)


def phi(covariance: Fraction, a: Fraction, b: Fraction) -> Value:
    """Return covariance / sqrt(a b)."""
    return covariance and decimals(covariance) / decimals(a * b).sqrt() if a and b else None


def mean(values: list[Value], p: int = 1) -> Value:
    """Return the power mean of numbers, which are >= 0 unless p is 1; None without numbers."""
    if not values or (p <= 0 and 0 in values):
        return Fraction(0) if values else None
    numbers = [decimals(value) for value in values]
    if p == 0:
        return (sum(x.ln() for x in numbers) / len(numbers)).exp()
    return (sum(x**p for x in numbers) / len(numbers)) ** (Decimal(1) / p)


RATES: dict[str, Callable[..., Value]] = {
    "precision": lambda tp, fn, fp, tn: over(tp, tp + fp),
    "recall": lambda tp, fn, fp, tn: over(tp, tp + fn),
    "specificity": lambda tp, fn, fp, tn: over(tn, tn + fp),
    "npv": lambda tp, fn, fp, tn: over(tn, tn + fn),
    "false_positive_rate": lambda tp, fn, fp, tn: over(fp, fp + tn),
    "false_negative_rate": lambda tp, fn, fp, tn: over(fn, fn + tp),
    "false_discovery_rate": lambda tp, fn, fp, tn: over(fp, fp + tp),
    "false_omission_rate": lambda tp, fn, fp, tn: over(fn, fn + tn),
    "f1": lambda tp, fn, fp, tn: over(2 * tp, 2 * tp + fn + fp),
    "f1_negative": lambda tp, fn, fp, tn: over(2 * tn, 2 * tn + fn + fp),
    "jaccard": lambda tp, fn, fp, tn: over(tp, tp + fn + fp),
    "ova_accuracy": lambda tp, fn, fp, tn: over(tp + tn, tp + fn + fp + tn),
    "prevalence": lambda tp, fn, fp, tn: over(tp + fn, tp + fn + fp + tn),
    "detection_rate": lambda tp, fn, fp, tn: over(tp, tp + fn + fp + tn),
    "detection_prevalence": lambda tp, fn, fp, tn: over(tp + fp, tp + fn + fp + tn),
}
RATES["fbeta"] = RATES["f1"]


def correlation(tp: Fraction, fn: Fraction, fp: Fraction, tn: Fraction) -> Value:
    """Return Matthews correlation."""
    return phi(tp * tn - fp * fn, (tp + fn) * (tn + fp), (tp + fp) * (tn + fn))


def kappa(tp: Fraction, fn: Fraction, fp: Fraction, tn: Fraction) -> Value:
    """Return Cohen's kappa."""
    return over(2 * (tp * tn - fp * fn), (tp + fn) * (fn + tn) + (tp + fp) * (fp + tn))


def fowlkes_mallows(tp: Fraction, fn: Fraction, fp: Fraction, tn: Fraction) -> Value:
    """Return TP / sqrt(t p); 0 where only one of the two is 0."""
    return Fraction(0) if (tp + fn == 0) != (tp + fp == 0) else phi(tp, tp + fn, tp + fp)


def p4(tp: Fraction, fn: Fraction, fp: Fraction, tn: Fraction) -> Value:
    """Return the harmonic mean of four, continued by 0."""
    return over(4 * tp * tn, 4 * tp * tn + (tp + tn) * (fn + fp)) if tp + tn or not fn + fp else Fraction(0)


def four_rates(*table: Fraction) -> Value:
    """Return the harmonic mean of recall, precision, specificity and NPV; 0 if one is 0, else 0/0 if one is."""
    rates = [RATES[key](*table) for key in ("recall", "precision", "specificity", "npv")]
    return None if None in rates and 0 not in rates else mean(rates, -1)


def balanced(*table: Fraction) -> Value:
    """Return the mean of recall and specificity, or the one that is defined."""
    return mean([x for x in (RATES["recall"](*table), RATES["specificity"](*table)) if x is not None])


def negative_literal(*table: Fraction) -> Value:
    """Return the harmonic mean of specificity and recall, 0 if both are."""
    recall, rejected = RATES["recall"](*table), RATES["specificity"](*table)
    return None if None in (recall, rejected) else over(2 * recall * rejected, recall + rejected) or Fraction(0)


Reader = Callable[[Exact], Value]


def per_class(of_table: Callable[..., Value]) -> Reader:
    """Return the metric of every class against the rest."""
    return lambda c: [of_table(*table) for table in c.tables]


def macro(of_table: Callable[..., Value], p: int = 1) -> Reader:
    """Return the mean of a metric over the classes."""
    return lambda c: mean(c.filled([of_table(*table) for table in c.tables]), p)


def weighted(key: str) -> Reader:
    """Return the mean of a rate weighted by the true totals."""

    def read(c: Exact) -> Value:
        rows = [(x, t) for table, t in zip(c.tables, c.true, strict=True) for x in c.filled([RATES[key](*table)])]
        return over(sum(x * t for x, t in rows), sum(t for _, t in rows))

    return read


def of_means(power: int) -> Reader:
    """Return the F1 of macro precision and macro recall, whose product has a power of 2 in what eq. 16 prints."""

    def read(c: Exact) -> Value:
        precision, recall = macro(RATES["precision"])(c), macro(RATES["recall"])(c)
        if not precision or not recall:
            return None if None in (precision, recall) else Fraction(0)
        return 2 * (precision * recall) ** power / (precision + recall)

    return read


def all_rates(c: Exact) -> Value:
    """Return the harmonic mean of all precisions and recalls, 0 if one is."""
    rates = [RATES[key](*table) for key in ("precision", "recall") for table in c.tables]
    return Fraction(0) if 0 in rates else mean(c.filled(rates), -1)


def over_pairs(metric: Callable[..., Value], both: bool = False) -> Reader:
    """Return the mean over the pairs of classes, of one choice of the positive class or of both."""

    def read(c: Exact) -> Value:
        sides = [[metric(*pair), *([metric(*pair[::-1])] if both else [])] for pair in c.pairs]
        return mean(c.filled([mean(c.filled(values)) for values in sides]))

    return read


def weighted_kappa(power: int) -> Reader:
    """Return 1 - sum w C / sum w E."""

    def read(c: Exact) -> Value:
        places = [(i, j, abs(i - j) ** power) for i in c.classes for j in c.classes]
        expected = sum(w * c.true[i] * c.predicted[j] for i, j, w in places)
        return over(expected - sum(w * c.cells[i][j] for i, j, w in places) * c.total, expected)

    return read


def determinant(rows: list[list[Any]]) -> Any:
    """Return the determinant by expansion along the first row."""
    minors = ([row[:j] + row[j + 1 :] for row in rows[1:]] for j in range(len(rows)))
    return sum((-1) ** j * rows[0][j] * determinant(minor) for j, minor in enumerate(minors)) if rows else 1


def generalized_mcc(literal: bool) -> Reader:
    """Return the determinant of the normalised matrix, or of the roots of C_ij C_ji."""

    def read(c: Exact) -> Value:
        at = c.occurring
        cells = [[decimals(c.cells[i][j] * c.cells[j][i]).sqrt() if literal else c.cells[i][j] for j in at] for i in at]
        below = math.prod(c.true[i] * c.predicted[i] for i in at)
        return decimals(determinant(cells)) / decimals(below).sqrt() if len(at) > 1 and below else None

    return read


def normalised(c: Exact) -> Value:
    """Return C_ij / sqrt(t_i p_j)."""
    return [[phi(c.cells[i][j], c.true[i], c.predicted[j]) for j in c.classes] for i in c.classes]


def rounded(c: Exact) -> Value:
    """Return the determinant of the normalised matrix rounded to one decimal; it is unknown on the edge of two."""
    rows = normalised(c)
    if not rows or any(x is None for row in rows for x in row):
        return None
    tenths = [[decimals(x).quantize(Decimal("0.1")) for x in row] for row in rows]
    off = max(abs(decimals(x) - y) for a, b in zip(rows, tenths, strict=True) for x, y in zip(a, b, strict=True))
    return NotImplemented if off > Decimal("0.05") - Decimal("1e-12") else determinant(tenths)


def chi2(c: Exact) -> Value:
    """Return Pearson's chi-square."""
    parts = [(c.cells[i][j], over(c.true[i] * c.predicted[j], c.total)) for i in c.classes for j in c.classes]
    return sum(((x - e) ** 2 / e for x, e in parts if e), Fraction(0)) if c.total else None


def cramers_v(c: Exact) -> Value:
    """Return Cramer's V."""
    k = len(c.occurring)
    return decimals(chi2(c) / (c.total * (k - 1))).sqrt() if k > 1 else None


def pair_index(c: Exact) -> Value:
    """Return the index over pairs of samples."""
    together = [dot(x, x) - c.total for x in ([x for row in c.cells for x in row], c.predicted, c.true)]
    return phi(*together)


GUESSES: dict[str, Reader] = {
    "stratified": lambda c: [t / c.total for t in c.true],
    "uniform": lambda c: [Fraction(1, c.k)] * c.k,
    "most_frequent": lambda c: [Fraction(i == c.true.index(max(c.true))) for i in c.classes],
}


def of_guess(part: str, strategy: str) -> Reader:
    """Return precision, recall, F1 or the expected matrix of a guess."""

    def read(c: Exact) -> Value:
        if not c.total:
            return [[None] * c.k for _ in c.classes] if part == "matrix" else [None] * c.k
        named = GUESSES[strategy](c)
        rows = [(t / c.total, r) for t, r in zip(c.true, named, strict=True)]
        return {
            "matrix": [[t * r for r in named] for t in c.true],
            "recall": named,
            "precision": [share if r else Fraction(0) for share, r in rows],
            "f1": [over(2 * share * r, share + r) or Fraction(0) for share, r in rows],
        }[part]

    return read


def binomial_tail(x: Fraction, n: Fraction, p: Fraction) -> Fraction:
    """Return P[X >= x], the sum of its terms."""
    return sum((math.comb(int(n), i) * p**i * (1 - p) ** (n - i) for i in range(int(x), int(n) + 1)), Fraction(0))


def majority(c: Exact) -> Value:
    """Return the p-value of the predictions against the most frequent class."""
    most = c.true.index(max(c.true))
    better, worse = c.hits - c.diagonal[most], c.true[most] - c.diagonal[most]
    return binomial_tail(better, better + worse, Fraction(1, 2))


def mcnemar(c: Exact) -> Value:
    """Return McNemar's statistic with its correction for two classes, else Bowker's."""
    if c.k == 2 and c.cells[0][1] != c.cells[1][0]:
        return (abs(c.cells[0][1] - c.cells[1][0]) - 1) ** 2 / (c.cells[0][1] + c.cells[1][0])
    return sum(((b - d) ** 2 / (b + d) for _, b, d, _ in c.pairs if b or d), Fraction(0))


def mcnemar_p_value(c: Exact) -> Value:
    """Return the tail of the chi-square distribution, P[Y > 2x] = 1 - x^a e^-x / Gamma(a + 1) (1 + x/(a + 1) + ...)."""
    x, a = decimals(mcnemar(c)) / 2, Decimal(sum(1 for _, b, d, _ in c.pairs if b or d)) / 2
    if not x or not a:
        return Fraction(1)
    gamma = math.prod((a - i for i in range(math.ceil(a))), start=PI.sqrt() if a % 1 else Decimal(1))
    term = total = Decimal(1)
    step = a
    while term > total * Decimal("1e-79"):
        step += 1
        term *= x / step
        total += term
    return 1 - (a * x.ln() - x).exp() / gamma * total


def balanced_accuracy(c: Exact) -> Value:
    """Return the mean of the recalls that are defined."""
    return mean(c.recalls)


def both_or_none(c: Exact) -> Value:
    """Return sum w R / (K sum w) with weights of 1, over the classes with samples."""
    return over(sum(c.recalls), c.k * len(c.recalls))


def accuracy(c: Exact) -> Value:
    """Return the share of hits."""
    return over(c.hits, c.total)


def stratified(c: Exact) -> Value:
    """Return the accuracy of a guess in the proportions of the classes."""
    return over(dot(c.true, c.true), c.total**2)


REFERENCES: dict[str, tuple[Reader, Bound]] = {
    **dict.fromkeys(("accuracy", "micro_precision", "micro_recall", "micro_f1"), (accuracy, ROUNDED)),
    **dict.fromkeys(("micro_fbeta", "weighted_recall"), (accuracy, ROUNDED)),
    "zero_one_loss": (lambda c: over(c.total - c.hits, c.total), ROUNDED),
    "micro_jaccard": (lambda c: over(c.hits, 2 * c.total - c.hits), ROUNDED),
    "micro_f1_code_literal": (lambda c: over(2 * c.hits, c.hits + c.total), ROUNDED),
    "average_accuracy": (lambda c: over((c.k - 2) * c.total + 2 * c.hits, c.k * c.total), ROUNDED),
    **dict.fromkeys(("balanced_accuracy", "weighted_balanced_accuracy"), (balanced_accuracy, MEAN)),
    **{f"weighted_balanced_accuracy_eq{at}_literal": (both_or_none, FEW_ROUNDINGS) for at in (7, 8)},
    "balanced_accuracy_adjusted": (lambda c: over(sum(c.recalls) - 1, max(len(c.recalls) - 1, 0)), NEAR_ONE),
    "geometric_mean": (lambda c: mean(c.recalls, 0), LOGARITHMS),
    **{f"macro_{x}": (macro(RATES[x]), MEAN) for x in ("precision", "recall", "specificity", "f1", "fbeta", "jaccard")},
    **{f"weighted_{key}": (weighted(key), WEIGHTED_MEAN) for key in ("precision", "f1", "fbeta", "jaccard")},
    "macro_f1_of_means": (of_means(1), Bound(16 * ULP, 2.0**-78)),
    "macro_f1_eq16_literal": (of_means(2), Bound(24 * ULP, 2.0**-78)),
    "general_f1": (macro(RATES["f1"]), MEAN),
    "general_fowlkes_mallows": (macro(fowlkes_mallows), FEW_ROUNDINGS),
    **{
        f"general_{key}_{name}": (macro(of_table, p), LOGARITHMS)
        for key, of_table in (("f1", RATES["f1"]), ("fowlkes_mallows", fowlkes_mallows))
        for name, p in (("geometric", 0), ("harmonic", -1), ("power_2", 2))
    },
    "power_mean_all_precision_recall": (all_rates, LOGARITHMS),
    "cohen_kappa": (lambda c: over(c.hits * c.total - c.chance, c.total**2 - c.chance), ROUNDED),
    **dict.fromkeys(("weighted_kappa", "weighted_kappa_linear"), (weighted_kappa(1), ROUNDED)),
    "weighted_kappa_quadratic": (weighted_kappa(2), ROUNDED),
    "expected_accuracy": (lambda c: over(c.chance, c.total**2), ROUNDED),
    "expected_accuracy_term": (
        lambda c: [over(t * p, c.total**2) for t, p in zip(c.true, c.predicted, strict=True)],
        ROUNDED,
    ),
    "expected_matrix": (lambda c: [[over(t * p, c.total) for p in c.predicted] for t in c.true], FEW_ROUNDINGS),
    "matthews_corrcoef": (
        lambda c: phi(
            c.hits * c.total - c.chance,
            c.total**2 - dot(c.predicted, c.predicted),
            c.total**2 - dot(c.true, c.true),
        ),
        FEW_ROUNDINGS,
    ),
    "generalized_mcc": (generalized_mcc(literal=False), FEW_ROUNDINGS),
    "generalized_mcc_code_literal": (generalized_mcc(literal=True), NEAR_ONE),
    "generalized_mcc_rounded_literal": (rounded, NEAR_ONE),
    "generalized_mcc_matrix": (normalised, FEW_ROUNDINGS),
    "chi2": (chi2, SOME_ROUNDINGS),
    "cramers_v": (cramers_v, SOME_ROUNDINGS),
    "pair_fowlkes_mallows": (pair_index, FEW_ROUNDINGS),
    "matthews_corrcoef_ovo": (over_pairs(correlation), NEAR_ONE),
    "accuracy_ovo": (over_pairs(RATES["ova_accuracy"]), SOME_ROUNDINGS),
    "cohen_kappa_ovo": (over_pairs(kappa), NEAR_ONE),
    **dict.fromkeys(("f1_ovo", "ovo"), (over_pairs(RATES["f1"], both=True), MORE_ROUNDINGS)),
    "f1_ovo_first_positive": (over_pairs(RATES["f1"]), SOME_ROUNDINGS),
    **{key: (per_class(rate), ROUNDED) for key, rate in RATES.items()},
    "power_mean_precision_recall": (per_class(RATES["f1"]), LOGARITHMS),
    "power_mean_four_rates": (per_class(four_rates), LOGARITHMS),
    "fowlkes_mallows": (per_class(fowlkes_mallows), FEW_ROUNDINGS),
    "p4": (per_class(p4), MORE_ROUNDINGS),
    "ova_balanced_accuracy": (per_class(balanced), FEW_ROUNDINGS),
    "ova_matthews_corrcoef": (per_class(correlation), FEW_ROUNDINGS),
    "f1_negative_literal": (per_class(negative_literal), FEW_ROUNDINGS),
    "confusion_matrix": (lambda c: c.cells, ROUNDED),
    "support": (lambda c: c.true, ROUNDED),
    "predicted_count": (lambda c: c.predicted, ROUNDED),
    **{key: (per_class(lambda *table, at=at: table[at]), ROUNDED) for at, key in enumerate(("tp", "fn", "fp", "tn"))},
    "tp_sum": (lambda c: c.hits, ROUNDED),
    **dict.fromkeys(("fn_sum", "fp_sum"), (lambda c: c.total - c.hits, ROUNDED)),
    "tn_sum": (lambda c: (c.k - 2) * c.total + c.hits, ROUNDED),
    "weighted_accuracy_literal": (lambda c: c.hits, FEW_ROUNDINGS),
    "cov_true_pred": (lambda c: c.hits * c.total - c.chance, ROUNDED),
    "cov_pred_pred": (lambda c: c.total**2 - dot(c.predicted, c.predicted), ROUNDED),
    "cov_true_true": (lambda c: c.total**2 - dot(c.true, c.true), ROUNDED),
    "majority_class": (lambda c: Fraction(c.true.index(max(c.true))) if c.total else None, ROUNDED),
    "no_information_rate": (lambda c: over(max(c.true), c.total), ROUNDED),
    "baseline_uniform_accuracy": (lambda c: over(c.total, c.k * c.total), ROUNDED),
    "baseline_stratified_accuracy": (stratified, ROUNDED),
    "baseline_accuracy": (stratified, FEW_ROUNDINGS),
    **{
        f"baseline_{prefix}{part}": (of_guess(part, strategy), FEW_ROUNDINGS)
        for prefix, strategy in (("", "stratified"), *((f"{name}_", name) for name in GUESSES))
        for part in ("precision", "recall", "f1", "matrix")
    },
    "nir_p_value": (lambda c: binomial_tail(c.hits, c.total, over(max(c.true), c.total) or Fraction(0)), LOGARITHMS),
    "majority_p_value": (majority, LOGARITHMS),
    "mcnemar": (mcnemar, FEW_ROUNDINGS),
    "mcnemar_p_value": (mcnemar_p_value, LOGARITHMS),
}
