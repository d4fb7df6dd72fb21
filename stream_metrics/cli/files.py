"""The files that arguments of ``run`` stand for, those that were counted into a saved state, and files of states.

**Counted files** are listed, so that a repeated or resumed run counts no record twice. They are listed in a file beside
the state, OUT.files, and not in it: the bytes of a state depend on the records only. It is JSON Lines. The first line
names the state by its SHA-256, and each other line a file by its path, its size and what its storage says of its
version (the time of the last change, or an ETag), with the range of records that was counted: the first ones, up to a
number or, if that is null, to the end of the file.

The list is written before the state. If the run ends between the two, the list has the digests of both states, and how
many of its lines each had, so it fits the state that is there.

**Inputs** are files, folders, patterns, by path or URL, or stdin. A part of a path that begins with _ or . is hidden,
as for Spark: `_SUCCESS`, `_temporary`, `.part-0.crc`. In a folder and where a pattern matched it, it is not read. A
folder KEY=VALUE is a partition, whatever its name begins with, and a path that was written out is read.

A partition is a field of all records in the folder, as text.

**States** are read with a reason on failure, and written whole or not at all.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from os import sep
from os.path import normpath
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

import msgspec

import stream_metrics as sm
from stream_metrics.cli.errors import CliError, UsageError
from stream_metrics.cli.sources import (
    FORMATS,
    STDIN,
    InputFile,
    declared_format,
    files_in,
    is_url,
    matching,
    resolved,
    stat,
)
from stream_metrics.states.protocols import Accumulator
from stream_metrics.wire import MAGIC, write_file

FORMAT = 1
SUFFIX = ".files"


class _Head(msgspec.Struct):
    """The first line: how many of the lines after it are of the state with a digest."""

    format: int
    states: dict[str, int]


class _File(msgspec.Struct, frozen=True):
    """A file, and the records of it that were counted."""

    path: str
    size: int | None
    version: str | None
    ranges: tuple[tuple[Literal[0], int | None]]

    @property
    def until(self) -> int | None:
        """The last record that was counted; None if that is the last of the file."""
        return self.ranges[0][1]


class Ledger:
    """What was counted into a state; ``state`` is the digest of the state that it was read with."""

    def __init__(self, files: Iterable[_File] = (), state: str | None = None) -> None:
        self._lines = list(files)  # a later line replaces an earlier one of the same file
        self._before = (state, len(self._lines))

    @classmethod
    def load(cls, path: str) -> Ledger:
        """Return the ledger beside a state, empty if there is none. CliError if it belongs to another state."""
        beside = _beside(path)
        try:
            head, *lines = beside.read_bytes().splitlines()
            states = msgspec.json.decode(head, type=_Head)
            files = [msgspec.json.decode(line, type=_File) for line in lines]
        except FileNotFoundError:
            return cls()
        except (ValueError, msgspec.DecodeError) as error:
            raise CliError(f"{beside}: is not a list of counted files: {error}") from None
        state = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        n = states.states.get(state)
        if states.format != FORMAT or n is None or n > len(files):
            raise CliError(
                f"{beside}: lists the files of another state than {path}; without this list, files that were counted "
                "before are not recognised"
            )
        return cls(files[:n], state)

    def remaining(self, files: Sequence[InputFile]) -> list[InputFile]:
        """Return the files that are still to be counted, with how many records of them were.

        CliError if a file has changed since it was counted.
        """
        by_version = {(line.path, line.size, line.version): line for line in self._lines}
        by_path = {line.path: line for line in self._lines}
        remaining: list[InputFile] = []
        for file in files:
            path = _name(file)
            same = None if path is None else by_version.get((path, file.size, file.version))
            if same is None and path in by_path:
                raise _changed(file, by_path[path])
            if same is None:
                remaining.append(file)
            elif same.until is not None:
                remaining.append(file._replace(done=same.until))
        return remaining

    def add(self, log: Mapping[InputFile, int | None]) -> None:
        """Add what was counted: the last record of each file, None for the end."""
        for file, until in log.items():
            path = _name(file)
            until = None if until is None else max(until, file.done)
            if path is not None and until != 0:
                self._lines.append(_File(path, file.size, file.version, ((0, until),)))

    def merge(self, other: Ledger) -> str | None:
        """Add the files of another state; return a file that has records in both, or None."""
        ours = {(line.path, line.size, line.version) for line in self._lines}
        theirs = {(line.path, line.size, line.version): line for line in other._lines}
        self._lines += theirs.values()
        return next((path for path, size, version in theirs if (path, size, version) in ours), None)

    def save(self, path: str, state: bytes) -> None:
        """Write the list beside a state that is about to be written."""
        beside = _beside(path)
        if not self._lines and not beside.exists():
            return
        digest, n = self._before
        states = {hashlib.sha256(state).hexdigest(): len(self._lines)}
        if digest is not None:
            states.setdefault(digest, n)
        lines = [_Head(FORMAT, states), *self._lines]
        write_file(beside, msgspec.json.Encoder().encode_lines(lines))


def check_list(path: str) -> None:
    """Refuse a state whose list would replace a file that is not a list."""
    beside = _beside(path)
    try:
        with beside.open("rb") as file:
            msgspec.json.decode(file.readline(), type=_Head)
    except FileNotFoundError:
        return
    except (OSError, ValueError, msgspec.DecodeError):
        raise CliError(
            f"{beside}: is not a list of counted files, which {path} would have there: choose another name"
        ) from None


def without_lists(paths: list[str]) -> list[str]:
    """Return paths without the lists beside others of them, which a pattern of states matches, too."""
    return [path for path in paths if not (path.endswith(SUFFIX) and path.removesuffix(SUFFIX) in paths)]


def _beside(path: str) -> Path:
    return Path(path + SUFFIX)


def _name(file: InputFile) -> str | None:
    """Return the path that identifies a file; None of a stream, which is read once."""
    if file.path == STDIN or (file.size is None and not is_url(file.path)):
        return None
    return resolved(file.path)


def _changed(file: InputFile, before: _File) -> CliError:
    if file.size is not None and before.size is not None and file.size != before.size:
        how = "grown" if file.size > before.size else "become shorter"
        how += f" since it was counted, from {before.size} to {file.size} bytes"
    else:
        how = "changed since it was counted"
    return CliError(f"{file.path}: has {how}: its records cannot be told from those counted before")


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


SQLITE = b"SQLite format 3\0"


def load(path: str) -> Accumulator:
    """Return the state that the file ``path`` holds."""
    data = Path(path).read_bytes()
    if data.startswith(SQLITE):
        from stream_metrics.monitor.store.backups import stored_total

        total = stored_total(path)
        if total is None:
            raise CliError(f"{path}: the state of a monitor that has counted nothing yet")
        return total
    if not data.startswith(MAGIC):
        raise CliError(f"{path}: is no saved state; 'stream-metrics run --state' writes one")
    try:
        state: Accumulator = sm.from_bytes(data)
    except sm.StreamMetricsError as error:
        raise CliError(f"{path}: {error}") from None
    return state


def check_target(path: str) -> None:
    """Refuse a file that cannot be written, before any work is done for it."""
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        raise CliError(f"{path}: is not a regular file")
    if not target.parent.is_dir():
        raise CliError(f"{path}: there is no folder {str(target.parent)!r}")
    if not os.access(target.parent, os.W_OK):
        raise CliError(f"{path}: the folder is not writable")
    check_list(path)


def check_inputs(inputs: Iterable[str], *outputs: str | None) -> None:
    """Refuse a file that is named twice, which would be counted twice, and an output that would replace an input."""
    seen: dict[str, str] = {}
    for path in inputs:
        name = resolved(path)
        if name in seen:
            raise UsageError(f"{path} is the same file as {seen[name]}: it would be counted twice")
        seen[name] = path
    for output in outputs:
        if output and os.path.realpath(output) in seen:
            raise UsageError(f"{output} is read and would be overwritten: choose another name for the output")


def save(path: str, state: Accumulator, ledger: Ledger | None = None) -> None:
    """Write a state to ``path``, replacing an old file atomically, after the list of counted files."""
    check_target(path)
    data = state.to_bytes()
    try:
        (ledger or Ledger()).save(path, data)
        write_file(path, data)
    except OSError as error:
        raise CliError(f"{path}: {error.strerror or error}") from None
