"""Where the server listens: a port, or a Unix socket that only its owner can use.

Connections are bounded in number and closed by force at the end, so neither clients that never send nor those that
never read keep the server from stopping.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import socket
import socketserver
import stat
import threading
import time
from typing import Any

from stream_metrics.monitor.config import Serve

__all__ = ["Listener"]

LOG = logging.getLogger("stream_metrics.monitor")
MOST = 256  # connections at once, beside streams
SHUT = 0.5  # seconds that requests have to end


class Listener(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Accepts connections; `url` is where. ``OSError`` if it cannot listen there."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, config: Serve, handler: type[socketserver.BaseRequestHandler]) -> None:
        self._connections: set[socket.socket] = set()
        self._idle = threading.Condition()
        self._path = config.socket
        self._inode: tuple[int, int] | None = None
        if config.socket:
            self.address_family = socket.AF_UNIX
        elif ":" in config.host:
            self.address_family = socket.AF_INET6
        address = config.socket or (config.host, config.port)
        try:
            super().__init__(address, handler)  # type: ignore[arg-type] # the path of a Unix socket is a text
        except OSError as error:
            reason = error.strerror or str(error)
            name = f"`socket` {config.socket!r}" if config.socket else f"`host` {config.host!r}, `port` {config.port}"
            raise OSError(error.errno, f"Expected to serve on {name}, but got: {reason}") from None
        self._thread = threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True)

    @property
    def url(self) -> str:
        """The address of the page, or `unix:` and the path."""
        if self._path:
            return f"unix:{self._path}"
        host, port = self.server_address[0], self.server_address[1]
        return f"http://[{host!s}]:{port}/" if self.address_family == socket.AF_INET6 else f"http://{host!s}:{port}/"

    def start(self) -> None:
        """Begin to accept."""
        self._thread.start()

    def close(self) -> None:
        """Accept nothing more, and end all connections."""
        if self._thread.ident is not None:
            self.shutdown()
            self._thread.join()
        self.server_close()
        with self._idle:
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            self._idle.wait_for(lambda: not self._connections, SHUT)
        self._remove_socket()

    def server_bind(self) -> None:
        """Bind; a socket file without a server is replaced, anything else is left as it is."""
        if not self._path:
            super().server_bind()
            return
        _remove_stale(self._path)
        os.fchmod(self.socket.fileno(), 0o600)  # before it exists in the file system, which Linux takes over
        self.socket.bind(self._path)
        os.chmod(self._path, 0o600)
        status = os.stat(self._path)
        self._inode = status.st_dev, status.st_ino

    def _remove_socket(self) -> None:
        """Remove the socket file, if it is still ours."""
        with contextlib.suppress(OSError):
            status = os.lstat(self._path)
            if (status.st_dev, status.st_ino) == self._inode:
                os.unlink(self._path)

    def get_request(self) -> tuple[socket.socket, object]:
        """Accept a connection; without a free file descriptor wait a little, since the loop would spin."""
        try:
            return super().get_request()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                time.sleep(0.05)
            raise

    def verify_request(self, request: Any, client_address: object) -> bool:
        """Refuse connections beyond the bound."""
        return len(self._connections) < MOST

    def process_request(self, request: Any, client_address: object) -> None:
        """Serve a connection in a thread of its own."""
        with self._idle:
            self._connections.add(request)
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: object) -> None:
        """Serve a connection until its end."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._forget(request)

    def handle_error(self, request: Any, client_address: object) -> None:
        """Log what went wrong in a connection."""
        self._forget(request)
        LOG.warning("a connection ended in an error", exc_info=True)

    def _forget(self, request: Any) -> None:
        with self._idle:
            self._connections.discard(request)
            self._idle.notify_all()


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
