"""The server of a monitor: the page, the view as JSON and as a stream of events, Prometheus, and health.

    server = Server(config.serve, monitor.view, alive=..., ready=...)
    print(server.start())
    ...
    server.publish()            # after every step: views are made when they are due, in another thread
    server.close()

Only the standard library is needed. A view is made by `view`, outside of the thread that counts, at most four times a
second for all streams together, and at most as often again for requests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.resources import files

from stream_metrics.monitor.config import Serve
from stream_metrics.monitor.serving.handler import Handler, Routes, Site
from stream_metrics.monitor.serving.listener import Listener
from stream_metrics.monitor.serving.prometheus import Exporter
from stream_metrics.monitor.serving.security import Gate
from stream_metrics.monitor.serving.streams import StreamOptions, Streams
from stream_metrics.monitor.serving.view_cache import ViewCache
from stream_metrics.monitor.view_types import View

__all__ = ["Server"]

TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
NO_ROUTES = Routes()


class Server:
    """Serves what `view` returns; `alive` is asked for /healthz, `ready` for /readyz, and `not_ready` why not.

    `routes` are answered, too.

    ``ValueError`` for a host that others can reach without a token, or a port that is none.
    """

    def __init__(
        self,
        config: Serve,
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
        self._config, self._gate = config, Gate(config)
        self._latest = ViewCache(view, Exporter(config))
        self._alive, self._ready, self._not_ready, self._routes = alive, ready, not_ready, routes
        self._stream_options = streams
        self._streams: Streams | None = None
        self._listener: Listener | None = None

    def start(self) -> str:
        """Serve, in threads, and return the address; ``OSError`` if it is taken, ``RuntimeError`` a second time."""
        if self._listener is not None:
            raise RuntimeError("Expected a server that was not started yet")
        streams = Streams(self._latest, self._stream_options)
        health = self._alive, self._ready, self._routes, self._not_ready
        site = Site(_pages(), self._gate, self._latest, streams, *health)
        try:
            self._listener = Listener(self._config, type("SiteHandler", (Handler,), {"site": site}))
        except OSError:
            streams.close()
            raise
        self._streams = streams
        streams.start()
        self._listener.start()
        return self._listener.url

    def publish(self) -> None:
        """Say that a new view can be made; returns at once."""
        self._latest.expire()
        if self._streams is not None:
            self._streams.publish()

    def close(self) -> None:
        """End all connections and stop, in less than a second; nothing happens a second time."""
        if self._streams is not None and self._listener is not None:
            self._streams.close()
            self._listener.close()


def _pages() -> Mapping[str, tuple[str, bytes]]:
    """Return the files of the page by path."""
    pages = {}
    for file in files("stream_metrics.monitor").joinpath("page").iterdir():
        suffix = file.name[file.name.rfind(".") :]
        path = "/" if file.name == "index.html" else f"/static/{file.name}"
        pages[path] = f"{TYPES.get(suffix, 'text/plain')}; charset=utf-8", file.read_bytes()
    return pages
