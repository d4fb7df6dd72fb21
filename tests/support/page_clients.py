"""Clients of a server without a browser: they request, listen, send invalid bytes, and stop reading."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any

from support.page_server import PageServer

HOST = b"Host: localhost\r\n"


def connect(server: PageServer, receive: int | None = None) -> socket.socket:
    """Open a connection, with so small a buffer to receive."""
    connection = socket.socket()
    if receive is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
    connection.settimeout(60)
    connection.connect(("127.0.0.1", server.port))
    return connection


def everything(server: PageServer, request: bytes) -> bytes:
    """Send bytes and read until the server closes the connection."""
    with connect(server) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def get(server: PageServer, path: str, method: str = "GET") -> tuple[http.client.HTTPResponse, bytes]:
    """Ask for a path, and return the answer with its body."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as client:
        client.request(method, path)
        answer = client.getresponse()
        return answer, answer.read()


def listen(server: PageServer, receive: int | None = None) -> socket.socket:
    """Open a stream of events."""
    connection = connect(server, receive)
    connection.sendall(b"GET /events HTTP/1.0\r\n" + HOST + b"\r\n")  # 1.1 has the stream in chunks
    return connection


def views(stream: socket.socket) -> Iterator[dict[str, Any]]:
    """Yield views from a stream of events."""
    with stream.makefile("rb") as lines:
        yield from (json.loads(line.removeprefix(b"data: ")) for line in lines if line.startswith(b"data: "))
