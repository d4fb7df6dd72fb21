"""Run a monitor from a configuration: open the store, serve the page, evaluate the alerts, print the report.

The log names the address of the page and the checkpoint from which the run continues. The report goes to stdout. Ctrl-C
is the normal end of a monitor that follows its source; a file that is read once and was not finished is interrupted.
"""

from __future__ import annotations

import logging
from contextlib import ExitStack
from typing import Any

from stream_metrics.cli.errors import CliError, UsageError, taken_addresses
from stream_metrics.cli.logs import LineHandler
from stream_metrics.monitor.alerts.alerting import Alerts
from stream_metrics.monitor.config import Config
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.partition import validate
from stream_metrics.monitor.runner import Runner, stopped_by_signals
from stream_metrics.monitor.sources import Source
from stream_metrics.monitor.store.opening import open_store
from stream_metrics.monitor.view.summary import summary
from stream_metrics.monitor.view.types import View
from stream_metrics.report.layout import number

LOG = logging.getLogger("stream_metrics.monitor")
NO_PAGE = 'the page needs Starlette and uvicorn: pip install "stream-metrics[monitor]"'


class Watch:
    """Runs a monitor; raises ``ValueError`` if the configuration is not valid.

    With `report` it prints a report in the end; without it only if the source has an end. With `whole` the last view
    has all points of the trend lines.
    """

    def __init__(
        self,
        config: Config,
        source: Source,
        *,
        keeps: bool = True,
        page: bool = True,
        stay: bool = False,
        once: bool = False,
        report: bool = False,
        whole: bool = False,
        lines: LineHandler | None = None,
    ) -> None:
        self._config, self._lines, self._page = config, lines or LineHandler(), page
        self._follows = (config.source.follow or config.source.kind != "file") and not once
        validate(config)  # before a state file is created
        store = open_store(config.store.path, config.store.shared) if keeps else None
        with ExitStack() as undo:
            if store is not None:
                undo.callback(store.close)
            self.monitor = Monitor(config, store)
            alerts = Alerts(config, self.monitor)
            self.runner = Runner(
                config,
                source,
                self.monitor,
                alerts,
                _server(stay) if page else None,
                stay=stay,
                once=once,
                last_view=report or not self._follows,
                whole=whole,
                started=self._started,
            )
            undo.pop_all()

    @property
    def endless(self) -> bool:
        """Whether it runs until it is stopped, and was."""
        return self._follows and not self.runner.ended

    @property
    def interrupted(self) -> bool:
        """Whether what has an end was not read to it."""
        return not (self.runner.ended or self.endless)

    def run(self) -> View:
        """Run until the end or a signal, and return the last view."""
        where = self._config.serve.socket or f"port {self._config.serve.port}"
        with self._lines.logged(), stopped_by_signals(self.runner), taken_addresses(where):
            self.runner.run()
        return self.runner.latest

    def _started(self, address: str | None) -> None:
        records = self.runner.latest.records.read
        if records and self.monitor.store is not None:
            LOG.info("%s has %s records; the counts go on from there", self.monitor.store.name, number(records))
        if address is not None:
            LOG.info("the page is at %s", address)
        elif self._page:
            LOG.warning(NO_PAGE)

    def report(self) -> str:
        """Return what is printed at the end."""
        lines = [summary(self.runner.latest)]
        if self.runner.counts is not None and self.runner.counts.total.n:
            lines.insert(0, f"{self.runner.counts.total.snapshot()}\n")
        return "\n".join(lines)

    def check(self) -> None:
        """Raise ``CliError`` if all was read and none of it is an event: this is another file than was meant."""
        view = self.runner.latest
        read, letters = view.records.read, view.dead_letters
        if self.runner.ended and letters and read == sum(view.records.rejected.values()):
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
