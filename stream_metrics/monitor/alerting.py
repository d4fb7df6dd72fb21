"""Alert rules over views, and the sinks that alerts are sent to.

    alerts = Alerts(config, monitor)     # continues from the checkpoint
    alerts.see(view)                     # in the thread that makes views
    alerts.settle()                      # in the thread of the monitor, often

The two threads may be different ones.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping

from stream_metrics.inputs.times import parse_duration
from stream_metrics.monitor.alerts.engine import Change, Engine
from stream_metrics.monitor.alerts.rules import DEFAULTS, parse, rules_of
from stream_metrics.monitor.alerts.sinks import LogSink, Sink, Webhook
from stream_metrics.monitor.config import Config
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.store import StaleOwner, StoreError
from stream_metrics.monitor.view_types import Undelivered, View

__all__ = ["Alerts"]

SHARE = 9  # a checkpoint for the sake of alerts, and nine times as long without one


class Alerts:
    """The rules of a configuration over the views of a monitor, sent to sinks and stored with its checkpoints.

    ``RuleError`` for a rule that cannot be read.
    """

    def __init__(self, config: Config, monitor: Monitor, sinks: Mapping[str, Sink] | None = None) -> None:
        defaults = [parse(text) for text in DEFAULTS] if config.alerts.defaults else []
        self.engine = Engine(rules_of(config.alerts.rules, config.counting), config.counting.title, defaults)
        self._sinks = dict(_sinks(config) if sinks is None else sinks)
        self._monitor = monitor
        self._lock = threading.Lock()
        self._sent, self._settled = 0, -math.inf
        self._seen = 0
        stored = monitor.attach("alerts", self._checkpoint_data)
        if stored is not None:
            self.engine.restore(stored["rules"])
            for name, sink in self._sinks.items():
                sink.outbox.restore(stored["outboxes"].get(name, ()))
        monitor.add_metrics(self.engine.metrics)
        monitor.show_alerts(self.engine.shown(), self._undelivered())

    def start(self) -> None:
        """Start the sinks."""
        for sink in self._sinks.values():
            sink.start()

    def see(self, view: View) -> list[Change]:
        """Evaluate the rules over a view, put their states into it, and return what changed."""
        with self._lock:
            changes = self.engine.evaluate(view, view.now)
            for sink in self._sinks.values():
                sink.outbox.add(changes)
            self._seen += len(changes)
        view.alerts, view.undelivered = self.engine.shown(), self._undelivered()
        self._monitor.show_alerts(view.alerts, view.undelivered)
        return changes

    def _undelivered(self) -> list[Undelivered]:
        return [each for sink in self._sinks.values() for each in sink.outbox.undelivered()]

    def settle(self) -> None:
        """Store changes of alerts in a checkpoint and send them; only for the thread of the monitor.

        The checkpoints that this makes take at most a tenth of the time, however often rules change.
        """
        if time.monotonic() - self._settled >= SHARE * self._monitor.checkpoint_seconds:
            self._settle()

    def _settle(self) -> None:
        with self._lock:
            seen, marks = self._seen, [sink.outbox.mark() for sink in self._sinks.values()]
        if seen == self._sent:
            return
        try:
            if self._monitor.store is not None:
                self._monitor.checkpoint()
        except StaleOwner:
            raise
        except StoreError as error:
            self._monitor.note_error(error, "alerts are sent without a checkpoint that has them")
        self._sent, self._settled = seen, time.monotonic()
        for mark, sink in zip(marks, self._sinks.values(), strict=True):
            sink.outbox.release(mark)
            sink.tell()

    def _checkpoint_data(self) -> dict[str, object]:
        with self._lock:
            outboxes = {name: sink.outbox.state() for name, sink in self._sinks.items()}
            return {"rules": self.engine.state(), "outboxes": outboxes}

    def close(self) -> None:
        """Send what can be sent quickly; the next process sends the rest."""
        self._settle()
        for sink in self._sinks.values():
            sink.close()


def _sinks(config: Config) -> dict[str, Sink]:
    sinks: dict[str, Sink] = {"log": LogSink()} if config.alerts.log else {}
    if config.alerts.webhook:
        lasting = parse_duration(config.alerts.retry, "retry") / 1e9
        sinks["webhook"] = Webhook(config.alerts.webhook, config.alerts.authorization, lasting)
    return sinks
