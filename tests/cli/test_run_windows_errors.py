"""``stream-metrics run`` with windows and groups: options that contradict, bad times and bad groups."""

from __future__ import annotations

import json

import pytest

GOOD = {"y_true": "a", "y_pred": "a", "ts": 5, "land": "fi"}
TIMED = ["--time-field", "ts", "--window", "5m"]


def line(record):
    """Return a record as a line."""
    return json.dumps(record).encode() + b"\n"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
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
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_contradicting_options_are_refused(cli, options, reason):
    """Options that do not go together end with status 2 and the reason, before anything is read."""
    result = cli("run", "-", *options, stdin=b"no record")

    assert (result.status, result.out) == (2, "")
    assert reason in result.err


@pytest.mark.parametrize(
    ("made", "options", "reason"),
    [
        (TIMED, [], "keeps times: --time-field says where they are"),
        (["--by", "land"], [], "keeps groups: --by says where they are"),
        ([], ["--by", "land"], "keeps no groups, so --by feeds nothing"),
        (["--window", "9"], ["--time-field", "ts"], "keeps no times, so --time-field feeds nothing"),
        (["--window", "9"], ["--window", "9"], "--window does not go with --resume"),
        (["--by", "land"], ["--by", "land", "--max-groups", "3"], "--max-groups does not go with --resume"),
    ],
)
def test_resumed_state_has_its_fields_named(cli, tmp_path, made, options, reason):
    """A resumed state brings its windows and groups; the fields that it reads are named, and no others."""
    state = tmp_path / "state"
    cli("run", "-", *made, "--state", state, stdin=line(GOOD))
    result = cli("run", "-", *options, "--resume", state, stdin=line(GOOD))

    assert result.status == 2
    assert reason in result.err


BAD = [
    pytest.param({"ts": None}, "expected the time to be seconds since 1970 or ISO 8601 text", id="null time"),
    pytest.param({"ts": "soon"}, 'from 1824 to 2115, but got "soon"', id="text"),
    pytest.param({"ts": True}, "but got true", id="bool"),
    pytest.param({"ts": 1.7e12}, "but got 1700000000000.0", id="milliseconds"),
    pytest.param({"ts": float("nan")}, "but got NaN", id="nan"),
    pytest.param({"land": None}, "field 'land' is null, which is no group", id="null group"),
    pytest.param({"land": ["fi"]}, "`group`", id="list"),
    pytest.param({"land": {"a": 1}}, "`group`", id="object"),
    pytest.param({"ts": ...}, "no field 'ts'", id="no time"),
    pytest.param({"land": ...}, "no field 'land'", id="no group"),
]


@pytest.mark.parametrize(("change", "reason"), BAD)
def test_bad_times_and_groups_are_bad_records(cli, change, reason):
    """A time or a group that is missing or unreadable ends the run, or is skipped and reported, by its line."""
    bad = {name: value for name, value in {**GOOD, **change}.items() if value is not ...}
    data = line(GOOD) + line(bad) + line(GOOD)
    ended = cli("run", "-", *TIMED, "--by", "land", stdin=data)
    skipped = cli("run", "-", *TIMED, "--by", "land", "--skip-bad", "--format", "json", stdin=data)
    found = json.loads(skipped.out)

    assert (ended.status, ended.out) == (1, "")
    assert ended.err.startswith("stream-metrics: stdin, line 2: ")
    assert reason in ended.err
    assert (skipped.status, found["overall"]["n"], found["skipped"]["count"]) == (0, 2, 1)
    assert reason in found["skipped"]["first"][0]["reason"]


def test_bad_fields_of_csv(cli):
    """An empty time or group in a CSV is a bad record; a column that is not there ends the run."""
    data = b"y_true,y_pred,ts,land\na,a,5,fi\na,a,,fi\na,a,5,\n"
    result = cli("run", "-", *TIMED, "--by", "land", "--skip-bad", stdin=data)
    missing = cli("run", "-", "--by", "country", stdin=data)

    assert "line 3: expected the time to be seconds" in result.err
    assert "line 4: field 'land' is empty" in result.err
    assert (missing.status, "column 'country' is not in the header" in missing.err) == (1, True)
