"""A configuration that changes while counts are stored: what can be made of stored panes is, and the rest is said."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.monitor_events import events
from support.monitor_runs import START, Config, Monitor, config, feed, lines_of, started
from support.refusals import refused

import stream_metrics as sm

STREAM = lines_of([event.encode() if isinstance(event, str) else event for event in events(900, seed=6)])
HALF = len(STREAM) // 2
JOIN = {"ttl": "5m", "keep_joined": "2m", "max_pending": 40, "in_memory": 5}


def counting(*windows: str, field: str = "group", retention: Any = ("1m",), **more: Any) -> Config:
    """Return a configuration without scores, so that every order gives the same bytes."""
    counted = {"windows": windows, **more}
    return config(join=JOIN, counting=counted, store={"retention": retention}, fields={"group": field})


def offline(records: list[Any], how: Config, path: object = None) -> Monitor:
    """Return a monitor that has read records, and stored them if it has a path."""
    monitor = started(how, path)
    monitor.step(records)
    monitor.checkpoint()
    return monitor


def windows_of(monitor: Monitor) -> dict[str, bytes]:
    """Return the bytes of all windows."""
    return {name: data for name, data in monitor.counts().parts().items() if "/" in name}


def sizes(monitor: Monitor) -> list[int]:
    """Return the numbers of samples of all windows, the total first."""
    return [each.n for each in monitor.view().by_window.values()]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (counting("1h"), counting("1h", "2h")),
        (counting("1h", "4h"), counting("2h", "1h")),
        (counting("1h"), counting("1h", panes=30)),
        (counting("60m"), counting("1h", "3h", panes=60)),
        (counting("1h"), counting()),
    ],
)
def test_a_new_window_is_made_of_stored_panes(store_path: str, before: Config, after: Config) -> None:
    """It is the window that a monitor with it from the start has, byte for byte, and stays so."""
    first = offline(STREAM[:HALF], before, store_path)
    total = first.counts().total
    first.close()
    second = started(after, store_path)
    assert windows_of(second) == windows_of(offline(STREAM[:HALF], after))
    assert second.counts().total == total
    assert second.view().incomplete == []
    second.step(STREAM)
    second.close()
    third, once = started(after, store_path), offline(STREAM, after)
    assert windows_of(third) == windows_of(once)
    assert third.counts().total == once.counts().total
    third.close()


@pytest.mark.parametrize("retention", [("1m",), (), ("1h",)])
def test_what_stored_panes_do_not_reach_is_said(tmp_path: Path, retention: tuple[str, ...]) -> None:
    """Panes that are too long for the window, or none at all: it starts later, and the view says when."""
    few = [{"id": at, "time": START + at, "prediction": "cat", "truth": "cat"} for at in range(5)]
    how, later = counting("1h", retention=retention), counting("1h", "2h", retention=retention)
    said = "the window 2h came later: complete from 2023-11"
    for name, records in (("few", lines_of(few)), ("many", STREAM[:HALF])):  # a few events do not tell the time
        offline(records, how, tmp_path / name).close()
        monitor = started(later, tmp_path / name)
        total, hour, two = sizes(monitor)
        assert total >= hour > 0
        assert two == (hour if retention == ("1m",) else 0)
        assert [what[: len(said)] for what in monitor.view().incomplete] == ([] if two else [said])
        monitor.close()


def test_corrections_reach_the_pane_that_has_the_sample(store_path: str) -> None:
    """One that was emptied is none of a new window; a longer one has a sample beside a shorter one of its time."""
    event = {"id": 1, "time": START, "prediction": "cat", "group": "de", "truth": "cat"}
    first = offline(lines_of([event]), counting("1h", retention=("5m",)), store_path)
    first.close()
    second = started(counting("1h"), store_path)
    other = {"id": 2, "time": START, "prediction": "dog", "group": "fr", "truth": "dog"}
    third = {"id": 3, "time": START + 100, "prediction": "cat", "truth": "cat"}
    labels = [{"id": 1, "time": START, "truth": "dog"}, {"id": 3, "time": START + 200, "truth": "dog"}]
    feed(second, [event, other, labels[0], third, labels[1]])
    assert second.view().join.corrections == 2
    second.checkpoint()
    status, body = second.answer_range("points=1&metrics=accuracy")
    second.close()
    last = started(counting("1h", "2h"), store_path)
    assert sizes(last) == [3, 3, 3]
    assert (status, b'"n":3,"values":{"accuracy":0.3333333333333333}' in body) == (200, True)
    last.close()


def group_names(monitor: Monitor) -> set[object]:
    """Return the groups of the total and of all panes of windows."""
    counts = monitor.counts()
    panes = [sm.from_bytes(data) for name, data in counts.parts().items() if name.startswith("by_group/")]
    return {group for groups in (counts.total_groups, *panes) for group in groups.groups}  # type: ignore[attr-defined]


def prediction(at: int, t: int, **fields: str) -> dict[str, Any]:
    """Return a prediction with two fields for its group."""
    return {"id": at, "time": START + t, "prediction": "cat", "group": "de", "region": "eu", **fields}


@pytest.mark.parametrize("retention", [(), ("1m",), ("1m for 2m",)])
def test_groups_of_two_fields_are_never_mixed(store_path: str, retention: tuple[str, ...]) -> None:
    """Neither in counts nor by predictions that wait for labels, also after restarts and deleted panes."""
    log = [prediction(at, at, truth="cat") for at in range(10)] + [prediction(at, 10) for at in range(10, 15)]
    group, region = (counting("1h", field=field, retention=retention) for field in ("group", "region"))
    first = feed(started(group, store_path), log)
    assert group_names(first) == {"de"}
    first.close()

    second = started(region, store_path)
    assert group_names(second) == set()
    assert [what[:27] for what in second.view().incomplete] == ["groups by region came later"]
    log += [prediction(at, 200, truth="cat") for at in range(20, 40)]
    feed(second, log)
    assert group_names(second) == {"eu"}
    second.close()

    third = started(region, store_path)
    feed(third, [*log, {"id": 10, "time": START + 201, "truth": "cat"}])
    assert group_names(third) == {"eu"}
    assert (third.counts().total.n, third.counts().total_groups.state("eu").n) == (31, 20)
    assert len(third.view().incomplete) == 1
    third.close()
    fourth = started(group, store_path)  # the panes of the first field stay
    _, body = fourth.answer_range("points=1&group=de&metrics=accuracy")
    assert (b'"n":10,' in body) == (retention == ("1m",))
    fourth.close()


REFUSED: list[dict[str, Any]] = [{"scores": True}, {"clock": "prediction"}, {"max_groups": 1}, {"labels": ("cat",)}]


def test_what_would_discard_counts_is_refused_with_what_to_do(tmp_path: Path) -> None:
    """The error says that a backup can be kept."""
    for at, other in enumerate(REFUSED):
        path = tmp_path / f"state {at}"
        offline(STREAM[:50], counting("1h"), path).close()
        refused(partial(started, counting("1h", **other), path), sm.DecodeError, "monitor backup")
