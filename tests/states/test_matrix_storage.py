"""Square and sparse tables: the same readings, bytes and labels, whichever a table is, and the documented memory."""

from __future__ import annotations

import copy
import random
import tracemalloc
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.oracle import Oracle, narrow
from support.state_checks import assert_same_readings, check_refused, counted, fed, with_batch

import stream_metrics as sm


def stream(seed: int, classes: int, n: int, fractions: bool) -> Iterator[tuple[Any, Any, Any]]:
    """Yield samples of labels of several types; the weights are whole, or have a few binary places."""
    rng = random.Random(seed)
    names = [i if i % 3 else f"class {i}" for i in range(classes)]
    for _ in range(n):
        truth = rng.choice(names)
        predicted = truth if rng.random() < 0.4 else rng.choice(names)
        yield truth, predicted, rng.choice([1, 3, 0.5, 2.25, 2**40]) if fractions else rng.choice([1, 1, 7, 2**40])


def in_plain_python(samples: list[tuple[Any, Any, Any]]) -> Oracle:
    """Return the oracle that counted the samples, summed at once: its own update takes time for every occupied cell."""
    oracle, table = Oracle(), defaultdict(Fraction)
    for truth, predicted, w in samples:
        table[truth, predicted] += Fraction(w)
    oracle.table = {cell: narrow(w) for cell, w in table.items()}
    oracle.n = len(samples)
    return oracle


def batch_of(samples: list[Any]) -> sm.ConfusionMatrix:
    """Return a state that counted the samples in one batch."""
    return with_batch(sm.ConfusionMatrix(), *(list(column) for column in zip(*samples, strict=True)))


def reverted(state: sm.ConfusionMatrix, samples: Any) -> sm.ConfusionMatrix:
    """Return the state after the samples were taken back."""
    for sample in samples:
        state.revert(*sample)
    return state


@pytest.mark.parametrize("fractions", [False, True], ids=["whole", "fractions"])
@pytest.mark.parametrize("classes", [31, 34, 60, 150, 400, 1300])
def test_tables_that_change_their_form(classes: int, fractions: bool) -> None:
    """Few cells, then many, then few again, in one state and in shards: all bytes are equal, and readings exact."""
    samples = [*stream(classes, 20, 60, fractions), *stream(classes + 1, classes, 15_000, fractions)]
    whole, shards = sm.ConfusionMatrix(), [sm.ConfusionMatrix() for _ in range(5)]
    for at, sample in enumerate(samples):
        whole.update(*sample)
        shards[at % 5].update(*sample)
        if at in (10, 60, 90, 200, 1000, 5000):
            again, merged = batch_of(samples[: at + 1]), sm.merge(shards)
            assert whole.to_bytes() == again.to_bytes() == merged.to_bytes() == whole.copy().to_bytes()
            assert sm.from_bytes(whole.to_bytes()) == whole
            assert np.array_equal(whole.matrix, merged.matrix)
    assert_same_readings(whole, in_plain_python(samples))
    rest, first = sm.merge(shards), fed(sm.ConfusionMatrix(), samples[:100])
    assert_same_readings(reverted(whole, samples[100:]), in_plain_python(samples[:100]))
    for at in range(5):
        later = fed(sm.ConfusionMatrix(), samples[100:][at::5])
        rest.subtract(sm.from_bytes(later.to_bytes()) if at % 2 else later)
    assert rest.to_bytes() == whole.to_bytes() == first.to_bytes()
    assert whole.snapshot().to_json() == first.snapshot().to_json()
    assert first.copy().merge(batch_of(samples[100:])) == batch_of(samples[100:]).merge(first) == batch_of(samples)
    for w in (1, 0.5):
        assert whole == first == rest
        assert fed(whole, [(*samples[0][:2], w)]) != first != fed(rest, [(*samples[0][:2], w)])
        fed(first, [(*samples[0][:2], w)])
    assert rest.merge(rest).total == 2 * whole.total


def test_on_both_sides_of_the_limit() -> None:
    """With the last square and the first sparse number of classes, batches, updates, merges and copies agree."""
    for classes, w in product((3, 1000, 1023, 1024, 1025, 2000), (1, 0.5)):
        columns = np.arange(classes), np.arange(classes)[::-1], np.full(classes, w)
        batch, one = with_batch(sm.ConfusionMatrix(), *columns), counted(*zip(*columns, strict=True))
        halves = [slice(None, classes // 2), slice(classes // 2, None)]
        shards = [with_batch(sm.ConfusionMatrix(), *(column[half] for column in columns)) for half in halves]
        assert batch.to_bytes() == one.to_bytes() == sm.merge(shards).to_bytes()
        assert np.array_equal(batch.matrix, w * np.eye(classes)[::-1])
        assert one.merge(one) == with_batch(batch, *columns)
        for duplicate in (sm.ConfusionMatrix.copy, copy.copy, copy.deepcopy):
            twin, before = duplicate(one), one.to_bytes()
            twin.update("new", 0)
            twin.revert(0, classes - 1, w)
            assert one.to_bytes() == before != twin.to_bytes()
            one.update("other", "class")
            one.revert("other", "class")
            assert twin.n == 2 * classes


def test_many_classes_need_memory_for_occupied_cells_only() -> None:
    """A hundred thousand classes are read and written, but not shown as a square; fixed ones may be absent."""
    k = 100_000
    state = with_batch(sm.ConfusionMatrix(), np.arange(k), (np.arange(k) * 7) % k)
    assert (state.k, state.n, state.correct, state.true_dot_predicted) == (k, k, 2, k)
    assert len(state.to_bytes()) < 20 * k
    assert state.labels == tuple(range(k))
    with pytest.raises(ValueError, match="at most 4096 classes"):
        state.matrix  # noqa: B018
    rows, columns, values = state.cells()
    assert rows.tolist() == list(range(k))
    assert columns.tolist() == [(7 * row) % k for row in range(k)]
    assert set(values.tolist()) == {1}

    fixed = counted(("04999", "00000", 0.5), labels=[f"{i:05}" for i in range(5000)])
    assert fixed.k == 5000
    assert fixed.true_totals.sum() == fixed.true_totals[-1] == 0.5
    assert [column.tolist() for column in fixed.cells()] == [[4999], [0], [0.5]]
    assert sm.from_bytes(fixed.to_bytes()) == fixed


PART = "class of things" * 5
NAMES = [PART[:i] for i in range(70)]
NAMES += [f"{name}x" for name in NAMES] + [f"n{i}" for i in range(70)] + ["é", "日本", "a\0", "a\0\0", "ab\0", "\0"]
names = st.sampled_from(NAMES) | st.text(st.sampled_from("ab"), max_size=5)


def fresh(text: str) -> str:
    """Return a new object, except for a text that Python shares."""
    return "".join([*text[:1], *text[1:]])


def from_counts(left: Counter[tuple[str, str]]) -> bytes:
    """Return the bytes of a state of counted pairs."""
    return sm.ConfusionMatrix.from_counts([t for t, _ in left], [p for _, p in left], [*left.values()]).to_bytes()


@given(st.lists(st.tuples(st.sampled_from(["update", "revert", "reset"]), names, names), max_size=200))
def test_texts_that_are_new_objects_are_the_same_labels(steps: list[tuple[str, str, str]]) -> None:
    """A text that a decoder makes for each sample is counted, taken back and forgotten by its characters."""
    state, left = sm.ConfusionMatrix(), Counter[tuple[str, str]]()
    for step, t, p in steps:
        if step == "reset" and len(left) > 100:
            state.reset()
            left.clear()
        elif step == "revert" and left:
            last = next(reversed(left))
            state.revert(*map(fresh, last))
            left[last] -= 1
            left = +left
        else:
            state.update(fresh(t), fresh(p))
            left[t, p] += 1
    assert state.to_bytes() == from_counts(left)


def test_every_text_is_a_class_of_its_own() -> None:
    """Texts of every length, and removed ones that come again, are told apart, with fixed labels too."""
    distinct = [*dict.fromkeys(NAMES)]
    pairs = list(zip(distinct, distinct[1:] + distinct[:1], strict=True))
    state = fed(sm.ConfusionMatrix(), [(fresh(t), fresh(p)) for t, p in pairs * 3])
    assert state.to_bytes() == from_counts(Counter(pairs * 3))
    for turn in range(3):
        labels = [f"label {turn % 2} {i}" for i in range(200)]
        fed(state, [(fresh(label), fresh(label)) for label in labels])
        assert {*state.labels} == {*distinct, *labels}
        reverted(state, [(fresh(label), fresh(label)) for label in labels])
    for other in (None, "rest"):
        fixed = fed(sm.ConfusionMatrix(["a1", "b1"], other), [(fresh("a1"), fresh("b1"))] * 3)
        if other is None:
            check_refused(fixed, "update", [((fresh("class_1"), fresh("a1")), sm.LabelError, "y_true")])
        else:
            fixed.update(fresh("class_1"), fresh("rest"))
            assert (fixed.n, fixed.labels) == (4, ("a1", "b1", "rest"))


def test_the_documented_memory_is_not_exceeded() -> None:
    """However a state came about, from nine to twenty thousand classes; a thousandth of the cells takes little."""
    names, rng, failures = [f"class {i:06}" for i in range(20_000)], np.random.default_rng(7), []
    tables = [np.argwhere(np.ones((k, k))) for k in (9, 65, 129)]
    tables += [np.column_stack([np.arange(k), rng.integers(0, k, k)]) for k in (1000, 1025, 20_000)]
    for pairs, w in product(tables, (1, 0.5)):
        k, rows = int(pairs.max()) + 1, [(names[t], names[p], w) for t, p in pairs.tolist()]
        state = batch_of(rows)
        data = state.to_bytes()
        ways = (
            partial(fed, sm.ConfusionMatrix(), rows),
            partial(sm.from_bytes, data),
            state.copy,
            partial(batch_of, rows),
        )
        cells = 9.04 * k**2 / (15 if k == 1000 else 1) if k <= 1024 else 43 * len(pairs)
        for at, make in enumerate(ways):
            tracemalloc.start()
            state = make()
            size = tracemalloc.get_traced_memory()[0]
            tracemalloc.stop()
            if size > cells * (1 + (w != 1)) + k * (456 if at == 0 else 200) + 6000:
                failures.append((at, k, w, size))
    assert failures == []
