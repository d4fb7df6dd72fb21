"""Two models compared: tests against exact sums, intervals against drawing and theory, evidence against its
martingale."""

from __future__ import annotations

import json
import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from support.refusals import all_refused

from stream_metrics import Comparison

stats = pytest.importorskip("scipy.stats", reason="SciPy is the oracle here and is not installed")


def drawn(n: int, seed: int = 0, k: int = 3, better: float = 0.05) -> tuple[Any, Any, Any]:
    """Return truths and the predictions of two dependent models, the second right more often by about `better`."""
    random = np.random.default_rng(seed)
    truth = random.choice(k, n, p=np.arange(k, 0, -1) / (k * (k + 1) / 2))
    a = np.where(random.random(n) < 0.7, truth, random.integers(0, k, n))
    b = np.where(
        random.random(n) < 0.6, a, np.where(random.random(n) < 0.7 + 2.5 * better, truth, random.integers(0, k, n))
    )
    return truth, a, b


def compared(n: int, seed: int = 0, **options: Any) -> Any:
    """Return the snapshot of a comparison of them."""
    comparison = Comparison(**options)
    comparison.update_many(*drawn(n, seed))
    return comparison.snapshot()


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
    for better in ("either", "a", "b"):
        for n in (1, 2, 7, 50):
            log_e = [discordant(b, n - b).evidence(better).log_e for b in range(n + 1)]
            assert math.fsum(math.comb(n, b) / 2**n * math.exp(x) for b, x in enumerate(log_e)) == pytest.approx(
                1, 1e-9
            )
    means = []
    for n in (5, 20, 80):
        chances = stats.binom.pmf(range(n + 1), n, 0.4).tolist()
        means.append(sum(p * math.exp(discordant(n - c, c).evidence("b").log_e) for c, p in enumerate(chances)))
    assert 1 > means[0] > means[1] > means[2]
    for times in (2**20, 2**40, 2**55):  # b = c: 1 / sqrt(pi b), where two logarithms are 10^16
        log_e = discordant(1, 1, times=times).evidence().log_e
        assert log_e == pytest.approx(-0.5 * math.log(math.pi * times), rel=1e-6 if times == 2**20 else 1e-12)


@pytest.mark.quick
def test_evidence_speaks_for_the_better_model() -> None:
    """It names the model; the p-value is 1/E, and 1 for both where both are equal."""
    for_b, for_a = (discordant(100, 180).evidence(model) for model in ("new", "old"))

    assert for_b.better == "new"
    assert for_b.at_least(0.05)
    assert for_b.p_value == pytest.approx(1 / for_b.e)
    assert for_b.low > 0.5
    assert for_a.p_value == 1 == discordant(50, 50).evidence().p_value
    assert discordant(0, 1, times=2**24).evidence().p_value == 0


@pytest.mark.quick
def test_the_accuracy_difference_is_the_paired_formula() -> None:
    """Delta method: mean (c - b)/n, SE^2 = ((b + c)/n - mean^2)/n; with many samples Tango's interval is about that."""
    taken = compared(2000)
    b, c = taken.discordant
    mean = (c - b) / 2000
    se = math.sqrt(((b + c) / 2000 - mean**2) / 2000)
    actual, score = (taken.difference("accuracy", 0.9, method) for method in ("delta", None))

    assert (actual.value, actual.se) == (pytest.approx(mean), pytest.approx(se))
    assert (actual.low, actual.high) == tuple(pytest.approx(mean + z * se) for z in stats.norm.ppf([0.05, 0.95]))
    assert score.method == "tango"
    assert (score.low, score.high) == (
        pytest.approx(actual.low, abs=0.1 * se),
        pytest.approx(actual.high, abs=0.1 * se),
    )
    always, wrong = (taken.difference(key, valid="anytime") for key in ("accuracy", "zero_one_loss"))
    assert always.method == "bets"
    assert always.low < actual.low < actual.high < always.high
    assert (wrong.low, wrong.high) == (-always.high, -always.low)


@pytest.mark.quick
@pytest.mark.parametrize(("b", "c", "n"), [(9, 14, 50), (0, 4, 1000), (3, 3, 10), (0, 0, 20), (10, 0, 10)])
def test_tango_inverts_the_score_test(b: int, c: int, n: int) -> None:
    """At the ends the score statistic is the normal quantile, with the probabilities that are most likely there."""

    def statistic(d: float) -> float:
        """Maximise the likelihood on a fine grid of P[only the first is right]."""
        q = np.linspace(max(0.0, -d), (1 - d) / 2, 100_001)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = [x * np.log(p) if x else 0.0 * p for x, p in ((b, q), (c, q + d), (n - b - c, 1 - 2 * q - d))]
            best = q[np.nanargmax(sum(logs))]
        return (c - b - n * d) / math.sqrt(n * (2 * best + d - d * d))

    actual, z = discordant(b, c, n).difference("accuracy", method="tango"), stats.norm.ppf(0.975)
    for end, sign in ((actual.low, 1), (actual.high, -1)):
        if -1 < end < 1 and end != 0:  # 0 is where McNemar's test decides
            assert statistic(end) == pytest.approx(sign * z, abs=2e-3)


@pytest.mark.quick
def test_interval_and_test_agree() -> None:
    """Tango's interval lacks 0 exactly where McNemar's mid-p test rejects."""
    for n in (1, 2, 5, 9, 14, 23):
        for c in range(n + 1):
            taken = discordant(n - c, c, 300)
            for level in (0.9, 0.95, 0.99):
                low, high = taken.difference("accuracy", level, "tango")
                assert (low > 0 or high < 0) == (taken.mcnemar() <= 1 - level)


@pytest.mark.parametrize(("s", "d", "looks"), [(0.5, 0.5, 30), (0.4, 0.0, 16)])
def test_bets_are_ever_wrong_as_seldom_as_promised(s: float, d: float, looks: int) -> None:
    """Exactly, by recursion over b and c: a model that is never worse, and one that is as good; the claim is 5 %."""
    chances, wrong = {(0, 0): 1.0}, 0.0
    for n in range(1, looks + 1):
        after: dict[tuple[int, int], float] = {}
        for (b, c), chance in chances.items():
            for step, p in (((0, 0), 1 - s), ((1, 0), (s - d) / 2), ((0, 1), (s + d) / 2)):
                if chance * p > 1e-7:
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
    """Both standard errors agree within the error of 1,000 draws, for whole metrics and for classes."""
    taken = compared(20_000)
    whole = ("macro_f1", "cohen_kappa", "matthews_corrcoef", "generalized_mcc", "weighted_f1")
    classes = (("precision", 1), ("f1", 2), ("ova_matthews_corrcoef", 0))
    for key, label in (*((key, None) for key in whole), *classes):
        delta = taken.difference(key, label=label)
        bootstrap = taken.difference(key, method="bootstrap", label=label, draws=1000)
        assert (delta.method, bootstrap.method) == ("delta", "bootstrap")
        assert delta.se == pytest.approx(bootstrap.se, rel=0.09), key
        assert delta.low == pytest.approx(bootstrap.low, abs=0.3 * delta.se), key
    state = Comparison()
    state.update_many(list("abc") * 30, list("abc") * 30, ["a"] * 90)
    actual = state.snapshot().difference("pair_fowlkes_mallows", method="bootstrap", draws=20)
    assert actual.low <= actual.value <= actual.high  # where all draws of a biased metric are on one side


@pytest.mark.quick
def test_rows_drawn_again_scatter_as_the_joint_counts_say() -> None:
    """The standard deviation over fresh streams is the standard error of one."""
    values = [compared(1500, seed).difference("macro_f1") for seed in range(100)]

    assert np.std([v.value for v in values]) == pytest.approx(np.mean([v.se for v in values]), rel=0.2)


@pytest.mark.quick
def test_folds_see_what_depends() -> None:
    """Each sample given ten times over under its unit: folds know, independent formulas are three times too sure."""
    truth, a, b = (np.repeat(x, 10) for x in drawn(1000))
    unit = np.repeat(np.arange(1000), 10)
    with_units, without, single = Comparison(), Comparison(), Comparison()
    with_units.update_many(truth, a, b, unit=unit)
    without.update_many(truth, a, b)
    single.update_many(truth[::10], a[::10], b[::10])
    se = [s.snapshot().difference("accuracy").se for s in (with_units, without, single)]

    assert with_units.snapshot().difference("accuracy").method == "folds"
    assert se[0] == pytest.approx(se[2], rel=0.35)
    assert se[1] == pytest.approx(se[2] / math.sqrt(10), rel=0.01)


def scored(n: int, seed: int, **options: Any) -> Any:
    """Return truths, scores of both models, and the snapshot of their comparison."""
    random = np.random.default_rng(seed)
    truth = random.random(n) < 0.4
    shared = random.normal(size=n) + truth
    a, b = (1 / (1 + np.exp(-(shared + random.normal(size=n) * noise))) for noise in (1.0, 0.6))
    comparison = Comparison(scores=True, **options)
    comparison.update_many(truth, a, b)
    return truth, a, b, comparison.snapshot()


@pytest.mark.quick
def test_the_area_difference_is_about_as_sure_as_paired_delong() -> None:
    """The standard error of folds is that of DeLong's paired formula on all rows; samples that repeat need units."""
    truth, a, b, taken = scored(600, 2)
    placements = []
    for x in (a, b):
        above = (x[truth][:, None] > x[~truth]) + 0.5 * (x[truth][:, None] == x[~truth])
        placements.append((above.mean(1), above.mean(0)))
    (v10, v01), (w10, w01) = placements
    se = math.sqrt(np.var(w10 - v10, ddof=1) / truth.sum() + np.var(w01 - v01, ddof=1) / (~truth).sum())
    actual = taken.difference("roc_auc")
    repeated = Comparison(scores=True)
    repeated.update_many([True, False] * 200, [0.5, 0.25] * 200, [0.75, 0.25] * 200)
    none = repeated.snapshot().difference("roc_auc")

    assert actual.value == pytest.approx(w10.mean() - v10.mean(), abs=1e-9)
    assert actual.se == pytest.approx(se, rel=0.35)
    assert actual.method == "folds"
    assert taken.difference("log_loss").high < 0
    early = scored(60, 3)[3].difference("roc_auc", valid="anytime")
    assert (early.low, early.high) == (-1.0, 1.0)
    assert early.note.startswith("too early: a class has fewer than")
    assert math.isnan(none.low)
    assert "unit" in none.note


@pytest.mark.quick
@pytest.mark.parametrize(("key", "repeats"), [("balanced_accuracy", 1), ("macro_f1", 20), ("recall", 20)])
def test_folds_start_where_the_cells_allow_it(key: str, repeats: int) -> None:
    """A class of 60 samples, of which each model misses one, says next to nothing of their difference there; nor do
    twenty copies of each sample. Folds once started at 50 samples of a class.
    """
    rng = np.random.default_rng(3)
    truth = np.repeat(["rare", "often"], [60, 1500])
    a, b = truth.copy(), truth.copy()
    a[0], b[1] = "often", "often"
    for model in (a, b):
        model[60 + rng.choice(1500, 150, replace=False)] = "rare"
    label, few, many, unit = "rare" if key == "recall" else None, Comparison(), Comparison(), np.arange(len(truth))
    few.update_many(*(np.repeat(part, repeats) for part in (truth, a, b)), unit=np.repeat(unit, repeats))
    a[:60:3], b[1:60:3] = "often", "often"
    for copy in range(10):
        many.update_many(truth, a, b, unit=unit + copy * len(truth))
    early, late = (state.snapshot().difference(key, label=label, valid="anytime") for state in (few, many))

    if key != "macro_f1":  # which leans on the false alarms, of which there are many
        assert (early.low, early.high, early.method) == (-1.0, 1.0, "folds")
        assert early.note == "too early: the standard error rests on too few samples"
        once = few.snapshot().difference(key, label=label)
        assert once.note == "the standard error rests on too few samples"
    assert -0.3 < late.low < late.value < late.high < 0.3
    assert late.note == ""


@pytest.mark.quick
def test_what_cannot_be_said_is_not_said() -> None:
    """Weights, mixed units, keys that cannot be compared, unknown levels, methods and models: errors that name them."""
    weighted, mixed, equal, keyed = Comparison(), Comparison(), Comparison(), Comparison()
    weighted.update("a", "a", "b", 2)
    mixed.update("a", "a", "b", unit=1)
    mixed.update("a", "b", "b")
    equal.update_many(["a", "b"] * 50, ["a", "a"] * 50, ["a", "a"] * 50)
    keyed.update_many(list("aabb") * 10, list("abab") * 10, list("aaab") * 10, unit=range(40))
    same = equal.snapshot()
    all_refused(
        [
            (lambda: weighted.snapshot().difference("accuracy"), ValueError, "weight 1, or each with its `unit`"),
            (weighted.snapshot().mcnemar, ValueError, "weight 1"),
            (lambda: mixed.snapshot().difference("accuracy"), ValueError, "all samples or none"),
            (lambda: keyed.snapshot().difference("accuracy", method="delta"), ValueError, "the method 'folds'"),
            (lambda: same.difference("majority_class"), ValueError, "differ in"),
            (lambda: same.difference("roc_auc"), ValueError, "scores that are kept"),
            (lambda: same.difference("acuracy"), KeyError, "did you mean"),
            (lambda: same.difference("recall"), KeyError, "a label for a per-class key"),
            (lambda: same.difference("accuracy", label="a"), KeyError, "none for a whole one"),
            (lambda: same.difference("accuracy", 1), ValueError, "`level`"),
            (lambda: same.difference("accuracy", "exact"), ValueError, "`level`"),
            (lambda: same.difference("accuracy", valid="ever"), ValueError, "`valid`"),
            (lambda: same.difference("accuracy", method="exact"), ValueError, "`method`"),
            (lambda: same.difference("accuracy", method="folds"), ValueError, "with a `unit`"),
            (lambda: same.difference("accuracy", method="delta", valid="anytime"), ValueError, "no `method` with"),
            (lambda: same.difference("macro_f1", method="tango"), ValueError, "'tango'"),
            (lambda: same.mcnemar("wald"), ValueError, "`method`"),
            (lambda: same.evidence("c"), ValueError, "`better`"),
            (lambda: same.report(2), ValueError, "`level`"),
        ]
    )


@pytest.mark.quick
def test_models_that_never_differ() -> None:
    """An interval around 0 for all metrics; without samples every difference is undefined, and no report has a nan."""
    equal = Comparison()
    equal.update_many(["a", "b"] * 50, ["a", "a"] * 50, ["a", "a"] * 50)
    z, empty = stats.norm.ppf(0.975), Comparison().snapshot()
    same = equal.snapshot().difference("macro_f1")

    assert equal.snapshot().difference("accuracy").high == pytest.approx(z * z / (100 + z * z))
    assert (same.method, same.value) == ("posterior", 0.0)
    assert -0.1 < same.low < 0 < same.high < 0.1
    assert equal.snapshot().mcnemar() == 1
    assert math.isnan(empty.difference("accuracy").low)
    assert math.isnan(empty.difference("generalized_mcc").value)
    assert "nan" not in str(empty)


@pytest.mark.quick
def test_intervals_for_all_looks_wait_for_the_rarest_class() -> None:
    """Until the variance rests on enough samples intervals are exact, or everything; for one look there is a note."""
    few, single = Comparison(), Comparison(folds=3)
    few.update_many(["a"] * 100 + ["b"] * 5, ["a"] * 103 + ["b"] * 2, ["a"] * 95 + ["b"] * 10)
    for unit, truth, a, b in [(0, "a", "a", "a"), (0, "a", "a", "a"), (0, "b", "a", "b"), (1, "a", "a", "a")]:
        single.update(truth, a, b, unit=unit)
    watched = few.snapshot().difference("macro_f1", valid="anytime")
    three = compared(40).difference("matthews_corrcoef", valid="anytime")

    assert watched.method == "beta_binomial"  # two classes: of each model an exact sequence
    assert watched.low < -0.4 < 0.4 < watched.high
    assert (three.low, three.high) == (-2.0, 2.0)
    assert three.note.startswith("too early")
    assert few.snapshot().difference("balanced_accuracy", valid="anytime").method == "bets"
    assert "5 samples" in few.snapshot().difference("macro_f1").note
    assert few.snapshot().difference("accuracy", valid="anytime").high < 1
    assert single.snapshot().difference("balanced_accuracy").note  # a few samples of one unit count for nothing


def test_evidence_is_ever_wrong_as_seldom_as_promised() -> None:
    """Both models equally good, 60 looks: peeking at the test errs often, the e-value at most 5 %."""
    random, runs = np.random.default_rng(7), 100
    outcomes = random.choice([0, 1, -1], size=(runs, 1500), p=[0.84, 0.08, 0.08])
    c, b = (np.cumsum(outcomes == x, axis=1)[:, 49::50].tolist() for x in (1, -1))
    streams = [[discordant(*pair) for pair in zip(*run, strict=True)] for run in zip(b, c, strict=True)]
    peeking = np.mean([any(taken.mcnemar() <= 0.05 for taken in stream) for stream in streams])
    wrong = np.mean([any(taken.evidence().at_least(0.05) for taken in stream) for stream in streams])

    assert peeking > 0.2
    assert wrong <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)


@pytest.mark.quick
def test_the_report_says_what_the_data_say() -> None:
    """Text and data hold names, intervals for one and for all looks, tests and evidence; weights are no obstacle."""
    taken, weighted = compared(3000, a="old", b="new"), Comparison()
    data, text, evidence = taken.to_dict(), taken.report(width=140), taken.evidence("b")
    weighted.update("a", "a", "b", 2)

    assert json.loads(taken.to_json())["differences"].keys() == data["differences"].keys()
    assert data["mcnemar"]["midp"] == taken.mcnemar()
    assert text.startswith("new against old: 3 000 samples\n")
    assert f"new is right more often: shown at 5 %, at any number of looks (e-value {evidence.e:.3g}, p = " in text
    assert "old is right more often: not shown at 5 %" in text
    assert f"{taken.difference('macro_f1').value:+.4f}" in text
    assert "weight 1" in str(weighted.snapshot())
    assert "ROC AUC" in str(scored(300, 1)[3])
