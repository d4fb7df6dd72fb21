"""The worker's side: when it reports, what it does about failures, whom it tells the token, and what a fork does."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.alert_receiver import Receiver, receiving
from support.collector_server import Service, counted, view_of
from support.command_line import until
from support.refusals import refused

import stream_metrics as sm


def accepted(service: Service) -> int:
    """Return how many reports were accepted."""
    return int(view_of(service)["workers"]["outcomes"].get("accepted", 0))


def refused_status(call: Callable[[], Any]) -> int | None:
    """Return the status of the answer for which a call raises."""
    error: Any = refused(call, sm.ReportError)
    return int(error.status) if error.status is not None else None


@pytest.fixture
def answering() -> Iterator[Receiver]:
    """A server that answers as a collector would, after the statuses that a test wants."""
    answers = b'{"outcome": "accepted"}', b'{"epoch": 4294967297}'
    with receiving(lambda path: answers["register" in path]) as server:
        yield server


def test_a_thread_reports(serve: Callable[..., Service], caplog: pytest.LogCaptureFixture) -> None:
    """The first report comes at once, later ones by themselves, the last one when it is closed; nothing is logged."""
    caplog.set_level(logging.INFO)
    service, state = serve(), counted()
    with sm.Reporter(service.url, state, every="50ms", worker="w") as reporter:
        until(lambda: reporter.epoch is not None and accepted(service))
        assert service.total() == counted()
        state.update("b", "a")
        until(lambda: service.total().n == 2 and accepted(service) > 3)
        state.update("b", "a")
    assert service.total() == state
    assert (state.n, reporter.problem, caplog.text) == (3, None, "")
    reporter.close()
    refused(reporter.report, sm.ReportError)


def test_reports_by_hand(serve: Callable[..., Service]) -> None:
    """Without a thread nothing is sent but what `report` and `close` send; what goes on from it replaces it."""
    service, state = serve(), counted()
    reporter = sm.Reporter(service.url, state, every=None, worker="w")
    assert {reporter.report() for _ in range(2)} == {sm.PutResult.ACCEPTED}
    state.update("a", "b")
    assert service.total().n == 1
    reporter.close()
    assert service.total() == state
    assert view_of(service)["workers"]["retired"] == 1
    again = sm.from_bytes(state.to_bytes())
    for n in (3, 4):
        again.update("a", "b")
        with sm.Reporter(service.url, again, None, worker="w", resumes=True) as other:
            other.report()
        assert (service.total(), again.n) == (again, n)


def test_it_survives_restarts_of_the_collector(serve: Callable[..., Service]) -> None:
    """It reports under the same epoch as soon as the collector is back, also where the file is gone."""
    service, state = serve(), counted()
    port = int(service.url.rstrip("/").rpartition(":")[2])
    with sm.Reporter(service.url, state, every=0.05, worker="w") as reporter:
        until(lambda: accepted(service))
        epoch = reporter.epoch
        for name in ("agg.sqlite", "another.sqlite"):
            service.close()
            state.update("a", "b")
            until(lambda: reporter.problem is not None)
            service = serve(name, port=port)
            until(lambda now=service: accepted(now))  # type: ignore[misc]
            assert service.total() == state
        assert reporter.epoch == epoch


def test_a_failure_is_tried_again(answering: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the collector refuses for good is not, nor is an answer that breaks off taken for one.

    The token goes nowhere else: redirects and proxies are not followed.
    """
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    answering.statuses = [503, 200, 500, 429, 502, 200]
    reporter = sm.Reporter(answering.address, counted(), every=None, token="secret")
    assert reporter.report()
    paths = [path.partition("?")[0] for path, *_ in answering.got]
    assert paths == ["/api/register"] * 2 + ["/api/report"] * 4
    sequences = [path.partition("sequence=")[2].partition("&")[0] for path, *_ in answering.got[2:]]
    assert sequences == ["1", "2", "3", "4"]
    for status in (302, 400, 401, 403, 404, 413, 422):
        answering.statuses = [status]
        before = len(answering.got)
        assert refused_status(reporter.report) == status
        assert len(answering.got) == before + 1
    answering.cut, before = 2, len(answering.got)  # headers alone do not say whether the report was stored
    assert reporter.report()
    assert len(answering.got) == before + 3
    reporter.close()
    assert {headers["Authorization"] for *_, headers in answering.got} == {"Bearer secret"}


def test_pauses_grow_and_differ(answering: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is about twice the one before, up to a minute, and at random, so that workers do not come all at once."""
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    reporter = sm.Reporter(answering.address, counted(), every=None)
    for _ in range(40):
        answering.statuses = [503] * 12
        reporter.report(timeout=1e9)
    for failures in range(12):
        longest, some = min(0.5 * 2**failures, 60), pauses[failures::12]
        assert longest / 2 <= min(some) < longest * 0.65
        assert longest * 0.85 < max(some) <= longest
    reporter.close()


@pytest.mark.parametrize("name", ["token", "token_file", "STREAM_METRICS_TOKEN", "STREAM_METRICS_TOKEN_FILE"])
def test_the_token_comes_from(
    name: str, serve: Callable[..., Service], tmp_path: Path, monkeypatch: Any, caplog: Any
) -> None:
    """A file, which may change, or the environment; it is in no text, and without it nothing is taken."""
    service, file = serve(token="secret-7"), tmp_path / "token"
    file.write_text("secret-7\n")
    in_file = "file" in name.lower()
    value, arguments = str(file) if in_file else "secret-7", dict[str, Any]()
    monkeypatch.setenv(name, value) if name.isupper() else arguments.update({name: value})
    with sm.Reporter(service.url, counted(), every=0.05, **arguments) as reporter:
        assert reporter.report()
        if in_file:
            file.write_text("another")
            assert refused_status(reporter.report) == 401
            until(lambda: reporter.problem is not None)
            file.unlink()
            refused(lambda: reporter.report(timeout=0), sm.ReportError)
            file.write_text("secret-7")
        assert "secret" not in repr(reporter) + str(vars(reporter))
    assert "secret" not in caplog.text
    assert service.total() == counted()


def test_two_workers_of_one_name(serve: Callable[..., Service], caplog: pytest.LogCaptureFixture) -> None:
    """The later one counts, and the other one gets an error; what it had reported stays."""
    service, first, second = serve(), counted(3), counted(4)
    fenced = sm.Reporter(service.url, first, 0.05, worker="w")
    until(lambda: accepted(service))
    with sm.Reporter(service.url, second, 0.05, worker="w"):
        until(lambda: fenced.problem is not None)
        first.update("a", "a")
        assert refused_status(fenced.close) == 409
    assert service.total() == counted(7)
    assert "another process reports under this name" in caplog.text


def test_the_time_is_up(caplog: pytest.LogCaptureFixture) -> None:
    """A report raises when no attempt was answered in time, but does not hide the error of a `with` block."""
    reporter = sm.Reporter("http://127.0.0.1:9", counted(), every=None)
    for call in (reporter.report, reporter.close):
        error: Any = refused(lambda: call(timeout=0.3), sm.ReportError, "127.0.0.1:9")  # noqa: B023
        assert error.status is None
    with pytest.raises(ZeroDivisionError), sm.Reporter("http://127.0.0.1:9", counted(), None):
        raise ZeroDivisionError
    assert "the last report of" in caplog.text


class Broken(sm.MetricSet):
    """A set that cannot be written at first."""

    broken = True

    def to_bytes(self) -> bytes:
        if self.broken:
            raise OSError("it cannot be written")
        return super().to_bytes()


def test_a_state_that_cannot_be_written(serve: Callable[..., Service], caplog: pytest.LogCaptureFixture) -> None:
    """The thread says so and goes on."""
    service, state = serve(), Broken()
    with sm.Reporter(service.url, state, 0.05):
        until(lambda: "is not reported" in caplog.text)
        state.broken = False
        until(lambda: accepted(service))


PROGRAM = """
import os, sys
import stream_metrics as sm
state = sm.MetricSet()
reporter = sm.Reporter(sys.argv[1], state, every=None, worker="w")
reporter.report()
state.update("a", "a")
child = os.fork()
if not child:
    state.update("a", "b")
    try:
        reporter.report(timeout=1e9)  # would hang if it were tried again
    except sm.ReportError as error:
        assert "before a fork" in str(error)
        reporter.close()
        sys.exit(7)  # which runs what was registered for the end
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_fork_and_the_end_of_a_process(serve: Callable[..., Service]) -> None:
    """A child does not report for its parent; the parent reports when it ends, without a call."""
    service = serve()
    subprocess.run([sys.executable, "-c", PROGRAM, service.url], check=True, timeout=60)
    assert service.total() == counted()
    assert accepted(service) == 2


BAD_ARGUMENTS: dict[str, list[Any]] = {
    "url": ["collector:9900", "ftp://collector", "http://collector:port", None, "http://user:pass@collector"],
    "state": [42, sm.Aggregate],
    "every": [0, "often"],
    "worker": ["", 7],
    "timeout": [-1],
    "token": ["a\nb"],
    "token_file": ["/nowhere/token"],
}


def test_arguments_are_checked() -> None:
    """At once, and a password in an address is not repeated."""
    for name, value in ((name, value) for name, values in BAD_ARGUMENTS.items() for value in values):
        arguments: dict[str, Any] = {"url": "http://127.0.0.1:9", "state": counted(), "every": None, name: value}
        error = refused(lambda: sm.Reporter(**arguments), sm.OptionError, name)  # noqa: B023
        assert "pass@" not in str(error)
