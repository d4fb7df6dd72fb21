"""A POST ends in time whatever the other side does, and says why it failed."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from stream_metrics.monitor.alerts.posting import post

TIMEOUT, PATIENCE = 0.2, 60.0
ENDLESS = {
    "nothing": b"",
    "status": b"H" * 10_000,
    "headers": b"HTTP/1.1 503 No\r\n" + b"x: y\r\n" * 10_000,
    "continue": b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000,
}
ANSWERS = {
    b"HTTP/1.1 204 No\r\n\r\n": (204, ""),
    b"HTTP/1.1 302 No\r\nLocation: http://127.0.0.1:1/\r\n\r\n": (302, ""),
    b"HTTP/1.1 429 No\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n": (429, "7"),
}


class Answering:
    """Starts servers that answer a connection with some bytes, a pause between any two; `unfinished` is how many."""

    def __init__(self) -> None:
        self.server, self.ended = socket.create_server(("127.0.0.1", 0)), threading.Event()
        self.threads: list[threading.Thread] = []
        self.unfinished = 0

    def answer(self, data: bytes, pause: float) -> None:
        """Answer one connection."""
        self.unfinished += 1
        with suppress(OSError), self.server.accept()[0] as connection:
            connection.recv(1 << 16)
            for byte in data:
                connection.sendall(bytes([byte]))
                if self.ended.wait(pause):
                    return
            if pause and self.ended.wait(PATIENCE):
                return
            self.unfinished -= 1

    def __call__(self, data: bytes, pause: float = 0.0) -> str:
        self.threads.append(threading.Thread(target=self.answer, args=(data, pause)))
        self.threads[-1].start()
        return f"http://127.0.0.1:{self.server.getsockname()[1]}/"

    def end(self) -> None:
        """Have all connections end."""
        self.ended.set()
        for thread in self.threads:
            thread.join()


@pytest.fixture
def answering() -> Iterator[Answering]:
    """What starts servers."""
    servers = Answering()
    yield servers
    servers.end()
    servers.server.close()


@pytest.mark.parametrize("kind", ENDLESS)
def test_an_answer_that_drips_ends(answering: Answering, kind: str) -> None:
    """Each byte comes well within the time of a socket, the whole never."""
    with suppress(TimeoutError):
        status, _ = post(answering(ENDLESS[kind], TIMEOUT / 20), b"{}", {}, TIMEOUT)
        assert (kind, status) == ("headers", 503)  # the status had come
    answering.end()
    assert answering.unfinished == 1


def test_the_status_is_all_that_counts(answering: Callable[..., str]) -> None:
    """Also of redirects, which are not followed; a body is not waited for, and no thread is left."""
    before = {thread.name for thread in threading.enumerate()}
    for answer, expected in ANSWERS.items():
        assert post(answering(answer), b"{}", {}, PATIENCE) == expected
    endless = b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n"
    assert post(answering(endless, TIMEOUT / 400), b"{}", {}, PATIENCE) == (200, "")
    assert "deadline" not in {thread.name for thread in threading.enumerate()} - before


def test_what_is_no_answer_is_an_error(answering: Callable[..., str]) -> None:
    """It is no time that ran out."""
    for answer in (b"", b"nonsense\r\n\r\n", b"HTTP/1.1 2"):
        with pytest.raises((ConnectionError, http.client.HTTPException)) as failed:
            post(answering(answer), b"{}", {}, PATIENCE)
        assert not isinstance(failed.value, TimeoutError)
