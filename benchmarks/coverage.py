"""Do intervals hold the truth as often as they say, at one look and while one watches?

Streams are drawn from known populations, so the truth is known. *One look*: the share of runs in which the default
interval of 95 % holds it, which should be 93.5 to 97 %. *Watching*: the share of runs in which the interval misses it
at any of 10,000 looks, one after every sample, which should be at most 5 %; beside it the same for the interval of one
look, looked at again and again from the 50th sample on. Prints Markdown; --write puts it into README.md.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import stream_metrics as sm
from stream_metrics.inference.choice import DEFAULTS
from stream_metrics.inference.counted import BURN_IN, on_logit_scale
from stream_metrics.inference.forms import MARGINS
from stream_metrics.inference.gradients import ANALYTIC, spread
from stream_metrics.inference.proportions import wilson
from stream_metrics.inference.sequences import asymptotic_multiplier
from stream_metrics.inference.special import log_beta
from stream_metrics.inference.tables import Tables, make_cells, tables_of

README = Path(__file__).with_name("README.md")
MARKS = "<!-- measured coverage -->", "<!-- end of measured coverage -->"
LEVEL, LOW, HIGH, MOST = 0.95, 0.935, 0.97, 0.05
Z = 1.959963984540054
SIZES = (200, 2000, 20000)
LOOKS = 10_000
AREA_LOOKS = 100  # at areas, each of which costs as much as it has scores
FIRST = 50  # samples before the first of the naive looks
SEED = 71


def population(shares: Sequence[float], recalls: Sequence[float]) -> Any:
    """Return the cell probabilities; errors go to the other classes in proportion to their shares."""
    p, r = np.array(shares), np.array(recalls)
    matrix = p[:, None] * (1 - r)[:, None] * p / (1 - p)[:, None]
    np.fill_diagonal(matrix, p * r)
    return matrix


SHAPES = {
    "3 even classes": population([1 / 3] * 3, [0.85, 0.8, 0.75]),
    "57/29/14 %": population([0.57, 0.29, 0.14], [0.9, 0.8, 0.7]),
    "7 % positive": population([0.93, 0.07], [0.95, 0.7]),
}
WHOLE = (
    "accuracy", "balanced_accuracy", "geometric_mean", "cohen_kappa", "matthews_corrcoef",
    "macro_precision", "macro_f1", "weighted_precision", "weighted_f1", "general_f1_geometric",
    "weighted_kappa_linear", "generalized_mcc", "cramers_v", "f1_ovo",
)  # fmt: skip
PER_CLASS = ("recall", "precision", "f1", "specificity", "fowlkes_mallows", "p4", "ova_matthews_corrcoef")


class Score(NamedTuple):
    """Scores: normal, those of own raised, rounded where there are steps."""

    share: float
    raised: float
    steps: float | None


SCORES = {
    "even": Score(0.5, 1.5, None),
    "7 % positive": Score(0.07, 1.5, None),
    "20 % positive, ties": Score(0.2, 2.5, 2.0),
}
AREAS = ("roc_auc", "average_precision", "ks_statistic")


def main() -> int:
    """Measure, print, and write if asked to; the exit status is 1 if a watched interval misses too often."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the tables into README.md as well")
    parser.add_argument("--runs", type=int, default=2000, help="runs at one look (default: 2000)")
    given = parser.parse_args()
    one = [*fixed_counts(given.runs), *fixed_scores(given.runs)]
    watched = [*watched_shares(max(given.runs // 2, 1)), *watched_counts(max(given.runs // 3, 1))]
    watched += watched_areas(max(given.runs // 10, 1))
    text = "\n\n".join([one_look(one, given.runs), watching(watched)])
    print(text)
    if given.write:
        head, _, rest = README.read_text(encoding="utf-8").partition(MARKS[0])
        _, _, tail = rest.partition(MARKS[1])
        README.write_text(f"{head}{MARKS[0]}\n{text}\n{MARKS[1]}{tail}", encoding="utf-8")
    return 1 if any(ours > MOST for *_, ours, _ in watched) else 0


Line = tuple[str, str, list[list[float]]]  # metric, methods, coverage by shape and size


def fixed_counts(runs: int) -> Iterator[Line]:
    """Yield the coverage of metrics of the matrix."""
    names = [*WHOLE, *(f"{key}, {which} class" for key in PER_CLASS for which in ("first", "last"))]
    held = {name: [[0.0] * 3 for _ in SHAPES] for name in names}
    methods: dict[str, set[str]] = {name: set() for name in names}
    rng = np.random.default_rng(SEED)
    for at, matrix in enumerate(SHAPES.values()):
        truth = truths(sm.ConfusionMatrix.from_matrix(np.round(matrix * 2**40).astype(np.int64)).snapshot())
        for size, n in enumerate(SIZES):
            for _ in range(runs):
                counts = rng.multinomial(n, matrix.ravel() / matrix.sum()).reshape(matrix.shape)
                snapshot = sm.ConfusionMatrix.from_matrix(counts).snapshot()
                for name, found in intervals(snapshot):
                    good = not found.low > truth[name] and not found.high < truth[name]
                    held[name][at][size] += good / runs
                    methods[name].add(found.method)
    for name in names:
        yield name, ", ".join(sorted(methods[name])), held[name]


def truths(snapshot: Any) -> dict[str, float]:
    """Return the value of each metric of a population."""
    found = {key: snapshot[key] for key in WHOLE}
    for key in PER_CLASS:
        values = list(snapshot.per_class[key].values())
        found[f"{key}, first class"], found[f"{key}, last class"] = values[0], values[-1]
    return found


def intervals(snapshot: Any) -> Iterator[tuple[str, Any]]:
    """Yield the default intervals of a snapshot."""
    for key in WHOLE:
        yield key, snapshot.interval(key, LEVEL)
    for key in PER_CLASS:
        found = list(snapshot.interval(key, LEVEL).values())
        yield f"{key}, first class", found[0]
        yield f"{key}, last class", found[-1]


def fixed_scores(runs: int) -> Iterator[Line]:
    """Yield the coverage of areas and of the distance of two distributions."""
    held = {key: [[0.0] * 3 for _ in SCORES] for key in AREAS}
    rng = np.random.default_rng(SEED + 1)
    for at, kind in enumerate(SCORES.values()):
        truth = areas(kind)
        for size, n in enumerate(SIZES):
            times = max(runs // 4, 1) if n == SIZES[-1] else runs
            for _ in range(times):
                sketch = sm.RankSketch()
                sketch.update_many(*scored(kind, n, rng))
                snapshot = sketch.snapshot()
                for key in AREAS:
                    found = snapshot.interval(key, LEVEL, label=True)
                    held[key][at][size] += (found.low <= truth[key] <= found.high) / times
    for key in AREAS:
        yield key, DEFAULTS[key], held[key]


def scored(kind: Score, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return truths and scores; both classes occur."""
    own = rng.random(n) < kind.share
    own[:2] = True, False
    scores = rng.normal(size=n) + kind.raised * own
    return own, scores if kind.steps is None else np.round(scores * kind.steps) / kind.steps


def areas(kind: Score) -> dict[str, float]:
    """Return the values of the population, from exact probabilities of narrow steps, or of those that scores have."""
    width = 1 / kind.steps if kind.steps else 1e-4
    edges = np.arange(-9.0, kind.raised + 9.0, width) - width / 2
    rest, own = (np.diff([0.5 * math.erfc((m - e) / math.sqrt(2)) for e in edges]) for m in (0.0, kind.raised))
    below = np.cumsum(rest) - rest
    tp, fp = np.cumsum(own[::-1])[::-1] * kind.share, np.cumsum(rest[::-1])[::-1] * (1 - kind.share)
    return {
        "roc_auc": float(own @ (below + rest / 2)),
        "average_precision": float(own @ (tp / np.maximum(tp + fp, 1e-300))),
        "ks_statistic": float(np.max(np.abs(tp / kind.share - fp / (1 - kind.share)))),
    }


Watched = tuple[str, str, int, float, float]  # metric, stream, runs, ever missed by ours, by the naive one


def watched_shares(runs: int) -> Iterator[Watched]:
    """Yield how often proportions are ever missed, over looks after every sample."""
    rng, n = np.random.default_rng(SEED + 2), np.arange(1, LOOKS + 1)
    logs = np.array([0.0, *(math.lgamma(k + 0.5) for k in range(LOOKS + 1))])[1:]
    whole = np.array([math.lgamma(k + 1) for k in n])
    for p in (0.5, 0.1, 0.01):
        ours = naive = 0
        for _ in range(runs):
            x = (rng.random(LOOKS) < p).cumsum()
            evidence = logs[x] + logs[n - x] - whole - log_beta(0.5, 0.5) - x * math.log(p) - (n - x) * math.log1p(-p)
            low, high = wilson(x, n, LEVEL)
            ours += bool((evidence >= -math.log(1 - LEVEL)).any())
            naive += bool(((low > p) | (high < p))[FIRST - 1 :].any())
        yield "proportion", f"p = {p:g}", runs, ours / runs, naive / runs


def watched_counts(runs: int) -> Iterator[Watched]:
    """Yield how often metrics of the matrix are ever missed, over looks after every sample."""
    keys = ("cohen_kappa", "matthews_corrcoef", "macro_f1", "weighted_f1", "balanced_accuracy")
    rng, times = np.random.default_rng(SEED + 3), range(1, LOOKS + 1)
    reach = np.array([asymptotic_multiplier(t, 1000.0, 1 - LEVEL) for t in times])
    for name, matrix in SHAPES.items():
        size = len(matrix)
        where = make_cells(*np.divmod(np.arange(size**2), size), matrix.ravel(), size)
        missed = {key: [0, 0] for key in keys}
        for _ in range(runs):
            drawn = rng.choice(size**2, LOOKS, p=matrix.ravel() / matrix.sum())
            tables = tables_of((drawn[:, None] == np.arange(size**2)).cumsum(0).astype(float), where)
            for key in keys:
                for at, ever in enumerate(ever_missed(key, tables, where, reach)):
                    missed[key][at] += ever
        for key, (ours, naive) in missed.items():
            yield key, name, runs, ours / runs, naive / runs


def ever_missed(key: str, tables: Tables, where: Any, reach: Any) -> Iterator[bool]:
    """Yield whether the sequence, and the interval of one look, miss the truth at any look."""
    ends = (-1.0, 1.0) if key in ("cohen_kappa", "matthews_corrcoef") else (0.0, 1.0)
    truth = float(MARGINS[key](tables_of(where.values, where), 0.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        values, errors = MARGINS[key](tables, 0.0), spread(tables, ANALYTIC[key](tables, 0.0))
        least = np.minimum(tables.true.min(-1), np.minimum(tables.hits, tables.n - tables.hits))
        for factors in (np.where(least >= BURN_IN, reach, np.inf), np.where(np.arange(LOOKS) >= FIRST - 1, Z, np.inf)):
            low, high = on_logit_scale(values, np.nan_to_num(errors), ends, factors)
            yield bool(((low > truth) | (high < truth)).any())


def watched_areas(runs: int) -> Iterator[Watched]:
    """Yield how often areas are ever missed, over 100 looks spread evenly on a logarithmic scale."""
    rng, looks = np.random.default_rng(SEED + 4), np.unique(np.geomspace(FIRST, LOOKS, AREA_LOOKS).astype(int))
    for name, kind in SCORES.items():
        truth, missed = areas(kind), {key: [0, 0] for key in ("roc_auc", "average_precision")}
        for _ in range(runs):
            own, scores = scored(kind, LOOKS, rng)
            for key, ever in missed_areas(own, scores, looks, truth).items():
                missed[key] = [a + b for a, b in zip(missed[key], ever, strict=True)]
        for key, (ours, naive) in missed.items():
            yield key, f"{name}, {len(looks)} looks", runs, ours / runs, naive / runs


def missed_areas(own: Any, scores: Any, looks: Any, truth: dict[str, float]) -> dict[str, list[bool]]:
    """Return for each area whether the sequence, and the interval of one look, miss it at any look."""
    sketch, done = sm.RankSketch(), 0
    ever = {key: [False, False] for key in ("roc_auc", "average_precision")}
    for look in looks.tolist():
        sketch.update_many(own[done:look], scores[done:look])
        done, snapshot = look, sketch.snapshot()
        for key, flags in ever.items():
            found = snapshot.interval(key, LEVEL, label=True, valid="anytime")
            once = on_logit_scale(found.value, found.se, (0.0, 1.0), Z)
            flags[0] |= not found.low <= truth[key] <= found.high
            flags[1] |= not once[0] <= truth[key] <= once[1]
    return ever


def one_look(lines: list[Line], runs: int) -> str:
    """Return the table of coverage at one look, and what lies outside the band."""
    shapes = list(zip(SHAPES, SCORES, strict=True))
    heads = [f"{a if a == b else f'{a} (scores: {b})'}" for a, b in shapes]
    rows = [("metric", "default method", *heads), ("---",) * 5]
    outside = []
    for name, methods, held in lines:
        rows.append((name, methods, *(" / ".join(f"{100 * value:.1f}" for value in line) for line in held)))
        for line, (count, score) in zip(held, shapes, strict=True):
            shape = score if name in AREAS else count
            outside += [
                f"{name}, {shape}, n = {n}: {100 * value:.1f} %"
                for n, value in zip(SIZES, line, strict=True)
                if not LOW <= value <= HIGH
            ]
    sizes = " / ".join(f"{n:,}" for n in SIZES)
    said = f"Coverage in per cent at n = {sizes}, nominal 95 %; {runs} runs, of scores at the largest n a quarter."
    return f"{said}\n\n{markdown(rows)}\n\nOutside 93.5 to 97 %: {'; '.join(outside) or 'none'}."


def watching(lines: list[Watched]) -> str:
    """Return the table of what is ever missed."""
    rows: list[tuple[str, ...]] = [("metric", "stream", "runs", 'valid="anytime"', "one look, repeated"), ("---",) * 5]
    rows += [(key, name, str(runs), f"{100 * a:.1f}", f"{100 * b:.1f}") for key, name, runs, a, b in lines]
    return f"Runs in which the truth is ever missed, per cent, over {LOOKS:,} looks.\n\n{markdown(rows)}"


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a Markdown table."""
    join: Callable[[Sequence[str]], str] = " | ".join
    return "\n".join(f"| {join(row)} |" for row in rows)


if __name__ == "__main__":
    raise SystemExit(main())
