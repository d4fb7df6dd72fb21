"""``query``, ``monitor backup | restore | inspect``, and state files that ``show`` and ``merge`` read."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.command_line import as_json_lines, counted, run_command, run_json
from support.monitor_runs import open_store

import stream_metrics as sm

RNG = random.Random(2)
ROWS = [
    ("fr" if at % 3 else "de", RNG.choice("abc"), {"a": 0.125 * x, "b": 0.5, "c": 0.5 - 0.125 * x})
    for at, x in enumerate(RNG.randrange(5) for _ in range(900))
]
GROUPS, TRUTHS, SCORES = map(list, zip(*ROWS, strict=True))
LINES = as_json_lines(
    {"id": at, "time": 1_700_000_000 + at, "y_true": truth, "scores": scores, "group": group}
    for at, (group, truth, scores) in enumerate(ROWS)
).splitlines(keepends=True)
FLAGS = ("--no-page", "--counting-scores", "true", "--counting-windows", "1h,4h", "--counting-metrics", "accuracy")
FLAGS += ("--store-retention", "1m for 2m,5m for 10m,15m")
WHOLE = counted(sm.MetricSet(scores=True), TRUTHS, scores=SCORES)
TOTAL = WHOLE.snapshot()


def watch(path: Path, lines: list[bytes], *flags: Any) -> Any:
    """Have a monitor read a file, keep its state in another, and return the total of its view."""
    events = path.with_suffix(".jsonl")
    events.write_bytes(b"".join(lines))
    return run_json("monitor", events, "--store-path", path, *FLAGS, *flags)["by_window"]["total"]


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state file of a monitor that has read everything."""
    folder = tmp_path_factory.mktemp("state")
    watch(folder / "state.sqlite", LINES)
    return folder / "state.sqlite"


def test_a_range_is_printed_like_a_state(cli: Callable[..., Any], state: Path) -> None:
    """The whole range has the numbers of the total, with its actual bounds; intervals and formats as in show."""
    answer = run_json("query", state, "--intervals", "--metrics", "accuracy,roc_auc_ovr")
    assert answer["n"] == TOTAL.n
    assert answer["metrics"] == {key: TOTAL[key] for key in ("accuracy", "roc_auc_ovr")}
    assert answer["intervals"]["metrics"]["accuracy"]["low"] == TOTAL.interval("accuracy").low
    assert answer["from"] <= "2023-11-14T22:13:20Z" <= answer["to"]
    piece = "--from", "2023-11-14T22:15:01", "--to", "2023-11-14T22:15:02"
    bounds = "2023-11-14T22:15:00Z to 2023-11-14T22:20:00Z\n"
    assert cli("query", state, *piece).out.startswith(bounds)
    assert cli("query", state, *piece, "--format", "csv").err == f"stream-metrics: {bounds}"


def test_groups_and_pieces_of_a_range(cli: Callable[..., Any], state: Path) -> None:
    """Each group has its own values; points of JSON, rows of CSV and lines of the table are the same."""
    groups = counted(sm.ByGroup(sm.MetricSet(scores=True)), TRUTHS, scores=SCORES, group=GROUPS).snapshot()
    rows = list(csv.DictReader(cli("query", state, "--by", "group", "--format", "csv").out.splitlines()))
    accuracies = {row["group"]: float(row["value"]) for row in rows if row["metric"] == "accuracy" and row["group"]}
    assert accuracies == {name: groups[name]["accuracy"] for name in groups}

    command = "query", state, "--every", "5m", "--metrics", "accuracy"
    points, table = run_json(*command)["points"], cli(*command, "--format", "csv")
    rows = list(csv.DictReader(table.out.splitlines()))
    assert table.err == f"stream-metrics: {rows[0]['from']} to {rows[-1]['to']}\n"
    assert sum(point["n"] for point in points) == WHOLE.n
    assert [(row["from"], row["to"], int(row["n"]), float(row["accuracy"])) for row in rows] == [
        (point["from"], point["to"], point["n"], point["values"]["accuracy"]) for point in points
    ]
    assert len(cli(*command).out.splitlines()) == len(points) + 2


UNANSWERED = [
    ("--from -7d", 1, "panes are stored from 2023-11-14T22"),
    ("--from soon", 2, "`--from` to be a time"),
    ("--from 2023-11-15 --to 2023-11-14", 2, "--to is not after --from"),
    ("--by planet", 2, "the panes have groups of group"),
    ("--by group --every 1m", 2, "use one of them"),
    ("--every 1x", 2, "`--every` to be a length of time"),
    ("--every 1us", 2, "too short"),
    ("--metrics acuracy", 2, "did you mean"),
    ("--metrics log_loss --by group", 2, "needs scores, but of groups a monitor counts labels only"),
]


def test_what_cannot_be_answered_is_said(cli: Callable[..., Any], state: Path, tmp_path: Path) -> None:
    """With status 2 if the question is wrong and 1 if there is no answer, or no state file, which is named."""
    for arguments, status, message in UNANSWERED:
        result = cli("query", state, *arguments.split())
        assert (result.status, result.out, message in result.err) == (status, "", True), (arguments, result)
    (tmp_path / "text").write_text("no database" * 100)
    for command in (["query"], ["monitor", "inspect"]):
        for name in ("none", "text"):
            result = cli(*command, tmp_path / name)
            assert (result.status, str(tmp_path / name) in result.err) == (1, True)
    assert not (tmp_path / "none").exists()


def test_contents_and_totals(cli: Callable[..., Any], state: Path, tmp_path: Path) -> None:
    """Inspect shows partitions and kinds of panes; its total is a state like any other."""
    contents = run_json("monitor", "inspect", state)
    (partition,) = contents["partitions"]
    assert (partition["samples"], partition["next"]) == (WHOLE.n, {"state.jsonl": len(b"".join(LINES))})
    assert {row["name"] for row in contents["panes"]} == {"counts", "by/group"}
    assert f"partition 0: {WHOLE.n} samples" in cli("monitor", "inspect", state).out

    assert run_json("show", state, "--metrics", "accuracy")["n"] == WHOLE.n
    assert cli("merge", state, "-o", tmp_path / "all.state").status == 0
    total = sm.from_bytes((tmp_path / "all.state").read_bytes()).snapshot()
    assert total.confusion_matrix.tolist() == TOTAL.confusion_matrix.tolist()
    assert total["roc_auc_ovr"] == TOTAL["roc_auc_ovr"]
    open_store(str(tmp_path / "new")).close()
    empty = cli("show", tmp_path / "new")
    assert (empty.status, "has counted nothing yet" in empty.err) == (1, True)


def test_a_mean_over_classes_that_a_group_lacks_is_said(tmp_path: Path) -> None:
    """It counts them as 0 there, so a gap may come from them; without such a metric there is nothing to say."""
    pairs = [("de", "a", "a"), ("de", "b", "b"), ("fr", "a", "a"), ("fr", "a", "b")] * 40
    events, path = tmp_path / "events.jsonl", tmp_path / "state.sqlite"
    records = ({"group": group, "y_true": truth, "y_pred": predicted} for group, truth, predicted in pairs)
    events.write_bytes(as_json_lines({"id": at, "time": 1_700_000_000 + at, **r} for at, r in enumerate(records)))
    run_command("monitor", events, "--store-path", path, "--no-page")

    command = ("query", path, "--by", "group", "--metrics")
    macro, plain = (run_command(*command, metric).out for metric in ("macro_f1", "accuracy"))
    assert "Macro means count a class without true samples as 0: in fr" in macro
    assert ("Macro means" in plain, "in fr" in run_json(*command, "macro_f1")["note"]) == (False, True)
