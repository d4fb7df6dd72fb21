"""What is counted of scores: which states and whether pairs of classes, as the options of a set need them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from stream_metrics.catalog.table import CATALOG
from stream_metrics.errors import MergeError, options_differ
from stream_metrics.states.score_states import in_order

if TYPE_CHECKING:
    from stream_metrics.metrics.metric_set import MetricSet

__all__ = ["differ_by_metrics", "named_states", "needed_states", "other_states"]

OF_STATES = ("scores", "pairs")  # options that add states beside those of the metrics
STATES_OF_SCORES = {True: {"ranks", "confidence", "losses"}, "any": {"ranks"}, False: set[str]()}


def needed_states(
    scores: object, metrics: tuple[str, ...] | None, pairs: bool, always: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Return the names of the score states that these options need, in the order of `NAMES`; empty for labels alone.

    `always` are states that are counted wherever scores are.
    """
    if not scores and metrics is None:
        return ()
    states = STATES_OF_SCORES[scores] | named_states(metrics, False)
    states = states.union(always) if states else states
    paired = pairs and "ranks" in states and (metrics is None or any(CATALOG[key].quadratic for key in metrics))
    return in_order(states | ({"pairs"} if paired else set()))


def named_states(metrics: Iterable[str] | None, pairs: bool) -> set[str]:
    """Return what the metrics that are named read of scores; pairs only if they are wanted."""
    rows = [CATALOG[key] for key in metrics or ()]
    paired = pairs and any(row.quadratic and row.state == "ranks" for row in rows)
    return {str(row.state) for row in rows} - {"counts"} | ({"pairs"} if paired else set())


def differ_by_metrics(mine: MetricSet, theirs: MetricSet) -> bool:
    """Tell whether nothing but their metrics makes two sets of scores count different states, some of them the same."""
    both = bool({*mine.score_states} & {*theirs.score_states})
    return both and repr((mine.scores, mine.pairs)) == repr((theirs.scores, theirs.pairs))


def other_states(mine: MetricSet, theirs: MetricSet) -> MergeError:
    """Return the error of a merge of two sets that do not count the same of scores."""
    if not (mine.score_states and theirs.score_states):
        but = "got two of which one keeps scores, the other labels only; reconfigured(scores=False) is what both have"
        metrics = (mine if mine.score_states else theirs).metrics
        if named_states(metrics, False):
            but += ", together with metrics=... of labels"
        return MergeError(argument="scores", expected="to be the same in both", got=theirs.scores, but=but)
    names = [name for name in OF_STATES if getattr(mine, name) != getattr(theirs, name)]
    before, after = ({name: getattr(each, name) for name in names or ["metrics"]} for each in (mine, theirs))
    states = list(mine.score_states), list(theirs.score_states)
    note = "; reconfigured(scores=..., metrics=..., pairs=...) with the options of the one with less drops the rest"
    if not {*states[0]} & {*states[1]}:
        note = ", and nothing is counted by both"
    if names:
        note = f", where {states[0]} and {states[1]} are counted of scores{note}"
    return options_differ(before, after, note=note)
