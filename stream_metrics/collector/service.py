"""A collector that is served: its file, its page, and the address where workers report.

    POST /api/register?worker=NAME                                           {"epoch": 4294967297}
    POST /api/report?worker=NAME&epoch=1&sequence=1[&fold=0][&last=1]        {"outcome": "accepted"}
    GET /api/state                                                           the bytes of the total

The body of a report is the bytes of a state. 200 is for states that are counted, now or before; 409 for workers that
are fenced; 422 for a state that is damaged or does not merge, and for an epoch that no collector can have given out;
503 for a state that was not stored and should be sent again.

The server is that of the monitor, with its page, stream of views and exporter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from types import TracebackType
from typing import Annotated, Any, Literal, Self, TypeAlias, TypeVar
from urllib.parse import parse_qsl

import msgspec

from stream_metrics.catalog.table import find
from stream_metrics.collector.collector import Collector, CollectorUnavailable, Options, WorkerReport
from stream_metrics.collector.reporter import AT_EXIT, LONGEST_NAME, Client, Reporter
from stream_metrics.collector.store import CollectorStore
from stream_metrics.collector.view import CollectorView
from stream_metrics.containers.workers import PutResult
from stream_metrics.errors import MergeError, OptionError, StreamMetricsError
from stream_metrics.inputs.times import Length
from stream_metrics.monitor.config import ServeTable
from stream_metrics.monitor.serve.posts import Posted, Reply, Routes
from stream_metrics.monitor.serve.security import Gate
from stream_metrics.monitor.serve.server import Server
from stream_metrics.report.headlines import MONITOR

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


DEFAULTS = Options()
TITLE = "workers"


class Service:
    """Serves a collector whose file is at `path`; it is made if there is none.

    It may report to another collector, as a worker with the name of its title and the same token. Collectors with the
    same title would replace each other's counts there, so it needs a title of its own.

    ``StoreError`` if the file is foreign or in use, ``ValueError`` for a host that others can reach without a token,
    ``OSError`` if the port is taken.
    """

    def __init__(
        self,
        path: str,
        host: str = "127.0.0.1",
        port: int = 9900,
        *,
        token: str = "",
        title: str = TITLE,
        metrics: Sequence[str] = MONITOR,
        expected: Sequence[str] = (),
        options: Options = DEFAULTS,
        names: Sequence[str] = (),
        health: str = "",
        report_to: str | None = None,
        report_every: Length = 60.0,
    ) -> None:
        if report_to is not None and title == TITLE:
            expected = "of its own for a collector that reports to another one, where it is the name of a worker"
            raise OptionError(argument="title", subject="a `title`", expected=expected, got=title)
        config = ServeTable(host=host, port=port, token=token, names=tuple(names), health=health)
        Gate(config)  # raises before a file is made
        keys = [find(key).key for key in metrics]
        self._collector = Collector(CollectorStore(path), options)
        self.url = ""
        self._reporter: Reporter | None = None
        try:
            view = CollectorView(self._collector, title, keys, expected)
            answers = routes(self._collector, lambda: self._server.publish())
            self._server = Server(config, view, alive=self._alive, ready=self._alive, routes=answers)
            self._new_reporter: Callable[[], Reporter] | None = None
            if report_to is not None:
                Client(report_to, token or None, None, 1.0)  # raises for an address that is none
                named: Any = {"worker": title, "token": token or None, "resumes": True}
                self._new_reporter = partial(Reporter, report_to, self._collector.total, report_every, **named)
        except BaseException:
            self._collector.close()
            raise

    def start(self) -> str:
        """Serve, in threads, and return the address."""
        try:
            self.url = self._server.start()
            if self._new_reporter is not None:  # once it is sure that this collector serves
                self._reporter = self._new_reporter()
        except BaseException:
            self._stop()
            raise
        return self.url

    def total(self) -> Any:
        """Return a state with the counts of all workers; MergeError if none has reported."""
        return self._collector.total()

    def _alive(self) -> bool:
        return self._collector.alive

    def close(self) -> None:
        """Take no more reports, write those that have arrived, and close the file."""
        self._server.close()
        self._stop()

    def _stop(self) -> None:
        if self._reporter is not None:
            self._reporter._close_quietly(AT_EXIT)
        self._collector.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
