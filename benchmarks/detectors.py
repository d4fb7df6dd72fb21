"""What does a change detector cost a sample, how often does it cry wolf, and how long after a change does it speak?

    python benchmarks/detectors.py [--write]

prints a table of run lengths and delays, ours beside river's ADWIN and Page-Hinkley (`--write` puts it into README.md).
`run.py detectors` has the lines with targets alone.

Errors are 0 or 1. "Run length" is the mean number of samples to the first alarm where nothing changes, "delay" that
from a change to the next alarm, over the runs whose alarm did not come before it; "at least" stands where a run ended
first.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np
from river import datasets, drift, naive_bayes, tree
from river.datasets import synth
from timing import Line, clock, machine, per_sample

import stream_metrics as sm

RUNS, LONGEST, CHANGE = 200, 12_000, 500
MARKS = "<!-- measured detectors -->", "<!-- end of measured detectors -->"
Detector = Callable[[], Any]


class River:
    """A detector of river with our names."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.alarm = inner, False

    def update(self, x: float) -> None:
        """Watch one error."""
        self.inner.update(x)
        self.alarm = self.inner.drift_detected


def loop(target: Any, samples: Any) -> int:
    """Time `target.update` over losses."""
    start = clock()
    for x in samples:
        target.update(x)
    return clock() - start


def nothing(_target: Any, samples: Any) -> int:
    """Time the loop alone."""
    start = clock()
    for _ in samples:
        pass
    return clock() - start


def lines() -> Iterator[Line]:
    """Yield what an update costs."""
    draw = random.Random(1)
    samples = [float(draw.random() < 0.1) for _ in range(2000)]
    ours = {"e-SR": sm.ChangeDetector(0.1), "both directions": sm.ChangeDetector(0.1, direction="both")}
    peers = {"ADWIN": drift.ADWIN(), "Page-Hinkley": drift.PageHinkley()}
    runs: dict[str, Any] = {name: (loop, target, lambda: samples) for name, target in {**ours, **peers}.items()}
    times = per_sample({**runs, "": (nothing, None, lambda: samples)}, 40)
    ns = {name: time - times[""] for name, time in times.items()}
    for name in ours:
        figures = f"{len(sm.ChangeDetector(0.1).bets)} bets a direction"
        yield Line(f"`ChangeDetector.update`, {name}", ns[name], "ns", target=200, figures=figures)
    for name in peers:
        yield Line(
            f"river `{name}.update` / ours", ns[name] / ns["e-SR"], figures=f"{ns[name]:.0f} / {ns['e-SR']:.0f} ns"
        )


def first_alarm(detector: Any, errors: Any, start: int = 0) -> int | None:
    """Return the number of the first sample after `start` that raises an alarm, None if an earlier one or none does."""
    for number, x in enumerate(errors.tolist() if hasattr(errors, "tolist") else errors, 1):
        detector.update(x)
        if detector.alarm:
            return number
    return None


def mean_of(lengths: list[int | None], longest: int) -> str:
    """Return the mean, "at least" it if some runs ended first, and the share of these."""
    never = sum(x is None for x in lengths) / len(lengths)
    mean = np.mean([longest if x is None else x for x in lengths])
    return f"{mean:.0f}" if never == 0 else f"at least {mean:.0f} ({100 * never:.0f} % never)"


def row(make: Detector, p0: float, runs: int, longest: int, reference: int = 0) -> list[str]:
    """Return run length without change, and delays after rises to 1.25, 1.5, 2 and 3 times p0."""
    draw = np.random.default_rng(1)
    cells = [mean_of([first_alarm(make(), draw.random(longest) < p0) for _ in range(runs)], longest)]
    change = reference + CHANGE
    for rise in (1.25, 1.5, 2.0, 3.0):
        delays = []
        for _ in range(runs):
            rate = np.where(np.arange(change + longest) < change, p0, p0 * rise)
            at = first_alarm(make(), draw.random(change + longest) < rate)
            if at is None or at > change:
                delays.append(None if at is None else at - change)
        cells.append(mean_of(delays, longest))
    return cells


def odds(p0: float, rates: tuple[float, ...]) -> list[float]:
    """Return rates as multiples of the odds of p0."""
    return [p / (1 - p) * (1 - p0) / p0 for p in rates]


def bounded() -> sm.ChangeDetector:
    """Return a detector that freezes the level that its reference allows."""
    return sm.ChangeDetector(reference=1000, learn="bound")


def run_lengths() -> Iterator[list[str]]:
    """Yield the rows of detectors on errors at a constant rate, then at a higher one."""
    for p0, rates in ((0.1, (0.12, 0.15, 0.2, 0.3)), (0.02, (0.03, 0.05, 0.1))):
        for method in ("sr", "cusum"):
            make = partial(sm.ChangeDetector, p0, arl=1000, method=method, bets=odds(p0, rates))
            yield [f"e-{method.upper()}, arl=1000, level given", f"{p0}", *row(make, p0, RUNS, LONGEST)]
    longest, runs = 40_000, 100
    cases: dict[str, tuple[Detector, int]] = {
        "e-SR, arl=10000, level given": (lambda: sm.ChangeDetector(0.1), 0),
        "e-SR, arl=10000, reference=1000": (lambda: sm.ChangeDetector(reference=1000), 1000),
        "e-SR, arl=10000, reference=1000, learn=bound": (bounded, 1000),
        "e-CUSUM calibrated, arl=10000, level given": (lambda: sm.ChangeDetector(0.1, method="calibrated"), 0),
        "e-CUSUM, arl=10000, level given": (lambda: sm.ChangeDetector(0.1, method="cusum"), 0),
        "river ADWIN": (lambda: River(drift.ADWIN()), 1000),
        "river Page-Hinkley": (lambda: River(drift.PageHinkley()), 1000),
    }
    for name, (make, reference) in cases.items():
        few = runs if name.startswith("e-") else 30
        yield [name, "0.1", *row(make, 0.1, few, longest if few == runs else 20_000, reference)]


def in_runs(rate: float, correlation: float, n: int, draw: np.random.Generator) -> Any:
    """Return errors with a rate, each with probability `correlation` the same as the one before."""
    fresh = draw.random(n) >= correlation
    fresh[0] = True
    return (draw.random(n) < rate)[np.maximum.accumulate(np.where(fresh, np.arange(n), 0))].astype(float)


def dependent(runs: int = 50, arl: int = 2000) -> Iterator[list[str]]:
    """Yield mean run length / arl for errors that depend on the one before, by correlation."""
    for options in ({"p0": 0.1}, {"reference": 1000}):
        for block in (1, 20, 50):
            cells = []
            for correlation in (0.0, 0.2, 0.5, 0.8):
                draw, lengths = np.random.default_rng(1), []
                for _ in range(runs):
                    detector = sm.ChangeDetector(**options, arl=arl, block=block)  # type: ignore[arg-type]
                    longest = 6 * arl + (detector.reference or 0)
                    at = first_alarm(detector, in_runs(0.1, correlation, longest, draw)) or longest
                    lengths.append(at - (detector.reference or 0))
                cells.append(f"{np.mean(lengths) / arl:.2f}")
            name = ", ".join(f"{key}={value}" for key, value in options.items())
            yield [f"e-SR, {name}, block={block}", *cells]


def learned(samples: Any, model: Any) -> list[bool]:
    """Return the errors of a model that predicts each sample before it learns it."""
    errors = []
    for x, y in samples:
        errors.append(model.predict_one(x) != y)
        model.learn_one(x, y)
    return errors


def streams(seed: int) -> Iterator[tuple[str, list[bool], int]]:
    """Yield streams of errors of learning models on river's data, with the sample at which the data change."""
    n = 5000
    sea = chain(*(synth.SEA(variant=variant, noise=0.1, seed=seed).take(n) for variant in (0, 3)))
    yield "SEA, function 0 to 3, naive Bayes", learned(sea, naive_bayes.GaussianNB()), n
    agrawal = chain(*(synth.Agrawal(classification_function=function, seed=seed).take(n) for function in (0, 2)))
    yield "Agrawal, function 0 to 2, Hoeffding tree", learned(agrawal, tree.HoeffdingTreeClassifier()), n
    rows = list(datasets.Bananas())
    random.Random(seed).shuffle(rows)
    half = len(rows) // 2
    swapped = [(x, not y) for x, y in rows[half:]]
    yield (
        "Bananas (real), classes swapped, Hoeffding tree",
        learned(rows[:half] + swapped, tree.HoeffdingTreeClassifier()),
        half,
    )
    if datasets.Elec2().is_downloaded:
        yield (
            "Elec2 (real), Hoeffding tree",
            learned(islice(datasets.Elec2(), 20_000), tree.HoeffdingTreeClassifier()),
            20_000,
        )


def drifts(runs: int = 10) -> Iterator[list[str]]:
    """Yield the rows of detectors on river's drifts: alarms before the change, runs that speak, how soon."""
    makes: dict[str, Detector] = {
        "e-SR, reference=1000": lambda: sm.ChangeDetector(reference=1000),
        "e-SR, reference=1000, learn=bound": bounded,
        "e-CUSUM, reference=1000": lambda: sm.ChangeDetector(reference=1000, method="cusum"),
        "river ADWIN": lambda: River(drift.ADWIN()),
        "river Page-Hinkley": lambda: River(drift.PageHinkley()),
    }
    outcomes_of: dict[tuple[str, str], list[tuple[int, int | None]]] = {}
    for seed in range(runs):
        for stream, errors, change in streams(seed):
            for name, make in makes.items():
                detector, before, delay = make(), 0, None
                for number, x in enumerate(errors):
                    detector.update(x)
                    if detector.alarm and number < change:
                        before += 1
                    elif detector.alarm and delay is None:
                        delay = number - change + 1
                outcomes_of.setdefault((stream, name), []).append((before, delay))
    for (stream, name), outcomes in outcomes_of.items():
        delays = [delay for _, delay in outcomes if delay is not None]
        alarms = np.mean([before for before, _ in outcomes])
        soon = f"{np.median(delays):.0f}" if delays else "-"
        yield [stream, name, f"{alarms:.1f}", f"{len(delays)} of {len(outcomes)}", soon]


def table(head: tuple[str, ...], rows: Iterator[list[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ("---",) * len(head), *rows))


def main() -> None:
    """Print both tables."""
    rises = [f"delay, rise to {x} p0" for x in ("1.25", "1.5", "2", "3")]
    parts = [
        machine(),
        table(("detector", "p0", "run length", *rises), run_lengths()),
        table(("mean run length / arl, correlation of errors", "0", ".2", ".5", ".8"), dependent()),
        table(("errors of", "detector", "alarms before the change", "runs that speak", "median delay"), drifts()),
    ]
    report = "\n\n".join(parts)
    print(report)
    if "--write" in sys.argv:
        from run import write

        write(report, MARKS)


if __name__ == "__main__":
    main()
