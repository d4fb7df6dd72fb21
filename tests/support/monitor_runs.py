"""Monitors for tests: configurations as tables of TOML, events as records, a clock that a test sets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from stream_metrics.monitor import Alerts, Config, Monitor, Record, load, open_store
from stream_metrics.monitor.config import ConfigError
from stream_metrics.monitor.config.reading import configured, example
from stream_metrics.monitor.serve.prometheus import text
from support.prometheus_text import unlabelled

__all__ = [
    "NOW", "START", "Alerts", "Clock", "Config", "ConfigError", "Monitor", "Record", "config", "configured", "crash",
    "example", "exported", "feed", "lines_of", "load", "open_store", "pair", "read", "started", "window",
]  # fmt: skip

START = 1_700_000_000.0
NOW = START + 10_000_000.0  # by the clock of a monitor that is given no other


class Clock:
    """A clock that a test sets."""

    def __init__(self, now: float = START) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def config(**tables: dict[str, Any]) -> Config:
    """Return the configuration with these tables, each a mapping of keys, as TOML has them."""
    return configured(tables)


def started(how: Config, path: object = None, clock: Any = None, parts: Iterable[int] = (0,), **more: Any) -> Monitor:
    """Return a monitor with partitions assigned, and with the store at a path if one is given."""
    store = None if path is None else open_store(str(path), **more)
    monitor = Monitor(how, store, clock or (lambda: NOW))
    monitor.assign(parts)
    return monitor


def lines_of(events: Iterable[Any], start: int = 0, partition: int = 0) -> list[Record]:
    """Return events as records with offsets from `start` on; bytes and None stand for themselves."""
    values = (event if isinstance(event, bytes | None) else json.dumps(event).encode() for event in events)
    return [Record("t", partition, at, at + 1, None, None, value) for at, value in enumerate(values, start)]


def pair(at: int, truth: Any, said: Any, **more: Any) -> dict[str, Any]:
    """Return an event of a pair, whose id and time are `at`, in seconds after the start."""
    return {"id": at, "time": START + at, "truth": truth, "prediction": said, **more}


def batches(records: Sequence[Record], at_once: int) -> Iterator[Sequence[Record]]:
    """Yield records in batches."""
    return (records[at : at + at_once] for at in range(0, len(records), at_once))


def feed(monitor: Monitor, events: Sequence[Any], at_once: int = 777, start: int = 0, partition: int = 0) -> Monitor:
    """Have a monitor read events in batches, and return it."""
    for batch in batches(lines_of(events, start, partition), at_once):
        monitor.step(batch)
    return monitor


def read(events: Sequence[Any], at_once: int = 777, clock: Any = None, **tables: dict[str, Any]) -> Monitor:
    """Return a monitor without a store that has read events."""
    return feed(started(config(**tables), clock=clock), events, at_once)


def window(monitor: Monitor, name: str = "total") -> Any:
    """Return what the view has of a window of events that have ended, so that no time passes."""
    monitor.report_source(ended=True)
    return monitor.view().by_window[name]


def crash(monitor: Monitor) -> None:
    """End a monitor without a last checkpoint."""
    assert monitor.store is not None
    monitor.store.close()


def exported(monitor: Monitor) -> str:
    """Return what a monitor exports to Prometheus, without the name of the model."""
    return unlabelled(text(monitor.view(), monitor.config.serve))
