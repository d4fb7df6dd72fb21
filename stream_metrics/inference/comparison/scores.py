"""Values of the scores of two models."""

from __future__ import annotations

import math

import numpy as np

from stream_metrics.catalog.spec import MetricSpec
from stream_metrics.errors import UnknownKeyError
from stream_metrics.evaluation.evaluation import Options, evaluate, value_labels
from stream_metrics.formulas.stats.tails import chi_square_tail
from stream_metrics.inference.intervals.folds import Folds
from stream_metrics.labels import Label
from stream_metrics.ranking.classes import RankState, asked_class

UNEVEN = 1e-6  # the p-value of equally large folds below which samples are taken to repeat


def read(row: MetricSpec, state: RankState, label: Label | None, options: Options) -> float:
    """Return a value of a state of scores; nan where it is 0/0."""
    value, _ = evaluate(row, state, math.nan, **options)
    if row.kind == "whole":
        return float(value)
    labels = value_labels(row, state)
    wanted = asked_class(state) if label is None else label
    if wanted is None and len(labels) > 2:
        raise UnknownKeyError(argument="label", expected=f"to be the class for the key {row.key!r}", but="got none")
    return float(value[labels.index(wanted)]) if wanted in labels else math.nan


def uneven(folds: Folds, parts: int) -> bool:
    """Tell whether samples are spread over the folds by more than chance: then their hashes repeat."""
    sizes = np.zeros(parts)
    for fold, pair in folds.items():
        sizes[fold] = pair[0]["ranks"].n
    mean = sizes.mean()
    return bool(chi_square_tail(float(((sizes - mean) ** 2).sum() / mean), parts - 1) < UNEVEN)
