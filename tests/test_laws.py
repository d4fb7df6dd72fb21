"""The laws of an accumulator, kept by every kind of state, under every kind of stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics import testing

text = st.sampled_from(["a", "b", "c", ""])
STATES: dict[str, Callable[[], Any]] = {
    "open": sm.ConfusionMatrix,
    "other": lambda: sm.ConfusionMatrix(labels=["a", True, 2.5], other=0),
    "MCC": sm.MCC,
    "FBeta": lambda: sm.FBeta(2.0, pos_label="a", zero_division=1.0),
    "MetricSet": lambda: sm.MetricSet(["accuracy", "macro_f1"], labels=["b", "a"], other="z"),
}
STREAMS: dict[str, Any] = {
    "text": st.tuples(text, text),
    "numbers": st.tuples(
        st.integers(-3, 3), st.one_of(st.integers(-3, 3), st.booleans(), st.just(1.0)), testing.weights()
    ),
    "one class": st.tuples(st.just("a"), st.just("a"), testing.weights()),
    "heavy": st.tuples(text, text, st.sampled_from([1, 2**31, 2**33 + 1, 0.5])),
    "unweighted": testing.samples(weighted=False),
}


@pytest.mark.parametrize("law", testing.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("make", STATES.values(), ids=STATES)
def test_states_obey_the_laws(law: testing.Law, make: Callable[[], Any]) -> None:
    """Every state obeys every law, for labels and weights of all types."""
    law(make, testing.samples())


@pytest.mark.parametrize("law", testing.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("samples", STREAMS.values(), ids=STREAMS)
def test_streams_of_one_kind_obey_the_laws(law: testing.Law, samples: Any) -> None:
    """Text only, numbers only, a single class, heavy weights, none: batches take other ways, the laws stay."""
    law(sm.ConfusionMatrix, samples)


@pytest.mark.parametrize("law", testing.LAWS, ids=lambda law: law.__name__)
def test_fixed_labels_obey_the_laws(law: testing.Law) -> None:
    """A fixed set obeys them on the labels that it allows."""
    law(lambda: sm.ConfusionMatrix(labels=["c", "a", "b", ""]), STREAMS["heavy"])


def test_check_runs_every_law() -> None:
    """`check` runs all laws on a state."""
    testing.check(lambda: sm.Accuracy(labels=["a", "b", "c", ""]), st.tuples(text, text))
