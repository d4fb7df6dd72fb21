"""Where alerts go: the log, a webhook, and Alertmanager.

The log and the webhook are told of each change once. The webhook gets JSON:

    {"id": "...", "title": "model", "rule": "accuracy[1h] < 0.8", "state": "firing", "at": 1700000000.0,
     "since": 1700000000.0, "value": 0.78, "text": "model: firing: accuracy[1h] < 0.8 (now 0.78)"}

`state` is firing or ok, times are seconds since 1970, `since` is when the rule began to fire; `id`, also in the header
Idempotency-Key, identifies the change. What a webhook does not accept is counted and shown for a day, but not sent
again. Alertmanager gets all alerts that fire again every minute, as its API asks for, so it misses none for long, and
its receivers are told reliably. Redirects are never followed. An address may hold a secret, so messages name its host.
"""

from __future__ import annotations

import http.client
import json
import logging
import math
import queue
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial

from msgspec import structs

from stream_metrics.monitor.alerts.engine import FIRING, Change
from stream_metrics.monitor.view.types import Firing, Undelivered

__all__ = ["Alertmanager", "Webhook", "log_change"]

LOG = logging.getLogger("stream_metrics.monitor.alerts")
TIMEOUT = 10.0  # seconds for an answer
SLOW = 12.0  # seconds without an answer, after which this is shown
PARTING = 5.0  # seconds that posts have at the end
MOST = 100  # posts that wait, and failures that are shown
SHOWN = 86_400.0  # seconds for which failures of a webhook are shown
EVERY = 60.0  # seconds between two posts to Alertmanager
LASTING = 4 * EVERY  # seconds after which an alert ends there by itself
OVER = 900.0  # seconds for which an alert that ended is sent as ended


def _text(change: Change) -> str:
    return f"{change.state}: {change.rule} (now {change.value:.6g})"


def log_change(change: Change) -> None:
    """Log a change: a warning if a rule fires, information when it ends."""
    LOG.log(logging.WARNING if change.state == FIRING else logging.INFO, "%s", _text(change))


class Webhook:
    """Posts each change once to an address; ``ValueError`` if the address or the header is not valid.

    `authorization` is the value of a header. `failures` is the number of changes that were not accepted.
    """

    def __init__(self, address: str, authorization: str = "") -> None:
        if not (authorization.isascii() and authorization.isprintable()) or authorization != authorization.strip():
            raise ValueError(
                "Expected `authorization` to be printable ASCII characters in one line, without blanks at its ends, "
                "but it is not"
            )
        self._headers = {"Authorization": authorization} if authorization else {}
        self._poster = _Poster("webhook", address)
        self.failures = 0
        self._failed: deque[tuple[float, Undelivered]] = deque(maxlen=MOST)  # with the time, by time.monotonic

    def tell(self, changes: Sequence[Change]) -> None:
        """Post changes, each in a request of its own."""
        for change in changes:
            body = {**change._asdict(), "text": f"{change.title}: {_text(change)}"}
            self._poster.put(body, {**self._headers, "Idempotency-Key": change.id}, partial(self._done, change))

    def _done(self, change: Change, problem: str | None) -> None:
        if problem is not None:
            self.failures += 1
            row = Undelivered(self._poster.name, change.rule, change.state, change.at, problem)
            self._failed.append((time.monotonic(), row))
            LOG.error("%s: %s; the alert %s was not delivered", self._poster.name, problem, change.id)

    def undelivered(self) -> list[Undelivered]:
        """Return what was not accepted in the last day."""
        since = time.monotonic() - SHOWN
        return [row for at, row in self._failed if at >= since]

    def close(self) -> None:
        """Give what waits a few seconds."""
        self._poster.close()


class Alertmanager:
    """Posts all alerts that fire, at each change and every minute; ``ValueError`` if the address is not valid.

    Labels are those of the alert ``ModelAlert`` in the exported rules of Prometheus. `failures` is the number of
    posts that were not accepted.
    """

    def __init__(self, address: str, title: str) -> None:
        self._poster = _Poster("alertmanager", address, "/api/v2/alerts")
        self._title = title
        self._due = -math.inf  # by time.monotonic
        self._firing: list[Undelivered] = []  # of the last post
        self._problem: str | None = None
        self.failures = 0

    def tell(self, firings: Sequence[Firing], changed: bool, now: float) -> None:
        """Post what fires, and what ended within 15 minutes, if something `changed` or a minute has passed."""
        recent = [row for row in firings if row.ended is None or now - row.ended < OVER]
        if not recent or not self._poster.idle or not (changed or time.monotonic() >= self._due):
            return
        self._due = time.monotonic() + EVERY
        self._firing = [
            Undelivered(self._poster.name, row.rule, FIRING, row.began) for row in recent if row.ended is None
        ]
        self._poster.put([self._alert(row, now) for row in recent], {}, self._done)

    def _alert(self, row: Firing, now: float) -> dict[str, object]:
        return {
            "labels": {"alertname": "ModelAlert", "model": self._title, "rule": row.rule, "severity": "critical"},
            "annotations": {"summary": f"A rule of the monitor: {row.rule}", "value": f"{row.value:.6g}"},
            "startsAt": datetime.fromtimestamp(row.began, UTC).isoformat(),
            "endsAt": datetime.fromtimestamp(now + LASTING if row.ended is None else row.ended, UTC).isoformat(),
        }

    def _done(self, problem: str | None) -> None:
        if problem is not None:
            self.failures += 1
            if self._problem is None:
                LOG.error("%s: %s; it is tried again every minute", self._poster.name, problem)
        self._problem = problem

    def undelivered(self) -> list[Undelivered]:
        """Return the alerts that fire if they were not accepted the last time."""
        problem = self._problem or ("no answer yet" if self._poster.slow else None)
        return [] if problem is None else [structs.replace(row, problem=problem) for row in self._firing]

    def close(self) -> None:
        """Give what waits a few seconds."""
        self._poster.close()


class _Poster:
    """Posts JSON to one address in a thread, in order and each once."""

    def __init__(self, option: str, address: str, path: str = "") -> None:
        self._address = address.rstrip("/") + path if path else address
        self.name = f"the {option} at {_host(option, address)}"
        self._opener = urllib.request.build_opener(_NoRedirect())
        self._posts: queue.Queue[tuple[object, Mapping[str, str], Callable[[str | None], None]] | None]
        self._posts = queue.Queue(MOST)
        self._since: float | None = None  # when the current post began, by time.monotonic
        self._thread = threading.Thread(target=self._run, name=option, daemon=True)
        self._thread.start()

    @property
    def idle(self) -> bool:
        """Whether nothing is posted, or waits."""
        return self._since is None and self._posts.empty()

    @property
    def slow(self) -> bool:
        """Whether the answer to a post takes long."""
        since = self._since
        return since is not None and time.monotonic() - since > SLOW

    def put(self, body: object, headers: Mapping[str, str], done: Callable[[str | None], None]) -> None:
        """Post this soon, and call `done` with what went wrong, None for nothing."""
        try:
            self._posts.put_nowait((body, headers, done))
        except queue.Full:
            done(f"{MOST} posts wait")

    def close(self) -> None:
        """Give what waits a few seconds."""
        with suppress(queue.Full):
            self._posts.put_nowait(None)
        self._thread.join(PARTING)

    def _run(self) -> None:
        while (post := self._posts.get()) is not None:
            body, headers, done = post
            self._since = time.monotonic()
            done(self._problem_of(body, headers))
            self._since = None

    def _problem_of(self, body: object, headers: Mapping[str, str]) -> str | None:
        """Post once, and return what went wrong; of the answer, only the status counts."""
        headers = {"Content-Type": "application/json", "User-Agent": "stream-metrics", **headers}
        request = urllib.request.Request(self._address, json.dumps(body).encode(), headers, method="POST")
        try:
            with self._opener.open(request, timeout=TIMEOUT):
                return None
        except urllib.error.HTTPError as error:
            with error:
                return f"status {error.code}"
        except (OSError, http.client.HTTPException) as error:  # URLError is an OSError
            reason = getattr(error, "reason", error)
            kind = type(reason if isinstance(reason, Exception) else error).__name__
            detail = reason.strerror if isinstance(reason, OSError) and reason.strerror else ""
            return f"{kind}{f' ({detail})' if detail else ''}"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: the secret of an address, and of the header, is for the configured host only."""

    def redirect_request(self, *arguments: object, **more: object) -> None:
        """Follow none."""


def _host(option: str, address: str) -> str:
    """Return the host of an address; ``ValueError``, which does not show the address, if it is not valid."""
    try:
        parts = urllib.parse.urlsplit(address)
        valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and address.isascii()
    except ValueError:  # of the port
        valid = False
    if not valid or any(character <= " " or character == "\x7f" for character in address):
        raise ValueError(f"Expected `{option}` to be an address of http:// or https://, but got another")
    if parts.username is not None or parts.password is not None:
        raise ValueError(f"Expected `{option}` without a user and a password: use the option `authorization`")
    return parts.hostname or ""
