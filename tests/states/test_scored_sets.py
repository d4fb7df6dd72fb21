"""Sets that read scores: what they refuse, which no state has counted, and how plain and other objects count."""

from __future__ import annotations

import math
from collections import UserDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.state_checks import check_refused, fed

import stream_metrics as sm
from stream_metrics import MetricSet

NAN, INF = math.nan, math.inf
STATES: dict[str, Callable[[], Any]] = {
    "set of probabilities": lambda: MetricSet(scores=True), "set of any scores": lambda: MetricSet(scores="any"),
    "set of fixed labels": lambda: MetricSet(scores=True, labels=["a", "b", "c", True, False]),
    "set of coarse scores": lambda: MetricSet(scores=True, buckets=2, sample=1),
    "set of losses": lambda: MetricSet(["log_loss"]), "losses": sm.ProbabilityLosses, "ranks": sm.RankSketch,
    "metric of losses": sm.LogLoss, "metric of ranks": sm.HandTillAUC,
}  # fmt: skip
ANY = ("set of any scores", "set of fixed labels", "ranks", "metric of ranks")  # whose scores need be no probabilities
ROW = {"a": 0.5}
Cases = list[tuple[Any, ...]]
SAMPLES: Cases = [  # what every state refuses: sample, error, argument, value
    *((("a", {"a": 0.5, "b": x}), sm.ScoreError, "scores", x) for x in (NAN, INF, "1", None)),
    (("a", {"a": [0.5]}), sm.ScoreError, "scores", "[0.5]"),
    (("a", {"a": 10**400}), sm.ScoreError),
    *((("a", {name: 0.5}), sm.LabelError) for name in (None, NAN)),
    *(((True, x), sm.ScoreError, "scores", x) for x in (NAN, -INF)),
    *(((truth, ROW), sm.LabelError, "y_true", truth) for truth in (None, NAN)),
    (([], ROW), sm.LabelError, "y_true", "[]"),
    *((("a", ROW, w), sm.WeightError, "w", w) for w in (-1, NAN, INF, "1", None, 2**63)),
]
LABELLED: Cases = [(("a", [0.5, 0.5]), sm.LabelError, "y_pred", "[0.5, 0.5]")]  # what sets refuse too
PROBABILITIES: Cases = [  # what states of probabilities refuse too
    *((("a", {"a": x, "b": 0.5}), sm.ScoreError, "scores", x) for x in (1.5, -0.5)),
    ((True, 1.5), sm.ScoreError, "scores", 1.5),
    (("a", 0.75), sm.LabelError, "y_true", "a"),
]
FIXED: Cases = [  # what a fixed set of labels refuses too
    (("z", ROW), sm.LabelError, "y_true", "z"),
    (("a", {"z": 0.5}), sm.LabelError, "scores", "z"),
    (("a", "z"), sm.LabelError, "y_pred", "z"),
]


def counting(name: str) -> Any:
    """Return a state that has counted scores and single numbers, a set also labels."""
    samples = [("a", {"a": 0.5, "b": 0.25, "c": 0.125}, 3), (True, 0.75), ("b", "a")]
    return fed(STATES[name](), samples if name.startswith("set") else samples[:2])


@pytest.mark.quick
@pytest.mark.parametrize("name", STATES)
def test_samples_that_are_refused(name: str) -> None:
    """Alone, in a revert, last in a batch of scores or of every sort of prediction; no state has counted."""
    cases = SAMPLES + LABELLED * name.startswith("set") + FIXED * ("fixed" in name) + PROBABILITIES * (name not in ANY)
    others: list[list[Any]] = [
        [("a", ROW), ("b", {"a": 0.25, "b": 0.125})],
        [("a", "b"), ("a", None), ("b", {}), (True, 0.25), ("b", {"a": 0.25, "b": 0.125})],
    ]
    for sample, error, *fields in cases:
        one = [(sample, error, *fields[:1], *[None][: len(fields)], *fields[1:])]
        check_refused(counting(name), "update", one)
        check_refused(counting(name), "revert", one if name == "losses" else [])
        for first in others if name.startswith("set") else others[:1]:
            rows = [(*row, 1)[: len(sample)] for row in first] + [sample]
            batch, at = tuple(list(column) for column in zip(*rows, strict=True)), [len(first)][: len(fields)]
            check_refused(counting(name), "update_many", [(batch, error, *fields[:1], *at, *fields[1:])])


ROWS, BAD_ROWS = np.array([[0.5, 0.25, 0.25], [0.125, 0.25, 0.625]]), np.array([[0.5, 0.25, 0.25], [0.125, NAN, 0.625]])
AB, ABC = {"y_true": ["a", "b"]}, list("abc")
BATCHES: Cases = [
    *(({"y_true": ["a"] * n, "scores": ROWS, "classes": ABC}, sm.ScoreError, "scores", None) for n in (1, 3)),
    (AB | {"scores": ROWS, "classes": list("ab")}, sm.ScoreError, "scores", None),
    (AB | {"scores": ROWS[:, :1]}, sm.ScoreError),
    (AB | {"scores": ROWS, "classes": list("aba")}, sm.LabelError, "classes"),
    (AB | {"scores": ROWS, "classes": "abc"}, sm.LabelError, "classes", None),
    (AB | {"scores": ROWS, "classes": ["a", NAN, "b"]}, sm.LabelError, "classes", 1, NAN),
    (AB | {"scores": BAD_ROWS, "classes": ABC}, sm.ScoreError, "scores", 1, NAN),
    ({"y_true": ["a", None], "scores": ROWS, "classes": ABC}, sm.LabelError, "y_true", 1, None),
    (AB | {"scores": ROWS, "w": [1, -1], "classes": ABC}, sm.WeightError, "w", 1, -1),
    (AB | {"scores": ROWS, "w": [1], "classes": ABC}, sm.WeightError, "w", None),
    (AB | {"scores": np.zeros((2, 1, 1)), "classes": ["a"]}, sm.ScoreError, "scores", None),
    *((AB | {"scores": scores}, sm.ScoreError, "scores", None, scores) for scores in ("ab", 0.5)),
    (AB | {"scores": np.array(["x", "y"])}, sm.ScoreError, "scores", 0),
    *((AB | {"scores": [[0.5, 0.5], x], "classes": [*"ab"]}, sm.ScoreError, "scores", 1) for x in ([0.5], 7, "xy")),
    (AB | {"scores": [np.array([0.5, 0.5]), np.array([0.5])], "classes": [*"ab"]}, sm.ScoreError, "scores", 1),
    (AB | {"scores": [*BAD_ROWS], "classes": ABC}, sm.ScoreError, "scores", 1, NAN),
    (AB | {"scores": [ROW, [0.5]]}, sm.ScoreError, "scores", 1),
    ((["a"], [ROW, {"b": 0.5}]), sm.ScoreError, "scores", None),
    *((([True, False], np.array([0.5, x])), sm.ScoreError, "scores", 1, x) for x in (NAN, INF)),
    (([True], np.array([0.5, 0.5])), sm.ScoreError, "scores", None),
    (([True, None], np.array([0.5, 0.5])), sm.LabelError, "y_true", 1),
    (([True, "x"], np.array([0.5, 0.5])), sm.LabelError, "y_true", 1, "x"),
]
IMPROBABLE: Cases = [  # what states of probabilities refuse too
    (AB | {"scores": np.array([[0.5, 0.5], [0.5, 7.0]]), "classes": list("ab")}, sm.ScoreError, "scores", 1, 7.0),
    (([True, False], np.array([0.5, 1.5])), sm.ScoreError, "scores", 1, 1.5),
]
MIXED: Cases = [  # what sets refuse too
    (AB | {"scores": np.zeros((2, 0)), "classes": []}, sm.ScoreError),
    (AB | {"y_pred": ["a"], "scores": ROWS, "classes": ABC}, sm.LabelError, "y_pred", None),
    ({"y_true": [NAN, "b"], "y_pred": ["a", "b"], "scores": ROWS, "classes": ABC}, sm.LabelError, "y_true", 0, NAN),
    *(((["a"], column), sm.LabelError, "y_pred", None) for column in ([ROW, "b"], ["b", ROW])),
    ((["a", "b"], ["b", ROW], [1]), sm.WeightError, "w", None),
    ((pd.Categorical(["a", None]), [ROW, "b"]), sm.LabelError, "y_true", 1),
    ((["a", "b"], None), sm.LabelError, "y_pred", None, None),
]


@pytest.mark.quick
@pytest.mark.parametrize("name", STATES)
def test_batches_that_are_refused(name: str) -> None:
    """A batch with one bad row, whose parts do not fit, or whose weights are too large, is in no state."""
    metrics = counting(name)
    check_refused(metrics, "update_many", BATCHES + MIXED * name.startswith("set") + IMPROBABLE * (name not in ANY))
    metrics.update("a", ROW, 2**62)
    check_refused(metrics, "update", [(("a", ROW, 2**62), sm.WeightError)])
    table = {"y_true": ["a"], "scores": ROWS[:1], "w": [2**62], "classes": ABC}
    batches = (["b", "a"], [ROW, ROW], [1, 2**62]), table, ([True], np.array([0.5]), [2**62])
    check_refused(metrics, "update_many", [(batch, sm.WeightError) for batch in batches])
    if name.startswith("set"):
        check_refused(metrics, "update_many", [((["b", "a"], ["b", ROW], [1, 2**62]), sm.WeightError)])
        full = fed(STATES[name](), [("a", ROW), ("a", "a", 2**63 - 1025)])  # the matrix, and no other state
        check_refused(full, "update", [(("a", scores, 2000), sm.WeightError) for scores in (ROW, {"a": 0.25})])


@pytest.mark.quick
def test_rows_and_reverts_that_are_refused() -> None:
    """A row with `classes` has as many scores; what some state did not count, or cannot find, is taken out of none."""
    metrics = counting("set of probabilities")
    bad: Cases = [
        ([0.5, 0.5, 0.5], sm.ScoreError, "scores", None),
        *((x, sm.ScoreError, "scores", None, x) for x in ("ab", 7)),
        ([0.5, NAN], sm.ScoreError, "scores", None, NAN),
        (np.array(0.5), sm.LabelError, "y_true"),  # as the number that it holds
        ({0.25, 0.75}, sm.ScoreError, "scores"),
    ]
    for name in ("scores", "y_pred"):
        rows = [({"y_true": "a", name: scores, "classes": ["a", "b"]}, *fields) for scores, *fields in bad]
        check_refused(metrics, "update", rows)
    whole = {"a": 0.5, "b": 0.25, "c": 0.125}
    for name in ("set of probabilities", "set of any scores", "set of losses"):
        samples = ("a", {"a": 0.03125}), ("b", whole), ("a", whole, 4)
        check_refused(counting(name), "revert", [(sample, sm.WeightError) for sample in samples])
    coarse, rng = counting("set of coarse scores"), np.random.default_rng(1)
    coarse.update_many(rng.random(50) < 0.5, rng.random(50))
    coarse.update(True, 0.75)
    check_refused(coarse, "revert", [((True, 0.75), sm.WeightError)])


LABELS = ["a", "b", "1", 0, 1, 2, True, False, 1.0, b"x"]
PROBABLE = [0.0, 0.25, 0.5, 0.75, 1.0, -0.0]
OPTIONS: list[dict[str, Any]] = [
    {}, {"labels": ["a", "b"], "pos_label": "a"}, {"labels": [0, 1, 2], "pos_label": 1},
    {"labels": ["a", 1], "pos_label": 1}, {"labels": [True, 0]}, {"pos_label": "a"},
    {"pos_label": 1, "threshold": 0.75}, {"pos_label": 2}, {"pos_label": 1.0}, {"scores": "any", "pairs": False},
]  # fmt: skip
labels = st.sampled_from(LABELS)
values = st.sampled_from(PROBABLE * 3 + [1, True, NAN, INF, 1.5, -1.0, "0.5", None])
scores = st.one_of(st.dictionaries(labels, values, max_size=4), st.sampled_from([*PROBABLE, NAN, 1.5]))
given_labels = st.sampled_from([None, None, "a", 1, 0, 2.0])
weights = st.sampled_from([1, 1, 1, 2, 0, 0.3, 2**62, 2**63 - 1025, -1, "x"])
streams = st.lists(st.tuples(labels, scores, given_labels, weights), max_size=12)


class Number:
    """A number that is no float."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __float__(self) -> float:
        return self.value


def outcome(counts: MetricSet, function: str, *sample: Any, scores: Any) -> object:
    """Return the type of the error, None if there is none; an error leaves the state as it was."""
    before = counts.to_bytes()
    try:
        getattr(counts, function)(*sample, scores=scores)
    except sm.StreamMetricsError as error:
        assert counts.to_bytes() == before
        return type(error)
    return None


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@settings(max_examples=20)
@given(stream=streams)
def test_plain_scores_count_as_other_objects_do(options: dict[str, Any], stream: list[Any]) -> None:
    """Numbers and mappings that are read without Python code count, and are refused, as those that are read by it."""
    plain, read = (MetricSet(**{"scores": True} | options) for _ in range(2))
    steps, counted = [("update", sample) for sample in stream], []
    while steps:
        function, (truth, scores, given_label, w) = steps.pop(0)
        slow = UserDict(scores) if isinstance(scores, dict) else Number(scores)
        one = outcome(plain, function, truth, given_label, w, scores=scores)
        assert one == outcome(read, function, truth, given_label, w, scores=slow)
        assert plain.to_bytes() == read.to_bytes()
        if function == "update":
            counted += [] if one else [("revert", (truth, scores, given_label, w))]
            steps = steps or counted[::-1]
        elif one:  # the class beside `pos_label` is not known any more
            return
    assert plain == MetricSet(**{"scores": True} | options)
