"""What follows from counts for other options: which label counts as which, and what must be refused.

A state with other options is what one that had them from the start would have counted of the same samples. Nothing is
estimated: where the counts do not tell, `OptionError` says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias, TypeVar

from stream_metrics._core.confusion.kernels import ConfusionCounters
from stream_metrics.errors import OptionError, with_article
from stream_metrics.labels import Label, same_labels

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
