"""Streams of events: one thread sends each new view to all clients, and waits for none of them.

Each client has one message under way. When that is sent, the newest view follows, so a slow client misses views and
delays neither others nor the monitor. A message that takes longer than `patience` ends the stream. So at most that many
seconds of views are in memory, however many clients do not read, and the system's buffer for each of them is bounded as
well. (A thread for each client was slower: beside a busy thread each has to wait for the interpreter's lock several
times for each view.)

Views come at most four times a second, and less often, down to one in 0.6 seconds, so that making them takes a quarter
of the time. Without news one comes every few seconds, since ages and delays grow. Without clients one is made every
other second, for the trend lines.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
from collections import deque
from dataclasses import dataclass

from stream_metrics.monitor.serving.view_cache import Unavailable, ViewCache

__all__ = ["StreamOptions", "Streams"]


@dataclass
class StreamOptions:
    """Bounds of the streams; lengths of time in seconds."""

    max_clients: int = 512
    pause: float = 0.25  # between two views
    longest_pause: float = 0.6
    share: float = 4  # views start this many times as far apart as one takes
    idle: float = 2.0  # between two views that no client waits for
    heartbeat: float = 5.0  # without news after which a view is sent nevertheless
    patience: float = 15.0  # that a message may take
    buffer: int = 1 << 18  # bytes that the system may hold for a client


class _Client:
    def __init__(self, connection: socket.socket, left: bytes) -> None:
        self.connection = connection
        self.left = memoryview(left)  # of the message that is being sent
        self.since = time.monotonic()  # when that message was begun
        self.number = 0  # of the last view that was begun
        self.waits = False  # until the connection takes more bytes


class Streams:
    """The clients of `/events`, and the thread that serves them."""

    def __init__(self, latest: ViewCache, options: StreamOptions | None = None) -> None:
        self._options = options or StreamOptions()
        self._latest = latest
        self._selector = selectors.DefaultSelector()
        self._wake, self._waker = socket.socketpair()
        self._wake.setblocking(False)
        self._waker.setblocking(False)
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._new: deque[_Client] = deque()
        self._clients: set[_Client] = set()
        self._message, self._number = b"", 0
        self._published = self._closing = False
        self._made = float("-inf")  # when the last view was begun
        self._thread = threading.Thread(target=self._run, name="stream-metrics-events", daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    @property
    def full(self) -> bool:
        """Whether there are as many clients as there may be."""
        return len(self._clients) + len(self._new) >= self._options.max_clients

    def publish(self) -> None:
        """Say that there is a new view."""
        if not self._published:
            self._published = True
            self._rouse()

    def add(self, connection: socket.socket, head: bytes) -> None:
        """Take over a connection: `head` is sent first, then views."""
        connection.setblocking(False)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._options.buffer)
        self._new.append(_Client(connection, head))
        self._rouse()
        if self._closing:
            connection.close()

    def close(self) -> None:
        """End every stream."""
        self._closing = True
        self._rouse()
        if self._thread.ident is not None:
            self._thread.join(0.5)
        for client in [*self._clients, *self._new]:
            client.connection.close()
        if not self._thread.is_alive():
            self._selector.close()
            self._wake.close()
            self._waker.close()

    def _rouse(self) -> None:
        with contextlib.suppress(OSError):  # full: it will wake up anyway
            self._waker.send(b".")

    def _run(self) -> None:
        while not self._closing:
            for key, _ in self._selector.select(self._timeout()):
                if key.data is None:
                    with contextlib.suppress(BlockingIOError):
                        self._wake.recv(4096)
                else:
                    self._heard(key.data)
            while self._new:
                client = self._new.popleft()
                self._clients.add(client)
                self._selector.register(client.connection, selectors.EVENT_READ, client)
                self._send(client)
            if time.monotonic() >= self._due():
                self._renew()
            self._drop_late()

    def _due(self) -> float:
        """Return when the next view is to be made."""
        if any(not client.number for client in self._clients):
            return self._made + self._options.pause
        if self._published:
            if not self._clients:
                return self._made + self._options.idle
            pause = min(self._options.share * self._latest.seconds, self._options.longest_pause)
            return self._made + max(self._options.pause, pause)
        return self._made + self._options.heartbeat if self._clients else float("inf")

    def _timeout(self) -> float | None:
        late = [client.since + self._options.patience for client in self._clients if client.left]
        due = min([self._due(), *late])
        return None if due == float("inf") else max(0.0, due - time.monotonic())

    def _renew(self) -> None:
        self._made, self._published = time.monotonic(), False
        try:
            if not self._clients:
                self._latest.renew()
                return
            self._message = b"data: " + self._latest.body(0.0) + b"\n\n"
        except Unavailable:
            return
        self._number += 1
        for client in list(self._clients):
            if not client.left:
                self._send(client)

    def _heard(self, client: _Client) -> None:
        """Handle a client that sent something, closed the connection, or can take more bytes."""
        try:
            if not client.connection.recv(4096):
                self._drop(client)
                return
        except BlockingIOError:
            pass
        except OSError:
            self._drop(client)
            return
        self._send(client)

    def _send(self, client: _Client) -> None:
        """Send what goes without waiting; what was published meanwhile follows."""
        try:
            while client.left or client.number < self._number:
                if not client.left:
                    client.left, client.since, client.number = memoryview(self._message), time.monotonic(), self._number
                client.left = client.left[client.connection.send(client.left) :]
        except BlockingIOError:
            pass
        except OSError:
            self._drop(client)
            return
        if client.waits != bool(client.left):
            client.waits = bool(client.left)
            wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if client.waits else 0)
            self._selector.modify(client.connection, wanted, client)

    def _drop_late(self) -> None:
        before = time.monotonic() - self._options.patience
        for client in [client for client in self._clients if client.left and client.since <= before]:
            self._drop(client)

    def _drop(self, client: _Client) -> None:
        self._clients.discard(client)
        self._selector.unregister(client.connection)
        client.connection.close()
