"""One connection: requests in, answers out.

A request may take so many seconds and so many bytes to arrive, whatever pieces it comes in, and an answer so many
seconds to leave; after that the connection is closed. Requests to read are without a body; after one that has one the
connection is closed as well, so that a body cannot be taken for the next request. Routes of the site answer, too: some
are posted to, with bodies of a bounded size.
"""

from __future__ import annotations

import io
import socket
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple

from stream_metrics.monitor.serving.security import HEADERS, Gate
from stream_metrics.monitor.serving.streams import Streams
from stream_metrics.monitor.serving.view_cache import Unavailable, ViewCache

__all__ = ["Handler", "Posted", "Reply", "Routes", "Site"]

ARRIVES = 15.0  # seconds for a request, from the moment that the one before was answered
LEAVES = 15.0  # seconds for an answer
LONGEST = 1 << 14  # bytes of a request
EMPTY: Mapping[str, str] = {}
FRESH = 0.25  # seconds that a view may be old
TEXT, JSON = "text/plain; charset=utf-8", "application/json"
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nConnection: close\r\n"


class Reply(NamedTuple):
    """What a route answers."""

    status: HTTPStatus
    kind: str
    body: bytes


class Posted(NamedTuple):
    """What was posted to a route: the query of its address, and the body."""

    query: str
    body: bytes


class Routes(NamedTuple):
    """What a site answers beside the page: what is read, and what is posted to, by path; a body has `limit` bytes."""

    read: Mapping[str, Callable[[], Reply]] = {}
    posted: Mapping[str, Callable[[Posted], Reply]] = {}
    limit: int = 0


class Site(NamedTuple):
    """What is served: `files` by path, with their types."""

    files: Mapping[str, tuple[str, bytes]]
    gate: Gate
    latest: ViewCache
    streams: Streams
    alive: Callable[[], bool]
    ready: Callable[[], bool]
    routes: Routes = Routes()
    not_ready: Callable[[], str | None] = lambda: None


class TooLong(Exception):
    """More bytes than a request may have."""


class Bounded(io.RawIOBase):
    """What a client sends, within the bounds of one request; ``TooLong`` and ``TimeoutError`` beyond."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.renew()

    def renew(self, capacity: int = LONGEST) -> None:
        """Begin a request, or its body."""
        self._until, self._capacity = time.monotonic() + ARRIVES, capacity

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what has come, or wait for it."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request took too long")
        if self._capacity <= 0:
            raise TooLong
        self._connection.settimeout(left)
        size = self._connection.recv_into(buffer, min(len(buffer), self._capacity))
        self._capacity -= size
        return size


class Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD, and POST where the site has a route for it."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "stream-metrics", ""
    site: Site  # set by the server, in a class of its own

    def setup(self) -> None:
        """Take the connection over."""
        if self.request.family != socket.AF_UNIX:
            self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        self.requestline, self.request_version, self.command = "", "HTTP/1.1", ""
        super().setup()
        self.rfile.close()
        self._arriving = Bounded(self.connection)
        self.rfile = io.BufferedReader(self._arriving)

    def handle_one_request(self) -> None:
        """Read a request and answer it."""
        self._arriving.renew()
        try:
            try:
                super().handle_one_request()
            except TooLong:
                self.send_error(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        except OSError:  # the client has gone, or takes too long
            self.close_connection = True

    def do_GET(self) -> None:
        """Answer a request."""
        if self.headers.get("Content-Length", "0") != "0" or "Transfer-Encoding" in self.headers:
            self.close_connection = True
        path, _, query = self.path.partition("?")
        refusal = self.site.gate.refusal(self.headers, path, query)
        if refusal is not None:
            self.send_error(*refusal)
            return
        try:
            self._answer_path(path, query)
        except Unavailable as error:
            self.send_error(HTTPStatus.SERVICE_UNAVAILABLE, str(error))

    do_HEAD = do_GET

    def _answer_path(self, path: str, query: str) -> None:
        site = self.site
        if path == "/events":
            self._stream()
        elif path == "/api/snapshot":
            self._answer(JSON, site.latest.body(FRESH))
        elif path == "/metrics":
            self._answer(PROMETHEUS, site.latest.metrics(FRESH))
        elif path == "/healthz":
            self._tell(site.alive(), "ok", "stale: the source is no longer read")
        elif path == "/readyz":
            reason = site.not_ready()
            self._tell(site.ready(), "ready", f"not ready: {reason}" if reason else "not ready")
        elif path in site.routes.read:
            reply = site.routes.read[path]()
            self._answer(reply.kind, reply.body, reply.status)
        elif path in site.files:
            cookie = {"Set-Cookie": site.gate.cookie()} if site.gate.asks_cookie(path, query) else {}
            self._answer(*site.files[path], more=cookie)
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        """Answer what is posted; a body that is refused is read as well, or the client would not read the answer."""
        path, _, query = self.path.partition("?")
        route = self.site.routes.posted.get(path)
        if route is None:
            self._refuse()
            return
        length = self._length()
        if length is None:
            return
        self._arriving.renew(length + LONGEST)
        refusal = self.site.gate.refusal(self.headers, path, query, posts=True)
        if refusal is not None:
            while length > 0 and (part := self.rfile.read(min(length, LONGEST))):
                length -= len(part)
            self.send_error(*refusal)
            return
        body = self.rfile.read(length)
        if len(body) < length:
            self.send_error(HTTPStatus.BAD_REQUEST, "Expected as many bytes as Content-Length says")
            return
        reply = route(Posted(query, body))
        self._answer(reply.kind, reply.body, reply.status)

    def _length(self) -> int | None:
        """Return the length of the body; None if the request was refused for it."""
        length, limit = self.headers.get("Content-Length", ""), self.site.routes.limit
        if not (length.isascii() and length.isdecimal()) or "Transfer-Encoding" in self.headers:
            self.send_error(HTTPStatus.LENGTH_REQUIRED, "Expected a Content-Length")
        elif len(length) > 12 or int(length) > limit:
            message = f"Expected at most {limit} bytes, but got {length:.12}"
            self.send_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
        else:
            return int(length)
        return None

    def _stream(self) -> None:
        """Hand the connection over to the streams, and be done with it."""
        if self.site.streams.full:
            self.send_error(HTTPStatus.SERVICE_UNAVAILABLE, "There are as many streams as there may be")
            return
        self.close_connection = True
        head = STREAM + "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items()).encode() + b"\r\n"
        if self.command == "HEAD":
            self.connection.sendall(head)
        else:
            connection = socket.socket(fileno=self.connection.detach())
            self.site.streams.add(connection, head + b"retry: 1000\n\n")

    def _tell(self, good: bool, yes: str, no: str) -> None:
        status = HTTPStatus.OK if good else HTTPStatus.SERVICE_UNAVAILABLE
        self._answer(TEXT, f"{yes if good else no}\n".encode(errors="backslashreplace"), status)

    def _answer(
        self, kind: str, body: bytes, status: HTTPStatus = HTTPStatus.OK, more: Mapping[str, str] = EMPTY
    ) -> None:
        self.connection.settimeout(LEAVES)
        self.send_response(status)
        rest = {"Content-Type": kind, "Content-Length": str(len(body)), "Cache-Control": "no-store"}
        for name, value in (rest | HEADERS | {**more}).items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Say in a line what is wrong, and close the connection."""
        status = HTTPStatus(code)
        more = {"WWW-Authenticate": "Bearer"} if status == HTTPStatus.UNAUTHORIZED else {}
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            more = {"Allow": "GET, HEAD"}
        self.close_connection = True
        self._answer(TEXT, f"{message or status.phrase}\n".encode(errors="backslashreplace"), status, more)

    def _refuse(self) -> None:
        self.send_error(HTTPStatus.METHOD_NOT_ALLOWED)

    do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _refuse

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: a page asks often, and its first address holds the token."""
