"""A configuration that changes while counts are stored: what can be made of stored panes is, and the rest is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from support.monitor_events import CONFIG, NOW, START, events, offline, records

from stream_metrics.containers.groups import ByGroup
from stream_metrics.errors import DecodeError
from stream_metrics.monitor.archive.reading import merged
from stream_metrics.monitor.archive.writing import COUNTS
from stream_metrics.monitor.config import Config, Counting, Fields
from stream_metrics.monitor.config import Store as StoreConfig
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.store.backups import restore
from stream_metrics.monitor.store.opening import open_store

STREAM = records(events(900, seed=6))
HALF = len(STREAM) // 2


def config(*windows: str, panes: int = 60, retention: tuple[str, ...] = ("1m",), **counting: Any) -> Config:
    """Return a configuration without scores, so that every order gives the same bytes."""
    return structs.replace(
        CONFIG, counting=Counting(windows=windows, panes=panes, **counting), store=StoreConfig(retention=retention)
    )


def started(path: str, how: Config) -> Monitor:
    monitor = Monitor(how, open_store(path), lambda: NOW)
    monitor.assign([0])
    return monitor


def read(path: str, how: Config, until: int) -> Monitor:
    """Return a monitor that has read the stream to a record, and stored it."""
    monitor = started(path, how)
    monitor.step(STREAM[:until])
    monitor.checkpoint()
    return monitor


def windows_of(monitor: Monitor) -> dict[str, bytes]:
    return {name: data for name, data in monitor.counts().parts().items() if "/" in name}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (config("1h"), config("1h", "2h")),
        (config("1h", "4h"), config("2h", "1h")),
        (config("1h"), config("1h", panes=30)),
        (config("60m"), config("1h", "3h", panes=60)),
        (config("1h"), config()),
    ],
)
def test_a_new_window_is_made_of_stored_panes(store_path: str, before: Config, after: Config) -> None:
    """It is the window that a monitor with it from the start has, byte for byte, and stays so."""
    first = read(store_path, before, HALF)
    total = first.counts().total
    first.close()
    second = started(store_path, after)
    assert windows_of(second) == windows_of(offline(STREAM[:HALF], after))
    assert second.counts().total == total
    assert second.view().incomplete == []
    second.step(STREAM)
    second.close()
    third = started(store_path, after)
    once = offline(STREAM, after)
    assert windows_of(third) == windows_of(once)
    assert third.counts().total == once.counts().total
    third.close()


@pytest.mark.parametrize("retention", [("1m",), ()])
def test_a_new_window_has_pairs_of_before_the_time_was_told(tmp_path: Path, retention: tuple[str, ...]) -> None:
    """The first few events do not tell the time; what was counted of them is in the new window, or the view says so."""
    path = str(tmp_path / "state")
    first = started(path, config("1h", retention=retention))
    first.step(records([{"id": at, "time": START + at, "prediction": "cat", "truth": "cat"} for at in range(5)]))
    first.close()
    monitor = started(path, config("1h", "2h", retention=retention))
    view = monitor.view()
    monitor.close()

    assert [window.n for window in view.by_window.values()] == [5, 5, 5 if retention else 0]
    assert [what[:47] for what in view.incomplete] == (
        [] if retention else ["the window 2h came later: complete from 2023-11"]
    )


def test_a_pane_that_a_correction_has_emptied_is_none_of_a_new_window(store_path: str) -> None:
    """The only pair of a minute is corrected at a later one, and then a window is added."""
    event = {"id": 1, "time": START, "prediction": "cat", "group": "de", "truth": "cat"}
    again = {"id": 1, "time": START + 100, "truth": "dog"}
    first = started(store_path, config("1h"))
    first.step(records([event]))
    first.checkpoint()
    first.step(records([event, again]))
    first.close()
    second = started(store_path, config("1h", "2h"))
    view = second.view()
    second.close()

    assert view.join.corrections == 1
    assert [window.n for window in view.by_window.values()] == [1, 1, 1]


def test_a_sample_in_a_longer_pane_is_corrected_where_a_shorter_one_has_come(store_path: str) -> None:
    """The shorter pane, of a retention that came later, has the time of the sample but not the sample."""
    event = {"id": 1, "time": START, "prediction": "cat", "group": "de", "truth": "cat"}
    other = {"id": 2, "time": START, "prediction": "dog", "group": "fr", "truth": "dog"}
    again = {"id": 1, "time": START, "truth": "dog"}
    first = started(store_path, config("1h", retention=("5m",)))
    first.step(records([event]))
    first.close()
    second = started(store_path, config("1h"))
    second.step(records([event, other, again]))
    second.checkpoint()
    join, total = second.view().join, second.counts().total
    with second.panes.all_panes() as panes:
        whole = merged(panes, COUNTS, 0, 2**62)
    second.close()

    assert join.corrections == 1
    assert whole is not None
    assert whole.to_bytes() == total.to_bytes()


def test_what_stored_panes_do_not_reach_is_said(tmp_path: Path) -> None:
    """Panes that are too long for the window, or none at all: it starts later, and the view says when."""
    for retention in ("1h",), ():
        path = str(tmp_path / f"state{len(retention)}")
        read(path, config("1h", retention=retention), HALF).close()
        monitor = started(path, config("1h", "2h", retention=retention))
        (what,) = monitor.view().incomplete
        assert what.startswith("the window 2h came later: complete from 2023-11-14T22:")
        assert monitor.view().by_window["2h"].n == 0 < monitor.view().by_window["1h"].n
        monitor.close()


def test_groups_of_another_field_start_empty_and_the_old_ones_stay_readable(tmp_path: Path) -> None:
    """Numbers of two fields are never mixed; the panes of the first field stay."""
    path, how = str(tmp_path / "state"), config("1h")
    first = read(path, how, HALF)
    groups = first.counts().total_groups
    first.close()
    second = started(path, structs.replace(how, fields=Fields(group="truth")))
    assert second.counts().total_groups.groups == ()
    assert any(what.startswith("groups by truth came later") for what in second.view().incomplete)
    second.step(STREAM)
    assert set(second.counts().total_groups.groups) <= {"cat", "dog", "fox"}
    second.close()
    third = started(path, structs.replace(how, fields=Fields(group="truth")))
    assert third.counts().total_groups.groups
    with third.panes.all_panes() as panes:
        assert panes.names() == ["by/group", "by/truth", "counts"]
        stored = list(panes.bodies("by/group", 0, 2**62))
    third.close()
    assert stored
    assert groups.groups


def grouped(path: str, field: str, retention: tuple[str, ...]) -> Monitor:
    how = structs.replace(config("1h", retention=retention), fields=Fields(group=field))
    return started(path, how)


def group_names(monitor: Monitor) -> set[object]:
    """Return the groups of the total and of all panes of windows."""
    counts = monitor.counts()
    panes = [ByGroup.from_bytes(data) for name, data in counts.parts().items() if name.startswith("by_group/")]
    return {group for groups in (counts.total_groups, *panes) for group in groups.groups}


def prediction(at: int, t: int, **fields: str) -> dict[str, Any]:
    return {"id": at, "time": START + t, "prediction": "cat", "group": "de", "region": "eu", **fields}


@pytest.mark.parametrize("retention", [(), ("1m",), ("1m for 2m",)])
def test_groups_of_two_fields_are_never_mixed(store_path: str, retention: tuple[str, ...]) -> None:
    """Neither in counts nor by predictions that wait for labels, also after restarts and deleted panes."""
    log = [prediction(at, at, truth="cat") for at in range(10)] + [prediction(at, 10) for at in range(10, 15)]
    first = grouped(store_path, "group", retention)
    first.step(records(log))
    assert group_names(first) == {"de"}
    first.close()

    second = grouped(store_path, "region", retention)
    assert group_names(second) == set()
    assert [what[:27] for what in second.view().incomplete] == ["groups by region came later"]
    log += [prediction(at, 200, truth="cat") for at in range(20, 40)]
    second.step(records(log))
    assert group_names(second) == {"eu"}
    second.close()

    third = grouped(store_path, "region", retention)
    third.step(records([*log, {"id": 10, "time": START + 201, "truth": "cat"}]))
    counts = third.counts()
    assert group_names(third) == {"eu"}
    assert (counts.total.n, counts.total_groups.state("eu").n) == (31, 20)
    assert len(third.view().incomplete) == 1
    third.close()


def test_an_export_knows_the_field_of_its_groups(tmp_path: Path) -> None:
    """A state file that is restored from it does not continue the groups of another field."""
    export, path = str(tmp_path / "export"), str(tmp_path / "state")
    how = structs.replace(config("1h"), store=StoreConfig(export=export))
    first = started(str(tmp_path / "first"), how)
    first.step(records([prediction(at, at, truth="cat") for at in range(10)]))
    first.export()
    first.close()
    restore(path, export)
    second = grouped(path, "region", ("1m",))
    assert group_names(second) == set()
    second.close()


REFUSED: list[dict[str, Any]] = [{"scores": True}, {"clock": "prediction"}, {"max_groups": 1}, {"labels": ("cat",)}]


@pytest.mark.parametrize("counting", REFUSED)
def test_what_would_discard_counts_is_refused_with_what_to_do(tmp_path: Path, counting: dict[str, Any]) -> None:
    path = str(tmp_path / "state")
    read(path, config("1h"), HALF).close()
    with pytest.raises(DecodeError, match="monitor backup"):
        started(path, config("1h", **counting))
