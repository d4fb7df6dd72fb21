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
from support.inner_views import Gate
from support.monitor_runs import config
from support.page_server import PageServer
from support.page_views import make_view
from support.refusals import all_refused, refused

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


def named(headers: dict[str, str]) -> dict[str, str]:
    """Return headers whose names are written with underscores."""
    return {name.replace("_", "-"): value for name, value in headers.items()}


def ask(
    server: PageServer, path: str = "/healthz", method: str = "GET", body: str | None = None, **headers: str
) -> http.client.HTTPResponse:
    """Ask for a path with these headers."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as client:
        client.request(method, path, body, named(headers))
        return client.getresponse()


def gate(**serve: Any) -> Gate:
    """Return what decides which requests a server with this configuration answers."""
    return Gate(config(serve=serve).serve)


def refusal(guard: Gate, **headers: str) -> int | None:
    """Return the status with which a request is refused, None if it is not."""
    status = guard.refusal(Headers(named(headers)), "GET", "/", "")
    return None if status is None else status[0]


@pytest.mark.quick
def test_beyond_loopback_a_token_is_needed() -> None:
    """A host that others can reach is refused without a token; this machine and a Unix socket need none."""
    for host in ("0.0.0.0", "::", "", "192.168.1.7", "example.com", "127.0.0.1.example.com"):
        refused(
            lambda host=host: PageServer(VIEW, host=host), ValueError, f"Expected a `token` for the `host` '{host}'"
        )
        assert refusal(gate(host=host, token="secret"), Host="x") is not None
    for serve in ({"host": "127.0.0.2"}, {"host": "::1"}, {"host": "localhost"}, {"host": "", "socket": "x"}):
        assert refusal(gate(**serve), Host="localhost") is None


@given(st.text(min_size=1))
@example("secret\n")
@example("secret\r\nHost: x")
@example(" secret")
@example("\u2003")
@example("\udcff")
@example("voil\N{LATIN SMALL LETTER A WITH GRAVE}")  # its last byte in UTF-8 is a blank in latin-1
def test_a_token_can_be_sent_or_is_refused(token: str) -> None:
    """In a header, as clients send it: in UTF-8. The error does not show it."""
    if not token.isprintable() or token != token.strip():
        error = refused(lambda: gate(token=token), ValueError, "Expected `token` to be printable")
        assert token not in str(error).replace(" ", "")
        return
    header = Headers(raw=[(b"host", b"localhost"), (b"authorization", b"Bearer " + token.encode())])
    assert gate(token=token).refusal(header, "GET", "/", "") is None


HOSTS = {
    200: ["localhost", "LOCALHOST:1234", "localhost.:80", "127.0.0.1:9", "[::1]:9"],
    403: [
        "evil.example", "localhost.evil.example:8765", "127.0.0.1.evil.example", "192.168.0.1", "[::2]", "", "::1",
        "evil.example@localhost", "localhost:evil.example", "localhost:80:90", "[::1", "[::1]evil.example",
        "[localhost]",
    ],
}  # fmt: skip


def test_the_name_that_is_asked_for_is_checked(open_server: PageServer) -> None:
    """Names of this machine, the configured host and public names are answered; others are not, whatever is behind.

    Where the server listens on all addresses and has no names, the token decides alone.
    """
    assert {status: [host for host in every if ask(open_server, Host=host).status == status]
            for status, every in HOSTS.items()} == HOSTS  # fmt: skip
    bearing = {"Authorization": "Bearer t"}
    everywhere = gate(host="0.0.0.0", token="t")
    assert refusal(gate(host="models.example", token="t"), Host="models.example:80", **bearing) is None
    assert refusal(gate(host="models.example", token="t"), Host="other.example", **bearing) == 403
    assert [refusal(everywhere, Host="any.example", **each) for each in (bearing, {})] == [None, 401]
    asked = ["monitor.example.com", "M.example:443", "localhost", "example.com", "x.monitor.example.com"]
    for host in ("127.0.0.1", "0.0.0.0"):
        guard = gate(host=host, token="t", names=["Monitor.example.com", "m.example."])
        assert [refusal(guard, Host=name, **bearing) for name in asked] == [None, None, None, 403, 403]


@pytest.mark.parametrize("path", PATHS)
def test_every_path_wants_the_token(closed_server: PageServer, path: str) -> None:
    """Without the token, with a wrong one, or with one in the address of anything but the page, there is no answer."""
    right = f"Bearer {TOKEN}".encode().decode("latin-1")

    assert ask(closed_server, path).status == 401
    assert ask(closed_server, path, Authorization="Bearer a b&c=d").status == 401
    assert ask(closed_server, path, Cookie="stream_metrics_0=; stream_metrics_0=\xff").status == 401
    assert ask(closed_server, f"{path}?token={QUOTED}").status == (200 if path == "/" else 401)
    assert ask(closed_server, path, Authorization=right).status == (404 if path == "/nothing" else 200)


def test_the_page_turns_its_token_into_a_cookie(closed_server: PageServer) -> None:
    """The cookie is for this site and no script, does not hold the token, and is as good as the token.

    A person who follows a link from a chat to the page sees it, if there is a session, and else a form.
    """
    given = ask(closed_server, f"/?token={QUOTED}").getheader("Set-Cookie")
    cookie, *flags = str(given).split("; ")

    assert flags == ["Path=/", "HttpOnly", "SameSite=Lax"]
    assert re.fullmatch(r"stream_metrics_0=[0-9a-f]{64}", cookie)
    assert ask(closed_server, "/api/snapshot", Cookie=f"other=1; {cookie}").status == 200
    assert ask(closed_server, "/?token=wrong").status == 401
    assert ask(closed_server, f"/?token={QUOTED}&token=x").status == 401
    assert ask(closed_server, "/", Cookie=cookie).getheader("Set-Cookie") is None
    behind_a_proxy = ask(closed_server, f"/?token={QUOTED}", X_Forwarded_Proto="https").getheader("Set-Cookie")
    assert behind_a_proxy == f"{given}; Secure"

    link = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Accept": "text/html,*/*"}
    assert ask(closed_server, "/", Cookie=cookie, **link).status == 200
    answer = ask(closed_server, "/", **link)
    assert (answer.status, answer.getheader("Content-Type")) == (401, "text/html; charset=utf-8")
    assert "form-action 'self'" in str(answer.getheader("Content-Security-Policy"))
    assert "unsafe" not in str(answer.getheader("Content-Security-Policy"))
    assert ask(closed_server, "/api/snapshot", **link).getheader("Content-Type") == "text/plain; charset=utf-8"


def test_the_form_changes_the_token_for_the_cookie(closed_server: PageServer, open_server: PageServer) -> None:
    """The right token gives the cookie and the page; a wrong one, or a form of another site, does not."""

    def login(server: PageServer, body: str, **headers: str) -> http.client.HTTPResponse:
        """Send the form."""
        return ask(server, "/login", "POST", body, Content_Type="application/x-www-form-urlencoded", **headers)

    own = {"Origin": f"http://127.0.0.1:{closed_server.port}", "Sec_Fetch_Site": "same-origin"}
    answer = login(closed_server, f"token={QUOTED}", **own)
    cookie = str(answer.getheader("Set-Cookie")).partition(";")[0]

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


def test_health_has_a_listener_of_its_own() -> None:
    """It needs no token and no name, and says yes or no, and nothing else; an address that is none is refused."""
    said = {}
    with contextlib.closing(PageServer(VIEW, host="0.0.0.0", token=TOKEN, health="127.0.0.1:0")) as server:
        assert server.server.health_address is not None
        for server.healthy in (True, False):
            for path in ("/healthz", "/readyz", "/", "/metrics", "/api/snapshot", "/events"):
                with contextlib.closing(
                    http.client.HTTPConnection(*server.server.health_address, timeout=60)
                ) as client:
                    client.request("GET", path, headers={"Host": "10.1.2.3:8766"})
                    answer = client.getresponse()
                    said[server.healthy, path] = answer.status, answer.read()

    assert [said[True, path] for path in ("/healthz", "/readyz")] == [(200, b"ok\n"), (200, b"ready\n")]
    assert [said[False, path] for path in ("/healthz", "/readyz")] == [(503, b"stale\n"), (503, b"not ready\n")]
    assert {said[True, path][0] for path in ("/", "/metrics", "/api/snapshot", "/events")} == {404}
    addresses = ("8766", "h:x", "h:70000", ":")
    all_refused((lambda at=at: PageServer(VIEW, health=at), ValueError, "Expected HOST:PORT") for at in addresses)


def test_every_answer_is_closed_to_other_sites(open_server: PageServer) -> None:
    """Answers, errors and streams included, carry the policy; requests of other sites get nothing but a link's page."""
    for path in (*PATHS, "/?token=x"):
        answer = ask(open_server, path)
        policy = str(answer.getheader("Content-Security-Policy"))
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        names = ("X-Content-Type-Options", "Referrer-Policy", "Cross-Origin-Resource-Policy", "Cache-Control")
        assert [answer.getheader(name) for name in names] == ["nosniff", "no-referrer", "same-origin", "no-store"]
        assert [name for name, _ in answer.getheaders() if name.startswith("Access-Control")] == []
    assert ask(open_server, "/events", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="cors").status == 403
    assert ask(open_server, "/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate").status == 200
    assert ask(open_server, "/events", Sec_Fetch_Site="same-origin", Sec_Fetch_Mode="cors").status == 200


def test_the_page_needs_nothing_inline_and_no_network() -> None:
    """The policy suffices: no script, style or handler stands in the page, and no file names another site."""
    folder: Any = files("stream_metrics.monitor").joinpath("page")
    texts = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir()}
    own = {name: text for name, text in texts.items() if not name.startswith(("uPlot", "LICENSE"))}

    assert re.findall(r"<style|\sstyle=|\son\w+=|<script(?![^>]* src=)", texts["index.html"]) == []
    assert {url for text in own.values() for url in re.findall(r"https?://[^\s\"'`]+", text)} <= {
        "http://www.w3.org/2000/svg"
    }
    assert "Permission is hereby granted, free of charge" in texts["LICENSE.uPlot"]
