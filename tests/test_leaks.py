"""Memory: repeated use, with errors too, does not grow it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PREAMBLE = """
import gc, resource, sys, tracemalloc
import numpy as np
import stream_metrics as sm
from stream_metrics.states.ranks import RankSketch

def grown(task, times, rounds=4):
    task(times // 4)  # warm up
    gc.collect()
    tracemalloc.start()
    task(times // 10)
    before = tracemalloc.get_traced_memory()[0]
    blocks = sys.getallocatedblocks()
    for _ in range(rounds):
        task(times // rounds)
    gc.collect()
    return tracemalloc.get_traced_memory()[0] - before, sys.getallocatedblocks() - blocks
"""

TASKS = {
    "fresh strings": """
state = sm.ConfusionMatrix()
def task(n):
    for i in range(n):
        state.update("label " + str(i % 10), "label " + str(i % 7), 1.5 if i % 2 else 1)
print(*grown(task, 100_000))
""",
    "fresh labels that leave": """
state = sm.ConfusionMatrix()
def task(n):
    for i in range(n):
        state.update(("label", i), float(i))
        state.revert(("label", i), float(i))
print(*grown(task, 16_000))
""",
    "states made and dropped": """
def task(n):
    for i in range(n):
        state = sm.ConfusionMatrix(labels=["a", "b"], other="c")
        state.update("a", "x", 0.5)
        twin = state.copy().merge(state)
        sm.MCC().update(i, "b")
print(*grown(task, 2_400))
""",
    "sparse states": """
columns = np.arange(1500), np.arange(1500)[::-1]
def task(n):
    for i in range(n):
        state = sm.ConfusionMatrix()
        state.update_many(*columns, np.full(1500, 0.5))
        state.copy().merge(state).subtract(state).reset()
print(*grown(task, 24))
""",
    "bytes": """
state = sm.MetricSet(["accuracy"])
state.update_many([1, True, "a", (1, "x")], [1.0, "b", 2**70, b"c"], [1, 2, 0.5, 3])
data = state.to_bytes()
def task(n):
    for i in range(n):
        sm.from_bytes(data).to_bytes()
print(*grown(task, 2_400))
""",
    "damaged bytes": """
import zlib
state = sm.ConfusionMatrix()
state.update_many([1, True, "a", (1, "x")], [1.0, "b", 2**70, b"c"], [1, 2, 0.5, 3])
data = state.to_bytes()
def task(n):
    for i in range(n):
        bad = bytearray(data[9:])
        bad[i % len(bad)] ^= 1 + i % 255
        bad = data[:5] + zlib.crc32(bad).to_bytes(4, "little") + bad
        try:
            sm.from_bytes(bad)
        except sm.DecodeError:
            pass
print(*grown(task, 6_000))
""",
    "refused samples": """
state = sm.ConfusionMatrix()
state.update("a", "b")
def task(n):
    for i in range(n):
        for bad in ((float("nan"), "a", 1), ("new" + str(i), [i], 1), ("new" + str(i), "a", -1), ("a", {"a": "x"}, 1)):
            try:
                state.update(*bad)
            except ValueError:
                pass
        try:
            state.revert("never" + str(i), "a")
        except ValueError:
            pass
print(*grown(task, 2_400))
""",
    "batches": """
state = sm.ConfusionMatrix()
rng = np.random.default_rng(0)
text = [str(i % 9) for i in range(500)]
columns = [rng.integers(0, 50, 500), text, np.array(["x", "yy"] * 250), rng.random(500).round()]
def task(n):
    for i in range(n):
        state.update_many(columns[i % 4], columns[(i + 1) % 4], [1, 0.5] * 250 if i % 3 else None)
        try:
            state.update_many(columns[1][:-1] + [None], columns[1])
        except ValueError:
            pass
print(*grown(task, 480))
""",
    "snapshots": """
state = sm.MetricSet()
state.update_many([1, 2, 3, "a"] * 5, [1, 3, 3, "b"] * 5)
def task(n):
    for i in range(n):
        state.update(i % 5, 1)
        snapshot = state.snapshot()
        snapshot["accuracy"], snapshot.per_class["recall"][1], snapshot.confusion_matrix
        state.state.one_vs_rest(1).ratios((1, 0, 0, 0), (0, 1, 0, 0))
print(*grown(task, 480))
""",
    "rank sketches sample by sample": """
state = RankSketch(64, 16)
def task(n):
    for i in range(n):
        scores = {"label " + str(j): (i * 7919 + j) % 1009 / 1009 for j in range(3)}
        state.update("label " + str(i % 5), scores, 1 + i % 3 / 2)
        state.update(i % 2 == 0, i % 1009 / 1009)
print(*grown(task, 30_000))
""",
    "rank sketches of labels that leave": """
state = RankSketch()
def task(n):
    for i in range(n):
        sample = ("label", i), {("label", i): i + 0.5, i: 0.25}, 1 + i % 2 / 2
        state.update(*sample)
        state.revert(*sample)
print(*grown(task, 16_000))
""",
    "rank sketches made, merged, read and written": """
rng = np.random.default_rng(0)
truth, table = rng.integers(0, 3, 400), rng.normal(size=(400, 3))
weights = rng.random(400)
def task(n):
    for i in range(n):
        state = RankSketch(32, 8, pairs=bool(i % 2))
        some = slice(5 + i * 7 % 400)
        state.update_many(truth[some], table[some], weights[some] if i % 3 else None, classes=range(3))
        state.copy().merge(state).column(1)
        RankSketch.from_bytes(state.to_bytes()).reset()
print(*grown(task, 320))
""",
    "rank sketches that refuse": """
import zlib
state = RankSketch(32, 8)
rng = np.random.default_rng(0)
state.update_many(rng.random(300) < 0.5, rng.normal(size=300), rng.random(300))
data = state.to_bytes()
def task(n):
    for i in range(n):
        for bad in (("new" + str(i), float("nan")), ("new" + str(i), {"a": 0.5, "b" + str(i): "x"}), (True, 0.5, -1)):
            try:
                state.update(*bad)
            except ValueError:
                pass
        bad = bytearray(data[9:])
        bad[i % len(bad)] ^= 1 + i % 255
        try:
            state.update_many(["x" + str(i), None], [0.5, 0.25])
        except ValueError:
            pass
        try:
            RankSketch.from_bytes(data[:5] + zlib.crc32(bad).to_bytes(4, "little") + bad)
        except sm.DecodeError:
            pass
print(*grown(task, 1_600))
""",
    "losses": """
state, three = sm.ProbabilityLosses(), sm.ProbabilityLosses(classes=["a", "b", "c"])
table, truth = np.full((50, 3), 0.25), ["a", "b"] * 25
def task(n):
    for i in range(n):
        state.update("label " + str(i), {"label " + str(i): 0.5, "other": 0.25}, 1.5 if i % 2 else 1)
        state.update(i % 2 == 0, i % 100 / 100)
        three.update_many(truth, table, [0.5, 1] * 25 if i % 3 else None)
        sm.from_bytes(three.copy().merge(three).to_bytes()).snapshot().to_dict()
        for bad in (("new" + str(i), 0.5), (True, float("nan")), (True, {"a": 2.0}), (True, 0.5, -1)):
            try:
                state.update(*bad)
            except ValueError:
                pass
        try:
            three.update_many(truth, -table)
        except ValueError:
            pass
print(*grown(task, 600))
""",
}


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_memory_does_not_grow(task: str) -> None:
    """After a warm-up, thousands of repetitions leave neither bytes nor objects behind."""
    result = subprocess.run(
        [sys.executable, "-c", PREAMBLE + task],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )
    grown, blocks = map(int, result.stdout.split())

    assert grown < 30_000
    assert blocks < 500
