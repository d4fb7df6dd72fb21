"""Names from inside the monitor that tests need beside its documented face, imported once."""

from __future__ import annotations

from stream_metrics.monitor.runner import stopped_by_signals
from stream_metrics.monitor.sources.file import StdinSource
from stream_metrics.monitor.sources.kafka_options import SourceError
from stream_metrics.monitor.store import StaleOwner, StoreError
from stream_metrics.monitor.store.rows import OtherSourceError

__all__ = [
    "OtherSourceError", "SourceError", "StaleOwner", "StdinSource", "StoreError", "stopped_by_signals",
]  # fmt: skip
