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

import stream_metrics as sm


def epoch_of(service: Service, worker: str) -> int:
    """Register a worker."""
    status, text = ask(service, "POST", f"/api/register?worker={worker}", b"")
    assert status == 200
    return int(json.loads(text)["epoch"])


def report(service: Service, body: bytes, **headers: str) -> Callable[..., tuple[int, str]]:
    """Return what reports a body with fields."""
    return lambda **fields: ask(service, "POST", f"/api/report?{urlencode(fields)}", body, **headers)


def test_a_report_is_answered(serve: Callable[..., Service]) -> None:
    """With its outcome; a worker that is fenced learns so by the status."""
    service = serve()
    epoch = epoch_of(service, "w")
    posted = report(service, counted(2).to_bytes())

    assert posted(worker="w", epoch=epoch, sequence=1) == (200, '{"outcome":"accepted"}')
    assert posted(worker="w", epoch=epoch, sequence=1) == (200, '{"outcome":"duplicate"}')
    assert posted(worker="w", epoch=epoch, sequence=0) == (200, '{"outcome":"stale"}')
    assert posted(worker="w", epoch=1, sequence=9) == (409, '{"outcome":"fenced"}')
    with urllib.request.urlopen(f"{service.url}api/state") as answer:
        assert sm.from_bytes(answer.read()) == counted(2)


def test_names_are_any_text(serve: Callable[..., Service]) -> None:
    """They come percent-encoded, and are shown as they are."""
    service = serve()
    name = "Zoë/\u202e & 'x' %41"
    status, text = ask(service, "POST", f"/api/register?{urlencode({'worker': name})}", b"")
    fields = {"worker": name, "epoch": json.loads(text)["epoch"], "sequence": 1}
    assert report(service, counted().to_bytes())(**fields)[0] == status == 200
    view = view_of(service)
    assert [row["worker"] for row in view["workers"]["rows"]] == [name]


BAD_REQUESTS = [
    ("/api/register", b"", 400, ""),
    ("/api/register?worker=", b"", 400, "`worker`"),
    (f"/api/register?worker={'x' * 201}", b"", 400, "1 to 200"),
    ("/api/register?worker=a&worker=b", b"", 400, "once"),
    ("/api/register?worker=%ff", b"", 400, ""),
    ("/api/report?worker=w&epoch=1", b"", 400, "`sequence`"),
    ("/api/report?worker=w&epoch=-1&sequence=1", b"", 400, "`epoch`"),
    ("/api/report?worker=w&epoch=1.5&sequence=1", b"", 400, "`epoch`"),
    ("/api/report?worker=w&epoch=9223372036854775808&sequence=1", b"", 400, "2**63"),
    ("/api/report?worker=w&epoch=9223372036854775807&sequence=1", sm.MCC().to_bytes(), 422, "given out"),
    ("/api/report?worker=w&epoch=%D9%A1&sequence=1", b"", 400, "`epoch`"),
    ("/api/report?worker=w&epoch=1&sequence=1&fold=true", b"", 400, "`fold` to be 0 or 1"),
    ("/api/report?worker=w&epoch=1&sequence=1&last=", b"", 400, "`last` to be 0 or 1"),
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
        with socket.create_connection((host, int(port)), timeout=20) as connection:
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

    connection = http.client.HTTPConnection(host, int(port), timeout=20)
    for _ in range(2):
        connection.request("POST", "/api/register?worker=w", b"x" * 1000)
        answer = connection.getresponse()
        assert (answer.status, "epoch" in json.loads(answer.read())) == (200, True)
    connection.close()


def test_the_token(serve: Callable[..., Service]) -> None:
    """Nothing is taken or shown without it; the cookie of the page is not enough to report."""
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


def test_pages_cannot_report(serve: Callable[..., Service]) -> None:
    """A page of any site may post to this machine: what a browser sends is refused, and so is the name of another."""
    service = serve()
    path = "/api/register?worker=w"
    assert ask(service, "POST", path, b"", Origin="https://example.org")[0] == 403
    assert ask(service, "POST", path, b"", Sec_Fetch_Site="same-origin")[0] == 403
    assert ask(service, "POST", path, b"", Host="example.org")[0] == 403
    assert ask(service, "POST", path, b"")[0] == 200


def test_others_are_not_let_in_without_a_token(serve: Callable[..., Service], tmp_path: Any) -> None:
    """And no file is made then."""
    with pytest.raises(ValueError, match="token"):
        serve("never.sqlite", host="0.0.0.0")
    assert not list(tmp_path.glob("never*"))


def test_the_view(serve: Callable[..., Service], monkeypatch: pytest.MonkeyPatch) -> None:
    """The total, who is live, silent or missing, refused reports; the exporter says the same."""
    service = serve(expected=["w1", "w2"], options=Options(silent=600), title="all", metrics=["macro_f1"])
    for worker, n in (("w1", 3), ("x", 4)):
        fields = {"worker": worker, "epoch": epoch_of(service, worker), "sequence": 1}
        report(service, counted(n).to_bytes())(**fields)
    report(service, b"damaged")(**fields)
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


STATES: dict[str, Callable[[], Any]] = {
    "set": sm.MetricSet,
    "scores": lambda: sm.MetricSet(scores=True),
    "metric": sm.MacroF1,
    "area": sm.ROCAUC,
    "matrix": sm.ConfusionMatrix,
    "sketch": sm.RankSketch,
    "losses": sm.ProbabilityLosses,
    "groups": lambda: sm.ByGroup(sm.MetricSet()),
    "window": lambda: sm.TimeWindow(sm.MetricSet(), "1h", 6),
    "windows of groups": lambda: sm.ByGroup(sm.TimeWindow(sm.MetricSet(), "1h", 6)),
    "fading": lambda: sm.Fading(sm.MetricSet(), "1h"),
    "comparison": sm.Comparison,
}


@pytest.mark.parametrize("name", STATES)
def test_every_kind_of_state(serve: Callable[..., Service], name: str) -> None:
    """What merges is collected and shown, whatever it is; metrics as far as classes were counted."""
    service = serve()
    parts = []
    for worker in range(2):
        state = STATES[name]()
        for at in range(5):
            more: dict[str, Any] = {"group": "xy"[at % 2]} if "groups" in name else {}
            if name.startswith(("window", "fading")):
                more["t"] = 1_700_000_000 + at
            if name == "comparison":
                state.update("a", "a", "b")
            else:
                truth = at % 2 == 0
                scored = name in ("scores", "area", "sketch", "losses")
                state.update(truth, 0.25 + at / 10 if scored else truth, **more)
        parts.append(state)
        fields = {"worker": worker, "epoch": epoch_of(service, str(worker)), "sequence": 1}
        assert report(service, state.to_bytes())(**fields) == (200, '{"outcome":"accepted"}')
    assert service.total() == sm.merge(parts)
    view = view_of(service)
    total = view["by_window"]["total"]
    assert total["n"] == 10
    if name in ("set", "metric", "matrix", "groups", "window", "windows of groups", "fading"):
        assert total["metrics"]["accuracy"] == 1
    if "groups" in name:
        assert [(row["group"], row["n"]) for row in total["groups"]["rows"]] == [("x", 6), ("y", 4)]
    assert ask(service, "GET", "/metrics")[0] == 200


def test_a_file_that_cannot_be_written(serve: Callable[..., Service], disk: Disk) -> None:
    """Workers are asked to send again, and the page says that nothing is stored; then it goes on."""
    service = serve()
    fields = {"worker": "w", "epoch": epoch_of(service, "w")}
    assert report(service, counted().to_bytes())(**fields, sequence=1)[0] == 200
    disk.fail(1, for_good=True)
    status, text = report(service, counted(2).to_bytes())(**fields, sequence=2)
    assert (status, "disk I/O error" in text) == (503, True)
    assert "disk I/O error" in view_of(service)["checkpoint"]["error"]
    assert ask(service, "GET", "/healthz")[0] == 503
    disk.fail(0)
    assert report(service, counted(2).to_bytes())(**fields, sequence=3)[0] == 200
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
