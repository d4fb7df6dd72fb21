"""Alerts sent to the log and to a webhook: form, order, retries, a failing disk, POSTs that end, and no secret."""

from __future__ import annotations

import http.client
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from support.alert_receiver import SECRET, Receiver, alerting, evaluated, receiving
from support.command_line import until
from support.monitor_runs import START, crash
from support.refusals import refused

from stream_metrics.monitor.alerts.posting import post
from stream_metrics.monitor.alerts.sinks import Webhook


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A server that receives alerts."""
    with receiving() as server:
        yield server


def test_a_webhook_gets_json_in_order(receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    """Each alert is one POST with all that is known of it, and its id in a header; the log has a line for each."""
    caplog.set_level(logging.INFO, "stream_metrics")
    settings: dict[str, Any] = {"authorization": "Bearer x", "rules": ("lag > 5",), "counting": {"title": "pets"}}
    monitor, alerts = alerting(webhook=receiver.url, **settings)
    first = evaluated(monitor, alerts, 6)
    alerts.settle()
    second = evaluated(monitor, alerts, 1, START + 9)
    assert caplog.messages == ["firing: lag > 5 (now 6)"]  # what was evaluated is told once it is settled
    alerts.settle()
    until(lambda: len(receiver.got) == 2)
    alerts.close()

    firing, over = (body for _, body, _ in receiver.got)
    headers = receiver.got[0][2]
    assert firing == {**first[0]._asdict(), "text": "pets: firing: lag > 5 (now 6)"}
    assert over == {**second[0]._asdict(), "text": "pets: ok: lag > 5 (now 1)"}
    assert firing.items() >= {"title": "pets", "rule": "lag > 5", "state": "firing", "at": START, "value": 6}.items()
    assert over.items() >= {"state": "ok", "at": START + 9, "since": START, "value": 1}.items()
    assert firing["id"] == headers["Idempotency-Key"] != over["id"]
    assert (headers["Content-Type"], headers["Authorization"]) == ("application/json", "Bearer x")
    assert [record.levelno for record in caplog.records] == [logging.WARNING, logging.INFO]
    assert caplog.messages[1] == "ok: lag > 5 (now 1)"


RETRIED: list[tuple[list[int], list[str]]] = [  # statuses of the first answers, and what is received in which order
    ([503, 429], ["firing lag > 5"] * 3 + ["firing lag > 3", "ok lag > 5"]),
    *(
        ([status, 200, status], ["firing lag > 5", "firing lag > 3", "firing lag > 5", "firing lag > 5", "ok lag > 5"])
        for status in (302, 307, 400, 404)
    ),
]


def test_what_is_not_delivered_is_sent_again(receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    """Two rules fire and one of them ends: retries keep the order and the id, and no log has the secret."""
    for statuses, order in RETRIED:
        receiver.statuses, receiver.got = list(statuses), []
        monitor, alerts = alerting(None, {"webhook": Webhook(receiver.url, first=0.05)})
        evaluated(monitor, alerts, 6)
        evaluated(monitor, alerts, 4, START + 9)
        alerts.settle()
        until(lambda: len(receiver.got) == 5)
        alerts.close()
        assert receiver.told == order
        assert len({body["id"] for _, body, _ in receiver.got}) == 3
        assert {path for path, *_ in receiver.got} == {f"/{SECRET}"}  # no redirect is followed
        assert f"the webhook at 127.0.0.1: status {statuses[0]}; trying again" in caplog.text
        assert evaluated(monitor, alerts, 4) == monitor.view().undelivered == []
    assert SECRET not in caplog.text


def test_alerts_do_not_wait_for_a_disk_that_fails(receiver: Receiver, tmp_path: Path) -> None:
    """If the checkpoint fails they are sent nevertheless, and the view says what is wrong."""
    monitor, alerts = alerting(tmp_path / "state", webhook=receiver.url, rules=("lag > 5",))
    crash(monitor)  # the store is closed under it
    evaluated(monitor, alerts, 6)
    alerts.settle()
    until(lambda: receiver.told == ["firing lag > 5"])
    alerts.close()

    assert monitor.last_error == monitor.view().checkpoint.error != ""


def test_what_is_no_address_or_header_is_refused() -> None:
    """Only http and https are spoken, and only printable ASCII is sent; no message repeats what may be a secret."""
    wrong = f"ftp://{SECRET}", SECRET, "http:///x", f"file:///{SECRET}", f"http://h:{SECRET}", f"http://h/ {SECRET}"
    for address in wrong:
        assert SECRET not in str(refused(lambda address=address: alerting(webhook=address), ValueError, "`webhook`"))
    for header in ("a\nb: c", "\N{SNOWMAN}", "a\x7f", "  ", "Bearer a "):
        call = lambda header=header: alerting(webhook="http://127.0.0.1:1", authorization=header)  # noqa: E731
        assert header not in str(refused(call, ValueError, "`authorization`"))


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
