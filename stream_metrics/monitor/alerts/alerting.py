"""Alert rules over views, and the sinks that alerts are sent to.

    alerts = Alerts(config, monitor)     # continues from the checkpoint
    alerts.look()                        # in the thread that makes views
    alerts.settle()                      # in the thread of the monitor, often

The two threads may be different ones.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from stream_metrics.inputs.times import parse_duration
from stream_metrics.monitor.alerts.engine import Change, Engine
from stream_metrics.monitor.alerts.firings import Firings
from stream_metrics.monitor.alerts.rule_reading import parse, rules_of
from stream_metrics.monitor.alerts.rules import DEFAULTS
from stream_metrics.monitor.alerts.sinks import LogSink, Sink, Webhook
from stream_metrics.monitor.config import Config
from stream_metrics.monitor.store import StaleOwner, StoreError
from stream_metrics.monitor.view.types import Undelivered, View
from stream_metrics.wire import decoded

if TYPE_CHECKING:
    from stream_metrics.monitor.monitor import Monitor

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
        self._followed: bytes | None = None  # the note of the worker that evaluates, as it was followed last
        for sink in self._sinks.values():
            sink.outbox.may = lambda: monitor.may_tell
        self._firings = Firings()
        stored = monitor.attach("alerts", self._checkpoint_data, self._restore)
        if stored is not None:
            self._restore(stored)
        self._needs = self.engine.needs
        monitor.add_metrics(self.engine.metrics)
        monitor.show_alerts(self.engine.shown(), self._undelivered(), self._firings.rows)

    def _restore(self, stored: Any) -> None:
        """Go on from what was stored, None for nothing."""
        rules, outboxes = ({}, {}) if stored is None else (stored["rules"], stored["outboxes"])
        with self._lock:
            self.engine.reset()
            self.engine.restore(rules)
            self._firings.restore(() if stored is None else stored.get("firings", ()))
            for name, sink in self._sinks.items():
                sink.outbox.restore(outboxes.get(name, ()))
            self._sent = self._seen  # what was seen but not stored is seen again

    def _follow(self, view: View) -> list[Change]:
        """Show the states of rules that another worker evaluates, with the values of this view."""
        note = self._monitor.note("alerts")
        if note is not None and note != self._followed:
            self._restore(decoded(note))
            self._followed = note
        with self._lock:
            self.engine.follow(view)
        view.alerts, view.undelivered = self.engine.shown(), self._undelivered()
        self._monitor.show_alerts(view.alerts, view.undelivered, self._firings.rows)
        return []

    def start(self) -> None:
        """Start the sinks."""
        for sink in self._sinks.values():
            sink.start()

    def look(self) -> list[Change]:
        """Evaluate the rules now, over as much of a view as they need, and return what changed."""
        return self.see(self._monitor.rule_view(self._needs))

    def see(self, view: View) -> list[Change]:
        """Evaluate the rules over a view, put their states into it, and return what changed.

        Of workers that share a store one does so; the others show what it stores.
        """
        if not self._monitor.leads():
            return self._follow(view)
        with self._lock:
            changes = self.engine.evaluate(view, view.now)
            self._firings.note(changes)
            for sink in self._sinks.values():
                sink.outbox.add(changes)
            self._seen += len(changes)
        view.alerts, view.undelivered = self.engine.shown(), self._undelivered()
        self._monitor.show_alerts(view.alerts, view.undelivered, self._firings.rows)
        return changes

    def _undelivered(self) -> list[Undelivered]:
        return [each for sink in self._sinks.values() for each in sink.outbox.undelivered()]

    def settle(self) -> None:
        """Store changes of alerts in a checkpoint and send them; only for the thread of the monitor.

        The checkpoints that this makes take at most a tenth of the time, however often rules change.
        """
        for sink in self._sinks.values():
            if len(sink.outbox):
                sink.tell()  # what was left by who evaluated before
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
            if not self._monitor.alone:
                return
            self._monitor.note_error(error, "alerts are sent without a checkpoint that has them")
        if not self._monitor.may_tell:
            return
        self._sent, self._settled = seen, time.monotonic()
        for mark, sink in zip(marks, self._sinks.values(), strict=True):
            sink.outbox.release(mark)
            sink.tell()

    def _checkpoint_data(self) -> dict[str, object]:
        with self._lock:
            outboxes = {name: sink.outbox.state() for name, sink in self._sinks.items()}
            firings = self._firings.to_data()
            return {"rules": self.engine.state(), "outboxes": outboxes, **({"firings": firings} if firings else {})}

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
