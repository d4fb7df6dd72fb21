"""A rolling window is, after every sample, the state of a fresh accumulator fed the last samples."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rank_streams import binary, several

import stream_metrics as sm
from stream_metrics import testing
from stream_metrics.containers.rolling import Rolling
from stream_metrics.errors import WeightError

WINDOWS = (1, 2, 5, 10)
LABELS: dict[str, Callable[[], Any]] = {
    "ConfusionMatrix": sm.ConfusionMatrix,
    "fixed": lambda: sm.ConfusionMatrix(labels=["a", True, 2.5], other=0),
    "MCC": sm.MCC,
    "F1 of a": lambda: sm.F1(pos_label="a"),
    "MetricSet": sm.MetricSet,
}
SCORES: dict[str, Callable[[], Any]] = {
    "RankSketch": sm.RankSketch,
    "ROCAUC": sm.ROCAUC,
    "Gini of a": lambda: sm.Gini(pos_label="a"),
    "HandTillAUC": sm.HandTillAUC,
    "AveragePrecision": sm.AveragePrecision,
}
LOSSES: dict[str, Callable[[], Any]] = {
    "CrossEntropy": sm.CrossEntropy,
    "BrierScore": sm.BrierScore,
    "TopKAccuracy": lambda: sm.TopKAccuracy(3),
}
SETS: dict[str, Callable[[], Any]] = {
    "probabilities": lambda: sm.MetricSet(scores=True),
    "chosen": lambda: sm.MetricSet(["log_loss", "accuracy"], pos_label=1, threshold=0.3),
}


def follow(make: Callable[[], Any], window: int, stream: list[tuple[Any, ...]]) -> None:
    """Feed a window sample by sample, and compare it with a fresh state of the last samples each time."""
    rolling = Rolling(make(), window)
    for at, sample in enumerate(stream, 1):
        rolling.update(*sample)
        fresh = make()
        for one in stream[max(0, at - window) : at]:
            fresh.update(*one)
        assert rolling.held == min(at, window)
        assert (rolling.n, rolling.abstained) == (fresh.n, fresh.abstained)
        if hasattr(fresh, "get"):
            assert repr(rolling.get()) == repr(fresh.get())
        assert rolling.state.to_bytes() == fresh.to_bytes()


@pytest.mark.parametrize("make", LABELS.values(), ids=LABELS)
@given(data=st.data())
def test_labels_are_those_of_a_fresh_state(make: Callable[[], Any], data: st.DataObject) -> None:
    """Labels of all types, weights with fractions, ties, abstentions: value and bytes after every sample."""
    window = data.draw(st.sampled_from(WINDOWS))

    follow(make, window, data.draw(st.lists(testing.samples(), max_size=25)))


@pytest.mark.parametrize("make", SCORES.values(), ids=SCORES)
@given(data=st.data())
def test_scores_are_those_of_a_fresh_state(make: Callable[[], Any], data: st.DataObject) -> None:
    """Single scores and mappings, tied, weighted, at the ends of the range: value and bytes after every sample."""
    window = data.draw(st.sampled_from(WINDOWS))
    of_numbers, of_mappings = [binary(), binary(weighted=False)], [several(), several(weighted=False)]
    streams = {"ROCAUC": of_numbers, "AveragePrecision": of_numbers, "Gini of a": of_mappings}
    name = next(name for name in SCORES if SCORES[name] is make)
    samples = data.draw(st.sampled_from(streams.get(name, of_numbers + of_mappings)))

    follow(make, window, data.draw(st.lists(samples, max_size=25)))


@pytest.mark.parametrize("make", [*LOSSES.values(), *SETS.values()], ids=[*LOSSES, *SETS])
@given(data=st.data())
def test_losses_and_sets_are_those_of_a_fresh_state(make: Callable[[], Any], data: st.DataObject) -> None:
    """Probabilities in every form, beside hard labels in a set: value and bytes after every sample."""
    window = data.draw(st.sampled_from(WINDOWS))
    hard = make in SETS.values()

    follow(make, window, data.draw(st.lists(testing.soft_samples(hard=hard), max_size=15)))


@pytest.mark.parametrize("name", ["Accuracy", "MacroF1", "CohenKappa", "MCC", "WeightedF1"])
def test_a_long_stream_leaves_nothing(name: str) -> None:
    """After thousands of samples of labels that come and go, with fractions of weights, not a bit is left over."""
    rng = random.Random(7)
    make = getattr(sm, name)
    rolling, window = Rolling(make(), 50), []
    for i in range(5_000):
        sample = (f"{rng.randrange(8)} {i // 100}", f"{rng.randrange(8)} {i // 100}", rng.choice([1, 0.1, 1 / 3, 7]))
        rolling.update(*sample)
        window = [*window[-49:], sample]
        if i % 97 == 0 or i == 4_999:
            fresh = make()
            for one in window:
                fresh.update(*one)
            assert rolling.get() == fresh.get()
            assert rolling.state.state.labels == fresh.state.labels
            assert rolling.state.to_bytes() == fresh.to_bytes()


def test_a_set_with_scores_beside_labels() -> None:
    """Scores as a row with classes, as a mapping, beside a prediction that is not their largest, by keyword."""
    rng = random.Random(3)
    rolling, given_ = Rolling(sm.MetricSet(scores=True), 4), []
    for i in range(30):
        p = rng.random()
        calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
            (("a", "b"), {"scores": {"a": p, "b": 1 - p}, "w": 1 + i % 3}),
            (("a",), {"scores": [p, 1 - p], "classes": ("a", "b")}),
            (("b", [p, 1 - p]), {"classes": ["b", "a"]}),
            (("b", {"a": p, "b": 1 - p}), {}),
            (("c", None), {}),
            ((True, p), {}),
        ]
        given_.append(rng.choice(calls))
        args, kwargs = given_[-1]
        rolling.update(*args, **kwargs)
        fresh = sm.MetricSet(scores=True)
        for one, more in given_[-4:]:
            fresh.update(*one, **more)
        assert rolling.state.to_bytes() == fresh.to_bytes()
        assert type(rolling).from_bytes(rolling.to_bytes()) == rolling


def test_rows_of_scores_alone_and_by_keyword() -> None:
    """Rows in the order of the classes of the state or of the call, and scores by keyword, are mappings."""
    rows = [("a", [0.25, 0.75]), ("b", (0.5, 0.5)), ("a", [1.0, 0.0]), ("b", [0.125, 0.875])]
    losses, ranks = Rolling(sm.ProbabilityLosses(classes=["a", "b"]), 3), Rolling(sm.RankSketch(), 3)
    for y_true, row in rows:
        losses.update(y_true, row)
        ranks.update(y_true, scores=row, classes=("a", "b"))
    fresh_losses, fresh_ranks = sm.ProbabilityLosses(classes=["a", "b"]), sm.RankSketch()
    for y_true, row in rows[-3:]:
        fresh_losses.update(y_true, row)
        fresh_ranks.update(y_true, dict(zip("ab", row, strict=True)))

    assert losses.state == fresh_losses
    assert ranks.state == fresh_ranks


def test_a_sketch_inside_holds_the_whole_window() -> None:
    """A window of more distinct scores than `buckets` stays exact: its sketch is made larger."""
    rng = random.Random(1)
    rolling = Rolling(sm.MetricSet(scores=True, buckets=4), 300)
    stream = [(rng.random() < 0.5, rng.random()) for _ in range(1_000)]
    for y_true, score in stream:
        rolling.update(y_true, score)
    fresh = sm.MetricSet(scores=True)
    fresh.update_many(*zip(*stream[-300:], strict=True))

    assert rolling.inner.buckets == 300
    assert rolling.snapshot().estimate("roc_auc", True)[1:4] == (fresh.snapshot()["roc_auc"],) * 2 + (0.0,)
    assert rolling.snapshot()["roc_auc"] == fresh.snapshot()["roc_auc"]


@pytest.mark.parametrize("make", [sm.ROCAUC, sm.CrossEntropy, lambda: sm.MetricSet(scores=True)])
def test_scores_are_copied(make: Callable[[], Any]) -> None:
    """The caller may change his mapping after the update; what leaves is what came."""
    scores: dict[Any, float] = {}
    rolling = Rolling(make(), 3)
    for i in range(8):
        scores.clear()
        scores.update({True: i / 8, False: 1 - i / 8})
        rolling.update(i % 2 == 0, scores)
        scores[True] = 0.123
    fresh = make()
    for i in range(5, 8):
        fresh.update(i % 2 == 0, {True: i / 8, False: 1 - i / 8})

    assert rolling.state.to_bytes() == fresh.to_bytes()


REFUSED: list[tuple[Callable[[], Any], list[tuple[Any, ...]], list[tuple[Any, ...]]]] = [
    (sm.MCC, [("a", "b"), ("c", "c", 0.5)], [("a", float("inf")), (None, "a"), ("a", "a", -1), ("a", [1])]),
    (lambda: sm.ConfusionMatrix(["a"]), [("a", "a")], [("b", "a"), ("a", {"x": 1.0})]),
    (sm.ROCAUC, [(True, 0.5), (False, 0.5)], [(True, float("inf")), (None, 0.5), (True, "x"), (True, 0.1, -1)]),
    (sm.BrierScore, [(True, 0.5), (False, {True: 0.5})], [(True, 1.5), (True, {True: -0.1}), ("a", 0.5), (1, 1, "w")]),
    (lambda: sm.MetricSet(scores=True), [("a", {"a": 0.5}), ("b", "a")], [("a", {"a": 2.0}), ("a", float("nan"))]),
]  # fmt: skip


@pytest.mark.parametrize(("make", "good", "bad"), REFUSED)
@pytest.mark.parametrize("window", [1, 2, 5])
def test_what_is_refused_changes_nothing(make: Any, good: Any, bad: Any, window: int) -> None:
    """A sample that the state refuses does not push another one out, whether the window is full or not."""
    rolling = Rolling(make(), window)
    for sample in good:
        rolling.update(*sample)
    before, inside = rolling.to_bytes(), rolling.state.to_bytes()
    for sample in bad:
        with pytest.raises(sm.StreamMetricsError):
            rolling.update(*sample)
        with pytest.raises(sm.StreamMetricsError):
            rolling.update_many(*([x, y] for x, y in zip((*good[0], 1)[:3], (*sample, 1)[:3], strict=True)))
        assert rolling.to_bytes() == before
        assert rolling.state.to_bytes() == inside
    for sample in good:
        rolling.update(*sample)

    assert rolling.held == min(window, 2 * len(good))


class SecondTime:
    """A weight that is a number only when it is read again."""

    def __init__(self) -> None:
        self.read = 0

    def __float__(self) -> float:
        self.read += 1
        if self.read == 1:
            raise ValueError("not yet")
        return 0.5


def test_a_weight_is_kept_as_a_number_or_refused() -> None:
    """No object whose reading runs Python code gets into the window, where plain samples leave without a lock."""
    rolling = Rolling(sm.ConfusionMatrix(), 3)
    rolling.update("a", "b", 2)
    with pytest.raises(WeightError, match="Expected `w` to be a finite number"):
        rolling.update("a", "a", SecondTime())

    class Strange(int):
        """An int that is none of Python's own."""

    class Indexed:
        """A weight that is asked for its index."""

        def __index__(self) -> Any:
            return Strange(2)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of an index that is no plain int
        rolling.update("a", "a", Indexed())
    weights = [w for _, _, w in rolling._samples()]

    assert weights == [2, 2]
    assert {type(w) for w in weights} == {int}
    assert sm.from_bytes(rolling.to_bytes()) == rolling


def test_what_is_too_heavy_beside_the_others_may_fit_when_one_leaves() -> None:
    """The oldest sample leaves before the new one is counted: a window of one takes what a fresh state takes."""
    rolling = Rolling(sm.Accuracy(), 1)
    for _ in range(3):
        rolling.update("a", "a", 2**62)
    rolling.update_many(["a"], ["a"], [2**62])

    assert rolling.state.state.weight == 2**62


def test_a_prediction_is_needed() -> None:
    """Leaving out what the state needs is an error, as it is without a window."""
    for make in (sm.Accuracy, sm.ROCAUC):
        with pytest.raises(TypeError):
            Rolling(make(), 3).update("a")
