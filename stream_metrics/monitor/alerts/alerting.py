"""Alert rules over views, stored with the checkpoints of a monitor, and sent to where the configuration says.

    alerts = Alerts(config, monitor)     # continues from the checkpoint
    alerts.look()                        # in the thread that makes views

A change is sent when it is seen. The state of rules is in the next checkpoint, so a rule goes on firing after a restart
without another message, unless the process ends between the two.

Workers that share a store all evaluate the rules, and the one that leads sends. A worker that begins to lead also sends
the last change of each rule that no worker has stored. So a change is sent even if it happened while no worker led.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from stream_metrics.monitor.alerts.delivery import Alertmanager, Webhook, log_change
from stream_metrics.monitor.alerts.engine import FIRING, Change, Engine, Firings
from stream_metrics.monitor.alerts.rules import DEFAULTS, parse, rules_of
from stream_metrics.monitor.config import Config
from stream_metrics.monitor.view.types import View
from stream_metrics.wire import decoded

if TYPE_CHECKING:
    from stream_metrics.monitor.monitor import Monitor


PARTING = 5.0  # seconds that posts have at the end


class Alerts:
    """The rules of a configuration over the views of a monitor; ``RuleError`` for a rule that cannot be read.

    Changes are sent to the log, the webhook and Alertmanager, as the configuration says.
    """

    def __init__(self, config: Config, monitor: Monitor) -> None:
        defaults = [parse(text) for text in DEFAULTS] if config.alerts.defaults else []
        self.engine = Engine(rules_of(config.alerts.rules, config.counting), config.counting.title, defaults)
        self._monitor, told = monitor, config.alerts
        self._lock = threading.Lock()
        self._log = told.log
        self._webhook = Webhook(told.webhook, told.authorization) if told.webhook else None
        self._alertmanager = Alertmanager(told.alertmanager, config.counting.title) if told.alertmanager else None
        self._sinks = [each for each in (self._webhook, self._alertmanager) if each is not None]
        self._unsent: dict[str, Change] = {}  # the last change of each rule since this worker led
        self._firings = Firings()
        stored = monitor.attach("alerts", self._checkpoint_data)
        if stored is not None:
            self.engine.restore(stored["rules"])
            self._firings.restore(stored.get("firings", ()))
            self._firings.end_all_but(self.engine.firing, monitor.clock())
        self._needs = self.engine.needs
        monitor.add_metrics(self.engine.metrics)
        self._show(View())

    def look(self) -> list[Change]:
        """Evaluate the rules now, over as much of a view as they need, and return what changed."""
        return self.see(self._monitor.rule_view(self._needs))

    def see(self, view: View) -> list[Change]:
        """Evaluate the rules over a view, put their states into it, and return what changed."""
        with self._lock:
            changes = self.engine.evaluate(view, view.now)
            self._firings.note(changes)
        if self._monitor.leads():
            self._tell([*self._missed(), *changes], view.now)
            self._unsent.clear()
        else:
            self._unsent |= {change.rule: change for change in changes}
            if self._alertmanager is not None:
                self._alertmanager.forget()
        self._show(view)
        return changes

    def _missed(self) -> list[Change]:
        """Return the changes that no worker has stored since this one led, and so perhaps none has sent."""
        replicas = self._monitor.replicas
        note = replicas.note("alerts") if self._unsent and replicas is not None else None
        rules = {} if note is None else decoded(note)["rules"]
        firing = {rule for rule, (state, *_) in rules.items() if state == FIRING}
        return [change for change in self._unsent.values() if (change.rule in firing) != (change.state == FIRING)]

    def _tell(self, changes: list[Change], now: float) -> None:
        if self._log:
            for change in changes:
                log_change(change)
        if self._webhook is not None:
            self._webhook.tell(changes)
        if self._alertmanager is not None:
            self._alertmanager.tell(self._firings.rows, bool(changes), now)

    def _show(self, view: View) -> None:
        view.alerts = self.engine.shown()
        view.undelivered = [row for each in self._sinks for row in each.undelivered()]
        view.delivery_failures = sum(each.failures for each in self._sinks)
        self._monitor.show_alerts(view.alerts, view.undelivered, view.delivery_failures, self._firings.rows)

    def _checkpoint_data(self) -> dict[str, object]:
        with self._lock:
            firings = self._firings.to_data()
            return {"rules": self.engine.state(), **({"firings": firings} if firings else {})}

    def close(self) -> None:
        """Send what can be sent within a few seconds."""
        for each in self._sinks:
            each.poster.stop()
        until = time.monotonic() + PARTING
        for each in self._sinks:
            each.poster.join(until)
