"""`evaluate`, `classification_report` and `metrics`: arrays in, results out."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk
from support.refusals import refused

import stream_metrics as sm

LABELS = ["cat", "dog", "cow", "eel"]
PAIRS = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=40).filter(
    lambda pairs: any(truth == predicted for truth, predicted in pairs)
)  # without a hit scikit-learn prints the support as a float
CHOSEN = st.lists(st.sampled_from(LABELS), min_size=1, unique=True)


def data(n: int = 300, k: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return true labels, predicted labels and a table of probabilities."""
    rng = np.random.default_rng(n)
    y_true = rng.integers(0, k, n)
    table = rng.dirichlet(np.ones(k), n) + 0.5 * np.eye(k)[y_true]
    y_pred = np.where(rng.random(n) < 0.6, y_true, rng.integers(0, k, n))
    return y_true, y_pred, table / table.sum(axis=1, keepdims=True)


def assert_close(ours: Any, theirs: Any) -> None:
    """Assert that reports have the same numbers, but for the last bits."""
    assert ours.keys() == theirs.keys()
    for name, values in theirs.items():
        assert ours[name] == pytest.approx(values, rel=1e-12, nan_ok=True), name


@given(PAIRS, st.sampled_from([0.0, 1.0, math.nan]), st.integers(1, 5), CHOSEN)
def test_the_report_is_that_of_scikit_learn(
    pairs: list[tuple[str, str]], zero_division: float, digits: int, chosen: list[str]
) -> None:
    """The text has the same characters and the dict the same numbers, also for classes that never occur."""
    y_true, y_pred = zip(*pairs, strict=True)
    options: dict[str, Any] = {"digits": digits, "zero_division": zero_division}
    theirs = sk.classification_report(y_true, y_pred, **options)
    assert sm.classification_report(y_true, y_pred, **options) == theirs
    options = {"output_dict": True, "zero_division": zero_division}
    ours = sm.classification_report(y_true, y_pred, **options)
    assert_close(ours, sk.classification_report(y_true, y_pred, **options))
    options = {"labels": chosen, "target_names": [label.upper() for label in chosen]}
    theirs = sk.classification_report(y_true, y_pred, **options, zero_division=0.0)
    assert sm.classification_report(y_true, y_pred, **options) == theirs


@pytest.mark.quick
def test_the_report_has_weights_and_refuses_what_is_empty() -> None:
    """Weights count, and the support is a sum of weights; names have to fit."""
    y_true, y_pred, _ = data()
    w = np.random.default_rng(0).random(len(y_true))
    ours = sm.classification_report(y_true, y_pred, w=w, output_dict=True)
    assert_close(ours, sk.classification_report(y_true, y_pred, sample_weight=w, output_dict=True))
    refused(partial(sm.classification_report, [], []), ValueError, "at least one sample")
    refused(partial(sm.classification_report, [0, 1], [0, 1], target_names=["a"]), ValueError, "2 `target_names`")


@pytest.mark.quick
def test_scores_are_tables_columns_or_mappings() -> None:
    """Names of columns come from `classes`, a frame or `labels`; one column is that of `pos_label`, 1 by default."""
    y_true, _, table = data()
    names = np.array(LABELS)[y_true]
    for s in (
        sm.evaluate(names, scores=table, classes=LABELS),
        sm.evaluate(names, scores=pd.DataFrame(table, columns=LABELS)),
        sm.evaluate(names, scores=table, labels=LABELS),
        sm.evaluate(names, [dict(zip(LABELS, row, strict=True)) for row in table.tolist()]),
    ):
        assert s["roc_auc_ovr"] == pytest.approx(sk.roc_auc_score(y_true, table, multi_class="ovr"), rel=1e-12)
        assert s["log_loss"] == pytest.approx(sk.log_loss(y_true, table), rel=1e-12)
        assert s["accuracy"] == sk.accuracy_score(y_true, table.argmax(axis=1))

    y_true, _, table = data(k=2)
    expected = pytest.approx(sk.roc_auc_score(y_true, table[:, 1]), rel=1e-12)
    spam = sm.evaluate(np.array(["ham", "spam"])[y_true], scores=table[:, 1], pos_label="spam")
    assert sm.evaluate(y_true, scores=table[:, 1])["roc_auc"] == spam["roc_auc"] == expected
    assert spam["accuracy"] == sk.accuracy_score(y_true, table[:, 1] >= 0.5)

    margin = np.log(table[:, 1] / table[:, 0])  # a decision function has areas, but no losses
    s = sm.evaluate(y_true, scores=margin)
    assert s["roc_auc"] == pytest.approx(sk.roc_auc_score(y_true, margin), rel=1e-12)
    assert s["accuracy"] == sk.accuracy_score(y_true, margin >= 0)
    refused(lambda: s["log_loss"], KeyError)
    forms: list[Callable[[float], Any]] = [lambda x: np.array([x, 0.0]), lambda x: [x, 0.0], lambda x: [{1: x}, {0: x}]]
    for form in forms:  # the ends are probabilities, and nothing beyond them
        assert "log_loss" in sm.evaluate([1, 0], scores=form(1.0))
        for beyond in (1 + 2**-52, -5e-324):
            assert "log_loss" not in sm.evaluate([1, 0], scores=form(beyond))
    refused(partial(sm.evaluate, y_true, scores=margin, metrics=["log_loss"]), sm.ScoreError)


@pytest.mark.quick
def test_groups_weights_and_chosen_metrics() -> None:
    """With groups there is a snapshot for each; keys, aliases and classes choose; metrics of scores need scores."""
    y_true, y_pred, _ = data()
    group, w = np.array(["x", "y", "z"])[np.arange(300) % 3], np.arange(300)
    by = sm.evaluate(y_true, y_pred, w=w, group=group)
    assert isinstance(by, sm.GroupSnapshot)
    assert sm.evaluate(iter(y_true.tolist()), pd.Categorical(y_pred)) == sm.evaluate(y_true, y_pred)
    for name in "xyz":
        rows = group == name
        assert by[name]["accuracy"] == sm.evaluate(y_true[rows], y_pred[rows], w=w[rows])["accuracy"]

    chosen = sm.evaluate(y_true, y_pred, metrics=["acc", "f1_macro", sm.MCC])
    assert chosen.chosen_keys == ("accuracy", "macro_f1", "matthews_corrcoef")
    evaluate = partial(sm.evaluate, y_true, y_pred)
    refused(partial(evaluate, metrics=["roc_auc_ovr"]), ValueError, "Expected `scores`, which 'roc_auc_ovr'")
    refused(partial(evaluate, metrics=["f1_score"]), sm.UnknownMetricError, "did you mean 'f1'")
    refused(partial(evaluate, metrics="accuracy"), ValueError, "sequence of keys")


@pytest.mark.quick
def test_bad_rows_are_refused_by_position_or_left_out_and_named() -> None:
    """With on_bad="count" the values are those of the good rows, and a warning says how many others there are."""
    error: Any = refused(partial(sm.evaluate, [0, None, 1], [0, 1, 1]), sm.LabelError)
    assert (error.argument, error.position) == ("y_true", 1)
    refused(partial(sm.evaluate, [0, 1], [0]), sm.LabelError, "y_pred")
    refused(partial(sm.evaluate, [0, 1]), ValueError, "`y_pred`, `scores` or both")

    truth, predicted, w = ["a", None, "b", "b"], ["a", "a", "a", "b"], [1, 1, 1, -1]
    for group in (None, ["x", "y", "x", "y"]):
        good = sm.evaluate(["a", "b"], ["a", "a"], w=[1, 1], group=None if group is None else ["x", "x"])
        result = sm.evaluate(truth, predicted, w=w, group=group, on_bad="count")
        assert dict(result) == dict(good)
        start = "2 of 4 rows could not be counted; the first: row 1: Expected `y_true`"
        assert result.warnings[0].startswith(start)
        error = refused(partial(sm.evaluate, truth, predicted, w=w, group=group), sm.LabelError, "y_true")
        assert error.position == 1
    assert sm.evaluate(["a", "b"], ["a", "a"], on_bad="count").warnings == ()
    refused(partial(sm.evaluate, truth, predicted, on_bad="skip"), ValueError, "`on_bad` to be 'raise' or 'count'")

    scores, evaluate = [[0.5, 0.5], [np.nan, 0.5], [0.25, 0.75]], partial(sm.evaluate, classes=["a", "b"])
    result = evaluate(["a", "b", "b"], scores=scores, on_bad="count")
    assert result == evaluate(["a", "b"], scores=scores[::2]).with_warning(result.warnings[0])
    assert evaluate(["a", "b"], scores=[[0.5, 0.5], [0.5]], on_bad="count").n == 1


@pytest.mark.quick
def test_curves_and_intervals_unpack() -> None:
    """Arrays come in the order of scikit-learn's functions; an interval has the numbers between its ends."""
    y_true, y_pred, table = data(k=2)
    s = sm.evaluate(y_true, scores=table[:, 1])
    fpr, tpr, thresholds = s.roc_curve()
    for ours, theirs in zip((fpr, tpr), sk.roc_curve(y_true, table[:, 1], drop_intermediate=False), strict=False):
        np.testing.assert_allclose(ours, theirs, rtol=1e-15)
    precision, recall, _ = s.pr_curve()
    for ours, theirs in zip((precision, recall), sk.precision_recall_curve(y_true, table[:, 1]), strict=False):
        np.testing.assert_allclose(ours, theirs[::-1], rtol=1e-15)
    assert s.roc_curve().exact.all()
    assert s.roc_curve() == s.roc_curve() != s.det_curve()
    assert repr(s.roc_curve()) == f"<ROCCurve of {len(thresholds)} points>"

    interval = sm.evaluate(y_true, y_pred).interval("accuracy")
    low, high = interval
    assert (low, high, interval.width) == (interval.low, interval.high, high - low)
    inside = [x in interval for x in (low, interval.value, high + 0.01, "a", math.nan)]
    assert inside == [True, True, False, False, False]


@pytest.mark.quick
def test_what_is_no_state_is_not_merged() -> None:
    """Damaged bytes, the bytes of one state, and the sum with a number are refused."""
    data = sm.MetricSet().to_bytes()
    refused(lambda: sm.MetricSet() + 1, TypeError)
    refused(partial(sm.merge, [data[:-1]]), sm.DecodeError)
    refused(partial(sm.merge, data), sm.MergeError, "sequence of states")


@pytest.mark.quick
def test_metrics_lists_the_catalog() -> None:
    """It is a mapping, a table and a text of all keys; aliases are found and are no keys."""
    listed = sm.metrics()
    assert len(listed.to_frame()) == len(repr(listed).splitlines()) == len({**listed}) > 150
    aliases = [(alias, info) for info in listed.values() for alias in info.aliases]
    assert all(alias in listed and alias not in list(listed) and listed[alias] == info for alias, info in aliases)
    refused(lambda: listed["MCC"], sm.UnknownMetricError, "matthews_corrcoef")
