"""Do intervals hold the truth where samples depend on each other, once they have units?

Streams are drawn from known populations: customers that differ (the errors of one customer have the correlation .5),
errors that come in runs (a Markov chain with lag-1 correlation .2, .5, .8; a unit is a block of 100 samples), and
samples with random weights. Prints Markdown: per cent of runs in which the 95 % interval holds the truth, with units
and without. --write puts it into README.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
from readme import flags, write_section

import stream_metrics as sm

MARKS = "<!-- measured units -->", "<!-- end of measured units -->"
RIGHT, CLASSES, RAISED, LARGE = 0.8, 5, 1.2, 400_000
KEYS = ("accuracy", "balanced_accuracy", "macro_f1", "matthews_corrcoef")
OF_SCORES = ("roc_auc_ovr", "average_precision_ovr", "roc_auc_micro", "log_loss", "brier_score")
Rows = dict[tuple[str, str], list[Any]]


def main() -> int:
    """Measure, print, and write if asked to."""
    parser = flags(__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="runs; of scores a quarter (default: 1000)")
    given = parser.parse_args()
    rows: Rows = defaultdict(list)
    for run in range(given.runs):
        rng = np.random.default_rng(run)
        for design, truths, y, predicted, w, unit in labels(rng):
            count(rows, design, truths, sets(run, unit, y, predicted, w))
    for number, name in enumerate(("independent", "customers")):
        population = large(number)
        truths = {key: population[key] for key in OF_SCORES}
        for run in range(given.runs // 4):
            y, p, unit = scores(np.random.default_rng(run), 2000, 10 if number else 1, number)
            design = f"5 classes, 2,000 samples with scores, {name}"
            count(rows, design, truths, sets(run, unit, y, None, None, scores=p, classes=range(CLASSES)))
    text = table(rows, given.runs)
    print(text)
    if given.write:
        write_section(MARKS, text)
    return 0


def labels(rng: np.random.Generator) -> Iterator[tuple[Any, ...]]:
    """Yield designs of labels: name, true values, truth, predictions, weights, units."""
    for units, size, positive in ((300, 10, 0.5), (60, 20, 0.5), (2000, 5, 0.05)):
        y = rng.random(units * size) < positive
        right = rng.random(len(y)) < np.repeat(rng.beta(RIGHT, 1 - RIGHT, units), size)
        name = f"{units:,} customers with {size} samples, {100 * positive:g} % positive"
        yield name, values(positive), y, y == right, None, np.repeat(np.arange(units), size)
    for rho in (0.2, 0.5, 0.8):
        y, wrong = rng.random(5000) < 0.5, runs_of_errors(rng, 5000, rho)
        blocks = np.arange(5000) // 100
        yield f"lag-1 correlation {rho}, 5,000 samples, blocks of 100", values(0.5), y, y != wrong, None, blocks
    y, right = rng.random(1000) < 0.5, rng.random(1000) < RIGHT
    yield "1,000 samples, exponential weights", values(0.5), y, y == right, rng.exponential(1, 1000), np.arange(1000)


def runs_of_errors(rng: np.random.Generator, n: int, rho: float) -> Any:
    """Return a Markov chain of errors."""
    draws, wrong, last = rng.random(n), np.empty(n, bool), rng.random() > RIGHT
    for at in range(n):
        last = wrong[at] = draws[at] < 1 - RIGHT + (rho * RIGHT if last else -rho * (1 - RIGHT))
    return wrong


def values(positive: float) -> dict[str, float]:
    """Return the values of the population, from very many samples in one matrix."""
    shares = np.array([1 - positive, positive]) * 1e9
    matrix = np.array([[RIGHT, 1 - RIGHT], [1 - RIGHT, RIGHT]]) * shares[:, None]
    snapshot = sm.ConfusionMatrix.from_matrix(np.rint(matrix).astype(np.int64)).snapshot()
    return {key: snapshot[key] for key in KEYS}


def scores(rng: np.random.Generator, n: int, size: int, spread: float) -> tuple[Any, Any, Any]:
    """Return truth, probabilities and customers, whose scores of the true class differ."""
    y, unit = rng.integers(0, CLASSES, n), np.arange(n) // size
    raised = rng.normal(0, 1, (n, CLASSES))
    raised[np.arange(n), y] += RAISED + spread * rng.normal(0, 1, unit[-1] + 1)[unit]
    p = np.exp(raised)
    return y, p / p.sum(axis=1, keepdims=True), unit


def large(spread: float) -> Any:
    """Return a snapshot that stands for the population."""
    y, p, _ = scores(np.random.default_rng(99), LARGE, 1, spread)
    state = sm.MetricSet(scores=True)
    state.update_many(y, scores=p, classes=range(CLASSES))
    return state.snapshot()


def sets(run: int, unit: Any, *columns: Any, **more: Any) -> tuple[Any, Any]:
    """Return snapshots of samples with units, other ones in every run, and of the same without."""
    snapshots = []
    for beside in ({"unit": unit + run * 10**6}, {}):
        state = sm.MetricSet(scores=bool(more))
        state.update_many(*columns, **more, **beside)
        snapshots.append(state.snapshot())
    return snapshots[0], snapshots[1]


def count(rows: Rows, design: str, truths: dict[str, float], pair: tuple[Any, Any]) -> None:
    """Note whether the intervals hold the truth, and how wide they are; nothing where there is none."""
    for key, truth in truths.items():
        figures = []
        for snapshot in pair:
            try:
                one = snapshot.interval(key)
            except ValueError:
                figures += [np.nan, np.nan]
            else:
                figures += [one.low <= truth <= one.high, one.high - one.low]
        rows[design, key].append(figures)


def table(rows: Rows, runs: int) -> str:
    """Return coverage and mean widths as Markdown."""
    lines = ["| design | metric | with units | without | width, with units | without |", "| --- " * 6 + "|"]
    for (design, key), runs_of in rows.items():
        covered, wide, naive, narrow = np.mean(runs_of, axis=0).tolist()
        none = naive != naive
        without = ("none", "none") if none else (f"{100 * naive:.1f}", f"{narrow:.4f}")
        lines.append(f"| {design} | {key} | {100 * covered:.1f} | {without[0]} | {wide:.4f} | {without[1]} |")
    return f"Coverage in per cent, nominal 95 %; {runs} runs, of scores a quarter.\n\n" + "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
