"""``stream-metrics demo`` on the first samples of each data set."""

from __future__ import annotations

import sys

import pytest

import stream_metrics as sm
from stream_metrics.cli import demo

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
    monkeypatch.setattr(demo.sm, "merge", lambda states: next(iter(states)))

    result = cli("demo", "--limit", 20)

    assert (result.status, result.err) == (1, "")
    assert result.out.count("byte for byte: NO\n") == 4
    assert result.out.splitlines()[-1].startswith("FAIL: 4 shards merged differ from one process: Image segments, ")


def test_demo_without_river(cli, monkeypatch):
    """A missing river is one line that says what to install, and exit status 2."""
    monkeypatch.setitem(sys.modules, "river", None)
    monkeypatch.setitem(sys.modules, "river.datasets", None)

    result = cli("demo")

    assert (result.status, result.out) == (2, "")
    assert result.err == 'stream-metrics: the demo needs river: pip install "stream-metrics[river]"\n'
