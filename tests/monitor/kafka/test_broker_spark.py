"""A real Kafka read by Spark: batches and streams of a topic have the bytes of one process."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

confluent_kafka = pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")
pytest.importorskip("pyspark", reason="needs PySpark")
pytest.importorskip("pyarrow", reason="needs PyArrow")

from pyspark.sql import functions as F  # noqa: E402
from support import spark_samples  # noqa: E402
from support.kafka_broker import Broker  # noqa: E402
from support.spark_samples import Rows, counted  # noqa: E402
from support.spark_session import KAFKA_JARS  # noqa: E402

import stream_metrics as sm  # noqa: E402
from stream_metrics.integrations.spark import accumulate  # noqa: E402
from stream_metrics.integrations.spark_streaming import accumulate_stream  # noqa: E402
from stream_metrics.integrations.tables import Fields  # noqa: E402

NEEDED = "needs Spark's source of Kafka: mvn -q -f .ci/jars/spark-kafka.xml dependency:copy-dependencies"
pytestmark = pytest.mark.skipif(not KAFKA_JARS, reason=NEEDED)
SCHEMA = "site string, truth string, guess string, p map<string, double>"
FIELDS = Fields("truth", "guess", "p")
EMPTY = sm.MetricSet(scores=True)
samples = partial(spark_samples.samples, n=200, site="ab")


def write(broker: Broker, topic: str, rows: Rows, commit: bool = True) -> None:
    """Write rows to three partitions in a transaction, and commit or abort it."""
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.servers, "transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    for at, row in enumerate(rows):
        producer.produce(topic, json.dumps(row).encode(), partition=at % 3)
    producer.flush(30)
    (producer.commit_transaction if commit else producer.abort_transaction)(30)


def rows_of(reader: Any, broker: Broker, topic: str, **options: str) -> Any:
    """Return the rows of a topic, without those of transactions that were aborted."""
    given = {"kafka.bootstrap.servers": broker.servers, "subscribe": topic, "startingOffsets": "earliest", **options}
    frame = reader.format("kafka").options(**given, **{"kafka.isolation.level": "read_committed"}).load()
    return frame.select(F.from_json(F.col("value").cast("string"), SCHEMA).alias("row")).select("row.*")


def test_a_topic_in_one_batch(spark: Any, broker: Broker, topic: str) -> None:
    """As a whole, and in two ranges of offsets whose states are merged."""
    first, second = samples(1), samples(2)
    write(broker, topic, first)
    write(broker, topic, samples(3), commit=False)
    write(broker, topic, second)
    middle = json.dumps({topic: {str(part): 100 for part in range(3)}})

    whole = accumulate(rows_of(spark.read, broker, topic), EMPTY, FIELDS)
    halves = [
        accumulate(rows_of(spark.read, broker, topic, **{name: middle}), EMPTY, FIELDS)
        for name in ("endingOffsets", "startingOffsets")
    ]

    assert whole.to_bytes() == counted(first + second, EMPTY).to_bytes()
    assert (halves[0] + halves[1]).to_bytes() == whole.to_bytes()


def test_a_topic_as_a_stream(spark: Any, broker: Broker, topic: str, tmp_path: Path) -> None:
    """Two queries of one checkpoint, small micro-batches, an aborted transaction between them."""
    first, second = samples(4), samples(5)
    latest: dict[str, bytes] = {}
    numbers: list[int] = []

    def take(batch: Any, number: int) -> None:
        numbers.append(number)
        latest.update({row.site: bytes(row.state) for row in batch.collect()})

    def run() -> None:
        rows = rows_of(spark.readStream, broker, topic, maxOffsetsPerTrigger="150")
        states = accumulate_stream(rows, ["site"], EMPTY, FIELDS)
        writer = states.writeStream.outputMode("update").option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.trigger(availableNow=True).foreachBatch(take).start()
        query.awaitTermination()

    write(broker, topic, first)
    run()
    write(broker, topic, samples(6), commit=False)
    write(broker, topic, second)
    run()

    wanted = {site: counted([row for row in first + second if row["site"] == site], EMPTY).to_bytes() for site in "ab"}
    assert len(numbers) >= 4
    assert latest == wanted
