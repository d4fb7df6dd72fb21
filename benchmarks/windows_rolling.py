"""What do the last N samples cost, beside counting all of them, and beside river's windows?"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import streams
from river import metrics, utils
from timing import Line, net_updates

import stream_metrics as sm
from stream_metrics.containers.rolling import Rolling

WINDOW = 1000
TEN = ("Accuracy", "BalancedAccuracy", "CohenKappa", "GeometricMean", "MacroF1", "MacroPrecision", "MacroRecall",
       "MicroF1", "WeightedF1", "MacroJaccard")  # fmt: skip
LABELS = ("Accuracy", "MacroF1", "MCC", "CohenKappa")
SCORES = ("ROCAUC", "CrossEntropy", "BrierScore", "HandTillAUC", "AveragePrecision")


class TenOfRiver:
    """River's ten metrics as one metric, which its `Rolling` builds from the class."""

    def __new__(cls) -> Any:
        """Return them."""
        return metrics.base.Metrics([getattr(metrics, name)() for name in TEN])


def lines() -> Iterator[Line]:
    """Yield what is measured."""
    yield from labels()
    yield from scores()


def filled(target: Any, samples: list[tuple[Any, Any]]) -> Any:
    """Return a metric that has seen the samples."""
    for y_true, y_pred in samples:
        target.update(y_true, y_pred)
    return target


def labels() -> Iterator[Line]:
    """Yield what label metrics cost."""
    stream = streams.pairs(streams.names(10), 4 * WINDOW)
    ours = {f"Rolling {name}": Rolling(getattr(sm, name)(), WINDOW) for name in LABELS}
    ours |= {f"plain {name}": getattr(sm, name)() for name in LABELS}
    ours |= {"Rolling set": Rolling(sm.MetricSet(), WINDOW), "plain set": sm.MetricSet()}
    ours |= {"river": utils.Rolling(metrics.Accuracy, WINDOW), "ten of river": utils.Rolling(TenOfRiver, WINDOW)}
    ns = net_updates({name: filled(one, stream) for name, one in ours.items()}, lambda: stream, 40)
    for name in (*LABELS, "set"):
        rolling, plain = ns[f"Rolling {name}"], ns[f"plain {name}"]
        what = f"`Rolling({'MetricSet' if name == 'set' else name}(), {WINDOW}).update` / plain"
        yield Line(what, rolling / plain, target=4, figures=f"{rolling:.0f} / {plain:.0f} ns")
    one, ten, all_ = ns["Rolling Accuracy"], ns["ten of river"], ns["Rolling set"]
    what, figures = f"river `Rolling(Accuracy, {WINDOW})` / ours", f"{ns['river']:.0f} / {one:.0f} ns"
    yield Line(what, ns["river"] / one, target=4, at_least=True, figures=figures)
    what = f"river `Rolling` of ten, {WINDOW} / ours of every metric"
    yield Line(what, ten / all_, target=20, at_least=True, figures=f"{ten:.0f} / {all_:.0f} ns")


def scores() -> Iterator[Line]:
    """Yield what other metrics of scores cost, for information."""
    draw = random.Random(2)
    stream = [(draw.random() < 0.3, {True: p, False: 1 - p}) for p in (draw.random() for _ in range(2 * WINDOW))]
    ours = {f"Rolling {name}": Rolling(getattr(sm, name)(), WINDOW) for name in SCORES}
    ours |= {f"plain {name}": getattr(sm, name)() for name in SCORES}
    ours |= {"Rolling set": Rolling(sm.MetricSet(scores=True), WINDOW), "plain set": sm.MetricSet(scores=True)}
    ns = net_updates({name: filled(one, stream) for name, one in ours.items()}, lambda: stream, 5)
    for name in (*SCORES, "set"):
        rolling, plain = ns[f"Rolling {name}"], ns[f"plain {name}"]
        what = f"`Rolling({'MetricSet(scores=True)' if name == 'set' else f'{name}()'}, {WINDOW}).update` / plain"
        yield Line(what, rolling / plain, figures=f"{rolling:.0f} / {plain:.0f} ns")
