"""Alert rules and what they mean; `rule_reading` reads them from text."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass

from stream_metrics.errors import StreamMetricsError
from stream_metrics.monitor.alerts.values import Value
from stream_metrics.monitor.view.types import View

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
