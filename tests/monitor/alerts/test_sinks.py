"""Alerts sent to the log and to a webhook: retries, refusals, order, restarts, and no secret in any message."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.alert_receiver import SECRET, Receiver, alerting, evaluated, receiving, wait_for
from support.monitor_runs import NOW, START, crash, exported
from support.refusals import refused

from stream_metrics.monitor.alerts.engine import Change
from stream_metrics.monitor.alerts.outbox import MOST, Outbox
from stream_metrics.monitor.alerts.sinks import Webhook

FIRING = Change("id-1", "pets", "accuracy < 0.8", "firing", 1.7e9, 1.7e9, 0.25)
OTHER = Change("id-3", "pets", "lag > 5", "firing", 1.7e9, 1.7e9, 6.0)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A server that receives alerts."""
    with receiving() as server:
        yield server


def both(path: Path, receiver: Receiver, **webhook: Any) -> Any:
    """Have two rules fire and one of them end, told to a webhook, and return the monitor and the alerts."""
    sinks = {"webhook": Webhook(receiver.url, first=0.05, **webhook)}
    monitor, alerts = alerting(path, sinks)
    evaluated(monitor, alerts, 6)
    evaluated(monitor, alerts, 4, START + 9)
    alerts.settle()
    return monitor, alerts


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
    wait_for(lambda: len(receiver.got) == 2)
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


def test_a_webhook_that_is_away_gets_all_in_order(receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    """After 503 and 429 the same alert is sent again, before the next one, with the same id."""
    receiver.statuses = [503, 429]
    _, alerts = both(None, receiver)
    wait_for(lambda: len(receiver.got) == 5)
    alerts.close()

    assert receiver.told == ["firing lag > 5"] * 3 + ["firing lag > 3", "ok lag > 5"]
    assert len({body["id"] for _, body, _ in receiver.got}) == 3
    assert "status 503; trying again" in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.parametrize("status", [302, 307, 400, 404])
def test_what_is_refused_is_tried_again(receiver: Receiver, caplog: pytest.LogCaptureFixture, status: int) -> None:
    """Other rules do not wait, one rule keeps its order, and no redirect is followed."""
    receiver.statuses = [status, 200, status]
    monitor, alerts = both(None, receiver)
    wait_for(lambda: len(receiver.got) == 5)
    alerts.close()

    assert receiver.told == ["firing lag > 5", "firing lag > 3", "firing lag > 5", "firing lag > 5", "ok lag > 5"]
    assert {path for path, *_ in receiver.got} == {f"/{SECRET}"}
    assert f"the webhook at 127.0.0.1: status {status}; trying again" in caplog.text
    assert evaluated(monitor, alerts, 4) == monitor.view().undelivered == []
    assert SECRET not in caplog.text


def test_what_is_never_delivered_is_said(
    receiver: Receiver, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """After the time for attempts an alert is given up, shown with the reason in every view, also after a restart."""
    receiver.statuses = [404] * 1000
    monitor, alerts = both(tmp_path / "state", receiver, lasting=0.3)
    wait_for(lambda: caplog.text.count("is given up") == 3)
    alerts.close()
    monitor.checkpoint()
    crash(monitor)
    again, alerts = alerting(tmp_path / "state", {"webhook": Webhook(receiver.url)}, rules=("alerts_undelivered > 2",))
    evaluated(again, alerts, 0)
    (alert,), rows = again.view().alerts, again.view().undelivered

    assert sorted((row.rule, row.state, row.problem) for row in rows) == [
        ("lag > 3", "firing", "status 404"), ("lag > 5", "firing", "status 404"), ("lag > 5", "ok", "status 404"),
    ]  # fmt: skip
    assert all(row.given_up is not None and row.tries > 1 for row in rows)
    assert alert.value == 3
    assert "stream_metrics_alerts_undelivered 3.0\n" in exported(again)
    alerts.close()
    crash(again)


def test_a_crash_loses_no_alert_and_tells_it_again_with_its_id(receiver: Receiver, tmp_path: Path) -> None:
    """What a crash kept from being delivered, the next process sends; after a checkpoint nothing is sent again."""
    with socket.socket() as taken:  # bound and not listening: refuses at once
        taken.bind(("127.0.0.1", 0))
        away = Webhook(f"http://127.0.0.1:{taken.getsockname()[1]}/{SECRET}", first=100.0)
        monitor, alerts = alerting(tmp_path / "state", {"webhook": away}, rules=("lag > 5",))
        evaluated(monitor, alerts, 6)
        assert monitor.view().undelivered == []
        alerts.settle()
        wait_for(lambda: evaluated(monitor, alerts, 6) or monitor.view().undelivered)
        (row,) = monitor.view().undelivered
        monitor.checkpoint()
        crash(monitor)
        alerts.close()
    for turn in range(3):
        sink = {"webhook": Webhook(receiver.url)}
        monitor, alerts = alerting(tmp_path / "state", sink, rules=("lag > 5",))
        assert evaluated(monitor, alerts, 6, START + turn) == []
        assert [(alert.state, alert.since) for alert in monitor.view().alerts] == [("firing", START)]
        wait_for(lambda turn=turn: len(receiver.got) == min(turn + 1, 2))
        alerts.close()
        if turn == 1:
            monitor.checkpoint()
        crash(monitor)

    assert (row.tries, row.given_up) == (1, None)
    assert "ConnectionRefusedError" in row.problem
    assert SECRET not in str(row)
    assert receiver.told == ["firing lag > 5"] * 2
    assert receiver.got[0][1] == receiver.got[1][1]


def test_alerts_do_not_wait_for_a_disk_that_fails(receiver: Receiver, tmp_path: Path) -> None:
    """If the checkpoint fails they are sent nevertheless, and the view says what is wrong."""
    monitor, alerts = alerting(tmp_path / "state", webhook=receiver.url, rules=("lag > 5",))
    crash(monitor)  # the store is closed under it
    evaluated(monitor, alerts, 6)
    alerts.settle()
    wait_for(lambda: receiver.told == ["firing lag > 5"])
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


def test_an_answer_that_never_ends_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A webhook may send a header each second: no attempt has failed, but the alert has not arrived."""
    outbox = Outbox("slow")
    outbox.add([FIRING])
    outbox.release(outbox.mark())
    assert (outbox.first(), outbox.undelivered()) == (FIRING, [])
    monkeypatch.setattr("stream_metrics.monitor.alerts.outbox.SLOW", 0.0)
    (slow,) = outbox.undelivered()
    assert (slow.rule, slow.tries, slow.problem) == (FIRING.rule, 0, "no answer yet")
    outbox.delivered(FIRING)
    assert outbox.undelivered() == []


def test_attempts_are_counted_over_restarts_for_a_day() -> None:
    """The time since the first failure goes on; what is given up is shown for a day; other rules do not wait."""
    now = [NOW]
    outbox, again = Outbox("the webhook", lambda: now[0]), Outbox("the webhook", lambda: now[0])
    outbox.add([FIRING, OTHER])
    outbox.release(outbox.mark())
    assert outbox.failed(FIRING, "status 404", lambda tries: 10.0 * tries, 100.0) == (1, 10.0)
    assert outbox.first() == OTHER
    outbox.delivered(OTHER)
    assert outbox.first(0.01) is None  # a receiver that says when it is back is not asked before
    again.restore(outbox.state())
    now[0] += 60
    assert again.first() == FIRING
    assert again.failed(FIRING, "status 404", lambda tries: 10.0 * tries, 100.0) == (2, 20.0)
    now[0] += 60
    assert again.failed(FIRING, "status 404", lambda tries: 10.0 * tries, 100.0) == (3, 0.0)
    assert again.failed(FIRING, "status 404", lambda tries: 10.0, 100.0) == (0, 0.0)
    assert [(dead.rule, dead.tries, dead.given_up) for dead in again.undelivered()] == [(FIRING.rule, 3, now[0])]
    now[0] += 86_401
    assert (again.first(), again.undelivered(), again.state()) == (None, [], {"waiting": [], "dead": []})
    for data in (7, {"waiting": ()}, [1], [("a", "b")], [("a", "b", "c", "d", "e", "f", "g")], [(*FIRING, "x")]):
        refused(lambda data=data: outbox.restore(data), ValueError, "what `state` returned")


def test_an_outbox_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    """If no sink accepts alerts, the oldest are dropped, and the log says so."""
    outbox = Outbox("nobody")
    for at in range(MOST + 2):
        outbox.add([FIRING._replace(id=str(at))])
        outbox.release(outbox.mark())

    first = outbox.first()
    assert first is not None
    assert (len(outbox), first.id, MOST) == (MOST, "2", 1000)
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 2
