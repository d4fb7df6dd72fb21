"""Wrong command lines of ``run``: status 2 and what was expected, before anything is read."""

from __future__ import annotations

import pytest
from support.command_line import as_json_lines, refusal

pytestmark = pytest.mark.quick
HEAD = b"y_true,p_a,p_b\na,0.7,0.3\n"
GOOD = as_json_lines([{"y_true": "a", "y_pred": "a", "ts": 5, "land": "fi", "scores": {"a": 0.7, "b": 0.3}}])
TIMED = ("--time-field", "ts", "--window", "5m")
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
    (("run", "a.csv", "--every", "9", "--jobs", "2"), "--every does not go with --jobs"),
    (("run", "-", "--jobs", "2"), "stdin is none"),
    (("run", "a.csv", "--jobs", "2", "--window", "9"), "--jobs does not go with these counts"),
    *((("run", *arguments), reason) for arguments, reason in [
    (("--scores", "a.jsonl"), "'a.jsonl' is a file, not a field"),
    (("--scores", "-"), "'-' is a file, not a field"),
    (("-", "--pos-label", "a"), "--pos-label needs --scores"),
    (("-", "--margins"), "--margins needs --scores"),
    (("-", "--buckets", "9"), "--buckets needs --scores"),
    (("-", "--scores", "--buckets", "1"), "`buckets` to be a whole number from 2"),
    (("-", "--scores", "--sample", "0"), "from 1 on"),
    (("-", "--scores", "--threshold", "nan"), "a finite number, but got 'nan'"),
    (("-", "--scores", "--pos-label", "c", "--labels", "a,b"), "--pos-label c is none of --labels"),
    (("-", "--scores", "--pos-label", "1"), "--input says which"),
    (("-", "--scores", "--other", "x", "--labels", "a,b"), "--other is for labels only"),
    (("-", "--metrics", "roc_auc_ovo"), "roc_auc_ovo, which needs scores"),
    (("-", "--scores", "--margins", "--metrics", "log_loss"), "log_loss, which needs probabilities"),
    ]),
    *((("run", "-", *arguments), reason) for arguments, reason in [
    (["--window", "0"], "a number of records from 1 on"),
    (["--window", "5m"], "with --time-field, a length of time, but got '5m'"),
    (["--window", "1000", "--time-field", "ts"], "with --time-field it has a unit: 1000s"),
    (["--window", "soon", "--time-field", "ts"], "--window to be a length of time such as 30s"),
    (["--window", str(10**15)], "Expected --window to be a number of samples"),
    (["--time-field", "ts"], "--time-field needs --window"),
    (["--window", "9", "--panes", "3"], "--panes is of windows of time"),
    (["--lateness", "3s"], "--lateness is of windows of time"),
    ([*TIMED, "--lateness", "3"], "--lateness to be a length of time"),
    ([*TIMED, "--panes", "7"], "6 would do"),
    (["--max-groups", "3"], "--max-groups needs --by"),
    (["--by", "land", "--max-groups", "3", "--window", "9"], "cannot leave the window again"),
    (["--plot", "a.foo"], "the name has to end in .png, .svg or .pdf"),
    (["--every", "9", "--metrics", "accuracy,generalized_mcc_matrix"], "is a matrix"),
    ]),
    *((("run", "-", "--delimiter", text), "expected one character or 'tab'") for text in ("", "ab", '"', "\n")),
    *((("run", flag, "a.jsonl.zst"), "'a.jsonl.zst' is a file, not a") for flag in
      ("--scores", "--weight", "--by", "--time-field", "--intervals")),
    (("run", "-", "--every", "10", "--skip-bad-files"), "--every does not go with --skip-bad-files"),
    *((("run", "-", *arguments), "--classes") for arguments in
      (("--classes", "a,b"), ("--scores", "p", "--classes", "a,a"), ("--scores", "p", "--classes", ""))),
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
    ("p_a", 2, "one column of scores needs both classes named: --labels A,B --pos-label B"),
]


def test_columns_of_scores():
    """What --scores names must be in the header, each class once, and among --labels."""
    for spec, status, reason in COLUMNS:
        assert reason in refusal("run", "-", "--scores", spec, status=status, stdin=HEAD), spec
    as_json = refusal("run", "-", "--scores", "--labels", "a,c", stdin=GOOD)
    as_csv = refusal("run", "-", "--scores", "p_*", "--labels", "a,c", status=2, stdin=HEAD)
    assert "line 1: expected every key of the scores to be a class of --labels, but got 'b'" in as_json
    assert "--scores has the class 'b', but --labels has 'a', 'c'" in as_csv


RESUMED = [  # how a state was written, how it is resumed, and what is said
    (TIMED, (), "keeps times: --time-field says where they are"),
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
        cli("run", "-", *before, "--state", state, stdin=GOOD)
        result = cli("run", "-", *options, "--resume", state, stdin=GOOD)
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
    (tmp_path / "a").write_bytes(GOOD)
    (tmp_path / "b").write_bytes(HEAD)
    assert "their labels differ in type" in refusal("run", tmp_path / "a", tmp_path / "b", status=2)
