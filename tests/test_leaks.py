"""Memory: what is used again and again does not grow, also where it fails."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PREAMBLE = """
import gc, resource, sys, tracemalloc
import numpy as np
import stream_metrics as sm

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
        state.update(("label", i), i + 0.5)
        state.revert(("label", i), i + 0.5)
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
columns = [rng.integers(0, 50, 500), text, np.array(["x", "yy"] * 250), rng.random(500).round(1)]
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
