"""The samples that the questions share."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Pairs = list[tuple[Any, Any]]
Triples = list[tuple[Any, Any, Any]]


def names(classes: int) -> list[str]:
    """Return class names of the length that real ones have."""
    return [f"class_{i:0{len(str(classes - 1))}d}" for i in range(classes)]


def pairs(labels: list[Any], n: int, agreement: float = 0.8, seed: int = 1) -> Pairs:
    """Return n samples whose prediction is right with at least the probability `agreement`, the rest uniform."""
    draw = random.Random(seed)
    truth = [draw.choice(labels) for _ in range(n)]
    return [(t, t if draw.random() < agreement else draw.choice(labels)) for t in truth]


def fresh(samples: Pairs) -> Callable[[], Pairs]:
    """Return a function that decodes the samples from JSON: every label a new object whose hash is not yet known."""
    text = json.dumps(samples)
    return lambda: [(t, p) for t, p in json.loads(text)]


def columns(n: int, classes: int, agreement: float, seed: int = 1) -> tuple[Array, Array]:
    """Return n true and predicted class numbers as int64; right with that probability, else uniform."""
    draw = np.random.default_rng(seed)
    truth = draw.integers(0, classes, n)
    guess = draw.integers(0, classes, n)
    return truth, np.where(draw.random(n) < agreement, truth, guess)
