"""The server of a monitor: its answers, its streams of the newest view, and that no client can block it."""

from __future__ import annotations

import contextlib
import errno
import http.client
import json
import logging
import os
import selectors
import socket
import stat
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from support.command_line import until
from support.inner_views import connections
from support.page_clients import HOST, connect, everything, get, listen, views
from support.page_server import PageServer, StreamOptions
from support.page_views import make_view
from support.refusals import all_refused, refused

VIEW = make_view(3, 2)


@pytest.fixture
def serve() -> Iterator[Callable[..., PageServer]]:
    """Start servers, and close them in the end."""
    with contextlib.ExitStack() as stack:
        yield lambda view=VIEW, **options: stack.enter_context(contextlib.closing(PageServer(view, **options)))


ROUTES = {
    "/": ("text/html; charset=utf-8", b"<!doctype html>"),
    "/static/app.js": ("text/javascript; charset=utf-8", b"// The page"),
    "/static/style.css": ("text/css; charset=utf-8", b"/* Colours"),
    "/api/snapshot": ("application/json", b'{"version":1,'),
    "/metrics": ("text/plain; version=0.0.4; charset=utf-8", b"# HELP stream_metrics_"),
    "/healthz": ("text/plain; charset=utf-8", b"ok\n"),
    "/readyz": ("text/plain; charset=utf-8", b"ready\n"),
}


def test_routes(serve) -> None:
    """Each route has its type and its length; HEAD is answered like GET, without the body; the API has the view.

    /healthz and /readyz say 503 while nothing is read, and 200 again when it is over.
    """
    server = serve()
    for path, (kind, start) in ROUTES.items():
        answer, body = get(server, path)
        head, nothing = get(server, path, "HEAD")
        assert (answer.status, answer.getheader("Content-Type")) == (200, kind)
        assert body.startswith(start)
        assert head.getheader("Content-Length") == answer.getheader("Content-Length") == str(len(body))
        assert nothing == b""
    assert json.loads(get(server, "/api/snapshot")[1]) == VIEW
    server.healthy = False
    assert [get(server, path)[0].status for path in ("/healthz", "/readyz", "/metrics")] == [503, 503, 200]
    server.healthy = True
    assert [get(server, path)[0].status for path in ("/healthz", "/readyz")] == [200, 200]


def test_a_view_is_made_once_for_all(serve) -> None:
    """However many ask while a view is fresh, for a quarter of a second, it is made once."""
    server, started = serve(), time.monotonic()
    for _ in range(15):
        get(server, "/api/snapshot"), get(server, "/metrics")

    assert 1 <= server.views <= 1 + (time.monotonic() - started) / 0.25


BAD = [
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
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n", b""),
    (b"GET / HTTP/7.5\r\n\r\n", b""),
    (b"GET / HTTP/1.1\r\nContent-Length: 9999\r\n" + HOST + b"\r\nGET /healthz HTTP/1.1\r\n\r\n", b"200"),
]


def test_bad_requests_are_refused(serve, caplog: pytest.LogCaptureFixture) -> None:
    """A bad request gets one answer and the end of the connection; the server goes on, also if the client resets it."""
    server, failures = serve(), []
    for request, status in BAD:
        said = everything(server, request)
        if not said.startswith(b"HTTP/1.1 " + status if status else b"") or said.count(b"HTTP/1.1 ") > 1:
            failures.append((request[:80], status, said[:80]))
        if get(server, "/healthz")[0].status != 200:
            failures.append((request[:80], "ended the server"))
    assert failures == []

    caplog.clear()
    for request in (b"GET /" + b"a" * 20_000, b"GET /api/snapshot HTTP/1.1\r\n" + HOST + b"\r\n"):
        with connect(server) as client:
            client.sendall(request)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    assert get(server, "/healthz")[0].status == 200
    assert [record for record in caplog.records if record.levelno > logging.WARNING] == []


def test_a_client_that_has_sent_all_is_answered(serve) -> None:
    """One that closes its side after the request gets the answer, and then the end."""
    with connect(serve()) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
        client.shutdown(socket.SHUT_WR)
        said = b"".join(iter(lambda: client.recv(4096), b""))

    assert said.endswith(b"\r\n\r\nok\n")


def test_clients_that_never_send_are_dropped(serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request has so much time in all: neither silence nor a byte now and then keeps a connection."""
    monkeypatch.setattr(connections, "ARRIVES", 0.3)  # seconds; 15 are too long for a test
    server = serve()

    def drip(client: socket.socket) -> bool:
        """Send a byte, and tell whether the connection is closed."""
        try:
            client.send(b"G")
        except (BrokenPipeError, ConnectionResetError):
            return True
        return False

    with connect(server) as silent, connect(server) as dripping:
        until(lambda: drip(dripping))
        assert silent.recv(1) == b""


def test_connections_are_bounded(serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound a connection is closed at once; when others have gone there is room."""
    monkeypatch.setattr(connections, "MOST", 2)  # 256 and their clients are more files than some systems allow
    server = serve()
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(connect(server)) for _ in range(2)]
        clients[-1].sendall(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
        assert clients[-1].recv(100).startswith(b"HTTP/1.1 200 ")
        with connect(server) as last:
            assert last.recv(1) == b""

    def answered() -> bool:
        """Tell whether a request is answered."""
        with contextlib.suppress(OSError):
            return everything(server, b"GET /healthz HTTP/1.0\r\n" + HOST + b"\r\n").endswith(b"ok\n")
        return False

    assert until(answered)


def test_close_ends_everything(serve) -> None:
    """Open streams, idle connections and clients that never read do not keep the server from stopping."""
    server = serve(VIEW | {"title": "x" * 2_000_000})
    with listen(server) as stream, listen(server, 4096) as never, connect(server) as idle:
        next(views(stream))
        server.close()
        assert idle.recv(1) == b""
        assert never.fileno() >= 0
    with socket.socket() as late:
        assert late.connect_ex(("127.0.0.1", server.port)) != 0


def test_unix_socket(serve, tmp_path: Path) -> None:
    """Only its owner can use the socket; it is removed at the end, and a stale one is replaced."""
    path = tmp_path / "monitor.sock"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))
    server = serve(socket=str(path))
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(b"GET /readyz HTTP/1.1\r\nConnection: close\r\n" + HOST + b"\r\n")
        said = client.recv(100)

    assert server.url == f"unix:{path}"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert said.startswith(b"HTTP/1.1 200 ")
    server.close()
    assert not path.exists()


def test_addresses_that_are_taken_or_none(serve, tmp_path: Path) -> None:
    """A socket that is served, a file that is no socket and a port in use are left alone and named; a start is one."""
    path, file = tmp_path / "monitor.sock", tmp_path / "notes.txt"
    file.write_text("mine")
    serve(socket=str(path))
    server = serve()
    taken: list[tuple[dict[str, Any], str]] = [
        ({"socket": str(path)}, str(path)),
        ({"port": server.port}, f"`host` '127.0.0.1', `port` {server.port}"),
    ]
    for options, name in taken:
        error = refused(lambda options=options: PageServer(VIEW, **options), OSError, name)
        assert error.errno == errno.EADDRINUSE or "address already in use" in str(error).lower()
    all_refused([
        (lambda: PageServer(VIEW, socket=str(file)), OSError, "a file that is no socket"),
        (lambda: PageServer(VIEW, 70_000), ValueError, "Expected `port` in [serve] to be a whole number <= 65535"),
        (server.server.start, RuntimeError, "not started yet"),
    ])  # fmt: skip

    assert path.exists()
    assert file.read_text() == "mine"
    assert get(server, "/healthz")[0].status == 200


def test_stream_sends_the_newest_view_and_not_all(serve) -> None:
    """The first view comes at once; of many that are published in a moment at most four a second come, and the last."""
    server = serve()
    with listen(server) as stream:
        stream_views = views(stream)
        first = next(stream_views)
        started = time.monotonic()
        for step in range(1, 201):
            server.publish(VIEW | {"now": step})
        nows = [next(stream_views)["now"]]
        while nows[-1] != 200:
            nows.append(next(stream_views)["now"])

    assert first == VIEW
    assert nows == sorted(nows)
    assert len(nows) <= 2 + (time.monotonic() - started) / 0.25


def test_a_hundred_clients_slow_ones_and_one_that_never_reads(serve) -> None:
    """A hundred clients get the newest view whatever others do; the slow miss some; who never reads is dropped."""
    options = StreamOptions(pause=0.02, share=0, max_clients=103)
    big = VIEW | {"title": "x" * 400_000}
    server = serve(big, streams=options)
    with contextlib.ExitStack() as stack:
        quick = [stack.enter_context(listen(server)) for _ in range(100)]
        slow = [stack.enter_context(listen(server, 4096)) for _ in range(2)]
        never = stack.enter_context(listen(server, 4096))
        read_until(quick, VIEW["now"])
        tracemalloc.start()
        for step in range(1, 7):
            server.publish(big | {"now": step})
            read_until(quick, step)
        memory = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        seen = [list(takewhile(lambda now: now < 6, (view["now"] for view in views(stream)))) for stream in slow]
        options.patience = 0.0
        until(lambda: get(server, "/events", "HEAD")[0].status == 200)  # there is room for another one
        with contextlib.suppress(ConnectionResetError):
            while never.recv(1 << 20):
                pass

    assert memory < 5.5 * 400_000  # a message of each of the three slow ones; the newest view, and its message
    assert all(len(nows) < 5 for nows in seen)


def read_until(clients: list[socket.socket], now: float) -> None:
    """Read from all clients until each has got to the end of the view of that time."""
    wanted = f'"now":{float(now)},'.encode()
    with selectors.DefaultSelector() as selector:
        for client in clients:
            selector.register(client, selectors.EVENT_READ, [False, b""])
        while selector.get_map():
            for key, _ in selector.select(10):
                got = key.data[1] + key.fileobj.recv(1 << 20)
                key.data[0] |= wanted in got
                key.data[1] = got[-len(wanted) :]
                if key.data[0] and got.endswith(b"\n\n"):
                    selector.unregister(key.fileobj)


def test_streams_are_bounded(serve) -> None:
    """Beyond the bound a stream is refused with 503; when another one has gone there is room."""
    server = serve(streams=StreamOptions(max_clients=2))
    with listen(server) as first, listen(server) as second:
        next(views(first)), next(views(second))
        answer, _ = get(server, "/events")
        second.shutdown(socket.SHUT_WR)
        second.recv(1 << 20)
        until(lambda: get(server, "/events", "HEAD")[0].status == 200)

    assert answer.status == 503


def test_a_view_that_fails_is_told_and_passes(serve) -> None:
    """While no view can be made requests get 503, and streams stay open for the next one."""
    server = serve()
    with listen(server) as stream:
        stream_views = views(stream)
        next(stream_views)
        broken, server.view = server.view, {}
        server.server.publish()
        until(lambda: get(server, "/metrics")[0].status == 503)
        server.publish(broken | {"now": 5})
        assert next(stream_views)["now"] == 5


def test_a_stream_is_compressed_for_those_who_can_read_it(serve) -> None:
    """One endless gzip stream of views, a quarter as long, each view readable as soon as it has come."""
    server = serve()
    with connect(server) as stream:
        stream.sendall(b"GET /events HTTP/1.0\r\nAccept-Encoding: gzip\r\n" + HOST + b"\r\n")
        head, _, got = stream.recv(1 << 16).partition(b"\r\n\r\n")
        unpack, text, size = zlib.decompressobj(zlib.MAX_WBITS | 16), b"", 0
        seen = []
        while len(seen) < 3:
            text += unpack.decompress(got)
            size += len(got)
            *lines, text = text.split(b"\n\n")
            for line in lines:
                if line.startswith(b"data: "):
                    seen.append(json.loads(line.removeprefix(b"data: "))["now"])
                    server.publish(VIEW | {"now": len(seen)})
            got = stream.recv(1 << 16) if len(seen) < 3 else b""

    assert b"content-encoding: gzip" in head.lower()
    assert seen == [VIEW["now"], 1, 2]
    assert size < 3 * len(json.dumps(VIEW, separators=(",", ":"))) / 3


def test_a_stream_in_chunks(serve) -> None:
    """HTTP/1.1 has it in chunks, which browsers read."""
    server = serve()
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as client:
        client.request("GET", "/events")
        answer = client.getresponse()
        lines = iter(answer.readline, b"")

        assert answer.getheader("Transfer-Encoding") == "chunked"
        assert json.loads(next(line for line in lines if line.startswith(b"data: "))[6:]) == VIEW
