"""What the tests of Kafka share: a mock cluster, a real broker, and a topic and a state file for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.kafka_broker import Broker, missing, running


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster for all tests of a module, each of which makes topics of its own."""
    pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")
    from support.kafka_mock import Cluster

    made = Cluster({})
    yield made
    made.close()


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """A real broker for all tests, each of which makes topics of its own."""
    pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")
    lacking = missing()
    if lacking is not None:
        pytest.skip(lacking)
    with running() as started:
        yield started


@pytest.fixture(scope="module")
def workers() -> Iterator[Any]:
    """The process that forks workers."""
    pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")
    from support.kafka_worker import Workers

    started = Workers()
    yield started
    started.close()


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic of three partitions, of the real broker if the test has it, otherwise of the mock cluster."""
    name = str(request.node.name).replace("[", ".").replace("]", "")
    if "broker" in request.fixturenames:
        request.getfixturevalue("broker").create(name, 3)
    else:
        request.getfixturevalue("cluster").ask("create", name, 3)
    return name


@pytest.fixture
def state(tmp_path: Path) -> str:
    """The state file."""
    return str(tmp_path / "state")
