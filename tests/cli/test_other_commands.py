"""``stream-metrics metrics``, keys in --metrics, ``demo``, ``collect``, and what they say of wrong usage."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import signal
import sqlite3
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from support.collector_server import CollectorServer, counted
from support.command_line import COMMAND, refusal, run_json

import stream_metrics as sm
from stream_metrics.cli import demo_live

CATALOG = sm.metrics()
JSONL = b'{"y_true": "a", "y_pred": "a"}\n{"y_true": "b", "y_pred": "a"}\n'


@pytest.mark.quick
def test_every_metric_is_listed(cli):
    """The table, JSON and CSV list all keys in the order of the catalog, with range and other names."""
    table, data, rows = (cli("metrics", "--format", form).out for form in ("table", "json", "csv"))

    assert [line.split()[0] for line in table.splitlines()[1:]] == list(CATALOG)
    assert "matthews_corrcoef               [-1, 1]      Matthews correlation (mcc)\n" in table
    assert [info["key"] for info in json.loads(data)] == list(CATALOG)
    assert list(json.loads(data)[0])[:4] == ["key", "title", "class_name", "aliases"]
    read = list(csv.DictReader(io.StringIO(rows)))
    assert [(row["key"], row["formula"]) for row in read] == [(i.key, i.formula) for i in sm.metrics().values()]


@pytest.mark.quick
def test_a_text_narrows_the_list(cli):
    """Keys, titles, names, sources and descriptions are searched, in any case; no match is an error."""
    for text in ("mcc", "MCC", "GeneralizedMCC", "kappa", "Bleik and Gauher", "f1"):
        keys = [info["key"] for info in json.loads(cli("metrics", text, "--format", "json").out)]

        expected = [key for key, info in CATALOG.items() if text.lower() in str(info).lower()]
        assert 0 < len(keys) < len(CATALOG)
        assert set(keys) <= set(expected)
        assert all(key in keys for key in expected if text.lower() in key)
    said = "stream-metrics: no metric has 'zzz'; 'stream-metrics metrics' lists all\n"
    assert cli("metrics", "zzz") == (1, "", said)


@pytest.mark.quick
def test_aliases_are_keys(cli):
    """--metrics takes every alias; what it prints has the key, and a metric that needs scores says so."""
    failures = []
    for key, info in CATALOG.items():
        for alias in info.aliases:
            result = cli("run", "-", "--metrics", alias, "--format", "json", stdin=JSONL)
            if info.reads == "labels":
                right = result.status == 0 and key in str(json.loads(result.out))
            else:
                right = result.status == 2 and f"--metrics names {key}, which needs" in result.err
            failures += [] if right else [(alias, result.err)]
    assert not failures


@pytest.mark.quick
def test_unknown_key_says_which_command_lists_keys():
    """The hint names a command, not a Python object."""
    for command, flag in (("run", "--metrics"), ("show", "--metrics"), ("monitor", "--counting-metrics")):
        said = refusal(command, "-", flag, "qqqq", status=2)
        assert "'qqqq'; 'stream-metrics metrics' lists them" in said
        assert not re.search(r"\bsm\.|stream_metrics", said)


@pytest.fixture
def river():
    """Skip without the package that the demo needs."""
    pytest.importorskip("river", reason="the demo needs river")


@pytest.mark.usefixtures("river")
def test_demo_reports_every_data_set(cli, tmp_path, monkeypatch):
    """One section per data set; the shards in the folder merge to the bytes of the whole, or else the demo fails."""
    result = cli("demo", "--limit", 60, "--out", tmp_path)

    assert (result.status, result.err) == (0, "")
    assert result.out.startswith("4 classifiers of river learn 4 data sets")
    assert result.out.count("4 shards merged = one process, byte for byte: yes") == 4
    assert result.out.endswith("\nPASS: 4 shards merged = one process, byte for byte\n")
    for slug in ("images", "phishing", "bananas", "shuttle"):
        shards = [sm.from_bytes(path.read_bytes()) for path in sorted(tmp_path.glob(f"{slug}-*.state"))]
        whole = sm.merge(shards)
        assert (len(shards), whole.to_bytes()) == (4, (tmp_path / f"{slug}.state").read_bytes())
        assert (whole.n + whole.abstained, whole.snapshot().scored > 50) == (60, True)
        assert f"{whole.snapshot()}" in result.out

    monkeypatch.setattr(sm, "merge", lambda states: next(iter(states)))
    result = cli("demo", "--limit", 20)
    assert (result.status, result.err, result.out.count("byte for byte: NO\n")) == (1, "", 4)
    assert result.out.splitlines()[-1].startswith("FAIL: 4 shards merged differ from one process: Image segments, ")


def test_without_river(cli, monkeypatch):
    """A missing river is one line that says what to install, and exit status 2."""
    for name in ("river", "river.datasets"):
        monkeypatch.setitem(sys.modules, name, None)
    for flags in ((), ("--live",)):
        said = 'stream-metrics: the demo needs river: pip install "stream-metrics[river]"\n'
        assert cli("demo", *flags) == (2, "", said)


DEMO_FLAGS = {
    ("--live", "--seconds", "-1"): "expected seconds above 0, but got '-1'",
    ("--live", "--out", "states"): "Expected no --out with --live",
    ("--seconds", "5"): "beside --live only",
    ("--live", "--port", "99999"): "Expected `port`",
}


@pytest.mark.usefixtures("river", "interrupts")
def test_the_live_demo_detects_the_drift(cli, monkeypatch):
    """Alerts fire while the page is served; after Ctrl-C the accuracy is reported; no flag is ignored."""
    for flags, reason in DEMO_FLAGS.items():
        assert reason in refusal("demo", *flags, status=2)
    monkeypatch.setattr(demo_live, "CYCLE", 4.0)
    said = "firing: balanced_accuracy[0.5s] < 0.7", "firing: changed(accuracy) arl=100000"
    result = cli("demo", "--live", "--seconds", 60, "--port", 0, "--limit", 300, interrupt_at=said)

    assert result.status == 0
    for text in ("the page is at http://127.0.0.1:", *said):
        assert text in result.err
    for text in ("7 classes", "place", "none rejected"):
        assert text in result.out


def test_collect_until_it_is_stopped(tmp_path):
    """Workers report with the token, the total is a state file, a second collector is refused, a signal ends it."""
    (tmp_path / "token").write_text("secret\n")
    (tmp_path / "expected").write_text("pod-1\npod-2\n")
    flags = ["--token-file", str(tmp_path / "token"), "--expect", "pod-0", "--expect-file", str(tmp_path / "expected")]
    server = CollectorServer(tmp_path / "agg.sqlite", *flags, "--metrics", "macro_f1", "--title", "pods")
    server.start()

    def read(path):
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
        assert b"secret" not in Path(f"/proc/{server.process.pid}/cmdline").read_bytes()
        for store, reason in (("agg.sqlite", "in use by process"), ("other.sqlite", "taken by another process")):
            order = [*COMMAND, "collect", "--store", str(tmp_path / store), "--listen", f"127.0.0.1:{server.port}"]
            other = subprocess.run(order, capture_output=True, text=True, timeout=60, check=False)
            assert (other.returncode, other.stderr.count("\n")) == (1, 1), other.stderr
            assert reason in other.stderr
    finally:
        assert server.end(signal.SIGTERM) == 0
    assert run_json("show", tmp_path / "total.state")["n"] == 1


COLLECT_FLAGS = [
    ([], 2, "--store"),
    (["--listen", "9900"], 2, "Expected HOST:PORT"),
    (["--listen", "127.0.0.1:99999"], 2, "Expected HOST:PORT"),
    (["--listen", ":0"], 2, "Expected a `token` for the `host` '0.0.0.0'"),
    (["--silent", "soon"], 2, "such as 30s"),
    (["--metrics", "acuracy"], 2, "accuracy"),
    (["--token-file", "/nowhere/token"], 2, "No such file"),
    (["--expect-file", "/nowhere/names"], 1, "No such file"),
]


def test_wrong_usage_of_collect(cli, tmp_path):
    """One line, and no file is made; a file of something else is left as it is."""
    path = tmp_path / "agg.sqlite"
    for flags, status, reason in COLLECT_FLAGS:
        assert reason in refusal("collect", *(["--store", path] if flags else []), *flags, status=status)
        assert list(tmp_path.iterdir()) == []
    with contextlib.closing(sqlite3.connect(tmp_path / "other")) as connection:
        connection.execute("create table t (x)")
    foreign = (tmp_path / "other").read_bytes()
    for content in (b"something else" * 100, foreign):
        path.write_bytes(content)
        result = cli("collect", "--store", path)
        assert (result.status, "agg.sqlite: " in result.err, path.read_bytes()) == (1, True, content), result.err
    assert refusal("collect", "--store", tmp_path / "none" / "agg.sqlite")
