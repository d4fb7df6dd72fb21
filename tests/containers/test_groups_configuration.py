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
