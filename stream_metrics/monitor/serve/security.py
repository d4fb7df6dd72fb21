"""Which requests are answered, and the security headers of every answer.

Predictions say much of those that are predicted, so by default only this machine is answered. That is not enough by
itself: any page that its user visits may send requests to 127.0.0.1. It cannot read the answers, as there is no CORS,
unless the name of its own site is made to point here (DNS rebinding), so the name that is asked for is checked as well:
it must be the host that is configured, one of `names`, or this machine. A proxy that passes the name on needs `names`.

Beyond loopback every request needs the token. A page cannot send it in a header, so `/?token=...` or the form of
`/login` sets a cookie that only this server can check and no script can read; the page then takes the token out of its
address. The cookie comes with links of other sites to the page, which a person follows (SameSite=Lax), with nothing
else of theirs, and only over https if the proxy says that it was used. Where the server listens on all addresses and
has no `names` it cannot know its names, and takes any: a page of a rebound name has no cookie for it.

The form is a page of its own, since the page and its files need the token.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import re
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers

from stream_metrics.monitor.config import ServeTable

LOGIN = "/login"
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
EVERYWHERE = frozenset({"", "0.0.0.0", "::"})
HOST = re.compile(r"(?:\[([^\[\]]*:[^\[\]]*)\]|([^\[\]:]*))(?::[0-9]{0,5})?")
Refusal = tuple[HTTPStatus, str]


def is_loopback(host: str) -> bool:
    """Return whether a host to listen on is this machine only; of names, `localhost` alone is."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


class Gate:
    """Decides on requests.

    ``ValueError`` for a host beyond loopback without a token, and for a token that no header can have.
    """

    def __init__(self, config: ServeTable) -> None:
        if config.token != config.token.strip() or not config.token.isprintable():
            raise ValueError(
                "Expected `token` to be printable characters in one line, without blanks at its ends, but it is not; "
                "a variable may have got the end of the line of a file"
            )
        if not config.token and not config.socket and not is_loopback(config.host):
            raise ValueError(
                f"Expected a `token` for the `host` {config.host!r}, which others can reach, but got none; "
                "set one, or serve on 127.0.0.1 or a Unix socket"
            )
        self._token = config.token.encode()
        self._any_name = config.host in EVERYWHERE and bool(config.token) and not config.names
        self._names = LOOPBACK | {config.host.lower(), *(name.lower().removesuffix(".") for name in config.names)}
        self._cookie = hmac.digest(self._token, b"cookie of the page", "sha256").hex()
        self._cookie_name = f"stream_metrics_{config.port}"  # browsers keep cookies by host, regardless of the port

    def refusal(self, headers: Headers, method: str, path: str, query: str) -> Refusal | None:
        """Return why a request is refused, None if it is not; but for a login, pages may post nothing."""
        hosts, site = headers.getlist("host"), headers.get("sec-fetch-site")
        if len(hosts) != 1:
            return HTTPStatus.BAD_REQUEST, "Expected one Host header"
        if not self._any_name and _name(hosts[0]) not in self._names:
            return HTTPStatus.FORBIDDEN, "Expected the Host header to name this server; set `names` to names it has"
        if path == LOGIN:
            return None if _same_site(headers, hosts[0]) else (HTTPStatus.FORBIDDEN, "Expected the form of this server")
        if site == "cross-site" and headers.get("sec-fetch-mode") != "navigate":
            return HTTPStatus.FORBIDDEN, "Expected a request of the page, but got one of another site"
        posts = method not in ("GET", "HEAD")
        if posts and ("origin" in headers or site is not None):
            return HTTPStatus.FORBIDDEN, "Expected a report of a worker, but got one of a page"
        if self._token and not self._bears(headers):
            if posts:
                return HTTPStatus.UNAUTHORIZED, "Expected the token: Authorization: Bearer TOKEN"
            if not (self._has_cookie(headers) or self.asks_cookie(path, query)):
                return HTTPStatus.UNAUTHORIZED, "Expected the token: Authorization: Bearer TOKEN, or once /?token=TOKEN"
        return None

    def asks_cookie(self, path: str, query: str) -> bool:
        """Return whether this is the page, asked for with the right token."""
        if not self._token or path != "/":
            return False
        return self.takes(query)

    def takes(self, form: str) -> bool:
        """Return whether the fields of a form, or of a query, have the right token, once."""
        try:
            given = parse_qs(form, errors="surrogateescape", max_num_fields=10).get("token", [])
        except ValueError:  # more fields
            return False
        return bool(self._token) and len(given) == 1 and self._same(given[0].encode("utf-8", "surrogateescape"))

    def cookie(self, headers: Headers) -> str:
        """Return the cookie that stands for the token."""
        secure = "; Secure" if headers.get("x-forwarded-proto", "").lower() == "https" else ""
        return f"{self._cookie_name}={self._cookie}; Path=/; HttpOnly; SameSite=Lax{secure}"

    def _bears(self, headers: Headers) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self._same(given.encode("latin-1", "replace").strip())

    def _has_cookie(self, headers: Headers) -> bool:
        wanted = f"{self._cookie_name}={self._cookie}".encode()
        cookies = (part.strip().encode("latin-1", "replace") for part in headers.get("cookie", "").split(";"))
        return any(hmac.compare_digest(cookie, wanted) for cookie in cookies)

    def _same(self, given: bytes) -> bool:
        """Compare in a time that tells neither how much of the token is right nor how long it is."""
        return hmac.compare_digest(hashlib.sha256(given).digest(), hashlib.sha256(self._token).digest())


def _same_site(headers: Headers, host: str) -> bool:
    """Return whether a request comes from a page of this server, or from no page."""
    origin = headers.get("origin")
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    return origin is None or urlsplit(origin).netloc.lower() == host.strip().lower()


def _name(host: str) -> str | None:
    """Return the name in a Host header, without port and brackets; None if the header is none."""
    match = HOST.fullmatch(host.strip().lower())
    return None if match is None else match[1] or match[2].removesuffix(".")


STYLE = (
    ":root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}"
    "body{display:grid;place-content:center;min-height:90vh;margin:1rem}"
    "form{display:grid;gap:.75rem;width:min(20rem,90vw)}"
    "h1{font-size:1.1rem;margin:0}input,button{font:inherit;padding:.5rem}"
)
PAGE = f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Token</title>
<link rel="icon" href="data:,">
<style>{STYLE}</style>
<form method="post" action="{LOGIN}">
  <h1>This monitor needs its token</h1>
  <label for="token">Token</label>
  <input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
  <button type="submit">Show the page</button>
</form>
</html>
""".encode()
_DIGEST = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_DIGEST}'; img-src data:; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
