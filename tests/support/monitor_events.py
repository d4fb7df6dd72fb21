"""Events for the tests of the monitor: predictions, labels and both, with the faults that occur in production."""

from __future__ import annotations

import json
import random
from typing import Any

from stream_metrics.monitor.config import Config, CountingTable, JoinTable, StoreTable
from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.monitor import Monitor

START = 1_700_000_000.0
NOW = START + 10_000_000.0  # by the clock of all tests
CONFIG = Config(
    counting=CountingTable(scores=True, windows=("1h", "4h")),
    join=JoinTable(ttl="5m", keep_joined="2m", max_pending=40, in_memory=5),
    store=StoreTable(retention=("1m for 2m", "5m for 10m", "15m")),
)
CLASSES = ("cat", "dog", "fox")


def events(n: int, seed: int = 0) -> list[Any]:
    """Return events in the order in which they arrive: late, twice, corrected, without their other half, or broken."""
    chance = random.Random(seed)
    arriving: list[tuple[float, Any]] = []
    for at in range(n):
        time, key = START + at, at if at % 3 else f"id-{at}"
        weights = [chance.random() for _ in CLASSES]
        scores = {name: round(weight / sum(weights), 3) for name, weight in zip(CLASSES, weights, strict=True)}
        prediction = {"id": key, "time": time, "prediction": max(CLASSES, key=scores.__getitem__), "scores": scores}
        prediction |= {"group": chance.choice(["fr", "de"])} if chance.random() < 0.8 else {}
        label = {"id": key, "time": time, "truth": chance.choice(CLASSES)}
        kind = chance.random()
        if kind < 0.3:
            arriving.append((time, {**prediction, **label}))
            continue
        if kind < 0.95:
            arriving.append((time, prediction))
        if kind > 0.35:
            label["time"] = time + chance.expovariate(1 / 100)
            arriving.append((label["time"], label))
        if chance.random() < 0.08:
            again = label["time"] + chance.expovariate(1 / 30)
            arriving.append((again, {**label, "time": again, "truth": chance.choice(CLASSES)}))
        if chance.random() < 0.05:
            arriving.append((time + chance.expovariate(1 / 50), prediction))
        if chance.random() < 0.04:
            arriving.append((time, chance.choice([{"id": key}, {**label, "time": "soon"}, [], None, "{"])))
    waiting = [(START + 10 * n, {"id": f"late-{at}", "time": START + 10 * n, "prediction": "cat"}) for at in range(5)]
    waiting.append((START + 10 * n, {"id": "early", "time": START + 10 * n, "truth": "cat"}))
    return [event for _, event in sorted(arriving, key=lambda item: item[0]) + waiting]


def lines(stream: list[Any]) -> list[bytes]:
    """Return events as lines; text stands for itself."""
    return [(event if isinstance(event, str) else json.dumps(event)).encode() for event in stream]


def records(stream: list[Any], partition: int = 0, topic: str = "t") -> list[Record]:
    """Return events as records."""
    return [Record(topic, partition, at, at + 1, None, None, line) for at, line in enumerate(lines(stream))]


def offline(batch: list[Record], config: Config = CONFIG, at_once: int = 777) -> Monitor:
    """Return a monitor without a store that has read records."""
    monitor = Monitor(config, clock=lambda: NOW)
    monitor.assign({record.partition for record in batch})
    for start in range(0, len(batch), at_once):
        monitor.step(batch[start : start + at_once])
    return monitor


def stored_panes(monitor: Monitor) -> list[Any]:
    """Return what a monitor has counted by time, after a checkpoint."""
    monitor.checkpoint()
    with monitor.panes.all_panes() as panes:
        about = panes.archives()
        rows = [(name, *row) for name in panes.names() for row in panes.extents(name, -(2**62), 2**62)]
        return [about, sorted(rows), [list(panes.bodies(name, -(2**62), 2**62)) for name in panes.names()]]


def counted(monitor: Monitor) -> tuple[dict[str, bytes], Any, Any]:
    """Return all that must not depend on batches, checkpoints and restarts."""
    return monitor.counts().parts(), monitor.stats(), monitor.view().records.rejected
