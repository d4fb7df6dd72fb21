"""What workers post to a collector, and what it answers.

    POST /api/register?worker=NAME                                           {"epoch": 4294967297}
    POST /api/report?worker=NAME&epoch=1&sequence=1[&fold=0][&last=1]        {"outcome": "accepted"}
    GET /api/state                                                           the bytes of the total

The body of a report is the bytes of a state. 200 is for states that are counted, now or before; 409 for workers that
are fenced; 422 for a state that is damaged or does not merge, and for an epoch that no collector can have given out;
503 for a state that was not stored and should be sent again.

The server is that of the monitor, with its page, stream of views and exporter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from urllib.parse import parse_qs

import msgspec

from stream_metrics.collector.client import LONGEST_NAME
from stream_metrics.collector.collector import Collector, CollectorUnavailable, WorkerReport
from stream_metrics.containers.workers import PutResult
from stream_metrics.errors import MergeError, StreamMetricsError
from stream_metrics.monitor.serve.posts import Posted, Reply, Routes

__all__ = ["LARGEST", "routes"]

LARGEST = 1 << 26  # bytes of a state
TEXT, JSON, BYTES = "text/plain; charset=utf-8", "application/json", "application/octet-stream"
MOST = 2**63
FIELDS = {"worker", "epoch", "sequence", "fold", "last"}


def routes(collector: Collector, changed: Callable[[], None]) -> Routes:
    """Return what a server answers for a collector; `changed` is called after each report."""

    def register(posted: Posted) -> Reply:
        return _json({"epoch": collector.register(_name(_fields(posted)))})

    def report(posted: Posted) -> Reply:
        fields = _fields(posted)
        numbers = _number(fields, "epoch"), _number(fields, "sequence")
        flags = _flag(fields, "fold", "1"), _flag(fields, "last", "0")
        each = WorkerReport(_name(fields), *numbers, posted.body, *flags)
        try:
            result = collector.report(each)
        finally:
            changed()
        return _json({"outcome": str(result)}, HTTPStatus.CONFLICT if result is PutResult.FENCED else HTTPStatus.OK)

    def state() -> Reply:
        try:
            return Reply(HTTPStatus.OK, BYTES, collector.total().to_bytes())
        except MergeError as error:
            return _text(HTTPStatus.NOT_FOUND, error)

    return Routes(
        read={"/api/state": state},
        posted={"/api/register": _answered(register), "/api/report": _answered(report)},
        limit=LARGEST,
    )


def _answered(route: Callable[[Posted], Reply]) -> Callable[[Posted], Reply]:
    """Return a route that answers an error with its status and text."""

    def answer(posted: Posted) -> Reply:
        try:
            return route(posted)
        except CollectorUnavailable as error:
            return _text(HTTPStatus.SERVICE_UNAVAILABLE, error)
        except StreamMetricsError as error:
            return _text(HTTPStatus.UNPROCESSABLE_ENTITY, error)
        except ValueError as error:
            return _text(HTTPStatus.BAD_REQUEST, error)

    return answer


def _fields(posted: Posted) -> Mapping[str, str]:
    """Return the fields of a query; ValueError if one comes twice, or is none of a report."""
    fields = parse_qs(posted.query, keep_blank_values=True, strict_parsing=True, max_num_fields=10, errors="strict")
    for name, values in fields.items():
        if len(values) > 1:
            raise ValueError(f"Expected `{name:.20}` once, but got it {len(values)} times")
    if unknown := fields.keys() - FIELDS:
        raise ValueError(f"Expected fields among {', '.join(sorted(FIELDS))}, but got `{min(unknown):.20}`")
    return {name: values[0] for name, values in fields.items()}


def _name(fields: Mapping[str, str]) -> str:
    name = fields.get("worker", "")
    if not 0 < len(name) <= LONGEST_NAME:
        raise ValueError(f"Expected `worker` to be a name of 1 to {LONGEST_NAME} characters, but got {len(name)}")
    return name


def _number(fields: Mapping[str, str], field: str) -> int:
    text = fields.get(field, "")
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and int(text) < MOST):
        raise ValueError(f"Expected `{field}` to be a whole number below 2**63, but got {text!r:.30}")
    return int(text)


def _flag(fields: Mapping[str, str], field: str, default: str) -> bool:
    text = fields.get(field, default)
    if text not in ("0", "1"):
        raise ValueError(f"Expected `{field}` to be 0 or 1, but got {text!r:.30}")
    return text == "1"


def _json(data: Mapping[str, object], status: HTTPStatus = HTTPStatus.OK) -> Reply:
    return Reply(status, JSON, msgspec.json.encode(data))


def _text(status: HTTPStatus, error: Exception) -> Reply:
    return Reply(status, TEXT, f"{error}\n".encode(errors="backslashreplace"))
