"""Counts that SQL engines group give the bytes of the rows: the recipes of the page "Counts from SQL"."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from support import stores
from support.refusals import refused

import stream_metrics as sm

Row = tuple[Any, ...]
NAMES = "y_true", "y_pred", "score", "w", "country"
BY_LABEL = "SELECT y_true, y_pred, count(*) AS n FROM predictions GROUP BY y_true, y_pred"
BY_WEIGHT = "SELECT y_true, y_pred, count(*) AS n, sum(w) AS w FROM predictions GROUP BY y_true, y_pred, predictions.w"
BY_COUNTRY = "SELECT country, y_true, y_pred, count(*) AS n FROM predictions GROUP BY country, y_true, y_pred"
BY_SCORE = """
    SELECT score, y_true = 'spam' AS y_true, count(*) AS n FROM predictions GROUP BY score, y_true = 'spam'
"""
AGAIN = """
    SELECT y_true, y_pred, sum(n) AS n FROM (SELECT country, y_true, y_pred, count(*) AS n FROM predictions
    GROUP BY country, y_true, y_pred) AS parts GROUP BY y_true, y_pred
"""


def table() -> list[Row]:
    """Return rows of predictions, some of which are missing."""
    rng = random.Random(11)
    rows = []
    for _ in range(3000):
        truth = rng.choice(["spam", "ham", "naïve"])
        predicted = rng.choice([truth, truth, "spam", None])
        score = None if predicted is None else round(rng.random(), 2)
        rows.append((truth, predicted, score, rng.choice([1.0, 1.0, 0.5, 3.0]), rng.choice(["de", "fr", "us"])))
    return rows


ROWS = table()
NEEDS = {"rows": [], "numpy": [], "pandas": ["pandas"], "arrow": ["pyarrow"], "polars": ["polars", "pyarrow"]}


def columns(*names: str) -> list[list[Any]]:
    """Return columns of the rows."""
    return [[row[NAMES.index(name)] for row in ROWS] for name in names]


def check(query: Any) -> None:
    """Compare states of grouped rows with states of the rows; `query` returns columns by name in some form."""
    labels, again, weighted, grouped = map(query, (BY_LABEL, AGAIN, BY_WEIGHT, BY_COUNTRY))
    pairs, by_rows, with_weights = sm.MetricSet(), sm.ByGroup(sm.MetricSet()), sm.MetricSet()
    pairs.update_many(*columns("y_true", "y_pred"))
    with_weights.update_many(*columns("y_true", "y_pred", "w"))
    by_rows.update_many(*columns("y_true", "y_pred"), group=columns("country")[0])

    whole = sm.ConfusionMatrix.from_counts(labels["y_true"], labels["y_pred"], labels["n"])
    state = sm.ConfusionMatrix.from_counts(*(weighted[name] for name in ("y_true", "y_pred", "n", "w")))
    metrics, groups = sm.MetricSet(), sm.ByGroup(sm.MetricSet())
    metrics.update_counts(again["y_true"], again["y_pred"], again["n"])
    groups.update_counts(grouped["y_true"], grouped["y_pred"], grouped["n"], group=grouped["country"])
    assert whole.to_bytes() == metrics.state.to_bytes() == pairs.state.to_bytes()
    assert state.to_bytes() == with_weights.state.to_bytes()
    assert 0 < state.weighted < state.n
    assert groups.to_bytes() == by_rows.to_bytes()


def check_scores(query: Any) -> None:
    """Compare a sketch of grouped scores with one of the rows."""
    scores, sketch = query(BY_SCORE), sm.RankSketch()
    sketch.update_many([row[0] == "spam" for row in ROWS], columns("score")[0])
    counted = sm.RankSketch.from_counts(scores["score"], scores["y_true"], scores["n"])
    assert counted.to_bytes() == sketch.to_bytes()
    assert counted.abstained > 0


@pytest.fixture(scope="module")
def duck() -> Iterator[Any]:
    """A DuckDB connection with the table."""
    duckdb = pytest.importorskip("duckdb", reason="needs DuckDB")
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE predictions (y_true VARCHAR, y_pred VARCHAR, score DOUBLE, w DOUBLE, country VARCHAR)"
        )
        connection.executemany("INSERT INTO predictions VALUES (?, ?, ?, ?, ?)", ROWS)
        yield connection


def fetched(cursor: Any) -> dict[str, list[Any]]:
    """Return the rows of a cursor of the Python database API as columns."""
    names = [each[0] for each in cursor.description]
    return dict(zip(names, map(list, zip(*cursor.fetchall(), strict=True)), strict=True))


@pytest.mark.parametrize("form", NEEDS)
def test_duckdb(duck: Any, form: str) -> None:
    """In each form of its results; a sum of counts is a HUGEINT, that is a Decimal or a float."""
    for package in NEEDS[form]:
        pytest.importorskip(package, reason=f"needs {package}")
    read = {"numpy": "fetchnumpy", "pandas": "df", "arrow": "to_arrow_table", "polars": "pl"}

    def query(sql: str) -> Any:
        relation = duck.sql(sql)
        return getattr(relation, read[form])() if form in read else fetched(relation)

    check(query)
    if form == "pandas":  # where a missing score is nan
        assert math.isnan(refused(partial(check_scores, query), sm.ScoreError).got)
    else:
        check_scores(query)


def test_spark_sql(spark: Any) -> None:
    """Spark counts, and the driver gets one row for each pair of labels."""
    schema = "y_true string, y_pred string, score double, w double, country string"
    spark.createDataFrame(ROWS, schema).createOrReplaceTempView("predictions")

    def query(sql: str) -> dict[str, list[Any]]:
        rows = spark.sql(sql).collect()
        return {name: [row[name] for row in rows] for name in rows[0].asDict()}

    try:
        check(query)
        check_scores(query)
    finally:
        spark.catalog.dropTempView("predictions")


@pytest.fixture(scope="module")
def database() -> Iterator[Any]:
    """A connection to a PostgreSQL server of its own, with the table."""
    psycopg = pytest.importorskip("psycopg", reason="needs psycopg")
    with stores.server() as host, psycopg.connect(f"host={host} user=test dbname=postgres") as connection:
        connection.execute("CREATE TABLE predictions (y_true text, y_pred text, score float8, w numeric, country text)")
        with connection.cursor() as cursor:
            exact = [(*row[:3], Decimal(row[3]), row[4]) for row in ROWS]
            cursor.executemany("INSERT INTO predictions VALUES (%s, %s, %s, %s, %s)", exact)
        yield connection


def test_postgresql(database: Any) -> None:
    """Sums of counts and of numerics are Decimals."""
    assert type(fetched(database.execute(AGAIN))["n"][0]) is Decimal
    check(lambda sql: fetched(database.execute(sql)))
    check_scores(lambda sql: fetched(database.execute(sql)))
