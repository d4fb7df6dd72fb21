"""Do intervals for one look hold the truth as often as they say?

Streams are drawn from known populations, so the truth is known: the share of runs in which the default interval of 95 %
holds it should be 93.5 to 97 %. Prints Markdown; --write puts it into README.md. Intervals for many looks:
`coverage_anytime.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from probability_streams import LOSSES, STREAMS, drawn, multiclass
from probability_streams import truths as probability_truths
from readme import flags, markdown, write_section

import stream_metrics as sm
from stream_metrics.inference.intervals.methods import METHODS
from stream_metrics.snapshots.groups import GroupSnapshot

MARKS = "<!-- measured coverage -->", "<!-- end of measured coverage -->"
LEVEL, LOW, HIGH = 0.95, 0.935, 0.97
SIZES = (200, 2000, 20000)
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
CALIBRATION = "debiased_calibration_error"
MEANS = (
    "roc_auc_ovr", "roc_auc_ovr_weighted", "roc_auc_ovo", "roc_auc_micro",
    "average_precision_ovr", "average_precision_micro", "pr_auc_trapezoid_ovr",
)  # fmt: skip
AREAS = ("roc_auc", "average_precision", "ks_statistic")


def main() -> int:
    """Measure, print, and write if asked to."""
    parser = flags(__doc__)
    parser.add_argument("--runs", type=int, default=2000, help="runs at one look (default: 2000)")
    given = parser.parse_args()
    one = [*fixed_counts(given.runs), *fixed_scores(given.runs)]
    more = groups(max(given.runs // 10, 1)), of_probabilities(max(given.runs // 2, 1))
    text = "\n\n".join([one_look(one, given.runs), *more])
    print(text)
    if given.write:
        write_section(MARKS, text)
    return 0


Line = tuple[str, str, list[list[float]]]  # metric, methods, coverage by shape and size


def fixed_counts(runs: int) -> Iterator[Line]:
    """Yield the coverage of metrics of the matrix."""
    names = [*WHOLE, *(f"{key}, {which} class" for key in PER_CLASS for which in ("first", "last"))]
    covered = {name: [[0.0] * 3 for _ in SHAPES] for name in names}
    methods: dict[str, set[str]] = {name: set() for name in names}
    rng = np.random.default_rng(SEED)
    for at, matrix in enumerate(SHAPES.values()):
        truth = truths(sm.ConfusionMatrix.from_matrix(np.round(matrix * 2**40).astype(np.int64)).snapshot())
        for size, n in enumerate(SIZES):
            for _ in range(runs):
                counts = rng.multinomial(n, matrix.ravel() / matrix.sum()).reshape(matrix.shape)
                snapshot = sm.ConfusionMatrix.from_matrix(counts).snapshot()
                for name, interval in intervals(snapshot):
                    good = not interval.low > truth[name] and not interval.high < truth[name]
                    covered[name][at][size] += good / runs
                    methods[name].add(interval.method)
    for name in names:
        yield name, ", ".join(sorted(methods[name])), covered[name]


def truths(snapshot: Any) -> dict[str, float]:
    """Return the value of each metric of a population."""
    values_by_name = {key: snapshot[key] for key in WHOLE}
    for key in PER_CLASS:
        values = list(snapshot.per_class[key].values())
        values_by_name[f"{key}, first class"], values_by_name[f"{key}, last class"] = values[0], values[-1]
    return values_by_name


def intervals(snapshot: Any) -> Iterator[tuple[str, Any]]:
    """Yield the default intervals of a snapshot."""
    for key in WHOLE:
        yield key, snapshot.interval(key, LEVEL)
    for key in PER_CLASS:
        per_class = list(snapshot.interval(key, LEVEL).values())
        yield f"{key}, first class", per_class[0]
        yield f"{key}, last class", per_class[-1]


def fixed_scores(runs: int) -> Iterator[Line]:
    """Yield the coverage of areas and of the distance of two distributions."""
    covered = {key: [[0.0] * 3 for _ in SCORES] for key in AREAS}
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
                    interval = snapshot.interval(key, LEVEL, label=True)
                    covered[key][at][size] += (interval.low <= truth[key] <= interval.high) / times
    for key in AREAS:
        yield key, METHODS[key], covered[key]


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


def one_look(lines: list[Line], runs: int) -> str:
    """Return the table of coverage at one look, and what lies outside the band."""
    shapes = list(zip(SHAPES, SCORES, strict=True))
    heads = [f"{a if a == b else f'{a} (scores: {b})'}" for a, b in shapes]
    rows = [("metric", "default method", *heads)]
    outside = []
    for name, methods, covered in lines:
        rows.append((name, methods, *(" / ".join(f"{100 * value:.1f}" for value in line) for line in covered)))
        for line, (count, score) in zip(covered, shapes, strict=True):
            shape = score if name in AREAS else count
            outside += [
                f"{name}, {shape}, n = {n}: {100 * value:.1f} %"
                for n, value in zip(SIZES, line, strict=True)
                if not LOW <= value <= HIGH
            ]
    sizes = " / ".join(f"{n:,}" for n in SIZES)
    said = f"Coverage in per cent at n = {sizes}, nominal 95 %; {runs} runs, of scores at the largest n a quarter."
    return f"{said}\n\n{markdown(rows)}\n\nOutside 93.5 to 97 %: {'; '.join(outside) or 'none'}."


def groups(runs: int) -> str:
    """Return the table of coverage for the worst of equal groups and for the largest gap between groups."""
    heads = "groups", "worst, its own interval", "worst, together", "largest gap", "largest gap, one group at .8"
    rows = [heads]
    rng = np.random.default_rng(SEED + 2)
    for many in (2, 5, 20, 50):
        covered = [0.0] * 4
        for _ in range(runs):
            equal, apart = grouped([0.9] * many, rng), grouped([0.8, *[0.9] * (many - 1)], rng)
            worst, one = next(iter(equal.intervals("accuracy", LEVEL).items()))
            alone: Any = equal[worst].interval("accuracy", LEVEL)
            gaps = equal.gap_interval("accuracy", LEVEL), apart.gap_interval("accuracy", LEVEL)
            holds = (alone, 0.9), (one, 0.9), (gaps[0], 0.0), (gaps[1], 0.1)
            for at, (bounds, truth) in enumerate(holds):
                covered[at] += (bounds.low - 1e-12 <= truth <= bounds.high + 1e-12) / runs
        rows.append((str(many), *(f"{100 * value:.1f}" for value in covered)))
    said = f"Accuracy of groups of 400 samples, of .9 unless said otherwise: coverage in per cent; {runs} runs."
    return f"{said}\n\n{markdown(rows)}"


def grouped(rates: Sequence[float], rng: np.random.Generator) -> GroupSnapshot:
    """Return groups of 400 samples whose predictions are right at these rates."""
    cells = [rng.multinomial(400, [p / 2, (1 - p) / 2, (1 - p) / 2, p / 2]).reshape(2, 2) for p in rates]
    views: Any = {at: sm.ConfusionMatrix.from_matrix(counts).snapshot() for at, counts in enumerate(cells)}
    return GroupSnapshot(views, None, None)


def of_probabilities(runs: int) -> str:
    """Return the tables of losses, calibration, and areas of several classes."""
    rng, sizes = np.random.default_rng(SEED + 2), (30, 100, 1000, 10_000)
    rows = [("stream", *LOSSES, CALIBRATION)]
    for name, stream in STREAMS.items():
        truth = probability_truths(stream)
        covered = {key: [0.0] * len(sizes) for key in rows[0][1:]}
        noted = {key: [0] * len(sizes) for key in covered}
        for size, n in enumerate(sizes):
            for _ in range(runs):
                metrics = sm.MetricSet([*LOSSES, CALIBRATION])
                metrics.update_many(*drawn(stream, n, rng))
                snapshot = metrics.snapshot()
                for key in covered:
                    one = snapshot.interval(key, LEVEL, label=True if key == CALIBRATION else None)
                    covered[key][size] += (one.low <= truth[key] + 1e-9 and one.high >= truth[key] - 1e-9) / runs
                    noted[key][size] += bool(one.note)
        marks = {key: ["*" if some > runs / 2 else "" for some in noted[key]] for key in covered}
        cells = {
            key: [f"{100 * x:.1f}{mark}" for x, mark in zip(covered[key], marks[key], strict=True)] for key in covered
        }
        rows.append((name, *map(" / ".join, cells.values())))
    said = (
        "Streams of probabilities (`probability_streams.py`): coverage in per cent at n = 30 / 100 / 1,000 / 10,000, "
        f"{runs} runs; * most intervals have a note."
    )
    return f"{said}\n\n{markdown(rows)}\n\n{of_means(max(runs // 10, 1), rng)}"


def of_means(runs: int, rng: np.random.Generator) -> str:
    """Return the table of areas of several classes: coverage, and standard errors over those of the runs."""
    rows = [("classes, samples", *MEANS)]
    for k, n in ((3, 600), (5, 1000), (20, 2000)):
        values = {key: np.empty((runs, 4)) for key in MEANS}
        exact = _areas_of(k, 100_000 if k < 20 else 40_000, rng)
        for at in range(runs):
            snapshot = _areas_of(k, n, rng)
            for key in MEANS:
                one = snapshot.interval(key, LEVEL)
                values[key][at] = one.low, one.high, one.value, one.se
        cells = []
        for key in MEANS:
            low, high, value, se = values[key].T
            covered = np.mean((low <= exact[key]) & (exact[key] <= high))
            cells.append(f"{100 * covered:.0f} ({se.mean() / value.std():.1f})")
        rows.append((f"{k}, {n:,}", *cells))
    said = f"The same, {runs} runs, and in brackets how much larger the standard errors are than need be."
    return f"{said}\n\n{markdown(rows)}"


def _areas_of(k: int, n: int, rng: np.random.Generator) -> Any:
    truth, scores = multiclass(k, n, rng)
    metrics = sm.MetricSet(list(MEANS))
    metrics.update_many(truth, scores=scores, classes=range(k))
    return metrics.snapshot()


if __name__ == "__main__":
    raise SystemExit(main())
