"""Why a metric cannot be computed from a state: the one place that decides it, and says so.

A square table of many classes would need more memory than anybody expects. A test is a statement about a number of
samples, and counts do not say how many stand behind a weight: the same weights in another unit would give another
p-value. Pairs of samples cannot be counted where a weight has a fraction. Scores of pairs of classes are kept for few
classes only.

A sample of weight 0 has a weight other than 1; an abstention is no sample of the matrix and does not matter. A
confusion matrix and a state of losses count the samples with such a weight, since their sum may happen to be the number
of samples. Bytes of earlier versions lack that number; for them, and for sketches alone, weights that sum to the number
of samples count as weights of 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from stream_metrics._core.ranks.kernels import MOST_PAIRED
from stream_metrics.catalog.spec import MetricSpec
from stream_metrics.errors import UnknownKeyError, quantity

__all__ = ["MISSING", "SQUARE_LIMIT", "Obstacle", "ObstacleError", "check", "obstacle", "weighted"]

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
