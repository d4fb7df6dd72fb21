"""How fast does `run` count pairs of labels in Parquet, beside DuckDB, Polars, pyarrow and Spark's own metrics?

By default 2e7 and 10^8 pairs; PAIRS=1e9 in the environment counts a billion. There are ten files of which nine are
links to the first. Commands are timed as a whole by the wall clock, start and imports included, because that is what is
waited for; a machine with other work to do spoils that, so the time of all processors stands beside it. The scaling is
that of the time that grows with the data: what all pairs take longer than the fewer ones.

Our modules are compiled to bytecode before, as pip does it. Where Python may not write bytecode, an editable
installation compiles all of them at each start, which takes longer than the other commands as a whole.

DuckDB, Polars and pyarrow count in a process of their own with default settings, Polars with its streaming engine.
Spark has started, and has counted once, before it is timed, with fewer pairs, and its time is compared by the pair.
`MulticlassMetrics` takes numbers, which Spark makes of the text while it reads.
"""

from __future__ import annotations

import compileall
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from importlib.util import find_spec
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
from stream_metrics.cli.sources import PARQUET, Fields, InputFile
from stream_metrics.cli.tables import TableSource

PAIRS = int(float(os.environ.get("PAIRS", "1e8")))
FEWER = 20_000_000
FILES = 10
GROUP = 1 << 20  # rows of a row group
K, RIGHT = 10, 0.9
ROUNDS = 3
SPARK_PAIRS = 1_000_000
COLUMNS = ["y_true", "y_pred"]
PEERS = {
    "DuckDB": "import duckdb; query = f\"select y_true, y_pred, count(*) from '{folder}/*.parquet' group by all\"; "
    "duckdb.sql(query).fetchall()",
    "Polars": "import polars as pl; pl.scan_parquet(f'{folder}/*').group_by('y_true', 'y_pred').len()"
    ".collect(engine='streaming').rows()",
    "pyarrow": "import pyarrow.acero as acero, pyarrow.dataset as dataset; keys = ['y_true', 'y_pred']; "
    "scan = acero.Declaration('scan', acero.ScanNodeOptions(dataset.dataset(folder), columns=keys)); "
    "options = acero.AggregateNodeOptions([([], 'hash_count_all', None, 'n')], keys=keys); "
    "acero.Declaration.from_sequence([scan, acero.Declaration('aggregate', options)]).to_table().to_pylist()",
}  # code that counts the pairs in a folder, with its package to import
FIELDS = Fields({"y_true": "y_true", "y_pred": "y_pred"})


class Cost(NamedTuple):
    """What a command took: seconds by the wall clock, seconds of all processors, peak of memory of all processes."""

    wall: float
    cpu: float
    memory: float


def lines() -> Iterator[Line]:
    """Yield what is measured."""
    compileall.compile_dir(Path(sm.__file__).parent, quiet=2)
    with tempfile.TemporaryDirectory() as name:
        folder, fewer, few = (Path(name, part) for part in ("all", "fewer", "few"))
        for new_folder, pairs in ((folder, PAIRS), (fewer, FEWER)):
            new_folder.mkdir()
            write(new_folder / "part-0.parquet", pairs // FILES)
            for number in range(1, FILES):
                os.link(new_folder / "part-0.parquet", new_folder / f"part-{number}.parquet")
        seconds = yield from commands(folder, fewer)
        yield from alone(fewer)
        few.mkdir()
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


def commands(folder: Path, fewer: Path) -> Generator[Line, None, float]:
    """Yield whole commands beside their peers; return the seconds that ours takes."""
    state = folder.parent / "state"
    contenders: dict[tuple[str, Path], list[str]] = {}
    for place in (folder, fewer):
        for jobs in ("", "1"):
            contenders[f"run{jobs}", place] = run(place, jobs, state if place is folder else fewer.parent / "less")
        for peer, code in PEERS.items():
            if find_spec(peer.lower()) is not None:
                contenders[peer, place] = [sys.executable, "-c", f"folder = {str(place)!r}; {code}"]
    costs_of: dict[tuple[str, Path], list[Cost]] = {name: [] for name in contenders}
    for _ in range(ROUNDS):
        for name, command in contenders.items():
            costs_of[name].append(timed(command))
    best = {name: Cost(*map(min, zip(*costs, strict=True))) for name, costs in costs_of.items()}
    check(folder, state)
    for place, pairs in ((fewer, FEWER), (folder, PAIRS)):
        ours = best["run", place]
        yield Line(
            f"`run`, {pairs:.0e} pairs", pairs / ours.wall / 1e6, "million pairs a second",
            figures=f"{ours.wall:.2f} s by the clock, {ours.cpu:.2f} s of processors",
        )  # fmt: skip
        for peer in PEERS:
            theirs = best.get((peer, place), Cost(*[float("nan")] * 3))
            yield Line(
                f"{peer} / `run`, {pairs:.0e} pairs", theirs.wall / ours.wall, target=1, at_least=True,
                figures=f"{theirs.wall:.2f} / {ours.wall:.2f} s; of processors {theirs.cpu:.2f} / {ours.cpu:.2f} s",
            )  # fmt: skip
    one, all_ = (best[name, folder].wall - best[name, fewer].wall for name in ("run1", "run"))
    yield Line(
        "`run --jobs 1` / `run`, without the start", one / all_, figures=f"{one:.2f} / {all_:.2f} s",
    )  # fmt: skip
    more, less = best["run", folder].memory, best["run", fewer].memory
    yield Line(
        f"memory of `run` / with {FEWER:.0e} pairs", more / less, target=1.1, figures=f"{more:.0f} / {less:.0f} MB"
    )  # fmt: skip
    return best["run", folder].wall


def run(folder: Path, jobs: str, state: Path) -> list[str]:
    """Return the command that counts a folder, with the default number of workers unless it is given."""
    command = [sys.executable, "-m", "stream_metrics", "run", str(folder), "--state", str(state)]
    return [*command, "--metrics", "accuracy", *(["--jobs", jobs] if jobs else [])]


def timed(command: list[str]) -> Cost:
    """Time a command, in the folder of this file."""
    before, begun = os.times(), time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=Path(__file__).parent) as process:
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


def streamed(folder: Path) -> Any:
    """Return the table of all pairs with their numbers, by Arrow's engine, which uses all processors."""
    scan = acero.Declaration("scan", acero.ScanNodeOptions(dataset.dataset(folder), columns=COLUMNS))
    options = acero.AggregateNodeOptions([([], "hash_count_all", None, "n")], keys=COLUMNS)
    return acero.Declaration.from_sequence([scan, acero.Declaration("aggregate", options)]).to_table()


def check(folder: Path, state: Path) -> None:
    """Compare the state that the last command saved with pyarrow's count."""
    table = streamed(folder)
    labels = streams.names(K)
    matrix = np.zeros((K, K), np.int64)
    for row in table.to_pylist():
        matrix[labels.index(row["y_true"]), labels.index(row["y_pred"])] = row["n"]
    matrix_state = sm.from_bytes(state.read_bytes()).state
    order = [labels.index(label) for label in matrix_state.labels]
    assert (np.asarray(matrix_state.matrix) == matrix[np.ix_(order, order)]).all()


def alone(folder: Path) -> Iterator[Line]:
    """Yield the cost of reading alone and of reading and counting, in one process without its start."""
    files = [InputFile(str(path), size=path.stat().st_size) for path in folder.iterdir()]

    def read(state: sm.MetricSet | None) -> float:
        begun, rows = time.process_time(), 0
        for file in files:
            for batch in TableSource(file, FIELDS, PARQUET).batches(lambda: 0, 0):
                rows += len(batch.numbers)
                if state is not None:
                    state.update_many(**batch.columns)
        return (time.process_time() - begun) / rows * 1e9

    both = [(read(None), read(sm.MetricSet())) for _ in range(ROUNDS)]
    reading, counting = map(min, zip(*both, strict=True))
    yield Line("reading alone", reading, "ns a pair")
    yield Line("reading and counting", counting, "ns a pair")


def spark(folder: Path, ours: float) -> Iterator[Line]:
    """Yield the time that a pair takes Spark beside our seconds a pair, or that it was not measured."""
    name = "Spark `MulticlassMetrics` / `run`, a pair"
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
