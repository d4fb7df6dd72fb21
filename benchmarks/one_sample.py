"""What does it cost to count one sample, with ten classes named by text?"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import noop
import streams
from river import metrics
from timing import Line, net_updates

import stream_metrics as sm

ROUNDS = 100
TO_EMPTY = "`ConfusionMatrix.update` / empty compiled method"
TEN = (
    "Accuracy", "BalancedAccuracy", "CohenKappa", "GeometricMean", "MacroF1",
    "MacroPrecision", "MacroRecall", "MicroF1", "WeightedF1", "MacroJaccard",
)  # fmt: skip


def river_ten() -> metrics.base.Metrics:
    """Return river's way to keep ten metrics of several classes."""
    return metrics.base.Metrics([getattr(metrics, name)() for name in TEN])


def lines() -> Iterator[Line]:
    """Yield what is measured."""
    samples = streams.pairs(streams.names(10), 2000)
    contenders = {
        "matrix": sm.ConfusionMatrix(),
        "set": sm.MetricSet(),
        "river matrix": metrics.ConfusionMatrix(),
        "river ten": river_ten(),
    }
    try:
        contenders["empty method"] = noop.build()
    except noop.NoCompiler as problem:
        yield Line(TO_EMPTY, float("nan"), target=3, figures=str(problem))
    ns = net_updates(contenders, lambda: samples, ROUNDS)
    if "empty method" in ns:
        yield Line(
            TO_EMPTY, ns["matrix"] / ns["empty method"], target=3,
            figures=f"{ns['matrix']:.1f} / {ns['empty method']:.1f} ns",
        )  # fmt: skip
    yield Line(
        "river `ConfusionMatrix.update` / ours", ns["river matrix"] / ns["matrix"], target=5, at_least=True,
        figures=f"{ns['river matrix']:.0f} / {ns['matrix']:.1f} ns",
    )  # fmt: skip
    yield Line(
        "`MetricSet().update` / `ConfusionMatrix.update`", ns["set"] / ns["matrix"], target=1.2,
        figures=f"{ns['set']:.1f} / {ns['matrix']:.1f} ns",
    )  # fmt: skip
    yield Line(
        "river `Metrics` of ten / `MetricSet().update` of all", ns["river ten"] / ns["set"], target=40, at_least=True,
        figures=f"{ns['river ten']:.0f} / {ns['set']:.1f} ns",
    )  # fmt: skip
    yield from other_labels(samples)


LIMITS = {"fresh text objects, as decoded from JSON": 60, "int weights": 55}  # nanoseconds


def other_labels(samples: streams.Pairs) -> Iterator[Line]:
    """Yield what other labels and weights cost."""
    numbers = streams.pairs(list(range(10)), len(samples))
    cases: dict[str, Callable[[], streams.Pairs | streams.Triples]] = {
        "fresh text objects, as decoded from JSON": streams.fresh(samples),
        "int labels": lambda: numbers,
        "int weights": lambda: [(t, p, 3) for t, p in samples],
        "weights with a fraction": lambda: [(t, p, 0.3) for t, p in samples],
    }
    for case, make in cases.items():
        ns = net_updates({"ours": sm.ConfusionMatrix(), "river": metrics.ConfusionMatrix()}, make, ROUNDS)
        figures = f"{ns['river']:.0f} / {ns['ours']:.1f} ns"
        yield Line(f"river `ConfusionMatrix.update` / ours, {case}", ns["river"] / ns["ours"], figures=figures)
        if case in LIMITS:
            yield Line(f"`ConfusionMatrix.update`, {case}", ns["ours"], "ns", target=LIMITS[case])
