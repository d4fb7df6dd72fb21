"""A POST ends in time regardless of the answer, and says why it failed."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

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


@contextmanager
def answering(data: bytes, pause: float = 0.0) -> Iterator[str]:
    """Answer one connection with some bytes, a pause after each; with pauses, the client ends first."""
    ended, complete = threading.Event(), threading.Event()

    def answer() -> None:
        with suppress(OSError), server.accept()[0] as connection:
            request = b""
            while not request.endswith(b"{}") and (part := connection.recv(1 << 16)):
                request += part  # a connection that is closed with unread bytes is reset
            for byte in data:
                connection.sendall(bytes([byte]))
                if ended.wait(pause):
                    return
            if not (pause and ended.wait(PATIENCE)):
                complete.set()

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        finally:
            ended.set()
            thread.join()
    assert not (pause and complete.is_set())


@pytest.mark.parametrize("kind", ENDLESS)
def test_an_answer_that_drips_ends(kind: str) -> None:
    """Each byte comes well within the time of a socket, the whole never."""
    with answering(ENDLESS[kind], TIMEOUT / 20) as address, suppress(TimeoutError):
        status, _ = post(address, b"{}", {}, TIMEOUT)
        assert (kind, status) == ("headers", 503)  # the status had come


def test_the_status_is_all_that_counts() -> None:
    """A redirect is not followed, a body is not waited for, no thread is left, and what is no answer is an error."""
    before = {thread.name for thread in threading.enumerate()}
    for answer, expected in ANSWERS.items():
        with answering(answer) as address:
            assert post(address, b"{}", {}, PATIENCE) == expected
    with answering(b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n", TIMEOUT / 400) as address:
        assert post(address, b"{}", {}, PATIENCE) == (200, "")
    assert "deadline" not in {thread.name for thread in threading.enumerate()} - before
    for answer in (b"", b"nonsense\r\n\r\n", b"HTTP/1.1 2"):
        with answering(answer) as address, pytest.raises((ConnectionError, http.client.HTTPException)) as failed:
            post(address, b"{}", {}, PATIENCE)
        assert not isinstance(failed.value, TimeoutError)
