"""The files that were counted into a saved state, so that a repeated or resumed run counts no record twice.

They are listed in a file beside the state, OUT.files, and not in it: the bytes of a state depend on the records only.
It is JSON Lines. The first line names the state by its SHA-256, and each other line a file by its path, its size and
what its storage says of its version (the time of the last change, or an ETag), with the range of records that was
counted: the first ones, up to a number or, if that is null, to the end of the file.

The list is written before the state. If the run ends between the two, the list has the digests of both states, and how
many of its lines each had, so it fits the state that is there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from stream_metrics.cli.errors import CliError
from stream_metrics.cli.sources import STDIN, InputFile
from stream_metrics.cli.storage import is_url, resolved
from stream_metrics.wire import write_file

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
