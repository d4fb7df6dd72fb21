"""Topics filled with events, and what a monitor must have counted of them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import structs

from stream_metrics.monitor import Config, Monitor, Record, config, make_source, open_store
from support.command_line import run_command, until
from support.inner_monitor import SourceError
from support.monitor_events import CONFIG, NOW, START, counted, events, offline, records
from support.refusals import refused

KIP_848 = {"group.protocol": "consumer"}
KEPT = structs.replace(CONFIG, store=config.StoreTable(every_events=100))
# Of two topics: the order of their records is left to chance, so each clock is trusted, which no order changes.
JOINED = structs.replace(KEPT, join=config.JoinTable(votes=1))


def placed(record: Record, **other: Any) -> Record:
    """Return a record with other values in some of its fields."""
    return Record(**{name: other.get(name, getattr(record, name)) for name in Record._fields})


def messy(n: int, partitions: int, topic: str = "t") -> list[Record]:
    """Return the records of a topic in which everything goes wrong that can."""
    topic_records = [record for part in range(partitions) for record in records(events(n, seed=part), part, topic)]
    return [placed(record, timestamp=NOW) for record in topic_records]


def halves(n: int, partitions: int) -> list[Record]:
    """Return the records of the topics p and l: predictions and their labels, of the same partition, in any order."""
    chance, topic_records = random.Random(1), []
    for part in range(partitions):
        ids = [f"{part}-{at}" for at in range(n)]
        first = [{"id": key, "time": START + at, "prediction": chance.choice("abc")} for at, key in enumerate(ids)]
        second = [{"id": key, "time": START + at, "truth": chance.choice("abc")} for at, key in enumerate(ids)]
        chance.shuffle(second)
        topic_records += records(first, part, "p") + records(second[: n - 3], part, "l")
    return [placed(record, timestamp=NOW) for record in topic_records]


def produce(servers: str, topic_records: Iterable[Record], **options: Any) -> None:
    """Write records to their partitions; their offsets must be those that follow what is there."""
    from confluent_kafka import Producer

    wrong: list[Any] = []

    def written(expected: int) -> Callable[[Any, Any], None]:
        return lambda error, message: None if error is None and message.offset() == expected else wrong.append(message)

    producer = Producer({"bootstrap.servers": servers, "linger.ms": 5, **options})
    for record in topic_records:
        place = record.topic, record.value, record.key, record.partition
        producer.produce(*place, timestamp=int((record.timestamp or NOW) * 1000), on_delivery=written(record.offset))
        producer.poll(0)

    assert producer.flush(10) == 0
    assert wrong == []


def ends(topic_records: Iterable[Record]) -> dict[tuple[str, int], int]:
    """Return the offset after the last record of each topic and partition."""
    return {(record.topic, record.partition): record.next for record in topic_records}


def reached(state: str) -> dict[tuple[str, int], int]:
    """Return the next offsets that are stored."""
    inspected = run_command("monitor", "inspect", state, "--format", "json")
    if inspected.status:  # a worker is about to write it
        return {}
    rows = json.loads(inspected.out)["partitions"]
    return {(topic, row["partition"]): at for row in rows for topic, at in row["next"].items()}


def check(state: str, topic_records: list[Record], told: Config = KEPT) -> None:
    """All that is stored is what one pass over the records gives, byte for byte."""
    monitor = Monitor(told, open_store(state), lambda: NOW)
    reached_ends = monitor.assign({record.partition for record in topic_records})
    stored = counted(monitor)
    monitor.close()

    assert reached_ends == ends(topic_records)
    assert stored == counted(offline(topic_records, told))


@contextmanager
def reading(state: str, told: Config = KEPT, shared: bool = False, **source: Any) -> Iterator[tuple[Monitor, Any]]:
    """A monitor and its source, which are closed in the end."""
    options = {"group": source["predictions"], "options": KIP_848} | source
    kafka_source: Any = make_source(config.SourceTable(kind="kafka", **options))
    monitor = Monitor(told, open_store(state, shared), lambda: NOW)
    try:
        kafka_source.start(monitor)
        yield monitor, kafka_source
    finally:
        kafka_source.close()
        monitor.close()


def ends_with(state: str, **source: Any) -> str:
    """Return why a source ends, at the start or while it reads."""

    def run() -> None:
        with reading(state, **source) as (monitor, reader):
            read(monitor, reader, lambda: False)

    return str(refused(run, SourceError))


def read(monitor: Monitor, source: Any, wanted: Callable[[], Any]) -> Any:
    """Read until something is true, and return it."""

    def step() -> Any:
        monitor.step(source.poll(0.05))
        return wanted()

    return until(step, 120)


def at(monitor: Monitor) -> dict[tuple[str, int], int]:
    """Return the next offsets, of logs that are not empty."""
    return {place: offset for place, offset in monitor.assign(monitor.partitions).items() if offset}


def renamed(topic_records: list[Record], topic: str) -> list[Record]:
    """Return records of another topic."""
    return [placed(record, topic=topic) for record in topic_records]
