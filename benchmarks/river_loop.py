"""An online loop with drift: what does a window of the last samples see that a cumulative metric does not?

    python benchmarks/river_loop.py [FILE.png]

A tree of river learns a stream whose concept is reversed in the middle. One set of metrics counts everything, one the
last 500 samples, one fades with a half-life of 500; they go through the loop together, as river metrics, and are read
every 50 samples. River's ADWIN looks at the errors and says when it notices the drift. The figure shows accuracy and
the ROC area over time (`river_loop.png` unless a file is named); a table of the same goes to standard output.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from matplotlib.figure import Figure
from river import drift, metrics, tree
from river.datasets import synth

import stream_metrics as sm
from stream_metrics.containers.fading import Fading
from stream_metrics.containers.rolling import Rolling
from stream_metrics.integrations.river import as_river

SAMPLES, DRIFT, SIZE, EVERY = 10_000, 5_000, 500, 50
KEYS = {"accuracy": "accuracy", "roc_auc": "ROC area"}
NAMES = ("all samples", f"the last {SIZE} samples", f"half-life of {SIZE} samples")
COLOURS = ("#7f7f7f", "#1f77b4", "#d95f02")


class Reading(NamedTuple):
    """The values after some samples: a row for each accumulator, a column for each key."""

    n: int
    values: list[list[float]]


def stream() -> Any:
    """Return samples of one concept, then of the opposite one; the change takes about 50 samples."""
    before, after = (synth.Sine(classification_function=number, seed=number + 1) for number in (0, 1))
    return synth.ConceptDriftStream(before, after, position=DRIFT, width=50, seed=3).take(SAMPLES)


def accumulators() -> metrics.base.Metrics:
    """Return everything, a window and a fading state as metrics of river, to be updated together."""
    metric_set = sm.MetricSet(list(KEYS), scores=True)
    everything, window, fading = (
        as_river(state) for state in (metric_set, Rolling(metric_set, SIZE), Fading(metric_set, SIZE))
    )
    return everything + window + fading


def loop(noticed: list[int]) -> Iterator[Reading]:
    """Test, then train, sample by sample; yield what is read on the way and note where ADWIN sees a drift."""
    model, metric, detector = tree.HoeffdingAdaptiveTreeClassifier(seed=1), accumulators(), drift.ADWIN()
    for n, (x, y) in enumerate(stream(), 1):
        probabilities = model.predict_proba_one(x)
        if probabilities:
            metric.update(y, probabilities)
            detector.update(int(max(probabilities, key=probabilities.get) != y))
            if detector.drift_detected:
                noticed.append(n)
        model.learn_one(x, y)
        if n % EVERY == 0:
            snapshots = [part.snapshot() for part in metric]
            yield Reading(n, [[snapshot[key] for key in KEYS] for snapshot in snapshots])


def figure(readings: list[Reading], noticed: list[int]) -> Figure:
    """Draw a panel for each key, a line for each accumulator."""
    drawn = Figure(figsize=(9, 6), layout="constrained")
    panels = drawn.subplots(len(KEYS), 1, sharex=True)
    times = [reading.n for reading in readings]
    for column, (panel, title) in enumerate(zip(panels, KEYS.values(), strict=True)):
        for row, (name, colour) in enumerate(zip(NAMES, COLOURS, strict=True)):
            panel.plot(times, [reading.values[row][column] for reading in readings], color=colour, label=name)
        panel.axvline(DRIFT, color="black", linestyle=":", label="the concept is reversed")
        for at in noticed:
            panel.axvline(at, color="#2ca02c", linewidth=0.8, label="ADWIN notices" if at == noticed[0] else None)
        panel.set_ylabel(title)
        panel.set_ylim(0.5, 1.02)
        panel.grid(alpha=0.3)
    panels[-1].set_xlabel("samples")
    panels[0].legend(loc="lower left", fontsize="small", ncols=2)
    return drawn


def main(path: str = "river_loop.png") -> None:
    """Run the loop, print a table, write the figure."""
    noticed: list[int] = []
    readings = list(loop(noticed))
    print(f"{'samples':>8}" + "".join(f"{name:>28}" for name in NAMES) + f"   ({', '.join(KEYS.values())})")
    for reading in readings:
        if reading.n % 1000 == 0 or (DRIFT < reading.n <= DRIFT + 500 and reading.n % 100 == 0):
            rows = ("  ".join(f"{value:.3f}" for value in row) for row in reading.values)
            print(f"{reading.n:>8}" + "".join(f"{row:>28}" for row in rows))
    print(f"the concept is reversed at {DRIFT}; ADWIN notices at {', '.join(map(str, noticed)) or 'no time'}")
    figure(readings, noticed).savefig(path, dpi=120)
    print(f"written: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
