"""Files of this machine, and behind URLs, which fsspec reads if the package for their scheme is installed.

Errors of any package that reads a URL become OSError, so that they end as those of local files do.
"""

from __future__ import annotations

import errno
import glob
import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from stat import S_ISREG
from typing import IO, Any

from stream_metrics.cli.errors import UsageError

URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
VERSIONS = ("ETag", "etag", "Content-MD5", "generation", "mtime", "Last-Modified", "LastModified", "updated", "created")


def is_url(path: str) -> bool:
    """Tell whether a path is a URL or a chain of them, and no local file."""
    return URL.match(path) is not None or ("::" in path and URL.search(path) is not None)


def _is_web(url: str) -> bool:
    """Tell whether a URL is of a web server: it has files without folders, and perhaps without ranges."""
    return url.lower().startswith(("http://", "https://"))


def _system(url: str) -> tuple[Any, str]:
    """Return the file system of fsspec and the path in it; UsageError if a package for the URL is missing."""
    try:
        core = import_module("fsspec.core")
    except ImportError:
        raise UsageError(f'{url}: needs fsspec: pip install "stream-metrics[remote]"') from None
    try:
        system, inside = core.url_to_fs(url)
    except (ImportError, ValueError) as error:  # a package that is missing, a scheme that there is not
        raise UsageError(f"{url}: {error}") from None
    return system, inside


def open_file(path: str, *, seek: bool = False) -> IO[bytes]:
    """Open a file, to be read from its beginning on or, with `seek`, anywhere."""
    if not is_url(path):
        return open(path, "rb")
    system, inside = _system(path)
    with _os_errors():
        if not _is_web(path):
            file = system.open(inside, "rb")
        elif not seek:
            file = system.open(inside, "rb", block_size=0)
        else:
            file = system.open(inside, "rb")
            try:
                file.seek(-1, os.SEEK_END)
                file.read()
                file.seek(0)
            except ValueError:  # a server that sends files whole only
                file = system.open(inside, "rb", block_size=max(file.size or 0, 1), cache_type="all")
        return io.BufferedReader(_RemoteFile(file, system))


def stat(path: str) -> tuple[int | None, str | None]:
    """Return the size of a file and what changes with its content; None where it is no file, or is not known."""
    if is_url(path):
        system, inside = _system(path)
        with _os_errors():
            info = system.info(inside)
        return info.get("size"), next((str(info[name]) for name in VERSIONS if info.get(name) is not None), None)
    status = os.stat(path)
    return (status.st_size, str(status.st_mtime_ns)) if S_ISREG(status.st_mode) else (None, None)


def is_folder(path: str) -> bool:
    """Tell whether a path is a folder."""
    if not is_url(path):
        return os.path.isdir(path)
    if _is_web(path) or "::" in path:
        return path.endswith("/")
    system, inside = _system(path)
    with _os_errors():
        return bool(system.isdir(inside))


def entries(folder: str) -> list[tuple[str, bool]]:
    """Return the paths in a folder, in order, and whether each is a folder."""
    if not is_url(folder):
        with os.scandir(folder) as inside_it:
            return sorted((entry.path, entry.is_dir()) for entry in inside_it)
    system, inside = _system(folder)
    with _os_errors():
        listing = [(item["name"].rstrip("/"), item["type"] == "directory") for item in system.ls(inside, detail=True)]
    itself = inside.rstrip("/")  # the object that marks a folder
    return sorted((system.unstrip_protocol(name), below) for name, below in listing if name != itself)


def matching(pattern: str) -> list[str] | None:
    """Return the paths that a pattern matches, in order; None if the text is not a pattern."""
    if not is_url(pattern):
        return sorted(glob.glob(pattern, recursive=True)) if is_pattern(pattern) else None
    if "::" in pattern or not ("*" in pattern or (glob.has_magic(pattern) and not _is_web(pattern))):
        return None
    system, inside = _system(pattern)
    with _os_errors():
        return sorted(system.unstrip_protocol(path) for path in system.glob(inside))


def is_pattern(path: str) -> bool:
    """Tell whether a local path is a pattern, and not the name of a file."""
    return glob.has_magic(path) and not os.path.exists(path)


def resolved(path: str) -> str:
    """Return the one path of a file."""
    if not is_url(path):
        return os.path.realpath(path)
    if _is_web(path) or "::" in path:
        return path
    system, inside = _system(path)
    return str(system.unstrip_protocol(inside))  # as folders list it


class _RemoteFile(io.RawIOBase):
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
