"""Trend lines have the samples of stretches of event time, however and whenever these were read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.memory_panes import MemoryPanes

import stream_metrics as sm
from stream_metrics.monitor.archive import trends as module
from stream_metrics.monitor.archive.retention import Retention
from stream_metrics.monitor.archive.trends import MOST_POINTS, Point, Trends
from stream_metrics.monitor.archive.writing import COUNTS, Archive
from stream_metrics.monitor.config import Config, Counting, Source
from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.store.rows import StoreError
from stream_metrics.monitor.store.sqlite import Store
from stream_metrics.monitor.view.types import View

SECOND = 10**9
MINUTE, HOUR = 60 * SECOND, 3600 * SECOND
START = 1_700_000_000
KEYS = ("accuracy",)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LEAST", "SHARE", "STEADY"):
        monkeypatch.setattr(module, name, 0)
    monkeypatch.setattr(module, "BUDGET", 60.0)


def trends(rows: MemoryPanes, **lengths: int) -> Trends:
    """Return lines of windows by name."""

    @contextmanager
    def opened() -> Iterator[MemoryPanes]:
        yield rows

    return Trends(opened, lengths, "total")


def archives(rows: MemoryPanes, *retention: str, parts: int = 1) -> list[Archive]:
    """Return empty archives of partitions."""
    return [Archive(Retention.of(retention), {COUNTS: sm.MetricSet()}, rows, part) for part in range(parts)]


def add(archive: Archive, t: int, right: bool = True) -> None:
    state = sm.MetricSet()
    state.update("x", "x" if right else "y")
    archive.add(COUNTS, t * SECOND, state, batch=0)


def within(point: Point, samples: Sequence[tuple[int, bool]]) -> list[bool]:
    """Return which of the samples that a point covers were right."""
    return [right for t, right in samples if point.at - point.covers <= t < point.at]


Samples = st.lists(st.tuples(st.integers(0, 200_000), st.booleans()), min_size=1, max_size=60)


@settings(max_examples=25, deadline=None)
@given(
    Samples,
    st.sampled_from([("1m",), ("1s",), ("1m for 6h", "1h"), ("7m",)]),
    st.sampled_from([15, 300, 3600, 5400, 86_400]),
    st.integers(1, 7),
    st.booleans(),
)
def test_points_are_a_recount_of_their_stretches(
    samples: list[tuple[int, bool]], retention: tuple[str, ...], length: int, looks: int, ordered: bool
) -> None:
    """Also where samples come late and from two partitions; looks in between change nothing."""
    samples = [(START + t, right) for t, right in (sorted(samples) if ordered else samples)]
    rows = MemoryPanes()
    parts = archives(rows, *retention, parts=2)
    many = trends(rows, w=length * SECOND)
    seen = 0
    for number, (t, right) in enumerate(samples):
        add(parts[number % 2], t, right)
        seen = max(seen, t)
        if number % looks == 0:
            for part, archive in enumerate(parts):
                rows.checkpoint(part, archive, seen * SECOND)
            many.look(seen, KEYS, quiet=False, counted=number)
    for part, archive in enumerate(parts):
        rows.checkpoint(part, archive, seen * SECOND)
    at = seen + 86_400
    once = trends(rows, w=length * SECOND)
    for each in (many, once):
        each.look(at, KEYS, quiet=True, counted=None)

    for line in ("total", "w"):
        points = once.points(line)
        assert points == many.points(line)
        assert 0 < len(points) <= MOST_POINTS + 1
        for point in points:
            truth = within(point, samples)
            assert point.n == len(truth)
            assert point.metrics.get("accuracy") == (sum(truth) / len(truth) if truth else None)
        first = points[0].at - points[0].covers
        if len(retention) == 1:
            assert first <= max(min(t for t, _ in samples), at - module.REACH // SECOND + points[0].covers)
        assert points[-1].at > at - max(points[-1].covers, 1)
        assert {point.covers for point in points} == {points[0].covers}


def stretch(rows: MemoryPanes, hours: int, every: int = 300) -> list[tuple[int, bool]]:
    """Count a sample every so many seconds, and return them."""
    (archive,) = archives(rows, "1m for 2d", "1h for 90d", "1d")
    samples = [(START + t, t % 900 > 0) for t in range(0, hours * 3600, every)]
    for t, right in samples:
        add(archive, t, right)
        rows.checkpoint(0, archive, t * SECOND)
    return samples


def test_a_window_that_is_long_enough_has_the_points_of_its_length() -> None:
    """Points of an hour every ten minutes; the total has those of the shortest window."""
    rows = MemoryPanes()
    samples = stretch(rows, 6)
    lines = trends(rows, hour=HOUR, half=HOUR // 2)
    lines.look(samples[-1][0], KEYS, quiet=False, counted=0)

    assert [lines.covers(name) for name in ("hour", "half", "total")] == [3600, 1800, 1800]
    steps = {b.at - a.at for a, b in zip(lines.points("hour"), lines.points("hour")[1:], strict=False)}
    assert steps == {60}
    assert lines.points("half") == lines.points("total")
    assert lines.before("hour", START + 7200) is not None
    assert lines.before("hour", START - 7200) is None


def test_what_no_complete_counts_cover_is_not_drawn() -> None:
    """A name that was added later is drawn from where its panes have every sample."""
    rows = MemoryPanes()
    archive = Archive(Retention.of(["1m"]), {COUNTS: sm.MetricSet()}, rows, 0, before=(START + 1000) * SECOND)
    for t in range(0, 20_000, 50):
        if t > 1100:
            add(archive, START + t)
    rows.checkpoint(0, archive, (START + 20_000) * SECOND)
    lines = trends(rows, hour=HOUR)
    lines.look(START + 20_000, KEYS, quiet=True, counted=0)

    assert lines.points("hour")[0].at - 3600 >= START + 1000


def test_work_that_takes_long_is_done_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is shown of lines whose points are not all known, and panes that did not change are not read again."""
    rows = MemoryPanes()
    samples = stretch(rows, 3)
    lines = trends(rows, hour=HOUR)
    monkeypatch.setattr(module, "BUDGET", -1.0)
    looks = 0
    while not lines.points("total"):
        lines.look(samples[-1][0], KEYS, quiet=True, counted=0)
        looks += 1
        assert looks < 1000
    assert looks == len(lines.points("total"))
    monkeypatch.setattr(module, "LEAST", 1e9)
    lines.look(samples[-1][0], KEYS, quiet=True, counted=0, whole=True)
    assert lines.points("hour")
    rows.bodies = lambda *args: pytest.fail("read again")  # type: ignore[method-assign]
    lines.look(samples[-1][0], KEYS, quiet=True, counted=1, whole=True)


def test_lines_stay_while_the_store_is_away(caplog: pytest.LogCaptureFixture) -> None:
    """The problem is logged once."""
    rows = MemoryPanes()
    samples = stretch(rows, 3)
    lines = trends(rows, hour=HOUR)
    lines.look(samples[-1][0], KEYS, quiet=True, counted=0)
    before = lines.points("hour")

    def away(name: str) -> tuple[int, int] | None:
        raise StoreError("the store is away")

    rows.bounds = away  # type: ignore[method-assign]
    for counted in (1, 2):
        lines.look(samples[-1][0], KEYS, quiet=True, counted=counted)
    assert lines.points("hour") == before
    assert [record.message for record in caplog.records] == ["the trend lines cannot be read: the store is away"]


def backlog(hours: int) -> list[Record]:
    """Return records of a pair every four minutes."""
    rows = []
    for at in range(hours * 15):
        event = {"id": str(at), "time": START + 240 * at, "truth": "a", "prediction": "b" if at % 5 == 0 else "a"}
        rows.append(Record("pairs", 0, at, at + 1, None, None, json.dumps(event).encode()))
    return rows


def shown(store: Store | None, records: Sequence[Record], now: float) -> tuple[View, Monitor]:
    """Return a view of records that were all read at one moment, and the monitor."""
    counting = Counting(windows=("5m", "1h"), metrics=KEYS)
    monitor = Monitor(Config(counting=counting, source=Source(idle="1d")), store, lambda: now)
    monitor.assign([0])
    monitor.step(records)
    monitor.report_source(None, True)
    monitor.checkpoint()
    return monitor.view(), monitor


def test_a_backlog_is_drawn_by_the_time_of_its_events(tmp_path: Path) -> None:
    """Two days that were read at once; a restart changes nothing, and the last point is the window."""
    path, now = str(tmp_path / "state.sqlite"), START + 48 * 3600.0
    view, monitor = shown(Store(path), backlog(47), now)
    monitor.close()
    again, monitor = shown(Store(path), [], now)
    monitor.close()

    assert again.history == view.history
    assert again.history_covers == view.history_covers == {"total": 600, "5m": 600, "1h": 3600}
    for name, length in view.history_covers.items():
        t = [t for t in view.history[name]["t"] if t is not None]
        assert t == sorted(set(t))
        assert t[0] - length <= START
        assert START + 47 * 3600 - 900 <= t[-1] <= START + 47 * 3600
        assert len(t) > 250
    assert view.history["1h"]["n"][-1] == view.by_window["1h"].n
    assert view.history["1h"]["accuracy"][-1] == pytest.approx(view.by_window["1h"].metrics["accuracy"], abs=1e-6)
    (row,) = view.by_window["1h"].comparisons["accuracy"]
    assert (row.against, row.covers) == ("before", 3600)
    assert row.at <= t[-1] - 3600
    (row,) = view.by_window["5m"].comparisons["accuracy"]
    assert row.covers == 600


def test_what_is_not_stored_yet_is_not_drawn_as_empty() -> None:
    """A source may end, and be looked at, before the checkpoint of its last records."""
    counting = Counting(windows=("1h",), metrics=KEYS)
    monitor = Monitor(Config(counting=counting), clock=lambda: START + 48 * 3600.0)
    monitor.assign([0])
    records = backlog(47)
    monitor.step(records[:300])
    monitor.checkpoint()
    monitor.step(records[300:])
    monitor.report_source(None, True)
    before = monitor.view().history["1h"]
    assert all(n for n, t in zip(before["n"], before["t"], strict=True) if t is not None and t > START)
    monitor.checkpoint()
    after = monitor.view().history["1h"]
    assert len(after["n"]) > 250
    assert after["n"][20:] == [15] * len(after["n"][20:])


def test_metrics_may_change() -> None:
    """All points have the metrics of now."""
    rows = MemoryPanes()
    samples = stretch(rows, 3)
    lines = trends(rows, hour=HOUR)
    for keys in (KEYS, ("macro_f1",)):
        lines.look(samples[-1][0], keys, quiet=True, counted=0)
        assert {tuple(point.metrics) for point in lines.points("hour") if point.n} == {keys}
        drawn = lines.lines(keys, {})
        assert set(drawn["hour"]) == {"t", "n", *keys}
        assert len({len(line) for line in drawn["hour"].values()}) == 1
