"""Groups of a view: means over the classes that a group has, gaps of enough samples with intervals."""

from __future__ import annotations

import random
from typing import Any

import pytest

import stream_metrics as sm
from stream_metrics.monitor.view import group_view
from stream_metrics.monitor.view.group_view import MEANS, ShownGroups, group_interval, groups_view
from stream_metrics.monitor.view.types import GAP_SAMPLES, Groups
from stream_metrics.snapshots.snapshot import Snapshot

KEYS = ("accuracy", "macro_f1", "macro_recall", "matthews_corrcoef")


def shown(
    rows: dict[Any, list[tuple[str, str]]], keys: Any = KEYS, valid: str = "fixed", **options: Any
) -> Groups:
    """Return the view of groups with these pairs of truth and prediction."""
    snapshots = {}
    for group, pairs in rows.items():
        matrix = sm.ConfusionMatrix(**options)
        for pair in pairs:
            matrix.update(*pair)
        snapshots[group] = Snapshot(matrix)
    return groups_view(snapshots, 0, keys, valid)


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
    assert groups.gaps["macro_f1"].interval is not None
    assert "only one of the two has " in groups.gaps["macro_f1"].note
    assert groups.gaps["accuracy"].note == ""
    assert {row.group: row.classes_absent for row in groups.rows} == {"all": 0, "one": 2, "two": 1}
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
    gap = weighted["accuracy"]
    assert (gap.size, gap.lowest, gap.highest, gap.interval) == (1 - 2 / 3, "de", "fr", None)
    assert gap.note.startswith("100 samples weigh 150")


def test_gaps_of_equal_groups_are_rarely_sure() -> None:
    """The lower end allows for the choice of the two groups among many: it is above 0 in at most one of 20 cases."""
    sure = 0
    for seed in range(60):
        rows = {group: noisy(100, 0.7, seed=1000 * seed + group) for group in range(12)}
        gap = shown(rows, ("accuracy",)).gaps["accuracy"]
        assert gap.interval is not None
        sure += gap.interval[0] > 0
    assert sure <= 3


@pytest.mark.parametrize("valid", ["fixed", "anytime"])
def test_every_row_has_intervals_around_its_values(valid: str) -> None:
    """Or says why there is none: none is missing in silence."""
    rows = {"all": noisy(300, 0.94, "abc"), "two": noisy(80, 0.9, "ab", "abc"), "right": noisy(40, 1.0, "ab")}
    for row in shown(rows, valid=valid).rows:
        for key in KEYS:
            value, ends = row.metrics[key], row.intervals.get(key)
            assert ends is not None or row.interval_notes[key]
            if ends is not None:
                assert value is not None
                assert ends[0] <= value <= ends[1]
                assert ends[0] < ends[1]


@pytest.mark.parametrize(("key", "truth"), [("macro_recall", 0.8), ("macro_f1", 1.6 / (1.8 + 0.4 / 3))])
def test_the_interval_of_a_mean_over_some_classes_covers_it(key: str, truth: float) -> None:
    """A third of the wrong predictions are of a class that never occurs; 95 % of intervals are right."""
    right = 0
    for seed in range(60):
        rng = random.Random(seed)
        pairs = []
        for at in range(200):
            label, other = "ab"[at % 2], "ba"[at % 2]
            u = rng.random()
            pairs.append((label, label if u < 0.8 else other if u < 0.8 + 0.4 / 3 else "c"))
        (row,) = shown({"de": pairs}, (key,)).rows
        right += row.intervals[key][0] <= truth <= row.intervals[key][1]
    assert right >= 55


def test_a_class_that_is_never_predicted_leaves_no_precision() -> None:
    """Its precision is 0/0, so the mean has a value by the rule for 0/0 and no interval, which is said."""
    pairs = [("a", "a")] * 50 + [("b", "a")] * 20 + [("a", "c")] * 5
    (row,) = shown({"de": pairs}, ("macro_precision",)).rows
    assert row.intervals == {}
    assert "no predictions" in row.interval_notes["macro_precision"]


def test_a_group_without_samples_has_no_interval() -> None:
    """Of fixed classes it lacks all, so a mean over its own is over none."""
    snapshot = Snapshot(sm.ConfusionMatrix(labels=["a", "b", "c"]))
    for key in MEANS:
        assert group_interval(snapshot, key, 0.95, "fixed").bounds is None


def test_groups_that_have_not_changed_keep_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The view is the one computed from nothing, also if rows move past those with intervals, or names change."""
    monkeypatch.setattr(group_view, "MOST_INTERVALS", 4)
    rng, earlier = random.Random(1), ShownGroups()
    counts: dict[Any, Any] = {group: sm.ConfusionMatrix() for group in range(6)}
    for each in counts.values():
        each.update_many(*zip(*noisy(40, 0.7, "abc"), strict=True))
    before: dict[str, Any] = {}
    reused = 0
    for at in range(12):
        changed = rng.choice(list(counts))
        counts[changed].update_many(*zip(*noisy(20, rng.random(), "abc", seed=at), strict=True))
        if at == 6:
            counts["1"] = counts[1].copy()  # two groups with one name
        if at == 9:
            del counts[2]
        snapshots: dict[Any, Snapshot] = {group: Snapshot(each.copy()) for group, each in counts.items()}
        again = groups_view(snapshots, 0, KEYS, "fixed", earlier)
        assert again == groups_view(snapshots, 0, KEYS)
        reused += sum(row.metrics is before.get(row.group) for row in again.rows)
        before = {row.group: row.metrics for row in again.rows}
    assert reused > 30


@pytest.mark.parametrize("at_once", [1, 2**17])
@pytest.mark.parametrize("valid", ["fixed", "anytime"])
def test_rows_have_the_intervals_that_their_groups_have_alone(
    valid: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many groups are computed together; some have weights, one class, two samples, no sample."""
    monkeypatch.setattr(group_view, "AT_ONCE", at_once)
    snapshots = {}
    for at in range(12):
        matrix = sm.ConfusionMatrix()
        for pair in noisy((2, 30, 900)[at % 3], 0.8, "abcde"[: 1 + at % 5], "abcdef", at):
            matrix.update(*pair, 2 if at == 7 else 1)
        snapshots[f"group {at}"] = Snapshot(matrix)
    snapshots["abstentions"] = Snapshot(sm.ConfusionMatrix())
    rows = groups_view(snapshots, 0, KEYS, valid).rows

    for row in rows:
        for key in KEYS:
            if row.metrics[key] is not None:
                alone = group_interval(snapshots[row.group], key, 0.95, valid)
                assert row.interval_notes.get(key, "") == alone.note
                assert (key in row.intervals) is (alone.bounds is not None)
                assert row.intervals.get(key, (0, 0)) == pytest.approx(alone.bounds or (0, 0), abs=1.01e-4)
    assert sum(len(row.intervals) for row in rows) > 30
