"""A real Kafka: the protocols of a group, static membership, two topics, workers that join, leave and are killed."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest

confluent_kafka = pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")

from support.command_line import until  # noqa: E402
from support.kafka_broker import Broker  # noqa: E402
from support.kafka_topics import (  # noqa: E402
    JOINED,
    KEPT,
    check,
    ends,
    halves,
    messy,
    placed,
    produce,
    reached,
    renamed,
)
from support.kafka_worker import Workers  # noqa: E402
from support.monitor_worker import state_of  # noqa: E402

from stream_metrics.monitor import Config, Record  # noqa: E402

EAGER = {"session.timeout.ms": "2000", "heartbeat.interval.ms": "200"}
STICKY = EAGER | {"partition.assignment.strategy": "cooperative-sticky"}
KIP_848 = {"group.protocol": "consumer"}
PROTOCOLS = {"eager": EAGER, "cooperative": STICKY, "kip848": KIP_848}
CODES = confluent_kafka.KafkaError
NOT_YET = {CODES.NOT_COORDINATOR, CODES.COORDINATOR_LOAD_IN_PROGRESS, CODES.COORDINATOR_NOT_AVAILABLE}
TURNS = 8
MESSY = messy(300, 3)
MANY = messy(1500, 3)
HALVES = halves(1500, 4)


def worker_order(broker: Broker, state: str, log: Path, options: dict[str, str], **source: Any) -> dict[str, Any]:
    """Return the order that starts a worker."""
    given = {"servers": broker.servers, "group": source["predictions"], "options": options, **source}
    return {"state": state, "log": str(log), "source": given, "shared": True, "at_once": 20}


def check_turns(
    workers: Workers, order: dict[str, Any], broker: Broker, stream: list[Record], expected: Config = KEPT
) -> None:
    """Run up to two workers that leave, are killed and come back while a stream is written, until all is counted."""
    running = [workers.start(**order), workers.start(**order)]
    until(lambda: are_two(broker, order["source"]["group"]))
    chance, moments = random.Random(0), [0]
    for turn in range(TURNS):
        produce(broker.servers, stream[len(stream) * turn // TURNS : len(stream) * (turn + 1) // TURNS])
        if turn % 2:  # in the other turns two changes follow each other as they may
            until(lambda: total(order) > moments[-1])
        if len(running) == 2:
            workers.end(running.pop(chance.randrange(2)), chance.choice([signal.SIGTERM, signal.SIGKILL]))
        else:
            running.append(workers.start(**order))
        moments.append(total(order))
    until(lambda: reached(order["state"]) == ends(stream), 120)

    assert {workers.end(child, signal.SIGTERM) for child in running} == {0}
    assert moments == sorted(moments)
    assert len(set(moments)) >= TURNS // 2
    check(order["state"], stream, expected)


def total(order: dict[str, Any]) -> int:
    """Return how many records are counted."""
    return sum(reached(order["state"]).values())


@pytest.mark.parametrize("options", [EAGER, KIP_848], ids=["range", "kip848"])
def test_two_topics_go_to_one_worker(
    broker: Broker, topic: str, tmp_path: Path, store_path: str, workers: Workers, options: dict[str, str]
) -> None:
    """Two workers of two topics, with a store of each kind: each has the same partitions of both topics."""
    names = {"p": topic, "l": topic + ".labels"}
    broker.create(names["l"], 4)
    broker.extend(names["p"], 4)
    stream = [placed(record, topic=names[record.topic]) for record in HALVES]
    source = {"predictions": names["p"], "labels": names["l"]}
    check_turns(workers, worker_order(broker, store_path, tmp_path / "log", options, **source), broker, stream, JOINED)


@pytest.mark.parametrize("options", PROTOCOLS.values(), ids=PROTOCOLS)
def test_workers_join_and_leave(
    broker: Broker, topic: str, tmp_path: Path, state: str, workers: Workers, options: dict[str, str]
) -> None:
    """Of one topic, by each protocol."""
    order = worker_order(broker, state, tmp_path / "log", options, predictions=topic)
    check_turns(workers, order, broker, renamed(MANY, topic))


def test_kafka_knows_of_the_checkpoints(
    broker: Broker, topic: str, tmp_path: Path, state: str, workers: Workers
) -> None:
    """When a worker has read everything and is stopped, its group has committed the ends."""
    order, stream = worker_order(broker, state, tmp_path / "log", EAGER, predictions=topic), renamed(MANY, topic)
    produce(broker.servers, stream)
    worker = workers.start(**order)
    until(lambda: reached(state) == ends(stream), 120)
    assert workers.end(worker, signal.SIGTERM) == 0
    asking = confluent_kafka.Consumer({"bootstrap.servers": broker.servers, "group.id": topic})
    told = asking.committed([confluent_kafka.TopicPartition(*place) for place in ends(stream)], timeout=60)
    asking.close()
    assert {(each.topic, each.partition): each.offset for each in told} == ends(stream)


def test_a_static_member_comes_back_without_a_rebalance(
    broker: Broker, topic: str, tmp_path: Path, state: str, workers: Workers
) -> None:
    """Of two static members one is killed and started again within the session: the other keeps what it had."""
    stream = renamed(MESSY, topic)
    options = {"session.timeout.ms": "45000", "heartbeat.interval.ms": "200"}
    orders = [
        worker_order(broker, state, tmp_path / name, options | {"group.instance.id": name}, predictions=topic)
        for name in "ab"
    ]
    running = [workers.start(**order) for order in orders]
    until(lambda: are_two(broker, topic))
    before = members(broker, topic)
    produce(broker.servers, stream[:400])
    workers.end(running[0])
    running[0] = workers.start(**orders[0])
    produce(broker.servers, stream[400:])
    until(lambda: reached(state) == ends(stream))

    assert members(broker, topic) == before
    assert [workers.end(child, signal.SIGTERM) for child in running] == [0, 0]
    check(state, stream)


def members(broker: Broker, group: str) -> dict[str, list[int]]:
    """Return the partitions of the members of a group, by their static names, or by those that they were given."""
    try:
        described = broker.admin().describe_consumer_groups([group])[group].result(timeout=60)
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


def test_an_earlier_owner_is_refused(
    broker: Broker, topic: str, tmp_path: Path, store_path: str, workers: Workers
) -> None:
    """A worker stops with records in its hands, another one takes over, the first wakes up, is refused, and goes on."""
    stream = renamed(MANY, topic)
    produce(broker.servers, stream)
    order = worker_order(broker, store_path, tmp_path / "log", KIP_848, predictions=topic)
    stopped = workers.start(**order, stop=8)
    until(lambda: state_of(stopped) == "T")
    assert reached(store_path) != ends(stream)
    other = workers.start(**{**order, "log": str(tmp_path / "other")})
    until(lambda: reached(store_path) == ends(stream), 120)
    os.kill(stopped, signal.SIGCONT)
    until(lambda: "stale" in (tmp_path / "log").read_text())

    assert [workers.end(child, signal.SIGTERM) for child in (stopped, other)] == [0, 0]
    check(store_path, stream)
