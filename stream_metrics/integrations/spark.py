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

`register(spark)` gives SQL the functions `sm_merge`, `sm_metric` and `sm_n`; see `spark_sql`.

Needs PySpark 3.5 or newer with pandas below 3 and PyArrow, and Java 17. On one machine `.config("spark.driver.host",
"127.0.0.1")` spares Spark looking for the name of the host. On a cluster the package is installed on every machine, as
it has compiled parts: `addPyFile` will not do.

A column is given by its name in any case, by a path of fields (`"row.truth"`), or as a Column object; a name with dots
that a column has comes first. Groups are those of Spark's `groupBy`, of any type: null is one. Where a key has
the name of a column of the result, that column gets another: `sm_state` beside a key `state`.

A null prediction, or null scores without a prediction, is an abstention. A null or bad truth, score or weight fails the
job, and what is raised names the partition and the row; with on_bad="count" such rows are left out and recorded.
Columns with more than 100,000 distinct labels, such as identifiers, fail it too; `max_labels` sets another limit.

Labels without weights are counted by Spark itself, as `groupBy(keys, y_true, y_pred).count()`, and Python sees the
counts only: on the driver if there are few, without groups. Scores and weights are counted by Python. A task holds at
most 32 MiB of rows. A group with many of these rows becomes a state there, and a small one, whose state would be no
smaller, travels as rows. `MetricSet(scores=True, buckets=64)` makes smaller states.

A task that Spark runs again starts from an empty state, so whatever fails, the merged states have the bytes of one
process that has seen all rows once. The states of partitions are merged by 16 tasks and then by one, whatever the
settings, so one state reaches the driver. PySpark 3.5 sends 10,000 states at once to a task: for large ones, lower
`spark.sql.execution.arrow.maxRecordsPerBatch`; later versions limit the bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from stream_metrics.catalog.table import LABEL_VALUED, find
from stream_metrics.errors import LabelError
from stream_metrics.integrations.tables import Job, Part, part_of
from stream_metrics.labels import Label
from stream_metrics.metrics.metric import Metric
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.report.headlines import REPORT, TABLE_OF_SCORES
from stream_metrics.snapshots.snapshot import Snapshot
from stream_metrics.states.protocols import Accumulator
from stream_metrics.tables.bad_rows import BadRows, Counted, OnBad
from stream_metrics.tables.counting import MOST_LABELS
from stream_metrics.tables.fields import Fields

try:
    import pandas as pd  # type: ignore[import-untyped]
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, Window
    from pyspark.sql import functions as F
    from pyspark.sql.types import BinaryType, DoubleType, LongType, StructField, StructType

    from stream_metrics.integrations import spark_workers as workers
    from stream_metrics.integrations.spark_columns import ColumnRef, Selected, countable, numbered, select
    from stream_metrics.integrations.spark_sql import register
except ImportError as error:
    raise ImportError('Expected PySpark, pandas and PyArrow: pip install "stream-metrics[spark]"') from error

__all__ = ["accumulate", "accumulate_by", "evaluate", "evaluate_by", "merge_states", "partial_states", "register"]

State = TypeVar("State", bound=Accumulator)

FIELDS = Fields()
PARTS = StructType([StructField("state", BinaryType()), StructField("bad", BinaryType())])
MOST_PAIRS = 100_000  # pairs of labels that the driver counts
TASKS = 16  # tasks that merge the states of partitions before one merges theirs


def evaluate(
    df: DataFrame,
    *,
    y_true: ColumnRef = "y_true",
    y_pred: ColumnRef | None = "y_pred",
    scores: ColumnRef | Mapping[Label, ColumnRef] | None = None,
    classes: Iterable[Label] | None = None,
    weight: ColumnRef | None = None,
    group_by: ColumnRef | Sequence[ColumnRef] | None = None,
    metrics: Iterable[str | type[Metric]] | None = None,
    on_bad: OnBad = "raise",
    max_labels: int | None = MOST_LABELS,
    **options: Any,
) -> Snapshot | DataFrame | Counted:
    """Return a snapshot of all rows, or with `group_by` what `evaluate_by` returns.

    Parameters
    ----------
    df : DataFrame
        The rows.
    y_true : str or Column, default "y_true"
        The column of true labels.
    y_pred : str, Column or None, default "y_pred"
        The column of predictions. With None they are left to the scores.
    scores : str, Column or mapping from Label to str or Column, optional
        A column of numbers, maps, structs, arrays or vectors, or for each class its column. They are probabilities; for
        others, use `accumulate` with `MetricSet(scores="any")`.
    classes : iterable of Label, optional
        The classes of a column of arrays or vectors, in their order.
    weight : str or Column, optional
        The column of weights.
    group_by : str, Column or sequence of these, optional
        The columns of groups.
    metrics : iterable of str or Metric class, optional
        The metrics; by default all that can be computed.
    on_bad : {"raise", "count"}, default "raise"
        Whether a row that cannot be counted fails the job, or is left out. A warning of the snapshot then says how many
        rows there are and where the first is.
    max_labels : int or None, default 100_000
        The largest number of distinct labels, as for `stream_metrics.count`. None is no limit.
    **options : Any
        Options of `MetricSet`: labels, pos_label, zero_division, ...

    Returns
    -------
    Snapshot, DataFrame or Counted
        The metrics.

    Raises
    ------
    LabelError
        If `df` lacks a column.
    ValueError
        If an option is not allowed.
    """
    named: dict[str, Any] = {"y_true": y_true, "y_pred": y_pred, "scores": scores, "classes": classes, "weight": weight}
    limits: dict[str, Any] = {"on_bad": on_bad, "max_labels": max_labels}
    if group_by is not None:
        return evaluate_by(df, group_by, metrics=metrics, **named, **limits, **options)
    prototype, _ = _prototype(metrics, scores is not None, options)
    fields = Fields(y_true, y_pred, scores, weight)
    counted = accumulate(df, prototype, fields, classes=classes, **limits)
    if on_bad == "raise":
        return counted.snapshot()
    state, bad = counted
    sentence = bad.sentence(state.n + state.abstained)
    return state.snapshot() if sentence is None else state.snapshot().with_warning(sentence)


def evaluate_by(
    df: DataFrame,
    keys: ColumnRef | Sequence[ColumnRef],
    *,
    y_true: ColumnRef = "y_true",
    y_pred: ColumnRef | None = "y_pred",
    scores: ColumnRef | Mapping[Label, ColumnRef] | None = None,
    classes: Iterable[Label] | None = None,
    weight: ColumnRef | None = None,
    metrics: Iterable[str | type[Metric]] | None = None,
    on_bad: OnBad = "raise",
    max_labels: int | None = MOST_LABELS,
    **options: Any,
) -> Any:
    """Return a data frame with a row for each group, to be computed when it is read.

    Parameters
    ----------
    df : DataFrame
        The rows.
    keys : str, Column or sequence of these
        The columns of groups. Null is a group.
    y_true : str or Column, default "y_true"
        The column of true labels.
    y_pred : str, Column or None, default "y_pred"
        The column of predictions. With None they are left to the scores.
    scores : str, Column or mapping from Label to str or Column, optional
        A column of numbers, maps, structs, arrays or vectors, or for each class its column. They are probabilities; for
        others, use `accumulate` with `MetricSet(scores="any")`.
    classes : iterable of Label, optional
        The classes of a column of arrays or vectors, in their order.
    weight : str or Column, optional
        The column of weights.
    metrics : iterable of str or Metric class, optional
        The metrics that are columns; by default the headline.
    on_bad : {"raise", "count"}, default "raise"
        As for `accumulate_by`.
    max_labels : int or None, default 100_000
        The largest number of distinct labels, as for `stream_metrics.count`. None is no limit.
    **options : Any
        Options of `MetricSet`: labels, pos_label, zero_division, ...

    Returns
    -------
    DataFrame or Counted
        The columns of `keys`, `n`, a double for each metric, and `state`, the bytes of the group. A per-class metric is
        that of `pos_label`, nan where that is not a class. With on_bad="count" the named tuple (data frame, bad).

    Raises
    ------
    LabelError
        If `df` lacks a column.
    ValueError
        If a metric is not one number, or an option is not allowed.
    """
    prototype, pos_label = _prototype(metrics, scores is not None, options)
    shown = prototype.metrics or (*REPORT, *(TABLE_OF_SCORES if scores is not None else ()))
    for key in shown:
        if find(key).kind == "matrix" or key in LABEL_VALUED:
            raise ValueError(f"Expected `metrics` of groups to be numbers, but {key!r} is none")
    fields = Fields(y_true, y_pred, scores, weight)
    selected = select(df, keys, fields, classes)
    states, bad = _states(selected, Job.of(prototype, selected.fields, on_bad, max_labels))
    doubles = [StructField(f"m{at}", DoubleType()) for at in range(len(shown))]
    schema = StructType([*states.schema[:-1], StructField("n", LongType()), *doubles, PARTS[0]])
    table = states.mapInArrow(partial(workers.read, shown, pos_label), schema)
    groups = selected.restored(table, ["n", *shown, "state"])
    return groups if bad is None else Counted(groups, bad)


def accumulate(
    df: DataFrame,
    prototype: State,
    fields: Fields = FIELDS,
    *,
    classes: Iterable[Label] | None = None,
    on_bad: OnBad = "raise",
    max_labels: int | None = MOST_LABELS,
) -> Any:
    """Return a new state like `prototype` that has counted all rows; of no rows, an empty one.

    Parameters
    ----------
    df : DataFrame
        The rows.
    prototype : state, Metric, MetricSet or container
        The accumulator to count with. It is not changed, and samples that it has already are not included.
    fields : Fields, optional
        The columns; by default "y_true" and "y_pred".
    classes : iterable of Label, optional
        The classes of a column of arrays or vectors of scores, if `fields` has none.
    on_bad : {"raise", "count"}, default "raise"
        Whether a row that cannot be counted fails the job, or is left out and recorded. With "count" all rows go
        through Python.
    max_labels : int or None, default 100_000
        The largest number of distinct labels, as for `stream_metrics.count`. None is no limit.

    Returns
    -------
    state or Counted
        The state; with on_bad="count" the named tuple (state, bad), whose second is a `BadRows` with the partition and
        the row of the first ones.

    Raises
    ------
    LabelError
        If `df` lacks a column.
    ValueError
        If `prototype` is not an accumulator or does not merge, or an option is not allowed.

    Notes
    -----
    Memory: on each worker a state and a block of rows, on the driver one state.
    """
    selected = select(df, (), fields, classes)
    job = Job.of(prototype, selected.fields, on_bad, max_labels)
    pairs = countable(selected, job.empty) if on_bad == "raise" else None
    parts = None if pairs is None else _counted(pairs, job)
    if parts is None:
        rows = selected.rows if pairs is None else pairs
        parts = _collected(rows.mapInArrow(partial(workers.count_all, job), PARTS), job)
    return job.result(parts)


def accumulate_by(
    df: DataFrame,
    keys: ColumnRef | Sequence[ColumnRef],
    prototype: Accumulator,
    fields: Fields = FIELDS,
    *,
    classes: Iterable[Label] | None = None,
    on_bad: OnBad = "raise",
    max_labels: int | None = MOST_LABELS,
) -> Any:
    """Return a data frame with a row for each combination of `keys`.

    Parameters
    ----------
    df : DataFrame
        The rows.
    keys : str, Column or sequence of these
        The columns of groups. Null is a group.
    prototype : state, Metric, MetricSet or container
        The accumulator to count with. It is not changed, and samples that it has already are not included.
    fields : Fields, optional
        The columns; by default "y_true" and "y_pred".
    classes : iterable of Label, optional
        The classes of a column of arrays or vectors of scores, if `fields` has none.
    on_bad : {"raise", "count"}, default "raise"
        Whether a row that cannot be counted fails the job, or is left out of its group and recorded. A group without
        good rows is left out. Good rows that cannot be counted together, as their weights overflow, fail the job.
    max_labels : int or None, default 100_000
        The largest number of distinct labels of the groups that one task counts. None is no limit.

    Returns
    -------
    DataFrame or Counted
        The columns of `keys`, and `state`, the bytes of a state. With on_bad="count" the named tuple (data frame, bad),
        where `bad` is a `BadRows` with the partition and the row of the first bad rows.

    Raises
    ------
    LabelError
        If `df` lacks a column, or there are no keys.
    ValueError
        If `prototype` is not an accumulator or does not merge, or an option is not allowed.

    Notes
    -----
    With on_bad="count" the call runs a job that records the bad rows, and reading the data frame looks for them again.
    Persist rows that may differ the second time, and rows that take long to compute.

    Memory: on each worker one state, a block of rows, and where Python counts, rows and states of a fixed size.
    """
    selected = select(df, keys, fields, classes)
    states, bad = _states(selected, Job.of(prototype, selected.fields, on_bad, max_labels))
    groups = selected.restored(states, ["state"])
    return groups if bad is None else Counted(groups, bad)


def merge_states(column: ColumnRef) -> Column:
    """Return the aggregate, for `agg`, that merges a column of states as bytes; others may stand beside it.

    Parameters
    ----------
    column : str or Column
        The column of states. Nulls are left out; of nothing but nulls, the merge is null.

    Returns
    -------
    Column
        The bytes of the merge.

    Notes
    -----
    Memory: all states of a group at once.
    """
    merge_lists = F.pandas_udf(_merge_lists, BinaryType())  # not at import: the session decides of which kind it is
    merged: Column = merge_lists(F.collect_list(column))
    return merged


def partial_states(
    df: DataFrame,
    keys: ColumnRef | Sequence[ColumnRef],
    prototype: Accumulator,
    fields: Fields = FIELDS,
    *,
    classes: Iterable[Label] | None = None,
) -> DataFrame:
    """Return the first half of `accumulate_by`: states not yet merged, one or more for each partition and key.

    Parameters
    ----------
    df : DataFrame
        The rows.
    keys : str, Column or sequence of these
        The columns of groups. Null is a group.
    prototype : state, Metric, MetricSet or container
        The accumulator to count with. It is not changed, and samples that it has already are not included.
    fields : Fields, optional
        The columns; by default "y_true" and "y_pred".
    classes : iterable of Label, optional
        The classes of a column of arrays or vectors of scores, if `fields` has none.

    Returns
    -------
    DataFrame
        The columns of `keys`, and `state`, the bytes of a state; a streaming data frame if `df` is one.

    Raises
    ------
    LabelError
        If `df` lacks a column.
    ValueError
        If `prototype` is not an accumulator or does not merge.
    """
    selected = select(df, keys, fields, classes)
    return selected.restored(states_by_key(selected, prototype), ["state"])


def states_by_key(selected: Selected, prototype: Accumulator) -> DataFrame:
    """Return states of rows, one or more for each partition and key."""
    job = Job.of(prototype, selected.fields, "raise", None)
    if not selected.keys:
        return selected.rows.mapInArrow(partial(workers.count_all, job), PARTS).select("state")
    return _parts_by_key(selected, job, 0).select(*selected.keys, "state")


def _prototype(
    metrics: Iterable[str | type[Metric]] | None, scored: bool, options: dict[str, Any]
) -> tuple[MetricSet, Label]:
    """Return the set that counts, and the class whose metrics are shown."""
    pos_label = options.get("pos_label", True)
    if not scored:
        options = {name: value for name, value in options.items() if name != "pos_label"}  # which is for what is shown
    return MetricSet(metrics, scores=scored, **options), pos_label


def _states(selected: Selected, job: Job) -> tuple[DataFrame, BadRows | None]:
    """Return a row with a state for each key, and the record of bad rows with on_bad="count"."""
    if not selected.keys:
        raise LabelError("Expected `keys` to be one column or more, but got none")
    parts = countable(selected, job.empty) if job.on_bad == "raise" else None
    if parts is None:
        parts = _parts_by_key(selected._replace(rows=numbered(selected.rows)), job, workers.LARGE)
    by_key = Window.partitionBy(*selected.keys).orderBy(F.lit(1))
    runs = parts.withColumn("first", F.row_number().over(by_key) == 1)
    merge = partial(workers.merge_runs, job, selected.keys)
    merged = runs.mapInArrow(merge, StructType([*selected.rows.schema[: len(selected.keys)], *PARTS]))
    states = merged.drop("bad")
    if job.on_bad == "raise":
        return states, None
    record = merged.agg(merge_states("bad").alias("bad")).first().bad
    return states.where("state IS NOT NULL"), BadRows() if record is None else BadRows.from_bytes(bytes(record))


def _parts_by_key(selected: Selected, job: Job, least: int) -> DataFrame:
    """Return states and records of keys with at least so many bytes in a block, and the other rows as they are."""
    keys, columns = selected.rows.schema[: len(selected.keys)], selected.rows.schema[len(selected.keys) :]
    nullable = [StructField(field.name, field.dataType) for field in columns]
    count = partial(workers.count_by_key, job, selected.keys, least)
    return selected.rows.mapInArrow(count, StructType([*keys, *nullable, *PARTS]))


def _collected(parts: DataFrame, job: Job) -> list[Part]:
    """Merge states and records into one row, and return it; no rows give no row."""
    for tasks in (TASKS, 1):
        parts = parts.repartition(tasks).mapInArrow(partial(workers.merge_parts, job), PARTS)
    return [(bytes(row.state), None if row.bad is None else bytes(row.bad)) for row in parts.collect()]


def _counted(pairs: DataFrame, job: Job) -> list[Part] | None:
    """Return the state of pairs of labels that Spark has counted; None if there are many of them."""
    few = pairs.limit(MOST_PAIRS + 1)
    table = few.toArrow() if hasattr(few, "toArrow") else pa.Table.from_pylist([row.asDict() for row in few.collect()])
    if len(table) > MOST_PAIRS:
        return None
    state = job.empty.copy()
    if len(table):
        workers.count_into(state, None, job, table)
    return [part_of(state, None)]


def _merge_lists(lists: pd.Series) -> pd.Series:
    return lists.map(workers.merge_all)
