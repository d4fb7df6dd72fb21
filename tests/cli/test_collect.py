"""stream-metrics collect: a process that collects until it is stopped, and what it says of wrong usage."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from support.collector_server import CollectorServer

import stream_metrics as sm
from stream_metrics.cli.main import main


def fed() -> sm.MetricSet:
    """Return a set that has counted."""
    state = sm.MetricSet()
    state.update("cat", "cat")
    return state


def test_collect_until_it_is_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Workers report with the token, the total is a state file, and a signal ends it well."""
    (tmp_path / "token").write_text("secret\n")
    (tmp_path / "expected").write_text("pod-1\npod-2\n")
    flags = ["--token-file", str(tmp_path / "token"), "--expect", "pod-0", "--expect-file", str(tmp_path / "expected")]
    server = CollectorServer(tmp_path / "agg.sqlite", *flags, "--metrics", "macro_f1", "--title", "pods")
    server.start()
    try:
        stranger = sm.Reporter(server.url, fed(), None)
        for attempt in (stranger.report, stranger.close):
            with pytest.raises(sm.ReportError, match="401"):
                attempt()
        with sm.Reporter(server.url, fed(), None, worker="pod-1", token="secret") as reporter:
            assert reporter.report()
            bearer = {"Authorization": "Bearer secret"}
            with urllib.request.urlopen(urllib.request.Request(f"{server.url}api/state", headers=bearer)) as answer:
                (tmp_path / "total.state").write_bytes(answer.read())
            with urllib.request.urlopen(urllib.request.Request(f"{server.url}api/snapshot", headers=bearer)) as answer:
                view = json.loads(answer.read())
        assert (view["title"], view["headline"], view["workers"]["missing"]) == ("pods", ["macro_f1"], 2)
        assert b"secret" not in Path(f"/proc/{server.process.pid}/cmdline").read_bytes()  # type: ignore[union-attr]
    finally:
        assert server.end(signal.SIGTERM) == 0
    assert main(["show", str(tmp_path / "total.state"), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["n"] == 1


def test_a_second_collector_is_refused(tmp_path: Path) -> None:
    """One has the file, and one the port; both errors are one line."""
    server = CollectorServer(tmp_path / "agg.sqlite")
    server.start()
    listen = ["--listen", f"127.0.0.1:{server.port}"]
    try:
        for store, reason in (("agg.sqlite", "in use by process"), ("other.sqlite", "taken by another process")):
            other = subprocess.run(
                [sys.executable, "-m", "stream_metrics", "collect", "--store", str(tmp_path / store), *listen],
                capture_output=True,
                text=True,
                timeout=60,
            )
            assert (other.returncode, other.stderr.count("\n")) == (1, 1), other.stderr
            assert reason in other.stderr
    finally:
        assert server.end(signal.SIGINT) == 0


@pytest.mark.parametrize(
    ("flags", "status", "reason"),
    [
        ([], 2, "--store"),
        (["--listen", "9900"], 2, "expected --listen HOST:PORT"),
        (["--listen", "127.0.0.1:99999"], 2, "expected --listen HOST:PORT"),
        (["--listen", ":0"], 2, "Expected a `token` for the `host` '0.0.0.0'"),
        (["--silent", "soon"], 2, "such as 30s"),
        (["--metrics", "acuracy"], 2, "accuracy"),
        (["--token-file", "/nowhere/token"], 2, "No such file"),
        (["--expect-file", "/nowhere/names"], 1, "No such file"),
    ],
)
def test_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], status: int, reason: str
) -> None:
    """One line, and no file is made."""
    store = ["--store", str(tmp_path / "agg.sqlite")] if flags else []
    assert main(["collect", *store, *flags]) == status
    error = capsys.readouterr().err
    assert reason in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_something_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is left as it is."""
    (tmp_path / "agg.sqlite").write_bytes(b"something else" * 100)
    assert main(["collect", "--store", str(tmp_path / "agg.sqlite")]) == 1
    assert "agg.sqlite: file is not a database" in capsys.readouterr().err
    assert (tmp_path / "agg.sqlite").read_bytes() == b"something else" * 100
