"""Tables of the counts of groups: the same bytes as states give, or None where it takes states."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.state_checks import with_batch

import stream_metrics as sm
from stream_metrics.containers.group_tables import GroupTable, GroupWriter, holds_samples_like

TEXTS = st.sampled_from(["a", "b", "long " * 8, "x" * 300, "é"])
NUMBERS = st.sampled_from([0, 1, 7, -3, 200, 70_000, 2**40, 2**70, -(2**63) - 1, 1.0, True])
LABELS = TEXTS | NUMBERS | st.tuples(TEXTS, NUMBERS) | st.just((1, ("a", ("b",))))
LIMITS = st.sampled_from([None, 1, 2, 3])
MATRIX = sm.ConfusionMatrix()


def groups_of(inner: Any, *samples: tuple[Any, ...], **options: Any) -> sm.ByGroup:
    """Return groups after some samples, whose group comes last."""
    groups = sm.ByGroup(inner, **options)
    for *sample, group in samples:
        groups.update(*sample, group=group)
    return groups


def summed(states: list[Any]) -> bytes | None:
    """Return the bytes of the sum of states, or of bytes."""
    table = GroupTable.of([state if isinstance(state, bytes) else state.to_bytes() for state in states])
    return None if table is None else table.to_bytes()


def triples(truths: Any, predictions: Any, groups: Any) -> Any:
    """Samples of at most five shards."""
    return st.lists(st.lists(st.tuples(truths, predictions | st.none(), groups), max_size=20), min_size=1, max_size=5)


SHARDS: dict[str, tuple[Any, Any, bool]] = {  # the state, shards of samples, and whether a sum is always there
    "text": (MATRIX, triples(TEXTS, TEXTS, TEXTS), True),
    "numbers of one type": (MATRIX, triples(st.integers(0, 300), st.integers(-5, 5), st.integers(0, 20)), True),
    "fixed": (sm.ConfusionMatrix([3, 1, 2]), triples(*[st.sampled_from([3, 1, 2])] * 2, TEXTS), True),
    "any": (MATRIX, triples(LABELS, LABELS, LABELS), False),
}


@pytest.mark.quick
@pytest.mark.parametrize("name", SHARDS)
@given(data=st.data(), limit=LIMITS)
def test_sums_have_the_bytes_of_merged_states(name: str, data: st.DataObject, limit: int | None) -> None:
    """Also those of the first shard, of the first two, and so on; None only where a number has several types."""
    inner, shards, always = SHARDS[name]
    states = [groups_of(inner, *samples, max_groups=limit) for samples in data.draw(shards)]
    sums = [summed(states[: at + 1]) for at in range(len(states))]

    assert summed(states) in ((None,) if not always else ()) + (sm.merge(states).to_bytes(),)
    assert GroupTable.running([state.to_bytes() for state in states]) == (None if None in sums else sums)


def test_one_group_of_a_sum_is_read_alone() -> None:
    """Each group of the sum is the state of the merged groups."""
    states = [groups_of(MATRIX, ("a", "b", "g"), ("c", None, "h")), groups_of(MATRIX, ("a", "a", "g"))]
    table, total = GroupTable.of([state.to_bytes() for state in states]), sm.merge(states)
    assert table is not None
    groups = table.groups()
    assert groups is not None
    assert tuple(groups.keys) == total.groups
    assert [groups.state(at) for at in range(2)] == [total.state(key) for key in total.groups]


def test_many_rows_are_united_on_the_way() -> None:
    """More than half a million rows of a few groups have the bytes of merged states."""
    n, chance = 150_000, np.random.default_rng(0)
    columns = [(*chance.integers(0, 30, (2, n)), chance.integers(0, 60, n)) for _ in range(12)]
    states = [with_batch(sm.ByGroup(MATRIX), truth, predicted, group=group) for truth, predicted, group in columns]
    assert summed(states) == sm.merge(states).to_bytes()


@pytest.mark.quick
def test_all_else_is_left_to_states() -> None:
    """Weights, labels or keys of several types, other options or states, an `other` label, and nothing at all."""
    g = ("a", "b", "g")
    cases: list[list[Any]] = [
        *([groups_of(MATRIX, ("a", "b", w, "g"))] for w in (2, 0, 0.5)),
        [groups_of(MATRIX, (1, 1.0, "g"))],
        *([groups_of(MATRIX, x) for x in two] for two in ([(*"ab", 1), (*"ab", 1.0)], [(1, 2, "g"), (1.0, 2, "g")])),
        [groups_of(MATRIX), groups_of(MATRIX, max_groups=3)],
        [groups_of(sm.ConfusionMatrix(["a", "b"], "b"), ("a", "c", "g"))], [groups_of(sm.MetricSet(), g)],
        [sm.MetricSet()], [],
    ]  # fmt: skip
    assert [at for at, states in enumerate(cases) if summed(states) is not None] == []
    for empty in (sm.ByGroup(sm.MetricSet()), sm.ByGroup(sm.ConfusionMatrix(["a"], "a"))):
        assert GroupWriter(empty).written([[("a", "a", 1, "g")]]) is None
    assert GroupWriter(sm.ByGroup(MATRIX)).written([[("a", "a", 1, "g"), ("a", "a", 2, "g")]]) is None


def test_groups_that_lost_their_samples() -> None:
    """A sum with groups whose samples were reverted one by one is the groups themselves, or left to states."""
    samples = ("a", "b", "g"), ("a", "b", "h"), ("c", "c", "i")
    groups = groups_of(MATRIX, *samples, max_groups=2)
    for truth, predicted, key in samples:
        groups.revert_one(truth, predicted, 1, key)
        assert summed([groups, groups_of(MATRIX, max_groups=2)]) in (None, groups.to_bytes())


@given(st.data())
def test_damaged_bytes_are_refused_or_read(data: st.DataObject) -> None:
    """A changed byte, or fewer bytes, raise an error of bad data or none."""
    body = groups_of(MATRIX, ("a", 7, "g"), ((1, "x"), 2**70, 3), ("a", None, 1.0)).to_bytes()
    at, byte = data.draw(st.integers(0, len(body) - 1)), data.draw(st.integers(0, 255))
    for part in body[:at] + bytes([byte]) + body[at + 1 :], body[:at]:
        with suppress(sm.StreamMetricsError, ValueError):
            summed([body, part])


KEYS = [TEXTS, st.integers(-5, 300), st.booleans(), TEXTS | st.integers(0, 3), LABELS]


@pytest.mark.parametrize("keys", KEYS, ids=range(len(KEYS)))
@given(data=st.data(), limit=LIMITS)
def test_groups_that_are_written_have_the_bytes_of_states(keys: Any, data: st.DataObject, limit: int | None) -> None:
    """Each batch of samples of weight 1 is written as the groups that counted it."""
    for labels in (None, [3, 1, 2]):
        truths = LABELS if labels is None else st.sampled_from(labels)
        samples = st.tuples(truths, truths | st.none(), st.sampled_from([1, 1.0, True]), keys)
        batches = data.draw(st.lists(st.lists(samples, max_size=12), max_size=6))
        empty = sm.ByGroup(sm.ConfusionMatrix(labels), limit)
        written = GroupWriter(empty).written(batches)
        if written is None:
            assert keys in KEYS[3:] or not any(batches)
        else:
            assert written == [groups_of(empty.inner, *batch, max_groups=limit).to_bytes() for batch in batches]


def test_bytes_of_groups_with_samples_and_the_same_options_are_recognised() -> None:
    """Not those of empty groups, of another limit or state, or of no groups."""
    empty, samples = sm.ByGroup(MATRIX, 3), (("a", "b", "g"), ("a", "b", 1.0))
    others = [empty, groups_of(MATRIX, *samples), groups_of(sm.MetricSet(), *samples, max_groups=3), sm.MetricSet()]
    assert holds_samples_like(groups_of(MATRIX, *samples, max_groups=3).to_bytes(), empty)
    assert not any(holds_samples_like(other.to_bytes(), empty) for other in others)
