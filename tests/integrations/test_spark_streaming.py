"""Structured Streaming: states that Spark keeps have the bytes of one process, across restarts and failures."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="needs PySpark")
pa = pytest.importorskip("pyarrow", reason="needs PyArrow")

import pyspark  # noqa: E402
from pyspark.errors import StreamingQueryException  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402
from support import spark_samples  # noqa: E402
from support.refusals import all_refused, refused  # noqa: E402
from support.spark_samples import Rows, counted  # noqa: E402

import stream_metrics as sm  # noqa: E402
from stream_metrics.integrations import spark_streaming  # noqa: E402
from stream_metrics.integrations.spark_streaming import accumulate_stream  # noqa: E402
from stream_metrics.integrations.tables import Fields  # noqa: E402

SCHEMA = "site long, at timestamp, truth string, guess string, p map<string, double>"
SITES = (2**62 + 1, -1, None)
FOUR = pyspark.__version__ >= "4"
TIMES = {"2026-10-25T00:30:00Z": 1_792_888_200, "2026-10-25T01:30:00Z": 1_792_891_800}  # both half past two in Paris
FIELDS = Fields("truth", "guess", "p")
NO_DATA = "spark.sql.streaming.noDataMicroBatches.enabled"
samples = partial(spark_samples.samples, n=60, site=SITES, at=list(TIMES))


def expected(rows: Rows, prototype: Any) -> dict[Any, tuple[int, bytes]]:
    """Return the size and the bytes of each site and time as one process counts them."""
    totals = {}
    for key in dict.fromkeys((row["site"], row["at"]) for row in rows):
        of_key = [row for row in rows if (row["site"], row["at"]) == key]
        state = counted(of_key, prototype)
        totals[key[0], TIMES[key[1]]] = state.n, state.to_bytes()
    return totals


class Stream:
    """A folder of files that is read as a stream, one file a micro-batch, and what has come out by site and time."""

    def __init__(self, spark: Any, folder: Path, operator: Any) -> None:
        self.spark, self.folder, self.operator = spark, folder, operator
        (folder / "samples").mkdir()
        self.latest: dict[Any, tuple[int, bytes]] = {}
        self.batches: list[int] = []

    def write(self, name: str, rows: Rows) -> None:
        """Add a file."""
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (self.folder / "samples" / f"{name}.json").write_text(lines)

    def run(self, prototype: Any, step: Callable[[Iterator[Any]], Iterator[Any]] | None = None) -> None:
        """Start a query from the checkpoint, if there is one, and read all files that are new to it."""
        reader = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        rows = reader.json(str(self.folder / "samples"))
        rows = rows if step is None else rows.mapInArrow(step, rows.schema)
        states = accumulate_stream(rows, ["site", "at"], prototype, FIELDS, operator=self.operator)
        writer = states.writeStream.outputMode("update").option("checkpointLocation", str(self.folder / "checkpoint"))
        query = writer.trigger(availableNow=True).foreachBatch(self._take).start()
        try:
            query.awaitTermination()
        finally:
            query.stop()

    def _take(self, batch: Any, number: int) -> None:
        self.batches.append(number)
        for row in batch.selectExpr("site", "unix_seconds(at) AS at", "n", "state").collect():
            self.latest[row.site, row.at] = row.n, bytes(row.state)


@pytest.fixture(
    params=[
        "applyInPandasWithState",
        pytest.param("transformWithState", marks=pytest.mark.skipif(not FOUR, reason="needs PySpark 4")),
    ]
)
def operator(request: pytest.FixtureRequest, spark: Any) -> Iterator[str]:
    """Each operator of Spark that stores states, with a store that it runs with."""
    name = "spark.sql.streaming.stateStore.providerClass"
    if request.param == "transformWithState":
        pytest.importorskip("google.protobuf", reason="needs protobuf")
        spark.conf.set(name, "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider")
    yield request.param
    spark.conf.unset(name)


@pytest.fixture
def stream(spark: Any, tmp_path: Path, operator: str) -> Stream:
    """A stream without files."""
    return Stream(spark, tmp_path, operator)


def test_a_query_goes_on_counting_after_a_restart(stream: Stream) -> None:
    """Two queries of one checkpoint count what one process counts; keys are what they were, null is one."""
    prototype = sm.MetricSet(scores=True)
    first, second, third = samples(1), samples(2), samples(3)[:1]
    stream.write("1", first)
    stream.write("2", second)

    stream.run(prototype)
    middle = dict(stream.latest)
    stream.write("3", third)
    stream.run(prototype)

    assert stream.batches == [0, 1, 2]
    assert middle == expected(first + second, prototype)
    assert stream.latest == expected(first + second + third, prototype)


def test_a_micro_batch_that_fails_is_counted_once(stream: Stream, tmp_path: Path) -> None:
    """A task that ends in the middle is run again; a query that fails goes on where its checkpoint is."""
    prototype = sm.MetricSet(scores=True)
    first, second = samples(4), samples(5)
    path = str(tmp_path / "attempts")

    def step(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield batch
            with open(path, "a") as file:
                file.write(".")
            attempts = os.path.getsize(path)
            if attempts == 1:
                os._exit(1)
            if 3 <= attempts <= 6:
                raise RuntimeError("injected")

    stream.write("1", first)
    stream.run(prototype, step)
    stream.write("2", second)
    refused(partial(stream.run, prototype, step), StreamingQueryException, "injected")
    stream.run(prototype, step)

    assert stream.latest == expected(first + second, prototype)


@pytest.mark.skipif(not FOUR, reason="needs PySpark 4")
def test_a_checkpoint_of_the_other_operator_is_refused(stream: Stream, operator: str) -> None:
    """A query whose operator has changed fails instead of starting with empty counts."""
    others = {"applyInPandasWithState": "transformWithState", "transformWithState": "applyInPandasWithState"}
    stream.write("1", samples(6))
    stream.run(sm.MetricSet(scores=True))
    before, stream.operator = dict(stream.latest), others[operator]
    stream.write("2", samples(7))

    changed = partial(stream.run, sm.MetricSet(scores=True))
    refused(changed, StreamingQueryException, "operator name does not match with the operator in state")
    assert stream.latest == before


def test_the_example_of_the_adapter_runs(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The script in the docstring runs as it stands, but for its paths."""
    stream = Stream(spark, tmp_path, None)
    stream.write("1", [{"country": "fr", "truth": "cat", "guess": guess} for guess in ("cat", "dog")])
    lines = [line[4:] for line in str(spark_streaming.__doc__).splitlines() if line.startswith("    ")]
    script = "\n".join(lines).replace('"samples/', f'"{stream.folder}/samples/')

    exec(script.replace('"checkpoint/', f'"{stream.folder}/checkpoint/'), {"spark": spark})

    assert capsys.readouterr().out.splitlines()[-1] == "0 fr 2 0.5"


def test_a_restart_with_another_prototype(stream: Stream) -> None:
    """States of the checkpoint show what the new prototype shows, and do not mix with those that count differently."""
    first, second, third = samples(8), samples(9), samples(10)
    stream.write("1", first)
    stream.run(sm.MetricSet(["accuracy"], scores=True))
    stream.write("2", second)
    stream.run(sm.MetricSet(["macro_f1", "accuracy"], scores=True))
    assert stream.latest == expected(first + second, sm.MetricSet(["macro_f1", "accuracy"], scores=True))

    stream.write("3", third)
    before = dict(stream.latest)
    refused(partial(stream.run, sm.MetricSet(scores=True, buckets=16)), StreamingQueryException, "MergeError")
    assert stream.latest == before


HOURS = [
    [(10, "cat"), (10, "dog"), (11, "cat")],
    [(12, "cat"), (10, "cat")],
    [(14, "dog")],
    [(10, "cat"), (16, "dog")],
    [],
]


@pytest.mark.parametrize(("mode", "ttl"), [("append", None), ("update", None), ("update", 3600)])
def test_windows_of_event_time_end_at_the_watermark(
    spark: Any, tmp_path: Path, operator: Any, mode: Any, ttl: float | None
) -> None:
    """Complete windows are written once, in the mode "append"; late rows are not counted, unless the limit is a ttl."""
    spark.conf.set(NO_DATA, str(ttl is None).lower())  # with a ttl they would go on for ever
    (tmp_path / "in").mkdir()
    out: list[tuple[int, int, int]] = []
    for number, rows in enumerate(HOURS):
        lines = [
            json.dumps({"at": f"2026-01-05T{hour}:30:00Z", "truth": "cat", "guess": guess}) for hour, guess in rows
        ]
        (tmp_path / "in" / f"{number}.json").write_text("\n".join(lines))
        stream = spark.readStream.schema("at timestamp, truth string, guess string").json(str(tmp_path / "in"))
        stream = stream if ttl else stream.withWatermark("at", "30 minutes")
        limits = {"output_mode": mode, "ttl": ttl, "operator": operator}
        states = accumulate_stream(stream, F.window("at", "1 hour"), sm.MetricSet(), Fields("truth", "guess"), **limits)

        def take(batch: Any, number: int) -> None:
            for row in batch.selectExpr("extract(hour FROM window.start) - 1 AS hour", "n", "state").collect():
                out.append((int(row.hour), row.n, sm.from_bytes(bytes(row.state)).n))

        writer = states.writeStream.outputMode(mode).option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).foreachBatch(take).start().awaitTermination()

    spark.conf.unset(NO_DATA)
    sizes = {hour: [n for h, n, _ in out if h == hour] for hour in (10, 11, 12, 14, 16)}
    assert all(n == counted for _, n, counted in out)
    if mode == "append":
        assert sizes == {10: [2], 11: [1], 12: [1], 14: [1], 16: []}
    elif ttl:
        assert sizes == {10: [2, 3, 4], 11: [1], 12: [1], 14: [1], 16: [1]}
    else:
        assert sizes == {10: [2], 11: [1], 12: [1], 14: [1], 16: [1]}


def test_stored_groups_go_with_their_limit(spark: Any, tmp_path: Path, operator: Any) -> None:
    """A group is dropped after its time to live, and starts empty with its next row."""
    days = [["a", "b"], ["c"], ["a"]]
    rows = [[{"key": key, "y_true": "cat", "y_pred": "cat"} for key in day] for day in days]

    batches = micro_batches(spark, tmp_path, rows, "key", ttl=0.001, operator=operator)

    assert batches == [([("a", 1), ("b", 1)], 2), ([("c", 1)], 1), ([("a", 1)], 1)]


@pytest.mark.parametrize("mode", ["append", "update"])
def test_windows_between_two_watermarks(spark: Any, tmp_path: Path, operator: Any, mode: Any) -> None:
    """A row that is late by the watermark of its micro-batch, but not by the previous one, is counted."""
    hours = [[12], [10], [10], [9, 14], [15]]
    rows = [
        [{"at": f"2026-01-05T{hour:02}:30:00Z", "y_true": "cat", "y_pred": "cat"} for hour in batch] for batch in hours
    ]

    batches = micro_batches(spark, tmp_path, rows, F.window("at", "1 hour"), output_mode=mode, operator=operator)

    shown = {
        "append": [[], [(10, 1)], [], [], [(12, 1)]],
        "update": [[(12, 1)], [(10, 1)], [], [(14, 1)], [(15, 1)]],
    }
    stored = [1, 1, 1, 2, 2]
    assert batches == list(zip(shown[mode], stored, strict=True))


def micro_batches(spark: Any, folder: Path, batches: list[Rows], key: Any, **limits: Any) -> list[tuple[Any, int]]:
    """Return for each micro-batch of one query what it writes, and how many groups are stored after it."""
    (folder / "in").mkdir()
    for number, rows in enumerate(batches):
        path = folder / "in" / f"{number}.json"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(path, (number, number))  # files are read in the order of their times
    reader = spark.readStream.schema("key string, at timestamp, y_true string, y_pred string")
    stream = reader.option("maxFilesPerTrigger", 1).json(str(folder / "in"))
    if not isinstance(key, str):
        stream = stream.withWatermark("at", "10 minutes")
    out: list[Any] = []

    def take(batch: Any, number: int) -> None:
        rows = batch.collect()
        out.append(
            sorted(
                (row[0] if isinstance(key, str) else row[0].start.astimezone(datetime.UTC).hour, row.n) for row in rows
            )
        )

    spark.conf.set(NO_DATA, "false")
    states = accumulate_stream(stream, key, sm.MetricSet(), **limits)
    writer = states.writeStream.outputMode(limits.get("output_mode", "update"))
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).foreachBatch(take).start()
    query.awaitTermination()
    spark.conf.unset(NO_DATA)
    return list(zip(out, [p["stateOperators"][0]["numRowsTotal"] for p in query.recentProgress], strict=True))


def test_what_is_wrong_is_said_before_anything_runs(spark: Any) -> None:
    """Options that do not go together, a stream without keys, and keys that stores cannot compare are refused."""
    df = spark.createDataFrame([], "n long, key string, y_true string, y_pred string")
    calls: list[tuple[dict[str, Any], str]] = [
        ({"keys": []}, "Expected `keys` to be one column or more"),
        ({"output_mode": "append"}, "Expected `output_mode` to be 'update', or 'append' with a window"),
        ({"output_mode": "complete"}, "but got 'complete'"),
        ({"operator": "mapGroupsWithState"}, "Expected `operator` to be one of"),
        ({"ttl": 0}, "Expected `ttl` to be seconds above 0"),
    ]
    if FOUR:  # text of any case, also inside a struct, would be counted by its bytes
        for key in ("collate(key, 'UTF8_LCASE')", "struct(array(collate(key, 'UNICODE_CI')))"):
            calls.append(({"keys": F.expr(key).alias("k")}, "to be compared by their bytes, but 'k'"))
    count = partial(accumulate_stream, df)
    all_refused(
        (partial(count, **{"keys": "n", "prototype": sm.MetricSet(), **named}), ValueError, about)
        for named, about in calls
    )
