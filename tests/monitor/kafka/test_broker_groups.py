"""A real Kafka: the protocols of a group, static membership, two topics, workers that join, leave and are killed."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest

confluent_kafka = pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")

from support.kafka_broker import Broker  # noqa: E402
from support.kafka_topics import (  # noqa: E402  # noqa: E402
    JOINED,
    KEPT,
    at,
    check,
    ends,
    halves,
    messy,
    produce,
    reached,
    read,
    reading,
    renamed,
    until,
)
from support.kafka_worker import Workers  # noqa: E402

from stream_metrics.monitor import config  # noqa: E402
from stream_metrics.monitor.events.records import Record  # noqa: E402

EAGER = {"session.timeout.ms": "2000", "heartbeat.interval.ms": "200"}
STICKY = EAGER | {"partition.assignment.strategy": "cooperative-sticky"}
KIP_848 = {"group.protocol": "consumer"}
PROTOCOLS = {"eager": EAGER, "cooperative": STICKY, "kip848": KIP_848}
CODES = confluent_kafka.KafkaError
NOT_YET = {CODES.NOT_COORDINATOR, CODES.COORDINATOR_LOAD_IN_PROGRESS, CODES.COORDINATOR_NOT_AVAILABLE}
KILLS = 20
TURNS = 8
MESSY = messy(300, 3)
MANY = messy(1500, 3)
HALVES = halves(1500, 4)


@pytest.mark.parametrize("options", PROTOCOLS.values(), ids=PROTOCOLS)
def test_everything_is_read(broker: Broker, topic: str, state: str, options: dict[str, str]) -> None:
    """In two lives of one group; in the end Kafka knows of the checkpoints."""
    stream = renamed(MESSY, topic)
    produce(broker.servers, stream)
    given = {"servers": broker.servers, "predictions": topic, "options": options}
    with reading(state, **given) as (monitor, source):
        read(monitor, source, lambda: sum(at(monitor).values()) > 400)
        first = at(monitor)
    with reading(state, **given) as (monitor, source):
        read(monitor, source, lambda: source.lag() == dict.fromkeys(ends(stream), 0))
        last = at(monitor)
    asking = confluent_kafka.Consumer({"bootstrap.servers": broker.servers, "group.id": topic})
    told = asking.committed([confluent_kafka.TopicPartition(*place) for place in ends(stream)], timeout=30)
    asking.close()

    assert first != {}
    assert last == ends(stream)
    assert {(each.topic, each.partition): each.offset for each in told} == ends(stream)
    check(state, stream, KEPT)


@pytest.mark.parametrize("options", [EAGER, KIP_848], ids=["range", "kip848"])
def test_two_topics_go_to_one_worker(
    broker: Broker, topic: str, tmp_path: Path, workers: Workers, options: dict[str, str]
) -> None:
    """Two workers of two topics, each has the same partitions of both; they come, leave and are killed under load."""
    names = {"p": topic, "l": topic + ".labels"}
    broker.create(names["l"], 4)
    broker.extend(names["p"], 4)
    stream = [record._replace(topic=names[record.topic]) for record in HALVES]
    order = worker_order(broker, tmp_path, options, predictions=names["p"], labels=names["l"])
    check_turns(workers, order, broker, stream, JOINED)


def check_turns(
    workers: Workers, order: dict[str, Any], broker: Broker, stream: list[Record], expected: config.Config
) -> None:
    """Run two workers that leave and come back while a stream is written, until all of it is counted."""
    running = [workers.start(**order), workers.start(**order)]
    until(lambda: are_two(broker, order["source"]["group"]))
    moments = turns(workers, order, running, broker, stream)
    until(lambda: reached(order["state"]) == ends(stream))
    ended = [workers.end(child, signal.SIGTERM) for child in running]

    assert set(ended) == {0}
    assert moments == sorted(moments)
    assert len(set(moments)) >= TURNS // 2
    check(order["state"], stream, expected)


def worker_order(broker: Broker, folder: Path, options: dict[str, str], **source: Any) -> dict[str, Any]:
    """Return the order that starts a worker."""
    given = {"servers": broker.servers, "group": source["predictions"], "options": options, **source}
    paths = {"state": str(folder / "state"), "log": str(folder / "log")}
    return {**paths, "source": given, "shared": True, "pause": 0.01, "at_once": 100}


def turns(
    workers: Workers, order: dict[str, Any], running: list[int], broker: Broker, stream: list[Record]
) -> list[int]:
    """Write a part of the stream in each turn, start workers, up to two, and end them; return how far the state was."""
    chance, moments = random.Random(0), []
    for turn in range(TURNS):
        produce(broker.servers, stream[len(stream) * turn // TURNS : len(stream) * (turn + 1) // TURNS])
        time.sleep(chance.uniform(0.1, 0.8))
        if len(running) == 2:
            how = chance.choice([signal.SIGTERM, signal.SIGKILL])
            workers.end(running.pop(chance.randrange(2)), how)
        else:
            running.append(workers.start(**order))
        if turn % 2:  # in the other turns two changes follow each other as they may
            until(lambda: total(order) > (moments or [0])[-1])
        moments.append(total(order))
    return moments


def total(order: dict[str, Any]) -> int:
    """Return how many records are counted."""
    return sum(reached(order["state"]).values())


@pytest.mark.parametrize("options", PROTOCOLS.values(), ids=PROTOCOLS)
def test_workers_join_and_leave(
    broker: Broker, topic: str, tmp_path: Path, workers: Workers, options: dict[str, str]
) -> None:
    """Of one topic, by each protocol."""
    stream = renamed(MANY, topic)
    order = worker_order(broker, tmp_path, options, predictions=topic) | {"at_once": 20}
    check_turns(workers, order, broker, stream, KEPT)


def test_a_static_member_comes_back_without_a_rebalance(
    broker: Broker, topic: str, tmp_path: Path, workers: Workers
) -> None:
    """Of two static members one is killed and started again within the session: the other keeps what it had."""
    stream = renamed(MESSY, topic)
    options = {"session.timeout.ms": "10000", "heartbeat.interval.ms": "200"}
    orders = []
    for name in "ab":
        order = worker_order(broker, tmp_path, options | {"group.instance.id": name}, predictions=topic)
        orders.append(order | {"log": str(tmp_path / name)})
    running = [workers.start(**order) for order in orders]
    until(lambda: are_two(broker, topic))
    before = members(broker, topic)
    produce(broker.servers, stream[:400])
    workers.end(running[0])
    running[0] = workers.start(**orders[0])
    produce(broker.servers, stream[400:])
    until(lambda: reached(orders[0]["state"]) == ends(stream))
    after = members(broker, topic)
    ended = [workers.end(child, signal.SIGTERM) for child in running]

    assert before == after
    assert ended == [0, 0]
    check(orders[0]["state"], stream, KEPT)


def members(broker: Broker, group: str) -> dict[str, list[int]]:
    """Return the partitions of the members of a group, by their static names, or by those that they were given."""
    try:
        described = broker.admin().describe_consumer_groups([group])[group].result(timeout=30)
    except confluent_kafka.KafkaException as error:
        if error.args[0].code() not in NOT_YET:
            raise
        return {}
    return {
        member.group_instance_id or member.member_id: sorted(
            {each.partition for each in member.assignment.topic_partitions}
        )
        for member in described.members
    }


def are_two(broker: Broker, group: str) -> bool:
    """Tell whether two workers share the partitions."""
    parts = members(broker, group)
    return len(parts) == 2 and all(parts.values())


def test_twenty_kills_at_random_moments(broker: Broker, topic: str, tmp_path: Path, workers: Workers) -> None:
    """SIGKILL whenever, start again in the same group, by each protocol in a group of its own."""
    stream = renamed(MANY, topic)
    produce(broker.servers, stream)
    chance, moments, mean = random.Random(0), [0], 0.5
    for kill in range(KILLS):
        options = list(PROTOCOLS.values())[kill % 3]
        order = worker_order(broker, tmp_path, options, predictions=topic)
        order["source"]["group"] += str(kill % 3)
        child = workers.start(**order | {"pause": 0.02, "at_once": 50, "shared": False})
        time.sleep(chance.uniform(0, mean))
        workers.end(child)
        moments.append(sum(reached(order["state"]).values()))
        mean = min(mean * 1.5, 1.0) if moments[-1] == moments[-2] else mean * 0.9
    last = workers.start(**order | {"shared": False})
    until(lambda: reached(order["state"]) == ends(stream))

    assert workers.end(last, signal.SIGTERM) == 0
    assert moments == sorted(moments)
    assert len(set(moments)) >= 6
    check(order["state"], stream, KEPT)
