"""`Snapshot.interval`: what it gives for every metric, and what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics.catalog.table import CATALOG
from stream_metrics.inference.intervals.methods import DEFAULTS, METHODS, ONE_LOOK, SHARES, refusal
from stream_metrics.inference.intervals.proportions import wilson
from stream_metrics.inference.intervals.score_intervals import average_precision_se
from stream_metrics.ranking.areas import delong_se

MATRIX = [[240, 20, 10], [30, 300, 40], [9, 50, 310]]
ABC = list("abc")


def snap(matrix=MATRIX, labels=None, **options):
    """Return the snapshot of a matrix."""
    return sm.ConfusionMatrix.from_matrix(matrix, labels).snapshot(**options)


def scored(n=400, classes=3, seed=0, raised=1.5):
    """Return the snapshot of a set with scores."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, n)
    scores = rng.normal(size=(n, classes))
    scores[np.arange(n), truth] += raised
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    found = sm.MetricSet(scores=True)
    found.update_many(truth, scores=shares, classes=list(range(classes)))
    return found.snapshot()


@pytest.mark.parametrize("key", sorted(CATALOG))
def test_every_metric_has_an_interval_or_a_reason(key):
    """Around its value and within its range, by every method; otherwise an error that says why not."""
    row, snapshot = CATALOG[key], scored()
    if refusal(row) is not None:
        with pytest.raises(ValueError, match=f"{key!r} has none: "):
            snapshot.interval(key)
        return

    for method in (None, *METHODS[key]):
        found = snapshot.interval(key, method=method, draws=20)
        for one in found.values() if isinstance(found, dict) else [found]:
            assert row.low <= one.low <= one.value <= one.high <= row.high
            assert one.low < one.high
            assert method in (None, one.method)


def test_defaults_are_documented_methods():
    """Every metric with a method has a default among its methods."""
    assert DEFAULTS.keys() == METHODS.keys()
    assert all(DEFAULTS[key] in METHODS[key] for key in METHODS)
    assert {DEFAULTS[key] for key in SHARES} == {"wilson"}


def test_proportions_are_wilson_intervals():
    """Accuracy, recall and precision take x of n; F1 and micro Jaccard follow from a proportion."""
    snapshot = snap(labels=ABC)
    low, high = wilson(np.array([240, 300, 310, 850]), np.array([270, 370, 369, 1009]))

    assert [one.low for one in snapshot.interval("recall").values()] == low[:3].tolist()
    assert (snapshot.interval("accuracy").low, snapshot.interval("accuracy").high) == (low[3], high[3])
    below, above = wilson(np.array(240), np.array(270 + 279 - 240))
    f1 = snapshot.interval("f1", label="a")
    assert (f1.low, f1.high) == pytest.approx((2 * below / (1 + below), 2 * above / (1 + above)))
    assert f1.n == 309
    jaccard = snapshot.interval("micro_jaccard")
    assert jaccard.low == pytest.approx(low[3] / (2 - low[3]))


def test_a_label_gives_one_of_the_dict():
    """A per-class key with a label is one interval; an unknown label is named."""
    snapshot = snap(labels=ABC)

    assert snapshot.interval("recall", label="b") == snapshot.interval("recall")["b"]
    assert list(snapshot.interval("p4")) == ABC
    with pytest.raises(KeyError, match="'z'"):
        snapshot.interval("recall", label="z")
    with pytest.raises(KeyError, match="one value"):
        snapshot.interval("accuracy", label="a")


@pytest.mark.parametrize("key", [key for key in METHODS if CATALOG[key].state == "counts"])
def test_a_perfect_matrix_is_not_certain(key):
    """Without an error there is no spread; the interval is one-sided and not a point."""
    snapshot = snap([[40, 0, 0], [0, 30, 0], [0, 0, 50]])
    found = snapshot.interval(key)

    for one in found.values() if isinstance(found, dict) else [found]:
        assert one.high - one.low > 0.01
        assert one.low <= one.value <= one.high


def test_a_perfect_ranking_is_not_certain():
    """With all of own above the rest, the lower end is that of as many pairs as the rarer class has samples."""
    sketch = sm.RankSketch()
    sketch.update_many([False] * 30 + [True] * 10, np.arange(40.0))
    found = sketch.snapshot().interval("roc_auc", label=True)

    assert (found.low, found.high) == (pytest.approx(0.025 ** (1 / 10)), 1.0)
    assert sketch.snapshot().interval("average_precision", label=True).low == found.low


def test_rare_classes_choose_another_method():
    """From ten of each kind in each class, or an influence of ten samples, the delta method; below the posterior."""
    methods = [
        snap(matrix).interval("macro_f1").method
        for matrix in ([[180, 15], [10, 10]], [[180, 16], [5, 14]], [[180, 1], [2, 4]], [[100, 1], [1, 91]])
    ]

    assert methods == ["delta", "delta", "posterior", "posterior"]


def test_undefined_values_have_no_bounds():
    """0/0 is no value to be sure of."""
    snapshot = snap([[5, 0], [3, 0]])

    found = snapshot.interval("precision")[1]
    assert (found.value, found.n) == (0.0, 0)
    assert math.isnan(found.low)
    assert math.isnan(snapshot.interval("matthews_corrcoef").high)
    assert math.isnan(sm.ConfusionMatrix(["a", "b"]).snapshot().interval("accuracy").low)


@pytest.mark.parametrize("weights", [[2, 2], [0.5, 1.0], [0, 1]])
def test_weights_are_refused(weights):
    """The counts do not say how many samples stand behind a weight."""
    state = sm.ConfusionMatrix()
    for weight in weights:
        state.update("a", "b", weight)

    with pytest.raises(ValueError, match="every sample to have the weight 1"):
        state.snapshot().interval("accuracy")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 1.0}, "`level` to be between 0 and 1"),
        ({"level": 95}, "`level` to be between 0 and 1"),
        ({"valid": "always"}, "'fixed' or 'anytime'"),
        ({"method": "wald"}, "one of wilson, jeffreys"),
        ({"method": "wilson", "valid": "anytime"}, "no `method` with"),
        ({"t_opt": 0, "valid": "anytime"}, "`t_opt`"),
        ({"draws": 1, "method": "bootstrap"}, "`draws`"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    """What is allowed, and what came."""
    with pytest.raises(ValueError, match=message):
        snap().interval("accuracy", **options)


def test_levels_nest():
    """A higher level is a wider interval, by every method of a metric."""
    snapshot = snap()
    for method in METHODS["weighted_recall"]:
        low, middle, high = (snapshot.interval("weighted_recall", level, method) for level in (0.5, 0.9, 0.999))
        assert high.low < middle.low < low.low < low.high < middle.high < high.high


def test_a_function_of_counts():
    """A user's formula by the bootstrap, and by the jackknife, which is the delta method to one sample."""
    snapshot = snap()

    def kappa(c):
        chance = float(c.true_totals @ c.predicted_totals) / c.total**2
        return (float(c.hits) / c.total - chance) / (1 - chance)

    expected = snapshot.interval("cohen_kappa", method="delta")
    drawn, left_out = snapshot.interval(kappa, draws=400), snapshot.interval(kappa, method="delta")
    assert drawn.value == left_out.value == pytest.approx(expected.value)
    assert left_out.se == pytest.approx(expected.se, rel=0.01)
    assert drawn.se == pytest.approx(expected.se, rel=0.15)
    bootstrap = snapshot.interval("cohen_kappa", method="bootstrap", draws=400)
    assert tuple(drawn) == pytest.approx(tuple(bootstrap), rel=1e-12)
    with pytest.raises(ValueError, match="valid='fixed' for a function"):
        snapshot.interval(kappa, valid="anytime")


def test_options_of_a_formula():
    """F-beta with beta 1 draws what F1 draws; another beta has another value; a label picks a class."""
    snapshot = snap(labels=ABC)
    plain = snapshot.interval("f1", method="bootstrap", draws=50)
    same = snapshot.interval("fbeta", method="bootstrap", draws=50, beta=1.0)

    for label in ABC:
        assert (same[label].value, *same[label]) == pytest.approx((plain[label].value, *plain[label]))
    assert snapshot.interval("macro_fbeta", beta=2.0, draws=50).value == snapshot.value("macro_fbeta", beta=2.0)
    assert snapshot.interval("fbeta", label="c", beta=2.0, draws=50).value == snapshot.value("fbeta", beta=2.0)["c"]


def test_standard_errors_of_areas():
    """That of DeLong for the ROC area; that of average precision by leaving out each sample in turn."""
    snapshot = scored(800, raised=1.0)
    column = snapshot.evaluation.views["ranks"].column(1)
    found = snapshot.interval("roc_auc", label=1)

    assert found.se == delong_se(column)
    assert snapshot.interval("gini", label=1).low == pytest.approx(2 * found.low - 1)
    values = []
    for row, c in zip(*np.nonzero(column.counts), strict=True):
        counts = column.counts.copy()
        counts[row, c] -= 1
        kept = counts.any(axis=1)
        without = column._replace(
            cells=column.cells[kept], sole=column.sole[kept], counts=counts[kept], offsets=column.offsets[kept],
            totals=counts.sum(axis=0),
        )  # fmt: skip
        values.append(CATALOG["average_precision"].formula.measure(without).value)
    jackknife = math.sqrt(799 / 800 * np.sum((np.array(values) - np.mean(values)) ** 2))
    assert average_precision_se(column) == pytest.approx(jackknife, rel=0.02)


def test_the_sketch_is_added_to_the_sample():
    """Of a coarse sketch the interval holds the certified one; one for all looks is wider by what is certainly open."""
    rng = np.random.default_rng(3)
    own = rng.random(4000) < 0.3
    scores = rng.normal(size=4000) + own
    coarse, fine = sm.RankSketch(buckets=64), sm.RankSketch(buckets=2**14)
    for sketch in (coarse, fine):
        sketch.update_many(own, scores)

    for key in ("roc_auc", "average_precision"):
        certain, found = coarse.snapshot().estimate(key), coarse.snapshot().interval(key, label=True)
        assert certain.low < certain.high
        assert found.low <= certain.low <= certain.high <= found.high
        assert found.se >= certain.se
        always, exact = (s.snapshot().interval(key, label=True, valid="anytime") for s in (coarse, fine))
        assert always.high - always.low > exact.high - exact.low + 0.8 * (certain.high - certain.low)


def test_anytime_holds_one_look():
    """The price of looking always is a wider interval, for every metric that has both."""
    snapshot = scored()
    for key in METHODS:
        if key in ONE_LOOK:
            with pytest.raises(ValueError, match="no sequence"):
                snapshot.interval(key, valid="anytime")
            continue
        always = snapshot.interval(key, valid="anytime")
        once = snapshot.interval(key, draws=20)
        pairs = [(always, once)] if not isinstance(always, dict) else [(always[k], once[k]) for k in always]
        for wide, narrow in pairs:
            if wide.method == "asymptotic":
                assert wide.high - wide.low > 1.2 * (narrow.high - narrow.low)
            else:
                assert wide.low <= narrow.low <= narrow.high <= wide.high


def test_windows_groups_and_metrics_have_them():
    """Every snapshot is one of the same kind."""
    rolling, metric = sm.Rolling(sm.MetricSet(), window=50), sm.MCC()
    for i in range(200):
        rolling.update(i % 2, (i % 2) ^ (i % 7 == 0))
        metric.update(i % 2, (i % 2) ^ (i % 7 == 0))

    assert rolling.snapshot().interval("accuracy").n == 50
    assert metric.snapshot().interval("matthews_corrcoef").n == 200
