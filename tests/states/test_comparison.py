"""The comparison of two models: what it counts, forms of scores, other options, and what it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.refusals import all_refused, refused
from support.state_checks import check_refused, fed, with_batch

import stream_metrics as sm
from stream_metrics import Comparison

KEYS = ("accuracy", "macro_f1", "matthews_corrcoef", "balanced_accuracy", "cohen_kappa_ovo")
text = st.sampled_from(["a", "b", "c", ""])
streams = st.lists(st.tuples(text, text, text, st.sampled_from([0, 1, 2, 3, 0.5])), min_size=1)


@pytest.mark.quick
@given(streams, st.lists(st.integers(-3, 10)))
def test_both_matrices_are_those_of_the_models(stream: list[Any], units: list[Any]) -> None:
    """Values are those of a matrix for each model, also with units and weights; discordant samples those of a loop."""
    stream = stream if units else [(*row[:3], 1) for row in stream]
    state, matrices = Comparison(), (sm.ConfusionMatrix(), sm.ConfusionMatrix())
    for at, (truth, a, b, w) in enumerate(stream):
        state.update(truth, a, b, w, unit=units[at % len(units)] if units else None)
        for matrix, predicted in zip(matrices, (a, b), strict=True):
            matrix.update(truth, predicted, w)
    snapshot = state.snapshot()

    assert (state.n, state.weighted) == (len(stream), sum(w != 1 for *_, w in stream))
    alone = sum(a == t != b for t, a, b, _ in stream), sum(b == t != a for t, a, b, _ in stream)
    assert fed(Comparison(), [row[:3] for row in stream]).snapshot().discordant == alone
    of_models = [matrix.snapshot() for matrix in matrices]
    for key in KEYS if matrices[0].weight else ():
        difference = snapshot.difference(key)
        values = [math.nan if key in model.undefined else model[key] for model in of_models]
        assert [difference.a, difference.b] == pytest.approx(values, abs=1e-12, nan_ok=True)
    for label in {truth for truth, *_, w in stream if w}:
        difference = snapshot.difference("recall", label=label)
        values = [model.per_class["recall"][label] for model in of_models]
        assert [difference.a, difference.b] == pytest.approx(values, abs=1e-12)


def test_scores_are_those_of_the_models() -> None:
    """Areas and losses are those of a set of metrics for each model, regardless of the fold."""
    random = np.random.default_rng(4)
    truth, *scores = random.random(300) < 0.4, random.random(300), random.random(300)
    comparison = with_batch(Comparison(scores=True), truth, *scores, unit=np.arange(300))
    snapshot = comparison.snapshot()

    for column, name in zip(scores, "ab", strict=True):
        alone = with_batch(sm.MetricSet(scores=True), truth, scores=column)
        for key in ("roc_auc", "average_precision", "log_loss", "brier_score", "accuracy"):
            assert getattr(snapshot.difference(key), name) == pytest.approx(alone.snapshot()[key], abs=1e-9)


@pytest.mark.quick
def test_units_of_equal_value_are_one_unit() -> None:
    """1, True, 1.0 and NumPy's 1 fall into one fold, in batches and alone; text, bytes and tuples do not."""
    states = [Comparison(folds=1000) for _ in range(7)]
    for state, unit in zip(states, (1, True, 1.0, np.int8(1), "1", b"1", (1,)), strict=True):
        state.update("x", "x", "y", unit=unit)
    batch = with_batch(Comparison(folds=1000), ["x"], ["x"], ["y"], unit=np.array([1], np.uint16))

    assert all(state == batch for state in states[:4])
    assert len({state.to_bytes() for state in states}) == 4


@pytest.mark.quick
def test_abstentions_and_large_weights() -> None:
    """A sample without one of the predictions is in no cell; counts are exact above 2**53, and fractions add up."""
    predictions = (None, "x"), ("x", None), ("x", {}), (None, {}), ("x", "x")
    state = fed(Comparison(), [("x", a, b) for a, b in predictions])
    assert (state.n, state.abstentions, state.abstained) == (1, (1, 2, 1), 4)

    def weighing(*weights: float) -> Comparison:
        return fed(Comparison(), [("a", "a", "b", w) for w in weights])

    assert weighing(2**53 + 1, 1, 0) == weighing(2**53 - 1, 2, 1) != weighing(2**53, 1, 0)
    assert weighing(0.5, 0.5) == weighing(0.25, 0.75) != weighing(0.5, 0.25)


@pytest.mark.quick
def test_a_refused_sample_leaves_nothing_behind() -> None:
    """Bad labels, weights, units, scores and options are refused by name, alone and in a batch."""
    state = fed(Comparison(labels=["a", "b"]), [("a", "b", "a", 2**62)])
    soft = fed(Comparison(scores=True), [(True, 0.5, 0.25)])
    one = {"y_true": "a", "pred_a": "a", "pred_b": "b"}
    check_refused(state, "update", [
        (one | {"pred_b": "z"}, sm.LabelError, "pred_b", None, "z"),
        (one | {"unit": float("nan")}, sm.LabelError, "unit"),
        *((one | {"w": w}, sm.WeightError, *["w"] * (w < 0)) for w in (-1, 2**62)),
    ])  # fmt: skip
    check_refused(state, "update_many", [
        ((["a", "a"], ["a", "z"], ["a", "a"]), sm.LabelError, "pred_a", 1, "z"),
        ((["a"], ["a"], ["a", "b"]), sm.LabelError, "pred_b", None),
        ((["a"], ["a"], ["b"], [2**62]), sm.WeightError),
        ((["a", "a"], ["a", "b"], ["a", "a"], [1, -1]), sm.WeightError, "w", 1, -1),
    ])  # fmt: skip
    check_refused(soft, "update", [((True, 0.5, 1.5), sm.ScoreError), ((True, "yes", 0.5), sm.ScoreError, "pred_a")])
    check_refused(soft, "update_many", [(([True, True], [0.5, 0.5], [0.5, 2.0]), sm.ScoreError, "pred_b", 1)])
    options: list[Any] = [({"a": "x", "b": "x"}, "two different names"), ({"folds": 1}, "`folds`")]
    options += [({"folds": 2000}, "`folds`"), ({"scores": "some"}, "`scores`")]
    all_refused([(lambda more=more: Comparison(**more), ValueError, about) for more, about in options])


@pytest.mark.quick
def test_what_does_not_merge() -> None:
    """Merging names the option that differs; other kinds are refused, and so are comparisons in windows and groups."""
    for options in ({"a": "old"}, {"folds": 8}, {"labels": ["x"]}, {"scores": True}):
        check_refused(Comparison(), "merge", [((Comparison(**options),), sm.MergeError, min(options))])
    check_refused(Comparison(), "merge", [((sm.MCC(),), sm.MergeError)])
    for hold in (lambda: sm.ByGroup(Comparison()), lambda: sm.TimeWindow(Comparison(), "1h")):
        refused(hold, ValueError, "pairs of truth and prediction")


@pytest.mark.parametrize("scores", [
    False,
    pytest.param(True, marks=pytest.mark.nightly),
])  # fmt: skip
def test_a_class_too_many_is_in_no_state(scores: bool) -> None:
    """A sample that brings a label too many is refused before labels, ranks or losses have counted it."""
    most = 2**18 - 1
    state, zeros = Comparison(scores=scores, folds=2), np.zeros(most, int)
    wrap = (lambda label: {label: 0.5}) if scores else (lambda label: label)
    columns = [[wrap(0)] * most] * 2 if scores else [zeros, zeros]
    state.update_many(np.arange(most), *columns, unit=zeros)
    check_refused(state, "update", [(("new", wrap(0), wrap(0)), sm.LabelError)])
    state.update("new", wrap(0), wrap(0), 0)
    state.update(most - 1, wrap(0), wrap(0))

    assert (len(state.labels), state.n) == (most, most + 2)


CLASSES = ["cat", "dog", "fox"]
RNG = np.random.default_rng(0)
TRUTH = RNG.choice(CLASSES, 60).tolist()
TABLES = [RNG.dirichlet(np.ones(3), 60) for _ in range(2)]


def mappings(table: np.ndarray) -> list[dict[str, float]]:
    """Return the rows as mappings."""
    return [dict(zip(CLASSES, row, strict=True)) for row in table.tolist()]


def check_forms(*forms: Callable[[np.ndarray], Any], **more: Any) -> None:
    """Assert that tables of two models in these forms count as mappings do, with weights and units."""
    w, unit = np.arange(60) / 7, np.arange(60) % 9
    for scores, form in product((True, "any"), forms):
        expected = with_batch(Comparison(scores=scores), TRUTH, *map(mappings, TABLES), w, unit=unit)
        assert with_batch(Comparison(scores=scores), TRUTH, *map(form, TABLES), w, unit=unit, **more) == expected


@pytest.mark.quick
def test_errors_of_tables_name_the_model() -> None:
    """Argument and position, and nothing is counted; where scores are not asked for, the error names the option."""
    a, b = TABLES
    hole = np.where(np.arange(60)[:, None] == 7, np.nan, b)
    bad = ((a, b[:3], "pred_b"), (a, b[:, :2], "pred_b"), (a, hole, "pred_b", 7), (np.zeros((60, 3, 1)), b, "pred_a"))
    columns: list[tuple[Any, ...]] = [
        ((TRUTH, a, b), sm.ScoreError, "pred_a"),
        ((["cat"], ["cat"], [{"cat": 1.0}]), sm.ScoreError, "pred_a", 0, "cat"),
        ((["cat"], None, [{"cat": 1.0}]), sm.ScoreError, "pred_a"),
        *(((TRUTH, first, second, None, CLASSES), sm.ScoreError, *fields) for first, second, *fields in bad),
    ]

    def update_many(state: Comparison, truth: Any, a: Any, b: Any, w: Any = None, classes: Any = None) -> None:
        state.update_many(truth, a, b, w, classes=classes)

    check_refused(Comparison(scores=True), update_many, columns)
    hard, frame = Comparison(), pd.DataFrame(a, columns=CLASSES)
    calls = ((a, b), "pred_a"), ((TRUTH, frame), "pred_b"), ((TRUTH, TRUTH, None, CLASSES), "classes")
    for arguments, argument in calls:
        error = refused(lambda given=arguments: update_many(hard, TRUTH, *given), sm.ScoreError, argument)
        assert "Comparison(scores=True)" in str(error)
    one = {"y_true": "cat", "pred_a": "cat", "pred_b": "dog", "classes": CLASSES}
    check_refused(hard, "update", [(one, sm.ScoreError, "classes")])
    assert hard == Comparison()


HARD = [("a", "a", "b"), ("b", "b", "b"), ("b", None, "a"), ("a", "b", "a")]
SOFT = [
    ("a", {"a": 0.9, "b": 0.1}, {"a": 0.2, "b": 0.8}), ("b", {"a": 0.5, "b": 0.5}, {"b": 1.0}), ("a", {}, {"a": 1.0})
]  # fmt: skip
VIEWS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    *(({"labels": [*a]}, {"labels": [*b]}) for a, b in (("ab", "ba"), ("ab", "cba"), ("cab", "ab"))),
    ({"labels": ["a", "b"], "scores": True}, {"labels": ["b", "c", "a"], "scores": True}),
    ({}, {"labels": ["b", "a"]}),
    ({"labels": ["b", "a"]}, {}),
    ({"a": "old", "b": "new"}, {"a": "control", "b": "treatment"}),
]


def counting(units: bool = False, **options: Any) -> Comparison:
    """Return a comparison after some samples."""
    state = Comparison(**options)
    for at, sample in enumerate(SOFT if state.scores else HARD):
        state.update(*sample, **({"unit": at % 2} if units else {}))
    return state


@pytest.mark.quick
def test_a_comparison_with_other_options_is_one_that_had_them() -> None:
    """It has the bytes of one that counted with these options, and merges with one; the old one stays as it was."""
    for before, after in VIEWS:
        for units in (False, True):
            state, direct = counting(units, **before), counting(units, **after)
            unchanged = state.to_bytes()
            again = state.reconfigured(**{"labels": None} | after)
            assert again.to_bytes() == direct.to_bytes(), (before, after)
            assert (again + direct) == direct.copy().merge(counting(units, **after))
            assert state.to_bytes() == unchanged
    scored = counting(scores=True, pos_label="a")
    labels = scored.reconfigured(scores=False)
    assert labels.snapshot().difference("accuracy") == scored.snapshot().difference("accuracy")
    assert labels.to_bytes() == Comparison().merge(labels).to_bytes()
    for options in ({"scores": True}, {"folds": 8}, {"labels": ["a"]}):
        refused(lambda options=options: counting().reconfigured(**options), sm.OptionError, f"`{min(options)}`")
        assert Comparison().reconfigured(**options) == Comparison(**options)
