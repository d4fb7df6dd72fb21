"""What a store has, in short: partitions with their next offsets and samples, classes, and the panes of past times."""

from __future__ import annotations

from typing import Any

from stream_metrics.containers.aggregate import merge
from stream_metrics.inputs.times import format_duration
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.monitor.store.classes import CLASSES
from stream_metrics.monitor.store.opening import open_stored
from stream_metrics.monitor.store.rows import StoreError, checksum
from stream_metrics.monitor.store.schema import tables_of
from stream_metrics.monitor.store.stored import Stored
from stream_metrics.wire import decoded

__all__ = ["inspected", "stored_total"]

PANES = "select name, length, count(*), min(start), max(start + length) from panes group by 1, 2 order by 1, 2"


def inspected(path: str) -> dict[str, Any]:
    """Return what the store at a path or an address has, as plain data; times are nanoseconds since 1970."""
    with open_stored(path) as stored:
        panes = stored.run(PANES).fetchall() if "panes" in tables_of(stored.schema) else []
        return {
            "name": stored.name,
            "schema": stored.schema,
            "bytes": stored.size,
            "partitions": _partitions(stored),
            "classes": _classes(stored),
            "panes": [
                {"name": name, "length": format_duration(length), "panes": n, "from": first, "to": last}
                for name, length, n, first, last in panes
            ],
        }


def stored_total(path: str) -> MetricSet | None:
    """Return the counts of all partitions since the start; None if there are none yet. Errors as `open_stored`."""
    with open_stored(path) as stored:
        totals = _totals(stored)
    return merge(totals.values()) if totals else None


def _totals(stored: Stored) -> dict[int, MetricSet]:
    """Return the counts of each partition."""
    rows = stored.run("select part, body, crc from parts where name = 'total' order by part").fetchall()
    checked = {part: _checked(stored, f"the total of partition {part}", *row) for part, *row in rows}
    return {part: MetricSet.from_bytes(body) for part, body in checked.items()}


def _partitions(stored: Stored) -> list[dict[str, Any]]:
    totals = _totals(stored)
    return [
        {
            "partition": part,
            "samples": totals[part].n if part in totals else 0,
            "epoch": epoch,
            "next": dict(decoded(following)),
        }
        for part, following, epoch in stored.run("select part, next, epoch from state order by part").fetchall()
    ]


def _classes(stored: Stored) -> dict[str, Any] | None:
    """Return how many classes are counted apart, and whether others are folded; None if the store does not say."""
    row = stored.run("select body, crc from notes where name = ?", CLASSES).fetchone()
    if row is None or not row[0]:
        return None
    labels, full = decoded(_checked(stored, f"the note {CLASSES!r}", *row))
    return {"apart": len(labels), "folded": full}


def _checked(stored: Stored, what: str, body: bytes, crc: int) -> bytes:
    if checksum(body) != crc:
        raise StoreError(f"{stored.name}: {what} is damaged")
    return body
