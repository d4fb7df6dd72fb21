"""The source that a configuration names."""

from __future__ import annotations

from stream_metrics.monitor import config
from stream_metrics.monitor.sources import Source
from stream_metrics.monitor.sources.file import FileSource, StdinSource

__all__ = ["make_source"]

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
