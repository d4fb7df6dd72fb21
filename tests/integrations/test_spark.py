"""Spark data frames: states from partitions merge to the bytes of one process, whatever fails on the way."""

from __future__ import annotations

import datetime
import decimal
import math
import os
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="needs PySpark")
pa = pytest.importorskip("pyarrow", reason="needs PyArrow")

from pyspark.errors import PythonException  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402
from support.engines import frame  # noqa: E402
from support.examples import run_example  # noqa: E402
from support.refusals import all_refused  # noqa: E402
from support.spark_samples import as_columns, by_key  # noqa: E402

import stream_metrics as sm  # noqa: E402
from stream_metrics.integrations import spark as adapter  # noqa: E402
from stream_metrics.integrations.spark import accumulate, accumulate_by, evaluate, merge_states  # noqa: E402
from stream_metrics.tables.fields import Fields  # noqa: E402

N = 1500
NAMES = ("cat", "cow", "dog")
NOON = datetime.datetime(2026, 10, 24, 12, tzinfo=datetime.UTC)  # the clock in Paris is put back the night after
HEADLINE = ["accuracy", "balanced_accuracy", "macro_f1", "weighted_f1", "matthews_corrcoef", "cohen_kappa"]
OF_SCORES = ["roc_auc_ovr", "average_precision_ovr", "log_loss", "brier_score"]

RNG = random.Random(5)
TRUTH = [RNG.choice(NAMES) for _ in range(N)]
GUESS = [None if RNG.random() < 0.1 else name if RNG.random() < 0.7 else RNG.choice(NAMES) for name in TRUTH]
RAW = [[RNG.randint(1, 50) for _ in NAMES] for _ in range(N)]
LISTS = [[score / sum(row) for score in row] for row in RAW]
MAPPINGS = [dict(zip(NAMES, row, strict=True)) for row in LISTS]
SOME = [None if i % 7 == 0 else row for i, row in enumerate(MAPPINGS)]
CODE = {"cat": 0, "cow": 1, "dog": 2}


def of_guess(change: Callable[[str], Any]) -> list[Any]:
    """Return predictions of another type, missing where there is none."""
    return [None if name is None else change(name) for name in GUESS]


DATA: dict[str, list[Any]] = {
    "truth": TRUTH,
    "guess": GUESS,
    "country": [RNG.choice(["fr", "de", "", None]) for _ in range(N)],
    "site": [RNG.choice([2**62 + 1, -1, 0, None]) for _ in range(N)],
    "day": [RNG.choice([datetime.date(1969, 12, 31), datetime.date(2026, 1, 1)]) for _ in range(N)],
    "price": [RNG.choice([decimal.Decimal("1.10"), decimal.Decimal("1.11"), None]) for _ in range(N)],
    "real": [RNG.choice([math.nan, 0.1, None]) for _ in range(N)],
    "at": [NOON + datetime.timedelta(minutes=RNG.randrange(2000), microseconds=1) for _ in range(N)],
    "number": [CODE[name] * 2**40 for name in TRUTH],
    "guessed number": of_guess(lambda name: CODE[name] * 2**40),
    "real truth": [float(CODE[name]) for name in TRUTH],
    "real guess": of_guess(lambda name: float(CODE[name])),
    "is cat": [name == "cat" for name in TRUTH],
    "guessed cat": of_guess(lambda name: name == "cat"),
    "raw": [name.encode() for name in TRUTH],
    "times": [RNG.randrange(4) for _ in range(N)],
    "weight": [RNG.random() for _ in range(N)],
    "p": [None if name is None else row[0] for name, row in zip(GUESS, LISTS, strict=True)],
    "list": [None if row is None else list(row.values()) for row in SOME],
    "full list": LISTS,
    "struct": SOME,
    "map": [None if row is None else list(row.items())[i % 3 :] for i, row in enumerate(SOME)],
}
TYPES = {
    "struct": pa.struct([(name, pa.float64()) for name in NAMES]),
    "map": pa.map_(pa.string(), pa.float64()),
    "price": pa.decimal128(9, 2),
}
ARRAYS = {name: pa.array(values, TYPES.get(name), from_pandas=False) for name, values in DATA.items()}
TABLE = pa.table({**ARRAYS, "truth": ARRAYS["truth"].dictionary_encode()})


@pytest.fixture(scope="module")
def df(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The samples as a data frame of five partitions, one of them empty."""
    edges = [(0, 10), (10, 10), (10, 700), (700, 701), (701, N)]
    return frame([TABLE.slice(low, high - low) for low, high in edges], tmp_path_factory.mktemp("samples"))


LABELS = Fields("truth", "guess")
PROBABILITIES = sm.MetricSet(scores=True)
BOTH = Fields("truth", "guess", "list", classes=NAMES)
CASES: dict[str, tuple[Any, Fields, Any]] = {  # a prototype, the columns, and scores as `update_many` takes them
    "fixed labels": (sm.MetricSet(labels=["dog", "cat"], other="else"), LABELS, None),
    "integers": (sm.MetricSet(), Fields("number", "guessed number"), None),
    "floats": (sm.MCC(), Fields("real truth", "real guess"), None),
    "booleans": (sm.MetricSet(), Fields("is cat", "guessed cat"), None),
    "bytes": (sm.ConfusionMatrix(), Fields("raw", "raw"), None),
    "whole weights": (sm.MetricSet(), Fields("truth", "guess", weight="times"), None),
    "weights": (sm.MacroF1(), Fields("truth", "guess", weight="weight"), None),
    "one score": (sm.MetricSet(scores=True, threshold=0.4), Fields("is cat", None, "p"), DATA["p"]),
    "arrays": (PROBABILITIES, BOTH, SOME),
    "arrays without nulls": (PROBABILITIES, Fields("truth", None, "full list", classes=NAMES), MAPPINGS),
    "structs": (PROBABILITIES, Fields("truth", None, "struct"), SOME),
    "maps": (
        PROBABILITIES,
        Fields("truth", "guess", "map"),
        [None if row is None else dict(row) for row in DATA["map"]],
    ),
    "a window": (sm.TimeWindow(sm.MetricSet(), "12h", panes=4), Fields("truth", "guess", time="at"), None),
}


def counted(prototype: Any, fields: Fields, scores: Any = None, rows: Any = range(N)) -> Any:
    """Return what one process counts of some rows."""
    state = prototype.copy()
    state.update_many(**as_columns(DATA, fields, scores, rows))
    return state


def test_partitions_merge_to_the_bytes_of_one_process(df: Any) -> None:
    """Labels, weights, scores and times of every type are counted as `update_many` counts lists of them."""
    for name, (prototype, fields, scores) in CASES.items():
        state = accumulate(df, prototype, fields)
        assert state.to_bytes() == counted(prototype, fields, scores).to_bytes(), name
        assert state.n > 0


def test_vectors_and_columns_without_nulls(spark: Any, df: Any) -> None:
    """Vectors, as models of spark.ml write them, are read like arrays, and columns that cannot be null like others."""
    from pyspark.ml.functions import array_to_vector

    prototype, fields, scores = CASES["arrays without nulls"]
    vectors = df.withColumn("full list", array_to_vector("full list"))
    assert accumulate(vectors, prototype, fields._replace(classes=None), classes=NAMES) == counted(
        prototype, fields, scores
    )

    columns = F.lit("all").alias("key"), (F.col("id") % 2).alias("truth"), F.lit(0.5).alias("weight")
    grouped = accumulate_by(
        spark.range(300).select(*columns), "key", sm.MetricSet(), Fields("truth", "truth", None, "weight")
    )
    expected, parity = sm.MetricSet(), [i % 2 for i in range(300)]
    expected.update_many(parity, parity, [0.5] * 300)
    assert [bytes(row.state) for row in grouped.collect()] == [expected.to_bytes()]


def test_no_rows_at_all(spark: Any) -> None:
    """Of a data frame without partitions, and of empty partitions, there is an empty state and no group."""
    empty = spark.createDataFrame([], "country string, y_true string, y_pred string")

    assert accumulate(empty, sm.MCC()) == accumulate(empty.repartition(3), sm.MCC()) == sm.MCC()
    assert evaluate(empty).n == 0
    assert evaluate(empty, group_by="country").collect() == []


def failing(how: str, folder: Path) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return a step that passes rows on, but fails the first time that it is in the middle of a partition."""
    path = str(folder / "failed")

    def step(batches: Iterator[Any]) -> Iterator[Any]:
        for at, batch in enumerate(batches):
            yield batch
            if at == 1 and not os.path.exists(path):
                open(path, "w").close()
                if how == "raises":
                    raise RuntimeError("injected")
                os._exit(1)

    return step


@pytest.mark.parametrize("how", ["raises", "exits"])
def test_a_task_that_fails_is_counted_once(df: Any, how: str, tmp_path: Path) -> None:
    """Of a worker that raises or ends in the middle of a partition, nothing is counted but by the retry."""
    rows = df.select("truth", "guess", "list")
    state = accumulate(rows.mapInArrow(failing(how, tmp_path), rows.schema), PROBABILITIES, BOTH)

    assert (tmp_path / "failed").exists()
    assert state.to_bytes() == counted(PROBABILITIES, BOTH, SOME).to_bytes()


def groups(keys: list[str], prototype: Any, fields: Fields, scores: Any = None) -> dict[str, bytes]:
    """Return the bytes of every group as one process counts them, by the text of its key."""
    return {key: counted(prototype, fields, scores, rows).to_bytes() for key, rows in by_key(DATA, keys).items()}


def test_groups_have_the_bytes_of_one_process(df: Any) -> None:
    """Null is a group of its own, nan too, keys keep their types, and moments that the clock shows alike differ."""
    for keys in (["country"], ["site"], ["day", "price"], ["real", "is cat", "country"]):
        states = accumulate_by(df, keys, sm.MetricSet(), LABELS)
        assert states.columns == [*keys, "state"]
        states_by_key = {repr(tuple(row[:-1])): bytes(row.state) for row in states.collect()}
        assert states_by_key == groups(keys, sm.MetricSet(), LABELS)
    small = accumulate_by(df, "day", PROBABILITIES, BOTH).collect()
    assert {repr((row.day,)): bytes(row.state) for row in small} == groups(["day"], PROBABILITIES, BOTH, SOME)

    moments = accumulate_by(df, "at", sm.MetricSet(), LABELS).collect()
    assert len(moments) == len(set(DATA["at"]))
    assert sm.merge(bytes(row.state) for row in moments) == counted(sm.MetricSet(), LABELS)


def test_stored_states_are_merged(df: Any) -> None:
    """`merge_states` aggregates a column of states, leaves out nulls, and gives null where there is nothing else."""
    states = accumulate_by(df, ["country", "day"], sm.MetricSet(), LABELS)
    stored = states.withColumn("state", F.when(F.col("country").isNotNull(), F.col("state")))
    rows = stored.groupBy("country").agg(merge_states("state").alias("state")).collect()
    merged = {repr((row.country,)): row.state for row in rows}
    total = states.agg(merge_states(F.col("state")).alias("total")).first().total

    expected = groups(["country"], sm.MetricSet(), LABELS)
    assert merged.pop("(None,)") is None
    assert {key: bytes(state) for key, state in merged.items()} == {key: expected[key] for key in merged}
    assert len(merged) == len(expected) - 1
    assert bytes(total) == counted(sm.MetricSet(), LABELS).to_bytes()


def test_evaluate_returns_a_snapshot(df: Any) -> None:
    """Without groups, `evaluate` reads every metric of all rows."""
    named = {"scores": "full list", "classes": NAMES, "weight": "weight", "labels": NAMES}
    snapshot = evaluate(df, y_true="truth", y_pred="guess", **named)

    fields = Fields("truth", "guess", "full list", "weight")
    expected = counted(sm.MetricSet(scores=True, labels=NAMES), fields, MAPPINGS).snapshot()
    assert isinstance(snapshot, sm.Snapshot)
    assert snapshot.labels == NAMES
    assert snapshot.to_json() == expected.to_json()


def test_evaluate_returns_a_row_for_each_group(df: Any) -> None:
    """With groups, `evaluate` returns keys, sizes, metrics and states; without a choice, the headline."""
    metrics, keys, fields = ["accuracy", "recall", "roc_auc"], ["country", "day"], Fields("is cat", "guessed cat", "p")
    named = {"y_true": "is cat", "scores": "p"}
    shown = evaluate(df, y_pred="guessed cat", group_by=keys, metrics=metrics, **named)

    assert shown.columns == [*keys, "n", *metrics, "state"]
    assert dict(shown.dtypes)["roc_auc"] == "double"
    expected = groups(keys, sm.MetricSet(metrics, scores=True), fields, DATA["p"])
    for row in shown.collect():
        state = sm.from_bytes(bytes(row.state))
        snapshot = state.snapshot()
        assert state.to_bytes() == expected.pop(repr((row.country, row.day)))
        assert (row.n, row.accuracy, row.roc_auc) == (snapshot.n, snapshot["accuracy"], snapshot["roc_auc"])
        assert row.recall == snapshot.per_class["recall"][True]
    assert expected == {}

    labels = evaluate(df, y_true="truth", y_pred="guess", group_by="country")
    scored = evaluate(df, y_pred=None, group_by="country", **named)
    assert labels.columns[2:-1] == HEADLINE
    assert scored.columns[2:-1] == [*HEADLINE, *OF_SCORES]
    assert all(not math.isnan(value) for row in scored.collect() for value in row[2:-1])
    other = evaluate(df, y_true="truth", y_pred="guess", group_by="day", metrics=["recall"], pos_label="hen")
    assert [math.isnan(row.recall) for row in other.collect()] == [True, True]  # of a class that is none


def test_bad_rows(spark: Any) -> None:
    """Groups and scores are those of good rows, of which each group has some; records say which rows are bad."""
    names, good = ["country", "truth", "guess", "list"], [at for at in range(90) if at % 9 != 3]
    columns = {name: DATA[name][:90] for name in names}
    columns["truth"] = [truth if at in good else None for at, truth in enumerate(columns["truth"])]
    rows = [*zip(*columns.values(), strict=True), ("all bad", None, "cat", None)]
    df = spark.createDataFrame(rows, "country string, truth string, guess string, list array<double>").coalesce(1)
    expected = by_key(DATA, ["country"], good)
    for prototype, fields, scores in [
        (sm.MetricSet(), LABELS, None),  # counted by Spark's own aggregates
        (sm.MetricSet(labels=NAMES), LABELS, None),
        (PROBABILITIES, BOTH, SOME),
    ]:
        state, bad = accumulate(df.repartition(3), prototype, fields, on_bad="count")
        assert state == counted(prototype, fields, scores, good)
        assert (bad.n, {row.partition for row in bad.first} <= {0, 1, 2}) == (11, True)

        states, bad = accumulate_by(df, "country", prototype, fields, on_bad="count")
        assert {repr((row.country,)): sm.from_bytes(bytes(row.state)) for row in states.collect()} == {
            key: counted(prototype, fields, scores, at) for key, at in expected.items()
        }
        assert [(row.partition, row.row) for row in bad.first] == [(0, at) for at in range(90) if at not in good]
        assert (bad.n, sum(bad.reasons.values())) == (11, 11)

    named = {"y_true": "truth", "y_pred": "guess", "on_bad": "count"}
    assert ["11 of 91 rows" in warning for warning in evaluate(df, **named).warnings] == [True]
    shown, bad = evaluate(df, group_by="country", metrics=["accuracy"], **named)
    assert (shown.columns, bad.n) == (["country", "n", "accuracy", "state"], 11)
    assert {repr((row.country,)): row.accuracy for row in shown.collect()} == {
        key: counted(sm.MetricSet(), LABELS, None, at).get()["accuracy"] for key, at in expected.items()
    }


def test_what_is_wrong_is_said_before_anything_runs(df: Any) -> None:
    """Columns, classes, groups and metrics are looked at on the driver."""
    call = partial(evaluate, df, y_pred="guess")
    named: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"y_true": "nothing"}, sm.LabelError, "Expected `y_true` to be a column of the table, but got 'nothing'; the"),
        ({"scores": {"cat": "none"}}, sm.LabelError, "Expected `scores` to be a column"),
        ({"group_by": "nothing"}, sm.LabelError, "Expected `keys` to be a column"),
        ({"scores": "list"}, sm.ScoreError, "Expected `classes` with one column of arrays of scores"),
        ({"scores": "p", "classes": NAMES}, sm.ScoreError, "and only then"),
        ({"group_by": "country", "metrics": ["confusion_matrix"]}, ValueError, "but 'confusion_matrix' is none"),
        ({"group_by": "country", "metrics": ["majority_class"]}, ValueError, "but 'majority_class' is none"),
        ({"group_by": "country", "max_labels": 0}, ValueError, "`max_labels` to be a whole number above 0, or None"),
    ]
    all_refused((partial(call, **{"y_true": "truth", **each}), error, about) for each, error, about in named)
    short = partial(accumulate, df, PROBABILITIES, BOTH._replace(classes=("cat", "dog")))
    all_refused([(short, PythonException, "scores")])


def test_the_example_of_the_adapter_runs(spark: Any) -> None:
    """The script in the docstring runs as it stands."""
    names: dict[str, Any] = {}

    assert run_example(adapter, names)[-1] == "0.6666666666666666"
    assert names["day"].groups == ("de", "fr")
