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
from stream_metrics.inference.comparison_methods import jackknife
from stream_metrics.inference.comparison_tests import discordant_evidence, log_e_discordant, mcnemar_test
from stream_metrics.inference.special import t_reach


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
    """It names the model, and is certain only as far as 1 - 1/E; neither is sure where both are equal."""
    for_b = discordant_evidence(100, 180, ("old", "new"), "b")
    for_a = discordant_evidence(100, 180, ("old", "new"), "a")

    assert for_b.better == "new"
    assert for_b.at_least(0.05)
    assert for_b.sure == pytest.approx(1 - 1 / for_b.e)
    assert for_b.low > 0.5
    assert for_a.sure == 0
    assert discordant_evidence(50, 50, ("a", "b")).p_value == 1
    assert discordant_evidence(0, 10**7, ("a", "b")).p_value == 0


def test_the_accuracy_difference_is_the_paired_formula() -> None:
    """mean (c - b)/n, SE^2 = ((b + c)/n - mean^2)/n."""
    snapshot = compared(2000)
    b, c = snapshot.discordant
    mean = (c - b) / 2000
    se = math.sqrt(((b + c) / 2000 - mean**2) / 2000)
    found = snapshot.difference("accuracy", level=0.9)

    assert (found.value, found.se) == (pytest.approx(mean), pytest.approx(se))
    assert (found.low, found.high) == tuple(pytest.approx(mean + z * se) for z in stats.norm.ppf([0.05, 0.95]))
    always = snapshot.difference("accuracy", valid="anytime")
    assert always.low < found.low < found.high < always.high


@pytest.mark.parametrize(
    ("key", "label"),
    [("macro_f1", None), ("cohen_kappa", None), ("matthews_corrcoef", None), ("balanced_accuracy", None),
     ("generalized_mcc", None), ("weighted_f1", None), ("recall", 1), ("f1", 2), ("ova_matthews_corrcoef", 0)],
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
        assert t_reach(0.95, degrees) == pytest.approx(stats.t.ppf(0.975, degrees), rel=1e-9)


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
    assert equal.snapshot().difference("accuracy").high == pytest.approx(1 - 0.05**0.01)
    assert math.isnan(equal.snapshot().difference("macro_f1").high)
    assert equal.snapshot().mcnemar() == 1
    assert math.isnan(Comparison().snapshot().difference("accuracy").low)


def test_intervals_for_all_looks_wait_for_the_rarest_class() -> None:
    """Before 30 samples of a class the interval is everything; for one look a note says that samples are few."""
    few = Comparison()
    few.update_many(["a"] * 100 + ["b"] * 5, ["a"] * 103 + ["b"] * 2, ["a"] * 95 + ["b"] * 10)

    assert few.snapshot().difference("macro_f1", valid="anytime")[5:7] == (-1.0, 1.0)
    assert "5 samples" in few.snapshot().difference("macro_f1").note
    assert few.snapshot().difference("accuracy", valid="anytime").high < 1


def test_looking_all_the_time_is_wrong_as_seldom_as_promised() -> None:
    """Both models equally good, 60 looks to 6,000: peeking errs often, the sequence and the e-value at most 5 %."""
    random, runs = np.random.default_rng(7), 300
    outcomes = random.choice([0, 1, -1], size=(runs, 6000), p=[0.84, 0.08, 0.08])
    sums = np.cumsum(outcomes, axis=1)[:, 99::100]
    counts = np.cumsum(outcomes != 0, axis=1)[:, 99::100]
    n = np.arange(100, 6001, 100)
    from stream_metrics.inference.sequences import asymptotic_multiplier

    se = np.sqrt((counts / n - (sums / n) ** 2) / n)
    reach = np.array([asymptotic_multiplier(int(x), 1000.0) for x in n])
    ever = [(np.abs(sums / n) > times * se).any(axis=1).mean() for times in (1.96, reach)]
    b, c = (counts - sums) // 2, (counts + sums) // 2
    rejected = np.mean(
        [
            max(log_e_discordant(int(x), int(y)) for x, y in zip(b[run], c[run], strict=True)) >= math.log(20)
            for run in range(runs)
        ]
    )

    assert ever[0] > 0.25
    assert ever[1] <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)
    assert rejected <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)


def test_the_report_says_what_the_data_say() -> None:
    """Text and data hold names, intervals for one and for all looks, tests and evidence; weights are no obstacle."""
    snapshot = compared(3000, a="old", b="new")
    data = snapshot.to_dict()
    text = str(snapshot)

    assert json.loads(snapshot.to_json())["differences"].keys() == data["differences"].keys()
    assert data["mcnemar"]["midp"] == snapshot.mcnemar()
    assert "new less old: 3,000 samples" in text
    assert "new is right more often: " in text
    assert f"{snapshot.difference('macro_f1').value:+.4f}" in text
    weighted = Comparison()
    weighted.update("a", "a", "b", 2)
    assert "weight 1" in str(weighted.snapshot())
    assert "roc_auc" in str(scored(300, 1)[3])
