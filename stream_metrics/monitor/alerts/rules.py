"""Alert rules: the value that a rule compares, what the rule means, and how it is read from text.

A value is one number of a view, with the number of samples that it is of:

    balanced_accuracy[1h]          a metric of a window; without one, of the total
    recall["cat"][1h]              of a class: precision, recall, f1, roc_auc, support or predicted
    max_gap(recall, country)[1d]   the largest difference between two groups of 30 samples, or `with n >=` as many, and
                                   more; means are over the classes of a group; the second name is for the reader
    n[1h]  abstained[1h]  classes_folded[1h]  coverage[1h]  delay_p50[1h]  delay_p90[1h]  delay_p99[1h]
    source_up  silence  lag  lag_seconds  checkpoint_age  rejected  unreadable  incomplete  pending  records_per_second
    expired_early  forgotten  corrections_refused  labels_unmatched  rejected_share  rejected_decode (or another
    reason: field, time, label, score, weight, other)  mismatched_labels

`precision`, `recall` and `f1` without a class are the mean over classes (`macro_recall`). A number that is not known,
or 0/0, is None.

`source_up` is 1, or 0 while the source cannot be read or gives no partitions; `silence` is for how many seconds no
event has come, whatever its time; `lag_seconds` is how old the newest event is by its own time. While the source cannot
be read, `lag` is not known. `unreadable` is the number of partitions of which no record was an event so far,
`incomplete` the number of reasons why counts lack records. `expired_early` are predictions that were given up because
more than `max_pending` waited, `forgotten` ids beyond `max_ids`. `rejected_share` is of the last 5 minutes, or of the
last 1,000 records if these took longer. `mismatched_labels` is 1 if true labels and predictions of the first window
that has samples seem to be written differently, 1 and "1", else 0. `classes_folded` are samples with a class beyond
`max_classes`.

A rule is written as

    VALUE < 0.8 [for 5m] [until > 0.82] [with n >= 100]

Comparisons are <, <=, > and >=. A rule is broken while its comparison is true. It
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

import difflib
import json
import math
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

from stream_metrics.catalog.table import CATALOG
from stream_metrics.errors import StreamMetricsError
from stream_metrics.inputs.times import parse_duration
from stream_metrics.monitor.config import CountingTable
from stream_metrics.monitor.events.records import REASONS
from stream_metrics.monitor.view.types import GAP_SAMPLES, GroupRow, View, WindowView

TOTAL = "total"
CLASS = ("precision", "recall", "f1", "roc_auc", "support", "predicted")
MEANS = {"precision": "macro_precision", "recall": "macro_recall", "f1": "macro_f1"}
METRICS = {row.key: row for row in CATALOG.values() if row.kind == "whole"}
METRICS |= {name: CATALOG[mean] for name, mean in MEANS.items()}
DELAYS = {"delay_p50": "p50", "delay_p90": "p90", "delay_p99": "p99"}
WINDOW = ("n", "abstained", "classes_folded", "coverage", *DELAYS)


def _rejected(reason: str, view: View) -> int:
    return view.records.rejected.get(reason, 0)


def _mismatched(view: View) -> int:
    names = [name for name in view.windows if name != TOTAL and view.by_window[name].n] or [TOTAL]
    part = view.by_window.get(names[0])
    return int(part is not None and bool(part.mismatch))


OPERATION: dict[str, Callable[[View], float | None]] = {
    "source_up": lambda view: int(view.source.up),
    "silence": lambda view: view.source.silence,
    "lag": lambda view: view.lag.records,
    "lag_seconds": lambda view: view.lag.seconds,
    "checkpoint_age": lambda view: view.checkpoint.age,
    "rejected": lambda view: sum(view.records.rejected.values()),
    "unreadable": lambda view: len(view.unreadable),
    "incomplete": lambda view: len(view.incomplete),
    "pending": lambda view: view.join.pending,
    "records_per_second": lambda view: view.records.per_second,
    "expired_early": lambda view: view.join.expired_early,
    "forgotten": lambda view: view.join.forgotten,
    "corrections_refused": lambda view: view.join.corrections_refused,
    "alerts_undelivered": lambda view: len(view.undelivered),
    "labels_unmatched": lambda view: view.join.labels_unmatched,
    "rejected_share": lambda view: view.records.rejected_share,
    **{f"rejected_{reason}": partial(_rejected, reason) for reason in REASONS},
    "mismatched_labels": _mismatched,
}


@dataclass(frozen=True)
class Value:
    """One number: `label` is of a class, as the page shows it; `window` None of the process."""

    name: str
    label: str | None = None
    window: str | None = None
    gap: bool = False

    @property
    def metric(self) -> str | None:
        """The key of the metric that a view must hold, or None if it holds the value anyway."""
        return METRICS[self.name].key if self.label is None and self.name in METRICS else None

    def read(self, view: View, least: int = 0) -> float | None:
        """Return the number; None if it is not known, or of fewer than `least` samples.

        The samples of a class are those that are truly of it; of groups, only those with enough are compared, by
        default 30.
        """
        if self.window is None:
            return OPERATION[self.name](view)
        part = view.by_window.get(self.window)
        if part is None:
            return None
        if self.gap:
            return self._gap(part.groups.rows, least)
        value, samples = self._of_class(part) if self.label is not None else self._of_window(part)
        return value if samples >= least else None

    def why_unknown(self, view: View, least: int = 0) -> str:
        """Return in words why `read` returns None."""
        part = view.by_window.get(self.window or "")
        if part is None:
            return "not known yet" if view.source.up else "the source cannot be read"
        if self.gap:
            enough = sum(row.n >= (least or GAP_SAMPLES) for row in part.groups.rows)
            return f"{enough} of the two groups that a gap needs have samples enough"
        if self.label is not None and all(row.label != self.label for row in part.classes):
            return f"no class {self.label!r} so far"
        samples = (self._of_class(part) if self.label is not None else self._of_window(part))[1]
        if samples < max(least, 1):
            return f"{samples:,.12g} of {least:,} samples" if least > 1 else "no samples"
        return "undefined, 0/0"

    def _of_class(self, part: WindowView) -> tuple[float | None, float]:
        row = next((row for row in part.classes if row.label == self.label), None)
        return (None, 0) if row is None else (getattr(row, self.name), row.support)

    def _of_window(self, part: WindowView) -> tuple[float | None, float]:
        if self.name == "coverage":
            return part.coverage.ratio, part.coverage.due
        if self.name in DELAYS:
            return getattr(part.delay, DELAYS[self.name]), part.n
        return (getattr(part, self.name) if self.name in WINDOW else part.metrics.get(self.metric or "")), part.n

    def _gap(self, rows: Sequence[GroupRow], least: int) -> float | None:
        values = [row.metrics.get(self.metric or "") for row in rows if row.n >= (least or GAP_SAMPLES)]
        known = [value for value in values if value is not None]
        return max(known) - min(known) if len(known) > 1 else None


def suggestion(name: str, names: list[str]) -> str:
    """Return the end of a message about an unknown name."""
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(close)}?" if close else ""


COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
DEFAULTS = ("rejected_share > 0.01", "mismatched_labels > 0")  # what is wrong with any model


class RuleError(StreamMetricsError, ValueError):
    """A rule that cannot be read; the message shows where."""

    def __init__(self, message: str, text: str, at: int) -> None:
        shown = "".join(character if character.isprintable() else " " for character in text)
        super().__init__(f"{message}\n  {shown}\n  {' ' * at}^")
        self.message, self.text, self.at = message, text, at


@dataclass(frozen=True)
class NumberComparison:
    """A comparison with a number."""

    sign: str
    number: float

    def true_of(self, value: float) -> bool:
        """Whether it is true of a value."""
        return bool(COMPARE[self.sign](value, self.number))

    def meets(self, other: NumberComparison) -> bool:
        """Whether both are true of some value."""
        values = -math.inf, self.number, (self.number + other.number) / 2, other.number, math.inf
        return any(self.true_of(value) and other.true_of(value) for value in values)


@dataclass(frozen=True)
class Rule:
    """A rule: lengths of time are in seconds; `least` is the number of samples that a value needs."""

    text: str
    value: Value
    broken: NumberComparison
    hold: float = 0.0
    until: NumberComparison | None = None
    least: int = 0

    def read(self, view: View) -> float | None:
        """Return its number in a view, None if that is not known."""
        return self.value.read(view, self.least)

    def why_unknown(self, view: View) -> str:
        """Return in words why `read` returns None."""
        return self.value.why_unknown(view, self.least)


@dataclass(frozen=True)
class Changed:
    """A wish to be told of a change; `arl` is the mean number of outcomes between two false alarms.

    What is normal is learned from the first `reference` outcomes, or is the rate of errors `p0`. `direction` is
    "worse", "better" or "both".
    """

    text: str
    value: Value
    arl: int
    p0: float | None = None
    reference: int = 1000
    direction: str = "worse"


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
