"""`sm.count`: whatever holds a table gives the bytes of one pass over its columns, and names files and rows."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.refusals import all_refused, refused

import stream_metrics as sm

N = 3_000
RNG = np.random.default_rng(3)
COLUMNS = {
    "y": RNG.choice(["cat", "dog", "emu"], N).tolist(),
    "p": [None if x == "yak" else x for x in RNG.choice(["cat", "dog", "yak"], N).tolist()],
    "w": RNG.integers(1, 5, N).tolist(),
    "g": RNG.integers(0, 4, N).tolist(),
    "id": list(range(N)),
}
NAMES: dict[str, Any] = {"y_true": "y", "y_pred": "p", "w": "w", "group": "g"}


def package(name: str) -> ModuleType:
    """Return an optional package; skip the test where it is not installed."""
    module: ModuleType = pytest.importorskip(name, reason=f"needs {name}")
    return module


def arrow(columns: Any = COLUMNS) -> Any:
    return package("pyarrow").table(columns)


def stored(folder: Path, columns: Any = COLUMNS) -> Path:
    """Write a table as three Parquet files."""
    table = arrow(columns)
    third = -(-table.num_rows // 3)
    for at in range(3):
        part = table.slice(at * third, third)
        package("pyarrow.parquet").write_table(part, folder / f"{at}.parquet", row_group_size=300)
    return folder


def dataset(folder: Path, columns: Any = COLUMNS) -> Any:
    return package("pyarrow.dataset").dataset(stored(folder, columns))


def delta(folder: Path) -> Any:
    """Return a Delta table, some files of which have rows that were replaced."""
    for _ in range(2):
        package("deltalake").write_deltalake(folder / "delta", arrow(), mode="overwrite")
    return package("deltalake").DeltaTable(folder / "delta").to_pyarrow_dataset()


SOURCES: dict[str, Callable[[Path], Any]] = {
    "mapping": lambda _: COLUMNS,
    "pandas": lambda _: pd.DataFrame(COLUMNS),
    "pandas, columns of the index": lambda _: pd.DataFrame(COLUMNS).set_index(["y", "g"]),
    "table": lambda _: arrow(),
    "record batch": lambda _: arrow().to_batches()[0],
    "reader": lambda _: arrow().to_reader(max_chunksize=101),
    "stream": lambda _: SimpleNamespace(__arrow_c_stream__=arrow().__arrow_c_stream__),
    "batch": lambda _: SimpleNamespace(__arrow_c_array__=arrow().to_batches()[0].__arrow_c_array__),
    "dataset": dataset,
    "Delta": delta,
    "filtered dataset": lambda folder: dataset(folder).filter(package("pyarrow.dataset").field("id") >= 0),
    "scanner": lambda folder: dataset(folder).scanner(batch_size=64),
    "polars": lambda _: package("polars").DataFrame(COLUMNS),
    "polars, lazy": lambda _: package("polars").LazyFrame(COLUMNS),
    "polars, files": lambda folder: package("polars").scan_parquet(stored(folder)),
    "duckdb": lambda folder: package("duckdb").sql(f"from '{stored(folder)}/*.parquet'"),
    "tables": lambda _: [pd.DataFrame(COLUMNS)[:100], arrow().slice(100, 50), {k: v[150:] for k, v in COLUMNS.items()}],
    "batches from a generator": lambda _: (batch for batch in arrow().to_batches(max_chunksize=77)),
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    """Labels, weights and groups, in one piece or in batches; a column that is missing is named with those there."""
    expected = sm.ByGroup(sm.MetricSet())
    expected.update_many(COLUMNS["y"], COLUMNS["p"], COLUMNS["w"], group=COLUMNS["g"])
    assert sm.count(SOURCES[name](tmp_path), **NAMES).to_bytes() == expected.to_bytes()

    error = refused(lambda: sm.count(SOURCES[name](tmp_path), y_true="nope"), sm.LabelError, "'nope' to be a column of")
    assert "'p'" in str(error)


@pytest.mark.quick
def test_what_is_no_source_raises() -> None:
    """The error names the adapters for engines; of no tables, and of tables without rows, the state is empty."""
    all_refused([
        *((lambda x=x: sm.count(x), TypeError, "stream_metrics.integrations has") for x in (3, "a.parquet", None, ...)),
        (lambda: sm.count(b"x"), TypeError, "Expected `table` to be a table"),
        (lambda: sm.count({"y_true": [], "y_pred": [1]}), ValueError, "as many rows"),
    ])  # fmt: skip
    empty = {"y_true": [], "y_pred": []}
    assert sm.count([]) == sm.count(empty) == sm.count([empty, empty]) == sm.MetricSet()
    assert sm.count({"y_true": ["a"], "y_pred": ["b"]}).n == 1


FIVE = {"y_true": ["a", None, "a", "b", None], "y_pred": ["a", "a", "b", "b", "b"]}
PLACES: dict[str, tuple[Callable[[Path], Any], list[tuple[str | None, int | None, int | None]], str]] = {
    "mapping": (lambda _: FIVE, [(None, None, 1), (None, None, 4)], " at position 1 "),
    "reader": (lambda _: arrow(FIVE).to_reader(max_chunksize=2), [(None, None, 1), (None, None, 4)], " at position 1 "),
    "files": (lambda at: dataset(at, FIVE), [("0.parquet", None, 1), ("2.parquet", None, 0)], "0.parquet"),
    "scanner": (lambda at: dataset(at, FIVE).scanner(), [(f"{n}.parquet", None, None) for n in (0, 2)], "0.parquet"),
    "tables": (lambda _: [FIVE, FIVE], [(None, 0, 1), (None, 0, 4), (None, 1, 1), (None, 1, 4)], "of partition 0"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
def test_bad_rows_have_files_partitions_and_rows(name: str, tmp_path: Path) -> None:
    """Good rows are counted; the record, or the error, says where the others are, as far as it is known."""
    make, places, raised = PLACES[name]
    state, bad = sm.count(make(tmp_path), on_bad="count")

    assert [(row.file and Path(row.file).name, row.partition, row.row) for row in bad.first] == places
    assert bad.n == len(places)
    good = sm.count({"y_true": ["a", "a", "b"], "y_pred": ["a", "b", "b"]})
    assert state == sm.merge([good] * (len(places) // 2))
    refused(lambda: sm.count(make(tmp_path)), sm.LabelError, raised)


def test_scores_in_every_form() -> None:
    """A column for each class, mappings, arrays with classes, and one column of the scores of the positive class."""
    pa, truth = package("pyarrow"), ["a", "b", "a"]
    rows, both = [[0.75, 0.25], [0.5, 0.5], [0.125, 0.875]], {"a": "pa", "b": "pb"}
    expected = sm.MetricSet(scores=True)
    expected.update_many(truth, scores=rows, classes=["a", "b"])
    apart = {"y_true": truth, "pa": [row[0] for row in rows], "pb": [row[1] for row in rows]}
    arrays, named = [np.array(row) for row in rows], [dict(zip("ab", row, strict=True)) for row in rows]
    columns = [rows, arrays, pa.array(rows), pa.array(rows, pa.list_(pa.float64(), 2))]
    tables: list[tuple[Any, dict[str, Any]]] = [
        *((table, {"scores": both}) for table in (apart, pa.table(apart), pd.DataFrame(apart))),
        ({"y_true": truth, "s": named}, {"scores": "s"}),
        *(({"y_true": truth, "s": column}, {"scores": "s", "classes": ["a", "b"]}) for column in columns),
        (pd.DataFrame({"y_true": truth, "s": arrays}), {"scores": "s", "classes": ["a", "b"]}),
    ]
    for table, options in tables:
        assert sm.count(table, **options) == expected
    for scores in (None, both):
        more: dict[str, Any] = {"y_pred": "y_true", "scores": scores, "classes": ["a", "b"], "on_bad": "count"}
        refused(lambda: sm.count(apart, **more), sm.ScoreError, "`classes` with one column of arrays")  # noqa: B023
    assert sm.count({"y": [0, 1], "s": [0.25, 0.75]}, sm.ROCAUC(), y_true="y", scores="s").get() == 1.0

    lists = pa.table({"y_true": truth, "s": pa.array([[0.75, 0.25], None, [0.5, 0.5]])})
    nulls = pa.table({"y_true": truth, "a": [0.75, None, 0.5], "b": [0.25, None, 0.5]})
    first = sm.count(lists, scores="s", classes=["a", "b"])
    assert (first.n, first.abstained) == (2, 1)
    assert sm.count(nulls, scores={"a": "a", "b": "b"}) == first
    refused(lambda: sm.count(lists["y_true"]), TypeError, "but got a column")  # which has a stream, too


@pytest.mark.quick
def test_prototypes() -> None:
    """A prototype says what counts, its counts are left out, and groups are put around it if it has none."""
    counted = sm.Accuracy()
    counted.update(1, 0)
    rows = {"y_true": [1, 1], "y_pred": [1, 0], "g": ["x", "y"], "t": [10, 11]}

    assert (sm.count(rows, counted).get(), counted.n) == (0.5, 1)
    assert sm.count(rows, sm.Accuracy(), group="g").snapshot().values_of("accuracy") == {"x": 1.0, "y": 0.0}
    assert sm.count(rows, sm.ByGroup(sm.Accuracy(), max_groups=1), group="g").folded == 1
    assert sm.count(rows, sm.TimeWindow(sm.Accuracy(), "1h"), t="t").n == 2
    all_refused([
        (lambda: sm.count(rows, sm.Rolling(sm.Accuracy(), 3)), ValueError, "`prototype` to be mergeable"),
        (lambda: sm.count(rows, on_bad="skip"), ValueError, "`on_bad` to be 'raise' or 'count', but got 'skip'"),
        *((lambda x=x: sm.count(rows, max_labels=x), ValueError, "`max_labels` to be a whole number above 0, or None")
          for x in (0, True, 2.0)),
    ])  # fmt: skip


MANY = 150_000
WIDE = {
    "ids": np.arange(MANY) * 2**40, "names": np.arange(MANY).astype(str), "few": np.arange(MANY) % 7,
    "g": np.arange(MANY) % 300,
}  # fmt: skip


@pytest.mark.parametrize("form", ["mapping", "pandas", "reader", "groups", "window", "bad rows"])
def test_a_column_of_identifiers_is_refused(form: str) -> None:
    """The error names the column, as truth and as prediction, long before all of its labels were counted."""
    sources: dict[str, Callable[[], Any]] = {
        "pandas": lambda: pd.DataFrame(WIDE),
        "reader": lambda: package("pyarrow").table(WIDE).to_reader(max_chunksize=10_000),
    }
    make = sources.get(form, lambda: WIDE)
    prototype = sm.TimeWindow(sm.ConfusionMatrix(), "30d") if form == "window" else sm.ConfusionMatrix()
    named: dict[str, Any] = {"groups": {"group": "g"}, "window": {"t": "g"}, "bad rows": {"on_bad": "count"}}
    for column in ("ids", "names"):
        for columns in ({"y_true": column, "y_pred": "few"}, {"y_true": "few", "y_pred": column}):
            options = {**columns, "max_labels": 1_000, **named.get(form, {})}
            about = f"labels of column '{column}' to be at most 1,000, but"
            error: Any = refused(lambda: sm.count(make(), prototype, **options), sm.LabelError, about)  # noqa: B023
            assert columns[error.argument] == column


def test_the_limit_of_labels_is_exact() -> None:
    """Exactly as many labels as are allowed pass, in few rows and in many, and so do labels that groups share."""
    labels, few, wide = np.arange(MANY) % 5_000, np.arange(MANY) % 50, np.arange(MANY)
    tables: list[tuple[dict[str, Any], dict[str, Any], int]] = [
        ({"y_true": labels[:5_000], "y_pred": labels[:5_000]}, {}, 5_000),
        ({"y_true": labels, "y_pred": labels}, {}, 5_000),
        ({"y_true": few, "y_pred": few, "g": labels % 100}, {"group": "g"}, 50),
    ]
    for rows, named, most in tables:
        assert sm.count(rows, **named, max_labels=most).n == len(rows["y_true"])
        refused(lambda: sm.count(rows, **named, max_labels=most - 1), sm.LabelError, f"at most {most - 1:,}")  # noqa: B023
    all_labels = {"y_true": wide, "y_pred": wide}
    refused(lambda: sm.count(all_labels), sm.LabelError, "at most 100,000")
    assert sm.count(all_labels, max_labels=None).n == MANY


def test_long_tables_are_counted_in_blocks() -> None:
    """Blocks grow while labels stay few, and rows keep their numbers."""
    truth = (np.arange(MANY) % 3).astype(object)
    truth[[0, 70_000, MANY - 1]] = None
    state, bad = sm.count({"y_true": truth, "y_pred": truth}, on_bad="count")

    assert [row.row for row in bad.first] == [0, 70_000, MANY - 1]
    assert state.n == MANY - 3
    rest = {"y_true": truth[1:], "y_pred": truth[1:]}
    assert refused(lambda: sm.count(rest), sm.LabelError, "y_true").position == 69_999  # type: ignore[attr-defined]


def test_nothing_is_imported_for_a_mapping() -> None:
    """Counting columns of NumPy needs neither pandas nor Arrow."""
    code = (
        "import sys, stream_metrics as sm\nsm.count({'y_true': [1, 2], 'y_pred': [1, 1]}, on_bad='count')\n"
        "print({'pandas', 'pyarrow', 'polars'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"
