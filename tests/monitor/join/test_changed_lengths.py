"""Lengths of time of the join may be changed between two runs: what waits or is remembered goes by the new length."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from stream_metrics.monitor.config import Config, Counting, Join
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.sources.memory import records
from stream_metrics.monitor.store import Store

NOW = 1_700_000_000.0
HOUR = 3600.0


def run(path: Path, stream: Sequence[dict[str, Any]], start: int, **join: Any) -> Monitor:
    """Return a monitor that has read a stream and written what it counted."""
    config = Config(join=Join(votes=1, **join), counting=Counting(windows=()))
    monitor = Monitor(config, Store(str(path)), lambda: NOW + 1000 * HOUR)
    monitor.assign([0])
    monitor.step(records(stream, start=start))
    monitor.close()
    return monitor


def prediction(key: object, hours: float) -> dict[str, Any]:
    """Return a prediction so many hours after the start."""
    return {"id": key, "time": NOW + HOUR * hours, "prediction": "a"}


def label(key: object, hours: float, truth: str = "a") -> dict[str, Any]:
    """Return a label so many hours after the start."""
    return {"id": key, "time": NOW + HOUR * hours, "truth": truth}


@pytest.mark.parametrize("later", ["24h", "48h", "72h", "1000h"])
def test_predictions_wait_as_long_as_is_said_now(tmp_path: Path, later: str) -> None:
    """Of one prediction an hour, those expire that are older than the new length, and no others."""
    hours = 40
    run(tmp_path / "state", [prediction(at, at) for at in range(hours)], 0, ttl="48h")
    join = run(tmp_path / "state", [prediction("last", hours)], hours, ttl=later).stats()
    expected = max(hours - int(later.rstrip("h")), 0)

    assert expected - 1 <= join.predictions_expired <= expected
    join = run(tmp_path / "state", [prediction("end", 400)], hours + 1, ttl=later).stats()
    assert join.predictions_expired == (0 if later == "1000h" else hours + 1)


@pytest.mark.parametrize("later", ["24h", "48h", "72h", "1000h"])
def test_ids_are_remembered_as_long_as_is_said_now(tmp_path: Path, later: str) -> None:
    """A replay counts again only what came before the new length."""
    stream, hours = [event for at in range(40) for event in (prediction(at, at), label(at, at))], 40
    lengths: dict[str, Any] = {"ttl": "1h", "keep_joined": "1m"}
    run(tmp_path / "state", stream, 0, keep_ids="48h", **lengths)
    join = run(tmp_path / "state", [prediction("last", hours), *stream], 80, keep_ids=later, **lengths).stats()
    forgotten = max(hours - int(later.rstrip("h")), 0)

    assert forgotten - 3 <= join.joined - hours <= forgotten
    again = [prediction("end", 400), *stream]
    last = run(tmp_path / "state", again, 161, keep_ids=later, **lengths).stats().joined
    new = join.joined - hours  # what was counted again was kept as a pair until the end, and is remembered from then on
    assert last - join.joined == (0 if later == "1000h" else hours - new)


def test_ids_that_were_not_to_be_remembered_are_gone(tmp_path: Path) -> None:
    """After a run without memory, what was remembered before it does not come back."""
    lengths: dict[str, Any] = {"ttl": "1h", "keep_joined": "1m"}
    run(tmp_path / "state", [prediction("a", 0), label("a", 0), prediction("b", 2)], 0, keep_ids="48h", **lengths)
    run(tmp_path / "state", [prediction("c", 3)], 3, keep_ids="0s", **lengths)
    join = run(tmp_path / "state", [prediction("a", 4), label("a", 4)], 4, keep_ids="48h", **lengths).stats()

    assert (join.joined, join.predictions_duplicate) == (2, 0)


def test_pairs_that_are_no_longer_kept(tmp_path: Path) -> None:
    """A run that keeps no joined pairs goes on from one that did."""
    run(tmp_path / "state", [prediction("a", 0), label("a", 0)], 0, keep_joined="1h")
    join = run(tmp_path / "state", [prediction("b", 1), label("b", 1)], 2, keep_joined="0s").stats()

    assert join.joined == 2
