"""The state inside a container: checked, walked through, compared, and read from bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from stream_metrics.errors import OptionError, options_differ, other_kind, with_article
from stream_metrics.inputs.times import Time, to_epoch_ns
from stream_metrics.metrics.base import MetricBase
from stream_metrics.snapshots.intervals import of_window
from stream_metrics.states.batches import label_counts
from stream_metrics.states.protocols import Accumulator
from stream_metrics.wire import Portable

__all__ = [
    "FORGETTING",
    "InRiver",
    "TimeReader",
    "check_same",
    "common_prototype",
    "copy_like",
    "emptied",
    "empty_prototype",
    "merge_unordered",
    "reconfigured_inner",
    "walk_inner",
]

FORGETTING = {"rolling": "Rolling", "timed": "TimeWindow", "fading": "Fading"}  # by the kind in bytes

State = TypeVar("State", bound=Accumulator)


def empty_prototype(inner: object, holder: str, *, keeps_all: bool = True) -> Any:
    """Return an empty copy of `inner`; ValueError if it is no accumulator, or `holder` can make nothing of it."""
    if not isinstance(inner, Portable) or not hasattr(inner, "snapshot"):
        raise ValueError(f"Expected `inner` to be a state, a metric or a set of metrics, but got {inner!r:.60}")
    if not getattr(inner, "of_pairs", True):
        raise ValueError(
            f"Expected `inner` of {with_article(holder)} to count pairs of truth and prediction, "
            f"but {with_article(type(inner))} does not"
        )
    for state in walk_inner(inner):
        if state.KIND == "multilabel" and holder not in ("TimeWindow", "Fading"):
            raise ValueError(
                f"Expected `inner` of {with_article(holder)} to have one label a sample, but got a MultiLabel, which a "
                f"TimeWindow or a Fading may contain"
            )
        if keeps_all and state.KIND in FORGETTING:
            raise ValueError(
                f"Expected `inner` of {with_article(holder)} to keep whatever it is fed, "
                f"but got {with_article(FORGETTING[state.KIND])}, which forgets by a rule of its own"
            )
    return emptied(inner)


def walk_inner(state: Any) -> Iterator[Any]:
    """Yield a state, the one inside it, the one inside that."""
    while state is not None:
        yield state
        state = getattr(state, "inner", None)


def check_same(mine: object, theirs: object, configuration: Iterable[str]) -> None:
    """Raise MergeError unless both are of one type, and these attributes agree."""
    if type(mine) is not type(theirs):
        raise other_kind(type(mine), theirs)
    for name in configuration:
        a, b = getattr(mine, name), getattr(theirs, name)
        if a != b or repr(a) != repr(b):
            raise options_differ({name: a}, {name: b}, ("max_groups",))


def emptied(state: Any) -> Any:
    """Return a state with the same options that has counted nothing."""
    empty = state.copy()
    empty.reset()
    return empty


def copy_like(like: State, state: State) -> State:
    """Return a copy of a state that counts what another one does, and that shows what the other one does."""
    copied: State = state.copy() if _shows_like(like, state) else emptied(like).merge(state)
    return copied


def merge_unordered(mine: State, theirs: State) -> State:
    """Return the merge of two states, either of which may be changed; what it shows does not depend on their order."""
    if not _shows_like(mine, theirs) and emptied(theirs).to_bytes() < emptied(mine).to_bytes():
        mine, theirs = theirs, mine
    return mine.merge(theirs)


def _shows_like(mine: Any, theirs: Any) -> bool:
    """Return whether two states that count the same show the same."""
    if hasattr(mine, "inner"):
        return bool(mine.inner == theirs.inner) and getattr(mine, "other", None) == getattr(theirs, "other", None)
    return bool(mine._has_options_of(theirs) if hasattr(mine, "_has_options_of") else emptied(mine) == emptied(theirs))


def common_prototype(mine: State, theirs: State) -> State:
    """Return the empty state of a merge: `mine`, unless `theirs` counts less; MergeError if they count differently."""
    if mine == theirs:
        return mine
    merged = mine.copy().merge(theirs)
    return mine if merged == mine else merged


def reconfigured_inner(inner: Any, options: Mapping[str, Any], own: Iterable[str] = ()) -> Any:
    """Return the prototype of a container with other options; OptionError for those of the container itself."""
    for name in own:
        if name in options:
            reason = "a container keeps this for good"
            raise OptionError(argument=name, expected="to stay", got=options[name], but=f"got another: {reason}")
    if not hasattr(inner, "reconfigured"):
        raise TypeError(f"Expected `inner` to have options that can change, but got {with_article(type(inner))}")
    return inner.reconfigured(**options)


class InRiver:
    """What river's evaluate functions ask of a metric, answered by the metric or the set inside a window."""

    __slots__ = ()

    @property
    def requires_labels(self) -> bool:
        """Whether river passes labels, and not scores."""
        return bool(_metric_inside(self).requires_labels)

    def works_with(self, model: object) -> bool:
        """Return whether the metric or the set inside fits a model of river.

        Parameters
        ----------
        model : river.base.Estimator
            A model.

        Returns
        -------
        bool
            False if river was not imported.

        Raises
        ------
        TypeError
            If river cannot update this state; the message names the adapter.
        """
        return bool(_metric_inside(self).works_with(model))


class TimeReader(InRiver):
    """Readings of a state that depends on the time at which it is read, by what `merged` returns."""

    __slots__ = ()
    merged: Callable[..., Any]
    _sum_at: Callable[..., int]

    def _instant(self, t: object) -> int:
        return to_epoch_ns(t)

    def snapshot(self, t: Time | None = None) -> Any:
        """Return a frozen copy of the samples that are not forgotten.

        Parameters
        ----------
        t : float or datetime or numpy.datetime64, optional
            The time of the reading; the latest time seen by default.

        Returns
        -------
        Snapshot or GroupSnapshot
            The metrics at that time.
        """
        return of_window(self.merged(t).snapshot())

    def get(self, t: Time | None = None) -> Any:
        """Return the current value of the metric, or the values of the set.

        Parameters
        ----------
        t : float or datetime or numpy.datetime64, optional
            The time of the reading; the latest time seen by default.

        Returns
        -------
        float or dict
            The value at that time.
        """
        return self.merged(t).get()

    @property
    def n(self) -> int:
        """The number of samples that are not forgotten."""
        return self._sum_at("n")

    @property
    def abstained(self) -> int:
        """The number of samples without a prediction that are not forgotten."""
        return self._sum_at("abstained")


def _metric_inside(container: object) -> Any:
    *around, inside = walk_inner(container)
    if any(state.KIND == "groups" for state in around):
        raise TypeError("river passes no `group`; stream_metrics.integrations.river.as_river(metric, context=...) does")
    if not hasattr(inside, "works_with"):
        name = type(inside).__name__
        raise TypeError(f"river cannot read {with_article(name)}; stream_metrics.integrations.river.as_river(...) can")
    return inside


def check_counts_labels(inner: Accumulator) -> None:
    """Raise OptionError unless what counts reads labels only, and so takes tables of counts."""
    if label_counts(inner) is None and not (isinstance(inner, MetricBase) and inner._reads == "labels"):
        expected = "of `update_counts` to read labels only: a ConfusionMatrix, a metric or a MetricSet"
        raise OptionError(argument="inner", expected=expected, but=f"got {with_article(type(inner))}")
