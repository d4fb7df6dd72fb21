"""The server of a monitor: the page, the view as JSON and as a stream of events, Prometheus, and health.

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
import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files

from stream_metrics.monitor.config import ServeTable
from stream_metrics.monitor.serve.app import Health, Site, health_app, site_app
from stream_metrics.monitor.serve.connections import Limits, Uvicorn
from stream_metrics.monitor.serve.prometheus import Exporter
from stream_metrics.monitor.serve.routes import Routes
from stream_metrics.monitor.serve.security import Gate
from stream_metrics.monitor.serve.sockets import Listening, listen_to, split_address
from stream_metrics.monitor.serve.streams import StreamOptions, Streams
from stream_metrics.monitor.serve.view_cache import ViewCache
from stream_metrics.monitor.view.types import View

__all__ = ["Server"]

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
