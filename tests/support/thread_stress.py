"""Threads that share one accumulator, in a process of their own: every kind of accumulator, label, weight and call.

    python -X faulthandler tests/support/thread_stress.py --rounds 2000

In a round several threads count, take back, merge, read and write one object at a switch interval of a microsecond.
Then it must hold exactly what one thread would have counted, byte for byte where the order of samples does not matter.
The process fails on a wrong count, an exception, a crash or a deadlock; it prints the round and the case, which
`--only CASE --seed ROUND --rounds 1` repeats.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import sys
import threading
import time
import traceback
from collections import UserDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

import stream_metrics as sm

Sample = tuple[tuple[Any, ...], dict[str, Any]]
Draw = Callable[[random.Random], Any]
WRITERS, SAMPLES, READINGS = 3, 12, 6
MINUTES = 3  # of one round, after which the process says where its threads are and ends


class Slow:
    """A label that is read by Python code, during which other threads run."""

    shape = ()

    def __init__(self, label: Any) -> None:
        self.label = label

    def item(self) -> Any:
        """Return the label."""
        time.sleep(0)
        return self.label


class SlowWeight:
    """A weight that is read by Python code."""

    def __float__(self) -> float:
        time.sleep(0)
        return 0.75


class SlowScores(UserDict[Any, Any]):
    """Scores that are read by Python code."""

    def __getitem__(self, label: Any) -> Any:
        time.sleep(0)
        return self.data[label]


def label(rng: random.Random) -> Any:
    """Return a label of some type."""
    kind, i = rng.randrange(10), rng.randrange(4)
    return (
        "abcd"[i], f"label {rng.randrange(40)}", np.str_("abcd"[i]), i, np.int64(i), i + 2.0, bool(i % 2),
        (f"a{i}").encode(), ("t", i), Slow("abcd"[i]),
    )[kind]  # fmt: skip


def prediction(rng: random.Random) -> Any:
    """Return a label, a mapping of scores, or nothing."""
    kind = rng.randrange(12)
    if kind == 0:
        return None
    if kind == 1:
        return {"a": rng.random(), "b": rng.random()}
    return SlowScores({"c": rng.random(), "d": 0.5}) if kind == 2 else label(rng)


def weight(rng: random.Random) -> Any:
    """Return a weight of some type; every sum of these is exact."""
    return rng.choice((1, 1, 1, 2, 0, 0.25, 1.0, Fraction(1, 4), np.float32(0.5), np.int64(3), SlowWeight()))


def row(rng: random.Random) -> Any:
    """Return probabilities of the classes 0, 1, 2, sometimes none."""
    first, second = rng.randrange(32) / 64, rng.randrange(32) / 64
    scores = {0: first, 1: second, 2: 1 - first - second}
    return rng.choice((scores, scores, SlowScores(scores), {k: np.float64(v) for k, v in scores.items()}, {}))


def score(rng: random.Random) -> Any:
    """Return a score of the positive class."""
    return rng.choice((float, float, np.float64))(rng.randrange(65) / 64)


def one_of(*values: Any) -> Draw:
    """Return one of some values."""
    return lambda rng: rng.choice(values)


def key_of(name: str, count: int) -> Draw:
    """Return keys of groups or units, of several types."""
    kinds = (int, float, f"{name} {{}}".format, lambda i: np.str_(f"{name} {i}"))
    return lambda rng: rng.choice(kinds)(rng.randrange(count))


labels_only = (label, prediction, weight)
plain_labels = (one_of(*"abc"), one_of(*"abc"), one_of(1, 1, 0.5, 3))  # the fast path
fixed_labels = (one_of(*"abcde"), lambda rng: Slow(rng.choice("abcde")), weight)  # some outside of a fixed set
soft = (one_of(0, 1, 2, Slow(1)), row, weight)
binary = (one_of(True, True, False, False, False), score, one_of(1, 1, 1, 1, 2))
models = (label, prediction, prediction, weight)
scored_models = (one_of(True, False), score, score, one_of(1, 2))
tags = one_of({"a", Slow("b")}, {"b": True, "c": False, Slow("d"): True}, ["e", "a"], set[str]())
losses = (one_of(True, False, False),)
TIME: dict[str, Draw] = {"t": lambda rng: rng.randrange(200) / 4}
GROUP, FEW_GROUPS, UNIT = {"group": key_of("group", 20)}, {"group": key_of("group", 3)}, {"unit": key_of("unit", 20)}


@dataclass
class Case:
    """What is shared, what it is fed, and what must hold in the end: by default the bytes of a single thread."""

    make: Callable[[], Any]
    arguments: tuple[Draw, ...]
    named: dict[str, Draw] = field(default_factory=dict)
    reverts: bool = False
    merges: bool = True
    check: Callable[[Any, list[Sample]], None] | None = None

    def sample(self, rng: random.Random) -> Sample:
        """Draw a sample."""
        return tuple([draw(rng) for draw in self.arguments]), {name: draw(rng) for name, draw in self.named.items()}


def in_window(shared: Any, fed: list[Sample]) -> None:
    """Check a rolling window: it is full, its state is that of its samples, and these are among those that were fed."""
    assert shared.held == min(shared.window, len(fed))
    restored = sm.from_bytes(shared.to_bytes())
    assert restored.state.to_bytes() == shared.state.to_bytes()
    assert restored.n + restored.abstained == shared.held
    if hasattr(shared.state, "revert"):
        rest = shared.state.copy()
        rest.reset()
        feed(rest, fed)
        counts = [getattr(state, "state", state) for state in (rest, shared.state)]
        if hasattr(counts[0], "subtract"):
            counts[0].copy().subtract(counts[1])  # raises for a sample that was not fed


def as_many(shared: Any, fed: list[Sample]) -> None:
    """Check the number of samples, where the order of samples matters, and that the bytes can be read."""
    assert shared.n + shared.abstained == len(fed), (shared.n, shared.abstained, len(fed))
    assert sm.from_bytes(shared.to_bytes()).to_bytes() == shared.to_bytes()


class Closings:
    """Windows that are closed while threads count: each of them once."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, int]] = []

    def make(self) -> Any:
        """Return a window that tells of its closings."""
        self.seen = []
        return sm.TimeWindow(sm.MetricSet(), "5s", panes=1, lateness="5s", on_close=self.close)

    def close(self, start: float, end: float, state: Any) -> None:
        """Note a closing."""
        self.seen.append((start, state.n + state.abstained))

    def check(self, shared: Any, fed: list[Sample]) -> None:
        """Check that every sample is in one window, each of which is closed once, or was too late."""
        shared.update("a", "a", t=4e9)  # closes all windows that are open
        starts = [start for start, _ in self.seen]
        assert len(starts) == len(set(starts))
        assert sum(n for _, n in self.seen) + shared.dropped == len(fed)


CLOSINGS = Closings()
scored = partial(sm.MetricSet, scores=True)


def rolling(make: Callable[[], Any], arguments: tuple[Draw, ...], named: dict[str, Draw] | None = None) -> Case:
    """Return windows of 20 samples."""
    return Case(lambda: sm.Rolling(make(), 20), arguments, named or {}, merges=False, check=in_window)


def window(make: Callable[[], Any], arguments: tuple[Draw, ...], named: dict[str, Draw] | None = None) -> Case:
    """Return windows of time."""
    return Case(lambda: sm.TimeWindow(make(), "60s", 12, "60s"), arguments, TIME | (named or {}))


CASES: dict[str, Case] = {
    "ConfusionMatrix": Case(sm.ConfusionMatrix, labels_only, reverts=True),
    "ConfusionMatrix, plain": Case(sm.ConfusionMatrix, plain_labels, reverts=True),
    "ConfusionMatrix, fixed": Case(lambda: sm.ConfusionMatrix(list("abc"), other="d"), fixed_labels, reverts=True),
    "MetricSet": Case(sm.MetricSet, labels_only, reverts=True),
    "MetricSet of units": Case(sm.MetricSet, labels_only, UNIT, reverts=True),
    "MetricSet of scores": Case(scored, soft, reverts=True),
    "MetricSet of scores of units": Case(scored, soft, UNIT, reverts=True),
    "MetricSet of coarse scores": Case(lambda: scored(buckets=8, sample=4), soft),
    "ECE": Case(lambda: sm.ExpectedCalibrationError(bins=5), binary, reverts=True),
    "ROCAUC": Case(sm.ROCAUC, binary, reverts=True),
    "ROCAUC of units": Case(sm.ROCAUC, binary, UNIT, reverts=True),
    "MacroF1": Case(sm.MacroF1, labels_only, reverts=True),
    "Recall": Case(lambda: sm.Recall(pos_label="a"), labels_only, reverts=True),
    "CrossEntropy": Case(sm.CrossEntropy, soft, reverts=True),
    "RankSketch": Case(sm.RankSketch, soft, reverts=True),
    "RankSketch, coarse": Case(lambda: sm.RankSketch(8, 4, pairs=False), soft),
    "ProbabilityLosses": Case(sm.ProbabilityLosses, soft, reverts=True),
    "Comparison": Case(sm.Comparison, models),
    "Comparison of units": Case(sm.Comparison, models, {"unit": lambda rng: rng.randrange(20)}),
    "Comparison of scores": Case(lambda: sm.Comparison(scores=True, folds=4), scored_models),
    "ChangeDetector": Case(lambda: sm.ChangeDetector(0.2, arl=50), losses, merges=False, check=as_many),
    "ChangeDetector, taught": Case(lambda: sm.ChangeDetector(reference=9, arl=50), losses, merges=False, check=as_many),
    "MultiLabel": Case(sm.MultiLabel, (tags, tags, weight), reverts=True),
    "Rolling": rolling(sm.ConfusionMatrix, labels_only),
    "Rolling, plain": rolling(sm.MetricSet, plain_labels),
    "Rolling of units": rolling(sm.MetricSet, labels_only, UNIT),
    "Rolling of scores": rolling(scored, soft),
    "Rolling of losses": rolling(sm.CrossEntropy, soft),
    "Rolling area": rolling(sm.ROCAUC, binary),
    "Rolling of groups": rolling(lambda: sm.ByGroup(sm.MetricSet()), labels_only, GROUP),
    "TimeWindow": window(sm.ConfusionMatrix, labels_only),
    "TimeWindow, plain": window(sm.MetricSet, plain_labels),
    "TimeWindow of units": window(sm.MetricSet, plain_labels, UNIT),
    "TimeWindow of scores": window(scored, soft),
    "TimeWindow of groups": window(lambda: sm.ByGroup(sm.MetricSet()), labels_only, GROUP),
    "TimeWindow, closing": Case(CLOSINGS.make, plain_labels, TIME, merges=False, check=CLOSINGS.check),
    "Fading by time": Case(lambda: sm.Fading(sm.MetricSet(), "1s"), labels_only, TIME),
    "Fading of scores": Case(lambda: sm.Fading(scored(), "20s"), soft, TIME),
    "Fading of areas": Case(lambda: sm.Fading(sm.ROCAUC(), 9), binary, merges=False, check=as_many),
    "Fading of groups": Case(lambda: sm.Fading(sm.ByGroup(sm.Accuracy()), "20s"), labels_only, GROUP | TIME),
    "Fading by count": Case(lambda: sm.Fading(sm.MetricSet(), 1000), labels_only, merges=False, check=as_many),
    "ByGroup": Case(lambda: sm.ByGroup(sm.MetricSet()), labels_only, GROUP, reverts=True),
    "ByGroup, plain": Case(lambda: sm.ByGroup(sm.MetricSet()), plain_labels, FEW_GROUPS, reverts=True),
    "ByGroup, folded": Case(lambda: sm.ByGroup(sm.ConfusionMatrix(), max_groups=3), labels_only, GROUP),
    "ByGroup of scores": Case(lambda: sm.ByGroup(scored()), soft, GROUP, reverts=True),
    "ByGroup of fading": Case(lambda: sm.ByGroup(sm.Fading(sm.Accuracy(), "20s")), labels_only, GROUP | TIME),
    "ByGroup of detectors": Case(
        lambda: sm.ByGroup(sm.ChangeDetector(0.3, of="accuracy")), plain_labels[:2], GROUP, merges=False, check=as_many
    ),
    "ByGroup of windows": Case(
        lambda: sm.ByGroup(sm.TimeWindow(sm.MetricSet(), "60s", 6, "60s")), labels_only, GROUP | TIME
    ),
    "ByGroup of rolling windows": Case(
        lambda: sm.ByGroup(sm.Rolling(sm.MetricSet(), 1000)), labels_only, GROUP, merges=False, check=as_many
    ),
}


def feed(into: Any, samples: list[Sample]) -> None:
    """Count samples one by one."""
    for arguments, more in samples:
        into.update(*arguments, **more)


def read(shared: Any) -> None:
    """Read everything there is: each reading is of one moment, and the bytes are those of some state."""
    data = shared.to_bytes()
    twin = sm.from_bytes(data)
    assert twin.to_bytes() == data
    counts = getattr(twin, "state", twin)
    if isinstance(counts, sm.ConfusionMatrix):
        assert counts.true_totals.sum() == counts.predicted_totals.sum() == counts.total
    elif isinstance(counts, sm.RankSketch):
        assert counts.weight == sum(counts.column(label).weight(1) for label in counts.labels)
    assert type(shared.copy()) is type(shared)
    snapshot = shared.snapshot()
    if isinstance(shared, sm.ConfusionMatrix | sm.MetricSet):
        assert snapshot.weight == snapshot.confusion_matrix.sum()
    repr(shared)
    assert min(shared.n, shared.abstained) >= 0
    for name in ("labels", "matrix", "groups", "total", "weight", "cells"):
        reading = getattr(shared, name, None)
        if callable(reading):
            reading()
    if isinstance(getattr(shared, "inner", shared), sm.Metric):
        shared.get()


def run(*tasks: Callable[[], Any]) -> None:
    """Run all tasks at once, and raise what one of them raised."""
    start = threading.Barrier(len(tasks))
    with ThreadPoolExecutor(len(tasks)) as pool:
        results = [pool.submit(lambda task=task: (start.wait(), task())) for task in tasks]
    for result in results:
        result.result()


def shared_by_threads(case: Case, seed: int) -> None:
    """Let threads share an object, and check what it holds in the end."""
    rng = random.Random(seed)
    streams = [[case.sample(rng) for _ in range(SAMPLES)] for _ in range(WRITERS)]
    undone = [[case.sample(rng) for _ in range(SAMPLES if case.reverts else 0)] for _ in range(WRITERS)]
    batch = [case.sample(rng) for _ in range(5)]
    shard = [case.sample(rng) for _ in range(5)] if case.merges else []
    shared, part = case.make(), case.make()
    feed(part, shard)

    def write(mine: list[Sample], back: list[Sample]) -> None:
        for at, (arguments, more) in enumerate(mine):
            if back:
                shared.update(*back[at][0], **back[at][1])
            shared.update(*arguments, **more)
            if back:
                shared.revert(*back[at][0], **back[at][1])

    def batches_and_merges() -> None:
        columns = [list(column) for column in zip(*(arguments for arguments, _ in batch), strict=True)]
        shared.update_many(*columns, **{name: [more[name] for _, more in batch] for name in case.named})
        if shard:
            shared.merge(part)
            part.copy().merge(shared)

    def readings() -> None:
        for _ in range(READINGS):
            read(shared)

    writers = [partial(write, mine, back) for mine, back in zip(streams, undone, strict=True)]
    run(*writers, batches_and_merges, readings)
    fed = [*(sample for stream in streams for sample in stream), *batch, *shard]
    if case.check is not None:
        case.check(shared, fed)
        return
    alone = case.make()
    feed(alone, fed)
    assert shared.to_bytes() == alone.to_bytes(), (shared, alone)


def merged_both_ways(seed: int) -> None:
    """Let `a.merge(b)` and `b.merge(a)` run side by side: each is whole, so the determinant of their counts stays 1."""
    make = (sm.ConfusionMatrix, sm.MetricSet, lambda: sm.ByGroup(sm.MetricSet()))[seed % 3]
    a, b = make(), make()
    more = {"group": "g"} if seed % 3 == 2 else {}
    a.update("a", "a", **more)
    b.update("b", "b", **more)

    def merges(into: Any, other: Any) -> None:
        for _ in range(8):
            into.merge(other)

    run(lambda: merges(a, b), lambda: merges(b, a), lambda: [read(each) for each in (a, b)])
    states = [getattr(x.state("g") if more else x, "state", x.state("g") if more else x) for x in (a, b)]
    (p, q), (r, s) = ([int(state.one_vs_rest(name).matrix[0, 0]) for name in "ab"] for state in states)
    assert p * s - q * r == 1, (p, q, r, s)


AGGREGATED = (
    "MetricSet", "Comparison of scores", "ByGroup", "TimeWindow of scores", "Fading by time", "RankSketch, coarse",
)  # fmt: skip


def aggregated(seed: int) -> None:
    """Let workers send states that others are feeding to one aggregate, in any order: the newest of each counts."""
    total, rng, case = sm.Aggregate(), random.Random(seed), CASES[AGGREGATED[seed % len(AGGREGATED)]]
    streams = [[case.sample(rng) for _ in range(SAMPLES)] for _ in range(WRITERS)]
    live = [case.make() for _ in streams]

    def work(number: int) -> None:
        sent = live[(number + 1) % WRITERS]
        for at, sample in enumerate(streams[number]):
            feed(live[number], [sample])
            total.put(f"worker {number}", sent if at % 2 else sent.to_bytes(), at)

    def readings() -> None:
        other = sm.Aggregate()
        for _ in range(READINGS):
            other.merge(total)
            total.merge(other)
            assert sm.from_bytes(total.to_bytes()).to_bytes()
            total.workers()
            repr(total)

    run(*(partial(work, number) for number in range(WRITERS)), readings)
    for number, state in enumerate(live):
        total.put(f"worker {number}", state, SAMPLES)
    assert total.total() == sm.merge(live)


CHECKS: dict[str, Callable[[int], None]] = {
    **{name: partial(shared_by_threads, case) for name, case in CASES.items()},
    "merged both ways": merged_both_ways,
    "Aggregate": aggregated,
}


def main() -> None:
    """Run the rounds of the command line; exit 1 if one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="the number of the first round")
    parser.add_argument("--only", choices=CHECKS, help="one case only")
    arguments = parser.parse_args()
    faulthandler.enable()
    sys.setswitchinterval(1e-6)
    failed, checks = 0, {name: check for name, check in CHECKS.items() if arguments.only in (None, name)}
    for seed in range(arguments.seed, arguments.seed + arguments.rounds):
        faulthandler.dump_traceback_later(60 * MINUTES, exit=True)
        for name, check in checks.items():
            try:
                check(seed)
            except BaseException:
                failed += 1
                print(f"--only {name!r} --seed {seed}", file=sys.stderr)
                traceback.print_exc()
    print(f"{arguments.rounds} rounds of {len(checks)} cases, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
