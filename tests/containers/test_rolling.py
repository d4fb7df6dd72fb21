"""A rolling window is, after every sample and batch, the state of a fresh accumulator fed the last samples."""

from __future__ import annotations

import itertools
import random
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rank_streams import binary, scores, several
from support.refusals import all_refused, refused
from support.state_checks import fed, with_batch

import stream_metrics as sm
from stream_metrics import Rolling, testing


def single_or_mapping(label: Any, *others: Any) -> Any:
    """Return samples whose score is a number, or a mapping that may leave the positive label out."""
    mapping = st.dictionaries(st.sampled_from([label, *others]), scores(), max_size=3)
    return st.tuples(st.sampled_from([label, *others]), st.one_of(scores(), mapping))


NUMBERS, MAPPINGS = [binary(), binary(weighted=False)], [several(), several(weighted=False)]
OF_A = [*MAPPINGS, single_or_mapping("a", "b")]
SINGLE = [*NUMBERS, single_or_mapping(True, False, 1)]
HARD, SOFT = [testing.samples(), testing.samples(weighted=False)], [testing.soft_samples(hard=False)]
CASES: dict[str, tuple[Callable[[], Any], list[Any]]] = {  # with kinds of samples
    "ConfusionMatrix": (sm.ConfusionMatrix, HARD), "MCC": (sm.MCC, HARD), "MetricSet": (sm.MetricSet, HARD),
    "fixed": (lambda: sm.ConfusionMatrix(labels=["a", True, 2.5], other=0), HARD),
    "F1 of a": (lambda: sm.F1(pos_label="a"), HARD),
    "RankSketch": (sm.RankSketch, NUMBERS + MAPPINGS), "HandTillAUC": (sm.HandTillAUC, NUMBERS + MAPPINGS),
    "ROCAUC": (sm.ROCAUC, SINGLE), "Gini": (sm.Gini, SINGLE), "AveragePrecision": (sm.AveragePrecision, NUMBERS),
    "ROCAUC of a": (lambda: sm.ROCAUC(pos_label="a", zero_division=1.0), OF_A),
    "Gini of a": (lambda: sm.Gini(pos_label="a"), OF_A),
    "CrossEntropy": (sm.CrossEntropy, SOFT), "BrierScore": (sm.BrierScore, SOFT),
    "TopKAccuracy": (lambda: sm.TopKAccuracy(3), SOFT),
    "probabilities": (lambda: sm.MetricSet(scores=True), [testing.soft_samples()]),
    "chosen": (lambda: sm.MetricSet(["log_loss", "accuracy"], pos_label=1, threshold=0.3), [testing.soft_samples()]),
}  # fmt: skip
QUICK = {"ConfusionMatrix", "ROCAUC", "CrossEntropy"}


def columns(rows: Any) -> list[list[Any]]:
    """Return the columns of rows."""
    return [list(column) for column in zip(*rows, strict=True)]


def values(state: Any) -> tuple[Any, ...]:
    """Return what is read of a window or of a fresh state without its counters."""
    counts = state.inner if isinstance(state, Rolling) else state
    has_value = isinstance(counts, sm.Metric | sm.MetricSet)
    return state.n, state.abstained, repr(state.get()) if has_value else None


def assert_same(a: Rolling, b: Rolling) -> None:
    """Two windows have the same samples and the same counts."""
    assert a.to_bytes() == b.to_bytes()
    assert a.state.to_bytes() == b.state.to_bytes()
    assert values(a) == values(b)


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.quick] if n in QUICK else []) for n in CASES])
@given(data=st.data())
def test_a_window_is_a_fresh_state_of_its_last_samples(name: str, data: st.DataObject) -> None:
    """Values after every sample, whatever is read in between, and bytes, for single samples and batches of any size."""
    make, kinds = CASES[name]
    window = data.draw(st.sampled_from([1, 2, 5, 10]))
    batch = st.lists(data.draw(st.sampled_from(kinds)), min_size=1, max_size=12)
    one, many, stream = Rolling(make(), window), Rolling(make(), window), []
    for rows in data.draw(st.lists(batch, max_size=4)):
        for row in rows:
            stream.append(row)
            passed = [dict(value) if isinstance(value, dict) else value for value in row]
            one.update(*passed)
            for scores_of_caller in (value for value in passed if isinstance(value, dict)):
                scores_of_caller.clear()  # the caller may change a mapping after the update
            fresh = fed(make(), stream[-window:])
            assert one.held == min(len(stream), window)
            assert values(one) == values(fresh)
            read = data.draw(st.sampled_from(["values", "state", "copy", "bytes"]))
            if read == "state":
                assert one.state.to_bytes() == fresh.to_bytes()
            elif read != "values":
                twin = one.copy() if read == "copy" else sm.from_bytes(one.to_bytes())
                assert values(twin) == values(fresh)
                assert twin == one
        many.update_many(*columns(rows))
        assert_same(many, one)
        assert_same(one, fed(Rolling(make(), window), stream[-window:]))  # what came before leaves no trace


def test_a_set_with_scores_beside_labels() -> None:
    """Scores as a row with classes, as a mapping, beside a prediction that is not their largest, by keyword."""
    rng = random.Random(3)
    rolling, given_ = Rolling(sm.MetricSet(scores=True), 4), []
    for i in range(30):
        p = rng.random()
        calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
            (("a", "b"), {"scores": {"a": p, "b": 1 - p}, "w": 1 + i % 3}), (("b", {"a": p, "b": 1 - p}), {}),
            (("a",), {"scores": [p, 1 - p], "classes": ("a", "b")}), (("b", [p, 1 - p]), {"classes": ["b", "a"]}),
            (("c", None), {}), ((True, p), {}),
        ]  # fmt: skip
        given_.append(rng.choice(calls))
        rolling.update(*given_[-1][0], **given_[-1][1])
        fresh = sm.MetricSet(scores=True)
        for one, more in given_[-4:]:
            fresh.update(*one, **more)
        assert rolling.state.to_bytes() == fresh.to_bytes()
        assert type(rolling).from_bytes(rolling.to_bytes()) == rolling


@pytest.mark.quick
def test_a_sketch_inside_has_room_for_the_whole_window() -> None:
    """A window of more distinct scores than `buckets` stays exact, in groups too: its sketches are made larger."""
    rng = random.Random(1)
    stream = [(rng.random() < 0.5, rng.random()) for _ in range(1_000)]
    rolling = fed(Rolling(sm.MetricSet(scores=True, buckets=4), 300), stream)
    grouped = fed(Rolling(sm.ByGroup(sm.MetricSet(scores=True, buckets=4)), 300), stream, group="g")
    fresh = with_batch(sm.MetricSet(scores=True), *columns(stream[-300:]))

    assert rolling.inner.buckets == grouped.inner.inner.buckets == 300
    for snapshot, key in itertools.product(
        (rolling.snapshot(), grouped.snapshot().overall), ("roc_auc", "confidence_auc")
    ):
        expected = fresh.snapshot()[key]
        label = (True,) if key == "roc_auc" else ()
        assert snapshot[key] == expected
        assert snapshot.estimate(key, *label)[1:4] == (expected, expected, 0.0)

    class OfSpam(sm.ROCAUC):
        """A metric that takes no options."""

        def __init__(self) -> None:
            super().__init__(pos_label="spam")

    assert sm.Rolling(OfSpam(), 5000).inner.state.buckets == 5000
    assert sm.Rolling(sm.ByGroup(OfSpam()), 5000).inner.inner.state.buckets == 5000


REFUSED: list[tuple[Callable[[], Any], list[tuple[Any, ...]], list[tuple[Any, ...]]]] = [  # with good and bad samples
    (sm.MCC, [("a", "b"), ("c", "c", 0.5)], [("a", float("inf")), (None, "a"), ("a", "a", -1), ("a", [1])]),
    (lambda: sm.ConfusionMatrix(["a"]), [("a", "a")], [("b", "a"), ("a", {"x": 1.0})]),
    (sm.ROCAUC, [(True, 0.5), (False, 0.5)], [(True, float("inf")), (None, 0.5), (True, "x"), (True, 0.1, -1)]),
    (sm.BrierScore, [(True, 0.5), (False, {True: 0.5})], [(True, 1.5), (True, {True: -0.1}), ("a", 0.5), (1, 1, "w")]),
    (lambda: sm.MetricSet(scores=True), [("a", {"a": 0.5}), ("b", "a")], [("a", {"a": 2.0}), ("a", float("nan"))]),
]  # fmt: skip


@pytest.mark.quick
def test_what_is_refused_changes_nothing() -> None:
    """A refused sample pushes no other out, alone or last in a batch that is shorter or longer than the window."""
    for (make, good, bad), window in itertools.product(REFUSED, (1, 2, 5)):
        rolling = fed(Rolling(make(), window), good)
        before, inside = rolling.to_bytes(), rolling.state.to_bytes()
        for sample in bad:
            refused(lambda: rolling.update(*sample), sm.StreamMetricsError)  # noqa: B023
            for size in (0, 1, 4, 8):
                rows = columns([*[(*good[0], 1)[:3]] * size, (*sample, 1)[:3]])
                error: Any = refused(lambda: rolling.update_many(*rows), sm.StreamMetricsError)  # noqa: B023
                assert error.position == size
                assert rolling.to_bytes() == before
        assert rolling.state.to_bytes() == inside
        assert fed(rolling, good).held == min(window, 2 * len(good))


@pytest.mark.quick
def test_the_oldest_sample_leaves_before_the_new_one_is_counted() -> None:
    """A window of one takes what a fresh state takes; a batch too heavy for what stays is refused and undone."""
    one = with_batch(fed(Rolling(sm.Accuracy(), 1), [("a", "a", 2**62)] * 3), ["a"], ["a"], [2**62])
    assert one.snapshot().weight == 2**62

    rolling = fed(Rolling(sm.Accuracy(), 3), [(label, label, 2**61) for label in "abc"])
    before = rolling.to_bytes()
    refused(lambda: rolling.update_many(["d", "e"], ["d", "e"], [2**61, 2**62 + 2**61]), sm.WeightError)
    assert rolling.to_bytes() == before
    assert rolling.snapshot().labels == ("a", "b", "c")


class SecondTime:
    """A weight that is a number only when it is read again."""

    def __init__(self) -> None:
        self.read = 0

    def __float__(self) -> float:
        self.read += 1
        if self.read == 1:
            raise ValueError("not yet")
        return 0.5


class Indexed:
    """A weight whose index is an int that is none of Python's own."""

    def __index__(self) -> Any:
        return type("Strange", (int,), {})(2)


def test_a_weight_is_stored_as_a_number_or_refused() -> None:
    """No object whose reading runs Python code gets into the window, where plain samples leave without a lock."""
    rolling = fed(Rolling(sm.ConfusionMatrix(), 3), [("a", "b", 2)])
    assert refused(lambda: rolling.update("a", "a", SecondTime()), sm.WeightError).argument == "w"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of an index that is no plain int
        rolling.update("a", "a", Indexed())

    assert_same(rolling, fed(Rolling(sm.ConfusionMatrix(), 3), [("a", "b", 2), ("a", "a", 2)]))
    assert sm.from_bytes(rolling.to_bytes()) == rolling


def test_what_makes_no_sense_is_refused() -> None:
    """A window that is none, a class, a state that cannot take samples back, a missing prediction, a merge."""

    class Once(sm.ConfusionMatrix):
        KIND = "once"
        revert = property(lambda self: (_ for _ in ()).throw(AttributeError("revert")))  # type: ignore[assignment]

    all_refused([
        *((lambda x=x: Rolling(sm.MCC(), x), sm.OptionError, "window") for x in (0, True, 2.0, 2**40 + 1)),
        (lambda: Rolling(sm.ROCAUC(), 2**24 + 1), sm.OptionError, "window"),
        (lambda: Rolling(sm.MCC, 5), ValueError, "a state, a metric or a set"),
        (lambda: Rolling(Rolling(sm.MCC(), 5), 5), ValueError, "got a Rolling"),
        (lambda: Rolling(sm.ByGroup(sm.MCC(), max_groups=3), 5), ValueError, "`max_groups`"),
        (lambda: Rolling(Once(), 5), ValueError, "Once, which has no `revert`"),
        (lambda: Rolling(sm.MCC(), 5).merge(Rolling(sm.MCC(), 5)), sm.MergeError, "TimeWindow merges"),
    ])  # fmt: skip
    assert Rolling(sm.ROCAUC(), 2**24).window == 2**24
    assert Rolling(sm.MetricSet(), 2**40).memory() == 0


def test_the_last_samples_by_group() -> None:
    """A window around groups holds the last samples of all groups; a group that has left is gone."""
    rng = random.Random(6)
    for make in (sm.MCC, sm.ROCAUC, lambda: sm.MetricSet(scores=True)):
        rolling, many, stream = (*(Rolling(sm.ByGroup(make()), 7) for _ in range(2)), [])
        for i in range(80):
            y_pred = rng.random() < 0.5 if make is sm.MCC else rng.random()
            stream.append((rng.random() < 0.5, y_pred, rng.choice([1, 0.5]), f"group {i // 20} {rng.randrange(2)}"))
            rolling.update(*stream[-1][:3], group=stream[-1][3])
            fresh = sm.ByGroup(make())
            for *row, key in stream[-7:]:
                fresh.update(*row, group=key)
            assert rolling.state.to_bytes() == fresh.to_bytes()
            if i % 10 == 9:
                *given_, groups = columns(stream[-10:])
                many.update_many(*given_, group=groups)
                assert_same(many, rolling)
                assert sm.from_bytes(many.to_bytes()) == rolling.copy() == rolling
    one_group = with_batch(Rolling(sm.ByGroup(sm.MCC()), 3), ["a", "b"], ["a", "a"], group="north")
    assert one_group == fed(Rolling(sm.ByGroup(sm.MCC()), 3), [("a", "a"), ("b", "a")], group="north")


def test_the_last_samples_of_each_group() -> None:
    """Groups of windows hold the last samples of each, are written, and have no state of all, no merge, no revert."""
    rng = random.Random(8)
    groups, streams = sm.ByGroup(Rolling(sm.ROCAUC(), 5)), {"a": [], "b": []}
    for _ in range(60):
        key, sample = rng.choice("aab"), (rng.random() < 0.5, rng.random())
        groups.update(*sample, group=key)
        streams[key].append(sample)
    before, snapshot = groups.to_bytes(), groups.snapshot()
    for key, stream in streams.items():
        assert snapshot[key].per_class["roc_auc"][True] == fed(sm.ROCAUC(), stream[-5:]).get()

    assert sm.from_bytes(before) == groups
    assert snapshot.overall is None
    assert "(all)" not in snapshot.report(80)
    assert not hasattr(groups, "revert")
    refused(lambda: groups.merge(groups.copy()), sm.MergeError, "TimeWindow")
    assert groups.to_bytes() == before


@pytest.mark.parametrize("name", ["fixed", "ROCAUC", "RankSketch", "BrierScore", "probabilities"])
def test_windows_obey_the_laws(name: str) -> None:
    """Bytes, copies, pickles, snapshots and resets: all laws but those of merging."""
    make, kinds = CASES[name]
    for law in (testing.bytes_round_trip, testing.copies_are_independent, testing.reset_forgets):
        law(lambda: Rolling(make(), 4), kinds[0])
