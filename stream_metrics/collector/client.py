"""How a worker speaks to a collector: one request at a time, with a token that is read from where it is stored.

Neither redirects nor proxies are followed, so a token goes to the host of the address and nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

from stream_metrics.errors import OptionError, ReportError

__all__ = ["LONGEST_NAME", "TOKEN", "TOKEN_FILE", "Answer", "Client", "read_token"]

TOKEN, TOKEN_FILE = "STREAM_METRICS_TOKEN", "STREAM_METRICS_TOKEN_FILE"  # of the environment
LONGEST = 1 << 16  # bytes of an answer
LONGEST_NAME = 200  # characters of the name of a worker


class Answer(NamedTuple):
    """What a collector answered."""

    status: int
    body: bytes

    @property
    def text(self) -> str:
        """The answer as a line for people."""
        return self.body.decode(errors="replace").strip()[:500]


class Client:
    """Posts to a collector; OptionError if the address is not valid."""

    def __init__(self, url: str, token: str | None, token_file: str | os.PathLike[str] | None, timeout: float) -> None:
        parts = urlsplit(url) if isinstance(url, str) else urlsplit("")
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1 or "@" in parts.netloc:
            expected = "to be the address of a collector, such as http://collector:9900, without a password"
            raise OptionError(argument="url", expected=expected, got=url if "@" not in str(url) else "one with @")
        self.name = f"{parts.scheme}://{parts.netloc}"
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname, port
        self._prefix, self._timeout = parts.path.rstrip("/"), timeout
        self._token, self._token_file = token, token_file
        read_token(token, token_file)  # raises at once if there is no such file

    def post(self, path: str, query: Mapping[str, object], body: bytes = b"") -> Answer:
        """Post, and return the answer; ReportError if there is no answer."""
        import http.client  # takes longer than all else of a worker that does not report

        try:
            token = read_token(self._token, self._token_file)
        except OptionError as error:  # the file may be on its way
            raise ReportError(str(error)) from None
        headers = {"Content-Type": "application/octet-stream", "Connection": "close"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=self._timeout)
        try:
            connection.request("POST", f"{self._prefix}{path}?{urlencode(query)}", body, headers)
            response = connection.getresponse()
            answer = Answer(response.status, response.read(LONGEST))
            if response.length and len(answer.body) < LONGEST:  # read(n) does not raise for a short body
                raise http.client.IncompleteRead(answer.body, response.length)
            return answer
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise ReportError(f"Expected an answer of the collector at {self.name}, but got: {reason}") from None
        finally:
            connection.close()


def read_token(token: str | None = None, token_file: str | os.PathLike[str] | None = None) -> str:
    """Return a token: the one given, that of a file, or of the environment; empty if there is none.

    OptionError if the file cannot be read, or the token has characters that a header cannot have.
    """
    path = token_file or (None if token else os.environ.get(TOKEN_FILE))
    if token is None and path:
        try:
            with open(path, encoding="utf-8") as file:
                token = file.read()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text"
            message = f"Expected `token_file` {os.fspath(path)!r} to be a file with the token, but: {reason}"
            raise OptionError(message) from None
    text = (os.environ.get(TOKEN, "") if token is None else token).strip()
    if not text.isascii() or not text.isprintable() or (path and not text):
        raise OptionError("Expected the token to be printable ASCII characters in one line, but it is not")
    return text
