"""Pending entries that are in the state file only: the oldest ones, if there are more than fit into memory.

Rows are numbered in the order in which their entries came, so the oldest are found without an index by age. Rows taken
since the last checkpoint are noted here and deleted by the next one: until that is written, the file does not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeAlias

from stream_metrics.labels import Label
from stream_metrics.monitor.store.rows import Moves, PendingRow
from stream_metrics.wire import decoded, encoded

Entry: TypeAlias = tuple[Any, ...]  # the number of its event, its kind, and what the join keeps of that kind
AT_ONCE = 900  # older versions of SQLite take 999 parameters


def entry_of(body: bytes) -> Entry:
    """Return an entry that was written as bytes."""
    entry: Entry = decoded(body)
    return entry


class PendingRows(Protocol):
    """Where the rows of pending entries are: (row, id as bytes, entry as bytes)."""

    def rows_of(self, part: int, ids: Sequence[bytes]) -> list[PendingRow]:
        """Return the rows of these ids."""

    def following(self, part: int, row: int, most: int) -> list[PendingRow]:
        """Return the first rows from this number on, in order."""


class Spill:
    """The oldest entries of a partition: `n` of them, in rows from `floor` to before `next`, but for those taken."""

    def __init__(self, rows: PendingRows, part: int, n: int = 0, floor: int = 0, next_row: int = 0) -> None:
        self._rows, self._part = rows, part
        self.n, self.floor, self.next = n, floor, next_row
        self.prefetched: dict[Label, tuple[int, bytes]] = {}  # what was looked up for the events at hand
        self._taken: set[int] = set()

    def look(self, keys: Iterable[Label]) -> None:
        """Look up entries that may be read until `forget`; no others can be."""
        keys = list(keys)
        by_id = dict(zip([encoded(key) for key in keys], keys, strict=True))
        ids = list(by_id)
        for start in range(0, len(ids), AT_ONCE):
            for row, key_data, body in self._rows.rows_of(self._part, ids[start : start + AT_ONCE]):
                if row >= self.floor and row not in self._taken:
                    self.prefetched[by_id[key_data]] = row, body

    def forget(self) -> None:
        """Forget what was looked up."""
        self.prefetched.clear()

    def get(self, key: Label) -> Entry | None:
        """Return an entry that was looked up, or None."""
        row = self.prefetched.get(key)
        return None if row is None else entry_of(row[1])

    def pop(self, key: Label) -> Entry | None:
        """Take an entry that was looked up, or None."""
        row = self.prefetched.pop(key, None)
        if row is None:
            return None
        self._taken.add(row[0])
        self.n -= 1
        return entry_of(row[1])

    def oldest(self, cut: int, most: int) -> list[tuple[Label, Entry]]:
        """Take the entries, with their ids, that came before the event numbered `cut`, and at least `most`."""
        gone: list[tuple[Label, Entry]] = []
        while self.n:
            rows = self._rows.following(self._part, self.floor, AT_ONCE)
            if not rows:
                raise ValueError(f"Expected {self.n} more pending rows of partition {self._part}, but got none")
            for row, key_data, body in rows:
                if row not in self._taken:
                    entry = entry_of(body)
                    if entry[0] >= cut and len(gone) >= most:
                        return gone
                    key = decoded(key_data)
                    gone.append((key, entry))
                    self.prefetched.pop(key, None)
                    self.n -= 1
                self.floor = row + 1
        return gone

    def content(self, moving: int) -> list[int]:
        """Return the numbers that it is made with again, once so many entries have been added."""
        return [self.n + moving, self.floor, self.next + moving]

    def moves(self, added: Iterable[tuple[Label, bytes]]) -> Moves:
        """Return what the next checkpoint has to do, if these entries are added."""
        added = list(added)
        ids = [encoded(key) for key, _ in added]
        numbered = enumerate(zip(ids, added, strict=True), self.next)
        rows = tuple((row, key_data, body) for row, (key_data, (_, body)) in numbered)
        return Moves(self.floor, tuple(self._taken), rows)

    def written(self, moves: Moves) -> None:
        """Note that a checkpoint has done it."""
        self._taken.difference_update(moves.taken)
        self.next += len(moves.added)
        self.n += len(moves.added)
