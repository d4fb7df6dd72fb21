"""Structured Streaming: states that Spark keeps have the bytes of one process, across restarts and failures."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="needs PySpark")
pa = pytest.importorskip("pyarrow", reason="needs PyArrow")

from pyspark.errors import StreamingQueryException  # noqa: E402

import stream_metrics as sm  # noqa: E402
from stream_metrics.integrations import spark_streaming  # noqa: E402
from stream_metrics.integrations.spark_streaming import accumulate_stream  # noqa: E402
from stream_metrics.integrations.tables import Fields  # noqa: E402

SCHEMA = "site long, at timestamp, truth string, guess string, p map<string, double>"
SITES = (2**62 + 1, -1, None)
TIMES = {"2026-10-25T00:30:00Z": 1_792_888_200, "2026-10-25T01:30:00Z": 1_792_891_800}  # both half past two in Paris
FIELDS = Fields("truth", "guess", "p")

Rows = list[dict[str, Any]]


def samples(seed: int, n: int = 60) -> Rows:
    """Return samples of three sites, one without a number, at two times, some without a prediction."""
    rng = random.Random(seed)
    rows: Rows = []
    for _ in range(n):
        p = round(rng.random(), 3)
        guess = None if rng.random() < 0.1 else "cat" if p > 0.5 else "dog"
        scores = {"cat": p, "dog": 1 - p}
        keys = {"site": rng.choice(SITES), "at": rng.choice(list(TIMES))}
        rows.append({**keys, "truth": rng.choice(["cat", "dog"]), "guess": guess, "p": scores})
    return rows


def expected(rows: Rows, prototype: Any) -> dict[Any, tuple[int, bytes]]:
    """Return the size and the bytes of each site and time as one process counts them."""
    found = {}
    for key in dict.fromkeys((row["site"], row["at"]) for row in rows):
        of_key = [row for row in rows if (row["site"], row["at"]) == key]
        truth, guess, p = ([row[name] for row in of_key] for name in ("truth", "guess", "p"))
        state = prototype.copy()
        state.update_many(truth, guess, scores=p)
        found[key[0], TIMES[key[1]]] = state.n, state.to_bytes()
    return found


class Stream:
    """A folder of files that is read as a stream, one file a micro-batch, and what has come out by site and time."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark, self.folder = spark, folder
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
        states = accumulate_stream(rows, ["site", "at"], prototype, FIELDS)
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


@pytest.fixture
def stream(spark: Any, tmp_path: Path) -> Stream:
    """A stream without files."""
    return Stream(spark, tmp_path)


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
    with pytest.raises(StreamingQueryException, match="injected"):
        stream.run(prototype, step)
    stream.run(prototype, step)

    assert stream.latest == expected(first + second, prototype)


def test_the_example_of_the_adapter_runs(spark: Any, stream: Stream, capsys: pytest.CaptureFixture[str]) -> None:
    """The script in the docstring runs as it stands, but for its paths."""
    stream.write("1", [{"country": "fr", "truth": "cat", "guess": guess} for guess in ("cat", "dog")])
    lines = [line[4:] for line in str(spark_streaming.__doc__).splitlines() if line.startswith("    ")]
    script = "\n".join(lines).replace('"samples/', f'"{stream.folder}/samples/')

    exec(script.replace('"checkpoint/', f'"{stream.folder}/checkpoint/'), {"spark": spark})

    assert capsys.readouterr().out.splitlines()[-1] == "0 fr 2 0.5"


class Stored:
    """What Spark keeps of a group, of which it hands out the state."""

    exists = True

    def __init__(self, state: sm.MetricSet) -> None:
        self.get = (bytearray(state.to_bytes()),)

    def update(self, value: tuple[bytes]) -> None:
        """Keep another state."""
        self.get = (bytearray(value[0]),)


def restarted(stored: sm.MetricSet, fresh: sm.MetricSet) -> sm.MetricSet:
    """Return what Spark keeps of a group after the first micro-batch of a query that was restarted."""
    part = pa.record_batch({"site": [1], "state": [fresh.to_bytes()]})
    frames = [batch.to_pandas() for batch in spark_streaming._pack(iter([part]))]
    group = Stored(stored)
    list(spark_streaming._update((1,), iter(frames), group))
    return sm.MetricSet.from_bytes(bytes(group.get[0]))


def test_a_restart_with_one_more_metric_goes_on() -> None:
    """The states of the checkpoint show what the new prototype shows."""
    stored, fresh, whole = sm.MetricSet(["accuracy"]), *(sm.MetricSet(["macro_f1", "accuracy"]) for _ in range(2))
    for state in (stored, whole):
        state.update("a", "b")
    for state in (fresh, whole):
        state.update("b", "b")

    assert restarted(stored, fresh) == whole


def test_a_restart_that_counts_something_else_fails() -> None:
    """States of the checkpoint are not mixed with those that count differently."""
    with pytest.raises(sm.MergeError, match=r"one keeps scores, the other labels only; reconfigured\(scores=False\)"):
        restarted(sm.MetricSet(scores=True), sm.MetricSet())


@pytest.mark.parametrize("keys", [[], ["n"]])
def test_what_is_wrong_with_keys_is_said_before_anything_runs(spark: Any, keys: list[str]) -> None:
    """There is a key, and none has the name of a column of the result."""
    df = spark.createDataFrame([], "n long, y_true string, y_pred string")

    with pytest.raises(ValueError, match="Expected `keys` to be one column or more, but none called 'n'"):
        accumulate_stream(df, keys, sm.MetricSet())
