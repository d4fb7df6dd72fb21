"""What Spark's tasks make of their partitions, without Spark: states and records that depend on no split."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.spark_samples import as_columns, by_key

pytest.importorskip("pyspark", reason="needs PySpark")
pa = pytest.importorskip("pyarrow", reason="needs PyArrow")

import stream_metrics as sm  # noqa: E402
from stream_metrics.integrations import spark_bad_rows, spark_workers  # noqa: E402
from stream_metrics.integrations.tables import Fields  # noqa: E402

EMPTY = sm.MetricSet().to_bytes()
PAIR = Fields()
RNG = random.Random(5)
NAMES = ("cat", "cow", "dog")
N = 600
LISTS = [[score / sum(row) for score in row] for row in ([RNG.randint(1, 50) for _ in NAMES] for _ in range(N))]
TABLE = pa.table(
    {
        "day": pa.array([RNG.choice([0, 20_000]) for _ in range(N)], pa.date32()),
        "country": [RNG.choice(["fr", "de", "", None]) for _ in range(N)],
        "at": list(range(N)),
        "y_true": pa.array([RNG.choice(NAMES) for _ in range(N)]).dictionary_encode(),
        "y_pred": [RNG.choice([*NAMES, None]) for _ in range(N)],
        "w": [RNG.random() for _ in range(N)],
        "list": [None if at % 7 == 0 else row for at, row in enumerate(LISTS)],
    }
)
DATA = TABLE.to_pydict()
MAPPINGS = [None if row is None else dict(zip(NAMES, row, strict=True)) for row in DATA["list"]]
SCORES = Fields(scores="list", classes=NAMES)
PROBABILITIES = sm.MetricSet(scores=True)


@contextmanager
def limits(block: int | None = None, most: int | None = None) -> Iterator[None]:
    """Let tasks count in blocks of so many bytes, and hold so many bytes of rows and of states."""
    values = {"BLOCK_BYTES": block, "MOST_ROWS": most, "MOST_STATES": most, "BATCH_STATES": most and 1}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            if value is not None:
                patch.setattr(spark_workers, name, value)
        yield


def listed(parts: Any) -> list[dict[str, Any]]:
    """Return the rows of batches."""
    return [row for part in parts for row in part.to_pylist()]


def groups(keys: list[str], prototype: Any, fields: Fields = PAIR) -> dict[str, bytes]:
    """Return the bytes of every group as one process counts them, by the text of its key."""
    states = {}
    for key, rows in by_key(DATA, keys, range(N)).items():
        state = prototype.copy()
        state.update_many(**as_columns(DATA, fields, MAPPINGS if fields.scores else None, rows))
        states[key] = state.to_bytes()
    return states


def merged(rows: list[dict[str, Any]], keys: list[str]) -> dict[str, bytes]:
    """Return the merged states of rows by the text of their key."""
    by_key: dict[str, list[bytes]] = {}
    for row in rows:
        by_key.setdefault(repr(tuple(row[key] for key in keys)), []).append(row["state"])
    return {key: spark_workers.merge_all(states) or b"" for key, states in by_key.items()}


COUNTS = st.tuples(
    st.integers(0, 3), st.sampled_from("abc"), st.sampled_from([None, *"abc"]), st.integers(0, 99), st.integers(0, 2)
)
STATES = [sm.MetricSet(), sm.MacroF1(labels=["c", "a", "b"]), sm.ConfusionMatrix(["b"], other="z")]


@given(st.lists(COUNTS, max_size=20), st.integers(1, 20), st.sampled_from([1, 200, 1 << 20]))
def test_counts_of_a_key_become_one_state(rows: list[tuple[Any, ...]], size: int, block: int) -> None:
    """Wherever blocks and batches end, each key has the state of one process that counts its table of counts."""
    rows.sort(key=lambda row: row[0])
    keys = [row[0] for row in rows]
    kinds = {"k0": "int64", "y_true": "string", "y_pred": "string", "n": "int64", "weight": "int64", "first": "bool"}
    rows = [(*row, row[0] not in keys[:at]) for at, row in enumerate(rows)]
    whole = pa.Table.from_pylist([dict(zip(kinds, row, strict=True)) for row in rows], pa.schema(list(kinds.items())))
    for prototype in STATES:
        for weight in (False, True):
            batches = (whole if weight else whole.drop_columns("weight")).to_batches(size)
            with limits(block):
                parts = listed(spark_workers.merge_counts(prototype.to_bytes(), ["k0"], iter(batches)))
            expected = []
            for key in dict.fromkeys(keys):
                state, columns = prototype.copy(), list(zip(*(row[1:5] for row in rows if row[0] == key), strict=True))
                w = [n * each for n, each in zip(columns[2], columns[3], strict=True)] if weight else None
                state.update_counts(*columns[:3], w)
                expected.append((key, state.to_bytes()))
            assert [(row["k0"], row["state"]) for row in parts] == expected


def yielded(most: int, key: str, prototype: Any, fields: Fields) -> tuple[list[Any], list[Any]]:
    """Return what a task that may hold `most` bytes yields for all samples in four batches: states, and rows."""
    batches = iter(TABLE.select([key, *fields.columns()]).to_batches(150))
    with limits(most=most):
        rows = listed(spark_workers.count(prototype.to_bytes(), [key], fields, True, batches))
    return [row for row in rows if row["state"]], [row for row in rows if not row["state"]]


def test_a_task_lets_go_when_it_holds_too_much() -> None:
    """What a task holds is bounded in bytes: then a key has several states, or its rows if they are smaller."""
    weights = Fields(weight="w")
    few, small = yielded(1 << 25, "country", sm.MacroF1(), weights)
    many, raw = yielded(1, "country", sm.MacroF1(), weights)
    assert (len(few), len(many), small, raw) == (4, 16, [], [])
    assert merged(few, ["country"]) == merged(many, ["country"]) == groups(["country"], sm.MacroF1(), weights)

    for most in (1 << 25, 8_000, 1):
        states, rows = yielded(most, "at", PROBABILITIES, SCORES)
        assert (states, sorted(row["at"] for row in rows)) == ([], list(range(N)))
    days, none = yielded(1 << 25, "day", sm.MetricSet(scores=True, buckets=4, sample=1), SCORES)
    assert (len(days), none) == (2, [])


def test_rows_and_states_of_a_key_become_one_state() -> None:
    """Wherever blocks and batches end, runs of states and of rows count as one process counts."""
    data, empty = TABLE.select(["day", *SCORES.columns()]).sort_by("day"), PROBABILITIES.to_bytes()
    days = data["day"].to_pylist()
    first = [at == 0 or days[at] != days[at - 1] for at in range(N)]
    rows = data.append_column("state", pa.nulls(N, pa.binary())).append_column("first", pa.array(first))
    (part,) = spark_workers.count(empty, ["day"], SCORES, False, iter(data.slice(0, 50).combine_chunks().to_batches()))
    nothing = {field.name: pa.nulls(1, field.type) for field in list(data.schema)[1:]}
    stored = pa.table({"day": part["day"], **nothing, "state": part["state"], "first": [True]})
    after = rows.slice(50).set_column(rows.column_names.index("first"), "first", pa.array([False, *first[51:]]))
    for size in (7, 350, N):
        for batches in (rows.to_batches(size), [*stored.to_batches(), *after.to_batches(size)]):
            runs = listed(spark_workers.merge_runs(empty, ["day"], SCORES, iter(batches)))
            assert {repr((row["day"],)): row["state"] for row in runs} == groups(["day"], PROBABILITIES, SCORES)


ROWS = st.tuples(st.sampled_from("xyz"), st.sampled_from(["a", "b", None]), st.sampled_from([0.5, -1.0, 7]))


@given(rows=st.lists(ROWS), size=st.integers(1, 7), block=st.integers(1, 200))
def test_a_row_is_bad_wherever_it_lies(rows: list[tuple[str, str | None, float]], size: int, block: int) -> None:
    """Any split into batches and blocks gives the good rows and the record of a check row by row."""
    good, bad = [], sm.BadRows()
    for at, row in enumerate(rows):
        state = sm.MetricSet()
        bad.count_into(state, pa.array([row[1]], pa.string()), pa.array(["a"]), pa.array([row[2]]), row=at)
        good += [row] if state.n else []
    columns = list(zip(*rows, strict=True)) if rows else [(), (), ()]
    kinds = pa.string(), pa.string(), pa.float64()
    arrays = [pa.array(list(column), kind) for column, kind in zip(columns, kinds, strict=True)]
    table = pa.table([*arrays, pa.array(["a"] * len(rows), pa.string())], ["k0", "y_true", "weight", "y_pred"])
    with limits(block):
        parts, records = checked(table, size, Fields(weight="weight"))

    assert [tuple(row.values())[:3] for row in parts] == good
    assert [record["bad"] for record in records] == ([bad.to_bytes()] if bad else [])


def checked(table: Any, size: int, fields: Fields) -> tuple[list[Any], list[Any]]:
    """Return the good rows of a partition, and the record of the others."""
    work = EMPTY, ["k0"], fields
    good = spark_bad_rows.good_rows(*work, iter(table.to_batches(size)))
    return listed(good), listed(spark_bad_rows.record_bad_rows(*work, iter(table.to_batches(size))))


def test_a_group_does_not_make_rows_of_others_bad() -> None:
    """Weights that are too large in sum, but not in a group, are good."""
    table = pa.table({"k0": ["x", "y", "y"], "y_true": ["a"] * 3, "y_pred": ["a"] * 3, "w": [2**62, 2**62, 2**62]})
    good, (record,) = checked(table, 3, Fields(weight="w"))

    assert [row["k0"] for row in good] == ["x", "y"]
    assert [row.row for row in sm.BadRows.from_bytes(record["bad"]).first] == [2]
