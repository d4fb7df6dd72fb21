"""``run --plot`` and ``show --plot``, values that are drawn and printed as they run, and their intervals."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.command_line import as_json_lines

import stream_metrics as sm

figure = pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed")

RECORDS = [
    {"y_true": "ab"[at % 2], "y_pred": "aab"[at % 3], "land": ["fi", "de"][at % 5 > 2], "ts": 60 * at}
    for at in range(90)
]
DATA = as_json_lines(RECORDS)
SEVEN = "accuracy,macro_f1,weighted_f1,cohen_kappa,micro_f1,macro_recall,macro_precision"


@pytest.fixture
def figures(monkeypatch):
    """Return the figures that matplotlib writes while a command runs."""
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
    result = cli("run", "-", "--window", "20", "--every", "30", "--plot", image, "--by", "land", stdin=DATA)
    (at, columns, names), table = columns_of(figures), [line.split() for line in result.out.splitlines()[:4]]

    assert (result.status, result.err) == (0, f"stream-metrics: {image} is drawn\n")
    assert image.read_bytes().startswith(b"\x89PNG")
    assert (at, len(names)) == ([30, 60, 90], 5)
    assert result.out.splitlines()[0] == "records         n  Accuracy  Balanced  Macro F1       MCC     Kappa".rjust(68)
    assert [[f"{column[row]:.4f}" for column in columns] for row in range(3)] == [row[2:] for row in table[1:]]


def test_metrics_are_drawn_over_time(cli, tmp_path, figures):
    """In a window of time the axis is the latest time seen; --metrics chooses what is drawn."""
    options = ("--time-field", "ts", "--window", "10m", "--every", 45, "--metrics", "accuracy")
    result = cli("run", "-", *options, "--plot", tmp_path / "a.svg", stdin=DATA)
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


def test_what_cannot_be_drawn_is_said(cli, tmp_path):
    """An image that cannot be drawn or written is an error that names the reason; a report is printed before it."""
    for options, status, reason in UNDRAWN:
        result = cli("run", "-", "--every", 30, "--plot", *options.format(tmp_path).split(), stdin=DATA)
        assert (status, reason in result.err, list(tmp_path.iterdir())) == (result.status, True, []), result

    image, data = tmp_path / "a.png", b"y_true,y_pred\n" + b"".join(b"%d,%d\n" % (at, at) for at in range(4097))
    result = cli("run", "-", "--plot", image, stdin=data)
    assert (result.status, result.out.startswith("4 097 samples"), "snapshot" in result.out) == (1, True, False)
    assert result.err == f"stream-metrics: {image}: nothing is drawn of 4097 classes, but of at most 4096\n"


def test_show_draws_windows_and_groups(cli, tmp_path, figures):
    """`show --plot` and `run --plot` draw the window, or each group; both say what they wrote."""
    image = tmp_path / "a.png"
    for options in ("--window 20", "--by land", "--by land --window 20"):
        run = cli("run", "-", *options.split(), "--state", tmp_path / "state", "--plot", image, stdin=DATA)
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
    state.update_many([r["y_true"] for r in RECORDS[:30]], [r["y_pred"] for r in RECORDS[:30]])
    snapshot, options = state.snapshot(), ("--every", "30", "--metrics", "recall,accuracy", "--format", "json")
    for label in "ab":
        line = json.loads(cli("run", "-", *options, "--pos-label", label, stdin=DATA).out.splitlines()[0])
        assert line == {"n": 30, "recall": snapshot["recall", label], "accuracy": snapshot["accuracy"]}
    refused, unused = (cli("run", "-", *more, stdin=DATA) for more in (options, ("--pos-label", "a")))
    assert (refused.status, refused.out, unused.status) == (2, "", 2)
    assert "--pos-label needs --scores or --every" in unused.err


def test_running_intervals_fit_a_terminal(cli):
    """Below a line of values stand the lower and upper ends, under one header of at most 80 columns."""
    plain = cli("run", "-", "--every", "30", stdin=DATA).out.splitlines()[:4]
    lines = cli("run", "-", "--every", "30", "--intervals", stdin=DATA).out.splitlines()[:10]
    data = cli("run", "-", "--every", "30", "--intervals", "--format", "json", stdin=DATA).out.splitlines()

    assert [lines[0], *lines[1::3]] == plain
    assert max(map(len, lines)) <= 80
    for row in range(3):
        ends = json.loads(data[row])["intervals"].values()
        for at, side in enumerate(("low", "high")):
            shown = [f"{end[at]:.4f}" for end in ends if end[at] is not None]
            assert lines[2 + 3 * row + at].split() == [side, *shown]
