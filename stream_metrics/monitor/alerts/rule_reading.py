"""Alert rules as text, read into what they mean.

    VALUE < 0.8 [for 5m] [until > 0.82] [with n >= 100]

`values` lists what a VALUE may be; comparisons are <, <=, > and >=. A rule is broken while its comparison is true. It
fires once it has been broken for as long as `for` says. It ends when `until` is true, which may be nowhere where the
rule is broken; without `until`, once it has not been broken for as long as `for` says: so a value that swings around
the threshold faster than that neither fires nor ends. A value that is not known, or of fewer samples than `with n >=`
asks for, changes nothing: what fires goes on firing, and time does not count.

    changed(recall["cat"]) arl=10000 [reference=1000 | p0=0.1] [direction=worse]

asks for a detector of changes (`alerts.drift`, `states.detector`) of accuracy, or of the recall, precision,
specificity or npv of a class. `arl` is the mean number of outcomes between two false alarms, of all partitions
together; an outcome of the recall of cats is a cat. As this is a mean, a false alarm within the first `arl` outcomes
has a probability of about one half; within the first n it has at most n / `arl`. Each rule counts by itself: of R rules
with one `arl`, the first false alarm of any may come R times as soon, so ask each for R times as much. What is normal
is learned from the first `reference` outcomes of each partition and, until an alarm, from all later ones, or `p0` says
it: the rate of errors, 1 less that of the rule. `direction` is worse (the
default), better or both. The rule fires at the alarm. It holds until `reference` outcomes (1000 beside `p0`) have come
to that partition without another one, from which the new level was learned meanwhile, unless `p0` stays. Its value is
the evidence, which raises the alarm where it reaches `arl`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from stream_metrics.inputs.times import parse_duration
from stream_metrics.monitor.alerts.rules import Changed, NumberComparison, Rule, RuleError
from stream_metrics.monitor.alerts.values import CLASS, METRICS, OPERATION, TOTAL, WINDOW, Value, suggestion
from stream_metrics.monitor.config import CountingTable

__all__ = ["parse", "rules_of"]

NAME, TEXT, NUMBER = r"[A-Za-z_]\w*", r'"(?:[^"\\]|\\.)*"', r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])"
LENGTH, WHOLE = r"\d[\w.]*", r"\d+(?![\w.])"
RATES = ("accuracy", "recall", "precision", "specificity", "npv")
OPTIONS: dict[str, tuple[str, Any, Any, Any, str]] = {  # pattern, type, least, most, and what it is
    "arl": (WHOLE, int, 2, 10**14, "a whole number of outcomes above 1, such as 10000"),
    "p0": (NUMBER, float, 1e-9, 1 - 1e-9, "a rate of errors between 0 and 1, such as 0.1"),
    "reference": (WHOLE, int, 1, 10**9, "a whole number of outcomes above 0, such as 1000"),
    "direction": ("(?:worse|better|both)(?!\\w)", str, None, None, "worse, better or both"),
}
LONGEST = 500


def rules_of(texts: Sequence[str], counting: CountingTable) -> list[Rule | Changed]:
    """Return the rules that a configuration names, in order, each once; ``RuleError`` for one that cannot be read.

    What a rule names must be counted: its window, and scores if its metric is one of scores.
    """
    rules: dict[str, Rule | Changed] = {}
    for text in texts:
        rule = parse(text)
        _check(rule, counting)
        rules[rule.text] = rule
    return list(rules.values())


def _check(rule: Rule | Changed, counting: CountingTable) -> None:
    value, text = rule.value, rule.text
    windows = [TOTAL, *counting.windows]
    if value.window is not None and value.window not in windows:
        message = f"Expected a window that is counted, {windows}, but got {value.window!r}"
        raise RuleError(message, text, text.find(f"[{value.window}]") + 1)
    row = METRICS.get(value.name)
    of_scores = value.name == "roc_auc" if value.label is not None else row is not None and row.state != "counts"
    if of_scores and counting.scores is False:
        raise RuleError(f"Expected `scores` to be counted, which {value.name} needs", text, text.find(value.name))


def parse(text: str) -> Rule | Changed:
    """Return what a rule means; ``RuleError``, a ValueError, shows where it cannot be read."""
    text = text.strip()
    if len(text) > LONGEST:
        raise RuleError(f"Expected a rule of at most {LONGEST} characters, but got {len(text)}", text[:60] + " ...", 0)
    reader = _Reader(text)
    if reader.skip(r"changed\s*\("):
        value = reader.rate()
        reader.need(r"\)", "a ) after the value")
        rule: Rule | Changed = Changed(text, value, **reader.options())
    else:
        value = reader.value()
        broken = reader.comparison()
        rule = Rule(text, value, broken, **reader.clauses(value, broken))
    if not reader.ended:
        more = "for, until or with" if isinstance(rule, Rule) else ", ".join(OPTIONS)
        reader.fail(f"Expected the rule to end here, or {more}")
    return rule


class _Reader:
    """Reads one text from the left to the right."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    @property
    def ended(self) -> bool:
        """Whether nothing is left."""
        return not self._text[self._at :].strip()

    def skip(self, pattern: str) -> str | None:
        """Return what matches here, after blanks, and go on after it; None if nothing does."""
        self._at += len(self._text[self._at :]) - len(self._text[self._at :].lstrip())
        match = re.compile(pattern).match(self._text, self._at)
        if match is None:
            return None
        self._at = match.end()
        return match[0]

    def need(self, pattern: str, what: str) -> str:
        """Return what matches here."""
        token = self.skip(pattern)
        if token is None:
            self.fail(f"Expected {what}")
        return token

    def here(self) -> int:
        """Return where the next word begins."""
        self.skip("")
        return self._at

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        """Say what is wrong, and where."""
        at = self._at if at is None else at
        rest = self._text[at:].split(" ")[0]
        raise RuleError(f"{message}, but got {repr(rest) if rest else 'the end'}", self._text, at)

    def value(self) -> Value:
        """Read a value."""
        if self.skip(r"max_gap\s*\("):
            name, _ = self._name([*METRICS])
            self.need(",", "a comma and what the groups are")
            self.need(NAME, "the name of a metric of groups")
            self.need(r"\)", "a ) after the groups")
            return Value(name, None, self._window() or TOTAL, gap=True)
        name, _ = self._name([*METRICS, *CLASS, *WINDOW, *OPERATION])
        label = self._label() if name in CLASS else None
        if label is None and name in CLASS and name not in METRICS:
            self.fail(f'Expected a class after {name}, as in {name}["cat"]')
        after = self._at
        window = self._window()
        if window is not None and name in OPERATION and label is None:
            self.fail(f"Expected no window, since {name} is of the whole process", after)
        return Value(name, label, window if name in OPERATION else window or TOTAL)

    def _name(self, names: list[str]) -> tuple[str, int]:
        at = self.here()
        name = self.need(NAME, "the name of a value, such as accuracy[1h]")
        if name not in names:
            raise RuleError(f"Expected the name of a value, but got {name!r}{suggestion(name, names)}", self._text, at)
        return name, at

    def _label(self) -> str | None:
        before = self._at
        if self.skip(r"\[") is None:
            return None
        text = self.skip(TEXT)
        if text is None:
            self._at = before
            return None
        try:
            label = str(json.loads(text))
        except ValueError:
            self.fail("Expected a class in double quotes, written as in JSON", self._at - len(text))
        self.need(r"\]", "a ] after the class")
        return label

    def _window(self) -> str | None:
        if self.skip(r"\[") is None:
            return None
        at = self.here()
        window = self.need(r"[^\[\]\s\"]+", 'a window, such as 1h, or a class of a metric that has them, such as "cat"')
        if window != TOTAL:
            self._length(window, at)
        self.need(r"\]", "a ] after the window")
        return window

    def _length(self, text: str, at: int) -> float:
        try:
            return parse_duration(text, "for", zero=True) / 1e9 if text != "0" else 0.0
        except ValueError:
            self.fail("Expected a length of time, such as 30s, 5m or 1h", at)

    def rate(self) -> Value:
        """Read a rate that can be watched."""
        name, _ = self._name([*RATES])
        label = self._label()
        if label is None and name != "accuracy":
            self.fail(f'Expected a class after {name}, as in {name}["cat"]')
        if (label is not None and name == "accuracy") or self.skip(r"(?=\[)") is not None:
            self.fail("Expected no class of accuracy, and no window, since changes are looked for outcome by outcome")
        return Value(name, label, TOTAL)

    def options(self) -> dict[str, Any]:
        """Read arl, p0, reference and direction, each at most once; arl is needed."""
        options: dict[str, Any] = {}
        while (name := self.skip(rf"(?:{'|'.join(OPTIONS)})(?!\w)")) is not None:
            if name in options:
                self.fail(f"Expected {name} only once", self._at - len(name))
            if {name, *options} >= {"p0", "reference"}:
                self.fail("Expected either p0 or reference", self._at - len(name))
            self.need("=", f"= after {name}")
            at, (pattern, convert, least, most, what) = self.here(), OPTIONS[name]
            options[name] = convert(self.need(pattern, what))
            if least is not None and not least <= options[name] <= most:
                self.fail(f"Expected {what}", at)
        if "arl" not in options:
            self.fail("Expected arl=NUMBER after changed(...)")
        return options

    def comparison(self) -> NumberComparison:
        """Read a sign and a number."""
        sign, at = self.need("<=|>=|<|>", "a comparison (<, <=, > or >=)"), self.here()
        number = float(self.need(NUMBER, "a number"))
        if math.isinf(number):
            self.fail("Expected a number that a double can hold", at)
        return NumberComparison(sign, number)

    def clauses(self, value: Value, broken: NumberComparison) -> dict[str, Any]:
        """Read for, until and with, each at most once."""
        clauses: dict[str, Any] = {}
        while (word := self.skip(r"(?:for|until|with)(?!\w)")) is not None:
            key, start = {"for": "hold", "until": "until", "with": "least"}[word], self._at - len(word)
            if key in clauses:
                self.fail(f"Expected {word} only once", start)
            at = self.here()
            if word == "for":
                clauses[key] = self._length(self.need(LENGTH, "a length of time, such as 5m"), at)
            elif word == "until":
                clauses[key] = self.comparison()
                if broken.meets(clauses[key]):
                    raise RuleError("Expected until to be false wherever the rule is broken", self._text, at)
            else:
                if value.window is None:
                    self.fail(f"Expected no number of samples, since {value.name} has none", start)
                self.need("n", "n >= NUMBER after with")
                self.need(">=", "n >= NUMBER after with")
                clauses[key] = int(self.need(WHOLE, "a whole number"))
        return clauses
