"""Groups of Spark data frames: every key that `groupBy` accepts, however its column is named or given."""

from __future__ import annotations

import datetime
import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="needs PySpark")
pa = pytest.importorskip("pyarrow", reason="needs PyArrow")

import pyspark  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402
from support.refusals import refused  # noqa: E402

import stream_metrics as sm  # noqa: E402
from stream_metrics.integrations.spark import accumulate, accumulate_by, evaluate, evaluate_by  # noqa: E402
from stream_metrics.tables.fields import Fields  # noqa: E402

SCHEMA = """
    State string, n int, `a.t` string, `a.p` string, r struct<truth: string, guess: string, p: double, country: string>,
    at timestamp, zone string, real double, `back``tick` string, weight double
"""
LAST = datetime.datetime(9999, 12, 31, 22, tzinfo=datetime.UTC)
FOUR = pyspark.__version__ >= "4"
KEYS: dict[str, Callable[[], Any]] = {
    "a window": lambda: F.window("at", "1 hour"),
    "a sliding window": lambda: F.window("at", "1 hour", "30 minutes"),
    "an array": lambda: F.array("zone", "State"),
    "an array of structs": lambda: F.array(F.struct("zone", "n"), F.struct("zone", F.lit(7).alias("n"))),
    "an array that may be null": lambda: F.when(F.col("n") > 0, F.array("zone", F.lit(None))),
    "a struct": lambda: F.struct("zone", F.struct("n", F.array("real"))),
    "a struct that may be null": lambda: F.when(F.col("n") > 0, F.struct("zone")),
    "the last hour": lambda: F.when(F.col("n") == 0, F.lit(LAST)).otherwise(F.col("at")),
    "the last day": lambda: F.when(F.col("n") == 0, F.lit(datetime.date.max)).otherwise(F.to_date("at")),
    "without a zone": lambda: F.expr(
        "if(n = 0, timestamp_ntz '9999-12-31 23:59:59.999999', cast(at as timestamp_ntz))"
    ),
    "months": lambda: F.expr("make_ym_interval(n, 1)"),
    "months in a struct": lambda: F.expr("struct(make_ym_interval(n, 1), n)"),
    "a duration": lambda: F.expr("make_dt_interval(n, 1)"),
    "zeros": lambda: F.expr("if(n = 0, -0.0D, 0.0D)"),
    "nan": lambda: F.expr("if(n = 0, double('NaN'), 1.5)"),
    "zeros in a struct": lambda: F.expr("struct(if(n = 0, -0.0D, 0.0D))"),
    "bytes": lambda: F.col("zone").cast("binary"),
    "nothing": lambda: F.lit(None),
    "an expression": lambda: F.upper("zone"),
}
if FOUR:
    KEYS |= {
        "a map": lambda: F.create_map("zone", "n", F.lit("x"), F.lit(1)),
        "an interval": lambda: F.expr("make_interval(n, 1, 0, 1)"),
        "text of any case": lambda: F.expr("collate(if(n = 0, upper(zone), zone), 'UTF8_LCASE')"),
    }


@pytest.fixture(scope="module")
def df(spark: Any) -> Any:
    """Samples in three partitions, with names and keys that need care."""
    rng = random.Random(3)
    rows = []
    for _ in range(300):
        truth, guess = rng.choice("xy"), rng.choice(["x", "y", None])
        at = datetime.datetime(2026, 1, 1, rng.randrange(3), rng.randrange(60), tzinfo=datetime.UTC)
        nested = (truth, guess, round(rng.random(), 3), rng.choice(["fr", None]))
        plain = (rng.choice(["tx", None]), rng.randrange(3), truth, guess, nested, at, rng.choice(["a", "b"]))
        rows.append((*plain, rng.choice([0.0, float("nan"), None]), "q", rng.random()))
    return spark.createDataFrame(rows, SCHEMA).repartition(3).cache()


def shown(frame: Any) -> list[tuple[str, int]]:
    """Return for each row the text of its key, as Spark writes it, and its number of samples."""
    (key, kind), (number, _) = frame.dtypes
    text = F.to_json(key) if "map" in kind else F.col(key).cast("string")
    rows = frame.select(F.lower(F.coalesce(text, F.lit("null"))), number).collect()
    return [tuple(row) for row in rows]


THROUGH_PYTHON = (
    "a sliding window",
    "an array of structs",
    "a struct that may be null",
    "the last hour",
    "zeros in a struct",
)


@pytest.mark.parametrize("weight", [None, "weight"], ids=["counted by Spark", "counted by Python"])
def test_every_key_of_group_by_is_a_key(df: Any, weight: str | None) -> None:
    """Groups and their sizes are those of `groupBy`, and keys keep type and name, whether Spark counts or Python."""
    for name in KEYS if weight is None else THROUGH_PYTHON:
        key = KEYS[name]().alias("key")
        result = evaluate_by(df, key, y_true="a.t", y_pred="a.t", weight=weight, metrics=["accuracy"])
        assert result.schema["key"].dataType == df.select(key).schema["key"].dataType, name
        assert Counter(shown(result.select("key", "n"))) == Counter(shown(df.groupBy(key).count())), name


def test_columns_of_any_name_in_any_case(df: Any) -> None:
    """A key may have the name of a column of the result, dots, or be a field; all rows are counted."""
    for key in ("State", "STATE", "n", "N", "a.t", "A.T", "r.country", "R.COUNTRY", "back`tick"):
        result = evaluate_by(df, key, y_true="A.T", y_pred="r.guess", metrics=["accuracy"])

        name = df.select(key if key.lower().startswith("r.") else f"`{key.replace('`', '``')}`").columns[0]
        state = "sm_state" if key.lower() == "state" else "state"
        assert result.columns == [name, "sm_n" if key.lower() == "n" else "n", "accuracy", state]
        total = sm.merge(bytes(row[-1]) for row in result.collect()).state
        assert total.n + total.abstained == df.count()
    twice = accumulate_by(df, ["zone", "zone"], sm.MetricSet(), Fields("a.t", "a.p"))
    assert twice.columns == ["zone", "zone", "state"]  # as in `groupBy`


def test_columns_are_given_as_objects(df: Any) -> None:
    """Truth, prediction, scores, weight and keys may be Column objects, of fields and of expressions too."""
    fields = Fields(F.col("r.truth"), df["r"]["guess"], weight=F.col("weight") * 2)

    state = accumulate(df, sm.MetricSet(), fields)
    by_two = evaluate_by(df, [F.col("r.country"), df.zone], y_true=df["`a.t`"], y_pred=F.col("r").guess).collect()
    scored = evaluate(df, y_true=F.col("`a.t`") == "x", y_pred=None, scores=F.col("r.p"))

    rows = df.select("`a.t`", "`a.p`", F.col("weight") * 2, "r.p").collect()
    expected = sm.MetricSet()
    expected.update_many(*map(list, zip(*(row[:3] for row in rows), strict=True)))
    assert state.to_bytes() == expected.to_bytes()
    assert len(by_two) == df.select("r.country", "zone").distinct().count()
    assert isinstance(scored, sm.Snapshot)
    assert scored["roc_auc"] == sm.evaluate([row[0] == "x" for row in rows], scores=[row[3] for row in rows])["roc_auc"]


def test_what_is_no_key(df: Any) -> None:
    """Rows are assigned to sessions by Spark's own aggregates only; without a key, `accumulate` returns the state."""
    count = partial(accumulate_by, df, prototype=sm.MetricSet(), fields=Fields("a.t", "a.p"))
    sessions = partial(count, keys=F.session_window("at", "5 minutes"))
    refused(sessions, sm.LabelError, "a session window, 'session_window', is not")
    refused(partial(count, keys=[]), sm.LabelError, "Expected `keys` to be one column or more, but got none")


def test_decimals_without_digits_are_integers(spark: Any) -> None:
    """Whole decimals are labels as integers are; scores may be decimals; what needs more than 64 bits is refused."""
    rows = spark.sql(
        """SELECT cast(id % 2 AS decimal(38,0)) t, cast(id % 3 = 0 AS int) p, cast(id / 9 AS decimal(9,4)) s
        FROM range(9)"""
    )
    large = spark.sql("SELECT cast('99999999999999999999' AS decimal(38,0)) t, 1 p")

    state = accumulate(rows, sm.MetricSet(), Fields("t", "p"))
    scored = accumulate(rows, sm.MetricSet(scores=True), Fields("t", "p", "s"))

    expected = sm.MetricSet()
    expected.update_many([i % 2 for i in range(9)], [int(i % 3 == 0) for i in range(9)])
    assert state.to_bytes() == expected.to_bytes()
    assert scored.n == 9
    count = partial(accumulate, large, sm.MetricSet(), Fields("t", "p"))
    refused(count, Exception, "Expected `y_true` to be a decimal of at most 64 bits")
