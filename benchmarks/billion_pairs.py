"""How fast does `run --jobs` count pairs of labels in Parquet, beside pyarrow's `group_by` and Spark's own metrics?

By default 10^8 pairs; PAIRS=1e9 in the environment counts a billion. There are ten files of which nine are links to the
first. Commands are timed as a whole by the wall clock, start included, because that is what is waited for; a machine
with other work to do spoils that, so the time of all processors stands beside it. The scaling is that of the time that
grows with the data: what all pairs take longer than a tenth of them.

pyarrow counts in the faster of two forms of bounded memory: a thread for each processor that reads row groups as
dictionaries and groups each, and Arrow's own engine, which scans and groups with all processors. Spark has started, and
has counted once, before it is timed, with fewer pairs, and its time is compared by the pair. `MulticlassMetrics` takes
numbers, which Spark makes of the text while it reads.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.acero as acero
import pyarrow.dataset as dataset
import pyarrow.parquet as pq
import streams
from timing import Line

import stream_metrics as sm
from stream_metrics.cli.reading import Fields
from stream_metrics.cli.scores import Classes
from stream_metrics.cli.sources import InputFile
from stream_metrics.cli.tables import Reader, merge_units

PAIRS = int(float(os.environ.get("PAIRS", "1e8")))
FILES = 10
GROUP = 1 << 20  # rows of a row group
K, RIGHT = 10, 0.9
ROUNDS = 3
SPARK_PAIRS = 1_000_000
COLUMNS = ["y_true", "y_pred"]
FIELDS = Fields("y_true", "y_pred", None, None, Classes(None, None))


class Cost(NamedTuple):
    """What a command took: seconds by the wall clock, seconds of all processors, peak of memory of all processes."""

    wall: float
    cpu: float
    memory: float


def lines() -> Iterator[Line]:
    """Yield what is measured."""
    with tempfile.TemporaryDirectory() as name:
        folder, tenth, few = (Path(name, part) for part in ("all", "tenth", "few"))
        for new_folder in (folder, tenth, few):
            new_folder.mkdir()
        write(tenth / "part-0.parquet", PAIRS // FILES)
        for number in range(FILES):
            os.link(tenth / "part-0.parquet", folder / f"part-{number}.parquet")
        seconds = yield from commands(folder, tenth)
        yield from alone(tenth)
        for number in range(2):
            write(few / f"part-{number}.parquet", SPARK_PAIRS // 2)
        yield from spark(few, seconds / PAIRS)


def write(path: Path, pairs: int) -> None:
    """Write pairs of labels, dictionary-encoded."""
    names = pa.array(streams.names(K))
    kind = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema([(name, kind) for name in COLUMNS])
    with pq.ParquetWriter(path, schema) as writer:
        for seed in range(-(-pairs // GROUP)):
            columns = streams.columns(min(GROUP, pairs - seed * GROUP), K, RIGHT, seed)
            arrays = [pa.DictionaryArray.from_arrays(codes.astype(np.int32), names) for codes in columns]
            writer.write_table(pa.table(arrays, schema=schema), row_group_size=GROUP)


def commands(folder: Path, tenth: Path) -> Generator[Line, None, float]:
    """Yield whole commands, and counts by pyarrow; return the seconds of two processes."""
    state = folder.parent / "state"
    contenders: dict[str, Callable[[], Cost]] = {
        "1": lambda: run(folder, 1, state),
        "2": lambda: run(folder, 2, state),
        "1 of a tenth": lambda: run(tenth, 1, tenth.parent / "less"),
        "2 of a tenth": lambda: run(tenth, 2, tenth.parent / "less"),
        "group_by": lambda: timed(lambda: by_threads(folder)),
        "streamed": lambda: timed(lambda: streamed(folder)),
    }
    costs_of: dict[str, list[Cost]] = {name: [] for name in contenders}
    for _ in range(ROUNDS):
        for name, contender in contenders.items():
            costs_of[name].append(contender())
    best = {name: Cost(*map(min, zip(*costs, strict=True))) for name, costs in costs_of.items()}
    check(folder, state)
    two, one, group_by = best["2"], best["1"], min(best["group_by"], best["streamed"])
    yield Line(
        f"`run --jobs 2`, {PAIRS:.0e} pairs", PAIRS / two.wall / 1e6, "million pairs a second",
        figures=f"{two.wall:.2f} s by the clock, {two.cpu:.2f} s of processors",
    )  # fmt: skip
    yield Line(
        "pyarrow `group_by`, 2 threads / `run --jobs 2`", group_by.wall / two.wall, target=5, at_least=True,
        figures=f"{group_by.wall:.2f} / {two.wall:.2f} s; of processors {group_by.cpu:.2f} / {two.cpu:.2f} s",
    )  # fmt: skip
    one_more, two_more = one.wall - best["1 of a tenth"].wall, two.wall - best["2 of a tenth"].wall
    yield Line(
        "`run --jobs 1` / `run --jobs 2`, without the start", one_more / two_more, target=1.8, at_least=True,
        figures=f"{one_more:.2f} / {two_more:.2f} s; with it {one.wall:.2f} / {two.wall:.2f} s",
    )  # fmt: skip
    yield Line(
        "memory of `run --jobs 2` / of a tenth of the pairs", two.memory / best["2 of a tenth"].memory, target=1.1,
        figures=f"{two.memory:.0f} / {best['2 of a tenth'].memory:.0f} MB, three processes, shared pages three times",
    )  # fmt: skip
    return two.wall


def run(folder: Path, jobs: int, state: Path) -> Cost:
    """Time `stream-metrics run`."""
    command = [sys.executable, "-m", "stream_metrics", "run", str(folder), "--jobs", str(jobs), "--state", str(state)]
    before, begun = os.times(), time.perf_counter()
    with subprocess.Popen([*command, "--metrics", "accuracy"], stdout=subprocess.DEVNULL) as process:
        peak = watched(process)
    wall, after = time.perf_counter() - begun, os.times()
    assert process.returncode == 0
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Cost(wall, cpu, peak)


def watched(process: subprocess.Popen[bytes]) -> float:
    """Wait for a process; return the megabytes that it and those it has started had in memory at most, added up."""
    peaks: dict[int, int] = {}
    while process.poll() is None:
        time.sleep(0.02)
        pids = [process.pid]
        for pid in pids:
            try:
                pids += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
                status = Path(f"/proc/{pid}/status").read_text()
                peaks[pid] = int(status.partition("VmHWM:")[2].split()[0])
            except (OSError, IndexError):
                continue
    return sum(peaks.values()) / 1024 if peaks else float("nan")


def timed(count: Callable[[], Any]) -> Cost:
    """Time pyarrow's count of all pairs."""
    before, begun = os.times(), time.perf_counter()
    count()
    wall, after = time.perf_counter() - begun, os.times()
    return Cost(wall, after.user + after.system - before.user - before.system, float("nan"))


def by_threads(folder: Path) -> Any:
    """Return the table of all pairs with their numbers, by a thread for each processor."""
    files, threads = sorted(folder.iterdir()), os.cpu_count() or 1

    def part(number: int) -> list[Any]:
        tables = []
        for path in files:
            file = pq.ParquetFile(path, read_dictionary=COLUMNS)
            for group in range(number, file.num_row_groups, threads):
                table = file.read_row_group(group, columns=COLUMNS, use_threads=False)
                tables.append(table.group_by(COLUMNS, use_threads=False).aggregate([([], "count_all")]))
        return tables

    with ThreadPoolExecutor(threads) as pool:
        tables = [table for group in pool.map(part, range(threads)) for table in group]
    whole = pa.concat_tables(tables).unify_dictionaries().rename_columns([*COLUMNS, "n"])
    return whole.group_by(COLUMNS).aggregate([("n", "sum")])


def streamed(folder: Path) -> Any:
    """Return the same by Arrow's engine, which scans and groups with all processors."""
    scan = acero.Declaration("scan", acero.ScanNodeOptions(dataset.dataset(folder), columns=COLUMNS))
    options = acero.AggregateNodeOptions([([], "hash_count_all", None, "n")], keys=COLUMNS)
    return acero.Declaration.from_sequence([scan, acero.Declaration("aggregate", options)]).to_table()


def check(folder: Path, state: Path) -> None:
    """Compare the state that the last command saved with pyarrow's count."""
    table = by_threads(folder)
    labels = streams.names(K)
    matrix = np.zeros((K, K), np.int64)
    for row in table.to_pylist():
        matrix[labels.index(row["y_true"]), labels.index(row["y_pred"])] = row["n_sum"]
    matrix_state = sm.from_bytes(state.read_bytes()).state
    order = [labels.index(label) for label in matrix_state.labels]
    assert (np.asarray(matrix_state.matrix) == matrix[np.ix_(order, order)]).all()


def alone(folder: Path) -> Iterator[Line]:
    """Yield the cost of reading alone and of reading and counting, in one process without its start."""
    reader = Reader(FIELDS)
    files = [InputFile(str(path), size=path.stat().st_size) for path in folder.iterdir()]
    merged = merge_units([unit for file in files for unit in reader.units(file)], float("inf"))
    rows = sum(unit.rows for unit in merged)

    def read(state: sm.MetricSet | None) -> float:
        begun = time.process_time()
        for unit in merged:
            for batch in reader.batches(unit):
                if state is not None:
                    assert batch.counted_by(state)
        return (time.process_time() - begun) / rows * 1e9

    both = [(read(None), read(sm.MetricSet())) for _ in range(ROUNDS)]
    reading, counting = map(min, zip(*both, strict=True))
    yield Line("reading alone", reading, "ns a pair")
    yield Line("reading and counting", counting, "ns a pair")


def spark(folder: Path, ours: float) -> Iterator[Line]:
    """Yield the time that a pair takes Spark beside our seconds a pair, or that it was not measured."""
    name = "Spark `MulticlassMetrics` / `run --jobs 2`, a pair"
    try:
        from pyspark.mllib.evaluation import MulticlassMetrics
        from pyspark.sql import SparkSession
    except ImportError:
        yield Line(name, float("nan"), target=20, at_least=True)
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for option in ("spark.driver.host", "spark.driver.bindAddress"):
        builder = builder.config(option, "127.0.0.1")
    session = builder.getOrCreate()
    numbers = [f"cast(substring({column}, 7) as double) as {column}" for column in reversed(COLUMNS)]
    pairs = session.read.parquet(str(folder)).selectExpr(*numbers)
    n = pairs.count()
    java = session.sparkContext._jvm.org.apache.spark.mllib.evaluation.MulticlassMetrics
    contenders: dict[str, Callable[[], float]] = {
        name: lambda: MulticlassMetrics(pairs.rdd.map(tuple)).accuracy,
        f"{name}, no row through Python": lambda: java(pairs._jdf).accuracy(),
    }
    for contender, accuracy in contenders.items():
        accuracy()
        begun = time.perf_counter()
        assert 0.9 < accuracy() < 0.92
        theirs = (time.perf_counter() - begun) / n
        target = 20 if contender == name else None
        figures = f"{theirs * 1e9:.0f} ns of {n} pairs / {ours * 1e9:.2f} ns of {PAIRS:.0e}"
        yield Line(contender, theirs / ours, target=target, at_least=True, figures=figures)
    session.stop()
