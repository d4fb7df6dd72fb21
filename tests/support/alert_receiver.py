"""A server that alerts are posted to, and monitors whose rules a test breaks."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.monitor_runs import START, Alerts, Clock, Monitor, config, started

SECRET = "T0K3N"
RULES = ("lag > 5", "lag > 3")


class Receiver(ThreadingHTTPServer):
    """Answers with the statuses given, then with 200, and keeps what it got."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.statuses: list[int] = []
        self.got: list[tuple[str, dict[str, Any], dict[str, str]]] = []  # path, body and headers
        self.url = f"http://127.0.0.1:{self.server_port}/{SECRET}"

    @property
    def told(self) -> list[str]:
        """The states and rules that came, in order."""
        return [f"{body['state']} {body['rule']}" for _, body, _ in self.got]


class Answering(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Receiver

    def do_POST(self) -> None:
        """Keep the request and answer."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        self.send_response(status)
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()
        self.server.got.append((self.path, json.loads(body), dict(self.headers)))

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Run a server that receives alerts."""
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def alerting(
    path: object = None, sinks: Any = None, clock: Any = None, counting: Any = None, **alerts: Any
) -> tuple[Monitor, Alerts]:
    """Start a monitor and its alerts, with rules about the lag if no others are given."""
    how = config(counting=counting or {"windows": ["1h"]}, alerts={"rules": RULES, **alerts})
    monitor = started(how, path, clock or Clock(START))
    told = Alerts(how, monitor, sinks)
    told.start()
    return monitor, told


def evaluated(monitor: Monitor, alerts: Alerts, lag: int | None, now: float = START) -> list[Any]:
    """Evaluate the rules at a lag and a time, and return what changed."""
    monitor.report_lag(None if lag is None else {("t", 0): lag})
    view = monitor.view()
    view.now = now
    return alerts.see(view)
