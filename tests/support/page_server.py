"""Servers for tests: of a monitor, and without one, where a test sets the view."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from stream_metrics.monitor.serve.posts import Routes
from stream_metrics.monitor.serve.server import Server
from stream_metrics.monitor.serve.streams import StreamOptions
from support.inner_views import View, routes
from support.monitor_runs import Monitor, config
from support.page_views import typed

__all__ = ["PageServer", "StreamOptions", "serving"]


@contextlib.contextmanager
def serving(monitor: Monitor) -> Iterator[str]:
    """Serve a monitor, and give the address."""
    how = config(serve={"port": 0}).serve
    server = Server(how, monitor.view, alive=lambda: True, ready=lambda: True, routes=routes(monitor))
    with contextlib.closing(server):
        yield server.start().rstrip("/")


class PageServer:
    """Serves the page and the view in `view`, read `views` times; `healthy` is what /healthz tells."""

    def __init__(
        self, view: dict[str, Any], port: int = 0, streams: StreamOptions | None = None, **options: Any
    ) -> None:
        self.view, self.views = view, 0
        self.healthy = True
        how = config(serve={"port": port, **options}).serve
        healthy = {"alive": lambda: self.healthy, "ready": lambda: self.healthy}
        self.answer = 400, b'{"error": "no ranges here"}'  # to what is asked of /api/range
        self.asked: list[str] = []
        self.server = Server(how, self._shown, **healthy, streams=streams, routes=Routes(ranges=self._range))
        self.url = self.server.start()
        self.port = 0 if self.url.startswith("unix:") else int(self.url.rstrip("/").rpartition(":")[2])

    def _shown(self) -> View:
        self.views += 1
        return self._typed

    def _range(self, query: str) -> tuple[int, bytes]:
        self.asked.append(query)
        return self.answer

    @property
    def view(self) -> dict[str, Any]:
        """The view that is served."""
        return self._view

    @view.setter
    def view(self, view: dict[str, Any]) -> None:
        self._view, self._typed = view, typed(view)

    def publish(self, view: dict[str, Any]) -> None:
        """Make this the view, and send it."""
        self.view = view
        self.server.publish()

    def close(self) -> None:
        """Stop serving, and end every stream."""
        self.server.close()
