"""How fast is a batch of integer labels beside NumPy's count and scikit-learn's matrix?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import streams
from sklearn.metrics import confusion_matrix
from timing import Line, best

import stream_metrics as sm

N, K = 10_000_000, 10
ROUNDS = 15
Array = np.ndarray[Any, Any]


def counted(t: Any, p: Any, w: Any = None) -> sm.ConfusionMatrix:
    """Count a batch in a new state."""
    state = sm.ConfusionMatrix()
    state.update_many(t, p, w)
    return state


def bincount(t: Array, p: Array, w: Array | None = None) -> Array:
    """Count as one does with NumPy alone."""
    return np.bincount(t * K + p, weights=w, minlength=K * K)


def read(t: Array, p: Array) -> None:
    """Read both columns once, which is what memory allows."""
    t.max()
    p.max()


def lines() -> Iterator[Line]:
    """Yield what is measured."""
    for stream, agreement in (("uniform", 0.0), ("90 % right", 0.9)):
        t, p = streams.columns(N, K, agreement)
        assert np.array_equal(counted(t, p).matrix, bincount(t, p).reshape(K, K))
        contenders: dict[str, Callable[[], Any]] = {
            "ours": partial(counted, t, p),
            "bincount": partial(bincount, t, p),
            "reading": partial(read, t, p),
        }
        ns = {name: time / N for name, time in best(contenders, ROUNDS).items()}
        peer = best({"sklearn": partial(confusion_matrix, t, p)}, 2)["sklearn"] / N
        yield Line(
            f"`np.bincount(t * K + p)` / `update_many`, 10^7 int64, {stream}", ns["bincount"] / ns["ours"], target=4,
            at_least=True, figures=f"{ns['bincount']:.2f} / {ns['ours']:.2f} ns a sample",
        )  # fmt: skip
        yield Line(
            f"scikit-learn `confusion_matrix` / `update_many`, {stream}", peer / ns["ours"], target=40,
            at_least=True, figures=f"{peer:.0f} / {ns['ours']:.2f} ns a sample",
        )  # fmt: skip
        yield Line(
            f"`update_many` / two passes of `max`, {stream}", ns["ours"] / ns["reading"],
            figures=f"{ns['ours']:.2f} / {ns['reading']:.2f} ns a sample",
        )  # fmt: skip
    yield from weighted(t, p)


def weighted(t: Array, p: Array) -> Iterator[Line]:
    """Yield what weights cost."""
    draw = np.random.default_rng(2)
    kinds = (("int64", draw.integers(1, 10, N), 8), ("float64", draw.random(N), 14))
    for kind, w, target in kinds:
        contenders: dict[str, Callable[[], Any]] = {
            "ours": partial(counted, t, p, w),
            "bincount": partial(bincount, t, p, w),
        }
        ns = {name: time / N for name, time in best(contenders, 4).items()}
        yield Line(
            f"`np.bincount(t * K + p, weights=w)` / `update_many`, {kind} weights", ns["bincount"] / ns["ours"],
            figures=f"{ns['bincount']:.1f} / {ns['ours']:.1f} ns a sample",
        )  # fmt: skip
        yield Line(f"`update_many`, {kind} weights", ns["ours"], "ns a sample", target=target)
