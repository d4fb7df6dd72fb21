"""The tests that river runs on its own metrics, rewritten for ours: equality with scikit-learn after every sample.

Beyond river's: labels that are text, ties, weights of 0 and with fractions also inside windows, and a single class. A
sample of weight 0 is left out of what scikit-learn sees, since a class without weight is no class here.
"""

from __future__ import annotations

import copy
import math
import pickle
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from river import linear_model, utils
from sklearn import metrics as sk
from support.river_outcomes import every_class, fed, logistic, outcomes

import stream_metrics as sm
from stream_metrics.integrations.river import RiverMetric, as_river

Stream = list[tuple[Any, Any, float]]
Value = Callable[[Stream], float]
LABELS: dict[str, list[Any]] = {
    "bools": [True, False],
    "numbers": [0, 1, 2],
    "text": ["ant", "bee", "cat"],
    "one class": ["ant"],
}
WEIGHTS: dict[str, list[float]] = {"none": [1], "whole": [0, 1, 2, 3], "fractions": [0.1, 0.2, 0.7, 1 / 3, 0.0]}


def hard(labels: str, weights: str, n: int = 12) -> Stream:
    """Return samples of (truth, prediction, weight)."""
    rng, names = random.Random(f"{labels} {weights}"), LABELS[labels]
    draws = [(rng.choice(names), rng.choice(names), rng.choice(WEIGHTS[weights])) for _ in range(n)]
    return [(names[0], names[-1], 1), *draws]


def soft(labels: str, weights: str, n: int = 14) -> Stream:
    """Return samples of (truth, probabilities by label, weight), with many ties."""
    rng, names = random.Random(f"{labels} {weights} soft"), LABELS[labels]
    samples = []
    for _ in range(n):
        parts = [rng.choice([1, 1, 2, 5]) for _ in names]
        scores = {c: p / sum(parts) for c, p in zip(names, parts, strict=True)}
        samples.append((rng.choice(names), scores, rng.choice(WEIGHTS[weights])))
    return samples


def columns(stream: Stream) -> tuple[list[Any], list[Any], list[float]]:
    """Return truth, predictions and weights of the samples that have any weight."""
    weighted = [sample for sample in stream if sample[2]]
    return [s[0] for s in weighted], [s[1] for s in weighted], [s[2] for s in weighted]


def scored(name: str, **options: Any) -> Value:
    """Return scikit-learn's value of samples with labels."""

    def value(stream: Stream) -> float:
        truth, predicted, weights = columns(stream)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return float(np.nan_to_num(getattr(sk, name)(truth, predicted, sample_weight=weights, **options)))

    return value


def table(stream: Stream) -> tuple[list[Any], list[Any], Any, list[float]]:
    """Return truth, classes, scores as an array and weights."""
    truth, predicted, weights = columns(stream)
    classes = sorted(predicted[0]) if predicted else []
    return truth, classes, np.array([[p[c] for c in classes] for p in predicted]), weights


def area(function: Any, label: Any = None) -> Value:
    """Return scikit-learn's area for the scores of a class, the first by default; nan where it is not defined."""

    def value(stream: Stream) -> float:
        truth, classes, scores, weights = table(stream)
        first = next(names for names in LABELS.values() if set(names) == set(classes))[0]
        own = [t == (first if label is None else label) for t in truth]
        if not any(own) or (all(own) and function is sk.roc_auc_score):
            return math.nan
        return float(function(own, scores[:, classes.index(first if label is None else label)], sample_weight=weights))

    return value


def log_loss(stream: Stream) -> float:
    """Return scikit-learn's log loss."""
    truth, classes, scores, weights = table(stream)
    return float(sk.log_loss(truth, scores, sample_weight=weights, labels=classes)) if truth else math.nan


def mean_area(stream: Stream) -> float:
    """Return the mean of the areas of the classes that have one."""
    areas = [area(sk.roc_auc_score, label)(stream) for label in stream[0][1]]
    return float(np.mean([a for a in areas if a == a])) if any(a == a for a in areas) else math.nan


OF_LABELS: list[tuple[type[sm.Metric], Value]] = [
    (sm.Accuracy, scored("accuracy_score")),
    (sm.BalancedAccuracy, scored("balanced_accuracy_score")),
    (sm.MCC, scored("matthews_corrcoef")),
    (sm.CohenKappa, scored("cohen_kappa_score")),
    *(
        (getattr(sm, kind + name), scored(function, average=kind.lower(), zero_division=0))
        for kind in ("Macro", "Weighted")
        for name, function in [("F1", "f1_score"), ("Precision", "precision_score"), ("Recall", "recall_score")]
    ),
    (sm.MacroJaccard, scored("jaccard_score", average="macro", zero_division=0)),
]
OF_ONE_CLASS: list[tuple[type[sm.Metric], str, dict[str, Any]]] = [
    (sm.Precision, "precision_score", {}),
    (sm.Recall, "recall_score", {}),
    (sm.F1, "f1_score", {}),
    (sm.FBeta, "fbeta_score", {"beta": 2.0}),
    (sm.FBeta, "fbeta_score", {"beta": 0.5}),
    (sm.Jaccard, "jaccard_score", {}),
]
OF_SCORES: list[tuple[type[sm.Metric], Value]] = [
    (sm.ROCAUC, area(sk.roc_auc_score)),
    (sm.AveragePrecision, area(sk.average_precision_score)),
    (sm.MacroROCAUC, mean_area),
    (sm.LogLoss, log_loss),
]


def same(ours: float, theirs: float) -> bool:
    """Tell whether two values agree to 1e-9; nan agrees with nan."""
    return (ours != ours and theirs != theirs) or math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-9)


def differing(cls: type[sm.Metric], options: dict[str, Any], stream: Stream, expected: Value) -> list[str]:
    """Return where a metric differs from the expected value: after which sample, or in which window of river's."""
    name, metric, places = cls.__name__, cls(**options), []
    windows = [utils.Rolling(cls, size, **options) for size in (1, 2, 5, 10)]
    for at, sample in enumerate(stream, 1):
        for state in (metric, *windows):
            state.update(*sample)
        if any(w for _, _, w in stream[:at]) and not same(metric.get(), expected(stream[:at])):
            places.append(f"{name} {options} after {at} of {stream}")
    for window in windows:
        recent = stream[-window.window_size :]
        if any(w for _, _, w in recent) and not same(window.get(), expected(recent)):
            places.append(f"{name} {options} in a window of {window.window_size} of {stream}")
    return places


@pytest.mark.parametrize("labels", LABELS)
def test_label_metrics(labels: str) -> None:
    """Metrics of all classes are scikit-learn's after every sample, and in windows of 1, 2, 5 and 10 samples."""
    for weights in WEIGHTS:
        for cls, expected in OF_LABELS:
            assert differing(cls, {}, hard(labels, weights), expected) == []


@pytest.mark.parametrize("pos_label", [True, False, "bee", 2])
def test_metrics_of_one_class(pos_label: Any) -> None:
    """Metrics of one class are scikit-learn's for that class against the rest, for every label it may have."""
    labels = {"bee": "text", 2: "numbers"}.get(pos_label, "bools")
    for weights in ("none", "fractions"):
        for cls, function, options in OF_ONE_CLASS:
            value = scored(function, average="binary", zero_division=0, **options)

            def expected(stream: Stream, value: Value = value) -> float:
                return value([(t == pos_label, p == pos_label, w) for t, p, w in stream])

            stream = hard(labels, weights)
            assert differing(cls, {**options, "pos_label": pos_label}, stream, expected) == []


@pytest.mark.parametrize("labels", ["bools", "numbers", "text"])
def test_score_metrics(labels: str) -> None:
    """Metrics of probabilities with ties are scikit-learn's after every sample, and in windows."""
    for weights in WEIGHTS:
        for cls, expected in OF_SCORES:
            stream = soft(labels, weights)
            if cls is not sm.LogLoss:  # a rank sketch has weights in units of 2**-20
                stream = [(truth, scores, round(w * 8) / 8) for truth, scores, w in stream]
            options = {"pos_label": LABELS[labels][0]} if cls.row.kind == "per_class" else {}
            assert differing(cls, options, stream, expected) == []


def shown(metric: Any) -> str:
    """Return the value of a metric as text, or why it has none."""
    try:
        return repr(metric.get())
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize(
    ("labels", "weights"), [("text", "fractions"), ("numbers", "whole"), ("one class", "fractions")]
)
def test_a_window_of_river_is_a_fresh_metric(labels: str, weights: str) -> None:
    """In windows of 1, 2, 5 and 10 weighted samples every metric is, to the bit, a new one that was fed the window."""
    for _, cls, options in every_class(LABELS[labels]):
        stream = hard(labels, weights, 20) if cls.requires_labels else soft(labels, weights, 20)
        for size in (1, 2, 5, 10):
            window = utils.Rolling(cls, size, **options)
            adapted = utils.Rolling(RiverMetric, size, metric=cls(**options))
            for at, sample in enumerate(stream, 1):
                window.update(*sample)
                adapted.update(*sample)
                fresh = cls(**options)
                for row in stream[max(0, at - size) : at]:
                    fresh.update(*row)
                assert window.obj.to_bytes() == fresh.to_bytes()
            assert shown(window) == shown(fresh)
            assert adapted.obj.live == fresh


@pytest.mark.parametrize("adapt", [False, True], ids=["as it is", "adapter"])
def test_every_metric_has_what_river_touches(adapt: bool) -> None:
    """Every class has keyword updates, a float, `works_with`, and copies and pickles with its value and its future."""
    for name, cls, options in every_class([True, False]):
        empty = as_river(cls(**options)) if adapt else cls(**options)
        metric = fed(empty.clone(), outcomes())
        value, later = metric.get(), fed(empty.clone(), [*outcomes(), *outcomes()[:9]]).get()

        assert metric.works_with(logistic()) is True
        assert metric.works_with(linear_model.LinearRegression()) is False
        assert metric.works_with_weights is True
        assert isinstance(metric.bigger_is_better, bool)
        assert isinstance(metric.is_better_than(metric), bool)
        assert isinstance(value, int | float)
        assert value == value or not adapt
        assert repr(metric).startswith(type(metric).__name__)
        for twin in (pickle.loads(pickle.dumps(metric)), copy.deepcopy(metric), metric.clone(include_attributes=True)):
            assert type(twin) is type(metric)
            assert (repr(twin), repr(twin.get())) == (repr(metric), repr(value)), name
            assert repr(fed(twin, outcomes()[:9]).get()) == repr(later), name
        clone = metric.clone()
        assert type(clone) is type(metric)
        assert repr(clone.get()) == repr(empty.get())
        assert repr(fed(clone, outcomes()).get()) == repr(value)
        for truth, probabilities in outcomes()[::-1]:
            y_pred = max(probabilities, key=probabilities.get) if metric.requires_labels else probabilities
            metric.revert(y_true=truth, y_pred=y_pred)
        assert repr(metric.get()) == repr(empty.get()), name
