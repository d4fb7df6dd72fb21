"""While every score has a cell of its own, values are those of the raw scores, also after samples were removed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import cell_oracle, rank_oracle
from support.rank_oracle import MIXED, ZERO, code
from support.rank_reading import bounds, check_area, estimate, sketched
from support.rank_shapes import exact_auc
from support.rank_streams import scores as any_scores
from support.refusals import refused

import stream_metrics as sm
from stream_metrics.ranking.remaining import RemainingRanks, subtract

pytestmark = pytest.mark.quick


NAN = math.nan


def rounded(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores with ties and zeros, and which of them are own."""
    g = np.random.default_rng(seed)
    n = int(g.integers(3, 300))
    own = g.uniform(size=n) < g.uniform(0.1, 0.9)
    own[:2] = True, False
    return np.round(g.normal(size=n) + own, int(g.integers(0, 4))) + 0.0, own


def test_curves_are_those_of_scikit_learn() -> None:
    """Points and thresholds, all thresholds kept; what is read of a curve at a rate other than the default one."""
    from sklearn.metrics import det_curve, precision_recall_curve, roc_auc_score, roc_curve

    for seed in range(40):
        scores, own = rounded(seed)
        snapshot = sketched(scores, own).snapshot()
        roc, pr, det = snapshot.roc_curve(), snapshot.pr_curve(), snapshot.det_curve()
        precision, recall, thresholds = precision_recall_curve(own, scores)
        for actual, wanted in zip(roc, roc_curve(own, scores, drop_intermediate=False), strict=True):
            np.testing.assert_array_equal(actual, wanted)
        assert roc.exact.all()
        np.testing.assert_allclose(pr.recall, recall[::-1], rtol=1e-15)
        np.testing.assert_allclose(pr.precision, precision[::-1], rtol=1e-15)
        np.testing.assert_array_equal(pr.thresholds[1:], thresholds[::-1])
        value, partial_area = partial(snapshot.value, label=True), roc_auc_score(own, scores, max_fpr=0.2)
        assert value("partial_roc_auc", max_fpr=0.2) == pytest.approx(partial_area, abs=1e-13)
        assert value("tpr_at_fpr", fpr=0.15) == roc.y[roc.x <= 0.15].max()
        assert value("precision_at_recall", recall=0.7) == pr.precision[pr.recall >= 0.7].max()
        fpr, fnr, _ = det_curve(own, scores)
        points = {(round(a, 12), round(b, 12)) for a, b in zip(det.x.tolist(), det.y.tolist(), strict=True)}
        assert {(round(a, 12), round(b, 12)) for a, b in zip(fpr.tolist(), fnr.tolist(), strict=True)} <= points


BEST: dict[str, Callable[..., float]] = {
    "youden": lambda tp, fn, fp, tn: tp / (tp + fn) - fp / (fp + tn),
    "f1": lambda tp, fn, fp, tn: 2 * tp / (2 * tp + fp + fn),
    "accuracy": lambda tp, fn, fp, tn: (tp + tn) / (tp + fn + fp + tn),
    "balanced_accuracy": lambda tp, fn, fp, tn: (tp / (tp + fn) + tn / (fp + tn)) / 2,
    "mcc": lambda tp, fn, fp, tn: (tp * tn - fp * fn) / math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn) or 1),
}


def test_no_threshold_does_better_than_the_best() -> None:
    """It reaches its stated value; in coarse cells the bound holds."""
    for (metric, value), seed in itertools.product(BEST.items(), range(5)):
        scores, own = rounded(seed)

        def at(t: float, scores: Any = scores, own: Any = own, value: Any = value) -> float:
            above = scores >= t
            counts = ((above & own).sum(), (~above & own).sum(), (above & ~own).sum(), (~above & ~own).sum())
            return float(value(*map(int, counts)))

        best = max(at(t) for t in [*np.unique(scores), math.inf])
        fine = sketched(scores, own).snapshot().best_threshold(metric=metric)
        coarse = sketched(scores, own, None, 8, 64).snapshot().best_threshold(metric=metric)

        assert fine.value == fine.high == pytest.approx(best)
        for best_of in (fine, coarse):
            assert at(best_of.threshold) == pytest.approx(best_of.value), metric
        assert coarse.value - 1e-12 <= best <= coarse.high + 1e-12


def test_a_function_of_the_four_counts_is_as_good_as_a_name() -> None:
    """What is best is asked of the counts at each threshold; other names are refused."""
    scores, own = rounded(3)
    snapshot = sketched(scores, own).snapshot()
    best = snapshot.best_threshold(metric=lambda tp, fn, fp, tn: tp - 5 * fp)
    above = scores >= best.threshold

    assert best.value == (above & own).sum() - 5 * (above & ~own).sum()
    refused(lambda: snapshot.best_threshold(metric="f2"), about="metric")


def calibrated(scores: np.ndarray, own: np.ndarray, bins: int) -> tuple[float, float, float, np.ndarray]:
    """Return ECE, MCE, the debiased error, and (mean score, share, weight) of each bin."""
    place = np.clip(np.searchsorted(np.linspace(0, 1, bins + 1), scores, side="left") - 1, 0, bins - 1)
    inside = [place == k for k in np.unique(place)]
    table = np.array([(scores[at].mean(), own[at].mean(), at.sum()) for at in inside])
    gaps = np.abs(table[:, 0] - table[:, 1])
    several = [own[at] - scores[at] for at in inside if at.sum() > 1]
    squares = sum(len(d) * (d.mean() ** 2 - d.var(ddof=1) / len(d)) for d in several) / len(scores)
    return float((gaps * table[:, 2]).sum() / len(scores)), float(gaps.max()), math.sqrt(max(squares, 0.0)), table


def probabilities(g: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return badly calibrated probabilities with 0 and 1 among them, some in narrow clusters or atoms."""
    p = g.beta(g.uniform(0.3, 4), g.uniform(0.3, 4), n)
    own = g.uniform(size=n) < p ** g.uniform(0.5, 2)
    if g.uniform() < 0.3:
        p = np.where(g.uniform(size=n) < 0.5, g.choice([0.2, 0.4, 0.37]) + 1e-7 * g.normal(size=n), p)
    return np.where(g.uniform(size=n) < 0.1, g.choice([0.0, 1.0, 0.2, 1 / 3], n), p), own


CALIBRATION = ("expected_calibration_error", "maximum_calibration_error", "debiased_calibration_error")


def test_calibration_is_that_of_the_raw_scores() -> None:
    """Three errors and the curve, for any number of bins."""
    for seed in range(20):
        scores, own = probabilities(np.random.default_rng(seed), 300)
        snapshot = sketched(scores, own).snapshot()
        for bins in (1, 10, 15):
            *expected, table = calibrated(scores, own, bins)
            values = [snapshot.value(key, label=True, bins=bins) for key in CALIBRATION]
            assert values[:2] == pytest.approx(expected[:2], abs=1e-13)
            assert values[2] ** 2 == pytest.approx(expected[2] ** 2, abs=1e-13)
            curve = snapshot.reliability_curve(True, bins=bins)
            np.testing.assert_allclose(np.array(curve).T, table, rtol=1e-12, atol=1e-15)
        ends = [bounds(snapshot.estimate(key, label=True)) for key in CALIBRATION]
        assert all(low == value == high for low, value, high in ends[:2])
        assert ends[2][0] <= ends[2][1] <= ends[2][2] <= ends[2][0] + 2e-5


def test_bins_are_those_of_scikit_learn() -> None:
    """Of equal width and of equal mass; no score lies on an edge."""
    from sklearn.calibration import calibration_curve

    g = np.random.default_rng(1)
    scores = g.uniform(size=500)
    own = g.uniform(size=500) < scores**2
    for strategy in ("uniform", "quantile"):
        shares, means = calibration_curve(own, scores, n_bins=10, strategy=strategy)
        curve = sketched(scores, own).snapshot().reliability_curve(True, bins=10, strategy=strategy)
        np.testing.assert_allclose((curve.scores, curve.shares), (means, shares), rtol=1e-9)


@pytest.mark.parametrize("buckets", [2, 16, 64, 256])
def test_calibration_intervals_hold_in_coarse_cells(buckets: int) -> None:
    """The exact errors lie within them."""
    for seed in range(10):
        scores, own = probabilities(np.random.default_rng([buckets, seed]), 3000)
        state = sketched(scores, own, None, buckets, 64)
        assert state.column(True).level > 0
        for key, exact in zip(CALIBRATION, calibrated(scores, own, 15)[:3], strict=True):
            low, value, high = bounds(estimate(state, key))
            assert low - 1e-12 <= exact <= high + 1e-12, key
            assert low <= value <= high, key


def test_a_default_sketch_is_well_calibrated() -> None:
    """It gives ECE to 2e-3 with an interval of 5e-2; bins of equal mass are good to 1e-7."""
    g = np.random.default_rng(9)
    scores = g.beta(2, 3, 100_000)
    own = g.uniform(size=100_000) < scores**1.3
    snapshot = sketched(scores, own).snapshot()
    low, value, high = bounds(snapshot.estimate("expected_calibration_error", label=True))
    curve = snapshot.reliability_curve(True, strategy="quantile")
    edges = np.quantile(scores, np.linspace(0, 1, 16))
    place = np.clip(np.searchsorted(edges, scores) - 1, 0, 14)
    gaps = [abs(own[place == k].mean() - scores[place == k].mean()) for k in range(15)]

    assert value == pytest.approx(calibrated(scores, own, 15)[0], abs=2e-3)
    assert high - low < 5e-2
    equal = snapshot.value("expected_calibration_error", label=True, strategy="quantile")
    assert equal == pytest.approx(np.mean(gaps), abs=2e-3)
    assert len(curve.weights) == 15
    assert curve.weights.min() > 0.8 * curve.weights.max()
    assert float(curve.scores @ curve.weights) == pytest.approx(scores.sum(), rel=1e-7)


def test_one_score_decides_between_many_classes() -> None:
    """Fixed directions mirror each other, "auto" follows the medians of each pair."""
    truth = [0, 1, 2, 0, 1, 2, 0, 1, 2]
    scores = [0.1, 0.4, 0.2, 0.2, 0.5, 0.1, 0.3, 0.2, 0.9]
    areas = {}
    for direction in ("up", "down", "auto"):
        metric = sm.SingleScoreAUC(direction=direction, pos_label=2)
        metric.update_many(truth, scores)
        areas[direction] = metric.get()
    column = {i: [s for t, s in zip(truth, scores, strict=True) if t == i] for i in range(3)}
    each = [
        np.mean([(x > y) + (x == y) / 2 for x in column[j] for y in column[i]]) for i, j in ((0, 1), (0, 2), (1, 2))
    ]
    rises = [np.median(column[i]) <= np.median(column[j]) for i, j in ((0, 1), (0, 2), (1, 2))]

    assert areas["up"] == pytest.approx(np.mean(each))
    assert areas["down"] == pytest.approx(1 - np.mean(each))
    assert areas["auto"] == pytest.approx(np.mean([a if up else 1 - a for a, up in zip(each, rises, strict=True)]))
    refused(lambda: sm.SingleScoreAUC(direction="left"), about="direction")  # type: ignore[arg-type]


def test_delongs_error_is_that_of_all_pairs() -> None:
    """From the share of pairs that each sample of one class wins against the other, ties half."""
    g = np.random.default_rng(5)
    own = g.uniform(size=3000) < 0.4
    scores = np.round(g.normal(size=3000) + own, 1)
    wins = np.sign(scores[own][:, None] - scores[~own]) / 2 + 0.5
    v10, v01 = wins.mean(axis=1), wins.mean(axis=0)
    expected = math.sqrt(v10.var(ddof=1) / len(v10) + v01.var(ddof=1) / len(v01))

    assert sketched(scores, own).snapshot().delong_se(True) == pytest.approx(expected, rel=1e-12)


def test_saturated_scores_are_never_told_apart() -> None:
    """Beyond 2.6e277 scores share a code, at level 0 too, so nothing wrong is certified."""
    state = sketched([1e300, 1e301, -1e300, -1e301, 1.0], [1, 0, 0, 1, 1])
    low, _, high = bounds(estimate(state, "roc_auc"))

    assert state.column(True).level == 0
    assert (low, high) == (pytest.approx(2 / 6), pytest.approx(4 / 6))
    assert estimate(sketched([1e300, 1.0], [1, 0]), "roc_auc").high == 1.0


def test_what_is_undefined_is_nan() -> None:
    """Areas without own or without rest, precision without own, calibration of what is no probability."""
    own, rest = sketched([0.1, 0.2], [1, 1]).snapshot(), sketched([0.1, 0.2], [0, 0]).snapshot()
    for key in ("roc_auc", "gini", "partial_roc_auc", "tpr_at_fpr", "ks_statistic"):
        assert math.isnan(own.value(key, label=True)), key
        assert np.isnan(bounds(rest.estimate(key, label=True))).all(), key
    assert own.value("average_precision", label=True) == own.value("precision_at_recall", label=True) == 1.0
    assert math.isnan(own.delong_se(True))
    assert np.isnan(own.best_threshold().value)
    assert np.isnan(own.roc_curve().x).all()
    assert math.isnan(rest.delong_se(True))
    for key in ("roc_auc_ovr", "average_precision_micro", "roc_auc_ovo"):
        assert math.isnan(rest[key]), key
    assert math.isnan(rest.value("average_precision", label=True))
    assert math.isnan(rest.value("precision_at_recall", label=True))
    for scores in ([-0.1, 0.5], [0.5, 1.1]):
        snapshot = sketched(scores, [True, False]).snapshot()
        assert all(math.isnan(snapshot.value(key, label=True)) for key in CALIBRATION)
        assert len(snapshot.reliability_curve(True).weights) == 0


def test_options_out_of_range_are_refused() -> None:
    """Rates outside [0, 1], no bins, and unknown strategies."""
    snapshot = sketched([0.1, 0.2], [0, 1]).snapshot()
    for bad in (-0.1, 1.5, NAN):
        for key, option in (("partial_roc_auc", "max_fpr"), ("tpr_at_fpr", "fpr"), ("precision_at_recall", "recall")):
            refused(lambda key=key, wrong={option: bad}: snapshot.value(key, label=True, **wrong), about=option)
    refused(lambda: snapshot.reliability_curve(True, strategy="equal"), about="strategy")
    refused(lambda: snapshot.reliability_curve(True, bins=0), about="bins")


def test_thresholds_are_the_scores() -> None:
    """Doubles of all sizes and both signs come back from their codes as they were."""
    g = np.random.default_rng(1)
    bits = g.integers(0, 0x7FF0000000000000, 4_000, dtype=np.uint64).view(np.float64)
    near = [np.array(x).view(np.int64) + np.arange(-50, 51) for x in (0.25, 0.5, 1.0, 1.5, 2.0, 16.0)]
    values = np.concatenate([bits, g.uniform(0, 2, 4_000), *(np.abs(x).view(np.float64) for x in near), [5e-324, 0.0]])
    values = np.unique(np.concatenate([values, -values]))
    values = values[~np.isin(rank_oracle.code(values), rank_oracle.ENDS)]
    curve = sketched(values, np.arange(len(values)) % 2, None, 2**17).snapshot().roc_curve()

    np.testing.assert_array_equal(curve.thresholds[1:], values[::-1])


WEIGHTS = st.sampled_from([1, 1, 1, 2, 5, 0.5, 0.1, 2.0**-40])


def sketch(rows: Any, buckets: int, sample: int) -> sm.RankSketch:
    """Return a sketch of samples."""
    state = sm.RankSketch(buckets, sample)
    for row in rows:
        state.update(*row)
    return state


@pytest.mark.parametrize(("buckets", "sample"), [(2, 1), (3, 5), (16, 8)])
@given(data=st.data())
def test_what_is_left_is_counted_exactly(data: Any, buckets: int, sample: int) -> None:
    """Cells have the weights of the samples that are left, sampled codes theirs, and an area its interval."""
    row = st.tuples(st.booleans(), any_scores(), WEIGHTS, st.booleans())
    drawn = data.draw(st.lists(row, min_size=2, max_size=30))
    rows, gone = [r[:3] for r in drawn], [r[:3] for r in drawn if r[3]]
    left = [r[:3] for r in drawn if not r[3]]
    if not gone or not left:
        return
    all_ = sketch(rows, buckets, sample)
    remaining = RemainingRanks(all_, sketch(gone, buckets, sample))
    column, whole = remaining.column(True), all_.column(True)

    assert remaining.n == len(left)
    for c in (0, 1):
        own = [(int(code([x])[0]), w) for y, x, w in left if y == bool(c)]
        by_cell: dict[int, float] = {}
        for at, w in own:
            if at != ZERO:
                by_cell[at >> whole.level] = by_cell.get(at >> whole.level, 0) + w
        counts = {int(k): n[c] / column.units for k, n in zip(column.cells, column.counts, strict=True) if n[c]}
        assert counts == pytest.approx({k: n for k, n in by_cell.items() if n}, abs=1e-12)
        assert int(column.totals[c]) / column.units == pytest.approx(sum(w for _, w in own), abs=1e-12)
        sampled = dict(zip(map(int, column.sample_codes[c]), column.sample_weights[c], strict=True))
        for at in map(int, whole.sample_codes[c]):
            assert sampled.pop(at, 0) / column.units == pytest.approx(sum(w for x, w in own if x == at), abs=1e-12)
        assert not sampled
        assert column.tau == whole.tau
    truth = np.array([bool(y) for y, _, _ in left])
    if all(column.totals):
        area = cell_oracle.roc_auc(column)
        exact = exact_auc(np.array([x for _, x, _ in left]) + 0.0, truth, [w for _, _, w in left])
        assert area.low - 1e-9 <= exact <= area.high + 1e-9


def test_means_are_those_of_what_is_left() -> None:
    """Mean places within cells are subtracted as well, regardless of the level of the removed scores."""
    rng = np.random.default_rng(5)
    x, y = rng.random(4000), rng.random(4000) < 0.5
    for removed in (3, 200, 3900):
        all_, gone, left = sm.RankSketch(64, 32), sm.RankSketch(64, 32), sm.RankSketch(64, 32)
        all_.update_many(y, x)
        gone.update_many(y[:removed], x[:removed])
        left.update_many(y[removed:], x[removed:])
        column, expected = subtract(all_.column(True), gone.column(True)), left.column(True)

        assert gone.column(True).level <= column.level
        shift = np.uint64(column.level - expected.level)
        if not shift:
            assert np.array_equal(column.cells, expected.cells)
            mixed = (expected.sole == np.uint64(MIXED))[:, None] & (expected.counts > 0)
            assert np.allclose(column.offsets[mixed], expected.offsets[mixed], rtol=0, atol=1e-9)
        assert cell_oracle.roc_auc(column).value == pytest.approx(cell_oracle.roc_auc(expected).value, abs=2e-3)


def test_areas_of_pairs_after_removal() -> None:
    """A set that removed samples reads the area of each pair of classes from what is left of their column."""
    g = np.random.default_rng(2)
    truth, rows = g.integers(0, 3, 400), g.random((400, 4))
    rows[:, -1] = 0.0
    metrics = sm.MetricSet(scores=True, buckets=8, sample=64)
    counted, gone = sm.RankSketch(8, 64), sm.RankSketch(8, 64)
    metrics.update_many(truth, scores=rows, classes=list(range(4)))
    counted.update_many(truth, rows, classes=list(range(4)))
    gone.update_many(truth[:50], rows[:50], classes=list(range(4)))
    for label, row in zip(truth[:50].tolist(), rows[:50].tolist(), strict=True):
        metrics.remove(label, dict(enumerate(row)))
    snapshot, remaining = metrics.snapshot(), RemainingRanks(counted, gone)

    for a in range(3):
        for b in {0, 1, 2} - {a}:
            check_area(snapshot.estimate("roc_auc_ovo_directed", a, b), remaining.column(a, a, b))


SIZES = st.sampled_from([0.0, 5e-324, 1e-300, 2.0**-53, 0.5, 1.0, 1e10, 2.6e277])


@given(st.lists(st.tuples(st.booleans(), SIZES, st.integers(-6, 6), st.integers(1, 3)), min_size=1, max_size=12))
def test_few_scores_of_any_size_have_points(rows: list[Any]) -> None:
    """With at most `buckets` different scores, denormal ones too, every interval is a point, and areas are exact."""
    state = sm.RankSketch(12, 1)
    sides: tuple[list[Any], list[Any]] = [], []
    for truth, size, factor, w in rows:
        score = size * (factor / 6)
        state.update(truth, {True: score, False: 0.0}, w)
        sides[truth].append((score, w))
    wins = [(v * w, np.sign(x - y)) for y, v in sides[0] for x, w in sides[1]]
    for key in ("roc_auc", "average_precision", "partial_roc_auc", "tpr_at_fpr", "ks_statistic"):
        if True in state.labels:
            low, value, high = bounds(estimate(state, key))
            assert low == value == high or math.isnan(value), key
            if wins and key == "roc_auc":
                area = sum(w * Fraction(1 + int(sign), 2) for w, sign in wins) / sum(w for w, _ in wins)
                assert value == float(area)
