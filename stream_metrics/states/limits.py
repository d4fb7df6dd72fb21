"""How much several states can still count so that their merge can count all of it.

A window or a group is read as the merge of its states, so what it has counted must fit into one. The states of a
container are looked at together only when a bound of the capacity left is used up: a sample costs one
subtraction. `_merge_load` of a state returns three bounds of what a merge adds up: the sum of weights, the number of
samples (or of appearances of a label), the number of abstentions (or of appearances of a group).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from stream_metrics.errors import WeightError

if TYPE_CHECKING:
    from stream_metrics.states.protocols import Accumulator

MOST = 2**63 - 3  # the sum of weights, and the number of samples, of all states together
Load: TypeAlias = tuple[int, int, int]


def load_of(states: Iterable[Any]) -> Load:
    """Return what states that can be merged count together."""
    weight = samples = abstentions = 0
    for state in states:
        load = state._merge_load()
        weight, samples, abstentions = weight + load[0], samples + load[1], abstentions + load[2]
    return weight, samples, abstentions


def largest_load(loads: Iterable[Load]) -> Load:
    """Return what states that count the same samples count at most, each by itself."""
    weights, samples, abstentions = zip(*loads, strict=True)
    return max(weights), max(samples), max(abstentions)


def capacity_left(load: Iterable[int], taken: int = 0) -> int:
    """Return how much more, of weight or of samples, can be counted so that one state could count all of it.

    WeightError if that is less than `taken`.
    """
    most = max(load)
    if MOST - most < taken:
        raise WeightError(
            f"Expected the weights and the numbers of samples of all states together to stay below 2**63 - 2, "
            f"but got {taken} on top of {most}"
        )
    return MOST - most


def grown(before: Iterable[Accumulator | None], after: Iterable[Accumulator]) -> int:
    """Return how much states have grown, in the units of `capacity_left`; a state that was not there is None."""
    old, new = load_of(state for state in before if state is not None), load_of(after)
    return max(b - a for a, b in zip(old, new, strict=True))
