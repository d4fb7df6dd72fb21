"""The classes that all workers of a store count apart, in a note of the store.

Where several workers share the store, a class is admitted in a transaction of its own, before the first checkpoint that
has it. If its worker dies before that, it has no samples yet, and takes its place all the same. A worker that has the
store to itself writes the note with its checkpoints, so that it goes on counting while the disk is full.

A store of an earlier version has no such note; its classes are those that the stored counts have apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from stream_metrics.labels import Label
from stream_metrics.monitor.config import CountingTable
from stream_metrics.monitor.counts.class_pool import Admitted, exempt_classes
from stream_metrics.monitor.counts.parts import stored_classes
from stream_metrics.monitor.store.rows import checksum
from stream_metrics.monitor.store.tables import PUT_NOTE, StateStore
from stream_metrics.wire import decoded, encoded

__all__ = ["CLASSES", "StoredClasses"]

CLASSES = "classes"
NO_NOTE = b"", checksum(b"")
SELECT_NOTE = "select body, crc from notes where name = ?"
LOCK_NOTE = f"{PUT_NOTE.partition('do update')[0]} do update set name = excluded.name"


class StoredClasses:
    """The registry of a store, for the thread that writes its checkpoints."""

    def __init__(self, store: StateStore, config: CountingTable) -> None:
        self._store, self._exempt = store, exempt_classes(config)

    def read(self) -> Admitted:
        """Return the classes admitted so far; ``StoreError`` if they cannot be read."""
        return self._store.patiently(self._read)

    def _read(self) -> Admitted:
        with self._store.reading():
            row = self._store.run(SELECT_NOTE, CLASSES).fetchone()
            return self._admitted(*(row or NO_NOTE))

    def admit(self, labels: Sequence[Label], most: int | None) -> Admitted:
        """Admit classes for all workers, and return all that are admitted; ``StoreError`` if that cannot be done."""
        return self._store.patiently(lambda: self._admit(labels, most))

    def _admit(self, labels: Sequence[Label], most: int | None) -> Admitted:
        store = self._store
        with store.transaction():
            store.run(LOCK_NOTE, CLASSES, *NO_NOTE)  # another worker waits here
            body, crc = store.run(SELECT_NOTE, CLASSES).fetchone()
            admitted = self._admitted(body, crc)
            after = admitted.plus(labels, most)
            if after != admitted or not body:
                body = encoded(after)
                store.run(PUT_NOTE, CLASSES, body, checksum(body))
        return after

    def _admitted(self, body: bytes, crc: int) -> Admitted:
        self._store.check_crc(f"the note {CLASSES!r}", crc, body)
        return Admitted(*decoded(body)) if body else self._counted()

    def _counted(self) -> Admitted:
        """Return the classes of all stored counts."""
        rows = self._store.run("select part, name, body, crc from parts where name in ('total', 'classes')").fetchall()
        by_part: dict[int, dict[str, bytes]] = {}
        for part, name, body, crc in rows:
            self._store.check_crc(f"{name!r} of partition {part}", crc, body)
            by_part.setdefault(part, {})[name] = body
        admitted = Admitted()
        for _, parts in sorted(by_part.items()):
            labels, full = stored_classes(parts)
            admitted = admitted.plus([label for label in labels if label not in self._exempt], None)
            admitted = admitted._replace(full=admitted.full or full)
        return admitted
