"""What containers, folds and readers call of an accumulator, whatever it counts.

`formulas.protocol.CountState`, `ranking.classes.RankState` and `formulas.losses.LossState` say what formulas read.

**Capacity.** A window or a group is read as the merge of its states, so what it has counted must fit into one. The
states of a container are looked at together only when a bound of the capacity left is used up: a sample costs one
subtraction. `_merge_load` of a state returns three bounds of what a merge adds up: the sum of weights, the number of
samples (or of appearances of a label), the number of abstentions (or of appearances of a group).

**Other options.** A state with other options is what one that had them from the start would have counted of the same
samples. Nothing is estimated: where the counts do not tell, `OptionError` says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Protocol, Self, TypeAlias, TypeVar

from stream_metrics._core.confusion.kernels import ConfusionCounters
from stream_metrics.errors import OptionError, WeightError, with_article
from stream_metrics.labels import Label, same_labels

MOST = 2**63 - 3  # the sum of weights, and the number of samples, of all states together
Load: TypeAlias = tuple[int, int, int]


def load_of(states: Iterable[Any]) -> Load:
    """Return what states that can be merged count together."""
    weight = samples = abstentions = 0
    for state in states:
        load = state._merge_load()
        weight, samples, abstentions = weight + load[0], samples + load[1], abstentions + load[2]
    return weight, samples, abstentions


def largest_load(loads: Iterable[Load]) -> Load:
    """Return what states that count the same samples count at most, each by itself."""
    weights, samples, abstentions = zip(*loads, strict=True)
    return max(weights), max(samples), max(abstentions)


def capacity_left(load: Iterable[int], taken: int = 0) -> int:
    """Return how much more, of weight or of samples, can be counted so that one state could count all of it.

    WeightError if that is less than `taken`.
    """
    most = max(load)
    if MOST - most < taken:
        raise WeightError(
            f"Expected the weights and the numbers of samples of all states together to stay below 2**63 - 2, "
            f"but got {taken} on top of {most}"
        )
    return MOST - most


def grown(before: Iterable[Accumulator | None], after: Iterable[Accumulator]) -> int:
    """Return how much states have grown, in the units of `capacity_left`; a state that was not there is None."""
    old, new = load_of(state for state in before if state is not None), load_of(after)
    return max(b - a for a, b in zip(old, new, strict=True))


# Lets a state count the rows of a batch, in some order, from one place on and before another. After an error the state
# must be discarded.
CountRows: TypeAlias = Callable[[Any, int, int], None]


class Mergeable(Protocol):
    """What `stream_metrics.testing` checks: counters that merge, of this package or of a user."""

    @property
    def update(self) -> Callable[..., None]:
        """Count one sample; which arguments a sample has depends on the class."""

    @property
    def snapshot(self) -> Callable[..., Any]:
        """Return a frozen copy to be read."""

    def merge(self, other: Self) -> Self:
        """Add the counts of another accumulator, which stays as it is; return this one."""

    def copy(self) -> Self:
        """Return an independent copy."""

    def reset(self) -> None:
        """Forget every sample; the configuration stays."""

    def to_bytes(self) -> bytes:
        """Return configuration and counts as bytes."""

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the accumulator of bytes; DecodeError if they are of none, or of another kind."""


class Accumulator(Mergeable, Protocol):
    """What containers need: a state, a metric, a set of metrics, a window, groups."""

    KIND: ClassVar[str]

    @property
    def n(self) -> int:
        """The number of samples, abstentions not included."""

    @property
    def abstained(self) -> int:
        """The number of samples without a prediction."""

    @property
    def update_many(self) -> Callable[..., None]:
        """Count a batch, or nothing of it."""

    def _content(self) -> list[object]:
        """Return what an accumulator that contains this one writes of it."""

    @classmethod
    def _from_content(cls, content: object) -> Self:
        """Return the accumulator of a content."""

    def _merge_load(self) -> Load:
        """Return bounds of what a merge adds up."""


State = TypeVar("State")
Labels: TypeAlias = "tuple[Label, ...] | None"  # fixed labels, or none


def check_options(state: object, options: Mapping[str, object], allowed: Iterable[str]) -> None:
    """Raise TypeError for an option that a state does not have."""
    names = sorted(allowed)
    for name in options:
        if name not in names:
            raise TypeError(f"Expected an option of {with_article(type(state))}, which are {names}, but got {name!r}")


def with_options(state: State, options: Mapping[str, object], names: Iterable[str], **own: object) -> State:
    """Return an empty state with other options; `own` are those of the state that are no attributes of it."""
    check_options(state, options, names)
    return type(state)(**{name: own.get(name, getattr(state, name, None)) for name in names} | dict(options))


def check_pos_label(n: int, before: Label, after: Label) -> None:
    """Raise OptionError for another `pos_label` if samples were counted."""
    if n and repr(after) != repr(before):
        raise not_counted("pos_label", before, after, "single numbers were counted as scores of this class")


def settled(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of which each can be read more than once."""
    return {name: list(value) if isinstance(value, Iterator) else value for name, value in options.items()}


def not_counted(argument: str, before: object, after: object, reason: str) -> OptionError:
    """Return the error for an option whose new value does not follow from the counts; it names both values."""
    return OptionError(
        argument=argument,
        expected="to follow from the counts",
        got=after,
        but=f"got {after!r:.60} in place of {before!r:.60}: {reason}",
    )


def renamed_labels(before: ConfusionCounters, after: ConfusionCounters) -> dict[Label, Label]:
    """Return the labels with counts that have another name under the labels of `after`, which is empty."""
    labels = before.labels
    rows, columns, *_ = before.ordered()
    used = [labels[at] for at in sorted({*rows.tolist(), *columns.tolist()})]
    _check_other(before, after, used)
    if after.other is None:
        check_fixed(before.fixed_labels, after.fixed_labels, used)
        return {}
    remaining = {*(after.fixed_labels or ())}
    renamed = {label: after.other for label in used if label not in remaining}
    for label, name in renamed.items():
        own = label == before.other and label not in (before.fixed_labels or ())
        if isinstance(name, int | float) and name not in remaining and not (own and same_labels((label,), (name,))):
            reason = "how often other labels that are numbers appear is not counted; a text would do"
            raise not_counted("other", before.other, name, reason)
    return renamed


def check_fixed(before: Labels, after: Labels, used: Iterable[Label]) -> None:
    """Refuse fixed labels without one that was counted, and open ones where numbers were fixed."""
    for label in used:
        if after is not None and label not in after:
            raise not_counted("labels", before, after, f"{label!r:.60} was counted")
        if after is None and before is not None and isinstance(label, int | float):
            reason = "how often a number appeared as bool, int and float is not counted where labels are fixed"
            raise not_counted("labels", before, after, reason)


def _check_other(before: ConfusionCounters, after: ConfusionCounters, used: list[Label]) -> None:
    """Refuse labels that may be among those counted as `other`, which cannot be told apart any more."""
    other, labels = before.other, after.fixed_labels
    if other is None or other not in used:
        return
    reason = f"some samples were counted as {other!r:.60}, and of which labels they are is not known"
    if labels is None or not {*labels} <= {*(before.fixed_labels or ()), other}:
        raise not_counted("labels", before.fixed_labels, labels, reason)
    if after.other is None or (other in labels and other != after.other):
        raise not_counted("other", other, after.other, reason)
