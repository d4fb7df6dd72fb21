"""Snapshots of scores: estimates with intervals, curves, counts of samples, data."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from support.refusals import all_refused

import stream_metrics as sm

pytestmark = pytest.mark.quick
METRICS = sm.metrics()
LOSSES = {"log_loss", "brier_score", "spherical_score", "top_k_accuracy"}  # which are exact
OF_RANKS = {key for key, info in METRICS.items() if info.reads == "scores"} - LOSSES
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


def places(key: str) -> list[tuple[Any, ...]]:
    """Return the labels that an estimate of a key takes, one after the other."""
    count = {"whole": 0, "per_class": 1}.get(METRICS[key].kind, 2)
    return list(itertools.permutations(NAMES, count))


def test_intervals_hold_the_exact_value() -> None:
    """Whatever is lost in tiny sketches, the interval holds the value of all scores; squared errors of classes add."""
    failures, open_keys = [], set()
    for seed, buckets, sample in ((1, 2, 1), (2, 3, 64), (3, 16, 8), (4, 64, 64)):
        exact, coarse = snap(seed, pos_label="a"), snap(seed, pos_label="a", buckets=buckets, sample=sample)
        for key in OF_RANKS:
            for labels in places(key):
                true, wide = exact.estimate(key, *labels), coarse.estimate(key, *labels)
                good = true.low == true.value == true.high and wide.low <= true.value <= wide.high
                good &= wide.low <= wide.value <= wide.high and 0 <= wide.se <= wide.high - wide.low
                if not good or (wide.kind, true.kind) != ("certified", "certified"):
                    failures.append((key, labels, true, wide))
                if wide.low < wide.high:
                    open_keys.add(key)
        each = [coarse.estimate("roc_auc", label).se * coarse["support", label] / coarse.n for label in NAMES]
        assert coarse.estimate("roc_auc_ovr_weighted").se == pytest.approx(math.hypot(*each))

    assert not failures
    assert open_keys == OF_RANKS


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
    all_refused([
        (lambda: snapshot.estimate("roc_auc", False), KeyError, "`label` to be one of True, but got False"),
        (lambda: snapshot.per_class["roc_auc"][False], KeyError, "False"),
    ])  # fmt: skip


def test_questions_that_have_no_answer() -> None:
    """A KeyError says what was asked wrongly, of estimates and of curves."""
    one_of = "`label` to be one of 'a', 'b', 'c', but got "
    labels_only, taken, empty = sm.MetricSet(), snap(), sm.MetricSet(scores=True).snapshot()
    labels_only.update("a", "a")
    calls: list[Any] = [
        (lambda asked=asked: taken.estimate(*asked), KeyError, about)
        for asked, about in (
            (("roc_auc_ovx",), "did you mean"),
            (("ROCAUC",), "its key is 'roc_auc'"),
            (("roc_auc", "z"), one_of + "'z'"),
            (("roc_auc",), "one label for 'roc_auc'"),
            (("roc_auc", "a", "b"), "one label for 'roc_auc'"),
            (("roc_auc", "a", "b"), "but got ('a', 'b')"),
            (("roc_auc_ovo", "a"), "no label for 'roc_auc_ovo', which is one value, but got ('a',)"),
            (("roc_auc_ovo_pair",), "'roc_auc_ovo_pair' is a matrix"),
            (("roc_auc_ovo_pair", "a"), "'roc_auc_ovo_pair' is a matrix"),
            (("roc_auc_ovo_pair", "a", "z"), "'z'"),
            (("recall",), "one label for 'recall', such as"),
            (("recall", "z"), "'z'"),
            (("expected_matrix",), "is a matrix"),
        )
    ]
    for name in ("roc_curve", "pr_curve", "det_curve", "best_threshold", "delong_se", "reliability_curve"):
        calls += [
            (getattr(labels_only.snapshot(), name), LookupError, "MetricSet(scores=True)"),
            (lambda name=name: getattr(taken, name)("z"), KeyError, one_of + "'z'"),
            (lambda name=name: getattr(empty, name)("a"), KeyError, "to be one of none yet, but got 'a'"),
        ]
        calls += [(getattr(taken, name), KeyError, "`label` to be given")] if name != "reliability_curve" else []
    all_refused(calls)


def test_curves_are_arrays_of_one_length() -> None:
    """Thresholds fall from infinity, one axis never falls, and inside crowded cells points are marked as estimates."""
    starts = {"roc_curve": (0, 0), "pr_curve": (0, 1), "det_curve": (0, 1)}
    for buckets, curve in itertools.product((1024, 8), starts):
        points = getattr(snap(buckets=buckets, sample=512, pos_label="b"), curve)()
        x, y, thresholds, exact = points.x, points.y, points.thresholds, points.exact

        assert len(x) == len(y) == len(thresholds) == len(exact)
        assert all(type(array) is np.ndarray for array in points)
        assert thresholds[0] == math.inf
        assert (np.diff(thresholds) < 0).all()
        assert (np.diff(x) >= 0).all()
        assert exact.all() == (buckets == 1024)
        assert ((x >= 0) & (x <= 1) & (y >= 0) & (y <= 1)).all()
        assert (x[0], y[0], x[-1]) == (*starts[curve], 1)


def test_data_survives_json() -> None:
    """Everything is plain data: bounds where values are not exact, null for what is undefined."""
    options: list[dict[str, Any]] = [
        {},
        {"buckets": 8, "sample": 8},
        {"scores": "any"},
        {"labels": ["c", "b", "a", "z"]},
    ]
    for chosen in options:
        snapshot = snap(**chosen)
        data, plain = json.loads(snapshot.to_json()), snapshot.to_dict()

        assert {*data["metrics"], *data["per_class"], *data["matrices"]} == {*snapshot.default_keys()}
        assert ("log_loss" in data["metrics"]) == (chosen.get("scores") != "any")
        assert data["scores"]["n"] == 300
        assert bool(data["scores"]["bounds"]) == ("buckets" in chosen)
        for key, bound in data["scores"]["bounds"].items():
            for name, ends in bound.items() if METRICS[key].kind == "per_class" else [(None, bound)]:
                estimate = snapshot.estimate(key, *([] if name is None else [name]))
                assert ends == {"low": estimate.low, "high": estimate.high, "se": estimate.se}
        assert "labels" in chosen or data == plain
        assert json.loads(json.dumps(plain)).keys() == data.keys()


def test_the_frame_has_a_row_per_class_and_nothing_where_there_is_no_value() -> None:
    """`to_frame` holds values of labels and of scores; a class without scores has none."""
    metrics = sm.MetricSet(scores=True)
    metrics.update_many([True, False, True], np.array([0.75, 0.25, 0.5]))
    frame = metrics.snapshot().to_frame()

    several = snap().to_frame()
    assert list(several.index) == NAMES
    assert tuple(several.loc["b", ["roc_auc", "recall"]]) == tuple(snap()[key, "b"] for key in ("roc_auc", "recall"))
    assert list(frame.index) == [False, True]
    assert frame.loc[True, "roc_auc"] == 1.0
    assert math.isnan(frame.loc[False, "roc_auc"])
