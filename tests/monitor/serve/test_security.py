"""Which requests the server of a monitor answers, and what its headers allow a browser."""

from __future__ import annotations

import contextlib
import http.client
import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starlette.datastructures import Headers
from support.page_server import PageServer
from support.page_views import make_view

from stream_metrics.monitor.config import Serve
from stream_metrics.monitor.serve.security import Gate, is_loopback

VIEW = make_view(2, 0)
TOKEN = "a b&c=d\N{SNOWMAN}"
QUOTED = "a%20b%26c%3Dd%E2%98%83"
NAMES = ["monitor.example.com", "M.example:443", "localhost", "example.com", "x.monitor.example.com"]
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


def message(**headers: str) -> Headers:
    """The headers of a request."""
    return Headers({name.replace("_", "-"): value for name, value in headers.items()})


def refusal(gate: Gate, path: str = "/", method: str = "GET", **headers: str) -> int | None:
    """The status with which a gate refuses a request, None if it does not."""
    refused = gate.refusal(message(**headers), method, path, "")
    return None if refused is None else refused[0]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.1.7", "example.com", "127.0.0.1.example.com"])
def test_beyond_loopback_a_token_is_needed(host):
    """A host that others can reach is refused without a token, and taken with one."""
    with pytest.raises(ValueError, match=f"Expected a `token` for the `host` '{host}'"):
        PageServer(VIEW, host=host)

    assert not is_loopback(host)
    assert refusal(Gate(Serve(host=host, token="secret")), Host="x") is not None


@given(st.text(min_size=1))
@example("secret\n")
@example("secret\r\nHost: x")
@example(" secret")
@example("\u2003")
@example("\udcff")
@example("voil\N{LATIN SMALL LETTER A WITH GRAVE}")  # its last byte in UTF-8 is a blank in latin-1
def test_a_token_can_be_sent_or_is_refused(token):
    """In a header, as clients send it: in UTF-8. The error does not show it."""
    if not token.isprintable() or token != token.strip():
        with pytest.raises(ValueError, match="Expected `token` to be printable") as refused:
            Gate(Serve(token=token))
        assert token not in str(refused.value).replace(" ", "")
        return
    gate = Gate(Serve(token=token))
    header = Headers(raw=[(b"host", b"localhost"), (b"authorization", b"Bearer " + token.encode())])
    assert gate.refusal(header, "GET", "/", "") is None


def test_loopback_and_unix_sockets_need_none():
    """This machine only, by whatever address, and a Unix socket, need no token."""
    for config in (Serve(host="127.0.0.2"), Serve(host="::1"), Serve(host="localhost"), Serve(host="", socket="x")):
        assert refusal(Gate(config), Host="localhost") is None


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
        ("localhost:evil.example", 403),
        ("localhost:80:90", 403),
        ("[::1", 403),
        ("[::1]evil.example", 403),
        ("[localhost]", 403),
        ("::1", 403),
    ],
)
def test_the_name_that_is_asked_for_is_checked(open_server, host, status):
    """Names of this machine are answered; others are not, whatever address they point to."""
    assert ask(open_server, Host=host).status == status


def test_a_configured_name_is_answered():
    """The configured host is a name of the server; where it listens on all addresses, the token decides alone."""
    named, everywhere = Gate(Serve(host="models.example", token="t")), Gate(Serve(host="0.0.0.0", token="t"))
    bearing = {"Authorization": "Bearer t"}

    assert refusal(named, Host="models.example:80", **bearing) is None
    assert refusal(named, Host="other.example", **bearing) == 403
    assert refusal(everywhere, Host="any.example", **bearing) is None
    assert refusal(everywhere, Host="any.example") == 401


def test_public_names_are_answered():
    """Behind a proxy the server has the names that are configured, and no other, wherever it listens."""
    for host in ("127.0.0.1", "0.0.0.0"):
        gate = Gate(Serve(host=host, token="t", names=("Monitor.example.com", "m.example.")))
        answered = [refusal(gate, Host=name, Authorization="Bearer t") for name in NAMES]
        assert answered == [None, None, None, 403, 403]


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

    assert flags == ["Path=/", "HttpOnly", "SameSite=Lax"]
    assert re.fullmatch(r"stream_metrics_0=[0-9a-f]{64}", name_and_value)
    assert ask(closed_server, "/api/snapshot", Cookie=f"other=1; {name_and_value}").status == 200
    assert ask(closed_server, "/?token=wrong").status == 401
    assert ask(closed_server, f"/?token={QUOTED}&token=x").status == 401
    assert ask(closed_server, "/", Cookie=name_and_value).getheader("Set-Cookie") is None
    behind_a_proxy = ask(closed_server, f"/?token={QUOTED}", X_Forwarded_Proto="https").getheader("Set-Cookie")
    assert behind_a_proxy == f"{given}; Secure"


def test_a_link_of_another_site_finds_the_session(closed_server):
    """A person who follows a link from a chat to the page sees it, if there is a session, and else a form."""
    cookie = ask(closed_server, f"/?token={QUOTED}").getheader("Set-Cookie").partition(";")[0]
    link = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Accept": "text/html,*/*"}

    assert ask(closed_server, "/", Cookie=cookie, **link).status == 200
    answer = ask(closed_server, "/", **link)
    assert (answer.status, answer.getheader("Content-Type")) == (401, "text/html; charset=utf-8")
    assert "form-action 'self'" in answer.getheader("Content-Security-Policy")
    assert "unsafe" not in answer.getheader("Content-Security-Policy")
    assert ask(closed_server, "/api/snapshot", **link).getheader("Content-Type") == "text/plain; charset=utf-8"


def login(server: PageServer, body: str, **headers: str) -> http.client.HTTPResponse:
    """Send the form."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)) as client:
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        client.request(
            "POST", "/login", body, kind | {name.replace("_", "-"): value for name, value in headers.items()}
        )
        return client.getresponse()


def test_the_form_changes_the_token_for_the_cookie(closed_server, open_server):
    """The right token gives the cookie and the page; a wrong one, or a form of another site, does not."""
    own = {"Origin": f"http://127.0.0.1:{closed_server.port}", "Sec_Fetch_Site": "same-origin"}
    answer = login(closed_server, f"token={QUOTED}", **own)
    cookie = answer.getheader("Set-Cookie").partition(";")[0]

    assert (answer.status, answer.getheader("Location")) == (303, "/")
    assert ask(closed_server, "/api/snapshot", Cookie=cookie).status == 200
    assert login(closed_server, "token=wrong", **own).status == 401
    assert login(closed_server, f"token={QUOTED}&token={QUOTED}", **own).status == 401
    assert login(closed_server, "&".join(f"a{at}=1" for at in range(50)), **own).status == 401
    assert login(closed_server, "token=" + "x" * 20_000, **own).status == 413
    assert login(closed_server, f"token={QUOTED}", Origin="https://evil.example").status == 403
    assert login(closed_server, f"token={QUOTED}", Sec_Fetch_Site="cross-site").status == 403
    assert login(closed_server, f"token={QUOTED}", Host="evil.example").status == 403
    assert ask(closed_server, "/login").status == 405
    assert login(open_server, "token=").status == 401


def test_health_has_a_listener_of_its_own():
    """It needs no token and no name, and says yes or no, and nothing else; the page's clients cannot fill it."""
    view = make_view(2, 0)
    with contextlib.closing(PageServer(view, host="0.0.0.0", token=TOKEN, health="127.0.0.1:0")) as server:
        host, port = server.server.health_address
        said = {}
        for healthy in (True, False):
            server.healthy = healthy
            for path in ("/healthz", "/readyz", "/", "/metrics", "/api/snapshot", "/events"):
                with contextlib.closing(http.client.HTTPConnection(host, port, timeout=10)) as client:
                    client.request("GET", path, headers={"Host": "10.1.2.3:8766"})
                    answer = client.getresponse()
                    said[healthy, path] = answer.status, answer.read()

    assert said[True, "/healthz"] == (200, b"ok\n")
    assert said[True, "/readyz"] == (200, b"ready\n")
    assert said[False, "/healthz"] == (503, b"stale\n")
    assert said[False, "/readyz"] == (503, b"not ready\n")
    assert {said[True, path][0] for path in ("/", "/metrics", "/api/snapshot", "/events")} == {404}


@pytest.mark.parametrize("address", ["8766", "h:x", "h:70000", ":"])
def test_an_address_of_health_that_is_none(address):
    """It is refused before anything is served."""
    with pytest.raises(ValueError, match="Expected HOST:PORT"):
        PageServer(VIEW, health=address)


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
