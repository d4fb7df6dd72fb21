"""``stream-metrics merge`` and ``show``, and their tables as CSV."""

from __future__ import annotations

import contextlib
import csv
import json
import sys
from typing import Any

import pytest
from support.command_line import as_json_lines, counted, refusal, run_json

import stream_metrics as sm

PAIRS = [("cat", "cat"), ("cat", "dog"), ("dog", "dog"), ("dog", None), ("emu", "cat"), ("emu", "emu")]


def write(path, state):
    """Write a state to a file and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(state.to_bytes())
    return path


@pytest.fixture
def shards(tmp_path):
    """Three state files and the whole."""
    columns = list(map(list, zip(*PAIRS, strict=True)))
    parts = ([column[at::3] for column in columns] for at in range(3))
    states = [counted(sm.MetricSet(), *part) for part in parts]
    return [write(tmp_path / f"{at}.state", state) for at, state in enumerate(states)], sm.merge(states)


def test_merge_in_any_order(cli, tmp_path, shards):
    """The merged file holds the bytes of one process; the first file says what is shown, and counts do not change."""
    paths, whole = shards
    for order in ([0, 1, 2], [2, 0, 1]):
        result = cli("merge", *[paths[position] for position in order], "-o", tmp_path / "all")
        assert (0, f"{tmp_path / 'all'}: 3 states, 5 samples\n", "") == result
        assert whole.to_bytes() == (tmp_path / "all").read_bytes()

    keys = ("accuracy", "macro_f1")
    other = [write(tmp_path / key, counted(sm.MetricSet([key]), ["cat"], ["dog"])) for key in keys]
    totals = []
    for order in (other, other[::-1]):
        assert cli("merge", *order, "-o", tmp_path / "all").status == 0
        totals.append(sm.MetricSet.from_bytes((tmp_path / "all").read_bytes()))
    assert [total.metrics for total in totals] == [("accuracy",), ("macro_f1",)]
    assert totals[0].reconfigured(metrics=["macro_f1"]) == totals[1]


def test_files_that_cannot_be_merged(cli, tmp_path, shards):
    """Bad files are each named; one file twice, and no place to write, are refused; nothing is written."""
    paths, total = shards[0], tmp_path / "all"
    cut, fixed = tmp_path / "cut.bin", write(tmp_path / "fixed.bin", sm.MetricSet(labels=["a"]))
    cut.write_bytes(paths[0].read_bytes()[:-1])
    rolling = write(tmp_path / "rolling.bin", sm.Rolling(sm.MetricSet(), 5))  # keeps the last N
    for first, bad in ((paths, [cut, tmp_path / "missing", fixed]), (paths, [rolling]), ([], [rolling, *paths])):
        result = cli("merge", *first, *bad, "-o", total)
        assert (result.status, result.out) == (1, "")
        named = [": ".join(line.split(": ")[:2]) for line in result.err.splitlines()]
        assert named == [f"stream-metrics: {path}" for path in bad if path not in paths]
    assert f"{rolling}: Expected states that can be merged, but got a Rolling" in result.err

    refused = [
        ((paths[0], paths[0].parent / "." / paths[0].name, "-o", total), 2, "twice"),
        ((tmp_path / "*.none", "-o", total), 1, f"{tmp_path / '*.none'}: no file is named like this"),
        ((paths[0], tmp_path / "*.state", "-o", total), 2, "counted twice"),
        ((tmp_path / "*.state", "-o", paths[2]), 2, "2.state is read and would be overwritten"),
        ((paths[0],), 2, "-o"),
        ((paths[0], "-o", tmp_path), 1, str(tmp_path)),
    ]
    for arguments, status, reason in refused:
        assert reason in refusal("merge", *arguments, status=status)
    assert (total.exists(), sm.from_bytes(paths[2].read_bytes()).n < 3) == (False, True)


def test_patterns_stand_for_hundreds_of_files(cli, tmp_path):
    """A pattern in quotes reaches files in all folders; a file is taken by its name first."""
    states = [counted(sm.MetricSet(), [number % 7], [number % 5]) for number in range(300)]
    for number, state in enumerate(states):
        write(tmp_path / f"host {number % 3}" / "today" / f"{number}.state", state)
    result = cli("merge", tmp_path / "**" / "*.state", "-o", tmp_path / "all")
    assert (0, f"{tmp_path / 'all'}: 300 states, 300 samples\n", "") == result
    assert (tmp_path / "all").read_bytes() == sm.merge(states).to_bytes()
    assert cli("merge", write(tmp_path / "shard[1].state", sm.MetricSet()), "-o", tmp_path / "all").status == 0


def test_what_show_prints(cli, tmp_path, shards):
    """The report of the snapshot, or its JSON, limited by --metrics; of one metric its own value first."""
    path = shards[0][0]
    snapshot = sm.from_bytes(path.read_bytes()).snapshot()
    assert (0, f"{snapshot}\n", "") == cli("show", path)
    assert json.loads(snapshot.to_json()) == run_json("show", path)
    some = run_json("show", path, "--metrics", "macro_f1,recall")
    assert ({"macro_f1": snapshot["macro_f1"]}, ["recall"]) == (some["metrics"], list(some["per_class"]))
    assert "macro_f1" in refusal("show", path, "--metrics", "macro_f2", status=2)

    state = fed(sm.PartialROCAUC(max_fpr=0.5))
    assert cli("show", write(tmp_path / "s", state)).out.splitlines()[0] == repr(state)


NO_STATE = (b"", b"y_true,y_pred\n", bytes(range(200)))


def test_what_is_no_state(cli, tmp_path):
    """A foreign, an empty and a missing file are named, with what writes a state."""
    path = tmp_path / "s"
    assert refusal("show", path).startswith(f"stream-metrics: {path}: ")
    for data in NO_STATE:
        path.write_bytes(data)
        said = f"stream-metrics: {path}: is no saved state; 'stream-metrics run --state' writes one\n"
        assert cli("show", path) == cli("merge", path, "-o", tmp_path / "all") == (1, "", said)


def fed(state):
    """Return the state after three scores of a binary stream."""
    for truth, score in ((True, 0.8), (False, 0.3), (True, 0.2)):
        state.update(truth, score)
    return state


SHOWN = [
    *((counted(make(), [1], [1]), "accuracy", {"accuracy": 1.0})
      for make in (sm.ConfusionMatrix, sm.MCC, lambda: sm.MetricSet(["accuracy"]))),
    *((fed(make()), "roc_auc,roc_auc_ovr", {"roc_auc_ovr": 0.5})
      for make in (lambda: sm.MetricSet(scores=True), sm.RankSketch, sm.ROCAUC, sm.HandTillAUC)),
]  # fmt: skip


def test_show_any_kind_of_state(cli, tmp_path):
    """States written in Python, of labels, ranks or losses, are shown, and drawn if there is something to draw."""
    pytest.importorskip("matplotlib", reason="draws with matplotlib")
    path, image = tmp_path / "s", tmp_path / "s.png"
    for state, keys, values in SHOWN:
        image.unlink(missing_ok=True)
        write(path, state)
        shown = run_json("show", path, "--metrics", keys, "--plot", image)
        assert (shown["metrics"], image.read_bytes()[:4], cli("show", path).status) == (values, b"\x89PNG", 0), state
    for make in (sm.ProbabilityLosses, sm.LogLoss):
        write(path, fed(make()))
        assert "log_loss" in run_json("show", path)["metrics"]
        drawn = cli("show", path, "--plot", image)
        assert drawn.status == 1
        assert drawn.err.startswith(f"stream-metrics: {image}: nothing to draw")
        needs = "stream-metrics: --metrics names roc_auc_ovr, which needs scores"
        assert refusal("show", path, "--metrics", "roc_auc_ovr", status=2).startswith(needs)


def test_plots(cli, tmp_path, shards, monkeypatch):
    """--plot says so and prints the report too; a wrong format or folder, or no matplotlib, is an error of one line."""
    pytest.importorskip("matplotlib", reason="draws with matplotlib")
    path, image = shards[0][0], tmp_path / "all.png"
    assert cli("show", path, "--plot", image) == (0, cli("show", path).out, f"stream-metrics: {image} is drawn\n")
    for wrong, status in ((tmp_path / "all.xyz", 2), (tmp_path / "none" / "all.png", 1)):
        refusal("show", path, "--plot", wrong, status=status)

    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    said = 'stream-metrics: --plot needs matplotlib: pip install "stream-metrics[plot]"\n'
    assert cli("show", path, "--plot", image) == (2, "", said)


LANDS, EVEN = ["fi", 'd"e,'], {"a": 0.5, "b": 0.5}
RECORDS = as_json_lines(
    {"y_true": "ab"[at % 2], "y_pred": "aab"[at % 3], "land": LANDS[at % 5 > 2], "scores": EVEN} for at in range(60)
)


def rows_of(name: str, data: dict[str, Any]) -> dict[tuple[str, str, str], tuple[Any, Any, Any]]:
    """Return the values of a snapshot in JSON by group, metric and class, with the ends of their intervals."""
    ends = data.get("intervals", {"metrics": {}, "per_class": {}})
    values = [(count, "", data[count], {}) for count in ("n", "weight", "abstained")]
    values += [(key, "", value, ends["metrics"].get(key, {})) for key, value in data["metrics"].items()]
    for key, by_class in data["per_class"].items():
        values += [(key, label, x, ends["per_class"].get(key, {}).get(label, {})) for label, x in by_class.items()]
    return {(name, key, label): (value, end.get("low"), end.get("high")) for key, label, value, end in values}


def number(text: str | None) -> Any:
    """Return what a cell holds."""
    with contextlib.suppress(ValueError):
        return float(text) if text else None
    return text


TABLES = ("--intervals", "--metrics recall,accuracy --by land", "--scores --by land --max-groups 1")


@pytest.mark.parametrize("options", TABLES)
def test_rows_of_csv_are_the_values_of_json(cli, tmp_path, options):
    """Group, class, value and interval of each metric; show prints the same as run."""
    state, shown = tmp_path / "state", options.split(" --by")[0].replace("--scores", "").split()
    table = cli("run", "-", *options.split(), "--state", state, "--format", "csv", stdin=RECORDS).out
    data = run_json("run", "-", *options.split(), stdin=RECORDS)
    cells = {
        (row.get("group", ""), row["metric"], row["class"]): tuple(number(row.get(x)) for x in ("value", "low", "high"))
        for row in csv.DictReader(table.splitlines())
    }
    views = {**data["groups"], "": data["overall"], "other": data["other"]} if "--by" in options else {"": data}
    views = {name: view for name, view in views.items() if view}
    assert cells == {place: values for name, view in views.items() for place, values in rows_of(name, view).items()}
    assert len(cells) == len(table.splitlines()) - 1
    assert cli("show", state, *shown, "--format", "csv").out == table


def test_running_values_are_records(cli):
    """With --every the records of all lines are the whole output."""
    options = ("--every", "20", "--metrics", "recall,accuracy", "--pos-label", "b", "--intervals", "--format")
    rows = list(csv.DictReader(cli("run", "-", *options, "csv", stdin=RECORDS).out.splitlines()))
    lines = [json.loads(line) for line in cli("run", "-", *options, "json", stdin=RECORDS).out.splitlines()]

    assert list(rows[0]) == ["n", "recall", "recall_low", "recall_high", "accuracy", "accuracy_low", "accuracy_high"]
    assert len(rows) == len(lines) - 1 == 3
    for row, line in zip(rows, lines, strict=False):
        for key in ("recall", "accuracy"):
            assert number(row[key]) == line[key]
            assert [number(row[f"{key}_{end}"]) for end in ("low", "high")] == line["intervals"][key]
