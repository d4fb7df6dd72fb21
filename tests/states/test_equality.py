"""Two states are equal exactly where their bytes are: whatever was counted, however it is stored."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.state_checks import fed

import stream_metrics as sm
from stream_metrics import ByGroup, ConfusionMatrix, MetricSet

LABELS: list[Any] = ["a", "b", b"a", 0, 1, 2, True, False, 1.0, 2.0, ("a", 1), ("a", 1.0), 2**70]
weights = st.sampled_from([1, 1, 1, 0, 2, 0.5])
samples = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from([*LABELS, None]), weights), max_size=5)


def counted(some: list[Any], more: list[Any], how: int) -> Any:
    """Return a state that counts samples: in order, with others taken back, by a merge, or read from its bytes."""
    state, other = ConfusionMatrix(), ConfusionMatrix()
    if how == 1:
        fed(state, more)
    for at, sample in enumerate(some):
        (other if how == 2 and at % 2 else state).update(*sample)
    if how == 1:
        for sample in more:
            state.revert(*sample)
    state.merge(other)
    return sm.from_bytes(state.to_bytes()) if how == 3 else state


def check(a: Any, b: Any) -> None:
    """Assert that two objects are equal exactly if their bytes are."""
    equal = a.to_bytes() == b.to_bytes()
    assert (a == b) is (b == a) is equal
    assert a == a.copy() == a


def check_distinct(every: list[Any]) -> None:
    """Assert that objects are equal to themselves only."""
    for a in every:
        for b in every:
            check(a, b)
            assert (a == b) is (a is b)


@pytest.mark.quick
@given(samples, samples, samples, st.integers(0, 3), st.integers(0, 3), st.booleans())
def test_states_are_equal_where_their_bytes_are(
    first: Any, second: Any, more: Any, one: int, two: int, same: bool
) -> None:
    """Counted in any order, with others taken back, merged, or read from bytes."""
    check(counted(first, more, one), counted(sorted(first, key=repr) if same else second, more, two))


@pytest.mark.parametrize("wide", [False, True])  # a hash of cells and a square, with fractions in one of them
def test_how_cells_are_stored_shows_in_no_comparison(wide: bool) -> None:
    """A state that had many cells, or fractions of weights, equals one that never had them."""
    names = [f"c{at}" for at in range(300)]
    pairs = [(name, names[at * 7 % 300]) for at, name in enumerate(names)]
    a, b = fed(ConfusionMatrix(), pairs), fed(ConfusionMatrix(), pairs[::-1])
    for truth, predicted in product(names, names) if wide else ():
        b.update(truth, predicted)
    for truth, predicted in product(names, names) if wide else ():
        b.revert(truth, predicted)
    for state, w in ((b, 0.5), (a, 0.5), (b, 1), (a, 2)):
        state.update("c0", "c1", w)
        check(a, b)
        assert (a == b) is (state is a and w == 0.5)


@pytest.mark.quick
def test_configurations_and_what_is_no_cell_are_compared() -> None:
    """Labels are compared with their types, weights of 0 and abstentions count; states have no hash."""
    options: list[Any] = [
        (), ([1, 0],), ([0, 1],), ([0.0, 1.0],), ([False, True],), (["a", "b"], "b"), (["a", "b"],), ([("a", 1)],),
        ([("a", "1")],),
    ]  # fmt: skip
    check_distinct([ConfusionMatrix(*option) for option in options])
    rows: list[Any] = [[], ["ab"], [("a", None)], [("a", "b", 0)], [("a", "b", 2)]]
    check_distinct([fed(ConfusionMatrix(), some) for some in rows])
    groups = [ByGroup(ConfusionMatrix()), ByGroup(ConfusionMatrix(), 3), ByGroup(ConfusionMatrix(), 3, "rest")]
    check_distinct([*groups, *map(ByGroup, (ConfusionMatrix(["a"]), MetricSet(), MetricSet(["accuracy"])))])
    keyed = [ByGroup(ConfusionMatrix(), most) for most in (None, 1) for _ in range(3)]
    for at, state in enumerate(keyed):
        state.update_many([1, 2], [1, 2], group=["x", "yx"[at % 3 - 1]]) if at % 3 else None
    check_distinct(keyed)
    assert ConfusionMatrix() != "a state"
    with pytest.raises(TypeError, match="unhashable"):
        hash(ConfusionMatrix())


def test_metrics_and_sets_are_equal_where_their_bytes_are() -> None:
    """Options, units and samples are compared."""
    make = (
        sm.MacroF1, sm.Accuracy, MetricSet, lambda: sm.MacroF1(labels=[0, 1]), lambda: sm.MacroF1(zero_division=1.0),
        lambda: MetricSet(["accuracy"]), lambda: MetricSet(scores=True), lambda: MetricSet(scores="any"), sm.ROCAUC,
    )  # fmt: skip
    some = [fed(new(), [(1, {1: 0.6, 0: 0.4} if at > 5 else 0)]) for at, new in enumerate(make)]
    every = [new() for new in make] + some + [state.copy() for state in some]
    for unit in ("u", 1):
        every.append(sm.Accuracy())
        every[-1].update(1, 0, unit=unit)
    for a in every:
        for b in every:
            check(a, b)
