"""Intervals of selected groups: the worst of many, and the largest gap."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.refusals import all_refused, refused
from support.values import snapshot

import stream_metrics as sm

pytestmark = pytest.mark.quick


def drawn(rng: np.random.Generator, rates: list[float], n: int) -> sm.GroupSnapshot:
    """Return groups of n samples of two classes whose predictions are right at these rates."""
    groups = {}
    for at, rate in enumerate(rates):
        cells = rng.multinomial(n, [rate / 2, (1 - rate) / 2, (1 - rate) / 2, rate / 2]).reshape(2, 2)
        groups[at] = snapshot(cells)
    return sm.GroupSnapshot(groups, None, None)


def of_counts(counts: list[tuple[int, int]]) -> sm.GroupSnapshot:
    """Return groups with so many right and wrong predictions."""
    return sm.GroupSnapshot({at: snapshot([[x, y], [0, 0]]) for at, (x, y) in enumerate(counts)}, None, None)


@pytest.mark.parametrize(
    ("rates", "valid", "runs"),
    [
        ([0.9] * 20, "fixed", 20),
        *(
            pytest.param(rates, valid, 40, marks=pytest.mark.nightly)
            for rates, valid in (([0.9] * 20, "fixed"), ([0.8, 0.85, 0.9], "anytime"), ([0.5, 0.6], "fixed"))
        ),
    ],
)
def test_the_interval_of_the_largest_gap_holds_the_true_one(rates: list[float], valid: str, runs: int) -> None:
    """In at least 95 % of samples, for equal groups and others; equal groups are not said to differ."""
    rng, hits = np.random.default_rng(2), 0
    for _ in range(runs):
        actual = drawn(rng, rates, 300).gap_interval("accuracy", valid=valid)
        hits += actual.low <= max(rates) - min(rates) <= actual.high
        assert actual.low <= actual.value <= actual.high
    assert hits >= 0.95 * runs


def test_every_group_has_the_level_that_all_need_together() -> None:
    """1 - (1 - level) / m for the m groups compared, worst first; groups too small or without a value have none."""
    taken = drawn(np.random.default_rng(4), [0.6, 0.9, 0.8], 100)
    more = sm.GroupSnapshot({**taken, "small": snapshot([[3, 0], [0, 1]])}, None, None)
    gap = drawn(np.random.default_rng(3), [0.7, 0.9, 0.9], 20_000).gap_interval("accuracy")

    assert list(taken.intervals("accuracy")) == [group for group, _ in taken.worst("accuracy")]
    for key, options in (("accuracy", {}), ("macro_f1", {"valid": "anytime"}), ("cohen_kappa", {})):
        for group, one in taken.intervals(key, 0.9, **options).items():  # type: ignore[arg-type]
            assert one == taken[group].interval(key, 1 - 0.1 / 3, **options)  # type: ignore[arg-type]
    assert {one.level for one in more.intervals("accuracy").values()} == {1 - 0.05 / 4}
    assert more.intervals("accuracy", least=5) == taken.intervals("accuracy")
    assert math.isnan(more.gap_interval("accuracy", least=101).value)
    assert taken.gap_interval("recall", label=1).value == taken.max_gap("recall", label=1)
    assert 0.17 < gap.low < gap.value < gap.high < 0.23
    assert (gap.level, gap.method, gap.n) == (0.95, "mover", 60_000)
    two = drawn(np.random.default_rng(3), [0.7, 0.9], 300)
    worse, better = (two[group].interval("accuracy") for group, _ in two.worst("accuracy"))
    expected = two.max_gap("accuracy") - math.hypot(better.value - better.low, worse.high - worse.value)  # Newcombe's
    assert two.gap_interval("accuracy").low == pytest.approx(expected, rel=1e-12)
    gap = two.gap_interval("accuracy")
    assert [gap.within(margin) for margin in (gap.low, gap.high, math.nextafter(gap.high, 1))] == [False, False, True]
    refused(lambda: gap.within(0), ValueError, "`margin`")


def test_areas_compare_by_their_positive_class() -> None:
    """Without a label, the area is that of `pos_label`, as in `worst`."""
    groups = sm.ByGroup(sm.MetricSet(scores=True))
    groups.update_many(np.arange(90) % 2 == 0, scores=np.arange(90) * 31 % 97 / 97, group=np.arange(90) % 7 % 3)
    taken = groups.snapshot()

    assert taken.gap_interval("roc_auc") == taken.gap_interval("roc_auc", label=True)
    assert [(group, one.value) for group, one in taken.intervals("roc_auc").items()] == taken.worst("roc_auc")


def test_a_report_says_for_what_intervals_hold() -> None:
    """Those of groups together, that of all samples by itself; the largest gaps have theirs."""
    rng, groups = np.random.default_rng(6), sm.ByGroup(sm.MetricSet())
    truth = rng.integers(0, 2, 2000)
    groups.update_many(truth, truth ^ (rng.random(2000) > 0.9), group=rng.integers(0, 20, 2000))
    shown = groups.snapshot().with_intervals()
    text, gap = shown.report(140), shown.gap_interval("accuracy")

    assert "95 % intervals" in text
    assert "of all groups in a column hold together, also for the worst: each has 99.75 %" in text
    assert f"{gap.value:.3f} [0.00, 0." in text
    assert shown.overall is not None
    assert shown.overall.displayed_interval("accuracy").level == 0.95  # type: ignore[union-attr]
    assert shown[0].displayed_interval("accuracy") == groups.snapshot().intervals("accuracy")[0]
    assert "together" not in groups.snapshot().report(140)


def test_groups_below_a_target() -> None:
    """The evidence of a group has the mean 1 at the target, by exact sums; what is found follows from its ranks."""
    for n, target in ((1, 0.5), (12, 0.3), (40, 0.9)):
        each = [of_counts([(x, n - x)]).below("accuracy", target, fdr=1 - 1e-12).get(0, 0.0) for x in range(n + 1)]
        fair, better = (
            sum(math.comb(n, x) * p**x * (1 - p) ** (n - x) * evidence for x, evidence in enumerate(each))
            for p in (target, (1 + target) / 2)
        )
        assert fair <= 1 + 1e-9
        assert better < 1
    actual = drawn(np.random.default_rng(9), [0.9, 0.6, 0.9, 0.7], 500)
    assert list(actual.below("accuracy", 0.9)) == [1, 3]
    assert set(actual.below("recall", 0.9, label=1)) == {1, 3}
    values = [of_counts([(x, 100 - x)]).below("accuracy", 0.9, fdr=0.5)[0] for x in (80, 76)]
    both = of_counts([(80, 20), (76, 24), (97, 3)])
    for fdr in (0.5, 0.2, 0.05, 0.01, 0.001):  # the k largest for the largest k with e(k) >= m / (k fdr)
        most = max((k for k, e in ((1, max(values)), (2, min(values))) if e >= 3 / (k * fdr)), default=0)
        assert list(both.below("accuracy", 0.9, fdr=fdr)) == [1, 0][:most]


def test_questions_without_an_answer() -> None:
    """The error names the argument."""
    taken = drawn(np.random.default_rng(7), [0.9, 0.8], 50)
    all_refused([
        (lambda: taken.intervals("support", label=1), ValueError, "support"),
        (lambda: taken.intervals("accuracy", 1.5), ValueError, "`level`"),
        (lambda: taken.intervals("accuracy", valid="never"), ValueError, "`valid`"),
        (lambda: taken.gap_interval("recall"), KeyError, "`label`"),
        (lambda: taken.with_intervals(0), ValueError, "`level`"),
        (lambda: taken.below("macro_f1", 0.9), ValueError, "`key`"),
        (lambda: taken.below("accuracy", 1), ValueError, "`target`"),
        (lambda: taken.below("accuracy", 0.9, fdr=0), ValueError, "`fdr`"),
        (lambda: taken.below("recall", 0.9), KeyError, "`label`"),
    ])  # fmt: skip
