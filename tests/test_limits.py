"""Near every limit an operation succeeds or raises, and one that raises changes nothing.

Limits: the sum of weights and the number of samples (below 2**63 - 2), 64 classes where pairs are compared, what a cell
holds, the length of a label. A state that an operation leaves behind can be written, read, and shown.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stream_metrics as sm

TIME = 1_700_000_000
WEIGHTS = [1, 1, 1, 0, 0.5, 2.0**-64, 3, 2**20, 2**53 + 1, 2**61, 2**62, 2**63 - 2000]
LABELS = ["a", "b", 1, True, 2.5, ("x", 1)]


def labelled(rng: random.Random) -> tuple[Any, ...]:
    """Return a sample of labels."""
    return rng.choice(LABELS), rng.choice([*LABELS, None]), rng.choice(WEIGHTS)


def scored(rng: random.Random) -> tuple[Any, ...]:
    """Return a sample of scores; a few bring many classes."""
    if rng.random() < 0.3:
        return rng.random() < 0.5, rng.choice([0.25, 0.5, rng.random()]), rng.choice(WEIGHTS)
    if rng.random() < 0.1:
        return "a", {f"class {i}": i / 100 for i in range(rng.choice([3, 40, 64]))}, 1
    return rng.choice("ab"), {"a": rng.choice([0.5, rng.random()]), "b": 0.25}, rng.choice(WEIGHTS)


def both(rng: random.Random) -> tuple[Any, ...]:
    """Return a sample of labels or of scores."""
    return (labelled if rng.random() < 0.3 else scored)(rng)


def in_time(sample: Callable[[random.Random], tuple[Any, ...]]) -> Callable[[random.Random], Any]:
    """Return samples of windows: with a time."""
    return lambda rng: (*sample(rng), {"t": TIME + rng.randrange(100)})


def in_groups(sample: Callable[[random.Random], tuple[Any, ...]]) -> Callable[[random.Random], Any]:
    """Return samples of groups: with a key."""
    return lambda rng: (*sample(rng), {"group": rng.choice([1, True, "g", "h", ("k", 2)])})


def compared(rng: random.Random) -> Any:
    """Return a sample of two predictions."""
    return (
        rng.choice("ab"),
        rng.choice("ab"),
        rng.choice("abc"),
        rng.choice(WEIGHTS),
        {"unit": rng.choice([None, 1, 2])},
    )


def compared_scores(rng: random.Random) -> Any:
    """Return a sample of two scores."""
    return rng.random() < 0.5, rng.random(), rng.random(), rng.choice(WEIGHTS), {"unit": rng.choice([None, 1, 2])}


STATES: dict[str, tuple[Callable[[], Any], Callable[[random.Random], Any]]] = {
    "confusion": (sm.ConfusionMatrix, labelled),
    "ranks": (lambda: sm.RankSketch(buckets=8, sample=4), scored),
    "ranks_one_vs_rest": (lambda: sm.RankSketch(buckets=64, pairs=False), scored),
    "losses": (sm.ProbabilityLosses, scored),
    "metric": (sm.MCC, labelled),
    "metric_of_scores": (sm.ROCAUC, scored),
    "set": (sm.MetricSet, labelled),
    "set_of_scores": (lambda: sm.MetricSet(scores=True, buckets=8, sample=4), both),
    "set_of_scores_exact": (lambda: sm.MetricSet(scores=True, buckets=1024), both),
    "comparison": (sm.Comparison, compared),
    "comparison_of_scores": (lambda: sm.Comparison(scores=True, folds=2), compared_scores),
    "groups": (lambda: sm.ByGroup(sm.MetricSet()), in_groups(labelled)),
    "groups_folded": (lambda: sm.ByGroup(sm.MetricSet(scores=True, pairs=False), 2), in_groups(both)),
    "window": (lambda: sm.TimeWindow(sm.MetricSet(), "1m", 6), in_time(labelled)),
    "window_of_scores": (lambda: sm.TimeWindow(sm.MetricSet(scores=True, pairs=False), "1m", 3, "10s"), in_time(both)),
    "fading": (lambda: sm.Fading(sm.MetricSet(), 5), labelled),
    "fading_of_scores": (lambda: sm.Fading(sm.MetricSet(scores=True, pairs=False), "20s"), in_time(both)),
    "rolling": (lambda: sm.Rolling(sm.MetricSet(), 7), labelled),
    "rolling_of_scores": (lambda: sm.Rolling(sm.MetricSet(scores=True, pairs=False), 7), both),
}


def split(sample: tuple[Any, ...]) -> tuple[list[Any], dict[str, Any]]:
    """Return the positional and the named arguments of a sample."""
    return (list(sample[:-1]), sample[-1]) if isinstance(sample[-1], dict) else (list(sample), {})


def batch(samples: list[tuple[Any, ...]]) -> tuple[list[list[Any]], dict[str, list[Any]]]:
    """Return the columns of a batch."""
    columns = [list(column) for column in zip(*(split(sample)[0] for sample in samples), strict=True)]
    named = [split(sample)[1] for sample in samples]
    return columns, {name: [more[name] for more in named] for name in named[0]}


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
    """A state can be written, read, and shown."""
    written = state.to_bytes()
    assert sm.from_bytes(written).to_bytes() == written
    state.snapshot()


def grown(make: Callable[[], Any], draw: Callable[[random.Random], Any], rng: random.Random) -> Any:
    """Return a state after some samples, perhaps merged with itself until a limit is near."""
    state = make()
    for _ in range(rng.randrange(6)):
        sample, named = split(draw(rng))
        tried(lambda: state.update(*sample, **named), state)  # noqa: B023
    if not hasattr(make().inner if hasattr(state, "inner") else state, "merge") or isinstance(state, sm.Rolling):
        return state
    for _ in range(rng.choice([0, 0, 3, 60, 62, 64])):
        if not tried(lambda: state.merge(state.copy()), state):
            break
    return state


@pytest.mark.parametrize("name", STATES)
@pytest.mark.parametrize("seed", range(4))
def test_an_operation_succeeds_or_changes_nothing(name: str, seed: int) -> None:
    """Updates, batches, merges, reverts and subtractions of states that are nearly full."""
    make, draw = STATES[name]
    rng = random.Random(f"{name} {seed}")
    a, b = (grown(make, draw, rng) for _ in range(2))
    for _ in range(25):
        sample, named = split(draw(rng))
        columns, more = batch([draw(rng) for _ in range(rng.randint(1, 4))])
        acts: list[tuple[Callable[[], Any], Any, Any]] = [
            (lambda: a.update(*sample, **named), a, b),  # noqa: B023
            (lambda: a.update_many(*columns, **more), a, b),  # noqa: B023
        ]
        if not isinstance(a, sm.Rolling):
            acts += [(lambda: a.merge(b), a, b), (lambda: a.merge(a), a, b), (lambda: b.merge(a), b, a)]
        if hasattr(a, "revert"):
            acts += [(lambda: a.revert(*sample, **named), a, b)] * 2  # noqa: B023
        if hasattr(a, "subtract"):
            acts += [(lambda: a.subtract(b), a, b)]
        tried(*rng.choice(acts))
        usable(a)
        usable(b)


@pytest.mark.parametrize("name", ["confusion", "losses", "metric", "set", "set_of_scores_exact", "groups"])
@pytest.mark.parametrize("seed", range(3))
def test_a_state_that_revert_leaves_can_be_counted(name: str, seed: int) -> None:
    """Whatever is reverted: no counter is below 0, and there are as many samples as cells with a weight."""
    make, draw = STATES[name]
    rng = random.Random(f"{name} {seed}")
    for _ in range(10):
        state = make()
        for _ in range(60):
            sample, named = split(draw(rng))
            sample[-1] = rng.choice([0, 0.5, 1, 1, 2, 3])
            act = state.update if rng.random() < 0.4 else state.revert
            tried(lambda: act(*sample, **named), state)  # noqa: B023
            for counts in matrices(state):
                values = counts.cells()[2]
                assert counts.n >= len(values)
                assert (values > 0).all()
        usable(state)


def matrices(state: Any) -> list[Any]:
    """Return the confusion matrices of a state."""
    if isinstance(state, sm.ByGroup):
        return [matrix for group in state.groups for matrix in matrices(state.state(group))]
    state = getattr(state, "state", state)
    return [state] if isinstance(state, sm.ConfusionMatrix) else []


@pytest.mark.parametrize("name", [name for name in STATES if "rolling" not in name])
@pytest.mark.parametrize("kind", ["abstention", "no weight", "weight 1"])
def test_no_counter_wraps(name: str, kind: str) -> None:
    """A state that is merged with itself is refused before a counter would be beyond what is written and read."""
    make, draw = STATES[name]
    named = split(draw(random.Random(1)))[1]
    soft = "scores" in name or name in ("ranks", "ranks_one_vs_rest", "losses")
    predicted = None if kind == "abstention" else 0.5 if soft else True
    sample = [True, predicted, *([0.5 if soft else False] if "comparison" in name else []), kind != "no weight"]
    state = make()
    state.update(*sample, **named)
    counted = state.n + state.abstained
    merges = 0
    while tried(lambda: state.merge(state.copy()), state):
        counted, merges = 2 * counted, merges + 1
        assert state.n + state.abstained == counted
    assert merges in (range(10, 63) if "fading" in name else range(61, 63))
    usable(state)


def test_a_set_of_scores_merges_whole_or_not_at_all() -> None:
    """The scores are not merged where the labels have no room."""
    a, b = sm.MetricSet(scores=True), sm.MetricSet(scores=True)
    a.update(1, 1, w=2**62)
    b.update(1, 1, w=2**62)
    b.update(1, 0.7)
    before = a.to_bytes()

    with pytest.raises(sm.WeightError):
        a.merge(b)
    assert a.to_bytes() == before


def test_folding_is_refused_before_a_group_is_there() -> None:
    """A group whose class would be the 65th of those that are folded is not counted."""
    groups = sm.ByGroup(sm.MetricSet(scores=True), 1)
    for number in range(80):
        scores = {f"class {number} {i}": 0.01 for i in range(40)}
        tried(lambda: groups.update(f"class {number} 0", scores, group=number), groups)  # noqa: B023
        assert len(groups.groups) == 1
    assert groups.folded > 0


def test_fading_refuses_what_it_could_not_show() -> None:
    """Weights that add up to more than a state can count are refused when they come."""
    fading = sm.Fading(sm.MetricSet(), half_life=10)
    outcomes = [tried(lambda: fading.update(1, 1, w=2**61), fading) for _ in range(4)]

    assert outcomes == [True, True, False, False]
    assert fading.snapshot()["accuracy"] == 1
    assert fading.n == 2


def test_states_of_many_samples_are_read() -> None:
    """A matrix of nearly 2^63 samples is written and read."""
    state = sm.ConfusionMatrix.from_matrix([[2**62, 0], [0, 2**62 - 4]])

    assert sm.from_bytes(state.to_bytes()).n == 2**63 - 4


LONG = {
    "int": 10**5000,
    "int of 2,049 bits": 2**2048,
    "negative int": -(2**2048),
    "text": "x" * (2**20 + 1),
    "bytes": b"x" * (2**20 + 1),
    "tuple": (0,) * 1025,
    "tuples": ((0,) * 512,) * 2,
    "tuple of text": ("x" * 2**19, ("y" * 2**19,)),
    "int in a tuple": (1, (10**5000,)),
}
LONGEST = {
    "int": 2**2048 - 1,
    "negative int": -(2**2048) + 1,
    "text": "x" * 2**20,
    "bytes": b"x" * 2**20,
    "tuple": (0,) * 1024,
    "tuple of text": ("x" * 2**19, "y" * (2**19 - 2048)),
}


@pytest.mark.parametrize("label", LONG.values(), ids=LONG)
def test_a_long_label_is_refused_wherever_it_comes_in(label: Any) -> None:
    """As truth, prediction, score, group, unit, worker, fixed or positive label, alone and in batches."""
    matrix, ranks, scored, groups = (
        sm.ConfusionMatrix(),
        sm.RankSketch(),
        sm.MetricSet(scores=True),
        sm.ByGroup(sm.MCC()),
    )
    losses, rolling, comparison = sm.ProbabilityLosses(), sm.Rolling(sm.MetricSet(), 3), sm.Comparison()
    window = sm.TimeWindow(sm.MetricSet(), "1m", 2)
    acts: list[Callable[[], Any]] = [
        *(lambda s=s: s.update(label, 1) for s in (matrix, scored, rolling)),
        *(lambda s=s: s.update(1, label) for s in (matrix, scored, rolling)),
        *(lambda s=s: s.update(label, None) for s in (matrix, scored, rolling)),
        *(lambda s=s: s.update_many([label, 1], [1, 1]) for s in (matrix, scored, rolling)),
        *(lambda s=s: s.update_many([1, 1], [1, label]) for s in (matrix, scored, rolling)),
        *(lambda s=s: s.update(label, {"a": 0.5}) for s in (ranks, losses, scored)),
        *(lambda s=s: s.update("a", {label: 0.5}) for s in (ranks, losses, scored)),
        *(lambda s=s: s.update_many(["a"], [{label: 0.5}]) for s in (ranks, losses, scored)),
        *(lambda s=s: s.update_many([label], [{"a": 0.5}]) for s in (ranks, losses, scored)),
        lambda: window.update(label, 1, t=TIME),
        lambda: groups.update(1, 1, group=label),
        lambda: groups.update_many([1], [1], group=[label]),
        lambda: comparison.update(label, 1, 1),
        lambda: comparison.update(1, 1, label),
        lambda: comparison.update(1, 1, 1, unit=label),
        lambda: comparison.update_many([1], [1], [label]),
        lambda: sm.Aggregate().put(label, matrix, 1),
        lambda: sm.ConfusionMatrix(labels=[label]),
        lambda: sm.ConfusionMatrix(labels=[1], other=label),
        lambda: sm.ROCAUC(pos_label=label),
        lambda: sm.Precision(pos_label=label),
    ]
    for act in acts:
        with pytest.raises(sm.LabelError, match=r"^Expected "):
            act()
    for state in (matrix, ranks, scored, groups, losses, rolling, comparison, window):
        assert state.n == state.abstained == 0


@pytest.mark.parametrize("label", [LONG["text"], LONG["bytes"]], ids=["text", "bytes"])
def test_a_long_label_in_an_array_is_refused(label: Any) -> None:
    """Columns of fixed width, categories, and what Arrow holds."""
    column = np.array([label, label[:1]])
    state = sm.ConfusionMatrix()
    for act in (
        lambda: state.update_many(column, column),
        lambda: state.update_many(column[1:], column[:1]),
    ):
        with pytest.raises(sm.LabelError, match=r"^Expected "):
            act()
    assert state.n == 0


@pytest.mark.parametrize("label", LONGEST.values(), ids=LONGEST)
def test_the_longest_labels_are_counted_written_and_shown(label: Any) -> None:
    """What is just short enough works everywhere."""
    states: list[Any] = [sm.ConfusionMatrix(), sm.MetricSet(), sm.ByGroup(sm.MetricSet())]
    for state in states:
        more = {"group": label} if isinstance(state, sm.ByGroup) else {}
        state.update(label, label, **more)
        state.update_many([label], [label], **({"group": [label]} if more else {}))
        assert sm.from_bytes(state.to_bytes()) == state
        assert state.n == 2
    assert states[1].snapshot().to_json()
