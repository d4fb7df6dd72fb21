"""``stream-metrics run`` with windows, groups and a plot of the running values."""

from __future__ import annotations

import json
import random

import pytest

import stream_metrics as sm

pytestmark = pytest.mark.quick
START = 1_700_000_000
RNG = random.Random(4)
RECORDS = [
    {"y_true": RNG.choice("ab"), "y_pred": RNG.choice("aab"), "land": RNG.choice(["fi", "de", 7]), "ts": START + 2 * at}
    for at in range(300)
]
COLUMNS = [[record[name] for record in RECORDS] for name in ("y_true", "y_pred", "land", "ts")]
TRUTHS, ANSWERS, LANDS, TIMES = COLUMNS


def lines(records=RECORDS):
    """Return records as JSON Lines."""
    return "".join(json.dumps(record) + "\n" for record in records).encode()


@pytest.fixture
def data(tmp_path):
    """Return the path of a file of all records."""
    path = tmp_path / "data.jsonl"
    path.write_bytes(lines())
    return path


def fed(state, **more):
    """Return a state that has counted all records."""
    state.update_many(TRUTHS, ANSWERS, **more)
    return state


CASES = [
    pytest.param(["--window", "50"], lambda: fed(sm.Rolling(sm.MetricSet(), 50)), id="last 50"),
    pytest.param(
        ["--window", "5m", "--time-field", "ts"], lambda: fed(sm.TimeWindow(sm.MetricSet(), "5m"), t=TIMES), id="5m"
    ),
    pytest.param(
        ["--window", "5m", "--time-field", "ts", "--panes", "5", "--lateness", "30s"],
        lambda: fed(sm.TimeWindow(sm.MetricSet(), "5m", 5, "30s"), t=TIMES),
        id="panes",
    ),
    pytest.param(["--by", "land"], lambda: fed(sm.ByGroup(sm.MetricSet()), group=LANDS), id="groups"),
    pytest.param(
        ["--by", "land", "--max-groups", "2"], lambda: fed(sm.ByGroup(sm.MetricSet(), 2), group=LANDS), id="folded"
    ),
    pytest.param(
        ["--by", "land", "--window", "50"],
        lambda: fed(sm.Rolling(sm.ByGroup(sm.MetricSet()), 50), group=LANDS),
        id="groups of the last 50",
    ),
    pytest.param(
        ["--by", "land", "--window", "5m", "--time-field", "ts"],
        lambda: fed(sm.TimeWindow(sm.ByGroup(sm.MetricSet()), "5m"), group=LANDS, t=TIMES),
        id="groups of 5m",
    ),
]


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize(("options", "expected"), CASES)
def test_state_is_that_of_the_library(cli, data, tmp_path, options, expected):
    """Windows and groups of the command line are those of the library, in chunks of a few records."""
    state = tmp_path / "state"
    result = cli("run", data, *options, "--state", state)

    assert (result.status, result.err) == (0, "")
    assert expected().to_bytes() == state.read_bytes()


@pytest.mark.parametrize(("options", "expected"), CASES)
def test_resumed_state_goes_on(cli, data, tmp_path, options, expected):
    """A state that is resumed in the middle ends as that of one run; fields are named again, the rest is in it."""
    state, fields = tmp_path / "state", []
    for name in ("--by", "--time-field"):
        if name in options:
            fields += [name, options[options.index(name) + 1]]
    cli("run", "-", *options, "--state", state, stdin=lines(RECORDS[:130]))
    result = cli("run", "-", *fields, "--resume", state, "--state", state, stdin=lines(RECORDS[130:]))

    assert (result.status, result.err) == (0, "")
    assert expected().to_bytes() == state.read_bytes()


@pytest.mark.parametrize(("options", "expected"), [case for case in CASES if "50" not in case.values[0]])
def test_shards_merge(cli, tmp_path, options, expected):
    """Windows of time and groups that two workers saved merge into the bytes of one; so `show` shows them."""
    paths = [tmp_path / "one", tmp_path / "two"]
    for first, path in enumerate(paths):
        cli("run", "-", *options, "--state", path, stdin=lines(RECORDS[first::2]))
    merged = cli("merge", *paths, "-o", tmp_path / "all")
    shown = cli("show", tmp_path / "all", "--format", "json")

    assert (merged.status, shown.status) == (0, 0)
    assert expected().to_bytes() == (tmp_path / "all").read_bytes()
    assert json.loads(expected().snapshot().to_json()).items() <= json.loads(shown.out).items()


def test_last_records_do_not_merge(cli, data, tmp_path):
    """`merge` names each file that keeps the last N records, and why these do not merge, and writes nothing."""
    plain, rolling = tmp_path / "plain", tmp_path / "rolling"
    cli("run", data, "--state", plain)
    cli("run", data, "--window", 50, "--state", rolling)
    for paths in ([plain, rolling], [rolling, plain]):
        result = cli("merge", *paths, "-o", tmp_path / "all")

        assert result.status == 1
        assert result.err.startswith(
            f"stream-metrics: {rolling}: Expected states that can be merged, but got a Rolling"
        )
        assert str(plain) not in result.err
        assert not (tmp_path / "all").exists()


def test_running_values_are_of_the_window(cli, data):
    """--every prints how many records were counted and the values of the window of that moment."""
    result = cli("run", data, "--window", 50, "--every", 100, "--metrics", "accuracy", "--format", "json")
    printed = [json.loads(line) for line in result.out.splitlines()[:3]]
    correct = [truth == answer for truth, answer in zip(TRUTHS, ANSWERS, strict=True)]

    assert [
        {"records": end, "n": 50, "accuracy": sum(correct[end - 50 : end]) / 50} for end in (100, 200, 300)
    ] == printed


def test_running_values_of_time_begin_with_it(cli, data):
    """In a window of time a line begins with the latest time seen."""
    options = ("--window", "100s", "--time-field", "ts", "--every", 150)
    shown = cli("run", data, *options).out.splitlines()
    printed = json.loads(cli("run", data, *options, "--format", "json").out.splitlines()[0])

    assert shown[0] == "                time         n  Accuracy  Balanced  Macro F1       MCC     Kappa"
    assert shown[1].startswith("2023-11-14T22:18:18Z        50  ")
    assert (printed["time"], printed["n"]) == ("2023-11-14T22:18:18.000000Z", 50)


def test_groups_from_the_worst(cli, data):
    """The report lists groups from the worst, and how far they are apart; JSON says the same for every metric."""
    expected = fed(sm.ByGroup(sm.MetricSet()), group=LANDS).snapshot()
    worst, gap = [str(group) for group, _ in expected.worst("accuracy")], expected.gap("accuracy")
    report = cli("run", data, "--by", "land", "--metrics", "accuracy").out.splitlines()
    data_of_groups = json.loads(cli("run", data, "--by", "land", "--format", "json").out)

    rows = [line.split()[0] for line in report if line.split() and line.split()[0] in worst]
    assert worst == rows
    assert any("Largest difference" in line for line in report)
    assert worst == data_of_groups["worst_first"]["accuracy"]
    assert {"size": gap.size, "lowest": str(gap.lowest), "highest": str(gap.highest)} == data_of_groups["gaps"][
        "accuracy"
    ]


def test_times_are_read_in_every_spelling(cli, tmp_path):
    """A time is a number of seconds, in quotes or not, or ISO 8601 text, which is in UTC unless it says otherwise."""
    texts = ("2023-11-14T22:13:20Z", "2023-11-14 22:13:20", "2023-11-14T23:13:20+01:00")
    for written in (START, float(START), str(START), *texts):
        record = {"y_true": "a", "y_pred": "a", "at": {"ts": written}}
        cli("run", "-", "--time-field", "at.ts", "--window", "1m", "--state", tmp_path / "state", stdin=lines([record]))

        assert sm.from_bytes((tmp_path / "state").read_bytes()).latest == START, written


def test_late_records_are_told(cli):
    """A record whose time has left the window is not counted, and said to be so."""
    late = [*RECORDS, {**RECORDS[0], "ts": START - 10**6}]
    result = cli("run", "-", "--time-field", "ts", "--window", "1m", "--every", 300, stdin=lines(late))

    assert (
        result.status,
        result.err,
    ) == (0, "stream-metrics: 1 too late for the window and not counted (--lateness)\n")


def test_scores_go_through_windows_and_groups(cli):
    """Scores are counted in a window of groups as well."""
    records = [
        {**record, "scores": {"a": 0.25 + at % 2 / 2, "b": 0.75 - at % 2 / 2}} for at, record in enumerate(RECORDS)
    ]
    result = cli(
        "run", "-", "--scores", "--by", "land", "--window", "60", "--format", "json", "--metrics", "log_loss",
        stdin=lines(records),
    )  # fmt: skip
    plain = cli("run", "-", "--scores", "--format", "json", "--metrics", "log_loss", stdin=lines(records[-60:]))

    expected = json.loads(plain.out)["metrics"]["log_loss"]
    assert expected == json.loads(result.out)["overall"]["metrics"]["log_loss"]
