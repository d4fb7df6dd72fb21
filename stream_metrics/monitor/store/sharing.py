"""How workers that share a store read each other's counts and reports, without claiming a partition.

Every worker reports regularly. The counts of others are read as of their last checkpoints, and only those parts that
have changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from stream_metrics.monitor.events.records import Rejected
from stream_metrics.monitor.store.rows import Row
from stream_metrics.monitor.store.tables import STATE, StateStore
from stream_metrics.wire import decoded, encoded


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


FORGET = 3600.0  # seconds without a report, after which a worker is no longer listed
LETTERS = 100
REPORT = """insert into workers (name, seen, report) values (?, {now}, ?)
            on conflict (name) do update set seen = excluded.seen, report = excluded.report"""


class Reported(NamedTuple):
    """The last report of a worker, and its age in seconds."""

    worker: str
    age: float
    report: Any


class Fetched(NamedTuple):
    """The counts of a partition as of a checkpoint: by whom, how many seconds ago, and its number."""

    owner: str
    age: float
    revision: tuple[int, int]  # epoch and revision of the row
    row: Row | None  # None if it was read before


class SharedStore:
    """A store that others use at the same time, over a connection of its own; for one thread."""

    def __init__(self, store: StateStore) -> None:
        self.worker = store.worker
        self._store = store.another()
        self._bodies: dict[int, dict[str, bytes]] = {}  # the parts of each partition, as they were read
        self._revisions: dict[int, tuple[int, int]] = {}

    def report(self, report: object) -> None:
        """Report this worker."""
        with self._store.transaction():
            self._run(REPORT, self.worker, encoded(report))
            self._run("delete from workers where seen < {now} - ?", FORGET)

    def leave(self) -> None:
        """Delete the report of this worker."""
        with self._store.transaction():
            self._run("delete from workers where name = ?", self.worker)

    def workers(self) -> list[Reported]:
        """Return the last report of each worker."""
        rows = self._run("select name, {now} - seen, report from workers order by name").fetchall()
        return [Reported(name, max(age, 0.0), decoded(report)) for name, age, report in rows]

    def fetch(self, mine: Iterable[int]) -> tuple[list[Reported], dict[int, Fetched]]:
        """Return the workers and all partitions but `mine`, from one moment.

        Only what is new of a partition is read. ``StoreError`` if any of it is damaged.
        """
        mine = set(mine)
        with self._store.reading():
            workers = self.workers()
            columns = "part, epoch, revision, owner, {now} - saved"
            fetched = {
                part: self._fetched(part, owner, max(age, 0.0), (epoch, revision))
                for part, epoch, revision, owner, age in self._run(f"select {columns} from state").fetchall()
                if part not in mine
            }
        self._revisions = {part: each.revision for part, each in fetched.items()}
        return workers, fetched

    def _fetched(self, part: int, owner: str, age: float, revision: tuple[int, int]) -> Fetched:
        if self._revisions.get(part) == revision:
            return Fetched(owner, age, revision, None)
        state = self._run(f"select {STATE} from state where part = ?", part).fetchone()
        after = self._revisions[part][1] if part in self._revisions else -1
        new = self._run("select name, body, crc from parts where part = ? and revision > ?", part, after).fetchall()
        names = {name for (name,) in self._run("select name from parts where part = ?", part).fetchall()}
        row = self._store.checked_row(state, new)
        known = {} if after < 0 else self._bodies.get(part, {})
        self._bodies[part] = {name: body for name, body in (known | row.parts).items() if name in names}
        return Fetched(owner, age, revision, row._replace(parts=self._bodies[part]))

    def notes(self) -> dict[str, bytes]:
        """Return the notes as they are now."""
        return self._store.notes()

    def letters(self) -> list[Rejected]:
        """Return the last records that any worker rejected, the newest first."""
        return self._store.letters(LETTERS)

    def _run(self, statement: str, *values: object) -> Any:
        return self._store.run(statement.replace("{now}", self._store.NOW), *values)

    def close(self) -> None:
        """Close the connection."""
        self._store.close()
