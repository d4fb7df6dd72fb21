"""Scores of more classes than pairs are kept of: from the 65th class on a sketch has each class against the rest."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics import testing
from stream_metrics.wire import encoded

SIZES = [{"buckets": 2, "sample": 1}, {"buckets": 8, "sample": 4}, {"buckets": 64, "sample": 16}, {"buckets": 1024}]
NEEDS = "needs pairs of classes, which are kept for at most 64, but got 70"

Table = tuple[np.ndarray, np.ndarray, np.ndarray]


def table(rng: np.random.Generator, classes: int, fractions: bool) -> Table:
    """Return truths, scores that are mostly 0, and weights, some of them 0; not every class need occur."""
    n = int(rng.integers(60, 400))
    scores = np.round(rng.normal(size=(n, classes)), 6 if fractions else 2)
    scores *= rng.random((n, classes)) < rng.choice([0.01, 0.2])
    weights = rng.random(n) * 4 if fractions else rng.integers(0, 3, n)
    return rng.integers(0, classes, n), scores, weights


def feed(state: Any, rows: Table, how: int) -> None:
    """Count rows as a table, as a list of mappings, or one by one."""
    truth, scores, weights = rows
    named = [dict(enumerate(row)) for row in scores.tolist()]
    if how == 0:
        state.update_many(truth, scores, weights, classes=range(scores.shape[1]))
    elif how == 1:
        state.update_many(truth, named, weights)
    else:
        for y_true, row, weight in zip(truth.tolist(), named, weights.tolist(), strict=True):
            state.update(y_true, row, weight)


def counted_in_parts(make: Callable[[], Any], rows: Table, rng: np.random.Generator) -> Any:
    """Split a stream in any order over states, some of them through bytes, and merge them in any tree."""
    parts = []
    for chosen in np.split(rng.permutation(len(rows[0])), np.sort(rng.integers(0, len(rows[0]), rng.integers(0, 6)))):
        part = make()
        for some in np.array_split(chosen, rng.integers(1, 4)):
            feed(part, tuple(column[some] for column in rows), int(rng.integers(3)))  # type: ignore[arg-type]
        parts.append(sm.from_bytes(part.to_bytes()) if rng.random() < 0.5 else part)
    while len(parts) > 1:
        at = int(rng.integers(len(parts) - 1))
        parts[at].merge(parts.pop(at + 1))
    return parts[0]


@pytest.mark.parametrize("fractions", [False, True])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("classes", [62, 64, 65, 70])
def test_any_split_gives_the_bytes_of_one_against_the_rest(classes: int, size: dict[str, int], fractions: bool) -> None:
    """Beyond 64 classes a sketch has the content of one without pairs; up to 64 it has its pairs."""
    rng = np.random.default_rng([classes, size["buckets"], fractions])
    for _ in range(3):
        rows = table(rng, classes, fractions)
        rest = sm.RankSketch(**size, pairs=False)
        feed(rest, rows, 0)
        results = {counted_in_parts(lambda: sm.RankSketch(**size), rows, rng).to_bytes() for _ in range(4)}
        assert len(results) == 1
        state = sm.RankSketch.from_bytes(results.pop())
        assert state.pairs
        assert state.paired == (len(rest.labels) <= 64)
        if not state.paired:
            assert state.to_content()[1:] == rest.to_content()[1:]
            assert all(repr(state.column(label)) == repr(rest.column(label)) for label in rest.labels)


def one_each(labels: Any) -> Any:
    """Return a sketch of one sample of each class."""
    sketch = sm.RankSketch()
    for label in labels:
        sketch.update(label, {label: 0.5})
    return sketch


def test_only_classes_that_are_counted_count() -> None:
    """Neither scores of 0 nor samples of weight 0 make a class."""
    sketch = one_each(range(64))
    sketch.update(3, {64: 0.0, 65: -0.0, 3: 0.5})
    sketch.update(66, {67: 0.5}, 0)
    sketch.update_many([1, 2], np.zeros((2, 70)), classes=range(70))
    sketch.update_many([1, 68], np.eye(70)[[1, 69]], [1, 0], classes=range(70))
    assert sketch.paired
    assert len(sketch.labels) == 64

    sketch.update(3, {64: 5e-324})
    assert not sketch.paired
    assert len(sketch.labels) == 65
    sketch.reset()
    assert sketch == sm.RankSketch()
    assert sketch.paired


FAILS: dict[str, Callable[[Any], Any]] = {
    "update": lambda s: s.update("new", {"new": 0.5, "other": 0.25}, 2**63 - 10),
    "scores": lambda s: s.update("new", {"new": 0.5, "other": float("nan")}),
    "batch": lambda s: s.update_many(["new", "b"], [{"new": 0.5}, {"b": 0.5}], [1, 2**62 * 1.9]),
    "merge": lambda s: s.merge(full()),
}


def full() -> Any:
    """Return a sketch of other classes and as much weight as there can be."""
    sketch = sm.RankSketch()
    sketch.update("full", {"full": 0.5}, 2**63 - 1024)
    return sketch


@pytest.mark.parametrize("fail", FAILS.values(), ids=FAILS)
def test_what_fails_leaves_the_pairs(fail: Callable[[Any], Any]) -> None:
    """A 65th class that is refused after all has dropped nothing."""
    sketch = one_each(range(64))
    sketch.update(3, {3: 0.75, 5: 0.25}, 2**62)
    before = sketch.to_bytes()
    with pytest.raises((sm.WeightError, sm.ScoreError)):
        fail(sketch)

    assert sketch.paired
    assert sketch.to_bytes() == before
    assert len(sketch.column(3, 3, 5).cells) == 2


def test_an_update_reverts_while_enough_classes_are_left() -> None:
    """The last sample of the 65th class stays, because pairs cannot come back; any other can be taken out."""
    sketch = one_each(range(66))
    expected = one_each([*range(10), *range(11, 66)])
    sketch.update("a", {"b": 0.5})
    sketch.revert("a", {"b": 0.5})
    sketch.revert(10, {10: 0.5})
    assert sketch == expected

    for revert in (sketch.revert, sketch.check_revert):
        with pytest.raises(sm.ScoreError, match="to revert while more than 64 classes are left, but 64 would be left"):
            revert(11, {11: 0.5})
    assert sketch == expected
    sketch.update(12, {11: 0.5})
    sketch.revert(11, {11: 0.5})
    assert sketch.labels == expected.labels


def samples() -> testing.Samples:
    """Samples of up to 70 classes, many of them with scores of all."""
    labels = st.integers(0, 69)
    scores = st.integers(-2, 3).map(lambda x: x / 4)
    rows = st.tuples(labels, scores).map(lambda drawn: {k: (k % 5 - drawn[1]) / 4 for k in range(drawn[0] + 1)})
    return st.tuples(labels, rows, st.sampled_from([0, 1, 3, 0.3]))


@pytest.mark.parametrize("law", [law for law in testing.LAWS if law is not testing.revert_undoes])
def test_laws(law: Callable[..., None]) -> None:
    """Merging, bytes and copies do not depend on when the pairs are dropped."""
    law(lambda: sm.RankSketch(buckets=3, sample=2), samples())


def many(make: Callable[..., Any], n: int = 70, **more: Any) -> Any:
    """Return a state of n classes, each predicted right but the first."""
    state = make()
    scores = np.full((n, n), 0.1) + 0.8 * np.eye(n)
    scores[0] = scores[1]
    state.update_many(np.arange(n), scores / scores.sum(axis=1, keepdims=True), classes=range(n), **more)
    return state


def test_a_set_reads_everything_but_pairs() -> None:
    """The default report works, and says once why areas of pairs are left out."""
    snapshot = many(lambda: sm.MetricSet(scores=True)).snapshot()
    rest = many(lambda: sm.MetricSet(scores=True, pairs=False)).snapshot()

    assert dict(snapshot.omitted) == {"roc_auc_ovo": NEEDS}
    assert set(rest) - set(snapshot) == {"roc_auc_ovo"}
    assert all(repr(snapshot[key]) == repr(rest[key]) for key in snapshot)
    assert repr(dict(snapshot.per_class["roc_auc"])) == repr(dict(rest.per_class["roc_auc"]))
    for key in ("roc_auc_ovo", "roc_auc_ovo_pair", "roc_auc_ovo_directed", "roc_auc_single_score"):
        with pytest.raises(ValueError, match="Expected pairs of classes, which are kept for at most 64"):
            snapshot[key]
    assert "Hand and Till" not in snapshot.report(80)
    assert snapshot.to_dict()["omitted"] == {"roc_auc_ovo": NEEDS}
    with pytest.raises(ValueError, match="at most 64 classes to compare one class with another, but got 70"):
        snapshot.evaluation.states["ranks"].column(0, 0, 1)


def test_merged_sets_are_the_set_of_all() -> None:
    """Two sets of 40 classes have the bytes of one set of 80."""
    first, second, whole = (sm.MetricSet(scores=True) for _ in range(3))
    for label in range(80):
        for state in (first if label < 40 else second, whole):
            state.update(label, {label: 0.75, (label + 1) % 80: 0.25})

    assert first.snapshot()["roc_auc_ovo"] > 0.5
    assert first.merge(second).to_bytes() == whole.to_bytes()
    assert sm.from_bytes(whole.to_bytes()) == whole


def test_a_metric_of_pairs_reads_no_bytes_without_them() -> None:
    """Bytes of a metric of pairs with more classes come from no stream."""
    sketch = many(sm.RankSketch)
    metric = sm.HandTillAUC()
    with pytest.raises(sm.ScoreError, match=r"at most 64 classes for a metric that compares pairs .* got 70"):
        metric.attach(sketch)
    assert metric == sm.HandTillAUC()

    content = [many(sm.HandTillAUC, 64).to_content()[0], sketch.to_content()]
    body = encoded(["metric", content])
    data = metric.to_bytes()[:5] + zlib.crc32(body).to_bytes(4, "little") + body
    with pytest.raises(sm.DecodeError, match="at most 64 classes for a metric that compares pairs"):
        sm.from_bytes(data)


CONTAINERS: dict[str, tuple[Callable[[Any], Any], Callable[[int], dict[str, Any]]]] = {
    "groups": (sm.ByGroup, lambda i: {"group": i % 3}),
    "time": (lambda inner: sm.TimeWindow(inner, "1m", 6), lambda i: {"t": i}),
    "fading": (lambda inner: sm.Fading(inner, "20s"), lambda i: {"t": i}),
    "rolling": (lambda inner: sm.Rolling(inner, 500), lambda i: {}),
    "units": (lambda inner: inner, lambda i: {"unit": i % 7}),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_containers_read_many_classes(name: str) -> None:
    """Groups or panes that together have more than 64 classes are read as one snapshot."""
    make, context = CONTAINERS[name]
    state = make(sm.MetricSet(scores=True))
    for i in range(210):
        state.update(i % 70, {i % 70: 0.75, (i + 1) % 70: 0.25}, **context(i // 3))
    snapshot = sm.from_bytes(state.to_bytes()).snapshot()
    snapshot = getattr(snapshot, "overall", snapshot)

    assert snapshot["roc_auc_ovr"] > 0.9
    assert snapshot["roc_auc_ovo"] > 0.9 if len(snapshot.labels) <= 64 else "roc_auc_ovo" in snapshot.omitted


@pytest.mark.parametrize("batch", [1, 5])
def test_a_rolling_window_has_its_pairs_again(batch: int) -> None:
    """As many classes come and leave, the window is always that of a new stream of its samples."""
    rng = np.random.default_rng(batch)
    window = sm.Rolling(sm.RankSketch(), 80)
    truth = np.concatenate([rng.integers(0, size, 240) for size in (72, 50, 73)]).tolist()
    every = [{label: 0.5, label * 7 % 72: 0.25} for label in truth]
    paired = set()
    for start in range(0, len(truth), batch):
        if batch == 1:
            window.update(truth[start], every[start])
        else:
            window.update_many(truth[start : start + batch], every[start : start + batch])
        last = slice(max(start + batch - 80, 0), start + batch)
        expected = sm.RankSketch()
        expected.update_many(truth[last], every[last])
        snapshot = window.snapshot().evaluation.states["ranks"]
        assert snapshot.to_bytes() == expected.to_bytes()
        paired.add(snapshot.paired)

    assert paired == {True, False}
