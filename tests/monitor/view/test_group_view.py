"""Groups of a view: means over the classes that a group has, gaps of enough samples with intervals."""

from __future__ import annotations

import random
from typing import Any

import pytest
from support.monitor_runs import START, pair, read, window

import stream_metrics as sm

KEYS = ["accuracy", "macro_f1", "macro_recall", "matthews_corrcoef"]
MEANS = {f"macro_{key}": key for key in ("precision", "recall", "specificity", "f1", "jaccard")}
Rows = dict[Any, list[tuple[Any, ...]]]


def shown(rows: Rows, keys: Any = None, name: str = "1h", **counting: Any) -> Any:
    """Return the view of groups with these truths, predictions and weights, in a window."""
    samples = [(group, *sample) for group, samples in rows.items() for sample in samples]
    events = [
        pair(at, truth, said, time=START, group=group) | dict(zip(["weight"], weight, strict=False))
        for at, (group, truth, said, *weight) in enumerate(samples)
    ]
    counting = {"windows": ["1h"], "max_groups": 200, "metrics": keys or KEYS, **counting}
    return window(read(events, counting=counting), name).groups


def noisy(n: int, right: float, classes: str = "ab", wrong: str = "", seed: int = 0) -> list[tuple[str, str]]:
    """Return samples of which a share is right; the others are predicted as any class or one of `wrong`."""
    rng = random.Random(seed)
    truths = [classes[at % len(classes)] for at in range(n)]
    return [(truth, truth if rng.random() < right else rng.choice(wrong or classes)) for truth in truths]


def test_a_class_that_a_group_lacks_is_no_zero() -> None:
    """Means are over the classes of true labels, where others are predicted or fixed, too; over all classes as usual.

    A group as good as the others that lacks two of three classes is not the worst by far.
    """
    pairs, whole = noisy(100, 0.94, "ab", "abc"), noisy(100, 0.7, "abc")
    rows = {row.group: row.metrics for row in shown({"de": pairs, "all": whole}, list(MEANS)).rows}
    (fixed,) = shown({"de": pairs}, list(MEANS), labels=["a", "b", "c", "d", "e"]).rows
    snapshot, every = (sm.evaluate(*zip(*each, strict=True)) for each in (pairs, whole))
    for key, each in MEANS.items():
        assert rows["de"][key] == pytest.approx(sum(snapshot[each, label] for label in "ab") / 2, abs=1e-15)
        assert rows["de"][key] == fixed.metrics[key] != snapshot[key]
        assert rows["all"][key] == every[key]

    lacking = {
        "all": noisy(300, 0.94, "abc"),
        "one": noisy(300, 0.96, "a", "abc"),
        "two": noisy(300, 0.94, "ab", "abc"),
    }
    groups = shown(lacking, labels=["a", "b", "c"])
    assert max(groups.gaps[key].size for key in ("macro_recall", "macro_f1")) < 0.05
    assert groups.gaps["macro_f1"].interval is not None
    assert "only one of the two has " in groups.gaps["macro_f1"].note
    assert groups.gaps["accuracy"].note == ""
    assert {row.group: row.classes_absent for row in groups.rows} == {"all": 0, "one": 2, "two": 1}


@pytest.mark.quick
def test_few_samples_are_no_gap() -> None:
    """A group of one wrong sample is listed, and in no gap; two groups of 30 samples are needed."""
    rows: Rows = {"de": noisy(30, 0.9), "fr": noisy(200, 0.8), "it": [("a", "b")]}
    groups = shown(rows, ["accuracy"])

    assert groups.rows[0].group == "it"
    assert {groups.gaps["accuracy"].lowest, groups.gaps["accuracy"].highest} == {"de", "fr"}
    assert shown({"de": noisy(29, 0.9), "fr": noisy(200, 0.8)}, ["accuracy"]).gaps == {}


def test_a_gap_has_the_interval_of_its_groups() -> None:
    """Equal groups have one from 0, different ones one above 0; with weights there is none."""
    equal = shown({group: noisy(400, 0.8, seed=group) for group in range(10)}).gaps
    apart = shown({"de": noisy(2000, 0.9), "fr": noisy(2000, 0.3)}).gaps
    assert list(equal) == list(apart) == KEYS
    for gap in equal.values():
        assert gap.interval[0] == 0.0 <= gap.size <= gap.interval[1]
    for gap in apart.values():
        assert 0 < gap.interval[0] <= gap.size <= gap.interval[1]

    weights = {"de": [("a", "a", 2), ("b", "a", 1)] * 50, "fr": [("a", "a", 2), ("b", "b", 1)] * 50}
    gap = shown(weights, ["accuracy"]).gaps["accuracy"]
    assert (gap.size, gap.lowest, gap.highest, gap.interval) == (1 - 2 / 3, "de", "fr", None)
    assert gap.note.startswith("100 samples weigh 150")


@pytest.mark.parametrize(("cases", "most"), [(12, 1), pytest.param(60, 3, marks=pytest.mark.nightly)])
def test_gaps_of_equal_groups_are_rarely_sure(cases: int, most: int) -> None:
    """The lower end allows for the choice of the two groups among many: it is above 0 in at most one of 20 cases."""
    sure = 0
    for seed in range(cases):
        rows: Rows = {group: noisy(100, 0.7, seed=1000 * seed + group) for group in range(12)}
        sure += shown(rows, ["accuracy"]).gaps["accuracy"].interval[0] > 0
    assert sure <= most


def test_the_interval_of_a_mean_over_some_classes_covers_it() -> None:
    """A third of the wrong predictions are of a class that never occurs; 95 % of intervals are right."""
    rows: Rows = {}
    for seed in range(60):
        rng, rows[seed] = random.Random(seed), []
        for at in range(200):
            label, other, u = "ab"[at % 2], "ba"[at % 2], rng.random()
            rows[seed].append((label, label if u < 0.8 else other if u < 0.8 + 0.4 / 3 else "c"))
    shown_rows = shown(rows).rows

    for key, truth in (("macro_recall", 0.8), ("macro_f1", 1.6 / (1.8 + 0.4 / 3))):
        assert sum(row.intervals[key][0] <= truth <= row.intervals[key][1] for row in shown_rows) >= 55


@pytest.mark.quick
def test_a_class_that_is_never_predicted_leaves_no_precision() -> None:
    """Its precision is 0/0, so the mean has a value by the rule for 0/0 and no interval, which is said."""
    pairs = [("a", "a")] * 50 + [("b", "a")] * 20 + [("a", "c")] * 5
    (row,) = shown({"de": pairs}, ["macro_precision"]).rows
    assert row.intervals == {}
    assert "no predictions" in row.interval_notes["macro_precision"]


@pytest.mark.parametrize("name", ["1h", "total"])
def test_rows_have_the_intervals_that_their_groups_have_alone(name: str) -> None:
    """Many computed together; some have weights, one class, two samples, only abstentions, or more classes than most.

    The interval is around the value, or a note says why there is none: none is missing in silence.
    """
    rows: Rows = {at: noisy((2, 30, 900)[at % 3], 0.8, "abcde"[: 1 + at % 5], "abcdef", at) for at in range(12)}
    rows[7] = [(*sample, 2) for sample in rows[7]]
    rows |= {"abstentions": [("a", None)], "right": noisy(40, 1.0)}
    together, intervals = {row.group: row for row in shown(rows, name=name).rows}, 0

    for group, samples in rows.items():
        (alone,), row = shown({group: samples}, name=name).rows, together[str(group)]
        assert row.metrics == alone.metrics
        assert row.interval_notes == alone.interval_notes
        assert row.intervals.keys() == alone.intervals.keys()
        for key in KEYS:
            value, ends = row.metrics[key], row.intervals.get(key)
            assert ends is not None or row.interval_notes.get(key) or value is None
            if ends is not None:
                assert ends[0] <= value <= ends[1]
                assert ends[0] < ends[1]
                assert ends == pytest.approx(alone.intervals[key], abs=1.01e-4)
        intervals += len(row.intervals)
    assert intervals > 30
    assert together["abstentions"].intervals == together["abstentions"].interval_notes == {}
