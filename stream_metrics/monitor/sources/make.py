"""The source that a configuration names; and records in memory, for tests and demonstrations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from stream_metrics.monitor import config
from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.sources import Source
from stream_metrics.monitor.sources.file import FileSource, StdinSource


def records(events: Iterable[Mapping[str, object]], topic: str = "memory", start: int = 0) -> list[Record]:
    """Return events as records of JSON, one after another from the offset `start`."""
    values = (json.dumps(event).encode() for event in events)
    return [Record(topic, 0, at, at + 1, None, None, value) for at, value in enumerate(values, start)]


class MemorySource:
    """Hands over records, `at_once` at a time; more can be added at any time. It ends when `close` is called."""

    def __init__(self, records: Iterable[Record] = (), at_once: int = 1000) -> None:
        self.ended = False
        self._records = list(records)
        self._at_once = at_once
        self._at = 0
        self._partitions = {record.partition for record in self._records} | {0}

    def add(self, more: Iterable[Record]) -> None:
        """Have more records, of the partitions that were there at the start."""
        self._records += more

    def start(self, monitor: Monitor) -> None:
        """Have the monitor assigned the partitions; it skips what it has read."""
        monitor.assign(self._partitions)

    def poll(self, timeout: float) -> list[Record]:
        """Return the next records, without waiting."""
        records = self._records[self._at : self._at + self._at_once]
        self._at += len(records)
        return records

    def lag(self) -> dict[tuple[str, int], int]:
        """Return how many records were not handed over, by topic and partition."""
        behind: dict[tuple[str, int], int] = {}
        for record in self._records[self._at :]:
            where = record.topic, record.partition
            behind[where] = behind.get(where, 0) + 1
        return behind

    def close(self) -> None:
        """Say that there is no more to come."""
        self.ended = True


STDIN = "-"


def make_source(source: config.SourceTable) -> Source:
    """Return the file, standard input or topics that `source` names.

    Raises ``ValueError`` for other kinds and without a path, ``ImportError`` for Kafka without its client.
    """
    if source.kind == "stdin" or (source.kind == "file" and source.path == STDIN):
        return StdinSource()
    if source.kind == "kafka":
        from stream_metrics.monitor.sources.kafka import KafkaSource  # needs the extra

        return KafkaSource(source)
    if source.kind != "file":
        raise ValueError(f"Expected `kind` to be 'file', 'stdin' or 'kafka', but got {source.kind!r}")
    if not source.path:
        raise ValueError("Expected `path` to name a file, or - for standard input, but got ''")
    return FileSource(source.path, source.follow, source.truncated)
