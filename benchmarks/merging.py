"""What does it cost to merge states: two of a thousand classes beside adding matrices, and those of many workers?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import streams
from timing import Line, best

import stream_metrics as sm

Array = np.ndarray[Any, Any]
K = 1000
ROUNDS = 60


def lines() -> Iterator[Line]:
    """Yield what is measured."""
    draw = np.random.default_rng(4)
    names = np.array(streams.names(K))
    matrix, other = draw.integers(1, 10, (K, K)), draw.integers(1, 10, (K, K))
    ours = state(matrix, names, np.arange(K))
    same = state(other, names, np.arange(K))
    shuffled = state(other, names, draw.permutation(K))
    assert same == shuffled
    assert np.array_equal(ours.copy().merge(shuffled).matrix, matrix + other)
    ns = best(
        {
            "same": lambda: ours.merge(same),
            "shuffled": lambda: ours.merge(shuffled),
            "add": lambda: np.add(matrix, other, out=matrix),
            "new": lambda: np.add(matrix, other),
        },
        ROUNDS,
    )
    for name, order in (("same", "in the same order"), ("shuffled", "in another order")):
        figures = f"{ns[name] / 1e3:.0f} / {ns['add'] / 1e3:.0f} us; `np.add` into a new array {ns['new'] / 1e3:.0f}"
        what = f"`merge` / `np.add(a, b, out=a)`, labels arrived {order}"
        yield Line(what, ns[name] / ns["add"], target=2, figures=figures)
    yield from many_workers()
    yield from many_groups()


def many_workers() -> Iterator[Line]:
    """Yield what it costs to bring the states of many workers together, each of ten classes and a thousand samples."""
    for workers, limit in ((1_000, 20), (10_000, 200)):
        states = [worker(number) for number in range(workers)]
        sent = [state.to_bytes() for state in states]
        assert sm.merge(states) == sm.merge(map(sm.from_bytes, sent)) == received(sent).total()
        ns = best(
            {
                "states": lambda states=states: sm.merge(states),  # type: ignore[misc]
                "bytes": lambda sent=sent: sm.merge(map(sm.from_bytes, sent)),  # type: ignore[misc]
                "aggregate": lambda sent=sent: received(sent).total(),  # type: ignore[misc]
            },
            5,
        )
        for name, what in (("states", "of their states"), ("bytes", "of their bytes")):
            yield Line(f"`merge` {what}, {workers} workers", ns[name] / 1e6, "ms", limit)
        yield Line(f"`Aggregate.put` of their bytes, then `total`, {workers} workers", ns["aggregate"] / 1e6, "ms")
    yield reading_after_each()


def reading_after_each() -> Line:
    """Return what reading the total after each state costs with 10,000 workers, beside 100."""
    few, many = received([worker(number).to_bytes() for number in range(100)]), sm.Aggregate()
    sent = worker(0).to_bytes()
    for number in range(10_000):
        many.put(number, sent, 1)
    sequences = iter(range(2, 10**9))

    def read(total: sm.Aggregate) -> object:
        total.put(7, sent, next(sequences))
        return total.total()

    ns = best({"few": lambda: read(few), "many": lambda: read(many)}, 200)
    figures = f"{ns['many'] / 1e3:.0f} / {ns['few'] / 1e3:.0f} us"
    what = "`put` of one state and `total`, 10,000 workers / 100 workers"
    return Line(what, ns["many"] / ns["few"], target=4, figures=figures)


def many_groups() -> Iterator[Line]:
    """Yield what shards of groups cost: one group beside a hundred thousand, a thousand shards, and bytes."""
    draw = np.random.default_rng(7)
    groups, shard = draw.integers(0, 98_000, 1_000_000), sm.ByGroup(sm.Accuracy())
    truth = sm.Categorical(draw.integers(0, 3, len(groups)), np.array(["a", "b", "c"]))
    predicted = sm.Categorical(draw.integers(0, 3, len(groups)), np.array(["a", "b", "c"]))
    shard.update("a", "a", group=5)

    def counted() -> sm.ByGroup:
        many = sm.ByGroup(sm.Accuracy())
        many.update_many(truth, predicted, group=groups)
        return many

    many = counted()
    sent = many.to_bytes()
    read = sm.from_bytes(sent)
    shards = [sm.ByGroup(sm.Accuracy()) for _ in range(1_000)]
    for number, each in enumerate(shards):
        each.update("a", "b", group=number)
    ns = best({"one": lambda: many.merge(shard), "n": lambda: many.n}, 200)
    yield Line("`ByGroup.merge` of one group into 98,000", ns["one"] / 1e6, "ms", 1)
    yield Line("`ByGroup.n` of 98,000 groups", ns["n"] / 1e3, "us", 10)
    ns = best(
        {
            "shards": lambda: sum(shards),  # type: ignore[arg-type]
            "counted": counted,
            "bytes": lambda: sm.from_bytes(sent),
            "merge": lambda: read.copy().merge(read),
        },
        2,
    )
    yield Line("`sum` of 1,000 shards of one group each", ns["shards"] / 1e6, "ms", 500)
    yield Line("`ByGroup.update_many`, a million rows of 98,000 groups", ns["counted"] / 1e9, "s", 1)
    yield Line("`from_bytes` of 98,000 groups", ns["bytes"] / 1e9, "s", 2)
    yield Line("`merge` of two `ByGroup` of 98,000 groups that were read from bytes", ns["merge"] / 1e9, "s", 3)


def worker(number: int) -> sm.ConfusionMatrix:
    """Return the state of one worker."""
    draw = np.random.default_rng(number)
    names, truth = np.array(streams.names(10)), draw.integers(0, 10, 1_000)
    predicted = np.where(draw.random(1_000) < 0.8, truth, draw.integers(0, 10, 1_000))
    state = sm.ConfusionMatrix()
    state.update_many(sm.Categorical(truth, names), sm.Categorical(predicted, names))
    return state


def received(sent: list[bytes]) -> sm.Aggregate:
    """Return the aggregate of the states that the workers sent."""
    total = sm.Aggregate()
    for number, data in enumerate(sent):
        total.put(number, data, 1)
    return total


def state(matrix: Array, names: Array, arrival: Array) -> sm.ConfusionMatrix:
    """Return the state of a matrix whose labels arrived in the given order."""
    counts = sm.ConfusionMatrix()
    for label in names[arrival].tolist():
        counts.update(label, label)
    matrix = matrix - np.eye(len(matrix), dtype=matrix.dtype)
    rows, columns = np.repeat(np.indices(matrix.shape).reshape(2, -1), matrix.ravel(), axis=1)
    counts.update_many(sm.Categorical(rows, names), sm.Categorical(columns, names))
    return counts
