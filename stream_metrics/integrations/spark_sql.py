"""Functions for Spark SQL that merge and read states: `sm_merge`, `sm_metric`, `sm_n`.

    import os, sys

    os.environ["PYSPARK_PYTHON"] = sys.executable

    import stream_metrics as sm
    from pyspark.sql import SparkSession
    from stream_metrics.integrations.spark import accumulate_by, register
    from stream_metrics.integrations.tables import Fields

    spark = SparkSession.builder.getOrCreate()
    register(spark)
    rows = [("fr", "mon", "cat", "cat"), ("fr", "tue", "dog", "cat"), ("de", "mon", "dog", "dog")]
    df = spark.createDataFrame(rows, "country string, day string, truth string, guess string")
    accumulate_by(df, ["country", "day"], sm.MetricSet(), Fields("truth", "guess")).createOrReplaceTempView("states")

    spark.sql('''
        SELECT country, days, sm_n(state) AS n, sm_metric(state, 'macro_f1') AS macro_f1 FROM (
            SELECT country, count(*) AS days, sm_merge_list(collect_list(state)) AS state FROM states GROUP BY country
        ) ORDER BY country
    ''').show()
    print(spark.sql("SELECT sm_metric(sm_merge(state), 'recall', 'cat') AS recall FROM states").first().recall)

- `sm_merge(state)` is an aggregate: the merge of states as bytes, without nulls. Spark allows no other aggregates of
  its own beside one in Python.
- `sm_merge_list(states)` merges an array of states: `sm_merge_list(collect_list(state))` may stand beside others.
- `sm_metric(state, key)` is a metric as a double; `sm_metric(state, key, label)` that of one class, nan if it is none.
- `sm_n(state)` is the number of samples of a state.

`spark.merge_states` is the aggregate for data frames, beside which others may stand.
"""

from __future__ import annotations

from stream_metrics.catalog.table import LABEL_VALUED, find
from stream_metrics.labels import Label
from stream_metrics.wire import from_bytes

try:
    import pandas as pd  # type: ignore[import-untyped]
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F
    from pyspark.sql.types import BinaryType, DoubleType, LongType

    from stream_metrics.integrations.spark_workers import merge_all, metric_value
except ImportError as error:
    raise ImportError('Expected PySpark, pandas and PyArrow: pip install "stream-metrics[spark]"') from error

__all__ = ["register"]


def register(spark: SparkSession) -> None:
    """Define the functions in a session.

    Parameters
    ----------
    spark : SparkSession
        The session, also one of Spark Connect.
    """
    # Spark would read the annotations of the functions themselves
    spark.udf.register("sm_merge", F.pandas_udf(_merge_series, BinaryType()))
    spark.udf.register("sm_merge_list", F.udf(lambda states: _merge_list(states), BinaryType()))
    spark.udf.register("sm_metric", F.udf(lambda state, key, *label: _metric(state, key, *label), DoubleType()))
    spark.udf.register("sm_n", F.udf(lambda state: _n(state), LongType()))


def _merge_list(states: list[bytes] | None) -> bytes | None:
    return None if states is None else merge_all(states)


def _merge_series(states: pd.Series) -> bytes:
    return merge_all(states)  # type: ignore[return-value]  # Spark reads the annotation, which may not be a union


def _metric(state: bytes | None, key: str, *labels: Label) -> float | None:
    """Return a metric of a state as one number; None for no state."""
    if state is None:
        return None
    per_class = find(key).kind == "per_class"
    if find(key).kind == "matrix" or key in LABEL_VALUED or len(labels) != per_class:
        number = "one with a label" if per_class else "none" if labels or per_class else "a number"
        raise ValueError(
            f"Expected `key` of sm_metric to be a number of all classes or of a label, but {key!r} is {number}"
        )
    counts = from_bytes(state)
    if not hasattr(counts, "snapshot"):
        raise ValueError(f"Expected `state` of sm_metric to be the bytes of a state, but got those of {counts!r}")
    return metric_value(counts.snapshot(), key, *(labels or (None,)))


def _n(state: bytes | None) -> int | None:
    return None if state is None else int(from_bytes(state).n)
