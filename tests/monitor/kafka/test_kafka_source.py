"""Topics of a mock Kafka: poison, two topics, what is refused, truncated logs, lost partitions, a broker that fails."""

from __future__ import annotations

import signal
from typing import Any

import pytest

confluent_kafka = pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")

from support.command_line import until  # noqa: E402
from support.inner_monitor import StaleOwner  # noqa: E402
from support.kafka_mock import COMMIT, ILLEGAL_GENERATION, Cluster  # noqa: E402
from support.kafka_topics import (  # noqa: E402
    JOINED,
    KEPT,
    KIP_848,
    at,
    check,
    ends,
    ends_with,
    halves,
    messy,
    placed,
    produce,
    read,
    reading,
    renamed,
)
from support.monitor_events import NOW, START, lines, offline  # noqa: E402

from stream_metrics.monitor import Record  # noqa: E402

STICKY = {"partition.assignment.strategy": "cooperative-sticky"}
KAFKA = "stream_metrics.monitor.sources.kafka"
MESSY = messy(300, 3)
ONE = [record for record in MESSY if record.partition == 0]
PAIR = {"id": 1, "time": START, "prediction": "cat", "truth": "cat"}


def test_corrupted_and_oversized_records(cluster: Cluster, topic: str, state: str) -> None:
    """They are rejected where they are, and the others are counted; a record without a value is no event either."""
    event, large = lines([PAIR, {**PAIR, "id": 2, "truth": "dog", "more": "x" * 900_000}])
    values = [event, b"\xff\xfe", b"", None, b"{" * 900_000, large, event[:-1], b"null", event.replace(b"1,", b"3,", 1)]
    stream = [Record(topic, 0, at, at + 1, NOW, b"key", value) for at, value in enumerate(values)]
    produce(cluster.servers, stream)
    with reading(state, servers=cluster.servers, predictions=topic) as (monitor, source):
        read(monitor, source, lambda: at(monitor) == ends(stream))
        letters = {(each.topic, each.partition, each.offset, each.reason) for each in monitor.view().dead_letters}
        assert letters == {(topic, 0, at, "decode") for at in (1, 2, 3, 4, 6, 7)}
        assert monitor.stats().joined == 3
    check(state, stream)


def test_two_topics(cluster: Cluster, topic: str, state: str) -> None:
    """Predictions find labels of another topic; topics that cannot be joined fail at the start."""
    cluster.ask("create", topic + ".labels", 3)
    cluster.ask("create", topic + ".few", 2)
    names = {"p": topic, "l": topic + ".labels"}
    stream = [placed(record, topic=names[record.topic]) for record in halves(200, 3)]
    produce(cluster.servers, stream)
    source = {"servers": cluster.servers, "predictions": topic, "options": {}}
    with reading(state, JOINED, labels=topic + ".labels", **source) as (monitor, reader):
        read(monitor, reader, lambda: at(monitor) == ends(stream))
        assert monitor.stats().joined == 3 * 197
    check(state, stream, JOINED)

    few = {**source, "labels": topic + ".few"}
    assert "equally many partitions, but they have" in ends_with(state + "-few", **few)
    few["options"] = {"partition.assignment.strategy": "roundrobin"}
    with pytest.raises(ValueError, match="'range', but got 'roundrobin'"), reading(state + "-few", **few):
        pass


def test_a_store_of_other_topics_is_refused(cluster: Cluster, topic: str, state: str) -> None:
    """Nothing of it is claimed or changed, also where one topic stays; a topic may be added or left out."""
    (value,) = lines([PAIR])
    for name in (topic, topic + "-labels", topic + "-new"):
        if name != topic:
            cluster.ask("create", name, 3)
        produce(cluster.servers, [Record(name, 0, 0, 1, NOW, None, value)])
    given = {"servers": cluster.servers, "labels": topic + "-labels"}
    with reading(state, predictions=topic, **given) as (monitor, source):
        read(monitor, source, lambda: at(monitor) == {(topic, 0): 1, (topic + "-labels", 0): 1})
    assert "each model needs a state file" in ends_with(state, predictions=topic + "-new", **given)
    said = f"store of the topics ['{topic}-new'], but it has counts of ['{topic}', '{topic}-labels']"
    assert said in ends_with(state, predictions=topic + "-new", servers=cluster.servers)
    with reading(state, predictions=topic, **given | {"labels": "", "group": "again"}) as (monitor, source):
        read(monitor, source, lambda: monitor.partitions)


def test_an_option_that_there_is_not(state: str) -> None:
    """It fails at the start, with a reason that has no password in it."""
    options = {"sasl.password": "hunter2", "hunter.hunter2": "1"}
    said = ends_with(state, servers="127.0.0.1:1", predictions="t", options=options)
    assert 'No such configuration property: "hunter.***"' in said


def test_a_broker_that_is_not_there_yet(
    topic: str, cluster: Cluster, state: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is waited for: the reason is said, once and without passwords; when it comes, all is read."""
    monkeypatch.setattr(f"{KAFKA}.PATIENCE", 0.2)
    options = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "me"}
    options |= {"sasl.password": "hunter2"}
    with reading(state, servers="127.0.0.1:1", predictions=topic, options=options) as (monitor, source):
        away = read(monitor, source, lambda: source.problem)
        for _ in range(3):
            assert source.poll(0.01) == []
        assert source.lag() is None
    assert "Kafka at 127.0.0.1:1: " in away
    assert caplog.text.count("waiting until it answers") == 1
    assert "hunter2" not in away + caplog.text

    stream = renamed(MESSY, topic)
    produce(cluster.servers, stream)
    cluster.ask("down")
    with reading(state, servers=cluster.servers, predictions=topic) as (monitor, source):
        assert source.problem is not None
        cluster.ask("up")
        read(monitor, source, lambda: at(monitor) == ends(stream))
        assert source.problem is None
    check(state, stream)


def test_latest_begins_at_the_end(cluster: Cluster, topic: str, state: str) -> None:
    """Where nothing was ever counted, if it is asked for; what comes then is counted from there on, in every life.

    What is written while the monitor is away is counted, also to a partition that was empty before.
    """
    stream = renamed(ONE[:300], topic)
    more = renamed([record for record in MESSY if record.partition == 1], topic)
    source = {"servers": cluster.servers, "predictions": topic, "options": KIP_848 | {"auto.offset.reset": "latest"}}
    produce(cluster.servers, stream[:100])
    with reading(state, **source) as (monitor, reader):
        read(monitor, reader, lambda: reader.lag() == {(topic, number): 0 for number in range(3)})
        produce(cluster.servers, stream[100:200])
        read(monitor, reader, lambda: at(monitor) == {(topic, 0): 200})
    produce(cluster.servers, [*stream[200:], *more])
    with reading(state, **source) as (monitor, reader):
        read(monitor, reader, lambda: at(monitor) == ends([*stream, *more]))
    check(state, [*stream[100:], *more])


def test_a_truncated_log_ends_it_or_is_marked(cluster: Cluster, topic: str, state: str) -> None:
    """Records that were not read are gone: an error, and the state stays; or counts say that they lack something."""
    stream = renamed(ONE[:250], topic)
    source = {"servers": cluster.servers, "predictions": topic}
    produce(cluster.servers, stream[:100])
    with reading(state, **source) as (monitor, reader):
        read(monitor, reader, lambda: at(monitor) == {(topic, 0): 100})
    produce(cluster.servers, stream[100:])
    cluster.ask("delete", topic, 0, 130)
    said = ends_with(state, **source)
    assert "offset 100 of " in said
    assert 'is gone: it has 130 to 250 by now; truncated = "reset"' in said
    with reading(state, **source, truncated="reset") as (monitor, reader):
        assert monitor.assign([0]) == {(topic, 0): 100}
        read(monitor, reader, lambda: at(monitor) == ends(stream))
        (incomplete,) = monitor.view().incomplete
    assert "offset 100" in incomplete
    assert "it has 130 to 250 by now" in incomplete
    check(state, stream[:100] + stream[130:])


def test_a_log_is_truncated_while_it_is_read(
    cluster: Cluster, topic: str, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that is too slow; other partitions are not disturbed.

    Fetches are small, or all would be fetched before it is deleted, and each is a round trip: a few, or the test takes
    minutes on a busy machine.
    """
    stream = renamed(MESSY, topic)
    slow = {"queued.min.messages": "1", "fetch.message.max.bytes": "8000", "fetch.queue.backoff.ms": "10"}
    produce(cluster.servers, stream, **{"batch.num.messages": 40})
    for number, options in enumerate(({}, STICKY)):
        monkeypatch.setattr(f"{KAFKA}.AT_ONCE", 2)
        source = {"servers": cluster.servers, "predictions": topic, "options": options | slow, "truncated": "reset"}
        source["group"] = f"{topic}{number}"
        with reading(f"{state}{number}", **source) as (monitor, reader):
            read(monitor, reader, lambda: len(at(monitor)) == 3)
            cluster.ask("delete", topic, 0, 400 + number)
            monkeypatch.setattr(f"{KAFKA}.AT_ONCE", 1000)
            read(monitor, reader, lambda: at(monitor) == ends(stream))
            incomplete = monitor.view().incomplete
            monitor.lost([0])
            others = monitor.counts().parts()
        if number == 0:
            assert len(incomplete) == 1
            assert "it has 400 to" in str(incomplete)
        rest = [record for record in stream if record.partition]
        assert others == offline(rest, KEPT).counts().parts()


def test_a_topic_that_is_created_again_is_another_log(cluster: Cluster, topic: str, state: str) -> None:
    """It ends before the stored offset, so that what is in it was never counted; no policy allows to guess."""
    stream = renamed(ONE, topic)
    produce(cluster.servers, stream)
    with reading(state, servers=cluster.servers, predictions=topic) as (monitor, source):
        read(monitor, source, lambda: at(monitor) == ends(stream))
    other = Cluster({topic: 3})
    produce(other.servers, stream[:50])
    said = ends_with(state, servers=other.servers, predictions=topic, truncated="reset")
    other.close()
    assert "it has 0 to 50 by now; if the topic was created again" in said


@pytest.mark.parametrize("hangs", [False, True], ids=["fails", "hangs"])
def test_a_broker_that_fails_or_hangs_is_a_problem(
    cluster: Cluster, topic: str, state: str, monkeypatch: pytest.MonkeyPatch, hangs: bool
) -> None:
    """Meanwhile the source says so; then it goes on, and forgets about it also where nothing comes.

    Where the broker hangs its connections stay open, and the client says nothing for a minute.
    """
    monkeypatch.setattr(f"{KAFKA}_topic_ids.EVERY", 0.2)
    monkeypatch.setattr(f"{KAFKA}_topic_ids.SLOW", 0.5)
    stream = renamed(MESSY, topic)
    half = len(stream) // 2
    options = KIP_848 | {"reconnect.backoff.max.ms": "100", "reconnect.backoff.ms": "20"}
    produce(cluster.servers, stream[:half])
    with reading(state, servers=cluster.servers, predictions=topic, options=options) as (monitor, source):
        read(monitor, source, lambda: at(monitor) == ends(stream[:half]))
        cluster.send_signal(signal.SIGSTOP) if hangs else cluster.ask("down")
        try:
            problem = read(monitor, source, lambda: source.problem)
        finally:
            cluster.send_signal(signal.SIGCONT) if hangs else cluster.ask("up")
        read(monitor, source, lambda: source.problem is None)
        produce(cluster.servers, stream[half:])
        read(monitor, source, lambda: at(monitor) == ends(stream))
    assert not hangs or cluster.servers in problem
    check(state, stream)


def test_a_lost_assignment_is_read_again(
    cluster: Cluster, topic: str, state: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit is refused as one of another generation: what is not in a checkpoint is forgotten and read again."""
    monkeypatch.setattr(f"{KAFKA}.AT_ONCE", 20)
    monkeypatch.setattr(f"{KAFKA}.EVERY", 0.0)
    stream = renamed(MESSY, topic)
    options = {"session.timeout.ms": "2000", "heartbeat.interval.ms": "100"}
    produce(cluster.servers, stream)
    with reading(state, servers=cluster.servers, predictions=topic, options=options) as (monitor, source):
        read(monitor, source, lambda: sum(at(monitor).values()) > 100)
        cluster.ask("fail", COMMIT, ILLEGAL_GENERATION)
        read(monitor, source, lambda: "were lost" in caplog.text)
        read(monitor, source, lambda: at(monitor) == ends(stream))
    check(state, stream)


@pytest.mark.parametrize("options", [{}, STICKY, KIP_848], ids=["eager", "cooperative", "kip848"])
def test_a_partition_that_was_claimed_too_late_is_claimed_again(
    cluster: Cluster, topic: str, state: str, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another worker claims a partition that it was assigned before, and learns later that it has lost it."""
    monkeypatch.setattr(f"{KAFKA}.LATE", 5.0)
    monkeypatch.setattr(f"{KAFKA}.AT_ONCE", 40)
    stream = renamed(MESSY, topic)
    produce(cluster.servers, stream)
    problems: set[Any] = set()
    with reading(state, servers=cluster.servers, predictions=topic, options=options) as (monitor, source):
        read(monitor, source, lambda: sum(at(monitor).values()) > 200)
        assert monitor.store is not None
        monitor.store.claim(1)

        def go_on() -> bool:
            records = source.poll(0.05)
            problems.add(source.problem)
            try:
                monitor.step(records)
                if at(monitor).items() >= ends(stream).items():
                    monitor.checkpoint()
            except StaleOwner as stale:
                problems.add(stale.part)
            return monitor.partitions == [0, 1, 2] and at(monitor) == ends(stream)

        until(lambda: go_on() and 1 in problems)
        assert (source.poll(0.05), source.problem) == ([], None)

    assert problems == {None, 1, "the partitions [1] have another owner in the state file"}
    check(state, stream)
