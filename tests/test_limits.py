"""Near every limit an operation succeeds or raises, and one that raises changes nothing.

Limits: the sum of weights and the number of samples (below 2**63 - 2), 64 classes where pairs are compared, what a cell
holds, the length of a label. A state that an operation leaves behind can be written, read, and shown.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.cases import every_case
from support.refusals import refused
from support.thread_stress import CASES, Sample, binary, scored_models, soft

import stream_metrics as sm

TIME = 1_700_000_000
WEIGHTS = [1, 1, 1, 0, 0.5, 2.0**-64, 3, 2**20, 2**53 + 1, 2**61, 2**62, 2**63 - 2000]
NAMES = (
    "ConfusionMatrix", "RankSketch", "RankSketch, coarse", "ProbabilityLosses", "MacroF1", "ROCAUC", "MetricSet",
    "MetricSet of coarse scores", "MetricSet of scores of units", "Comparison of units", "Comparison of scores",
    "ByGroup", "ByGroup, folded", "ByGroup of scores", "TimeWindow", "TimeWindow of scores", "Fading by count",
    "Fading of scores", "Rolling", "Rolling of scores",
)  # fmt: skip
wide = partial(sm.MetricSet, scores=True, pairs=False)


def drawn(name: str, rng: random.Random) -> Sample:
    """Return a sample for a kind of state, of a weight that may be near a limit; a few bring many classes."""
    arguments, named = CASES[name].sample(rng)
    if CASES[name].arguments is soft and rng.random() < 0.1:
        arguments = "a", {f"class {i}": i / 100 for i in range(rng.choice([3, 40, 64]))}, 1
    return (*arguments[:-1], rng.choice(WEIGHTS)), named


def tried(act: Callable[[], Any], *states: Any) -> bool:
    """Do something; if it is refused, all these states are as they were."""
    before = [state.to_bytes() for state in states]
    try:
        act()
    except sm.StreamMetricsError:
        assert [state.to_bytes() for state in states] == before
        return False
    assert [state.to_bytes() for state in states[1:]] == before[1:]
    return True


def usable(state: Any) -> None:
    """A state can be written, read, and shown; no cell is below 0, and as many samples as cells have a weight."""
    for counts in matrices(state):
        weights = counts.cells()[2]
        assert counts.n >= len(weights)
        assert (weights > 0).all()
    written = state.to_bytes()
    assert type(state).from_bytes(written).to_bytes() == written
    state.snapshot()


def grown(name: str, rng: random.Random) -> Any:
    """Return a state after some samples, perhaps merged with itself until a limit is near."""
    state = CASES[name].make()
    for _ in range(rng.randrange(6)):
        arguments, named = drawn(name, rng)
        tried(partial(state.update, *arguments, **named), state)
    for _ in range(0 if "Rolling" in name else rng.choice([0, 0, 3, 60, 62, 64])):
        if not tried(lambda: state.merge(state.copy()), state):
            break
    return state


def check_operations(name: str, seed: int) -> None:
    """Update, merge, revert and subtract states that are nearly full; what is refused changes nothing."""
    rng = random.Random(f"{name} {seed}")
    a, b = (grown(name, rng) for _ in range(2))
    for _ in range(25):
        (arguments, named), batch = drawn(name, rng), [drawn(name, rng) for _ in range(rng.randint(1, 4))]
        columns = map(list, zip(*(each for each, _ in batch), strict=True))
        many = partial(a.update_many, *columns, **{key: [more[key] for _, more in batch] for key in named})
        acts = [(partial(a.update, *arguments, **named), a, b), (many, a, b)]
        if "Rolling" not in name:
            acts += [(partial(a.merge, b), a, b), (partial(a.merge, a), a, b), (partial(b.merge, a), b, a)]
        if hasattr(a, "revert"):
            acts += [(partial(a.revert, *arguments, **named), a, b)] * 2
        if hasattr(a, "subtract"):
            acts += [(partial(a.subtract, b), a, b)]
        tried(*rng.choice(acts))
        usable(a)
        usable(b)


def test_an_operation_succeeds_or_changes_nothing() -> None:
    """Updates, batches, merges, reverts and subtractions of states that are nearly full."""
    with every_case() as case:
        for name in NAMES:
            for seed in range(4):
                with case((name, seed)):
                    check_operations(name, seed)


def matrices(state: Any) -> list[Any]:
    """Return the confusion matrices of a state."""
    if hasattr(state, "groups"):
        return [matrix for group in state.groups for matrix in matrices(state.state(group))]
    state = getattr(state, "state", state)
    return [state] if isinstance(state, sm.ConfusionMatrix) else []


def test_no_counter_wraps() -> None:
    """A state that is merged with itself is refused before a counter would be beyond what is written and read."""
    with every_case() as case:
        for name in (name for name in NAMES if "Rolling" not in name):
            scored = CASES[name].arguments in (soft, binary, scored_models)
            for kind in ("abstention", "no weight", "weight 1"):
                with case((name, kind)):
                    predicted = None if kind == "abstention" else 0.5 if scored else True
                    other = [0.5 if scored else False] if "Comparison" in name else []
                    state, (_, named) = CASES[name].make(), drawn(name, random.Random(1))
                    state.update(True, predicted, *other, kind != "no weight", **named)
                    counted, merges = state.n + state.abstained, 0
                    while tried(lambda: state.merge(state.copy()), state):  # noqa: B023
                        counted, merges = 2 * counted, merges + 1
                        assert state.n + state.abstained == counted
                    assert merges in (range(10, 63) if "Fading" in name else range(61, 63))
                    if kind == "weight 1":  # of all counters only those of a fading state have another value
                        weights = [number for each in matrices(state) for number in (each.total, each.matrix.max())]
                        weights += [state.weight] if "RankSketch" in name else []
                        assert {*weights} <= {counted}
                    usable(state)


def test_what_has_no_room_is_refused_before_anything_is_counted() -> None:
    """Scores are not merged where labels have no room; a folded group of a 65th class; weights that cannot be shown."""
    a, b = sm.MetricSet(scores=True), sm.MetricSet(scores=True)
    a.update(1, 1, w=2**62)
    b.update(1, 1, w=2**62)
    b.update(1, 0.7)
    before = a.to_bytes()
    refused(partial(a.merge, b), sm.WeightError)
    assert a.to_bytes() == before

    groups = sm.ByGroup(sm.MetricSet(scores=True), 1)
    for number in range(80):
        scores = {f"class {number} {i}": 0.01 for i in range(40)}
        tried(partial(groups.update, f"class {number} 0", scores, group=number), groups)
        assert len(groups.groups) == 1
    assert groups.folded > 0

    fading = sm.Fading(sm.MetricSet(), half_life=10)
    outcomes = [tried(lambda: fading.update(1, 1, w=2**61), fading) for _ in range(4)]
    assert outcomes == [True, True, False, False]
    assert fading.snapshot()["accuracy"] == 1
    assert fading.n == 2

    large = sm.ConfusionMatrix.from_matrix([[2**62, 0], [0, 2**62 - 4]])
    assert sm.from_bytes(large.to_bytes()).n == 2**63 - 4


LONG: list[Any] = [
    10**5000, 2**2048, -(2**2048), "x" * (2**20 + 1), b"x" * (2**20 + 1), (0,) * 1025, ((0,) * 512,) * 2,
    ("x" * 2**19, ("y" * 2**19,)), (1, (10**5000,)),
]  # fmt: skip
LONGEST: list[Any] = [
    2**2048 - 1, -(2**2048) + 1, "x" * 2**20, b"x" * 2**20, (0,) * 1024, ("x" * 2**19, "y" * (2**19 - 2048)),
]  # fmt: skip


@pytest.mark.quick
def test_a_long_label_is_refused_wherever_it_comes_in() -> None:
    """As truth, prediction, score, group, unit, worker, fixed or positive label, alone and in batches and arrays."""
    matrix, ranks, losses, soft = sm.ConfusionMatrix(), sm.RankSketch(), sm.ProbabilityLosses(), wide()
    rolling, groups, comparison = sm.Rolling(sm.MetricSet(), 3), sm.ByGroup(sm.MCC()), sm.Comparison()
    window = sm.TimeWindow(sm.MetricSet(), "1m", 2)
    with every_case() as case:
        for at, label in enumerate(LONG):
            calls: list[Callable[[], Any]] = [
                partial(window.update, label, 1, t=TIME), partial(groups.update, 1, 1, group=label),
                partial(groups.update_many, [1], [1], group=[label]), partial(comparison.update, label, 1, 1),
                partial(comparison.update, 1, 1, label), partial(comparison.update, 1, 1, 1, unit=label),
                partial(comparison.update_many, [1], [1], [label]), partial(sm.Aggregate().put, label, matrix, 1),
                partial(sm.ConfusionMatrix, labels=[label]), partial(sm.ConfusionMatrix, labels=[1], other=label),
                partial(sm.ROCAUC, pos_label=label), partial(sm.Precision, pos_label=label),
            ]  # fmt: skip
            for state in (matrix, soft, rolling):
                calls += [partial(state.update, *pair) for pair in ((label, 1), (1, label), (label, None))]
                calls += [partial(state.update_many, *pair) for pair in (([label, 1], [1, 1]), ([1, 1], [1, label]))]
            for state in (ranks, losses, soft):
                calls += [partial(state.update, *pair) for pair in ((label, {"a": 0.5}), ("a", {label: 0.5}))]
                pairs = ((["a"], [{label: 0.5}]), ([label], [{"a": 0.5}]))
                calls += [partial(state.update_many, *pair) for pair in pairs]
            if isinstance(label, str | bytes):
                column = np.array([label, label[:1]])
                calls += [partial(matrix.update_many, *pair) for pair in ((column, column), (column[1:], column[:1]))]
            for number, call in enumerate(calls):
                with case((at, number)):
                    refused(call, sm.LabelError, "Expected ")
    for state in (matrix, ranks, soft, groups, losses, rolling, comparison, window):
        assert state.n == state.abstained == 0


def test_the_longest_labels_are_counted_written_and_shown() -> None:
    """What is just short enough works everywhere."""
    with every_case() as case:
        for at, label in enumerate(LONGEST):
            with case(at):
                states: list[Any] = [sm.ConfusionMatrix(), sm.MetricSet(), sm.ByGroup(sm.MetricSet())]
                for state, more in zip(states, ({}, {}, {"group": label}), strict=True):
                    state.update(label, label, **more)
                    state.update_many([label], [label], **{name: [value] for name, value in more.items()})
                    assert sm.from_bytes(state.to_bytes()) == state
                    assert state.n == 2
                assert states[1].snapshot().to_json()
