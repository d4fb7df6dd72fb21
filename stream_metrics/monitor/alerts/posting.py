"""One POST that ends in time: no redirect is followed, and an answer has to come within some seconds."""

from __future__ import annotations

import http.client
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

__all__ = ["post"]

AGAIN = 0.5  # seconds until connections are looked at again


def post(address: str, body: bytes, headers: Mapping[str, str], timeout: float) -> tuple[int, str]:
    """Post to an address, through a proxy if the environment names one; return the status and Retry-After.

    ``TimeoutError`` if all of it takes longer than `timeout` seconds, of which each address of the host has as many to
    be connected to; other problems are ``OSError`` and ``http.client.HTTPException``.
    """
    request = urllib.request.Request(address, body, dict(headers), method="POST")
    connections = _Connections()
    opener = urllib.request.build_opener(_NoRedirect(), _Http(connections), _Https(connections))
    try:
        with connections.ended_after(timeout), opener.open(request, timeout=timeout) as answer:
            return answer.status, ""
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers.get("Retry-After", "")
    except (OSError, http.client.HTTPException):
        if connections.late:
            raise TimeoutError from None
        raise


class _Connections:
    """The connections of one request, and whether they were ended for their time."""

    def __init__(self) -> None:
        self.late = False
        self._all: list[http.client.HTTPConnection] = []

    def opened(self, kind: Any) -> Any:
        """Return what makes connections of a kind that belong to these."""

        def make(*arguments: Any, **more: Any) -> http.client.HTTPConnection:
            self._all.append(kind(*arguments, **more))
            return self._all[-1]

        return make

    @contextmanager
    def ended_after(self, seconds: float) -> Iterator[None]:
        """Have all connections end after some seconds; a socket's own timeout is for each byte."""
        done = threading.Event()
        thread = threading.Thread(target=self._end, args=(done, seconds), name="deadline", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _end(self, done: threading.Event, seconds: float) -> None:
        while not done.wait(AGAIN if self.late else seconds):
            self.late = True
            for connection in self._all:
                with suppress(OSError, AttributeError):  # not connected yet, or closed meanwhile
                    connection.sock.shutdown(socket.SHUT_RDWR)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuse redirects: the secret of the address, and the header, are for the host that is configured only."""

    def redirect_request(self, *arguments: object, **more: object) -> None:
        return None


class _Http(urllib.request.HTTPHandler):
    """Opens connections that can be ended."""

    def __init__(self, connections: _Connections) -> None:
        super().__init__()
        self._connections = connections

    def do_open(self, http_class: Any, *arguments: Any, **more: Any) -> Any:
        return super().do_open(self._connections.opened(http_class), *arguments, **more)


class _Https(urllib.request.HTTPSHandler):
    """The same with TLS."""

    def __init__(self, connections: _Connections) -> None:
        super().__init__()
        self._connections = connections

    def do_open(self, http_class: Any, *arguments: Any, **more: Any) -> Any:
        return super().do_open(self._connections.opened(http_class), *arguments, **more)
