"""Where alerts are sent: the log, a webhook, and Alertmanager.

The log and the webhook get each change once. The webhook gets JSON:

    {"id": "...", "title": "model", "rule": "accuracy[1h] < 0.8", "state": "firing", "at": 1700000000.0,
     "since": 1700000000.0, "value": 0.78, "text": "model: firing: accuracy[1h] < 0.8 (now 0.78)"}

`state` is firing or ok, times are seconds since 1970, `since` is when the rule began to fire; `id`, also in the header
Idempotency-Key, identifies the change. What a webhook does not accept is counted and shown for a day, but not sent
again. Alertmanager gets all alerts that fire again every minute, as its API expects, and those that ended for 15
minutes. Redirects are not followed. An address may contain a secret, so messages name its host only.
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
from datetime import UTC, datetime
from functools import partial
from typing import IO

from msgspec import structs

from stream_metrics.monitor.alerts.engine import FIRING, Change
from stream_metrics.monitor.view.types import Firing, Undelivered

LOG = logging.getLogger("stream_metrics.monitor.alerts")
TIMEOUT = 10.0  # seconds for a post, until its answer is complete
MOST = 100  # posts that wait, and failures that are shown
SHOWN = 86_400.0  # seconds for which failures of a webhook are shown
EVERY = 60.0  # seconds between two posts to Alertmanager
LASTING = 4 * EVERY  # seconds after which an alert ends there if it is not posted again
OVER = 900.0  # seconds for which an alert that ended is posted as ended


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
        self.poster = Poster("webhook", address)
        self.failures = 0
        self._failed: deque[tuple[float, Undelivered]] = deque(maxlen=MOST)  # with the time, by time.monotonic

    def tell(self, changes: Sequence[Change]) -> None:
        """Post changes, each in a request of its own."""
        for change in changes:
            body = {**change._asdict(), "text": f"{change.title}: {_text(change)}"}
            self.poster.put(body, {**self._headers, "Idempotency-Key": change.id}, partial(self._done, change))

    def _done(self, change: Change, problem: str | None) -> None:
        if problem is not None:
            self.failures += 1
            row = Undelivered(self.poster.name, change.rule, change.state, change.at, problem)
            self._failed.append((time.monotonic(), row))
            LOG.error("%s: %s; the alert %s was not delivered", self.poster.name, problem, change.id)

    def undelivered(self) -> list[Undelivered]:
        """Return what was not accepted in the last day."""
        since = time.monotonic() - SHOWN
        return [row for at, row in self._failed if at >= since]


class Alertmanager:
    """Posts all alerts that fire, at each change and every minute; ``ValueError`` if the address is not valid.

    Labels are those of the alert ``ModelAlert`` in the rules of Prometheus. `failures` is the number of posts that were
    not accepted.
    """

    def __init__(self, address: str, title: str) -> None:
        self.poster = Poster("alertmanager", address, "/api/v2/alerts")
        self._title = title
        self._due = -math.inf  # by time.monotonic
        self._busy = False  # with a post
        self._firing: list[Undelivered] = []  # of the last post
        self._problem: str | None = None
        self.failures = 0

    def tell(self, firings: Sequence[Firing], changed: bool, now: float) -> None:
        """Post what fires, and what ended within 15 minutes, if something `changed` or a minute has passed.

        `firings` has the newest first. Of a rule only that one is posted: all have the same labels, by which
        Alertmanager would take an older one, which has ended, for the state of the rule.
        """
        if changed:
            self._due = -math.inf
        newest = {row.rule: row for row in reversed(firings)}.values()
        recent = [row for row in newest if row.ended is None or now - row.ended < OVER]
        if not recent or self._busy or time.monotonic() < self._due:
            return
        self._due, self._busy = time.monotonic() + EVERY, True
        self._firing = [
            Undelivered(self.poster.name, row.rule, FIRING, row.began) for row in recent if row.ended is None
        ]
        self.poster.put([self._alert(row, now) for row in recent], {}, self._done)

    def forget(self) -> None:
        """Show no failure any more: another worker posts."""
        self._firing = []

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
                LOG.error("%s: %s; it is tried again every minute", self.poster.name, problem)
        self._problem, self._busy = problem, False

    def undelivered(self) -> list[Undelivered]:
        """Return the alerts that fire if they were not accepted the last time."""
        problem = self._problem
        return [] if problem is None else [structs.replace(row, problem=problem) for row in self._firing]


class Poster:
    """Posts JSON to one address in a thread, in order and each once."""

    def __init__(self, option: str, address: str, path: str = "") -> None:
        self._address = address.rstrip("/") + path if path else address
        self.name = f"the {option} at {_host(option, address)}"
        self._opener = urllib.request.build_opener(_NoRedirect())
        self._posts: queue.Queue[tuple[object, Mapping[str, str], Callable[[str | None], None]] | None]
        self._posts = queue.Queue()
        self._sending: threading.Thread | None = None  # the last post
        self._thread = threading.Thread(target=self._run, name=option, daemon=True)
        self._thread.start()

    def put(self, body: object, headers: Mapping[str, str], done: Callable[[str | None], None]) -> None:
        """Post this soon, and call `done` with what went wrong, None for nothing."""
        if self._posts.unfinished_tasks >= MOST:
            done(f"{MOST} posts wait")
        else:
            self._posts.put((body, headers, done))

    def stop(self) -> None:
        """Send what waits, and nothing more."""
        self._posts.put(None)

    def join(self, until: float) -> None:
        """Wait for the last answer, up to a time by time.monotonic; log what was not sent."""
        self._thread.join(max(until - time.monotonic(), 0.0))
        if self._thread.is_alive():  # what `stop` put is no post
            LOG.error("%s: %d posts had no answer before the end", self.name, self._posts.unfinished_tasks - 1)

    def _run(self) -> None:
        while (post := self._posts.get()) is not None:
            body, headers, done = post
            done(self._answer(body, headers))
            self._posts.task_done()

    def _answer(self, body: object, headers: Mapping[str, str]) -> str | None:
        """Post once, and return what went wrong within the time.

        A socket has a timeout for each byte only, so a post has a thread, which is left behind if it takes longer.
        There is at most one such thread: while it lives, further posts fail.
        """
        if self._sending is not None and self._sending.is_alive():
            return "the post before has no answer yet"
        answers: list[str | None] = []
        self._sending = threading.Thread(
            target=lambda: answers.append(self._problem_of(body, headers)), name="post", daemon=True
        )
        self._sending.start()
        self._sending.join(TIMEOUT)
        return answers[0] if answers else f"no answer within {TIMEOUT:.0f} s"

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
        except (OSError, ValueError, http.client.HTTPException) as error:  # URLError is an OSError
            reason = getattr(error, "reason", error)
            kind = type(reason if isinstance(reason, Exception) else error).__name__
            detail = reason.strerror if isinstance(reason, OSError) and reason.strerror else ""
            return f"{kind}{f' ({detail})' if detail else ''}"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: the secret of an address, and of the header, is for the configured host only."""

    def http_error_302(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: http.client.HTTPMessage
    ) -> None:
        """Do not even read where to: it may be malformed."""

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


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
