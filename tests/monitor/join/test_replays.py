"""What is delivered again is counted once, for days; what is forgotten or given up early is said."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.monitor_runs import NOW, START, Config, Monitor, config, crash, exported, feed, lines_of, started

DAY, HOUR = 86_400.0, 3600.0


def said(key: object, time: float, **said: str) -> dict[str, Any]:
    """Return an event of an id at a time in seconds after the start."""
    return {"id": key, "time": START + time, **said}


def day(n: int, start: float = 0.0) -> list[dict[str, Any]]:
    """Return a day of predictions and labels, of which some never come."""
    events = []
    for at in range(n):
        time, key = start + DAY * at / n, f"{start}/{at}"
        events.append(said(key, time, prediction="ab"[at % 2]))
        if at % 10:
            events.append(said(key, time + 60, truth="ab"[at % 3 % 2]))
    return events


def remembering(**join: Any) -> Config:
    """Return a configuration without windows."""
    return config(join=join, counting={"windows": []})


def run(
    path: Path, stream: list[Any], restart: int = 10**9, at_once: int = 500, start: int = 0, **join: Any
) -> Monitor:
    """Return a monitor that has read a stream, and was started again after each `restart` records."""
    how = remembering(**join)
    monitor = started(how, path)
    for at in range(0, len(stream), at_once):
        feed(monitor, stream[at : at + at_once], at_once, start + at)
        if at and at % restart == 0:
            monitor.close()
            monitor = started(how, path)
    monitor.checkpoint()
    return monitor


def ended(monitor: Monitor) -> Any:
    """Close a monitor, and return what became of predictions and labels."""
    join = monitor.view().join
    monitor.close()
    return join


def test_a_day_that_is_delivered_again_is_counted_once(tmp_path: Path) -> None:
    """Over restarts duplicates are duplicates, and a label that changed is a correction refused; not without memory."""
    stream = day(2000)
    late, changed = said("0.0/10", DAY, truth="a"), said("0.0/1", DAY, truth="a")
    join = ended(run(tmp_path / "state", [*stream, *stream, late, changed], restart=1500, ttl="1h"))
    without = ended(run(tmp_path / "other", [*stream, *stream], ttl="1h", keep_ids="0s"))

    assert (join.joined, join.predictions_duplicate, join.labels_duplicate) == (1800, 2000, 1800)
    assert (join.labels_late, join.corrections_refused, join.forgotten) == (1, 1, 0)
    assert without.joined > 3500


def test_ids_beyond_the_limit_and_predictions_given_up_early_are_said(tmp_path: Path) -> None:
    """The oldest ids are forgotten and the oldest predictions expire: both are in the view and in Prometheus."""
    forgetful = run(tmp_path / "state", day(4000), ttl="1h", keep_joined="1m", max_ids=1000)
    stream = [said(at, at, prediction="a") for at in range(3000)]
    labels = [said(at, 3000 + at, truth="a") for at in range(3000)]
    full = run(tmp_path / "other", stream + labels, max_pending=1000, in_memory=100)
    texts = [exported(monitor) for monitor in (forgetful, full)]
    ids, given_up = ended(forgetful), ended(full)

    assert 2500 <= ids.forgotten <= 3100
    assert f"stream_metrics_ids_forgotten_total {ids.forgotten}" in texts[0]
    assert given_up.labels_late == given_up.expired_early == given_up.predictions_expired >= 2000
    assert f"stream_metrics_predictions_expired_early_total {given_up.expired_early}" in texts[1]


def test_batches_and_restarts_change_nothing(tmp_path: Path) -> None:
    """The counts after a stream with replays are the same, and so is what is still remembered, by a further replay."""
    stream = day(300)
    stream += [*stream[100:400], said("0.0/3", DAY, truth="b"), *day(200, DAY), *stream]
    join = {"ttl": "20m", "keep_joined": "10m", "keep_ids": "6h", "max_ids": 150, "max_joined": 20}
    results = []
    for at, (at_once, restart) in enumerate([(10_000, 10**9), (3, 99), (13, 130), (500, 500)]):
        monitor = run(tmp_path / f"state {at}", stream, restart, at_once, **join)
        before = monitor.stats()
        feed(monitor, stream[::-1], at_once, len(stream))
        results.append((before, monitor.stats(), monitor.counts().parts()))
        monitor.close()

    assert results[1:] == results[:1] * 3
    assert results[0][0].forgotten > 0


ACTS = st.tuples(st.just("event"), st.integers(0, 30), st.sampled_from([0.0, 0.5, 3.0, 40.0]))
FATES = st.tuples(st.sampled_from("cck"), st.just(0), st.just(0.0))


@given(st.lists(ACTS | FATES, max_size=80), st.sampled_from([1, 10, 40]))
def test_the_memory_is_a_dict_with_ages(tmp_path_factory: pytest.TempPathFactory, acts: list[Any], most: int) -> None:
    """Ids are remembered until they are too old or too many, over checkpoints and kills."""
    path, time, there = tmp_path_factory.mktemp("ids") / "state", 0.0, dict[int, float]()
    how = remembering(ttl="1s", keep_joined="0s", keep_ids="64s", max_ids=most, votes=1)
    monitor, stream = started(how, path), list[dict[str, Any]]()
    for kind, key, step in acts:
        if kind == "c":
            monitor.checkpoint()
        elif kind == "k":
            crash(monitor)
            monitor = started(how, path)
            feed(monitor, stream[(at := monitor.assign([0]).get(("t", 0), 0)) :], start=at)
        else:
            time += step
            before = monitor.stats().joined
            stream.append(said(key, time, prediction="a", truth="a"))
            monitor.step(lines_of(stream[-1:], len(stream) - 1))
            new, age = monitor.stats().joined > before, time - there.get(key, -1e9)
            assert new or age <= 66
            assert not new or age >= 64 or len(there) > most or most < 31
            there[key] = time if new else there[key]
    monitor.close()


def test_a_slow_stream_leaves_few_rows(tmp_path: Path) -> None:
    """With one id for each checkpoint, the state has as many rows as the ids need, and not as many as checkpoints."""
    monitor = started(remembering(keep_joined="0s"), tmp_path / "state")
    for at in range(900):
        feed(monitor, [said(at, at, prediction="a", truth="a")], start=at)
        if at >= 600:
            monitor.checkpoint()
    monitor.close()
    with closing(sqlite3.connect(tmp_path / "state")) as file:
        tables = [name for (name,) in file.execute("select name from sqlite_master where type = 'table'")]
        rows = {name: file.execute(f"select count(*) from {name}").fetchone()[0] for name in tables}

    assert rows.pop("panes") > 10
    assert max(rows.values()) < 30


@pytest.mark.parametrize("later", ["24h", "48h", "72h", "1000h"])
def test_lengths_of_time_are_those_of_now(tmp_path: Path, later: str) -> None:
    """Between two runs they may be changed: what waits or is remembered is so for the new length, and no longer."""
    hours = 40
    too_old = max(hours - int(later.rstrip("h")), 0)
    waiting, path = [said(at, HOUR * at, prediction="a") for at in range(hours)], tmp_path / "waiting"
    ended(run(path, waiting, votes=1, ttl="48h"))
    now = ended(run(path, [said("last", HOUR * hours, prediction="a")], start=hours, votes=1, ttl=later))
    end = ended(run(path, [said("end", HOUR * 400, prediction="a")], start=hours + 1, votes=1, ttl=later))

    assert too_old - 1 <= now.predictions_expired <= too_old
    assert end.predictions_expired == (0 if later == "1000h" else hours + 1)

    pairs = [event for at, each in enumerate(waiting) for event in (each, said(at, HOUR * at, truth="a"))]
    short: dict[str, Any] = {"votes": 1, "ttl": "1h", "keep_joined": "1m"}
    path = tmp_path / "ids"
    ended(run(path, pairs, keep_ids="48h", **short))
    again = [said("last", HOUR * hours, prediction="a"), *pairs]
    now = ended(run(path, again, start=80, keep_ids=later, **short))
    end = ended(run(path, [said("end", HOUR * 400, prediction="a"), *pairs], start=161, keep_ids=later, **short))
    new = now.joined - hours

    assert too_old - 3 <= new <= too_old
    assert end.joined - now.joined == (0 if later == "1000h" else hours - new)  # what counted again is remembered


def test_a_run_without_memory(tmp_path: Path) -> None:
    """What was remembered before it does not come back; one that keeps no pairs goes on from one that did."""
    pair = [said("a", 0, prediction="a"), said("a", 0, truth="a")]
    short: dict[str, Any] = {"votes": 1, "ttl": "1h", "keep_joined": "1m"}
    ended(run(tmp_path / "ids", [*pair, said("b", 2 * HOUR, prediction="a")], keep_ids="48h", **short))
    ended(run(tmp_path / "ids", [said("c", 3 * HOUR, prediction="a")], start=3, keep_ids="0s", **short))
    later = [{**event, "time": START + 4 * HOUR} for event in pair]
    join = ended(run(tmp_path / "ids", later, start=4, keep_ids="48h", **short))
    assert (join.joined, join.predictions_duplicate) == (2, 0)

    ended(run(tmp_path / "pairs", pair, keep_joined="1h"))
    other = [said("b", HOUR, prediction="b"), said("b", HOUR, truth="b")]
    assert ended(run(tmp_path / "pairs", other, start=2, keep_joined="0s")).joined == 2
    for keep in ("0s", "1d"):  # a state without ids goes on, and ids are remembered from then on
        ended(run(tmp_path / keep, day(500), ttl="1h", keep_ids="0s"))
        both = day(500) + day(500, NOW - START - 2 * DAY)
        assert ended(run(tmp_path / keep, both, ttl="1h", keep_ids=keep)).joined == 900
