"""What the tests of Kafka share: one mock cluster, and a topic and a state file for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster for all tests of a module, each of which makes topics of its own."""
    pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")
    from support.kafka_mock import Cluster

    made = Cluster({})
    yield made
    made.close()


@pytest.fixture
def topic(cluster: Any, request: pytest.FixtureRequest) -> str:
    """A topic of three partitions."""
    name = str(request.node.name).replace("[", ".").replace("]", "")
    cluster.ask("create", name, 3)
    return name


@pytest.fixture
def state(tmp_path: Path) -> str:
    """The state file."""
    return str(tmp_path / "state")
