"""What is delivered again is counted once, for days; what is forgotten or given up early is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.prometheus_text import unlabelled

from stream_metrics.monitor import config
from stream_metrics.monitor.alerts.rule_reading import parse
from stream_metrics.monitor.config import Config, Counting, Join
from stream_metrics.monitor.join.id_memory import IdMemory
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.serve.prometheus import text
from stream_metrics.monitor.sources.memory import records
from stream_metrics.monitor.store import Store

NOW = 1_700_000_000.0
DAY = 86_400.0
WINDOWS = Counting(windows=())


def day(n: int, start: float = NOW) -> list[dict[str, Any]]:
    """Return a day of predictions and labels, of which some never come."""
    events = []
    for at in range(n):
        time = start + DAY * at / n
        events.append({"id": f"{start}/{at}", "time": time, "prediction": "ab"[at % 2]})
        if at % 10:
            events.append({"id": f"{start}/{at}", "time": time + 60, "truth": "ab"[at % 3 % 2]})
    return events


def counted(stream: list[dict[str, Any]], path: Path, join: Join, at_once: int = 500, restart: int = 0) -> Monitor:
    """Return a monitor that has read a stream, and was started again after each `restart` records."""
    settled = Config(join=join, counting=WINDOWS)
    monitor = Monitor(settled, Store(str(path)), lambda: NOW + 10 * DAY)
    monitor.assign([0])
    for start in range(0, len(stream), at_once):
        monitor.step(records(stream[start : start + at_once], start=start))
        if restart and start % restart == 0:
            monitor.close()
            monitor = Monitor(settled, Store(str(path)), lambda: NOW + 10 * DAY)
            monitor.assign([0])
    return monitor


def test_a_day_that_is_delivered_again_is_counted_once(tmp_path: Path) -> None:
    """By default, and over restarts: duplicates are duplicates, and a label that changed is a correction refused."""
    stream = day(4000)
    late = {"id": f"{NOW}/10", "time": NOW + DAY, "truth": "a"}
    changed = {"id": f"{NOW}/1", "time": NOW + DAY, "truth": "a"}
    monitor = counted([*stream, *stream, late, changed], tmp_path / "state", Join(ttl="1h"), restart=1500)
    view = monitor.view()

    assert view.by_window["total"].n == 3600
    assert view.join.predictions_duplicate == 4000
    assert view.join.labels_duplicate == 3600
    assert view.join.labels_late == 1
    assert view.join.corrections_refused == 1
    assert view.join.forgotten == 0
    monitor.close()


def test_without_memory_it_is_counted_twice(tmp_path: Path) -> None:
    """What the memory is for: without it, all but the last hour counts again."""
    stream = day(4000)
    monitor = counted([*stream, *stream], tmp_path / "state", Join(ttl="1h", keep_ids="0s"))

    assert monitor.view().by_window["total"].n > 7000
    monitor.close()


def test_ids_beyond_the_limit_are_said(tmp_path: Path) -> None:
    """Too many ids: the oldest are forgotten, and how many is in the view, Prometheus and rules."""
    monitor = counted(day(4000), tmp_path / "state", Join(ttl="1h", keep_joined="1m", max_ids=1000))
    monitor.checkpoint()
    view = monitor.view()

    assert 2500 <= view.join.forgotten <= 3100
    assert f"stream_metrics_ids_forgotten_total {view.join.forgotten}" in unlabelled(text(view, config.Serve()))
    rule = parse("forgotten > 0")
    assert rule.read(view) == view.join.forgotten  # type: ignore[union-attr]
    monitor.close()


def test_predictions_that_are_given_up_early_are_said(tmp_path: Path) -> None:
    """More wait than may: each that was given up is counted apart from those that waited long enough."""
    stream = [{"id": at, "time": NOW + at, "prediction": "a"} for at in range(3000)]
    labels = [{"id": at, "time": NOW + 3000 + at, "truth": "a"} for at in range(3000)]
    monitor = counted([*stream, *labels], tmp_path / "state", Join(max_pending=1000, in_memory=100))
    monitor.checkpoint()
    view = monitor.view()

    assert view.join.expired_early == view.join.predictions_expired >= 2000
    assert view.join.labels_late == view.join.expired_early
    exported = unlabelled(text(view, config.Serve()))
    assert f"stream_metrics_predictions_expired_early_total {view.join.expired_early}" in exported
    monitor.close()


def test_batches_and_restarts_change_nothing(tmp_path: Path) -> None:
    """The state after a stream with replays is the same, regardless of the batches and restarts."""
    stream = day(300)
    stream += [*stream[100:400], {"id": f"{NOW}/3", "time": NOW + DAY, "truth": "b"}, *day(200, NOW + DAY), *stream]
    join = Join(ttl="20m", keep_joined="10m", keep_ids="6h", max_ids=150, max_joined=20)
    states = []
    for at, (at_once, restart) in enumerate([(10_000, 0), (1, 97), (13, 130), (500, 500)]):
        monitor = counted(stream, tmp_path / f"state {at}", join, at_once, restart)
        joiner = monitor._partitions[0].joiner
        marks = {key: joiner.ids.mark(key) for key in {event["id"] for event in stream}}
        states.append((monitor.counts().to_bytes(), monitor.stats(), joiner.ids.content(), marks))
        monitor.close()

    assert states[1:] == states[:1] * 3
    assert states[0][1].forgotten > 0


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.sampled_from([0.0, 0.5, 40.0])), max_size=60),
    st.integers(1, 40),
    st.integers(0, 60),
)
def test_the_memory_is_a_dict_with_ages(puts: list[tuple[int, float]], most: int, cut: int) -> None:
    """Ids are there until they are too old or too many, newest last, also after they were written and read."""
    memory, time, there, log = IdMemory(64.0, most), 1000.0, dict[int, float](), list[Any]()
    for at, (key, step) in enumerate(puts):
        if at == cut:
            done = memory.prepared()
            log += [done.segment] if done.segment is not None else []
            memory.written(done)
            again = IdMemory(64.0, most)
            again.load(memory.content(), log)
            memory = again
        time += step
        memory.advance(time)
        if memory.mark(key) is None:
            memory.put(key, key % 256)
            there[key] = time
        for each in range(31):
            mark = memory.mark(each)
            assert mark in (None, each % 256)
            age = time - there.get(each, -1e9)
            assert mark is None or age <= 66
            assert mark is not None or age >= 64 or len(there) > most or most < 31
    assert memory.n <= most


@pytest.mark.parametrize("keep", ["0s", "1d"])
def test_a_state_without_ids_goes_on(tmp_path: Path, keep: str) -> None:
    """A state of an earlier version, or one that kept no ids, is read, and ids are remembered from then on."""
    monitor = counted(day(500), tmp_path / "state", Join(ttl="1h", keep_ids="0s"))
    monitor.close()
    again = counted(day(500) + day(500, NOW + DAY), tmp_path / "state", Join(ttl="1h", keep_ids=keep))

    assert again.view().by_window["total"].n == 900
    again.close()
