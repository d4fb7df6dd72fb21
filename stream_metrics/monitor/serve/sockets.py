"""Where a service listens, a port or a Unix socket that only its owner can use, and the signals that end it."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from stream_metrics.monitor.config import ServeTable

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # the last is not on Windows


@contextmanager
def handled_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` at SIGINT, SIGTERM and SIGHUP, but not at one that is ignored, as SIGHUP is under `nohup`.

    Only the main thread can have handlers; in others nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    before = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}
    for number in before:
        signal.signal(number, lambda *_: stop())
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


BACKLOG = 128
BUFFER = 1 << 18  # bytes that the system may hold for a client


class Listening:
    """A socket that accepts connections; `url` is where. ``OSError`` if it cannot listen there."""

    def __init__(self, config: ServeTable) -> None:
        self._path = config.socket
        self._inode: tuple[int, int] | None = None
        try:
            self.socket = self._bound_file() if config.socket else _bound(config.host, config.port)
        except OSError as error:
            reason = error.strerror or str(error)
            name = f"`socket` {config.socket!r}" if config.socket else f"`host` {config.host!r}, `port` {config.port}"
            raise OSError(error.errno, f"Expected to serve on {name}, but got: {reason}") from None

    @property
    def url(self) -> str:
        """The address of the page, or `unix:` and the path."""
        if self._path:
            return f"unix:{self._path}"
        host, port = self.socket.getsockname()[:2]
        return f"http://[{host}]:{port}/" if self.socket.family == socket.AF_INET6 else f"http://{host}:{port}/"

    def _bound_file(self) -> socket.socket:
        """Bind to a path; a socket file without a server is replaced, anything else is left as it is."""
        _remove_stale(self._path)
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            os.fchmod(bound.fileno(), 0o600)  # before it exists in the file system, which Linux takes over
            bound.bind(self._path)
            os.chmod(self._path, 0o600)
            status = os.stat(self._path)
            self._inode = status.st_dev, status.st_ino
            bound.listen(BACKLOG)
        except BaseException:
            bound.close()
            raise
        return bound

    def close(self) -> None:
        """Listen no more, and remove the socket file, if it is still ours."""
        self.socket.close()
        with contextlib.suppress(OSError):
            status = os.lstat(self._path)
            if (status.st_dev, status.st_ino) == self._inode:
                os.unlink(self._path)


def split_address(text: str) -> tuple[str, int]:
    """Return the host and the port of "HOST:PORT"; no host is all addresses. ``ValueError`` if it is none."""
    host, separator, port = text.rpartition(":")
    if not separator or not port.isascii() or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"Expected HOST:PORT, such as 127.0.0.1:8766, but got {text!r}")
    return host.removeprefix("[").removesuffix("]") or "0.0.0.0", int(port)


def listen_to(address: str) -> socket.socket:
    """Return a socket that listens to "HOST:PORT"; ``OSError`` if it cannot."""
    try:
        return _bound(*split_address(address))
    except OSError as error:
        raise OSError(error.errno, f"Expected to serve on {address!r}, but got: {error.strerror or error}") from None


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
        bound.bind((host, port))
        bound.listen(BACKLOG)
    except BaseException:
        bound.close()
        raise
    return bound


def _remove_stale(path: str) -> None:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode):
        raise FileExistsError(errno.EEXIST, "a file that is no socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
    raise OSError(errno.EADDRINUSE, "address already in use")
