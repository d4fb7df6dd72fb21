"""Two models compared: tests against exact sums, intervals against drawing and theory, evidence against its
martingale."""

from __future__ import annotations

import json
import math
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from support.refusals import all_refused

from stream_metrics import Comparison

stats = pytest.importorskip("scipy.stats", reason="SciPy is the oracle here and is not installed")


def drawn(n: int) -> tuple[Any, Any, Any]:
    """Return truths and the predictions of two dependent models, the second right more often by about .05."""
    random = np.random.default_rng(0)
    truth = random.choice(3, n, p=[1 / 2, 1 / 3, 1 / 6])
    a = np.where(random.random(n) < 0.7, truth, random.integers(0, 3, n))
    b = np.where(random.random(n) < 0.825, truth, random.integers(0, 3, n))
    return truth, a, np.where(random.random(n) < 0.6, a, b)


def compared(truth: Any, first: Any, second: Any, unit: Any = None, **options: Any) -> Any:
    """Return the snapshot of a comparison of predictions."""
    comparison = Comparison(**options)
    comparison.update_many(truth, first, second, unit=unit)
    return comparison.snapshot()


EQUAL = compared(["a", "b"] * 50, ["a", "a"] * 50, ["a", "a"] * 50)


@cache
def discordant(b: int, c: int, n: int | None = None, times: int = 1) -> Any:
    """Return the snapshot of n samples, b that only the first model gets right and c that only the second does."""
    both = (b + c if n is None else n) - b - c
    comparison = Comparison("old", "new")
    rows = np.repeat([[1, 1, 0], [1, 0, 1], [1, 1, 1]], [b, c, both], axis=0)
    comparison.update_many(*rows.T.tolist())
    for _ in range(times.bit_length() - 1):
        comparison.merge(comparison.copy())
    return comparison.snapshot()


@pytest.mark.quick
def test_mcnemar_is_the_exact_binomial_sum() -> None:
    """Exact and mid-p equal sums of binomial probabilities; chi-square equals SciPy's tail."""
    for b, c in ((0, 0), (0, 1), (3, 3), (2, 9), (40, 61), (300, 300), (0, 20)):
        n, few, taken = b + c, min(b, c), discordant(b, c)
        point = [math.comb(n, x) / 2**n for x in range(n + 1)]
        tail = sum(point[: few + 1])
        midp = 1.0 if n == 0 else 1 - point[b] / 2 if b == c else 2 * tail - point[few]
        assert taken.mcnemar("exact") == pytest.approx(min(1.0, 2 * tail), rel=1e-9)
        assert taken.mcnemar() == pytest.approx(midp, rel=1e-9) == discordant(c, b).mcnemar()
        assert taken.mcnemar("chi2") == pytest.approx(stats.chi2.sf((b - c) ** 2 / n, 1) if n else 1.0, rel=1e-9)
    assert discordant(0, 900).mcnemar() == pytest.approx(0.5**900, rel=1e-12)
    assert discordant(0, 1, times=2**56).mcnemar() == 0.0


@pytest.mark.quick
def test_the_evidence_has_mean_one() -> None:
    """sum over b of Bin(b; n, 1/2) E(b, n - b) is 1, exactly; where the other model is better it falls below."""

    def mean(n: int, better: Any, chance: float = 0.5) -> float:
        evidence = [math.exp(discordant(n - c, c).evidence(better).log_e) for c in range(n + 1)]
        return float(stats.binom.pmf(range(n + 1), n, chance) @ evidence)

    for better in ("either", "a", "b"):
        assert [mean(n, better) for n in (1, 2, 7, 50)] == pytest.approx([1] * 4, 1e-9)
    assert 1 > mean(5, "b", 0.4) > mean(20, "b", 0.4) > mean(80, "b", 0.4)
    for times in (2**20, 2**40, 2**55):  # b = c: 1 / sqrt(pi b), where two logarithms are 10^16
        log_e = discordant(1, 1, times=times).evidence().log_e
        assert log_e == pytest.approx(-0.5 * math.log(math.pi * times), rel=1e-6 if times == 2**20 else 1e-12)


@pytest.mark.quick
def test_the_accuracy_difference_is_the_paired_formula() -> None:
    """Mean (c - b)/n, SE^2 = ((b + c)/n - mean^2)/n; with many samples Tango's interval is about normal."""
    taken = compared(*drawn(2000))
    b, c = taken.discordant
    mean = (c - b) / 2000
    se = math.sqrt(((b + c) / 2000 - mean**2) / 2000)
    actual = taken.difference("accuracy", 0.9)
    always, wrong = (taken.difference(key, valid="anytime") for key in ("accuracy", "zero_one_loss"))

    assert (actual.value, actual.se) == pytest.approx((mean, se))
    assert tuple(actual) == pytest.approx(tuple(mean + se * stats.norm.ppf([0.05, 0.95])), abs=0.1 * se)
    assert (actual.method, always.method) == ("tango", "bets")
    assert always.low < actual.low < actual.high < always.high
    assert (wrong.low, wrong.high) == (-always.high, -always.low)


@pytest.mark.quick
def test_tango_inverts_the_score_test() -> None:
    """At the ends the score statistic is the normal quantile, with the probabilities that are most likely there."""
    z = stats.norm.ppf(0.975)
    for b, c, n in ((9, 14, 50), (0, 4, 1000), (3, 3, 10), (0, 0, 20), (10, 0, 10)):
        actual = discordant(b, c, n).difference("accuracy")
        for d, sign in ((actual.low, 1), (actual.high, -1)):
            if -1 < d < 1 and d != 0:  # 0 is where McNemar's test decides
                q = np.linspace(max(0.0, -d), (1 - d) / 2, 100_001)  # P[only the first is right], on a fine grid
                with np.errstate(divide="ignore", invalid="ignore"):
                    cells = ((b, q), (c, q + d), (n - b - c, 1 - 2 * q - d))
                    best = q[np.nanargmax(sum(x * np.log(p) if x else 0.0 * p for x, p in cells))]
                statistic = (c - b - n * d) / math.sqrt(n * (2 * best + d - d * d))
                assert statistic == pytest.approx(sign * z, abs=2e-3), (b, c, n)


@pytest.mark.quick
def test_interval_and_test_agree() -> None:
    """Tango's interval lacks 0 exactly where McNemar's mid-p test rejects."""
    for n in (1, 2, 5, 9, 14, 23):
        for c in range(n + 1):
            taken = discordant(n - c, c, 300)
            for level in (0.9, 0.95, 0.99):
                low, high = taken.difference("accuracy", level)
                assert (low > 0 or high < 0) == (taken.mcnemar() <= 1 - level)


@pytest.mark.parametrize(("s", "d", "looks"), [(0.5, 0.5, 30), (0.4, 0.0, 16)])
def test_bets_are_ever_wrong_as_seldom_as_promised(s: float, d: float, looks: int) -> None:
    """Exactly, by recursion over b and c: a model that is never worse, and one that is as good; the claim is 5 %."""
    chances, wrong = {(0, 0): 1.0}, 0.0
    for n in range(1, looks + 1):
        after: dict[tuple[int, int], float] = {}
        for (b, c), chance in chances.items():
            for step, p in (((0, 0), 1 - s), ((1, 0), (s - d) / 2), ((0, 1), (s + d) / 2)):
                if chance * p > 1e-6:
                    at = (b + step[0], c + step[1])
                    after[at] = after.get(at, 0.0) + chance * p
        chances = {}
        for (b, c), chance in after.items():
            actual = discordant(b, c, n).difference("accuracy", valid="anytime")
            if actual.low <= d <= actual.high:
                chances[b, c] = chance
            else:
                wrong += chance
    assert wrong < 0.05


@pytest.mark.quick
def test_a_model_that_is_never_worse() -> None:
    """Without a discordant sample, and with four of a thousand, bets hold 0; more samples make them narrower."""
    none, few, many = (
        discordant(0, c, n).difference("accuracy", valid="anytime") for c, n in ((0, 1000), (4, 1000), (400, 100_000))
    )

    assert none.low == -none.high
    assert none.high > 2 * (1 - 0.05 ** (1 / 1000))  # of one look
    assert few.low < 0 < 0.004 < few.high
    assert 0 < many.low < 0.004 < many.high < few.high
    assert discordant(5, 0).difference("accuracy", valid="anytime").low == -1.0


@pytest.mark.quick
def test_the_delta_method_agrees_with_the_bootstrap() -> None:
    """Both standard errors agree within the error of 300 resampled streams, for whole metrics and for classes."""
    rows, random = drawn(2000), np.random.default_rng(0)
    taken, picks = compared(*rows), (random.integers(0, 2000, 2000) for _ in range(300))
    again = [compared(*(np.asarray(column)[pick] for column in rows)) for pick in picks]
    whole = dict.fromkeys(("macro_f1", "cohen_kappa", "matthews_corrcoef", "generalized_mcc", "weighted_f1"))
    for key, label in {**whole, "precision": 1, "f1": 2, "ova_matthews_corrcoef": 0}.items():
        delta = taken.difference(key, label=label)
        assert delta.method == "delta"
        assert delta.se == pytest.approx(np.std([one.difference(key, label=label).value for one in again]), rel=0.15)


@pytest.mark.quick
def test_few_samples_of_a_class_are_noted_where_the_metric_leans_on_it() -> None:
    """Ten of a thousand samples say little of a mean over classes, and hardly matter to kappa."""
    truth = np.array([0] * 590 + [1] * 400 + [2] * 10)
    a, b = (np.where(np.arange(1000) % step, truth, (truth + 1) % 3) for step in (4, 7))
    notes = {key: compared(truth, a, b).difference(key).note for key in ("cohen_kappa", "weighted_f1", "macro_f1")}

    assert notes.pop("macro_f1") == "a class has 10 samples, too few for this interval"
    assert not any(notes.values())


@pytest.mark.quick
def test_folds_see_what_depends() -> None:
    """Each sample given ten times over under its unit: folds know, independent formulas are three times too sure."""
    rows = drawn(1000)
    repeated, unit = [np.repeat(x, 10) for x in rows], np.repeat(np.arange(1000), 10)
    keyed, plain, single = (
        compared(*columns, each).difference("accuracy")
        for columns, each in ((repeated, unit), (repeated, None), (rows, None))
    )

    assert keyed.method == "folds"
    assert keyed.se == pytest.approx(single.se, rel=0.35)
    assert plain.se == pytest.approx(single.se / math.sqrt(10), rel=0.01)


def scored(n: int, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return truths, scores of both models, and the snapshot of their comparison."""
    random = np.random.default_rng(seed)
    truth = random.random(n) < 0.4
    shared = random.normal(size=n) + truth
    a, b = (1 / (1 + np.exp(-(shared + random.normal(size=n) * noise))) for noise in (1.0, 0.6))
    return truth, a, b, compared(truth, a, b, scores=True)


@pytest.mark.quick
def test_the_area_difference_is_about_as_sure_as_paired_delong() -> None:
    """The standard error of folds is that of DeLong's paired formula on all rows; samples that repeat need units."""
    truth, a, b, taken = scored(600, 2)
    wins = [np.sign(x[truth][:, None] - x[~truth]) / 2 + 0.5 for x in (a, b)]
    better = wins[1] - wins[0]
    se = math.sqrt(sum(better.mean(axis).var(ddof=1) / better.shape[1 - axis] for axis in (0, 1)))
    actual, early = taken.difference("roc_auc"), scored(60, 3)[3].difference("roc_auc", valid="anytime")
    repeated = compared([True, False] * 200, [0.5, 0.25] * 200, [0.75, 0.25] * 200, scores=True)
    none = repeated.difference("roc_auc")

    assert actual.value == pytest.approx(better.mean(), abs=1e-9)
    assert actual.se == pytest.approx(se, rel=0.35)
    assert actual.method == "folds"
    assert taken.difference("log_loss").high < 0
    assert (early.low, early.high) == (-1.0, 1.0)
    assert early.note.startswith("too early: a class has fewer than")
    assert math.isnan(none.low)
    assert "unit" in none.note


@pytest.mark.quick
def test_what_cannot_be_said_is_not_said() -> None:
    """Weights, mixed units, keys that cannot be compared, unknown levels, options and models: errors that name them."""
    weighted, mixed = Comparison(), Comparison()
    weighted.update("a", "a", "b", 2)
    mixed.update("a", "a", "b", unit=1)
    mixed.update("a", "b", "b")
    calls: list[tuple[Any, dict[str, Any], str]] = [
        (weighted.snapshot(), {}, "weight 1, or each with its `unit`"), (mixed.snapshot(), {}, "all samples or none"),
        (EQUAL, {"key": "majority_class"}, "differ in"), (EQUAL, {"key": "roc_auc"}, "scores that are kept"),
        (EQUAL, {"level": 1}, "`level`"), (EQUAL, {"level": "exact"}, "`level`"), (EQUAL, {"valid": "ever"}, "`valid`"),
        (EQUAL, {"method": "exact"}, "no options for 'accuracy'"),
    ]  # fmt: skip
    all_refused(
        (partial(taken.difference, **{"key": "accuracy", **options}), ValueError, about)
        for taken, options, about in calls
    )
    all_refused(
        [
            (partial(EQUAL.difference, "acuracy"), KeyError, "did you mean"),
            (partial(EQUAL.difference, "recall"), KeyError, "a label for a per-class key"),
            (partial(EQUAL.difference, "accuracy", label="a"), KeyError, "none for a whole one"),
            (weighted.snapshot().mcnemar, ValueError, "weight 1"),
            (partial(EQUAL.mcnemar, "wald"), ValueError, "`method`"),
            (partial(EQUAL.evidence, "c"), ValueError, "`better`"),
            (partial(EQUAL.report, 2), ValueError, "`level`"),
        ]
    )


@pytest.mark.quick
def test_models_that_never_differ() -> None:
    """An interval around 0 for all metrics; without samples every difference is undefined, and no report has a nan."""
    z, empty, same = stats.norm.ppf(0.975), Comparison().snapshot(), EQUAL.difference("macro_f1")

    assert EQUAL.difference("accuracy").high == pytest.approx(z * z / (100 + z * z))
    assert (same.method, same.value) == ("posterior", 0.0)
    assert -0.1 < same.low < 0 < same.high < 0.1
    assert EQUAL.mcnemar() == 1
    assert math.isnan(empty.difference("accuracy").low)
    assert math.isnan(empty.difference("generalized_mcc").value)
    assert "nan" not in str(empty)


@pytest.mark.quick
def test_intervals_for_all_looks_wait_for_the_rarest_class() -> None:
    """Until the variance rests on enough samples intervals are exact, or everything; for one look there is a note."""
    few = compared(["a"] * 100 + ["b"] * 5, ["a"] * 103 + ["b"] * 2, ["a"] * 95 + ["b"] * 10)
    single = compared(list("aaba"), list("aaaa"), list("aaba"), [0, 0, 0, 1], folds=3)
    watched = few.difference("macro_f1", valid="anytime")
    three = compared(*drawn(40)).difference("matthews_corrcoef", valid="anytime")

    assert watched.method == "beta_binomial"  # two classes: of each model an exact sequence
    assert watched.low < -0.4 < 0.4 < watched.high
    assert (three.low, three.high) == (-2.0, 2.0)
    assert three.note.startswith("too early")
    assert few.difference("balanced_accuracy", valid="anytime").method == "bets"
    assert "5 samples" in few.difference("macro_f1").note
    assert few.difference("accuracy", valid="anytime").high < 1
    assert single.difference("balanced_accuracy").note  # a few samples of one unit count for nothing


@pytest.mark.quick
def test_the_report_says_what_the_data_say() -> None:
    """Data hold differences and tests, text the evidence for either model; weights are no obstacle."""
    taken, weighted = compared(*drawn(3000), a="old", b="new"), Comparison()
    data, evidence = taken.to_dict(), taken.evidence("b")
    weighted.update("a", "a", "b", 2)

    assert json.loads(taken.to_json())["differences"].keys() == data["differences"].keys()
    assert data["mcnemar"]["midp"] == taken.mcnemar()
    assert f"at any number of looks (e-value {evidence.e:.3g}, p = " in taken.report(width=140)
    assert "weight 1" in str(weighted.snapshot())
