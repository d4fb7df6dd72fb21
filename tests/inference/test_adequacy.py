"""The rule by cells, what an interval says besides its ends, and that no interval is a point or leaves its range."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics.catalog.table import CATALOG
from stream_metrics.inference.intervals.adequacy import effective_count, influence, least_cells
from stream_metrics.inference.intervals.batched_counts import batch_of_one
from stream_metrics.inference.intervals.cramer import folded, noncentrality_bounds
from stream_metrics.inference.intervals.gradients import OF_CELLS, _step_cells, gradient
from stream_metrics.inference.intervals.methods import METHODS

KEYS = [key for key in METHODS if CATALOG[key].state == "counts"]


def snap(matrix, labels=None):
    """Return the snapshot of a matrix."""
    return sm.ConfusionMatrix.from_matrix(matrix, labels).snapshot()


def counts(matrix):
    """Return the frozen counts of a matrix."""
    return snap(matrix).evaluation.views["counts"]


def check(snapshot, key, **options):
    """Assert that the interval of a metric holds its value, within the range, and is no point."""
    row, found = CATALOG[key], snapshot.interval(key, **options)
    for one in found.values() if isinstance(found, dict) else [found]:
        if math.isnan(one.low) or math.isnan(one.high):
            continue
        assert row.low <= one.low <= one.value <= one.high <= row.high, (key, one)
        assert one.low < one.high, (key, one)


@pytest.mark.parametrize(
    "matrix",
    [
        [[1]],
        [[200]],
        [[1, 0], [0, 1]],
        [[30, 0], [0, 0]],
        [[8, 2], [0, 0]],
        [[10, 20], [10, 20]],
        [[9801, 99], [100, 0]],
    ],
)
@pytest.mark.parametrize("method", [None, "delta", "bootstrap", "posterior"])
def test_no_interval_is_a_point(matrix, method):
    """One sample, one class, no errors, independence: there is always doubt, and no error."""
    snapshot = snap(matrix)
    for key in KEYS:
        check(snapshot, key, method=method, draws=60)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    st.integers(1, 4).flatmap(
        lambda k: st.lists(st.lists(st.integers(0, 3), min_size=k, max_size=k), min_size=k, max_size=k)
    )
)
def test_ranges_are_kept_by_any_few_counts(matrix):
    """For any counts, ends stay within the range of the metric and around its value."""
    snapshot = snap(matrix)
    for key in KEYS:
        check(snapshot, key, draws=30)


def test_a_rule_for_both_classes():
    """Of two classes the MCC of each is that of the matrix, and so is its interval."""
    snapshot = snap([[9801, 99], [100, 0]])
    whole, each = snapshot.interval("matthews_corrcoef"), snapshot.interval("ova_matthews_corrcoef")

    for one in (whole, *each.values()):
        assert one.method == "posterior"
        assert one.low < 0 < one.high


def test_the_influence_is_counted():
    """Of m samples that move a metric alike the effective count is m; one error more or less beside many does not."""
    assert effective_count(np.array([7.0, 5.0]), np.array([1.0, 0.0])) == 7
    assert effective_count(np.array([1.0, 1000.0]), np.array([1.0, 0.001])) == pytest.approx(1, rel=0.01)
    assert effective_count(np.ones(3), np.zeros(3)) == 0

    c = counts([[2600, 300], [0, 30]])
    balanced, kappa = (
        effective_count(*influence(batch_of_one(c), gradient(key, batch_of_one(c), 0.0))[:2])
        for key in ("balanced_accuracy", "cohen_kappa")
    )
    assert least_cells(c) == 0
    assert balanced < 2 < 10 < kappa


def test_few_cells_choose_the_posterior():
    """From ten true positives, false negatives and false positives of each class on the delta method is taken."""
    methods = [snap(m).interval("balanced_accuracy").method for m in ([[300, 10], [10, 10]], [[300, 10], [1, 19]])]

    assert methods == ["delta", "posterior"]
    assert snap([[3000, 300], [1, 19]]).interval("accuracy").method == "wilson"
    assert snap([[300, 10], [1, 19]]).interval("accuracy").method == "clopper_pearson"


def test_functions_follow_the_rule():
    """A bootstrap where cells are many, a posterior of counts that are not whole where they are few."""
    totals = []

    def accuracy(c):
        totals.append(c.total)
        return c.hits / c.total

    many, few = snap([[30, 10], [10, 30]]), snap([[30, 1], [0, 30]])
    assert many.interval(accuracy, draws=20).method == "bootstrap"
    found = few.interval(accuracy, draws=20)
    assert found.method == "posterior"
    assert totals == pytest.approx([80] * 21 + [61] * 22 + [60] * 3)
    assert snap([[30, 0], [0, 30]]).interval(accuracy, method="delta", draws=20).method == "posterior"
    assert few.interval(lambda _: 1.0, draws=20).note == "every draw gives this value"


@pytest.mark.parametrize("key", sorted(OF_CELLS))
def test_gradients_of_a_singular_matrix(key):
    """Exact independence has derivatives as well."""
    c = batch_of_one(counts([[10, 20, 5], [20, 40, 10], [7, 9, 30]]))

    assert np.ptp(OF_CELLS[key](c) - _step_cells(key, c, 0.0)) == pytest.approx(0, abs=1e-14)


def test_cramers_v_can_be_0():
    """It folds the correlation of two classes, and inverts chi-square for more."""
    assert snap([[10, 20], [10, 20]]).interval("cramers_v").low == 0
    assert snap([[250, 230], [260, 270]]).interval("cramers_v").low == 0
    assert snap([[90, 110, 100], [100, 105, 95], [110, 98, 104]]).interval("cramers_v").low == 0
    two = snap([[300, 50], [60, 90]])
    assert [*two.interval("cramers_v")] == [*two.interval("generalized_mcc")]
    assert (folded(-0.2, 0.1), folded(-0.3, -0.1), folded(0.1, 0.3)) == ((0.0, 0.2), (0.1, 0.3), (0.1, 0.3))


@pytest.mark.parametrize(("x", "degrees"), [(3.0, 4), (16.0, 16), (40.0, 16), (400.0, 361), (900.0, 4)])
def test_noncentralities(x, degrees):
    """The ends have 2.5 % of the noncentral distribution above and below x, to a tenth of that."""
    stats = pytest.importorskip("scipy.stats", reason="SciPy is the oracle here and is not installed")
    low, high = noncentrality_bounds(x, degrees, 0.95)

    assert low == 0 or stats.ncx2.sf(x, degrees, low) == pytest.approx(0.025, abs=0.0025)
    assert high == 0 or stats.ncx2.cdf(x, degrees, high) == pytest.approx(0.025, abs=0.0025)


def test_notes_are_shown():
    """In text, HTML, JSON and groups: a question mark behind the interval, and the reason below."""
    groups = sm.ByGroup(sm.MetricSet())
    for i in range(60):
        groups.update("a", "a", group="only a")
        groups.update("ab"[i % 2], "ab"[i % 2 ^ (i % 5 == 0)], group="both")
    shown = groups.snapshot().with_intervals()
    one = shown["only a"]

    for text in (one.report(100), one._repr_html_(), shown.report(120)):
        assert "]?" in text
        assert "not to be trusted, only one class has samples" in text
    assert "]?" not in shown["both"].report(100)
    data = json.loads(one.to_json())["intervals"]["metrics"]
    assert data["macro_f1"]["note"].startswith("only one class")
    assert "note" not in data["accuracy"]


def test_notes_of_areas():
    """A class with a handful of scores: beside the headline, and as a column of the frame."""
    rng = np.random.default_rng(0)
    state = sm.MetricSet(scores=True)
    truth = np.arange(200) % 40 == 0
    state.update_many(truth, scores=np.clip(rng.random(200) + 0.3 * truth, 0, 1))
    shown = state.snapshot().with_intervals()

    assert "fewer than 10 samples" in shown.interval("roc_auc", label=True).note
    assert "?: not to be trusted, a class has fewer than" in shown.report(100)
    assert "?: not to be trusted, a class has fewer than" in shown._repr_html_()


@pytest.mark.parametrize("kind", ["rolling", "timed", "fading"])
def test_a_window_has_no_interval_of_all_looks(kind):
    """Also after pickling, narrowed to other metrics, and in groups; for one look it has one."""
    window = {
        "rolling": lambda: sm.Rolling(sm.MetricSet(), window=50),
        "timed": lambda: sm.TimeWindow(sm.MetricSet(), 100, panes=10),
        "fading": lambda: sm.Fading(sm.MetricSet(), half_life=100),
    }[kind]()
    for i in range(80):
        extra = {"t": i} if kind == "timed" else {}
        window.update(i % 2, (i % 2) ^ (i % 7 == 0), **extra)
    snapshot = window.snapshot()

    for view in (snapshot, pickle.loads(pickle.dumps(snapshot))):
        with pytest.raises(ValueError, match="valid='fixed' for a window"):
            view.interval("accuracy", valid="anytime")
        with pytest.raises(ValueError, match="valid='fixed' for a window"):
            view.with_intervals(valid="anytime")
    if kind != "fading":
        assert snapshot.interval("accuracy").low < snapshot["accuracy"]


def test_groups_in_a_window_have_none_either():
    """A window around groups and groups of windows."""
    for state in (
        sm.Rolling(sm.ByGroup(sm.MetricSet()), window=9),
        sm.ByGroup(sm.Rolling(sm.MetricSet(), window=9)),
    ):
        for i in range(20):
            state.update(i % 2, 0, group="g")
        with pytest.raises(ValueError, match="valid='fixed' for a window"):
            state.snapshot()["g"].interval("accuracy", valid="anytime")


def test_classes_never_seen_are_said():
    """Where several classes occurred once, others exist that did not; the note says how many samples they are."""
    matrix = np.diag([40, 30, 20, 1, 1, 1, 1]) + np.eye(7, k=1, dtype=int)[::1] * [0, 3, 3, 3, 0, 0, 0]
    matrix[0, 1] = 5
    found = snap(matrix)
    single = np.count_nonzero(matrix.sum(1) == 1)
    share = f"about {100 * single / matrix.sum():.2g} % of samples are of classes never seen"

    assert single == 4
    assert share in found.interval("macro_f1").note
    assert share in found.interval("balanced_accuracy").note
    assert "never seen" not in snap(np.array([[40, 3, 1], [2, 30, 1], [0, 0, 1]])).interval("macro_f1").note
    assert "never seen" not in snap([[40, 1], [1, 0]]).interval("macro_f1").note
