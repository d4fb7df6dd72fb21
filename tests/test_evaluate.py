"""`evaluate`, `classification_report` and `metrics`: arrays in, results out."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

import stream_metrics as sm
from stream_metrics.catalog.table import ALIASES, CATALOG

LABELS = ["cat", "dog", "cow", "eel"]
PAIRS = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=40).filter(
    lambda pairs: any(truth == predicted for truth, predicted in pairs)
)  # without a hit scikit-learn prints the support as a float


def data(n: int = 300, k: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return true labels, predicted labels and a table of probabilities."""
    rng = np.random.default_rng(n)
    y_true = rng.integers(0, k, n)
    table = rng.dirichlet(np.ones(k), n) + 0.5 * np.eye(k)[y_true]
    y_pred = np.where(rng.random(n) < 0.6, y_true, rng.integers(0, k, n))
    return y_true, y_pred, table / table.sum(axis=1, keepdims=True)


@given(PAIRS, st.sampled_from([0.0, 1.0, math.nan]), st.integers(1, 5))
def test_report_is_that_of_scikit_learn(pairs: list[tuple[str, str]], zero_division: float, digits: int) -> None:
    """The text has the same characters and the dict the same numbers, but for the last bits."""
    y_true, y_pred = zip(*pairs, strict=True)
    ours = sm.classification_report(y_true, y_pred, digits=digits, zero_division=zero_division)
    assert ours == sk.classification_report(y_true, y_pred, digits=digits, zero_division=zero_division)

    ours = sm.classification_report(y_true, y_pred, output_dict=True, zero_division=zero_division)
    theirs = sk.classification_report(y_true, y_pred, output_dict=True, zero_division=zero_division)
    assert ours.keys() == theirs.keys()
    for name, values in theirs.items():
        assert ours[name] == pytest.approx(values, rel=1e-12, nan_ok=True), name


@given(PAIRS, st.lists(st.sampled_from(LABELS), min_size=1, unique=True))
def test_report_of_chosen_classes(pairs: list[tuple[str, str]], chosen: list[str]) -> None:
    """Chosen classes and names are reported as scikit-learn does, also those that never occur."""
    y_true, y_pred = zip(*pairs, strict=True)
    names = [label.upper() for label in chosen]
    ours = sm.classification_report(y_true, y_pred, labels=chosen, target_names=names)
    theirs = sk.classification_report(y_true, y_pred, labels=chosen, target_names=names, zero_division=0.0)
    assert ours == theirs


def test_report_with_weights() -> None:
    """Weights count, and the support is a sum of weights."""
    y_true, y_pred, _ = data()
    w = np.random.default_rng(0).random(len(y_true))
    ours = sm.classification_report(y_true, y_pred, w=w, output_dict=True)
    theirs = sk.classification_report(y_true, y_pred, sample_weight=w, output_dict=True)
    for name, values in theirs.items():
        assert ours[name] == pytest.approx(values, rel=1e-12), name


def test_report_refuses() -> None:
    """An empty stream and names that do not fit are errors."""
    with pytest.raises(ValueError, match="at least one sample"):
        sm.classification_report([], [])
    with pytest.raises(ValueError, match="2 `target_names`"):
        sm.classification_report([0, 1], [0, 1], target_names=["a"])


def test_labels_alone() -> None:
    """Two columns of labels give the metrics of a set."""
    y_true, y_pred, _ = data()
    m = sm.MetricSet()
    m.update_many(y_true, y_pred)
    s = sm.evaluate(y_true, y_pred)
    assert s.to_dict() == m.snapshot().to_dict()
    assert s["accuracy"] == sk.accuracy_score(y_true, y_pred)


@pytest.mark.parametrize("form", [list, np.asarray, pd.Series, pd.Categorical, lambda y: iter(y.tolist())])
def test_forms_of_columns(form: object) -> None:
    """Lists, arrays, series, categoricals and iterators give the same bytes."""
    y_true, y_pred, _ = data()
    s = sm.evaluate(form(y_true), form(y_pred))  # type: ignore[operator]
    assert s["macro_f1"] == sm.evaluate(y_true, y_pred)["macro_f1"]


def test_table_of_probabilities() -> None:
    """Names of the columns come from `classes`, a data frame or `labels`."""
    y_true, _, table = data()
    names = np.array(LABELS)
    ways = [
        sm.evaluate(names[y_true], scores=table, classes=LABELS),
        sm.evaluate(names[y_true], scores=pd.DataFrame(table, columns=LABELS)),
        sm.evaluate(names[y_true], scores=table, labels=LABELS),
        sm.evaluate(names[y_true], [dict(zip(LABELS, row, strict=True)) for row in table.tolist()]),
    ]
    expected = sk.roc_auc_score(y_true, table, multi_class="ovr")
    for s in ways:
        assert s["roc_auc_ovr"] == pytest.approx(expected, rel=1e-12)
        assert s["log_loss"] == pytest.approx(sk.log_loss(y_true, table), rel=1e-12)
        assert s["accuracy"] == sk.accuracy_score(y_true, table.argmax(axis=1))


def test_one_score_for_each_sample() -> None:
    """A column of scores is that of `pos_label`, 1 by default; both classes are found in the truth."""
    y_true, _, table = data(k=2)
    expected = sk.roc_auc_score(y_true, table[:, 1])
    assert sm.evaluate(y_true, scores=table[:, 1])["roc_auc"] == pytest.approx(expected, rel=1e-12)

    spam = np.array(["ham", "spam"])[y_true]
    s = sm.evaluate(spam, scores=table[:, 1], pos_label="spam")
    assert s["roc_auc"] == pytest.approx(expected, rel=1e-12)
    assert s["accuracy"] == sk.accuracy_score(y_true, table[:, 1] >= 0.5)


def test_scores_that_are_no_probabilities() -> None:
    """Values of a decision function have areas, but no losses."""
    y_true, _, table = data(k=2)
    margin = np.log(table[:, 1] / table[:, 0])
    s = sm.evaluate(y_true, scores=margin)
    assert s["roc_auc"] == pytest.approx(sk.roc_auc_score(y_true, margin), rel=1e-12)
    assert s["accuracy"] == sk.accuracy_score(y_true, margin >= 0)
    with pytest.raises(KeyError):
        s["log_loss"]
    with pytest.raises(sm.ScoreError):
        sm.evaluate(y_true, scores=margin, metrics=["log_loss"])


def test_groups_and_weights() -> None:
    """With groups there is a snapshot for each; weights are those of the samples."""
    y_true, y_pred, _ = data()
    group = np.array(["x", "y", "z"])[np.arange(len(y_true)) % 3]
    w = np.arange(len(y_true))
    by = sm.evaluate(y_true, y_pred, w=w, group=group)
    assert isinstance(by, sm.GroupSnapshot)
    for name in "xyz":
        rows = group == name
        assert by[name]["accuracy"] == sm.evaluate(y_true[rows], y_pred[rows], w=w[rows])["accuracy"]


def test_chosen_metrics() -> None:
    """Keys, aliases and classes choose; metrics of scores need scores."""
    y_true, y_pred, _ = data()
    s = sm.evaluate(y_true, y_pred, metrics=["acc", "f1_macro", sm.MCC])
    assert s.chosen_keys == ("accuracy", "macro_f1", "matthews_corrcoef")
    with pytest.raises(ValueError, match="Expected `scores`, which 'roc_auc_ovr'"):
        sm.evaluate(y_true, y_pred, metrics=["roc_auc_ovr"])
    with pytest.raises(sm.UnknownMetricError, match="did you mean"):
        sm.evaluate(y_true, y_pred, metrics=["acuracy"])


def test_errors_name_column_and_row() -> None:
    """A bad row is refused by its position."""
    with pytest.raises(sm.LabelError) as error:
        sm.evaluate([0, None, 1], [0, 1, 1])
    assert (error.value.argument, error.value.position) == ("y_true", 1)
    with pytest.raises(sm.LabelError, match="y_pred"):
        sm.evaluate([0, 1], [0])
    with pytest.raises(ValueError, match="`y_pred`, `scores` or both"):
        sm.evaluate([0, 1])
    with pytest.raises(ValueError, match="sequence of keys"):
        sm.evaluate([0, 1], [0, 1], metrics="accuracy")


def test_curves_unpack_as_in_scikit_learn() -> None:
    """Arrays come in the order of scikit-learn's functions; `exact` is beside them."""
    y_true, _, table = data(k=2)
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


def test_an_interval_is_its_ends() -> None:
    """It unpacks into both ends and contains the numbers between them."""
    y_true, y_pred, _ = data()
    interval = sm.evaluate(y_true, y_pred).interval("accuracy")
    low, high = interval
    assert (low, high) == (interval.low, interval.high)
    assert low in interval
    assert interval.value in interval
    assert 0.95 not in interval
    assert "a" not in interval
    assert math.nan not in interval
    assert interval.width == high - low


def test_shards_add_up() -> None:
    """`+`, `sum` and `merge`, of states or their bytes, give the same state, and leave the shards as they are."""
    y_true, y_pred, _ = data()
    shards = [sm.MetricSet() for _ in range(3)]
    for at, shard in enumerate(shards):
        shard.update_many(y_true[at::3], y_pred[at::3])
    before = [shard.to_bytes() for shard in shards]
    whole = sm.MetricSet()
    whole.update_many(y_true, y_pred)
    assert shards[0] + shards[1] + shards[2] == sum(shards) == sm.merge(shards) == sm.merge(before) == whole
    assert [shard.to_bytes() for shard in shards] == before
    with pytest.raises(sm.MergeError):
        shards[0] + sm.MetricSet(labels=["a"])
    with pytest.raises(TypeError):
        shards[0] + 1
    with pytest.raises(sm.DecodeError):
        sm.merge([before[0][:-1]])
    with pytest.raises(sm.MergeError, match="sequence of states"):
        sm.merge(before[0])


def test_metrics_lists_the_catalog() -> None:
    """Every key has title, range, formula and source; aliases are found and are no keys."""
    listed = sm.metrics()
    assert list(listed) == list(CATALOG)
    assert all(info.title and info.formula and info.source and len(info.range) == 2 for info in listed.values())
    assert len(listed.to_frame()) == len(CATALOG) == len(repr(listed).splitlines())
    for alias, key in ALIASES.items():
        assert key in CATALOG
        assert alias not in CATALOG
        assert alias in listed
        assert listed[alias].key == key
        assert alias in listed[key].aliases
    with pytest.raises(sm.UnknownMetricError, match="matthews_corrcoef"):
        listed["MCC"]


def test_folders_load_on_access() -> None:
    """`sm.plots`, `sm.integrations` and `sm.testing` need no import of their own and cost nothing before."""
    code = (
        "import sys, stream_metrics as sm; assert not any(f'stream_metrics.{x}' in sys.modules for x in "
        "('plots', 'integrations', 'testing')); sm.plots, sm.integrations, sm.testing; "
        "assert {'plots', 'integrations', 'testing'} <= set(dir(sm)); assert not hasattr(sm, 'nothing')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_snapshot_draws_itself() -> None:
    """`plot` is the overview of the plots."""
    y_true, y_pred, table = data()
    assert len(sm.evaluate(y_true, y_pred).plot().axes) >= 2
    assert len(sm.evaluate(y_true, scores=table, labels=range(4)).plot().axes) >= 4


@pytest.mark.parametrize("group", [None, ["x", "y", "x", "y"]])
def test_bad_rows_are_left_out_and_named(group: list[str] | None) -> None:
    """With on_bad="count" the values are those of the good rows, and a warning says how many others there are."""
    truth, predicted, w = ["a", None, "b", "b"], ["a", "a", "a", "b"], [1, 1, 1, -1]
    good = sm.evaluate(["a", "b"], ["a", "a"], w=[1, 1], group=None if group is None else ["x", "x"])
    result = sm.evaluate(truth, predicted, w=w, group=group, on_bad="count")

    assert dict(result) == dict(good)
    assert result.warnings[0].startswith(
        "2 of 4 rows could not be counted; the first: row 1: Expected `y_true`"
    )
    assert sm.evaluate(["a", "b"], ["a", "a"], on_bad="count").warnings == ()
    with pytest.raises(sm.LabelError, match="`y_true` at position 1"):
        sm.evaluate(truth, predicted, w=w, group=group)
    with pytest.raises(ValueError, match="`on_bad` to be 'raise' or 'count'"):
        sm.evaluate(truth, predicted, on_bad="skip")  # type: ignore[call-overload]


def test_bad_scores_are_left_out() -> None:
    """A score that is nan, too many of them, and classes that do not fit."""
    scores = [[0.5, 0.5], [np.nan, 0.5], [0.25, 0.75]]
    result = sm.evaluate(["a", "b", "b"], scores=scores, classes=["a", "b"], on_bad="count")
    assert result == sm.evaluate(["a", "b"], scores=scores[::2], classes=["a", "b"]).with_warning(result.warnings[0])
    ragged = sm.evaluate(["a", "b"], scores=[[0.5, 0.5], [0.5]], classes=["a", "b"], on_bad="count")
    assert ragged.n == 1
