"""Single samples with scores: plain ones, which are read without Python code, count as those that are read by it."""

from __future__ import annotations

from collections import UserDict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_metrics import MetricSet
from stream_metrics.errors import StreamMetricsError, WeightError

LABELS = ["a", "b", "1", 0, 1, 2, True, False, 1.0, b"x"]
PROBABILITIES = [0.0, 0.25, 0.5, 0.75, 1.0, -0.0]
ODD = [1, True, float("nan"), float("inf"), 1.5, -1.0, "0.5", None]
SETS: list[dict[str, Any]] = [
    {},
    {"labels": ["a", "b"], "pos_label": "a"},
    {"labels": [0, 1, 2], "pos_label": 1},
    {"labels": ["a", 1], "pos_label": 1},
    {"labels": [True, 0]},
    {"pos_label": "a"},
    {"pos_label": 1, "threshold": 0.75},
    {"pos_label": 2},
    {"pos_label": 1.0},
    {"scores": "any", "pairs": False},
]

labels = st.sampled_from(LABELS)
values = st.sampled_from(PROBABILITIES * 3 + ODD)
mappings = st.dictionaries(labels, values, max_size=4)
samples = st.lists(
    st.tuples(
        labels,
        st.one_of(mappings, st.sampled_from([*PROBABILITIES, float("nan"), 1.5])),
        st.sampled_from([None, None, "a", 1, 0, 2.0]),
        st.sampled_from([1, 1, 1, 2, 0, 0.3, 2**62, 2**63 - 1025, -1, "x"]),
    ),
    max_size=12,
)


class Number:
    """A number that is no float."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __float__(self) -> float:
        return self.value


def slow(scores: Any) -> Any:
    """Return scores as an object that only Python code reads."""
    return UserDict(scores) if isinstance(scores, dict) else Number(scores)


def outcome(counts: MetricSet, function: str, *sample: Any, **scores: Any) -> object:
    """Return the type and the text of the error, None if there is none; an error leaves the state as it was."""
    before = counts.to_bytes()
    try:
        getattr(counts, function)(*sample, **scores)
    except StreamMetricsError as error:
        assert counts.to_bytes() == before
        return type(error)
    return None


@pytest.mark.parametrize("options", SETS)
@given(stream=samples)
def test_plain_scores_count_as_those_that_python_code_reads(
    options: dict[str, Any], stream: list[tuple[Any, ...]]
) -> None:
    plain, read = (MetricSet(**{"scores": True} | options) for _ in range(2))
    counted = []
    for truth, scores, given_label, w in stream:
        one = outcome(plain, "update", truth, given_label, w, scores=scores)
        assert one == outcome(read, "update", truth, given_label, w, scores=slow(scores))
        assert plain.to_bytes() == read.to_bytes()
        counted += [] if one else [(truth, given_label, w, scores)]
    for truth, given_label, w, scores in reversed(counted):
        one = outcome(plain, "revert", truth, given_label, w, scores=scores)
        assert one == outcome(read, "revert", truth, given_label, w, scores=slow(scores))
        assert plain.to_bytes() == read.to_bytes()
        if one:  # the class beside `pos_label` is not known any more
            assert plain.scored.negative is None
            return
    assert plain.to_bytes() == MetricSet(**{"scores": True} | options).to_bytes()


@pytest.mark.parametrize("name", ["losses", "ranks", "confidence"])
def test_a_sample_that_a_state_refuses_is_in_none(name: str) -> None:
    counts = MetricSet(scores=True, labels=["a", "b"], pos_label="a")
    counts.update("a", {"a": 0.75, "b": 0.25})
    state = getattr(counts.scored, name)
    truth = True if name == "confidence" else "a"
    state.update(truth, 0.5, 2**63 - 1025)  # so that it is full before the others
    states = [counts.state, *counts.scored.states()]
    before = [state.to_bytes() for state in states]
    for scores in ({"a": 0.5, "b": 0.25}, 0.5):
        with pytest.raises(WeightError):
            counts.update("a", scores, 2000)
        assert [state.to_bytes() for state in states] == before


@pytest.mark.parametrize(
    ("pos_label", "other"), [("a", "b"), ("a", 1), (2, 1), (2, True), (2, "a"), (1, "a"), (True, 2)]
)
def test_single_scores_of_two_classes_that_a_caller_knows(pos_label: Any, other: Any) -> None:
    plain, read = (MetricSet(scores=True, pos_label=pos_label) for _ in range(2))
    for counts in (plain, read):
        counts.scored.take_other_class(other)
    for truth in LABELS:
        for score in PROBABILITIES:
            one = outcome(plain, "update", truth, scores=score)
            assert one == outcome(read, "update", truth, scores=Number(score))
            assert plain.to_bytes() == read.to_bytes()
