"""The application of a site, for any ASGI server: the page, the view, its stream, Prometheus, health, more routes.

Whatever may take long runs in threads. A body that is posted has so many seconds and so many bytes to arrive; one that
is refused is read as well, or the client would not read the answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from http import HTTPStatus
from typing import Any, NamedTuple, TypeVar

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stream_metrics.monitor.serve.posts import JSON, TEXT, Posted, Reply, Routes
from stream_metrics.monitor.serve.security import HEADERS, LOGIN, PAGE, POLICY, Gate
from stream_metrics.monitor.serve.streams import Streams, ViewCache, ViewUnavailable

LOG = logging.getLogger("stream_metrics.monitor")
ARRIVES = 15.0  # seconds for a body
FORM = 1 << 14  # bytes of a form
FRESH = 0.25  # seconds that a view may be old
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
HTML = "text/html; charset=utf-8"
T = TypeVar("T")


class Health(NamedTuple):
    """What is asked for /healthz and /readyz, and why it is not ready."""

    alive: Callable[[], bool]
    ready: Callable[[], bool]
    not_ready: Callable[[], str | None] = lambda: None


class Site(NamedTuple):
    """What is served: `files` by path, with their types."""

    files: Mapping[str, tuple[str, bytes]]
    gate: Gate
    latest: ViewCache
    streams: Streams
    health: Health
    routes: Routes
    executor: Executor


def site_app(site: Site) -> ASGIApp:
    """Return the application of a site, with its security."""
    answers = _Answers(site)
    routes = [
        Route("/", answers.page),
        *(Route(path, answers.file) for path in site.files if path != "/"),
        Route("/events", answers.events),
        Route("/api/snapshot", answers.snapshot),
        Route("/metrics", answers.metrics),
        Route("/healthz", answers.alive),
        Route("/readyz", answers.ready),
        Route(LOGIN, answers.login, methods=["POST"]),
        *(Route(path, answers.read(reply)) for path, reply in site.routes.read.items()),
        *(Route(path, answers.posted(reply), methods=["POST"]) for path, reply in site.routes.posted.items()),
        *([] if site.routes.ranges is None else [Route("/api/range", answers.ranges)]),
    ]
    guards = [Middleware(_Guard, gate=site.gate, limit=site.routes.limit), Middleware(GZipMiddleware, compresslevel=5)]
    return Starlette(routes=routes, middleware=guards, exception_handlers={HTTPException: _problem})


def health_app(health: Health) -> ASGIApp:
    """Return an application of health alone, which says yes or no to everybody, and nothing else."""

    async def alive(_: Request) -> Response:
        return _said(HTTPStatus.OK if health.alive() else HTTPStatus.SERVICE_UNAVAILABLE, "ok", "stale")

    async def ready(_: Request) -> Response:
        return _said(HTTPStatus.OK if health.ready() else HTTPStatus.SERVICE_UNAVAILABLE, "ready", "not ready")

    routes = [Route("/healthz", alive), Route("/readyz", ready)]
    return Starlette(routes=routes, exception_handlers={HTTPException: _problem})


class _Answers:
    """The endpoints of a site."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def _run(self, call: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._site.executor, call, *arguments)

    async def page(self, request: Request) -> Response:
        """Answer with the page, and a cookie if it is asked for with the token."""
        response = await self.file(request)
        if self._site.gate.asks_cookie("/", request.url.query):
            response.headers["Set-Cookie"] = self._site.gate.cookie(request.headers)
        return response

    async def file(self, request: Request) -> Response:
        """Answer with a file of the page."""
        kind, body = self._site.files[request.url.path]
        return Response(body, media_type=kind)

    async def snapshot(self, _: Request) -> Response:
        """Answer with the view."""
        return Response(await self._run(self._site.latest.body, FRESH), media_type=JSON)

    async def metrics(self, _: Request) -> Response:
        """Answer with the view as Prometheus reads it."""
        return Response(await self._run(self._site.latest.metrics, FRESH), media_type=PROMETHEUS)

    async def alive(self, _: Request) -> Response:
        """Answer whether the source is read."""
        good = await self._run(self._site.health.alive)
        status = HTTPStatus.OK if good else HTTPStatus.SERVICE_UNAVAILABLE
        return _said(status, "ok", "stale: the source is no longer read")

    async def ready(self, _: Request) -> Response:
        """Answer whether it is ready, and why not."""
        good, reason = await self._run(lambda: (self._site.health.ready(), self._site.health.not_ready()))
        status = HTTPStatus.OK if good else HTTPStatus.SERVICE_UNAVAILABLE
        return _said(status, "ready", f"not ready: {reason}" if reason else "not ready")

    async def events(self, request: Request) -> Response:
        """Answer with the stream of views."""
        if self._site.streams.full:
            raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, "There are as many streams as there may be")
        return _Stream(self._site.streams, packed="gzip" in request.headers.get("accept-encoding", ""))

    async def login(self, request: Request) -> Response:
        """Change the token of a form for the cookie."""
        form = (await _body(request, FORM)).decode("ascii", "replace")
        if not self._site.gate.takes(form):
            return Response(PAGE, HTTPStatus.UNAUTHORIZED, media_type=HTML)
        headers = {"Set-Cookie": self._site.gate.cookie(request.headers)}
        return RedirectResponse("/", HTTPStatus.SEE_OTHER, headers)

    async def ranges(self, request: Request) -> Response:
        """Answer what was counted in a range of time."""
        assert self._site.routes.ranges is not None
        status, body = await self._run(self._site.routes.ranges, request.url.query)
        return Response(body, status, media_type=JSON)

    def read(self, reply: Callable[[], Reply]) -> Callable[[Request], Any]:
        """Return the endpoint of a route that is read."""

        async def answer(_: Request) -> Response:
            return _replied(await self._run(reply))

        return answer

    def posted(self, reply: Callable[[Posted], Reply]) -> Callable[[Request], Any]:
        """Return the endpoint of a route that is posted to."""

        async def answer(request: Request) -> Response:
            body = await _body(request, self._site.routes.limit)
            return _replied(await self._run(reply, Posted(request.url.query, body)))

        return answer


class _Stream(Response):
    """The answer to `/events`."""

    def __init__(self, streams: Streams, packed: bool) -> None:
        super().__init__(media_type="text/event-stream", headers={"Vary": "Accept-Encoding"})
        self._streams, self._packed = streams, packed
        del self.headers["content-length"]
        self.headers["Content-Type"] = "text/event-stream"
        if packed:
            self.headers["Content-Encoding"] = "gzip"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
        else:
            await self._streams.serve(self._packed, receive, send)


class _Guard:
    """Refuses requests, says what went wrong, and adds the security headers to every answer."""

    def __init__(self, app: ASGIApp, gate: Gate, limit: int) -> None:
        self._app, self._gate, self._limit = app, gate, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers, method = Headers(scope=scope), scope["method"]
        started = False
        reads = method in ("GET", "HEAD")
        closes = reads and (headers.get("content-length", "0") != "0" or "transfer-encoding" in headers)

        async def answer(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                added = MutableHeaders(raw=message["headers"])
                for name, value in {**HEADERS, "Cache-Control": "no-store"}.items():
                    added.setdefault(name, value)
                if closes or message["status"] >= HTTPStatus.BAD_REQUEST:
                    added["Connection"] = "close"
                if message["status"] == HTTPStatus.UNAUTHORIZED:
                    added["WWW-Authenticate"] = "Bearer"
                    if added["Content-Type"] == HTML:
                        added["Content-Security-Policy"] = POLICY
            await send(message)

        query = scope["query_string"].decode("latin-1")
        try:
            refused = self._gate.refusal(headers, method, scope["path"], query)
            if refused is None:
                await self._app(scope, receive, answer)
                return
            if not reads:
                await _drained(Request(scope, receive), self._limit)
            await _refusal(*refused, scope)(scope, receive, answer)
        except ClientDisconnect:
            return
        except Exception as error:
            if not isinstance(error, ViewUnavailable):
                LOG.exception("a request ended in an error")
            if not started:
                problem = str(error) if isinstance(error, ViewUnavailable) else "The log says why"
                status = 503 if isinstance(error, ViewUnavailable) else 500
                await _text(status, problem)(scope, receive, answer)


def _refusal(status: HTTPStatus, message: str, scope: Scope) -> Response:
    """Return why a request is refused; a person gets a form for the token."""
    wants = Headers(scope=scope).get("accept", "")
    if status == HTTPStatus.UNAUTHORIZED and scope["path"] == "/" and "text/html" in wants:
        return Response(PAGE, status, media_type=HTML)
    return _text(status, message)


async def _body(request: Request, limit: int) -> bytes:
    """Return the body of a request, within its limits."""
    length = request.headers.get("content-length", "")
    if not (length.isascii() and length.isdecimal()) or "transfer-encoding" in request.headers:
        raise HTTPException(HTTPStatus.LENGTH_REQUIRED, "Expected a Content-Length")
    if len(length) > 12 or int(length) > limit:
        message = f"Expected at most {limit} bytes, but got {length:.12}"
        raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
    try:
        async with asyncio.timeout(ARRIVES):
            return await request.body()
    except TimeoutError:
        message = f"Expected the body within {ARRIVES:g} s"
        raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, message) from None


async def _drained(request: Request, limit: int) -> None:
    """Read a body of a bounded length, and forget it."""
    left = max(limit, FORM)
    try:
        async with asyncio.timeout(ARRIVES):
            async for part in request.stream():
                left -= len(part)
                if left < 0:
                    return
    except TimeoutError:
        return


async def _problem(request: Request, error: Exception) -> Response:
    """Return a line that says what is wrong."""
    assert isinstance(error, HTTPException)
    if error.status_code == HTTPStatus.NOT_FOUND and request.method not in ("GET", "HEAD"):
        return _text(HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.METHOD_NOT_ALLOWED.phrase, {"Allow": "GET, HEAD"})
    return _text(error.status_code, error.detail, error.headers)


def _said(status: HTTPStatus, yes: str, no: str) -> Response:
    return _text(status, yes if status == HTTPStatus.OK else no)


def _text(status: int, text: str, headers: Mapping[str, str] | None = None) -> Response:
    return Response(f"{text}\n".encode(errors="backslashreplace"), status, headers, media_type=TEXT)


def _replied(reply: Reply) -> Response:
    return Response(reply.body, reply.status, media_type=reply.kind)
