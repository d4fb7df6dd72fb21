"""Alerts sent to the log, a webhook and Alertmanager: form, order, failures that are counted, and no secret."""

from __future__ import annotations

import json
import logging
import shutil
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.alert_receiver import SECRET, Receiver, alerting, evaluated, receiving
from support.command_line import until
from support.monitor_runs import START, crash
from support.refusals import refused


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
    first, second = evaluated(monitor, alerts, 6), evaluated(monitor, alerts, 1, START + 9)
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
    logged = [(record.levelno, record.message) for record in caplog.records]
    assert logged == [(logging.WARNING, "firing: lag > 5 (now 6)"), (logging.INFO, "ok: lag > 5 (now 1)")]


def test_what_a_webhook_does_not_accept_is_counted(receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    """Each alert is posted once, redirects are not followed, failures are shown, and no log has the secret."""
    receiver.statuses, receiver.location = [503, 302, 200], "http://[malformed"
    monitor, alerts = alerting(webhook=receiver.url)
    evaluated(monitor, alerts, 6)
    evaluated(monitor, alerts, 4, START + 9)
    alerts.close()
    evaluated(monitor, alerts, 4, START + 9)
    view = monitor.view()

    assert receiver.told == ["firing lag > 5", "firing lag > 3", "ok lag > 5"]
    assert {path for path, *_ in receiver.got} == {f"/{SECRET}"}
    failed = [(row.sink, row.rule, row.state, row.at, row.problem) for row in view.undelivered]
    sink = "the webhook at 127.0.0.1"
    assert failed == [
        (sink, rule, "firing", START, f"status {status}") for rule, status in (("lag > 5", 503), ("lag > 3", 302))
    ]
    assert view.delivery_failures == 2
    assert f"{sink}: status 503; the alert" in caplog.text
    assert SECRET not in caplog.text


def test_alerts_do_not_wait_for_a_disk_that_fails(receiver: Receiver, tmp_path: Path) -> None:
    """An alert is sent whether or not it can be stored."""
    monitor, alerts = alerting(tmp_path / "state", webhook=receiver.url, rules=("lag > 5",))
    crash(monitor)  # the store is closed under it
    evaluated(monitor, alerts, 6)
    until(lambda: receiver.told == ["firing lag > 5"])
    alerts.close()


@pytest.mark.parametrize("option", ["webhook", "alertmanager"])
def test_what_is_no_address_or_header_is_refused(option: str) -> None:
    """Only http and https are spoken, and only printable ASCII is sent; no message repeats what may be a secret."""
    wrong = f"ftp://{SECRET}", SECRET, "http:///x", f"file:///{SECRET}", f"http://h:{SECRET}", f"http://h/ {SECRET}"
    for address in (*wrong, f"http://user:{SECRET}@h/"):
        call = lambda address=address: alerting(**{option: address})  # noqa: E731
        assert SECRET not in str(refused(call, ValueError, f"`{option}`"))
    for header in ("a\nb: c", "\N{SNOWMAN}", "a\x7f", "  ", "Bearer a "):
        call = lambda header=header: alerting(webhook="http://127.0.0.1:1", authorization=header)  # noqa: E731
        assert header not in str(refused(call, ValueError, "`authorization`"))


def test_an_answer_that_drips_is_no_answer(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Each byte comes well within the time of a socket; what follows fails at once, and the end does not wait."""
    monkeypatch.setattr("stream_metrics.monitor.alerts.delivery.TIMEOUT", 0.3)
    monkeypatch.setattr("stream_metrics.monitor.alerts.alerting.PARTING", 0.01)
    ended = threading.Event()

    def drip() -> None:
        with server.accept()[0] as connection:
            while not ended.wait(0.02):
                connection.sendall(b"H")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip)
        thread.start()
        monitor, alerts = alerting(webhook=f"http://127.0.0.1:{server.getsockname()[1]}")
        evaluated(monitor, alerts, 6)
        until(lambda: evaluated(monitor, alerts, 6) == [] and len(monitor.view().undelivered) == 2)
        monkeypatch.setattr("stream_metrics.monitor.alerts.delivery.TIMEOUT", 60.0)
        alerts.close()
        slow, hung = alerting(alertmanager=f"http://127.0.0.1:{server.getsockname()[1]}")
        evaluated(slow, hung, 6)
        hung.close()
        ended.set()
        thread.join()

    problems = [row.problem for row in monitor.view().undelivered]
    assert problems == ["no answer within 0 s", "the post before has no answer yet"]
    assert "the alertmanager at 127.0.0.1: 1 posts had no answer before the end" in caplog.text
    assert "the webhook at 127.0.0.1: " in caplog.text


ALERTMANAGER = """\
route: {receiver: test, group_by: [rule], group_wait: 0s, group_interval: 1s}
receivers: [{name: test, webhook_configs: [{url: URL}]}]
"""


def test_alertmanager_is_told_what_fires_and_what_ended(receiver: Receiver, tmp_path: Path) -> None:
    """A real Alertmanager reports an alert that fires, ends, and fires again."""
    program = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
    if program is None:
        pytest.skip("needs Alertmanager, of Debian's package prometheus-alertmanager")
    (tmp_path / "config.yml").write_text(ALERTMANAGER.replace("URL", receiver.url))
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    order = [program, f"--config.file={tmp_path}/config.yml", f"--storage.path={tmp_path}", "--cluster.listen-address="]
    with subprocess.Popen([*order, f"--web.listen-address={address}"], stderr=subprocess.DEVNULL) as process:
        try:
            counting = {"title": "pets"}
            monitor, alerts = alerting(alertmanager=f"http://{address}/", rules=("lag > 5",), counting=counting)
            until(lambda: _known(address) == [])
            evaluated(monitor, alerts, 6, time.time())
            until(lambda: _known(address))
            (firing,) = _known(address)
            until(lambda: [body["status"] for _, body, _ in receiver.got] == ["firing"])
            evaluated(monitor, alerts, 1, time.time())
            until(lambda: [body["status"] for _, body, _ in receiver.got][-1] == "resolved")
            evaluated(monitor, alerts, 6, time.time())
            until(lambda: [body["status"] for _, body, _ in receiver.got][-1] == "firing")
            alerts.close()
            assert [alert["status"]["state"] for alert in _known(address)] == ["active"]
        finally:
            process.kill()

    assert firing["labels"] == {"alertname": "ModelAlert", "model": "pets", "rule": "lag > 5", "severity": "critical"}
    assert (firing["annotations"]["value"], firing["status"]["state"]) == ("6", "active")
    assert monitor.view().undelivered == []
    assert monitor.view().delivery_failures == 0


def _known(address: str) -> Any:
    """Return the active alerts of an Alertmanager, None while it does not answer."""
    try:
        with urllib.request.urlopen(f"http://{address}/api/v2/alerts?active=true", timeout=5) as answer:
            return json.load(answer)
    except OSError:
        return None


def test_what_fires_follows_from_the_rules(receiver: Receiver, tmp_path: Path) -> None:
    """A rule that was removed while it fired has ended; one that goes on firing stays, however often others fire."""
    path = tmp_path / "state"
    monitor, alerts = alerting(path, rules=("lag > 5", "lag > 3"), log=False)
    evaluated(monitor, alerts, 6)
    alerts.close()
    monitor.close()
    monitor, alerts = alerting(path, rules=("lag > 3", "lag > 8"), alertmanager=receiver.address, log=False)
    for at in range(240):
        evaluated(monitor, alerts, 4 + 5 * (at % 2), START + at)
    alerts.close()
    rows = monitor.view().firings
    monitor.close()

    posted = [(row["labels"]["rule"], row["endsAt"] > row["startsAt"]) for row in json.loads(receiver.got[-1][1])]
    assert sorted(posted)[0] == ("lag > 3", True)
    assert len({rule for rule, _ in posted}) == len(posted)
    assert [row.rule for row in rows if row.ended is None] == ["lag > 8", "lag > 3"]
    assert len(rows) == 101
