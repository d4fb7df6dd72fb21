"""Alerts sent to the log, a webhook and Alertmanager: form, order, failures that are counted, and no secret."""

from __future__ import annotations

import json
import logging
import shutil
import socket
import subprocess
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
    receiver.statuses = [503, 302, 200]
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


def test_a_server_that_does_not_answer_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules go on meanwhile, alerts that fire are shown as undelivered, and the end does not wait for the answer."""
    monkeypatch.setattr("stream_metrics.monitor.alerts.delivery.SLOW", 0.0)
    monkeypatch.setattr("stream_metrics.monitor.alerts.delivery.PARTING", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as server:
        monitor, alerts = alerting(alertmanager=f"http://127.0.0.1:{server.getsockname()[1]}", rules=("lag > 5",))
        evaluated(monitor, alerts, 6)
        (row,) = until(lambda: evaluated(monitor, alerts, 6) or monitor.view().undelivered)
        alerts.close()

    assert (row.sink, row.rule, row.problem) == ("the alertmanager at 127.0.0.1", "lag > 5", "no answer yet")


ALERTMANAGER = """\
route: {receiver: test, group_by: [rule], group_wait: 0s, group_interval: 1s}
receivers: [{name: test, webhook_configs: [{url: URL}]}]
"""


def test_alertmanager_is_told_what_fires_and_what_ended(receiver: Receiver, tmp_path: Path) -> None:
    """A real one has the alert while it fires, sends it on, is told again each minute, and is told of its end."""
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
            alerts.close()
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
