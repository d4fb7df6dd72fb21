"""Shared by the tests of the river adapter: a data set, models, predictions of one, an adapter of each kind."""

from __future__ import annotations

from functools import cache
from typing import Any

from river import (
    datasets,
    linear_model,
    preprocessing,
)

import stream_metrics as sm
from stream_metrics.integrations.river import as_river

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
