"""`sm.count`: whatever holds a table gives the bytes of one pass over its columns, and names files and rows."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

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
NAMES = {"y_true": "y", "y_pred": "p", "w": "w", "group": "g"}


def package(name: str) -> ModuleType:
    """Return an optional package; skip the test where it is not installed."""
    module: ModuleType = pytest.importorskip(name, reason=f"needs {name}")
    return module


def arrow() -> Any:
    return package("pyarrow").table(COLUMNS)


class Stream:
    """A producer that only the Arrow stream protocol knows."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


class Batch(Stream):
    """A producer of one batch."""

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_array__(requested_schema)

    __arrow_c_stream__ = property()  # type: ignore[assignment]  # raises AttributeError


def stored(folder: Path, table: Any = None) -> Path:
    """Write a table as three Parquet files."""
    table = arrow() if table is None else table
    third = -(-table.num_rows // 3)
    for at in range(3):
        package("pyarrow.parquet").write_table(
            table.slice(at * third, third), folder / f"{at}.parquet", row_group_size=300
        )
    return folder


def dataset(folder: Path, table: Any = None) -> Any:
    return package("pyarrow.dataset").dataset(stored(folder, table))


SOURCES: dict[str, Callable[[Path], Any]] = {
    "mapping": lambda _: COLUMNS,
    "pandas": lambda _: pd.DataFrame(COLUMNS),
    "pandas, columns of the index": lambda _: pd.DataFrame(COLUMNS).set_index(["y", "g"]),
    "table": lambda _: arrow(),
    "record batch": lambda _: arrow().to_batches()[0],
    "reader": lambda _: arrow().to_reader(max_chunksize=101),
    "stream": lambda _: Stream(arrow()),
    "batch": lambda _: Batch(arrow().to_batches()[0]),
    "dataset": dataset,
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
    """Labels, weights and groups, in one piece or in batches."""
    expected = sm.ByGroup(sm.MetricSet())
    expected.update_many(COLUMNS["y"], COLUMNS["p"], COLUMNS["w"], group=COLUMNS["g"])

    assert sm.count(SOURCES[name](tmp_path), **NAMES).to_bytes() == expected.to_bytes()  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["table", "reader", "dataset", "polars", "polars, lazy", "duckdb", "pandas", "stream"])
def test_a_column_that_is_missing_is_named(name: str, tmp_path: Path) -> None:
    """Also where the source has no rows."""
    with pytest.raises(sm.LabelError, match=r"'nope' to be a column of the .*, but it has .*'y'"):
        sm.count(SOURCES[name](tmp_path), y_true="nope")


@pytest.mark.parametrize("source", [3, "a.parquet", b"x", None, ...], ids=repr)
def test_what_is_no_source_raises(source: Any) -> None:
    """The error names the adapters for engines."""
    with pytest.raises(TypeError, match=r"Expected `table` to be a table.* stream_metrics.integrations has"):
        sm.count(source)


def test_a_column_is_no_table() -> None:
    """An Arrow column has a stream, too."""
    with pytest.raises(TypeError, match="but got a column"):
        sm.count(arrow()["y"])


def test_rows_of_no_source() -> None:
    """Of no tables, and of tables without rows, the state is empty."""
    empty = {"y_true": [], "y_pred": []}
    assert sm.count([]) == sm.count(empty) == sm.count([empty, empty]) == sm.MetricSet()


FIVE = {"y_true": ["a", None, "a", "b", None], "y_pred": ["a", "a", "b", "b", "b"]}
PLACES: dict[str, tuple[Callable[[Path], Any], list[tuple[str | None, int | None, int | None]], str]] = {
    "mapping": (lambda _: FIVE, [(None, None, 1), (None, None, 4)], " at position 1 "),
    "reader": (
        lambda _: package("pyarrow").table(FIVE).to_reader(max_chunksize=2), [(None, None, 1), (None, None, 4)],
        " at position 1 ",
    ),
    "files": (
        lambda folder: dataset(folder, package("pyarrow").table(FIVE)),
        [("0.parquet", None, 1), ("2.parquet", None, 0)], "0.parquet",
    ),
    "scanner": (
        lambda folder: dataset(folder, package("pyarrow").table(FIVE)).scanner(),
        [("0.parquet", None, None), ("2.parquet", None, None)], "0.parquet",
    ),
    "tables": (lambda _: [FIVE, FIVE], [(None, 0, 1), (None, 0, 4), (None, 1, 1), (None, 1, 4)], "of partition 0"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
def test_bad_rows_have_files_partitions_and_rows(name: str, tmp_path: Path) -> None:
    """Good rows are counted; the record, or the error, says where the others are, as far as it is known."""
    make, places, raised = PLACES[name]
    source = make(tmp_path)
    result = sm.count(source if name != "reader" else make(tmp_path), on_bad="count")

    recorded = [(row.file and Path(row.file).name, row.partition, row.row) for row in result.bad.first]
    assert recorded == places
    assert result.bad.n == len(places)
    good = [at for at, label in enumerate(FIVE["y_true"]) if label] * (len(places) // 2)
    expected = sm.MetricSet()
    expected.update_many([FIVE["y_true"][at] for at in good], [FIVE["y_pred"][at] for at in good])
    assert result.state == expected
    with pytest.raises(sm.LabelError, match=raised):
        sm.count(make(tmp_path))


def test_scores_in_every_form() -> None:
    """A column for each class, mappings, arrays with classes, and one column of the scores of the positive class."""
    truth = ["a", "b", "a"]
    rows = [[0.75, 0.25], [0.5, 0.5], [0.125, 0.875]]
    expected = sm.MetricSet(scores=True)
    expected.update_many(truth, scores=rows, classes=["a", "b"])
    pa = package("pyarrow")
    apart = {"y_true": truth, "pa": [row[0] for row in rows], "pb": [row[1] for row in rows]}
    both = {"a": "pa", "b": "pb"}
    named = [dict(zip("ab", row, strict=True)) for row in rows]

    assert sm.count(apart, scores=both) == expected
    assert sm.count(pa.table(apart), scores=both) == expected
    assert sm.count(pd.DataFrame(apart), scores=both) == expected
    assert sm.count({"y_true": truth, "s": named}, scores="s") == expected
    for arrays in (rows, [np.array(row) for row in rows], pa.array(rows), pa.array(rows, pa.list_(pa.float64(), 2))):
        assert sm.count({"y_true": truth, "s": arrays}, scores="s", classes=["a", "b"]) == expected
    frame = pd.DataFrame({"y_true": truth, "s": [np.array(row) for row in rows]})
    assert sm.count(frame, scores="s", classes=["a", "b"]) == expected
    for scores in (None, both):
        with pytest.raises(sm.ScoreError, match="`classes` with one column of arrays of scores only"):
            sm.count(apart, y_pred="y_true", scores=scores, classes=["a", "b"], on_bad="count")
    single = sm.count({"y": [0, 1], "s": [0.25, 0.75]}, sm.ROCAUC(), y_true="y", scores="s")
    assert single.get() == 1.0


def test_rows_without_scores_abstain() -> None:
    """A null array, and nulls in the columns of all classes, are abstentions, as in `update_many`."""
    pa = package("pyarrow")
    truth = pa.array(["a", "b", "a"])
    lists = pa.table({"y_true": truth, "s": pa.array([[0.75, 0.25], None, [0.5, 0.5]])})
    apart = pa.table({"y_true": truth, "a": [0.75, None, 0.5], "b": [0.25, None, 0.5]})
    first = sm.count(lists, scores="s", classes=["a", "b"])

    assert (first.n, first.abstained) == (2, 1)
    assert sm.count(apart, scores={"a": "a", "b": "b"}) == first


def test_prototypes() -> None:
    """A prototype says what counts, its counts are left out, and groups are put around it if it has none."""
    counted = sm.Accuracy()
    counted.update(1, 0)
    rows = {"y_true": [1, 1], "y_pred": [1, 0], "g": ["x", "y"], "t": [10, 11]}

    assert sm.count(rows, counted).get() == 0.5
    assert counted.n == 1
    assert sm.count(rows, sm.Accuracy(), group="g").snapshot().values_of("accuracy") == {"x": 1.0, "y": 0.0}
    assert sm.count(rows, sm.ByGroup(sm.Accuracy(), max_groups=1), group="g").folded == 1
    assert sm.count(rows, sm.TimeWindow(sm.Accuracy(), "1h"), t="t").n == 2
    with pytest.raises(ValueError, match="`prototype` to be mergeable"):
        sm.count(rows, sm.Rolling(sm.Accuracy(), 3))
    with pytest.raises(ValueError, match="`on_bad` to be 'raise' or 'count', but got 'skip'"):
        sm.count(rows, on_bad="skip")  # type: ignore[arg-type]
    for most in (0, True, 2.0):
        with pytest.raises(ValueError, match="`max_labels` to be a whole number above 0, or None"):
            sm.count(rows, max_labels=most)  # type: ignore[arg-type]


MANY = 150_000
WIDE = {
    "ids": np.arange(MANY) * 2**40, "names": np.arange(MANY).astype(str), "few": np.arange(MANY) % 7,
    "g": np.arange(MANY) % 300,
}  # fmt: skip


@pytest.mark.parametrize("column", ["ids", "names"])
@pytest.mark.parametrize("form", ["mapping", "pandas", "reader", "groups", "window", "bad rows"])
def test_a_column_of_identifiers_is_refused(form: str, column: str) -> None:
    """The error names the column, as truth and as prediction, long before all of its labels were counted."""
    sources: dict[str, Callable[[], Any]] = {
        "pandas": lambda: pd.DataFrame(WIDE),
        "reader": lambda: package("pyarrow").table(WIDE).to_reader(max_chunksize=10_000),
    }
    prototype = sm.TimeWindow(sm.ConfusionMatrix(), "30d") if form == "window" else sm.ConfusionMatrix()
    named: dict[str, Any] = {"groups": {"group": "g"}, "window": {"t": "g"}, "bad rows": {"on_bad": "count"}}.get(
        form, {}
    )
    for y_true, y_pred, argument in ((column, "few", "y_true"), ("few", column, "y_pred")):
        with pytest.raises(sm.LabelError, match=f"labels of column '{column}' to be at most 1,000, but") as caught:
            sm.count(
                sources.get(form, lambda: WIDE)(), prototype, y_true=y_true, y_pred=y_pred, max_labels=1_000, **named
            )
        assert caught.value.argument == argument


def test_the_limit_of_labels_is_exact() -> None:
    """Exactly as many labels as are allowed pass, in few rows and in many, and so do labels that groups share."""
    labels = np.arange(MANY) % 5_000
    for n in (5_000, MANY):
        rows = {"y_true": labels[:n], "y_pred": labels[:n]}
        assert sm.count(rows, max_labels=5_000).n == n
        with pytest.raises(sm.LabelError, match="at most 4,999"):
            sm.count(rows, max_labels=4_999)
    shared = {"y_true": labels % 50, "y_pred": labels % 50, "g": labels % 100}
    assert sm.count(shared, group="g", max_labels=50).n == MANY
    with pytest.raises(sm.LabelError, match="at most 49"):
        sm.count(shared, group="g", max_labels=49)
    wide = {"y_true": np.arange(MANY), "y_pred": np.arange(MANY)}
    with pytest.raises(sm.LabelError, match="at most 100,000"):
        sm.count(wide)
    assert sm.count(wide, max_labels=None).n == MANY


def test_long_tables_are_counted_in_blocks() -> None:
    """Blocks grow while labels stay few, and rows keep their numbers."""
    truth = (np.arange(MANY) % 3).astype(object)
    truth[[0, 70_000, MANY - 1]] = None
    state, bad = sm.count({"y_true": truth, "y_pred": truth}, on_bad="count")

    assert [row.row for row in bad.first] == [0, 70_000, MANY - 1]
    assert state.n == MANY - 3
    with pytest.raises(sm.LabelError, match="`y_true` at position 69999 "):
        sm.count({"y_true": truth[1:], "y_pred": truth[1:]})


def test_nothing_is_imported_for_a_mapping() -> None:
    """Counting columns of NumPy needs neither pandas nor Arrow."""
    code = (
        "import sys, stream_metrics as sm\nsm.count({'y_true': [1, 2], 'y_pred': [1, 1]}, on_bad='count')\n"
        "print({'pandas', 'pyarrow', 'polars'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"
