"""Alert rules over views, stored with the checkpoints of a monitor, and sent to where the configuration says.

    alerts = Alerts(config, monitor)     # continues from the checkpoint
    alerts.look()                        # in the thread that makes views

A change is sent when it is seen. The state of rules is in the next checkpoint, so a rule goes on firing after a restart
without another message, unless the process ends between the two.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from stream_metrics.monitor.alerts.delivery import Alertmanager, Webhook, log_change
from stream_metrics.monitor.alerts.engine import Change, Engine
from stream_metrics.monitor.alerts.firings import Firings
from stream_metrics.monitor.alerts.rule_reading import parse, rules_of
from stream_metrics.monitor.alerts.rules import DEFAULTS
from stream_metrics.monitor.config import Config
from stream_metrics.monitor.view.types import View

if TYPE_CHECKING:
    from stream_metrics.monitor.monitor import Monitor

__all__ = ["Alerts"]


class Alerts:
    """The rules of a configuration over the views of a monitor; ``RuleError`` for a rule that cannot be read.

    What a configuration of alerts names is told of changes: the log, a webhook, and Alertmanager.
    """

    def __init__(self, config: Config, monitor: Monitor) -> None:
        defaults = [parse(text) for text in DEFAULTS] if config.alerts.defaults else []
        self.engine = Engine(rules_of(config.alerts.rules, config.counting), config.counting.title, defaults)
        self._monitor, told = monitor, config.alerts
        self._lock = threading.Lock()
        self._log = told.log
        self._webhook = Webhook(told.webhook, told.authorization) if told.webhook else None
        self._alertmanager = Alertmanager(told.alertmanager, config.counting.title) if told.alertmanager else None
        self._firings = Firings()
        stored = monitor.attach("alerts", self._checkpoint_data)
        if stored is not None:
            self.engine.restore(stored["rules"])
            self._firings.restore(stored.get("firings", ()))
        self._needs = self.engine.needs
        monitor.add_metrics(self.engine.metrics)
        self._show(View())

    def look(self) -> list[Change]:
        """Evaluate the rules now, over as much of a view as they need, and return what changed."""
        return self.see(self._monitor.rule_view(self._needs))

    def see(self, view: View) -> list[Change]:
        """Evaluate the rules over a view, put their states into it, and return what changed.

        Of workers that share a store, the one that leads sends what changed.
        """
        with self._lock:
            changes = self.engine.evaluate(view, view.now)
            self._firings.note(changes)
        if self._monitor.leads():
            self._tell(changes, view.now)
        self._show(view)
        return changes

    def _tell(self, changes: list[Change], now: float) -> None:
        if self._log:
            for change in changes:
                log_change(change)
        if self._webhook is not None:
            self._webhook.tell(changes)
        if self._alertmanager is not None:
            self._alertmanager.tell(self._firings.rows, bool(changes), now)

    def _show(self, view: View) -> None:
        sinks = [each for each in (self._webhook, self._alertmanager) if each is not None]
        view.alerts = self.engine.shown()
        view.undelivered = [row for each in sinks for row in each.undelivered()]
        view.delivery_failures = sum(each.failures for each in sinks)
        self._monitor.show_alerts(view.alerts, view.undelivered, view.delivery_failures, self._firings.rows)

    def _checkpoint_data(self) -> dict[str, object]:
        with self._lock:
            firings = self._firings.to_data()
            return {"rules": self.engine.state(), **({"firings": firings} if firings else {})}

    def close(self) -> None:
        """Send what can be sent quickly."""
        for each in (self._webhook, self._alertmanager):
            if each is not None:
                each.close()
