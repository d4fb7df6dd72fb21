"""What a site answers beside the page and the view: for a monitor, ranges of time, and what programs may post.

    GET /api/range          see ``archive.reading``

    POST /api/annotations   {"text": "deployed 2.1"}, or with "at": 1.7e9, in seconds since 1970
    POST /api/reference     {"window": "1d"}

The next view shows it, and the next checkpoint has it. Browsers may not post (see ``serve.security``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import NamedTuple

import msgspec

from stream_metrics.monitor.monitor import Monitor

TEXT, JSON = "text/plain; charset=utf-8", "application/json"


class Reply(NamedTuple):
    """What a route answers."""

    status: HTTPStatus
    kind: str
    body: bytes


class Posted(NamedTuple):
    """What was posted to a route: the query of its address, and the body."""

    query: str
    body: bytes


class Routes(NamedTuple):
    """What is read and what is posted to, by path; a body has `limit` bytes. Routes are called in threads.

    `ranges` answers the query of /api/range with a status and JSON.
    """

    read: Mapping[str, Callable[[], Reply]] = {}
    posted: Mapping[str, Callable[[Posted], Reply]] = {}
    limit: int = 0
    ranges: Callable[[str], tuple[int, bytes]] | None = None


LARGEST = 1 << 14  # bytes of a body


class _Annotation(msgspec.Struct, forbid_unknown_fields=True):
    text: str
    at: float | None = None


class _Reference(msgspec.Struct, forbid_unknown_fields=True):
    window: str


def routes(monitor: Monitor) -> Routes:
    """Return what a server answers for a monitor; the next view shows what was posted."""

    def annotate(posted: Posted) -> None:
        asked = msgspec.json.decode(posted.body, type=_Annotation)
        monitor.annotate(asked.text, asked.at)

    def take_reference(posted: Posted) -> None:
        monitor.take_reference(msgspec.json.decode(posted.body, type=_Reference).window)

    posts = {"/api/annotations": annotate, "/api/reference": take_reference}
    posted = {path: _answered(post) for path, post in posts.items()}
    return Routes(posted=posted, limit=LARGEST, ranges=monitor.answer_range)


def _answered(post: Callable[[Posted], None]) -> Callable[[Posted], Reply]:
    """Return a route that answers an error with its text."""

    def answer(posted: Posted) -> Reply:
        try:
            post(posted)
        except ValueError as error:  # those of msgspec, too
            return Reply(HTTPStatus.BAD_REQUEST, TEXT, f"{error}\n".encode())
        return Reply(HTTPStatus.OK, JSON, b"{}")

    return answer
