"""What Spark's tasks make of their partitions, without Spark: states and records that depend on no split."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.refusals import refused
from support.spark_samples import as_columns, by_key

pytest.importorskip("pyspark", reason="needs PySpark")
pa = pytest.importorskip("pyarrow", reason="needs PyArrow")

import stream_metrics as sm  # noqa: E402
from stream_metrics.integrations import spark_workers  # noqa: E402
from stream_metrics.integrations.tables import Job  # noqa: E402
from stream_metrics.tables.fields import Fields  # noqa: E402

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
def limits(block: int | None) -> Iterator[None]:
    """Let tasks count in blocks of so many bytes."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("BLOCK_BYTES", "KEYED_BYTES") if block is not None else ():
            patch.setattr(spark_workers, name, block)
        yield


def job(prototype: Any, fields: Fields = PAIR, on_bad: str = "raise") -> Job:
    """Return the order to a task."""
    return Job.of(prototype, fields, on_bad, None)


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


def in_runs(table: Any, key: str) -> Any:
    """Return a table by key, as Spark passes it to the tasks that merge."""
    table = table.sort_by(key)
    keys = table[key].to_pylist()
    return table.append_column("first", pa.array([at == 0 or key != keys[at - 1] for at, key in enumerate(keys)]))


COUNTS = st.tuples(st.integers(0, 3), st.sampled_from("abc"), st.sampled_from([None, *"abc"]), st.integers(0, 99))
STATES = [sm.MetricSet(), sm.MacroF1(labels=["c", "a", "b"]), sm.ConfusionMatrix(["b"], other="z")]


@given(st.lists(COUNTS, max_size=20), st.integers(1, 20), st.sampled_from([1, 200, 1 << 20]))
def test_counts_of_a_key_become_one_state(rows: list[tuple[Any, ...]], size: int, block: int) -> None:
    """Wherever blocks and batches end, each key has the state of one process that counts its table of counts."""
    kinds = {"k0": "int64", "y_true": "string", "y_pred": "string", "n": "int64"}
    whole = pa.Table.from_pylist([dict(zip(kinds, row, strict=True)) for row in rows], pa.schema(list(kinds.items())))
    for prototype in STATES:
        with limits(block):
            batches = iter(in_runs(whole, "k0").to_batches(size))
            parts = listed(spark_workers.merge_runs(job(prototype), ["k0"], batches))
        expected = []
        for key in sorted({row[0] for row in rows}):
            state = prototype.copy()
            state.update_counts(*zip(*(row[1:] for row in rows if row[0] == key), strict=True))
            expected.append((key, state.to_bytes()))
        assert [(row["k0"], row["state"]) for row in parts] == expected


def test_rows_and_states_of_a_key_become_one_state() -> None:
    """Keys with many rows in a block travel as states, others as rows; both are merged, wherever blocks end."""
    for key, prototype, fields in [
        ("country", sm.MacroF1(), Fields(weight="w")),
        ("day", PROBABILITIES, SCORES),
        ("at", PROBABILITIES, SCORES),
    ]:
        work, batches = job(prototype, fields), TABLE.select([key, *fields.columns()]).to_batches(150)
        for least, block, size in [(0, 1 << 25, 7), (500, 1, N), (1 << 30, 1 << 25, 350)]:
            with limits(block):
                parts = list(spark_workers.count_by_key(work, [key], least, iter(batches)))
                table = in_runs(pa.Table.from_batches(parts), key)
                runs = listed(spark_workers.merge_runs(work, [key], iter(table.to_batches(size))))
            assert {repr((row[key],)): row["state"] for row in runs} == groups([key], prototype, fields)
            states = table["state"].drop_null()
            assert (len(states) == 0) == (least == 1 << 30 or (key == "at" and least > 0)), (key, least)


ROWS = st.tuples(st.sampled_from("xyz"), st.sampled_from(["a", "b", None]), st.sampled_from([0.5, -1.0, 7]))


@given(st.lists(ROWS), st.integers(1, 7), st.integers(1, 200), st.sampled_from([0, 1 << 30]))
def test_a_row_is_bad_wherever_it_lies(
    rows: list[tuple[str, str | None, float]], size: int, block: int, least: int
) -> None:
    """Any split into batches and blocks gives the good rows and the record of a check row by row."""
    good: dict[str, sm.MetricSet] = {}
    bad = sm.BadRows()
    for at, (key, truth, w) in enumerate(rows):
        state = sm.MetricSet()
        bad.count_into(state, pa.array([truth], pa.string()), pa.array(["a"]), pa.array([w]), partition=3, row=at)
        if state.n:
            good[key] = state if key not in good else good[key].merge(state)
    columns = list(zip(*rows, strict=True)) if rows else [(), (), ()]
    kinds = pa.string(), pa.string(), pa.float64()
    arrays = [pa.array(list(column), kind) for column, kind in zip(columns, kinds, strict=True)]
    numbers = pa.array([(3 << spark_workers.ROW_BITS) + at for at in range(len(rows))], pa.int64())
    table = pa.table(
        [*arrays, pa.array(["a"] * len(rows), pa.string()), numbers], ["k0", "y_true", "weight", "y_pred", "at"]
    )
    with limits(block):
        parts = checked(table, size, Fields(weight="weight"), least)

    assert {row["k0"]: row["state"] for row in parts if row["state"]} == {k: x.to_bytes() for k, x in good.items()}
    assert spark_workers.merge_all(row["bad"] for row in parts) == (bad.to_bytes() if bad else None)


def checked(table: Any, size: int, fields: Fields, least: int) -> list[Any]:
    """Return the states and the records of the keys of a partition."""
    work = job(sm.MetricSet(), fields, "count")
    parts = list(spark_workers.count_by_key(work, ["k0"], least, iter(table.to_batches(size))))
    runs = in_runs(pa.Table.from_batches(parts), "k0").to_batches(size) if parts else []
    return listed(spark_workers.merge_runs(work, ["k0"], iter(runs)))


def test_a_group_does_not_make_rows_of_others_bad() -> None:
    """Weights that are too large in sum, but not in a group, are good."""
    table = pa.table({"k0": ["x", "y", "y"], "y_true": ["a"] * 3, "y_pred": ["a"] * 3, "w": [2**62, 2**62, 2**62]})
    first, second = checked(table.append_column("at", pa.array([0, 1, 2])), 3, Fields(weight="w"), 1 << 30)

    assert (sm.from_bytes(first["state"]).n, first["bad"]) == (1, None)
    assert [row.row for row in sm.BadRows.from_bytes(second["bad"]).first] == [2]


def test_an_error_has_the_place_of_the_caller() -> None:
    """Of rows and of counts, an error names partition and row as Spark numbers them."""
    numbers = [(2 << spark_workers.ROW_BITS) + 70, (1 << spark_workers.ROW_BITS) + 5]
    rows = pa.table({"k0": ["x", "x"], "y_true": ["a", None], "y_pred": ["a", "a"], "at": numbers})
    for table in (rows, rows.append_column("n", pa.array([3, 4]))):
        error = refused(
            partial(list, spark_workers.merge_runs(job(sm.MCC()), ["k0"], iter(in_runs(table, "k0").to_batches())))
        )
        assert (error.position, error.place) == (5, "partition 1")
