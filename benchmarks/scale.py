"""What do a sample, a state on the wire and a merge cost for groups of ten classes, with and without scores?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import streams
from timing import Line, best

import stream_metrics as sm

CLASSES, GROUPS, SAMPLES = 10, 1_000, 100_000


def lines() -> Iterator[Line]:
    """Yield what is measured; the plan in the README is made of these numbers."""
    for what, scored, a_sample, to_read in (("labels", False, 150, 25), ("scores", True, 1000, None)):
        workers = [worker(number, scored) for number in range(2)]
        sent = workers[0].to_bytes()
        twin = workers[1].copy()
        assert sm.merge(workers).n == 2 * SAMPLES
        ns = best(
            {
                "write": workers[0].to_bytes,
                "read": lambda sent=sent: sm.from_bytes(sent),  # type: ignore[misc]
                "merge": lambda twin=twin, other=workers[0]: twin.merge(other),  # type: ignore[misc]
            },
            3,
        )
        samples = batch(7, scored)
        fresh = sm.ByGroup(sm.MetricSet(scores=scored))
        counted = best({"batch": lambda fresh=fresh, samples=samples: feed(fresh, samples)}, 3)["batch"]  # type: ignore[misc]
        yield Line(f"batch of 10^5 samples with {what}, 1000 groups", counted / SAMPLES, "ns a sample", target=a_sample)
        yield Line(f"bytes of a state with {what}", len(sent) / GROUPS, "bytes a group")
        yield Line(f"write a state with {what}", ns["write"] / GROUPS / 1e3, "us a group")
        yield Line(f"read a state with {what}", ns["read"] / GROUPS / 1e3, "us a group", target=to_read)
        yield Line(f"merge a state with {what}", ns["merge"] / GROUPS / 1e3, "us a group")


def batch(seed: int, scored: bool) -> dict[str, Any]:
    """Return samples of all groups, each as often as any other."""
    draw = np.random.default_rng(seed)
    names = np.array(streams.names(CLASSES))
    truth = draw.integers(0, CLASSES, SAMPLES)
    columns = {"y_true": sm.Categorical(truth, names), "group": draw.integers(0, GROUPS, SAMPLES)}
    if scored:
        table = draw.gamma(0.3, size=(SAMPLES, CLASSES)) + 2.0 * np.eye(CLASSES)[truth]
        return {**columns, "scores": table / table.sum(axis=1, keepdims=True), "classes": names.tolist()}
    predicted = np.where(draw.random(SAMPLES) < 0.8, truth, draw.integers(0, CLASSES, SAMPLES))
    return {**columns, "y_pred": sm.Categorical(predicted, names)}


def feed(state: sm.ByGroup, samples: dict[str, Any]) -> None:
    """Count a batch."""
    state.update_many(**samples)


def worker(seed: int, scored: bool) -> sm.ByGroup:
    """Return what one worker has counted."""
    state = sm.ByGroup(sm.MetricSet(scores=scored))
    feed(state, batch(seed, scored))
    return state
