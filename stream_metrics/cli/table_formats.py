"""Tables of a format with a log: which files are current is in the log, so that a folder of one is not its files.

A Delta table is read through deltalake, which knows its current files. What else has such a log is refused, and so is
a file of a table that is named by itself: it may have been deleted from the table or replaced.
"""

from __future__ import annotations

import importlib
from functools import cache
from os import path as local
from typing import Any

from stream_metrics.cli.errors import CliError, UsageError
from stream_metrics.cli.sources import InputFile
from stream_metrics.cli.storage import is_url, storage_of

__all__ = ["Tables"]

DELTA = "Delta"
LOGS = {
    "_delta_log": DELTA,
    "metadata": "Iceberg",  # with a file *.metadata.json in it
    ".hoodie": "Hudi",
    "_spark_metadata": "Spark Structured Streaming",
}  # entries that mark a folder as a table
READERS = {
    DELTA: 'deltalake: pip install "stream-metrics[delta]"',
    "Iceberg": "pyiceberg",
    "Hudi": "hudi",
    "Spark Structured Streaming": "pyspark",
}


class Tables:
    """Looks for tables, once in each folder."""

    def __init__(self) -> None:
        self._kind = cache(_kind)

    def files(self, folder: str) -> list[InputFile] | None:
        """Return the current files of the table in a folder; None if the folder is not a table."""
        kind = self._kind(folder if is_url(folder) else local.abspath(folder))
        if kind is None:
            return None
        if kind != DELTA:
            raise CliError(
                f"{folder}: is a table of {kind}, whose files may be deleted or replaced rows; read it with "
                f"{READERS[kind]}, and write the rows to files of their own"
            )
        return _delta_files(folder)

    def refuse_part(self, path: str) -> None:
        """Raise CliError if a file or a folder is in a table."""
        for folder in storage_of(path).parents(path):
            kind = self._kind(folder)
            if kind is not None:
                raise CliError(
                    f"{path}: is a part of the {kind} table {folder!r}, whose log may say that its rows were deleted "
                    f"or replaced; read the table, with {READERS[kind]}"
                )


def _kind(folder: str) -> str | None:
    """Return the format of the table in a folder; None if the folder is not a table."""
    storage = storage_of(folder)
    for name, kind in LOGS.items():
        log = f"{folder.rstrip('/')}/{name}"
        if storage.exists(log) and (
            kind != "Iceberg"
            or (storage.is_folder(log) and any(e.name.endswith(".metadata.json") for e in storage.entries(log)))
        ):
            return kind
    return None


def _delta_files(folder: str) -> list[InputFile]:
    """Return the current files of a Delta table, with the values of its partitions."""
    try:
        deltalake: Any = importlib.import_module("deltalake")
        partition_keys = importlib.import_module("pyarrow.dataset").get_partition_keys
    except ImportError:
        raise UsageError(f"{folder}: is a Delta table, which is read through {READERS[DELTA]}") from None
    try:
        table = deltalake.DeltaTable(folder)
        if table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none":
            raise CliError(f"{folder}: is a Delta table with mapped columns, which deltalake does not read")
        fragments = list(table.to_pyarrow_dataset().get_fragments())
    except (deltalake.exceptions.DeltaError, OSError, ValueError) as error:
        raise CliError(f"{folder}: as a Delta table: {str(error).splitlines()[0]}") from None
    root = storage_of(folder).resolved(folder)
    return [
        InputFile(
            path if is_url(path) else f"{folder.rstrip('/')}/{path}" if is_url(folder) else local.join(folder, path),
            tuple(partition_keys(fragment.partition_expression).items()),
            table=root,
        )
        for fragment in fragments
        for path in (fragment.path,)
    ]
