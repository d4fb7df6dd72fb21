"""``query``, ``monitor backup | restore | inspect``, and exports that ``show`` and ``merge`` read."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from support.monitor_events import CONFIG, NOW, counted, events, offline, records

import stream_metrics as sm
from stream_metrics.monitor.config import Config, Counting
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.store import Store

STREAM = records(events(900, seed=2))
WHOLE = offline(STREAM).counts()


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state file of a monitor that has read everything, and its export beside it."""
    folder = tmp_path_factory.mktemp("state")
    config = structs.replace(CONFIG, store=structs.replace(CONFIG.store, export=str(folder / "export")))
    monitor = Monitor(config, Store(str(folder / "state.sqlite")), lambda: NOW)
    monitor.assign([0])
    monitor.step(STREAM)
    monitor.close()
    return folder / "state.sqlite"


def test_a_range_is_printed_like_a_state(cli: Callable[..., Any], state: Path) -> None:
    """The whole range has the numbers of the total, with its actual bounds; intervals and formats as in show."""
    answer = json.loads(cli("query", state, "--format", "json", "--intervals", "--metrics", "accuracy,roc_auc_ovr").out)
    snapshot = WHOLE.total.snapshot()
    assert answer["n"] == snapshot.n
    assert answer["metrics"] == {key: snapshot[key] for key in ("accuracy", "roc_auc_ovr")}
    assert answer["intervals"]["metrics"]["accuracy"]["low"] == snapshot.interval("accuracy").low
    assert answer["from"] <= "2023-11-14T22:13:20Z" <= answer["to"]
    piece = "--from", "2023-11-14T22:15:01", "--to", "2023-11-14T22:15:02"
    bounds = "2023-11-14T22:15:00Z to 2023-11-14T22:20:00Z\n"
    assert cli("query", state, *piece).out.startswith(bounds)
    assert cli("query", state, *piece, "--format", "csv").err == f"stream-metrics: {bounds}"


def test_groups_are_those_of_the_range(cli: Callable[..., Any], state: Path) -> None:
    groups = WHOLE.total_groups.snapshot()
    rows = list(csv.DictReader(cli("query", state, "--by", "group", "--format", "csv").out.splitlines()))
    accuracies = {row["group"]: float(row["value"]) for row in rows if row["metric"] == "accuracy" and row["group"]}
    assert accuracies == {name: groups[name]["accuracy"] for name in groups}


def test_every_piece_has_a_row(cli: Callable[..., Any], state: Path) -> None:
    command = "query", state, "--every", "5m", "--metrics", "accuracy"
    points = json.loads(cli(*command, "--format", "json").out)["points"]
    table = cli(*command, "--format", "csv")
    rows = list(csv.DictReader(table.out.splitlines()))
    assert table.err == f"stream-metrics: {rows[0]['from']} to {rows[-1]['to']}\n"
    assert sum(point["n"] for point in points) == WHOLE.total.n
    assert [(row["from"], row["to"], int(row["n"]), float(row["accuracy"])) for row in rows] == [
        (point["from"], point["to"], point["n"], point["values"]["accuracy"]) for point in points
    ]
    assert len(cli(*command).out.splitlines()) == len(points) + 2


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--from", "-7d"], 1, "panes are stored from 2023-11-14T22"),
        (["--from", "soon"], 2, "`--from` to be a time"),
        (["--from", "2023-11-15", "--to", "2023-11-14"], 2, "--to is not after --from"),
        (["--by", "planet"], 2, "the panes have groups of group"),
        (["--by", "group", "--every", "1m"], 2, "use one of them"),
        (["--every", "1x"], 2, "`--every` to be a length of time"),
        (["--every", "1us"], 2, "too short"),
        (["--metrics", "acuracy"], 2, "did you mean"),
        (["--metrics", "log_loss", "--by", "group"], 2, "needs scores, but of groups a monitor counts labels only"),
    ],
)
def test_what_cannot_be_answered_is_said(
    cli: Callable[..., Any], state: Path, arguments: list[str], status: int, message: str
) -> None:
    result = cli("query", state, *arguments)
    assert (result.status, result.out) == (status, "")
    assert message in result.err


def test_a_file_that_is_none_is_refused(cli: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database" * 100)
    for command in (["query"], ["monitor", "inspect"]):
        for name in ("none", "text"):
            result = cli(*command, tmp_path / name)
            assert result.status == 1
            assert str(tmp_path / name) in result.err
    assert not (tmp_path / "none").exists()


def test_a_backup_of_a_running_monitor_loses_nothing(cli: Callable[..., Any], tmp_path: Path) -> None:
    """Restored and read on, it has the counts of one pass; the file that was there stays."""
    path, backup = tmp_path / "state.sqlite", tmp_path / "backup"
    monitor = Monitor(CONFIG, Store(str(path)), lambda: NOW)
    monitor.assign([0])
    monitor.step(STREAM[:700])
    monitor.checkpoint()
    assert cli("monitor", "backup", path, backup).status == 0
    assert cli("monitor", "restore", backup, path).status == 1
    monitor.step(STREAM[700:900])
    monitor.close()
    assert cli("monitor", "backup", path, backup).status == 1
    assert backup.stat().st_mode & 0o777 == 0o600

    result = cli("monitor", "restore", backup, path)
    assert result.status == 0
    assert Path(result.out.splitlines()[1].split(":")[0]).exists()
    again = Monitor(CONFIG, Store(str(path)), lambda: NOW)
    assert again.assign([0]) == {("t", 0): STREAM[700].offset}
    again.step(STREAM)
    assert counted(again)[:2] == counted(offline(STREAM))[:2]
    again.close()


def test_a_damaged_backup_changes_nothing(cli: Callable[..., Any], state: Path, tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    Store(str(path)).close()
    before = path.read_bytes()
    for name, data in (("cut", state.read_bytes()[:100_000]), ("text", b"text"), ("empty", b"")):
        (tmp_path / name).write_bytes(data)
        assert cli("monitor", "restore", tmp_path / name, path).status == 1
        assert path.read_bytes() == before
    assert {file.name for file in tmp_path.iterdir()} <= {
        "state.sqlite", "state.sqlite.lock", "state.sqlite.turn", "cut", "cut-wal", "cut-shm", "text", "empty"
    }  # fmt: skip


def test_inspect_says_what_a_file_holds(cli: Callable[..., Any], state: Path) -> None:
    contents = json.loads(cli("monitor", "inspect", state, "--format", "json").out)
    (partition,) = contents["partitions"]
    assert (partition["samples"], partition["next"]) == (WHOLE.total.n, {"t": len(STREAM)})
    assert {row["name"] for row in contents["panes"]} == {"counts", "by/group"}
    assert f"partition 0: {WHOLE.total.n} samples" in cli("monitor", "inspect", state).out


def test_show_and_merge_read_an_export(cli: Callable[..., Any], state: Path, tmp_path: Path) -> None:
    export = state.with_name("export")
    assert json.loads(cli("show", export, "--format", "json", "--metrics", "accuracy").out)["n"] == WHOLE.total.n
    assert cli("merge", export, "-o", tmp_path / "all.state").status == 0
    assert sm.from_bytes((tmp_path / "all.state").read_bytes()) == WHOLE.total
    assert cli("monitor", "restore", export, tmp_path / "state.sqlite").status == 0
    assert json.loads(cli("monitor", "inspect", tmp_path / "state.sqlite", "--format", "json").out)["partitions"]


def test_trend_lines_of_earlier_versions_are_not_read(tmp_path: Path) -> None:
    """They were a note, which may be damaged."""
    path = str(tmp_path / "state.sqlite")
    monitor = Monitor(CONFIG, Store(path), lambda: NOW)
    monitor.assign([0])
    monitor.step(STREAM[:500])
    monitor.close()
    store = Store(path)
    store._run("insert into notes (name, body, crc) values ('history', ?, 0)", b"damage")
    assert "history" not in store.notes()
    store.close()
    again = Monitor(CONFIG, Store(path), lambda: NOW)
    assert again.assign([0])
    assert again.view().by_window["total"].n > 0
    again.close()


def test_a_mean_over_classes_that_a_group_lacks_is_said(cli: Callable[..., Any], tmp_path: Path) -> None:
    """It counts them as 0 there, so a gap may come from them; without such a metric there is nothing to say."""
    path = str(tmp_path / "state.sqlite")
    monitor = Monitor(Config(counting=Counting(windows=("1h",))), Store(path), lambda: NOW)
    monitor.assign([0])
    pairs = [("de", "a", "a"), ("de", "b", "b"), ("fr", "a", "a"), ("fr", "a", "b")] * 40
    rows = [{"id": str(at), "time": NOW - 500 + at, "group": g, "truth": t, "prediction": p}
            for at, (g, t, p) in enumerate(pairs)]  # fmt: skip
    monitor.step(records(rows))
    monitor.close()

    said = cli("query", path, "--by", "group", "--metrics", "macro_f1").out
    quiet = cli("query", path, "--by", "group", "--metrics", "accuracy").out
    as_json = json.loads(cli("query", path, "--by", "group", "--metrics", "macro_f1", "--format", "json").out)
    assert "Macro means count a class without true samples as 0: in fr" in said
    assert "Macro means" not in quiet
    assert "in fr" in as_json["note"]
    again = Monitor(monitor.config, Store(path), lambda: NOW)
    (point,) = json.loads(again.answer_range("group=fr&metrics=macro_recall&points=1")[1])["points"]
    again.close()
    assert (point["n"], point["values"]["macro_recall"]) == (80, 0.5)
    assert point["low"]["macro_recall"] < 0.5 < point["high"]["macro_recall"]
