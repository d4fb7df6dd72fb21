"""``stream-metrics run``: bad records are named by file, line and reason, or skipped; wrong command lines."""

from __future__ import annotations

import json

import pytest
from support.command_line import as_json_lines, counted, refusal, run_json, saved

import stream_metrics as sm

pytestmark = pytest.mark.quick
GOOD = b'{"y_true": "a", "y_pred": "a", "w": 1}\n'
HEAD = b"y_true,y_pred,w\na,a,1\n"
BAD = [
    (GOOD, b'{"y_true": "a", "y_pred"\n', "not JSON"),
    (GOOD, b"[1, 2]\n", "expected a JSON object, but got [1, 2]"),
    (GOOD, b"[" * 100_000 + b"\n", "recursion"),
    (GOOD, b'{"y_true": "a", "w": 1}\n', "no field 'y_pred'; the record has 'y_true', 'w'"),
    (GOOD, b'{"y_true": null, "y_pred": "a", "w": 1}\n', "field 'y_true'"),
    (GOOD, b'{"y_true": NaN, "y_pred": "a", "w": 1}\n', "nan"),
    (GOOD, b'{"y_true": "a", "y_pred": ["a"], "w": 1}\n', "field 'y_pred'"),
    (GOOD, b'{"y_true": "a", "y_pred": "a", "w": -1}\n', "-1"),
    (GOOD, b'{"y_true": "a", "y_pred": "a", "w": null}\n', "field 'w' to be a"),
    (GOOD, b'{"y_true": "a", "y_pred": "a", "w": [1]}\n', "field 'w' to be a"),
    (GOOD, b'{"y_true": "\xff", "y_pred": "a", "w": 1}\n', "byte 0xff at column 13"),
    (HEAD, b"a,b\n", "expected 3 fields as in the header, but got 2"),
    (HEAD, b"a,b,1,x\n", "expected 3 fields as in the header, but got 4"),
    (HEAD, b'"a"b,a,1\n', "not CSV"),
    (HEAD, b",a,1\n", "field 'y_true' to be a"),
    (HEAD, b"a,a,x\n", "field 'w' to be a"),
    (HEAD, b"a,a,\n", "field 'w' to be a"),
    (HEAD, b"a,a,nan\n", "nan"),
    (HEAD, b"a,\xff,1\n", "byte 0xff at column 3"),
]
SCORED = b'{"y_true": "a", "scores": {"a": 0.7, "b": 0.3}}\n'
SCORED_HEAD = b"y_true,p_a,p_b\na,0.7,0.3\n"
NUMBERS = b'{"y_true": 1, "scores": {"1": 0.7, "0": 0.3}}\n'


def record(truth, scores):
    """Return a line; both values are JSON texts."""
    return f'{{"y_true": {truth}, "scores": {scores}}}\n'.encode()


BAD_SCORES = [
    (SCORED, b'{"y_true": "a"}\n', "no field 'scores'; the record has 'y_true'"),
    (SCORED, record('"a"', "[0.7, 0.3]"), "with --classes A,B, but got [0.7, 0.3]"),
    (SCORED, record('"a"', "true"), "pass --pos-label"),
    (SCORED, record('"a"', '"0.7"'), "a mapping from label to number"),
    (SCORED, record('"a"', '{"a": "0.7", "b": 0.3}'), "but got '0.7' for 'a'"),
    (SCORED, record('"a"', '{"a": null, "b": 0.3}'), "but got None for 'a'"),
    (SCORED, record('"a"', '{"a": {}, "b": 0.3}'), "but got {} for 'a'"),
    (SCORED, record('"a"', '{"a": NaN, "b": 0.3}'), "but got nan for 'a'"),
    (SCORED, record('"a"', '{"a": 1e999, "b": 0.3}'), "but got inf for 'a'"),
    (SCORED, record('"a"', '{"a": -0.5, "b": 0.3}'), "-0.5 for 'a'; --margins keeps"),
    (SCORED, record('"a"', '{"a": 1.5, "b": 0.3}'), "1.5 for 'a'; --margins keeps"),
    (SCORED, record('"a"', f'{{"a": 1{"0" * 400}, "b": 0.3}}'), "but got 1000"),
    (NUMBERS, record("1", f"1{'0' * 400}"), "but got 1000"),
    (SCORED, record("null", '{"a": 0.7, "b": 0.3}'), "field 'y_true'"),
    (SCORED, record('"a"', "0.7"), "pass --pos-label"),
    (NUMBERS, record("1", '{"1": 0.7, "1.0": 0.3}'), "one score for every class"),
    (NUMBERS, record("2", "0.7"), "pass --pos-label"),
    (SCORED_HEAD, b"a,0.7,x\n", "but got 'x' for 'b'"),
    (SCORED_HEAD, b"a,0.7,\n", "but got '' for 'b'"),
    (SCORED_HEAD, b"a,0.7,nan\n", "but got nan for 'b'"),
    (SCORED_HEAD, b"a,0.7,1.5\n", "but got 1.5 for 'b'; --margins keeps"),
]
PLACED = {"y_true": "a", "y_pred": "a", "ts": 5, "land": "fi"}
BAD_FIELDS = [
    ({"ts": None}, "field 'ts' to be seconds since 1970"),
    ({"ts": "soon"}, "from 1824 to 2115, but got 'soon'"),
    ({"ts": True}, "but got True"),
    ({"ts": 1.7e12}, "but got 1700000000000.0"),
    ({"ts": float("nan")}, "but got nan"),
    ({"land": None}, "Expected field 'land' to be a"),
    ({"land": ["fi"]}, "field 'land'"),
    ({"land": {"a": 1}}, "field 'land'"),
    ({"ts": ...}, "no field 'ts'"),
    ({"land": ...}, "no field 'land'"),
]


def changed(fields):
    """Return a line of a record in which fields are changed, or missing."""
    return as_json_lines([{name: value for name, value in (PLACED | fields).items() if value is not ...}])


TIMED = ("--time-field", "ts", "--window", "5m", "--by", "land")
CASES = [
    *((("--weight", "w"), *case) for case in BAD),
    *((("--scores", "p_*") if case[0] is SCORED_HEAD else ("--scores",), *case) for case in BAD_SCORES),
    *((TIMED, changed({}), changed(fields), reason) for fields, reason in BAD_FIELDS),
]


def test_bad_records_are_named_or_skipped(cli, tmp_path):
    """The run ends with line and reason, and saves nothing; with --skip-bad the rest is counted, and it is reported."""
    failures = []
    for options, start, bad, reason in CASES:
        again, number = start.splitlines(keepends=True)[-1], start.count(b"\n") + 1
        ended = cli("run", "-", *options, "--state", tmp_path / "state", stdin=start + bad + again)
        result = cli("run", "-", *options, "--skip-bad", "--format", "json", stdin=start + bad + again * 2)
        data = json.loads(result.out)
        (first,) = data["skipped"]["first"]

        right = (ended.status, ended.out) == (1, "") and ended.err.startswith(f"stream-metrics: stdin, line {number}: ")
        right = right and (ended.err.count("\n"), reason in ended.err, "position" in ended.err) == (1, True, False)
        n = data.get("overall", data)["n"], data.get("scores", {"n": 3})["n"]
        right = right and (result.status, n, data["skipped"]["count"]) == (0, (3, 3), 1)
        right = right and (first["file"], first["line"], reason in first["reason"]) == ("stdin", number, True)
        right = right and result.err.startswith("stream-metrics: skipped 1 bad record\n  stdin, line ")
        failures += [] if right else [(bad[:80], ended, result)]
    assert not failures
    assert not (tmp_path / "state").exists()


def test_bad_fields_of_csv(cli):
    """An empty time or group is a bad record; an open quote is reported with the line where its record begins."""
    data = b"y_true,y_pred,ts,land\na,a,5,fi\na,a,,fi\na,a,5,\n"
    result = cli("run", "-", *TIMED, "--skip-bad", stdin=data)
    assert "line 3: Expected field 'ts' to be seconds" in result.err
    assert "line 4: Expected field 'land' to be a" in result.err

    said = refusal("run", "-", stdin=b'y_true,y_pred\na,a\nb,"b\na,a\nb,b\n')
    assert ("line 5: not CSV" in said, "begins in line 3" in said) == (True, True)


def test_first_few_skipped_are_shown(cli):
    """Of many bad records the first five are shown and all are counted; --skip-bad without any says 0."""
    many = cli("run", "-", "--skip-bad", "--format", "json", stdin=GOOD + b"no\n" * 8)
    none = cli("run", "-", "--skip-bad", "--format", "json", stdin=GOOD)
    skipped = json.loads(many.out)["skipped"]

    assert (skipped["count"], len(skipped["first"])) == (8, 5)
    assert many.err.endswith("  and 3 more\n")
    assert (json.loads(none.out)["skipped"], none.err) == ({"count": 0, "first": []}, "")


def test_bad_records_deep_in_a_chunk(cli, tmp_path):
    """A label or a score that only the state refuses is found at its line within thousands; the others are counted."""
    path = tmp_path / "long.csv"
    path.write_bytes(b"y_true,y_pred\n" + b"a,a\n" * 15_000 + b"a,zebra\n" + b"a,a\n" * 4_999)
    said = refusal("run", path, "--labels", "a,b")
    assert (f"{path}, line 15002: " in said, "zebra" in said) == (True, True)
    assert run_json("run", path, "--labels", "a,b", "--skip-bad")["n"] == 19_999

    lines = [SCORED] * 3000
    for at in (0, 1234, 2999):
        lines[at] = record('"a"', '{"a": 3, "b": 0.3}')
    result = cli("run", "-", "--scores", "--skip-bad", "--state", tmp_path / "s", stdin=b"".join(lines))
    expected = counted(sm.MetricSet(scores=True), ["a"] * 2997, [{"a": 0.7, "b": 0.3}] * 2997)
    assert expected.to_bytes() == (tmp_path / "s").read_bytes()
    assert [f"line {at}:" in result.err for at in (1, 1235, 3000)] == [True] * 3


UNREADABLE = [
    ("--skip-bad --input csv", b"label,y_pred\n", "column 'y_true' is not in the header, which has 'label', 'y_pred'"),
    ("--skip-bad --input csv", b"y_true,y_true,y_pred\n", "column 'y_true' is there more than once"),
    ("--skip-bad --input csv", b'"y_true,y_pred\n', "not CSV"),
    ("", b'[{"y_true": "a"},\n', "each line has to be one object, as jq -c '.[]' writes them"),
    ("", b'[{"y_true": "a", "y_pred": "a"}]\n', "each line has to be one object, as jq -c '.[]' writes them"),
    ("", b'{\n"y_true": "a"}\n', "each line has to be one object, as jq -c . writes them"),
    ("", b"\x00\x01\x02\n", "the file is binary data"),
    ("", b"caf\xe9,y_pred\n", "byte 0xe9 at column 4; save the file as UTF-8"),
]


def test_input_without_records(cli, tmp_path):
    """What is no table of records, or has no good one, ends with what to do; an abstention is enough."""
    for options, data, reason in UNREADABLE:
        result = cli("run", "-", *options.split(), stdin=data + b"a,b\n" * bool(options))
        assert (result.status, result.out, reason in result.err) == (1, "", True), result

    paths = [tmp_path / f"{name}.csv" for name in "ab"]
    for path in paths:
        path.write_bytes(b"y_true,y_pred\n,a\n,b\n")
    result = cli("run", *paths, "--skip-bad", "--state", tmp_path / "state")
    assert (result.status, result.out, (tmp_path / "state").exists()) == (1, "", False)
    assert "skipped 4 bad records" in result.err
    assert result.err.endswith("\nstream-metrics: no record could be counted\n")
    result = cli("run", "-", "--skip-bad", stdin=b"y_true,y_pred\n,a\na,\n")
    assert (result.status, "skipped 1 bad record\n" in result.err) == (0, True)


def test_unusual_labels():
    """A mapping of scores counts as its largest; a lone surrogate, which no terminal can show, is a label too."""
    soft = run_json("run", "-", stdin=b'{"y_true": "a", "y_pred": {"a": 0.7, "b": 0.3}}\n' + GOOD)
    alone = saved("-", stdin=b'{"y_true": "\\ud800", "y_pred": "\\ud800"}\n')

    assert soft["metrics"]["accuracy"] == 1.0
    assert sm.from_bytes(alone).snapshot().labels == ("\ud800",)


# Wrong command lines: status 2 and what was expected, before anything is read.
FULL = as_json_lines([{**PLACED, "scores": {"a": 0.7, "b": 0.3}}])
WINDOW = ("--time-field", "ts", "--window", "5m")
WRONG = [
    (("walk",), "walk"),
    (("run",), "FILE"),
    (("run", "-", "-"), "stdin can be read once only"),
    (("run", "-", "--metrics", "acuracy"), "accuracy"),
    (("run", "-", "--metrics", ","), "at least one metric"),
    (("run", "-", "--every", "0"), "from 1 on"),
    (("run", "-", "--every", "ten"), "'ten'"),
    (("run", "-", "--labels", "[1"), "JSON list"),
    (("run", "-", "--labels", "a,a"), "distinct"),
    (("run", "-", "--zero-division", "2"), "0, 1 or nan"),
    (("run", "a.csv", "b.jsonl"), "CSV and JSON Lines together"),
    (("run", "a.csv", "b.parquet"), "Parquet and other formats together"),
    (("run", "-", "--input", "parquet"), "Parquet is read from files, not from stdin"),
    (("run", "a.csv", "--every", "9", "--jobs", "2"), "have no order"),
    (("run", "-", "--input", "csv", "--jobs", "2"), "stdin is none"),
    (("run", "a.csv", "--jobs", "2", "--window", "9"), "the last N samples of two streams together do not"),
    *((("run", *arguments), reason) for arguments, reason in [
    (("--scores", "a.jsonl"), "'a.jsonl' is a file, not a field"),
    (("--scores", "-"), "'-' is a file, not a field"),
    (("-", "--pos-label", "a"), "--pos-label needs --scores"),
    (("-", "--margins"), "--margins needs --scores"),
    (("-", "--buckets", "9"), "--buckets needs --scores"),
    (("-", "--scores", "--buckets", "1"), "--buckets to be a whole number from 2"),
    (("-", "--scores", "--sample", "0"), "from 1 on"),
    (("-", "--scores", "--threshold", "nan"), "a finite number, but got 'nan'"),
    (("-", "--scores", "--pos-label", "c", "--labels", "a,b"), "--pos-label to be one of the fixed labels"),
    (("-", "--scores", "--pos-label", "1"), "--input says which"),
    (("-", "--scores", "--other", "x", "--labels", "a,b"), "Expected no --other where scores are kept"),
    (("-", "--metrics", "roc_auc_ovo"), "roc_auc_ovo, which needs scores"),
    (("-", "--scores", "--margins", "--metrics", "log_loss"), "log_loss, which needs probabilities"),
    ]),
    *((("run", "-", *arguments), reason) for arguments, reason in [
    (["--window", "0"], "Expected --window to be a number of samples from 1"),
    (["--window", "5m"], "--window to be a number of samples"),
    (["--window", "1000", "--time-field", "ts"], "--window to be a length of time"),
    (["--window", "soon", "--time-field", "ts"], "--window to be a length of time"),
    (["--window", str(10**15)], "Expected --window to be a number of samples"),
    (["--time-field", "ts"], "--time-field needs --window"),
    (["--window", "9", "--panes", "3"], "--panes needs --time-field"),
    (["--lateness", "3s"], "--lateness needs --time-field"),
    ([*WINDOW, "--lateness", "3"], "--lateness to be a length of time"),
    ([*WINDOW, "--panes", "7"], "6 would do"),
    (["--max-groups", "3"], "--max-groups needs --by"),
    (["--by", "land", "--max-groups", "3", "--window", "9"], "cannot be told apart again"),
    (["--plot", "a.foo"], "the name has to end in .png, .svg or .pdf"),
    (["--every", "9", "--metrics", "accuracy,generalized_mcc_matrix"], "is a matrix"),
    ]),
    *((("run", "-", "--delimiter", text), "expected one character or 'tab'") for text in ("", "ab", '"', "\n")),
    *((("run", flag, "a.jsonl.zst"), "'a.jsonl.zst' is a file, not a") for flag in
      ("--scores", "--weight", "--by", "--time-field", "--intervals")),
    (("run", "-", "--every", "10", "--skip-bad-files"), "--every does not go with --skip-bad-files"),
    *((("run", "-", *arguments), "--classes") for arguments in
      (("--classes", "a,b"), ("--scores", "p", "--classes", "a,a"), ("--scores", "p", "--classes", ""))),
    *(((*command.split(), option), f"did you mean {meant}? (see stream-metrics {command.split()[0]} --help)") for
      command, option, meant in [
        ("run -", "--y-true=label", "--true"), ("run -", "--Y_PRED", "--pred"), ("run a", "--weights", "--weight"),
        ("run - extra", "--skip_bad", "--skip-bad"), ("show a", "--plto", "--plot"), ("query a", "--groups", "--by"),
        ("monitor", "--store-pth", "--store-path"), ("merge a -o b", "--ouput", "--output"),
      ]),
]  # fmt: skip


def test_wrong_command_lines():
    """One line, and nothing is read."""
    said = {arguments: refusal(*arguments, status=2, stdin=b"rubbish") for arguments, _ in WRONG}
    assert [(said[arguments], reason) for arguments, reason in WRONG if reason not in said[arguments]] == []


COLUMNS = [
    ("p_c", 1, "column 'p_c' is not in the header"),
    ("q_*", 1, "no column is like 'q_*' of --scores; the header has 'y_true', 'p_a', 'p_b'"),
    ("p_*_*", 2, "one * in --scores"),
    ("a=p_a,b=p_c", 1, "column 'p_c' is not in the header"),
    ("a=p_a,a=p_b", 2, "distinct classes"),
    ("a=p_a,b=", 2, "class=column"),
    ("a=p_a,b", 2, "class=column"),
    ("p_a", 1, "pass --pos-label to say which class is positive"),
]


def test_columns_of_scores():
    """What --scores names must be in the header, each class once, and among --labels."""
    for spec, status, reason in COLUMNS:
        assert reason in refusal("run", "-", "--scores", spec, status=status, stdin=SCORED_HEAD), spec
    as_json = refusal("run", "-", "--scores", "--labels", "a,c", stdin=FULL)
    as_csv = refusal("run", "-", "--scores", "p_*", "--labels", "a,c", stdin=SCORED_HEAD)
    for said, line in ((as_json, "line 1"), (as_csv, "line 2")):
        assert (line in said, "to be of ['a', 'c'], but got ['a', 'b']" in said) == (True, True)


RESUMED = [  # how a state was written, how it is resumed, and the message
    (WINDOW, (), "keeps times: --time-field says where they are"),
    (("--by", "land"), (), "keeps groups: --by says where they are"),
    ((), ("--by", "land"), "keeps no groups, so --by feeds nothing"),
    (("--window", "9"), ("--time-field", "ts"), "keeps no times, so --time-field feeds nothing"),
    (("--window", "9"), ("--window", "9"), "--window does not go with --resume"),
    (("--by", "land"), ("--by", "land", "--max-groups", "3"), "--max-groups does not go with --resume"),
    (("--scores",), (), "--scores says where they are"),
    ((), ("--scores",), "keeps no scores"),
    (("--scores",), ("--scores", "--margins"), "--margins does not go with --resume"),
]


def test_states_that_cannot_be_used(cli, tmp_path):
    """A resumed state has its fields named, and no others; a target in no folder, or what is no state, is refused."""
    state = tmp_path / "state"
    for before, options, reason in RESUMED:
        cli("run", "-", *before, "--state", state, stdin=FULL)
        result = cli("run", "-", *options, "--resume", state, stdin=FULL)
        assert (result.status, result.out, reason in result.err) == (2, "", True), (before, options)

    (tmp_path / "foreign").write_bytes(b"PK not a state")
    wrong = [("--state", tmp_path), ("--state", tmp_path / "none" / "state")]
    for flag, path in wrong + [("--resume", tmp_path / name) for name in ("missing", "foreign")]:
        result = cli("run", "-", flag, path, stdin=b"rubbish")
        assert (result.status, result.out) == (1, "")
        assert result.err.startswith(f"stream-metrics: {path}: ")


def test_what_cannot_be_read(cli, tmp_path):
    """A closed stdin; and files whose formats, found by the first line, differ."""
    for command in ("run", "monitor"):
        assert cli(command, "-", stdin=None) == (1, "", "stream-metrics: stdin: is closed\n")
    (tmp_path / "a").write_bytes(FULL)
    (tmp_path / "b").write_bytes(SCORED_HEAD)
    assert "their labels differ in type" in refusal("run", tmp_path / "a", tmp_path / "b", status=2)
