"""What do intervals cost: one by the delta method, and one that is drawn?"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import streams
from timing import Line, best

import stream_metrics as sm


def lines() -> Iterator[Line]:
    """Yield what is measured."""
    metrics = sm.MetricSet()
    for y_true, y_pred in streams.pairs(streams.names(10), 10_000):
        metrics.update(y_true, y_pred)
    snapshot = metrics.snapshot()
    times = best(
        {
            "MCC": partial(snapshot.interval, "matthews_corrcoef"),
            "kappa": partial(snapshot.interval, "cohen_kappa"),
            "macro F1": partial(snapshot.interval, "macro_f1"),
            "accuracy": partial(snapshot.interval, "accuracy"),
            "recalls": partial(snapshot.interval, "recall"),
            "anytime": partial(snapshot.interval, "matthews_corrcoef", valid="anytime"),
        },
        200,
        20,
    )
    us = {name: time / 1e3 for name, time in times.items()}
    rest = ", ".join(f"{name} {value:.3g}" for name, value in us.items() if name != "MCC")
    yield Line('`interval("matthews_corrcoef")`, delta method, 10 classes', us["MCC"], "us", 50.0, figures=rest)
    fresh = best({"": lambda: metrics.snapshot().interval("matthews_corrcoef")}, 200)[""] / 1e3
    yield Line('`snapshot().interval("matthews_corrcoef")`, counts not read before', fresh, "us")
    drawn = best({"": lambda: metrics.snapshot().interval("macro_fbeta", beta=2.0)}, 3)[""] / 1e6
    yield Line('`interval("macro_fbeta", beta=2)`, 1,000 draws, 10 classes', drawn, "ms")
    told = best({"": lambda: metrics.snapshot().with_intervals().report(100)}, 20)[""] / 1e6
    plain = best({"": lambda: metrics.snapshot().report(100)}, 20)[""] / 1e6
    yield Line("report with intervals / without", told / plain, figures=f"{told:.3g} / {plain:.3g} ms")


if __name__ == "__main__":
    from timing import table

    print(table(("intervals", line) for line in lines()))
