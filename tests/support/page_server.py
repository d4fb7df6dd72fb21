"""A server without a monitor: a test sets its view."""

from __future__ import annotations

from typing import Any

from stream_metrics.monitor.config import Serve
from stream_metrics.monitor.serve.routes import Routes
from stream_metrics.monitor.serve.server import Server
from stream_metrics.monitor.serve.streams import StreamOptions
from support.page_views import typed


class PageServer:
    """Serves the page and the view in `view`; `healthy` is what /healthz tells."""

    def __init__(
        self, view: dict[str, Any], port: int = 0, streams: StreamOptions | None = None, **options: Any
    ) -> None:
        self.view = view
        self.healthy = True
        config = Serve(port=port, **options)
        healthy = {"alive": lambda: self.healthy, "ready": lambda: self.healthy}
        self.answer = 400, b'{"error": "no ranges here"}'  # to what is asked of /api/range
        self.asked: list[str] = []
        routes = Routes(ranges=self._range)
        self.server = Server(config, lambda: self._typed, **healthy, streams=streams, routes=routes)
        self.url = self.server.start()
        self.port = int(self.url.rstrip("/").rpartition(":")[2])

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
