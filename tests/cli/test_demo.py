"""``stream-metrics demo`` on the first samples of each data set, and ``--live`` for a short cycle."""

from __future__ import annotations

import sys

import pytest

import stream_metrics as sm
from stream_metrics.cli import demo_live

SLUGS = ("images", "phishing", "bananas", "shuttle")


def test_demo_reports_every_data_set(cli, tmp_path):
    """One section per data set; the shards in the folder merge to the bytes of the whole."""
    pytest.importorskip("river", reason="the demo needs river")

    result = cli("demo", "--limit", 60, "--out", tmp_path / "states")

    assert (result.status, result.err) == (0, "")
    assert result.out.startswith("4 classifiers of river learn 4 data sets")
    assert result.out.count("4 shards merged = one process, byte for byte: yes") == 4
    assert result.out.endswith("\nPASS: 4 shards merged = one process, byte for byte\n")
    for slug in SLUGS:
        shards = [sm.from_bytes(path.read_bytes()) for path in sorted((tmp_path / "states").glob(f"{slug}-*.state"))]
        whole = (tmp_path / "states" / f"{slug}.state").read_bytes()
        assert len(shards) == 4
        assert sm.merge(shards).to_bytes() == whole
        assert sm.from_bytes(whole).n + sm.from_bytes(whole).abstained == 60
        assert f"{sm.from_bytes(whole).snapshot()}" in result.out
        assert sm.from_bytes(whole).snapshot().scored > 50


def test_demo_fails_if_the_merge_differs(cli, monkeypatch):
    """A merged state that is not the whole ends the demo with FAIL and exit status 1, after all reports."""
    pytest.importorskip("river", reason="the demo needs river")
    monkeypatch.setattr(sm, "merge", lambda states: next(iter(states)))

    result = cli("demo", "--limit", 20)

    assert (result.status, result.err) == (1, "")
    assert result.out.count("byte for byte: NO\n") == 4
    assert result.out.splitlines()[-1].startswith("FAIL: 4 shards merged differ from one process: Image segments, ")


def test_without_river(cli, monkeypatch):
    """A missing river is one line that says what to install, and exit status 2."""
    for name in ("river", "river.datasets"):
        monkeypatch.setitem(sys.modules, name, None)

    for flags in ((), ("--live",)):
        result = cli("demo", *flags)

        assert (result.status, result.out) == (2, "")
        assert result.err == 'stream-metrics: the demo needs river: pip install "stream-metrics[river]"\n'


def test_wrong_flags(cli):
    """What would be ignored is refused, and a port that is none, as by the monitor."""
    pytest.importorskip("river", reason="the demo needs river")
    wrong = {
        ("--live", "--seconds", "-1"): "expected seconds above 0, but got '-1'",
        ("--live", "--out", "states"): "Expected no --out with --live",
        ("--seconds", "5"): "beside --live only",
        ("--live", "--port", "99999"): "Expected `port`",
    }
    for flags, reason in wrong.items():
        result = cli("demo", *flags)

        assert (result.status, result.err.count("\n")) == (2, 1)
        assert reason in result.err


def test_the_live_demo_detects_the_drift(cli, monkeypatch):
    """Within a cycle the alerts fire, the page was served, and the model's real accuracy is in the report."""
    pytest.importorskip("river", reason="the demo needs river")
    monkeypatch.setattr(demo_live, "CYCLE", 4.0)

    result = cli("demo", "--live", "--seconds", 2.4, "--port", 0, "--limit", 300)

    assert result.status == 0
    assert "the page is at http://127.0.0.1:" in result.err
    assert "firing: balanced_accuracy[0.5s] < 0.7" in result.err
    assert "firing: changed(accuracy) arl=100000" in result.err
    for text in ("7 classes", "place", "none rejected"):
        assert text in result.out
