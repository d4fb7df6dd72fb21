"""Run a monitor from a configuration: open the store, serve the page, evaluate the alerts, print the report.

The log names the address of the page and the checkpoint from which the run continues. The report goes to stdout. Ctrl-C
is the normal end of a monitor that follows its source; a file that is read once and was not finished is interrupted.
"""

from __future__ import annotations

import logging
from contextlib import ExitStack
from typing import Any

from stream_metrics.cli.errors import CliError, UsageError, taken_addresses, usage
from stream_metrics.cli.logs import LineHandler
from stream_metrics.monitor.alerts.alerting import Alerts
from stream_metrics.monitor.config import Config
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.partition import validate
from stream_metrics.monitor.runner import Runner, stopped_by_signals
from stream_metrics.monitor.sources import Source
from stream_metrics.monitor.store.opening import open_store
from stream_metrics.monitor.view.summary import summary
from stream_metrics.report.layout import number

LOG = logging.getLogger("stream_metrics.monitor")
NO_PAGE = 'the page needs Starlette and uvicorn: pip install "stream-metrics[monitor]"'


def watch(
    config: Config, source: Source, lines: LineHandler, *, keeps: bool = True, page: bool = True, **more: Any
) -> Runner:
    """Run a monitor until the end or a signal; more options are those of `Runner`.

    UsageError if the configuration is not valid, before a state file is created.
    """

    def started(address: str | None) -> None:
        records = runner.latest.records.read
        if records and store is not None:
            LOG.info("%s has %s records; the counts go on from there", store.name, number(records))
        if address is not None:
            LOG.info("the page is at %s", address)
        elif page:
            LOG.warning(NO_PAGE)

    with usage(), ExitStack() as undo:
        validate(config)
        store = open_store(config.store.path, config.store.shared) if keeps else None
        if store is not None:
            undo.callback(store.close)
        monitor = Monitor(config, store)
        server = _server(more.get("stay", False)) if page else None
        runner = Runner(config, source, monitor, Alerts(config, monitor), server, started=started, **more)
        undo.pop_all()
    where = config.serve.socket or f"port {config.serve.port}"
    with lines.logged(), stopped_by_signals(runner), taken_addresses(where):
        runner.run()
    return runner


def report(runner: Runner) -> str:
    """Return what is printed at the end."""
    lines = [summary(runner.latest)]
    if runner.counts is not None and runner.counts.total.n:
        lines.insert(0, f"{runner.counts.total.snapshot()}\n")
    return "\n".join(lines)


def check(runner: Runner) -> None:
    """Raise ``CliError`` if all was read and none of it is an event: this is another file than was meant."""
    view = runner.latest
    read, letters = view.records.read, view.dead_letters
    if runner.ended and letters and read == sum(view.records.rejected.values()):
        why = f"the last is refused for its {letters[0].reason!r}: {letters[0].detail}"
        raise CliError(f"Expected events, but none of the {number(read)} records of the source holds one; {why}")


def _server(stay: bool) -> Any:
    """Return what makes a server, None without the extra; UsageError then if nothing else is left to do."""
    try:
        from stream_metrics.monitor.serve.server import Server  # takes longer than all else
    except ModuleNotFoundError:
        if stay:
            raise UsageError(NO_PAGE) from None
        return None
    return Server
