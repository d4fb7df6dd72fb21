"""How often is an interval of `valid="anytime"` ever wrong, where that is hard?

Proportions and differences of accuracy: the exact probability over 10,000 looks, by recursion over the counts. Metrics
of the matrix: streams from known populations of 2, 5 and 20 classes, equally frequent and down to 1 in 1,000, in six
profiles, with looks 3 % apart from the tenth sample on; likewise areas and differences. The claim is at most 5 %.
Prints Markdown; --write puts it into README.md. --quick takes some minutes, --thorough a few hours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import NormalDist
from typing import Any

import numpy as np
from probability_streams import LOSSES, STREAMS, drawn, truths
from readme import flags, markdown, write_section

import stream_metrics as sm
from stream_metrics.inference.comparison.methods import Joint
from stream_metrics.inference.intervals.anytime import SHARE_WEIGHTS, SHARES
from stream_metrics.snapshots.comparison import ComparisonSnapshot

MARKS = "<!-- measured anytime coverage -->", "<!-- end of measured anytime coverage -->"
LEVEL, LOOKS, FIRST, SEED = 0.95, 10_000, 10, 73
PROFILES = ("ordinary", "easy rare class", "near-perfect", "chance", "one wrong class", "rarely predicted")
KEYS = ("balanced_accuracy", "geometric_mean", "macro_precision", "macro_f1", "matthews_corrcoef", "cohen_kappa")
PAIRED_KEYS = ("accuracy", "balanced_accuracy", "macro_f1", "matthews_corrcoef")
DESIGNS = {  # classes, and how much rarer the rarest is: samples of a stream
    (2, 1): 10_000, (2, 10): 10_000, (2, 100): 50_000, (2, 1000): 100_000,
    (5, 1): 10_000, (5, 20): 20_000, (5, 1000): 50_000,
    (20, 1): 10_000, (20, 100): 20_000, (20, 1000): 20_000,
}  # fmt: skip
PAIRS = {  # share of the rarer class, recalls of both models, specificities of both, dependence: samples of a stream
    (0.5, 0.85, 0.87, 0.85, 0.87, 0.8): 10_000,
    (0.02, 0.95, 0.98, 0.9, 0.9, 0.8): 20_000,
    (0.005, 0.95, 0.98, 0.9, 0.9, 0.8): 40_000,
    (0.5, 0.994, 0.998, 0.994, 0.998, 1.0): 20_000,
    (0.05, 0.8, 0.8, 0.95, 0.95, 0.8): 20_000,
}
AREAS = {  # share of the positive class, area: samples of a stream
    (0.5, 0.856): 10_000, (0.1, 0.856): 10_000, (0.01, 0.856): 30_000, (0.01, 0.999): 60_000, (0.001, 0.999): 90_000,
}  # fmt: skip


def main() -> int:
    """Measure, print, and write if asked to; the exit status is 1 if an interval is wrong too often to be chance."""
    parser = flags(__doc__, quick="20 streams, looks 10 %% apart", thorough="400 streams, looks 1 %% apart")
    given = parser.parse_args()
    runs, step = (20, 1.1) if given.quick else (400, 1.01) if given.thorough else (100, 1.03)
    fewer = max(runs // 2, 10)
    parts = {
        "proportions, exactly": shares(),
        "differences of accuracy, exactly": bets(),
        f"differences of two models, {fewer} streams": differences(fewer, step),
        f"losses, {runs} streams": losses(runs, step),
        f"areas, {fewer} streams": areas(fewer, max(step, 1.05)),
        f"metrics of the matrix, {runs} streams, of 20 classes {fewer}": matrices(runs, step),
    }
    tables = []
    for title, rows in parts.items():
        tables.append(table(title, rows))
        print(tables[-1][0], end="\n\n", flush=True)
    text = "\n\n".join(part for part, _ in tables)
    if given.write:
        write_section(MARKS, text)
    return int(any(most > 0.05 + 3 * math.sqrt(0.0475 / fewer) for _, most in tables))


Row = tuple[str, dict[str, float]]  # stream, and the share that is ever wrong by metric


def table(title: str, rows: Iterator[Row]) -> tuple[str, float]:
    """Return a Markdown table in per cent, and its largest entry."""
    listed = list(rows)
    keys = list(listed[0][1])
    body = [[name, *(f"{100 * shares[key]:.1f}" for key in keys)] for name, shares in listed]
    text = markdown([["stream", *keys], *body])
    return f"Ever wrong, per cent: {title}.\n\n{text}", max(max(shares.values()) for _, shares in listed)


def looks_to(n: int, step: float) -> Any:
    """Return the numbers of samples at which one looks."""
    looks = [FIRST]
    while looks[-1] < n:
        looks.append(max(looks[-1] + 1, int(looks[-1] * step)))
    return np.array(looks)


def shares() -> Iterator[Row]:
    """Yield exact probabilities for proportions."""
    for p in (0.5, 0.1, 0.01, 0.001):
        yield f"p = {p:g}", {"t_opt = None": ever_share(p, None), "t_opt = 1,000": ever_share(p, 1000.0)}


def bets() -> Iterator[Row]:
    """Yield exact probabilities for differences of accuracy."""
    for s in (0.5, 0.1, 0.01, 0.001):
        yield f"{s:g}, the new model never worse", {"accuracy": ever_bets(s)}


def ever_share(p: float, t_opt: float | None) -> float:
    """Return the probability that the sequence of a proportion is ever wrong."""
    reach = 2 * math.log(1 / (1 - LEVEL))
    c = 1.0 if t_opt is None else t_opt / (reach + math.log1p(reach))
    a, b = (0.5, 0.5) if t_opt is None else (c * p, c * (1 - p))
    rises = [np.concatenate([[0.0], np.cumsum(np.log(z + np.arange(LOOKS)))]) for z in (a, b, a + b)]
    chances, wrong = np.array([1.0]), 0.0
    for n in range(1, LOOKS + 1):
        chances = np.append(chances * (1 - p), 0.0) + np.append(0.0, chances * p)
        x = np.flatnonzero(chances > 1e-14)
        log = rises[0][x] + rises[1][n - x] - rises[2][n] - x * math.log(p) - (n - x) * math.log1p(-p)
        out = x[log >= -math.log(1 - LEVEL)]
        wrong += float(chances[out].sum())
        chances[out] = 0
    return wrong


def ever_bets(s: float) -> float:
    """Return the probability that bets are ever wrong about a model that is right in a share s of samples more."""
    most = int(LOOKS * s + 8 * math.sqrt(LOOKS * s) + 12)
    c, lost, goal = np.arange(most + 1)[:, None], np.log1p(-SHARES), math.log(2 / (1 - LEVEL))
    stay = [np.log1p(-SHARES * d / (1 + d)) for d in (s, min(-s, 0.0))]
    gain = [np.log1p(SHARES * (1 - s) / (1 + s)), lost]
    chances, wrong = np.zeros(most + 1), 0.0
    chances[0] = 1
    for n in range(1, LOOKS + 1):
        chances = chances * (1 - s) + np.append(0.0, chances[:-1] * s)
        at = np.flatnonzero(chances > 1e-14)
        for up, still in zip(gain, stay, strict=True):
            logs = c[at] * up + (n - c[at]) * still + SHARE_WEIGHTS
            top = logs.max(1)
            out = at[top + np.log(np.exp(logs - top[:, None]).sum(1)) >= goal]
            wrong += float(chances[out].sum())
            chances[out] = 0
    return wrong


def population(k: int, ratio: float, profile: str) -> Any:
    """Return the cell probabilities; classes are `ratio` times rarer from the first to the last."""
    shares = np.geomspace(1, 1 / ratio, k)
    shares /= shares.sum()
    if profile == "chance":
        return np.outer(shares, shares)
    recalls = np.linspace(0.9, 0.7, k)
    if profile == "easy rare class":
        recalls = np.append(np.full(k - 1, 0.9), 0.97)
    elif profile == "near-perfect":
        recalls = np.full(k, 0.999)
    elif profile == "rarely predicted":
        recalls[-1] = 0.1
    cells = np.zeros((k, k))
    for at in range(k):
        others = np.where(np.arange(k) == at, 0.0, shares)
        if profile == "one wrong class":
            others = np.eye(k)[0 if at else 1]
        elif profile == "rarely predicted" and k > 2:
            others[-1] = 0.0
        cells[at] = shares[at] * (1 - recalls[at]) * others / others.sum()
        cells[at, at] = shares[at] * recalls[at]
    if profile == "rarely predicted":  # of the samples said to be of the last class, 95 % are
        false = cells[-1, -1] * 0.05 / 0.95
        cells[0, 0] += cells[0, -1] - false
        cells[0, -1] = false
    return cells / cells.sum()


def matrices(runs: int, step: float) -> Iterator[Row]:
    """Yield how often metrics of the matrix are ever wrong."""
    rng = np.random.default_rng(SEED)
    for (k, ratio), n in DESIGNS.items():
        looks = looks_to(n, step if k < 20 else max(step, 1.05))
        for profile in PROFILES:
            cells = population(k, ratio, profile)
            truth = snapshot_of(np.rint(cells * 2**50).astype(np.int64))
            missed = dict.fromkeys(KEYS, 0.0)
            for _ in range(runs if k < 20 else max(runs // 2, 10)):
                drawn = rng.multinomial(np.diff(looks, prepend=0), cells.ravel()).cumsum(0)
                views = [snapshot_of(counts.reshape(k, k)) for counts in drawn]
                for key in KEYS:
                    intervals = (view.interval(key, LEVEL, valid="anytime") for view in views)
                    missed[key] += any(one.low > truth[key] or one.high < truth[key] for one in intervals)
            times = runs if k < 20 else max(runs // 2, 10)
            yield f"{k} classes, 1:{ratio:g}, {profile}", {key: count / times for key, count in missed.items()}


def snapshot_of(counts: Any) -> Any:
    """Return the snapshot of a matrix."""
    return sm.ConfusionMatrix.from_matrix(counts).snapshot()


def differences(runs: int, step: float) -> Iterator[Row]:
    """Yield how often differences of two models are ever wrong."""
    rng = np.random.default_rng(SEED + 1)
    for given, n in PAIRS.items():
        rows, chances = joint_cells(*given)
        truth = compared(rows, np.rint(chances * 2**40).astype(np.int64))
        exactly = {key: truth.difference(key).value for key in PAIRED_KEYS}
        looks, missed = looks_to(n, max(step, 1.05)), dict.fromkeys(PAIRED_KEYS, 0.0)
        for _ in range(runs):
            drawn = rng.multinomial(np.diff(looks, prepend=0), chances).cumsum(0)
            views = [compared(rows, counts) for counts in drawn]
            for key in PAIRED_KEYS:
                differences = (view.difference(key, LEVEL, valid="anytime") for view in views)
                missed[key] += any(one.low > exactly[key] or one.high < exactly[key] for one in differences)
        share, *rates = given[:5]
        name = f"{100 * share:g} % positive, recalls {rates[0]}, {rates[1]}, specificities {rates[2]}, {rates[3]}"
        yield name, {key: count / runs for key, count in missed.items()}


def joint_cells(share: float, *rates: float) -> tuple[Any, Any]:
    """Return truth and predictions of both models by cell, and the probabilities of the cells."""
    recall_a, recall_b, specificity_a, specificity_b, dependence = rates
    rows, chances = [], []
    for truth, a, b, part in ((0, specificity_a, specificity_b, 1 - share), (1, recall_a, recall_b, share)):
        both = dependence * min(a, b) + (1 - dependence) * a * b
        for right_a, right_b, p in ((1, 1, both), (1, 0, a - both), (0, 1, b - both), (0, 0, 1 - a - b + both)):
            rows.append((truth, truth ^ 1 ^ right_a, truth ^ 1 ^ right_b))
            chances.append(max(p, 0.0) * part)
    return np.array(rows), np.array(chances) / sum(chances)


def compared(rows: Any, counts: Any) -> Any:
    """Return the snapshot of a comparison with so many samples of each cell."""
    there = np.flatnonzero(counts)
    there = there[np.lexsort(rows[there].T[::-1])]
    joint = Joint(np.zeros(len(there), np.int64), *rows[there].T, counts[there].astype(float), (0, 1), 0, 32)
    return ComparisonSnapshot(("a", "b"), joint, {}, n=int(counts.sum()), keyed=0, weighted=0, abstentions=(0, 0, 0))


def losses(runs: int, step: float) -> Iterator[Row]:
    """Yield how often mean losses are ever wrong; looks from the first sample on."""
    rng = np.random.default_rng(SEED + 3)
    looks = np.concatenate([np.arange(1, FIRST), looks_to(10_000, max(step, 1.05))])
    for name, stream in STREAMS.items():
        truth, missed = truths(stream), dict.fromkeys(LOSSES, 0.0)
        for _ in range(runs):
            positive, scores = drawn(stream, int(looks[-1]), rng)
            state, wrong = sm.ProbabilityLosses(), dict.fromkeys(LOSSES, False)
            for begin, end in zip([0, *looks], looks, strict=False):
                state.update_many(positive[begin:end], scores[begin:end])
                snapshot = state.snapshot()
                for key in LOSSES:
                    interval = snapshot.interval(key, LEVEL, valid="anytime")
                    wrong[key] |= interval.low > truth[key] + 1e-9 or interval.high < truth[key] - 1e-9
            for key in LOSSES:
                missed[key] += wrong[key]
        yield name, {key: count / runs for key, count in missed.items()}


def areas(runs: int, step: float) -> Iterator[Row]:
    """Yield how often areas are ever wrong; scores are normal, those of the positive class raised."""
    rng = np.random.default_rng(SEED + 2)
    for (share, area), n in AREAS.items():
        raised, looks = NormalDist().inv_cdf(area) * math.sqrt(2), looks_to(n, step)
        missed = {"roc_auc": 0.0}
        for _ in range(runs):
            own = rng.random(looks[-1]) < share
            scores = rng.normal(size=looks[-1]) + raised * own
            sketch, done, wrong = sm.RankSketch(pos_label=True), 0, False
            for look in looks.tolist():
                sketch.update_many(own[done:look], scores[done:look])
                done = look
                interval = sketch.snapshot().interval("roc_auc", LEVEL, label=True, valid="anytime")
                wrong |= interval.low > area or interval.high < area
            missed["roc_auc"] += wrong
        yield f"{100 * share:g} % positive, area {area}", {key: count / runs for key, count in missed.items()}


if __name__ == "__main__":
    raise SystemExit(main())
