"""What a site answers beside the page and the view."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import NamedTuple

__all__ = ["JSON", "TEXT", "Posted", "Reply", "Routes"]

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
