"""What do states of many groups cost in Spark beside counting the same rows in SQL?

Spark counts the pairs of labels of each group itself; Python makes a state of them. The peers are the same counts
without states, `groupBy(group, y_true, y_pred).count()` with a sum for each group, and `groupBy(group).count()`, which
does not look at labels. All results are written to Spark's sink `noop`.

The clock is the wall's, since the work is in other processes. Contenders take turns, and the best time counts. The JVM
has started, and each contender has run once, before.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import spark_overhead
import streams
from timing import Line

GROUPS = 86_000
ROWS = 860_000
FILES = 4
ROUNDS = 5


def lines() -> Iterator[Line]:
    """Yield what is measured."""
    with TemporaryDirectory() as name:
        spark = spark_overhead.session()
        try:
            write(Path(name))
            yield from measured(spark.read.parquet(name))
        finally:
            spark.stop()


def write(folder: Path) -> None:
    """Write samples of ten classes, 90 % right, of groups in no order."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names, rng = pa.array(streams.names(10)), np.random.default_rng(1)
    for file in range(FILES):
        codes = dict(zip(("y_true", "y_pred"), streams.columns(ROWS // FILES, 10, 0.9, seed=file), strict=True))
        columns = {name: pa.DictionaryArray.from_arrays(pa.array(c), names) for name, c in codes.items()}
        groups = pa.array([f"user {number}" for number in rng.integers(0, GROUPS, ROWS // FILES).tolist()])
        pq.write_table(pa.table({"user": groups, **columns}), folder / f"{file}.parquet")


def measured(df: Any) -> Iterator[Line]:
    """Yield the adapter's time beside those of SQL."""
    import stream_metrics as sm
    from stream_metrics.integrations.spark import accumulate_by

    pairs = df.groupBy("user", "y_true", "y_pred").count()
    frames = {
        "states": accumulate_by(df, "user", sm.MetricSet()),
        "pairs": pairs.groupBy("user").sum("count"),
        "rows": df.groupBy("user").count(),
    }
    writers = {
        name: lambda frame=frame: frame.write.format("noop").mode("overwrite").save() for name, frame in frames.items()
    }
    for run in writers.values():
        run()
    times = spark_overhead.best(writers, ROUNDS)
    for peer, what, target in (
        ("pairs", '`groupBy("user", "y_true", "y_pred").count().groupBy("user").sum()`', 3.0),
        ("rows", '`groupBy("user").count()`, without labels', None),
    ):
        yield Line(
            f"`accumulate_by` of {GROUPS:,} groups, {ROWS:,} rows / {what}",
            times["states"] / times[peer],
            target=target,
            figures=f"{times['states']:.2f} / {times[peer]:.2f} s",
        )
