"""``stream-metrics merge`` and ``show``."""

from __future__ import annotations

import json
import sys

import pytest

import stream_metrics as sm

PAIRS = [("cat", "cat"), ("cat", "dog"), ("dog", "dog"), ("dog", None), ("emu", "cat"), ("emu", "emu")]


@pytest.fixture
def shards(tmp_path):
    """Three state files and the bytes of the whole."""
    whole = sm.MetricSet()
    paths = []
    for number in range(3):
        state = sm.MetricSet()
        for truth, answer in PAIRS[number::3]:
            state.update(truth, answer)
            whole.update(truth, answer)
        paths.append(tmp_path / f"{number}.state")
        paths[-1].write_bytes(state.to_bytes())
    return paths, whole


def test_merge_in_any_order(cli, tmp_path, shards):
    """The merged file holds the bytes of one process, regardless of the order."""
    paths, whole = shards
    for order in ([0, 1, 2], [2, 0, 1]):
        result = cli("merge", *[paths[position] for position in order], "-o", tmp_path / "all")

        assert (0, f"{tmp_path / 'all'}: 3 states, 5 samples\n", "") == result
        assert whole.to_bytes() == (tmp_path / "all").read_bytes()


def test_the_first_file_says_what_is_shown(cli, tmp_path):
    """Files of two versions merge; the counts do not depend on which is first."""
    paths = []
    for key in ("accuracy", "macro_f1"):
        state = sm.MetricSet([key])
        state.update("cat", "dog")
        paths.append(tmp_path / key)
        paths[-1].write_bytes(state.to_bytes())
    totals = []
    for order in (paths, paths[::-1]):
        assert cli("merge", *order, "-o", tmp_path / "all").status == 0
        totals.append(sm.MetricSet.from_bytes((tmp_path / "all").read_bytes()))

    assert [total.metrics for total in totals] == [("accuracy",), ("macro_f1",)]
    assert totals[0].reconfigured(metrics=["macro_f1"]) == totals[1]


def test_every_bad_file_is_named(cli, tmp_path, shards):
    """Damaged, missing and unmergeable files are each named with a reason, and nothing is written."""
    paths, _ = shards
    cut, fixed = tmp_path / "cut.state", tmp_path / "fixed.state"
    cut.write_bytes(paths[0].read_bytes()[:-1])
    fixed.write_bytes(sm.MetricSet(labels=["a"]).to_bytes())

    result = cli("merge", *paths, cut, tmp_path / "missing", fixed, "-o", tmp_path / "all")
    lines = result.err.splitlines()

    assert (result.status, result.out, (tmp_path / "all").exists()) == (1, "", False)
    assert [f"stream-metrics: {path}" for path in (cut, tmp_path / "missing", fixed)] == [
        ": ".join(line.split(": ")[:2]) for line in lines
    ]


def test_one_file_twice_is_refused(cli, tmp_path, shards):
    """A file named twice would be counted twice."""
    path = shards[0][0]
    result = cli("merge", path, path.parent / "." / path.name, "-o", tmp_path / "all")

    assert (result.status, (tmp_path / "all").exists()) == (2, False)
    assert "twice" in result.err


def test_patterns_stand_for_hundreds_of_files(cli, tmp_path):
    """A pattern in quotes reaches files in all folders; each bad one among them is named."""
    whole = sm.MetricSet()
    for number in range(300):
        state = sm.MetricSet()
        state.update(number % 7, number % 5)
        whole.merge(state)
        folder = tmp_path / f"host {number % 3}" / "today"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.state").write_bytes(state.to_bytes())

    result = cli("merge", tmp_path / "**" / "*.state", "-o", tmp_path / "all")
    bad = [tmp_path / "host 1" / "today" / "1.state", tmp_path / "host 2" / "today" / "2.state"]
    for path in bad:
        path.write_bytes(b"no state")
    failed = cli("merge", tmp_path / "**" / "*.state", "-o", tmp_path / "none")

    assert (0, f"{tmp_path / 'all'}: 300 states, 300 samples\n", "") == result
    assert (tmp_path / "all").read_bytes() == whole.to_bytes()
    assert (failed.status, (tmp_path / "none").exists()) == (1, False)
    assert [line.split(": ")[1] for line in failed.err.splitlines()] == [str(path) for path in bad]


def test_patterns_are_checked(cli, tmp_path, shards):
    """A pattern that no file is like, one that meets a named file, and one that meets the output, are refused."""
    paths, _ = shards
    none = cli("merge", tmp_path / "*.bin", "-o", tmp_path / "all")
    twice = cli("merge", paths[0], tmp_path / "*.state", "-o", tmp_path / "all")
    again = cli("merge", tmp_path / "*.state", "-o", paths[2])

    assert (none.status, twice.status, again.status) == (1, 2, 2)
    assert f"{tmp_path / '*.bin'}: no file is named like this" in none.err
    assert "counted twice" in twice.err
    assert "2.state is read and would be overwritten" in again.err
    assert sm.from_bytes(paths[2].read_bytes()).n < 3


def test_a_name_may_look_like_a_pattern(cli, tmp_path):
    """A file that is there is taken by its name."""
    path = tmp_path / "shard[1].state"
    path.write_bytes(sm.MetricSet().to_bytes())

    assert cli("merge", path, "-o", tmp_path / "all").status == 0


def test_merge_needs_a_place_to_write(cli, tmp_path, shards):
    """-o is required, and must be a file that can be written."""
    assert cli("merge", shards[0][0]).status == 2
    assert cli("merge", shards[0][0], "-o", tmp_path).status == 1


def test_show_table(cli, shards):
    """The table is the report of the snapshot."""
    path = shards[0][0]

    assert (0, f"{sm.from_bytes(path.read_bytes()).snapshot()}\n", "") == cli("show", path)


def test_show_json(cli, shards):
    """JSON is the snapshot's own, limited by --metrics."""
    path = shards[0][0]
    snapshot = sm.from_bytes(path.read_bytes()).snapshot()

    whole = cli("show", path, "--format", "json")
    some = json.loads(cli("show", path, "--format", "json", "--metrics", "macro_f1,recall").out)

    assert json.loads(snapshot.to_json()) == json.loads(whole.out)
    assert {"macro_f1": snapshot["macro_f1"]} == some["metrics"]
    assert list(some["per_class"]) == ["recall"]


@pytest.mark.parametrize("make", [sm.ConfusionMatrix, sm.MCC, lambda: sm.MetricSet(["accuracy"])])
def test_show_any_kind_of_state(cli, tmp_path, make):
    """States written in Python, of one metric or of none, are shown as well."""
    state = make()
    state.update(1, 1)
    (tmp_path / "s").write_bytes(state.to_bytes())

    result = cli("show", tmp_path / "s", "--metrics", "accuracy", "--format", "json")

    assert (result.status, json.loads(result.out)["metrics"]["accuracy"]) == (0, 1.0)


def test_show_what_is_no_state(cli, tmp_path):
    """A foreign, an empty and a missing file are named."""
    (tmp_path / "foreign").write_bytes(b"y_true,y_pred\n")
    (tmp_path / "empty").write_bytes(b"")
    for name in ("foreign", "empty", "missing"):
        result = cli("show", tmp_path / name)

        assert (result.status, result.out) == (1, "")
        assert result.err.startswith(f"stream-metrics: {tmp_path / name}: ")


def test_unknown_metric_is_refused_with_suggestions(cli, shards):
    """A misspelt key names its neighbours."""
    result = cli("show", shards[0][0], "--metrics", "macro_f2")

    assert result.status == 2
    assert "macro_f1" in result.err


def fed(state):
    """Return the state after three scores of a binary stream."""
    for truth, score in ((True, 0.8), (False, 0.3), (True, 0.2)):
        state.update(truth, score)
    return state


@pytest.mark.parametrize("make", [lambda: sm.MetricSet(scores=True), sm.RankSketch, sm.ROCAUC, sm.HandTillAUC])
def test_show_states_with_ranks_of_scores(cli, tmp_path, make):
    """States of scores are shown, drawn, and read by any key that they can answer."""
    pytest.importorskip("matplotlib", reason="draws with matplotlib")
    path, image = tmp_path / "s", tmp_path / "s.png"
    path.write_bytes(fed(make()).to_bytes())

    result = cli("show", path, "--metrics", "roc_auc,roc_auc_ovr", "--format", "json", "--plot", image)

    assert (result.status, json.loads(result.out)["metrics"]) == (0, {"roc_auc_ovr": 0.5})
    assert image.read_bytes()[:4] == b"\x89PNG"
    assert cli("show", path).status == 0


@pytest.mark.parametrize("make", [sm.ProbabilityLosses, sm.LogLoss])
def test_show_states_of_losses(cli, tmp_path, make):
    """Sums of losses are shown; there is nothing to draw in them, nor are ranks there."""
    path = tmp_path / "s"
    path.write_bytes(fed(make()).to_bytes())
    drawn = cli("show", path, "--plot", tmp_path / "s.png")
    ranked = cli("show", path, "--metrics", "roc_auc_ovr")

    assert "log_loss" in json.loads(cli("show", path, "--format", "json").out)["metrics"]
    assert (drawn.status, ranked.status) == (1, 2)
    assert drawn.err.startswith(f"stream-metrics: {tmp_path / 's.png'}: nothing to draw")
    assert ranked.err.startswith("stream-metrics: --metrics names roc_auc_ovr, which needs scores")


def test_show_one_metric_leads_with_its_value(cli, tmp_path):
    """A metric with options of its own is read first, as no report has them."""
    state = fed(sm.PartialROCAUC(max_fpr=0.5))
    (tmp_path / "s").write_bytes(state.to_bytes())

    assert cli("show", tmp_path / "s").out.splitlines()[0] == repr(state)


def test_plot(cli, tmp_path, shards):
    """--plot writes an image, says so, and prints the report too."""
    pytest.importorskip("matplotlib", reason="draws with matplotlib")
    image = tmp_path / "all.png"

    result = cli("show", shards[0][0], "--plot", image)

    assert (result.status, image.read_bytes()[:4]) == (0, b"\x89PNG")
    assert (result.out, result.err) == (cli("show", shards[0][0]).out, f"stream-metrics: {image} is drawn\n")


def test_plot_formats(cli, tmp_path, shards):
    """An image format that does not exist, or a folder that does not, is an error of one line."""
    pytest.importorskip("matplotlib", reason="draws with matplotlib")
    for image, status in ((tmp_path / "all.xyz", 2), (tmp_path / "none" / "all.png", 1)):
        result = cli("show", shards[0][0], "--plot", image)

        assert (result.status, result.out, result.err.count("\n")) == (status, "", 1)


def test_plot_without_matplotlib(cli, tmp_path, shards, monkeypatch):
    """A missing extra is one line that says what to install, and exit status 2."""
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)

    result = cli("show", shards[0][0], "--plot", tmp_path / "all.png")

    assert (result.status, result.out) == (2, "")
    assert result.err == 'stream-metrics: --plot needs matplotlib: pip install "stream-metrics[plot]"\n'


@pytest.mark.parametrize("data", [b"", b"y_true,y_pred\n", bytes(range(200))])
def test_what_is_no_state_is_named(cli, tmp_path, data):
    """The message says what writes a state."""
    (tmp_path / "s").write_bytes(data)

    for result in (cli("show", tmp_path / "s"), cli("merge", tmp_path / "s", "-o", tmp_path / "all")):
        reason = "is no saved state; 'stream-metrics run --state' writes one"
        assert result == (1, "", f"stream-metrics: {tmp_path / 's'}: {reason}\n")
