"""Two models compared: tests against exact sums, intervals against drawing and theory, evidence against its
martingale."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from stream_metrics import Comparison
from stream_metrics.formulas.stats.normal import t_quantile
from stream_metrics.inference.comparison.shares import _upper, tango
from stream_metrics.inference.comparison.tests import discordant_evidence, log_e_discordant, mcnemar_test
from stream_metrics.inference.intervals.jackknife import jackknife
from stream_metrics.inference.intervals.sequences import SHARE_WEIGHTS, SHARES, difference_sequence


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


@pytest.mark.parametrize(("b", "c"), [(0, 0), (0, 1), (3, 3), (2, 9), (40, 61), (300, 300), (0, 20)])
def test_mcnemar_is_the_exact_binomial_sum(b: int, c: int) -> None:
    """Exact and mid-p equal sums of binomial probabilities; chi-square equals SciPy's tail."""
    n, few = b + c, min(b, c)
    point = [math.comb(n, x) / 2**n for x in range(n + 1)]
    tail = sum(point[: few + 1])
    midp = 1.0 if n == 0 else 1 - point[b] / 2 if b == c else 2 * tail - point[few]

    assert mcnemar_test(b, c, "exact") == pytest.approx(min(1.0, 2 * tail), rel=1e-9)
    assert mcnemar_test(b, c) == pytest.approx(midp, rel=1e-9)
    assert mcnemar_test(b, c, "chi2") == pytest.approx(stats.chi2.sf((b - c) ** 2 / n, 1) if n else 1.0, rel=1e-9)
    assert mcnemar_test(b, c) == mcnemar_test(c, b)


@pytest.mark.parametrize("n", [1, 2, 7, 50, 400])
@pytest.mark.parametrize("better", ["either", "a", "b"])
def test_the_evidence_has_mean_one(n: int, better: Any) -> None:
    """sum over b of Bin(b; n, 1/2) E(b, n - b) is 1, exactly; for one model also a martingale step by step."""
    log = [math.lgamma(n + 1) - math.lgamma(b + 1) - math.lgamma(n - b + 1) - n * math.log(2) for b in range(n + 1)]
    mean = math.fsum(math.exp(p + log_e_discordant(b, n - b, better)) for b, p in enumerate(log))

    assert mean == pytest.approx(1.0, abs=1e-9)


def test_one_sided_evidence_is_a_supermartingale_wherever_the_other_is_better() -> None:
    """With a share of 0.4 or less for the second model, the mean of its evidence is below 1 and falls."""
    means = []
    for n in (5, 20, 80):
        chances = stats.binom.pmf(range(n + 1), n, 0.4)
        means.append(sum(p * math.exp(log_e_discordant(n - c, c, "b")) for c, p in enumerate(chances)))

    assert 1 > means[0] > means[1] > means[2]


def test_evidence_speaks_for_the_better_model() -> None:
    """It names the model; the p-value is 1/E, and 1 for both where both are equal."""
    for_b = discordant_evidence(100, 180, ("old", "new"), "b")
    for_a = discordant_evidence(100, 180, ("old", "new"), "a")

    assert for_b.better == "new"
    assert for_b.at_least(0.05)
    assert for_b.p_value == pytest.approx(1 / for_b.e)
    assert for_b.low > 0.5
    assert for_a.p_value == 1
    assert discordant_evidence(50, 50, ("a", "b")).p_value == 1
    assert discordant_evidence(0, 10**7, ("a", "b")).p_value == 0


def test_the_accuracy_difference_is_the_paired_formula() -> None:
    """Delta method: mean (c - b)/n, SE^2 = ((b + c)/n - mean^2)/n; with many samples Tango's interval is about that."""
    snapshot = compared(2000)
    b, c = snapshot.discordant
    mean = (c - b) / 2000
    se = math.sqrt(((b + c) / 2000 - mean**2) / 2000)
    found, score = (snapshot.difference("accuracy", 0.9, method) for method in ("delta", None))

    assert (found.value, found.se) == (pytest.approx(mean), pytest.approx(se))
    assert (found.low, found.high) == tuple(pytest.approx(mean + z * se) for z in stats.norm.ppf([0.05, 0.95]))
    assert score.method == "tango"
    assert (score.low, score.high) == (pytest.approx(found.low, abs=0.1 * se), pytest.approx(found.high, abs=0.1 * se))
    always = snapshot.difference("accuracy", valid="anytime")
    assert always.method == "bets"
    assert always.low < found.low < found.high < always.high
    wrong = snapshot.difference("zero_one_loss", valid="anytime")
    assert (wrong.low, wrong.high) == (-always.high, -always.low)


@pytest.mark.parametrize(("b", "c", "n"), [(9, 14, 50), (0, 4, 1000), (3, 3, 10), (0, 0, 20), (10, 0, 10)])
def test_tango_inverts_the_score_test(b: int, c: int, n: int) -> None:
    """At the ends the score statistic is the normal quantile, with the probabilities that are most likely there."""

    def statistic(d: float) -> float:
        """Maximise the likelihood on a fine grid of P[only the first is right]."""
        q = np.linspace(max(0.0, -d), (1 - d) / 2, 200_001)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = [x * np.log(p) if x else 0.0 * p for x, p in ((b, q), (c, q + d), (n - b - c, 1 - 2 * q - d))]
            best = q[np.nanargmax(sum(logs))]
        return (c - b - n * d) / math.sqrt(n * (2 * best + d - d * d))

    z = stats.norm.ppf(0.975)
    for end, sign in zip((-_upper(c, b, n, z), _upper(b, c, n, z)), (1, -1), strict=True):
        if -1 < end < 1:
            assert statistic(end) == pytest.approx(sign * z, abs=2e-3)


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_interval_and_test_agree(level: float) -> None:
    """Tango's interval lacks 0 exactly where McNemar's mid-p test rejects."""
    for n in range(1, 60):
        for c in range(n + 1):
            low, high = tango(n - c, c, 300, level)
            assert (low > 0 or high < 0) == (mcnemar_test(n - c, c) <= 1 - level)


def ever_wrong(s: float, d: float, looks: int) -> float:
    """Return the probability that the sequence of bets is ever wrong, by recursion over b and c; no simulation."""
    win, lose, goal = (s + d) / 2, (s - d) / 2, math.log(40)
    most = [int(looks * p + 8 * math.sqrt(looks * p) + 12) if p else 0 for p in (lose, win)]
    b, c = np.arange(most[0] + 1)[:, None, None], np.arange(most[1] + 1)[None, :, None]
    lost = np.log1p(-SHARES)
    parts = []
    for x, y, mean in ((b, c, d), (c, b, -d)):  # against a smaller and against a larger difference
        stay = np.log1p(-SHARES * mean / (1 + mean))
        parts.append((x * lost + y * np.log1p(SHARES * (1 - mean) / (1 + mean)) - (x + y) * stay + SHARE_WEIGHTS, stay))
    chances, wrong = np.zeros((most[0] + 1, most[1] + 1)), 0.0
    chances[0, 0] = 1
    for n in range(1, looks + 1):
        after = chances * (1 - s)
        after[:, 1:] += chances[:, :-1] * win
        after[1:] += chances[:-1] * lose
        i, j = (slice(x.min(), x.max() + 1) for x in np.nonzero(after > 1e-13))
        near, refuted = after[i, j], False
        for part, stay in parts:
            logs = part[i, j] + n * stay
            most_ = logs.max(-1)
            refuted |= most_ + np.log(np.exp(logs - most_[..., None]).sum(-1)) >= goal
        wrong += near[refuted].sum()
        near[refuted] = 0
        chances = after
    return wrong


@pytest.mark.parametrize(("s", "d", "looks"), [(0.5, 0.5, 600), (0.1, 0.1, 1000), (0.01, 0.01, 4000), (0.05, 0, 200)])
def test_bets_are_ever_wrong_as_seldom_as_promised(s: float, d: float, looks: int) -> None:
    """Exactly: a new model that is never worse, and one that is as good; the claim is 5 %."""
    assert 0.001 < ever_wrong(s, d, looks) < 0.05


def test_a_model_that_is_never_worse() -> None:
    """Without a discordant sample, and with four of a thousand, bets hold 0; more samples make them narrower."""
    none = difference_sequence(0, 0, 1000)
    few, many = difference_sequence(0, 4, 1000), difference_sequence(0, 400, 100_000)

    assert none[0] == -none[1]
    assert none[1] > 2 * (1 - 0.05 ** (1 / 1000))  # of one look
    assert few[0] < 0 < 0.004 < few[1]
    assert 0 < many[0] < 0.004 < many[1] < few[1]
    assert difference_sequence(5, 0, 5)[0] == -1.0
    assert difference_sequence(0, 0, 0) == (-1.0, 1.0)


@pytest.mark.parametrize(
    ("key", "label"),
    [("macro_f1", None), ("cohen_kappa", None), ("matthews_corrcoef", None), ("precision", 1),
     ("generalized_mcc", None), ("weighted_f1", None), ("f1", 2), ("ova_matthews_corrcoef", 0)],
)  # fmt: skip
def test_the_delta_method_agrees_with_the_bootstrap(key: str, label: Any) -> None:
    """Both standard errors agree within the error of 2,000 draws, and the bootstrap with rows drawn one by one."""
    snapshot = compared(20_000)
    delta = snapshot.difference(key, label=label)
    bootstrap = snapshot.difference(key, method="bootstrap", label=label, draws=2000)

    assert (delta.method, bootstrap.method) == ("delta", "bootstrap")
    assert delta.se == pytest.approx(bootstrap.se, rel=0.08)
    assert delta.low == pytest.approx(bootstrap.low, abs=0.3 * delta.se)


def test_rows_drawn_again_scatter_as_the_joint_counts_say() -> None:
    """The standard deviation over fresh streams is the standard error of one."""
    values = [compared(1500, seed).difference("macro_f1") for seed in range(150)]

    assert np.std([v.value for v in values]) == pytest.approx(np.mean([v.se for v in values]), rel=0.2)


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


def test_the_jackknife_of_a_mean_is_its_standard_error() -> None:
    """Leaving out folds of equal size gives the standard error of the mean of folds; the t quantile is SciPy's."""
    folds = np.random.default_rng(1).normal(size=32)
    left = (folds.sum() - folds) / 31

    assert jackknife(left) == pytest.approx(folds.std(ddof=1) / math.sqrt(32), rel=1e-9)
    for degrees in (1, 7, 31, 400):
        assert t_quantile(0.95, degrees) == pytest.approx(stats.t.ppf(0.975, degrees), rel=1e-9)


def scored(n: int, seed: int, **options: Any) -> Any:
    """Return the snapshot of a comparison of scores."""
    random = np.random.default_rng(seed)
    truth = random.random(n) < 0.4
    shared = random.normal(size=n) + truth
    a, b = (1 / (1 + np.exp(-(shared + random.normal(size=n) * noise))) for noise in (1.0, 0.6))
    comparison = Comparison(scores=True, **options)
    comparison.update_many(truth, a, b)
    return truth, a, b, comparison.snapshot()


def test_the_area_difference_is_about_as_sure_as_paired_delong() -> None:
    """With and without units the standard error of folds is that of DeLong's paired formula on all rows."""
    truth, a, b, snapshot = scored(600, 2)
    placements = []
    for x in (a, b):
        above = (x[truth][:, None] > x[~truth]) + 0.5 * (x[truth][:, None] == x[~truth])
        placements.append((above.mean(1), above.mean(0)))
    (v10, v01), (w10, w01) = placements
    se = math.sqrt(np.var(w10 - v10, ddof=1) / truth.sum() + np.var(w01 - v01, ddof=1) / (~truth).sum())
    found = snapshot.difference("roc_auc")

    assert found.value == pytest.approx(w10.mean() - v10.mean(), abs=1e-9)
    assert found.se == pytest.approx(se, rel=0.35)
    assert found.method == "folds"
    assert snapshot.difference("log_loss").high < 0


@pytest.mark.parametrize("key", ["balanced_accuracy", "macro_f1", "recall"])
@pytest.mark.parametrize("repeats", [1, 20])
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
    label = "rare" if key == "recall" else None
    few, many = Comparison(), Comparison()
    unit = np.arange(len(truth))
    few.update_many(*(np.repeat(part, repeats) for part in (truth, a, b)), unit=np.repeat(unit, repeats))
    a[:60:3], b[1:60:3] = "often", "often"
    for copy in range(10):
        many.update_many(truth, a, b, unit=unit + copy * len(truth))

    early = few.snapshot().difference(key, label=label, valid="anytime")
    once = few.snapshot().difference(key, label=label)
    late = many.snapshot().difference(key, label=label, valid="anytime")

    if key != "macro_f1":  # which leans on the false alarms, of which there are many
        assert (early.low, early.high, early.method) == (-1.0, 1.0, "folds")
        assert early.note == "too early: the standard error rests on too few samples"
        assert once.note == "the standard error rests on too few samples"
    assert -0.3 < late.low < late.value < late.high < 0.3
    assert late.note == ""


def test_samples_that_repeat_need_units() -> None:
    """Scores of a few values only fall into few folds: no interval is given, and the note says why."""
    comparison = Comparison(scores=True)
    comparison.update_many([True, False] * 200, [0.5, 0.25] * 200, [0.75, 0.25] * 200)
    found = comparison.snapshot().difference("roc_auc")

    assert math.isnan(found.low)
    assert "unit" in found.note


def test_what_cannot_be_said_is_not_said() -> None:
    """Weights, mixed units, keys that cannot be compared, and models that never differ: errors, or a note."""
    weighted, mixed, equal = Comparison(), Comparison(), Comparison()
    weighted.update("a", "a", "b", 2)
    mixed.update("a", "a", "b", unit=1)
    mixed.update("a", "b", "b")
    equal.update_many(["a", "b"] * 50, ["a", "a"] * 50, ["a", "a"] * 50)

    for state, key, match in (
        (weighted, "accuracy", "weight 1, or each with its `unit`"),
        (mixed, "accuracy", "all samples or none"),
        (equal, "majority_class", "differ in"),
        (equal, "roc_auc", "scores that are kept"),
    ):
        with pytest.raises(ValueError, match=match):
            state.snapshot().difference(key)
    with pytest.raises(ValueError, match="weight 1"):
        weighted.snapshot().mcnemar()
    with pytest.raises(KeyError, match="did you mean"):
        equal.snapshot().difference("acuracy")
    z = stats.norm.ppf(0.975)
    assert equal.snapshot().difference("accuracy").high == pytest.approx(z * z / (100 + z * z))
    same = equal.snapshot().difference("macro_f1")
    assert (same.method, same.value) == ("posterior", 0.0)
    assert -0.1 < same.low < 0 < same.high < 0.1
    with pytest.raises(ValueError, match="no `method` with"):
        equal.snapshot().difference("accuracy", method="delta", valid="anytime")
    with pytest.raises(ValueError, match="'tango'"):
        equal.snapshot().difference("macro_f1", method="tango")
    assert equal.snapshot().mcnemar() == 1
    assert math.isnan(Comparison().snapshot().difference("accuracy").low)


def test_intervals_for_all_looks_wait_for_the_rarest_class() -> None:
    """Until the variance rests on enough samples intervals are exact, or everything; for one look there is a note."""
    few = Comparison()
    few.update_many(["a"] * 100 + ["b"] * 5, ["a"] * 103 + ["b"] * 2, ["a"] * 95 + ["b"] * 10)

    watched = few.snapshot().difference("macro_f1", valid="anytime")
    assert watched.method == "beta_binomial"  # two classes: of each model an exact sequence
    assert watched.low < -0.4 < 0.4 < watched.high
    three = compared(40).difference("matthews_corrcoef", valid="anytime")
    assert (three.low, three.high) == (-2.0, 2.0)
    assert three.note.startswith("too early")
    assert few.snapshot().difference("balanced_accuracy", valid="anytime").method == "bets"
    assert "5 samples" in few.snapshot().difference("macro_f1").note
    assert few.snapshot().difference("accuracy", valid="anytime").high < 1


def test_evidence_is_ever_wrong_as_seldom_as_promised() -> None:
    """Both models equally good, 60 looks to 6,000: peeking at the test errs often, the e-value at most 5 %."""
    random, runs = np.random.default_rng(7), 300
    outcomes = random.choice([0, 1, -1], size=(runs, 6000), p=[0.84, 0.08, 0.08])
    c, b = (np.cumsum(outcomes == x, axis=1)[:, 99::100].tolist() for x in (1, -1))
    streams = [list(zip(*run, strict=True)) for run in zip(b, c, strict=True)]
    peeking = np.mean([any(mcnemar_test(*pair) <= 0.05 for pair in stream) for stream in streams])
    log_e = [max(log_e_discordant(*pair) for pair in stream) for stream in streams]

    assert peeking > 0.25
    assert np.mean(np.array(log_e) >= math.log(20)) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)


def test_the_report_says_what_the_data_say() -> None:
    """Text and data hold names, intervals for one and for all looks, tests and evidence; weights are no obstacle."""
    snapshot = compared(3000, a="old", b="new")
    data = snapshot.to_dict()
    text = snapshot.report(width=140)

    assert json.loads(snapshot.to_json())["differences"].keys() == data["differences"].keys()
    assert data["mcnemar"]["midp"] == snapshot.mcnemar()
    assert text.startswith("new against old: 3 000 samples\n")
    evidence = snapshot.evidence("b")
    assert f"new is right more often: shown at 5 %, at any number of looks (e-value {evidence.e:.3g}, p = " in text
    assert "old is right more often: not shown at 5 %" in text
    assert "sure" not in text
    assert f"{snapshot.difference('macro_f1').value:+.4f}" in text
    weighted = Comparison()
    weighted.update("a", "a", "b", 2)
    assert "weight 1" in str(weighted.snapshot())
    assert "ROC AUC" in str(scored(300, 1)[3])


def test_a_few_samples_of_one_unit_count_for_nothing() -> None:
    """Discounted for their dependence, none is left to rest a variance on: a note, and no division by zero."""
    comparison = Comparison(folds=3)
    for unit, truth, a, b in [(0, "a", "a", "a"), (0, "a", "a", "a"), (0, "b", "a", "b"), (1, "a", "a", "a")]:
        comparison.update(truth, a, b, unit=unit)
    snapshot = comparison.snapshot()

    assert "balanced" in str(snapshot).lower()
    assert snapshot.difference("balanced_accuracy").note
