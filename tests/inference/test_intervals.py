"""`Snapshot.interval`: what it gives for every metric, at the edges too, and what it refuses."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.refusals import all_refused, refused
from support.values import html, snapshot, with_interval

import stream_metrics as sm

pytestmark = pytest.mark.quick
METRICS = sm.metrics()
MATRIX = [[240, 20, 10], [30, 300, 40], [9, 50, 310]]
ABC = list("abc")


def scored(n: int = 400, classes: int = 3) -> sm.Snapshot:
    """Return the snapshot of a set with scores."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, classes, n)
    scores = rng.normal(size=(n, classes))
    scores[np.arange(n), truth] += 1.5
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    state = sm.MetricSet(scores=True)
    state.update_many(truth, scores=shares, classes=list(range(classes)))
    return state.snapshot()


def each(actual: Any) -> list[sm.Interval]:
    """Return the intervals of all classes, or the one that there is."""
    return list(actual.values()) if isinstance(actual, dict) else [actual]


def test_every_metric_has_an_interval_or_a_reason() -> None:
    """Around its value and within its range, no point; otherwise an error says why not."""
    taken, failures, kinds = scored(150), [], set()
    for key in METRICS:
        try:
            intervals = each(taken.interval(key, draws=10))
        except ValueError as error:
            failures += [] if f"{key!r} has none: " in str(error) else [(key, str(error))]
            continue
        kinds |= {one.method for one in intervals}
        low, high = METRICS[key].range
        for one in intervals:
            inside = low <= one.low <= one.value <= one.high <= high and one.low < one.high
            failures += [] if inside else [(key, one)]

    assert not failures
    assert {"wilson", "delta", "delong", "influence", "student", "band", "noncentral", "posterior"} <= kinds


WITH_INTERVAL = with_interval()


def assert_inside(matrix: Any, options: list[dict[str, Any]]) -> None:
    """Assert that no interval is a point, leaves its range or its value out; undefined ones have no ends."""
    taken, failures = snapshot(matrix), []
    for key, chosen in itertools.product(WITH_INTERVAL, options):
        if chosen.get("valid") == "anytime" and key == "cramers_v":
            continue
        low, high = METRICS[key].range
        for one in each(taken.interval(key, draws=20, **chosen)):
            if not math.isnan(one.low) and not (low <= one.low <= one.value <= one.high <= high and one.low < one.high):
                failures.append((matrix, key, chosen, one))
    assert not failures


CELLS = st.integers(1, 4).flatmap(
    lambda k: st.lists(st.lists(st.integers(0, 3), min_size=k, max_size=k), min_size=k, max_size=k)
)


@given(CELLS)
def test_ranges_are_kept_by_any_few_counts(matrix: list[list[int]]) -> None:
    """For any counts, ends stay within the range of the metric and around its value."""
    assert_inside(matrix, [{}])


def test_there_is_always_doubt() -> None:
    """One sample, one class, no errors, independence, a coin that is no worse than chance: at one look and at all."""
    for matrix in ([[1]], [[200]], [[1, 0], [0, 1]], [[30, 0], [0, 0]], [[8, 2], [0, 0]], [[10, 20], [10, 20]],
                   [[9801, 99], [100, 0]], [[40, 0, 0], [0, 30, 0], [0, 0, 50]], [[0, 10], [10, 0]]):  # fmt: skip
        assert_inside(matrix, [{}, {"valid": "anytime"}])
    coin = snapshot([[9801, 99], [100, 0]]).interval("matthews_corrcoef", valid="anytime")
    assert coin.low < 0 < coin.high  # type: ignore[union-attr]


def test_undefined_values_have_no_bounds() -> None:
    """0/0 is no value to be sure of: of a class, of the whole, of no samples, of a function."""
    taken, empty = snapshot([[5, 0], [3, 0]]), sm.ConfusionMatrix(labels=["a", "b"]).snapshot()
    precision = taken.interval("precision")[1]
    actual = [precision, taken.interval("matthews_corrcoef"), empty.interval("accuracy")]
    for valid in ("fixed", "anytime"):
        actual += each(empty.interval("p4", valid=valid))
    actual.append(empty.interval(lambda c: c.hits / c.total if c.total else math.nan))
    actual.append(taken.interval(lambda c: math.nan if c.hits == 5 else c.hits / c.total, draws=50))

    assert (precision.value, precision.n) == (0.0, 0)
    assert all(math.isnan(one.low) and math.isnan(one.high) for one in actual)


def test_levels_nest() -> None:
    """A higher level is a wider interval."""
    for key in ("weighted_recall", "macro_f1", "f1_ovo"):
        one, two, three = (snapshot(MATRIX).interval(key, x) for x in (0.5, 0.9, 0.999))
        assert three.low < two.low < one.low < one.high < two.high < three.high


def test_a_function_of_counts() -> None:
    """A user's formula by drawn matrices agrees with the delta method; with few counts a jackknife is beside it."""
    taken, few = snapshot(MATRIX), snapshot([[30, 1], [0, 30]])

    def kappa(c: Any) -> float:
        chance = float(c.true_totals @ c.predicted_totals) / c.total**2
        return (float(c.hits) / c.total - chance) / (1 - chance)

    delta, drawn = taken.interval("cohen_kappa"), taken.interval(kappa, draws=400)
    assert drawn.value == pytest.approx(delta.value)
    assert drawn.se == pytest.approx(delta.se, rel=0.15)
    assert tuple(drawn) == pytest.approx(tuple(delta), abs=0.3 * delta.se)
    assert few.interval(lambda c: c.hits / c.total, draws=20).method == "posterior"
    assert few.interval(lambda _: 1.0, draws=20).note == "every draw gives this value"


def test_options_and_labels() -> None:
    """F-beta with beta 1 is about F1; another beta has another value; a label picks a class."""
    taken: Any = snapshot(MATRIX, ABC)
    plain = taken.interval("f1")
    for label, one in taken.interval("fbeta", beta=1.0).items():
        assert (one.value, *one) == pytest.approx((plain[label].value, *plain[label]), abs=0.01)
    for key, label in (("macro_fbeta", None), ("fbeta", "c")):
        actual = taken.interval(key, label=label, beta=2.0, draws=50)
        assert actual.value == taken.value(key, label=label, beta=2.0)
    classes = [key for key in WITH_INTERVAL if METRICS[key].kind == "per_class"]
    for key, options in itertools.product(classes, ({}, {"valid": "anytime"})):
        actual = taken.interval(key, **options)
        assert list(actual) == ABC
        assert taken.interval(key, label="b", **options) == actual["b"]


def test_questions_without_an_answer_are_refused() -> None:
    """What is allowed, and what came; weights, functions and windows have reasons of their own."""
    taken, areas = snapshot(MATRIX), scored(60)
    calls = [
        (lambda o=options: taken.interval("accuracy", **o), ValueError, about)
        for options, about in (
            ({"level": 1.0}, "`level`"), ({"level": 95}, "`level`"), ({"valid": "always"}, "'fixed' or 'anytime'"),
            ({"method": "wald"}, "no options"), ({"t_opt": 0, "valid": "anytime"}, "`t_opt`"),
            ({"draws": 1}, "`draws`"),
        )
    ]  # fmt: skip
    calls += [
        (lambda: taken.interval("recall", label="z"), KeyError, "'z'"),
        (lambda: taken.interval("accuracy", label=0), KeyError, "one value"),
        (lambda: taken.interval("cramers_v", valid="anytime"), ValueError, "valid='fixed' for 'cramers_v'"),
        (lambda: taken.interval(lambda c: 0.5, valid="anytime"), ValueError, "valid='fixed' for a function"),
        (lambda: taken.with_intervals(2), ValueError, "`level`"),
        (lambda: areas.interval("roc_auc_ovr", label=1), KeyError, "no label for 'roc_auc_ovr'"),
        (lambda: areas.interval("roc_auc", max_fpr=0.5), ValueError, "no options for 'roc_auc'"),
        (lambda: areas.interval("ks_statistic", label=1, valid="anytime"), ValueError, "'ks_statistic'"),
    ]
    all_refused(calls)
    for weights in ([2, 2], [0.5, 1.0], [0, 1]):
        state = sm.ConfusionMatrix()
        state.update_many(["a", "a"], ["b", "b"], weights)
        refused(lambda state=state: state.snapshot().interval("accuracy"), ValueError, "the weight 1")  # type: ignore[misc]


def test_many_classes_are_refused_before_they_are_counted_for_hours() -> None:
    """The error names the limit, and a snapshot that shows intervals leaves the metric out."""
    taken = snapshot(np.eye(200, dtype=int), keys=("generalized_mcc", "accuracy"))

    refused(lambda: taken.interval("generalized_mcc"), ValueError, "128 classes for an interval of 'generalized_mcc'")
    assert taken.with_intervals().to_dict()["intervals"]["metrics"].keys() == {"accuracy"}


def test_anytime_holds_one_look() -> None:
    """The price of looking always is a wider interval, for every metric that has both."""
    taken, seen = scored(), 0
    for key in METRICS:
        try:
            always, once = each(taken.interval(key, valid="anytime")), each(taken.interval(key, draws=20))
        except ValueError:
            continue
        seen += 1
        for wide, narrow in zip(always, once, strict=True):
            inside = wide.low <= narrow.low <= narrow.high <= wide.high
            wider = wide.high - wide.low > 1.2 * (narrow.high - narrow.low)
            assert wider if wide.method == "asymptotic" else inside, key
    assert seen > 60


def test_a_set_can_show_intervals_from_the_start() -> None:
    """No samples, one, or all of one class: reports and data are written, and no interval leaves out its value."""
    for seen, valid in itertools.product(((), (True,), (True, True), (True, False)), ("fixed", "anytime")):
        state = sm.MetricSet(scores=True)
        for truth in seen:
            state.update(truth, 0.9 if truth else 0.2)
        shown = state.snapshot().with_intervals(valid=valid)
        assert str(shown)
        assert html(shown)
        for one in json.loads(shown.to_json())["intervals"]["metrics"].values():
            assert one["low"] is None or one["low"] <= one["high"]


def test_a_window_has_no_interval_of_all_looks() -> None:
    """Also after pickling, narrowed to other metrics, and in groups; for one look it has one."""
    inner: Any
    for inner, n in (
        (sm.Rolling(sm.MetricSet(), window=50), 50),
        (sm.TimeWindow(sm.MetricSet(), 100, panes=10), 80),
        (sm.Fading(sm.MetricSet(), half_life=100), None),
        (sm.ByGroup(sm.Rolling(sm.MetricSet(), window=50)), 50),
        (sm.Rolling(sm.ByGroup(sm.MetricSet()), window=50), 50),
    ):
        timed, grouped = isinstance(inner, sm.TimeWindow), "ByGroup" in repr(inner)
        for i in range(80):
            inner.update(i % 2, (i % 2) ^ (i % 7 == 0), **({"t": 1} if timed else {"group": "g"} if grouped else {}))
        taken = inner.snapshot()["g"] if grouped else inner.snapshot()
        for view in (taken, pickle.loads(pickle.dumps(taken))):
            for call in (partial(view.interval, "accuracy"), view.with_intervals):
                refused(partial(call, valid="anytime"), ValueError, "valid='fixed' for a window")
        assert n is None or taken.interval("accuracy").n == n


def test_few_cells_choose_another_method() -> None:
    """From ten of each kind in each class, or an influence of ten samples, the delta method; below the posterior."""
    chosen = [
        ("macro_f1", [[180, 15], [10, 10]], "delta"),
        ("macro_f1", [[180, 16], [5, 14]], "delta"),
        ("macro_f1", [[180, 1], [2, 4]], "posterior"),
        ("macro_f1", [[100, 1], [1, 91]], "posterior"),
        ("balanced_accuracy", [[300, 10], [10, 10]], "delta"),
        ("balanced_accuracy", [[300, 10], [1, 19]], "posterior"),
        ("balanced_accuracy", [[188, 2], [0, 10]], "posterior"),
        ("balanced_accuracy", [[2600, 300], [0, 30]], "posterior"),  # rests on a class without a miss
        ("cohen_kappa", [[2600, 300], [0, 30]], "delta"),  # rests on the false alarms
        ("accuracy", [[3000, 300], [1, 19]], "wilson"),
        ("accuracy", [[300, 10], [1, 19]], "clopper_pearson"),
    ]
    failures = [case for case in chosen if snapshot(case[1]).interval(case[0]).method != case[2]]
    rare = snapshot([[9801, 99], [100, 0]])

    assert not failures
    for one in (rare.interval("matthews_corrcoef"), *rare.interval("ova_matthews_corrcoef").values()):
        assert one.method == "posterior"  # of two classes the MCC of each is that of the matrix
        assert one.low < 0 < one.high


def test_notes_are_shown() -> None:
    """In text, HTML, JSON and groups, of areas too: a question mark behind the interval, and the reason below."""
    groups, scored = sm.ByGroup(sm.MetricSet()), sm.MetricSet(scores=True)
    for i in range(60):
        groups.update("a", "a", group="only a")
        groups.update("ab"[i % 2], "ab"[i % 2 ^ (i % 5 == 0)], group="both")
    rng, truth = np.random.default_rng(0), np.arange(200) % 40 == 0
    scored.update_many(truth, scores=np.clip(rng.random(200) + 0.3 * truth, 0, 1))
    shown, areas = groups.snapshot().with_intervals(), scored.snapshot().with_intervals()
    one = shown["only a"]

    for text in (one.report(100), html(one), shown.report(120)):
        assert "]?" in text
        assert "not to be trusted, only one class has samples" in text
    assert "]?" not in shown["both"].report(100)
    data = json.loads(one.to_json())["intervals"]["metrics"]
    assert data["macro_f1"]["note"].startswith("only one class")
    assert "note" not in data["accuracy"]
    assert "fewer than 10 samples" in areas.interval("roc_auc", label=True).note  # type: ignore[union-attr]
    for text in (areas.report(100), html(areas)):
        assert "?: not to be trusted, a class has fewer than" in text


def test_classes_never_seen_are_said() -> None:
    """Where several classes occurred once, others exist that did not; the note says how many samples they are."""
    matrix = np.diag([40, 30, 20, 1, 1, 1, 1]) + np.eye(7, k=1, dtype=int) * [0, 3, 3, 3, 0, 0, 0]
    matrix[0, 1] = 5
    single, taken = np.count_nonzero(matrix.sum(1) == 1), snapshot(matrix)
    share = f"about {100 * single / matrix.sum():.2g} % of samples are of classes never seen"

    assert single == 4
    assert share in taken.interval("macro_f1").note
    assert share in taken.interval("balanced_accuracy").note
    assert "never seen" not in snapshot([[40, 3, 1], [2, 30, 1], [0, 0, 1]]).interval("macro_f1").note
    assert "never seen" not in snapshot([[40, 1], [1, 0]]).interval("macro_f1").note


@pytest.mark.quick
@pytest.mark.parametrize("valid", ["fixed", "anytime"])
def test_a_mean_includes_what_absent_classes_may_be(valid: Any) -> None:
    """A perfect classifier of four of five classes may be one of all five; a note says so, with units too."""
    truth = np.arange(400) % 4
    for unit in (None, truth) if valid == "fixed" else (None,):
        state = sm.MetricSet(labels=range(5))
        state.update_many(truth, truth, unit=unit)
        for key in ("macro_f1", "macro_recall", "general_f1_geometric", "ovo"):
            interval = state.snapshot().interval(key, valid=valid)
            assert interval.value <= 0.8 < 1 - 1e-9 <= interval.high <= 1
            assert "1 of 5 classes has not occurred" in interval.note
        assert "occurred" not in state.snapshot().interval("accuracy", valid=valid).note

    wrong = np.where(np.arange(400) % 7 == 0, (truth + 1) % 4, truth)
    four, five = (sm.evaluate(truth, wrong, labels=range(k)) for k in (4, 5))
    noted = set[str]()
    for key in (key for key, row in sm.metrics().items() if row.kind == "whole"):
        with contextlib.suppress(ValueError, KeyError):  # metrics without an interval, or of scores
            interval: Any = five.interval(key, valid=valid)
            if "occurred" in interval.note:
                noted.add(key)
            assert (key in noted) != math.isclose(four[key], five[key], rel_tol=1e-9), key
    assert len(noted) == 23


def test_the_bias_of_precisions_by_support_is_taken_off() -> None:
    """Hits are in the precision of a class and in its weight: of 200 classes without this, 4 of 10 intervals hold."""
    draws, k = np.random.default_rng(0), 200
    cells = np.where(np.eye(k), 0.7, 0.3 / (k - 1)).ravel() / k
    matrices = (draws.multinomial(2000, cells).reshape(k, k) for _ in range(40))
    intervals = [sm.ConfusionMatrix.from_matrix(m).snapshot().interval("weighted_precision") for m in matrices]
    assert sum(0.7 in interval for interval in intervals) >= 34
