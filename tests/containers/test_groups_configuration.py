"""Bytes of groups whose states have another configuration than the prototype are refused."""

from __future__ import annotations

from typing import Any

import pytest

import stream_metrics as sm
from stream_metrics.containers.inner import state_decoder
from stream_metrics.wire import decoded, encoded

PROTOTYPES: list[Any] = [
    sm.ConfusionMatrix(),
    sm.ConfusionMatrix([1, 0]),
    sm.ConfusionMatrix([0, 1]),
    sm.ConfusionMatrix([0, 1], other=1),
    sm.ConfusionMatrix([0, 1], other=0),
    sm.MetricSet(),
    sm.MetricSet(["accuracy"]),
    sm.MetricSet(zero_division=1.0),
    sm.MetricSet(zero_division=float("nan")),
    sm.MetricSet(labels=[0, 1]),
    sm.MetricSet(labels=[1, 0]),
    sm.MetricSet(labels=[0, 1], other=0),
    sm.MetricSet(labels=[0, 1], other=1),
    sm.MetricSet(scores=True),
    sm.MetricSet(scores=True, buckets=64),
    sm.MetricSet(scores=True, sample=64),
    sm.Accuracy(),
    sm.MacroF1(),
    sm.MacroF1(zero_division=1.0),
    sm.Recall(),
    sm.Recall(pos_label=0),
    sm.FBeta(beta=1.0),
    sm.FBeta(beta=2.0),
    sm.ROCAUC(),
    sm.ROCAUC(buckets=64),
]


@pytest.mark.parametrize("prototype", PROTOTYPES, ids=lambda each: type(each).__name__)
def test_only_a_state_of_the_same_configuration_is_read(prototype: Any) -> None:
    """A state is read if it has the options of the prototype: the bytes of both without samples are the same."""
    restored = state_decoder(prototype)
    for other in PROTOTYPES:
        if type(other) is not type(prototype):
            continue
        state = other.copy()
        state.update(1, 1.0 if type(other) is sm.ROCAUC else 1)
        content = decoded(encoded(state.to_content()))
        if other.to_bytes() == prototype.to_bytes():
            assert restored(content).to_bytes() == state.to_bytes()
        else:
            with pytest.raises(ValueError, match="configuration inside"):
                restored(content)
    with pytest.raises(ValueError, match="configuration inside"):
        restored(decoded(encoded(prototype.to_content())))


@pytest.mark.parametrize("prototype", PROTOTYPES, ids=lambda each: type(each).__name__)
def test_the_states_that_are_read_are_independent(prototype: Any) -> None:
    """What a group counts after reading is what it counts without; the other groups and `inner` stay as they are."""
    groups = sm.ByGroup(prototype)
    for key in "ab":
        groups.update(1, 1.0 if type(prototype) is sm.ROCAUC else 1, group=key)
    twin = sm.from_bytes(groups.to_bytes())
    for each in groups, twin:
        each.update(0, 0.0 if type(prototype) is sm.ROCAUC else 1, group="b")

    assert twin.to_bytes() == groups.to_bytes()
    assert twin.state("a").n == 1
    assert twin.inner.n == 0


def test_groups_of_units_are_read() -> None:
    """States with folds, and states without them beside these, are read and write the same bytes."""
    groups = sm.ByGroup(sm.MetricSet())
    for i in range(12):
        groups.update("a", "b", group=i % 3, **({"unit": i} if i % 3 else {}))

    twin = sm.from_bytes(groups.to_bytes())

    assert twin.to_bytes() == groups.to_bytes()
    assert [bool(twin.state(key).unit_folds) for key in range(3)] == [False, True, True]


def test_groups_of_a_default_class_still_refuse_other_labels() -> None:
    """A metric of the default `pos_label` takes 0 and 1 only, also where it was read."""
    groups = sm.ByGroup(sm.Precision())
    groups.update(1, 0, group="a")
    twin = sm.from_bytes(groups.to_bytes())

    with pytest.raises(sm.LabelError, match="pos_label="):
        twin.update("ham", "spam", group="a")
    assert twin.to_bytes() == groups.to_bytes()


def test_a_content_of_the_right_configuration_without_a_sample_is_refused() -> None:
    """Also one that is not written as the empty state is: a number of weighted samples, or labels without counts."""
    prototype = sm.MetricSet()
    configuration, counts = prototype.to_content()
    for changed in ([*counts[:4], ["a"], *counts[5:]], [*counts, 1], [*counts, 0], counts[:6], [*counts[:2], -1, 0]):
        with pytest.raises((ValueError, sm.DecodeError)):
            state_decoder(prototype)(decoded(encoded([configuration, changed])))
