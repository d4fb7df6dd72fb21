"""What does the Spark adapter add to reading rows in Spark, and how fast are Spark's own metrics of the same rows?

Ours reads text labels. Spark's metrics need classes as doubles, so they are given a file in which they are doubles
already, and are not charged for turning text into numbers. `MulticlassMetrics` takes an RDD of pairs, which in PySpark
means that every row goes to Python and back: it is given the rows of the data frame as they are, without a `map`.
`MulticlassClassificationEvaluator` stays in the JVM; each of its metrics is another pass, of which one is timed.

The clock is the wall's, since the work is in other processes. Contenders take turns, and the best time counts. The JVM
has started, and each contender has run once, before.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import streams
from timing import Line

K = 10
FILES = 8  # as many tasks
ROWS = 8_000_000
PEER_ROWS = 800_000  # of `MulticlassMetrics`, at whose rate all rows would take minutes
ROUNDS = 5


def lines() -> Iterator[Line]:
    """Yield what is measured."""
    with TemporaryDirectory() as name:
        spark, folder = session(), Path(name)
        try:
            for rows in (ROWS, PEER_ROWS):
                write(folder / str(rows), rows)
            yield from measured(spark, folder)
        finally:
            spark.stop()


def session() -> Any:
    """Start Spark on two processors."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.sql.files.openCostInBytes": "128m",  # a file a task
    }
    return SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()


def write(folder: Path, rows: int) -> None:
    """Write samples, 90 % right, as text with a dictionary and as doubles, in files of one size."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = pa.array(streams.names(K))
    for file in range(FILES):
        codes = dict(zip(("y_true", "y_pred"), streams.columns(rows // FILES, K, 0.9, seed=file), strict=True))
        kinds = {
            "text": {name: pa.DictionaryArray.from_arrays(pa.array(c), names) for name, c in codes.items()},
            "double": {name: c.astype(float) for name, c in codes.items()},
        }
        for kind, columns in kinds.items():
            (folder / kind).mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table(columns), folder / kind / f"{file}.parquet")


def measured(spark: Any, folder: Path) -> Iterator[Line]:
    """Yield the adapter's time beside that of reading, and beside Spark's own metrics."""
    from stream_metrics.integrations.spark import evaluate

    text, double = (spark.read.parquet(str(folder / str(ROWS) / kind)) for kind in ("text", "double"))
    few, few_text = (spark.read.parquet(str(folder / str(PEER_ROWS) / kind)) for kind in ("double", "text"))
    assert agree([evaluator_f1(double)], [evaluate(text)["weighted_f1"]])
    snapshot = evaluate(few_text)
    assert agree(multiclass(few), [snapshot["accuracy"], snapshot["weighted_f1"]])

    times = best(
        {
            "empty": lambda: consumed(text),
            "evaluate": lambda: evaluate(text),
            "empty, doubles": lambda: consumed(double),
            "evaluate, doubles": lambda: evaluate(double),
            "evaluator": lambda: evaluator_f1(double),
        },
        ROUNDS,
    )
    rate = {name: ROWS / seconds / 1e6 for name, seconds in times.items()}
    rate["multiclass"] = PEER_ROWS / best({"": lambda: multiclass(few)}, 2)[""] / 1e6
    for kind in ("", ", doubles"):
        yield Line(
            f"`evaluate` / an empty `mapInArrow` over the same rows{kind}",
            times[f"evaluate{kind}"] / times[f"empty{kind}"],
            figures=f"{rate[f'evaluate{kind}']:.2f} / {rate[f'empty{kind}']:.2f} million rows a second",
        )
    for peer, what in (("multiclass", "`MulticlassMetrics`"), ("evaluator", "`MulticlassClassificationEvaluator`")):
        yield Line(
            f"PySpark's {what} of doubles / `evaluate` of text",
            rate["evaluate"] / rate[peer],
            figures=f"{rate[peer]:.3g} / {rate['evaluate']:.2f} million rows a second",
        )


def agree(theirs: Iterable[float], ours: Iterable[float]) -> bool:
    """Tell whether all values agree to 1e-12."""
    return all(abs(a - b) <= 1e-12 for a, b in zip(theirs, ours, strict=True))


def consumed(df: Any) -> int:
    """Read all rows as the adapter does, and do nothing with them."""
    import pyarrow as pa

    def read(batches: Iterator[Any]) -> Iterator[Any]:
        yield pa.RecordBatch.from_pydict({"n": [sum(batch.num_rows for batch in batches)]})

    return sum(row.n for row in df.select("y_true", "y_pred").mapInArrow(read, "n long").collect())


def multiclass(df: Any) -> tuple[float, float]:
    """Return accuracy and weighted F1 as `MulticlassMetrics` has them; it counts once for both."""
    from pyspark.mllib.evaluation import MulticlassMetrics

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it uses what PySpark says not to use
        metrics = MulticlassMetrics(df.select("y_pred", "y_true").rdd)
        return metrics.accuracy, metrics.weightedFMeasure()


def evaluator_f1(df: Any) -> float:
    """Return weighted F1 as `MulticlassClassificationEvaluator` has it."""
    from pyspark.ml.evaluation import MulticlassClassificationEvaluator

    f1: float = MulticlassClassificationEvaluator(labelCol="y_true", predictionCol="y_pred").evaluate(df)
    return f1


def best(contenders: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the seconds of each contender, the best of `rounds` turns."""
    times = dict.fromkeys(contenders, float("inf"))
    for _ in range(rounds):
        for name, run in contenders.items():
            start = perf_counter()
            run()
            times[name] = min(times[name], perf_counter() - start)
    return times
