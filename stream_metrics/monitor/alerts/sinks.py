"""Where alerts are sent: the log, and a webhook that gets JSON.

    {"id": "...", "title": "model", "rule": "accuracy[1h] < 0.8", "state": "firing", "at": 1700000000.0,
     "since": 1700000000.0, "value": 0.78, "text": "model: firing: accuracy[1h] < 0.8 (now 0.78)"}

`state` is firing or ok, times are seconds since 1970, `since` is when it began to fire; `id`, also in the header
Idempotency-Key, is the same whenever the same change is sent again. `text` is what chat programs show.

A webhook that does not answer, or with 408, 425, 429 or 5xx, is tried again after 1, 2, 4 ... up to 300 seconds, each
between half and all of that by chance; other answers that are no success, redirects too, will not get better, and the
alert is given up, which is said in the log. The address may hold a secret, so messages name its host only.
"""

from __future__ import annotations

import http.client
import json
import logging
import random
import threading
import urllib.error
import urllib.parse
import urllib.request
from typing import Protocol

from stream_metrics.monitor.alerts.engine import FIRING, Change
from stream_metrics.monitor.alerts.outbox import Outbox

__all__ = ["LogSink", "Sink", "Webhook", "message"]

LOG = logging.getLogger("stream_metrics.monitor.alerts")
TIMEOUT = 10.0  # seconds
FIRST, LONGEST = 1.0, 300.0  # seconds until the next attempt
AGAIN = {408, 425, 429}
PARTING = 5.0  # seconds that a webhook has at the end for what is left


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


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuse redirects: a POST would become a GET, to an address that is not configured."""

    def redirect_request(self, *arguments: object, **more: object) -> None:
        return None


class Webhook:
    """Posts alerts to an address, in a thread of its own; ``ValueError`` if the address is none of http or https."""

    def __init__(self, address: str, first: float = FIRST) -> None:
        parts = urllib.parse.urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("Expected `webhook` to be an address of http:// or https://, but got another")
        self.host = parts.hostname
        self.outbox = Outbox(f"the webhook at {self.host}")
        self._address, self._first = address, first
        self._opener = urllib.request.build_opener(_NoRedirect())
        self._thread = threading.Thread(target=self._run, name="webhook", daemon=True)

    def start(self) -> None:
        """Begin to deliver."""
        self._thread.start()

    def tell(self) -> None:
        """Nothing: the thread has heard of it."""

    def close(self) -> None:
        """Give what is left a few seconds, and stop; the rest stays in the outbox."""
        if self._thread.is_alive():
            self.outbox.drained(PARTING)
        self.outbox.close()
        if self._thread.is_alive():
            self._thread.join(TIMEOUT + 1)

    def _run(self) -> None:
        failures = 0
        while (change := self.outbox.first(timeout=None)) is not None:
            problem, again = self._post(change)
            if problem and again:
                failures += 1
                wait = min(self._first * 2 ** min(failures - 1, 20), LONGEST) * random.uniform(0.5, 1.0)
                log = LOG.warning if failures == 1 else LOG.info
                log("%s: %s; trying again, next in %.0f s", self.outbox.name, problem, wait)
                self.outbox.pause(wait)
                continue
            if problem:
                LOG.error("%s: %s; the alert %s is given up", self.outbox.name, problem, change.id)
            failures = 0
            self.outbox.delivered(change)

    def _post(self, change: Change) -> tuple[str, bool]:
        """Return what went wrong, "" for nothing, and whether it may go better later."""
        body = json.dumps(message(change)).encode()
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": change.id,
            "User-Agent": "stream-metrics",
        }
        request = urllib.request.Request(self._address, body, headers, method="POST")
        try:
            with self._opener.open(request, timeout=TIMEOUT):
                return "", False
        except urllib.error.HTTPError as error:
            with error:
                return f"status {error.code}", error.code in AGAIN or error.code >= 500
        except (OSError, http.client.HTTPException) as error:  # URLError is an OSError
            reason = getattr(error, "reason", error)
            kind = type(reason if isinstance(reason, Exception) else error).__name__
            detail = reason.strerror if isinstance(reason, OSError) and reason.strerror else ""
            return f"{kind}{f' ({detail})' if detail else ''}", True
        except ValueError as error:  # an address that http.client refuses, which messages of it would show
            return type(error).__name__, False
