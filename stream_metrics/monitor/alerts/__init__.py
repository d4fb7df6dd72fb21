"""Rules over what a view shows, the engine and the drift detectors that evaluate them, and sinks that report changes.

Not here: the values that rules compare (`view/`), and rules for Prometheus (`serve/`).
"""

from __future__ import annotations

from stream_metrics.monitor.alerts.engine import Change, Engine
from stream_metrics.monitor.alerts.rule_reading import parse, rules_of
from stream_metrics.monitor.alerts.rules import Rule, RuleError
from stream_metrics.monitor.alerts.sinks import LogSink, Sink, Webhook

__all__ = ["Change", "Engine", "LogSink", "Rule", "RuleError", "Sink", "Webhook", "parse", "rules_of"]
