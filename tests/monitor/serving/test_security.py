"""Which requests the server of a monitor answers, and what its headers allow a browser."""

from __future__ import annotations

import contextlib
import http.client
import re
from collections.abc import Iterator
from email.message import Message
from importlib.resources import files
from typing import Any

import pytest
from support.page_server import PageServer
from support.page_views import make_view

from stream_metrics.monitor.config import Serve
from stream_metrics.monitor.serving.security import Gate, is_loopback

VIEW = make_view(2, 0)
TOKEN = "a b&c=d\N{SNOWMAN}"
QUOTED = "a%20b%26c%3Dd%E2%98%83"
PATHS = ["/", "/static/app.js", "/api/snapshot", "/events", "/metrics", "/healthz", "/readyz", "/nothing"]


@pytest.fixture(scope="module")
def open_server() -> Iterator[PageServer]:
    """A server without a token."""
    with contextlib.closing(PageServer(VIEW)) as server:
        yield server


@pytest.fixture(scope="module")
def closed_server() -> Iterator[PageServer]:
    """A server with a token."""
    with contextlib.closing(PageServer(VIEW, token=TOKEN)) as server:
        yield server


def ask(server: PageServer, path: str = "/healthz", **headers: str) -> http.client.HTTPResponse:
    """Ask for a path with these headers, whose names are written with underscores."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)) as client:
        client.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        return client.getresponse()


def message(**headers: str) -> Message:
    """The headers of a request."""
    found = Message()
    for name, value in headers.items():
        found[name.replace("_", "-")] = value
    return found


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.1.7", "example.com", "127.0.0.1.example.com"])
def test_beyond_loopback_a_token_is_needed(host):
    """A host that others can reach is refused without a token, and taken with one."""
    with pytest.raises(ValueError, match=f"Expected a `token` for the `host` '{host}'"):
        PageServer(VIEW, host=host)

    assert not is_loopback(host)
    assert Gate(Serve(host=host, token="secret")).refusal(message(Host="x"), "/", "") is not None


def test_loopback_and_unix_sockets_need_none():
    """This machine only, by whatever address, and a Unix socket, need no token."""
    for config in (Serve(host="127.0.0.2"), Serve(host="::1"), Serve(host="localhost"), Serve(host="", socket="x")):
        assert Gate(config).refusal(message(Host="localhost"), "/", "") is None


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:1234", 200),
        ("localhost.:80", 200),
        ("127.0.0.1:9", 200),
        ("[::1]:9", 200),
        ("evil.example", 403),
        ("localhost.evil.example:8765", 403),
        ("127.0.0.1.evil.example", 403),
        ("192.168.0.1", 403),
        ("[::2]", 403),
        ("", 403),
        ("evil.example@localhost", 403),
    ],
)
def test_the_name_that_is_asked_for_is_checked(open_server, host, status):
    """Names of this machine are answered; others are not, whatever address they point to."""
    assert ask(open_server, Host=host).status == status


def test_a_configured_name_is_answered():
    """The configured host is a name of the server; where it listens on all addresses, the token decides alone."""
    named, everywhere = Gate(Serve(host="models.example", token="t")), Gate(Serve(host="0.0.0.0", token="t"))
    bearing = {"Authorization": "Bearer t"}

    assert named.refusal(message(Host="models.example:80", **bearing), "/", "") is None
    assert named.refusal(message(Host="other.example", **bearing), "/", "")[0] == 403
    assert everywhere.refusal(message(Host="any.example", **bearing), "/", "") is None
    assert everywhere.refusal(message(Host="any.example"), "/", "")[0] == 401


@pytest.mark.parametrize("path", PATHS)
def test_every_path_wants_the_token(closed_server, path):
    """Without the token, with a wrong one, or with one in the address of anything but the page, there is no answer."""
    right = f"Bearer {TOKEN}".encode().decode("latin-1")

    assert ask(closed_server, path).status == 401
    assert ask(closed_server, path, Authorization="Bearer a b&c=d").status == 401
    assert ask(closed_server, path, Cookie="stream_metrics_0=; stream_metrics_0=\xff").status == 401
    assert ask(closed_server, f"{path}?token={QUOTED}").status == (200 if path == "/" else 401)
    assert ask(closed_server, path, Authorization=right).status == (404 if path == "/nothing" else 200)


def test_the_page_turns_its_token_into_a_cookie(closed_server):
    """The cookie is for this site and no script, does not hold the token, and is as good as the token."""
    given = ask(closed_server, f"/?token={QUOTED}").getheader("Set-Cookie")
    name_and_value, *flags = given.split("; ")

    assert flags == ["Path=/", "HttpOnly", "SameSite=Strict"]
    assert re.fullmatch(r"stream_metrics_0=[0-9a-f]{64}", name_and_value)
    assert ask(closed_server, "/api/snapshot", Cookie=f"other=1; {name_and_value}").status == 200
    assert ask(closed_server, "/?token=wrong").status == 401
    assert ask(closed_server, f"/?token={QUOTED}&token=x").status == 401
    assert ask(closed_server, "/", Cookie=name_and_value).getheader("Set-Cookie") is None


@pytest.mark.parametrize("path", [*PATHS, "/?token=x"])
def test_every_answer_is_closed_to_other_sites(open_server, path):
    """Answers, errors and streams included, carry the policy, and nothing that opens them to other sites."""
    answer = ask(open_server, path)
    policy = answer.getheader("Content-Security-Policy")

    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert answer.getheader("X-Content-Type-Options") == "nosniff"
    assert answer.getheader("Referrer-Policy") == "no-referrer"
    assert answer.getheader("Cross-Origin-Resource-Policy") == "same-origin"
    assert answer.getheader("Cache-Control") == "no-store"
    assert [name for name, _ in answer.getheaders() if name.startswith("Access-Control")] == []


def test_requests_of_other_sites_are_refused(open_server):
    """What a browser says comes from another site gets nothing, unless a person follows a link to the page."""
    assert ask(open_server, "/events", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="cors").status == 403
    assert ask(open_server, "/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate").status == 200
    assert ask(open_server, "/events", Sec_Fetch_Site="same-origin", Sec_Fetch_Mode="cors").status == 200


def test_the_page_needs_nothing_inline_and_no_network():
    """The policy suffices: no script, style or handler stands in the page, and no file names another site."""
    folder: Any = files("stream_metrics.monitor").joinpath("page")
    texts = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir()}
    own = {name: text for name, text in texts.items() if not name.startswith(("uPlot", "LICENSE"))}

    assert re.findall(r"<style|\sstyle=|\son\w+=|<script(?![^>]* src=)", texts["index.html"]) == []
    assert {url for text in own.values() for url in re.findall(r"https?://[^\s\"'`]+", text)} <= {
        "http://www.w3.org/2000/svg"
    }
    assert "Permission is hereby granted, free of charge" in texts["LICENSE.uPlot"]
