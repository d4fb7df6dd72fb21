"""Topics of a mock Kafka, read in this process: each protocol, gaps, poison, two topics, what is refused."""

from __future__ import annotations

import pytest

confluent_kafka = pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")

from support.kafka_mock import Cluster  # noqa: E402
from support.kafka_topics import JOINED, KEPT, KIP_848, at, check, ends, halves, messy, produce, read, reading, renamed  # noqa: E402
from support.monitor_events import NOW, START, lines  # noqa: E402

from stream_metrics.monitor.events.records import Record  # noqa: E402
from stream_metrics.monitor.sources import kafka  # noqa: E402
from stream_metrics.monitor.sources.kafka_options import SourceError  # noqa: E402

STICKY = {"partition.assignment.strategy": "cooperative-sticky"}
MESSY = messy(300, 3)


@pytest.mark.parametrize("options", [{}, STICKY, KIP_848], ids=["eager", "cooperative", "kip848"])
def test_everything_is_read(cluster: Cluster, topic: str, state: str, options: dict[str, str]) -> None:
    """In two lives, of two groups as the mock is slow to let one back in; in the end Kafka knows of the checkpoints."""
    found = renamed(MESSY, topic)
    produce(cluster.servers, found)
    given = {"servers": cluster.servers, "predictions": topic, "options": options}
    with reading(state, **given, group=topic + "1") as (monitor, source):
        read(monitor, source, lambda: sum(at(monitor).values()) > 400)
        first = at(monitor)
    with reading(state, **given, group=topic + "2") as (monitor, source):
        read(monitor, source, lambda: source.lag() == dict.fromkeys(ends(found), 0))
        last = at(monitor)
    asking = confluent_kafka.Consumer({"bootstrap.servers": cluster.servers, "group.id": topic + "2"})
    told = asking.committed([confluent_kafka.TopicPartition(*place) for place in ends(found)], timeout=30)
    asking.close()

    assert first != {}
    assert last == ends(found)
    assert {(each.topic, each.partition): each.offset for each in told} == ends(found)
    check(state, found, KEPT)


def test_offsets_have_gaps(cluster: Cluster, topic: str, state: str) -> None:
    """Transactions leave records of their own, which are no events: an offset is not a count."""
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.servers, "transactional.id": topic})
    producer.init_transactions(10)
    found: list[Record] = []
    values = [record.value for record in MESSY if record.partition == 0][:300]
    for start in range(0, 300, 50):
        producer.begin_transaction()
        for value in values[start : start + 50]:
            offset = len(found) + start // 50
            found.append(Record(topic, 0, offset, offset + 1, NOW, None, value))
            producer.produce(topic, value, partition=0, timestamp=int(NOW * 1000))
        producer.commit_transaction(10)

    with reading(state, servers=cluster.servers, predictions=topic) as (monitor, source):
        read(monitor, source, lambda: at(monitor) == {(topic, 0): 306})
        lag = source.lag()

    assert ends(found) == {(topic, 0): 305}  # and the end of the last transaction
    assert lag == {(topic, part): 0 for part in range(3)}
    check(state, [*found[:-1], found[-1]._replace(next=306)], KEPT)


def test_corrupted_and_oversized_records(cluster: Cluster, topic: str, state: str) -> None:
    """They are rejected where they are, and the others are counted; a record without a value is no event either."""
    event = lines([{"id": 1, "time": START, "prediction": "cat", "truth": "cat"}])[0]
    large = lines([{"id": 2, "time": START, "prediction": "cat", "truth": "dog", "more": "x" * 900_000}])[0]
    values = [event, b"\xff\xfe", b"", None, b"{" * 900_000, large, event[:-1], b"null", event.replace(b"1,", b"3,", 1)]
    found = [Record(topic, 0, at, at + 1, NOW, b"key", value) for at, value in enumerate(values)]
    produce(cluster.servers, found)
    with reading(state, servers=cluster.servers, predictions=topic) as (monitor, source):
        read(monitor, source, lambda: at(monitor) == ends(found))
        letters = {tuple(letter[:4]) for letter in monitor._source.letters}
        joined = monitor.stats().joined

    assert letters == {(topic, 0, at, "decode") for at in (1, 2, 3, 4, 6, 7)}
    assert joined == 3
    check(state, found, KEPT)


def test_two_topics(cluster: Cluster, topic: str, state: str) -> None:
    """Predictions find labels of another topic."""
    cluster.ask("create", topic + ".labels", 3)
    names = {"p": topic, "l": topic + ".labels"}
    found = [record._replace(topic=names[record.topic]) for record in halves(200, 3)]
    produce(cluster.servers, found)
    source = {"servers": cluster.servers, "predictions": names["p"], "labels": names["l"], "options": {}}
    with reading(state, JOINED, **source) as (monitor, reader):
        read(monitor, reader, lambda: at(monitor) == ends(found))
        joined = monitor.stats().joined

    assert joined == 3 * 197
    check(state, found, JOINED)


def test_topics_that_cannot_be_joined(cluster: Cluster, topic: str, state: str) -> None:
    """Unequal numbers of partitions, and assignors that keep partitions apart, fail at the start."""
    cluster.ask("create", topic + ".labels", 2)
    source = {"servers": cluster.servers, "predictions": topic, "labels": topic + ".labels"}

    with pytest.raises(SourceError, match="equally many partitions, but they have"), reading(state, **source):
        pass
    with (
        pytest.raises(ValueError, match="'range', but got 'roundrobin'"),
        reading(state, **source, options={"partition.assignment.strategy": "roundrobin"}),
    ):
        pass


SECRET = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "me"}


def test_a_topic_that_takes_the_place_of_another_is_refused(cluster: Cluster, topic: str, state: str) -> None:
    """Also beside one that stays: its events may be those that were counted. A topic may be added or left out."""
    predictions = [Record(topic, 0, 0, 1, NOW, None, lines([{"id": 1, "time": START, "prediction": "a"}])[0])]
    for name in (topic + "-labels", topic + "-new"):
        cluster.ask("create", name, 3)
        produce(cluster.servers, renamed(predictions, name))
    produce(cluster.servers, predictions)
    given = {"servers": cluster.servers, "labels": topic + "-labels"}
    with reading(state, predictions=topic, **given) as (monitor, source):
        read(monitor, source, lambda: at(monitor) == {(topic, 0): 1, (topic + "-labels", 0): 1})
    with pytest.raises(SourceError, match="each model needs a state file"), reading(
        state, predictions=topic + "-new", **given
    ):
        pass
    with reading(state, predictions=topic, **given | {"labels": "", "group": "again"}) as (monitor, source):
        read(monitor, source, lambda: monitor.partitions)


def test_a_store_of_another_model_is_refused(cluster: Cluster, topic: str, state: str) -> None:
    """Its topics are others: nothing of it is claimed, and nothing added to it."""
    found = [Record(topic, 0, 0, 1, NOW, None, lines([{"id": 1, "time": START, "prediction": "a", "truth": "a"}])[0])]
    produce(cluster.servers, found)
    produce(cluster.servers, renamed(found, f"{topic}-other"))
    with reading(state, servers=cluster.servers, predictions=topic) as (monitor, source):
        read(monitor, source, lambda: at(monitor) == ends(found))

    said = rf"store of the topics \['{topic}-other'\], but it has counts of \['{topic}'\]"
    with (
        pytest.raises(SourceError, match=said),
        reading(state, servers=cluster.servers, predictions=f"{topic}-other"),
    ):
        pass
    check(state, found, KEPT)


def test_an_option_that_there_is_not(state: str) -> None:
    """It fails at the start, with a reason that has no password in it."""
    options = {"sasl.password": "hunter2", "hunter.hunter2": "1"}
    with (
        pytest.raises(SourceError, match=r'No such configuration property: "hunter\.\*\*\*"'),
        reading(state, servers="127.0.0.1:1", predictions="t", options=options),
    ):
        pass


def test_a_broker_that_is_not_there_yet(
    topic: str, cluster: Cluster, state: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is waited for: the reason is said, once and without passwords; when it comes, all is read."""
    monkeypatch.setattr(kafka, "PATIENCE", 0.2)
    options = SECRET | {"sasl.password": "hunter2"}
    with reading(state, servers="127.0.0.1:1", predictions=topic, options=options) as (monitor, source):
        read(monitor, source, lambda: source.problem)
        away = source.problem
        for _ in range(3):
            assert source.poll(0.01) == []
        lag = source.lag()
    assert "Kafka at 127.0.0.1:1: " in str(away)
    assert lag is None
    assert caplog.text.count("waiting until it answers") == 1
    assert "hunter2" not in str(away) + caplog.text

    found = renamed(MESSY, topic)
    produce(cluster.servers, found)
    cluster.ask("down")
    with reading(state, servers=cluster.servers, predictions=topic) as (monitor, source):
        before = source.problem
        cluster.ask("up")
        read(monitor, source, lambda: at(monitor) == ends(found))
        after = source.problem

    assert before is not None
    assert after is None
    check(state, found, KEPT)


def test_latest_begins_at_the_end(cluster: Cluster, topic: str, state: str) -> None:
    """Where nothing was ever counted, if it is asked for; what comes then is counted from there on, in every life."""
    found = [record for record in renamed(MESSY, topic) if record.partition == 0][:300]
    source = {"servers": cluster.servers, "predictions": topic, "options": KIP_848 | {"auto.offset.reset": "latest"}}
    produce(cluster.servers, found[:100])
    with reading(state, **source) as (monitor, reader):
        read(monitor, reader, lambda: reader.lag() == {(topic, number): 0 for number in range(3)})
        produce(cluster.servers, found[100:200])
        read(monitor, reader, lambda: at(monitor) == {(topic, 0): 200})
    produce(cluster.servers, found[200:])
    with reading(state, **source) as (monitor, reader):
        read(monitor, reader, lambda: at(monitor) == {(topic, 0): 300})

    check(state, found[100:], KEPT)
