"""``stream-metrics run`` with windows and groups."""

from __future__ import annotations

import json
import random

import pytest
from support.command_line import as_json_lines, counted, run_json, saved

import stream_metrics as sm

pytestmark = pytest.mark.quick
START = 1_700_000_000
RNG = random.Random(4)
RECORDS = [
    {"y_true": RNG.choice("ab"), "y_pred": RNG.choice("aab"), "land": RNG.choice(["fi", "de", 7]), "ts": START + 2 * at}
    for at in range(300)
]
TRUTHS, ANSWERS, LANDS, TIMES = ([record[name] for record in RECORDS] for name in ("y_true", "y_pred", "land", "ts"))
DATA = as_json_lines(RECORDS)
BY, OVER = ("--by", "land"), ("--time-field", "ts")  # the fields of a state, named again when it is resumed
PANES = ("--window", "5m", "--panes", "5", "--lateness", "30s")
CASES = {
    "last 50": ((), ("--window", "50"), sm.Rolling(sm.MetricSet(), 50)),
    "5m": (OVER, ("--window", "5m"), sm.TimeWindow(sm.MetricSet(), "5m")),
    "panes": (OVER, PANES, sm.TimeWindow(sm.MetricSet(), "5m", 5, "30s")),
    "groups": (BY, (), sm.ByGroup(sm.MetricSet())),
    "folded": (BY, ("--max-groups", "2"), sm.ByGroup(sm.MetricSet(), 2)),
    "groups of the last 50": (BY, ("--window", "50"), sm.Rolling(sm.ByGroup(sm.MetricSet()), 50)),
    "groups of 5m": ((*BY, *OVER), ("--window", "5m"), sm.TimeWindow(sm.ByGroup(sm.MetricSet()), "5m")),
}


def fed(state, fields):
    """Return a copy of a state that has counted all records."""
    more = ({"group": LANDS} if "--by" in fields else {}) | ({"t": TIMES} if "--time-field" in fields else {})
    return counted(state.copy(), TRUTHS, ANSWERS, **more)


@pytest.mark.parametrize("case", CASES)
def test_states_are_those_of_the_library(cli, tmp_path, request, case):
    """In chunks of a few records, resumed in the middle, and, where states merge, in two shards that are shown."""
    fields, options, empty = CASES[case]
    expected, paths = fed(empty, fields), [tmp_path / name for name in ("half", "one", "two", "all")]
    cli("run", "-", *fields, *options, "--state", paths[0], stdin=as_json_lines(RECORDS[:130]))
    assert saved("-", *fields, "--resume", paths[0], stdin=as_json_lines(RECORDS[130:])) == expected.to_bytes()

    if "50" not in case:
        for first, path in enumerate(paths[1:3]):
            cli("run", "-", *fields, *options, "--state", path, stdin=as_json_lines(RECORDS[first::2]))
        assert cli("merge", *paths[1:3], "-o", paths[3]).status == 0
        assert paths[3].read_bytes() == expected.to_bytes()
        assert json.loads(expected.snapshot().to_json()).items() <= run_json("show", paths[3]).items()

    request.getfixturevalue("small_pieces")
    assert saved("-", *fields, *options, stdin=DATA) == expected.to_bytes()


def test_last_records_do_not_merge(cli, tmp_path):
    """`merge` names each file that keeps the last N records, and why these do not merge, and writes nothing."""
    plain, rolling = tmp_path / "plain", tmp_path / "rolling"
    cli("run", "-", "--state", plain, stdin=DATA)
    cli("run", "-", "--window", 50, "--state", rolling, stdin=DATA)
    reason = f"stream-metrics: {rolling}: Expected states that can be merged, but got a Rolling"
    for paths in ([plain, rolling], [rolling, plain]):
        result = cli("merge", *paths, "-o", tmp_path / "all")
        assert (result.status, (tmp_path / "all").exists(), str(plain) in result.err) == (1, False, False)
        assert result.err.startswith(reason)


def test_running_values_are_of_the_window(cli):
    """--every prints how many records were counted, and the values; in a window of time the latest time seen."""
    result = cli("run", "-", "--window", 50, "--every", 100, "--metrics", "accuracy", "--format", "json", stdin=DATA)
    right = [truth == answer for truth, answer in zip(TRUTHS, ANSWERS, strict=True)]
    expected = [{"records": end, "n": 50, "accuracy": sum(right[end - 50 : end]) / 50} for end in (100, 200, 300)]
    assert [json.loads(line) for line in result.out.splitlines()[:3]] == expected

    options = ("--window", "100s", *OVER, "--every", 150)
    shown = cli("run", "-", *options, stdin=DATA).out.splitlines()
    printed = json.loads(cli("run", "-", *options, "--format", "json", stdin=DATA).out.splitlines()[0])
    assert shown[0] == "                time         n  Accuracy  Balanced  Macro F1       MCC     Kappa"
    assert shown[1].startswith("2023-11-14T22:18:18Z        50  ")
    assert (printed["time"], printed["n"]) == ("2023-11-14T22:18:18.000000Z", 50)


def test_groups_from_the_worst(cli):
    """The report lists groups from the worst, and how far they are apart; JSON says the same for every metric."""
    expected = fed(sm.ByGroup(sm.MetricSet()), BY).snapshot()
    worst, gap = [str(group) for group, _ in expected.worst("accuracy")], expected.gap("accuracy")
    report = cli("run", "-", *BY, "--metrics", "accuracy", stdin=DATA).out
    data = run_json("run", "-", *BY, stdin=DATA)

    assert [line.split()[0] for line in report.splitlines() if line.split() and line.split()[0] in worst] == worst
    assert "Largest difference" in report
    assert data["worst_first"]["accuracy"] == worst
    ends = {"size": gap.size, "lowest": str(gap.lowest), "highest": str(gap.highest)}
    assert data["gaps"]["accuracy"] == ends


def test_times(cli):
    """A time is a number, also in quotes, or ISO 8601 text, in UTC unless it says otherwise; late records are told."""
    texts = ("2023-11-14T22:13:20Z", "2023-11-14 22:13:20", "2023-11-14T23:13:20+01:00")
    for written in (START, float(START), str(START), *texts):
        data = as_json_lines([{"y_true": "a", "y_pred": "a", "at": {"ts": written}}])
        state = saved("-", "--time-field", "at.ts", "--window", "1m", stdin=data)
        assert sm.from_bytes(state).latest == START, written

    late = as_json_lines([*RECORDS, {**RECORDS[0], "ts": START - 10**6}])
    result = cli("run", "-", *OVER, "--window", "1m", "--every", 300, stdin=late)
    said = "stream-metrics: 1 too late for the window and not counted (--lateness)\n"
    assert (result.status, result.err) == (0, said)


def test_scores_go_through_windows_and_groups():
    """Scores are counted in a window of groups as well."""
    scores = [{"a": 0.25, "b": 0.75}, {"a": 0.75, "b": 0.25}]
    records = [{**record, "scores": scores[at % 2]} for at, record in enumerate(RECORDS)]
    options = ("--scores", "--metrics", "log_loss")
    grouped = run_json("run", "-", *options, *BY, "--window", "60", stdin=as_json_lines(records))
    plain = run_json("run", "-", *options, stdin=as_json_lines(records[-60:]))

    assert grouped["overall"]["metrics"]["log_loss"] == plain["metrics"]["log_loss"]
