"""What a store has of all partitions, read without claiming any."""

from __future__ import annotations

from typing import Any

from stream_metrics.monitor.store.rows import Row
from stream_metrics.monitor.store.tables import STATE, StateStore

__all__ = ["stored_offsets", "stored_rows"]


def stored_rows(store: StateStore) -> list[tuple[Row, float]]:
    """Return the partitions, without their logs, and how many seconds ago each was written.

    ``StoreError`` if one is damaged.
    """
    with store.reading():
        query = f"select {STATE}, {store.NOW} - saved from state where length(state) > 0 order by part"
        parts = "select name, body, crc from parts where part = ?"
        return [
            (store.checked_row(state, store.run(parts, state[0]).fetchall()), max(age, 0.0))
            for *state, age in store.run(query).fetchall()
        ]


def stored_offsets(store: StateStore) -> dict[tuple[str, int], int]:
    """Return the next offset of each (topic, partition); waits for a server that is away.

    ``StoreError`` if the state of a partition is damaged.
    """
    rows = [store.checked_row(state, ()) for state in store.patiently(lambda: _states(store))]
    return {(topic, row.part): offset for row in rows for topic, offset in row.next.items()}


def _states(store: StateStore) -> list[Any]:
    with store.reading():
        return list(store.run(f"select {STATE} from state").fetchall())
