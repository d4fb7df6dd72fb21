"""Fading against sums of weights computed from scratch, by count and by time, one by one and merged."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics.containers.fading import FIRST, REACH
from stream_metrics.containers.rolling import Rolling
from stream_metrics.inputs.times import parse_duration, to_epoch_ns

NO_RATIOS = {
    "tp_sum",
    "fn_sum",
    "fp_sum",
    "tn_sum",
    "chi2",
    "mcnemar",
    "mcnemar_p_value",
    "majority_p_value",
    "pair_fowlkes_mallows",
}
MAKES: dict[str, tuple[Callable[[], Any], float]] = {  # with the relative error that is promised
    "MetricSet": (sm.MetricSet, 1e-12),
    "CrossEntropy": (sm.CrossEntropy, 1e-12),
    "scores": (lambda: sm.MetricSet(scores=True, buckets=4096), 1e-6),
    "ROCAUC": (lambda: sm.ROCAUC(buckets=4096), 1e-6),
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
    state = make()
    for place, (y_true, y_pred, w) in stream:
        state.update(y_true, y_pred, w * 2.0 ** (place - now + 20))
    return state


def values(state: Any) -> dict[str, float]:
    """Return every value of a state by name, but those that depend on the unit of weights."""
    if isinstance(state, sm.Metric):
        return {state.key: state.get()}
    snapshot = state.snapshot()
    found = {key: snapshot[key] for key in snapshot if isinstance(snapshot[key], float)}
    return {key: value for key, value in found.items() if key not in NO_RATIOS and key[:3] not in ("cov", "nir")}


@pytest.mark.parametrize("case", MAKES)
@pytest.mark.parametrize("half_life", [7, 50.5, 1000])
def test_by_count_values_are_those_of_faded_weights(case: str, half_life: float) -> None:
    """At every hundredth sample, over many half-lives, every value is that of weights 2^(-age / half-life)."""
    make, error = MAKES[case]
    rng = random.Random(5)
    fading, stream = sm.Fading(make(), half_life), []
    for i in range(1, 2001):
        drawn = sample(rng, case != "MetricSet")
        fading.update(*drawn)
        stream.append((i / half_life, drawn))
        if i % 200 == 0 or i < 5:
            expected = values(by_hand(make, stream, i / half_life))
            assert values(fading.merged()) == pytest.approx(expected, rel=error, abs=error, nan_ok=True)


@pytest.mark.parametrize("case", MAKES)
def test_by_time_values_are_those_of_faded_weights(case: str) -> None:
    """Out of order, with gaps of many half-lives, fed one by one, in batches, and in shards that are merged."""
    make, error = MAKES[case]
    rng = random.Random(6)
    now, stream = 1_700_000_000.0, []
    for i in range(1500):
        now += rng.expovariate(10) + (rng.random() < 0.002) * 40
        stream.append((round(now - rng.random() ** 4 * 8, 6), sample(rng, case != "MetricSet")))
        if i == 700:
            now += 10_000
    shards = [sm.Fading(make(), "2s") for _ in range(3)]
    whole = sm.Fading(make(), "2s")
    for i, (t, drawn) in enumerate(stream):
        shards[i % 3].update(*drawn, t=t)
        whole.update(*drawn, t=t)
    at = [(to_epoch_ns(t) - 17 * 10**17) / 1e9 for t, _ in stream]  # to the nanosecond, which a float of today is not
    assert max(at) > 5000
    expected = values(by_hand(make, [(t / 2, drawn) for t, (_, drawn) in zip(at, stream, strict=True)], max(at) / 2))

    assert values(whole.merged()) == pytest.approx(expected, rel=error, abs=error, nan_ok=True)
    assert sm.merge(shards) == whole
    assert len(whole._states) == 2
    batch = sm.Fading(make(), "2s")
    y_true, y_pred, w = (list(column) for column in zip(*(drawn for _, drawn in stream), strict=True))
    batch.update_many(y_true, y_pred, w, t=np.array([t for t, _ in stream]))
    assert batch == whole


INNER: dict[str, tuple[Callable[[], Any], Callable[[random.Random, str], tuple[Any, ...]]]] = {
    "labels": (sm.MetricSet, lambda rng, label: (label, rng.choice(["a", "b", ("c", 1), None]))),
    "fixed labels": (lambda: sm.ConfusionMatrix(["a", "b"]), lambda rng, label: (label, rng.choice("ab"))),
    "scored set": (
        lambda: sm.MetricSet(scores=True, buckets=16),
        lambda rng, label: (label, {"a": round(rng.random(), 2), "b": 0.5}) if rng.random() < 0.9 else (label, "b"),
    ),
    "area": (lambda: sm.ROCAUC(pos_label="a"), lambda rng, label: (label, rng.random())),
}


@pytest.mark.parametrize("case", INNER)
@pytest.mark.parametrize("half_life", [3, 7.3, 0.3, 10**15, "1s", "30d", "9000d"])
def test_states_are_sums_of_scaled_weights(case: str, half_life: Any) -> None:
    """To the byte: each state counts every sample since its stretch began, with the weight that its place has there."""
    make, draw = INNER[case]
    rng, now = random.Random(3), 1_700_000_000.0
    fading, by_time = sm.Fading(make(), half_life), isinstance(half_life, str)
    grain = "fine" if "labels" in case else "coarse"
    first, reach = FIRST[grain], REACH[grain]
    half = parse_duration(half_life, "half_life") if by_time else half_life
    stretch = half * reach
    states: dict[int, Any] = {}
    dropped = latest = 0
    for i in range(1, 400):
        now += rng.random() * rng.choice([0.1, 1, 1, 50]) * (1 if half_life == "1s" else 1e5)
        t = round(now - rng.choice([0, 0, 0, 45]), 6)
        place, w = to_epoch_ns(t) if by_time else i, rng.choice([1, 1, 0, 3, 0.1, 10**5 + 1])
        drawn = draw(rng, "".join(rng.choice("ab")))
        fading.update(*drawn, w, **({"t": t} if by_time else {}))
        latest = max(latest, place)
        newest, own = int(latest // stretch), int(place // stretch)
        dropped += own < newest - 1
        for n in (newest - 1, newest):
            if own >= n:
                state = states.setdefault(n, make())
                state.update(*drawn, w * 2.0 ** ((place - n * stretch) / half + first))
        states = {n: state for n, state in states.items() if n >= newest - 1}
        if i % 19 == 0 or i < 5:
            assert {n: state.to_bytes() for n, state in fading._states.items()} == {
                n: state.to_bytes() for n, state in states.items()
            }
    assert fading.dropped == dropped
    assert sm.from_bytes(fading.to_bytes())._states == states


@pytest.mark.parametrize("groups", [False, True])
def test_a_sample_that_one_state_refuses_is_counted_by_none(groups: bool) -> None:
    """A state that has just begun does not know the class beside `pos_label`, which the older one has seen."""
    inner = sm.MetricSet(scores=True, pos_label="yes")
    fading = sm.Fading(sm.ByGroup(inner) if groups else inner, half_life=1)
    more = {"group": "north"} if groups else {}
    for label in ["yes", "no"] * 11 + ["no"]:
        fading.update(label, 0.9, **more)
    before = fading.to_bytes()
    with pytest.raises(sm.ScoreError, match="class beside 'yes' is not known"):
        fading.update("yes", 0.2, **more)

    assert fading.to_bytes() == before
    fading.update("no", 0.2, **more)
    fading.update("yes", 0.2, **more)
    assert [state.n for state in fading._states.values()] == [25, 2]


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
    with pytest.raises(ValueError, match="not to be before the latest time"):
        fading.snapshot(t=9)


def test_by_count_every_update_ages() -> None:
    """Three updates at a half-life of 1: 1/4 + 1/2 + 1; an abstention ages too."""
    fading = sm.Fading(sm.ConfusionMatrix(), 1)
    for _ in range(3):
        fading.update("a", "a")
    assert fading.merged().weight == pytest.approx(1.75, rel=1e-15)

    fading.update("a", None)
    assert fading.merged().weight == pytest.approx(0.875, rel=1e-15)
    assert (fading.n, fading.abstained) == (3, 1)


def test_by_count_batches_are_updates() -> None:
    """A batch ages what came before by its length, and its own rows by their places, to the byte."""
    rng = random.Random(8)
    stream = [sample(rng, False) for _ in range(500)]
    single, batch = sm.Fading(sm.MetricSet(), 3), sm.Fading(sm.MetricSet(), 3)
    for drawn in stream:
        single.update(*drawn)
    for start, end in ((0, 1), (1, 40), (40, 41), (41, 500)):
        batch.update_many(*(list(column) for column in zip(*stream[start:end], strict=True)))

    assert batch == single
    assert sm.from_bytes(single.to_bytes()) == single


def test_by_count_a_merge_lays_shards_side_by_side() -> None:
    """The last samples of both are of the same age, in either order of merging."""
    a, b = sm.Fading(sm.ConfusionMatrix(), 1), sm.Fading(sm.ConfusionMatrix(), 1)
    for label in "xxa":
        a.update(label, label)
    b.update("b", "b")
    merged = a.copy().merge(b)

    assert merged == b.copy().merge(a)
    assert merged.merged().matrix.diagonal() == pytest.approx([1, 0.25, 0.75])  # b was its shard's first of three


def test_what_is_too_old_is_dropped_and_gone() -> None:
    """After twice the reach nothing is left of a sample; one that comes as late is not counted."""
    fading = sm.Fading(sm.ConfusionMatrix(), "1s")
    fading.update("old", "old", t=0)
    fading.update("new", "new", t=2 * REACH["fine"] + 1)
    fading.update("old", "old", t=1)

    assert fading.snapshot().labels == ("new",)
    assert (fading.n, fading.dropped) == (1, 1)


@pytest.mark.parametrize("grain", ["fine", "coarse"])
def test_there_is_room_for_the_weights_that_are_promised(grain: str) -> None:
    """Weights of 2^36 (2^28 with scores) at the end of a stretch are counted; what is too much is refused."""
    inner, w = (sm.ConfusionMatrix(), 2.0**36) if grain == "fine" else (sm.MetricSet(scores=True), 2.0**28)
    assert 2.0 ** (2 * REACH[grain] + FIRST[grain]) * w * 2 <= 2.0**63
    fading = sm.Fading(inner, "1s")
    fading.update(True, True, w, t=2 * REACH[grain] - 0.001)
    before = fading.to_bytes()

    assert fading.merged().snapshot().weight == pytest.approx(w, rel=1e-12)
    with pytest.raises(sm.WeightError):
        fading.update(True, True, 2 * w, t=2 * REACH[grain] - 0.001)
    assert fading.to_bytes() == before


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: sm.Fading(sm.TimeWindow(sm.MCC(), "1m"), 10), "a TimeWindow, which forgets"),
        (lambda: sm.Fading(sm.Fading(sm.MCC(), 10), 10), "a Fading, which forgets"),
        (lambda: sm.Fading(Rolling(sm.MCC(), 10), 10), "a Rolling, which forgets"),
        (lambda: sm.Fading(sm.MCC(), 0), "`half_life`"),
        (lambda: sm.Fading(sm.MCC(), True), "`half_life`"),
        (lambda: sm.Fading(sm.MCC(), "ten"), "`half_life`"),
        (lambda: sm.Fading(sm.MCC(), 10).update(1, 1, t=3), "no `t` where samples fade by count"),
        (lambda: sm.Fading(sm.MCC(), 10).update(1, 1, -1), "Expected `w`.* but got -1"),
        (lambda: sm.Fading(sm.MCC(), 10).update_many([1, 1], [1, 1], [1, -0.5]), "position 1.* but got -0.5"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Any, reason: str) -> None:
    """With the reason, and with the weight that was given."""
    with pytest.raises(ValueError, match=reason):
        make()


def test_an_error_in_a_batch_names_the_row_of_the_batch() -> None:
    """Also where rows before it are too old to be counted."""
    fading = sm.Fading(sm.MetricSet(), "1s")
    with pytest.raises(sm.LabelError, match="position 2"):
        fading.update_many([1, 1, 1], [1, 1, float("inf")], t=[0, 1000, 1000])

    assert fading == sm.Fading(sm.MetricSet(), "1s")


def test_other_configurations_do_not_merge() -> None:
    """A half-life in samples is none in seconds, and the error shows both."""
    with pytest.raises(sm.MergeError, match="`half_life` to be the same in both, but got 10 in one and '10s'"):
        sm.Fading(sm.MCC(), 10).merge(sm.Fading(sm.MCC(), "10s"))
    assert sm.Fading(sm.MCC(), 10).merge(sm.Fading(sm.MCC(), 10.0)).n == 0


def test_a_batch_without_rows_changes_nothing() -> None:
    """Neither time nor age moves."""
    fading = sm.Fading(sm.MetricSet(), 10)
    fading.update("a", "b")
    before = fading.to_bytes()
    fading.update_many([], [])

    assert fading.to_bytes() == before


def test_by_count_the_number_of_samples_has_a_limit() -> None:
    """The position of the last sample fits into 64 bits; one more is refused, alone and in a batch."""
    fading = sm.Fading(sm.MCC(), 10)
    fading.update("a", "b")
    fading._latest = 2**63 - 3
    before = fading.to_bytes()
    with pytest.raises(sm.WeightError, match=r"fewer than 2\*\*63 - 2 samples .* one more"):
        fading.update("a", "b")
    fading._latest -= 1
    with pytest.raises(sm.WeightError, match=r"fewer than 2\*\*63 - 2 samples .* 3 more"):
        fading.update_many(["a"] * 3, ["b"] * 3)
    fading._latest += 1

    assert fading.to_bytes() == before


def test_as_many_samples_as_a_state_can_count() -> None:
    """A sample that is one too many is refused, also if the weights are small, and the error names the limit."""
    fading = sm.Fading(sm.ConfusionMatrix(), half_life=5)
    fading.update("a", "b")
    for state in fading._states.values():
        state.update_counts(["a"], ["b"], [2**62 - 1], [1.0])
        state.update_counts(["a"], ["b"], [2**62 - 4], [1.0])
    fading = sm.Fading.from_bytes(fading.to_bytes())
    before = fading.to_bytes()
    with pytest.raises(sm.WeightError, match=r"number of samples, and of appearances of a label.* got 3 on top of"):
        fading.update("a", "b")
    assert fading.to_bytes() == before
