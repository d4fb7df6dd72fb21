"""Where does the default interval for one look miss more often than it says, without a note?

A grid of populations: classes from even to 1:1000, from 30 samples on, and six profiles of a classifier: ordinary, an
easy rare class, near-perfect, chance, all errors into one class, and a rare class that is hardly ever predicted. One
row a design: the share of runs in which the interval of each metric holds the truth, and the share in which it misses
it without a note. --quick takes minutes, --thorough hours; without either, about half an hour. Prints Markdown;
--write puts it into README.md. The exit status is 1 if a metric misses in silence in more than 10 % of the runs of a
design.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from readme import flags, write_section

import stream_metrics as sm
from stream_metrics.inference.intervals.gradients import PAIR_LIMIT

MARKS = "<!-- measured grid -->", "<!-- end of measured grid -->"
SEED, MOST, GOAL = 93, 0.10, 0.07
PROFILES = ("ordinary", "easy rare class", "near-perfect", "chance", "errors into one class", "rarely predicted")
WHOLE = {
    "accuracy": "accuracy", "balanced_accuracy": "balanced acc.", "geometric_mean": "geometric mean",
    "macro_precision": "macro P", "macro_f1": "macro F1", "macro_jaccard": "macro J",
    "general_f1_harmonic": "harmonic F1", "weighted_precision": "weighted P", "weighted_f1": "weighted F1",
    "cohen_kappa": "kappa", "weighted_kappa_quadratic": "weighted kappa", "matthews_corrcoef": "MCC",
    "generalized_mcc": "generalized MCC",
    "cramers_v": "V", "f1_ovo": "F1 of pairs", "pair_fowlkes_mallows": "pair index",
}  # fmt: skip
PER_CLASS = {"recall": "recall", "precision": "precision", "f1": "F1", "p4": "P4", "ova_matthews_corrcoef": "MCC"}
SLOW = ("weighted_kappa_quadratic", "generalized_mcc", "f1_ovo")  # beyond ten classes


class Extent(NamedTuple):
    """How much of the grid is measured, and the runs of a design of two classes."""

    classes: tuple[int, ...]
    ratios: tuple[int, ...]
    sizes: tuple[int, ...]
    runs: int


QUICK = Extent((2, 5), (1, 100), (30, 1000), 200)
USUAL = Extent((2, 5, 20), (1, 10, 100, 1000), (30, 100, 1000, 10_000), 400)
THOROUGH = Extent((2, 5, 20, 100), (1, 10, 100, 1000), (30, 100, 1000, 10_000), 2000)


class Design(NamedTuple):
    """A population and how many samples are drawn of it."""

    profile: str
    classes: int
    ratio: int
    n: int

    @property
    def matrix(self) -> Any:
        """The cell probabilities."""
        k, rarity = self.classes, np.arange(self.classes) / (self.classes - 1)
        shares = float(self.ratio) ** -rarity
        shares /= shares.sum()
        if self.profile == "chance":
            return np.outer(shares, shares)
        if self.profile == "near-perfect":
            return spread(shares, np.full(k, 0.999), shares)
        if self.profile == "easy rare class":
            return spread(shares, (0.9 if k == 2 else 0.85) + (0.07 if k == 2 else 0.12) * rarity, shares)
        if self.profile == "errors into one class":
            return spread(shares, 0.9 - 0.2 * rarity, np.eye(k)[-1] + 1e-12)
        if self.profile == "rarely predicted":
            others = shares.copy()
            others[-1] *= 1e-3
            return spread(shares, np.append(np.full(k - 1, 0.9 if k > 2 else 0.9999), 0.3), others)
        return spread(shares, 0.9 - 0.2 * rarity, shares)


def spread(shares: Any, recalls: Any, into: Any) -> Any:
    """Return the cell probabilities; errors go to the other classes in proportion to `into`."""
    weights = np.tile(into, (len(shares), 1))
    np.fill_diagonal(weights, 0.0)
    matrix = (shares * (1 - recalls))[:, None] * weights / weights.sum(1, keepdims=True)
    np.fill_diagonal(matrix, shares * recalls)
    return matrix


class Coverage(NamedTuple):
    """Of one metric: the runs with an interval, those that hold the truth, those that miss it without a note, noted."""

    given: int = 0
    covered: int = 0
    silent: int = 0
    noted: int = 0

    def with_interval(self, interval: Any, truth: float) -> Coverage:
        """Return the tally with one interval more, which does not count if there is none."""
        if math.isnan(interval.low):
            return self
        covered, noted = bool(interval.low <= truth <= interval.high), bool(interval.note)
        silent = not (covered or noted)
        return Coverage(self.given + 1, self.covered + covered, self.silent + silent, self.noted + noted)


def measured(design: Design, runs: int, seed: int) -> dict[str, Coverage]:
    """Return the tallies of a design by the name of the metric."""
    matrix = design.matrix
    population = sm.ConfusionMatrix.from_matrix(np.round(matrix * 2**45).astype(np.int64)).snapshot()
    whole = [key for key in WHOLE if design.classes <= 10 or key not in SLOW]
    tallies: dict[str, Coverage] = {}
    rng, last = np.random.default_rng(seed), design.classes - 1
    for counts in rng.multinomial(design.n, matrix.ravel() / matrix.sum(), runs):
        snapshot = sm.ConfusionMatrix.from_matrix(counts.reshape(matrix.shape)).snapshot()
        for key in whole:
            interval = snapshot.interval(key)
            tallies[WHOLE[key]] = tallies.get(WHOLE[key], Coverage()).with_interval(interval, population[key])
        for key, title in PER_CLASS.items():
            each, truth = snapshot.interval(key), population.per_class[key]
            for label, name in ((0, "frequent"), (last, "rare")):
                title_ = f"{title} of a {name} class"
                tallies[title_] = tallies.get(title_, Coverage()).with_interval(each[label], truth[label])
    return tallies


def grid(extent: Extent) -> Iterator[tuple[Design, int]]:
    """Yield the designs and their runs; fewer runs where there are many classes."""
    for k, profile, ratio, n in itertools.product(extent.classes, PROFILES, extent.ratios, extent.sizes):
        yield Design(profile, k, ratio, n), max(20, extent.runs // (1 if k <= 5 else k // 4))


def row(design: Design, tallies: dict[str, Coverage], runs: int) -> tuple[str, ...]:
    """Return the row of a design: the lowest coverage, and what misses in silence more often than it should."""
    shares = {name: one.covered / one.given for name, one in tallies.items() if one.given >= runs / 10}
    lowest = min(shares, key=lambda name: shares[name])
    silent = sorted(((one.silent / runs, name) for name, one in tallies.items()), reverse=True)
    loud = [f"{name} {100 * share:.0f}" for share, name in silent if share > GOAL]
    noted = sum(one.noted for one in tallies.values()) / sum(one.given for one in tallies.values())
    return (
        str(design.classes), design.profile, f"1:{design.ratio}", f"{design.n:,}", str(runs),
        f"{100 * shares[lowest]:.0f} ({lowest})", f"{100 * noted:.0f}", f"{100 * silent[0][0]:.1f}",
        ", ".join(loud) or "-",
    )  # fmt: skip


def main() -> int:
    """Measure, print, and write if asked to."""
    parser = flags(__doc__, quick="a part of the grid, in minutes", thorough="100 classes too, more runs, in hours")
    given = parser.parse_args()
    extent = THOROUGH if given.thorough else QUICK if given.quick else USUAL
    assert max(extent.classes) <= PAIR_LIMIT
    heads = ("classes", "profile", "ratio", "n", "runs", "lowest coverage, %", "noted, %", "silent misses, at most, %",
             f"above {100 * GOAL:.0f} %")  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", f"| {' | '.join(['---'] * len(heads))} |"]
    print("\n".join(lines), flush=True)
    worst = 0.0
    for at, (design, runs) in enumerate(grid(extent)):
        tallies = measured(design, runs, SEED + at)
        worst = max(worst, max(one.silent / runs for one in tallies.values()))
        lines.append(f"| {' | '.join(row(design, tallies, runs))} |")
        print(lines[-1], flush=True)
    if given.write:
        write_section(MARKS, "\n".join(lines))
    return int(worst > MOST)


if __name__ == "__main__":
    raise SystemExit(main())
