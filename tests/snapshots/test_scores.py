"""Snapshots of scores: estimates with intervals, curves, thresholds, counts of samples, data."""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics.catalog.table import CATALOG

NAN = math.nan
OF_RANKS = [row for row in CATALOG.values() if row.state in ("ranks", "confidence")]
NAMES = ["a", "b", "c"]


def samples(seed: int, n: int = 300) -> tuple[Any, Any]:
    """Return truths and rows of probabilities that know something of them."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    return np.array(NAMES)[truth], (3 * rng.dirichlet(np.ones(3), n) + np.eye(3)[truth]) / 4


def snap(seed: int = 0, n: int = 300, **options: Any) -> Any:
    """Return the snapshot of a set of three classes."""
    metrics = sm.MetricSet(**({"scores": True} | options))
    metrics.update_many(*samples(seed, n), classes=NAMES)
    return metrics.snapshot()


def places(row: Any) -> list[tuple[Any, ...]]:
    """Return the labels that an estimate of a row takes, one after the other."""
    if row.kind == "whole":
        return [()]
    return [(a,) for a in NAMES] if row.kind == "per_class" else [(a, b) for a in NAMES for b in NAMES if a != b]


@pytest.mark.parametrize("row", OF_RANKS, ids=lambda row: row.key)
def test_intervals_hold_the_exact_value(row: Any) -> None:
    """Whatever is lost in tiny sketches, the interval holds the value that all scores would give."""
    seen_open = 0
    for seed, buckets, sample in ((1, 2, 1), (2, 3, 64), (3, 16, 8), (4, 64, 64)):
        exact, coarse = snap(seed, pos_label="a"), snap(seed, pos_label="a", buckets=buckets, sample=sample)
        for labels in places(row):
            true, found = exact.estimate(row.key, *labels), coarse.estimate(row.key, *labels)
            assert true.low == true.value == true.high
            assert found.low <= true.value <= found.high
            assert found.low <= found.value <= found.high
            assert (found.kind, true.kind) == ("certified", "certified")
            assert 0 <= found.se <= found.high - found.low
            seen_open += found.low < found.high

    assert seen_open


def test_kinds_of_estimates() -> None:
    """Exact counters give points, sketches intervals, and 0/0 what stands for it."""
    snapshot = snap(zero_division=0.0)
    lonely = sm.MetricSet(scores=True, zero_division=1.0)
    lonely.update("a", {"a": 0.5, "b": 0.5})
    undefined = lonely.snapshot()

    for key in ("accuracy", "log_loss", "brier_score", "top_k_accuracy"):
        value = snapshot[key]
        assert snapshot.estimate(key) == (value, value, value, 0.0, "exact")
    assert snapshot.estimate("recall", "b") == (*[snapshot.per_class["recall"]["b"]] * 3, 0.0, "exact")
    assert snapshot.estimate("roc_auc", "b")[:4] == (*[snapshot.per_class["roc_auc"]["b"]] * 3, 0.0)
    for key, *labels in (("roc_auc_ovo",), ("roc_auc", "a"), ("roc_auc_ovo_pair", "a", "b"), ("matthews_corrcoef",)):
        assert undefined.estimate(key, *labels) == (1.0, 1.0, 1.0, 0.0, "undefined")
    assert {"roc_auc_ovo", ("roc_auc", "a"), ("roc_auc", "b")} <= set(undefined.undefined)


def test_a_binary_stream_has_one_answer() -> None:
    """Single numbers are about `pos_label`: its values can be read without a label, and no other class has any."""
    metrics = sm.MetricSet(scores=True)
    metrics.update_many([True, False, True, False], np.array([0.75, 0.5, 0.5, 0.25]))
    snapshot = metrics.snapshot()

    assert snapshot["roc_auc"] == snapshot.estimate("roc_auc").value == 3.5 / 4
    assert snapshot.per_class["roc_auc"] == {True: 3.5 / 4}
    assert snapshot["roc_auc_ovr"] == 3.5 / 4
    assert snapshot.estimate("roc_auc", 1) == snapshot.estimate("roc_auc")
    assert snapshot.labels == (False, True)
    with pytest.raises(KeyError, match="`label` to be one of True, but got False"):
        snapshot.estimate("roc_auc", False)
    with pytest.raises(KeyError, match="False"):
        snapshot.per_class["roc_auc"][False]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("roc_auc_ovx",), "did you mean"),
        (("ROCAUC",), "its key is 'roc_auc'"),
        (("roc_auc", "z"), "`label` to be one of 'a', 'b', 'c', but got 'z'"),
        (("roc_auc",), "`label` to be one of 'a', 'b', 'c', but got True"),
        (("roc_auc", "a", "b"), "one label for 'roc_auc'.* but got \\('a', 'b'\\)"),
        (("roc_auc_ovo", "a"), "no label for 'roc_auc_ovo', which is one value, but got \\('a',\\)"),
        (("roc_auc_ovo_pair",), "'roc_auc_ovo_pair' is a matrix"),
        (("roc_auc_ovo_pair", "a"), "'roc_auc_ovo_pair' is a matrix"),
        (("roc_auc_ovo_pair", "a", "z"), "'z'"),
        (("recall",), "one label for 'recall', such as"),
        (("recall", "z"), "'z'"),
        (("expected_matrix",), "is a matrix"),
    ],
)
def test_questions_that_have_no_answer(arguments: tuple[Any, ...], message: str) -> None:
    """A KeyError says what was asked wrongly."""
    with pytest.raises(KeyError, match=message):
        snap().estimate(*arguments)


@pytest.mark.parametrize(
    "method", ["roc_curve", "pr_curve", "det_curve", "best_threshold", "delong_se", "reliability_curve"]
)
def test_curves_need_scores_of_a_class(method: str) -> None:
    """Without scores, or for a class that does not occur, a KeyError says so."""
    labels_only = sm.MetricSet()
    labels_only.update("a", "a")
    with pytest.raises(LookupError, match=r"MetricSet\(scores=True\)"):
        getattr(labels_only.snapshot(), method)()
    with pytest.raises(KeyError, match="`label` to be one of 'a', 'b', 'c', but got 'z'"):
        getattr(snap(), method)("z")
    if method != "reliability_curve":
        with pytest.raises(KeyError, match="but got True"):
            getattr(snap(), method)()
    with pytest.raises(KeyError, match="to be one of none yet, but got 'a'"):
        getattr(sm.MetricSet(scores=True).snapshot(), method)("a")


@pytest.mark.parametrize("buckets", [1024, 8])
@pytest.mark.parametrize("curve", ["roc_curve", "pr_curve", "det_curve"])
def test_curves_are_arrays_of_one_length(buckets: int, curve: str) -> None:
    """Thresholds fall from infinity, one axis never falls, and inside crowded cells points are marked as estimates."""
    points = getattr(snap(buckets=buckets, sample=512, pos_label="b"), curve)()
    x, y, thresholds, exact = points.x, points.y, points.thresholds, points.exact

    assert len(x) == len(y) == len(thresholds) == len(exact)
    assert all(type(array) is np.ndarray for array in points)
    assert thresholds[0] == math.inf
    assert (np.diff(thresholds) < 0).all()
    assert (np.diff(x) >= 0).all()
    assert exact.all() == (buckets == 1024)
    assert ((x >= 0) & (x <= 1) & (y >= 0) & (y <= 1)).all()
    assert (x[0], y[0]) == {"roc_curve": (0, 0), "pr_curve": (0, 1), "det_curve": (0, 1)}[curve]
    assert x[-1] == 1


@pytest.mark.parametrize("metric", ["youden", "f1", "accuracy", "balanced_accuracy", "mcc"])
def test_the_best_threshold_is_the_best_of_all(metric: str) -> None:
    """No threshold of the scores does better; a tiny sketch bounds what any could reach."""
    truth, rows = samples(5)
    scores, positive = rows[:, 1], truth == "b"
    values = []
    for threshold in np.unique(scores):
        counts = sm.ConfusionMatrix(labels=[True, False])
        counts.update_many(positive, scores >= threshold)
        snapshot = counts.snapshot()
        by = {"accuracy": "accuracy", "balanced_accuracy": "balanced_accuracy", "mcc": "matthews_corrcoef"}
        if metric == "f1":
            values.append(snapshot.per_class["f1"][True])
        elif metric == "youden":
            values.append(2 * snapshot["balanced_accuracy"] - 1)
        else:
            values.append(snapshot[by[metric]])
    exact, coarse = snap(5).best_threshold("b", metric), snap(5, buckets=8, sample=8).best_threshold("b", metric)

    assert exact.value == pytest.approx(max(values), rel=1e-12)
    assert values[np.unique(scores).tolist().index(exact.threshold)] == pytest.approx(exact.value, rel=1e-12)
    assert coarse.value <= exact.value + 1e-12
    assert coarse.high >= exact.value - 1e-12


def test_delong_se_is_that_of_all_pairs() -> None:
    """The standard error follows from the shares of the other class below and above each sample."""
    truth, rows = samples(6)
    own, rest = rows[truth == "a", 0], rows[truth != "a", 0]
    above = (own[:, None] > rest) + 0.5 * (own[:, None] == rest)
    variance = above.mean(1).var(ddof=1) / len(own) + above.mean(0).var(ddof=1) / len(rest)

    assert snap(6).delong_se("a") == pytest.approx(math.sqrt(variance), rel=1e-12)


def test_samples_are_counted_apart() -> None:
    """`n` counts labels and scores, `scored` those with scores, `abstained` neither."""
    metrics = sm.MetricSet(scores=True)
    for sample in (
        ("a", {"a": 0.5}),
        ("a", "b", 2.5),
        ("b", None),
        ("b", {}),
        ("b", {"a": 0.25, "b": 0.75}, 0),
        (True, 0.5),
    ):
        metrics.update(*sample)
    snapshot = metrics.snapshot()

    assert (snapshot.n, snapshot.scored, snapshot.abstained, snapshot.weight) == (4, 3, 2, 4.5)
    assert snapshot.to_dict()["scores"]["n"] == 3
    assert (metrics.n, metrics.abstained) == (4, 2)
    assert [state.abstained for state in metrics.scored.states()] == [0, 0, 0]


def test_hard_predictions_leave_scores_alone() -> None:
    """Labels count in the matrix only; where no scores came, what needs them is undefined."""
    metrics = sm.MetricSet(scores=True)
    metrics.update_many(list("aab"), list("abb"))
    snapshot = metrics.snapshot()

    assert snapshot["accuracy"] == 2 / 3
    assert (snapshot.n, snapshot.scored) == (3, 0)
    assert {"log_loss", "roc_auc_ovo", "roc_auc_ovr", "expected_calibration_error_top"} <= set(snapshot.undefined)
    assert math.isnan(snapshot["log_loss"])
    assert snapshot.per_class["roc_auc"] == {}


@pytest.mark.parametrize(
    "options", [{}, {"buckets": 8, "sample": 8}, {"scores": "any"}, {"labels": ["c", "b", "a", "z"]}], ids=str
)
def test_data_survives_json(options: dict[str, Any]) -> None:
    """Everything is plain data: bounds where values are not exact, null for what is undefined."""
    snapshot = snap(**options)
    data = json.loads(snapshot.to_json())
    plain = snapshot.to_dict()
    kept = {"counts", "ranks"} | (set() if options.get("scores") == "any" else {"confidence", "losses"})
    listed = {*data["metrics"], *data["per_class"], *data["matrices"]}

    assert listed == {key for key, row in CATALOG.items() if row.default and row.state in kept}
    assert data["scores"]["n"] == 300
    assert bool(data["scores"]["bounds"]) == ("buckets" in options)
    for key, bound in data["scores"]["bounds"].items():
        for name, found in bound.items() if CATALOG[key].kind == "per_class" else [(None, bound)]:
            estimate = snapshot.estimate(key, *([] if name is None else [name]))
            assert found == {"low": estimate.low, "high": estimate.high, "se": estimate.se}
    if "labels" not in options:
        assert data == plain
    assert json.loads(json.dumps(plain)).keys() == data.keys()


def test_single_scores_survive_json() -> None:
    """A binary stream is written under the names of its labels."""
    metrics = sm.MetricSet(scores=True, buckets=2, sample=8)
    rng = np.random.default_rng(1)
    metrics.update_many(rng.random(50) < 0.5, rng.random(50))
    data = json.loads(metrics.snapshot().to_json())

    assert data["labels"] == ["False", "True"]
    assert list(data["per_class"]["roc_auc"]) == ["True"]
    assert list(data["scores"]["bounds"]["roc_auc"]) == ["True"]
    assert set(data["scores"]["bounds"]["roc_auc"]["True"]) == {"low", "high", "se"}


def test_the_frame_has_a_row_per_class_and_nothing_where_there_is_no_value() -> None:
    """`to_frame` holds values of labels and of scores; a class without scores has none."""
    metrics = sm.MetricSet(scores=True)
    metrics.update_many([True, False, True], np.array([0.75, 0.25, 0.5]))
    frame = metrics.snapshot().to_frame()
    several = snap().to_frame()

    assert list(several.index) == NAMES
    assert several.loc["b", "roc_auc"] == snap().per_class["roc_auc"]["b"]
    assert several.loc["b", "recall"] == snap().per_class["recall"]["b"]
    assert list(frame.index) == [False, True]
    assert frame.loc[True, "roc_auc"] == 1.0
    assert math.isnan(frame.loc[False, "roc_auc"])


def test_a_snapshot_stays_where_it_was_taken() -> None:
    """Later updates move none of its states, and a pickled one says the same."""
    metrics = sm.MetricSet(scores=True)
    metrics.update_many(*samples(7), classes=NAMES)
    snapshot, twin = metrics.snapshot(), metrics.snapshot()
    expected = twin.to_json()
    metrics.update_many(*samples(8), classes=NAMES)

    assert snapshot.to_json() == expected
    assert pickle.loads(pickle.dumps(snapshot)).to_json() == expected
    assert metrics.snapshot().to_json() != expected
    assert metrics.get()["roc_auc_ovo"] == metrics.snapshot()["roc_auc_ovo"]


def test_many_classes_have_no_areas_of_pairs() -> None:
    """Without pairs a set takes any number of classes, one against the rest, and says that pairs are undefined."""
    metrics = sm.MetricSet(scores=True, pairs=False)
    metrics.update_many(np.arange(70), scores=np.full((70, 70), 1 / 70) + np.eye(70) / 100, classes=range(70))
    snapshot = metrics.snapshot()

    assert snapshot["roc_auc_ovr"] == 1.0
    assert math.isnan(snapshot["roc_auc_ovo"])
    assert "roc_auc_ovo" in snapshot.undefined
    assert json.loads(snapshot.to_json())["metrics"]["roc_auc_ovo"] is None
    assert snapshot.estimate("roc_auc_ovo").kind == "undefined"
