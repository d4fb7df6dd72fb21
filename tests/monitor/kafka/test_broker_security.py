"""A real Kafka: TLS, SCRAM, and what is said where access is denied, which no password is in."""

from __future__ import annotations

from typing import Any

import pytest

confluent_kafka = pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")

from support.inner_monitor import SourceError  # noqa: E402
from support.kafka_broker import Broker  # noqa: E402
from support.kafka_topics import at, check, ends, ends_with, messy, produce, read, reading, renamed  # noqa: E402
from support.refusals import refused  # noqa: E402

SECRET = "hunter2secret"
MESSY = messy(100, 3)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for answers a few seconds only."""
    monkeypatch.setattr("stream_metrics.monitor.sources.kafka.PATIENCE", 5.0)


def scram(broker: Broker, topic: str, **more: Any) -> dict[str, Any]:
    """Return a source that comes with SCRAM, as a user who is named like the topic."""
    broker.add_user(topic, SECRET)
    options = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-256"}
    options |= {"sasl.username": topic, "sasl.password": SECRET, "session.timeout.ms": "2000", **more}
    return {"servers": broker.scram, "predictions": topic, "options": options}


def reason(state: str, **source: Any) -> str:
    """Return why a source ends, which has no password in it."""
    said = ends_with(state, **source)
    assert SECRET not in said
    return said


def test_tls(broker: Broker, topic: str, state: str) -> None:
    """With the authority of the broker's certificate; without it, the reason is said."""
    stream = renamed(MESSY, topic)
    produce(broker.servers, stream)
    options = {"security.protocol": "SSL", "ssl.ca.location": broker.authority}
    source = {"servers": broker.tls, "predictions": topic}
    with reading(state, **source, options=options) as (monitor, reader):
        read(monitor, reader, lambda: at(monitor) == ends(stream))
    check(state, stream)

    said = reason(state, **source, options={"security.protocol": "SSL"})
    assert "certificate verify failed" in said
    assert "its authority, its dates or its host name" in said


def test_scram(broker: Broker, topic: str, state: str, caplog: pytest.LogCaptureFixture) -> None:
    """With what it needs it reads and commits. Access taken away meanwhile ends it; what it counted is stored."""
    stream = renamed(MESSY, topic)
    produce(broker.servers, stream)
    source = scram(broker, topic)
    broker.allow(topic, "TOPIC", topic)
    broker.allow(topic, "GROUP", topic)
    with reading(state, **source) as (monitor, reader):
        read(monitor, reader, lambda: at(monitor) == ends(stream))
        broker.deny(topic, "TOPIC", topic)
        refused(lambda: read(monitor, reader, lambda: False), SourceError, "authorization failed")
    check(state, stream)

    wrong = scram(broker, topic, **{"sasl.password": SECRET + "!"})
    assert "Authentication failed" in reason(state, **wrong)
    assert SECRET not in caplog.text


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("lacking", ["TOPIC", "GROUP"])
def test_what_is_not_allowed(
    broker: Broker, topic: str, state: str, lacking: str, protocol: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It ends, and says what it may not read."""
    source = scram(broker, topic, **{"group.protocol": protocol} if protocol == "consumer" else {})
    if protocol == "consumer":
        del source["options"]["session.timeout.ms"]
    broker.allow(topic, "GROUP" if lacking == "TOPIC" else "TOPIC", topic)

    said = reason(state, **source)
    assert f"{lacking} authorization failed".lower() in said.lower()
    assert topic in said
    assert SECRET not in caplog.text
