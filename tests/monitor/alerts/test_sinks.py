"""Alerts sent to the log and to a webhook: retries, refusals, order, and no secret in any message."""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from stream_metrics.monitor.alerts.engine import Change
from stream_metrics.monitor.alerts.sinks import LogSink, Webhook

SECRET = "T0K3N"
FIRING = Change("id-1", "pets", "accuracy < 0.8", "firing", 1.7e9, 1.7e9, 0.25)
OVER = Change("id-2", "pets", "accuracy < 0.8", "ok", 1.7e9 + 9, 1.7e9, 0.875)
PATIENCE = 10.0


class Receiver(ThreadingHTTPServer):
    """Answers with the statuses given, then with 200, and keeps what it got."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.statuses: list[int] = []
        self.got: list[tuple[dict[str, Any], dict[str, str]]] = []
        self.url = f"http://127.0.0.1:{self.server_port}/{SECRET}"


class Answering(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Receiver

    def do_POST(self) -> None:
        """Keep the request and answer."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((json.loads(body), dict(self.headers)))
        self.send_response(self.server.statuses.pop(0) if self.server.statuses else 200)
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A server that is told alerts."""
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def tell(webhook: Webhook, *changes: Change) -> None:
    """Have changes told."""
    webhook.outbox.add(changes)
    webhook.outbox.release(webhook.outbox.mark())


def test_a_webhook_gets_json_in_order(receiver) -> None:
    """Each alert is one POST with all that is known of it, and its id in a header."""
    webhook = Webhook(receiver.url)
    webhook.start()

    tell(webhook, FIRING, OVER)
    assert webhook.outbox.drained(PATIENCE)
    webhook.close()

    bodies = [body for body, _ in receiver.got]
    assert bodies[0] == {**FIRING._asdict(), "text": "pets: firing: accuracy < 0.8 (now 0.25)"}
    assert [body["id"] for body in bodies] == ["id-1", "id-2"]
    assert receiver.got[0][1]["Idempotency-Key"] == "id-1"
    assert receiver.got[0][1]["Content-Type"] == "application/json"


def test_a_webhook_tries_again(receiver, caplog) -> None:
    """After 503 and 429 the same alert is sent again, before the next one, with the same id."""
    receiver.statuses = [503, 429]
    webhook = Webhook(receiver.url, first=0.01)
    webhook.start()

    tell(webhook, FIRING, OVER)
    assert webhook.outbox.drained(PATIENCE)
    webhook.close()

    assert [body["id"] for body, _ in receiver.got] == ["id-1", "id-1", "id-1", "id-2"]
    assert "status 503; trying again" in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.parametrize("status", [302, 400, 404])
def test_a_webhook_gives_up_what_is_refused(receiver, caplog, status) -> None:
    """An answer that will not get better ends one alert, not those after it, and is said without the address."""
    receiver.statuses = [status]
    webhook = Webhook(receiver.url)
    webhook.start()

    tell(webhook, FIRING, OVER)
    assert webhook.outbox.drained(PATIENCE)
    webhook.close()

    assert [body["id"] for body, _ in receiver.got] == ["id-1", "id-2"]
    assert f"the webhook at 127.0.0.1: status {status}; the alert id-1 is given up" in caplog.text
    assert SECRET not in caplog.text


def test_what_a_webhook_cannot_deliver_stays(caplog, monkeypatch) -> None:
    """Without a listener the alert stays in the outbox, survives closing, and the waits are bounded."""
    monkeypatch.setattr("stream_metrics.monitor.alerts.sinks.PARTING", 0.05)
    with socket.socket() as taken:  # bound and not listening: refuses at once
        taken.bind(("127.0.0.1", 0))
        webhook = Webhook(f"http://127.0.0.1:{taken.getsockname()[1]}/{SECRET}", first=100.0)
        webhook.start()
        tell(webhook, FIRING)
        webhook.close()

    again = Webhook("http://127.0.0.1:1")
    again.outbox.restore(tuple(map(tuple, webhook.outbox.state())))
    assert again.outbox.first() == FIRING
    assert "ConnectionRefusedError" in caplog.text
    assert SECRET not in caplog.text


def test_what_is_no_address_is_refused() -> None:
    """Only http and https are spoken, and the message does not repeat what may hold a secret."""
    for address in (f"ftp://{SECRET}", SECRET, "http:///x", f"file:///{SECRET}"):
        with pytest.raises(ValueError, match="Expected `webhook`") as refused:
            Webhook(address)
        assert SECRET not in str(refused.value)


def test_the_log_is_told(caplog) -> None:
    """A warning when it fires, information when it is over, only once it is released."""
    caplog.set_level(logging.INFO, "stream_metrics")
    sink = LogSink()
    sink.outbox.add([FIRING])
    mark = sink.outbox.mark()
    sink.outbox.add([OVER])
    sink.tell()
    assert caplog.records == []

    sink.outbox.release(mark)
    sink.tell()
    assert [record.levelno for record in caplog.records] == [logging.WARNING]

    sink.outbox.release(sink.outbox.mark())
    sink.tell()
    assert caplog.messages == ["firing: accuracy < 0.8 (now 0.25)", "ok: accuracy < 0.8 (now 0.875)"]
    assert len(sink.outbox) == 0


def test_data_that_is_no_outbox_is_refused() -> None:
    """What a checkpoint could not have held is an error that says so."""
    for data in (7, [1], [("a", "b")], [("a", "b", "c", "d", "e", "f", "g")]):
        with pytest.raises(ValueError, match="Expected what `state` returned"):
            LogSink().outbox.restore(data)
