"""``stream-metrics run --plot`` and ``show --plot`` of windows and groups."""

from __future__ import annotations

import json

import numpy as np
import pytest

from stream_metrics import plots

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

    assert (result.status, result.err) == (0, "")
    assert image.read_bytes().startswith(PNG)
    assert at == [30, 60, 90]
    assert table[0][2:] == list(values)
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
        (["--plot", "{}/a.png", "--metrics", "recall"], 2, "metrics of the whole matrix"),
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
    """`show --plot` draws the window, and all groups together."""
    cli("run", "-", *options, "--state", tmp_path / "state", stdin=DATA)
    result = cli("show", tmp_path / "state", "--plot", tmp_path / "a.png")

    assert (result.status, result.err) == (0, "")
    assert (tmp_path / "a.png").read_bytes().startswith(PNG)
