"""Intervals of selected groups: the worst of many, and the largest gap; simulated with fixed seeds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics.inference.selection import e_benjamini_hochberg, e_value_below, level_of_each
from stream_metrics.snapshots.groups import GroupSnapshot

RUNS = 120


def drawn(rng: np.random.Generator, rates: list[float], n: int, **options: Any) -> GroupSnapshot:
    """Return groups of n samples of two classes whose predictions are right at these rates."""
    groups = {}
    for at, rate in enumerate(rates):
        cells = rng.multinomial(n, [rate / 2, (1 - rate) / 2, (1 - rate) / 2, rate / 2]).reshape(2, 2)
        groups[at] = sm.ConfusionMatrix.from_matrix(cells).snapshot()
    return GroupSnapshot(groups, None, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("key", ["accuracy", "balanced_accuracy", "macro_f1"])
def test_the_interval_of_the_worst_of_many_groups_holds(key: str) -> None:
    """Of 20 equal groups, that of the worst in at least 93 % of samples; on its own it would in 58 %."""
    rng, held, alone = np.random.default_rng(1), 0, 0
    runs = RUNS if key == "accuracy" else RUNS // 4
    for _ in range(runs):
        snapshot = drawn(rng, [0.9] * 20, 400)
        worst, one = next(iter(snapshot.intervals(key).items()))
        assert [worst] == [group for group, _ in snapshot.worst(key, 1)]
        held += one.low <= 0.9 <= one.high
        own: Any = snapshot[worst].interval(key)
        alone += own.low <= 0.9 <= own.high

    assert held >= 0.93 * runs
    assert alone < 0.75 * runs


@pytest.mark.parametrize("rates", [[0.9] * 20, [0.8, 0.85, 0.9], [0.7, *[0.9] * 9], [0.5, 0.6]], ids=len)
@pytest.mark.parametrize("valid", ["fixed", "anytime"])
def test_the_interval_of_the_largest_gap_holds_the_true_one(rates: list[float], valid: str) -> None:
    """In at least 95 % of samples, for equal groups and others; equal groups are not said to differ."""
    rng, held = np.random.default_rng(2), 0
    for _ in range(60):
        found = drawn(rng, rates, 300).gap_interval("accuracy", valid=valid)
        held += found.low <= max(rates) - min(rates) <= found.high
        assert found.low <= found.value <= found.high

    assert held >= 57


def test_a_large_gap_is_told_from_none() -> None:
    """With enough samples the lower end leaves 0 and both ends close in."""
    rng = np.random.default_rng(3)
    found = drawn(rng, [0.7, 0.9, 0.9], 20_000).gap_interval("accuracy")

    assert 0.17 < found.low < found.value < found.high < 0.23
    assert (found.level, found.method, found.n) == (0.95, "simultaneous", 60_000)


def test_every_group_has_the_level_that_all_need_together() -> None:
    """1 - (1 - level) / m for the m groups compared, worst first; groups too small or without a value have none."""
    rng = np.random.default_rng(4)
    snapshot = drawn(rng, [0.6, 0.9, 0.8], 100)
    small = sm.ConfusionMatrix.from_matrix([[3, 0], [0, 1]]).snapshot()
    more = GroupSnapshot({**snapshot, "small": small}, None, None)

    assert list(snapshot.intervals("accuracy")) == [group for group, _ in snapshot.worst("accuracy")]
    assert {one.level for one in snapshot.intervals("accuracy", 0.9).values()} == {level_of_each(0.9, 3)}
    assert {one.level for one in more.intervals("accuracy").values()} == {1 - 0.05 / 4}
    assert more.intervals("accuracy", least=5) == snapshot.intervals("accuracy")
    assert math.isnan(more.gap_interval("accuracy", least=101).value)
    assert snapshot.gap_interval("recall", label=1).value == snapshot.max_gap("recall", label=1)


def test_areas_compare_by_their_positive_class() -> None:
    """Without a label, the area is that of `pos_label`, as in `worst`."""
    rng, groups = np.random.default_rng(5), sm.ByGroup(sm.MetricSet(scores=True))
    truth = rng.random(600) < 0.5
    scores = np.clip(rng.normal(0.4, 0.2, 600) + 0.2 * truth, 0, 1)
    groups.update_many(truth, scores=scores, group=rng.integers(0, 3, 600))
    snapshot = groups.snapshot()

    assert snapshot.gap_interval("roc_auc") == snapshot.gap_interval("roc_auc", label=True)
    assert [(group, one.value) for group, one in snapshot.intervals("roc_auc").items()] == snapshot.worst("roc_auc")


def test_a_report_says_for_what_intervals_hold() -> None:
    """Those of groups together, that of all samples by itself; the largest gaps have theirs."""
    rng, groups = np.random.default_rng(6), sm.ByGroup(sm.MetricSet())
    truth = rng.integers(0, 2, 2000)
    predicted = np.where(rng.random(2000) < 0.9, truth, 1 - truth)
    group = rng.integers(0, 20, 2000)
    groups.update_many(truth, predicted, group=group)
    shown = groups.snapshot().with_intervals()
    text = shown.report(140)
    gap = shown.gap_interval("accuracy")

    assert "95 % intervals" in text
    assert "of all groups in a column hold together, also for the worst: each has 99.75 %" in text
    assert f"{gap.value:.3f} [0.00, 0." in text
    assert shown.overall is not None
    assert shown.overall.displayed_interval("accuracy").level == 0.95
    assert shown[0].displayed_interval("accuracy") == groups.snapshot().intervals("accuracy")[0]
    assert "together" not in groups.snapshot().report(140)


def test_groups_below_a_target_are_found_with_few_errors() -> None:
    """The share of groups found that are not below it stays at most the rate asked for, at the worst of many looks."""
    rng, wrong, right = np.random.default_rng(8), [], []
    for _ in range(30):
        counts = np.zeros((30, 2), int)
        worst, last = 0.0, 0
        for _look in range(8):
            counts[:24] += rng.multinomial(100, [0.9, 0.1], 24)
            counts[24:] += rng.multinomial(100, [0.8, 0.2], 6)
            values = {at: e_value_below(int(x), int(x + y), 0.9) for at, (x, y) in enumerate(counts)}
            found = e_benjamini_hochberg(values, 0.1)
            worst, last = max(worst, sum(at < 24 for at in found) / max(len(found), 1)), sum(at >= 24 for at in found)
        wrong.append(worst)
        right.append(last)

    assert np.mean(wrong) < 0.1
    assert np.mean(right) > 5.5
    rng = np.random.default_rng(9)
    assert list(drawn(rng, [0.9, 0.6, 0.9, 0.7], 500).below("accuracy", 0.9)) == [1, 3]
    assert set(drawn(rng, [0.9, 0.6, 0.9, 0.7], 500).below("recall", 0.9, label=1)) == {1, 3}


@pytest.mark.parametrize(("n", "target"), [(1, 0.5), (12, 0.3), (40, 0.9)])
def test_an_e_value_is_one_on_average_at_the_target_and_less_above(n: int, target: float) -> None:
    """Exact sums over all outcomes."""
    for p, mean in ((target, 1.0), ((1 + target) / 2, None)):
        chances = [math.comb(n, x) * p**x * (1 - p) ** (n - x) for x in range(n + 1)]
        total = math.fsum(chance * e_value_below(x, n, target) for x, chance in enumerate(chances))
        assert total == pytest.approx(1, rel=1e-9) if mean else total < 1


def test_e_values_are_rejected_by_their_ranks() -> None:
    """By the definition: the k largest for the largest k with e(k) >= m / (k fdr)."""
    assert e_benjamini_hochberg({}) == {}
    assert e_benjamini_hochberg({"a": 59.0, "b": 1.0, "c": 0.0}) == {}
    assert e_benjamini_hochberg({"b": 1.0, "a": 60.0, "c": 0.0}) == {"a": 60.0}
    assert list(e_benjamini_hochberg({"b": 30.0, "a": 31.0, "c": 0.0})) == ["a", "b"]


@pytest.mark.parametrize(
    ("ask", "error", "match"),
    [
        (lambda s: s.intervals("support", label=1), ValueError, "support"),
        (lambda s: s.intervals("accuracy", 1.5), ValueError, "`level`"),
        (lambda s: s.intervals("accuracy", valid="never"), ValueError, "`valid`"),
        (lambda s: s.gap_interval("recall"), KeyError, "`label`"),
        (lambda s: s.with_intervals(0), ValueError, "`level`"),
        (lambda s: s.below("macro_f1", 0.9), ValueError, "`key`"),
        (lambda s: s.below("accuracy", 1), ValueError, "`target`"),
        (lambda s: s.below("accuracy", 0.9, fdr=0), ValueError, "`fdr`"),
        (lambda s: s.below("recall", 0.9), KeyError, "`label`"),
    ],
)
def test_questions_without_an_answer(ask: Any, error: type[Exception], match: str) -> None:
    """The error names the argument."""
    with pytest.raises(error, match=match):
        ask(drawn(np.random.default_rng(7), [0.9, 0.8], 50))
