"""The newest view: made once, encoded once, for all who want it."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator

from stream_metrics.monitor.serve.prometheus import Exporter
from stream_metrics.monitor.view.types import View, to_json

__all__ = ["ViewCache", "ViewUnavailable"]

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
