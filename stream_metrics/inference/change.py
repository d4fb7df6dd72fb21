"""The levels that a change detector measures against, and a view of the detector at one moment."""

from __future__ import annotations

import json
import math
from typing import Any

from stream_metrics.errors import quantity
from stream_metrics.labels.json_names import json_data

STEPS = 100
DELTA = 0.05  # how often each level may be wrong


def reference_levels(mean: float, n: int) -> tuple[float, float]:
    """Return the largest and the smallest mean that n losses in [0, 1] with this mean allow, each at 95 %.

    The p above (below) the mean with n KL(mean, p) = log 20, KL being the divergence of two Bernoulli distributions:
    P[the mean of n losses of mean p is that far off] <= 1/20 for any losses in [0, 1]. Hoeffding 1963, theorem 1.
    """
    allowed = -math.log(DELTA) / n
    return _edge(mean, 1.0, allowed), _edge(mean, 0.0, allowed)


def _edge(mean: float, end: float, allowed: float) -> float:
    """Return where the divergence from the mean reaches what is allowed, between the mean and an end, by bisection."""
    inside, outside = mean, end
    for _ in range(STEPS):
        middle = (inside + outside) / 2
        if _divergence(mean, middle) < allowed:
            inside = middle
        else:
            outside = middle
    return outside


def _divergence(x: float, p: float) -> float:
    if not 0 < p < 1:
        return math.inf if p != x else 0.0
    return (x * math.log(x / p) if x else 0.0) + ((1 - x) * math.log((1 - x) / (1 - p)) if x < 1 else 0.0)


class DetectorSnapshot:
    """A detector at one moment.

    `evidence` against `arl`, at which the alarm is raised; `levels` that a rise and a fall are measured against, None
    while they are learned; `alarms` so far, and `changes`, the sample numbers of the last hundred.
    """

    __slots__ = ("_data",)
    warnings: tuple[str, ...] = ()
    interval_display = None  # groups of detectors show none

    def __init__(self, data: dict[str, object]) -> None:
        """Take over plain data."""
        self._data = data

    def __getattr__(self, name: str) -> Any:
        """Return one of the numbers."""
        if name.startswith("_"):  # copying asks for these before there are any data
            raise AttributeError(name)
        try:
            return self._data[name]
        except KeyError:
            raise AttributeError(f"Expected one of {sorted(self._data)}, but got {name!r}") from None

    def __eq__(self, other: object) -> bool:
        """Tell whether both have the same numbers."""
        return self._data == other._data if isinstance(other, DetectorSnapshot) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # equal by value

    def to_dict(self) -> dict[str, object]:
        """Return everything as plain Python types."""
        return dict(self._data)

    def to_json(self, indent: int | None = None) -> str:
        """Return `to_dict()` as JSON text."""
        return json.dumps(json_data(self.to_dict()), indent=indent, allow_nan=False)

    def __str__(self) -> str:
        """Return one line of report."""
        counted = f"{quantity(self.n, 'sample', ',')}, {quantity(self.alarms, 'alarm')}"
        if self.levels is None:
            return f"{counted}; learning what is normal"
        last = f", the last after sample {self.changes[-1]:,}" if self.changes else ""
        return f"{counted}{last}; evidence {self.evidence:.4g} of {self.arl:g}"

    def __repr__(self) -> str:
        """Return one line: what it is, and its numbers."""
        return f"<DetectorSnapshot {self}>"
