"""Metrics of Spark data frames: rows are counted where they lie, and only states, as bytes, leave a partition.

    import os, sys

    os.environ["PYSPARK_PYTHON"] = sys.executable  # the Python of the workers, with stream_metrics installed

    import stream_metrics as sm
    from pyspark.sql import SparkSession
    from stream_metrics.integrations.spark import accumulate, accumulate_by, evaluate, merge_states
    from stream_metrics.integrations.tables import Fields

    spark = SparkSession.builder.getOrCreate()
    rows = [("fr", "cat", "cat", 0.9), ("fr", "dog", "cat", 0.6), ("de", "dog", "dog", 0.2), (None, "cat", None, None)]
    df = spark.createDataFrame(rows, "country string, truth string, guess string, p double")

    print(evaluate(df, y_true="truth", y_pred="guess"))
    print(evaluate(df, y_true="truth", y_pred=None, scores="p", pos_label="cat", labels=["cat", "dog"])["log_loss"])
    evaluate(df, y_true="truth", y_pred="guess", group_by="country").show()

    day = accumulate(df.dropna(subset="country"), sm.ByGroup(sm.MetricSet()), Fields("truth", "guess", group="country"))
    states = accumulate_by(df, "country", sm.MetricSet(), Fields("truth", "guess"))  # a row a group, to be stored
    whole = states.agg(merge_states("state").alias("state")).first()
    print(sm.from_bytes(whole.state).snapshot()["accuracy"])

Needs PySpark 3.5 or newer with pandas below 3 and PyArrow, and Java 17. On one machine `.config("spark.driver.host",
"127.0.0.1")` spares Spark looking for the name of the host. On a cluster the package is installed on every machine, as
it has compiled parts: `addPyFile` will not do.

A null prediction, or null scores without a prediction, is an abstention. A null or bad truth, score or weight fails the
job, and what is raised on the driver ends with the reason; positions in it count from the start of a block of rows.

A task that Spark runs again starts from an empty state, so whatever fails, the merged states have the bytes of one
process that has seen all rows once. States are streamed through a second stage before they reach the driver, which
merges a few of them for any number of partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from stream_metrics.catalog.table import LABEL_VALUED, find
from stream_metrics.containers.aggregate import merge
from stream_metrics.errors import LabelError, ScoreError
from stream_metrics.integrations.tables import Fields, empty_copy
from stream_metrics.labels import Label
from stream_metrics.metrics.metric import Metric
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.report.headlines import REPORT, TABLE_OF_SCORES
from stream_metrics.snapshots.snapshot import Snapshot
from stream_metrics.states.protocols import Accumulator
from stream_metrics.wire import from_bytes

try:
    import pandas as pd  # type: ignore[import-untyped]
    from pyspark.sql import Column, DataFrame
    from pyspark.sql import functions as F
    from pyspark.sql.types import BinaryType, DoubleType, LongType, StructField, StructType

    from stream_metrics.integrations.spark_workers import count, merge_all, merge_batches, read
except ImportError as error:
    raise ImportError('Expected PySpark, pandas and PyArrow: pip install "stream-metrics[spark]"') from error

__all__ = ["accumulate", "accumulate_by", "evaluate", "merge_states", "partial_states"]

State = TypeVar("State", bound=Accumulator)

FIELDS = Fields()


def evaluate(
    df: DataFrame,
    *,
    y_true: str = "y_true",
    y_pred: str | None = "y_pred",
    scores: str | Mapping[Label, str] | None = None,
    classes: Iterable[Label] | None = None,
    weight: str | None = None,
    group_by: str | Sequence[str] | None = None,
    metrics: Iterable[str | type[Metric]] | None = None,
    **options: Any,
) -> Snapshot | DataFrame:
    """Return a snapshot of all rows, or with `group_by` a data frame with a row for each group.

    `scores` names columns as `Fields` does, a column of numbers, maps, structs, or arrays and vectors, whose elements
    are the scores of `classes`. They are probabilities; for others, `accumulate` into `MetricSet(scores="any")`. With
    y_pred=None labels are left to them. `metrics` and `options` (labels, pos_label, zero_division, ...) go to
    `MetricSet`.

    The data frame has the columns of `group_by` (null is a group), `n`, a double for each of `metrics` (without it the
    headline), and `state`, the bytes of the group. A per-class metric is that of `pos_label`, nan where that is no
    class. ValueError for a matrix, and for a column that would come twice; LabelError for a column that `df` has not.
    """
    pos_label = options.get("pos_label", True)
    if scores is None:
        options.pop("pos_label", None)  # labels alone need it for what is shown only
    prototype = MetricSet(metrics, scores=scores is not None, **options)
    fields = Fields(y_true, y_pred, scores, weight)
    if group_by is None:
        snapshot: Snapshot = accumulate(df, prototype, fields, classes=classes).snapshot()
        return snapshot
    shown = prototype.metrics or (*REPORT, *(TABLE_OF_SCORES if scores is not None else ()))
    for key in shown:
        if find(key).kind == "matrix" or key in LABEL_VALUED:
            raise ValueError(f"Expected `metrics` of groups to be numbers, but {key!r} is none")
    keys = _names(group_by, {"n", "state", *shown})
    states = accumulate_by(df, keys, prototype, fields, classes=classes)
    doubles = [StructField(key, DoubleType()) for key in shown]
    schema = StructType([*states.schema[:-1], StructField("n", LongType()), *doubles, states.schema[-1]])
    return states.mapInArrow(partial(read, shown, pos_label), schema)


def accumulate(
    df: DataFrame, prototype: State, fields: Fields = FIELDS, *, classes: Iterable[Label] | None = None
) -> State:
    """Return a new state like `prototype` that has counted all rows; of no rows, an empty one.

    `prototype` is the configuration, any accumulator that merges: its counts are ignored. ValueError if
    it is none, or does not merge. Memory: on each worker a state and a block of rows, on the driver a few states.
    """
    parts = partial_states(df, (), prototype, fields, classes=classes)
    states = parts.hint("rebalance").mapInArrow(merge_batches, parts.schema).collect()
    total: State = merge([empty_copy(prototype), *(from_bytes(row.state) for row in states)])
    return total


def accumulate_by(
    df: DataFrame,
    keys: str | Sequence[str],
    prototype: Accumulator,
    fields: Fields = FIELDS,
    *,
    classes: Iterable[Label] | None = None,
) -> DataFrame:
    """Return a data frame with a row for each combination of `keys`: these columns, and `state`, the bytes of a state.

    Groups are those of Spark's `groupBy`: null is one. Rows are counted where they lie, so of a group, as many states
    as there are partitions travel, however many rows it has. Memory: on each worker a state for each of at most 10,000
    groups, and all states of the group that is merged.
    """
    parts = partial_states(df, keys, prototype, fields, classes=classes)
    return parts.groupBy(*parts.columns[:-1]).agg(merge_states("state").alias("state"))


def merge_states(column: Column | str) -> Column:
    """Return the aggregate, for `agg`, that merges a column of states as bytes.

    Nulls are left out; of nothing but nulls, null.
    """
    merged: Column = _merge_udf(column)
    return merged


def partial_states(
    df: DataFrame,
    keys: str | Sequence[str],
    prototype: Accumulator,
    fields: Fields = FIELDS,
    *,
    classes: Iterable[Label] | None = None,
) -> DataFrame:
    """Return the first half of `accumulate_by`: states not yet merged, one or more for each partition and key.

    Works on streaming data frames too.
    """
    keys, empty = _names(keys, {"state"}), empty_copy(prototype).to_bytes()
    named = {**fields._asdict(), "keys": keys}
    for argument, value in named.items():
        for name in _columns(value):
            if name not in df.columns:
                raise LabelError(
                    f"Expected `{argument}` to be a column of the table, but got {name!r}; the columns are {df.columns}"
                )
    needed = dict.fromkeys([*keys, *fields.columns()])
    rows = df.select(*(_selected(df, name) for name in needed))
    listed = isinstance(fields.scores, str) and rows.schema[fields.scores].dataType.typeName() == "array"
    if listed != (classes is not None):
        raise ScoreError(
            f"Expected `classes` with one column of arrays of scores, and only then, but got {classes!r} with "
            f"{fields.scores!r}"
        )
    names = None if classes is None else list(classes)
    schema = StructType([*(rows.schema[key] for key in keys), StructField("state", BinaryType())])
    return rows.mapInArrow(partial(count, empty, keys, fields, names), schema)


def _names(keys: str | Sequence[str], taken: set[str]) -> list[str]:
    """Return the names of the columns of groups; ValueError if one is that of a column of the result."""
    names = [keys] if isinstance(keys, str) else list(keys)
    if len({*names, *taken}) < len(names) + len(taken):
        raise ValueError(f"Expected columns of groups each once, and none called {sorted(taken)}, but got {names}")
    return names


def _columns(value: Any) -> list[str]:
    """Return the names of columns that are the value of an argument."""
    if value is None or isinstance(value, str):
        return [] if value is None else [value]
    return list(value.values() if isinstance(value, Mapping) else value)


def _selected(df: DataFrame, name: str) -> Column:
    """Return a column by its name; a vector of spark.ml as an array."""
    if type(df.schema[name].dataType).__name__ != "VectorUDT":
        return df[name]
    from pyspark.ml.functions import vector_to_array

    return vector_to_array(df[name]).alias(name)


def _merge_series(states: pd.Series) -> bytes:
    return merge_all(states)  # type: ignore[return-value]  # Spark reads the annotation, which may not be a union


_merge_udf: Callable[[Column | str], Column] = F.pandas_udf(_merge_series, BinaryType())
