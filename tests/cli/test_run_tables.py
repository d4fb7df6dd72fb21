"""``stream-metrics run`` on Arrow IPC and ORC, on partitioned folders of tables, and on lists of scores."""

from __future__ import annotations

import random

import pytest
from support.command_line import as_json_lines, counted, refusal, run_json, saved

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
CASES = {
    "--by land --weight w": counted(sm.ByGroup(sm.MetricSet()), TRUE, PRED, WEIGHTS, group=LANDS),
    "--scores": counted(sm.MetricSet(scores=True), TRUE, scores=SCORES),
    "--true a.b --pred deep.c.d": counted(sm.MetricSet(), TRUE, PRED),
    "--window 20": counted(sm.Rolling(sm.MetricSet(), 20), TRUE, PRED),
}


@pytest.mark.parametrize("name", WRITERS)
def test_formats(cli, tmp_path, name):
    """Each gives the same bytes, whatever is counted; a bad row has its number in the file; damage is named."""
    path = tmp_path / name
    WRITERS[name](NESTED, path)
    assert {options for options in CASES if saved(path, *options.split()) != CASES[options].to_bytes()} == set()

    truths = [None if at in (20, 71) else label for at, label in enumerate(TRUE)]
    WRITERS[name](TABLE.set_column(0, "y_true", pa.array(truths)), path)
    assert [bad["row"] for bad in run_json("run", path, "--skip-bad")["skipped"]["first"]] == [21, 72]

    WRITERS[name](TABLE, path)
    whole = path.read_bytes()
    middle = len(whole) // 2
    for content in (whole[:-20], whole[:12], whole[: middle - 50] + b"\xff" * 100 + whole[middle + 50 :]):
        path.write_bytes(content)
        if cli("run", path).status:
            assert refusal("run", path).startswith(f"stream-metrics: {path}")


def test_folders_of_several_formats_and_jobs(tmp_path):
    """Files of all formats of tables in one folder are counted in one run, by one process or two."""
    for at, name in enumerate(name for name in WRITERS if "." in name):
        WRITERS[name](TABLE.slice(at * 20, 20), tmp_path / name)
    for jobs in "12":
        assert saved(tmp_path, "--jobs", jobs) == counted(sm.MetricSet(), TRUE[:80], PRED[:80]).to_bytes()


@pytest.mark.parametrize(("suffix", "jobs"), [("parquet", "2"), ("arrow", "2"), ("orc", "1")])
def test_partitions_are_columns(tmp_path, suffix, jobs):
    """A partition of the path is a column of text; a column of the file goes before it."""
    for land in ("fi", "de"):
        folder = tmp_path / "data" / f"land={land}" / "y_pred=zebra"
        folder.mkdir(parents=True)
        rows = TABLE.filter(pa.array([other == land for other in LANDS])).drop_columns(["land"])
        WRITERS[f"a.{suffix}"](rows, folder / f"a.{suffix}")

    expected = counted(sm.ByGroup(sm.MetricSet()), TRUE, PRED, group=LANDS)
    assert saved(tmp_path / "data", "--by", "land", "--jobs", jobs) == expected.to_bytes()


def test_missing_and_only_partitions(cli, tmp_path):
    """All fields may be partitions; a file without a field is named; the name that Hive writes for null is null."""
    only, some, null = (tmp_path / name for name in ("y_true=a/y_pred=b", "land=fi", "land=__HIVE_DEFAULT_PARTITION__"))
    for folder in (only, some, null):
        folder.mkdir(parents=True)
    for name in ("a.parquet", "a.arrow"):
        WRITERS[name](TABLE.select(["w"]), only / name)
        assert run_json("run", only / name)["n"] == N

    pq.write_table(TABLE.drop_columns(["land"]), some / "a.parquet")
    pq.write_table(TABLE.drop_columns(["land"]), tmp_path / "b.parquet")
    pq.write_table(TABLE.drop_columns(["y_pred"]), some / "c.parquet")
    pq.write_table(TABLE.drop_columns(["land"]), null / "a.parquet")
    for paths, options, bad in (
        ((some / "a.parquet", tmp_path / "b.parquet"), ("--by", "land"), "b.parquet"),
        ((some,), (), "c.parquet"),
    ):
        for jobs in "12":
            result = cli("run", *paths, *options, "--jobs", jobs, "--state", tmp_path / "s")
            assert (result.status, result.out, (tmp_path / "s").exists()) == (1, "", False)
            assert (f"{bad}: column " in result.err, "is not in the file" in result.err) == (True, True)
    assert "field 'land' is null, which is no group" in refusal("run", null, "--by", "land")


KINDS = [
    (pa.list_(pa.float64()), "parquet", True),
    (pa.large_list(pa.float32()), "arrow", True),
    (pa.list_(pa.float64(), 2), "parquet", False),  # pyarrow does not read nulls of these
    (pa.list_(pa.float64(), 2), "arrow", True),
]


def test_lists_of_scores(tmp_path):
    """--classes names the classes of lists of any kind, in their order; a null list is a record without scores."""
    for kind, suffix, nulls in KINDS:
        some = [None if nulls and at % 9 == 4 else row for at, row in enumerate(LISTS)]
        scores = [None if row is None else dict(zip(("dog", "cat"), row, strict=True)) for row in some]
        path, expected = tmp_path / f"a.{suffix}", sm.MetricSet(scores=True)
        for truth, predicted, row in zip(TRUE, PRED, scores, strict=True):
            expected.update(truth, predicted, scores=row)
        WRITERS[path.name](TABLE.set_column(5, "scores", pa.array(some, kind)), path)
        state = saved(path, "--scores", "--pred", "y_pred", "--classes", "dog,cat")
        assert state == expected.to_bytes(), (kind, suffix)


def test_classes_of_lists_and_lists_that_do_not_fit(tmp_path):
    """Classes are numbers where the truth is; a list of another length, or with a null, is a bad record."""
    table, lines = tmp_path / "a.parquet", tmp_path / "a.jsonl"

    def write(truths, lists):
        pq.write_table(pa.table({"y_true": truths, "scores": lists}), table)
        lines.write_bytes(as_json_lines({"y_true": a, "scores": row} for a, row in zip(truths, lists, strict=True)))

    truths = [int(label == "dog") for label in TRUE]
    write(truths, LISTS)
    expected = counted(sm.MetricSet(scores=True), truths, scores=LISTS, classes=[0, 1]).to_bytes()
    for classes in ("0,1", "[0, 1]"):
        assert [saved(path, "--scores", "--classes", classes) == expected for path in (table, lines)] == [True, True]

    write(TRUE[:4], [[0.5, 0.5], [0.2, 0.3, 0.5], [None, 0.5], [0.5, 0.5]])
    for path, place in ((table, "row"), (lines, "line")):
        data = run_json("run", path, "--scores", "--classes", "cat,dog", "--skip-bad")
        first = data["skipped"]["first"]
        assert (data["scores"]["n"], [bad[place] for bad in first]) == (2, [2, 3])
        assert "expected 2 scores, as --classes has, but got 3" in first[0]["reason"]
        assert "--classes A,B" in refusal("run", path, "--scores")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_damaged_tables_are_skipped(cli, tmp_path, jobs):
    """Row groups before a damaged one are not counted either, and files without the columns are skipped."""
    table, state = pa.table({"y_true": TRUE * 300, "y_pred": PRED * 300}), tmp_path / "s"
    for name in "acd":
        pq.write_table(table, tmp_path / f"{name}.parquet", row_group_size=3000, use_dictionary=False)
    whole = (tmp_path / "a.parquet").read_bytes()
    middle = len(whole) // 2
    (tmp_path / "b.parquet").write_bytes(whole[:middle] + b"\xff" * 3000 + whole[middle + 3000 :])
    (tmp_path / "e.parquet").write_bytes(whole[:-5])
    pq.write_table(table.drop_columns(["y_pred"]), tmp_path / "f.parquet")

    data = run_json("run", tmp_path, "--skip-bad-files", "--jobs", jobs, "--state", state)

    assert counted(sm.MetricSet(), TRUE * 900, PRED * 900).to_bytes() == state.read_bytes()
    skipped = sorted(item["file"][-9:] for item in data["skipped_files"])
    assert skipped == ["b.parquet", "e.parquet", "f.parquet"]


def test_delta_tables(cli, tmp_path):
    """The rows of the current version are counted, not those that were deleted or replaced."""
    deltalake = pytest.importorskip("deltalake", reason="needs deltalake")
    rows = TABLE.select(["y_true", "y_pred", "land"])
    deltalake.write_deltalake(tmp_path / "t", pa.concat_tables([rows] * 3), partition_by=["land"])
    deltalake.write_deltalake(tmp_path / "t", rows, mode="overwrite")

    state = sm.from_bytes(saved(tmp_path / "t", "--by", "land"))

    assert state == counted(sm.ByGroup(sm.MetricSet()), TRUE, PRED, group=LANDS)
    assert "Delta table" in cli("run", next((tmp_path / "t").rglob("*.parquet"))).err
