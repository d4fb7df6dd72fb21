"""``stream-metrics run`` on Parquet, Arrow IPC and ORC: types, options and folders give the state of the same lists."""

from __future__ import annotations

import math
import random
from datetime import UTC, date, datetime, timedelta

import pytest
from support.command_line import as_json_lines, counted, refusal, run_json, saved, write_parquet

import stream_metrics as sm

pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
pq = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow with Parquet")
feather = pytest.importorskip("pyarrow.feather", reason="needs pyarrow with Feather")
orc = pytest.importorskip("pyarrow.orc", reason="needs pyarrow with ORC")

RNG = random.Random(5)
N = 60
TEXT = [RNG.choice(["cat", "dog", "Kuh"]) for _ in range(N)]
ANSWERS = [RNG.choice(["cat", "dog", "emu", None]) for _ in range(N)]
WHOLE, WHOLE_ANSWERS = [RNG.randrange(4) for _ in range(N)], [RNG.choice([0, 1, 7, None]) for _ in range(N)]
LANDS = [RNG.choice(["fi", "de", "fr"]) for _ in range(N)]
WEIGHTS, PARTS = [RNG.choice([1, 2, 5]) for _ in range(N)], [RNG.choice([0.5, 1.0, 0.25]) for _ in range(N)]
FLOATS = [float(RNG.randrange(3)) for _ in range(N)]
START = datetime(2024, 5, 1, tzinfo=UTC)
TIMES = [START + timedelta(seconds=2 * at + RNG.randrange(9), milliseconds=RNG.randrange(1000)) for at in range(N)]
SECONDS, NAIVE = [time.timestamp() for time in TIMES], [time.replace(tzinfo=None) for time in TIMES]
DAYS = [date(2024, 1 + x, 1) for x in WHOLE]
SCORES = [{"cat": a / 8, "dog": 1 - a / 8} for a in (RNG.randrange(9) for _ in range(N))]
SPARSE = [{} if at % 7 == 0 else {"cat": 1.0} if at % 5 == 0 else scores for at, scores in enumerate(SCORES)]
DOG, CAT = [scores["dog"] for scores in SCORES], [scores["cat"] for scores in SCORES]
TRUE = [RNG.choice(["cat", "dog"]) for _ in range(N)]
ONES, MARGINS = [int(label == "dog") for label in TRUE], [float(round(9 * p) - 3) for p in DOG]


def encoded(values, kind=None):
    """Return values as a dictionary-encoded array."""
    return pa.array(values, kind).dictionary_encode()


LARGER = [x > 1 for x in WHOLE], [None if x is None else x > 1 for x in WHOLE_ANSWERS]
LABELS = {
    "text": (pa.array(TEXT), pa.array(ANSWERS), TEXT, ANSWERS),
    "encoded text": (encoded(TEXT), encoded(ANSWERS), TEXT, ANSWERS),
    "integers": (pa.array(WHOLE), pa.array(WHOLE_ANSWERS), WHOLE, WHOLE_ANSWERS),
    "encoded integers": (encoded(WHOLE), encoded(WHOLE_ANSWERS), WHOLE, WHOLE_ANSWERS),
    "true and false": (pa.array(LARGER[0]), pa.array(LARGER[1]), *LARGER),
    "floats": (pa.array(FLOATS), pa.array(FLOATS[::-1], pa.float32()), FLOATS, FLOATS[::-1]),
    "bytes": (pa.array([x.encode() for x in TEXT]), pa.array(TEXT), [x.encode() for x in TEXT], TEXT),
    "integers and text": (pa.array(WHOLE), pa.array(ANSWERS), WHOLE, ANSWERS),
    "encoded dates": (encoded(DAYS), pa.array(DAYS, pa.date64()), DAYS, DAYS),
    "abstentions only": (pa.array(TEXT), pa.nulls(N), TEXT, [None] * N),
    "no rows": (pa.array([], pa.string()), pa.array([], pa.string()), [], []),
}


@pytest.mark.usefixtures("small_pieces")
def test_labels_of_every_type(tmp_path):
    """Labels keep their type, text is text, and null predictions are abstentions."""
    failures = []
    for kind, (y_true, y_pred, truths, answers) in LABELS.items():
        state = saved(write_parquet(tmp_path / "a.parquet", {"y_true": y_true, "y_pred": y_pred}))
        failures += [] if state == counted(sm.MetricSet(), truths, answers).to_bytes() else [(kind, state)]
    assert not failures


OTHERS = {"y_true": TEXT, "y_pred": ANSWERS, "land": LANDS, "w": WEIGHTS, "part": PARTS}
SOFT = {"y_true": TRUE, "w": PARTS, "land": LANDS, "scores": SCORES}
SET = {"scores": True, "labels": ["cat", "dog"], "pos_label": "dog"}
FLOAT32 = pa.struct({"cat": pa.float32(), "dog": pa.float32()})
MAPS = pa.array([list(scores.items()) for scores in SPARSE], pa.map_(pa.string(), pa.float64()))
HOLES, NAMED = [None, *DOG[1:]], [{}, *({"a": x["dog"], "b": x["cat"]} for x in SCORES[1:])]
LABEL_OPTIONS = [  # columns, options, an empty state, and what it counts beside truths and answers
    (OTHERS, "--weight w", sm.MetricSet(), {"w": WEIGHTS}),
    (OTHERS, "--weight part", sm.MetricSet(), {"w": PARTS}),
    ({**OTHERS, "w": encoded(PARTS)}, "--weight w", sm.MetricSet(), {"w": PARTS}),
    ({**OTHERS, "w": pa.array(PARTS, pa.float32())}, "--weight w", sm.MetricSet(), {"w": PARTS}),
    (OTHERS, "--by land", sm.ByGroup(sm.MetricSet()), {"group": LANDS}),
    ({**OTHERS, "land": encoded(LANDS)}, "--by land --max-groups 2", sm.ByGroup(sm.MetricSet(), 2), {"group": LANDS}),
    (OTHERS, "--window 20", sm.Rolling(sm.MetricSet(), 20), {}),
    (OTHERS, "--labels cat,dog --other else", sm.MetricSet(labels=["cat", "dog"], other="else"), {}),
    ({"a.b": TEXT, "deep": [{"c": {"d": x, "e": 1}} for x in ANSWERS]}, "--true a.b --pred deep.c.d", sm.MetricSet(),
     {}),
    ({"y_true": TEXT, "deep": [None if x is None else {"d": x} for x in ANSWERS]}, "--pred deep.d", sm.MetricSet(), {}),
    ({"y_true": WHOLE, "y_pred": WHOLE_ANSWERS}, "--labels [0,1,2,3,7]", sm.MetricSet(labels=[0, 1, 2, 3, 7]),
     {"y_true": WHOLE, "y_pred": WHOLE_ANSWERS}),
]  # fmt: skip
SCORE_OPTIONS = [
    (SOFT, "--scores", sm.MetricSet(scores=True), {"scores": SCORES}),
    ({**SOFT, "scores": pa.array(SCORES, FLOAT32)}, "--scores", sm.MetricSet(scores=True), {"scores": SCORES}),
    ({**SOFT, "scores": SPARSE}, "--scores --weight w", sm.MetricSet(scores=True), {"w": PARTS, "scores": SPARSE}),
    ({**SOFT, "scores": MAPS}, "--scores", sm.MetricSet(scores=True), {"scores": SPARSE}),
    ({**SOFT, "p_cat": CAT, "p_dog": DOG}, "--scores p_*", sm.MetricSet(scores=True), {"scores": SCORES}),
    ({**SOFT, "a": pa.array(DOG, pa.float32()), "b": CAT}, "--scores dog=a,cat=b --labels cat,dog --pos-label dog",
     sm.MetricSet(**SET), {"scores": SCORES}),
    ({"y_true": ONES, "p_0": CAT, "p_1": DOG}, "--scores p_*", sm.MetricSet(scores=True),
     {"y_true": ONES, "scores": [{0: 1 - p, 1: p} for p in DOG]}),
    ({**SOFT, "p_a": HOLES, "p_b": [None, *CAT[1:]]}, "--scores p_*", sm.MetricSet(scores=True), {"scores": NAMED}),
    ({**SOFT, "score": DOG}, "--scores score --labels cat,dog --pos-label dog", sm.MetricSet(**SET), {"scores": DOG}),
    ({"y_true": ONES, "score": HOLES, "y_pred": ONES[::-1]}, "--scores score --pred y_pred", sm.MetricSet(scores=True),
     {"y_true": ONES, "y_pred": ONES[::-1], "scores": HOLES}),
    ({"y_true": ONES, "score": [int(x) for x in MARGINS]}, "--scores score --margins", sm.MetricSet(scores="any"),
     {"y_true": ONES, "scores": MARGINS}),
    (SOFT, "--scores --by land", sm.ByGroup(sm.MetricSet(scores=True)), {"group": LANDS, "scores": SCORES}),
]  # fmt: skip


@pytest.mark.parametrize("pieces", ["small", "whole"])
def test_options(tmp_path, request, pieces):
    """Weights, groups, windows, labels, nested fields and scores of every form, in one batch or in many."""
    if pieces == "small":
        request.getfixturevalue("small_pieces")
    failures = []
    for table, usual in ((LABEL_OPTIONS, {"y_true": TEXT, "y_pred": ANSWERS}), (SCORE_OPTIONS, {"y_true": TRUE})):
        for at, (columns, options, empty, seen) in enumerate(table):
            state = saved(write_parquet(tmp_path / "a.parquet", columns), *options.split())
            failures += [] if state == counted(empty.copy(), **(usual | seen)).to_bytes() else [(at, options, state)]
    assert not failures


MAY = [date(2024, 5, 1 + at % 20) for at in range(N)]
CLOCKS = {
    "seconds": (pa.array([int(x) for x in SECONDS]), [int(x) for x in SECONDS]),
    "float seconds": (pa.array(SECONDS), SECONDS),
    "ms, a zone": (pa.array(TIMES, pa.timestamp("ms", "Europe/Helsinki")), TIMES),
    "ns": (pa.array(NAIVE, pa.timestamp("ns")), TIMES),
    "text": (pa.array([x.isoformat() for x in TIMES]), TIMES),
    "encoded": (encoded(NAIVE, pa.timestamp("us")), TIMES),
    "days": (pa.array(MAY), MAY),
}


@pytest.mark.usefixtures("small_pieces")
def test_times(tmp_path):
    """Timestamps of any unit, dates, seconds and ISO 8601 text place a row in its window."""
    failures = []
    for kind, (column, times) in CLOCKS.items():
        period = "20d" if kind == "days" else "60s"
        expected = counted(sm.TimeWindow(sm.ByGroup(sm.MetricSet()), period, 20), TEXT, ANSWERS, t=times, group=LANDS)
        path = write_parquet(tmp_path / "a.parquet", {**OTHERS, "at": column})
        state = saved(path, "--time-field", "at", "--window", period, "--panes", "20", "--by", "land")
        failures += [] if state == expected.to_bytes() and 0 < expected.n <= N else [(kind, state)]
    assert not failures


@pytest.mark.usefixtures("small_pieces")
def test_bad_rows_are_named_and_skipped(cli, tmp_path):
    """A row without truth, or of no allowed label, ends the run by file and row; --skip-bad counts the others."""
    truths = [None if at in (20, 33) else label for at, label in enumerate(TEXT)]
    answers = ["who" if at == 40 else label for at, label in enumerate(TEXT)]
    path, state = write_parquet(tmp_path / "a.parquet", {"y_true": truths, "y_pred": answers}), tmp_path / "state"
    good = [TEXT[at] for at in range(N) if at not in (20, 33, 40)]
    options = "--labels", "cat,dog,Kuh", "--state", state

    stopped = refusal("run", path, *options)
    assert stopped == f"stream-metrics: {path}, row 21: Expected field 'y_true' to be a label, but it is missing\n"
    assert not state.exists()

    skipped = cli("run", path, *options, "--skip-bad")
    assert counted(sm.MetricSet(labels=["cat", "dog", "Kuh"]), good, good).to_bytes() == state.read_bytes()
    report = run_json("run", path, *options, "--skip-bad")["skipped"]
    assert (report["count"], [bad["row"] for bad in report["first"]]) == (3, [21, 34, 41])
    for part in ("skipped 3 bad records", f"{path}, row 41: ", "'who'"):
        assert part in skipped.err


AT = "--time-field at --window 1h"
BAD = [
    ({"w": [1.0, None]}, "--weight w", "Expected field 'w' to be a finite number"),
    ({"w": [1, -2]}, "--weight w", "-2"),
    ({"land": ["fi", None]}, "--by land", "Expected field 'land' to be a label, but it is missing"),
    ({"at": [1.0, math.nan]}, AT, "nan"),
    ({"at": [START, None]}, AT, "NaT"),
    ({"at": pa.array([0, 2**62], pa.timestamp("us"))}, AT, "from 1824 to 2115"),
    ({"at": ["2024-05-01", "May"]}, AT, "'May'"),
    ({"at": [date(2024, 5, 1), date(2500, 1, 1)]}, AT, "2500-01-01"),
    ({"y_true": [1.0, math.nan]}, "", "nan"),
    ({"y_true": pa.array([b"a", b"\xff"]).view(pa.string())}, "", "can't decode byte 0xff"),
    ({"p_a": [0.5, 0.5], "p_b": [0.5, None]}, "--scores p_*", "got None for 'b'"),
    ({"scores": [{"a": 0.5}, {"a": 1.5}]}, "--scores", "--margins"),
    ({"y_true": ["a", "c"], "p": [0.5, 0.5]}, "--scores p --labels a,b --pos-label b",
     "Expected field 'y_true' to be one of the fixed labels ['a', 'b'], but got 'c'"),
]  # fmt: skip


def test_reasons(cli, tmp_path):
    """What is wrong with a row is said with the name of its field, and the row before it can be counted."""
    failures = []
    for columns, options, reason in BAD:
        path = write_parquet(tmp_path / "a.parquet", {"y_true": ["a", "b"], "y_pred": ["a", "b"], **columns})
        skipped = run_json("run", path, *options.split(), "--skip-bad")["skipped"]
        right = (skipped["count"], skipped["first"][-1]["row"]) == (1, 2)
        failures += [] if right and reason in skipped["first"][-1]["reason"] else [(columns, skipped)]
    assert not failures

    path = write_parquet(tmp_path / "a.parquet", {"y_true": ["no", "a"], "p": [0.5, 0.5]})
    result = cli("run", path, "--scores", "p", "--skip-bad")
    assert (result.status, result.out, result.err.count("pass --pos-label")) == (1, "", 2)


SCHEMAS = [
    ({"label": TEXT}, "", ": column 'y_true' is not in the file, which has 'label', 'y_pred'"),
    ({"y_true": TEXT}, "--pred y_true.x", ": column 'y_true.x' is not in the file"),
    ({"y_true": [[1]] * N}, "", "column 'y_true' to hold a label (text, a number"),
    ({"y_true": TIMES}, "", "but its type is timestamp[us, tz=UTC]"),
    ({"y_true": TEXT, "w": TEXT}, "--weight w", "column 'w' to hold a weight"),
    ({"y_true": TEXT, "at": [True] * N}, AT, "to hold a time"),
    ({"y_true": TEXT, "scores": [[0.5]] * N}, "--scores", "--classes A,B"),
    ({"y_true": TEXT, "scores": [{"a": "b"}] * N}, "--scores", ", row 1: Expected every score to be a finite number"),
    ({"y_true": TEXT}, "--scores p_*", ": no column is like 'p_*'"),
]


def test_columns_that_do_not_fit(tmp_path):
    """A column that is missing, there twice, or of a type that does not fit its use, is refused by name."""
    path, state = tmp_path / "a.parquet", tmp_path / "state"
    for columns, options, reason in SCHEMAS:
        write_parquet(path, columns | {"y_pred": TEXT})
        said = refusal("run", path, *options.split(), *["--skip-bad"] * ("row 1" not in reason), "--state", state)
        assert said.startswith(f"stream-metrics: {path}")
        assert reason in said
    assert not state.exists()

    pq.write_table(pa.Table.from_arrays([pa.array(TEXT)] * 3, ["y_true", "y_true", "y_pred"]), path)
    assert "column 'y_true' is there more than once" in refusal("run", path)


def test_files_that_are_no_parquet(tmp_path):
    """What is missing, empty, cut short, damaged or something else ends with one line that names it."""
    columns = {"y_true": TEXT * 99, "y_pred": TEXT * 99}
    whole = write_parquet(tmp_path / "whole.parquet", columns, rows=10**6).read_bytes()
    holes = whole[:60] + b"\xff" * 340 + whole[400:]
    (tmp_path / "folder.parquet").mkdir()
    contents = {"empty": b"", "cut": whole[:-100], "other": b"y_true,y_pred\na,a\n", "holes": holes}
    for name, content in contents.items():
        (tmp_path / f"{name}.parquet").write_bytes(content)
    for name in (*contents, "missing", "folder"):
        path = tmp_path / f"{name}.parquet"
        assert refusal("run", path, "--state", tmp_path / "state").startswith(f"stream-metrics: {path}")
        assert not (tmp_path / "state").exists()
    for arguments in ((tmp_path / "whole.parquet", "--input", "jsonl"), ("-",)):
        assert "is Parquet: --input parquet reads it" in refusal("run", *arguments, stdin=whole)
    assert "not from stdin" in refusal("run", "-", tmp_path / "whole.parquet", status=2)


LISTS = [list(scores.values()) for scores in SCORES]
TABLE = pa.table({"y_true": TRUE, "y_pred": ANSWERS, "land": LANDS, "w": PARTS, "a.b": TRUE, "scores": SCORES})
NESTED = TABLE.append_column("deep", pa.array([{"c": {"d": label, "e": 1}} for label in ANSWERS]))


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
    "--by land --weight w": counted(sm.ByGroup(sm.MetricSet()), TRUE, ANSWERS, PARTS, group=LANDS),
    "--scores": counted(sm.MetricSet(scores=True), TRUE, scores=SCORES),
    "--true a.b --pred deep.c.d": counted(sm.MetricSet(), TRUE, ANSWERS),
    "--window 20": counted(sm.Rolling(sm.MetricSet(), 20), TRUE, ANSWERS),
}


@pytest.mark.parametrize("name", WRITERS)
def test_formats(cli, tmp_path, name):
    """Each gives the same bytes, whatever is counted; a bad row has its number in the file; damage is named."""
    path = tmp_path / name
    WRITERS[name](NESTED, path)
    assert {options for options in CASES if saved(path, *options.split()) != CASES[options].to_bytes()} == set()

    truths = [None if at in (20, 51) else label for at, label in enumerate(TRUE)]
    WRITERS[name](TABLE.set_column(0, "y_true", pa.array(truths)), path)
    assert [bad["row"] for bad in run_json("run", path, "--skip-bad")["skipped"]["first"]] == [21, 52]

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
        WRITERS[name](TABLE.slice(at * 15, 15), tmp_path / name)
    for jobs in "12":
        assert saved(tmp_path, "--jobs", jobs) == counted(sm.MetricSet(), TRUE, ANSWERS).to_bytes()


@pytest.mark.parametrize(("suffix", "jobs"), [("parquet", "2"), ("arrow", "2"), ("orc", "1")])
def test_partitions_are_columns(tmp_path, suffix, jobs):
    """A partition of the path is a column of text; a column of the file goes before it."""
    for land in set(LANDS):
        folder = tmp_path / "data" / f"land={land}" / "y_pred=zebra"
        folder.mkdir(parents=True)
        rows = TABLE.filter(pa.array([other == land for other in LANDS])).drop_columns(["land"])
        WRITERS[f"a.{suffix}"](rows, folder / f"a.{suffix}")

    expected = counted(sm.ByGroup(sm.MetricSet()), TRUE, ANSWERS, group=LANDS)
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
    assert "Expected field 'land' to be a label, but it is missing" in refusal("run", null, "--by", "land")


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
        for truth, predicted, row in zip(TRUE, ANSWERS, scores, strict=True):
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
        assert first[0]["reason"].endswith("but got 3")
        assert "--classes A,B" in refusal("run", path, "--scores")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_damaged_tables_are_skipped(cli, tmp_path, jobs):
    """Row groups before a damaged one are not counted either, and files without the columns are skipped."""
    table, state = pa.table({"y_true": TRUE * 450, "y_pred": ANSWERS * 450}), tmp_path / "s"
    for name in "acd":
        pq.write_table(table, tmp_path / f"{name}.parquet", row_group_size=3000, use_dictionary=False)
    whole = (tmp_path / "a.parquet").read_bytes()
    middle = len(whole) // 2
    (tmp_path / "b.parquet").write_bytes(whole[:middle] + b"\xff" * 3000 + whole[middle + 3000 :])
    (tmp_path / "e.parquet").write_bytes(whole[:-5])
    pq.write_table(table.drop_columns(["y_pred"]), tmp_path / "f.parquet")

    data = run_json("run", tmp_path, "--skip-bad-files", "--jobs", jobs, "--state", state)

    assert counted(sm.MetricSet(), TRUE * 1350, ANSWERS * 1350).to_bytes() == state.read_bytes()
    skipped = sorted(item["file"][-9:] for item in data["skipped_files"])
    assert skipped == ["b.parquet", "e.parquet", "f.parquet"]
