"""The reference is taken once, from a full window or on request, and later windows are compared with it for good."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.monitor_runs import Clock, config, feed, pair, started
from support.refusals import all_refused


class Stream:
    """A monitor with a clock of its own, fed with one pair a second of which some are wrong."""

    def __init__(self, reference: str = "", path: Path | None = None, clock: Clock | None = None) -> None:
        counting = {"windows": ["1m", "5m"], "reference": reference}
        self.clock = clock or Clock()
        self.monitor = started(config(counting=counting, source={"idle": "1d"}), path, self.clock)
        self.offset = self.monitor.assign([0]).get(("t", 0), 0)

    def feed(self, seconds: int, wrong: int) -> Any:
        """Count pairs of which one in `wrong` is wrong, half a minute at a time, and return the last view."""
        for _ in range(seconds // 30):
            events = []
            for at in range(self.offset, self.offset + 30):
                self.clock.now += 1
                truth = "cat" if at % 3 else "dog"
                events.append(pair(at, truth, truth if at % wrong else "cow", time=self.clock.now))
            feed(self.monitor, events, start=self.offset)
            self.offset += 30
            self.monitor.checkpoint()
            view = self.monitor.view(whole=True)
        return view


def verdicts(view: Any, window: str = "1m") -> dict[str, str | None]:
    """Return what is said of the accuracy, by what it is compared with."""
    return {row.against: row.verdict for row in view.by_window[window].comparisons["accuracy"]}


def test_the_first_full_window_is_the_reference(tmp_path: Path) -> None:
    """It is taken when the window is full, not before, and stays the same however long the model is bad.

    It is part of the checkpoint, and so is the wait for a full window: restarts in between change nothing.
    """
    clock, views = Clock(), list[Any]()
    for seconds, wrong in ((180, 20), (60, 20), (120, 20), (600, 2)):
        stream = Stream("5m", tmp_path / "state", clock)
        views.append(stream.feed(seconds, wrong))
        stream.monitor.close()
    _, early, full, bad = views

    assert early.reference is None
    assert (full.reference.window, full.reference.at - full.reference.start) == ("5m", 300.0)
    assert full.reference.n == pytest.approx(300, abs=10)
    assert bad.reference == full.reference
    assert bad.reference.metrics["accuracy"] == pytest.approx(0.95, abs=0.01)
    assert verdicts(bad) == {"before": None, "reference": "worse"}  # one window ago it was as bad
    assert verdicts(bad, "total")["reference"] == "worse"


def test_a_reference_is_taken_on_request() -> None:
    """Without a configured one there is none until it is asked for; the next request replaces it."""
    stream = Stream()
    before = stream.feed(300, 20)
    stream.monitor.take_reference("5m")
    bad = stream.feed(300, 2)
    stream.monitor.take_reference("1m")
    again = stream.feed(30, 2)

    assert before.reference is None
    assert verdicts(bad)["reference"] == "worse"
    assert again.reference.window == "1m"
    assert verdicts(again)["reference"] is None


def test_a_window_without_samples_is_refused() -> None:
    """So is one that is not counted; the reference stays as it was."""
    empty, stream = Stream(), Stream()
    stream.feed(60, 20)
    all_refused([
        (lambda: empty.monitor.take_reference("5m"), ValueError, "windows that have samples, []"),
        (lambda: stream.monitor.take_reference("total"), ValueError, "['1m', '5m'], but got 'total'"),
        (lambda: Stream("7d"), ValueError, "`reference` to be one of the windows"),
    ])  # fmt: skip
    assert stream.monitor.view().reference is None
