"""``stream-metrics run --scores``: errors of scores name file, line, reason and remedy."""

from __future__ import annotations

import json

import pytest

import stream_metrics as sm

GOOD = b'{"y_true": "a", "scores": {"a": 0.7, "b": 0.3}}\n'
HEAD = b"y_true,p_a,p_b\na,0.7,0.3\n"
NUMBERS = b'{"y_true": 1, "scores": {"1": 0.7, "0": 0.3}}\n'


def record(truth, scores):
    """Return a line; both values are JSON texts."""
    return f'{{"y_true": {truth}, "scores": {scores}}}\n'.encode()


BAD = [
    pytest.param(GOOD, b'{"y_true": "a"}\n', "no field 'scores'; the record has 'y_true'", id="absent"),
    pytest.param(GOOD, record('"a"', "[0.7, 0.3]"), "an object or a number, but got [0.7, 0.3]", id="list"),
    pytest.param(GOOD, record('"a"', "true"), "an object or a number, but got true", id="bool"),
    pytest.param(GOOD, record('"a"', '"0.7"'), 'an object or a number, but got "0.7"', id="text"),
    pytest.param(GOOD, record('"a"', '{"a": "0.7", "b": 0.3}'), "but got '0.7' for 'a'", id="text in an object"),
    pytest.param(GOOD, record('"a"', '{"a": null, "b": 0.3}'), "but got None for 'a'", id="null in an object"),
    pytest.param(GOOD, record('"a"', '{"a": {}, "b": 0.3}'), "but got {} for 'a'", id="object in an object"),
    pytest.param(GOOD, record('"a"', '{"a": NaN, "b": 0.3}'), "but got nan for 'a'", id="nan"),
    pytest.param(GOOD, record('"a"', '{"a": 1e999, "b": 0.3}'), "but got inf for 'a'", id="infinite"),
    pytest.param(GOOD, record('"a"', '{"a": -0.5, "b": 0.3}'), "-0.5 for 'a'; --margins keeps", id="negative"),
    pytest.param(GOOD, record('"a"', '{"a": 1.5, "b": 0.3}'), "1.5 for 'a'; --margins keeps", id="above one"),
    pytest.param(GOOD, record('"a"', f'{{"a": 1{"0" * 400}, "b": 0.3}}'), "but got 1000", id="huge"),
    pytest.param(NUMBERS, record("1", f"1{'0' * 400}"), "too large", id="huge number"),
    pytest.param(GOOD, record("null", '{"a": 0.7, "b": 0.3}'), "`y_true`", id="no truth"),
    pytest.param(GOOD, record('"a"', "0.7"), "tells true from false, but the truth is", id="number"),
    pytest.param(NUMBERS, record("1", '{"1": 0.7, "b": 0.3}'), "every key of the scores to be a number", id="key"),
    pytest.param(NUMBERS, record("1", '{"1": 0.7, "NaN": 0.3}'), "but got 'NaN'", id="nan key"),
    pytest.param(NUMBERS, record("1", '{"1": 0.7, "1.0": 0.3}'), "one score for each class", id="class twice"),
    pytest.param(NUMBERS, record("2", "0.7"), "--labels '[1, 2]' --pos-label 2", id="third class"),
    pytest.param(HEAD, b"a,0.7,x\n", "the score in column 'p_b' to be a number, but got 'x'", id="csv text"),
    pytest.param(HEAD, b"a,0.7,\n", "the score in column 'p_b' to be a number, but got ''", id="csv gap"),
    pytest.param(HEAD, b"a,0.7,nan\n", "but got nan for 'b'", id="csv nan"),
    pytest.param(HEAD, b"a,0.7,1.5\n", "but got 1.5 for 'b'; --margins keeps", id="csv range"),
]


def options_for(start):
    """Return the options that fit the format."""
    return ("--scores", "p_*") if start is HEAD else ("--scores",)


@pytest.mark.parametrize(("start", "line", "reason"), BAD)
def test_bad_scores_are_named(cli, tmp_path, start, line, reason):
    """Bad scores end the run with their line and reason; nothing is printed or saved."""
    state = tmp_path / "state"
    *before, again = start.splitlines(keepends=True)

    result = cli("run", "-", *options_for(start), "--state", state, stdin=start + line + again)

    assert (result.status, result.out, state.exists()) == (1, "", False)
    assert result.err.startswith(f"stream-metrics: stdin, line {len(before) + 2}: ")
    assert reason in result.err
    assert "position" not in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(("start", "line", "reason"), BAD)
def test_bad_scores_are_skipped(cli, start, line, reason):
    """With --skip-bad the rest is counted in every state."""
    again = start.splitlines(keepends=True)[-1]

    result = cli("run", "-", *options_for(start), "--skip-bad", "--format", "json", stdin=start + line + again * 2)
    data = json.loads(result.out)

    assert (result.status, data["n"], data["scores"]["n"], data["skipped"]["count"]) == (0, 3, 3, 1)
    assert reason in data["skipped"]["first"][0]["reason"]


def test_bad_scores_deep_in_a_chunk(cli, tmp_path):
    """Every bad record of a chunk is found at its line, the others are counted."""
    lines = [GOOD] * 3000
    for at in (0, 1234, 2999):
        lines[at] = record('"a"', '{"a": 3, "b": 0.3}')

    result = cli("run", "-", "--scores", "--skip-bad", "--state", tmp_path / "s", stdin=b"".join(lines))
    expected = sm.MetricSet(scores=True)
    expected.update_many(["a"] * 2997, [{"a": 0.7, "b": 0.3}] * 2997)

    assert expected.to_bytes() == (tmp_path / "s").read_bytes()
    assert [f"line {at}:" in result.err for at in (1, 1235, 3000)] == [True] * 3


@pytest.mark.parametrize(
    ("spec", "status", "reason"),
    [
        ("p_c", 1, "column 'p_c' is not in the header"),
        ("q_*", 1, "no column is like 'q_*' of --scores; the header has 'y_true', 'p_a', 'p_b'"),
        ("p_*_*", 2, "one * in --scores"),
        ("a=p_a,b=p_c", 1, "column 'p_c' is not in the header"),
        ("a=p_a,a=p_b", 2, "distinct classes"),
        ("a=p_a,b=", 2, "class=column"),
        ("a=p_a,b", 2, "class=column"),
        ("p_a", 2, "one column of scores needs both classes named: --labels A,B --pos-label B"),
    ],
)
def test_columns_of_csv(cli, spec, status, reason):
    """What --scores names must be in the header, each class once."""
    result = cli("run", "-", "--scores", spec, stdin=HEAD)

    assert (result.status, result.out) == (status, "")
    assert reason in result.err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
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
    ],
)
def test_usage(cli, arguments, reason):
    """A wrong command line exits with 2 and says what was expected, before anything is read."""
    result = cli("run", *arguments, stdin=b"rubbish")

    assert (result.status, result.out) == (2, "")
    assert reason in result.err
    assert result.err.count("\n") == 1


def test_classes_outside_labels(cli):
    """Scores of a class that --labels does not name are refused, in JSON Lines by the record."""
    as_json = cli("run", "-", "--scores", "--labels", "a,c", stdin=GOOD)
    as_csv = cli("run", "-", "--scores", "p_*", "--labels", "a,c", stdin=HEAD)

    assert (as_json.status, as_csv.status) == (1, 2)
    assert "line 1: expected every key of the scores to be a class of --labels, but got 'b'" in as_json.err
    assert "--scores has the class 'b', but --labels has 'a', 'c'" in as_csv.err


def test_resume_and_scores_go_together(cli, tmp_path):
    """A state that keeps scores wants them, one that does not refuses them, and neither takes configuration."""
    scored, plain = tmp_path / "scored", tmp_path / "plain"
    scored.write_bytes(sm.MetricSet(scores=True).to_bytes())
    plain.write_bytes(sm.MetricSet().to_bytes())
    reasons = {
        (scored,): "--scores says where they are",
        (plain, "--scores"): "keeps no scores",
        (scored, "--scores", "--margins"): "--margins does not go with --resume",
    }
    for arguments, reason in reasons.items():
        result = cli("run", "-", "--resume", *arguments, stdin=GOOD)

        assert (result.status, result.out) == (2, "")
        assert reason in result.err
