"""``stream-metrics run`` on Parquet: every type and option gives the state of the same rows in lists."""

from __future__ import annotations

import json
import math
import random
from datetime import UTC, date, datetime, timedelta

import pytest

import stream_metrics as sm

pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
pq = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow with Parquet")

RNG = random.Random(5)
N = 60
TEXT = [RNG.choice(["cat", "dog", "Kuh"]) for _ in range(N)]
ANSWERS = [RNG.choice(["cat", "dog", "emu", None]) for _ in range(N)]
WHOLE, WHOLE_ANSWERS = [RNG.randrange(4) for _ in range(N)], [RNG.choice([0, 1, 7, None]) for _ in range(N)]
LANDS = [RNG.choice(["fi", "de", "fr"]) for _ in range(N)]
WEIGHTS = [RNG.choice([1, 2, 5]) for _ in range(N)]
FLOATS = [float(RNG.randrange(3)) for _ in range(N)]
PARTS = [RNG.choice([0.5, 1.0, 0.25]) for _ in range(N)]
START = datetime(2024, 5, 1, tzinfo=UTC)
TIMES = [START + timedelta(seconds=2 * at + RNG.randrange(9), milliseconds=RNG.randrange(1000)) for at in range(N)]
DAYS = [date(2024, 1 + x, 1) for x in WHOLE]
SECONDS = [time.timestamp() for time in TIMES]
SCORES = [{"cat": a / 8, "dog": 1 - a / 8} for a in (RNG.randrange(9) for _ in range(N))]
SINGLE = [scores["dog"] for scores in SCORES]
TRUE = [RNG.choice(["cat", "dog"]) for _ in range(N)]
ONES = [int(label == "dog") for label in TRUE]


def stored(path, rows=17, **columns):
    """Write columns as Parquet with row groups of so many rows and return the path."""
    pq.write_table(pa.table(columns), path, row_group_size=rows)
    return path


def encoded(values, kind=None):
    """Return values as a dictionary-encoded array."""
    return pa.array(values, kind).dictionary_encode()


def counted(state, *columns, **more):
    """Return a state that has counted columns."""
    state.update_many(*columns, **more)
    return state


def pairs(y_true, y_pred):
    """Return a set of metrics that has counted columns."""
    return counted(sm.MetricSet(), y_true, y_pred)


LABELS = {
    "text": (pa.array(TEXT), pa.array(ANSWERS), TEXT, ANSWERS),
    "large text": (pa.array(TEXT, pa.large_string()), pa.array(ANSWERS, pa.large_string()), TEXT, ANSWERS),
    "encoded text": (encoded(TEXT), encoded(ANSWERS), TEXT, ANSWERS),
    "integers": (pa.array(WHOLE), pa.array(WHOLE_ANSWERS), WHOLE, WHOLE_ANSWERS),
    "small integers": (pa.array(WHOLE, pa.int8()), pa.array(WHOLE_ANSWERS, pa.uint16()), WHOLE, WHOLE_ANSWERS),
    "encoded integers": (encoded(WHOLE), encoded(WHOLE_ANSWERS), WHOLE, WHOLE_ANSWERS),
    "true and false": (
        pa.array([x > 1 for x in WHOLE]),
        pa.array([None if x is None else x > 1 for x in WHOLE_ANSWERS]),
        [x > 1 for x in WHOLE],
        [None if x is None else x > 1 for x in WHOLE_ANSWERS],
    ),
    "floats": (pa.array(FLOATS), pa.array(FLOATS[::-1], pa.float32()), FLOATS, FLOATS[::-1]),
    "bytes": (pa.array([x.encode() for x in TEXT]), pa.array(TEXT), [x.encode() for x in TEXT], TEXT),
    "integers and text": (pa.array(WHOLE), pa.array(ANSWERS), WHOLE, ANSWERS),
    "decimals": (pa.array(WHOLE, pa.decimal128(38, 0)), pa.array(WHOLE_ANSWERS), WHOLE, WHOLE_ANSWERS),
    "dates": (pa.array(DAYS), pa.array([day.isoformat() for day in DAYS]), DAYS, DAYS),
    "encoded dates": (encoded(DAYS), pa.array(DAYS, pa.date64()), DAYS, DAYS),
    "abstentions only": (pa.array(TEXT), pa.nulls(N), TEXT, [None] * N),
    "no rows": (pa.array([], pa.string()), pa.array([], pa.string()), [], []),
}


def counts_as(cli, path, options, expected):
    """Tell what a run of a file counts else than expected, also in batches of a few rows."""
    state = path.with_name("state")
    result = cli("run", path, *options, "--state", state)
    same = result.err == "" and expected.to_bytes() == state.read_bytes()
    return [] if (result.status, same) == (0, True) else [result]


@pytest.mark.usefixtures("small_pieces")
def test_labels_of_every_type(cli, tmp_path):
    """Labels keep their type, text is text, and null predictions are abstentions."""
    failures = []
    for kind, (y_true, y_pred, truths, answers) in LABELS.items():
        path = stored(tmp_path / "a.parquet", y_true=y_true, y_pred=y_pred)
        failures += [(kind, wrong) for wrong in counts_as(cli, path, (), pairs(truths, answers))]
    assert not failures


OTHERS = {"y_true": TEXT, "y_pred": ANSWERS, "land": LANDS, "w": WEIGHTS, "part": PARTS}
SOFT = {"y_true": TRUE, "w": PARTS}
SET = {"scores": True, "labels": ["cat", "dog"], "pos_label": "dog"}
BOTH = ("--labels", "cat,dog", "--pos-label", "dog")
SPARSE = [{} if at % 7 == 0 else {"cat": 1.0} if at % 5 == 0 else scores for at, scores in enumerate(SCORES)]
OPTIONS = {
    "weights": (OTHERS, ("--weight", "w"), lambda: counted(sm.MetricSet(), TEXT, ANSWERS, WEIGHTS)),
    "parts": (OTHERS, ("--weight", "part"), lambda: counted(sm.MetricSet(), TEXT, ANSWERS, PARTS)),
    "encoded weights": (
        {**OTHERS, "w": encoded(PARTS)},
        ("--weight", "w"),
        lambda: counted(sm.MetricSet(), TEXT, ANSWERS, PARTS),
    ),
    "float32 weights": (
        {**OTHERS, "w": pa.array(PARTS, pa.float32())},
        ("--weight", "w"),
        lambda: counted(sm.MetricSet(), TEXT, ANSWERS, PARTS),
    ),
    "groups": (OTHERS, ("--by", "land"), lambda: counted(sm.ByGroup(sm.MetricSet()), TEXT, ANSWERS, group=LANDS)),
    "folded groups": (
        {**OTHERS, "land": encoded(LANDS)},
        ("--by", "land", "--max-groups", "2"),
        lambda: counted(sm.ByGroup(sm.MetricSet(), 2), TEXT, ANSWERS, group=LANDS),
    ),
    "last 20": (OTHERS, ("--window", "20"), lambda: counted(sm.Rolling(sm.MetricSet(), 20), TEXT, ANSWERS)),
    "labels": (
        OTHERS,
        ("--labels", "cat,dog", "--other", "else"),
        lambda: counted(sm.MetricSet(labels=["cat", "dog"], other="else"), TEXT, ANSWERS),
    ),
    "labels of numbers": (
        {"y_true": WHOLE, "y_pred": WHOLE_ANSWERS},
        ("--labels", "[0, 1, 2, 3, 7]"),
        lambda: counted(sm.MetricSet(labels=[0, 1, 2, 3, 7]), WHOLE, WHOLE_ANSWERS),
    ),
    "other names": (
        {"a.b": TEXT, "deep": [{"c": {"d": x, "e": 1}} for x in ANSWERS]},
        ("--true", "a.b", "--pred", "deep.c.d"),
        lambda: pairs(TEXT, ANSWERS),
    ),
    "null structs": (
        {"y_true": TEXT, "deep": [None if x is None else {"d": x} for x in ANSWERS]},
        ("--pred", "deep.d"),
        lambda: pairs(TEXT, ANSWERS),
    ),
    "structs of scores": (
        {**SOFT, "scores": SCORES},
        ("--scores",),
        lambda: counted(sm.MetricSet(scores=True), TRUE, scores=SCORES),
    ),
    "structs of float32": (
        {**SOFT, "scores": pa.array(SCORES, pa.struct({"cat": pa.float32(), "dog": pa.float32()}))},
        ("--scores",),
        lambda: counted(sm.MetricSet(scores=True), TRUE, scores=SCORES),
    ),
    "structs with holes": (
        {**SOFT, "scores": SPARSE},
        ("--scores", "--weight", "w"),
        lambda: counted(sm.MetricSet(scores=True), TRUE, w=PARTS, scores=SPARSE),
    ),
    "maps of scores": (
        {**SOFT, "scores": pa.array([list(scores.items()) for scores in SPARSE], pa.map_(pa.string(), pa.float64()))},
        ("--scores",),
        lambda: counted(sm.MetricSet(scores=True), TRUE, scores=SPARSE),
    ),
    "columns of scores": (
        {**SOFT, "p_cat": [scores["cat"] for scores in SCORES], "p_dog": SINGLE},
        ("--scores", "p_*"),
        lambda: counted(sm.MetricSet(scores=True), TRUE, scores=SCORES),
    ),
    "listed columns": (
        {"y_true": TRUE, "a": pa.array(SINGLE, pa.float32()), "b": [scores["cat"] for scores in SCORES]},
        ("--scores", "dog=a,cat=b", *BOTH),
        lambda: counted(sm.MetricSet(**SET), TRUE, scores=SCORES),
    ),
    "columns of numbers": (
        {"y_true": ONES, "p_0": [scores["cat"] for scores in SCORES], "p_1": SINGLE},
        ("--scores", "p_*"),
        lambda: counted(sm.MetricSet(scores=True), ONES, scores=[{0: 1 - p, 1: p} for p in SINGLE]),
    ),
    "empty columns of scores": (
        {**SOFT, "p_a": [None, *SINGLE[1:]], "p_b": [None, *(scores["cat"] for scores in SCORES[1:])]},
        ("--scores", "p_*"),
        lambda: counted(
            sm.MetricSet(scores=True), TRUE, scores=[{}, *({"a": x["dog"], "b": x["cat"]} for x in SCORES[1:])]
        ),
    ),
    "one number": (
        {"y_true": TRUE, "score": SINGLE},
        ("--scores", "score", *BOTH),
        lambda: counted(sm.MetricSet(**SET), TRUE, scores=SINGLE),
    ),
    "one number of 0 and 1": (
        {"y_true": ONES, "score": [None, *SINGLE[1:]], "y_pred": ONES[::-1]},
        ("--scores", "score", "--pred", "y_pred"),
        lambda: counted(sm.MetricSet(scores=True), ONES, ONES[::-1], scores=[None, *SINGLE[1:]]),
    ),
    "margins": (
        {"y_true": ONES, "score": [round(9 * p) - 3 for p in SINGLE]},
        ("--scores", "score", "--margins"),
        lambda: counted(sm.MetricSet(scores="any"), ONES, scores=[float(round(9 * p) - 3) for p in SINGLE]),
    ),
    "groups of scores": (
        {**SOFT, "land": LANDS, "scores": SCORES},
        ("--scores", "--by", "land"),
        lambda: counted(sm.ByGroup(sm.MetricSet(scores=True)), TRUE, group=LANDS, scores=SCORES),
    ),
}


@pytest.mark.parametrize("pieces", ["small", "whole"])
def test_options(cli, tmp_path, request, pieces):
    """Weights, groups, windows, labels, nested fields and scores of every form, in one batch or in many."""
    if pieces == "small":
        request.getfixturevalue("small_pieces")
    failures = []
    for case, (columns, options, expected) in OPTIONS.items():
        path = stored(tmp_path / "a.parquet", **columns)
        failures += [(case, wrong) for wrong in counts_as(cli, path, options, expected())]
    assert not failures


DAYS = range(N)
NAIVE = [time.replace(tzinfo=None) for time in TIMES]
CLOCKS = {
    "seconds": (pa.array([int(x) for x in SECONDS]), [int(x) for x in SECONDS]),
    "float seconds": (pa.array(SECONDS), SECONDS),
    "us": (pa.array(NAIVE, pa.timestamp("us")), TIMES),
    "ms, a zone": (pa.array(TIMES, pa.timestamp("ms", "Europe/Helsinki")), TIMES),
    "ns": (pa.array(NAIVE, pa.timestamp("ns")), TIMES),
    "s": (pa.array([x.replace(microsecond=0) for x in NAIVE], pa.timestamp("s")), [int(x) for x in SECONDS]),
    "text": (pa.array([x.isoformat() for x in TIMES]), TIMES),
    "encoded": (encoded(NAIVE, pa.timestamp("us")), TIMES),
    "days": (pa.array([date(2024, 5, 1 + x % 20) for x in DAYS]), [datetime(2024, 5, 1 + x % 20) for x in DAYS]),
}  # fmt: skip


@pytest.mark.usefixtures("small_pieces")
def test_times(cli, tmp_path):
    """Timestamps of any unit, dates, seconds and ISO 8601 text place a row in its window."""
    failures = []
    for kind, (column, times) in CLOCKS.items():
        period = "20d" if kind == "days" else "60s"
        expected = counted(sm.TimeWindow(sm.ByGroup(sm.MetricSet()), period, 20), TEXT, ANSWERS, t=times, group=LANDS)
        path = stored(tmp_path / "a.parquet", y_true=TEXT, y_pred=ANSWERS, land=LANDS, at=column)
        options = "--time-field", "at", "--window", period, "--panes", "20", "--by", "land"
        result = cli("run", path, *options, "--state", tmp_path / "state")

        same = expected.to_bytes() == (tmp_path / "state").read_bytes()
        failures += [] if (result.status, same) == (0, True) and 0 < expected.n <= N else [(kind, result)]
    assert not failures


def test_folders_patterns_and_several_files(cli, tmp_path):
    """A folder stands for its part files, a pattern for what it matches, files add up; first bytes tell the format."""
    for name in ("a.pq", "a.PARQUET", "no extension"):
        result = cli("run", stored(tmp_path / name, y_true=TEXT, y_pred=TEXT), "--format", "json")
        assert (result.status, json.loads(result.out)["n"]) == (0, N)
    folder = tmp_path / "predictions"
    folder.mkdir()
    for at in range(3):
        stored(folder / f"part-0000{at}-abc.snappy.parquet", y_true=TEXT[at::3], y_pred=ANSWERS[at::3])
    for name in ("_SUCCESS", ".part-00000.parquet.crc", "_metadata.parquet"):
        (folder / name).write_bytes(b"no data")
    ways = {
        "folder": [folder],
        "pattern": [folder / "part-*.parquet"],
        "files": sorted(folder.glob("part-*")),
    }
    for name, paths in ways.items():
        result = cli("run", *paths, "--state", tmp_path / name)

        assert (result.status, result.err) == (0, "")
        assert pairs(TEXT, ANSWERS).to_bytes() == (tmp_path / name).read_bytes()


@pytest.mark.usefixtures("small_pieces")
def test_running_values_after_every_n_records(cli, tmp_path):
    """--every prints after exactly so many records, across row groups, batches and files."""
    paths = [stored(tmp_path / f"{name}.parquet", y_true=TEXT, y_pred=TEXT[::-1]) for name in "ab"]

    result = cli("run", *paths, "--every", "7", "--metrics", "accuracy", "--format", "json")
    lines = [json.loads(line) for line in result.out.splitlines()]

    right = [a == b for a, b in zip(TEXT, TEXT[::-1], strict=True)] * 2
    assert [line["n"] for line in lines] == [*range(7, 2 * N, 7), 2 * N]
    assert [line["accuracy"] for line in lines[:-1]] == [sum(right[:n]) / n for n in range(7, 2 * N, 7)]


@pytest.mark.usefixtures("small_pieces")
def test_bad_rows_are_named_and_skipped(cli, tmp_path):
    """A row without truth, or of no allowed label, ends the run by file and row; --skip-bad counts the others."""
    truths = [None if at in (20, 33) else label for at, label in enumerate(TEXT)]
    answers = ["who" if at == 40 else label for at, label in enumerate(TEXT)]
    path = stored(tmp_path / "a.parquet", y_true=truths, y_pred=answers)
    good = [at for at in range(N) if at not in (20, 33, 40)]
    expected = counted(sm.MetricSet(labels=["cat", "dog", "Kuh"]), [TEXT[x] for x in good], [TEXT[x] for x in good])
    options = "--labels", "cat,dog,Kuh", "--state", tmp_path / "state"

    stopped = cli("run", path, *options)
    assert (stopped.status, stopped.out) == (1, "")
    assert stopped.err.startswith(f"stream-metrics: {path}, row 21: ")
    assert "None" in stopped.err or "null" in stopped.err
    assert not (tmp_path / "state").exists()

    skipped = cli("run", path, *options, "--skip-bad", "--format", "json")
    assert expected.to_bytes() == (tmp_path / "state").read_bytes()
    report = json.loads(skipped.out)["skipped"]
    assert (report["count"], [bad["row"] for bad in report["first"]]) == (3, [21, 34, 41])
    assert "skipped 3 bad records" in skipped.err
    assert f"{path}, row 41: " in skipped.err
    assert "'who'" in skipped.err


BAD = {
    "weight": ({"w": [1.0, None]}, ("--weight", "w"), "expected the weight to be a number, but got null"),
    "negative weight": ({"w": [1, -2]}, ("--weight", "w"), "-2"),
    "group": ({"land": ["fi", None]}, ("--by", "land"), "field 'land' is null, which is no group"),
    "time": ({"at": [1.0, math.nan]}, ("--time-field", "at", "--window", "1h"), "NaN"),
    "no time": ({"at": [START, None]}, ("--time-field", "at", "--window", "1h"), "null"),
    "time of no year": (
        {"at": pa.array([0, 2**62], pa.timestamp("us"))},
        ("--time-field", "at", "--window", "1h"),
        "expected the time to be from 1824 to 2115, but got 1",
    ),
    "text of no time": ({"at": ["2024-05-01", "May"]}, ("--time-field", "at", "--window", "1h"), '"May"'),
    "late day": ({"at": [date(2024, 5, 1), date(2500, 1, 1)]}, ("--time-field", "at", "--window", "1h"), "2500-01-01"),
    "not a number": ({"y_true": [1.0, math.nan]}, (), "nan"),
    "text": ({"y_true": pa.array([b"a", b"\xff"]).view(pa.string())}, (), "not UTF-8 text: b'\\xff'"),
    "score": ({"p_a": [0.5, 0.5], "p_b": [0.5, None]}, ("--scores", "p_*"), "column 'p_b'"),
    "no probability": ({"scores": [{"a": 0.5}, {"a": 1.5}]}, ("--scores",), "--margins"),
    "a third class": (
        {"y_true": ["a", "c"], "p": [0.5, 0.5]},
        ("--scores", "p", "--labels", "a,b", "--pos-label", "b"),
        "one number as the scores tells",
    ),
}


def test_reasons(cli, tmp_path):
    """What is wrong with a row is said in the words of the other formats, and the row before it can be counted."""
    failures = []
    for case, (columns, options, reason) in BAD.items():
        path = stored(tmp_path / "a.parquet", **{"y_true": ["a", "b"], "y_pred": ["a", "b"], **columns})
        result = cli("run", path, *options, "--skip-bad", "--format", "json")
        skipped = json.loads(result.out)["skipped"]

        right = (result.status, skipped["count"], skipped["first"][-1]["row"]) == (0, 1, 2)
        failures += [] if right and reason in skipped["first"][-1]["reason"] else [(case, result)]
    assert not failures


def test_scores_of_unnamed_classes(cli, tmp_path):
    """One number as scores needs both classes named; without, no record can be counted."""
    path = stored(tmp_path / "a.parquet", y_true=["no", "a"], y_pred=["a", "b"], p=[0.5, 0.5])

    result = cli("run", path, "--scores", "p", "--skip-bad")

    assert (result.status, result.out) == (1, "")
    assert result.err.count("both classes named") == 2


SCHEMAS = {
    "missing": ({"label": TEXT}, (), "column 'y_true' is not in the file, which has 'label', 'y_pred'"),
    "nested in text": ({"y_true": TEXT}, ("--pred", "y_true.x"), "column 'y_true.x' is not in the file"),
    "lists": ({"y_true": [[1]] * N}, (), "expected column 'y_true' to hold a label (text, a number, true or false)"),
    "timestamps": ({"y_true": TIMES}, (), "but its type is timestamp[us, tz=UTC]"),
    "text weights": ({"y_true": TEXT, "w": TEXT}, ("--weight", "w"), "expected column 'w' to hold a weight"),
    "times": ({"y_true": TEXT, "t": [True] * N}, ("--time-field", "t", "--window", "1h"), "to hold a time"),
    "list of scores": ({"y_true": TEXT, "scores": [[0.5]] * N}, ("--scores",), "'scores' holds lists: --classes A,B"),
    "structs of text": ({"y_true": TEXT, "scores": [{"a": "b"}] * N}, ("--scores",), "'scores' to hold numbers"),
    "no pattern": ({"y_true": TEXT}, ("--scores", "p_*"), "no column is like 'p_*'"),
    "classes of text": (
        {"y_true": WHOLE, "scores": [{"cat": 0.5}] * N},
        ("--scores",),
        "a number, true or false, as the truth is, 0, but got 'cat'",
    ),
}


def test_columns_that_do_not_fit(cli, tmp_path):
    """A column that is missing, there twice, or of a type that does not fit its use, is refused before counting."""
    failures = []
    for case, (columns, options, reason) in SCHEMAS.items():
        path = stored(tmp_path / "a.parquet", **columns, y_pred=TEXT)
        result = cli("run", path, *options, "--skip-bad", "--state", tmp_path / "state")

        right = (result.status, result.out, result.err.count("\n")) == (1, "", 1)
        right = right and result.err.startswith(f"stream-metrics: {path}: ") and reason in result.err
        failures += [] if right else [(case, result)]
    assert not failures
    assert not (tmp_path / "state").exists()

    table = pa.Table.from_arrays([pa.array(TEXT)] * 3, ["y_true", "y_true", "y_pred"])
    pq.write_table(table, tmp_path / "a.parquet")
    assert "column 'y_true' is there more than once" in cli("run", tmp_path / "a.parquet").err


def test_files_that_are_no_parquet(cli, tmp_path):
    """What is missing, empty, cut short, damaged or something else ends with one line that names it."""
    whole = stored(tmp_path / "whole.parquet", y_true=TEXT * 99, y_pred=TEXT * 99, rows=10**6).read_bytes()
    holes = bytearray(whole)
    holes[60:400] = b"\xff" * 340
    (tmp_path / "folder.parquet").mkdir()
    contents = {"empty": b"", "cut": whole[:-100], "other": b"y_true,y_pred\na,a\n", "holes": bytes(holes)}
    for name, content in contents.items():
        (tmp_path / f"{name}.parquet").write_bytes(content)
    for name in (*contents, "missing", "folder"):
        path = tmp_path / f"{name}.parquet"
        result = cli("run", path, "--state", tmp_path / "state")

        assert (result.status, result.out) == (1, "")
        assert result.err.startswith(f"stream-metrics: {path}")
        assert result.err.count("\n") == 1
        assert not (tmp_path / "state").exists()


def test_what_parquet_does_not_go_with(cli, tmp_path):
    """Stdin, other formats beside it, and a wrong --input are refused."""
    path = stored(tmp_path / "a.parquet", y_true=TEXT, y_pred=TEXT)
    (tmp_path / "b.csv").write_bytes(b"y_true,y_pred\na,a\n")
    refused = {
        ("-", path): "not from stdin",
        ("-", "--input", "parquet"): "not from stdin",
        (path, tmp_path / "b.csv"): "Parquet and other formats together",
        (tmp_path / "no-such-*.parquet",): "no file is named so",
    }
    for arguments, reason in refused.items():
        result = cli("run", *arguments)
        assert result.status in (1, 2)
        assert reason in result.err

    for arguments in ((path, "--input", "jsonl"), ("-",)):
        result = cli("run", *arguments, stdin=path.read_bytes())
        assert result.status == 1
        assert "is Parquet: --input parquet reads it" in result.err
