"""Rank sketches: the columns of an oracle, weights, reverts, large batches, memory, bytes, and what is refused."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import rank_streams
from support.changed_bytes import bytes_of, content_of
from support.kernels import codes
from support.rank_oracle import RankOracle
from support.rank_oracle import code as code_of
from support.refusals import refused
from support.state_checks import assert_same_column, check_refused, fed, with_batch

import stream_metrics as sm
from stream_metrics import RankSketch

COLUMNS = 6  # the place of the columns in the content of a sketch
NAN = float("nan")


def filled(n: int = 3000, **options: Any) -> RankSketch:
    """Return a sketch of n random binary samples."""
    rng = np.random.default_rng(n)
    return with_batch(RankSketch(**options), rng.random(n) < 0.3, rng.normal(size=n))


@pytest.mark.quick
def test_zeros_and_labels() -> None:
    """A score of 0 changes nothing but the totals; labels are shown in their narrowest form."""
    stated = fed(RankSketch(), [("a", {"a": 0.5, "b": 0.0, "never": -0.0})])
    assert stated == fed(RankSketch(), [("a", {"a": 0.5})])
    assert stated.labels == ("a",)
    assert stated.column("a").totals.tolist() == [0, 1]
    sketch = fed(RankSketch(), [(1, 0.25), (0.0, 0.75)])
    assert repr(sketch.labels) == "(0.0, 1)"
    sketch.update(False, {True: 0.5})
    assert repr(sketch.labels) == "(False, True)"


LABELS = ("cat", "dog", "a label of more than sixty-four characters, which no cache of short texts has", 3, 4.0, b"x")
mappings = st.dictionaries(st.sampled_from(LABELS), st.sampled_from((0.0, 0.25, 0.5, 1.0)), min_size=1)
weights = st.sampled_from((1, 1, 0.5, 2, 0.25, 2.0**-64))
rows = st.lists(st.tuples(st.sampled_from(LABELS), mappings, weights), min_size=1, max_size=8)


def respelled(scores: dict[Any, float]) -> dict[Any, float]:
    """Return the scores under new objects of their labels that are text."""
    return {key.encode().decode() if isinstance(key, str) else key: x for key, x in scores.items()}


@pytest.mark.quick
@settings(max_examples=30)
@given(those=rows, others=rows, pairs=st.booleans(), data=st.data())
def test_reverts_leave_the_others(those: list[Any], others: list[Any], pairs: bool, data: st.DataObject) -> None:
    """In any order, with the same objects or new ones; classes come again; what was not counted changes nothing."""
    state = fed(RankSketch(pairs=pairs), others + those)
    for truth, scores, w in data.draw(st.permutations(those)):
        state.revert(truth, respelled(scores) if data.draw(st.booleans()) else scores, w)
    assert state.to_bytes() == fed(RankSketch(pairs=pairs), others).to_bytes()
    before, memory = state.to_bytes(), state.memory()
    try:
        state.revert(*those[0])
    except sm.WeightError:
        assert (state.to_bytes(), state.memory()) == (before, memory)
    else:
        state.update(*those[0])
        assert state.to_bytes() == before
    for sample in reversed(others):
        state.revert(*sample)
    assert fed(state, those).to_bytes() == fed(RankSketch(pairs=pairs), those).to_bytes()


@pytest.mark.quick
def test_reverts_of_what_was_not_counted() -> None:
    """Other scores, classes and weights are refused, and so are reverts of scores that share cells."""
    row = {"a": 0.5, "b": 0.25}
    samples = [("a", {"a": 0.5}, 2), ("b", row), ("a", row, 3), ("a", None)]
    check_refused(fed(RankSketch(), [("a", row, 2)]), "revert", [(sample, sm.WeightError) for sample in samples])
    check_refused(filled(buckets=8), "revert", [((True, 0.5), sm.WeightError)])


def weighted_stream(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return labels, scores, and weights from 2^-80 to 2^40."""
    g = np.random.default_rng(seed)
    scores = g.uniform(size=n).round(3)
    return g.uniform(size=n) < scores, scores, 2.0 ** g.uniform(-80, 40, n)


def test_rounded_weights_are_counted_and_none_vanishes() -> None:
    """In any split and through bytes; less than 2^-64 counts as 2^-64, and windows have what their samples give."""
    own, scores, w = weighted_stream(600)
    samples = list(zip(own.tolist(), scores.tolist(), w.tolist(), strict=True))
    for buckets in (8, 1024):
        whole, order = RankSketch(buckets, 8), np.random.default_rng(1).permutation(600).tolist()
        whole.update_many(own, scores, w)
        shards = [fed(RankSketch(buckets, 8), [samples[row] for row in order[at::4]]) for at in range(4)]
        shards[0].merge(sm.from_bytes(shards[1].to_bytes()))
        assert shards[2].merge(shards[3]).merge(shards[0]).to_bytes() == whole.to_bytes()
        assert whole.rounded == sum(x < 2.0**-11 and x * 2.0**64 % 1 != 0 for x in w.tolist()) > 0
    window, last = fed(sm.Rolling(sm.ROCAUC(), 40), samples), with_batch(sm.ROCAUC(), own[-40:], scores[-40:], w[-40:])
    assert window.get() == last.get()
    assert window.snapshot().estimate("roc_auc") == last.snapshot().estimate("roc_auc")

    for tiny in (2.0**-64 - 2.0**-117, 2.0**-65, 1e-300, 5e-324):
        pair = [(True, 0.5, tiny), (False, 0.25, tiny)]
        single = fed(RankSketch(), pair)
        for form in (list, np.array):
            assert single == with_batch(RankSketch(), [True, False], form([0.5, 0.25]), form([tiny, tiny]))
        assert (single.weight, single.rounded) == (2.0**-63, 2)
        estimate = single.snapshot().estimate("roc_auc")
        assert (estimate.low, estimate.value, estimate.high) == (0.0, 1.0, 1.0)
        single.revert(*pair[0])
        single.revert(*pair[1])
        assert single == RankSketch()


def test_calibration_needs_probabilities_at_any_level() -> None:
    """One score above 1 makes the calibration error nan, wherever it comes and however the sketch coarsens."""
    g = np.random.default_rng(3)
    for buckets, beyond, n in product((2, 3, 8, 64, 512, 1024), (3.0, 1 + 2**-52, 1e300, None), (5, 100, 5000)):
        scores, order = g.uniform(size=n) ** 4, g.permutation(n)
        scores[:2] = 1.0, 0.0
        if beyond is not None:
            scores[order[0]] = beyond
        own, scores = (np.arange(n) % 2 == 0)[order], scores[order]
        whole = with_batch(RankSketch(buckets, 16), own, scores)
        single = fed(RankSketch(buckets, 16), zip(own.tolist(), scores.tolist(), strict=True))
        merged = with_batch(RankSketch(buckets, 16), own[n // 2 :], scores[n // 2 :]).merge(whole.copy())
        for sketch in (whole, single, merged):
            value = sm.from_bytes(sketch.to_bytes()).snapshot().estimate("expected_calibration_error").value
            assert (value != value) == (beyond is not None), (buckets, beyond, n)
        assert whole.to_bytes() == single.to_bytes()


N = 9_000
SHAPES: dict[str, Any] = {
    "continuous": lambda rng: rng.random(N), "both signs": lambda rng: rng.standard_cauchy(N),
    "mostly 0": lambda rng: np.where(rng.random(N) < 0.9, 0.0, rng.random(N)),
    "an atom": lambda rng: np.where(rng.random(N) < 0.9, 0.3, rng.random(N)),
    "1300 values": lambda rng: rng.integers(1, 1300, N) / 1300, "10 values": lambda rng: rng.integers(0, 10, N) / 10,
    "as many values as buckets": lambda rng: rng.integers(1, 257, N) / 256,
    "huge": lambda rng: np.where(rng.random(N) < 0.5, 1.7e308, 1e308 * rng.random(N)),
}  # fmt: skip


def in_pieces(step: int, y: Any, scores: Any, w: Any, pairs: bool) -> bytes:
    """Count a stream in batches of `step` rows and return the bytes."""
    sketch = RankSketch(buckets=256, sample=64, pairs=pairs)
    for at in range(0, len(y), step):
        part = slice(at, at + step)
        sketch.update_many(y[part], scores[part], None if w is None else w[part])
    return sketch.to_bytes()


@pytest.mark.parametrize("shape", SHAPES)
def test_one_large_batch_equals_small_ones(shape: str) -> None:
    """Which samples are needed is estimated in large batches; bytes do not depend on it, for any weights."""
    rng = np.random.default_rng(len(shape))
    for pairs, w in product((True, False), (None, rng.integers(0, 4, N), rng.integers(0, 9, N) / 4)):
        y, scores = rng.random(N) < 0.3, SHAPES[shape](rng)
        expected = in_pieces(97, y, scores, w, pairs)
        first, second = (
            sm.from_bytes(in_pieces(N, y[half], scores[half], None if w is None else w[half], pairs))
            for half in (slice(0, N // 2), slice(N // 2, N))
        )
        assert expected == in_pieces(N, y, scores, w, pairs) == first.merge(second).to_bytes()
        if w is None:
            assert_same_column(first.column(True), RankOracle(256, 64).column(scores, y))


@pytest.mark.quick
def test_labels_that_a_single_score_cannot_be_about() -> None:
    """A label that no row has is not refused; one that a row has is, by its first row."""
    for late in (1, 40):
        names = [0, 1, *(f"label {i}" for i in range(late))]
        codes, scores = np.array([0, 1, 1, 0]), [0.25, 0.5, 0.75, 1.0]
        state = with_batch(RankSketch(), sm.Categorical(codes, names), scores)
        assert state == with_batch(RankSketch(), codes, scores)
        codes[2:] = 1 + late
        batch = (sm.Categorical(codes, names), scores)
        check_refused(state, "update_many", [(batch, sm.LabelError, "y_true", 2, names[-1])])


WHOLE = [1, 2, 5]
FRACTIONS = [0.5, 0.25, 1.75, 3 * 2.0**-20, 0.1, 2.0, 2.0**21, 1e-3, 1e-7, 1e-15, 2.0**-64, 2.0**60 + 1]


@pytest.mark.quick
@pytest.mark.parametrize("weights", [WHOLE, FRACTIONS], ids=["whole", "fractions"])
@pytest.mark.parametrize(("buckets", "sample"), [(2, 1), (3, 5), (16, 8), (1024, 512)])
@given(data=st.data())
def test_column_is_that_of_the_oracle(data: Any, buckets: int, sample: int, weights: list[float]) -> None:
    """Cells, sole codes, counts, offsets and samples are those of all raw scores at once, in units of the weights."""
    rows = data.draw(st.lists(st.tuples(st.booleans(), rank_streams.scores(), st.sampled_from(weights)), min_size=1))
    own, x, w = (np.array(column) for column in zip(*rows, strict=True))
    single, batch = RankSketch(buckets, sample, pairs=data.draw(st.booleans())), RankSketch(buckets, sample)
    for row in rows:
        single.update(*row)
    batch.update_many(own, x, w)

    for sketch in (single, batch):
        assert_same_column(sketch.column(True), RankOracle(buckets, sample).column(x, own, w))


@pytest.mark.quick
def test_means_are_known_while_their_moment_fits() -> None:
    """The mean place in a cell of 2^63 codes is known while its weight is below 2^21, whole or not."""
    x = np.array([-0.5, -1e-300, 0.5, -2.0, 2.0])
    own = np.array([True, True, True, False, False])
    for weight in (2**21 - 1, 2**21 - 2.0**-20, 2**21, 2**21 + 2.0**-20, 2**40 + 0.5):
        w = np.array([1, weight - 1, 2.0**-20, 1, 1])
        sketch = with_batch(RankSketch(2, 1), own, x, w)
        column = sketch.column(True)
        assert column.level == 63
        assert (column.counts[0] / column.units).tolist() == [1, weight]
        assert np.isnan(column.offsets[0, 1]) != (weight < 2**21)
        assert_same_column(column, RankOracle(2, 1).column(x, own, w))


@pytest.mark.quick
def test_codes_of_scores() -> None:
    """The compiled code is that of the oracle for every exponent and branch; narrow floats keep their order."""
    patterns = np.array([0, 1, 2, 2**51, 2**52 - 1, 0x5555555555555, 0xAAAAAAAAAAAAA, 0x123456789ABCD], np.uint64)
    bits = (np.arange(2047, dtype=np.uint64)[:, None] << np.uint64(52)) | patterns
    near = np.array([0.5, 1.0, 1.5, 2.0, 1.5 * 2.0**921, 0.25, 3.0]).view(np.int64)[:, None] + np.arange(-50, 51)
    one = 1.0 - 2.0 ** -np.arange(1, 54)
    positive = np.concatenate([bits.view(np.float64).ravel(), near.view(np.float64).ravel(), one, 2 - one])
    assert np.array_equal(codes(positive), code_of(positive))
    assert np.array_equal(codes(-positive), code_of(-positive))
    halves = np.arange(0, 0x7C00, dtype=np.uint16).view(np.float16)
    singles = np.arange(0, 0x7F800000, 997, dtype=np.uint32).view(np.float32)
    for x in (halves, singles):
        assert np.all(np.diff(codes(x.astype(np.float64)).astype(np.int64) ^ np.int64(-(2**63))) > 0)


ADVERSARIAL: list[Any] = [  # 600 decades, any bits, rising, narrow and wide
    lambda g, shape: g.choice([-1, 1], shape) * 10.0 ** g.uniform(-300, 300, shape),
    lambda g, shape: np.nan_to_num(g.integers(0, 2**64, shape, dtype=np.uint64).view(np.float64)),
    lambda g, shape: 1e-9 + np.arange(shape[0] * shape[1]).reshape(shape) * 1e-7,
    lambda g, shape: np.where(g.random(shape) < 0.9, 0.5 + 1e-12 * g.normal(size=shape), g.standard_cauchy(shape)),
]
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
def test_memory_stays_within_the_stated_bound(buckets: int, sample: int, classes: int, weights: str) -> None:
    """A column takes no more than `memory_bound`, and its bytes no more than is documented.

    Fractions take 8 bytes a number more, and 200 bytes are for totals and header.
    """
    more = 8 if weights == "fractions" else 0
    data = (16 + (16 + 2 * more) * classes) * buckets + (16 + more) * classes * sample
    for shape in ADVERSARIAL:
        g, sketch = np.random.default_rng(0), RankSketch(buckets, sample)
        for n in (10, buckets, 20_000, 20_000):
            truth, table = g.integers(0, classes, n), shape(g, (n, classes))
            sketch.update_many(truth, table, WEIGHTS[weights](g, n), classes=range(classes))
            assert sketch.memory() <= classes * sketch.memory_bound(classes)
        assert len(sketch.to_bytes()) <= classes * data + 200


def test_memory_is_flat() -> None:
    """A default column has at most 64 kB of data, and two million samples take as much as a hundred thousand."""
    g, n = np.random.default_rng(0), 100_000
    own, scores = g.random(n) < 0.3, g.normal(size=n)
    sketch = with_batch(RankSketch(), own, scores)
    before = sketch.memory()
    for i in range(19):
        sketch.update_many(own, scores * (1.3 + i / 7))
    assert (sketch.n, sketch.memory()) == (2_000_000, before)
    assert before <= sketch.memory_bound() <= 165_000
    assert len(sketch.to_bytes()) <= 2**16


@pytest.mark.quick
def test_names_that_are_forgotten_may_run_code() -> None:
    """The names of the last row are remembered; when others take their place, a finalizer may use other sketches."""
    state, other = RankSketch(), RankSketch()

    class Counts(str):
        __slots__ = ()

        def __del__(self) -> None:
            other.update("x", [0.1, 0.9], classes=("x", "y"))

    state.update("a", [0.5, 0.25], classes=(Counts("a"), "b"))
    state.update("c", [0.5, 0.25], classes=("c", "d"))
    assert other.n == 1
    assert state.labels == ("a", "b", "c", "d")


LEVELS: list[tuple[int, int, tuple[float, ...], bool]] = [  # buckets, decades of scores, weights, pairs
    (64, 1, (1,), False), (4, 1, (1,), False), (4, 1, (1, 0.5, 0.1), False), (8, 1, (1, 0.25), True),
    (64, 1, (1, 2**-40), True), (2, 40, (1,), False), (2, 300, (1, 0.5), False),
]  # fmt: skip


@pytest.mark.parametrize("at", range(len(LEVELS)))
def test_changed_columns_are_refused_or_are_another_state(at: int) -> None:
    """Under a good checksum, columns of any level are read as they would be written, or not at all."""
    buckets, spread, weights, pairs = LEVELS[at]
    source, sketch = random.Random(at), RankSketch(buckets, 4, pairs=pairs)
    for _ in range(40):
        scores = {name: source.choice((0.5, 1.0, source.random())) for name in "abc"}
        scores["a"] *= 10.0 ** source.randrange(-spread, spread)
        sketch.update(source.choice("abc"), scores, source.choice(weights))
    content, refusals = content_of(sketch), 0
    for _ in range(1500):
        columns = [bytearray(column) for column in content[COLUMNS]]
        for _ in range(source.choice((1, 1, 2, 4))):
            data = source.choice(columns)
            start = source.randrange(min(len(data), source.choice((4, len(data)))))
            if source.random() < 0.4:
                data[start] ^= 1 << source.randrange(8)
            else:
                new = source.choices((0, 1, 2, 63, 64, 127, 128, 255), k=source.randrange(3))
                data[start : start + source.randrange(3)] = bytes(new)
        changed = bytes_of("ranks", [*content[:COLUMNS], [bytes(column) for column in columns]])
        try:
            assert sm.from_bytes(changed).to_bytes() == changed
        except sm.DecodeError:
            refusals += 1
    assert refusals


@pytest.mark.quick
def test_columns_are_bytes_without_padding() -> None:
    """A column is bytes, also an empty one, and does not say that fractions follow where all are 0."""

    def read(sketch: RankSketch, column: Any) -> RankSketch:
        content = content_of(sketch)
        return sm.from_bytes(bytes_of("ranks", [*content[:COLUMNS], [column, *content[COLUMNS][1:]]]))

    empty = fed(RankSketch(pairs=False), [("a", {"b": 0.5})])
    assert content_of(empty)[COLUMNS][0] == b""
    for column in (None, "", 0, (), False):
        refused(lambda column=column: read(empty, column), sm.DecodeError, "columns of bytes")
    sketch = fed(RankSketch(pairs=False), [("a", {"a": 0.5})])
    level, mode, *rest = content_of(sketch)[COLUMNS][0]
    assert (level, mode) == (0, 0)
    refused(lambda: read(sketch, bytes([level, 1, *rest, 0])), sm.DecodeError, "fractions where any is not 0")
