"""stream-metrics collect: a process that collects until it is stopped, and what it says of wrong usage."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.collector_server import CollectorServer, counted
from support.command_line import COMMAND, refusal, run_json

import stream_metrics as sm


def test_collect_until_it_is_stopped(tmp_path: Path) -> None:
    """Workers report with the token, the total is a state file, a second collector is refused, a signal ends it."""
    (tmp_path / "token").write_text("secret\n")
    (tmp_path / "expected").write_text("pod-1\npod-2\n")
    flags = ["--token-file", str(tmp_path / "token"), "--expect", "pod-0", "--expect-file", str(tmp_path / "expected")]
    server = CollectorServer(tmp_path / "agg.sqlite", *flags, "--metrics", "macro_f1", "--title", "pods")
    server.start()

    def read(path: str) -> bytes:
        request = urllib.request.Request(f"{server.url}{path}", headers={"Authorization": "Bearer secret"})
        with urllib.request.urlopen(request) as answer:
            return bytes(answer.read())

    try:
        stranger = sm.Reporter(server.url, counted(), None)
        for attempt in (stranger.report, stranger.close):
            with pytest.raises(sm.ReportError) as caught:
                attempt()
            assert caught.value.status == 401
        with sm.Reporter(server.url, counted(), None, worker="pod-1", token="secret") as reporter:
            assert reporter.report()
            (tmp_path / "total.state").write_bytes(read("api/state"))
            view = json.loads(read("api/snapshot"))
        assert (view["title"], view["headline"], view["workers"]["missing"]) == ("pods", ["macro_f1"], 2)
        assert b"secret" not in Path(f"/proc/{server.process.pid}/cmdline").read_bytes()  # type: ignore[union-attr]
        for store, reason in (("agg.sqlite", "in use by process"), ("other.sqlite", "taken by another process")):
            order = [*COMMAND, "collect", "--store", str(tmp_path / store), "--listen", f"127.0.0.1:{server.port}"]
            other = subprocess.run(order, capture_output=True, text=True, timeout=60, check=False)
            assert (other.returncode, other.stderr.count("\n")) == (1, 1), other.stderr
            assert reason in other.stderr
    finally:
        assert server.end(signal.SIGTERM) == 0
    assert run_json("show", tmp_path / "total.state")["n"] == 1


WRONG = [
    ([], 2, "--store"),
    (["--listen", "9900"], 2, "expected --listen HOST:PORT"),
    (["--listen", "127.0.0.1:99999"], 2, "expected --listen HOST:PORT"),
    (["--listen", ":0"], 2, "Expected a `token` for the `host` '0.0.0.0'"),
    (["--silent", "soon"], 2, "such as 30s"),
    (["--metrics", "acuracy"], 2, "accuracy"),
    (["--token-file", "/nowhere/token"], 2, "No such file"),
    (["--expect-file", "/nowhere/names"], 1, "No such file"),
]


def test_wrong_usage(tmp_path: Path, cli: Callable[..., Any]) -> None:
    """One line, and no file is made; a file of something else is left as it is."""
    path = tmp_path / "agg.sqlite"
    for flags, status, reason in WRONG:
        assert reason in refusal("collect", *(["--store", path] if flags else []), *flags, status=status)
        assert list(tmp_path.iterdir()) == []
    path.write_bytes(b"something else" * 100)
    result = cli("collect", "--store", path)
    assert (result.status, "agg.sqlite: file is not a database" in result.err) == (1, True)
    assert path.read_bytes() == b"something else" * 100
