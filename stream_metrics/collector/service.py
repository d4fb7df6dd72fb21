"""A collector that is served: its file, its page, and the address where workers report."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from stream_metrics.catalog.table import find
from stream_metrics.collector.collector import Collector, Options
from stream_metrics.collector.reporter import AT_EXIT, Reporter
from stream_metrics.collector.routes import routes
from stream_metrics.collector.store import CollectorStore
from stream_metrics.collector.view import CollectorView
from stream_metrics.inputs.times import Length
from stream_metrics.monitor.config import ServeTable
from stream_metrics.monitor.serve.security import Gate
from stream_metrics.monitor.serve.server import Server
from stream_metrics.report.headlines import MONITOR

__all__ = ["Service"]

DEFAULTS = Options()


class Service:
    """Serves a collector whose file is at `path`; it is made if there is none.

    It may report to another collector, as a worker with the name of its title and the same token.

    ``StoreError`` if the file is foreign or in use, ``ValueError`` for a host that others can reach without a token,
    ``OSError`` if the port is taken.
    """

    def __init__(
        self,
        path: str,
        host: str = "127.0.0.1",
        port: int = 9900,
        *,
        token: str = "",
        title: str = "workers",
        metrics: Sequence[str] = MONITOR,
        expected: Sequence[str] = (),
        options: Options = DEFAULTS,
        names: Sequence[str] = (),
        health: str = "",
        report_to: str | None = None,
        report_every: Length = 60.0,
    ) -> None:
        config = ServeTable(host=host, port=port, token=token, names=tuple(names), health=health)
        Gate(config)  # raises before a file is made
        keys = [find(key).key for key in metrics]
        self._collector = Collector(CollectorStore(path), options)
        self.url = ""
        self._reporter: Reporter | None = None
        try:
            view = CollectorView(self._collector, title, keys, expected)
            answers = routes(self._collector, lambda: self._server.publish())
            self._server = Server(config, view, alive=self._alive, ready=self._alive, routes=answers)
            if report_to is not None:
                named: Any = {"worker": title, "token": token or None, "resumes": True}
                self._reporter = Reporter(report_to, self._collector.total, report_every, **named)
        except BaseException:
            self._collector.close()
            raise

    def start(self) -> str:
        """Serve, in threads, and return the address."""
        try:
            self.url = self._server.start()
        except BaseException:
            self._stop()
            raise
        return self.url

    def total(self) -> Any:
        """Return a state with the counts of all workers; MergeError if none has reported."""
        return self._collector.total()

    def _alive(self) -> bool:
        return self._collector.alive

    def close(self) -> None:
        """Take no more reports, write those that have arrived, and close the file."""
        self._server.close()
        self._stop()

    def _stop(self) -> None:
        if self._reporter is not None:
            self._reporter._close_quietly(AT_EXIT)
        self._collector.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
