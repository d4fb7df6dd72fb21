"""A real Kafka: transactions, records that are deleted, compacted logs, topics that grow, a broker that fails."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

confluent_kafka = pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")

from support.command_line import until  # noqa: E402
from support.inner_monitor import SourceError  # noqa: E402
from support.kafka_broker import Broker  # noqa: E402
from support.kafka_topics import (  # noqa: E402
    KEPT,
    at,
    check,
    ends,
    ends_with,
    messy,
    placed,
    produce,
    reached,
    read,
    reading,
    renamed,
)
from support.kafka_worker import Workers  # noqa: E402
from support.monitor_events import NOW, counted, offline  # noqa: E402
from support.refusals import refused  # noqa: E402
from support.stores import execute, monitoring  # noqa: E402

from stream_metrics.monitor import Record  # noqa: E402

MESSY = messy(300, 3)
ONE = [record for record in MESSY if record.partition == 0][:300]
ROLLING = {"segment.bytes": "1048576", "segment.ms": "100"}


def transaction(broker: Broker, topic: str, values: list[bytes | None], commit: bool, name: str = "a") -> None:
    """Write records in a transaction, and commit or abort it."""
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.servers, "transactional.id": topic + name})
    producer.init_transactions(30)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, partition=0, timestamp=int(NOW * 1000))
    producer.flush(30)
    (producer.commit_transaction if commit else producer.abort_transaction)(30)


def log_of(broker: Broker, topic: str) -> list[Record]:
    """Return what a plain consumer reads of a topic."""
    client = confluent_kafka.Consumer(
        {"bootstrap.servers": broker.servers, "group.id": "log", "enable.partition.eof": True}
    )
    numbers = client.list_topics(topic, timeout=60).topics[topic].partitions
    client.assign([confluent_kafka.TopicPartition(topic, n, confluent_kafka.OFFSET_BEGINNING) for n in numbers])
    left, records = set(numbers), []
    while left:
        for message in client.consume(1000, 1):
            if message.error() is not None:
                left.discard(message.partition())
            else:
                place = message.partition(), message.offset(), message.offset() + 1, NOW
                records.append(Record(topic, *place, message.key(), message.value()))
    client.close()
    return records


def test_transactions(broker: Broker, topic: str, state: str) -> None:
    """Aborted records do not count, open ones not yet; in the end no lag is left, though the log ends in a marker."""
    values = [record.value for record in ONE]
    transaction(broker, topic, values[:100], True)
    transaction(broker, topic, [b'{"id": "aborted", "prediction": "cat", "truth": "dog", "time": 1}'] * 50, False)
    transaction(broker, topic, values[100:200], True)
    source = {"servers": broker.servers, "predictions": topic}
    with reading(state, **source) as (monitor, reader):
        read(monitor, reader, lambda: (reader.lag() or {1: 1}).keys() == {(topic, n) for n in range(3)})
        read(monitor, reader, lambda: not sum(reader.lag().values()))
        first = at(monitor)
        open_one = confluent_kafka.Producer({"bootstrap.servers": broker.servers, "transactional.id": topic})
        open_one.init_transactions(30)
        open_one.begin_transaction()
        for value in values[200:]:
            open_one.produce(topic, value, partition=0, timestamp=int(NOW * 1000))
        open_one.flush(30)
        for _ in range(10):
            monitor.step(reader.poll(0.1))
        meanwhile = monitor.view().records.read
        open_one.commit_transaction(30)
        read(monitor, reader, lambda: monitor.view().records.read == 300)
        read(monitor, reader, lambda: not sum(reader.lag().values()))

    assert first[topic, 0] == 253
    assert meanwhile == 200
    stored = log_of(broker, topic)
    assert [record.value for record in stored] == values
    recount(state, stored)


def recount(state: str, log: list[Record]) -> None:
    """What is stored is what one pass over the records of a log counts."""
    with monitoring(state, KEPT, {record.partition for record in log}) as monitor:
        assert counted(monitor) == counted(offline(log, KEPT))


def test_a_marker_that_is_deleted_is_no_record(broker: Broker, topic: str, state: str) -> None:
    """All was read when everything was deleted, the marker of the last transaction too: nothing is missing."""
    transaction(broker, topic, [record.value for record in ONE], True)
    source = {"servers": broker.servers, "predictions": topic}
    with reading(state, **source) as (monitor, reader):
        read(monitor, reader, lambda: reader.lag() and not sum(reader.lag().values()))
    broker.delete(topic, 0, 301)
    for truncated in ("fail", "reset"):
        with reading(state, **source, truncated=truncated) as (monitor, reader):
            read(monitor, reader, lambda: reader.lag() and not sum(reader.lag().values()))
            for _ in range(5):
                monitor.step(reader.poll(0.1))
            assert not monitor.view().incomplete


def test_compaction(broker: Broker, topic: str, state: str) -> None:
    """What a compacted log has left is counted once, tombstones are no events, and offsets that are gone no loss."""
    name = topic + ".c"
    broker.create(name, 1, ROLLING | {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"})
    stream = [placed(record, topic=name, key=b"%d" % (record.offset % 40)) for record in ONE]
    stream[200:] = [placed(record, timestamp=NOW + 1) for record in stream[200:]]
    stream[205::7] = [placed(record, value=None) for record in stream[205::7]]
    produce(broker.servers, stream[:200])
    source = {"servers": broker.servers, "predictions": name}
    with reading(state, **source) as (monitor, reader):
        read(monitor, reader, lambda: at(monitor) == {(name, 0): 200})
    produce(broker.servers, stream[200:])
    produce(broker.servers, [placed(ONE[0], topic=name, key=b"last", offset=300, next=301, timestamp=NOW + 2)])
    log = until(lambda: (left := log_of(broker, name))[0].offset >= 260 and left)
    with reading(state, **source) as (monitor, reader):
        read(monitor, reader, lambda: at(monitor) == {(name, 0): 301})
        incomplete = monitor.view().incomplete

    assert len(log) == 41
    assert not incomplete
    recount(state, stream[:200] + log)


@pytest.mark.parametrize("where", ["earliest", "latest"])
def test_a_topic_gets_more_partitions(broker: Broker, topic: str, state: str, where: str) -> None:
    """Also what was written to them before the monitor knew of them is counted."""
    stream = renamed(messy(100, 5), topic)
    old, new = ([record for record in stream if (record.partition >= 3) == later] for later in (False, True))
    options = {"group.protocol": "consumer", "auto.offset.reset": where, "topic.metadata.refresh.interval.ms": "500"}
    with reading(state, servers=broker.servers, predictions=topic, options=options) as (monitor, reader):
        read(monitor, reader, lambda: len(reader.lag() or {}) == 3)
        produce(broker.servers, old)
        read(monitor, reader, lambda: at(monitor) == ends(old))
        broker.extend(topic, 5)
        produce(broker.servers, new)
        read(monitor, reader, lambda: at(monitor) == ends(stream))

    check(state, stream)


@pytest.mark.parametrize("running", [False, True], ids=["away", "running"])
def test_a_topic_that_was_created_again_is_refused(
    broker: Broker, topic: str, state: str, running: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its log is as long as the old one, so every stored offset is there: only the id tells; problems are said."""
    monkeypatch.setattr("stream_metrics.monitor.sources.kafka_topic_ids.EVERY", 0.2)
    stream, said = renamed(MESSY, topic), f"'{topic}' was deleted and created again"
    options = {"topic.metadata.refresh.interval.ms": "300", "topic.metadata.propagation.max.ms": "300"}
    source = {"servers": broker.servers, "predictions": topic, "options": options}
    known = "select 1 from notes where name = 'topic ids' and length(body) > 20"

    def create_again(is_gone: Callable[[], Any]) -> None:
        broker.drop(topic)
        until(is_gone)
        broker.create(topic, 3)
        produce(broker.servers, stream, **{"enable.idempotence": True})  # in order, although leaders are being chosen

    produce(broker.servers, stream)
    with reading(state, **source) as (monitor, reader):
        read(monitor, reader, lambda: at(monitor) == ends(stream))
        read(monitor, reader, lambda: monitor.checkpoint() or execute(state, known))  # which is asked for meanwhile
        if running:
            assert reader.problem is None
            create_again(lambda: monitor.step(reader.poll(0.05)) or "Unknown" in (reader.problem or ""))
            refused(lambda: read(monitor, reader, lambda: False), SourceError, said)
    if not running:
        create_again(lambda: topic not in broker.admin().list_topics(timeout=60).topics)
    assert said in ends_with(state, **source)
    check(state, stream)


@pytest.mark.parametrize("kill", [False, True], ids=["stop", "kill"])
def test_the_broker_restarts(broker: Broker, topic: str, tmp_path: Path, workers: Workers, kill: bool) -> None:
    """While two workers read: they go on."""
    stream = renamed(MESSY, topic)
    options = {"reconnect.backoff.max.ms": "500", "session.timeout.ms": "2000", "heartbeat.interval.ms": "200"}
    given = {"servers": broker.servers, "group": topic, "predictions": topic, "options": options}
    order: dict[str, Any] = {"state": str(tmp_path / "state"), "log": str(tmp_path / "log"), "source": given}
    order |= {"shared": True, "at_once": 20}
    produce(broker.servers, stream[:700])
    running = [workers.start(**order), workers.start(**order)]
    until(lambda: sum(reached(order["state"]).values()) > 100)
    broker.stop(kill)
    until(lambda: "Kafka" in Path(order["log"]).read_text() or "kafka" in Path(order["log"]).read_text())
    broker.start()
    produce(broker.servers, stream[700:])
    until(lambda: reached(order["state"]) == ends(stream), 120)
    ended = [workers.end(child, 15) for child in running]

    assert ended == [0, 0]
    check(order["state"], stream)


def test_topics_that_no_longer_have_equal_partitions(broker: Broker, topic: str, state: str) -> None:
    """One of the two topics grows after the start: the worker that gets the new partitions ends, loudly."""
    broker.create(topic + ".labels", 3)
    options = {"topic.metadata.refresh.interval.ms": "500", "session.timeout.ms": "6000"}
    source = {"servers": broker.servers, "predictions": topic, "labels": topic + ".labels", "options": options}
    with reading(state, **source) as (monitor, reader):
        read(monitor, reader, lambda: monitor.partitions == [0, 1, 2])
        broker.extend(topic, 5)
        said = str(refused(lambda: read(monitor, reader, lambda: False), SourceError))
    assert "the same partitions of both topics" in said
    assert f"[0, 1, 2, 3, 4] of '{topic}' and [0, 1, 2] of" in said


def test_a_record_that_was_damaged_on_disk(broker: Broker, topic: str, state: str) -> None:
    """The client cannot read its batch: the counts say that they lack something."""
    stream = renamed(ONE, topic)
    produce(broker.servers, stream[:100])
    produce(broker.servers, stream[100:])
    (log,) = broker.folder.glob(f"data/{topic}-0/*.log")
    data = log.read_bytes()
    place = data.index(stream[50].value or b"?")
    with log.open("r+b") as file:
        file.seek(place)
        file.write(b"!")
    source = {"servers": broker.servers, "predictions": topic, "options": {"check.crcs": "true"}}
    with reading(state, **source) as (monitor, reader):
        with suppress(SourceError):  # after such a batch the client may ask for an offset that there is not
            read(monitor, reader, lambda: monitor.view().incomplete)
        incomplete, *_ = monitor.view().incomplete
    assert incomplete.startswith(f"'{topic}', partition 0, offset ")
