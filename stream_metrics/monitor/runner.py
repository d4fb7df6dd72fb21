"""Source, monitor, alerts and server together, until they are stopped or the source ends.

A thread of its own evaluates rules and makes views while another one counts. It does so four times a second, once a
second while nothing is read, and less often where that would take more than a tenth of the time, measured as the
processor time of that thread: what a view costs grows with the classes and groups, and counting waits meanwhile. Rules
need a small part of a view, so they do not wait for the next one.

    runner = Runner(config, source, monitor, Alerts(config, monitor), Server)
    with stopped_by_signals(runner):
        runner.run()

Records are read, counted and checkpointed in the thread that calls `run`. The server shows the newest view.

No rule is evaluated before the first records were counted, or it is known that none wait: until then windows lack what
came while the process was down, and every start would be an alert.

A signal sets a flag, so that nothing is interrupted in the middle; a second Ctrl-C is for when that is not enough. Only
a view is cut short by it, which may take seconds. The last view is made only where it is needed, after a checkpoint.
"""

from __future__ import annotations

import logging
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Protocol

from stream_metrics.monitor.alerts.alerting import Alerts
from stream_metrics.monitor.config import Config
from stream_metrics.monitor.counts.counting import PartCounts
from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.serve.posts import routes
from stream_metrics.monitor.serve.sockets import handled_signals
from stream_metrics.monitor.sources import Source
from stream_metrics.monitor.sources.kafka_options import SourceError
from stream_metrics.monitor.store import StaleOwner, StoreError
from stream_metrics.monitor.view.types import View
from stream_metrics.monitor.view.window_reading import ViewCut, cut_if
from stream_metrics.process_memory import collecting_rarely, return_large_blocks

LOOK = 0.25  # seconds between two views, at least
IDLE = 1.0  # if nothing was read
SHARE = 9  # a view, and nine times as long without one


class ViewThread:
    """Makes views until `join`, or until `stop` is set, which also cuts a view short.

    `known` tells whether windows have what waited at the start, before which no rule is evaluated; `show` is called
    with each view. `latest` is the newest view, `failure` what ended the thread, which then sets `stop`.
    """

    def __init__(
        self,
        monitor: Monitor,
        alerts: Alerts,
        stop: threading.Event,
        known: Callable[[], bool],
        show: Callable[[View], None],
    ) -> None:
        self.latest = View()
        self.failure: BaseException | None = None
        self._monitor, self._alerts, self._stop, self._known, self._show = monitor, alerts, stop, known, show
        self._looks = threading.Event()  # set when there shall be no more
        self._looked = 0.0  # processor time that views took
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="views", daemon=True)

    @property
    def share(self) -> float:
        """The part of the time since the start that was spent on views."""
        return self._looked / max(time.monotonic() - self._began, 1e-9)

    def first(self) -> None:
        """Make a view before the thread is started."""
        with suppress(ViewCut), cut_if(self._stop.is_set):
            self.look()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def join(self) -> None:
        """End the thread; what it has begun is cut short."""
        self._looks.set()
        self._thread.join()

    def evaluate(self) -> float:
        """Evaluate the rules once windows can be known, and return the processor time that it took."""
        if not self._known():
            return 0.0
        before = time.thread_time()
        self._alerts.look()
        spent = time.thread_time() - before
        self._looked += spent
        return spent

    def look(self, whole: bool = False) -> float:
        """Make a view, and return the processor time that it took; see `Monitor.view`."""
        before = time.thread_time()
        self.latest = self._monitor.view(whole)
        self._show(self.latest)
        spent = time.thread_time() - before
        self._looked += spent
        return spent

    def _run(self) -> None:
        spent, seen, due = 0.0, -1, -math.inf
        while not self._looks.wait(max(LOOK, SHARE * spent)):
            read = self.latest.records.read
            if read == seen and self._looks.wait(IDLE - LOOK):
                return
            seen = read
            try:
                with cut_if(lambda: self._stop.is_set() or self._looks.is_set()):
                    spent = self.evaluate()
                    if time.monotonic() >= due:
                        due = time.monotonic() + SHARE * self.look()
            except ViewCut:
                return
            except BaseException as error:  # whatever it is, it must end the process rather than leave an old page
                self.failure = error
                self._stop.set()
                return


LOG = logging.getLogger("stream_metrics.monitor")
POLL = 0.25  # seconds to wait for records
NAP = 0.01
REPORT = 0.25  # seconds between two reports on the source, at least
FIRST = 5.0  # seconds after the start, after which it is taken that no record waits
UNASSIGNED = 60.0  # the same without a partition: Kafka takes 45 s to give those of a process that was killed
STALE = 30.0  # seconds without a poll, after which the process is taken to hang


class Served(Protocol):
    """A server of views."""

    def start(self) -> str:
        """Start to serve, and return the address."""

    def publish(self) -> None:
        """Announce a new view."""

    def close(self) -> None:
        """End it."""


class Runner:
    """Runs a monitor.

    `server` makes a `Served` of (config.serve, view, alive=, ready=, not_ready=, routes=); without, nothing is served.
    `show` is called with each view. With `stay` it goes on serving when the source has ended, until it is stopped; with
    `once` it ends as soon as nothing more is there to be read. With `last_view=False` no view is made after `stop`
    unless the source has ended; with `whole` the last view has all points of the trend lines. `latest` is the newest
    view, `counts` what was counted in the end, None without a last view, `ended` whether the source ended by itself, or
    with `once` was read as far as it went, `share` the part of the time that views take.
    """

    def __init__(
        self,
        config: Config,
        source: Source,
        monitor: Monitor,
        alerts: Alerts,
        server: Callable[..., Served] | None = None,
        *,
        stay: bool = False,
        once: bool = False,
        last_view: bool = True,
        whole: bool = False,
        started: Callable[[str | None], None] = lambda address: None,
        show: Callable[[View], None] = lambda view: None,
    ) -> None:
        self.config, self.source, self.monitor, self.alerts = config, source, monitor, alerts
        self.counts: PartCounts | None = None
        self.ended = False
        self._stay, self.once, self._last_view, self._whole = stay, once, last_view, whole
        self._started, self._show = started, show
        self._stop = threading.Event()
        self._polled = -STALE
        self._asked = -REPORT
        self._had: float | None = None  # when it was first seen to have partitions
        self._known = False  # whether what waited at the start has begun to be counted
        self._began = time.monotonic()
        self._views = ViewThread(monitor, alerts, self._stop, self._evaluable, self._publish)
        self._server = (
            None
            if server is None
            else server(
                *(config.serve, self.view),
                alive=self.alive,
                ready=self.ready,
                not_ready=self.not_ready,
                routes=routes(monitor),
            )
        )
        self._serving: Served | None = None  # the server, once it is started

    @property
    def share(self) -> float:
        """The part of the time since the start that was spent on views."""
        return self._views.share

    @property
    def latest(self) -> View:
        """The newest view."""
        return self._views.latest

    def stop(self) -> None:
        """Have `run` end soon; callable from a signal handler and from any thread."""
        self._stop.set()

    def view(self) -> View:
        """Return the newest view."""
        return self.latest

    def alive(self) -> bool:
        """Whether the source was polled in the last 30 seconds."""
        return time.monotonic() - self._polled < STALE

    def ready(self) -> bool:
        """Whether it polls its source, and has read the counts of all other workers.

        Of workers that share a store, one that waits for partitions is ready: it takes them over when they come. With a
        store of its own it is not, since what it shows is old. One whose source cannot be read is ready, which the
        page, the metrics and the rules show: to take all workers out of service would hide it.
        """
        return self.not_ready() is None

    def not_ready(self) -> str | None:
        """Return why it is not ready, None if it is."""
        if not self.alive():
            return f"the source was not read for {STALE:.0f} s"
        if self.latest.source.state == "unassigned":
            return f"waiting for partitions: {self.latest.source.problem}"
        if self.monitor.replicas is not None and not self.monitor.replicas.synced:
            return f"what other workers count was not read yet: {self.monitor.replicas.problem}"
        return None

    def run(self) -> None:
        """Run until the source ends or `stop` is called, then write a last checkpoint and close everything.

        Raises what the source, the monitor and the store raise, after the others were closed.
        """
        return_large_blocks()
        with collecting_rarely(), ExitStack() as last:
            last.callback(self.monitor.close)
            last.callback(self.alerts.close)
            last.callback(self.source.close)
            self.source.start(self.monitor)
            if self.once and (problem := self._problem()) is not None:
                raise SourceError(problem)
            self.monitor.share()
            self._polled = time.monotonic()  # alive and ready as soon as the address is reported
            self._views.first()
            self._started(self._serve(last))
            last.callback(self._settle)
            last.callback(self._views.join)
            self._views.start()
            self._loop()
        if self._views.failure is not None:
            raise self._views.failure

    def _serve(self, last: ExitStack) -> str | None:
        if self._server is None:
            return None
        last.callback(self._server.close)
        address = self._server.start()
        self._serving = self._server
        return address

    def _loop(self) -> None:
        while not self._stop.is_set():
            self._polled = time.monotonic()
            if self.source.ended:
                self.ended = True
                if not self._stay:
                    return
                self._stop.wait(POLL)
            records = [] if self.source.ended else self.source.poll(POLL)
            self._count(records)
            if not records and time.monotonic() - self._polled < NAP:  # a source that does not wait
                self._stop.wait(NAP)
            if self.once and not records and self._caught_up():
                self.ended = True
                return

    def _count(self, records: Sequence[Record]) -> None:
        """Count records, also if another process has taken over the partition of some of them."""
        if self._polled - self._asked >= REPORT:
            self._report()
            self._asked = self._polled
        while True:
            try:
                self.monitor.step(records)
                self._known = self._known or bool(records) or self._nothing_waits()
                return
            except StaleOwner as stale:
                if self.config.source.kind != "kafka":
                    raise
                LOG.warning("%s", stale)
                ours = set(self.monitor.partitions)
                records = [record for record in records if record[1] in ours]

    def _report(self) -> None:
        """Report to the monitor how the source does."""
        problem = self._problem()
        self.monitor.report_lag(None if problem is not None else self.source.lag())
        self.monitor.report_source(problem, self.ended or self.source.ended)

    def _problem(self) -> str | None:
        return getattr(self.source, "problem", None)

    def _nothing_waits(self) -> bool:
        """Tell whether no record can be expected soon."""
        now = time.monotonic()
        if self._had is None and self.monitor.partitions:
            self._had = now
        waited = now - self._began >= UNASSIGNED if self._had is None else now - self._had >= FIRST
        return waited or self._problem() is not None or self._caught_up()

    def _caught_up(self) -> bool:
        lag = self.source.lag()
        return lag is not None and not sum(lag.values())

    def _evaluable(self) -> bool:
        """Tell whether windows have what waited at the start."""
        return self._known or self.source.ended

    def _publish(self, view: View) -> None:
        if self._serving is not None:
            self._serving.publish()
        self._show(view)

    def _settle(self) -> None:
        """Evaluate the rules and make the last view if it is needed, while the partitions are still ours."""
        self._report()
        if not self.monitor.partitions and self.monitor.replicas is None:
            return
        self._views.evaluate()
        if self._last_view or self.ended:
            self._save()
            self.counts = self.monitor.counts()
            self._views.look(self._whole)

    def _save(self) -> None:
        """Write a checkpoint before what takes long, since the process may be killed meanwhile, and trends read it."""
        try:
            self.monitor.checkpoint()
        except StaleOwner:
            raise
        except StoreError as error:
            self.monitor.note_error(error, "checkpoint failed, and is tried again in the end")


@contextmanager
def stopped_by_signals(runner: Runner) -> Iterator[None]:
    """Have SIGINT and SIGTERM stop a runner; a second SIGINT raises KeyboardInterrupt. Only in the main thread."""

    def stop() -> None:
        runner.stop()
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as it is in the background of a script
            signal.signal(signal.SIGINT, signal.default_int_handler)

    with handled_signals(stop):
        yield
