"""Streams of events: every client gets the newest view, however many there are and whatever some of them do."""

from __future__ import annotations

import contextlib
import http.client
import json
import selectors
import socket
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from itertools import takewhile

import pytest
from support.command_line import until
from support.page_clients import HOST, connect, get, listen, views
from support.page_server import PageServer, StreamOptions
from support.page_views import make_view

VIEW = make_view(3, 2)


@pytest.fixture
def serve() -> Iterator[Callable[..., PageServer]]:
    """Start servers, and close them in the end."""
    with contextlib.ExitStack() as stack:
        yield lambda view=VIEW, **options: stack.enter_context(contextlib.closing(PageServer(view, **options)))


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
        refused, _ = get(server, "/events")
        second.shutdown(socket.SHUT_WR)
        second.recv(1 << 20)
        until(lambda: get(server, "/events", "HEAD")[0].status == 200)

    assert refused.status == 503


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
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)) as client:
        client.request("GET", "/events")
        answer = client.getresponse()
        lines = iter(answer.readline, b"")

        assert answer.getheader("Transfer-Encoding") == "chunked"
        assert json.loads(next(line for line in lines if line.startswith(b"data: "))[6:]) == VIEW
