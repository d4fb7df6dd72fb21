"""Rules over what a view shows, the engine and the drift detectors that evaluate them, and where changes are sent.

Not here: the values that rules compare (`view/`), and rules for Prometheus (`serve/`).
"""

from __future__ import annotations

from stream_metrics.monitor.alerts.engine import Change, Engine
from stream_metrics.monitor.alerts.rules import Rule, RuleError, parse, rules_of

__all__ = ["Change", "Engine", "Rule", "RuleError", "parse", "rules_of"]
