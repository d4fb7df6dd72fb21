"""The server of a monitor: its answers, and that no client can block it."""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import os
import socket
import stat
import time
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.page_clients import HOST, connect, everything, get, listen, views
from support.page_server import PageServer
from support.page_views import make_view, typed

from stream_metrics.monitor.config import Serve
from stream_metrics.monitor.serve import app, connections
from stream_metrics.monitor.serve.server import Server

VIEW = make_view(3, 2)


@pytest.fixture
def serve() -> Iterator[Callable[..., PageServer]]:
    """Start servers, and close them in the end."""
    with contextlib.ExitStack() as stack:
        yield lambda view=VIEW: stack.enter_context(contextlib.closing(PageServer(view)))


@pytest.mark.parametrize(
    ("path", "kind", "start"),
    [
        ("/", "text/html; charset=utf-8", b"<!doctype html>"),
        ("/static/app.js", "text/javascript; charset=utf-8", b"// The page"),
        ("/static/style.css", "text/css; charset=utf-8", b"/* Colours"),
        ("/api/snapshot", "application/json", b'{"version":1,'),
        ("/metrics", "text/plain; version=0.0.4; charset=utf-8", b"# HELP stream_metrics_"),
        ("/healthz", "text/plain; charset=utf-8", b"ok\n"),
        ("/readyz", "text/plain; charset=utf-8", b"ready\n"),
    ],
)
def test_routes(serve, path, kind, start):
    """Each route has its type and its length; HEAD is answered like GET, without the body."""
    server = serve()

    answer, body = get(server, path)
    head, none = get(server, path, "HEAD")

    assert (answer.status, answer.getheader("Content-Type")) == (200, kind)
    assert body.startswith(start)
    assert head.getheader("Content-Length") == answer.getheader("Content-Length") == str(len(body))
    assert none == b""


def test_snapshot_is_the_view(serve):
    """The API gives the view as it is."""
    _, body = get(serve(), "/api/snapshot")

    assert json.loads(body) == VIEW


def test_health_tells_when_nothing_is_read(serve):
    """/healthz and /readyz say 503 and why, and 200 again when it is over."""
    server = serve()
    server.healthy = False

    bad = [get(server, path)[0].status for path in ("/healthz", "/readyz")]
    server.healthy = True

    assert bad == [503, 503]
    assert get(server, "/healthz")[0].status == 200


def test_a_view_is_made_once_for_all(monkeypatch):
    """However many ask while a view is fresh, it is made once."""
    monkeypatch.setattr(app, "FRESH", 60)
    made = []
    server = Server(Serve(port=0), lambda: made.append(1) or typed(VIEW), alive=bool, ready=bool)
    with contextlib.closing(server):
        url = server.start()
        for _ in range(5):
            urllib.request.urlopen(f"{url}api/snapshot").close()
            urllib.request.urlopen(f"{url}metrics").close()

    assert len(made) == 1


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"POST / HTTP/1.1\r\n" + HOST + b"\r\n", b"405"),
        (b"BREW / HTTP/1.1\r\n" + HOST + b"\r\n", b"405"),
        (b"GET /../../etc/passwd HTTP/1.1\r\n" + HOST + b"\r\n", b"404"),
        (b"GET /static/..%2fview.py HTTP/1.1\r\n" + HOST + b"\r\n", b"404"),
        (b"GET /" + b"a" * 20_000, b"400"),
        (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 4_000 + b"\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nContent-Length: 5\r\n" + HOST + b"\r\nhello", b"405"),
        (b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + HOST + b"\r\n5\r\nhello\r\n0\r\n\r\n", b"200"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n", None),
        (b"GET / HTTP/7.5\r\n\r\n", None),
        (b"GET / HTTP/1.1\r\nContent-Length: 9999\r\n" + HOST + b"\r\nGET /healthz HTTP/1.1\r\n\r\n", b"200"),
    ],
)
def test_bad_requests_are_refused(serve, request_, status):
    """What is no request that is served gets one answer and the end of the connection; the server goes on."""
    server = serve()

    said = everything(server, request_)

    assert status is None or said.startswith(b"HTTP/1.1 " + status)
    assert said.count(b"HTTP/1.1 ") <= 1
    assert get(server, "/healthz")[0].status == 200


def test_a_client_that_goes_before_its_refusal_is_no_error(serve, caplog):
    """A client that sends too much, or asks, and resets the connection is not logged."""
    server = serve()
    for request in (b"GET /" + b"a" * 20_000, b"GET /api/snapshot HTTP/1.1\r\n" + HOST + b"\r\n"):
        with connect(server) as client:
            client.sendall(request)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    assert get(server, "/healthz")[0].status == 200
    assert [record for record in caplog.records if record.levelno > logging.WARNING] == []


def test_a_client_that_has_sent_all_is_answered(serve):
    """One that closes its side after the request gets the answer, and then the end."""
    server = serve()
    with connect(server) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
        client.shutdown(socket.SHUT_WR)
        said = b"".join(iter(lambda: client.recv(4096), b""))

    assert said.endswith(b"\r\n\r\nok\n")


def test_clients_that_never_send_are_dropped(serve, monkeypatch):
    """A request has so much time in all: neither silence nor a byte now and then keeps a connection."""
    monkeypatch.setattr(connections, "ARRIVES", 0.3)
    server = serve()
    with connect(server) as silent, connect(server) as dripping:
        with pytest.raises(OSError, match=r"Broken pipe|reset"):  # noqa: PT012
            while True:
                dripping.send(b"G")
                time.sleep(0.02)

        assert silent.recv(1) == b""


def test_connections_are_bounded(serve, monkeypatch):
    """Beyond the bound a connection is closed at once; when others have gone there is room."""
    monkeypatch.setattr(connections, "MOST", 1)
    server = serve()
    with connect(server) as first:
        first.sendall(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
        first.recv(100)
        with connect(server) as second:
            assert second.recv(1) == b""
    with contextlib.suppress(OSError, http.client.HTTPException):
        while get(server, "/healthz")[0].status != 200:
            pass


def test_close_ends_everything_at_once(serve):
    """Open streams, idle connections and clients that never read do not keep the server from stopping."""
    server = serve(VIEW | {"title": "x" * 2_000_000})
    with listen(server) as stream, listen(server, 4096) as never, connect(server) as idle:
        next(views(stream))
        started = time.monotonic()
        server.close()
        took = time.monotonic() - started

        assert idle.recv(1) == b""
        assert never.fileno() >= 0
        assert took < 1
    with socket.socket() as late:
        assert late.connect_ex(("127.0.0.1", server.port)) != 0


def unix(path: Any) -> Server:
    """A server on a Unix socket."""
    return Server(Serve(socket=str(path)), lambda: VIEW, alive=bool, ready=bool)


def test_unix_socket(tmp_path):
    """Only its owner can use the socket; it is removed at the end, and a stale one is replaced."""
    path = tmp_path / "monitor.sock"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))
    with contextlib.closing(unix(path)) as server, socket.socket(socket.AF_UNIX) as client:
        url = server.start()
        mode = stat.S_IMODE(os.stat(path).st_mode)
        client.connect(str(path))
        client.sendall(b"GET /readyz HTTP/1.1\r\nConnection: close\r\n" + HOST + b"\r\n")
        said = client.recv(100)

    assert url == f"unix:{path}"
    assert mode == 0o600
    assert said.startswith(b"HTTP/1.1 503 ")
    assert not path.exists()


def test_unix_socket_of_others_stays(tmp_path):
    """A socket that is served, and a file that is no socket, are left alone."""
    path, file = tmp_path / "monitor.sock", tmp_path / "notes.txt"
    file.write_text("mine")
    with contextlib.closing(unix(path)) as server:
        server.start()
        with pytest.raises(OSError, match="address already in use"):
            unix(path).start()
        with pytest.raises(OSError, match="a file that is no socket"):
            unix(file).start()

        assert path.exists()
    assert file.read_text() == "mine"


def test_a_server_starts_once(serve):
    """A second start is refused, and the first one goes on."""
    server = serve()
    with pytest.raises(RuntimeError, match="not started yet"):
        server.server.start()

    assert get(server, "/healthz")[0].status == 200


def test_a_port_that_is_taken_is_named(serve):
    """An address where the server cannot listen is an error that names it; a port that is none, too."""
    port = serve().port
    with pytest.raises(OSError, match=f"`host` '127.0.0.1', `port` {port}, but got: Address already in use"):
        PageServer(VIEW, port)
    with pytest.raises(ValueError, match=r"Expected `port` in \[serve\] to be a whole number <= 65535"):
        PageServer(VIEW, 70_000)
