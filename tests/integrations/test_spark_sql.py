"""States in Spark SQL: merged beside other aggregates, and read as numbers."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="needs PySpark")
pytest.importorskip("pyarrow", reason="needs PyArrow")

from pyspark.errors import PythonException
from pyspark.sql import functions as F
from support.examples import run_example
from support.refusals import refused

import stream_metrics as sm
from stream_metrics.integrations import spark_sql
from stream_metrics.integrations.spark import accumulate_by, merge_states
from stream_metrics.tables.fields import Fields

RNG = random.Random(9)
ROWS = [(RNG.choice(["fr", "de"]), RNG.randrange(4), RNG.choice("ab"), RNG.choice("abc")) for _ in range(200)]


@pytest.fixture(scope="module")
def states(spark: Any) -> Any:
    """States of countries and days, and a null, as a view."""
    spark_sql.register(spark)
    df = spark.createDataFrame(ROWS, "country string, day int, truth string, guess string")
    by_day = accumulate_by(df, ["country", "day"], sm.MetricSet(), Fields("truth", "guess"))
    rows = [tuple(row) for row in by_day.collect()] + [("it", 0, None)]
    view = spark.createDataFrame(rows, "country string, day int, state binary")
    view.createOrReplaceTempView("states")
    return view


def expected(country: str) -> sm.MetricSet:
    """Return what one process counts of a country."""
    state = sm.MetricSet()
    truth, guess = zip(*(row[2:] for row in ROWS if row[0] == country), strict=True)
    state.update_many(truth, guess)
    return state


def test_states_are_merged_beside_other_aggregates(spark: Any, states: Any) -> None:
    """In SQL and in `agg`, with `count(*)` and `HAVING`, and alone."""
    sql = spark.sql("""
        SELECT *, sm_n(state) AS n, sm_metric(state, 'macro_f1') AS f1 FROM (
            SELECT country, count(*) AS days, max(day) AS last, sm_merge_list(collect_list(state)) AS state
            FROM states GROUP BY country HAVING count(*) > 1
        ) ORDER BY country
    """).collect()
    frame = states.groupBy("country").agg(merge_states("state").alias("same"), F.count("*").alias("days"))
    alone = {
        row.country: row.state
        for row in spark.sql("SELECT country, sm_merge(state) AS state FROM states GROUP BY 1").collect()
    }

    for row in sql:
        state = expected(row.country)
        assert (row.days, row.last, row.n) == (4, 3, state.n)
        assert bytes(row.state) == state.to_bytes()
        assert row.f1 == state.snapshot()["macro_f1"]
    assert [row.country for row in sql] == ["de", "fr"]
    by_country = {row.country: row for row in frame.collect()}
    assert alone["it"] is None
    assert by_country["it"].same is None
    for country in ("de", "fr"):
        row = by_country[country]
        assert bytes(alone[country]) == bytes(row.same) == expected(country).to_bytes()
        assert row.days == 4


def test_states_are_read_as_numbers(spark: Any, states: Any) -> None:
    """Whole metrics, those of a class, and sizes; null of null, nan of a class that is none."""
    row = spark.sql("""
        SELECT sm_metric(m, 'accuracy'), sm_metric(m, 'recall', 'a'), sm_metric(m, 'recall', 'z'), sm_n(m),
            sm_metric(null, 'accuracy'), sm_n(null), sm_merge_list(array(m, null, m))
        FROM (SELECT sm_merge(state) AS m FROM states WHERE country = 'fr')
    """).first()

    snapshot = expected("fr").snapshot()
    assert row[:2] == (snapshot["accuracy"], snapshot["recall", "a"])
    assert math.isnan(row[2])
    assert row[3:6] == (snapshot.n, None, None)
    assert sm.from_bytes(bytes(row[6])).n == 2 * snapshot.n


def test_what_is_no_number_is_refused(spark: Any, states: Any) -> None:
    """A metric of classes needs a label, others take none, and a label is no number."""
    for call in ("state, 'recall'", "state, 'accuracy', 'a'", "state, 'majority_class'"):
        query = spark.sql(f"SELECT sm_metric({call}) FROM states WHERE country = 'fr' LIMIT 1")
        refused(query.collect, PythonException, "Expected `key` of sm_metric to be")


def test_records_of_bad_rows_merge_like_states(spark: Any, states: Any) -> None:
    """A column of records merges, and has a number of rows, but no metrics."""
    records = [sm.BadRows() for _ in range(3)]
    for at, record in enumerate(records):
        record.count_into(sm.MetricSet(), [None], [at], row=at)
    df = spark.createDataFrame([(record.to_bytes(),) for record in records], "bad binary")
    merged = df.agg(merge_states("bad").alias("whole")).selectExpr("whole", "sm_n(whole) AS n").first()

    assert (bytes(merged.whole), merged.n) == (sm.merge(records).to_bytes(), 3)
    query = df.select(F.expr("sm_metric(bad, 'accuracy')"))
    refused(query.collect, PythonException, "Expected `state` of sm_metric to be the bytes of a state")


def test_the_example_runs(spark: Any) -> None:
    """The script in the docstring runs as it stands."""
    assert run_example(spark_sql, {})[-1] == "1.0"
