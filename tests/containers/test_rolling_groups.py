"""Rolling windows around groups, groups of rolling windows, and windows that threads share."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

import stream_metrics as sm
from stream_metrics.containers.groups import ByGroup
from stream_metrics.containers.rolling import Rolling


@pytest.mark.parametrize("make", [sm.MCC, sm.ROCAUC, lambda: sm.MetricSet(scores=True)])
def test_the_last_samples_by_group(make: Callable[[], Any]) -> None:
    """A window around groups holds the last samples of all groups; a group that has left is gone."""
    rng = random.Random(6)
    rolling, many, stream = (*(Rolling(ByGroup(make()), 7) for _ in range(2)), [])
    for i in range(80):
        y_pred = rng.random() < 0.5 if make is sm.MCC else rng.random()
        stream.append((rng.random() < 0.5, y_pred, rng.choice([1, 0.5]), f"group {i // 20} {rng.randrange(2)}"))
        *sample, group = stream[-1]
        rolling.update(*sample, group=group)
        fresh = ByGroup(make())
        for *one, key in stream[-7:]:
            fresh.update(*one, group=key)
        assert rolling.state.to_bytes() == fresh.to_bytes()
        if i % 10 == 9:
            *columns, groups = (list(column) for column in zip(*stream[-10:], strict=True))
            many.update_many(*columns, group=groups)
            assert many.to_bytes() == rolling.to_bytes()
            assert many.state.to_bytes() == fresh.to_bytes()
            assert sm.from_bytes(many.to_bytes()) == rolling.copy() == rolling


def test_one_group_for_a_whole_batch() -> None:
    """A batch may be of one group."""
    many, one = (Rolling(ByGroup(sm.MCC()), 3) for _ in range(2))
    many.update_many(["a", "b"], ["a", "a"], group="north")
    for label in ("a", "b"):
        one.update(label, "a", group="north")

    assert many == one


def test_sketches_inside_groups_hold_the_whole_window() -> None:
    """They are made larger there, too."""
    rolling = Rolling(ByGroup(sm.MetricSet(scores=True, buckets=2)), 50)

    assert rolling.inner.inner.buckets == 50
    assert rolling.inner.inner.scored.confidence.buckets == 50


def test_the_last_samples_of_each_group() -> None:
    """Groups of windows hold the last samples of each."""
    rng = random.Random(8)
    groups, streams = ByGroup(Rolling(sm.ROCAUC(), 5)), {"a": [], "b": []}
    for _ in range(60):
        key, sample = rng.choice("aab"), (rng.random() < 0.5, rng.random())
        groups.update(*sample, group=key)
        streams[key].append(sample)
    assert sm.from_bytes(groups.to_bytes()) == groups
    taken = groups.snapshot()
    for key, stream in streams.items():
        fresh = sm.ROCAUC()
        fresh.update_many(*zip(*stream[-5:], strict=True))
        assert taken[key].per_class["roc_auc"][True] == fresh.get()


def test_groups_that_fold_are_refused() -> None:
    """What was folded cannot leave the window."""
    with pytest.raises(ValueError, match="max_groups"):
        Rolling(ByGroup(sm.MCC(), max_groups=3), 5)


@pytest.mark.parametrize(
    ("make", "draw"),
    [
        (sm.ConfusionMatrix, lambda rng, i: (rng.choice("abc"), 1.0 + i % 3, rng.choice([1, 0.25]))),
        (sm.ROCAUC, lambda rng, i: (i % 3 == 0, rng.random(), 2 if i % 50 == 0 else 1)),
        (sm.CrossEntropy, lambda rng, i: (i % 3 == 0, {True: rng.random()}, 1)),
        (lambda: sm.MetricSet(scores=True), lambda rng, i: (i % 3 == 0, rng.random(), 1)),
    ],
)
def test_a_window_that_threads_share(make: Callable[[], Any], draw: Callable[[random.Random, int], Any]) -> None:
    """Nothing crashes, the ring never holds more than the window, and in the end the state is that of the ring."""
    rolling, before = Rolling(make(), 20), sys.getswitchinterval()
    errors: list[BaseException] = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        try:
            for i in range(600):
                rolling.update(*draw(rng, i))
                if i % 40 == seed:
                    assert sm.from_bytes(rolling.to_bytes()).held <= 20
                    rolling.copy()
                    rolling.snapshot()
                if i % 100 == 50 + seed:
                    batch = [draw(rng, i) for _ in range(5)]
                    rolling.update_many(*(list(column) for column in zip(*batch, strict=True)))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert errors == []
    assert rolling.held == 20
    assert rolling.state.to_bytes() == sm.from_bytes(rolling.to_bytes()).state.to_bytes()
