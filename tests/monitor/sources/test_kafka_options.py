"""Options of the consumer: offsets come from the store, two topics are assigned together, passwords are not shown."""

from __future__ import annotations

from typing import Any

import pytest
from support.inner_monitor import SourceError
from support.refusals import all_refused, refused

from stream_metrics.monitor import config
from stream_metrics.monitor.sources.kafka_options import checked, consumer_options, first, hidden

pytestmark = pytest.mark.quick
Source = config.SourceTable
KIP_848 = {"group.protocol": "consumer"}
STICKY = {"partition.assignment.strategy": "cooperative-sticky"}


def one(**options: Any) -> Source:
    """A source of one topic."""
    return Source(kind="kafka", servers="kafka:9092", group="g", predictions="p", options=options)


def two(**options: Any) -> Source:
    """A source of two topics."""
    return Source(kind="kafka", predictions="p", labels="l", options=options)


def test_offsets_are_those_of_the_store() -> None:
    """Kafka neither commits nor resets anything by itself; other options pass through, also in place of a default."""
    options = consumer_options(one(**{"sasl.password": "pass word", "auto.offset.reset": "latest"}))

    assert options == {
        "bootstrap.servers": "kafka:9092",
        "group.id": "g",
        "enable.auto.commit": False,
        "auto.offset.reset": "error",
        "enable.partition.eof": True,
        "fetch.queue.backoff.ms": 50,
        "sasl.password": "pass word",
    }
    assert first(one()) == "earliest"
    assert first(one(**{"auto.offset.reset": "latest"})) == "latest"
    assert consumer_options(one(**{"fetch.queue.backoff.ms": "200"}))["fetch.queue.backoff.ms"] == "200"


def test_two_topics_are_assigned_by_range() -> None:
    """By either protocol, said or not, so that a worker has the same partitions of both; one topic in any way."""
    assert consumer_options(two())["partition.assignment.strategy"] == "range"
    assert consumer_options(two(**KIP_848))["group.remote.assignor"] == "range"
    assert "group.remote.assignor" not in consumer_options(one(**KIP_848))
    assert consumer_options(one(**STICKY))["partition.assignment.strategy"] == "cooperative-sticky"
    for topics, places in ((["p", "l"], {("p", 1), ("l", 1)}), (["p", "l"], set()), (["p"], {("p", 1)})):
        checked(topics, places)
    uneven = {("p", 1), ("l", 1), ("p", 2)}
    refused(lambda: checked(["p", "l"], uneven), SourceError, "but got [1, 2] of 'p' and [1] of 'l'")


def test_what_would_break_the_counts_is_refused() -> None:
    """Before anything is read: another assignor for two topics, options that have a key, a beginning that is none."""
    cases = [
        (two(**{"partition.assignment.strategy": "roundrobin"}), "to be 'range', but got 'roundrobin', which"),
        (two(**STICKY), "to be 'range', but got 'cooperative-sticky'"),
        (two(**KIP_848, **{"group.remote.assignor": "uniform"}), "'group.remote.assignor' in `options` to be 'range'"),
        (one(**{"group.id": "h"}), "Expected `options` to leave 'group.id' to `group`, but got 'h'"),
        (one(**{"enable.auto.commit": "true"}), "`enable.auto.commit` in `options` to be false"),
        (Source(), "Expected `predictions` to name a topic, but got ''"),
    ]
    all_refused([(lambda source=source: consumer_options(source), ValueError, about) for source, about in cases])
    none = one(**{"auto.offset.reset": "none"})
    refused(lambda: first(none), ValueError, "to be one of ['earliest', 'latest'], but got 'none'")


def test_passwords_are_hidden() -> None:
    """In errors, and where a source is printed."""
    secrets = {"sasl.password": "hunter2", "ssl.key.password": "s3same", "sasl.username": "me"}

    assert hidden("me: hunter2 and s3same", secrets) == "me: *** and ***"
    assert "hunter2" not in repr(one(**secrets))
