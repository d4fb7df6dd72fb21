"""Groups of a view: means over the classes that a group has, gaps of enough samples with intervals."""

from __future__ import annotations

import random
from typing import Any

import pytest

import stream_metrics as sm
from stream_metrics.monitor.view.group_view import MEANS, groups_view
from stream_metrics.monitor.view.types import GAP_SAMPLES, Gap, Groups
from stream_metrics.snapshots.snapshot import Snapshot

KEYS = ("accuracy", "macro_f1", "macro_recall", "matthews_corrcoef")


def shown(rows: dict[Any, list[tuple[str, str]]], keys: Any = KEYS, **options: Any) -> Groups:
    """Return the view of groups with these pairs of truth and prediction."""
    snapshots = {}
    for group, pairs in rows.items():
        matrix = sm.ConfusionMatrix(**options)
        for pair in pairs:
            matrix.update(*pair)
        snapshots[group] = Snapshot(matrix)
    return groups_view(snapshots, 0, keys)


def noisy(n: int, right: float, classes: str = "ab", wrong: str = "", seed: int = 0) -> list[tuple[str, str]]:
    """Return samples of which a share is right; the others are predicted as any class or one of `wrong`."""
    rng = random.Random(seed)
    truths = [classes[at % len(classes)] for at in range(n)]
    return [(truth, truth if rng.random() < right else rng.choice(wrong or classes)) for truth in truths]


@pytest.mark.parametrize("key", list(MEANS))
def test_a_class_that_a_group_lacks_is_no_zero(key: str) -> None:
    """Also where it is predicted there now and then, or where classes are fixed: the mean is over true classes."""
    pairs = noisy(100, 0.94, "ab", "abc")
    (row,) = shown({"de": pairs}, (key,)).rows
    (fixed,) = shown({"de": pairs}, (key,), labels=["a", "b", "c", "d", "e"]).rows
    snapshot = sm.evaluate(*zip(*pairs, strict=True))
    each = [snapshot[MEANS[key], label] for label in "ab"]

    assert row.metrics == fixed.metrics
    assert row.metrics[key] == pytest.approx(sum(each) / 2, abs=1e-15)
    assert row.metrics[key] != snapshot[key]


@pytest.mark.parametrize("key", list(MEANS))
def test_a_group_with_every_class_has_the_metric_itself(key: str) -> None:
    """To the last bit."""
    pairs = noisy(100, 0.7, "abc")
    (row,) = shown({"de": pairs}, (key,)).rows
    assert row.metrics[key] == sm.evaluate(*zip(*pairs, strict=True))[key]


def test_no_gap_is_one_of_missing_classes() -> None:
    """A group as good as the others that lacks two of three classes is not the worst by far."""
    rows = {"all": noisy(300, 0.94, "abc"), "one": noisy(300, 0.96, "a", "abc"), "two": noisy(300, 0.94, "ab", "abc")}
    groups = shown(rows, labels=["a", "b", "c"])

    assert groups.gaps["macro_recall"].size < 0.05
    assert groups.gaps["macro_f1"].size < 0.05
    assert groups.gaps["macro_f1"].interval is None
    whole = {group: sm.evaluate(*zip(*pairs, strict=True))["macro_f1"] for group, pairs in rows.items()}
    assert max(whole.values()) - min(whole.values()) > 0.5


def test_few_samples_are_no_gap() -> None:
    """A group of one wrong sample is listed, and in no gap; two groups of enough samples are needed."""
    rows = {"de": noisy(GAP_SAMPLES, 0.9), "fr": noisy(200, 0.8), "it": [("a", "b")]}
    groups = shown(rows, ("accuracy",))

    assert groups.rows[0].group == "it"
    assert {groups.gaps["accuracy"].lowest, groups.gaps["accuracy"].highest} == {"de", "fr"}
    assert shown({"de": noisy(29, 0.9), "fr": noisy(200, 0.8)}, ("accuracy",)).gaps == {}


def test_a_gap_has_the_interval_of_its_groups() -> None:
    """Equal groups have one from 0, different ones one above 0; with weights there is none."""
    equal = shown({group: noisy(400, 0.8, seed=group) for group in range(10)}, KEYS).gaps
    for gap in equal.values():
        assert gap.interval is not None
        assert gap.interval[0] == 0.0 <= gap.size <= gap.interval[1]
    apart = shown({"de": noisy(2000, 0.9), "fr": noisy(2000, 0.3)}, KEYS).gaps
    for gap in apart.values():
        assert gap.interval is not None
        assert 0 < gap.interval[0] <= gap.size <= gap.interval[1]

    matrices = {"de": sm.ConfusionMatrix(), "fr": sm.ConfusionMatrix()}
    matrices["de"].update_many(["a", "b"] * 50, ["a", "a"] * 50, [2, 1] * 50)
    matrices["fr"].update_many(["a", "b"] * 50, ["a", "b"] * 50, [2, 1] * 50)
    weighted = groups_view({group: Snapshot(matrix) for group, matrix in matrices.items()}, 0, ("accuracy",)).gaps
    assert weighted["accuracy"] == Gap(1 - 2 / 3, "de", "fr", None)


def test_gaps_of_equal_groups_are_rarely_sure() -> None:
    """The lower end allows for the choice of the two groups among many: it is above 0 in at most one of 20 cases."""
    sure = 0
    for seed in range(60):
        rows = {group: noisy(100, 0.7, seed=1000 * seed + group) for group in range(12)}
        gap = shown(rows, ("accuracy",)).gaps["accuracy"]
        assert gap.interval is not None
        sure += gap.interval[0] > 0
    assert sure <= 3
