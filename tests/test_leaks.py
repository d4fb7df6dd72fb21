"""Memory: repeated use, with errors too, does not grow it."""

from __future__ import annotations

import os
import subprocess
import sys
from textwrap import indent

import pytest

PROGRAM = """
import gc, sys, tracemalloc, zlib
import numpy as np
import stream_metrics as sm

def refused(call, *arguments):
    try:
        call(*arguments)
    except (ValueError, sm.DecodeError):
        pass

def damaged(data, i):
    body = bytearray(data[9:])
    body[i % len(body)] ^= 1 + i % 255
    return data[:5] + zlib.crc32(body).to_bytes(4, "little") + body

rng = np.random.default_rng(0)
{before}
def task(n):
    for i in range(n):
{repeated}

times, rounds = {times}, 4
task(times // 4)  # warm up
gc.collect()
tracemalloc.start()
task(times // 10)
memory, blocks = tracemalloc.get_traced_memory()[0], sys.getallocatedblocks()
for _ in range(rounds):
    task(times // rounds)
gc.collect()
print(tracemalloc.get_traced_memory()[0] - memory, sys.getallocatedblocks() - blocks)
"""
LABELS = "state.update_many([1, True, 'a', (1, 'x')], [1.0, 'b', 2**70, b'c'], [1, 2, 0.5, 3])"
# how often, what is done once, and what is repeated with a number `i`
TASKS: dict[str, tuple[int, str, str]] = {
    "fresh labels that leave": (6_000, "state, ranks = sm.ConfusionMatrix(), sm.RankSketch()", """
state.update(("label", i), float(i))
state.revert(("label", i), float(i))
sample = ("label", i), {("label", i): i + 0.5, i: 0.25}, 1 + i % 2 / 2
ranks.update(*sample)
ranks.revert(*sample)
"""),
    "states made and dropped": (2_400, "", """
state = sm.ConfusionMatrix(labels=["a", "b"], other="c")
state.update("a", "x", 0.5)
state.copy().merge(state)
sm.MCC().update(i, "b")
"""),
    "sparse states": (12, "columns = np.arange(1500), np.arange(1500)[::-1], np.full(1500, 0.5)", """
state = sm.ConfusionMatrix()
state.update_many(*columns)
state.copy().merge(state).subtract(state).reset()
"""),
    "bytes, damaged ones too": (
        2_000, f"state = sm.MetricSet(['accuracy'])\n{LABELS}\ndata = state.to_bytes()", """
sm.from_bytes(data).to_bytes()
refused(sm.from_bytes, damaged(data, i))
"""),
    "refused samples": (2_400, "state = sm.ConfusionMatrix()\nstate.update('a', 'b')", """
for bad in ((float("nan"), "a", 1), ("new" + str(i), [i], 1), ("new" + str(i), "a", -1), ("a", {"a": "x"}, 1)):
    refused(state.update, *bad)
refused(state.revert, "never" + str(i), "a")
"""),
    "batches": (480, """
state = sm.ConfusionMatrix()
text = [str(i % 9) for i in range(500)]
columns = [rng.integers(0, 50, 500), text, np.array(["x", "yy"] * 250), rng.random(500).round()]
""", """
state.update_many(columns[i % 4], columns[(i + 1) % 4], [1, 0.5] * 250 if i % 3 else None)
refused(state.update_many, columns[1][:-1] + [None], columns[1])
"""),
    "rank sketches sample by sample": (30_000, "state = sm.RankSketch(64, 16)", """
scores = {"label " + str(j): (i * 7919 + j) % 1009 / 1009 for j in range(3)}
state.update("label " + str(i % 5), scores, 1 + i % 3 / 2)
state.update(i % 2 == 0, i % 1009 / 1009)
"""),
    "rank sketches made, merged, read and written": (
        200, "truth, table, weights = rng.integers(0, 3, 400), rng.normal(size=(400, 3)), rng.random(400)", """
state, some = sm.RankSketch(32, 8, pairs=bool(i % 2)), slice(5 + i * 7 % 400)
state.update_many(truth[some], table[some], weights[some] if i % 3 else None, classes=range(3))
state.copy().merge(state).snapshot().to_dict()
sm.RankSketch.from_bytes(state.to_bytes()).reset()
"""),
    "rank sketches that refuse": (1_600, """
state = sm.RankSketch(32, 8)
state.update_many(rng.random(300) < 0.5, rng.normal(size=300), rng.random(300))
data = state.to_bytes()
""", """
for bad in (("new" + str(i), float("nan")), ("new" + str(i), {"a": 0.5, "b" + str(i): "x"}), (True, 0.5, -1)):
    refused(state.update, *bad)
refused(state.update_many, ["x" + str(i), None], [0.5, 0.25])
refused(sm.RankSketch.from_bytes, damaged(data, i))
"""),
    "windows": (500, "", """
rolling, hard = sm.Rolling((sm.MCC, sm.ROCAUC, sm.CrossEntropy)[i % 3](), 4), i % 3 == 0
for k in range(9):
    rolling.update(k % 2 == 0, k % 3 == 0 if hard else {True: 0.5, False: k / 9 + i / 10**6}, 1.5 if k == 5 else 1)
for bad in ((None, True), (True, float("nan")), (True, True, -1)):
    refused(rolling.update, *bad)
rolling.copy().update_many([True, False], [True, False] if hard else [0.5, 0.25])
sm.from_bytes(rolling.to_bytes()).reset()
"""),
    "comparisons, detectors, groups and panes": (40, "a, b, c = (rng.integers(0, 4, 60) for _ in range(3))", """
state, detector = sm.Comparison(), sm.ChangeDetector(reference=5, of="accuracy")
state.update_many(a[i % 9:], b[i % 9:], c[i % 9:], unit=c[i % 9:])
detector.update_many(a, b)
groups = sm.ByGroup((sm.TimeWindow(sm.MetricSet(), "1m", 4), sm.Fading(sm.F1(pos_label=1), "9s"))[i % 2], 3)
groups.update_many(a, b, t=i + a, group=c)
for one in (state, detector, groups):
    sm.from_bytes(one.copy().to_bytes()).snapshot().to_dict()
state.copy().merge(state).reset()
"""),
    "losses": (600, """
state, three = sm.ProbabilityLosses(), sm.ProbabilityLosses(classes=["a", "b", "c"])
table, truth = np.full((50, 3), 0.25), ["a", "b"] * 25
""", """
state.update("label " + str(i), {"label " + str(i): 0.5, "other": 0.25}, 1.5 if i % 2 else 1)
state.update(i % 2 == 0, i % 100 / 100)
three.update_many(truth, table, [0.5, 1] * 25 if i % 3 else None)
sm.from_bytes(three.copy().merge(three).to_bytes()).snapshot().to_dict()
for bad in (("new" + str(i), 0.5), (True, float("nan")), (True, {"a": 2.0}), (True, 0.5, -1)):
    refused(state.update, *bad)
refused(three.update_many, truth, -table)
"""),
}  # fmt: skip


LONG = {"comparisons, detectors, groups and panes", "rank sketches made, merged, read and written", "losses", "windows"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly if name in LONG else ()) for name in TASKS]
)
def test_memory_does_not_grow(name: str) -> None:
    """After a warm-up, thousands of repetitions leave neither bytes nor objects behind."""
    times, before, repeated = TASKS[name]
    code = PROGRAM.replace("{before}", before).replace("{repeated}", indent(repeated, " " * 8))
    command = [sys.executable, "-c", code.replace("{times}", str(times))]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    result = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    grown, blocks = map(int, result.stdout.split())

    assert grown < 30_000
    assert blocks < 500
