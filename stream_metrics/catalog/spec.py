"""What the table of metrics is made of: the row, and the words that many rows share.

What a metric is stands in the docstring of its formula, once for readers of the code and of the documentation: a
summary, then the definition, then notes, a paragraph each. A row of a formula that several rows share has its own.

**Obstacles.** A square table of many classes would need more memory than anybody expects. A test is a statement about a
number of samples, and counts do not say how many stand behind a weight: the same weights in another unit would give
another p-value. Pairs of samples cannot be counted where a weight has a fraction. Scores of pairs of classes are kept
for few classes only.

A sample of weight 0 has a weight other than 1; an abstention is no sample of the matrix and does not matter. A
confusion matrix and a state of losses count the samples with such a weight, since their sum may happen to be the number
of samples. Bytes of earlier versions lack that number; for them, and for sketches alone, weights that sum to the number
of samples count as weights of 1.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

from stream_metrics._core.ranks.kernels import MOST_PAIRED
from stream_metrics.errors import UnknownKeyError, quantity

Kind: TypeAlias = Literal["whole", "per_class", "matrix"]
Direction: TypeAlias = Literal["higher", "lower"] | None
Formula: TypeAlias = Callable[..., Any]  # of a state, with options by name
Bounds: TypeAlias = tuple[float, float]
Needs: TypeAlias = Literal["", "samples", "whole_weights"]  # any weights, only 1, or whole numbers
StateName: TypeAlias = Literal["counts", "ranks", "confidence", "losses"]

UNIT: Bounds = (0.0, 1.0)
SIGNED: Bounds = (-1.0, 1.0)
AMOUNT: Bounds = (0.0, math.inf)
ANY: Bounds = (-math.inf, math.inf)

NEVER = "never"
NO_DATA = "no data"
NO_SAMPLES = "no sample of the class"
NO_PREDICTIONS = "no prediction of the class"
ALL_SAMPLES = "all samples are of the class"
ALL_PREDICTIONS = "all predictions are of the class"
ABSENT = "class neither true nor predicted"
SINGLE = "one single class, both true and predicted"
CONSTANT = "all samples, or all predictions, of one class"
FEW = "fewer than two classes"
ONE_SIDED = "no sample of the class, or of no other class"

GRANDINI = "Grandini et al. 2020"
ITAI_KATZ = "Itai and Katz 2022"
BLEIK = "Bleik and Gauher 2016"
CARET = "Kuhn 2008 (R caret)"
GORODKIN = "Gorodkin 2004"
RIJSBERGEN = "van Rijsbergen 1979, ch. 7"
HAND_TILL = "Hand and Till 2001"
DOERING = "Doering 2018"
SKLEARN = "Pedregosa et al. 2011 (scikit-learn)"


@dataclass(frozen=True)
class MetricSpec:
    """A metric: what it is called, how it is computed, and how its values are to be read."""

    key: str
    class_name: str | None  # the live class; None if the metric exists in snapshots only
    title: str
    formula: Formula
    kind: Kind
    low: float
    high: float
    direction: Direction
    undefined_when: str  # when the value is 0/0
    source: str  # names of the bibliography, separated by semicolons
    summary: str = field(kw_only=True, repr=False)
    definition: str = field(kw_only=True, repr=False)  # in the notation of the docstring of `Metric`
    notes: str = field(default="", kw_only=True, repr=False)
    family: str = ""
    default: bool = True  # part of a snapshot that names no keys
    quadratic: bool = False  # needs at least K * K work
    needs: Needs = ""  # which weights it is defined for
    state: StateName = "counts"  # the state that the formula is a function of
    alias: str | None = None  # a second name of the live class
    zero_division: float = 0.0  # what stands for 0/0 if the caller does not say

    @cached_property
    def options(self) -> dict[str, object]:
        """The options of the formula and their defaults."""
        return {name: default for name, default in self._keywords.items() if name != "zero_division"}

    @cached_property
    def uses_zero_division(self) -> bool:
        """Whether the formula needs to know what stands for a component that is 0/0."""
        return "zero_division" in self._keywords

    @cached_property
    def _keywords(self) -> dict[str, object]:
        return _keywords(self.formula)  # at the first use: reading all signatures takes half of the time of the table


def _keywords(formula: Formula) -> dict[str, object]:
    """Return the keyword-only arguments and their defaults, without those that a partial has fixed."""
    fixed = getattr(formula, "keywords", {})
    parameters = inspect.signature(formula).parameters.values()
    keywords = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    return {name: default for name, default in keywords.items() if name not in fixed}


def _words(formula: Formula) -> dict[str, str]:
    """Return summary, definition and notes of a metric: the paragraphs of the docstring of its formula."""
    paragraphs = [" ".join(paragraph.split()) for paragraph in (formula.__doc__ or "").split("\n\n")]
    return dict(zip(("summary", "definition", "notes"), [*paragraphs, "", ""], strict=False))


def _maker(kind: Kind) -> Callable[..., MetricSpec]:
    def make(
        key: str,
        class_name: str | None,
        title: str,
        formula: Formula,
        bounds: Bounds,
        undefined_when: str,
        source: str,
        direction: Direction = "higher",
        **rest: Any,
    ) -> MetricSpec:
        if "summary" not in rest:
            rest |= _words(formula)
        return MetricSpec(key, class_name, title, formula, kind, *bounds, direction, undefined_when, source, **rest)

    return make


whole = _maker("whole")
per_class = _maker("per_class")
matrix = _maker("matrix")


def family(name: str, *rows: MetricSpec) -> tuple[MetricSpec, ...]:
    """Return the rows with the heading under which they are listed."""
    for row in rows:
        object.__setattr__(row, "family", name)
    return rows


SQUARE_LIMIT = 4096  # classes; a square table beyond needs more than 128 MB
MISSING = {
    "counts": "labels, but this snapshot is of scores only",
    "ranks": "scores, which this snapshot does not have: MetricSet(scores=True) keeps them",
    "confidence": "probabilities of all classes, which this snapshot does not have: MetricSet(scores=True) keeps them",
    "losses": "probabilities, which this snapshot does not have: MetricSet(scores=True) keeps them",
}  # what a metric needs that a snapshot lacks, by the state that it reads


class Obstacle(NamedTuple):
    """Why a metric has no value here: what it needs, and what there is."""

    key: str
    needs: str
    problem: str = ""

    @property
    def reason(self) -> str:
        """The reason as half a sentence, for a list of what was left out."""
        return f"needs {self.needs}" + (f", but {self.problem}" if self.problem else "")

    @property
    def error(self) -> ValueError | KeyError:
        """The error for a caller who asks for this metric by name."""
        if not self.problem:
            return UnknownKeyError(f"Expected a key that can be read here, but {self.key!r} needs {self.needs}")
        return ObstacleError(self)


class ObstacleError(ValueError):
    """A metric that was asked for by name cannot be computed; `obstacle` says why."""

    def __init__(self, obstacle: Obstacle) -> None:
        super().__init__(obstacle)
        self.obstacle = obstacle

    def __str__(self) -> str:
        key, needs, problem = self.obstacle
        return f"Expected {needs} for {key!r}, but {problem}"


def weighted(state: Any) -> str:
    """Return how it shows that samples of a state have weights other than 1; empty if it does not."""
    if state.weight != state.n:
        return f"{quantity(state.n, 'sample')} weigh{'s' * (state.n == 1)} {state.weight}"
    if getattr(state, "unit", 1) != 1:
        return "a weight has a fraction"
    squares = state.squares() if hasattr(state, "squares") else None
    weighted: int = squares[0] if squares else getattr(state, "weighted", 0)
    if not weighted:
        return ""
    return f"{weighted} of {quantity(state.n, 'sample')} {'has' if weighted == 1 else 'have'} a weight other than 1"


def obstacle(row: MetricSpec, state: Any) -> Obstacle | None:
    """Return why a row cannot be computed from the state that it reads (None: there is no such state), or None."""
    if state is None:
        return Obstacle(row.key, MISSING[row.state])
    if row.quadratic and len(state.labels) > SQUARE_LIMIT:
        return Obstacle(row.key, f"at most {SQUARE_LIMIT} classes", f"got {len(state.labels)}")
    if row.quadratic and row.state == "ranks" and state.pairs and not state.paired:
        if len(state.labels) <= MOST_PAIRED:
            return Obstacle(row.key, "pairs of classes", "they were not counted in every state that was merged")
        needed = f"pairs of classes, which are kept for at most {MOST_PAIRED}"
        return Obstacle(row.key, needed, f"got {len(state.labels)}")
    if row.needs == "samples" and (problem := weighted(state)):
        return Obstacle(row.key, "samples of weight 1", problem)
    if row.needs == "whole_weights" and state.unit != 1:
        return Obstacle(row.key, "whole weights", "a weight has a fraction")
    return None


def check(row: MetricSpec, state: Any) -> None:
    """Raise `ValueError` or `KeyError` if a row cannot be computed from the state that it reads."""
    reason = obstacle(row, state)
    if reason is not None:
        raise reason.error
