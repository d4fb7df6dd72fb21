"""The tree of partial sums: the total after any replacements, and how few merges it costs."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics.containers.partial_sums import PartialSums


class Counted:
    """A number that counts how often numbers are merged."""

    merges = 0

    def __init__(self, value: int) -> None:
        self.value = value

    def copy(self) -> Counted:
        return Counted(self.value)

    def merge(self, other: Counted) -> Counted:
        Counted.merges += 1
        self.value += other.value
        return self


@given(st.lists(st.tuples(st.integers(0, 90), st.none() | st.integers(1, 9), st.booleans()), max_size=200))
def test_the_total_is_the_sum_of_what_is_there(changes: list[tuple[int, int | None, bool]]) -> None:
    """Whatever is replaced, removed and read in between, also in a copy."""
    sums: Any = PartialSums()
    there: dict[int, int] = {}
    for key, value, reads in changes:
        if value is None:
            there.pop(key, None)
        else:
            there[key] = value
        sums.replace(key, None if value is None else Counted(value))
        if reads:
            sums.total()
            other = sums.copy()
            other.replace("other", Counted(1000))
            assert other.total().value == sum(there.values()) + 1000
    total = sums.total()
    assert (0 if total is None else total.value) == sum(there.values())
    assert (total is None) == (not there)


def test_reading_after_each_change_costs_one_path() -> None:
    """Of 4,096 states one path of four levels is made again, not the sum of all."""
    sums: Any = PartialSums()
    for key in range(4096):
        sums.replace(key, Counted(1))
    assert sums.total().value == 4096
    before = Counted.merges
    for key in range(10):
        sums.replace(400 * key, Counted(2))
        assert sums.total().value == 4097 + key
    assert Counted.merges - before == 10 * 4 * 7


def test_places_are_used_again() -> None:
    """States that come and go need no more places than there were at once."""
    sums: Any = PartialSums()
    for key in range(1000):
        sums.replace(key, Counted(1))
        if key >= 8:
            sums.replace(key - 8, None)
    assert sums.total().value == 8
    assert len(sums._levels[0]) <= 9


def test_states_are_left_as_they_are() -> None:
    """The sum is made of copies."""
    sums = PartialSums()
    states = [sm.ConfusionMatrix() for _ in range(20)]
    for at, state in enumerate(states):
        state.update("a", "b")
        sums.replace(at, state)
    total = sums.total()
    assert total is not None
    assert total.n == 20
    assert [state.n for state in states] == [1] * 20
