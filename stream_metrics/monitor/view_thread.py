"""The thread that evaluates rules and makes views while another one counts.

It does so four times a second, once a second while nothing is read, and less often where that would take more than a
tenth of the time, measured as the processor time of that thread: what a view costs grows with the classes and groups,
and counting waits meanwhile. Rules need a small part of a view, so they do not wait for the next one.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from stream_metrics.monitor.alerts.alerting import Alerts
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.view.cutting import ViewCut, cut_if
from stream_metrics.monitor.view.types import View

__all__ = ["ViewThread"]

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
