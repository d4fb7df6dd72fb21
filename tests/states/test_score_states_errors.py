"""Errors of sets with scores: they name argument, position, expected and got, and no state has counted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import stream_metrics as sm

NAN = math.nan
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "probabilities": {"scores": True},
    "any": {"scores": "any"},
    "fixed": {"scores": True, "labels": ["a", "b", "c", True, False]},
    "coarse": {"scores": True, "buckets": 2, "sample": 1},
    "losses": {"metrics": ["log_loss"]},
}
kinds = pytest.mark.parametrize("configuration", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
LABEL = r"to be a str, int, bool, finite float, bytes, or a tuple of these, but got"
FINITE = r"Expected every score to be a finite number, but got"
WEIGHT = r"`w`{at} to be a finite number from 0 to 2\*\*63 - 1024, but got"

SAMPLES: list[tuple[tuple[Any, ...], type[Exception], str]] = [  # what every set refuses
    (("a", {"a": NAN, "b": 0.5}), sm.ScoreError, rf"{FINITE} nan for 'a'{{at}}"),
    (("a", {"a": 0.5, "b": math.inf}), sm.ScoreError, rf"{FINITE} inf for 'b'{{at}}"),
    (("a", {"a": 0.5, "b": "1"}), sm.ScoreError, rf"{FINITE} '1' for 'b'{{at}}"),
    (("a", {"a": None}), sm.ScoreError, rf"{FINITE} None for 'a'{{at}}"),
    (("a", {"a": [0.5]}), sm.ScoreError, rf"{FINITE} \[0\.5\] for 'a'{{at}}"),
    (("a", {"a": 10**400}), sm.ScoreError, rf"{FINITE} 10+ for 'a'{{at}}"),
    (("a", {None: 0.5}), sm.LabelError, "but got None"),
    (("a", {NAN: 0.5}), sm.LabelError, "but got nan"),
    ((True, NAN), sm.ScoreError, r"Expected the score to be a finite number, but got nan{at}"),
    ((True, -math.inf), sm.ScoreError, r"but got -inf{at}"),
    ((None, {"a": 0.5}), sm.LabelError, rf"`y_true`{{at}} {LABEL} None"),
    ((NAN, {"a": 0.5}), sm.LabelError, rf"`y_true`{{at}} {LABEL} nan"),
    (([], {"a": 0.5}), sm.LabelError, rf"`y_true`{{at}} {LABEL} \[\]"),
    (("a", {"a": 0.5}, -1), sm.WeightError, rf"{WEIGHT} -1"),
    (("a", {"a": 0.5}, NAN), sm.WeightError, rf"{WEIGHT} nan"),
    (("a", {"a": 0.5}, math.inf), sm.WeightError, rf"{WEIGHT} inf"),
    (("a", {"a": 0.5}, "1"), sm.WeightError, rf"{WEIGHT} '1'"),
    (("a", {"a": 0.5}, None), sm.WeightError, rf"{WEIGHT} None"),
    (("a", {"a": 0.5}, 2**63), sm.WeightError, "9223372036854775808"),
    (("a", [0.5, 0.5]), sm.LabelError, r"`y_pred`{at} .* but got \[0\.5, 0\.5\]"),
]
PROBABILITIES: list[tuple[tuple[Any, ...], type[Exception], str]] = [  # what sets of probabilities refuse too
    (("a", {"a": 1.5, "b": 0.5}), sm.ScoreError, r"`scores`{at} to be probabilities from 0 to 1, but got 1.5 for 'a'"),
    (
        ("a", {"a": 0.5, "b": -0.5}),
        sm.ScoreError,
        r"`scores`{at} to be probabilities from 0 to 1, but got -0.5 for 'b'",
    ),
    ((True, 1.5), sm.ScoreError, r"`scores`{at} to be probabilities from 0 to 1, but got 1.5 for True"),
    (("a", 0.75), sm.LabelError, r"`y_true`{at} to be 0 or 1, False or True, but got 'a'; pass pos_label="),
]
FIXED: list[tuple[tuple[Any, ...], type[Exception], str]] = [  # what a fixed set of labels refuses too
    (("z", {"a": 0.5}), sm.LabelError, r"`y_true`{at} to be one of the fixed labels .* but got 'z'"),
    (("a", {"z": 0.5}), sm.LabelError, r"scores of the fixed labels .* but got 'z'{at}"),
    (("a", "z"), sm.LabelError, r"`y_pred`{at} to be one of the fixed labels .* but got 'z'"),
]


def fed(configuration: dict[str, Any]) -> Any:
    """Return a set that has counted scores, single numbers and labels."""
    metrics = sm.MetricSet(**configuration)
    metrics.update("a", {"a": 0.5, "b": 0.25, "c": 0.125}, 3)
    metrics.update(True, 0.75)
    metrics.update("b", "a")
    return metrics


def refused(metrics: Any, error: type[Exception], message: str, at: int | None, feed: Any) -> None:
    """Assert that a feed raises the error, and that no byte has changed."""
    before = metrics.to_bytes()
    with pytest.raises(error, match=message.replace("{at}", "" if at is None else f" at position {at}")):
        feed()
    assert metrics.to_bytes() == before


def check_sample(configuration: dict[str, Any], sample: tuple[Any, ...], error: type[Exception], message: str) -> None:
    """Refuse a sample alone, last in a batch of scores, and last in a column of every sort of prediction."""
    metrics = fed(configuration)
    y_true, y_pred, *w = sample
    refused(metrics, error, message, None, lambda: metrics.update(*sample))
    others: list[list[tuple[Any, Any]]] = [
        [("a", {"a": 0.5}), ("b", {"a": 0.25, "b": 0.125})],
        [("a", "b"), ("a", None), ("b", {}), (True, 0.25), ("b", {"a": 0.25, "b": 0.125})],
    ]
    for first in others:
        truth, predicted = (
            [*column, last] for column, last in zip(zip(*first, strict=True), (y_true, y_pred), strict=True)
        )
        weights = [*[1] * len(first), *w] if w else None
        refused(
            metrics, error, message, len(first), lambda t=truth, p=predicted, w=weights: metrics.update_many(t, p, w)
        )


@kinds
@pytest.mark.parametrize(("sample", "error", "message"), SAMPLES, ids=range(len(SAMPLES)))
def test_every_set_refuses(configuration: dict[str, Any], sample: Any, error: type[Exception], message: str) -> None:
    """What is no score, no label or no weight is named with its position, and no state has counted."""
    check_sample(configuration, sample, error, message)


@pytest.mark.parametrize("configuration", [CONFIGURATIONS[k] for k in ("probabilities", "coarse", "losses")], ids=str)
@pytest.mark.parametrize(("sample", "error", "message"), PROBABILITIES, ids=range(len(PROBABILITIES)))
def test_sets_of_probabilities_refuse(
    configuration: dict[str, Any], sample: Any, error: type[Exception], message: str
) -> None:
    """A score that is no probability is refused, and the labels are not counted either."""
    check_sample(configuration, sample, error, message)


@pytest.mark.parametrize(("sample", "error", "message"), FIXED, ids=range(len(FIXED)))
def test_a_fixed_set_refuses(sample: Any, error: type[Exception], message: str) -> None:
    """An unknown label is refused as truth, as prediction and among the scores."""
    check_sample(CONFIGURATIONS["fixed"], sample, error, message)


ROWS = np.array([[0.5, 0.25, 0.25], [0.125, 0.25, 0.625]])
BAD_ROWS = np.array([[0.5, 0.25, 0.25], [0.125, NAN, 0.625]])
BATCHES: list[tuple[tuple[Any, ...], dict[str, Any], type[Exception], str]] = [
    ((["a"], ROWS), {"classes": list("abc")}, sm.ScoreError, "as many rows as `y_true`, 1, but got 2"),
    ((["a"] * 3, ROWS), {"classes": list("abc")}, sm.ScoreError, "as many rows as `y_true`, 3, but got 2"),
    ((["a", "b"], ROWS), {"classes": list("ab")}, sm.ScoreError, "`scores` to have 2 columns, one a class, but got 3"),
    ((["a", "b"],), {"scores": ROWS[:, :1]}, sm.ScoreError, "the 1 columns|one a class, but got 1"),
    ((["a", "b"], ROWS), {"classes": list("aba")}, sm.LabelError, "`classes` to be distinct, but got 'a'"),
    ((["a", "b"], ROWS), {"classes": "abc"}, sm.LabelError, "`classes` to be a sequence of labels, but got 'abc'"),
    ((["a", "b"], ROWS), {"classes": ["a", NAN, "b"]}, sm.LabelError, "`classes` at position 1 .* but got nan"),
    ((["a", "b"], BAD_ROWS), {"classes": list("abc")}, sm.ScoreError, "at position 1 .* but got nan for 'b'"),
    ((["a", None], ROWS), {"classes": list("abc")}, sm.LabelError, f"`y_true` at position 1 {LABEL} None"),
    ((["a", "b"], ROWS, [1, -1]), {"classes": list("abc")}, sm.WeightError, "`w` at position 1 .* but got -1"),
    ((["a", "b"], ROWS, [1]), {"classes": list("abc")}, sm.WeightError, r"`w` to be a column of 2 weights.*\(1,\)"),
    ((["a", "b"], ["a"]), {"scores": ROWS, "classes": list("abc")}, sm.LabelError, "`y_pred` .* 2, but got 1"),
    (([NAN, "b"], ["a", "b"]), {"scores": ROWS, "classes": list("abc")}, sm.LabelError, "`y_true` at position 0"),
    ((["a", "b"],), {"scores": np.zeros((2, 1, 1)), "classes": ["a"]}, sm.ScoreError, r"shape \(2, 1, 1\)"),
    ((["a", "b"],), {"scores": np.zeros((2, 0)), "classes": []}, sm.ScoreError, "a column for each of `classes`"),
    ((["a", "b"],), {"scores": "ab"}, sm.ScoreError, "`scores` to be a column or a table .* but got 'ab'"),
    ((["a", "b"],), {"scores": 0.5}, sm.ScoreError, "`scores` to be a column or a table .* but got 0.5"),
    ((["a", "b"],), {"scores": np.array(["x", "y"])}, sm.ScoreError, "but got the type <U1"),
    ((["a", "b"],), {"scores": [[0.5, 0.5], [0.5]], "classes": list("ab")}, sm.ScoreError, "2 scores.*1 at position 1"),
    ((["a", "b"],), {"scores": [[0.5, 0.5], 7], "classes": list("ab")}, sm.ScoreError, "row .* 7 at position 1"),
    ((["a", "b"],), {"scores": [[0.5, 0.5], "xy"], "classes": list("ab")}, sm.ScoreError, "'xy' at position 1"),
    ((["a", "b"],), {"scores": [{"a": 0.5}, [0.5]]}, sm.ScoreError, r"`classes`.* at position 1"),
    ((["a"], [{"a": 0.5}, {"b": 0.5}]), {}, sm.ScoreError, "as many rows as `y_true`, 1, but got 2"),
    ((["a"], [{"a": 0.5}, "b"]), {}, sm.LabelError, "`y_pred` to have as many rows as `y_true`, 1, but got 2"),
    ((["a"], ["b", {"a": 0.5}]), {}, sm.LabelError, "`y_pred` to have as many rows as `y_true`, 1, but got 2"),
    ((["a", "b"], ["b", {"a": 0.5}], [1]), {}, sm.WeightError, "2 weights"),
    ((pd.Categorical(["a", None]), [{"a": 0.5}, "b"]), {}, sm.LabelError, "`y_true` at position 1"),
    (([True, False], np.array([0.5, NAN])), {}, sm.ScoreError, "at position 1 .* but got nan for True"),
    (([True, False], np.array([math.inf, 0.5])), {}, sm.ScoreError, "at position 0 .* but got inf for True"),
    (([True], np.array([0.5, 0.5])), {}, sm.ScoreError, "as many rows as `y_true`, 1, but got 2"),
    (([True, None], np.array([0.5, 0.5])), {}, sm.LabelError, "`y_true` at position 1"),
    ((["a", "b"], None), {}, sm.LabelError, "`y_pred` to be a column of labels, but got None"),
]


@kinds
@pytest.mark.parametrize(("arguments", "keywords", "error", "message"), BATCHES, ids=range(len(BATCHES)))
def test_every_set_refuses_a_batch(
    configuration: dict[str, Any], arguments: Any, keywords: Any, error: type[Exception], message: str
) -> None:
    """A batch with one bad row, or whose parts do not fit, is in no state."""
    metrics = fed(configuration)
    refused(metrics, error, message, None, lambda: metrics.update_many(*arguments, **keywords))


@pytest.mark.parametrize(
    ("scores", "error", "message"),
    [
        ([0.5, 0.5, 0.5], sm.ScoreError, "2 scores, one for each of `classes`, but got 3"),
        ("ab", sm.ScoreError, "a row of scores, one for each of `classes`, but got 'ab'"),
        (7, sm.ScoreError, "a row of scores, one for each of `classes`, but got 7"),
        ([0.5, NAN], sm.ScoreError, "but got nan for 'b'"),
        (np.array(0.5), sm.LabelError, "`y_true` to be 0 or 1, False or True"),  # as the number that it holds
        ({0.25, 0.75}, sm.ScoreError, "a row of scores"),
    ],
)
@pytest.mark.parametrize("name", ["scores", "y_pred"])
def test_a_row_of_another_size_is_refused(name: str, scores: Any, error: type[Exception], message: str) -> None:
    """One sample with `classes` needs as many scores."""
    metrics = fed({"scores": True})
    refused(metrics, error, message, None, lambda: metrics.update("a", **{name: scores}, classes=["a", "b"]))


@kinds
def test_a_sum_of_weights_too_large_is_in_no_state(configuration: dict[str, Any]) -> None:
    """The last state to be fed may refuse as well; the others have not counted then."""
    metrics = fed(configuration)
    metrics.update("a", {"a": 0.5}, 2**62)
    refused(metrics, sm.WeightError, r"below 2\*\*63", None, lambda: metrics.update("a", {"a": 0.5}, 2**62))
    refused(
        metrics,
        sm.WeightError,
        r"below 2\*\*63",
        None,
        lambda: metrics.update_many(["b", "a"], ["b", {"a": 0.5}], [1, 2**62]),
    )
    refused(
        metrics,
        sm.WeightError,
        r"below 2\*\*63",
        None,
        lambda: metrics.update_many(["a"], ROWS[:1], [2**62], classes=list("abc")),
    )


@pytest.mark.parametrize("configuration", [CONFIGURATIONS[k] for k in ("probabilities", "any", "losses")], ids=str)
@pytest.mark.parametrize(
    "sample",
    [("a", {"a": 0.03125}), ("b", {"a": 0.5, "b": 0.25, "c": 0.125}), ("a", {"a": 0.5, "b": 0.25, "c": 0.125}, 4)],
)
def test_reverting_what_was_not_counted_changes_nothing(configuration: dict[str, Any], sample: Any) -> None:
    """A sample that some state does not hold is taken out of none."""
    metrics = fed(configuration)
    refused(metrics, sm.WeightError, "to revert a sample that was counted", None, lambda: metrics.revert(*sample))


def test_a_coarse_sketch_does_not_revert() -> None:
    """Where scores share cells a revert is refused, and the labels and losses still hold the sample."""
    metrics = sm.MetricSet(scores=True, buckets=2, sample=1)
    rng = np.random.default_rng(1)
    metrics.update_many(rng.random(50) < 0.5, rng.random(50))
    metrics.update(True, 0.75)
    refused(metrics, sm.WeightError, "to revert while every score is exact", None, lambda: metrics.revert(True, 0.75))


@pytest.mark.parametrize("labels", [range(64, 65), range(64, 140)], ids=["one more", "many more"])
@pytest.mark.parametrize("batch", [True, False])
def test_more_classes_than_pairs_are_kept_of_are_refused(batch: bool, labels: range) -> None:
    """A metric that compares pairs takes up to 64 classes; one more is refused before anything has counted it."""
    metric = sm.HandTillAUC()
    rows = [{label: 0.5, (label + 1) % 64: 0.25} for label in range(64)]
    metric.update_many(range(64), rows)
    many = dict.fromkeys(labels, 0.5)
    feed = (lambda: metric.update_many([3, 64], [{3: 0.5}, many])) if batch else (lambda: metric.update(64, many))
    expected = "at most 64 classes for a metric that compares pairs of classes, but got 64"
    refused(metric, sm.ScoreError, expected, None, feed)
    assert metric.get() == 1.0


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("sketch", [0, 1], ids=["ranks", "confidence"])
def test_an_interrupt_leaves_no_state_behind_the_others(
    monkeypatch: pytest.MonkeyPatch, sketch: int, late: bool
) -> None:
    """Ctrl-C while a batch is added, before or after a sketch has taken it: every state counts it, or none does."""
    batch = {"y_true": ["a", "b", "b"], "scores": [[0.75, 0.25]] * 3, "classes": ["a", "b"], "w": [1, 0.5, 0]}
    metrics, expected = sm.MetricSet(scores=True), sm.MetricSet(scores=True)
    expected.update_many(**batch)
    add, calls = sm.RankSketch._add, iter(range(10))

    def interrupted(self: sm.RankSketch, *arguments: Any) -> None:
        now = next(calls) == sketch
        if late or not now:
            add(self, *arguments)
        if now:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(sm.RankSketch, "_add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            metrics.update_many(**batch)

    assert metrics.to_bytes() == expected.to_bytes()
    assert sm.from_bytes(metrics.to_bytes()) == metrics
