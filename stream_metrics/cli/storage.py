"""Files of this machine, and behind URLs, which fsspec reads if the package for their scheme is installed."""

from __future__ import annotations

import errno
import glob
import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
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


@cache  # since the system of an archive closes its files when it is collected
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
        file = system.open(inside, "rb", **({"block_size": 0} if _is_web(path) and not seek else {}))
        if _is_web(path) and seek:
            try:
                file.seek(-1, os.SEEK_END)
                file.read()
                file.seek(0)
            except ValueError:  # a server that sends files whole only
                file = system.open(inside, "rb", block_size=max(file.size or 0, 1), cache_type="all")
        return io.BufferedReader(file)


def stat(path: str) -> tuple[int | None, str | None]:
    """Return the size of a file and what changes with its content; None where it is no file, or is not known."""
    if is_url(path):
        system, inside = _system(path)
        with _os_errors():
            info = system.info(inside)
        return info.get("size"), next((str(info[name]) for name in VERSIONS if info.get(name) is not None), None)
    status = os.stat(path)
    return (status.st_size, str(status.st_mtime_ns)) if S_ISREG(status.st_mode) else (None, None)


def files_in(folder: str) -> list[str] | None:
    """Return the paths of all files in a folder and below, in order; None if the path is not a folder."""
    if is_url(folder):
        system, inside = _system(folder)
        with _os_errors():
            if not (folder.endswith("/") if _is_web(folder) or "::" in folder else system.isdir(inside)):
                return None
            return sorted(system.unstrip_protocol(path) for path in system.find(inside))
    if not os.path.isdir(folder):
        return None
    paths: list[str] = []
    seen = {os.path.realpath(folder)}
    for above, folders, names in os.walk(folder, followlinks=True):
        real = {name: os.path.realpath(os.path.join(above, name)) for name in folders}
        folders[:] = [name for name in folders if real[name] not in seen]  # a link may lead up
        seen.update(real.values())
        paths += [os.path.join(above, name) for name in names]
    return sorted(paths)


def matching(pattern: str) -> list[str] | None:
    """Return the paths that a pattern matches, in order; None if the text is not a pattern."""
    if not is_url(pattern):
        exists = os.path.exists(pattern) or not glob.has_magic(pattern)
        return None if exists else sorted(glob.glob(pattern, recursive=True))
    if "::" in pattern or not ("*" in pattern or (glob.has_magic(pattern) and not _is_web(pattern))):
        return None
    system, inside = _system(pattern)
    with _os_errors():
        return sorted(system.unstrip_protocol(path) for path in system.glob(inside))


def resolved(path: str) -> str:
    """Return the one path of a file."""
    if not is_url(path):
        return os.path.realpath(path)
    if _is_web(path) or "::" in path:
        return path
    system, inside = _system(path)
    return str(system.unstrip_protocol(inside))  # as folders list it


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
