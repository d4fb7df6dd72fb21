"""``stream-metrics run`` with windows and groups; ``--plot``, also of ``show``; values as they run, and intervals."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from support.command_line import as_json_lines, counted, run_json, saved

import stream_metrics as sm

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


@pytest.mark.quick
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


@pytest.mark.quick
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


@pytest.mark.quick
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


@pytest.mark.quick
def test_times(cli):
    """A time is a number, also in quotes, or ISO 8601 text; records that come too late are told."""
    for written in (START, str(START), "2023-11-14T23:13:20+01:00"):
        data = as_json_lines([{"y_true": "a", "y_pred": "a", "at": {"ts": written}}])
        state = saved("-", "--time-field", "at.ts", "--window", "1m", stdin=data)
        assert sm.from_bytes(state).latest == START, written

    late = as_json_lines([*RECORDS, {**RECORDS[0], "ts": START - 10**6}])
    result = cli("run", "-", *OVER, "--window", "1m", "--every", 300, stdin=late)
    said = "stream-metrics: 1 too late for the window and not counted (--lateness)\n"
    assert (result.status, result.err) == (0, said)


ROWS = [
    {"y_true": "ab"[at % 2], "y_pred": "aab"[at % 3], "land": ["fi", "de"][at % 5 > 2], "ts": 60 * at}
    for at in range(90)
]
LINES = as_json_lines(ROWS)
SEVEN = "accuracy,macro_f1,weighted_f1,cohen_kappa,micro_f1,macro_recall,macro_precision"


@pytest.fixture
def figures(monkeypatch):
    """Return the figures that matplotlib writes while a command runs."""
    figure = pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed")
    written, usual = [], figure.Figure.savefig

    def savefig(self, *arguments, **options):
        written.append(self)
        usual(self, *arguments, **options)

    monkeypatch.setattr(figure.Figure, "savefig", savefig)
    return written


def columns_of(figures):
    """Return the points of the axis, the values of each line, and the names of the lines."""
    (ax,) = figures[-1].axes
    names = [text.get_text() for text in ax.get_legend().get_texts()] if ax.get_legend() else [ax.get_title()]
    return list(ax.lines[0].get_xdata()), [list(line.get_ydata()) for line in ax.lines[: len(names)]], names


def test_headline_is_drawn_over_samples(cli, tmp_path, figures):
    """Without --metrics the columns of --every are drawn, over the records."""
    image = tmp_path / "a.png"
    result = cli("run", "-", "--window", "20", "--every", "30", "--plot", image, "--by", "land", stdin=LINES)
    (at, columns, names), table = columns_of(figures), [line.split() for line in result.out.splitlines()[:4]]

    assert (result.status, result.err) == (0, f"stream-metrics: {image} is drawn\n")
    assert image.read_bytes().startswith(b"\x89PNG")
    assert (at, len(names)) == ([30, 60, 90], 5)
    assert result.out.splitlines()[0] == "records         n  Accuracy  Balanced  Macro F1       MCC     Kappa".rjust(68)
    assert [[f"{column[row]:.4f}" for column in columns] for row in range(3)] == [row[2:] for row in table[1:]]


def test_metrics_are_drawn_over_time(cli, tmp_path, figures):
    """In a window of time the axis is the latest time seen; --metrics chooses what is drawn."""
    options = ("--time-field", "ts", "--window", "10m", "--every", 45, "--metrics", "accuracy")
    result = cli("run", "-", *options, "--plot", tmp_path / "a.svg", stdin=LINES)
    at, columns, names = columns_of(figures)

    assert (result.status, (tmp_path / "a.svg").exists()) == (0, True)
    times = np.array(["1970-01-01T00:44", "1970-01-01T01:29"], "datetime64[us]")
    assert np.array(at, "datetime64[us]").tolist() == times.tolist()
    assert (len(columns), names[0].startswith("Accuracy over ")) == (1, True)


UNDRAWN = [
    ("{}/a.foo", 2, "the name has to end in .png, .svg or .pdf"),
    ("{}/none/a.png", 1, "there is no folder"),
    (f"{{}}/a.png --metrics {SEVEN}", 2, "--plot tells 6 metrics apart, but --metrics names 7"),
    ("{}/a.png --metrics recall", 2, "recall has one for each class: --pos-label says which"),
    ("{}/a.png --metrics recall --pos-label c", 2, "which class, of 'a', 'b'"),
    ("{}/a.png --every 1000", 1, "--every is more than the records"),
]


def test_what_cannot_be_drawn_is_said(cli, tmp_path, figures):
    """An image that cannot be drawn or written is an error that names the reason; a report is printed before it."""
    for options, status, reason in UNDRAWN:
        result = cli("run", "-", "--every", 30, "--plot", *options.format(tmp_path).split(), stdin=LINES)
        assert (result.status, list(tmp_path.iterdir()), figures) == (status, [], []), result
        assert reason in result.err

    image, data = tmp_path / "a.png", b"y_true,y_pred\n" + b"".join(b"%d,%d\n" % (at, at) for at in range(4097))
    result = cli("run", "-", "--plot", image, stdin=data)
    assert (result.status, result.out.startswith("4 097 samples"), "snapshot" in result.out) == (1, True, False)
    assert result.err == f"stream-metrics: {image}: nothing is drawn of 4097 classes, but of at most 4096\n"


def test_show_draws_windows_and_groups(cli, tmp_path, figures):
    """`show --plot` and `run --plot` draw the window, or each group; both say what they wrote."""
    image = tmp_path / "a.png"
    for options in ("--window 20", "--by land --window 20"):
        run = cli("run", "-", *options.split(), "--state", tmp_path / "state", "--plot", image, stdin=LINES)
        drawn_by_run = image.read_bytes()
        show = cli("show", tmp_path / "state", "--plot", image)

        assert {run.err, show.err} == {f"stream-metrics: {image} is drawn\n"}
        assert run.out == show.out
        assert drawn_by_run == image.read_bytes()
        assert drawn_by_run.startswith(b"\x89PNG")
        groups = {tick.get_text() for tick in figures[-1].axes[0].get_yticklabels()}
        assert (groups == {"de", "fi"}) == ("--by" in options)


def test_binary_roc_area_over_the_stream(cli, tmp_path, figures):
    """Of a metric with a value for each class, the one of --pos-label, by default of 1, is printed and drawn."""
    rows = [{"y_true": at % 3 % 2, "scores": (at * 7 % 11) / 10} for at in range(60)]
    options = ("--scores", "--every", "20", "--metrics", "roc_auc,log_loss,recall")
    result = cli("run", "-", *options, "--plot", tmp_path / "a.png", stdin=as_json_lines(rows))
    at, columns, names = columns_of(figures)

    assert (at, names) == ([20, 40, 60], ["ROC AUC", "Log loss (cross-entropy)", "recall"])
    state = sm.MetricSet(scores=True)
    for row in range(3):
        state.update_many(*zip(*((r["y_true"], r["scores"]) for r in rows[20 * row : 20 * row + 20]), strict=True))
        snapshot = state.snapshot()
        values = [snapshot["roc_auc"], snapshot["log_loss"], snapshot.per_class["recall"][1]]
        assert [column[row] for column in columns] == values
        assert result.out.splitlines()[row + 1].split() == [str(at[row]), *(f"{value:.4f}" for value in values)]


def test_class_of_running_values(cli):
    """--pos-label names the class, with --every also without scores; the header has every key that was asked for."""
    state = sm.MetricSet()
    state.update_many([r["y_true"] for r in ROWS[:30]], [r["y_pred"] for r in ROWS[:30]])
    snapshot, options = state.snapshot(), ("--every", "30", "--metrics", "recall,accuracy", "--format", "json")
    for label in "ab":
        line = json.loads(cli("run", "-", *options, "--pos-label", label, stdin=LINES).out.splitlines()[0])
        assert line == {"n": 30, "recall": snapshot["recall", label], "accuracy": snapshot["accuracy"]}
    refused, unused = (cli("run", "-", *more, stdin=LINES) for more in (options, ("--pos-label", "a")))
    assert (refused.status, refused.out, unused.status) == (2, "", 2)
    assert "--pos-label needs --scores or --every" in unused.err


def test_running_intervals_fit_a_terminal(cli):
    """Below a line of values stand the lower and upper ends, under one header of at most 80 columns."""
    plain = cli("run", "-", "--every", "30", stdin=LINES).out.splitlines()[:4]
    lines = cli("run", "-", "--every", "30", "--intervals", stdin=LINES).out.splitlines()[:10]
    data = cli("run", "-", "--every", "30", "--intervals", "--format", "json", stdin=LINES).out.splitlines()

    assert [lines[0], *lines[1::3]] == plain
    assert max(map(len, lines)) <= 80
    for row in range(3):
        ends = json.loads(data[row])["intervals"].values()
        for at, side in enumerate(("low", "high")):
            shown = [f"{end[at]:.4f}" for end in ends if end[at] is not None]
            assert lines[2 + 3 * row + at].split() == [side, *shown]
