"""A text that is a new object for each sample, as a decoder makes them, is counted as the same label."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_metrics import ConfusionMatrix, LabelError

PART = "class of things" * 5
NAMES = [PART[:i] for i in range(70)]
NAMES += [f"{name}x" for name in NAMES] + [f"n{i}" for i in range(70)] + ["é", "日本", "a\0", "a\0\0", "ab\0", "\0"]
names = st.sampled_from(NAMES) | st.text(st.sampled_from("ab"), max_size=5)


def fresh(text: str) -> str:
    """Return a new object, except for a text that Python shares."""
    return "".join([*text[:1], *text[1:]])


@given(st.lists(st.tuples(st.sampled_from(["update", "revert", "reset"]), names, names), max_size=200))
def test_updates_reverts_and_resets_count_what_is_left(steps: list[tuple[str, str, str]]) -> None:
    state, left = ConfusionMatrix(), Counter[tuple[str, str]]()
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
    expected = ConfusionMatrix.from_counts([t for t, _ in left], [p for _, p in left], [*left.values()])
    assert state.to_bytes() == expected.to_bytes()


def test_every_name_is_a_class_of_its_own() -> None:
    state = ConfusionMatrix()
    distinct = [*dict.fromkeys(NAMES)]
    for _ in range(3):
        for t, p in zip(distinct, distinct[1:] + distinct[:1], strict=True):
            state.update(fresh(t), fresh(p))
    expected = ConfusionMatrix.from_counts(distinct, distinct[1:] + distinct[:1], [3] * len(distinct))
    assert state.to_bytes() == expected.to_bytes()
    assert {*state.labels} == {*distinct}


def test_labels_that_were_removed_are_new_again() -> None:
    state = ConfusionMatrix()
    for turn in range(3):
        labels = [f"label {turn % 2} {i}" for i in range(200)]
        for label in labels:
            state.update(fresh(label), fresh(label))
        assert {*state.labels} == {*labels}
        for label in labels:
            state.revert(fresh(label), fresh(label))
    assert state == ConfusionMatrix()


@pytest.mark.parametrize("options", [{"labels": ["a1", "b1"]}, {"labels": ["a1", "b1"], "other": "rest"}])
def test_fixed_labels_stay_fixed(options: dict[str, Any]) -> None:
    state = ConfusionMatrix(**options)
    for _ in range(3):
        state.update(fresh("a1"), fresh("b1"))
        if "other" in options:
            state.update(fresh("class_1"), fresh("rest"))
        else:
            with pytest.raises(LabelError):
                state.update(fresh("class_1"), fresh("a1"))
    assert state.n == (6 if "other" in options else 3)
    assert [*state.labels] == (["a1", "b1", "rest"] if "other" in options else ["a1", "b1"])


def test_weights_of_fresh_text_count() -> None:
    state = ConfusionMatrix()
    for w in (1, 2, 0.5, 0):
        state.update(fresh("class_1"), fresh("class_2"), w)
    assert (state.weight, state.n, state.weighted) == (3.5, 4, 3)


@pytest.mark.parametrize("w", [2**62 - 1, 2**62, 2**63 - 1025])
def test_large_int_weights_count(w: int) -> None:
    state = ConfusionMatrix()
    state.update("a", "b", 1)
    state.update("a", "b", w)
    assert state.weight == w + 1
