"""What is answered to workers and to readers: statuses, checks of requests, the page, the exporter."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from support.collector_server import Disk, Options, Service, ask, counted, view_of
from support.command_line import until
from support.prometheus_text import unlabelled
from support.refusals import refused

import stream_metrics as sm


def epoch_of(service: Service, worker: str) -> int:
    """Register a worker."""
    status, text = ask(service, "POST", f"/api/register?{urlencode({'worker': worker})}", b"")
    assert status == 200
    return int(json.loads(text)["epoch"])


def report(service: Service, body: bytes, **fields: Any) -> tuple[int, str]:
    """Report a body with fields."""
    return ask(service, "POST", f"/api/report?{urlencode(fields)}", body)


def send(service: Service, worker: str, state: Any) -> None:
    """Register a worker and send its first report."""
    fields = {"worker": worker, "epoch": epoch_of(service, worker), "sequence": 1}
    assert report(service, state.to_bytes(), **fields) == (200, '{"outcome":"accepted"}')


def test_a_report_is_answered(serve: Callable[..., Service]) -> None:
    """With its outcome; a worker that is fenced learns so by the status; its name is any text, shown as it is."""
    service, name = serve(), "Zoë/\u202e & 'x' %41"
    epoch, body = epoch_of(service, name), counted(2).to_bytes()
    answers = [
        (epoch, 1, 200, "accepted"),
        (epoch, 1, 200, "duplicate"),
        (epoch, 0, 200, "stale"),
        (1, 9, 409, "fenced"),
    ]
    for of_worker, sequence, status, outcome in answers:
        expected = status, f'{{"outcome":"{outcome}"}}'
        assert report(service, body, worker=name, epoch=of_worker, sequence=sequence) == expected
    with urllib.request.urlopen(f"{service.url}api/state") as answer:
        assert sm.from_bytes(answer.read()) == counted(2)
    assert [row["worker"] for row in view_of(service)["workers"]["rows"]] == [name]


BAD_REQUESTS = [
    ("/api/register", b"", 400, ""),
    ("/api/register?worker=", b"", 400, "length >= 1"),
    (f"/api/register?worker={'x' * 201}", b"", 400, "length <= 200"),
    ("/api/register?worker=a&worker=b", b"", 400, "once"),
    ("/api/register?worker=%ff", b"", 400, ""),
    ("/api/report?worker=w&epoch=1", b"", 400, "`sequence`"),
    ("/api/report?worker=w&epoch=-1&sequence=1", b"", 400, "epoch"),
    ("/api/report?worker=w&epoch=1.5&sequence=1", b"", 400, "epoch"),
    ("/api/report?worker=w&epoch=9223372036854775808&sequence=1", b"", 400, "epoch"),
    ("/api/report?worker=w&epoch=9223372036854775807&sequence=1", sm.MCC().to_bytes(), 422, "given out"),
    ("/api/report?worker=w&epoch=%D9%A1&sequence=1", b"", 400, "epoch"),
    ("/api/report?worker=w&epoch=1&sequence=1&fold=true", b"", 400, "$.fold"),
    ("/api/report?worker=w&epoch=1&sequence=1&last=", b"", 400, "$.last"),
    ("/api/report?worker=w&epoch=1&sequence=1&Fold=0", b"", 400, "`Fold`"),
    ("/api/report?worker=w&epoch=1&sequence=1", b"damaged", 422, "SMET"),
    ("/api/report?worker=w&epoch=1&sequence=1", sm.Aggregate().to_bytes(), 422, "an accumulator"),
    ("/api/report?worker=w&epoch=1&sequence=1", sm.Rolling(sm.MCC(), 5).to_bytes(), 422, "Rolling"),
    ("/api/snapshot", b"", 405, ""),
    ("/", b"", 405, ""),
    ("/elsewhere", b"", 405, ""),
]


def test_bad_requests(serve: Callable[..., Service]) -> None:
    """The answer says what is wrong, and nothing changes."""
    service = serve()
    failures = []
    for path, body, status, reason in BAD_REQUESTS:
        answer = ask(service, "POST", path, body)
        if answer[0] != status or reason not in answer[1]:
            failures.append((path, answer))
    assert not failures
    assert ask(service, "GET", "/api/state")[0] == 404


def test_the_length_of_a_body(serve: Callable[..., Service]) -> None:
    """It must be given, true, and not too large; then the connection goes on."""
    service = serve()
    host, port = service.url.removeprefix("http://").rstrip("/").split(":")

    def raw(*lines: str) -> bytes:
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            head = ["POST /api/register?worker=w HTTP/1.1", f"Host: {host}", *lines, "", ""]
            connection.sendall("\r\n".join(head).encode())
            connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(4096), b""))

    assert raw().startswith(b"HTTP/1.1 411")
    assert raw("Content-Length: x").startswith(b"HTTP/1.1 400")
    assert raw("Content-Length: 0", "Transfer-Encoding: chunked")[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 411")
    assert raw(f"Content-Length: {2**26 + 1}").startswith(b"HTTP/1.1 413")
    assert raw(f"Content-Length: {'9' * 15}").startswith(b"HTTP/1.1 413")
    assert raw(f"Content-Length: {'9' * 5000}").startswith(b"HTTP/1.1 400")
    assert raw("Content-Length: 5") == b""
    assert raw("Content-Length: 0").startswith(b"HTTP/1.1 200")

    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    for _ in range(2):
        connection.request("POST", "/api/register?worker=w", b"x" * 1000)
        answer = connection.getresponse()
        assert (answer.status, "epoch" in json.loads(answer.read())) == (200, True)
    connection.close()


def test_the_token(serve: Callable[..., Service], tmp_path: Path) -> None:
    """Nothing is taken or shown without it, nor served to others; the cookie of the page is not enough to report."""
    refused(lambda: serve("never.sqlite", host="0.0.0.0"), ValueError, "token")
    assert not list(tmp_path.glob("never*"))
    service = serve(token="secret")
    path = "/api/register?worker=w"
    cookie = urllib.request.urlopen(f"{service.url}?token=secret").headers["Set-Cookie"].partition(";")[0]

    assert ask(service, "POST", path, b"")[0] == 401
    assert ask(service, "POST", path, b"x" * 100_000, Authorization="Bearer wrong")[0] == 401
    assert ask(service, "POST", f"{path}&token=secret", b"")[0] == 401
    assert ask(service, "POST", path, b"", Cookie=cookie)[0] == 401
    assert ask(service, "POST", path, b"", Authorization="Bearer secret")[0] == 200
    for read in ("/api/state", "/api/snapshot", "/metrics", "/"):
        assert ask(service, "GET", read)[0] == 401
        assert ask(service, "GET", read, Cookie=cookie)[0] in (200, 404)


def test_a_tree_of_collectors(serve: Callable[..., Service]) -> None:
    """The total of one is a worker of another, which its next life replaces; without workers nothing is reported."""
    top = serve("top.sqlite")
    for n in (3, 4):
        leaf = serve("leaf.sqlite", title="leaf", report_to=top.url, report_every=0.05)
        send(leaf, "w", counted(n))
        until(lambda total=3 if n == 3 else 7: view_of(top)["by_window"]["total"]["n"] == total)
        leaf.close()
    assert [row["worker"] for row in view_of(top)["workers"]["rows"]] == ["leaf"]
    assert top.total() == counted(7)


def test_pages_cannot_report(serve: Callable[..., Service]) -> None:
    """A page of any site may post to this machine: what a browser sends is refused, and so is the name of another."""
    service = serve()
    path = "/api/register?worker=w"
    assert ask(service, "POST", path, b"", Origin="https://example.org")[0] == 403
    assert ask(service, "POST", path, b"", Sec_Fetch_Site="same-origin")[0] == 403
    assert ask(service, "POST", path, b"", Host="example.org")[0] == 403
    assert ask(service, "POST", path, b"")[0] == 200


def test_the_view(serve: Callable[..., Service], monkeypatch: pytest.MonkeyPatch) -> None:
    """The total, who is live, silent or missing, refused reports; the exporter says the same."""
    service = serve(expected=["w1", "w2"], options=Options(silent=600), title="all", metrics=["macro_f1"])
    send(service, "w1", counted(3))
    send(service, "x", counted(4))
    report(service, b"damaged", worker="x", epoch=1, sequence=1)
    view = view_of(service)
    total = view["by_window"]["total"]

    assert (view["title"], view["headline"], view["windows"]) == ("all", ["macro_f1"], ["total"])
    assert (total["n"], total["metrics"]["macro_f1"], total["matrix"]["counts"]) == (7, 1, [[7]])
    assert {name: view["workers"][name] for name in ("live", "silent", "missing", "expected", "retired")} == {
        "live": 2, "silent": 0, "missing": 1, "expected": 2, "retired": 0,
    }  # fmt: skip
    assert [(row["worker"], row["state"], row["n"]) for row in view["workers"]["rows"]] == [
        ("w2", "missing", 0), ("w1", "live", 3), ("x", "live", 4),
    ]  # fmt: skip
    assert view["incomplete"] == ["1 expected worker missing"]
    assert view["dead_letters"][0]["reason"] == "decode"
    assert view["checkpoint"]["error"] is None
    clock = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: clock() + 601)
    until(lambda: view_of(service)["workers"]["silent"] == 2)
    text = unlabelled(ask(service, "GET", "/metrics")[1])
    for line in (
        'stream_metrics_workers{state="live"} 0.0',
        'stream_metrics_workers{state="silent"} 2.0',
        'stream_metrics_workers{state="missing"} 1.0',
        'stream_metrics_reports_total{outcome="accepted"} 2.0',
        'stream_metrics_records_rejected_total{reason="decode"} 1.0',
        'stream_metrics_class_support{class="a",window="total"} 7.0',
        'stream_metrics_macro_f1_ratio{window="total"} 1.0',
    ):
        assert f"{line}\n" in text, line
    assert ask(service, "GET", "/healthz")[0] == ask(service, "GET", "/readyz")[0] == 200


TRUTHS = [True, False, True, False, True]
LABELS, TIMED, GROUPED = {"y_pred": TRUTHS}, {"t": [1_700_000_000] * 5}, {"group": [*"xyxyx"]}
KINDS: list[tuple[Any, dict[str, Any]]] = [  # empty states, with the columns beside the truths
    *((state, LABELS) for state in (sm.MetricSet(), sm.MacroF1(), sm.ConfusionMatrix())),
    (sm.ByGroup(sm.MetricSet()), LABELS | GROUPED),
    (sm.TimeWindow(sm.MetricSet(), "1h", 6), LABELS | TIMED),
    (sm.ByGroup(sm.TimeWindow(sm.MetricSet(), "1h", 6)), LABELS | TIMED | GROUPED),
    (sm.Fading(sm.MetricSet(), "1h"), LABELS | TIMED),
    *((state, {"y_pred": [0.75] * 5})
      for state in (sm.MetricSet(scores=True), sm.ROCAUC(), sm.RankSketch(), sm.ProbabilityLosses())),
    (sm.Comparison(), {"pred_a": [True] * 5, "pred_b": [False] * 5}),
]  # fmt: skip


def test_every_kind_of_state(serve: Callable[..., Service]) -> None:
    """What merges is collected and shown, whatever it is; metrics as far as classes were counted."""
    for at, (state, columns) in enumerate(KINDS):
        service = serve(f"{at}.sqlite")
        state.update_many(TRUTHS, **columns)
        send(service, "a", state)
        send(service, "b", state)
        assert service.total() == sm.merge([state, state])
        total = view_of(service)["by_window"]["total"]
        assert total["n"] == 10
        if columns.get("y_pred") is TRUTHS:
            assert total["metrics"]["accuracy"] == 1
        if "group" in columns:
            assert [(row["group"], row["n"]) for row in total["groups"]["rows"]] == [("x", 6), ("y", 4)]
        assert ask(service, "GET", "/metrics")[0] == 200


def test_a_file_that_cannot_be_written(serve: Callable[..., Service], disk: Disk) -> None:
    """Workers are asked to send again, and the page says that nothing is stored; then it goes on."""
    service = serve()
    send(service, "w", counted())
    fields = {"worker": "w", "epoch": epoch_of(service, "w")}
    disk.fail(1, for_good=True)
    status, text = report(service, counted().to_bytes(), **fields, sequence=2)
    assert (status, "disk I/O error" in text) == (503, True)
    assert "disk I/O error" in view_of(service)["checkpoint"]["error"]
    assert ask(service, "GET", "/healthz")[0] == 503
    disk.fail(0)
    assert report(service, counted().to_bytes(), **fields, sequence=3)[0] == 200
    assert ask(service, "GET", "/healthz")[0] == 200
    assert service.total() == counted(2)
    service.close()
    assert serve().total() == counted(2)


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl on this system")
def test_the_commands_of_the_documentation(serve: Callable[..., Service], tmp_path: Any) -> None:
    """A worker without Python registers and reports with the commands that its page prints."""
    service = serve()
    page = (Path(__file__).parents[2] / "docs/how-to/collector.md").read_text(encoding="utf-8")
    commands = page.partition("## Without Python")[2].split("```")[1].removeprefix("sh\n")
    (tmp_path / "pod-3.state").write_bytes(counted().to_bytes())
    script = commands.replace("http://collector:9900", service.url.rstrip("/")).replace("curl", "curl -sS")
    answers = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert re.fullmatch(r'\{"epoch":\d+\}\{"outcome":"accepted"\}', answers)
    assert service.total() == counted()
