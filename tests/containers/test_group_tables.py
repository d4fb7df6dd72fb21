"""Tables of the counts of groups: the same bytes as states give, or None where it takes states."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics.containers.group_tables import GroupTable, GroupWriter, holds_samples_like

TEXTS = st.sampled_from(["a", "b", "long " * 8, "x" * 300, "é"])
NUMBERS = st.sampled_from([0, 1, 7, -3, 200, 70_000, 2**40, 2**70, -(2**63) - 1, 1.0, True])
LABELS = TEXTS | NUMBERS | st.tuples(TEXTS, NUMBERS) | st.just((1, ("a", ("b",))))
PREDICTIONS = LABELS | st.none()
SAMPLES = st.lists(st.tuples(LABELS, PREDICTIONS, LABELS), max_size=12)
LIMITS = st.sampled_from([None, 1, 2, 3])


def counted(empty, samples):
    groups = empty.copy()
    for truth, predicted, group in samples:
        groups.update(truth, predicted, group=group)
    return groups


def summed(parts):
    table = GroupTable.of(parts)
    return None if table is None else table.to_bytes()


@given(st.lists(SAMPLES, min_size=1, max_size=6), LIMITS)
def test_the_sum_has_the_bytes_of_merged_states(batches, limit):
    states = [counted(sm.ByGroup(sm.ConfusionMatrix(), limit), samples) for samples in batches]
    data = summed([state.to_bytes() for state in states])
    assert data in (None, sm.merge(states).to_bytes())


@given(st.lists(st.lists(st.tuples(TEXTS, TEXTS | st.none(), TEXTS), max_size=40), min_size=1, max_size=5), LIMITS)
def test_text_is_always_summed(batches, limit):
    states = [counted(sm.ByGroup(sm.ConfusionMatrix(), limit), samples) for samples in batches]
    assert summed([state.to_bytes() for state in states]) == sm.merge(states).to_bytes()


@given(st.lists(SAMPLES, min_size=1, max_size=5), LIMITS)
def test_running_sums_are_the_sums_of_the_first_parts(batches, limit):
    parts = [counted(sm.ByGroup(sm.ConfusionMatrix(), limit), samples).to_bytes() for samples in batches]
    running = GroupTable.running(parts)
    sums = [summed(parts[: at + 1]) for at in range(len(parts))]
    assert running == (None if None in sums else sums)


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(-5, 5), st.integers(0, 20)), min_size=1))
def test_numbers_of_one_type_are_summed(samples):
    states = [counted(sm.ByGroup(sm.ConfusionMatrix(), 5), part) for part in (samples[::2], samples[1::2])]
    assert summed([state.to_bytes() for state in states]) == sm.merge(states).to_bytes()


@given(st.lists(st.tuples(*[st.sampled_from([3, 1, 2])] * 2, TEXTS)))
def test_fixed_labels(samples):
    empty = sm.ByGroup(sm.ConfusionMatrix([3, 1, 2]))
    states = [counted(empty, samples), counted(empty, samples[:3])]
    assert summed([state.to_bytes() for state in states]) == sm.merge(states).to_bytes()


def test_many_rows_are_united_on_the_way(monkeypatch):
    monkeypatch.setattr("stream_metrics.containers.group_tables.UNITE", 3)
    chance = np.random.default_rng(0)
    states = []
    for _ in range(20):
        state = sm.ByGroup(sm.ConfusionMatrix())
        state.update_many(*chance.integers(0, 9, (2, 50)), group=chance.integers(0, 30, 50))
        states.append(state)
    assert summed([state.to_bytes() for state in states]) == sm.merge(states).to_bytes()


def groups_of(inner, *samples, **options):
    groups = sm.ByGroup(inner, **options)
    for sample in samples:
        groups.update(*sample[:-1], group=sample[-1])
    return groups


@pytest.mark.parametrize(
    "states",
    [
        [groups_of(sm.ConfusionMatrix(), ("a", "b", 2, "g"))],
        [groups_of(sm.ConfusionMatrix(), ("a", "b", 0, "g"))],
        [groups_of(sm.ConfusionMatrix(), ("a", "b", 0.5, "g"))],
        [groups_of(sm.ConfusionMatrix(), (1, 1.0, "g"))],
        [groups_of(sm.ConfusionMatrix(), ("a", "b", 1)), groups_of(sm.ConfusionMatrix(), ("a", "b", 1.0))],
        [groups_of(sm.ConfusionMatrix(), (1, 2, "g")), groups_of(sm.ConfusionMatrix(), (1.0, 2, "g"))],
        [groups_of(sm.ConfusionMatrix()), groups_of(sm.ConfusionMatrix(), max_groups=3)],
        [groups_of(sm.ConfusionMatrix(["a", "b"], "b"), ("a", "c", "g"))],
        [groups_of(sm.MetricSet(), ("a", "b", "g"))],
        [sm.MetricSet()],
        [],
    ],
)
def test_all_else_is_left_to_states(states):
    assert summed([state.to_bytes() for state in states]) is None


def test_groups_that_lost_their_samples():
    groups = groups_of(sm.ConfusionMatrix(), ("a", "b", "g"), ("a", "b", "h"), ("c", "c", "i"), max_groups=2)
    for sample in ("a", "b", "g"), ("a", "b", "h"), ("c", "c", "i"):
        groups.revert_one(sample[0], sample[1], 1, sample[2])
        data = summed([groups.to_bytes(), groups_of(sm.ConfusionMatrix(), max_groups=2).to_bytes()])
        assert data in (None, groups.to_bytes())


@given(st.data())
def test_damaged_bytes_are_refused_or_read(data):
    body = groups_of(sm.ConfusionMatrix(), ("a", 7, "g"), ((1, "x"), 2**70, 3), ("a", None, 1.0)).to_bytes()
    at, byte = data.draw(st.integers(0, len(body) - 1)), data.draw(st.integers(0, 255))
    damaged = body[:at] + bytes([byte]) + body[at + 1 :]
    for part in damaged, body[:at]:
        with suppress(sm.StreamMetricsError, ValueError):
            summed([body, part])


KEYS = [TEXTS, st.integers(-5, 300), st.booleans(), TEXTS | st.integers(0, 3), LABELS]


@pytest.mark.parametrize("labels", [None, [3, 1, 2]])
@pytest.mark.parametrize("keys", KEYS, ids=range(len(KEYS)))
@given(data=st.data(), limit=LIMITS)
def test_groups_that_are_written_have_the_bytes_of_states(labels, keys, data, limit):
    truths = LABELS if labels is None else st.sampled_from(labels)
    samples = st.tuples(truths, truths | st.none(), st.sampled_from([1, 1.0, True]), keys)
    batches = data.draw(st.lists(st.lists(samples, max_size=12), max_size=6))
    empty = sm.ByGroup(sm.ConfusionMatrix(labels), limit)
    written = GroupWriter(empty).written(batches)
    if written is None:
        assert keys in KEYS[3:] or not any(batches)
    else:
        states = [groups_of(empty.inner, *batch, max_groups=limit).to_bytes() for batch in batches]
        assert written == states


@pytest.mark.parametrize("empty", [sm.ByGroup(sm.MetricSet()), sm.ByGroup(sm.ConfusionMatrix(["a"], "a"))])
def test_other_groups_are_not_written(empty):
    assert GroupWriter(empty).written([[("a", "a", 1, "g")]]) is None


def test_weights_are_left_to_states():
    writer = GroupWriter(sm.ByGroup(sm.ConfusionMatrix()))
    assert writer.written([[("a", "a", 1, "g"), ("a", "a", 2, "g")]]) is None


def test_one_group_of_a_sum_is_read_alone():
    states = [
        groups_of(sm.ConfusionMatrix(), ("a", "b", "g"), ("c", None, "h")),
        groups_of(sm.ConfusionMatrix(), ("a", "a", "g")),
    ]
    table = GroupTable.of([state.to_bytes() for state in states])
    groups, total = table.groups(), sm.merge(states)
    assert tuple(groups.keys) == total.groups
    assert [groups.state(at) for at in range(2)] == [total.state(key) for key in total.groups]


def test_bytes_of_groups_with_samples_and_the_same_options_are_recognised():
    empty = sm.ByGroup(sm.ConfusionMatrix(), 3)
    samples = ("a", "b", "g"), ("a", "b", 1.0)
    assert holds_samples_like(groups_of(sm.ConfusionMatrix(), *samples, max_groups=3).to_bytes(), empty)
    others = (
        empty,
        groups_of(sm.ConfusionMatrix(), *samples),
        groups_of(sm.MetricSet(), *samples, max_groups=3),
        sm.MetricSet(),
    )
    assert not any(holds_samples_like(other.to_bytes(), empty) for other in others)
