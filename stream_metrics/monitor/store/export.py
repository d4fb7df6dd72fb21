"""States in a separate file: a backup, and a way to merge the counts of many monitors.

An export has the state, the counts and the next offsets of every partition, but not the entries that wait in the join.
A state file restored from it resumes reading where the export was made and counts every record once. Entries that
waited then have expired, and the partitions are marked as incomplete.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

from stream_metrics.errors import DecodeError
from stream_metrics.monitor.config import CountingTable
from stream_metrics.monitor.counts.counting import PartCounts
from stream_metrics.monitor.store.rows import StoreError
from stream_metrics.wire import MAGIC, Portable, write_file

__all__ = ["Export", "Exported", "check_target", "read_export", "write_export"]

T = TypeVar("T")


class Exported(NamedTuple):
    """One partition: its number, next offsets, state, and counts in parts."""

    part: int
    next: Mapping[str, int]
    state: bytes
    parts: Mapping[str, bytes]


class Export(Portable):
    """An export: the time of its creation, in seconds since 1970, and the partitions."""

    KIND: ClassVar[str] = "monitor"

    def __init__(self, created: float, partitions: Iterable[Exported]) -> None:
        self.created = created
        self.partitions = tuple(partitions)

    def counts(self, config: CountingTable, due: str = "0s") -> PartCounts:
        """Return the counts of all partitions together; DecodeError if they were configured otherwise."""
        total = PartCounts(config, due)
        for each in self.partitions:
            total.merge(PartCounts.from_parts(config, each.parts, due))
        return total

    def _content(self) -> list[object]:
        rows = [[each.part, _sorted(each.next), each.state, _sorted(each.parts)] for each in self.partitions]
        return [self.created, rows]

    @classmethod
    def _restore(cls, content: Any) -> Self:
        created, partitions = content
        return cls(float(created), [Exported(*each) for each in partitions])


def _sorted(mapping: Mapping[str, T]) -> dict[str, T]:
    return dict(sorted(mapping.items()))


def write_export(path: str, export: Export) -> None:
    """Write an export, all of it or nothing; ``StoreError`` if that fails."""
    try:
        write_file(path, export.to_bytes(), private=True)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error


def check_target(path: str) -> None:
    """Raise ``StoreError`` if there is a file that an export must not replace, since it is none."""
    try:
        with open(path, "rb") as file:
            beginning = file.read(64)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error
    if beginning and not (beginning.startswith(MAGIC) and Export.KIND.encode() in beginning):
        raise StoreError(f"{path}: expected no file, or an earlier export, where `export` in [store] is written")


def read_export(path: str) -> Export:
    """Read an export; ``StoreError`` if the file does not exist or is damaged."""
    try:
        return Export.from_bytes(Path(path).read_bytes())
    except (OSError, DecodeError) as error:
        raise StoreError(f"{path}: {error}") from error

