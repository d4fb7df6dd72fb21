"""Tables of a format with a log: which files are current is in the log, so that a folder of one is not its files.

A Delta table is read through deltalake, which knows its current files. What else has such a log is refused, and so is
a file of a table that is named by itself: it may have been deleted from the table or replaced.
"""

from __future__ import annotations

import glob
import importlib
import os
from functools import cache
from pathlib import Path
from typing import Any

from stream_metrics.cli.errors import CliError, UsageError

__all__ = ["Tables"]

DELTA = "Delta"
LOGS = {
    "_delta_log": DELTA,
    "metadata/*.metadata.json": "Iceberg",
    ".hoodie": "Hudi",
    "_spark_metadata": "Spark Structured Streaming",
}  # what is in a folder that is a table
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

    def files(self, folder: str) -> list[str] | None:
        """Return the current files of the table that a folder is; None if it is none."""
        kind = self._kind(os.path.abspath(folder))
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
        for form in (os.path.abspath(path), os.path.realpath(path)):
            for folder in Path(form).parents:
                kind = self._kind(str(folder))
                if kind is not None:
                    raise CliError(
                        f"{path}: is a part of the {kind} table {str(folder)!r}, whose log may say that its rows were "
                        f"deleted or replaced; read the table, with {READERS[kind]}"
                    )


def _kind(folder: str) -> str | None:
    """Return the format of the table that a folder is; None if it is none."""
    return next((kind for log, kind in LOGS.items() if glob.glob(os.path.join(glob.escape(folder), log))), None)


def _delta_files(folder: str) -> list[str]:
    """Return the current files of a Delta table."""
    try:
        deltalake: Any = importlib.import_module("deltalake")
    except ImportError:
        raise UsageError(f"{folder}: is a Delta table, which is read through {READERS[DELTA]}") from None
    try:
        table = deltalake.DeltaTable(folder)
        if table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none":
            raise CliError(f"{folder}: is a Delta table with mapped columns, which deltalake does not read")
        dataset = table.to_pyarrow_dataset()
    except ImportError as error:
        raise UsageError(f"{folder}: {error}") from None
    except (deltalake.exceptions.DeltaError, OSError, ValueError) as error:
        raise CliError(f"{folder}: as a Delta table: {str(error).splitlines()[0]}") from None
    return [os.path.join(folder, fragment.path) for fragment in dataset.get_fragments()]
