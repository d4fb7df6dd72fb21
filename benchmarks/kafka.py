"""How much of what the Kafka client can consume and decode does the monitor count, end to end?

The client alone hands over messages, ten thousand at once, and each is decoded by the decoder of the monitor (msgspec
where it is installed), nothing else. The monitor joins, counts, keeps windows, and writes checkpoints, with the default
configuration and scores of three classes. Both are timed from the first record to the last, in turns, and the best of
each counts, by the clock on the wall, so on a machine with nothing else to do. The consumer has one processor and the
broker another, where there are two.

The client has its default settings. It then stops fetching for a second whenever 100,000 messages wait, and decodes
them in a fifth of that. Two limits without this wait are among the figures: the client with the shorter pause that the
monitor sets, and the rates by the processor time of this process, the threads of the client included.

The broker is librdkafka's mock, in a process of its own. It keeps 5 MiB of each partition, so the events are spread
over eight, without compression. Half of the events are a prediction with its label, a quarter each a prediction and its
label that comes later. Needs confluent-kafka, and the tests beside it.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, NamedTuple

from timing import Line

from stream_metrics.monitor.sources.kafka_options import PREFETCH

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

PARTITIONS = 8
EVENTS = 36_000 * PARTITIONS
ROUNDS = 5
RATE = 10_000.0  # events a second, by their own time, as in monitor.py
CLASSES = ("cat", "dog", "fox")
TOPIC = "events"


class Took(NamedTuple):
    """Seconds: of the processor, and on the wall."""

    processor: float
    wall: float


def lines() -> Iterator[Line]:
    """Yield what is measured."""
    from support.kafka_mock import Cluster

    processors = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, processors[-1:])
    cluster = Cluster({TOPIC: PARTITIONS})
    os.sched_setaffinity(0, processors[:1])
    try:
        sizes = fill(cluster.servers)
        yield from measured(cluster.servers, sizes)
    finally:
        cluster.close()
        os.sched_setaffinity(0, processors)


def fill(servers: str) -> int:
    """Write the events, and return their bytes."""
    from confluent_kafka import Producer

    chance, now, total = random.Random(0), time.time() - EVENTS / RATE, 0
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 50, "queue.buffering.max.messages": 2 * EVENTS})
    for at in range(EVENTS):
        weights = [chance.random() for _ in CLASSES]
        scores = {name: round(weight / sum(weights), 4) for name, weight in zip(CLASSES, weights, strict=True)}
        key = at // 4 if at % 4 < 2 else at
        event: dict[str, Any] = {"id": f"{key}-{at % 4 > 1}", "time": round(now + at / RATE, 4)}
        if at % 4 != 1:
            event |= {"y_pred": max(CLASSES, key=scores.__getitem__), "scores": scores}
        if at % 4 != 0:
            event["y_true"] = chance.choice(CLASSES)
        value = json.dumps(event).encode()
        total += len(value)
        producer.produce(TOPIC, value, partition=at // 4 % PARTITIONS)
        producer.poll(0)
    assert producer.flush(60) == 0
    return total


def measured(servers: str, size: int) -> Iterator[Line]:
    """Let client and monitor take turns."""
    best: dict[str, Took] = {}
    runs: dict[str, Callable[[str, str], Took]] = {
        "client": client,
        "client that fetches ahead": partial(client, options=PREFETCH),
        "monitor": run_monitor,
    }
    for turn in range(ROUNDS):
        for name, run in runs.items():
            took = run(servers, f"{name} {turn}")
            best[name] = Took(*map(min, took, best.get(name, took)))
    rates = {name: EVENTS / took.processor for name, took in best.items()}
    walls = {name: EVENTS / took.wall for name, took in best.items()}
    figures = (
        f"{walls['monitor'] / 1000:.0f} / {walls['client'] / 1000:.0f} thousand events of {size // EVENTS} bytes a "
        f"second, {walls['client that fetches ahead'] / 1000:.0f} if the client pauses as the monitor has it; "
        f"of the processor {rates['monitor'] / 1000:.0f} / {rates['client'] / 1000:.0f}"
    )
    share = 100 * walls["monitor"] / walls["client"]
    yield Line("events that the monitor counts / that the client consumes and decodes", share, "%", 60, True, figures)


def client(servers: str, group: str, options: Mapping[str, object] = MappingProxyType({})) -> Took:
    """Consume and decode everything with the client alone."""
    from confluent_kafka import Consumer

    from stream_metrics.monitor.events.decoding import loads

    told = {"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest"}
    consumer = Consumer({**told, "enable.auto.commit": False, **options})
    consumer.subscribe([TOPIC])
    messages = consumer.consume(1, 10)
    start, seen = begun(), 0
    while seen < EVENTS:
        for message in messages:
            if message.error() is None:
                loads(message.value())
                seen += 1
        messages = consumer.consume(10_000, 0.01)
    took = since(start)
    consumer.close()
    return took


def run_monitor(servers: str, group: str) -> Took:
    """Count everything, with checkpoints."""
    from stream_metrics.monitor import config
    from stream_metrics.monitor.monitor import Monitor
    from stream_metrics.monitor.sources.kafka import KafkaSource
    from stream_metrics.monitor.store import Store
    from stream_metrics.process_memory import collecting_rarely

    told = config.Config(counting=config.CountingTable(scores=True))
    with TemporaryDirectory() as folder, collecting_rarely():
        monitor = Monitor(told, Store(f"{folder}/state"))
        source = KafkaSource(config.SourceTable(kind="kafka", servers=servers, group=group, predictions=TOPIC))
        source.start(monitor)
        records = source.poll(10)
        start, seen = begun(), 0
        while seen < EVENTS:
            monitor.step(records)
            seen += len(records)
            records = source.poll(0.01)
        took = since(start)
        joined = monitor.stats().joined
        source.close()
        monitor.close()
    assert joined == 3 * EVENTS // 4, joined
    return took


def begun() -> Took:
    """Return the time."""
    return Took(time.process_time(), time.monotonic())


def since(start: Took) -> Took:
    """Return the time from `start` on."""
    return Took(time.process_time() - start.processor, time.monotonic() - start.wall)


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        for line in lines():
            print(" | ".join(line.cells()))
