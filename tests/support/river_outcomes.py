"""Shared by the tests of the river adapter: data, a model, its predictions, an adapter of each kind, every class."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from river import datasets, linear_model, preprocessing

import stream_metrics as sm
from stream_metrics.integrations.river import as_river
from support.metric_classes import CLASSES

ADAPTED = [  # what only the adapter can be, and a metric of each sort
    lambda: as_river(sm.MCC()),
    lambda: as_river(sm.ROCAUC()),
    lambda: as_river(sm.LogLoss()),
    lambda: as_river(sm.FBeta(2.0, pos_label=False)),
    lambda: as_river(sm.MetricSet()),
    lambda: as_river(sm.MetricSet(scores=True), "roc_auc"),
    lambda: as_river(sm.MetricSet(["recall"]), label=False),
    lambda: as_river(sm.ConfusionMatrix(), "macro_f1"),
    lambda: as_river(sm.RankSketch()),
    lambda: as_river(sm.ProbabilityLosses()),
]


def phishing(n: int = 300) -> Any:
    """Return the first samples of a binary data set that comes with river."""
    return datasets.Phishing().take(n)


def logistic() -> Any:
    """Return a pipeline that ends in a classifier."""
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


@cache
def outcomes() -> list[tuple[bool, dict[bool, float]]]:
    """Return what a model says of 120 samples: truth and probabilities."""
    model, seen = logistic(), []
    for x, y in phishing(120):
        seen.append((y, model.predict_proba_one(x)))
        model.learn_one(x, y)
    return seen


def fed(metric: Any, outcomes: Any) -> Any:
    """Return the metric after the samples, as `evaluate` would feed it."""
    for truth, probabilities in outcomes:
        y_pred = max(probabilities, key=probabilities.get) if metric.requires_labels else probabilities
        metric.update(y_true=truth, y_pred=y_pred)
    return metric


def every_class(labels: list[Any], scored: bool = True) -> Iterator[tuple[str, type[sm.Metric], dict[str, Any]]]:
    """Yield every metric class, or every one of labels, with arguments for these labels, the first one positive."""
    needed = {
        "GeneralF1": {"average": "power", "p": 2.0},
        "GeneralFowlkesMallows": {"average": "power", "p": -1.0},
        "WeightedBalancedAccuracy": {"weights": {label: 1.0 + at for at, label in enumerate(labels)}},
    }
    for name, cls in CLASSES.items():
        if scored or cls.requires_labels:
            positive = {"pos_label": labels[0]} if cls._row.kind == "per_class" else {}
            yield name, cls, {**positive, **needed.get(name, {})}
