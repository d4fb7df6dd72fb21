"""A POST ends in time whatever the other side does, and says why it failed."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from stream_metrics.monitor.alerts.posting import post

TIMEOUT = 0.2
PATIENCE = 5.0
ENDLESS = {
    "nothing": b"",
    "status": b"H" * 10_000,
    "headers": b"HTTP/1.1 503 No\r\n" + b"x: y\r\n" * 10_000,
    "continue": b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000,
}


@pytest.fixture
def answering() -> Iterator[Callable[[bytes, float], str]]:
    """Start a server that answers a connection with so many bytes, a pause between any two of them."""
    server = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()
    threads: list[threading.Thread] = []

    def answer(data: bytes, pause: float) -> None:
        with suppress(OSError), server.accept()[0] as connection:
            connection.recv(1 << 16)
            for byte in data:
                connection.sendall(bytes([byte]))
                if ended.wait(pause):
                    return
            if pause:
                ended.wait(PATIENCE)

    def start(data: bytes, pause: float) -> str:
        threads.append(threading.Thread(target=answer, args=(data, pause)))
        threads[-1].start()
        return f"http://127.0.0.1:{server.getsockname()[1]}/"

    yield start
    ended.set()
    for thread in threads:
        thread.join()
    server.close()


@pytest.mark.parametrize("kind", ENDLESS)
def test_an_answer_that_drips_ends(answering: Callable[[bytes, float], str], kind: str) -> None:
    """Each byte comes well within the time of a socket, the whole never."""
    address = answering(ENDLESS[kind], TIMEOUT / 20)
    began = time.monotonic()

    with suppress(TimeoutError):
        status, _ = post(address, b"{}", {}, TIMEOUT)
        assert (kind, status) == ("headers", 503)  # the status had come

    assert time.monotonic() - began < PATIENCE


def test_a_body_is_not_waited_for(answering: Callable[[bytes, float], str]) -> None:
    """The status is all that counts."""
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n"
    assert post(answering(answer, TIMEOUT / 400), b"{}", {}, PATIENCE) == (200, "")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.1 204 No\r\n\r\n", (204, "")),
        (b"HTTP/1.1 302 No\r\nLocation: http://127.0.0.1:1/\r\n\r\n", (302, "")),
        (b"HTTP/1.1 429 No\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", (429, "7")),
    ],
)
def test_the_status_is_returned(answering: Callable[[bytes, float], str], answer: bytes, expected: object) -> None:
    """Also of redirects, which are not followed, with when to come again."""
    before = {thread.name for thread in threading.enumerate()}
    assert post(answering(answer, 0.0), b"{}", {}, PATIENCE) == expected
    assert "deadline" not in {thread.name for thread in threading.enumerate()} - before


@pytest.mark.parametrize("answer", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 2"])
def test_what_is_no_answer_is_an_error(answering: Callable[[bytes, float], str], answer: bytes) -> None:
    """It is no time that ran out."""
    with pytest.raises((ConnectionError, http.client.HTTPException)) as failed:
        post(answering(answer, 0.0), b"{}", {}, PATIENCE)
    assert not isinstance(failed.value, TimeoutError)
