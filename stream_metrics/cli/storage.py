"""Where input files are: on this machine, or behind a URL, which fsspec reads if the package for its scheme is there.

Errors of any package that reads a URL become OSError, so that they end as those of local files do.
"""

from __future__ import annotations

import errno
import glob
import importlib
import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from stat import S_ISREG
from typing import IO, Any, NamedTuple, TypeAlias

from stream_metrics.cli.errors import UsageError

__all__ = ["FolderEntry", "Stat", "Storage", "is_url", "storage_of"]

URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
WEB = ("http", "https")  # files without folders, and perhaps without ranges
VERSIONS = ("ETag", "etag", "Content-MD5", "generation", "mtime", "Last-Modified", "LastModified", "updated", "created")


Storage: TypeAlias = "_Local | _Remote"


class FolderEntry(NamedTuple):
    """What is in a folder."""

    name: str
    path: str
    is_folder: bool


class Stat(NamedTuple):
    """What tells one content of a file from another; None where the storage does not say."""

    size: int | None
    version: str | None


def is_url(path: str) -> bool:
    """Tell whether a path is a URL or a chain of them, and no local file."""
    return URL.match(path) is not None or ("::" in path and URL.search(path) is not None)


def storage_of(path: str) -> Storage:
    """Return where a path is; UsageError if a package for its URL is missing."""
    return _remote(path.split("://", 1)[0]) if is_url(path) else _LOCAL


@cache
def _remote(scheme: str) -> _Remote:
    return _Remote(scheme)


class _Local:
    """The files of this machine; paths are those that the caller wrote."""

    is_local = True

    def open(self, path: str, *, seek: bool = False) -> IO[bytes]:
        """Open a file, to be read from its beginning on or, with `seek`, anywhere."""
        return open(path, "rb")

    def stat(self, path: str) -> Stat:
        """Return the size and the version of a file."""
        status = os.stat(path)
        return Stat(status.st_size, str(status.st_mtime_ns)) if S_ISREG(status.st_mode) else Stat(None, None)

    def exists(self, path: str) -> bool:
        """Tell whether a file or folder is there."""
        return os.path.exists(path)

    def is_folder(self, path: str) -> bool:
        """Tell whether a path is a folder."""
        return os.path.isdir(path)

    def entries(self, folder: str) -> list[FolderEntry]:
        """Return the entries of a folder by name."""
        with os.scandir(folder) as entries:
            inside = [FolderEntry(entry.name, entry.path, entry.is_dir()) for entry in entries]
        return sorted(inside)

    def matching(self, pattern: str) -> list[str] | None:
        """Return the paths that a pattern matches, in order; None if the text is not a pattern."""
        if not glob.has_magic(pattern) or os.path.exists(pattern):
            return None
        return sorted(glob.glob(pattern, recursive=True))

    def resolved(self, path: str) -> str:
        """Return the one path of a file."""
        return os.path.realpath(path)


_LOCAL = _Local()


class _Remote:
    """What fsspec reads, of one scheme; methods as those of `_Local`."""

    is_local = False

    def __init__(self, scheme: str) -> None:
        try:
            self._fsspec: Any = importlib.import_module("fsspec")
        except ImportError:
            raise UsageError(f'{scheme}:// needs fsspec: pip install "stream-metrics[remote]"') from None
        self._web = scheme.lower() in WEB

    def _at(self, path: str) -> tuple[Any, str]:
        """Return the file system of fsspec and the path in it."""
        try:
            system, inside = self._fsspec.core.url_to_fs(path)
        except (ImportError, ValueError) as error:  # a package that is missing, a scheme that there is not
            raise UsageError(f"{path}: {error}") from None
        return system, inside

    def open(self, path: str, *, seek: bool = False) -> IO[bytes]:
        system, inside = self._at(path)
        with _os_errors():
            if not self._web:
                return io.BufferedReader(_Translated(system.open(inside, "rb"), system))
            if not seek:
                return io.BufferedReader(_Translated(system.open(inside, "rb", block_size=0), system))
            file = system.open(inside, "rb")
            try:
                file.seek(-1, os.SEEK_END)
                file.read()
                file.seek(0)
            except ValueError:  # a server that sends files whole only
                file = system.open(inside, "rb", block_size=max(file.size or 0, 1), cache_type="all")
            return io.BufferedReader(_Translated(file, system))

    def stat(self, path: str) -> Stat:
        system, inside = self._at(path)
        with _os_errors():
            status = system.info(inside)
        version = next((str(status[name]) for name in VERSIONS if status.get(name) is not None), None)
        return Stat(status.get("size"), version)

    def exists(self, path: str) -> bool:
        system, inside = self._at(path)
        return bool(system.exists(inside))

    def is_folder(self, path: str) -> bool:
        if self._web or "::" in path:
            return path.endswith("/")
        system, inside = self._at(path)
        with _os_errors():
            return bool(system.isdir(inside))

    def entries(self, folder: str) -> list[FolderEntry]:
        system, inside = self._at(folder)
        with _os_errors():
            listing = system.ls(inside, detail=True)
        paths = [(item["name"].rstrip("/"), item["type"] == "directory") for item in listing]
        return sorted(
            FolderEntry(path.rsplit("/", 1)[-1], system.unstrip_protocol(path), is_folder)
            for path, is_folder in paths
            if path != inside.rstrip("/")  # the object that marks a folder
        )

    def matching(self, pattern: str) -> list[str] | None:
        if "::" in pattern or not ("*" in pattern or (not self._web and glob.has_magic(pattern))):
            return None
        system, inside = self._at(pattern)
        with _os_errors():
            return sorted(system.unstrip_protocol(path) for path in system.glob(inside))

    def resolved(self, path: str) -> str:
        if self._web or "::" in path:
            return path
        system, inside = self._at(path)
        return str(system.unstrip_protocol(inside))  # as folders list it


class _Translated(io.RawIOBase):
    """A file of fsspec, whose errors are OSError."""

    def __init__(self, file: Any, system: Any) -> None:
        self._file = file
        self._system = system  # that of an archive closes its files when it is collected

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._file.seekable())

    def readinto(self, buffer: Any) -> int:
        with _os_errors():
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = 0) -> int:
        with _os_errors():
            return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        if not self.closed:
            self._file.close()
            super().close()


@contextmanager
def _os_errors() -> Iterator[None]:
    """Raise what a package raises as OSError."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)) from None
    except OSError:
        raise
    except Exception as error:  # of botocore, aiohttp and others, which have nothing in common
        raise OSError(f"{type(error).__name__}: {error}") from error
