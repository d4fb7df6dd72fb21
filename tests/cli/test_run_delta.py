"""``stream-metrics run`` on Delta tables: the rows of the current version, through deltalake."""

from __future__ import annotations

import json

import pytest

import stream_metrics as sm

pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
deltalake = pytest.importorskip("deltalake", reason="needs deltalake")

ROWS = {"y_true": ["a", "b", "a", "c"], "y_pred": ["a", "a", None, "c"], "land": ["f i", "de", "x/y=%", "de"]}


@pytest.fixture
def table(tmp_path):
    """Return a partitioned table with deleted, replaced and added rows; ROWS are its current ones."""
    old = pa.table({name: values * 3 for name, values in ROWS.items()})
    path = tmp_path / "table"
    deltalake.write_deltalake(path, old, partition_by=["land"])
    deltalake.write_deltalake(path, pa.table(ROWS).slice(0, 2), mode="overwrite")
    deltalake.write_deltalake(path, pa.table(ROWS), mode="append")
    more = pa.table({**ROWS, "y_true": ["gone"] * 4})
    deltalake.write_deltalake(path, more, mode="append")
    deltalake.DeltaTable(path).delete("y_true = 'gone'")
    deltalake.write_deltalake(path, pa.table(ROWS).slice(2), mode="append")
    return path


def counted(times=1):
    """Return a state that has counted the rows of the table, or some more times."""
    state = sm.MetricSet()
    for _ in range(2 * times):
        state.update_many(ROWS["y_true"], ROWS["y_pred"])
    return state


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_current_rows(cli, tmp_path, table, jobs):
    """Deleted and replaced rows, whose files are still in the folder, are not counted."""
    assert len(list(table.rglob("*.parquet"))) > len(deltalake.DeltaTable(table).file_uris())

    result = cli("run", table, "--state", tmp_path / "state", "--jobs", jobs)

    assert (result.status, result.err) == (0, "")
    assert counted() == sm.from_bytes((tmp_path / "state").read_bytes())


def test_tables_below_a_folder(cli, tmp_path, table):
    """A folder of tables is the current rows of all of them; a pattern may match tables."""
    lake = tmp_path / "lake"
    lake.mkdir()
    table.rename(lake / "one")
    deltalake.write_deltalake(lake / "two", pa.table(ROWS))
    for named in ("lake", "la*", "lake/*"):
        result = cli("run", tmp_path / named, "--format", "json")

        assert json.loads(result.out)["n"] == 9  # and 3 abstentions


def test_files_of_a_table_are_refused(cli, table):
    """A file that is named by itself may have been deleted from the table."""
    for named in ("land=de", "land=de/*.parquet", "**/*.parquet", next(table.rglob("*.parquet"))):
        result = cli("run", table / named)

        assert (result.status, result.out) == (1, "")
        assert "Delta table" in result.err


def test_partitions_have_the_types_of_the_table(cli, tmp_path):
    """A partition of numbers or dates is that, and text is unquoted; a null is no group."""
    rows = pa.table({**ROWS, "year": pa.array([1, 2, 3, 1], pa.int32()), "day": pa.array([0, 1, 2, 0], pa.date32())})
    deltalake.write_deltalake(tmp_path / "t", rows, partition_by=["year", "land", "day"])
    groups = {"year": [1, 2, 3, 1], "land": ROWS["land"]}
    for name, values in groups.items():
        expected = sm.ByGroup(sm.MetricSet())
        expected.update_many(ROWS["y_true"], ROWS["y_pred"], group=values)

        result = cli("run", tmp_path / "t", "--by", name, "--state", tmp_path / "s")

        assert (result.status, result.err) == (0, "")
        assert expected.to_bytes() == (tmp_path / "s").read_bytes()
    window = sm.TimeWindow(sm.MetricSet(), "2d", 2)
    window.update_many(ROWS["y_true"], ROWS["y_pred"], t=[0, 86400, 2 * 86400, 0])
    options = "--time-field", "day", "--window", "2d", "--panes", "2"
    cli("run", tmp_path / "t", *options, "--state", tmp_path / "s")
    assert window.n == sm.from_bytes((tmp_path / "s").read_bytes()).n


def test_a_resumed_run_of_a_table(cli, tmp_path, table):
    """New files of a table are counted; if files that were counted are gone, the counts are wrong, and it ends."""
    state = tmp_path / "state"
    cli("run", table, "--state", state)
    deltalake.write_deltalake(table, pa.table(ROWS), mode="append")
    more = cli("run", table, "--resume", state, "--state", state)
    assert "counted before" in more.err
    expected = counted()
    expected.update_many(ROWS["y_true"], ROWS["y_pred"])
    assert expected.to_bytes() == state.read_bytes()

    deltalake.DeltaTable(table).optimize.compact()
    gone = cli("run", table, "--resume", state, "--state", state)
    assert (gone.status, gone.out) == (1, "")
    assert "is no longer a file of the table" in gone.err
    assert expected.to_bytes() == state.read_bytes()


def test_what_deltalake_does_not_read(cli, tmp_path, table):
    """A log that is empty or damaged, and features that would change which rows there are, end the run."""
    protocol = {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7}}
    protocol["protocol"] |= {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    last = max((table / "_delta_log").glob("*.json"))
    follows = last.with_name(f"{int(last.stem) + 1:020}.json")
    (tmp_path / "empty" / "_delta_log").mkdir(parents=True)

    for content in (json.dumps(protocol), "{"):
        follows.write_text(content)
        for path in (table, tmp_path / "empty"):
            result = cli("run", path)

            assert (result.status, result.out) == (1, "")
            assert result.err.startswith(f"stream-metrics: {path}: ")
            assert result.err.count("\n") == 1


def test_mapped_columns_are_refused(cli, table):
    """Names of columns that a table maps to other names in its files are not looked up in the files."""
    log = max((table / "_delta_log").glob("*.json"))
    metadata = next(
        json.loads(line)
        for path in sorted((table / "_delta_log").glob("*.json"))
        for line in path.read_text().splitlines()
        if "metaData" in line
    )
    metadata["metaData"]["configuration"] = {"delta.columnMapping.mode": "name"}
    versions = {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}
    follows = log.with_name(f"{int(log.stem) + 1:020}.json")
    follows.write_text(json.dumps(versions) + "\n" + json.dumps(metadata) + "\n")

    result = cli("run", table)

    assert (result.status, result.out) == (1, "")
    assert result.err.count("\n") == 1
