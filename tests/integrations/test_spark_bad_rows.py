"""Spark: rows that cannot be counted, and columns that are no labels."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyspark", reason="needs PySpark")
pa = pytest.importorskip("pyarrow", reason="needs PyArrow")

from pyspark.errors import PythonException  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402

import stream_metrics as sm  # noqa: E402
from stream_metrics.integrations import spark as adapter  # noqa: E402
from stream_metrics.integrations import spark_bad_rows, spark_sql, spark_workers  # noqa: E402
from stream_metrics.integrations.spark import accumulate_by, evaluate, merge_states  # noqa: E402
from stream_metrics.integrations.tables import Fields  # noqa: E402
from stream_metrics.tables.places import Place  # noqa: E402

RNG = random.Random(11)
ROWS = [
    (RNG.choice(["fr", "de", None]), RNG.choice(["cat", "dog", None]), RNG.choice(["cat", "dog"]), RNG.random() * 1.2)
    for _ in range(300)
] + [("all bad", None, "cat", 2.0)]
CASES = {
    "counted by the JVM": (sm.MetricSet(), Fields("truth", "guess")),
    "fixed labels": (sm.MetricSet(labels=["cat"]), Fields("truth", "guess")),
    "scores": (sm.MetricSet(scores=True, labels=["cat", "dog"], pos_label="cat"), Fields("truth", None, "p")),
}


@pytest.fixture(autouse=True)
def few_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let two tasks merge, as each empty one of 16 takes its time."""
    monkeypatch.setattr(adapter, "TASKS", 2)


@pytest.fixture(scope="module")
def df(spark: Any) -> Any:
    """The rows in one partition, so that their numbers are known."""
    return spark.createDataFrame(ROWS, "country string, truth string, guess string, p double").coalesce(1)


def one_process(prototype: Any, fields: Fields) -> tuple[dict[str | None, Any], sm.BadRows]:
    """Return the states of groups, and the record of bad rows, counted row by row."""
    states: dict[str | None, Any] = {}
    bad = sm.BadRows()
    for at, (country, truth, guess, p) in enumerate(ROWS):
        state = states.setdefault(country, prototype.copy())
        columns = {"y_pred": pa.array([guess])} if fields.y_pred else {"scores": pa.array([p])}
        bad.count_into(state, pa.array([truth], pa.string()), **columns, partition=0, row=at)
    return {country: state for country, state in states.items() if state.n}, bad


@pytest.mark.parametrize("name", CASES)
def test_groups_have_their_good_rows_only(df: Any, name: str) -> None:
    """Groups are those of good rows, a null key among them; the record has partition and row of the first bad ones."""
    prototype, fields = CASES[name]
    expected, record = one_process(prototype, fields)

    states, bad = accumulate_by(df, "country", prototype, fields, on_bad="count")

    assert {row.country: bytes(row.state) for row in states.collect()} == {
        country: state.to_bytes() for country, state in expected.items()
    }
    assert None in expected
    assert "all bad" not in expected
    assert bad.to_bytes() == record.to_bytes()
    assert (bad.first[0].partition, len(bad.first)) == (0, 10)


def test_groups_are_evaluated_without_bad_rows(df: Any) -> None:
    """`evaluate` returns a row for each group, and the record."""
    expected, record = one_process(*CASES["counted by the JVM"])

    shown, bad = evaluate(df, y_true="truth", y_pred="guess", group_by="country", metrics=["accuracy"], on_bad="count")

    assert shown.columns == ["country", "n", "accuracy", "state"]
    assert {row.country: (row.n, row.accuracy) for row in shown.collect()} == {
        country: (state.n, state.snapshot()["accuracy"]) for country, state in expected.items()
    }
    assert bad.reasons == record.reasons


@given(
    rows=st.lists(
        st.tuples(st.sampled_from("xyz"), st.sampled_from(["a", "b", None]), st.sampled_from([0.5, -1.0, 7]))
    ),
    size=st.integers(1, 7),
    block=st.integers(1, 200),
)
def test_a_row_is_bad_wherever_it_lies(rows: list[tuple[str, str | None, float]], size: int, block: int) -> None:
    """Any split into batches and blocks gives the good rows and the record of a check row by row."""
    table = pa.table(
        [pa.array(column) for column in zip(*rows, strict=True)] if rows else [pa.array([])] * 3,
        names=["k0", "y_true", "weight"],
    )
    good, bad = [], sm.BadRows()
    for at, row in enumerate(rows):
        state = sm.MetricSet()
        bad.count_into(state, pa.array([row[1]], pa.string()), pa.array(["a"]), pa.array([row[2]]), row=at)
        good += [row] if state.n else []
    table = table.append_column("y_pred", pa.array(["a"] * len(rows), pa.string()))

    work = sm.MetricSet().to_bytes(), ["k0"], Fields(weight="weight")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark_workers, "BLOCK_BYTES", block)
        parts = list(spark_bad_rows.good_rows(*work, iter(table.to_batches(size))))
        records = list(spark_bad_rows.record_bad_rows(*work, iter(table.to_batches(size))))

    assert [tuple(row.values())[:3] for part in parts for row in part.to_pylist()] == good
    assert [record["bad"][0].as_py() for record in records] == ([bad.to_bytes()] if bad else [])


def test_a_group_does_not_make_rows_of_others_bad() -> None:
    """Weights that are too large in sum, but not in a group, are good."""
    table = pa.table({"k0": ["x", "y", "y"], "y_true": ["a"] * 3, "y_pred": ["a"] * 3, "w": [2**62, 2**62, 2**62]})
    work = sm.MetricSet().to_bytes(), ["k0"], Fields(weight="w")

    good = pa.Table.from_batches(spark_bad_rows.good_rows(*work, iter(table.to_batches())))
    (record,) = spark_bad_rows.record_bad_rows(*work, iter(table.to_batches()))

    assert good["k0"].to_pylist() == ["x", "y"]
    assert [row.row for row in sm.BadRows.from_bytes(record["bad"][0].as_py()).first] == [2]


@pytest.fixture(scope="module")
def identifiers(spark: Any) -> Any:
    """Rows of six groups whose column `id` has 300 values; no column has nulls."""
    columns = {"id": F.col("number").cast("string"), "one": F.lit("0"), "weight": F.lit(0.5)}
    return (
        spark.range(300).select(F.col("id").alias("number")).withColumn("key", F.col("number") % 6).withColumns(columns)
    )


@pytest.mark.parametrize("weight", [None, "weight"], ids=["counted by the JVM", "counted by Python"])
def test_a_column_of_identifiers_is_refused(identifiers: Any, weight: str | None) -> None:
    """The error names the column, in the JVM and in Python; a limit that is large enough changes nothing."""
    rows, fields = identifiers.coalesce(1), Fields("one", "id", weight=weight)

    with pytest.raises(
        PythonException, match="Expected the labels of column 'y_pred' to be at most 60, but there are more"
    ):
        accumulate_by(rows, "key", sm.MetricSet(), fields, max_labels=60).collect()
    states = accumulate_by(rows, "key", sm.MetricSet(), fields, max_labels=301).collect()
    assert [sm.from_bytes(row.state).n for row in states] == [50] * 6


def some_labels(low: int, high: int) -> dict[str, Any]:
    """Return columns of rows, and of counts of rows, of a group for every ten labels."""
    texts = [str(number) for number in range(low, high)]
    first = [number % 10 == 0 for number in range(low, high)]
    return {
        "k0": [text[:-1] for text in texts],
        "y_true": texts,
        "y_pred": texts,
        "n": [1] * len(texts),
        "first": first,
    }


def states_of(tables: list[Any]) -> list[Any]:
    """Return a batch with the state of each table."""
    states = [sm.MetricSet() for _ in tables]
    for state, table in zip(states, tables, strict=True):
        state.update_many(table["y_true"], table["y_pred"])
    return [pa.record_batch({"state": pa.array([state.to_bytes()], pa.binary())}) for state in states]


EMPTY = sm.MetricSet().to_bytes()
STEPS: dict[str, Callable[[list[Any], int | None], Any]] = {
    "count all": lambda rows, most: spark_workers.count(EMPTY, [], FIELDS, False, batches(rows), most),
    "count": lambda rows, most: spark_workers.count(EMPTY, ["k0"], FIELDS, False, batches(rows), most),
    "merge runs": lambda rows, most: spark_workers.merge_runs(EMPTY, ["k0"], FIELDS, batches(rows), most),
    "merge all counts": lambda rows, most: spark_workers.merge_counts(EMPTY, [], batches(rows), most),
    "merge counts": lambda rows, most: spark_workers.merge_counts(EMPTY, ["k0"], batches(rows), most),
    "merge states": lambda rows, most: spark_workers.merge_batches(FIELDS, iter(states_of(rows)), most),
}
FIELDS = Fields()


def batches(tables: list[Any]) -> Iterator[Any]:
    """Return the batches of tables."""
    return iter([batch for table in tables for batch in table.to_batches()])


@pytest.mark.parametrize("step", STEPS)
def test_every_step_limits_the_labels_of_its_task(step: str) -> None:
    """Each batch has 100 labels, and two of them too many: as rows, as counts and as states."""
    tables = [pa.table(some_labels(low, low + 100)) for low in (100, 200)]
    tables = [table.append_column("state", pa.nulls(100, pa.binary())) for table in tables]

    with pytest.raises(sm.LabelError, match="to be at most 199, but there are more"):
        list(STEPS[step](tables, 199))
    limited, unlimited = ([batch.to_pylist() for batch in STEPS[step](tables, most)] for most in (200, None))
    assert limited == unlimited


@pytest.mark.parametrize("max_labels", [0, 1.5, True])
def test_a_limit_is_a_whole_number(df: Any, max_labels: Any) -> None:
    """Other limits are refused before Spark runs."""
    for group_by in (None, "country"):
        with pytest.raises(ValueError, match="Expected `max_labels` to be a whole number above 0, or None"):
            evaluate(df, y_true="truth", y_pred="guess", group_by=group_by, max_labels=max_labels)


def test_records_of_bad_rows_merge_like_states(spark: Any) -> None:
    """A column of records merges, and has a number of rows, but no metrics; it does not merge with states."""
    spark_sql.register(spark)
    records = []
    for at in range(3):
        records.append(sm.BadRows())
        records[-1].add(ValueError(f"reason {at}"), Place(row=at))
    rows = [(record.to_bytes(),) for record in records]
    df = spark.createDataFrame(rows, "bad binary")

    merged = df.agg(merge_states("bad").alias("whole"), F.expr("sm_n(sm_merge(bad)) AS n")).first()

    assert bytes(merged.whole) == sm.merge(records).to_bytes()
    assert merged.n == 3
    for mixed in permutations([rows[0][0], sm.MetricSet().to_bytes()]):
        with pytest.raises(sm.MergeError, match="Expected to merge a"):
            spark_workers.merge_all(mixed)
    with pytest.raises(ValueError, match="Expected `state` of sm_metric to be the bytes of a state, but got those of"):
        spark_sql._metric(rows[0][0], "accuracy")
