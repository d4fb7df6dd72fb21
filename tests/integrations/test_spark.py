"""Spark data frames: states from partitions merge to the bytes of one process, whatever fails on the way."""

from __future__ import annotations

import datetime
import decimal
import math
import os
import random
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import reload
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyspark", reason="needs PySpark")
pa = pytest.importorskip("pyarrow", reason="needs PyArrow")

import pyarrow.parquet as pq  # noqa: E402
from pyspark.errors import PythonException  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402

import stream_metrics as sm  # noqa: E402
from stream_metrics.integrations import spark as adapter  # noqa: E402
from stream_metrics.integrations import spark_workers  # noqa: E402
from stream_metrics.integrations.spark import accumulate, accumulate_by, evaluate, merge_states  # noqa: E402
from stream_metrics.integrations.tables import Fields  # noqa: E402
from stream_metrics.report.headlines import REPORT, TABLE_OF_SCORES  # noqa: E402

N = 1500
NAMES = ("cat", "cow", "dog")
SCORES = pa.struct([(name, pa.float64()) for name in NAMES])
NOON = datetime.datetime(2026, 10, 24, 12, tzinfo=datetime.UTC)  # the clock in Paris is put back the night after

Columns = dict[str, list[Any]]


@pytest.fixture(autouse=True)
def few_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let two tasks merge the states of a few partitions, as each empty one of 16 takes its time."""
    monkeypatch.setattr(adapter, "TASKS", 2)


def columns() -> Columns:
    """Return the samples of all tests, column by column: labels of several types, and scores in several forms."""
    rng = random.Random(5)
    truth = [rng.choice(NAMES) for _ in range(N)]
    guess = [None if rng.random() < 0.1 else name if rng.random() < 0.7 else rng.choice(NAMES) for name in truth]
    raw = [[rng.randint(1, 50) for _ in NAMES] for _ in range(N)]
    scores = [[score / sum(row) for score in row] for row in raw]
    code = {name: i for i, name in enumerate(NAMES)}
    return {
        "truth": truth,
        "guess": guess,
        "country": [rng.choice(["fr", "de", "", None]) for _ in range(N)],
        "site": [rng.choice([2**62 + 1, -1, 0, None]) for _ in range(N)],
        "day": [rng.choice([datetime.date(1969, 12, 31), datetime.date(2026, 1, 1)]) for _ in range(N)],
        "price": [rng.choice([decimal.Decimal("1.10"), decimal.Decimal("1.11"), None]) for _ in range(N)],
        "real": [rng.choice([math.nan, 0.1, None]) for _ in range(N)],
        "at": [NOON + datetime.timedelta(minutes=rng.randrange(2000), microseconds=1) for _ in range(N)],
        "number": [code[name] * 2**40 for name in truth],
        "guessed number": [None if name is None else code[name] * 2**40 for name in guess],
        "real truth": [float(code[name]) for name in truth],
        "real guess": [None if name is None else float(code[name]) for name in guess],
        "is cat": [name == "cat" for name in truth],
        "guessed cat": [None if name is None else name == "cat" for name in guess],
        "raw truth": [name.encode() for name in truth],
        "times": [rng.randrange(4) for _ in range(N)],
        "weight": [rng.random() for _ in range(N)],
        "p": [None if name is None else row[0] for name, row in zip(guess, scores, strict=True)],
        **{f"p {name}": [row[i] for row in scores] for i, name in enumerate(NAMES)},
        "list": [None if i % 7 == 0 else row for i, row in enumerate(scores)],
        "full list": scores,
        "struct": [None if i % 7 == 0 else dict(zip(NAMES, row, strict=True)) for i, row in enumerate(scores)],
        "map": [None if i % 7 == 0 else list(zip(NAMES, row, strict=True))[i % 3 :] for i, row in enumerate(scores)],
    }


DATA = columns()
MAPPINGS = [dict(zip(NAMES, row, strict=True)) for row in DATA["full list"]]
SOME = [None if i % 7 == 0 else row for i, row in enumerate(MAPPINGS)]


def table() -> Any:
    """Return the samples as an Arrow table."""
    types = {"struct": SCORES, "map": pa.map_(pa.string(), pa.float64()), "price": pa.decimal128(9, 2)}
    arrays = {name: pa.array(values, types.get(name), from_pandas=False) for name, values in DATA.items()}
    arrays["truth"] = arrays["truth"].dictionary_encode()
    return pa.table(arrays)


@pytest.fixture(scope="module")
def df(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The samples as a data frame of five partitions, one of them empty."""
    folder = tmp_path_factory.mktemp("samples")
    whole = table()
    for at, (low, high) in enumerate([(0, 10), (10, 10), (10, 700), (700, 701), (701, N)]):
        pq.write_table(whole.slice(low, high - low), folder / f"{at}.parquet")
    return spark.read.parquet(str(folder))


class Case(NamedTuple):
    """A prototype, the columns that Spark must read, and the arguments of `update_many` that say the same."""

    prototype: Any
    fields: Fields
    expected: tuple[Any, ...]
    named: dict[str, Any] = {}  # noqa: RUF012
    classes: tuple[Any, ...] | None = None


LABELS = Fields("truth", "guess")
PAIR = DATA["truth"], DATA["guess"]
PROBABILITIES = sm.MetricSet(scores=True)
CASES = {
    "text": Case(sm.MetricSet(), LABELS, PAIR),
    "fixed labels": Case(sm.MetricSet(labels=["dog", "cat"], other="else"), LABELS, PAIR),
    "integers": Case(sm.MetricSet(), Fields("number", "guessed number"), (DATA["number"], DATA["guessed number"])),
    "floats": Case(sm.MCC(), Fields("real truth", "real guess"), (DATA["real truth"], DATA["real guess"])),
    "booleans": Case(sm.MetricSet(), Fields("is cat", "guessed cat"), (DATA["is cat"], DATA["guessed cat"])),
    "bytes": Case(sm.ConfusionMatrix(), Fields("raw truth", "raw truth"), (DATA["raw truth"], DATA["raw truth"])),
    "whole weights": Case(sm.MetricSet(), Fields(*LABELS[:2], weight="times"), (*PAIR, DATA["times"])),
    "weights": Case(sm.MacroF1(), Fields(*LABELS[:2], weight="weight"), (*PAIR, DATA["weight"])),
    "one score": Case(
        sm.MetricSet(scores=True, threshold=0.4),
        Fields("is cat", None, "p"),
        (DATA["is cat"],),
        {"scores": DATA["p"]},
    ),
    "a ranking": Case(sm.ROCAUC(), Fields("is cat", None, "p"), (DATA["is cat"], DATA["p"])),
    "a sketch": Case(
        sm.RankSketch(buckets=16), Fields("is cat", None, "p", "weight"), (DATA["is cat"], DATA["p"], DATA["weight"])
    ),
    "columns": Case(PROBABILITIES, Fields("truth", "guess", {n: f"p {n}" for n in NAMES}), PAIR, {"scores": MAPPINGS}),
    "arrays": Case(PROBABILITIES, Fields("truth", "guess", "list"), PAIR, {"scores": SOME}, NAMES),
    "arrays without nulls": Case(
        PROBABILITIES, Fields("truth", None, "full list"), PAIR[:1], {"scores": MAPPINGS}, NAMES
    ),
    "structs": Case(PROBABILITIES, Fields("truth", None, "struct"), PAIR[:1], {"scores": SOME}),
    "maps": Case(
        PROBABILITIES,
        Fields("truth", "guess", "map"),
        PAIR,
        {"scores": [None if row is None else dict(row) for row in DATA["map"]]},
    ),
    "groups": Case(
        sm.ByGroup(sm.MetricSet(), max_groups=1), Fields(*LABELS[:2], group="day"), PAIR, {"group": DATA["truth"]}
    )._replace(fields=Fields(*LABELS[:2], group="truth")),
    "a window": Case(
        sm.TimeWindow(sm.MetricSet(), period="12h", panes=4), Fields(*LABELS[:2], time="at"), PAIR, {"t": DATA["at"]}
    ),
}


def counted(prototype: Any, *arguments: Any, **named: Any) -> Any:
    """Return what one process counts."""
    state = prototype.copy()
    state.update_many(*arguments, **named)
    return state


@pytest.mark.parametrize("name", CASES)
def test_partitions_merge_to_the_bytes_of_one_process(df: Any, name: str) -> None:
    """Labels, weights, scores, groups and times of every type are counted as `update_many` counts lists of them."""
    prototype, fields, arguments, named, classes = CASES[name]
    before = prototype.to_bytes()

    state = accumulate(df, prototype, fields, classes=classes)

    assert state.to_bytes() == counted(prototype, *arguments, **named).to_bytes()
    assert type(state) is type(prototype)
    assert prototype.to_bytes() == before
    assert state.n > 0


def test_vectors_of_spark_are_scores(df: Any) -> None:
    """A column `probability`, as models of spark.ml write it, is read like one of arrays."""
    from pyspark.ml.functions import array_to_vector

    vectors = df.withColumn("full list", array_to_vector("full list"))

    state = accumulate(vectors, PROBABILITIES, Fields("truth", None, "full list"), classes=NAMES)

    assert state == counted(PROBABILITIES, DATA["truth"], scores=MAPPINGS)


def test_no_rows_at_all(spark: Any) -> None:
    """Of a data frame without partitions, and of empty partitions, there is an empty state and no group."""
    empty = spark.createDataFrame([], "country string, y_true string, y_pred string")

    assert accumulate(empty, sm.MCC()) == sm.MCC()
    assert accumulate(empty.repartition(3), sm.MCC()) == sm.MCC()
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
                if how == "exits":
                    os._exit(1)
                parent = os.getppid()  # the daemon, whose children are the workers, those that count among them
                with open(f"/proc/{parent}/task/{parent}/children") as children:
                    for child in map(int, children.read().split()):
                        if child != os.getpid():
                            os.kill(child, signal.SIGKILL)

    return step


@pytest.mark.parametrize("how", ["raises", "exits", "is killed"])
def test_a_task_that_fails_is_counted_once(df: Any, how: str, tmp_path: Path) -> None:
    """Of a worker that raises, ends or is killed in the middle of a partition, nothing is counted but by the retry."""
    if how == "is killed" and sys.platform != "linux":
        pytest.skip("finds the workers in /proc")
    rows = df.select("country", "truth", "guess", "full list")
    failed = rows.mapInArrow(failing(how, tmp_path), rows.schema)
    fields = Fields("truth", "guess", "full list")

    state = accumulate(failed, PROBABILITIES, fields, classes=NAMES)

    assert (tmp_path / "failed").exists()
    assert state.to_bytes() == counted(PROBABILITIES, *PAIR, scores=MAPPINGS).to_bytes()


KEYS = [["country"], ["site"], ["day", "price"], ["real", "is cat", "country"]]


def groups(keys: list[str], prototype: Any, *arguments: list[Any], **named: list[Any]) -> dict[str, bytes]:
    """Return the bytes of every group as one process counts them, by the text of its key."""
    rows: dict[str, list[int]] = {}
    for i, key in enumerate(zip(*(DATA[name] for name in keys), strict=True)):
        rows.setdefault(repr(key), []).append(i)

    def some(column: list[Any], at: list[int]) -> list[Any]:
        return [column[i] for i in at]

    return {
        key: counted(
            prototype, *(some(column, at) for column in arguments), **{n: some(c, at) for n, c in named.items()}
        ).to_bytes()
        for key, at in rows.items()
    }


@pytest.mark.parametrize("keys", KEYS, ids=" and ".join)
def test_groups_have_the_bytes_of_one_process(df: Any, keys: list[str]) -> None:
    """Null is a group of its own, nan too, and keys keep their types."""
    states = accumulate_by(df, keys, sm.MetricSet(), LABELS)

    by_key = {repr(tuple(row[:-1])): bytes(row.state) for row in states.collect()}

    assert states.columns == [*keys, "state"]
    assert by_key == groups(keys, sm.MetricSet(), *PAIR)


def test_groups_of_an_hour_that_comes_twice(df: Any) -> None:
    """Moments are told apart, also where the clock of the session's zone shows them alike."""
    states = accumulate_by(df, "at", sm.MetricSet(), LABELS).collect()

    assert len(states) == len(set(DATA["at"]))
    assert merged_bytes(row.state for row in states) == counted(sm.MetricSet(), *PAIR).to_bytes()


def merged_bytes(states: Any) -> bytes:
    """Return the merge of states as bytes."""
    return sm.merge(sm.from_bytes(state) for state in states).to_bytes()


def test_states_of_two_versions_merge_to_the_same_bytes_in_any_order() -> None:
    """Spark hands states to an aggregate in no order; what the total shows does not depend on it."""
    states = [sm.MetricSet(keys) for keys in (["accuracy"], ["macro_f1", "accuracy"], None)]
    for state in states:
        state.update("a", "b")
    totals = {spark_workers.merge_all([state.to_bytes() for state in order]) for order in permutations(states)}

    assert len(totals) == 1
    assert sm.from_bytes(totals.pop() or b"").n == 3


def test_stored_states_are_merged(df: Any) -> None:
    """`merge_states` aggregates a column of states, leaves out nulls, and gives null where there is nothing else."""
    states = accumulate_by(df, ["country", "day"], sm.MetricSet(), LABELS)
    stored = states.withColumn("state", F.when(F.col("country").isNotNull(), F.col("state")))

    by_country = {
        row.country: row.state for row in stored.groupBy("country").agg(merge_states("state").alias("state")).collect()
    }
    total = states.agg(merge_states(F.col("state")).alias("total")).first().total

    expected = groups(["country"], sm.MetricSet(), *PAIR)
    assert by_country.pop(None) is None
    assert {repr((name,)): bytes(state) for name, state in by_country.items()} == {
        key: state for key, state in expected.items() if key != "(None,)"
    }
    assert bytes(total) == counted(sm.MetricSet(), *PAIR).to_bytes()


def test_evaluate_returns_a_snapshot(df: Any) -> None:
    """Without groups, `evaluate` reads every metric of all rows."""
    snapshot = evaluate(
        df, y_true="truth", y_pred="guess", scores="full list", classes=NAMES, weight="weight", labels=NAMES
    )

    expected = counted(sm.MetricSet(scores=True, labels=NAMES), *PAIR, DATA["weight"], scores=MAPPINGS).snapshot()
    assert isinstance(snapshot, sm.Snapshot)
    assert snapshot.labels == NAMES
    assert snapshot.to_json() == expected.to_json()


def test_evaluate_returns_a_row_for_each_group(df: Any) -> None:
    """With groups, `evaluate` returns their keys, sizes, metrics and states."""
    shown = evaluate(
        df, y_true="is cat", y_pred="guessed cat", scores="p", group_by=["country", "day"], metrics=METRICS
    )

    assert shown.columns == ["country", "day", "n", *METRICS, "state"]
    assert dict(shown.dtypes)["roc_auc"] == "double"
    named = {"scores": DATA["p"]}
    expected = groups(["country", "day"], sm.MetricSet(METRICS, scores=True), *BINARY, **named)
    for row in shown.collect():
        snapshot = sm.from_bytes(expected[repr((row.country, row.day))]).snapshot()
        assert bytes(row.state) == expected[repr((row.country, row.day))]
        assert row.n == snapshot.n
        assert row.accuracy == snapshot["accuracy"]
        assert row.recall == snapshot.per_class["recall"][True]
        assert row.roc_auc == snapshot["roc_auc"]


METRICS = ["accuracy", "recall", "roc_auc"]
BINARY = DATA["is cat"], DATA["guessed cat"]


def test_evaluate_shows_the_headline(df: Any) -> None:
    """Without a choice, the columns are the headline; nan stands for a class that is none."""
    labels = evaluate(df, y_true="truth", y_pred="guess", group_by="country")
    scores = evaluate(df, y_true="is cat", y_pred=None, scores="p", group_by="country")
    other = evaluate(df, y_true="truth", y_pred="guess", group_by="day", metrics=["recall"], pos_label="hen")

    assert labels.columns[2:-1] == list(REPORT)
    assert scores.columns[2:-1] == [*REPORT, *TABLE_OF_SCORES]
    assert all(not math.isnan(value) for row in scores.collect() for value in row[2:-1])
    assert [math.isnan(row.recall) for row in other.collect()] == [True, True]


def test_a_null_truth_reaches_the_driver(df: Any) -> None:
    """What a worker refuses is raised on the driver with its reason."""
    with pytest.raises(PythonException, match=r"Expected `y_true` at position .* to be a label, but it is missing"):
        evaluate(df.coalesce(1), y_true="guess", y_pred="truth")


def test_columns_without_nulls_are_grouped(spark: Any) -> None:
    """Columns that cannot be null, such as those of `range` and literals, are counted by Python as any others."""
    rows = spark.range(300).select(
        F.lit("all").alias("key"), (F.col("id") % 2).alias("truth"), F.lit(0.5).alias("weight")
    )

    (row,) = accumulate_by(rows, "key", sm.MetricSet(), Fields("truth", "truth", weight="weight")).collect()

    assert (
        row.state
        == counted(sm.MetricSet(), [i % 2 for i in range(300)], [i % 2 for i in range(300)], [0.5] * 300).to_bytes()
    )


@pytest.mark.parametrize("fields", [LABELS, Fields("truth", None, "list", weight="weight")], ids=["labels", "scores"])
def test_bad_rows_are_left_out_and_recorded(spark: Any, fields: Fields) -> None:
    """What is counted is what one process counts of the good rows; the record names partition, row and reason."""
    fields = fields._replace(classes=NAMES if fields.scores else None)
    prototype = sm.MetricSet(scores=fields.scores is not None)
    rows = [(name, guess, row, w) for name, guess, row, w in zip(*(DATA[n] for n in BAD_COLUMNS), strict=True)][:90]
    rows[3], rows[50] = (None, *rows[3][1:]), (None, *rows[50][1:])
    df = spark.createDataFrame(rows, "truth string, guess string, list array<double>, weight double").coalesce(1)

    state, bad = accumulate(df.repartition(3), prototype, fields, on_bad="count")
    snapshot = evaluate(df, y_true="truth", y_pred="guess", on_bad="count")

    good = [row for row in rows if row[0] is not None]
    truth, guess, lists, w = (list(column) for column in zip(*good, strict=True))
    arguments = (truth, None, w) if fields.scores else (truth, guess)
    scores = {"scores": [None if row is None else dict(zip(NAMES, row, strict=True)) for row in lists]}
    assert state.to_bytes() == counted(prototype, *arguments, **(scores if fields.scores else {})).to_bytes()
    assert (bad.n, len(bad.first)) == (2, 2)
    assert bad.first[0].partition in (0, 1, 2)
    assert isinstance(bad.first[0].row, int)
    assert "y_true" in bad.first[0].error
    assert isinstance(snapshot, sm.Snapshot)
    assert ["2 of 90 rows" in warning for warning in snapshot.warnings] == [True]


BAD_COLUMNS = ("truth", "guess", "list", "weight")


def test_arrays_of_another_length_are_refused() -> None:
    """The scores of a row are as many as the classes."""
    batches = iter(table().to_batches())

    fields = Fields("truth", None, "list", classes=["cat", "dog"])
    with pytest.raises(sm.ScoreError, match="scores"):
        list(spark_workers.count(PROBABILITIES.to_bytes(), [], fields, False, batches))


@pytest.mark.parametrize(
    ("named", "error", "reason"),
    [
        ({"y_true": "nothing"}, sm.LabelError, "Expected `y_true` to be a column of the table, but got 'nothing'; the"),
        ({"scores": {"cat": "none"}}, sm.LabelError, "Expected `scores` to be a column"),
        ({"group_by": "nothing"}, sm.LabelError, "Expected `keys` to be a column"),
        ({"scores": "list"}, sm.ScoreError, "Expected `classes` with one column of arrays of scores"),
        ({"scores": "p", "classes": NAMES}, sm.ScoreError, "and only then"),
        ({"group_by": "country", "metrics": ["confusion_matrix"]}, ValueError, "but 'confusion_matrix' is none"),
        ({"on_bad": "ignore"}, ValueError, "Expected `on_bad` to be 'raise' or 'count'"),
        ({"group_by": "country", "metrics": ["majority_class"]}, ValueError, "but 'majority_class' is none"),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(
    df: Any, named: dict[str, Any], error: type[Exception], reason: str
) -> None:
    """Columns, classes, groups and metrics are looked at on the driver."""
    with pytest.raises(error, match=reason):
        evaluate(df, **{"y_true": "truth", "y_pred": "guess", **named})


@pytest.mark.parametrize("prototype", [sm.Rolling(sm.MCC(), 5), "accuracy", sm.ByGroup(sm.Rolling(sm.MCC(), 5))])
def test_what_does_not_merge_is_refused(df: Any, prototype: Any) -> None:
    """A prototype is an accumulator that merges."""
    with pytest.raises(ValueError, match="Expected `prototype` to be"):
        accumulate(df, prototype, LABELS)


def test_a_prototype_that_has_counted_is_a_configuration(df: Any) -> None:
    """What the prototype has counted is neither taken over nor lost."""
    prototype = counted(sm.MetricSet(), ["cat"], ["dog"])

    assert accumulate(df, prototype, LABELS).n == counted(sm.MetricSet(), *PAIR).n
    assert prototype.n == 1


def test_the_example_of_the_adapter_runs(spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The script in the docstring runs as it stands."""
    lines = str(adapter.__doc__).splitlines()
    names: dict[str, Any] = {}

    exec("\n".join(line[4:] for line in lines if line.startswith("    ")), names)

    assert names["day"].groups == ("de", "fr")
    assert capsys.readouterr().out.splitlines()[-1] == "0.6666666666666666"


def test_the_adapter_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without PySpark the import says what to install."""
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)

    with pytest.raises(ImportError, match=r"stream-metrics\[spark\]"):
        reload(adapter)


@given(st.lists(st.integers(0, N), max_size=8), st.lists(st.sampled_from(KEYS[:3]), max_size=1), st.integers(1, 500))
def test_any_partitions_merge(cuts: list[int], choice: list[list[str]], size: int) -> None:
    """Wherever rows are split into partitions and batches, the states of a key merge to those of one process."""
    keys = choice[0] if choice else []
    whole, edges = table().select([*keys, "truth", "guess"]), sorted([0, *cuts, N])
    empty = sm.MetricSet().to_bytes()

    by_key: dict[str, list[bytes]] = {}
    for low, high in pairwise(edges):
        batches = iter(whole.slice(low, high - low).to_batches(size))
        for batch in spark_workers.count(empty, keys, LABELS, False, batches):
            for row in batch.to_pylist():
                state = row.pop("state")
                by_key.setdefault(repr(tuple(row.values())), []).append(state)

    merged = {key: spark_workers.merge_all(states) for key, states in by_key.items()}
    assert merged == (
        groups(keys, sm.MetricSet(), *PAIR) if keys else {"()": counted(sm.MetricSet(), *PAIR).to_bytes()}
    )


ROWS_OF_COUNTS = st.tuples(
    st.integers(0, 3), st.sampled_from("abc"), st.sampled_from([None, *"abc"]), st.integers(0, 99), st.integers(0, 2)
)


@pytest.mark.parametrize(
    "prototype", [sm.MetricSet(), sm.MacroF1(labels=["c", "a", "b"]), sm.ConfusionMatrix(["b"], other="z")]
)
@pytest.mark.parametrize("weight", [None, "weight"])
@given(st.lists(ROWS_OF_COUNTS, max_size=20), st.integers(1, 20), st.sampled_from([1, 200, 1 << 20]))
def test_counts_of_a_key_become_one_state(
    prototype: Any, weight: str | None, rows: list[tuple[Any, ...]], size: int, block: int
) -> None:
    """Wherever blocks and batches end, each key has the state of one process that counts its table of counts."""
    rows.sort(key=lambda row: row[0])
    keys = [row[0] for row in rows]
    kinds = {"k0": "int64", "y_true": "string", "y_pred": "string", "n": "int64", "weight": "int64"}
    schema = pa.schema(list(kinds.items()))
    whole = pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
    whole = whole.select(["k0", "y_true", "y_pred", "n", *([] if weight is None else [weight])])
    whole = whole.append_column("first", pa.array([key not in keys[:at] for at, key in enumerate(keys)], pa.bool_()))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark_workers, "BLOCK_BYTES", block)
        parts = list(spark_workers.merge_counts(prototype.to_bytes(), ["k0"], iter(whole.to_batches(size))))

    expected = []
    for key in dict.fromkeys(keys):
        state, columns = prototype.copy(), list(zip(*(row[1:] for row in rows if row[0] == key), strict=True))
        w = None if weight is None else [n * each for n, each in zip(columns[2], columns[3], strict=True)]
        state.update_counts(*columns[:3], w)
        expected.append((key, state.to_bytes()))
    assert [(row["k0"], row["state"]) for part in parts for row in part.to_pylist()] == expected


def states_and_rows(
    monkeypatch: pytest.MonkeyPatch, most: int, key: str, case: Case
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return what a task that may hold `most` bytes yields for all samples in four batches: states, and rows."""
    monkeypatch.setattr(spark_workers, "MOST_ROWS", most)
    monkeypatch.setattr(spark_workers, "MOST_STATES", most)
    monkeypatch.setattr(spark_workers, "BATCH_STATES", 1)
    columns = [key, *case.fields.columns()]
    batches = iter(table().select(columns).to_batches(400))
    task = spark_workers.count(
        case.prototype.to_bytes(), [key], case.fields._replace(classes=case.classes), True, batches
    )
    yielded = [row for batch in task for row in batch.to_pylist()]
    return [row for row in yielded if row["state"]], [row for row in yielded if not row["state"]]


def test_a_task_lets_states_go_when_it_holds_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a task holds is bounded in bytes, at the price of several states for a key; nothing is lost."""
    case = CASES["weights"]._replace(prototype=sm.MacroF1())
    few, small = states_and_rows(monkeypatch, 1 << 25, "country", case)
    many, raw = states_and_rows(monkeypatch, 1, "country", case)

    assert (len(few), small) == (4, [])
    assert (len(many), raw) == (16, [])
    assert merged_bytes(row["state"] for row in many) == merged_bytes(row["state"] for row in few)
    assert merged_bytes(row["state"] for row in few) == counted(sm.MacroF1(), *PAIR, DATA["weight"]).to_bytes()


@pytest.mark.parametrize("most", [1 << 25, 20_000, 1])
def test_small_groups_of_scores_stay_rows(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """A key whose state would be larger than its rows is let go as rows, with null for a state."""
    case = CASES["arrays"]

    states, rows = states_and_rows(monkeypatch, most, "at", case)
    days, none = states_and_rows(
        monkeypatch, 1 << 25, "day", case._replace(prototype=sm.MetricSet(scores=True, buckets=4, sample=1))
    )

    assert (len(states), len(rows)) == (0, N)
    assert Counter(row["at"] for row in rows) == Counter(DATA["at"])
    assert (len(days), none) == (2, [])


def test_rows_and_states_of_a_key_become_one_state() -> None:
    """Wherever blocks and batches end, runs of states and of rows count as one process counts."""
    case = CASES["arrays"]
    fields = case.fields._replace(classes=case.classes)
    data = table().select(["day", *case.fields.columns()]).sort_by("day")
    first = [at == 0 or DATA_BY_DAY[at] != DATA_BY_DAY[at - 1] for at in range(N)]
    whole = data.append_column("state", pa.nulls(N, pa.binary())).append_column("first", pa.array(first))
    empty = case.prototype.to_bytes()
    part = next(spark_workers.count(empty, ["day"], fields, False, iter(data.slice(0, 50).to_batches())))
    missing = {
        name: pa.nulls(1, kind.type) for name, kind in zip(data.column_names[1:], list(data.schema)[1:], strict=True)
    }
    stored = pa.table({"day": part["day"].slice(0, 1), **missing, "state": part["state"].slice(0, 1), "first": [True]})
    after = whole.slice(50).set_column(whole.column_names.index("first"), "first", pa.array([False, *first[51:]]))

    def merged(parts: Any) -> list[dict[str, Any]]:
        return [
            row for batch in spark_workers.merge_runs(empty, ["day"], fields, iter(parts)) for row in batch.to_pylist()
        ]

    expected = groups(["day"], case.prototype, *case.expected, **case.named)
    for size in (7, 700, N):
        for parts in (whole.to_batches(size), [*stored.to_batches(), *after.to_batches(size)]):
            assert {repr((row["day"],)): row["state"] for row in merged(parts)} == expected


DATA_BY_DAY = sorted(DATA["day"])
