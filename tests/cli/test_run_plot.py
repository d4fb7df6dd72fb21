"""``stream-metrics run --plot`` and ``show --plot`` of windows and groups."""

from __future__ import annotations

import json

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics import plots
from stream_metrics.snapshots.groups import GroupSnapshot

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

RECORDS = [
    {"y_true": "ab"[at % 2], "y_pred": "aab"[at % 3], "land": ["fi", "de"][at % 5 > 2], "ts": 60 * at}
    for at in range(90)
]
DATA = "".join(json.dumps(record) + "\n" for record in RECORDS).encode()
SEVEN = "accuracy,macro_f1,weighted_f1,cohen_kappa,micro_f1,macro_recall,macro_precision"
PNG = b"\x89PNG"


@pytest.fixture
def drawn(monkeypatch):
    """Return what is given to the figure while a command runs."""
    calls = []
    usual = plots.running

    def running(at, values, **options):
        calls.append((list(at), values))
        return usual(at, values, **options)

    monkeypatch.setattr(plots, "running", running)
    return calls


def test_headline_is_drawn_over_samples(cli, tmp_path, drawn):
    """Without --metrics the columns of --every are drawn, over the records."""
    image = tmp_path / "a.png"
    result = cli("run", "-", "--window", "20", "--every", "30", "--plot", image, "--by", "land", stdin=DATA)
    (at, values), table = drawn[0], [line.split() for line in result.out.splitlines()[:4]]

    assert (result.status, result.err) == (0, f"stream-metrics: {image} is drawn\n")
    assert image.read_bytes().startswith(PNG)
    assert at == [30, 60, 90]
    assert result.out.splitlines()[0] == "records         n  Accuracy  Balanced  Macro F1       MCC     Kappa".rjust(68)
    assert len(values) == 5
    assert [[f"{column[row]:.4f}" for column in values.values()] for row in range(3)] == [row[2:] for row in table[1:]]


def test_metrics_are_drawn_over_time(cli, tmp_path, drawn):
    """In a window of time the axis is the latest time seen; --metrics chooses what is drawn."""
    options = ("--time-field", "ts", "--window", "10m", "--every", 45, "--metrics", "accuracy")
    result = cli("run", "-", *options, "--plot", tmp_path / "a.svg", stdin=DATA)

    assert result.status == 0
    assert (tmp_path / "a.svg").exists()
    assert np.array(["1970-01-01T00:44", "1970-01-01T01:29"], "datetime64[us]").tolist() == [
        t.tolist() for t in drawn[0][0]
    ]
    assert list(drawn[0][1]) == ["accuracy"]


@pytest.mark.parametrize(
    ("options", "status", "reason"),
    [
        (["--plot", "{}/a.foo"], 2, "the name has to end in .png, .svg or .pdf"),
        (["--plot", "{}/none/a.png"], 1, "there is no folder"),
        (["--plot", "{}/a.png", "--metrics", SEVEN], 2,
         "--plot tells 6 metrics apart, but --metrics names 7"),
        (["--plot", "{}/a.png", "--metrics", "recall"], 2, "recall has one for each class: --pos-label says which"),
        (["--plot", "{}/a.png", "--metrics", "recall", "--pos-label", "c"], 2, "which class, of 'a', 'b'"),
        (["--plot", "{}/a.png", "--every", "1000"], 1, "--every is more than the records"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_said(cli, tmp_path, options, status, reason):
    """An image that cannot be drawn or written is an error that names the reason."""
    result = cli("run", "-", "--every", 30, *(text.format(tmp_path) for text in options), stdin=DATA)

    assert status == result.status
    assert reason in result.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("options", [["--window", "20"], ["--by", "land"], ["--by", "land", "--window", "20"]])
def test_show_draws_windows_and_groups(cli, tmp_path, options):
    """`show --plot` and `run --plot` draw the window, or the groups; both say what they wrote."""
    image = tmp_path / "a.png"
    run = cli("run", "-", *options, "--state", tmp_path / "state", "--plot", image, stdin=DATA)
    drawn_by_run = image.read_bytes()
    show = cli("show", tmp_path / "state", "--plot", image)

    assert {run.err, show.err} == {f"stream-metrics: {image} is drawn\n"}
    assert run.out == show.out
    assert drawn_by_run == image.read_bytes()
    assert drawn_by_run.startswith(PNG)


def test_groups_are_drawn_as_groups(cli, tmp_path, monkeypatch):
    """The figure of groups is theirs, not that of all together."""
    calls = []
    usual = GroupSnapshot.plot
    monkeypatch.setattr(GroupSnapshot, "plot", lambda groups: calls.append(list(groups)) or usual(groups))

    cli("run", "-", "--by", "land", "--plot", tmp_path / "a.png", stdin=DATA)

    assert calls == [["de", "fi"]]


def test_binary_roc_area_over_the_stream(cli, tmp_path, drawn):
    """Of a metric with a value for each class, the one of --pos-label, by default of 1, is printed and drawn."""
    rows = [{"y_true": at % 3 % 2, "scores": (at * 7 % 11) / 10} for at in range(60)]
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    options = ("--scores", "--every", "20", "--metrics", "roc_auc,log_loss,recall")

    result = cli("run", "-", *options, "--plot", tmp_path / "a.png", stdin=data)

    state = sm.MetricSet(scores=True)
    for at, row in enumerate(rows, 1):
        state.update(row["y_true"], row["scores"])
        if at % 20 == 0:
            snapshot = state.snapshot()
            values = [snapshot["roc_auc"], snapshot["log_loss"], snapshot.per_class["recall"][1]]
            assert [column[at // 20 - 1] for column in drawn[0][1].values()] == values
            assert result.out.splitlines()[at // 20].split() == [str(at), *(f"{value:.4f}" for value in values)]
    assert list(drawn[0][1]) == ["roc_auc", "log_loss", "recall"]


def test_class_of_running_values(cli):
    """--pos-label names the class, with --every also without scores; the header has every key that was asked for."""
    state = sm.MetricSet()
    state.update_many([r["y_true"] for r in RECORDS[:30]], [r["y_pred"] for r in RECORDS[:30]])

    options = ("--every", "30", "--metrics", "recall,accuracy", "--format", "json")
    for label in "ab":
        line = json.loads(cli("run", "-", *options, "--pos-label", label, stdin=DATA).out.splitlines()[0])
        assert line == {"n": 30, "recall": state.snapshot()["recall", label], "accuracy": state.snapshot()["accuracy"]}
    refused = cli("run", "-", *options, stdin=DATA)
    assert (refused.status, refused.out) == (2, "")
    unused = cli("run", "-", "--pos-label", "a", stdin=DATA)
    assert (unused.status, "--pos-label needs --scores or --every" in unused.err) == (2, True)


def test_running_intervals_fit_a_terminal(cli):
    """Below a line of values stand the lower and upper ends, under one header of at most 80 columns."""
    plain = cli("run", "-", "--every", "30", stdin=DATA).out.splitlines()[:4]
    lines = cli("run", "-", "--every", "30", "--intervals", stdin=DATA).out.splitlines()[:10]
    data = cli("run", "-", "--every", "30", "--intervals", "--format", "json", stdin=DATA).out.splitlines()

    assert [lines[0], *lines[1::3]] == plain
    assert max(map(len, lines)) <= 80
    for row in range(3):
        ends = json.loads(data[row])["intervals"]
        shown = [
            [name, *("" if end[side] is None else f"{end[side]:.4f}" for end in ends.values())]
            for side, name in enumerate(("low", "high"))
        ]
        assert [line.split() for line in lines[2 + 3 * row : 4 + 3 * row]] == [[c for c in r if c] for r in shown]


def test_too_many_classes_to_draw(cli, tmp_path):
    """The report is printed, and the error names the limit in words of the command line."""
    data = b"y_true,y_pred\n" + b"".join(b"%d,%d\n" % (at, at) for at in range(4097))

    result = cli("run", "-", "--plot", tmp_path / "a.png", stdin=data)

    assert (result.status, result.out.startswith("4 097 samples")) == (1, True)
    assert (
        result.err == f"stream-metrics: {tmp_path / 'a.png'}: nothing is drawn of 4097 classes, but of at most 4096\n"
    )
    assert "snapshot" not in result.out
