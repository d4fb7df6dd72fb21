"""Workers that ask one registry count the same classes apart, however they interleave, die and start again."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stream_metrics.labels import Label
from stream_metrics.monitor.config import Counting
from stream_metrics.monitor.counts.class_pool import ANOTHER, OTHER, Admitted, ClassPool
from stream_metrics.monitor.counts.counting import Counts, Pair
from stream_metrics.monitor.counts.parts import unpack
from stream_metrics.monitor.events.records import MISSING
from stream_metrics.monitor.view.window_reading import read
from stream_metrics.monitor.view.window_values import value

MOST, PARTS = 3, 3
CONFIG = Counting(windows=("1h",), panes=6, max_classes=MOST)
START = 1_700_000_000.0
CLASSES = st.integers(0, 7).map("c{}".format)
SAMPLES = st.lists(st.tuples(CLASSES, CLASSES), min_size=8, max_size=16)
STEPS = st.lists(
    st.tuples(st.sampled_from(["take", "take", "save", "die"]), st.integers(0, 2), st.integers(0, PARTS - 1)),
    max_size=25,
)


class Registry:
    """A registry in memory, and how often it was asked."""

    def __init__(self) -> None:
        self.admitted, self.asked = Admitted(), 0

    def admit(self, labels: Sequence[Label], most: int | None) -> Admitted:
        """Admit classes."""
        self.asked += 1
        self.admitted = self.admitted.plus(labels, most)
        return self.admitted


class Stored(NamedTuple):
    """What a checkpoint of a partition has: its counts, and how many pairs these are of."""

    counts: bytes
    read: int


class Workers:
    """Workers that count partitions of a store: each has a pool of its own, and a partition the last checkpoint."""

    def __init__(self, config: Counting, pairs: Sequence[Sequence[Pair]]) -> None:
        self.config, self.pairs, self.registry = config, pairs, Registry()
        self.stored = [Stored(Counts(config).to_bytes(), 0)] * PARTS
        self.owned: dict[int, tuple[int, Counts, int]] = {}  # worker, counts and pairs read, by partition
        self.pools: dict[int, ClassPool] = {}

    def take(self, worker: int, part: int, n: int) -> None:
        """Have a worker count the next pairs of a partition, which it takes over as it was stored."""
        if part not in self.owned or self.owned[part][0] != worker:
            pool = self.pools.setdefault(worker, ClassPool(self.config, self.registry))
            data, done = self.stored[part]
            self.owned[part] = worker, Counts.from_parts(self.config, unpack(data), pool=pool), done
        _, counts, done = self.owned[part]
        counts.add(list(self.pairs[part][done : done + n]))
        self.owned[part] = worker, counts, done + n

    def save(self, worker: int, part: int) -> None:
        """Write a checkpoint of a partition, if the worker has it."""
        if part in self.owned and self.owned[part][0] == worker:
            self.stored[part] = Stored(self.owned[part][1].to_bytes(), self.owned[part][2])

    def die(self, worker: int, part: int) -> None:
        """Have a worker die, and all that it has not written go."""
        self.owned = {at: owned for at, owned in self.owned.items() if owned[0] != worker}
        self.pools.pop(worker, None)


def pairs_of(samples: Sequence[tuple[str, str]], part: int, scores: bool) -> list[Pair]:
    """Return pairs, one every minute."""
    pairs = []
    for at, (truth, said) in enumerate(samples):
        t = START + 60 * at + part
        soft = {truth: 0.25, "c9": 0.125} | {said: 0.5} if scores else MISSING
        pairs.append(Pair(truth, said, soft, None, f"g{at % 2}", t, t, ("t", part, at)))
    return pairs


@pytest.mark.parametrize("scores", [False, True], ids=["labels", "scores"])
@given(
    samples=st.lists(SAMPLES, min_size=PARTS, max_size=PARTS),
    steps=STEPS,
    order=st.permutations(range(PARTS)),
    nested=st.booleans(),
)
def test_any_interleaving_counts_as_one_worker_that_knows_the_classes(
    scores: bool, samples: list[list[tuple[str, str]]], steps: list[Any], order: list[int], nested: bool
) -> None:
    """Merged in any order, the bytes are those of one worker that had the same classes from the start."""
    config = replace(CONFIG, scores=scores)
    pairs = [pairs_of(each, part, scores) for part, each in enumerate(samples)]
    workers = Workers(config, pairs)
    for what, worker, part in steps:
        if what == "take":
            workers.take(worker, part, 3)
        else:
            getattr(workers, what)(worker, part)
    for part in range(PARTS):
        workers.take(part, part, 100)

    first, second, third = (workers.owned[part][1] for part in order)
    merged = first.copy().merge(second.copy().merge(third)) if nested else first.copy().merge(second).merge(third)
    alone = Counts(config, pool=ClassPool(config, admitted=workers.registry.admitted))
    unlimited = Counts(replace(config, max_classes=1000))
    every = list(itertools.chain(*pairs))
    assert alone.add(every) == unlimited.add(every) == []

    assert merged.to_bytes() == alone.to_bytes()
    assert merged.classes.partial == frozenset()
    assert len(set(merged.total.state.labels) - {OTHER, ANOTHER}) <= MOST
    shown, exact = read([merged]), read([unlimited])
    for name in ("total", "1h"):
        state, whole = shown[name].state, exact[name].state
        assert (state.n, value(state.snapshot(), "accuracy")) == (whole.n, value(whole.snapshot(), "accuracy"))


def test_a_full_pool_asks_nobody() -> None:
    """Nor does one that knows the classes: the store is asked once for each batch with new ones."""
    registry = Registry()
    counts = Counts(CONFIG, pool=ClassPool(CONFIG, registry))
    for names in (["c0", "c1"], ["c1", "c0"], ["c2", "c3"], ["c4", "c5"], ["c6", "c2"]):
        counts.add(pairs_of([(name, name) for name in names], 0, scores=False))

    assert registry.asked == 2
    assert registry.admitted == Admitted(("c0", "c1", "c2"), full=True)


def test_a_class_that_was_folded_stays_folded_under_a_larger_limit() -> None:
    """Some of its samples are counted with others already; of a worker with a smaller limit, too."""
    registry = Registry()
    small = Counts(CONFIG, pool=ClassPool(CONFIG, registry))
    large = replace(CONFIG, max_classes=10)
    other = Counts(large, pool=ClassPool(large, registry))
    small.add(pairs_of([(f"c{at}", f"c{at}") for at in range(5)], 0, scores=False))
    other.add(pairs_of([(f"c{at}", f"c{at}") for at in range(3, 8)], 1, scores=False))

    assert registry.admitted == Admitted(("c0", "c1", "c2"), full=True)
    assert other.classes.labels & {f"c{at}" for at in range(10)} == {"c0", "c1", "c2"}


def test_fixed_classes_have_no_limit_and_take_no_place() -> None:
    """A label that is none of them is refused as it is."""
    config = replace(CONFIG, labels=("c0", "c1", "c2", "c3", "c4"), max_classes=1)
    registry = Registry()
    counts = Counts(config, pool=ClassPool(config, registry))
    pairs = pairs_of([(f"c{at}", "c0") for at in range(5)] + [("c7", "c0"), ("c8", "c0")], 0, scores=False)

    refused = counts.add(pairs)

    assert [each.offset for each in refused] == [5, 6]
    assert "'c8'" in refused[1].detail
    assert registry.asked == 0


def test_what_is_no_label_is_refused_and_not_folded() -> None:
    """A text that is too long has no class, before the limit is reached and after it."""
    counts = Counts(CONFIG)
    long = "x" * 2_000_000
    for at in range(5):
        (refused,) = counts.add(pairs_of([(f"c{at}", f"c{at}"), (long, "c0")], 0, scores=False))
        assert refused.reason == "label"
    assert counts.total.n == 5
