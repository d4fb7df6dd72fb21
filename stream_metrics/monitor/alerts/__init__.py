"""Rules over what a view shows, the engine that evaluates them, and the sinks that report changes.

What ties them to a running monitor is in `monitor.alerting`.
"""

from __future__ import annotations

from stream_metrics.monitor.alerts.engine import Change, Engine
from stream_metrics.monitor.alerts.rules import Rule, RuleError, parse, rules_of
from stream_metrics.monitor.alerts.sinks import LogSink, Sink, Webhook

__all__ = ["Change", "Engine", "LogSink", "Rule", "RuleError", "Sink", "Webhook", "parse", "rules_of"]
