"""Alert rules: a text is a rule or a RuleError that shows where; a rule written again is the same rule."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from random import Random
from typing import Any

import msgspec
from fuzz import mutation
from msgspec import structs
from support.monitor_events import CONFIG, events, offline, records

from stream_metrics.monitor import Alerts, Monitor
from stream_metrics.monitor.alerts.rules import CLASS, METRICS, OPERATION, WINDOW, RuleError, parse

COVERED = ("stream_metrics.monitor.alerts", "stream_metrics.inputs.times")
SEEDS = [
    "balanced_accuracy[1h] < 0.8 for 5m",
    "max_gap(recall, country)[4h] > 0.1",
    'recall["cat"][1h] <= .7 with n >= 100',
    "accuracy < 0.8 until > 0.82 with n >= 100 for 1h30m",
    "lag >= 1e4",
    "log_loss > 0.5",
    'roc_auc["dog"][total] < 0.9 for 0',
    "coverage[1h] < 0.9 until >= 0.95",
    "delay_p90[1h] > 3600",
    "rejected > 0",
    'changed(recall["cat"]) arl=10000',
    "changed(accuracy) arl=1000 p0=0.1 direction=both",
    'changed(npv["int(1)"]) reference=50 direction=better arl=9',
]
SIGNS = ["<", "<=", ">", ">=", "[", "]", "(", ")", ",", '"', "=", " ", "for", "until", "with", "changed"]
PARTS = ["1h", "4h", "2h", "total", "0", "30s", "1h30m", "1.5d", "1x", "9999d", '"cat"', '"c\\"at"', '"\\ud800"']
NUMBERS = ["0.8", "-1", "+.5", "1e4", "1e-400", "1e999", "5.", "-0", "1" * 400, "0x1", "1_0", "٣", "arl=5", "p0=0.1"]
NUMBERS += ["reference=10", "direction=worse", "arl=100000000000000", "reference=1000000000"]
OTHERS = ["p0=1e-9", "n >= 5", "n >= 99999999999999999999", "max_gap", '""', '"\\q"']
WORDS = [word.encode() for word in [*SIGNS, *PARTS, *NUMBERS, *OTHERS, *METRICS, *CLASS, *WINDOW, *OPERATION]]
CONFIGS = [
    structs.replace(CONFIG, counting=counting, store=type(CONFIG.store)())
    for counting in (CONFIG.counting, structs.replace(CONFIG.counting, windows=()))
]


def seeds() -> list[bytes]:
    """Return a rule of every kind."""
    return [text.encode() for text in SEEDS]


def mutate(data: bytes, chance: Random, raw: mutation.Raw) -> bytes:
    """Return another text: mostly with words changed, sometimes bytes."""
    return raw(data, chance) if chance.random() < 0.1 else mutation.change_words(data, chance, WORDS)


def check(data: bytes) -> str:
    """Read a rule, write it again, and evaluate it; return what kind of rule it is, or why it is none."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        rule = parse(text)
    except RuleError as error:
        _check_error(error)
        return re.sub(r"'.*|got .*|\d+", "", error.message, flags=re.DOTALL)
    assert rule.text == text.strip()
    assert parse(rule.text) == rule
    again = parse(written(rule))
    assert dataclasses.replace(again, text=rule.text) == rule, f"{written(rule)!r} is another rule"
    for config in CONFIGS:
        asked = structs.replace(config, alerts=structs.replace(config.alerts, rules=(text, text), defaults=False))
        try:
            alerts, view = Alerts(asked, Monitor(asked)), _view()
        except RuleError as error:
            _check_error(error)
            continue
        alerts.see(view)
        (alert,) = view.alerts  # a rule that is given twice counts as one
        assert alert.rule == rule.text
        json.dumps(msgspec.to_builtins(alert), allow_nan=False).encode()
    return "taken: " + re.sub(r"[-+.\w]*\d[-+.\w]*|\"[^\"]*\"", "#", written(rule))


def _check_error(error: RuleError) -> None:
    """The error has three lines, of which the last points into the rule."""
    lines = str(error).split("\n")
    assert len(lines) == 3, lines
    assert 0 <= error.at <= len(error.text), error.at
    assert lines[2] == "  " + " " * error.at + "^"
    str(error).encode()


@functools.cache
def _view() -> Any:
    """Return the view of a monitor that has counted something."""
    return offline(records(events(100))).view()


def written(rule: Any) -> str:
    """Return a rule as text, made of what it means."""
    if hasattr(rule, "arl"):
        normal = f"reference={rule.reference}" if rule.p0 is None else f"p0={rule.p0!r}"
        value = rule.value.name + _quoted(rule.value.label)
        return f"changed({value}) arl={rule.arl} {normal} direction={rule.direction}"
    until = "" if rule.until is None else f" until {_comparison(rule.until)}"
    least = f" with n >= {rule.least}" if rule.least else ""
    value = rule.value
    name = f"max_gap({value.name}, groups)" if value.gap else value.name + _quoted(value.label)
    window = "" if value.window is None else f"[{value.window}]"
    return f"{name}{window} {_comparison(rule.broken)} for {round(rule.hold * 1e9)}ns{until}{least}"


def _quoted(label: str | None) -> str:
    return "" if label is None else f"[{json.dumps(label)}]"


def _comparison(comparison: Any) -> str:
    return f"{comparison.sign} {comparison.number!r}"
