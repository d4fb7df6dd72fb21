"""``stream-metrics run`` on Arrow IPC and ORC, on partitioned folders of tables, and on lists of scores."""

from __future__ import annotations

import json
import random

import pytest

import stream_metrics as sm

pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
pq = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow with Parquet")
feather = pytest.importorskip("pyarrow.feather", reason="needs pyarrow with Feather")
orc = pytest.importorskip("pyarrow.orc", reason="needs pyarrow with ORC")

RNG = random.Random(8)
N = 90
TRUE = [RNG.choice(["cat", "dog"]) for _ in range(N)]
PRED = [RNG.choice(["cat", "dog", "emu", None]) for _ in range(N)]
LANDS = [RNG.choice(["fi", "de"]) for _ in range(N)]
WEIGHTS = [RNG.choice([1.0, 0.5]) for _ in range(N)]
LISTS = [[a / 8, 1 - a / 8] for a in (RNG.randrange(9) for _ in range(N))]
SCORES = [dict(zip(("cat", "dog"), row, strict=True)) for row in LISTS]
TABLE = pa.table({"y_true": TRUE, "y_pred": PRED, "land": LANDS, "w": WEIGHTS, "a.b": TRUE, "scores": SCORES})
NESTED = TABLE.append_column("deep", pa.array([{"c": {"d": label, "e": 1}} for label in PRED]))


def write_ipc(table, path, **options):
    """Write an Arrow IPC file in batches of a few rows."""
    with pa.ipc.new_file(path, table.schema, **options) as writer:
        writer.write_table(table, max_chunksize=7)


WRITERS = {
    "a.parquet": lambda table, path: pq.write_table(table, path, row_group_size=13),
    "a.feather": lambda table, path: feather.write_feather(table, str(path), chunksize=11),
    "a.arrow": write_ipc,
    "no extension": lambda table, path: write_ipc(table, path, options=pa.ipc.IpcWriteOptions(compression="zstd")),
    "a.orc": orc.write_table,
}


def counted(state, *columns, **more):
    """Return a state that has counted columns."""
    state.update_many(*columns, **more)
    return state


@pytest.mark.parametrize("name", WRITERS)
def test_formats(cli, tmp_path, name):
    """Every format of tables gives the same bytes: labels, groups, weights, scores, names with dots, nested fields."""
    WRITERS[name](NESTED, tmp_path / name)
    cases = {
        ("--by", "land", "--weight", "w"): counted(sm.ByGroup(sm.MetricSet()), TRUE, PRED, WEIGHTS, group=LANDS),
        ("--scores",): counted(sm.MetricSet(scores=True), TRUE, scores=SCORES),
        ("--true", "a.b", "--pred", "deep.c.d"): counted(sm.MetricSet(), TRUE, PRED),
        ("--window", "20"): counted(sm.Rolling(sm.MetricSet(), 20), TRUE, PRED),
    }
    for options, expected in cases.items():
        result = cli("run", tmp_path / name, *options, "--state", tmp_path / "s")

        assert (result.status, result.err) == (0, "")
        assert expected.to_bytes() == (tmp_path / "s").read_bytes()


@pytest.mark.parametrize("name", WRITERS)
def test_bad_rows_and_damage(cli, tmp_path, name):
    """A bad row has its number in the file, whatever batches it is read in; a file that is cut or changed is named."""
    path = tmp_path / name
    truths = [None if at in (20, 71) else label for at, label in enumerate(TRUE)]
    WRITERS[name](TABLE.set_column(0, "y_true", pa.array(truths)), path)
    skipped = json.loads(cli("run", path, "--skip-bad", "--format", "json").out)["skipped"]
    assert [bad["row"] for bad in skipped["first"]] == [21, 72]

    WRITERS[name](TABLE, path)
    whole = path.read_bytes()
    middle = len(whole) // 2
    for content in (whole[:-20], whole[:12], whole[: middle - 50] + b"\xff" * 100 + whole[middle + 50 :]):
        path.write_bytes(content)

        result = cli("run", path, "--state", tmp_path / "s")

        assert result.status in (0, 1)
        if result.status == 1:
            assert result.out == ""
            assert result.err.startswith(f"stream-metrics: {path}")
            assert result.err.count("\n") == 1


def test_folders_of_several_formats_and_jobs(cli, tmp_path):
    """Files of all formats of tables in one folder are counted in one run, by one process or two."""
    (tmp_path / "data").mkdir()
    for at, name in enumerate(name for name in WRITERS if "." in name):
        WRITERS[name](TABLE.slice(at * 20, 20), tmp_path / "data" / name)
    expected = counted(sm.MetricSet(), TRUE[:80], PRED[:80])

    for jobs in "12":
        cli("run", tmp_path / "data", "--jobs", jobs, "--state", tmp_path / "s")

        assert expected.to_bytes() == (tmp_path / "s").read_bytes()


@pytest.mark.parametrize(("suffix", "jobs"), [("parquet", "2"), ("arrow", "2"), ("orc", "1")])
def test_partitions_are_columns(cli, tmp_path, suffix, jobs):
    """A partition of the path is a column of text; a column of the file goes before it."""
    for land in ("fi", "de"):
        folder = tmp_path / "data" / f"land={land}" / "y_pred=zebra"
        folder.mkdir(parents=True)
        rows = TABLE.filter(pa.array([other == land for other in LANDS])).drop_columns(["land"])
        WRITERS[f"a.{suffix}"](rows, folder / f"a.{suffix}")

    result = cli("run", tmp_path / "data", "--by", "land", "--jobs", jobs, "--state", tmp_path / "s")

    expected = counted(sm.ByGroup(sm.MetricSet()), TRUE, PRED, group=LANDS)
    assert (result.status, result.err) == (0, "")
    assert expected.to_bytes() == (tmp_path / "s").read_bytes()


def test_only_partitions(cli, tmp_path):
    """Truth and prediction may both be partitions, although no column is read then."""
    folder = tmp_path / "y_true=a" / "y_pred=b"
    folder.mkdir(parents=True)
    for name in ("a.parquet", "a.arrow"):
        WRITERS[name](TABLE.select(["w"]), folder / name)

        assert json.loads(cli("run", folder / name, "--format", "json").out)["n"] == N


def test_a_partition_or_a_column_that_is_missing(cli, tmp_path):
    """In a folder whose files have different schemas, the file without the field is named, and nothing is counted."""
    folder = tmp_path / "land=fi"
    folder.mkdir()
    WRITERS["a.parquet"](TABLE.drop_columns(["land"]), folder / "a.parquet")
    WRITERS["a.parquet"](TABLE.drop_columns(["land"]), tmp_path / "b.parquet")
    WRITERS["a.parquet"](TABLE.drop_columns(["y_pred"]), folder / "c.parquet")
    for named, options, bad in (("", ("--by", "land"), "b.parquet"), ("land=fi", (), "c.parquet")):
        for jobs in "12":
            result = cli("run", tmp_path / named, *options, "--jobs", jobs, "--state", tmp_path / "s")

            assert (result.status, result.out) == (1, "")
            assert f"{bad}: column " in result.err
            assert "is not in the file" in result.err
            assert not (tmp_path / "s").exists()


def test_a_null_partition_is_no_group(cli, tmp_path):
    """The name that Hive writes for null is null."""
    folder = tmp_path / "land=__HIVE_DEFAULT_PARTITION__"
    folder.mkdir()
    WRITERS["a.parquet"](TABLE.drop_columns(["land"]), folder / "a.parquet")

    result = cli("run", folder, "--by", "land")

    assert (result.status, result.out) == (1, "")
    assert "field 'land' is null, which is no group" in result.err


KINDS = {
    "list": pa.list_(pa.float64()),
    "large list": pa.large_list(pa.float32()),
    "fixed list": pa.list_(pa.float64(), 2),
}


@pytest.mark.parametrize(
    ("kind", "suffix"),
    [("list", "parquet"), ("large list", "arrow"), ("fixed list", "parquet"), ("fixed list", "arrow")],
)
def test_lists_of_scores(cli, tmp_path, kind, suffix):
    """--classes names the classes of lists, in their order; a null list is a record without scores."""
    readable = (kind, suffix) != ("fixed list", "parquet")  # pyarrow does not read nulls of these
    some = [None if readable and at % 9 == 4 else row for at, row in enumerate(LISTS)]
    expected = sm.MetricSet(scores=True)
    for truth, predicted, row in zip(TRUE, PRED, some, strict=True):
        expected.update(truth, predicted, scores=None if row is None else dict(zip(("dog", "cat"), row, strict=True)))
    path = tmp_path / f"a.{suffix}"
    WRITERS[path.name](TABLE.set_column(5, "scores", pa.array(some, KINDS[kind])), path)

    result = cli("run", path, "--scores", "--pred", "y_pred", "--classes", "dog,cat", "--state", tmp_path / "s")

    assert (result.status, result.err) == (0, "")
    assert expected.to_bytes() == (tmp_path / "s").read_bytes()


@pytest.mark.parametrize("classes", ["0,1", "[0, 1]"])
def test_classes_of_lists_are_numbers_where_the_truth_is(cli, tmp_path, classes):
    """As keys of objects are, in Parquet and in JSON Lines."""
    truths = [int(label == "dog") for label in TRUE]
    pq.write_table(pa.table({"y_true": truths, "scores": LISTS}), tmp_path / "a.parquet")
    records = (json.dumps({"y_true": a, "scores": row}) + "\n" for a, row in zip(truths, LISTS, strict=True))
    (tmp_path / "a.jsonl").write_text("".join(records))
    expected = counted(sm.MetricSet(scores=True), truths, scores=LISTS, classes=[0, 1])

    for name in ("a.parquet", "a.jsonl"):
        cli("run", tmp_path / name, "--scores", "--classes", classes, "--state", tmp_path / "s")

        assert expected.to_bytes() == (tmp_path / "s").read_bytes()


def test_lists_that_do_not_fit(cli, tmp_path):
    """A list of another length, and a null in a list, are bad records; without --classes no list is read."""
    lists = [[0.5, 0.5], [0.2, 0.3, 0.5], [None, 0.5], [0.5, 0.5]]
    pq.write_table(pa.table({"y_true": TRUE[:4], "scores": lists}), tmp_path / "a.parquet")
    records = (json.dumps({"y_true": a, "scores": row}) + "\n" for a, row in zip(TRUE, lists, strict=False))
    (tmp_path / "a.jsonl").write_text("".join(records))

    for name, place in (("a.parquet", "row"), ("a.jsonl", "line")):
        options = "--scores", "--classes", "cat,dog", "--skip-bad", "--format", "json"
        data = json.loads(cli("run", tmp_path / name, *options).out)
        without = cli("run", tmp_path / name, "--scores")

        assert data["scores"]["n"] == 2
        assert [bad[place] for bad in data["skipped"]["first"]] == [2, 3]
        assert "expected 2 scores, as --classes has, but got 3" in data["skipped"]["first"][0]["reason"]
        assert (without.status, without.out) == (1, "")
        assert "--classes A,B" in without.err


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_damaged_tables_are_skipped(cli, tmp_path, jobs):
    """Row groups before a damaged one are not counted either, and files without the columns are skipped."""
    table = pa.table({"y_true": TRUE * 300, "y_pred": PRED * 300})
    for name in "acd":
        pq.write_table(table, tmp_path / f"{name}.parquet", row_group_size=3000, use_dictionary=False)
    whole = (tmp_path / "a.parquet").read_bytes()
    middle = len(whole) // 2
    (tmp_path / "b.parquet").write_bytes(whole[:middle] + b"\xff" * 3000 + whole[middle + 3000 :])
    (tmp_path / "e.parquet").write_bytes(whole[:-5])
    pq.write_table(table.drop_columns(["y_pred"]), tmp_path / "f.parquet")

    result = cli("run", tmp_path, "--skip-bad-files", "--jobs", jobs, "--state", tmp_path / "s", "--format", "json")

    assert counted(sm.MetricSet(), TRUE * 900, PRED * 900).to_bytes() == (tmp_path / "s").read_bytes()
    skipped = sorted(item["file"][-9:] for item in json.loads(result.out)["skipped_files"])
    assert skipped == ["b.parquet", "e.parquet", "f.parquet"]


def test_delta_tables(cli, tmp_path):
    """The rows of the current version are counted, not those that were deleted or replaced."""
    deltalake = pytest.importorskip("deltalake", reason="needs deltalake")
    rows = TABLE.select(["y_true", "y_pred", "land"])
    deltalake.write_deltalake(tmp_path / "t", pa.concat_tables([rows] * 3), partition_by=["land"])
    deltalake.write_deltalake(tmp_path / "t", rows, mode="overwrite")
    deltalake.write_deltalake(tmp_path / "t", rows.set_column(0, "y_true", pa.array(["gone"] * N)), mode="append")
    deltalake.DeltaTable(tmp_path / "t").delete("y_true = 'gone'")

    result = cli("run", tmp_path / "t", "--by", "land", "--state", tmp_path / "s")

    assert (result.status, result.err) == (0, "")
    assert counted(sm.ByGroup(sm.MetricSet()), TRUE, PRED, group=LANDS) == sm.from_bytes((tmp_path / "s").read_bytes())
    assert "Delta table" in cli("run", next((tmp_path / "t").rglob("*.parquet"))).err
