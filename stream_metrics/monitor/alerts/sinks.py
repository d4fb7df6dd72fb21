"""Where alerts are sent: the log, and a webhook that gets JSON.

    {"id": "...", "title": "model", "rule": "accuracy[1h] < 0.8", "state": "firing", "at": 1700000000.0,
     "since": 1700000000.0, "value": 0.78, "text": "model: firing: accuracy[1h] < 0.8 (now 0.78)"}

`state` is firing or ok, times are seconds since 1970, `since` is when it began to fire; `id`, also in the header
Idempotency-Key, is the same whenever the same change is sent again. `text` is what chat programs show.

Whatever is no success is tried again, after 1, 2, 4 ... up to 300 seconds, each between half and all of that by chance,
or later if Retry-After says so. An attempt has 10 seconds, however slowly an answer comes. While the webhook does not
answer, or with 408, 425, 429 or 5xx, all alerts wait. Other answers, redirects too, concern one alert, and other rules
go on. After a day without success an alert is given up; until then, and for a day after, it is in the view, in
`alerts_undelivered`. Redirects are never followed. The address may hold a secret, so messages name its host only.
"""

from __future__ import annotations

import http.client
import json
import logging
import random
import threading
import urllib.parse
from functools import partial
from typing import NamedTuple, Protocol

from stream_metrics.monitor.alerts.engine import FIRING, Change
from stream_metrics.monitor.alerts.outbox import Outbox
from stream_metrics.monitor.alerts.posting import post

__all__ = ["LogSink", "Sink", "Webhook", "message"]

LOG = logging.getLogger("stream_metrics.monitor.alerts")
TIMEOUT = 10.0  # seconds for an attempt, once it is connected
FIRST, LONGEST = 1.0, 300.0  # seconds until the next attempt
LASTING = 86_400.0  # seconds after which an alert is given up
AWAY = {408, 425, 429}
PARTING = 5.0  # seconds that a webhook has at the end for what was not tried yet


class Sink(Protocol):
    """Tells what is in its outbox."""

    outbox: Outbox

    def start(self) -> None:
        """Begin to deliver what is released."""

    def tell(self) -> None:
        """Deliver, or see to it that it is delivered, what has been released."""

    def close(self) -> None:
        """Stop; what is left stays in the outbox."""


def message(change: Change) -> dict[str, object]:
    """Return the JSON that a webhook gets."""
    text = f"{change.title}: {change.state}: {change.rule} (now {change.value:.6g})"
    return {**change._asdict(), "text": text}


class LogSink:
    """Tells alerts to the log: a warning if one fires, information when it ends."""

    def __init__(self) -> None:
        self.outbox = Outbox("the log")

    def start(self) -> None:
        """Tell what was left by the last process."""
        self.tell()

    def tell(self) -> None:
        """Tell what has been released."""
        while (change := self.outbox.first()) is not None:
            level = logging.WARNING if change.state == FIRING else logging.INFO
            LOG.log(level, "%s: %s (now %.6g)", change.state, change.rule, change.value)
            self.outbox.delivered(change)

    def close(self) -> None:
        """Nothing is left."""


class _Failure(NamedTuple):
    """Why an alert was not delivered, whether others would fail alike, and when the receiver wants it again."""

    problem: str
    away: bool
    after: float = 0.0


class Webhook:
    """Posts alerts to an address, in a thread of its own; ``ValueError`` if the address is none of http or https.

    `authorization` is the value of a header, `lasting` for how many seconds an alert is tried again.
    """

    def __init__(self, address: str, authorization: str = "", lasting: float = LASTING, first: float = FIRST) -> None:
        self.host = _host(address)
        if not (authorization.isascii() and authorization.isprintable()) or authorization != authorization.strip():
            raise ValueError(
                "Expected `authorization` to be printable ASCII characters in one line, without blanks at its ends, "
                "but it is not"
            )
        self.outbox = Outbox(f"the webhook at {self.host}")
        self._address, self._authorization = address, authorization
        self._lasting, self._first = lasting, first
        self._thread = threading.Thread(target=self._run, name="webhook", daemon=True)

    def start(self) -> None:
        """Begin to deliver."""
        self._thread.start()

    def tell(self) -> None:
        """Nothing: the thread has heard of it."""

    def close(self) -> None:
        """Give what is left a few seconds, and stop; the rest stays in the outbox."""
        if self._thread.is_alive():
            self.outbox.tried(PARTING)
        self.outbox.close()
        if self._thread.is_alive():
            self._thread.join(TIMEOUT + 1)

    def _run(self) -> None:
        failures = 0
        while (change := self.outbox.first(timeout=None)) is not None:
            failure = self._post(change)
            if failure is None:
                failures = 0
                self.outbox.delivered(change)
                continue
            failures += failure.away

            tries, seconds = self.outbox.failed(
                change, failure.problem, partial(self._wait, failure, failures), self._lasting
            )
            if not seconds:
                LOG.error("%s: %s; the alert %s is given up", self.outbox.name, failure.problem, change.id)
                continue
            log = LOG.warning if tries == 1 else LOG.info
            log("%s: %s; trying again, next in %.0f s", self.outbox.name, failure.problem, seconds)
            if failure.away:
                self.outbox.pause(seconds)

    def _wait(self, failure: _Failure, failures: int, tries: int) -> float:
        """Return for how long to wait after so many failures in a row, or of this alert."""
        doubled = self._first * 2.0 ** min((failures if failure.away else tries) - 1, 20)
        return max(min(doubled, LONGEST) * random.uniform(0.5, 1.0), min(failure.after, LONGEST))

    def _post(self, change: Change) -> _Failure | None:
        """Return what went wrong, None for nothing."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": change.id, "User-Agent": "stream-metrics"}
        if self._authorization:
            headers["Authorization"] = self._authorization
        try:
            status, after = post(self._address, json.dumps(message(change)).encode(), headers, TIMEOUT)
            if 200 <= status < 300:
                return None
            seconds = float(after[:9]) if after.isascii() and after.isdecimal() else 0.0
            return _Failure(f"status {status}", status in AWAY or status >= 500, seconds)
        except (OSError, http.client.HTTPException) as error:  # URLError is an OSError
            reason = getattr(error, "reason", error)
            kind = type(reason if isinstance(reason, Exception) else error).__name__
            detail = reason.strerror if isinstance(reason, OSError) and reason.strerror else ""
            return _Failure(f"{kind}{f' ({detail})' if detail else ''}", True)


def _host(address: str) -> str:
    """Return the host of an address; ``ValueError``, which does not show the address, if it has none."""
    try:
        parts = urllib.parse.urlsplit(address)
        fine = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and address.isascii()
    except ValueError:  # of the port
        fine = False
    if not fine or any(character <= " " or character == "\x7f" for character in address):
        raise ValueError("Expected `webhook` to be an address of http:// or https://, but got another")
    return parts.hostname or ""
