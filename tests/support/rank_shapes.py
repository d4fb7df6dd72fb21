"""Scores of two classes in the shapes that rank sketches find easy and hard, and the exact area under their curve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Shape = Callable[[np.random.Generator, int, np.ndarray], np.ndarray]


def _beta(g: np.random.Generator, n: int, own: np.ndarray) -> np.ndarray:
    return np.where(own, g.beta(4, 2, n), g.beta(2, 4, n))


def _isotonic(g: np.random.Generator, n: int, own: np.ndarray) -> np.ndarray:
    steps = np.sort(g.uniform(size=3000))
    return steps[np.minimum((_beta(g, n, own) * 3000).astype(int), 2999)]


def _atom(share: float, at: float, spread: Shape) -> Shape:
    def shape(g: np.random.Generator, n: int, own: np.ndarray) -> np.ndarray:
        return np.where(g.uniform(size=n) < share, at, spread(g, n, own))

    return shape


def _cosine(g: np.random.Generator, n: int, own: np.ndarray) -> np.ndarray:
    return np.clip(g.normal(0.8, 0.02, n) + 0.02 * own, -1, 1) * np.where(g.uniform(size=n) < 0.02, g.normal(size=n), 1)


def _cluster(centre: float, width: float, tail: float, decades: float = 0.0, shift: float = 1.0) -> Shape:
    """Return a normal cluster whose classes are `shift` widths apart, and a tail over [0, 1] or many decades."""

    def shape(g: np.random.Generator, n: int, own: np.ndarray) -> np.ndarray:
        narrow = centre + width * (g.normal(size=n) + shift * own)
        sign = np.where(g.uniform(size=n) < 0.5, -1.0, 1.0)
        wide = sign * 10.0 ** g.uniform(-decades / 2, decades / 2, n) if decades else g.uniform(size=n)
        return np.where(g.uniform(size=n) < tail, wide, narrow)

    return shape


def _mixture(*shapes: Shape) -> Shape:
    def shape(g: np.random.Generator, n: int, own: np.ndarray) -> np.ndarray:
        return np.choose(g.integers(len(shapes), size=n), [part(g, n, own) for part in shapes])

    return shape


ORDINARY: dict[str, Shape] = {
    "uniform": lambda g, n, own: np.where(own, np.sqrt(g.uniform(size=n)), g.uniform(size=n)),
    "beta": _beta,
    "logit": lambda g, n, own: 1 / (1 + np.exp(-(3 * g.normal(size=n) + 2 * own - 1))),
    "rare": _beta,
    "saturated": lambda g, n, own: (1 / (1 + np.exp(-(8 * g.normal(size=n) + 8 * own)))).astype(np.float32) * 1.0,
    "clicks": lambda g, n, own: np.where(own, g.beta(2, 60, n), g.beta(1, 80, n)),
    "gauss": lambda g, n, own: g.normal(size=n) + own,
    "cauchy": lambda g, n, own: g.standard_cauchy(n) + own,
    "lognormal": lambda g, n, own: np.exp(g.normal(size=n) + own),
    "margins": lambda g, n, own: np.where(
        g.uniform(size=n) < 0.2, np.where(own, 1, -1) + 1e-3 * g.normal(size=n), 1.5 * g.normal(size=n) + own
    ),
    "tanh": lambda g, n, own: np.tanh(2 * g.normal(size=n) + own),
    "around one": lambda g, n, own: 1 + 0.01 * (g.normal(size=n) + own),
    "thousand": lambda g, n, own: 1000 + g.normal(size=n) + own,
    "isotonic": _isotonic,
}
WITH_ATOM: dict[str, Shape] = {
    "60% atom": _atom(0.6, 0.37, _beta),
    "50% atom and tail": _atom(0.5, 0.0123, lambda g, n, own: np.exp(g.normal(size=n) + own)),
}
FEW: dict[str, Shape] = {"three decimals": lambda g, n, own: np.round(_beta(g, n, own), 3)}
HARD: dict[str, Shape] = {
    "cosine": _cosine,
    "cosine float32": lambda g, n, own: _cosine(g, n, own).astype(np.float32) * 1.0,
    "cluster 1e-3, 2% tail": _cluster(0.5, 1e-3, 0.02),
    "two clusters": _mixture(_cluster(0.2, 1e-6, 0.05), _cluster(0.7, 1e-6, 0.05)),
    "cluster and 600 decades": _cluster(0.5, 1e-3, 0.1, 600),
    "cluster 1e-5, 20% tail": _cluster(0.5, 1e-5, 0.2),
    "cluster 1e-9": _cluster(0.3, 1e-9, 0.1),
    "cluster, 1% own": _cluster(0.5, 1e-4, 0.05, 300),
    "atom in a cluster": _atom(0.3, 0.5005, _cluster(0.5, 1e-3, 0.02)),
    "three scales": _mixture(_cluster(0.5, 1e-2, 0), _cluster(0.5, 1e-5, 0), _cluster(0.5, 1e-8, 0.1)),
}
SHARES = {"rare": 1e-3, "clicks": 0.03, "cluster, 1% own": 0.01}  # of own; 1/3 for all others


def draw(name: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores of a named shape, and which of them are own."""
    g = np.random.default_rng([seed, *name.encode()])
    own = g.uniform(size=n) < SHARES.get(name, 1 / 3)
    own[:2] = True, False
    return np.asarray({**ORDINARY, **WITH_ATOM, **FEW, **HARD}[name](g, n, own), np.float64), own


def exact_auc(scores: Any, own: np.ndarray, weights: Any = None) -> float:
    """Return the area under the ROC curve, from pairs counted as integers (in units of 2^-64 with weights)."""
    mine, rest = np.sort(scores[own]), np.sort(scores[~own])
    below, upto = (np.searchsorted(rest, mine, side) for side in ("left", "right"))
    if weights is None:
        return (int(below.sum()) + int(upto.sum())) / (2 * len(mine) * len(rest))
    units = np.array([round(w * 2.0**64) for w in np.asarray(weights, np.float64).tolist()], object)
    before = np.append(0, np.cumsum(units[~own][np.argsort(scores[~own], kind="stable")]))
    units = units[own][np.argsort(scores[own], kind="stable")]
    return int(units.dot(before[below] + before[upto])) / (2 * int(before[-1]) * int(units.sum()))


def random_hard(g: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a random mixture of clusters of log-uniform width, tails, atoms and rounding."""
    own = g.uniform(size=n) < g.choice([0.5, 0.3, 0.05])
    own[:2] = True, False
    parts = []
    for _ in range(g.integers(1, 6)):
        decades = float(g.choice([0, 0, 20, 300]))
        width, tail, shift = 10.0 ** g.uniform(-10, -1), g.uniform(0, 0.3), g.normal()
        parts.append(_cluster(g.uniform(-1, 2), width, tail, decades, shift))
    scores = _mixture(*parts)(g, n, own)
    if g.uniform() < 0.3:
        scores = np.where(g.uniform(size=n) < g.uniform(0, 0.5) * (1 + own) / 2, g.choice(scores), scores)
    if g.uniform() < 0.3:
        scores = np.clip(scores, -1e38, 1e38).astype(np.float32).astype(np.float64)
    return scores, own
