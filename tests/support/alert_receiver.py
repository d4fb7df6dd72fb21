"""A server that stores what is posted to it, and monitors whose rules a test breaks."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.monitor_runs import START, Alerts, Clock, Monitor, config, started

SECRET = "T0K3N"
RULES = ("lag > 5", "lag > 3")


class Receiver(ThreadingHTTPServer):
    """Answers with the statuses given, then with 200, and stores what it got; `cut` answers end after their headers."""

    daemon_threads = True

    def __init__(self, answer: Callable[[str], bytes]) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.answer, self.cut = answer, 0
        self.statuses: list[int] = []
        self.location = "/elsewhere"
        self.got: list[tuple[str, Any, dict[str, str]]] = []  # path, body (of JSON if it is an object) and headers
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.url = f"{self.address}/{SECRET}"

    @property
    def told(self) -> list[str]:
        """The states and rules that came, in order."""
        return [f"{body['state']} {body['rule']}" for _, body, _ in self.got]


class Answering(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Receiver

    def do_POST(self) -> None:
        """Store the request and answer."""
        body, answer = self.rfile.read(int(self.headers["Content-Length"])), self.server.answer(self.path)
        cut = self.server.cut > 0
        self.server.cut -= cut
        # Stored before the answer: the next request comes in another thread as soon as this one is answered.
        self.server.got.append((self.path, json.loads(body) if body[:1] == b"{" else body, dict(self.headers)))
        self.send_response(self.server.statuses.pop(0) if self.server.statuses else 200)
        self.send_header("Location", self.server.location)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        if not cut:
            self.wfile.write(answer)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""


@contextmanager
def receiving(answer: Callable[[str], bytes] = lambda path: b"") -> Iterator[Receiver]:
    """Run a server that answers what is posted to a path."""
    server = Receiver(answer)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def alerting(path: object = None, clock: Any = None, counting: Any = None, **alerts: Any) -> tuple[Monitor, Alerts]:
    """Start a monitor and its alerts, with rules about the lag if no others are given."""
    how = config(counting=counting or {"windows": ["1h"]}, alerts={"rules": RULES, **alerts})
    monitor = started(how, path, clock or Clock(START))
    return monitor, Alerts(how, monitor)


def evaluated(monitor: Monitor, alerts: Alerts, lag: int | None, now: float = START) -> list[Any]:
    """Evaluate the rules at a lag and a time, and return what changed."""
    monitor.report_lag(None if lag is None else {("t", 0): lag})
    view = monitor.view()
    view.now = now
    return alerts.see(view)
