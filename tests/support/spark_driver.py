"""States of many partitions reach a driver that accepts few bytes, in a process of its own."""

from __future__ import annotations

import os
import sys

os.environ["PYSPARK_PYTHON"] = sys.executable

import pytest
from pyspark.sql import SparkSession

import stream_metrics as sm
from stream_metrics.integrations import spark as adapter
from stream_metrics.tables.fields import Fields
from support.spark_session import SETTINGS

LIMIT = 400_000  # bytes of results that the driver accepts


def main() -> None:
    """Accumulate states that are together larger than the limit, with and without adaptive execution."""
    settings = SETTINGS | {"spark.driver.maxResultSize": str(LIMIT)}
    spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    rows = spark.range(0, 48_000, 1, 24).selectExpr(
        "cast(id % 3 = 0 AS int) t", "map(0, 1 - rand(1), 1, rand(1)) s", "id"
    )
    fields, prototype = Fields("t", None, "s"), sm.MetricSet(scores=True)
    for enabled in ("true", "false"):
        spark.conf.set("spark.sql.adaptive.enabled", enabled)
        parts = adapter.partial_states(rows, (), prototype, fields)
        sizes = parts.selectExpr("sum(length(state)) AS total", "count(*) AS states").first()
        assert sizes.states == 24
        assert sizes.total > 1.5 * LIMIT, sizes
        with pytest.raises(Exception, match="maxResultSize"):
            parts.collect()
        assert adapter.accumulate(rows, prototype, fields).n == 48_000
    spark.stop()
    print("all right")


if __name__ == "__main__":
    main()
