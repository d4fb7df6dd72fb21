"""Intervals of one proportion, for one look and for all: exact coverage and sums; running ones are intersections."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.refusals import refused
from support.values import snapshot

import stream_metrics as sm

pytestmark = pytest.mark.quick
ALPHA = 0.05


def bounds(x: int, n: int, **options: Any) -> tuple[float, float]:
    """Return the interval of an accuracy of x of n."""
    actual = snapshot([[x, n - x], [0, 0]]).interval("accuracy", 1 - ALPHA, **options)
    return actual.low, actual.high


def binomial(n: int, p: float) -> np.ndarray[Any, Any]:
    """Return the probabilities of 0 to n successes."""
    logs = [math.lgamma(n + 1) - math.lgamma(x + 1) - math.lgamma(n - x + 1) for x in range(n + 1)]
    x = np.arange(n + 1)
    return np.exp(np.array(logs) + x * math.log(p) + (n - x) * math.log1p(-p))


def test_clopper_pearson_is_the_exact_binomial_sum() -> None:
    """With few hits or misses the tail beyond the observed count has the probability alpha / 2 at each end."""
    for n in (5, 39):
        for x in range(1, n):
            low, high = bounds(x, n)
            assert binomial(n, low)[x:].sum() == pytest.approx(0.025, rel=1e-9)
            assert binomial(n, high)[: x + 1].sum() == pytest.approx(0.025, rel=1e-9)


@pytest.mark.parametrize("n", [20, 30, 100])
def test_exact_coverage(n: int) -> None:
    """Coverage over p from .002 to .998, summed exactly, is at least 93.5 %."""
    low, high = np.array([bounds(x, n) for x in range(n + 1)]).T
    hits = [binomial(n, p)[(low <= p) & (p <= high)].sum() for p in np.linspace(0.002, 0.998, 499).tolist()]

    assert min(hits) >= 0.935


def test_ends() -> None:
    """Nothing of n starts at 0, all of n ends at 1, and the other end is honest; no data, no ends; counts are large."""
    for n in (1, 7, 1000):
        none, everything = bounds(0, n), bounds(n, n)
        assert (none[0], everything[1]) == (0.0, 1.0)
        assert none[1] > 1.5 / (n + 1)
        assert everything[0] == pytest.approx(1 - none[1], abs=1e-12)
    assert np.isnan([bounds(0, 0), bounds(0, 0, valid="anytime")]).all()
    low, high = bounds(2**58, 2**60)
    assert high - low == pytest.approx(2 * 1.959963984540054 * math.sqrt(0.25 * 0.75 / 2**60), rel=1e-4)
    for one in snapshot([[2**60, 1], [1, 2**58]]).interval("recall", valid="anytime").values():
        assert one.low <= one.value <= one.high < one.low + 1e-15
    assert [round(end, 4) for end in bounds(81, 263)] == [0.2553, 0.3662]  # Newcombe 1998, table I, method 3


def test_the_default_is_exact_where_hits_or_misses_are_few() -> None:
    """Below 20 of either kind; from there Wilson's interval."""
    for x, n, method in ((20, 40, "wilson"), (19, 40, "clopper_pearson"), (500, 519, "clopper_pearson")):
        assert snapshot([[x, n - x], [0, 0]]).interval("accuracy").method == method


def test_rates_of_classes_are_proportions() -> None:
    """Recall and precision take x of n, equal ones too; F1 and Jaccard indices follow from a proportion."""
    taken = snapshot([[240, 20, 10], [30, 300, 40], [9, 50, 310]], list("abc"))
    recalls = [(one.low, one.high) for one in taken.interval("recall").values()]
    below, above = bounds(240, 270 + 279 - 240)
    f1, jaccard = taken.interval("f1", label="a"), taken.interval("micro_jaccard")
    many = snapshot(np.diag([7] * 30 + [9] * 30) + np.eye(60, k=1, dtype=int))

    assert recalls == [bounds(240, 270), bounds(300, 370), bounds(310, 369)]
    assert (f1.low, f1.high) == pytest.approx((2 * below / (1 + below), 2 * above / (1 + above)))
    assert f1.n == 309
    accuracy, loss = taken.interval("accuracy"), taken.interval("zero_one_loss")
    assert (1 - loss.high, 1 - loss.low) == pytest.approx((accuracy.low, accuracy.high))
    assert jaccard.low == pytest.approx(bounds(850, 1009)[0] / (2 - bounds(850, 1009)[0]))
    for options in ({}, {"valid": "anytime"}):
        each = list(many.interval("recall", **options).values())
        assert (each[3].low, each[3].high) == bounds(7, 8, **options)  # type: ignore[arg-type]
        assert (each[40].low, each[40].high) == bounds(9, 10, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("t_opt", [None, 30.0, 1000.0])
def test_a_sequence_ends_where_the_mixture_is_20(t_opt: float | None) -> None:
    """At an end that is not 0 or 1 the mixture martingale is 1 / alpha; tuned ones are narrower from there."""
    betaln = pytest.importorskip("scipy.special", reason="SciPy is the oracle here and is not installed").betaln

    for x, n in ((3, 10), (1, 1), (0, 1), (0, 7), (7, 7), (500, 1000), (20, 1000), (10, 10**6), (1, 10**7)):
        low, high = bounds(x, n, valid="anytime", t_opt=t_opt)
        assert 0 <= low <= x / n <= high <= 1
        for p in (low, high):
            if 0 < p < 1:
                a = b = 0.5
                if t_opt is not None:
                    reach = 2 * math.log(20)
                    c = t_opt / (reach + math.log1p(reach))
                    a, b = c * p, c * (1 - p)
                log = betaln(a + x, b + n - x) - betaln(a, b) - x * math.log(p) - (n - x) * math.log1p(-p)
                assert log == pytest.approx(math.log(20), abs=1e-6)
    if t_opt == 1000:
        plain, tuned = bounds(500, 1000, valid="anytime"), bounds(500, 1000, valid="anytime", t_opt=t_opt)
        assert tuned[1] - tuned[0] < 0.87 * (plain[1] - plain[0])


@pytest.mark.parametrize(("p", "t_opt"), [(0.5, None), (0.1, 30.0)])
def test_watching_a_proportion_is_ever_wrong_as_seldom_as_promised(p: float, t_opt: float | None) -> None:
    """The exact probability over 60 looks, by recursion over the counts; the claim is 5 %."""
    chances, wrong = np.array([1.0]), 0.0
    for n in range(1, 61):
        chances = np.append(chances * (1 - p), 0.0) + np.append(0.0, chances * p)
        for x, chance in enumerate(chances.tolist()):
            low, high = bounds(x, n, valid="anytime", t_opt=t_opt) if chance > 1e-12 else (0, 1)
            if not low <= p <= high:
                wrong, chances[x] = wrong + chance, 0.0

    assert 0.0001 < wrong < ALPHA


def looked(times: int, *matrix: list[int]) -> sm.Snapshot:
    """Return the snapshot of some times the counts."""
    return snapshot(times * np.array(matrix or [[60, 10], [5, 25]]), ["a", "b"])


def test_it_is_the_intersection_of_all_looks() -> None:
    """Ends are the largest lower and the smallest upper end so far, also if the last look has others."""
    for key, label in (("accuracy", None), ("recall", "b"), ("macro_f1", None), ("matthews_corrcoef", None)):
        running, low, high = sm.RunningInterval(key, label=label), -math.inf, math.inf
        for times in (1, 3, 4, 10, 11, 30):
            alone = looked(times).interval(key, label=label, valid="anytime")
            low, high = max(low, alone.low), min(high, alone.high)
            assert running.look(looked(times)) == replace(alone, low=low, high=high), key
        assert (running.n, running.looks) == (3000, 6)


def test_running_ends_are_where_the_mixture_refutes() -> None:
    """Of accuracy: the largest and smallest roots of the beta-binomial mixture over all looks, by bisection."""

    def root(x: int, n: int, end: float) -> float:
        def log_beta(a: float, b: float) -> float:
            return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)

        inside, outside = x / n, end
        for _ in range(60):
            p = (inside + outside) / 2
            log_wealth = log_beta(x + 0.5, n - x + 0.5) - math.log(math.pi) - x * math.log(p) - (n - x) * math.log1p(-p)
            inside, outside = (inside, p) if log_wealth >= -math.log(ALPHA) else (p, outside)
        return inside

    running, counts = sm.RunningInterval("accuracy"), [(7, 10), (30, 50), (100, 130), (160, 200), (260, 400)]
    for looks, (x, n) in enumerate(counts, 1):
        actual = running.look(snapshot([[x, n - x], [0, 0]]))
        assert actual.low == pytest.approx(max(root(*pair, 0.0) for pair in counts[:looks]), abs=1e-9)
        assert actual.high == pytest.approx(min(root(*pair, 1.0) for pair in counts[:looks]), abs=1e-9)


def test_nothing_is_left_of_a_population_that_changes() -> None:
    """Looks that contradict each other have no interval, and say why; so have later ones."""
    running = sm.RunningInterval("accuracy")
    running.look(looked(30))
    for times in (200, 300):
        actual = running.look(looked(times, [10, 50], [30, 10]))
        assert np.isnan([*actual]).all()
        assert actual.note.startswith("no value was in all intervals so far")
    assert sm.from_bytes(running.to_bytes()) == running


def test_it_goes_through_bytes_and_copies() -> None:
    """A restored interval goes on where it was; copies are independent; a reset forgets."""
    running = sm.RunningInterval("recall", 0.9, label="b", t_opt=500)
    running.look(looked(2))
    again, copied = sm.from_bytes(running.to_bytes()), running.copy()

    assert again == copied == pickle.loads(pickle.dumps(running)) == running
    assert again.look(looked(3)) == running.look(looked(3))
    assert again == running != copied
    assert repr(again) == "RunningInterval(recall of 'b', 90 %, 2 looks, 300 samples)"
    again.reset()
    assert again == sm.RunningInterval("recall", 0.9, label="b", t_opt=500)


def test_what_is_refused() -> None:
    """Shards, other streams and metrics without a sequence are errors, and nothing has changed."""
    running, weighted = sm.RunningInterval("accuracy"), sm.ConfusionMatrix()
    running.look(looked(3))
    before = running.to_bytes()
    weighted.update_many(["a"] * 400, ["a"] * 400, [0.5] * 400)

    refused(lambda: running.merge(sm.RunningInterval("accuracy")), sm.MergeError, "merge the counts")
    refused(lambda: running.look(looked(1)), ValueError, "100 samples after 300")
    refused(lambda: running.look(weighted.snapshot()), ValueError, "weight 1")
    assert running.to_bytes() == before
    for key, label in (("accuracy", "a"), ("recall", None), ("cramers_v", None), ("chi2", None)):
        refused(lambda key=key, label=label: sm.RunningInterval(key, label=label), ValueError)  # type: ignore[misc]
    refused(lambda: sm.RunningInterval("accuracy", 1.5), ValueError, "level")
    refused(lambda: sm.RunningInterval("accuracy", t_opt=-1), ValueError, "t_opt")


def test_bytes_of_format_1_stay_readable() -> None:
    """Bytes that were once written are read, and written again."""
    written = bytes.fromhex(
        "534d455401dcba595692a772756e6e696e6798a6726563616c6ccb3feccccccccccccda162cb407f400000000000cd012c02"
        "cb3fd0000000000000cb3fe8000000000000"
    )
    running = sm.from_bytes(written)

    assert (running.key, running.level, running.label, running.t_opt) == ("recall", 0.9, "b", 500.0)
    assert (running.n, running.looks) == (300, 2)
    assert running.to_bytes() == written
