"""Every metric of counts as its definition says, in fractions and in decimals of 80 digits.

`REFERENCES` maps a key to a function of `Exact` and `zero_division`, and to how far a value may be from it. It shares
nothing with the package. A value is a `Fraction`, a `Decimal`, None for 0/0, or lists of these.
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
Value = Any
ULP = 2.0**-53


class Bound(NamedTuple):
    """A value may differ by `relative` of the reference plus `absolute`; both 0: it is the nearest float."""

    relative: float = 0.0
    absolute: float = 0.0


ROUNDED = Bound()
FEW_ROUNDINGS = Bound(6 * ULP)
MEAN = Bound(4 * ULP, 2.0**-79)  # the kernel adds ratios in units of 2^-80
WEIGHTED_MEAN = Bound(4 * ULP, 2.0**-61)  # and of 2^-62
LOGARITHMS = Bound(2.0**-44)
NEAR_ONE = Bound(0, 2.0**-48)  # differences of numbers from 0 to 1


class Exact:
    """A square matrix of weights, rows true."""

    def __init__(self, cells: list[list[Fraction]]) -> None:
        self.cells, self.k = cells, len(cells)
        self.classes = range(self.k)
        self.true = [sum(row, Fraction(0)) for row in cells]
        self.predicted = [sum(column, Fraction(0)) for column in zip(*cells, strict=True)]
        self.diagonal = [cells[i][i] for i in self.classes]
        self.total, self.hits = sum(self.true, Fraction(0)), sum(self.diagonal, Fraction(0))
        self.occurring = [i for i in self.classes if self.true[i] or self.predicted[i]]

    def tables(self) -> list[tuple[Fraction, Fraction, Fraction, Fraction]]:
        """Return TP, FN, FP and TN of every class."""
        rows = zip(self.diagonal, self.true, self.predicted, strict=True)
        return [(tp, t - tp, p - tp, self.total - t - p + tp) for tp, t, p in rows]

    def pairs(self) -> list[tuple[Fraction, Fraction, Fraction, Fraction]]:
        """Return C_ii, C_ij, C_ji and C_jj of every pair of classes."""
        c = self.cells
        return [(c[i][i], c[i][j], c[j][i], c[j][j]) for i, j in combinations(self.classes, 2)]


def over(a: Any, b: Any) -> Value:
    """Return a / b, None if b is 0."""
    return a / b if b else None


def decimals(x: Any) -> Decimal:
    """Return a number with 80 digits."""
    return x if isinstance(x, Decimal) else Decimal(x.numerator) / Decimal(x.denominator)


def root(x: Fraction) -> Decimal:
    """Return the square root."""
    return decimals(x).sqrt()


def filled(values: list[Value], zero: float) -> list[Any]:
    """Return the values of an average: None becomes `zero`, or is left out if that is nan."""
    if math.isnan(zero):
        return [value for value in values if value is not None]
    return [Fraction(zero) if value is None else value for value in values]


def mean(values: list[Any]) -> Value:
    """Return the plain mean; None without values."""
    if any(isinstance(value, Decimal) for value in values):
        values = [decimals(value) for value in values]
    return sum(values) / len(values) if values else None


def power_mean(values: list[Any], p: int) -> Value:
    """Return the power mean of numbers >= 0."""
    if not values:
        return None
    if p <= 0 and 0 in values:
        return Fraction(0)
    numbers = [decimals(value) for value in values]
    if p == 0:
        return (sum(x.ln() for x in numbers) / len(numbers)).exp()
    if p == -1:
        return len(numbers) / sum(1 / x for x in numbers)
    return (sum(x * x for x in numbers) / len(numbers)).sqrt()


Table = tuple[Fraction, Fraction, Fraction, Fraction]
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
    "fbeta": lambda tp, fn, fp, tn: over(2 * tp, 2 * tp + fn + fp),
    "f1_negative": lambda tp, fn, fp, tn: over(2 * tn, 2 * tn + fn + fp),
    "jaccard": lambda tp, fn, fp, tn: over(tp, tp + fn + fp),
    "ova_accuracy": lambda tp, fn, fp, tn: over(tp + tn, tp + fn + fp + tn),
    "prevalence": lambda tp, fn, fp, tn: over(tp + fn, tp + fn + fp + tn),
    "detection_rate": lambda tp, fn, fp, tn: over(tp, tp + fn + fp + tn),
    "detection_prevalence": lambda tp, fn, fp, tn: over(tp + fp, tp + fn + fp + tn),
    "power_mean_precision_recall": lambda tp, fn, fp, tn: over(2 * tp, 2 * tp + fn + fp),
}


def fowlkes_mallows(tp: Fraction, fn: Fraction, fp: Fraction, tn: Fraction) -> Value:
    """Return TP / sqrt(t p); 0 where only one of the two is 0."""
    true, predicted = tp + fn, tp + fp
    if not true or not predicted:
        return Fraction(0) if true or predicted else None
    return tp and decimals(tp) / root(true * predicted)


def four_rates(tp: Fraction, fn: Fraction, fp: Fraction, tn: Fraction) -> Value:
    """Return the harmonic mean of recall, precision, specificity and NPV; 0 if one is 0, else 0/0 if one is."""
    rates = [RATES[key](tp, fn, fp, tn) for key in ("recall", "precision", "specificity", "npv")]
    if 0 in rates:
        return Fraction(0)
    return None if None in rates else 4 / sum(1 / rate for rate in rates)


def p4(tp: Fraction, fn: Fraction, fp: Fraction, tn: Fraction) -> Value:
    """Return the harmonic mean of four, continued by 0."""
    right, wrong = tp + tn, fn + fp
    if not right:
        return Fraction(0) if wrong else None
    return over(4 * tp * tn, 4 * tp * tn + right * wrong)


def correlation(tp: Fraction, fn: Fraction, fp: Fraction, tn: Fraction) -> Value:
    """Return Matthews correlation."""
    return phi(tp * tn - fp * fn, (tp + fn) * (tn + fp), (tp + fp) * (tn + fn))


def phi(covariance: Fraction, a: Fraction, b: Fraction) -> Value:
    """Return covariance / sqrt(a b)."""
    if not a or not b:
        return None
    return covariance and decimals(covariance) / root(a * b)


def kappa(tp: Fraction, fn: Fraction, fp: Fraction, tn: Fraction) -> Value:
    """Return Cohen's kappa."""
    return over(2 * (tp * tn - fp * fn), (tp + fn) * (fn + tn) + (tp + fp) * (fp + tn))


def balanced(tp: Fraction, fn: Fraction, fp: Fraction, tn: Fraction) -> Value:
    """Return the mean of recall and specificity, or the one that is defined."""
    return mean(filled([RATES["recall"](tp, fn, fp, tn), RATES["specificity"](tp, fn, fp, tn)], math.nan))


def negative_literal(tp: Fraction, fn: Fraction, fp: Fraction, tn: Fraction) -> Value:
    """Return the harmonic mean of specificity and recall, 0 if both are."""
    recall, rejected = RATES["recall"](tp, fn, fp, tn), RATES["specificity"](tp, fn, fp, tn)
    if recall is None or rejected is None:
        return None
    return over(2 * recall * rejected, recall + rejected) or Fraction(0)


def per_class(of_table: Callable[..., Value]) -> Callable[[Exact, float], Value]:
    """Return the metric of every class against the rest."""
    return lambda c, zero: [of_table(*table) for table in c.tables()]


def macro(of_table: Callable[..., Value], p: int = 1) -> Callable[[Exact, float], Value]:
    """Return the mean of a metric over the classes."""

    def read(c: Exact, zero: float) -> Value:
        if not c.total:
            return None
        values = filled([of_table(*table) for table in c.tables()], zero)
        return mean(values) if p == 1 else power_mean(values, p)

    return read


def weighted(key: str) -> Callable[[Exact, float], Value]:
    """Return the mean of a rate weighted by the true totals."""

    def read(c: Exact, zero: float) -> Value:
        rows = list(zip([RATES[key](*table) for table in c.tables()], c.true, strict=True))
        rows = [(zero if rate is None else rate, t) for rate, t in rows if rate is not None or not math.isnan(zero)]
        return over(sum(Fraction(rate) * t for rate, t in rows), sum(t for _, t in rows))

    return read


def f1_of_means(c: Exact, zero: float) -> Value:
    """Return the F1 of macro precision and macro recall."""
    precision, recall = macro(RATES["precision"])(c, zero), macro(RATES["recall"])(c, zero)
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision and recall else Fraction(0)


def eq16(c: Exact, zero: float) -> Value:
    """Return what eq. 16 prints."""
    precision, recall = macro(RATES["precision"])(c, zero), macro(RATES["recall"])(c, zero)
    if precision is None or recall is None:
        return None
    return 2 * (precision * recall) ** 2 / (precision + recall) if precision and recall else Fraction(0)


def recalls(c: Exact) -> list[Fraction]:
    """Return the recalls of the classes that have samples."""
    return [tp / t for tp, t in zip(c.diagonal, c.true, strict=True) if t]


def adjusted(c: Exact, zero: float) -> Value:
    """Return balanced accuracy beyond chance."""
    values = recalls(c)
    return None if len(values) < 2 else (sum(values) - 1) / (len(values) - 1)


def all_rates(c: Exact, zero: float) -> Value:
    """Return the harmonic mean of all precisions and recalls, 0 if one is."""
    rates = [RATES[key](*table) for key in ("precision", "recall") for table in c.tables()]
    if not c.total:
        return None
    return Fraction(0) if 0 in rates else power_mean(filled(rates, zero), -1)


def dot(a: list[Fraction], b: list[Fraction]) -> Fraction:
    """Return the inner product."""
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def weighted_kappa(power: int) -> Callable[[Exact, float], Value]:
    """Return 1 - sum w C / sum w E."""

    def read(c: Exact, zero: float) -> Value:
        places = [(i, j) for i in c.classes for j in c.classes]
        expected = sum(abs(i - j) ** power * c.true[i] * c.predicted[j] for i, j in places)
        observed = sum(abs(i - j) ** power * c.cells[i][j] for i, j in places) * c.total
        return over(expected - observed, expected)

    return read


def matthews(c: Exact, zero: float) -> Value:
    """Return the correlation R_K."""
    square = c.total * c.total
    covariance = c.hits * c.total - dot(c.true, c.predicted)
    return phi(covariance, square - dot(c.predicted, c.predicted), square - dot(c.true, c.true))


def determinant(rows: list[list[Any]]) -> Any:
    """Return the determinant by expansion along the first row."""
    if not rows:
        return 1
    terms = (
        (-1) ** j * x * determinant([row[:j] + row[j + 1 :] for row in rows[1:]]) for j, x in enumerate(rows[0]) if x
    )
    return sum(terms, Fraction(0) if isinstance(rows[0][0], Fraction) else Decimal(0))


def generalized_mcc(literal: bool) -> Callable[[Exact, float], Value]:
    """Return the determinant of the normalised matrix, or of the roots of C_ij C_ji."""

    def read(c: Exact, zero: float) -> Value:
        at = c.occurring
        if len(at) < 2 or not all(c.true[i] and c.predicted[i] for i in at):
            return None
        below = math.prod(c.true[i] for i in at) * math.prod(c.predicted[i] for i in at)
        if literal:
            return determinant([[root(c.cells[i][j] * c.cells[j][i]) for j in at] for i in at]) / root(below)
        return decimals(determinant([[c.cells[i][j] for j in at] for i in at])) / root(below)

    return read


def normalised(c: Exact, zero: float) -> Value:
    """Return C_ij / sqrt(t_i p_j)."""
    return [[phi(c.cells[i][j], c.true[i], c.predicted[j]) for j in c.classes] for i in c.classes]


def rounded(c: Exact, zero: float) -> Value:
    """Return the determinant of the normalised matrix rounded to one decimal."""
    rows = normalised(c, zero)
    if not rows or any(x is None for row in rows for x in row):
        return None
    tenths = [[decimals(x).quantize(Decimal("0.1")) for x in row] for row in rows]
    off = [abs(decimals(x) - y) for a, b in zip(rows, tenths, strict=True) for x, y in zip(a, b, strict=True)]
    if max(off) > Decimal("0.05") - Decimal("1e-12"):
        return NotImplemented  # on the edge between two decimals
    return determinant(tenths)


def chi2(c: Exact, zero: float) -> Value:
    """Return Pearson's chi-square."""
    if not c.total:
        return None
    parts = [(c.cells[i][j], c.true[i] * c.predicted[j] / c.total) for i in c.classes for j in c.classes]
    return sum(((x - e) ** 2 / e for x, e in parts if e), Fraction(0))


def cramers_v(c: Exact, zero: float) -> Value:
    """Return Cramer's V."""
    k = len(c.occurring)
    return None if k < 2 else root(chi2(c, zero) / (c.total * (k - 1)))


def pair_index(c: Exact, zero: float) -> Value:
    """Return the index over pairs of samples."""
    together = sum(x * x for row in c.cells for x in row) - c.total
    return phi(together, dot(c.predicted, c.predicted) - c.total, dot(c.true, c.true) - c.total)


def over_pairs(metric: Callable[..., Value], both: bool = False) -> Callable[[Exact, float], Value]:
    """Return the mean over the pairs of classes, of one choice of the positive class or of both."""

    def read(c: Exact, zero: float) -> Value:
        if c.k < 2 or not c.total:
            return None
        values = []
        for tp, fn, fp, tn in c.pairs():
            sides = [metric(tp, fn, fp, tn)] + ([metric(tn, fp, fn, tp)] if both else [])
            values.append(mean(filled(sides, zero)))
        return mean(filled(values, zero))

    return read


def of_total(read: Callable[[Exact], Value]) -> Callable[[Exact, float], Value]:
    """Return a value that is 0/0 without data."""
    return lambda c, zero: read(c) if c.total else None


def guess(strategy: str) -> Callable[[Exact], list[Fraction]]:
    """Return the probabilities with which a guess names the classes."""

    def read(c: Exact) -> list[Fraction]:
        if strategy == "stratified":
            return [t / c.total for t in c.true]
        if strategy == "uniform":
            return [Fraction(1, c.k)] * c.k
        return [Fraction(i == c.true.index(max(c.true))) for i in c.classes]

    return read


def of_guess(part: str, strategy: str) -> Callable[[Exact, float], Value]:
    """Return precision, recall, F1 or the expected matrix of a guess."""

    def read(c: Exact, zero: float) -> Value:
        if not c.total:
            return [[None] * c.k for _ in c.classes] if part == "matrix" else [None] * c.k
        named, share = guess(strategy)(c), [t / c.total for t in c.true]
        if part == "matrix":
            return [[t * r for r in named] for t in c.true]
        if part == "recall":
            return named
        if part == "precision":
            return [s if r else Fraction(0) for s, r in zip(share, named, strict=True)]
        return [over(2 * s * r, s + r) or Fraction(0) for s, r in zip(share, named, strict=True)]

    return read


def binomial_tail(x: int, n: int, p: Fraction) -> Fraction:
    """Return P[X >= x], the sum of its terms."""
    return sum((math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(x, n + 1)), Fraction(0))


def nir(c: Exact, zero: float) -> Value:
    """Return the p-value of the accuracy against the no-information rate."""
    return binomial_tail(int(c.hits), int(c.total), max(c.true) / c.total) if c.total else Fraction(1)


def majority(c: Exact, zero: float) -> Value:
    """Return the p-value of the predictions against the most frequent class."""
    if not c.total:
        return Fraction(1)
    most = c.true.index(max(c.true))
    better, worse = c.hits - c.diagonal[most], c.true[most] - c.diagonal[most]
    return binomial_tail(int(better), int(better + worse), Fraction(1, 2))


def asymmetry(c: Exact) -> tuple[Fraction, int]:
    """Return Bowker's statistic and its degrees of freedom."""
    pairs = [(b, d) for _, b, d, _ in c.pairs() if b or d]
    return sum(((b - d) ** 2 / (b + d) for b, d in pairs), Fraction(0)), len(pairs)


def mcnemar(c: Exact, zero: float) -> Value:
    """Return McNemar's statistic with its correction for two classes, else Bowker's."""
    if c.k != 2:
        return asymmetry(c)[0]
    b, d = c.cells[0][1], c.cells[1][0]
    return (abs(b - d) - 1) ** 2 / (b + d) if b != d else Fraction(0)


def mcnemar_p_value(c: Exact, zero: float) -> Value:
    """Return the tail of the chi-square distribution, by its series."""
    x, degrees = decimals(mcnemar(c, zero)) / 2, asymmetry(c)[1]
    if not x or not degrees:
        return Fraction(1)
    # P[Y <= 2x] = x^a e^-x / Gamma(a + 1) (1 + x/(a + 1) + ...), a = degrees / 2
    a = Decimal(degrees) / 2
    gamma = Decimal(1) if degrees % 2 == 0 else PI.sqrt()
    step = Decimal(1) if degrees % 2 == 0 else Decimal("0.5")
    while step <= a:
        gamma, step = gamma * step, step + 1
    term = total = Decimal(1)
    while term > total * Decimal("1e-79"):
        step = a + 1 if term == total else step + 1
        term *= x / step
        total += term
    return 1 - (a * x.ln() - x).exp() / gamma * total


PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")


def cohen(c: Exact, zero: float) -> Value:
    """Return Cohen's kappa."""
    chance = dot(c.true, c.predicted)
    return over(c.hits * c.total - chance, c.total**2 - chance)


def chance_terms(c: Exact, zero: float) -> Value:
    """Return t p / N^2 of every class."""
    return [over(t * p, c.total**2) for t, p in zip(c.true, c.predicted, strict=True)]


def none_at_all(value: Value) -> Callable[[Exact, float], Value]:
    """Return a reference that does not depend on 0/0."""
    return lambda c, zero: value(c)


def both_or_none(c: Exact, zero: float) -> Value:
    """Return sum w R / (K sum w) with weights of 1, over the classes with samples."""
    values = recalls(c)
    return over(sum(values, Fraction(0)), c.k * len(values))


STRATEGIES = ("most_frequent", "uniform", "stratified")
Reference = tuple[Callable[[Exact, float], Value], Bound]
ACCURACY = of_total(lambda c: c.hits / c.total)
BALANCED = lambda c, zero: mean(recalls(c))  # noqa: E731

REFERENCES: dict[str, Reference] = {
    **dict.fromkeys(("accuracy", "micro_precision", "micro_recall", "micro_f1"), (ACCURACY, ROUNDED)),
    **dict.fromkeys(("micro_fbeta", "weighted_recall"), (ACCURACY, ROUNDED)),
    "zero_one_loss": (of_total(lambda c: 1 - c.hits / c.total), ROUNDED),
    "micro_jaccard": (of_total(lambda c: c.hits / (2 * c.total - c.hits)), ROUNDED),
    "micro_f1_code_literal": (of_total(lambda c: 2 * c.hits / (c.hits + c.total)), ROUNDED),
    "average_accuracy": (of_total(lambda c: ((c.k - 2) * c.total + 2 * c.hits) / (c.k * c.total)), ROUNDED),
    "balanced_accuracy": (BALANCED, MEAN),
    "weighted_balanced_accuracy": (BALANCED, MEAN),
    "weighted_balanced_accuracy_eq7_literal": (both_or_none, FEW_ROUNDINGS),
    "weighted_balanced_accuracy_eq8_literal": (both_or_none, FEW_ROUNDINGS),
    "balanced_accuracy_adjusted": (adjusted, NEAR_ONE),
    "geometric_mean": (lambda c, zero: power_mean(recalls(c), 0), LOGARITHMS),
    **{f"macro_{key}": (macro(RATES[key]), MEAN) for key in ("precision", "recall", "specificity")},
    **{f"macro_{key}": (macro(RATES[key]), MEAN) for key in ("f1", "fbeta", "jaccard")},
    **{f"weighted_{key}": (weighted(key), WEIGHTED_MEAN) for key in ("precision", "f1", "fbeta", "jaccard")},
    "macro_f1_of_means": (f1_of_means, Bound(16 * ULP, 2.0**-78)),
    "macro_f1_eq16_literal": (eq16, Bound(24 * ULP, 2.0**-78)),
    "general_f1": (macro(RATES["f1"]), MEAN),
    "general_f1_geometric": (macro(RATES["f1"], 0), LOGARITHMS),
    "general_f1_harmonic": (macro(RATES["f1"], -1), LOGARITHMS),
    "general_f1_power_2": (macro(RATES["f1"], 2), LOGARITHMS),
    "general_fowlkes_mallows": (macro(fowlkes_mallows), FEW_ROUNDINGS),
    "general_fowlkes_mallows_geometric": (macro(fowlkes_mallows, 0), LOGARITHMS),
    "general_fowlkes_mallows_harmonic": (macro(fowlkes_mallows, -1), LOGARITHMS),
    "general_fowlkes_mallows_power_2": (macro(fowlkes_mallows, 2), LOGARITHMS),
    "power_mean_all_precision_recall": (all_rates, LOGARITHMS),
    "cohen_kappa": (cohen, ROUNDED),
    **dict.fromkeys(("weighted_kappa", "weighted_kappa_linear"), (weighted_kappa(1), ROUNDED)),
    "weighted_kappa_quadratic": (weighted_kappa(2), ROUNDED),
    "expected_accuracy": (of_total(lambda c: dot(c.true, c.predicted) / c.total**2), ROUNDED),
    "expected_accuracy_term": (chance_terms, ROUNDED),
    "expected_matrix": (lambda c, zero: [[over(t * p, c.total) for p in c.predicted] for t in c.true], FEW_ROUNDINGS),
    "matthews_corrcoef": (matthews, FEW_ROUNDINGS),
    "generalized_mcc": (generalized_mcc(literal=False), FEW_ROUNDINGS),
    "generalized_mcc_code_literal": (generalized_mcc(literal=True), NEAR_ONE),
    "generalized_mcc_rounded_literal": (rounded, NEAR_ONE),
    "generalized_mcc_matrix": (normalised, FEW_ROUNDINGS),
    "chi2": (chi2, Bound(8 * ULP)),
    "cramers_v": (cramers_v, Bound(8 * ULP)),
    "pair_fowlkes_mallows": (pair_index, FEW_ROUNDINGS),
    "matthews_corrcoef_ovo": (over_pairs(correlation), NEAR_ONE),
    "accuracy_ovo": (over_pairs(RATES["ova_accuracy"]), Bound(8 * ULP)),
    "cohen_kappa_ovo": (over_pairs(kappa), NEAR_ONE),
    **dict.fromkeys(("f1_ovo", "ovo"), (over_pairs(RATES["f1"], both=True), Bound(10 * ULP))),
    "f1_ovo_first_positive": (over_pairs(RATES["f1"]), Bound(8 * ULP)),
    **{key: (per_class(rate), ROUNDED) for key, rate in RATES.items()},
    "power_mean_precision_recall": (per_class(RATES["f1"]), LOGARITHMS),
    "power_mean_four_rates": (per_class(four_rates), LOGARITHMS),
    "fowlkes_mallows": (per_class(fowlkes_mallows), FEW_ROUNDINGS),
    "p4": (per_class(p4), Bound(10 * ULP)),
    "ova_balanced_accuracy": (per_class(balanced), FEW_ROUNDINGS),
    "ova_matthews_corrcoef": (per_class(correlation), FEW_ROUNDINGS),
    "f1_negative_literal": (per_class(negative_literal), FEW_ROUNDINGS),
    "confusion_matrix": (none_at_all(lambda c: c.cells), ROUNDED),
    "support": (none_at_all(lambda c: c.true), ROUNDED),
    "predicted_count": (none_at_all(lambda c: c.predicted), ROUNDED),
    **{key: (per_class(lambda *table, at=at: table[at]), ROUNDED) for at, key in enumerate(("tp", "fn", "fp", "tn"))},
    "tp_sum": (none_at_all(lambda c: c.hits), ROUNDED),
    **dict.fromkeys(("fn_sum", "fp_sum"), (none_at_all(lambda c: c.total - c.hits), ROUNDED)),
    "tn_sum": (none_at_all(lambda c: (c.k - 2) * c.total + c.hits), ROUNDED),
    "weighted_accuracy_literal": (none_at_all(lambda c: c.hits), FEW_ROUNDINGS),
    "cov_true_pred": (none_at_all(lambda c: c.hits * c.total - dot(c.true, c.predicted)), ROUNDED),
    "cov_pred_pred": (none_at_all(lambda c: c.total**2 - dot(c.predicted, c.predicted)), ROUNDED),
    "cov_true_true": (none_at_all(lambda c: c.total**2 - dot(c.true, c.true)), ROUNDED),
    "majority_class": (of_total(lambda c: Fraction(c.true.index(max(c.true)))), ROUNDED),
    "no_information_rate": (of_total(lambda c: max(c.true) / c.total), ROUNDED),
    "baseline_uniform_accuracy": (of_total(lambda c: Fraction(1, c.k)), ROUNDED),
    "baseline_stratified_accuracy": (of_total(lambda c: dot(c.true, c.true) / c.total**2), ROUNDED),
    "baseline_accuracy": (of_total(lambda c: dot(c.true, c.true) / c.total**2), FEW_ROUNDINGS),
    **{
        f"baseline_{prefix}{part}": (of_guess(part, strategy), FEW_ROUNDINGS)
        for prefix, strategy in (("", "stratified"), *((f"{name}_", name) for name in STRATEGIES))
        for part in ("precision", "recall", "f1", "matrix")
    },
    "nir_p_value": (nir, LOGARITHMS),
    "majority_p_value": (majority, LOGARITHMS),
    "mcnemar": (mcnemar, FEW_ROUNDINGS),
    "mcnemar_p_value": (mcnemar_p_value, LOGARITHMS),
}
