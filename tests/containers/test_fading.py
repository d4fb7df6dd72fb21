"""Fading against sums of weights computed from scratch, by count and by time, one by one and merged."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.changed_bytes import content_of, rewritten
from support.refusals import all_refused, refused
from support.state_checks import fed

import stream_metrics as sm

MOST = 2**63 - 3  # samples that a state can count
SECOND = 10**9  # nanoseconds
FIRST, REACH = {"fine": -54, "coarse": -14}, {"fine": 40, "coarse": 24}  # of the wire format: where stretches begin
OF_WEIGHT = {  # values that depend on the unit of weights
    "tp_sum", "fn_sum", "fp_sum", "tn_sum", "chi2", "mcnemar", "mcnemar_p_value", "majority_p_value",
    "pair_fowlkes_mallows",
}  # fmt: skip
MAKES: dict[str, tuple[Callable[[], Any], float]] = {  # with the relative error that is promised
    "labels": (sm.MetricSet, 1e-12),
    "losses": (sm.CrossEntropy, 1e-12),
    "scores": (lambda: sm.MetricSet(scores=True, buckets=4096), 1e-6),
}


def sample(rng: random.Random, soft: bool) -> tuple[Any, Any, float]:
    """Return a sample of a stream whose model gets worse, binary with scores or of three classes."""
    weight = rng.choice([1, 1, 1, 2, 0.25])
    if soft:
        truth = rng.random() < 0.4
        return truth, min(max(rng.gauss(0.6 if truth else 0.4, 0.25), 0.001), 0.999), weight
    truth = rng.choice("abc")
    return truth, truth if rng.random() < 0.7 else rng.choice("abc"), weight


def by_hand(make: Callable[[], Any], stream: list[tuple[float, tuple[Any, Any, float]]], now: float) -> Any:
    """Return a fresh state fed with faded weights; ages in half-lives; times 2^20, so that sketches can hold them."""
    return fed(make(), [(y_true, y_pred, w * 2.0 ** (place - now + 20)) for place, (y_true, y_pred, w) in stream])


def values(state: Any) -> dict[str, float]:
    """Return every value of a state by name, but those that depend on the unit of weights."""
    snapshot = state.snapshot()
    numbers = {key: snapshot[key] for key in snapshot if isinstance(snapshot[key], float)}
    return {key: value for key, value in numbers.items() if key not in OF_WEIGHT and key[:3] not in ("cov", "nir")}


@pytest.mark.parametrize("case", MAKES)
@pytest.mark.parametrize("half_life", [7, 50.5, 1000])
def test_by_count_values_are_those_of_faded_weights(case: str, half_life: float) -> None:
    """At every two hundredth sample, over many half-lives, every value is that of weights 2^(-age / half-life)."""
    make, error = MAKES[case]
    rng = random.Random(5)
    fading, stream = sm.Fading(make(), half_life), []
    for i in range(1, 2001):
        drawn = sample(rng, case != "labels")
        fading.update(*drawn)
        stream.append((i / half_life, drawn))
        if i % 200 == 0 or i < 5:
            expected = values(by_hand(make, stream, i / half_life))
            assert values(fading.merged()) == pytest.approx(expected, rel=error, abs=error, nan_ok=True)


INNER: dict[str, tuple[Callable[[], Any], Callable[[random.Random, str], tuple[Any, ...]]]] = {
    "labels": (sm.MetricSet, lambda rng, label: (label, rng.choice(["a", "b", ("c", 1), None]))),
    "fixed labels": (lambda: sm.ConfusionMatrix(["a", "b"]), lambda rng, label: (label, rng.choice("ab"))),
    "scored set": (
        lambda: sm.MetricSet(scores=True, buckets=16),
        lambda rng, label: (label, {"a": round(rng.random(), 2), "b": 0.5}) if rng.random() < 0.9 else (label, "b"),
    ),
    "area": (lambda: sm.ROCAUC(pos_label="a"), lambda rng, label: (label, rng.random())),
}
SECONDS = {"1s": 1, "30d": 30 * 86400, "9000d": 9000 * 86400}


@pytest.mark.parametrize("case", INNER)
def test_states_are_sums_of_scaled_weights(case: str) -> None:
    """To the byte: each state counts every sample since its stretch began, with the weight that its place has there."""
    make, draw = INNER[case]
    grain = "fine" if "labels" in case else "coarse"
    for half_life in (3, 7.3, 0.3, 10**15, *SECONDS):
        rng, now, by_time = random.Random(3), 1_700_000_000.0, half_life in SECONDS
        fading = sm.Fading(make(), half_life)
        half = SECONDS[half_life] * SECOND if by_time else half_life
        stretch = half * REACH[grain]
        states: dict[int, Any] = {}
        dropped = latest = 0
        for i in range(1, 400):
            now += rng.random() * rng.choice([0.1, 1, 1, 50]) * (1 if half_life == "1s" else 1e5)
            t = round(now - rng.choice([0, 0, 0, 45]), 6)
            place = math.floor(t) * SECOND + round(t % 1 * 1e9) if by_time else i
            w = rng.choice([1, 1, 0, 3, 0.1, 10**5 + 1])
            drawn = draw(rng, "".join(rng.choice("ab")))
            fading.update(*drawn, w, **({"t": t} if by_time else {}))
            latest = max(latest, place)
            newest, own = int(latest // stretch), int(place // stretch)
            dropped += own < newest - 1
            for n in (newest - 1, newest):
                if own >= n:
                    scale = 2.0 ** ((place - n * stretch) / half + FIRST[grain])
                    states.setdefault(n, make()).update(*drawn, w * scale)
            states = {n: state for n, state in states.items() if n >= newest - 1}
            if i % 19 == 0 or i < 5:
                expected = [[n, content_of(state)] for n, state in sorted(states.items())]
                assert repr(content_of(fading)[4]) == repr(expected)
        assert fading.dropped == dropped
        assert sm.from_bytes(fading.to_bytes()).to_bytes() == fading.to_bytes()


@pytest.mark.parametrize("groups", [False, True])
def test_a_sample_that_one_state_refuses_is_counted_by_none(groups: bool) -> None:
    """A state that has just begun does not know the class beside `pos_label`, which the older one has seen."""
    inner = sm.MetricSet(scores=True, pos_label="yes")
    fading, expected = (sm.Fading(sm.ByGroup(inner) if groups else inner, half_life=1) for _ in range(2))
    more = {"group": "north"} if groups else {}
    for label in ["yes", "no"] * 11 + ["no"]:
        fading.update(label, 0.9, **more)
        expected.update(label, 0.9, **more)
    refused(lambda: fading.update("yes", 0.2, **more), sm.ScoreError, "class beside 'yes' is not known")

    assert fading == expected
    for label in ("no", "yes"):
        fading.update(label, 0.2, **more)
    assert fading.n == 25


@pytest.mark.quick
def test_weights_are_shown_as_of_now() -> None:
    """A sample of now counts 1, one of a half-life ago 1/2, at whatever time it is read."""
    fading = sm.Fading(sm.MetricSet(scores=True), "10s")
    fading.update(True, 0.9, t=0)
    fading.update(False, 0.6, t=10)
    snapshot = fading.snapshot()

    assert snapshot.confusion_matrix == pytest.approx(np.array([[0, 1], [0, 0.5]]))
    assert snapshot.weight == pytest.approx(1.5, rel=1e-15)
    assert fading.snapshot(t=20).weight == pytest.approx(0.75, rel=1e-15)
    assert snapshot["log_loss"] == pytest.approx((-math.log(0.9) / 2 - math.log(0.4)) / 1.5, rel=1e-12)
    assert (fading.n, snapshot.n, fading.latest) == (2, 2, 10.0)
    refused(lambda: fading.snapshot(t=9), ValueError, "not to be before the latest time")


@pytest.mark.quick
def test_by_count_batches_are_updates() -> None:
    """A batch ages what came before by its length, which may be 0, and its own rows by their places, to the byte."""
    rng = random.Random(8)
    stream = [sample(rng, False) for _ in range(500)]
    single, batch = fed(sm.Fading(sm.MetricSet(), 3), stream), sm.Fading(sm.MetricSet(), 3)
    for start, end in ((0, 1), (1, 40), (40, 41), (41, 500)):
        batch.update_many(*(list(column) for column in zip(*stream[start:end], strict=True)))
        batch.update_many([], [])

    assert sm.from_bytes(single.to_bytes()) == batch == single


@pytest.mark.quick
def test_by_count_a_merge_lays_shards_side_by_side() -> None:
    """The last samples of both are of the same age, in either order of merging."""
    a, b = (fed(sm.Fading(sm.ConfusionMatrix(), 1), rows) for rows in (["xx", "xx", "aa"], ["bb"]))
    merged = a.copy().merge(b)

    assert merged == b.copy().merge(a)
    assert merged.merged().matrix.diagonal() == pytest.approx([1, 0.25, 0.75])  # b was its shard's first of three


@pytest.mark.quick
def test_there_is_room_for_the_weights_that_are_promised() -> None:
    """Weights of 2^36 (2^28 with scores) at the end of a stretch are counted; what is too much is refused."""
    for inner, w, end in ((sm.ConfusionMatrix(), 2.0**36, 80), (sm.MetricSet(scores=True), 2.0**28, 48)):
        fading = sm.Fading(inner, "1s")
        fading.update(True, True, w, t=end - 0.001)
        before = fading.to_bytes()
        assert fading.snapshot().weight == pytest.approx(w, rel=1e-12)
        refused(lambda: fading.update(True, True, 2 * w, t=end - 0.001), sm.WeightError)  # noqa: B023
        assert fading.to_bytes() == before


@pytest.mark.quick
def test_what_makes_no_sense_is_refused() -> None:
    """With the reason, and with the row and the weight that were given, though rows before it are too old to count."""
    by_count, by_time = sm.Fading(sm.MCC(), 10), sm.Fading(sm.MCC(), "1s")
    all_refused([
        (lambda: sm.Fading(sm.TimeWindow(sm.MCC(), "1m"), 10), ValueError, "a TimeWindow, which forgets"),
        (lambda: sm.Fading(sm.Fading(sm.MCC(), 10), 10), ValueError, "a Fading, which forgets"),
        (lambda: sm.Fading(sm.Rolling(sm.MCC(), 10), 10), ValueError, "a Rolling, which forgets"),
        *((lambda x=x: sm.Fading(sm.MCC(), x), ValueError, "`half_life`") for x in (0, 0.009, 2e15, True, "ten", None)),
        (lambda: by_count.update(1, 1, t=3), ValueError, "no `t` where samples fade by count"),
        (lambda: by_count.merge(by_time), sm.MergeError, "half_life"),
        (lambda: by_count.merge(sm.Fading(sm.MCC(), "10s")), sm.MergeError, "but got 10 in one and '10s'"),
    ])  # fmt: skip
    errors = [
        refused(lambda: by_count.update(1, 1, -1), sm.WeightError),
        refused(lambda: by_count.update_many([1, 1], [1, 1], [1, -0.5]), sm.WeightError),
        refused(lambda: by_time.update_many([1] * 3, [1, 1, float("inf")], t=[0, 1000, 1000]), sm.LabelError),
    ]
    assert [(error.argument, error.position, error.got) for error in errors] == [
        ("w", None, -1), ("w", 1, -0.5), ("y_pred", 2, float("inf")),
    ]  # fmt: skip
    assert by_count == sm.Fading(sm.MCC(), 10.0)
    assert by_time == sm.Fading(sm.MCC(), "1s")


def test_by_count_the_number_of_samples_has_a_limit() -> None:
    """The position of the last sample fits into 64 bits; one more is refused, alone and in a batch."""
    fading = sm.Fading(sm.MCC(), 10)
    fading.update("a", "b")
    for latest, rows in ((MOST, 1), (MOST - 1, 2), (MOST - 2, 3)):
        at, state = latest // 400, content_of(fading)[4][0][1]
        full = sm.from_bytes(rewritten(fading, lambda c: [*c[:3], [latest], [[at - 1, state]]]))  # noqa: B023
        before = full.to_bytes()
        if rows == 1:
            refused(lambda: full.update("a", "b"), sm.WeightError, "fewer than 2**63 - 2 samples")  # noqa: B023
        refused(lambda: full.update_many(["a"] * rows, ["b"] * rows), sm.WeightError, "fewer than 2**63 - 2 samples")  # noqa: B023
        assert full.to_bytes() == before
        if rows > 1:
            full.update_many(["a"] * (rows - 1), ["b"] * (rows - 1))
            assert full.n == rows


def test_as_many_samples_as_a_state_can_count() -> None:
    """A sample that is one too many is refused, also if the weights are small; three appearances must have room."""
    one = sm.Fading(sm.ConfusionMatrix(), half_life=5)
    one.update("a", "b", 0)
    for n in (MOST - 2, MOST - 3):
        full, power = sm.Fading(sm.ConfusionMatrix(), half_life=5), one.copy()
        for bit in range(63):
            if n >> bit & 1:
                full.merge(power)
            if bit < 62:
                power.merge(power.copy())
        assert full.n == n
        before = full.to_bytes()
        if n == MOST - 2:
            refused(lambda: full.update("a", "b"), sm.WeightError, "number of samples, and of appearances of a label")  # noqa: B023
            assert full.to_bytes() == before
        else:
            full.update("a", "b")
