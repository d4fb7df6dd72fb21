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
from river import utils
from sklearn import metrics as sk
from support.metric_classes import CLASSES

import stream_metrics as sm
from stream_metrics.integrations.river import RiverMetric, as_river

Stream = list[tuple[Any, Any, float]]
OPTIONS: dict[str, dict[str, Any]] = {
    "GeneralF1": {"average": "power", "p": 2.0},
    "GeneralFowlkesMallows": {"average": "power", "p": -1.0},
    "WeightedBalancedAccuracy": {"weights": {label: 1 + i for i, label in enumerate(["ant", "bee", "cat", 0, 1, 2])}},
}
LABELS: dict[str, list[Any]] = {
    "bools": [True, False],
    "numbers": [0, 1, 2],
    "text": ["ant", "bee", "cat"],
    "one class": ["ant"],
}


def weight(rng: random.Random, weights: str) -> float:
    """Draw a weight."""
    return {"none": 1, "whole": rng.randrange(4), "fractions": rng.choice([0.1, 0.2, 0.7, 1 / 3, 0.0])}[weights]


def hard(labels: str, weights: str, n: int = 40) -> Stream:
    """Samples of (truth, prediction, weight)."""
    rng = random.Random(f"{labels} {weights}")
    names = LABELS[labels]
    draw = lambda: (rng.choice(names), rng.choice(names), weight(rng, weights))  # noqa: E731
    return [(names[0], names[-1], 1), *(draw() for _ in range(n))]


def soft(labels: str, weights: str, n: int = 40) -> Stream:
    """Samples of (truth, probabilities by label, weight), with many ties."""
    rng = random.Random(f"{labels} {weights} soft")
    names = LABELS[labels]
    samples = []
    for _ in range(n):
        parts = [rng.choice([1, 1, 2, 5]) for _ in names]
        samples.append((rng.choice(names), {c: p / sum(parts) for c, p in zip(names, parts, strict=True)}))
    return [(truth, scores, weight(rng, weights)) for truth, scores in samples]


def columns(stream: Stream) -> tuple[list[Any], list[Any], list[float]]:
    """Return truth, predictions and weights of the samples that have any weight."""
    weighted = [sample for sample in stream if sample[2]]
    return [s[0] for s in weighted], [s[1] for s in weighted], [s[2] for s in weighted]


def scored(function: Callable[..., Any], **options: Any) -> Callable[[Stream], float]:
    """Return scikit-learn's value of samples with labels."""

    def value(stream: Stream) -> float:
        truth, predicted, weights = columns(stream)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return float(np.nan_to_num(function(truth, predicted, sample_weight=weights, **options)))

    return value


def averaged(name: str, average: str, **options: Any) -> Callable[[Stream], float]:
    """Return scikit-learn's average over classes."""
    return scored(getattr(sk, name), average=average, zero_division=0, **options)


def table(stream: Stream) -> tuple[list[Any], list[Any], Any, list[float]]:
    """Return truth, classes, scores as an array and weights."""
    truth, predicted, weights = columns(stream)
    classes = sorted(predicted[0]) if predicted else []
    return truth, classes, np.array([[p[c] for c in classes] for p in predicted]), weights


def area(function: Any, label: Any = None) -> Callable[[Stream], float]:
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


OF_LABELS: list[tuple[type[sm.Metric], dict[str, Any], Callable[[Stream], float]]] = [
    (sm.Accuracy, {}, scored(sk.accuracy_score)),
    (sm.BalancedAccuracy, {}, scored(sk.balanced_accuracy_score)),
    (sm.MCC, {}, scored(sk.matthews_corrcoef)),
    (sm.CohenKappa, {}, scored(sk.cohen_kappa_score)),
    *(
        (getattr(sm, kind + name), {}, averaged(function, kind.lower()))
        for kind in ("Macro", "Weighted")
        for name, function in [("F1", "f1_score"), ("Precision", "precision_score"), ("Recall", "recall_score")]
    ),
    (sm.MacroJaccard, {}, averaged("jaccard_score", "macro")),
]
OF_ONE_CLASS = [
    (sm.Precision, {}, "precision_score"),
    (sm.Recall, {}, "recall_score"),
    (sm.F1, {}, "f1_score"),
    (sm.FBeta, {"beta": 2.0}, "fbeta_score"),
    (sm.FBeta, {"beta": 0.5}, "fbeta_score"),
    (sm.Jaccard, {}, "jaccard_score"),
]


def same(ours: float, theirs: float) -> bool:
    """Tell whether two values agree to 1e-9; nan agrees with nan."""
    return (ours != ours and theirs != theirs) or math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-9)


def follow(cls: type[sm.Metric], options: dict[str, Any], stream: Stream, expected: Callable[[Stream], float]) -> None:
    """Assert that a metric has the expected value after every sample, and windows of river's at the end."""
    metric = cls(**options)
    windows = [utils.Rolling(cls, size, **options) for size in (1, 2, 5, 10)]
    for at, sample in enumerate(stream, 1):
        for state in (metric, *windows):
            state.update(*sample)
        assert not any(w for _, _, w in stream[:at]) or same(metric.get(), expected(stream[:at])), at
    for window in windows:
        recent = stream[-window.window_size :]
        assert not any(w for _, _, w in recent) or same(window.get(), expected(recent)), window.window_size


@pytest.mark.parametrize("weights", ["none", "whole", "fractions"])
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize(("cls", "options", "expected"), OF_LABELS, ids=lambda x: getattr(x, "__name__", ""))
def test_label_metrics(cls: Any, options: Any, expected: Any, labels: str, weights: str) -> None:
    """Metrics of all classes are scikit-learn's after every sample, and in windows of 1, 2, 5 and 10 samples."""
    follow(cls, options, hard(labels, weights, 12), expected)


@pytest.mark.parametrize("weights", ["none", "fractions"])
@pytest.mark.parametrize("pos_label", [True, False, "bee", 2])
@pytest.mark.parametrize(("cls", "options", "function"), OF_ONE_CLASS, ids=lambda x: getattr(x, "__name__", ""))
def test_metrics_of_one_class(cls: Any, options: Any, function: str, pos_label: Any, weights: str) -> None:
    """Metrics of one class are scikit-learn's for that class against the rest, whichever label it has."""
    labels = {"bee": "text", 2: "numbers"}.get(pos_label, "bools")
    value = averaged(function, "binary", **options)

    def expected(stream: Stream) -> float:
        return value([(t == pos_label, p == pos_label, w) for t, p, w in stream])

    follow(cls, {**options, "pos_label": pos_label}, hard(labels, weights, 12), expected)


@pytest.mark.parametrize("weights", ["none", "whole", "fractions"])
@pytest.mark.parametrize("labels", ["bools", "numbers", "text"])
@pytest.mark.parametrize(
    ("cls", "expected"),
    [
        (sm.ROCAUC, area(sk.roc_auc_score)),
        (sm.AveragePrecision, area(sk.average_precision_score)),
        (sm.MacroROCAUC, mean_area),
        (sm.LogLoss, log_loss),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_score_metrics(cls: Any, expected: Any, labels: str, weights: str) -> None:
    """Metrics of probabilities with ties are scikit-learn's after every sample, and in windows."""
    stream = soft(labels, weights, 14)
    if cls is not sm.LogLoss:  # a rank sketch has weights in units of 2**-20
        stream = [(truth, scores, round(w * 8) / 8) for truth, scores, w in stream]
    options = {"pos_label": LABELS[labels][0]} if cls.row.kind == "per_class" else {}
    follow(cls, options, stream, expected)


def shown(metric: Any) -> str:
    """Return the value of a metric as text, or why it has none."""
    try:
        return repr(metric.get())
    except ValueError as error:
        return str(error)


def streams(requires_labels: bool) -> list[Stream]:
    """Return streams of every sort of label and weight."""
    make = hard if requires_labels else soft
    return [make("text", "fractions", 25), make("numbers", "whole", 25), make("one class", "fractions", 12)]


@pytest.mark.parametrize("name", CLASSES)
def test_a_window_of_river_is_a_fresh_metric(name: str) -> None:
    """In windows of 1, 2, 5 and 10 weighted samples every metric is, to the bit, a new one that was fed the window."""
    cls, options = CLASSES[name], OPTIONS.get(name, {})
    if cls.row.kind == "per_class":
        options = {**options, "pos_label": "ant"}
    for stream in streams(cls.requires_labels):
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


@pytest.mark.parametrize("name", CLASSES)
def test_it_can_be_pickled_copied_and_printed_at_every_step(name: str) -> None:
    """A pickled or copied metric has the value, the repr and the future of the original, as it is and adapted."""
    cls, options = CLASSES[name], OPTIONS.get(name, {})
    if cls.row.kind == "per_class":
        options = {**options, "pos_label": "ant"}
    (stream, *_) = streams(cls.requires_labels)
    for metric in (cls(**options), as_river(cls(**options))):
        for at, sample in enumerate(stream):
            metric.update(*sample)
            if at % 8 == 0:
                for twin in (pickle.loads(pickle.dumps(metric)), copy.deepcopy(metric)):
                    assert repr(twin) == repr(metric) == str(metric)
                    twin.update(*sample)
                    twin.revert(*sample)
                    assert shown(twin) == shown(metric)
