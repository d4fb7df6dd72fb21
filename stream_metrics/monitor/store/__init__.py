"""Stores of states, next offsets, waiting entries and dead letters; a checkpoint is written whole or not at all.

Not here: what a partition writes (`partition.py`), and which entries outgrow the memory (`join/`).
"""

from stream_metrics.monitor.store.rows import (
    LETTERS,
    PaneChange,
    PartChange,
    Row,
    StaleOwner,
    StoreError,
    TemporaryPanes,
    offsets,
)
from stream_metrics.monitor.store.sqlite import Store

__all__ = [
    "LETTERS", "PaneChange", "PartChange", "Row", "StaleOwner", "Store", "StoreError", "TemporaryPanes", "offsets",
]  # fmt: skip
