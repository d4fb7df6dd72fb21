"""The worker's side of a collector: a state is reported again and again, by a thread or by hand, until it is closed.

Requests are made one at a time, with a token that is read from where it is stored. Neither redirects nor proxies are
followed, so a token goes to the host of the address and nowhere else.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import random
import secrets
import socket
import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import urlencode, urlsplit

from stream_metrics.containers.workers import PutResult
from stream_metrics.errors import MergeError, OptionError, ReportError
from stream_metrics.inputs.times import Length, parse_duration
from stream_metrics.states.protocols import Accumulator
from stream_metrics.wire import Portable

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


class NothingYetError(ReportError):
    """There is no state to report, as none has come to an aggregate."""


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


LOG = logging.getLogger("stream_metrics.reporter")
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0  # seconds between two attempts
AT_EXIT = 5.0  # seconds for the last report of a process that ends
FENCED = 409
LATER = frozenset({408, 425, 429, 500, 502, 503, 504})  # statuses after which the same may succeed


class Reporter:
    """Reports the state of this worker to a collector (`stream-metrics collect`) every so often.

    The state goes on being fed by any thread; each report has all of it, so a report that is lost costs nothing. One
    that is not answered is sent again after a pause that doubles, with jitter; pauses of many workers do not coincide.

    Parameters
    ----------
    url : str
        Address of the collector, such as "http://collector:9900".
    state : state or callable
        What this worker counts: a state, a metric, a set, groups or a window that merges; or a function that returns
        it for each report, such as `Aggregate.total` of one that has workers of its own.
    every : float or str, default 60.0
        Time between two reports: seconds, or text such as "30s". None starts no thread: call `report` yourself.
    worker : str, optional
        Name of the worker. By default host, process and a random number: a name for each process. A name of its own is
        for workers that the collector expects, or that go on from a checkpoint.
    token : str, optional
        What the collector asks for. By default the text of `token_file`, of the file that the environment variable
        STREAM_METRICS_TOKEN_FILE names, or the variable STREAM_METRICS_TOKEN. Files are read again for each report.
    token_file : path, optional
        File with the token.
    resumes : bool, default False
        Whether the state contains what an earlier process of this name has counted, as one that was read from a
        checkpoint does. It then replaces that; by default the earlier counts stay in the total beside the new ones.
    timeout : float, default 10.0
        Seconds that a request may take.

    Raises
    ------
    OptionError
        If an argument is not allowed; it is a ValueError.

    Notes
    -----
    A process that starts is given an epoch by the collector, so no clock matters. From its first report on, nothing
    that an earlier process of the same name sends is counted. Of two processes of one name at the same time the later
    one counts: the other is fenced, its thread ends with a warning in the log, and its `report` raises.

    A process that is killed loses what it counted since its last report; a `close`, the end of a `with` block or of
    the interpreter sends a last report. Python does not run such code at a SIGTERM without a handler.

    Fork: a reporter belongs to the process that made it. In a child it reports nothing, and `report` raises; make one
    in each child, after the fork (in `post_fork` of gunicorn).

    Examples
    --------
    >>> import tempfile
    >>> import stream_metrics as sm
    >>> from stream_metrics.collector.service import Service
    >>> with tempfile.TemporaryDirectory() as folder, Service(f"{folder}/agg.sqlite", port=0) as service:
    ...     state = sm.MetricSet()
    ...     with sm.Reporter(service.url, state, every="1m", worker="worker-1") as reporter:
    ...         state.update("cat", "cat")
    ...         print(reporter.report())
    ...     print(service.total().snapshot()["accuracy"])
    accepted
    1.0
    """

    def __init__(
        self,
        url: str,
        state: Accumulator | Callable[[], Accumulator],
        every: Length | None = 60.0,
        *,
        worker: str | None = None,
        token: str | None = None,
        token_file: str | os.PathLike[str] | None = None,
        resumes: bool = False,
        timeout: float = 10.0,
    ) -> None:
        counts = isinstance(state, Portable) and hasattr(state, "snapshot") and hasattr(state, "merge")
        if not counts and (isinstance(state, type) or not callable(state)):
            raise OptionError(argument="state", expected="to be a state, a metric or a set of metrics", got=state)
        if worker is not None and not (isinstance(worker, str) and 0 < len(worker) <= LONGEST_NAME):
            raise OptionError(argument="worker", expected=f"to be a name of 1 to {LONGEST_NAME} characters", got=worker)
        try:
            self._every = None if every is None else parse_duration(every, "every") / 1e9
            limit = parse_duration(timeout, "timeout") / 1e9
        except ValueError as error:
            raise OptionError(str(error)) from None
        self.worker = worker or f"{socket.gethostname()[:100]}-{os.getpid()}-{secrets.token_hex(4)}"
        self._client = Client(url, token, token_file, limit)
        self._read: Callable[[], Any] = (lambda: state) if counts else state  # type: ignore[assignment]
        self._resumes = bool(resumes)
        self._epoch: int | None = None
        self._sequence = 0
        self._process = os.getpid()
        self._lock = threading.Lock()  # one report at a time
        self._closing = threading.Event()
        self._closed = False
        self._problem: ReportError | None = None  # of the thread's last report
        self._fence: ReportError | None = None
        self._thread: threading.Thread | None = None
        atexit.register(self._close_quietly, AT_EXIT)
        if self._every is not None:
            self._thread = threading.Thread(target=self._run, args=(self._every,), name="reporter", daemon=True)
            self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._close_quietly(AT_EXIT)  # the error of the block is the one to be seen

    def __repr__(self) -> str:
        return f"Reporter({self._client.name!r}, worker={self.worker!r})"

    @property
    def epoch(self) -> int | None:
        """Which life of the worker this is; None until the collector has said so."""
        return self._epoch

    @property
    def problem(self) -> ReportError | None:
        """Why the last report failed; None if it was answered."""
        return self._problem

    def report(self, timeout: float = 30.0) -> PutResult:
        """Report now, and try again until it is answered.

        Parameters
        ----------
        timeout : float, default 30.0
            Seconds after which no further attempt is made.

        Returns
        -------
        PutResult
            What became of the state; `ACCEPTED` unless a later report of another thread arrived before.

        Raises
        ------
        ReportError
            If the report was not answered in time, or was refused; `status` is that of the answer.
        """
        if self._closed:
            raise ReportError("Expected a reporter that is not closed")
        return self._report_until(time.monotonic() + timeout, last=False)

    def close(self, timeout: float = 30.0) -> None:
        """Send a last report and stop; nothing happens a second time.

        Parameters
        ----------
        timeout : float, default 30.0
            Seconds after which no further attempt is made.

        Raises
        ------
        ReportError
            If the last report was not answered in time, or was refused.
        """
        if self._closed or self._process != os.getpid():
            return
        self._closed = True
        atexit.unregister(self._close_quietly)
        self._closing.set()
        end = time.monotonic() + timeout
        if self._thread is not None:
            self._thread.join(timeout)
        self._report_until(end, last=True)

    def _close_quietly(self, timeout: float) -> None:
        try:
            self.close(timeout)
        except NothingYetError:
            pass
        except Exception as error:  # also of a function that returns the state
            LOG.error("the last report of %s failed: %s", self.worker, error)

    def _run(self, every: float) -> None:
        """Report until the reporter is closed or fenced."""
        failures, pause = 0, 0.0
        spread = random.random()  # so that workers that start together do not report together
        while not self._closing.wait(pause):
            try:
                self._once(last=False)
            except NothingYetError:
                pause = every
            except ReportError as error:
                if self._problem is None or str(error) != str(self._problem):
                    LOG.warning("%s is not reported: %s", self.worker, error)
                self._problem = error
                if self._fence is not None:
                    return
                failures += 1
                pause = _pause(failures) if _may_pass(error) else every
            except Exception:  # the state cannot be written; it may be later
                LOG.exception("%s is not reported", self.worker)
                pause = every
            else:
                if self._problem is not None:
                    LOG.warning("%s is reported again", self.worker)
                self._problem, failures = None, 0
                pause, spread = every * spread, 0.95 + 0.1 * random.random()

    def _report_until(self, end: float, last: bool) -> PutResult:
        """Report, and again after a pause, until it is answered or the time is up."""
        if self._process != os.getpid():
            raise ReportError("Expected a reporter that this process made, but it was made before a fork")
        failures = 0
        while True:
            try:
                return self._once(last)
            except ReportError as error:
                failures += 1
                pause = _pause(failures)
                if not _may_pass(error) or time.monotonic() + pause > end:
                    raise
                time.sleep(pause)

    def _once(self, last: bool) -> PutResult:
        """Report once; ReportError if that fails."""
        with self._lock:
            if self._fence is not None:
                raise self._fence
            try:
                body = self._read().to_bytes()
            except MergeError as error:  # of an aggregate without workers
                raise NothingYetError(f"Expected a state to report, but: {error}") from None
            if self._epoch is None:
                answer = self._client.post("/api/register", {"worker": self.worker})
                self._epoch = int(self._field(answer, "epoch"))
            self._sequence += 1
            query = {"worker": self.worker, "epoch": self._epoch, "sequence": self._sequence}
            query |= {"fold": int(not self._resumes), "last": int(last)}
            answer = self._client.post("/api/report", query, body)
            if answer.status == FENCED:
                self._fence = ReportError(
                    f"Expected to be the one worker {self.worker!r}, but another process reports under this name, "
                    "or this one was silent for so long that the collector has forgotten it",
                    FENCED,
                )
                raise self._fence
            return PutResult(self._field(answer, "outcome"))

    def _field(self, answer: Answer, field: str) -> Any:
        """Return a field of an answer; ReportError if it has none."""
        if answer.status == 200:
            try:
                return json.loads(answer.body)[field]
            except (KeyError, TypeError, ValueError):
                pass
        text = f"Expected the collector at {self._client.name} to take the report, but got {answer.status}"
        raise ReportError(f"{text}: {answer.text}" if answer.text else text, answer.status)


def _pause(failures: int) -> float:
    """Return how long to wait after so many failures: twice as long each time, at random between half and all of it."""
    longest: float = min(FIRST_PAUSE * 2 ** min(failures - 1, 10), LONGEST_PAUSE)
    return longest * (0.5 + 0.5 * random.random())


def _may_pass(error: ReportError) -> bool:
    """Tell whether the same report may succeed later."""
    return not isinstance(error, NothingYetError) and (error.status is None or error.status in LATER)
