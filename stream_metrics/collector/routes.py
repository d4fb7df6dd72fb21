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
from typing import Annotated, Literal, TypeAlias, TypeVar
from urllib.parse import parse_qsl

import msgspec

from stream_metrics.collector.client import LONGEST_NAME
from stream_metrics.collector.collector import Collector, CollectorUnavailable, WorkerReport
from stream_metrics.containers.workers import PutResult
from stream_metrics.errors import MergeError, StreamMetricsError
from stream_metrics.monitor.serve.posts import Posted, Reply, Routes

__all__ = ["LARGEST", "routes"]

LARGEST = 1 << 26  # bytes of a state
TEXT, JSON, BYTES = "text/plain; charset=utf-8", "application/json", "application/octet-stream"
F = TypeVar("F")

Number: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Flag: TypeAlias = Literal["0", "1"]


class WorkerFields(msgspec.Struct, forbid_unknown_fields=True):
    """The fields of a worker that starts."""

    worker: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_NAME)]


class ReportFields(WorkerFields, forbid_unknown_fields=True, kw_only=True):
    """The fields of a report."""

    epoch: Number
    sequence: Number
    fold: Flag = "1"
    last: Flag = "0"


def routes(collector: Collector, changed: Callable[[], None]) -> Routes:
    """Return what a server answers for a collector; `changed` is called after each report."""

    def register(posted: Posted) -> Reply:
        return _json({"epoch": collector.register(_fields(posted, WorkerFields).worker)})

    def report(posted: Posted) -> Reply:
        fields = _fields(posted, ReportFields)
        flags = fields.fold == "1", fields.last == "1"
        try:
            result = collector.report(WorkerReport(fields.worker, fields.epoch, fields.sequence, posted.body, *flags))
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


def _fields(posted: Posted, kind: type[F]) -> F:
    """Return the fields of a query; ValueError if one comes twice, or is not allowed."""
    pairs = parse_qsl(posted.query, keep_blank_values=True, strict_parsing=True, max_num_fields=10, errors="strict")
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("Expected each field once, but got one more often")
    return msgspec.convert(fields, kind, strict=False)


def _json(data: Mapping[str, object], status: HTTPStatus = HTTPStatus.OK) -> Reply:
    return Reply(status, JSON, msgspec.json.encode(data))


def _text(status: HTTPStatus, error: Exception) -> Reply:
    return Reply(status, TEXT, f"{error}\n".encode(errors="backslashreplace"))
