"""The newest view, made and encoded once for all, and streams of events that send it to all clients.

No client waits for another.

Each client has one message under way. When that is sent, the newest view follows, so a slow client misses views and
delays neither others nor the monitor. A message is encoded and compressed once for all, and given to a connection in
pieces, so a client that does not read takes up no more than one piece; after some seconds its connection is closed.

Compressed messages are parts of one endless gzip stream: each is compressed by itself and ends at a whole byte, so all
clients get the same bytes.

Views come at most four times a second, and less often, down to one in 0.6 seconds, so that making them takes a quarter
of the time. Without news one comes every few seconds, since ages and delays grow. Without clients one is made every
other second, for the trend lines.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

from stream_metrics.monitor.serve.prometheus import Exporter
from stream_metrics.monitor.view.types import View, to_json

LOG = logging.getLogger("stream_metrics.monitor")


class ViewUnavailable(Exception):
    """There is no view, because making one failed."""


class ViewCache:
    """The view of a monitor, at most so old; of all who ask at once, one makes it and the others wait.

    `view` may return the same object again, which must then be as it was.

    `seconds` is how long the last one took, encoding included. ``ViewUnavailable`` if none can be made.
    """

    def __init__(self, view: Callable[[], View], exporter: Exporter) -> None:
        self._view, self._exporter = view, exporter
        self._lock = threading.Lock()
        self._shown = View()
        self._body: bytes | None = None
        self._at = float("-inf")
        self._problem: str | None = None
        self._outdated = False
        self.seconds = 0.0

    def expire(self) -> None:
        """Have the next who asks get a new view, however young this one is."""
        self._outdated = True

    def body(self, age: float) -> bytes:
        """Return the view as JSON, made no more than `age` seconds ago."""
        with self._lock, self._reported():
            self._renew(age)
            if self._body is None:
                started = time.monotonic()
                self._body = to_json(self._shown)
                self.seconds += time.monotonic() - started
            return self._body

    def metrics(self, age: float) -> bytes:
        """Return the view as Prometheus reads it, made no more than `age` seconds ago."""
        with self._lock, self._reported():
            self._renew(age)
            return self._exporter.text(self._shown).encode()

    def renew(self) -> None:
        """Make a view, which counters need even if no client asks for one."""
        with self._lock, self._reported():
            self._renew(0.0)

    @contextlib.contextmanager
    def _reported(self) -> Iterator[None]:
        """Log an error, once as long as it stays the same."""
        try:
            yield
        except Exception as error:
            if self._problem != repr(error):
                LOG.exception("no view can be made")
            self._problem = repr(error)
            raise ViewUnavailable("No view can be made; the log says why") from None
        self._problem = None

    def _renew(self, age: float) -> None:
        started = time.monotonic()
        if started - self._at <= age and not self._outdated:
            return
        self._outdated = False  # before the view is made, during which it may be set again
        view = self._view()
        if view is not self._shown:
            self._exporter.note(view)
            self._shown, self._body = view, None
        self._at = started
        self.seconds = time.monotonic() - started


PIECE = 1 << 15  # bytes
HEAD = b"retry: 1000\n\n"
GZIP = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"  # the head of a gzip stream
LEVEL = 5
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


@dataclass
class StreamOptions:
    """Bounds of the streams; lengths of time in seconds."""

    max_clients: int = 512
    pause: float = 0.25  # between two views
    longest_pause: float = 0.6
    share: float = 4  # views start this many times as far apart as one takes
    idle: float = 2.0  # between two views that no client waits for
    heartbeat: float = 5.0  # without news after which a view is sent nevertheless
    patience: float = 15.0  # that a client may not read


class _Client:
    def __init__(self, packed: bool) -> None:
        self.packed = packed  # whether it takes gzip
        self.number = 0  # of the last view that was begun
        self.news = asyncio.Event()
        self.gone = False

    def leave(self, _: object) -> None:
        self.gone = True
        self.news.set()


class Streams:
    """The clients of `/events`; all but `publish` is for the thread of the loop."""

    def __init__(self, latest: ViewCache, options: StreamOptions | None = None) -> None:
        self.options = options or StreamOptions()
        self._latest = latest
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake = asyncio.Event()
        self._clients: set[_Client] = set()
        self._messages, self._number = (b"", b""), 0
        self._published = self._closing = False
        self._made = float("-inf")  # when the last view was begun

    @property
    def number(self) -> int:
        """How many clients there are."""
        return len(self._clients)

    @property
    def full(self) -> bool:
        """Whether there are as many clients as there may be."""
        return len(self._clients) >= self.options.max_clients

    def publish(self) -> None:
        """Say that there is a new view; from any thread."""
        if not self._published:
            self._published = True
            if self._loop is not None:
                with contextlib.suppress(RuntimeError):  # the loop has ended
                    self._loop.call_soon_threadsafe(self._wake.set)

    async def run(self, executor: Executor) -> None:
        """Make views when they are due."""
        self._loop = asyncio.get_running_loop()
        while not self._closing:
            due = self._due()
            with contextlib.suppress(TimeoutError):
                left = None if due == float("inf") else due - time.monotonic()
                if left is None or left > 0:
                    await asyncio.wait_for(self._wake.wait(), left)
            self._wake.clear()
            if time.monotonic() >= self._due() and not self._closing:
                await self._renew(executor)

    def _due(self) -> float:
        """Return when the next view is to be made."""
        options = self.options
        if any(not client.number for client in self._clients):
            return self._made + options.pause
        if self._published:
            if not self._clients:
                return self._made + options.idle
            pause = min(options.share * self._latest.seconds, options.longest_pause)
            return self._made + max(options.pause, pause)
        return self._made + options.heartbeat if self._clients else float("inf")

    async def _renew(self, executor: Executor) -> None:
        self._made, self._published = time.monotonic(), False
        packs = any(client.packed for client in self._clients)
        make = partial(self._encoded, packs) if self._clients else self._latest.renew
        try:
            messages = await asyncio.get_running_loop().run_in_executor(executor, make)
        except ViewUnavailable:
            return
        if messages is None:  # no client was there
            return
        self._messages = messages
        self._number += 1
        for client in self._clients:
            client.news.set()

    def _encoded(self, packs: bool) -> tuple[bytes, bytes]:
        message = b"data: " + self._latest.body(0.0) + b"\n\n"
        return message, _packed(message) if packs else b""

    async def serve(self, packed: bool, receive: Receive, send: Send) -> None:
        """Send views to a client until it leaves or the server ends."""
        client = _Client(packed)
        leaving = asyncio.ensure_future(_left(receive))
        leaving.add_done_callback(client.leave)
        self._clients.add(client)
        self._wake.set()
        try:
            head = GZIP + _packed(HEAD) if packed else HEAD
            await send({"type": "http.response.body", "body": head, "more_body": True})
            while not client.gone and not self._closing:
                client.news.clear()
                message = self._messages[packed]
                if client.number == self._number or not message:
                    await client.news.wait()
                    continue
                client.number = self._number
                for piece in _pieces(message):
                    if client.gone or self._closing:
                        break
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            if not client.gone:
                await send({"type": "http.response.body", "body": b""})
        finally:
            self._clients.discard(client)
            leaving.cancel()

    def close(self) -> None:
        """End every stream."""
        self._closing = True
        self._wake.set()
        for client in self._clients:
            client.news.set()


async def _left(receive: Receive) -> None:
    """Wait until a client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _packed(message: bytes) -> bytes:
    """Return a message as a part of a gzip stream that depends on no other part."""
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(message) + packer.flush(zlib.Z_FULL_FLUSH)


def _pieces(message: bytes) -> Iterator[memoryview]:
    """Yield a message in pieces, which are no copies."""
    view = memoryview(message)
    for start in range(0, len(message), PIECE):
        yield view[start : start + PIECE]
