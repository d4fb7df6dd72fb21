"""The input files that the arguments of ``run`` stand for: files, folders, patterns, by path or URL; stdin.

A part of a path that begins with _ or . is hidden, as for Spark: `_SUCCESS`, `_temporary`, `.part-0.crc`. In a folder
and where a pattern matched it, it is not read. A folder KEY=VALUE is a partition, whatever its name begins with, and
a path that was written out is read.

A partition is a field of all records in the folder, as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from os import sep
from os.path import normpath
from urllib.parse import unquote

from stream_metrics.cli.errors import CliError
from stream_metrics.cli.sources import FORMATS, STDIN, InputFile, declared_format
from stream_metrics.cli.storage import entries, is_folder, is_url, matching, resolved, stat

HIDDEN = ("_", ".")
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
    matches = matching(named)
    if matches is not None:
        matches = [path for path in matches if not _is_hidden(path, named)]
        if not matches:
            raise CliError(f"{named}: no file is named so")
    paths: dict[str, str] = {}  # a pattern with ** matches a folder and its files
    for path in [named] if matches is None else matches:
        inside = _walk(path, frozenset()) if is_folder(path) else (path,)
        paths |= {normpath(each): each for each in inside}
    if not paths:
        raise CliError(f"{named}: Is a directory, and no file in it ends in {', '.join(FORMATS)}")
    files = []
    for path in paths.values():
        file = InputFile(path, _partitions(path))
        with suppress(OSError):  # reported when it is opened to be counted
            file = InputFile(path, file.partitions, *stat(path))
        files.append(file)
    return files


def _walk(folder: str, above: frozenset[str]) -> Iterator[str]:
    """Yield the files with data in a folder and in the folders in it, in order."""
    above |= {resolved(folder)}
    inside = [(path, _parts(path)[-1], below) for path, below in entries(folder)]
    for path, name, below in inside:
        if below and name in LOGS and (name != ICEBERG or any(".metadata.json" in file for file, _ in entries(path))):
            raise CliError(
                f"{folder}: is a table of {LOGS[name]}, whose files may have deleted rows; read it with its own "
                "library, and pass the Arrow reader to stream_metrics.count"
            )
    for path, name, below in inside:
        if below and (not name.startswith(HIDDEN) or "=" in name) and resolved(path) not in above:  # a link may lead up
            yield from _walk(path, above)
        elif not below and not name.startswith(HIDDEN) and declared_format(name):
            yield path


def _parts(path: str) -> list[str]:
    return (path.partition("?")[0] if is_url(path) else path.replace(sep, "/")).split("/")


def _partitions(path: str) -> tuple[tuple[str, object], ...]:
    """Return the fields that the folders of a path have."""
    pairs = [part.partition("=")[::2] for part in _parts(path)[:-1] if part.find("=") > 0]
    return tuple((unquote(key), None if value == NO_VALUE else unquote(value)) for key, value in pairs)


def _is_hidden(path: str, pattern: str) -> bool:
    """Tell whether a hidden part of a path was matched by a wildcard, and by none that begins like it."""
    written = [part for part in _parts(pattern) if part.startswith(HIDDEN)]
    hidden = [part for part in _parts(path) if part.startswith(HIDDEN) and "=" not in part]
    return not all(any(fnmatchcase(part, name) for name in written) for part in hidden)
