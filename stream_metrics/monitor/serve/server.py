"""The server of a monitor: the page, the view as JSON and as a stream of events, Prometheus, and health.

Connections have limits, so that no client can block the server. A request has so many seconds to arrive, and a client
so many to take what is sent to it; then the connection is closed by force. A body has its own limits, in `app.py`.
Connections are bounded in number, beside streams, which are bounded themselves.

    server = Server(config.serve, monitor.view, alive=..., ready=...)
    print(server.start())
    ...
    server.publish()            # after every step: views are made when they are due, in another thread
    server.close()

It is a Starlette application on uvicorn, in a thread with a loop of its own. A view is made by `view`, outside of the
thread that counts, at most four times a second for all streams together, and at most as often again for requests.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from stream_metrics.monitor.config import ServeTable
from stream_metrics.monitor.serve.app import Health, Site, health_app, site_app
from stream_metrics.monitor.serve.posts import Routes
from stream_metrics.monitor.serve.prometheus import Exporter
from stream_metrics.monitor.serve.security import Gate
from stream_metrics.monitor.serve.sockets import Listening, listen_to, split_address
from stream_metrics.monitor.serve.streams import StreamOptions, Streams, ViewCache
from stream_metrics.monitor.view.types import View

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


TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
NO_ROUTES = Routes()
THREADS = 32  # for requests that may take long
ENDS = 2.0  # seconds for the thread of the loop to end


class Server:
    """Serves what `view` returns; `alive` is asked for /healthz, `ready` for /readyz, and `not_ready` why not.

    `routes` are answered, too.

    ``ValueError`` for a host that others can reach without a token, or a port that is none.
    """

    def __init__(
        self,
        config: ServeTable,
        view: Callable[[], View],
        *,
        alive: Callable[[], bool],
        ready: Callable[[], bool],
        not_ready: Callable[[], str | None] = lambda: None,
        streams: StreamOptions | None = None,
        routes: Routes = NO_ROUTES,
    ) -> None:
        if not config.socket and not 0 <= config.port <= 65535:
            raise ValueError(f"Expected `port` to be from 0 to 65535, where 0 is any, but got {config.port!r}")
        if config.health:
            split_address(config.health)
        self._config, self._gate = config, Gate(config)
        self._latest = ViewCache(view, Exporter(config))
        self._streams = Streams(self._latest, streams)
        self._health, self._routes = Health(alive, ready, not_ready), routes
        self._listening: Listening | None = None
        self._health_socket: socket.socket | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending: asyncio.Event
        self._running = threading.Event()
        self._thread = threading.Thread(target=self._run, name="stream-metrics-server", daemon=True)

    def start(self) -> str:
        """Serve, in a thread, and return the address; ``OSError`` if it is taken, ``RuntimeError`` a second time."""
        if self._listening is not None:
            raise RuntimeError("Expected a server that was not started yet")
        listening = Listening(self._config)
        try:
            self._health_socket = listen_to(self._config.health) if self._config.health else None
        except OSError:
            listening.close()
            raise
        self._listening = listening
        self._thread.start()
        self._running.wait()
        return listening.url

    @property
    def health_address(self) -> tuple[str, int] | None:
        """Where health alone is served."""
        return None if self._health_socket is None else self._health_socket.getsockname()[:2]

    def publish(self) -> None:
        """Say that a new view can be made; returns at once."""
        self._latest.expire()
        self._streams.publish()

    def close(self) -> None:
        """End all connections and stop, in less than a second; nothing happens a second time."""
        if self._listening is None:
            return
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join(ENDS)
        self._listening.close()

    def _run(self) -> None:
        executor = ThreadPoolExecutor(THREADS, thread_name_prefix="stream-metrics-request")
        try:
            asyncio.run(self._serve(executor))
        finally:
            self._running.set()
            executor.shutdown(wait=False, cancel_futures=True)

    async def _serve(self, executor: ThreadPoolExecutor) -> None:
        assert self._listening is not None
        self._ending, self._loop = asyncio.Event(), asyncio.get_running_loop()
        site = Site(_pages(), self._gate, self._latest, self._streams, self._health, self._routes, executor)
        limits = Limits(lambda: self._streams.options.patience, lambda: self._streams.number)
        servers = [(Uvicorn(site_app(site), limits), self._listening.socket)]
        if self._health_socket is not None:
            limits = Limits(lambda: self._streams.options.patience)
            servers.append((Uvicorn(health_app(self._health), limits), self._health_socket))
        serving = [asyncio.create_task(server.serve(sockets=[bound])) for server, bound in servers]
        streaming = asyncio.create_task(self._streams.run(executor))
        self._running.set()
        await self._ending.wait()
        self._streams.close()
        for server, _ in servers:
            server.stop()
        await asyncio.wait([*serving, streaming], timeout=ENDS)


def _pages() -> Mapping[str, tuple[str, bytes]]:
    """Return the files of the page by path."""
    pages = {}
    for file in files("stream_metrics.monitor").joinpath("page").iterdir():
        suffix = file.name[file.name.rfind(".") :]
        path = "/" if file.name == "index.html" else f"/static/{file.name}"
        pages[path] = f"{TYPES.get(suffix, 'text/plain')}; charset=utf-8", file.read_bytes()
    return pages
