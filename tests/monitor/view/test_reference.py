"""The reference is taken once, from a full window or on request, and later windows are compared with it for good."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest

from stream_metrics.monitor.archive import trends
from stream_metrics.monitor.config import Config, Counting, Source
from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.store import Store
from stream_metrics.monitor.view.reference import ReferenceKeeper
from stream_metrics.monitor.view.types import View

START = 1_700_000_000.0


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have trend lines read at every look."""
    for pause in ("LEAST", "SHARE", "STEADY"):
        monkeypatch.setattr(trends, pause, 0)


class Stream:
    """A monitor with a clock of its own, fed with one pair a second of which some are wrong."""

    def __init__(self, reference: str = "", store: Store | None = None) -> None:
        counting = Counting(windows=("1m", "5m"), reference=reference)
        self.now = START
        self.monitor = Monitor(Config(counting=counting, source=Source(idle="1d")), store, lambda: self.now)
        self.offset = self.monitor.assign([0]).get(("pairs", 0), 0)

    def feed(self, seconds: int, wrong: int) -> View:
        """Count pairs of which one in `wrong` is wrong, half a minute at a time, and return the last view."""
        view = View()
        for _ in range(0, seconds, 30):
            records = []
            for _ in range(30):
                self.now += 1
                truth = "cat" if self.offset % 3 else "dog"
                said = truth if self.offset % wrong else "cow"
                event = {"id": self.offset, "time": self.now, "truth": truth, "prediction": said}
                value = json.dumps(event).encode()
                records.append(Record("pairs", 0, self.offset, self.offset + 1, None, None, value))
                self.offset += 1
            self.monitor.step(records)
            self.monitor.checkpoint()
            view = self.monitor.view()
        return view


@pytest.fixture
def path(tmp_path: Path) -> Iterator[str]:
    """Where a state is stored."""
    return str(tmp_path / "state.sqlite")


def verdicts(view: View, window: str = "1m") -> dict[str, str | None]:
    """Return what is said of the accuracy, by what it is compared with."""
    return {row.against: row.verdict for row in view.by_window[window].comparisons["accuracy"]}


def test_the_first_full_window_is_the_reference() -> None:
    """It is taken when the window is full, not before, and stays the same however long the model is bad."""
    stream = Stream("5m")
    early = stream.feed(240, 20)
    full = stream.feed(120, 20)
    bad = stream.feed(600, 2)

    assert early.reference is None
    assert full.reference is not None
    assert bad.reference is not None
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
    assert again.reference is not None
    assert again.reference.window == "1m"
    assert verdicts(again)["reference"] is None


def test_the_reference_survives_a_restart(path: str) -> None:
    """It is part of the checkpoint, and so is the wait for a full window."""
    stream = Stream("5m", Store(path))
    stream.feed(180, 20)
    stream.monitor.close()
    stream, now = Stream("5m", Store(path)), stream.now
    stream.now = now
    taken = stream.feed(180, 20).reference
    stream.monitor.close()
    stream, now = Stream("5m", Store(path)), stream.now
    stream.now = now
    shown = stream.feed(30, 2)
    stream.monitor.close()

    assert taken is not None
    assert shown.reference == taken


def test_references_of_workers_merge_in_any_order() -> None:
    """The last one that was requested wins, also over a configured one that was taken later, and over earlier data."""
    automatic, first, last = Stream("1m"), Stream(), Stream()
    for stream in (automatic, first, last):
        stream.feed(120, 20)
    first.monitor.take_reference("1m")
    last.monitor.reference.merge(first.monitor.reference.to_data())
    last.monitor.take_reference("5m")
    data = [stream.monitor.reference.to_data() for stream in (automatic, first, last)]
    for order in permutations([*data, data[0]]):
        reference = ReferenceKeeper({"1m": 60.0, "5m": 300.0})
        for each in order:
            reference.merge(each)
        assert reference.to_data() == {"began": data[0]["began"], "stored": data[2]["stored"]}


def test_a_window_without_samples_is_refused() -> None:
    """So is one that is not counted; the reference stays as it was."""
    stream = Stream()
    with pytest.raises(ValueError, match=r"windows that have samples, \[\]"):
        stream.monitor.take_reference("5m")
    stream.feed(60, 20)
    with pytest.raises(ValueError, match=r"\['1m', '5m'\], but got 'total'"):
        stream.monitor.take_reference("total")
    with pytest.raises(ValueError, match="`reference` to be one of the windows"):
        Stream("7d")
    with pytest.raises(ValueError, match="Expected a reference"):
        stream.monitor.reference.merge({"began": 1.0, "stored": (1, "5m", 1.0, b"other")})
    assert stream.monitor.view().reference is None
