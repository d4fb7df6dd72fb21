"""Sets that keep scores beside labels: labels of scores, bytes, merging, options."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stream_metrics as sm

NAMES = ["cat", "dog", "bird", "cow"]


@pytest.mark.parametrize(
    ("scores", "label"),
    [
        ({"b": 0.5, "a": 0.5}, "a"),
        ({"b": 0.4, "a": 0.4, "c": 0.2}, "a"),
        ({2: 0.5, 10: 0.5}, 2),
        ({"x": 0.5, 3: 0.5, True: 0.5}, True),
        ({"z": 0.0, "y": 0.0, "x": -0.0}, "x"),
        ({"b": 0.6, "a": 0.4}, "b"),
    ],
)
def test_equal_scores_go_to_the_first_label(scores: dict[Any, float], label: Any) -> None:
    """Of equal scores the label that is first in the order of report is the prediction, one by one and in a batch."""
    single, rows, table = (sm.MetricSet(scores=True) for _ in range(3))
    single.update("t", scores)
    rows.update_many(["t"], [scores])
    table.update_many(["t"], scores=np.array([list(scores.values())]), classes=list(scores))
    expected = sm.ConfusionMatrix()
    expected.update("t", label)

    assert single == rows == table
    assert single.state == expected


@pytest.mark.parametrize(
    ("options", "score", "label"),
    [
        ({}, 0.5, True),
        ({}, 0.49999999, False),
        ({"threshold": 0.7}, 0.7, True),
        ({"threshold": 0.7}, 0.7 - 2**-53, False),
        ({"threshold": 0.0}, 0.0, True),
        ({"threshold": 2}, 1.0, False),
        ({"threshold": -1}, 0.0, True),
        ({"pos_label": 1}, 0.2, 0),
        ({"pos_label": 0}, 0.2, 1),
        ({"pos_label": False}, 0.2, True),
        ({"pos_label": "spam", "labels": ["ham", "spam"]}, 0.2, "ham"),
        ({"pos_label": "ham", "labels": ["ham", "spam"]}, 0.2, "spam"),
        ({"pos_label": "ham", "labels": ["ham", "spam"]}, 0.9, "ham"),
        ({"pos_label": "spam", "labels": ["a", "b", "spam"]}, 0.9, "spam"),
    ],
)
def test_the_label_of_a_single_score(options: dict[str, Any], score: float, label: Any) -> None:
    """A score of at least the threshold is `pos_label`, any other the other class; both sorts of batches agree."""
    single, rows, column = (sm.MetricSet(scores=True, **options) for _ in range(3))
    single.update(label, score)
    rows.update_many([label], [score])
    column.update_many([label], np.array([score]))
    expected = sm.ConfusionMatrix(options.get("labels"))
    expected.update(label, label)

    assert single == rows == column
    assert single.state == expected
    assert single.snapshot()["accuracy"] == 1.0


@pytest.mark.parametrize("options", [{"pos_label": "spam"}, {"pos_label": "spam", "labels": ["a", "b", "spam"]}])
@pytest.mark.parametrize("feed", ["single", "rows", "column"])
def test_a_single_score_needs_a_second_class(options: dict[str, Any], feed: str) -> None:
    """Where the other class is not known, a score below the threshold is refused and nothing is counted."""
    metrics = sm.MetricSet(scores=True, **options)
    metrics.update("spam", 0.9)
    before = metrics.to_bytes()
    calls = {
        "single": lambda: metrics.update("spam", 0.2),
        "rows": lambda: metrics.update_many(["spam"] * 2, [0.9, 0.2]),
        "column": lambda: metrics.update_many(["spam"] * 2, np.array([0.9, 0.2])),
    }
    with pytest.raises(sm.ScoreError, match=r"`labels` with two classes.*'spam' (is not known|may be 'a').* 0.2"):
        calls[feed]()

    assert metrics.to_bytes() == before


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ({"scores": True}, {}),
        ({"scores": True}, {"scores": "any"}),
        ({"scores": True}, {"scores": True, "pos_label": "a"}),
        ({"scores": True}, {"scores": True, "threshold": 0.6}),
        ({"scores": True}, {"scores": True, "buckets": 512}),
        ({"scores": True}, {"scores": True, "sample": 256}),
        ({"scores": True}, {"scores": True, "labels": ["a", "b"]}),
        ({"scores": True}, {"scores": True, "pairs": False}),
        ({"metrics": ["roc_auc"]}, {"metrics": ["accuracy"]}),
    ],
)
def test_sets_that_keep_other_things_do_not_merge(mine: dict[str, Any], theirs: dict[str, Any]) -> None:
    """A MergeError says how they differ, whichever is merged into which, and nothing changes."""
    for first, second in ((mine, theirs), (theirs, mine)):
        a, b = sm.MetricSet(**first), sm.MetricSet(**second)
        before = a.to_bytes()
        with pytest.raises(sm.MergeError, match=r"^Expected .*, but got "):
            a.merge(b)
        assert a.to_bytes() == before


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"scores": "yes"}, "`scores` to be True, False or 'any', but got 'yes'"),
        ({"scores": True, "threshold": "x"}, "`threshold` to be a number, but got 'x'"),
        ({"scores": True, "threshold": float("nan")}, "`threshold` to be a finite number, but got nan"),
        ({"scores": True, "labels": ["a"], "other": "z"}, "no `other` where scores are kept, but got 'z'"),
        ({"scores": True, "buckets": 1}, "buckets"),
        ({"scores": True, "sample": 0}, "sample"),
        ({"scores": True, "pos_label": float("nan")}, "`pos_label`"),
    ],
)
def test_options_are_checked_when_they_are_given(keywords: dict[str, Any], message: str) -> None:
    """A bad option is refused at once, with the option, what is allowed and what came."""
    with pytest.raises(ValueError, match=message):
        sm.MetricSet(**keywords)


def test_a_set_of_labels_says_how_scores_are_kept() -> None:
    """A set that keeps labels only points to the option; a mapping counts as its largest label there."""
    metrics = sm.MetricSet()
    for feed in (
        lambda: metrics.update("a", scores={"a": 0.5}),
        lambda: metrics.revert("a", scores={"a": 0.5}),
        lambda: metrics.update_many(["a"], scores=[{"a": 0.5}]),
        lambda: metrics.update("a", [0.5], classes=["a"]),
    ):
        with pytest.raises(ValueError, match=r"MetricSet\(scores=True\)"):
            feed()

    assert metrics == sm.MetricSet()
    assert sm.MetricSet(["roc_auc"]).scored is not None
    assert sm.MetricSet(["accuracy"]).scored is None


def test_equal_configurations_merge_however_they_were_written() -> None:
    """A one is True, and a threshold may be an int."""
    mine, theirs = sm.MetricSet(scores=1, threshold=1), sm.MetricSet(scores=True, threshold=1.0)  # type: ignore[arg-type]
    theirs.update("a", {"a": 0.5})

    assert mine.scores is True
    assert mine.merge(theirs) == theirs


def test_a_failed_merge_changes_nothing() -> None:
    """More classes together than a metric of pairs takes are refused before anything has merged."""
    a, b = sm.HandTillAUC(), sm.HandTillAUC()
    for i in range(40):
        a.update(f"a{i}", {f"a{i}": 0.9})
        b.update(f"b{i}", {f"b{i}": 0.9})
    before = a.to_bytes()

    with pytest.raises(sm.ScoreError, match="at most 64 classes"):
        a.merge(b)
    assert a.to_bytes() == before


def test_pairs_are_kept_only_where_a_metric_reads_them() -> None:
    """Named metrics that compare no pairs take any number of classes."""
    metrics = sm.MetricSet(["log_loss", "roc_auc_ovr"])
    for i in range(70):
        metrics.update(f"c{i}", {f"c{i}": 0.9})

    assert metrics.get()["roc_auc_ovr"] == 1.0


def test_more_scored_classes_than_a_square_table_takes() -> None:
    """Square tables are left out by the classes that have scores, not only by those of the matrix."""
    metrics = sm.MetricSet(["accuracy", "roc_auc_ovo"], pairs=False, buckets=2, sample=1)
    metrics.update("a", {"a": 0.5, **{f"c{i}": 1e-4 for i in range(4100)}})

    assert "roc_auc_ovo" in metrics.snapshot().to_dict()["omitted"]
