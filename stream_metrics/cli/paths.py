"""The input files that the arguments of ``run`` stand for: files, folders, patterns, by path or URL; stdin.

A part of a path that begins with _ or . is hidden, as for Spark: `_SUCCESS`, `_temporary`, `.part-0.crc`. In a folder
and where a pattern matched it, it is not read. A folder KEY=VALUE is a partition, whatever its name begins with, and
a path that was written out is read.

A partition is a field of all records in the folder, as text.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from fnmatch import fnmatchcase
from os import sep
from os.path import normpath
from urllib.parse import unquote

from stream_metrics.cli.errors import CliError
from stream_metrics.cli.sources import FORMATS, STDIN, InputFile, declared_format
from stream_metrics.cli.storage import files_in, is_url, matching, stat

HIDDEN = ("_", ".")
LOGS = {"_delta_log": "Delta", ".hoodie": "Hudi", "_spark_metadata": "Spark"}  # folders of tables
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # as Hive and Spark write null in a path


def expand_paths(named: Iterable[str]) -> list[InputFile]:
    """Return the files that arguments stand for: files, stdin, patterns such as 'part-*', folders.

    Raises
    ------
    CliError
        If a folder or a pattern has no file, or a folder is a table, whose log says which files are current.
    """
    files: list[InputFile] = []
    for name in named:
        try:
            files += _expand(name)
        except OSError as error:
            raise CliError(f"{error.filename or name}: {error.strerror or error}") from None
    return files


def _expand(named: str) -> list[InputFile]:
    if named == STDIN:
        return [InputFile(named)]
    if named.startswith("file://"):
        from urllib.request import url2pathname  # which takes long

        named = url2pathname(named.removeprefix("file://"))
    matches = matching(named)
    paths: dict[str, str] = {}  # a pattern with ** matches a folder and its files
    for path in [named] if matches is None else matches:
        inside = files_in(path)
        if inside is None and (matches is None or not _is_hidden(path, named)):
            paths[normpath(path)] = path
        for each in inside or ():
            _check_table(path, each)
            if declared_format(each) and not _is_hidden(each, named):
                paths[normpath(each)] = each
    if not paths and matches is not None:
        raise CliError(f"{named}: no file is named so")
    if not paths:
        raise CliError(f"{named}: Is a directory, and no file in it ends in {', '.join(FORMATS)}")
    files = []
    for path in paths.values():
        file = InputFile(path, _partitions(path))
        with suppress(OSError):  # reported when it is opened to be counted
            file = InputFile(path, file.partitions, *stat(path))
        files.append(file)
    return files


def _check_table(folder: str, path: str) -> None:
    """Refuse a folder if a file in it is the log of a table."""
    kind = next((LOGS[part] for part in _parts(path) if part in LOGS), None)
    if kind is None and path.endswith(".metadata.json") and _parts(path)[-2] == "metadata":
        kind = "Iceberg"
    if kind is not None:
        raise CliError(
            f"{folder}: is a table of {kind}, whose files may have deleted rows; read it with its own library, and "
            "pass the Arrow reader to stream_metrics.count"
        )


def _parts(path: str) -> list[str]:
    return (path.partition("?")[0] if is_url(path) else path.replace(sep, "/")).split("/")


def _partitions(path: str) -> tuple[tuple[str, object], ...]:
    """Return the fields that the folders of a path have."""
    pairs = [part.partition("=")[::2] for part in _parts(path)[:-1] if part.find("=") > 0]
    return tuple((unquote(key), None if value == NO_VALUE else unquote(value)) for key, value in pairs)


def _is_hidden(path: str, pattern: str) -> bool:
    """Tell whether a path has a hidden part that was not written out, in full or by how it begins."""
    written = [part for part in _parts(pattern) if part.startswith(HIDDEN)]
    hidden = [part for part in _parts(path) if part.startswith(HIDDEN) and "=" not in part]
    return not all(any(fnmatchcase(part, name) for name in written) for part in hidden)
