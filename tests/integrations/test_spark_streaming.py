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
from support.examples import run_example  # noqa: E402
from support.refusals import all_refused, refused  # noqa: E402
from support.spark_samples import Rows, counted  # noqa: E402

import stream_metrics as sm  # noqa: E402
from stream_metrics.integrations import spark_streaming  # noqa: E402
from stream_metrics.integrations.spark_streaming import accumulate_stream  # noqa: E402
from stream_metrics.tables.fields import Fields  # noqa: E402

SCHEMA = "site long, at timestamp, truth string, guess string, p map<string, double>"
LABELS = Fields("truth", "guess")
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
    """A folder of files that is read as a stream, one file a micro-batch, and what each micro-batch has written."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        (folder / "samples").mkdir()
        self.files = 0
        self.numbers: list[int] = []
        self.sizes: list[list[tuple[Any, int]]] = []  # of each micro-batch: keys, hours of windows, and samples
        self.latest: dict[Any, tuple[int, bytes]] = {}  # by site and time
        self.stored: list[int] = []  # groups after each micro-batch of the last query

    def write(self, *files: Rows) -> None:
        """Add files, which are read in the order of their times."""
        for rows in files:
            path = self.folder / "samples" / f"{self.files}.json"
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
            os.utime(path, (self.files, self.files))
            self.files += 1

    def run(
        self,
        prototype: Any,
        keys: Any = ("site", "at"),
        fields: Fields = FIELDS,
        step: Callable[[Iterator[Any]], Iterator[Any]] | None = None,
        delay: str | None = None,
        no_data: bool = False,
        **limits: Any,
    ) -> None:
        """Start a query from the checkpoint, if there is one, and read all files that are new to it."""
        reader = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        rows = reader.json(str(self.folder / "samples"))
        rows = rows if step is None else rows.mapInArrow(step, rows.schema)
        rows = rows if delay is None else rows.withWatermark("at", delay)
        states = accumulate_stream(rows, keys, prototype, fields, **limits)
        writer = states.writeStream.outputMode(limits.get("output_mode", "update"))
        writer = writer.option("checkpointLocation", str(self.folder / "checkpoint"))
        self.spark.conf.set(NO_DATA, str(no_data).lower())
        query = writer.trigger(availableNow=True).foreachBatch(self._take).start()
        try:
            query.awaitTermination()
        finally:
            query.stop()
            self.spark.conf.unset(NO_DATA)
        self.stored = [progress["stateOperators"][0]["numRowsTotal"] for progress in query.recentProgress]

    def _take(self, batch: Any, number: int) -> None:
        batch = batch.withColumn("at", F.unix_seconds("at")) if "at" in batch.columns else batch
        rows = batch.collect()
        self.numbers.append(number)
        hours = [row[0].start.astimezone(datetime.UTC).hour if "window" in batch.columns else row[0] for row in rows]
        self.sizes.append(sorted(((hour, row.n) for hour, row in zip(hours, rows, strict=True)), key=str))
        assert [row.n for row in rows] == [sm.from_bytes(bytes(row.state)).n for row in rows]
        if "at" in batch.columns:
            self.latest |= {(row.site, row.at): (row.n, bytes(row.state)) for row in rows}


@pytest.fixture
def stream(spark: Any, tmp_path: Path) -> Stream:
    """A stream without files."""
    return Stream(spark, tmp_path)


def test_a_query_goes_on_counting_after_a_restart(stream: Stream) -> None:
    """Two queries of one checkpoint count what one process counts; keys are what they were, null is one."""
    prototype = sm.MetricSet(scores=True)
    first, second, third = samples(1), samples(2), samples(3)[:1]
    stream.write(first, second)
    stream.run(prototype)
    middle = dict(stream.latest)
    stream.write(third)
    stream.run(prototype)

    assert stream.numbers == [0, 1, 2]
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

    stream.write(first)
    stream.run(prototype, step=step)
    stream.write(second)
    refused(partial(stream.run, prototype, step=step), StreamingQueryException, "injected")
    stream.run(prototype, step=step)

    assert stream.latest == expected(first + second, prototype)


def test_the_example_of_the_adapter_runs(spark: Any, tmp_path: Path) -> None:
    """The script in the docstring runs as it stands, but for its paths."""
    stream = Stream(spark, tmp_path)
    stream.write([{"country": "fr", "truth": "cat", "guess": guess} for guess in ("cat", "dog")])
    paths = {f'"{name}/': f'"{tmp_path}/{name}/' for name in ("samples", "checkpoint")}

    assert run_example(spark_streaming, {"spark": spark}, paths)[-1] == "0 fr 2 0.5"


def test_a_restart_with_another_prototype(stream: Stream) -> None:
    """States of the checkpoint show what the new prototype shows, and do not mix with those that count differently."""
    first, second, third = samples(8), samples(9), samples(10)
    stream.write(first)
    stream.run(sm.MetricSet(["accuracy"], scores=True))
    stream.write(second)
    stream.run(sm.MetricSet(["macro_f1", "accuracy"], scores=True))
    assert stream.latest == expected(first + second, sm.MetricSet(["macro_f1", "accuracy"], scores=True))

    stream.write(third)
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


def at_hours(hours: list[tuple[int, str]]) -> Rows:
    """Return right and wrong samples at half past some hours."""
    return [{"at": f"2026-01-05T{hour:02}:30:00Z", "truth": "cat", "guess": guess} for hour, guess in hours]


@pytest.mark.parametrize(("mode", "ttl"), [("append", None), ("update", 3600)])
def test_windows_of_event_time_end_at_the_watermark(stream: Stream, mode: Any, ttl: float | None) -> None:
    """Complete windows are written once, in the mode "append"; late rows are not counted, unless the limit is a ttl."""
    limits = {"output_mode": mode, "ttl": ttl, "delay": None if ttl else "30 minutes"}
    for hours in HOURS:
        stream.write(at_hours(hours))  # with a ttl, micro-batches without data would go on for ever
        stream.run(sm.MetricSet(), F.window("at", "1 hour"), LABELS, no_data=ttl is None, **limits)

    expected = {10: [2, 3, 4] if ttl else [2], 11: [1], 12: [1], 14: [1], 16: [] if mode == "append" else [1]}
    assert {hour: [n for rows in stream.sizes for at, n in rows if at == hour] for hour in expected} == expected


def test_stored_groups_go_with_their_limit(stream: Stream) -> None:
    """A group is dropped after its time to live, and starts empty with its next row."""
    stream.write(*([{"site": site, "truth": "cat", "guess": "cat"} for site in day] for day in ([1, 2], [3], [1])))
    stream.run(sm.MetricSet(), "site", LABELS, ttl=0.001)

    assert (stream.sizes, stream.stored) == ([[(1, 1), (2, 1)], [(3, 1)], [(1, 1)]], [2, 1, 1])


@pytest.mark.parametrize("mode", ["append", "update"])
def test_windows_between_two_watermarks(stream: Stream, mode: Any) -> None:
    """A row that is late by the watermark of its micro-batch, but not by the previous one, is counted."""
    stream.write(*(at_hours([(hour, "cat") for hour in hours]) for hours in ([12], [10], [10], [9, 14], [15])))
    stream.run(sm.MetricSet(), F.window("at", "1 hour"), LABELS, delay="10 minutes", output_mode=mode)

    shown = {
        "append": [[], [(10, 1)], [], [], [(12, 1)]],
        "update": [[(12, 1)], [(10, 1)], [], [(14, 1)], [(15, 1)]],
    }
    assert (stream.sizes, stream.stored) == (shown[mode], [1, 1, 1, 2, 2])


def test_what_is_wrong_is_said_before_anything_runs(spark: Any) -> None:
    """Options that do not go together, a stream without keys, and keys that stores cannot compare are refused."""
    df = spark.createDataFrame([], "n long, key string, y_true string, y_pred string")
    calls: list[tuple[dict[str, Any], str]] = [
        ({"keys": []}, "Expected `keys` to be one column or more"),
        ({"output_mode": "append"}, "Expected `output_mode` to be 'update', or 'append' with a window"),
        ({"output_mode": "complete"}, "but got 'complete'"),
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
