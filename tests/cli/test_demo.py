"""``stream-metrics demo`` on the first samples of each data set, and ``--live`` for a short cycle."""

from __future__ import annotations

import sys

import pytest
from support.command_line import refusal

import stream_metrics as sm
from stream_metrics.cli import demo_live


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


WRONG = {
    ("--live", "--seconds", "-1"): "expected seconds above 0, but got '-1'",
    ("--live", "--out", "states"): "Expected no --out with --live",
    ("--seconds", "5"): "beside --live only",
    ("--live", "--port", "99999"): "Expected `port`",
}


@pytest.mark.usefixtures("river")
def test_the_live_demo_detects_the_drift(cli, monkeypatch):
    """Alerts fire within a cycle, the page is served, and the accuracy is reported; no flag is ignored."""
    for flags, reason in WRONG.items():
        assert reason in refusal("demo", *flags, status=2)
    monkeypatch.setattr(demo_live, "CYCLE", 4.0)
    result = cli("demo", "--live", "--seconds", 2.4, "--port", 0, "--limit", 300)

    assert result.status == 0
    said = ("the page is at http://127.0.0.1:", "firing: balanced_accuracy[0.5s] < 0.7")
    for text in (*said, "firing: changed(accuracy) arl=100000"):
        assert text in result.err
    for text in ("7 classes", "place", "none rejected"):
        assert text in result.out
