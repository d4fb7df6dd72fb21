"""Trend lines have the samples of stretches of event time, however and whenever these were read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.monitor_runs import START, Clock, Config, Monitor, config, crash, feed, lines_of, pair, started

SAMPLES = st.lists(st.tuples(st.integers(0, 200_000), st.booleans()), min_size=1, max_size=60)
LENGTHS = {"15s": 15, "5m": 300, "1h": 3600, "90m": 5400, "1d": 86_400}
RETENTIONS = st.sampled_from([["1m"], ["1s"], ["1m for 6h", "1h"], ["7m"]])


def drawn(*windows: str, metrics: tuple[str, ...] = ("accuracy",), retention: Any = None) -> Config:
    """Return a configuration whose lines have some metrics."""
    store = {} if retention is None else {"retention": retention}
    counting = {"windows": windows, "panes": 5, "metrics": metrics}
    return config(counting=counting, join={"votes": 1}, store=store, source={"idle": "1d"})


def line(view: Any, name: str) -> list[tuple[float, int, float | None]]:
    """Return the points of a line: times, numbers of samples and accuracies."""
    lines = view.history[name]
    rows = zip(lines["t"], lines["n"], lines["accuracy"], strict=True)
    return [row for row in rows if row[0] is not None]


@given(SAMPLES, RETENTIONS, st.sampled_from(sorted(LENGTHS)), st.integers(1, 7), st.booleans())
def test_points_are_a_recount_of_their_stretches(
    samples: list[tuple[int, bool]], retention: list[str], name: str, looks: int, ordered: bool
) -> None:
    """Also where samples come late and from two partitions; looks in between change nothing."""
    samples = sorted(samples) if ordered else samples
    events = [pair(at, "x", "x" if right else "y", time=START + t) for at, (t, right) in enumerate(samples)]
    views, now = [], START + max(t for t, _ in samples)
    for looking in (False, True):
        monitor = started(drawn(name, retention=retention), clock=Clock(now), parts=(0, 1))
        for at, event in enumerate(events):
            feed(monitor, [event], start=at, partition=at % 2)
            if looking and at % looks == 0:
                monitor.checkpoint()
                monitor.view()
        monitor.checkpoint()
        monitor.report_source(None, True)
        views.append(monitor.view(whole=True))

    for which in ("total", name):
        points, covers = line(views[0], which), views[0].history_covers[which]
        assert points == line(views[1], which)
        assert 0 < len(points) <= 361
        assert covers >= LENGTHS[name]
        for t, n, accuracy in points[:-1]:  # the last one is the window itself
            rights = [right for at, right in samples if t - covers <= START + at < t]
            assert n == len(rights)
            assert accuracy == (pytest.approx(sum(rights) / n, abs=1e-6) if rights else None)
        assert points[-1][0] > now - max(covers, 1)
        if len(retention) == 1:
            reach = max(2 * 86_400, 48 * LENGTHS[name])
            assert points[0][0] - covers <= max(START + min(t for t, _ in samples), now - reach + covers)


def backlog(hours: int) -> list[dict[str, Any]]:
    """Return a pair every four minutes."""
    return [pair(at, "a", "b" if at % 5 == 0 else "a", time=START + 240 * at) for at in range(hours * 15)]


def shown(path: Path | None, events: list[Any], how: Config, hours: int = 48) -> tuple[Any, Monitor]:
    """Return a view of events that were all read at one moment, and the monitor."""
    monitor = feed(started(how, path, Clock(START + hours * 3600)), events, 10_000)
    monitor.report_source(None, True)
    monitor.checkpoint()
    return monitor.view(whole=True), monitor


def test_a_backlog_is_drawn_by_the_time_of_its_events(tmp_path: Path) -> None:
    """Two days that were read at once; a restart changes nothing, and the last point is the window."""
    how = drawn("5m", "1h")
    view, monitor = shown(tmp_path / "state", backlog(47), how)
    monitor.close()
    again, monitor = shown(tmp_path / "state", [], how)
    monitor.close()
    other, monitor = shown(tmp_path / "state", [], drawn("5m", "1h", metrics=("macro_f1",)))
    monitor.close()

    assert again.history == view.history
    assert again.history_covers == view.history_covers == {"total": 600, "5m": 600, "1h": 3600}
    for name, length in view.history_covers.items():
        t = [t for t, *_ in line(view, name)]
        assert t == sorted(set(t))
        assert t[0] - length <= START
        assert START + 47 * 3600 - 900 <= t[-1] <= START + 47 * 3600
        assert len(t) > 250
        assert set(other.history[name]) == {"t", "n", "macro_f1"}
        assert len({len(each) for each in other.history[name].values()}) == 1
    assert view.history["1h"]["n"][-1] == view.by_window["1h"].n
    assert view.history["1h"]["accuracy"][-1] == pytest.approx(view.by_window["1h"].metrics["accuracy"], abs=1e-6)
    (hour,), (minutes,) = (view.by_window[name].comparisons["accuracy"] for name in ("1h", "5m"))
    assert (hour.against, hour.covers, minutes.covers) == ("before", 3600, 600)
    assert hour.at <= t[-1] - 3600


def test_what_is_not_stored_yet_is_not_drawn_as_empty() -> None:
    """A source may end, and be looked at, before the checkpoint of its last records."""
    records, monitor = lines_of(backlog(47)), started(drawn("1h"), clock=Clock(START + 48 * 3600))
    monitor.step(records[:300])
    monitor.checkpoint()
    monitor.step(records[300:])
    monitor.report_source(None, True)
    before = line(monitor.view(whole=True), "1h")
    assert all(n for t, n, _ in before if t > START)
    monitor.checkpoint()
    after = line(monitor.view(whole=True), "1h")
    assert len(after) > 250
    assert [n for _, n, _ in after[60:]] == [15] * len(after[60:])


def test_what_no_complete_counts_cover_is_not_drawn(tmp_path: Path) -> None:
    """Where counts by time were stored later than others, lines begin where they have every sample."""
    events = backlog(20)
    _, monitor = shown(tmp_path / "state", events[:150], drawn("1h", retention=[]))
    monitor.close()
    monitor = feed(started(drawn("1h"), tmp_path / "state", Clock(START + 20 * 3600)), events[150:], start=150)
    monitor.checkpoint()
    monitor.report_source(None, True)
    first = line(monitor.view(whole=True), "1h")[0][0]
    monitor.close()

    assert first - 3600 >= START + 149 * 240


def test_lines_are_drawn_in_parts_and_stay_while_the_store_is_away(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is shown of lines whose points are not all known; the problem of the store is logged once."""
    whole, monitor = shown(tmp_path / "state", backlog(24), drawn("1h"), 25)
    crash(monitor)
    (tmp_path / "state").write_bytes(b"junk" * 5000)
    for more in range(2):
        monitor.step(lines_of(backlog(25)[360 + more : 361 + more], 360 + more))
        assert line(monitor.view(whole=True), "1h")[:-1] == line(whole, "1h")[:-1]
    assert sum(record.message.startswith("the trend lines cannot be read: ") for record in caplog.records) == 1
