"""``stream-metrics demo --live``: river's data from events to alerts, with a drift that is detected."""

from __future__ import annotations

import json
import sys
from itertools import islice

import pytest

from stream_metrics.cli import demo_live
from stream_metrics.cli.demo_live import DRIFT, RATE, Replay
from stream_metrics.monitor.monitor import Monitor

WELL, ILL = ({"y_pred": name, "scores": {name: 1.0}, "group": "top"} for name in ("sky", "path"))


def test_the_demo_detects_the_drift(cli, monkeypatch) -> None:
    """Within a cycle the alert fires, the page was served, and the model's real accuracy is in the report."""
    pytest.importorskip("river", reason="the demo needs river")
    monkeypatch.setattr(demo_live, "CYCLE", 4.0)

    result = cli("demo", "--live", "--seconds", 2.4, "--port", 0, "--limit", 300)

    assert result.status == 0
    assert "the page is at http://127.0.0.1:" in result.err
    assert "firing: balanced_accuracy[0.5s] < 0.7" in result.err
    assert "firing: changed(accuracy) arl=100000" in result.err
    assert "7 classes" in result.out
    assert "place" in result.out
    assert "none rejected" in result.out


def test_what_is_replayed() -> None:
    """Predictions come at their rate, drift in their part of the cycle, labels later, and all by the clock."""
    now = [1000.0]
    source = Replay([(WELL, ILL, "sky")], cycle=8.0, seconds=10.0, clock=lambda: now[0], wait=lambda seconds: None)
    source.start(Monitor(demo_live._config(8.0, 0, "unused")))
    replayed = []
    while not source.ended:
        now[0] += 0.1
        replayed += source.poll(0.1)

    events = [json.loads(record.value or b"") for record in replayed]
    asked = [event for event in events if "y_pred" in event]
    labels = {event["id"]: event["time"] for event in events if "y_true" in event}
    assert len(asked) in (10 * RATE, 10 * RATE + 1)
    assert [event["time"] for event in events] == sorted(event["time"] for event in events)
    for event in asked:
        drifts = DRIFT[0] <= event["id"] / RATE / 8 % 1 < DRIFT[1]
        assert (event["y_pred"] == "path") == drifts
        assert labels.get(event["id"], 2000.0) >= event["time"]
    assert 0.9 * len(asked) < len(labels) < 0.99 * len(asked)
    assert [record.offset for record in replayed] == list(range(len(replayed)))
    assert source.poll(0.1) == []


def test_red_and_blue_are_swapped() -> None:
    """The drift changes four features and nothing else, and twice it changes nothing."""
    features = {name: float(at) for at, name in enumerate(("rawred-mean", "rawblue-mean", "exred-mean", "exblue-mean"))}
    features["hue-mean"] = 9.0

    swapped = demo_live._swapped(features)

    assert list(swapped.values()) == [1.0, 0.0, 3.0, 2.0, 9.0]
    assert demo_live._swapped(swapped) == features


def test_the_configuration_scales_with_the_cycle() -> None:
    """For any cycle, the rules name windows that are counted."""
    for cycle in (4.0, 120.0):
        config = demo_live._config(cycle, 0, "unused")
        rules = [rule for rule in config.alerts.rules if not rule.startswith("changed(")]
        assert all(any(f"[{window}]" in rule for window in config.counting.windows) for rule in rules)


def test_the_demo_without_river(cli, monkeypatch) -> None:
    """A missing river is one line that says what to install, and exit status 2."""
    monkeypatch.setitem(sys.modules, "river", None)
    monkeypatch.setitem(sys.modules, "river.datasets", None)

    result = cli("demo", "--live")

    assert (result.status, result.out) == (2, "")
    assert result.err == 'stream-metrics: the demo needs river: pip install "stream-metrics[river]"\n'


def test_a_port_that_is_none(cli) -> None:
    """It is refused in one line, as by the monitor."""
    pytest.importorskip("river", reason="the demo needs river")

    result = cli("demo", "--live", "--port", 99999)

    assert result.status == 2
    assert result.err.count("\n") == 1
    assert "Expected `port`" in result.err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--live", "--seconds", "-1"), "expected seconds above 0, but got '-1'"),
        (("--live", "--out", "states"), "Expected no --out with --live"),
        (("--seconds", "5"), "beside --live only"),
    ],
)
def test_flags_that_do_not_go_together(cli, given: tuple[str, ...], said: str) -> None:
    """What would be ignored is refused."""
    result = cli("demo", *given)

    assert result.status == 2
    assert said in result.err


def test_predictions_are_of_unseen_segments() -> None:
    """The model is good on what it has not learnt, and bad once colours are swapped."""
    pytest.importorskip("river", reason="the demo needs river")

    answers = list(islice(demo_live.predictions(), 400))

    right = [sum(answer[kind]["y_pred"] == answer[2] for answer in answers) / len(answers) for kind in (0, 1)]
    assert right[0] > 0.75
    assert right[1] < 0.6
