"""Connections of uvicorn with limits, so that no client can block a server.

A request has so many seconds to arrive, and a client so many to take what is sent to it; then the connection is closed
by force. A body has its own limits, in `app.py`. Connections are bounded in number, beside streams, which are bounded
themselves.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["Connection", "Limits", "Uvicorn"]

ARRIVES = 15.0  # seconds for the head of a request, from the moment that the one before was answered
MOST = 256  # connections at once, beside streams
LONGEST = 1 << 14  # bytes of the head of a request
CHECK = 0.25  # seconds between two looks at all connections
SHUT = 0.3  # seconds that requests have to end
_LOG = logging.getLogger("uvicorn.error")
_LOG.addHandler(logging.NullHandler())  # else bad requests are printed to stderr
if _LOG.level == logging.NOTSET:
    _LOG.setLevel(logging.WARNING)  # that it starts and ends is for us to say


class Limits:
    """The limits of a server; `patience` is for how many seconds a client may not read what is sent to it."""

    def __init__(self, patience: Callable[[], float], streams: Callable[[], int] = lambda: 0) -> None:
        self.patience, self.streams = patience, streams
        self.connections: set[Connection] = set()

    async def enforce(self) -> None:
        """Look at all connections, as long as there are any."""
        while True:
            await asyncio.sleep(min(CHECK, ARRIVES / 2) if self.connections else CHECK)
            now = asyncio.get_running_loop().time()
            for connection in list(self.connections):
                connection.check(now)

    def abort(self) -> None:
        """End all connections."""
        for connection in list(self.connections):
            connection.transport.abort()


class Connection(H11Protocol):
    """A connection that is watched."""

    def __init__(self, limits: Limits, **options: Any) -> None:
        super().__init__(**options)
        self._limits = limits
        self._arriving: float | None = None  # since when a request is awaited
        self._blocked: float | None = None  # since when the client does not read

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Begin, unless there are too many."""
        super().connection_made(transport)
        self._limits.connections.add(self)
        self._arriving = self.loop.time()
        if len(self._limits.connections) - self._limits.streams() > MOST:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._limits.connections.discard(self)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Read what has come."""
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self._arriving = None

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._arriving = self.loop.time()
        super().on_response_complete()

    def eof_received(self) -> bool | None:  # type: ignore[override] # uvicorn has None
        """Answer a client that has sent all and waits for the answer; a stream has no reader any more."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete or cycle.response_started or self.conn.their_state is h11.SEND_BODY:
            return None
        cycle.keep_alive = False
        return True

    def check(self, now: float) -> None:
        """Close the connection by force if it takes too long."""
        blocked = self.flow.write_paused or (self.transport.is_closing() and self.transport.get_write_buffer_size() > 0)
        self._blocked = None if not blocked else now if self._blocked is None else self._blocked
        late = self._arriving is not None and now - self._arriving >= ARRIVES
        if late or (self._blocked is not None and now - self._blocked >= self._limits.patience()):
            self.transport.abort()


class Uvicorn(uvicorn.Server):
    """A server of an application in a loop that is running, until `stop` is called."""

    def __init__(self, app: Callable[..., Any], limits: Limits) -> None:
        def connection(**options: Any) -> Connection:
            return Connection(limits, **options)

        config = uvicorn.Config(
            app,
            http=connection,  # type: ignore[arg-type] # called as a class is
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            h11_max_incomplete_event_size=LONGEST,
            timeout_graceful_shutdown=1,
        )
        super().__init__(config)
        self._limits = limits
        self._ended = asyncio.Event()

    async def main_loop(self) -> None:
        """Wait for the end, without looking for it ten times a second."""
        enforcing = asyncio.create_task(self._limits.enforce())
        try:
            await self._ended.wait()
        finally:
            enforcing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await enforcing

    def stop(self) -> None:
        """End soon: what is under way has a moment, then all connections are closed by force."""
        self._ended.set()
        asyncio.get_running_loop().call_later(SHUT, self._limits.abort)
