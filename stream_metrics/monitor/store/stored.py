"""What a store has at one moment, for reading."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, NoReturn

from stream_metrics.monitor.store.panes import PaneTables
from stream_metrics.monitor.store.rows import StoreError
from stream_metrics.monitor.store.schema import SCHEMA

__all__ = ["Stored"]


class Stored(NamedTuple):
    """What a store has at one moment; `name` is without secrets, `schema` the version of its tables, `size` in bytes.

    `run` executes a query and returns the cursor; `rows` yields its rows, of which only a few are in memory.
    """

    name: str
    schema: int
    size: int
    run: Callable[..., Any]
    rows: Callable[[str], Iterable[tuple[Any, ...]]]

    def panes(self) -> PaneTables:
        """Return the panes; ``StoreError`` if an earlier version of this program wrote the store."""
        if self.schema < SCHEMA:
            raise StoreError(f"{self.name}: is of an earlier version and has no panes yet: start the monitor once")
        return PaneTables(self.name, self.run, _refuse)


def _refuse(statement: str, rows: Iterable[object]) -> NoReturn:
    raise StoreError(f"Expected to read, but got {statement!r}")
