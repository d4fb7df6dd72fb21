"""What does it cost to count two models at once, and are the differences as sure as they say?"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import streams
from timing import Line, best, clock, empty_loop, empty_weighted_loop, per_sample, update_loop

import stream_metrics as sm
from stream_metrics.inference.comparison.tests import log_e_discordant
from stream_metrics.inference.intervals.anytime import asymptotic_multiplier

KEYS = ("accuracy", "macro_f1", "matthews_corrcoef", "balanced_accuracy")
SHAPES = {"3 classes": (0.57, 0.29, 0.14), "7 % positives": (0.93, 0.07), "10 classes": (0.1,) * 10}
RUNS, LOOKS = 400, np.arange(200, 20_001, 200)
BAR = math.log(20)


def both_loop(target: Any, samples: Any) -> int:
    """Time `target.update` over a truth and two predictions."""
    start = clock()
    for y_true, pred_a, pred_b in samples:
        target.update(y_true, pred_a, pred_b)
    return clock() - start


def lines() -> Iterator[Line]:
    """Yield what is measured."""
    yield from costs()
    yield from coverage()
    yield from watching()


def costs() -> Iterator[Line]:
    """Yield what an update and a reading cost, with ten classes named by text."""
    names, draw = streams.names(10), random.Random(2)
    pairs = streams.pairs(names, 2000)
    triples = [(t, p, p if draw.random() < 0.8 else draw.choice(names)) for t, p in pairs]
    comparison = sm.Comparison()
    times = per_sample(
        {
            "matrix": (update_loop, sm.ConfusionMatrix(), lambda: pairs),
            "nothing": (empty_loop, None, lambda: pairs),
            "comparison": (both_loop, comparison, lambda: triples),
            "nothing of three": (empty_weighted_loop, None, lambda: triples),
        },
        100,
    )
    matrix, both = times["matrix"] - times["nothing"], times["comparison"] - times["nothing of three"]
    yield Line(
        "`Comparison.update` / `ConfusionMatrix.update`",
        both / matrix,
        target=2.5,
        figures=f"{both:.1f} / {matrix:.1f} ns",
    )
    snapshot = comparison.snapshot()
    reading = best({key: lambda key=key: snapshot.difference(key) for key in KEYS}, 20)
    for key, ns in reading.items():
        yield Line(f"difference of `{key}` with its interval, ten classes", ns / 1000, "us")


def judged(shares: tuple[float, ...], n: int, draw: Any) -> tuple[Any, Any, Any]:
    """Return truths and predictions of two dependent models, b right more often than a."""
    k = len(shares)
    truth = draw.choice(k, n, p=shares)
    a = np.where(draw.random(n) < 0.7, truth, draw.integers(0, k, n))
    b = np.where(draw.random(n) < 0.6, a, np.where(draw.random(n) < 0.8, truth, draw.integers(0, k, n)))
    return truth, a, b


def difference_of(shares: tuple[float, ...], n: int, draw: Any) -> Any:
    """Return the snapshot of a comparison of n samples."""
    comparison = sm.Comparison()
    comparison.update_many(*judged(shares, n, draw))
    return comparison.snapshot()


def coverage() -> Iterator[Line]:
    """Yield how often the interval of a difference at 95 % holds that of a stream of four million samples."""
    draw = np.random.default_rng(3)
    for shape, shares in SHAPES.items():
        whole = difference_of(shares, 4_000_000, draw)
        true = {key: whole.difference(key).value for key in KEYS}
        for n in (200, 2000, 20_000):
            covered = dict.fromkeys(KEYS, 0)
            for _ in range(RUNS):
                snapshot = difference_of(shares, n, draw)
                for key in KEYS:
                    difference = snapshot.difference(key)
                    covered[key] += difference.low <= true[key] <= difference.high
            figures = ", ".join(f"{key} {100 * times / RUNS:.1f} %" for key, times in covered.items())
            least = 100 * min(covered.values()) / RUNS
            yield Line(f"least coverage at n = {n}, {shape}", least, "%", figures=f"{figures}; {RUNS} runs")


def watching() -> Iterator[Line]:
    """Yield how often 100 looks to 20,000 samples err with equal models, and how soon a better one is found."""
    draw, looks = np.random.default_rng(4), LOOKS.tolist()
    reach = [asymptotic_multiplier(n, 1000.0) for n in looks]
    peeked, outside, rejected = 0, 0, 0
    for _ in range(RUNS):
        scores, evidence = zip(
            *(look(b, c, n) for b, c, n in zip(*counts(draw, 0.085, 0.085), looks, strict=True)), strict=True
        )
        peeked += max(scores) > 1.959964
        outside += any(score > m for score, m in zip(scores, reach, strict=True))
        rejected += max(evidence) >= BAR
    yield Line("95 % interval of the accuracy difference, ever wrong in 100 looks", 100 * peeked / RUNS, "%")
    yield Line("the same, valid at any time", 100 * outside / RUNS, "%", target=5)
    yield Line("e-value of discordant samples ever at 20", 100 * rejected / RUNS, "%", target=5)
    for better in (0.02, 0.06):
        stops = []
        for _ in range(RUNS):
            decisions = [
                log_e_discordant(b, c) >= BAR
                for b, c in zip(*counts(draw, 0.085 - better / 2, 0.085 + better / 2), strict=True)
            ]
            stops.append(looks[decisions.index(True)] if any(decisions) else math.inf)
        power = 100 * np.mean(np.isfinite(stops))
        figures = f"found in {power:.1f} % of runs to 20,000"
        yield Line(
            f"median samples until a model that is {100 * better:.0f} points better is found",
            float(np.median(stops)) / 1000,
            "thousand",
            figures=figures,
        )


def look(b: int, c: int, n: int) -> tuple[float, float]:
    """Return how many standard errors the accuracy difference is from 0, and the logarithm of the e-value."""
    se = math.sqrt(((b + c) / n - ((c - b) / n) ** 2) / n)
    return abs(c - b) / n / se if se else 0.0, log_e_discordant(b, c)


def counts(draw: Any, only_a: float, only_b: float) -> tuple[list[int], list[int]]:
    """Return at each look how many samples only a, and only b, got right."""
    u = draw.random(LOOKS[-1])
    first, second = np.cumsum(u < only_a), np.cumsum((u >= only_a) & (u < only_a + only_b))
    return first[LOOKS - 1].tolist(), second[LOOKS - 1].tolist()
