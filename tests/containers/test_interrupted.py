"""An operation of a container that is interrupted at any line of Python has not happened, or has happened."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from support.cases import every_case
from support.stopping import stopped_at

import stream_metrics as sm

PAIRS = ["a", "b", "a", "c"], ["a", "a", "b", None]
Act = Callable[[Any], Any]


def sent(state: Any, *numbers: int) -> bytes:
    """Return the bytes of a worker."""
    for number in numbers:
        state.update("a", "ab"[number % 2])
    data: bytes = state.to_bytes()
    return data


def shard(state: Any) -> Any:
    """Return a copy that has more keys; each state of it is shared, or was read from bytes."""
    twin = sm.from_bytes(state.to_bytes())
    twin.update_many(*PAIRS, group=["g", "k", 3, True])
    return twin.copy()


def groups(inner: Any, *limit: int) -> Any:
    """Return groups, some with shared states."""
    state = sm.ByGroup(inner, *limit)
    state.update_many(*PAIRS, group=["g", "h", "g", 1])
    state.copy()
    state.update("a", "b", group="g")
    return state


def aggregate() -> Any:
    """Return the states of three workers, one of them retired."""
    total = sm.Aggregate()
    for name in "uvw":
        total.put(name, sent(sm.MetricSet(), 1, 2), 1)
    total.retire("u")
    return total


def kinds() -> dict[str, tuple[Callable[[], Any], dict[str, Act]]]:
    """Return what makes each container, and its operations."""
    grouped: dict[str, Act] = {
        "update": lambda s: s.update("a", "b", group="new"),
        "update_many": lambda s: s.update_many(*PAIRS, group=["g", "h", "new", 2]),
        "merge": lambda s: s.merge(shard(s)),
        "reset": lambda s: s.reset(),
    }
    workers: dict[str, Act] = {
        "put": lambda s: s.put("v", sent(sm.MetricSet(), 1, 2, 3), 2),
        "fold": lambda s: s.put("v", sent(sm.MetricSet(), 1), 1, 5, fold=True),
        "retire": lambda s: s.expire(0),
        "drop": lambda s: s.drop("v"),
        "compact": lambda s: s.compact(),
        "reset": lambda s: s.reset(),
    }
    soft = {"update": lambda s: s.update("a", {"a": 1.0}, group="new")}
    return {
        "groups": (lambda: groups(sm.MetricSet()), grouped | {"revert": lambda s: s.revert("a", "b", group="g")}),
        "groups of scores": (lambda: groups(sm.MetricSet(scores=True)), soft),
        "folded groups": (lambda: groups(sm.MetricSet(), 3), grouped),
        "aggregate": (aggregate, workers),
    }


@pytest.mark.quick
def test_an_interrupted_operation_leaves_the_bytes_from_before_or_after() -> None:
    """What is left can be written and read, is not locked, and does the operation when it is asked again."""
    with every_case() as case:
        for kind, (make, operations) in kinds().items():
            for name, act in operations.items():
                state, line = make(), 1
                before = state.to_bytes()
                act(state)
                after = state.to_bytes()
                with case((kind, name)):
                    while stopped_at(line, partial(act, state := make() if line % 2 else sm.from_bytes(before))):
                        left = state.to_bytes()
                        assert left in (before, after), line
                        line += 1 if line < 40 else 7
                        if left == before:
                            act(state)
                            assert state.to_bytes() == after, line
                        if state.n:
                            assert state.snapshot() == sm.from_bytes(state.to_bytes()).snapshot(), line
    with pytest.raises(sm.LabelError):  # no rule was left off
        sm.ROCAUC().update("a", 0.5)
