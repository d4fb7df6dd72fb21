"""Rank sketches by example: forms of scores, labels, errors that change nothing, memory, and broken sketches."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from stream_metrics import wire
from stream_metrics.errors import DecodeError, LabelError, MergeError, ScoreError, WeightError
from stream_metrics.states.ranks import RankSketch


def filled(n: int = 3000, **options: Any) -> RankSketch:
    """Return a sketch of n random binary samples."""
    rng = np.random.default_rng(n)
    sketch = RankSketch(**options)
    sketch.update_many(rng.random(n) < 0.3, rng.normal(size=n))
    return sketch


def test_stated_and_absent_zeros_are_the_same() -> None:
    """A score of 0 changes nothing but the totals."""
    stated, absent = RankSketch(), RankSketch()
    stated.update("a", {"a": 0.5, "b": 0.0, "never": -0.0})
    absent.update("a", {"a": 0.5})

    assert stated == absent
    assert stated.labels == ("a",)
    assert stated.column("a").totals.tolist() == [0, 1]


def test_labels_are_shown_in_their_narrowest_form() -> None:
    """True, 1 and 1.0 are one label; an implied `pos_label` is no appearance."""
    sketch = RankSketch()
    sketch.update(1, 0.25)
    sketch.update(0.0, 0.75)

    assert repr(sketch.labels) == "(0.0, 1)"
    sketch.update(False, {True: 0.5})
    assert repr(sketch.labels) == "(False, True)"


BAD = [
    ((True, float("nan")), ScoreError),
    ((True, float("inf")), ScoreError),
    (("a", {"b": 0.5, "c": float("nan")}), ScoreError),
    ((None, 0.5), LabelError),
    (("a", {None: 0.5}), LabelError),
    (("a", "0.5"), ScoreError),
    (("a", [0.1, 0.2]), ScoreError),
    ((2, {2: 0.5}, -1), WeightError),
    (("new", {"new": 0.5}, 2**63 - 2000), WeightError),
    (("new", 10**400), ScoreError),
]


@pytest.mark.parametrize(("sample", "error"), BAD)
def test_a_bad_sample_changes_nothing(sample: Any, error: type[Exception]) -> None:
    """Neither one by one nor in a batch."""
    sketch = filled(buckets=64, sample=16)
    before, labels = sketch.to_bytes(), sketch.labels
    with pytest.raises(error):
        sketch.update(*sample)
    with pytest.raises(error):
        sketch.update_many(*([good, bad] for good, bad in zip((True, 0.5, 2**54), sample, strict=False)))

    assert sketch.to_bytes() == before
    assert sketch.labels == labels


def test_errors_name_the_position() -> None:
    """A bad score in a batch is named by its row and label."""
    with pytest.raises(ScoreError, match=r"position 1 .* got nan for 'y'"):
        RankSketch().update_many(["x", "y"], [[0.1, 0.2], [0.3, np.nan]], classes=["x", "y"])
    with pytest.raises(ScoreError, match="position 2"):
        RankSketch().update_many([1, 0, 1], [0.1, 0.2, "x"])


def test_revert_of_what_was_not_counted_raises() -> None:
    """A wrong score, class or weight, a zero that was none, or a coarse column; nothing changes."""
    sketch = RankSketch()
    sketch.update("a", {"a": 0.5, "b": 0.25}, 2)
    before = sketch.to_bytes()
    for sample in [("a", {"a": 0.5}, 2), ("b", {"a": 0.5, "b": 0.25}), ("a", {"a": 0.5, "b": 0.25}, 3), ("a", None)]:
        with pytest.raises(WeightError):
            sketch.revert(*sample)
    assert sketch.to_bytes() == before
    coarse = filled(buckets=8)
    with pytest.raises(WeightError, match="level"):
        coarse.revert(True, 0.5)


def test_different_configurations_do_not_merge() -> None:
    """MergeError names the option and both values."""
    for other in (RankSketch(512), RankSketch(sample=64), RankSketch(pos_label="x"), RankSketch(pairs=False)):
        with pytest.raises(MergeError, match="to be the same"):
            RankSketch().merge(other)


ADVERSARIAL: dict[str, Any] = {
    "600 decades": lambda g, shape: g.choice([-1, 1], shape) * 10.0 ** g.uniform(-300, 300, shape),
    "any bits": lambda g, shape: np.nan_to_num(g.integers(0, 2**64, shape, dtype=np.uint64).view(np.float64)),
    "rising": lambda g, shape: 1e-9 + np.arange(shape[0] * shape[1]).reshape(shape) * 1e-7,
    "narrow and wide": lambda g, shape: np.where(
        g.random(shape) < 0.9, 0.5 + 1e-12 * g.normal(size=shape), g.standard_cauchy(shape)
    ),
}
WEIGHTS: dict[str, Any] = {
    "of one": lambda g, n: None,
    "large": lambda g, n: g.integers(2**40, 2**41, n),
    "fractions": lambda g, n: g.random(n) * 2.0**40,
}


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize(
    ("buckets", "sample", "classes"),
    [(1024, 512, 2), (64, 64, 2), (4096, 2048, 2), (17, 1000, 3), (300, 513, 4), (2, 1, 3)],
)
@pytest.mark.parametrize("shape", ADVERSARIAL)
def test_memory_stays_within_the_stated_bound(
    shape: str, buckets: int, sample: int, classes: int, weights: str
) -> None:
    """For any samples, a column takes no more than `memory_bound`, and its bytes no more than the docstring states.

    Fractions take 8 bytes a number more, and 200 bytes are for totals and header.
    """
    g = np.random.default_rng(0)
    sketch = RankSketch(buckets, sample)
    for n in (10, buckets, 20_000, 20_000):
        truth, table = g.integers(0, classes, n), ADVERSARIAL[shape](g, (n, classes))
        sketch.update_many(truth, table, WEIGHTS[weights](g, n), classes=range(classes))

        assert sketch.memory() <= classes * sketch.memory_bound(classes)
    more = 8 if weights == "fractions" else 0
    data = (16 + (16 + 2 * more) * classes) * buckets + (16 + more) * classes * sample
    assert len(sketch.to_bytes()) <= classes * data + 200


@pytest.mark.parametrize("weights", ["of one", "large"])
@pytest.mark.parametrize("shape", ADVERSARIAL)
def test_a_default_binary_column_has_64_kilobytes_of_data_at_most(shape: str, weights: str) -> None:
    """A hundred thousand scores of any values and whole weights are at most 65536 bytes."""
    g, n = np.random.default_rng(0), 100_000
    sketch = RankSketch()
    sketch.update_many(g.random(n) < 0.5, ADVERSARIAL[shape](g, (n, 1)).ravel(), WEIGHTS[weights](g, n))

    assert sketch.column(True).level > 0
    assert len(sketch.to_bytes()) <= 2**16
    assert sketch.memory() <= sketch.memory_bound() <= 165_000


def test_memory_is_flat() -> None:
    """From 10^5 to 2 * 10^6 samples neither the state nor what was allocated on the way grows."""
    g, n = np.random.default_rng(0), 100_000
    own, scores = g.random(n) < 0.3, g.normal(size=n)
    sketch = RankSketch()
    sketch.update_many(own, scores)
    before = sketch.memory()
    tracemalloc.start()
    try:
        sketch.update_many(own, scores * 1.25)
        held = tracemalloc.get_traced_memory()[0]
        for i in range(18):
            sketch.update_many(own, scores * (1.3 + i / 7))
        grown = tracemalloc.get_traced_memory()[0] - held
    finally:
        tracemalloc.stop()

    assert sketch.n == 2_000_000
    assert sketch.memory() == before
    assert grown < 10_000


@pytest.mark.parametrize("options", [{}, {"buckets": 16, "sample": 4}])
def test_damaged_content_is_refused_or_another_state(options: Any) -> None:
    """Bytes with a good checksum but a changed number are refused, or are exactly what their state would write."""
    sketch = filled(400, **options)
    content = sketch._content()
    rng = np.random.default_rng(5)
    for _ in range(300):
        columns = [bytearray(column) for column in content[6]]
        column = columns[1]
        column[int(rng.integers(len(column)))] ^= 1 << int(rng.integers(8))
        body = wire.encoded([RankSketch.KIND, [*content[:6], [bytes(c) for c in columns]]])
        data = b"SMET\x01" + wire.zlib.crc32(body).to_bytes(4, "little") + body
        try:
            state = RankSketch.from_bytes(data)
        except DecodeError:
            continue
        assert state.to_bytes() == data


def test_letting_go_of_the_names_of_before_may_count_others() -> None:
    """The names of the last row of scores are kept; when the next ones take their place, a finalizer may use others."""
    state, other = RankSketch(), RankSketch()

    class Counts(str):
        __slots__ = ()

        def __del__(self) -> None:
            other.update("x", [0.1, 0.9], classes=("x", "y"))

    state.update("a", [0.5, 0.25], classes=(Counts("a"), "b"))
    state.update("c", [0.5, 0.25], classes=("c", "d"))

    assert other.n == 1
    assert state.labels == ("a", "b", "c", "d")
