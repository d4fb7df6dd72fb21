"""Stored panes in memory, for tests: what a checkpoint has written, and nothing else."""

from __future__ import annotations

from zlib import crc32

from stream_metrics.monitor.archive.writing import Archive
from stream_metrics.monitor.store.rows import Extent, Pane, PaneChange

__all__ = ["MemoryPanes"]


class MemoryPanes:
    """The panes of any partitions, as a store would have them."""

    def __init__(self) -> None:
        self.rows: dict[tuple[int, str, int, int], bytes] = {}
        self.about: dict[int, bytes] = {}

    def archived(self, part: int) -> bytes | None:
        return self.about.get(part)

    def pane(self, part: int, name: str, length: int, start: int) -> bytes | None:
        return self.rows.get((part, name, length, start))

    def panes(self, part: int, start: int, end: int) -> list[Pane]:
        return [
            Pane(length, at, name, body)
            for (of, name, length, at), body in sorted(self.rows.items())
            if of == part and at < end and at + length > start
        ]

    def save(self, part: int, change: PaneChange) -> None:
        self.rows |= {(part, pane.name, pane.length, pane.start): pane.body for pane in change.written}
        for key in change.deleted:
            self.rows.pop((part, *key), None)
        if change.before is not None:
            for key in [key for key in self.rows if key[0] == part and key[2] + key[3] <= change.before]:
                del self.rows[key]
        self.about[part] = change.about

    def checkpoint(self, part: int, archive: Archive, seen: int | None) -> None:
        change = archive.change(seen)
        self.save(part, change)
        archive.written(change)

    def archives(self) -> dict[int, bytes | None]:
        return dict(self.about)

    def extents(self, name: str, start: int, end: int) -> list[Extent]:
        return [
            Extent(part, pane.length, pane.start, crc32(pane.body))
            for part in self.about
            for pane in self.panes(part, start, end)
            if pane.name == name
        ]

    def bodies(self, name: str, start: int, end: int) -> list[bytes]:
        return [pane.body for part in self.about for pane in self.panes(part, start, end) if pane.name == name]

    def names(self) -> list[str]:
        return sorted({key[1] for key in self.rows})

    def bounds(self, name: str) -> tuple[int, int] | None:
        spans = [(at, at + length) for _, which, length, at in self.rows if which == name]
        return (min(spans)[0], max(end for _, end in spans)) if spans else None
