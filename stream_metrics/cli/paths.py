"""The input files that the arguments of ``run`` stand for: files, folders, patterns, by path or URL; stdin.

A part of a path that begins with _ or . is hidden, as for Spark: `_SUCCESS`, `_temporary`, `.part-0.crc`. In a folder
and where a pattern matched it, it is not read. A folder KEY=VALUE is a partition, whatever its name begins with, and
a path that was written out is read.

A partition is a field of all records in the folder, as text.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from os import sep
from os.path import normpath
from urllib.parse import unquote

from stream_metrics.cli.errors import CliError
from stream_metrics.cli.sources import FORMATS, STDIN, InputFile, declared_format
from stream_metrics.cli.storage import Storage, is_url, storage_of

__all__ = ["expand_paths"]

ICEBERG = "metadata"
LOGS = {"_delta_log": "Delta", ICEBERG: "Iceberg", ".hoodie": "Hudi", "_spark_metadata": "Spark"}  # folders
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
    storage = storage_of(named)
    matching = storage.matching(named)
    if matching is None:
        matching = [named]
    else:
        matching = [path for path in matching if not _has_hidden_match(path, named)]
        if not matching:
            raise CliError(f"{named}: no file is named so")
    files: dict[str, InputFile] = {}  # a pattern with ** matches a folder and its files
    for path in matching:
        if storage.is_folder(path):
            files |= {normpath(file.path): file for file in _walk(storage, path, frozenset())}
        else:
            files[normpath(path)] = InputFile(path, _partitions(path))
    if not files:
        raise CliError(f"{named}: Is a directory, and no file in it ends in {', '.join(FORMATS)}")
    return [_with_size(storage, file) for file in files.values()]


def _with_size(storage: Storage, file: InputFile) -> InputFile:
    try:
        size, version = storage.stat(file.path)
    except OSError:  # reported when it is opened to be counted
        return file
    return file._replace(size=size, version=version)


def _walk(storage: Storage, folder: str, above: frozenset[str]) -> Iterator[InputFile]:
    """Yield the files with data in a folder and in the folders in it, in order."""
    above |= {storage.resolved(folder)}
    entries = storage.entries(folder)
    for entry in entries:
        if entry.name in LOGS and entry.is_folder and (entry.name != ICEBERG or _has_metadata(storage, entry.path)):
            raise CliError(
                f"{folder}: is a table of {LOGS[entry.name]}, whose files may have deleted rows; read it with its own "
                "library, and pass the Arrow reader to stream_metrics.count"
            )
    for entry in entries:
        if _is_hidden(entry.name) and not (entry.is_folder and "=" in entry.name):
            continue
        if not entry.is_folder and declared_format(entry.name):
            yield InputFile(entry.path, _partitions(entry.path))
        elif entry.is_folder and storage.resolved(entry.path) not in above:  # a link may lead back
            yield from _walk(storage, entry.path, above)


def _has_metadata(storage: Storage, folder: str) -> bool:
    return any(entry.name.endswith(".metadata.json") for entry in storage.entries(folder))


def _partitions(path: str) -> tuple[tuple[str, object], ...]:
    """Return the fields that the folders of a path have."""
    path = path.partition("?")[0] if is_url(path) else path.replace(sep, "/")
    pairs = [part.partition("=")[::2] for part in path.split("/")[:-1] if part.find("=") > 0]
    return tuple((unquote(key), None if value == NO_VALUE else unquote(value)) for key, value in pairs)


def _is_hidden(name: str) -> bool:
    """Tell whether a part of a path is hidden by its name."""
    return name.startswith(("_", "."))


def _has_hidden_match(path: str, pattern: str) -> bool:
    """Tell whether a hidden part of a path was matched by a wildcard, and by none that begins like it."""
    wanted, parts = pattern.replace(sep, "/").split("/"), path.replace(sep, "/").split("/")
    fixed = next(at for at, part in enumerate(wanted) if glob.has_magic(part))
    written = [part for part in wanted[fixed:] if _is_hidden(part)]
    return any(
        _is_hidden(part)
        and not any(fnmatchcase(part, name) for name in written)
        and not ("=" in part and at + 1 < len(parts))
        for at, part in enumerate(parts[fixed:], fixed)
    )
