"""What goes wrong between a monitor and a mock Kafka: truncated logs, lost partitions, a broker that fails."""

from __future__ import annotations

import signal
import time
from typing import Any

import pytest
from msgspec import structs

confluent_kafka = pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")

from support.kafka_mock import COMMIT, ILLEGAL_GENERATION, Cluster  # noqa: E402
from support.kafka_topics import JOINED, KEPT, KIP_848, at, check, ends, messy, produce, read, reading, renamed, until  # noqa: E402
from support.monitor_events import NOW, START, offline, records  # noqa: E402

from stream_metrics.monitor import config  # noqa: E402
from stream_metrics.monitor.events.records import Record  # noqa: E402
from stream_metrics.monitor.monitor import Monitor  # noqa: E402
from stream_metrics.monitor.sources import kafka, kafka_topic_ids  # noqa: E402
from stream_metrics.monitor.sources.kafka_options import SourceError  # noqa: E402
from stream_metrics.monitor.store import StaleOwner, Store  # noqa: E402

STICKY = {"partition.assignment.strategy": "cooperative-sticky"}
MESSY = messy(300, 3)


def truncate(cluster: Cluster, topic: str, state: str) -> list[Record]:
    """Read 100 records, then have 150 be written and all up to 130 deleted; return what is left to be counted."""
    found = [record for record in renamed(MESSY, topic) if record.partition == 0][:250]
    produce(cluster.servers, found[:100])
    with reading(state, servers=cluster.servers, predictions=topic) as (monitor, source):
        read(monitor, source, lambda: at(monitor) == {(topic, 0): 100})
    produce(cluster.servers, found[100:])
    cluster.ask("delete", topic, 0, 130)
    return found[:100] + found[130:]


def test_a_truncated_log_ends_it(cluster: Cluster, topic: str, state: str) -> None:
    """Records that were not read are gone: an error, unless it was said that this may be; the state stays."""
    truncate(cluster, topic, state)

    with (
        reading(state, servers=cluster.servers, predictions=topic) as (monitor, source),
        pytest.raises(SourceError, match=r"offset 100 of .* is gone: it has 130 to 250 by now; truncated = \"reset\""),
    ):
        read(monitor, source, lambda: False)
    with reading(state, servers=cluster.servers, predictions=topic) as (monitor, source):
        assert monitor.assign([0]) == {(topic, 0): 100}


def test_a_truncated_log_is_marked(cluster: Cluster, topic: str, state: str) -> None:
    """With "reset" it goes on where the log begins by now, and the counts say that they lack something."""
    left = truncate(cluster, topic, state)
    with reading(state, servers=cluster.servers, predictions=topic, truncated="reset") as (monitor, source):
        read(monitor, source, lambda: at(monitor) == ends(left))
        incomplete = monitor.view().incomplete

    assert "offset 100" in str(incomplete)
    assert "it has 130 to 250 by now" in str(incomplete)
    check(state, left, KEPT)


@pytest.mark.parametrize("options", [{}, STICKY], ids=["eager", "cooperative"])
def test_a_log_is_truncated_while_it_is_read(
    cluster: Cluster, topic: str, state: str, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that is too slow; other partitions are not disturbed.

    Fetches are small, or all would be fetched before it is deleted, and each is a round trip: a few, or the test takes
    minutes on a busy machine.
    """
    monkeypatch.setattr(kafka, "AT_ONCE", 2)
    stream = renamed(MESSY, topic)
    options = options | {"queued.min.messages": "1", "fetch.message.max.bytes": "8000", "fetch.queue.backoff.ms": "10"}
    source = {"servers": cluster.servers, "predictions": topic, "options": options, "truncated": "reset"}
    produce(cluster.servers, stream, **{"batch.num.messages": 40})
    with reading(state, **source) as (monitor, reader):
        read(monitor, reader, lambda: len(at(monitor)) == 3)
        cluster.ask("delete", topic, 0, 400)
        monkeypatch.setattr(kafka, "AT_ONCE", 1000)
        read(monitor, reader, lambda: at(monitor) == ends(stream))
        incomplete = monitor.view().incomplete
        others = [counted_part(monitor, number) for number in (1, 2)]
    whole = offline(stream, KEPT)

    assert len(incomplete) == 1
    assert "it has 400 to" in str(incomplete)
    assert others == [counted_part(whole, number) for number in (1, 2)]


def counted_part(monitor: Monitor, number: int) -> bytes:
    """Return the counts of a partition."""
    return monitor._partitions[number].counts.to_bytes()


def test_a_topic_that_is_created_again_is_another_log(cluster: Cluster, topic: str, state: str) -> None:
    """It ends before the stored offset, so that what is in it was never counted; no policy allows to guess."""
    found = [record for record in renamed(MESSY, topic) if record.partition == 0]
    produce(cluster.servers, found)
    with reading(state, servers=cluster.servers, predictions=topic) as (monitor, source):
        read(monitor, source, lambda: at(monitor) == ends(found))
    other = Cluster({topic: 3})
    produce(other.servers, found[:50])

    with (
        reading(state, servers=other.servers, predictions=topic, truncated="reset") as (monitor, source),
        pytest.raises(SourceError, match="it has 0 to 50 by now; if the topic was created again"),
    ):
        read(monitor, source, lambda: False)
    other.close()


def test_the_broker_fails_and_comes_back(cluster: Cluster, topic: str, state: str) -> None:
    """Meanwhile the source says so; then it goes on, and forgets about it also where nothing comes."""
    found = renamed(MESSY, topic)
    options = KIP_848 | {"reconnect.backoff.max.ms": "100", "reconnect.backoff.ms": "20"}
    produce(cluster.servers, found[: len(found) // 2])
    with reading(state, servers=cluster.servers, predictions=topic, options=options) as (monitor, source):
        read(monitor, source, lambda: at(monitor) == ends(found[: len(found) // 2]))
        before = source.problem
        cluster.ask("down")
        read(monitor, source, lambda: source.problem)
        cluster.ask("up")
        read(monitor, source, lambda: source.problem is None)
        produce(cluster.servers, found[len(found) // 2 :])
        read(monitor, source, lambda: at(monitor) == ends(found))

    assert before is None
    check(state, found, KEPT)


def test_a_broker_that_hangs_is_a_problem(
    topic: str, state: str, monkeypatch: pytest.MonkeyPatch, cluster: Cluster
) -> None:
    """Its connections stay open, and the client says nothing for a minute; lag would be that of before."""
    monkeypatch.setattr(kafka_topic_ids, "EVERY", 0.2)
    monkeypatch.setattr(kafka_topic_ids, "SLOW", 0.5)
    stream = renamed(MESSY, topic)
    produce(cluster.servers, stream[: len(stream) // 2])
    with reading(state, servers=cluster.servers, predictions=topic) as (monitor, source):
        read(monitor, source, lambda: at(monitor) == ends(stream[: len(stream) // 2]))
        before = source.problem
        cluster.send_signal(signal.SIGSTOP)
        try:
            problem = read(monitor, source, lambda: source.problem)
        finally:
            cluster.send_signal(signal.SIGCONT)
        read(monitor, source, lambda: source.problem is None)
        produce(cluster.servers, stream[len(stream) // 2 :])
        read(monitor, source, lambda: at(monitor) == ends(stream))

    assert before is None
    assert cluster.servers in problem
    check(state, stream, KEPT)


def test_a_lost_assignment_is_read_again(
    cluster: Cluster, topic: str, state: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit is refused as one of another generation: what is not in a checkpoint is forgotten and read again."""
    monkeypatch.setattr(kafka, "AT_ONCE", 20)
    monkeypatch.setattr(kafka, "EVERY", 0.0)
    found = renamed(MESSY, topic)
    options = {"session.timeout.ms": "2000", "heartbeat.interval.ms": "100"}
    produce(cluster.servers, found)
    with reading(state, servers=cluster.servers, predictions=topic, options=options) as (monitor, source):
        read(monitor, source, lambda: sum(at(monitor).values()) > 100)
        cluster.ask("fail", COMMIT, ILLEGAL_GENERATION)
        read(monitor, source, lambda: "were lost" in caplog.text)
        read(monitor, source, lambda: at(monitor) == ends(found))

    check(state, found, KEPT)


def test_what_fails_again_and_again_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """Attempts to reach a broker fail many times a second: one line; the client's own lines are those it alone has."""
    source = kafka.KafkaSource(config.Source(kind="kafka", predictions="x"))
    for after in range(3):
        failed = f"refused (after {after}ms in state CONNECT)"
        source._problems.note(confluent_kafka.KafkaError(confluent_kafka.KafkaError._TRANSPORT, failed))
        kafka.CLIENT.error("FAIL [x] %s", failed)
    kafka.CLIENT.error("MAXPOLL [x] exceeded")

    assert [record.getMessage() for record in caplog.records] == ["refused", "MAXPOLL [x] exceeded"]


def test_errors_in_place_of_records(cluster: Cluster, topic: str, state: str) -> None:
    """The end of a partition is none; what the client could not read leaves a hole in the counts; denied is the end."""
    codes = confluent_kafka.KafkaError
    found = [record for record in renamed(MESSY, topic) if record.partition == 0]
    produce(cluster.servers, found)
    with reading(state, servers=cluster.servers, predictions=topic) as (monitor, source):
        read(monitor, source, lambda: at(monitor) == ends(found))
        given = [codes._PARTITION_EOF, codes._BAD_MSG, codes.LEADER_NOT_AVAILABLE, codes.TOPIC_AUTHORIZATION_FAILED]
        errors = [confluent_kafka.Message(topic, partition=0, offset=5, error=codes(code)) for code in given]
        source._consumer = Spy(source._consumer, lambda most, timeout: [errors.pop(0)] if most == 1 else [])
        empty = [source.poll(0.0) for _ in range(3)]
        incomplete = monitor.view().incomplete
        with pytest.raises(SourceError, match=r"partition 0, offset 5: .*[Tt]opic authorization failed"):
            source.poll(0.0)

    assert empty == [[], [], []]
    assert len(incomplete) == 1
    assert "partition 0, offset 5: " in str(incomplete)


@pytest.mark.parametrize("options", [{}, KIP_848], ids=["eager", "kip848"])
def test_partitions_go_and_come_in_one_poll(cluster: Cluster, topic: str, state: str, options: dict[str, str]) -> None:
    """What was fetched before is not what follows the checkpoint: it is read again."""
    found = renamed(MESSY, topic)
    produce(cluster.servers, found)
    with reading(state, servers=cluster.servers, predictions=topic, options=options) as (monitor, source):
        consume, polls = source._consumer.consume, []

        def consuming(most: int, timeout: float) -> Any:
            messages = consume(min(most, 60), timeout)
            if messages and most > 1:
                polls.append(most)
            if len(polls) in (3, 6):
                there = sorted(source._places)
                places = [confluent_kafka.TopicPartition(*place) for place in there]
                source._lose(None, places)
                if source._incremental:
                    source._consumer.incremental_unassign(places)
                source._assign(None, places)
                polls.append(0)
            return messages

        source._consumer = Spy(source._consumer, consuming)
        read(monitor, source, lambda: at(monitor) == ends(found))

    assert polls.count(0) == 2
    check(state, found, KEPT)


@pytest.mark.parametrize("options", [{}, STICKY, KIP_848], ids=["eager", "cooperative", "kip848"])
def test_a_partition_that_was_claimed_too_late_is_claimed_again(
    cluster: Cluster, topic: str, state: str, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another worker claims a partition that it was assigned before, and learns later that it has lost it."""
    monkeypatch.setattr(kafka, "LATE", 0.3)
    monkeypatch.setattr(kafka, "AT_ONCE", 40)
    batches = renamed(MESSY, topic)
    produce(cluster.servers, batches)
    problems = set()
    with reading(state, servers=cluster.servers, predictions=topic, options=options) as (monitor, source):
        read(monitor, source, lambda: sum(at(monitor).values()) > 200)
        assert monitor.store is not None
        monitor.store.claim(1)

        def go_on() -> bool:
            records = source.poll(0.05)
            problems.add(source.problem)
            try:
                monitor.step(records)
                if at(monitor).items() >= ends(batches).items():
                    monitor.checkpoint()
            except StaleOwner as stale:
                problems.add(stale.part)
            return monitor.partitions == [0, 1, 2] and at(monitor) == ends(batches)

        until(lambda: go_on() and 1 in problems)
        last = source.poll(0.05), source.problem

    assert problems == {None, 1, "the partitions [1] have another owner in the state file"}
    assert last == ([], None)
    check(state, batches, KEPT)


class Spy:
    """A consumer with another `consume`."""

    def __init__(self, consumer: Any, consume: Any) -> None:
        self._consumer, self.consume = consumer, consume

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)


def test_a_topic_grows_after_the_start(
    cluster: Cluster, topic: str, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The assignment shows that partitions of the two topics differ: the worker that gets it ends, loudly."""
    cluster.ask("create", topic + ".labels", 2)
    monkeypatch.setattr(kafka.KafkaSource, "_partition_count", lambda self, name, patience: 3)
    source = {"servers": cluster.servers, "predictions": topic, "labels": topic + ".labels", "options": {}}

    with (
        reading(state, JOINED, **source) as (monitor, reader),
        pytest.raises(SourceError, match=r"the same partitions of both topics.*\[0, 1, 2\] of .* and \[0, 1\] of"),
    ):
        read(monitor, reader, lambda: False)


def test_a_stale_partition_leaves_the_others_alone(state: str) -> None:
    """A step says that a partition has another owner once the records of all others are taken."""
    told = structs.replace(KEPT, store=config.Store(every_seconds=0.001))
    mine, theirs = (Monitor(told, Store(state, shared=True), lambda: NOW) for _ in range(2))
    found = [record for part in range(3) for record in records([{"id": 1, "time": START, "truth": "a"}] * 9, part)]
    mine.assign(range(3))
    theirs.assign([0])
    mine._checkpoints._spent, mine._checkpoints._ended = 0.0, time.monotonic() - 1

    with pytest.raises(StaleOwner):
        mine.step(found)
    assert mine.partitions == [1, 2]
    assert at(mine) == {("t", 1): 9, ("t", 2): 9}
    mine.close()
    theirs.close()
