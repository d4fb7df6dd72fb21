"""Workers that read a mock Kafka and are killed, stopped and joined: in the end all has been counted, and once."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")

from support.kafka_mock import Cluster
from support.kafka_topics import JOINED, KEPT, KIP_848, check, ends, halves, messy, produce, reached, until
from support.kafka_worker import Workers

KILLS = 20
TURNS = 14
PROTOCOLS: list[dict[str, Any]] = [{}, {"partition.assignment.strategy": "cooperative-sticky"}, KIP_848]
MESSY = messy(1500, 3)
HALVES = halves(2500, 4)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A cluster with a topic of events, and two topics of predictions and labels."""
    made = Cluster({"t": 3, "p": 4, "l": 4})
    yield made
    made.close()


@pytest.fixture
def order(cluster: Cluster, tmp_path: Path) -> dict[str, Any]:
    """The order to every worker of a test."""
    source = {"servers": cluster.servers, "group": "g", "predictions": "t", "options": KIP_848}
    return {"state": str(tmp_path / "state"), "log": str(tmp_path / "log"), "source": source}


@pytest.fixture
def shared_order(order: dict[str, Any], store_path: str) -> dict[str, Any]:
    """The same with a store of each kind that workers share."""
    return {**order, "state": store_path, "shared": True}


def test_twenty_kills_at_random_moments(workers: Workers, cluster: Cluster, order: dict[str, Any]) -> None:
    """SIGKILL whenever, start again in another group, by each protocol: an offline recount gives the same bytes."""
    produce(cluster.servers, MESSY)
    chance, moments, mean = random.Random(0), [0], 0.5
    for kill in range(KILLS):
        order["source"] |= {"group": f"g{kill}", "options": PROTOCOLS[kill % 3]}
        child = workers.start(**order, pause=0.02, at_once=50)
        time.sleep(chance.uniform(0, mean))
        workers.end(child)
        moments.append(sum(reached(order["state"]).values()))
        mean = min(mean * 1.5, 1.0) if moments[-1] == moments[-2] else mean * 0.9
    order["source"] |= {"group": "last", "options": {}}
    last = workers.start(**order)
    until(lambda: reached(order["state"]) == ends(MESSY))

    assert workers.end(last, signal.SIGTERM) == 0
    assert moments == sorted(moments)
    assert len(set(moments)) >= 6
    check(order["state"], MESSY, KEPT)


def test_workers_join_and_leave(workers: Workers, cluster: Cluster, shared_order: dict[str, Any]) -> None:
    """Two topics, a group of up to two workers: they come, leave and are killed; no label misses its prediction."""
    order = shared_order | {"pause": 0.01, "at_once": 100}
    order["source"] |= {"predictions": "p", "labels": "l"}
    produce(cluster.servers, HALVES[: len(HALVES) // 2])
    chance, there, moments = random.Random(0), [workers.start(**order)], []
    produce(cluster.servers, HALVES[len(HALVES) // 2 :])
    while len(moments) < TURNS or (len(set(moments)) < 4 and moments[-1] < sum(ends(HALVES).values())):
        time.sleep(chance.uniform(0.1, 0.5))
        if len(there) == 2:
            number = chance.choice([signal.SIGTERM, signal.SIGKILL])
            workers.end(there.pop(chance.randrange(2)), number)
        else:
            there.append(workers.start(**order))
        moments.append(sum(reached(order["state"]).values()))
    until(lambda: reached(order["state"]) == ends(HALVES))
    ended = [workers.end(child, signal.SIGTERM) for child in there]

    assert set(ended) == {0}
    assert moments == sorted(moments)
    assert len(set(moments)) >= 4
    check(order["state"], HALVES, JOINED)


def test_a_zombie_is_refused(workers: Workers, cluster: Cluster, shared_order: dict[str, Any]) -> None:
    """A worker stops with records in its hands, another one takes over, the first wakes up, is refused, and goes on."""
    order = shared_order
    produce(cluster.servers, MESSY)
    zombie = workers.start(**order, stop=8, at_once=100, pause=0.02)
    until(lambda: "T (" in Path(f"/proc/{zombie}/status").read_text())
    before = reached(order["state"])

    other = workers.start(**{**order, "log": order["log"] + "2"})
    until(lambda: reached(order["state"]) == ends(MESSY))
    os.kill(zombie, signal.SIGCONT)
    until(lambda: "stale" in Path(order["log"]).read_text())
    ended = [workers.end(child, signal.SIGTERM) for child in (zombie, other)]

    assert before != ends(MESSY)
    assert ended == [0, 0]
    check(order["state"], MESSY, KEPT)
