"""Alerts sent to the log and to a webhook: retries, refusals, order, and no secret in any message."""

from __future__ import annotations

import json
import logging
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from stream_metrics.monitor.alerts import outbox as outbox_module
from stream_metrics.monitor.alerts.engine import Change
from stream_metrics.monitor.alerts.outbox import Outbox
from stream_metrics.monitor.alerts.sinks import LogSink, Webhook
from stream_metrics.wire import decoded, encoded

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
        self.paths: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}/{SECRET}"


class Answering(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Receiver

    def do_POST(self) -> None:
        """Keep the request and answer."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.paths.append(self.path)
        self.server.got.append((json.loads(body), dict(self.headers)))
        self.send_response(self.server.statuses.pop(0) if self.server.statuses else 200)
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A server that receives alerts."""
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


OTHER = Change("id-3", "pets", "lag > 5", "firing", 1.7e9, 1.7e9, 6.0)


@pytest.mark.parametrize("status", [302, 307, 400, 401, 403, 404, 410])
def test_what_is_refused_is_tried_again(receiver, caplog, status) -> None:
    """A receiver that is being deployed gets the alert later; other rules do not wait, and one rule keeps its order."""
    receiver.statuses = [status, 200, status]
    webhook = Webhook(receiver.url, first=0.05)
    webhook.start()

    tell(webhook, FIRING, OTHER, OVER)
    assert webhook.outbox.drained(PATIENCE)
    webhook.close()

    assert [body["id"] for body, _ in receiver.got] == ["id-1", "id-3", "id-1", "id-1", "id-2"]
    assert f"the webhook at 127.0.0.1: status {status}; trying again" in caplog.text
    assert webhook.outbox.undelivered() == []
    assert SECRET not in caplog.text


def test_what_is_never_delivered_is_a_dead_letter(receiver, caplog) -> None:
    """After the time for attempts the alert is given up, shown with the reason, kept over a restart, and for a day."""
    receiver.statuses = [404] * 100
    now = [1.7e9]
    webhook = Webhook(receiver.url, lasting=0.2, first=0.02)
    webhook.outbox = Outbox("the webhook", lambda: now[0])
    webhook.start()
    tell(webhook, FIRING)
    while not receiver.got:
        time.sleep(0.01)
    now[0] += 10
    assert webhook.outbox.drained(PATIENCE)
    webhook.close()
    again = Outbox("the webhook", lambda: now[0])
    again.restore(decoded(encoded(webhook.outbox.state())))
    (dead,) = again.undelivered()
    now[0] += 86_401

    assert "the alert id-1 is given up" in caplog.text
    assert (dead.rule, dead.state, dead.problem, dead.given_up) == (FIRING.rule, "firing", "status 404", 1.7e9 + 10)
    assert again.first() is None
    assert again.undelivered() == []
    assert again.state() == {"waiting": [], "dead": []}


def test_attempts_are_counted_over_restarts(receiver) -> None:
    """The time since the first failure goes on, so that restarts do not keep an alert for ever."""
    now = [1.7e9]
    outbox = Outbox("the webhook", lambda: now[0])
    outbox.add([FIRING])
    outbox.release(outbox.mark())
    assert outbox.failed(FIRING, "status 404", lambda tries: 10.0 * tries, 100.0) == (1, 10.0)
    again = Outbox("the webhook", lambda: now[0])
    again.restore(decoded(encoded(outbox.state())))
    now[0] += 60

    assert again.first() == FIRING
    assert again.failed(FIRING, "status 404", lambda tries: 10.0 * tries, 100.0) == (2, 20.0)
    now[0] += 60
    assert again.failed(FIRING, "status 404", lambda tries: 10.0 * tries, 100.0) == (3, 0.0)
    assert again.failed(FIRING, "status 404", lambda tries: 10.0, 100.0) == (0, 0.0)


def test_retry_after_is_respected() -> None:
    """A receiver that says when it is back is not asked before."""
    outbox = Outbox("the webhook")
    outbox.add([FIRING, OTHER])
    outbox.release(outbox.mark())
    outbox.failed(FIRING, "status 429", lambda tries: 60.0, 1e6)

    assert outbox.first() == OTHER
    outbox.delivered(OTHER)
    assert outbox.first(0.01) is None


def test_an_answer_that_never_ends_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A webhook may send a header each second: no attempt has failed, but the alert has not arrived."""
    outbox = Outbox("slow")
    outbox.add([FIRING])
    outbox.release(outbox.mark())
    outbox.first()
    before = outbox.undelivered()
    monkeypatch.setattr(outbox_module, "SLOW", 0.0)
    slow = outbox.undelivered()
    outbox.delivered(FIRING)

    assert before == []
    assert [(each.rule, each.tries, each.problem) for each in slow] == [(FIRING.rule, 0, "no answer yet")]
    assert outbox.undelivered() == []


def test_redirects_are_not_followed(receiver) -> None:
    """Neither the alert nor the header goes to the address that a redirect names."""
    receiver.statuses = [302, 301, 307, 308]
    webhook = Webhook(receiver.url, authorization="Bearer x", first=0.01)
    webhook.start()
    tell(webhook, FIRING)
    assert webhook.outbox.drained(PATIENCE)
    webhook.close()

    assert receiver.paths == [f"/{SECRET}"] * 5
    assert {headers["Authorization"] for _, headers in receiver.got} == {"Bearer x"}


@pytest.mark.parametrize("header", ["a\nb: c", "\N{SNOWMAN}", "a\x7f", "  ", "Bearer a "])
def test_a_header_that_is_none_is_refused(header) -> None:
    """Only printable ASCII may be sent; the message does not show it."""
    with pytest.raises(ValueError, match="Expected `authorization`") as refused:
        Webhook("http://127.0.0.1:1", authorization=header)
    assert header not in str(refused.value)


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
    again.outbox.restore(decoded(encoded(webhook.outbox.state())))
    assert again.outbox.first() == FIRING
    assert "ConnectionRefusedError" in caplog.text
    assert SECRET not in caplog.text


def test_what_is_no_address_is_refused() -> None:
    """Only http and https are spoken, and the message does not repeat what may hold a secret."""
    for address in (
        f"ftp://{SECRET}",
        SECRET,
        "http:///x",
        f"file:///{SECRET}",
        f"http://h:{SECRET}",
        f"http://h/ {SECRET}",
    ):
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
    for data in (7, {"waiting": ()}, [1], [("a", "b")], [("a", "b", "c", "d", "e", "f", "g")], [(*FIRING, "x")]):
        with pytest.raises(ValueError, match="Expected what `state` returned"):
            LogSink().outbox.restore(data)
