"""Does the certified interval always hold the exact AUC, and is the reported standard error honest?

Ten thousand random streams go through random sketches: an easy or a hard shape, then ties, an atom, zeros or the ends
of the range of doubles, weights, 16 to 1024 buckets, samples of 64 to 512, and one to five shards merged in any order.
The area of the raw scores is counted in integers, so an interval that misses it by the last bit is a violation. Weights
count as the sketch states: rounded to multiples of 2^-64.

Then the default sketch meets the shapes of `tests/support/rank_shapes.py` with a million scores each. A trial is one
shape with one seed; the median over trials is the one that has a target, and the medians of the largest error and of
the median error of each shape stand beside it. Where the sketch is exact, and says so, there is nothing to announce:
those trials do not count among errors within three standard errors.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from timing import Line, clock

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from support.rank_shapes import FEW, HARD, ORDINARY, WITH_ATOM, draw, exact_auc, random_hard

from stream_metrics.ranking.areas import roc_auc
from stream_metrics.states.ranks import RankSketch

Array = np.ndarray[Any, Any]
TRIALS = 10_000
EASY = [*ORDINARY, *WITH_ATOM, *FEW]
SEEDS = 5  # of each named shape
N = 1_000_000


class Trial(NamedTuple):
    """How one estimate compares with the exact area."""

    error: float
    se: float
    holds: bool


class Stream(NamedTuple):
    """Scores, which of them are own, and their weights, if they have any."""

    scores: Array
    own: Array
    weights: Array | None


def lines() -> Iterator[Line]:
    """Yield what is measured."""
    yield from intervals()
    yield from accuracy()
    yield from endless()


def intervals() -> Iterator[Line]:
    """Yield how often random sketches are wrong about themselves."""
    trials = [random_trial(np.random.default_rng([9, k]), hard=k % 2 == 1) for k in range(TRIALS)]
    violations = sum(not trial.holds for trial in trials)
    figures = f"{len(coarse(trials))} of the sketches were not exact"
    yield Line(f"intervals without the exact AUC, {TRIALS} random trials", violations, "", target=0, figures=figures)
    for name, kind, target in (("hard", trials[1::2], 99), ("easy", trials[::2], None)):
        what = f"errors within 3 `se`, random {name} shapes, random sketches"
        yield Line(what, within(kind), "%", target=target, at_least=True, figures=summary(kind))


def random_trial(g: np.random.Generator, hard: bool) -> Trial:
    """Return how a random sketch of a random stream does."""
    stream = random_stream(g, hard)
    buckets, sample = (int(2 ** g.uniform(*ends)) for ends in ((4, 10), (6, 9)))
    dealt = g.integers(0, g.integers(1, 6), len(stream.own))
    shards = []
    for shard in g.permutation(dealt.max() + 1):
        sketch, rows = RankSketch(buckets, sample), dealt == shard
        weights = None if stream.weights is None else stream.weights[rows]
        sketch.update_many(stream.own[rows], stream.scores[rows], weights)
        shards.append(sketch)
    while len(shards) > 1:
        shards.append(shards.pop(int(g.integers(len(shards)))).merge(shards.pop()))
    return judged(shards[0], stream)


def random_stream(g: np.random.Generator, hard: bool) -> Stream:
    """Return 10 to 16 000 scores with or without ties, an atom, zeros, the ends of the range, weights."""
    n = int(10 ** g.uniform(1, 4.2))
    scores, own = random_hard(g, n) if hard else draw(EASY[g.integers(len(EASY))], n, int(g.integers(2**31)))
    if g.uniform() < 0.2:
        scores = np.round(scores, int(g.integers(1, 6)))
    if g.uniform() < 0.2:
        scores = np.where(g.uniform(size=n) < g.uniform(), g.choice(scores), scores)
    if g.uniform() < 0.2:
        scores = np.where(g.uniform(size=n) < g.uniform(), 0.0, scores)
    if g.uniform() < 0.1:
        scores = np.where(g.uniform(size=n) < 0.1, g.choice([-1.7e308, 1.6e308, 1.7e308], n), scores)
    odds = g.uniform()
    if odds < 0.6:
        return Stream(scores, own, None)
    weights = g.integers(1, 100, n) if odds < 0.8 else g.exponential(size=n) + 2.0**-20
    return Stream(scores, own, weights)


def judged(sketch: RankSketch, stream: Stream) -> Trial:
    """Return how the estimate of a sketch compares with the exact area."""
    area, exact = roc_auc(sketch.column(True)), exact_auc(*stream)
    return Trial(abs(area.value - exact), area.se, area.low <= exact <= area.high)


def coarse(trials: list[Trial]) -> list[Trial]:
    """Return the trials whose answer is not exact, or not said to be."""
    return [trial for trial in trials if trial.error or trial.se]


def within(trials: list[Trial]) -> float:
    """Return the percentage of errors within three standard errors."""
    return 100 * float(np.mean([trial.error <= 3 * trial.se for trial in coarse(trials)]))


def summary(trials: list[Trial]) -> str:
    """Return how many trials count, their errors, and by how many standard errors they are off at most."""
    of = coarse(trials)
    most = max((trial.error / trial.se for trial in of if trial.se), default=0.0)
    largest = max(trial.error for trial in of)
    return f"{len(of)} trials; error: median {middle(of):.1e}, largest {largest:.1e}; at most {most:.1f} `se`"


def accuracy() -> Iterator[Line]:
    """Yield the errors of the default sketch on a million scores of the named shapes."""
    groups = {
        "ordinary shapes": (ORDINARY, 2e-6),
        "shapes with an atom": (WITH_ATOM, 3e-5),
        "three decimals, exact": (FEW, 0),
        "hard shapes": (HARD, 2.5e-2),
    }
    for group, (names, target) in groups.items():
        trials = {name: [million(name, seed) for seed in range(SEEDS)] for name in names}
        largest = {name: max(trial.error for trial in of) for name, of in trials.items()}
        worst = max(largest, key=lambda name: largest[name])
        every = [trial for of in trials.values() for trial in of]
        assert all(trial.holds for trial in every)
        what = f"largest error, {group}, 10^6 scores, {SEEDS} seeds each"
        yield Line(what, largest[worst], "", target=target, figures=f"{worst}; median {middle(every):.1e}")
        if names is HARD:
            medians = np.median([*largest.values()]), np.median([middle(of) for of in trials.values()])
            figures = "over shapes: of largest errors {:.1e}, of medians {:.1e}".format(*medians)
            yield Line("median error, hard shapes, 10^6 scores", middle(every), "", target=5e-3, figures=figures)
            what = "errors within 3 `se`, hard shapes, 10^6 scores"
            yield Line(what, within(every), "%", target=99, at_least=True, figures=summary(every))


def million(name: str, seed: int) -> Trial:
    """Return how the default sketch of a million scores does."""
    scores, own = draw(name, N, seed)
    sketch = RankSketch()
    sketch.update_many(own, scores)
    return judged(sketch, Stream(scores, own, None))


def middle(trials: list[Trial]) -> float:
    """Return the median error."""
    return float(np.median([trial.error for trial in trials]))


def endless() -> Iterator[Line]:
    """Yield what 10^8 scores, in batches of 10^5 and then of 10^6 that are never the same, leave in memory."""
    scores, own = draw("gauss", N, 0)
    sketch, sizes, start = RankSketch(), [], clock()
    for i, n in enumerate([N // 10] + [N] * 100):
        sketch.update_many(own[:n], scores[:n] * (1 + i / 1000))
        sizes.append(sketch.memory())
    seconds = (clock() - start) / 1e9
    figures = f"{sizes[0]} and {sizes[-1]} bytes, {seconds:.1f} s; at most {sketch.memory_bound()}, as stated"
    yield Line("memory after 10^8 scores / after 10^5", sizes[-1] / sizes[0], target=1, figures=figures)
    yield Line("bytes of the default binary column, 10^8 scores", len(sketch.to_bytes()), "bytes", target=2**16)
