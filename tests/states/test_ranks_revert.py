"""RankSketch.revert: it leaves the state of the other samples, and a sample that was not counted changes nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stream_metrics as sm

LABELS = ("cat", "dog", "a label of more than sixty-four characters, which no cache of short texts has", 3, 4.0, b"x")
Sample = tuple[Any, dict[Any, float], float]

samples = st.lists(
    st.tuples(
        st.sampled_from(LABELS),
        st.dictionaries(st.sampled_from(LABELS), st.sampled_from((0.0, 0.25, 0.5, 1.0)), min_size=1),
        st.sampled_from((1, 1, 0.5, 2, 0.25, 2.0**-64)),
    ),
    min_size=1,
    max_size=8,
)


def counted(those: list[Sample], *, pairs: bool) -> sm.RankSketch:
    """Return a sketch that counted the samples one by one."""
    state = sm.RankSketch(pairs=pairs)
    for truth, scores, w in those:
        state.update(truth, scores, w)
    return state


def respelled(scores: dict[Any, float]) -> dict[Any, float]:
    """Return the scores under new objects of their labels that are text."""
    return {key.encode().decode() if isinstance(key, str) else key: x for key, x in scores.items()}


@settings(max_examples=30)
@given(those=samples, others=samples, pairs=st.booleans(), data=st.data())
def test_the_others_are_left(those: list[Sample], others: list[Sample], pairs: bool, data: st.DataObject) -> None:
    """Taken back in any order, with the same objects or new ones; classes may leave and come again with others."""
    state = counted(others + those, pairs=pairs)
    before = counted(others, pairs=pairs)
    for truth, scores, w in data.draw(st.permutations(those)):
        state.check_revert(truth, scores, w)
        state.revert(truth, respelled(scores) if data.draw(st.booleans()) else scores, w)

    assert state == before
    assert state.to_bytes() == before.to_bytes()

    for truth, scores, w in reversed(others):
        state.revert(truth, scores, w)
    for truth, scores, w in those:
        state.update(truth, scores, w)

    assert state.to_bytes() == counted(those, pairs=pairs).to_bytes()


@given(those=samples, other=samples, pairs=st.booleans())
def test_a_refused_sample_changes_nothing(those: list[Sample], other: list[Sample], pairs: bool) -> None:
    """A sample that could have been counted is taken; update then restores the bytes."""
    state = counted(those, pairs=pairs)
    before, memory = state.to_bytes(), state.memory()
    truth, scores, w = other[0]
    try:
        state.revert(truth, scores, w)
    except sm.WeightError:
        assert (state.to_bytes(), state.memory()) == (before, memory)
        with pytest.raises(sm.WeightError):
            state.check_revert(truth, scores, w)
    else:
        state.update(truth, scores, w)
        assert state.to_bytes() == before


@pytest.mark.parametrize("pairs", [False, True])
def test_fractions_of_other_classes_stay(pairs: bool) -> None:
    """Fractions of other classes that add up to a whole number belong to no one else's sample."""
    left: list[Sample] = [("b", {"a": 0.5}, 0.5), ("c", {"a": 0.5}, 0.5)]
    state = counted([*left, ("a", {"a": 0.5}, 1)], pairs=pairs)
    state.revert("a", {"a": 0.5}, 1)

    assert state.to_bytes() == counted(left, pairs=pairs).to_bytes()
