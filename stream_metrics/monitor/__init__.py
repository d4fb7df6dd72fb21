"""A model watched in production: predictions are joined with late labels, counted, checkpointed, and served.

    configuration = Config(counting=config.CountingTable(scores=True))
    monitor = Monitor(configuration, open_store("monitor.sqlite"))
    monitor.assign([0])                         # returns the next offsets
    monitor.step(records)                       # a list of Record, from any client
    monitor.view().by_window["1h"].metrics["accuracy"]

`load` reads a configuration from TOML, `make_source` makes the source that it names, and `Runner` runs a source, a
monitor, `Alerts` and a server together. Names are imported when they are first used: most commands need a configuration
only.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stream_metrics.monitor.alerts.alerting import Alerts
    from stream_metrics.monitor.config import Config
    from stream_metrics.monitor.config.reading import load
    from stream_metrics.monitor.events.records import Record
    from stream_metrics.monitor.monitor import Monitor
    from stream_metrics.monitor.runner import Runner
    from stream_metrics.monitor.sources.make import MemorySource, make_source
    from stream_metrics.monitor.store import Store
    from stream_metrics.monitor.store.opening import open_store

__all__ = [
    "Alerts",
    "Config",
    "MemorySource",
    "Monitor",
    "Record",
    "Runner",
    "Store",
    "load",
    "make_source",
    "open_store",
]

HOMES = {
    "Alerts": "alerts.alerting",
    "Config": "config",
    "MemorySource": "sources.make",
    "Monitor": "monitor",
    "Record": "events.records",
    "Runner": "runner",
    "Store": "store",
    "load": "config.reading",
    "make_source": "sources.make",
    "open_store": "store.opening",
}


def __getattr__(name: str) -> Any:
    """Import what `__all__` names."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{HOMES[name]}"), name)
