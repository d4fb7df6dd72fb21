"""Calls of the Spark adapter through Spark Connect, in a process of its own; the adapter is imported first."""

from __future__ import annotations

import os
import sys

os.environ["PYSPARK_PYTHON"] = sys.executable

import pytest

import stream_metrics as sm
from stream_metrics.integrations import spark as adapter  # before there is a session, as at the top of a script
from stream_metrics.tables.fields import Fields

from pyspark.sql import SparkSession, functions as F  # isort: skip
from pyspark.sql.utils import is_remote

from support.spark_session import SETTINGS


def main() -> None:
    """Compare the results of every function with those of one process."""
    builder = SparkSession.builder.remote("local[2]")
    options = [f'--conf "{name}={value}"' for name, value in SETTINGS.items()]
    os.environ["PYSPARK_SUBMIT_ARGS"] = " ".join([*options, "pyspark-shell"])
    spark = builder.getOrCreate()
    assert is_remote()
    rows = [(i, "fr" if i % 2 else "de", "xyz"[i % 3], "xyz"[i % 5 % 3], i % 7 / 7) for i in range(60)]
    df = spark.createDataFrame(rows, "id long, state string, truth string, guess string, w double").repartition(3)
    nested = df.select(
        "id", "state", F.struct("truth", "guess").alias("r.r"), F.struct("truth", "guess").alias("r"), "w"
    )
    labels, weights = Fields("truth", "guess"), Fields("truth", "guess", weight="w")
    truth, guess, w = ([row[at] for row in rows] for at in (2, 3, 4))

    def counted(*arguments: object) -> sm.MetricSet:
        state = sm.MetricSet()
        state.update_many(*arguments)
        return state

    plain, weighted = counted(truth, guess), counted(truth, guess, w)
    assert adapter.accumulate(df, sm.MetricSet(), labels) == plain
    assert adapter.accumulate(df, sm.MetricSet(), weights) == weighted
    assert adapter.accumulate(nested, sm.MetricSet(), Fields("r.truth", F.col("r.guess"))) == plain
    assert adapter.evaluate(df, y_true="TRUTH", y_pred=F.col("guess")).n == 60
    shown = adapter.evaluate(df, y_true="truth", y_pred="guess", group_by="State")
    assert [name.lower() for name in shown.columns[:2]] == ["state", "n"]
    assert shown.columns[-1] == "sm_state"
    assert {row.n for row in shown.collect()} == {30}
    for fields, total in ((labels, plain), (weights, weighted)):
        states = adapter.accumulate_by(df, F.expr("id % 4").alias("four"), sm.MetricSet(), fields)
        merged = states.agg(adapter.merge_states("state").alias("state"), F.count(F.lit(1)).alias("n")).first()
        assert (bytes(merged.state), merged.n) == (total.to_bytes(), 4)
    adapter.register(spark)
    states.createOrReplaceTempView("states")
    sql = "SELECT sm_n(sm_merge_list(collect_list(state))) AS n, count(*) AS rows FROM states"
    assert tuple(spark.sql(sql).first()) == (60, 4)
    f1 = spark.sql("SELECT sm_metric(sm_merge(state), 'macro_f1') AS f1 FROM states").first().f1
    assert f1 == weighted.snapshot()["macro_f1"]
    with pytest.raises(sm.LabelError, match="Expected `y_true` to be a column of the table, but got 'nothing'"):
        adapter.accumulate(df, sm.MetricSet(), Fields("nothing", "guess"))
    spark.stop()
    print("all right")


if __name__ == "__main__":
    main()
