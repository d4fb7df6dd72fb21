"""What is counted of scores: which states and whether pairs of classes, as the options of a set need them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from stream_metrics.catalog.table import CATALOG
from stream_metrics.errors import MergeError, options_differ

if TYPE_CHECKING:
    from stream_metrics.metrics.metric_set import MetricSet

__all__ = ["in_order", "needed_states", "other_states", "reads_pairs", "states_of"]

NAMES = ("ranks", "pairs", "confidence", "losses")  # the states, and whether the first has pairs, in order
OF_STATES = ("scores", "metrics", "pairs")  # options that say which states are needed
STATES_OF_SCORES = {True: {"ranks", "confidence", "losses"}, "any": {"ranks"}, False: set[str]()}


def needed_states(scores: object, metrics: Iterable[str] | None, pairs: bool) -> tuple[str, ...]:
    """Return what is counted of scores for these options, in the order of `NAMES`; nothing for labels alone."""
    keys = None if metrics is None else list(metrics)
    states = STATES_OF_SCORES[scores] | states_of(keys or ())
    paired = pairs and (keys is None or any(CATALOG[key].quadratic for key in keys))
    return in_order(states | {"ranks"} | ({"pairs"} if paired else set())) if states else ()


def in_order(names: set[str]) -> tuple[str, ...]:
    """Return names of states in their order."""
    return tuple(name for name in NAMES if name in names)


def states_of(keys: Iterable[str]) -> set[str]:
    """Return the states of scores that metrics read."""
    return {str(CATALOG[key].state) for key in keys} - {"counts"}


def reads_pairs(keys: Iterable[str] | None) -> bool:
    """Return whether some of the metrics that are named compare pairs of classes by their scores."""
    return any(CATALOG[key].quadratic and CATALOG[key].state == "ranks" for key in keys or ())


def other_states(mine: MetricSet, theirs: MetricSet) -> MergeError:
    """Return the error of a merge of two sets that do not count the same of scores."""
    if not (mine.score_states and theirs.score_states):
        but = "got two of which one keeps scores, the other labels only; reconfigured(scores=False) is what both have"
        return MergeError(argument="scores", expected="to be the same in both", got=theirs.scores, but=but)
    names = [name for name in OF_STATES if getattr(mine, name) != getattr(theirs, name)] or ["score_states"]
    before, after = ({name: getattr(each, name) for name in names} for each in (mine, theirs))
    note = (
        f", where {list(mine.score_states)} and {list(theirs.score_states)} are counted of scores; "
        f"reconfigured(scores=..., metrics=..., pairs=...) with the options of a set that counts less drops the rest"
    )
    return options_differ(before, after, note=note)
