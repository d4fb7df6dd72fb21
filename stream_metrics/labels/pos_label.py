"""Which labels are refused: those a metric of one class cannot be about, and numbers that look like scores.

The default `pos_label` is the bool True. With it the classes are 0 and 1, or False and True. Any other label is refused
where it comes in, because a metric that takes "ham" for "not True" returns a number that means nothing. A `pos_label`
that is no bool is a class that was chosen: it stands against all others.

A float with a fraction is more likely a score than a label, so it is a label only where `labels` name it.

What was counted once may be counted again, whatever rule has come since: `as_counted_before` switches the rules off.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

from stream_metrics.errors import LabelError
from stream_metrics.labels.label import Label, sort_key

T = TypeVar("T")
PASS_POS_LABEL = "; pass pos_label= to say which class is positive"
_COUNTED_BEFORE: ContextVar[bool] = ContextVar("counted_before", default=False)


def as_counted_before(function: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """Call a function for which every label passes: what it counts was counted before, perhaps by an earlier version.

    The rules are on again after it, whatever stops it, because the call has a context of its own.
    """

    def call() -> T:
        _COUNTED_BEFORE.set(True)
        return function(*arguments, **options)

    return copy_context().run(call)


def is_default(pos_label: Label | None) -> bool:
    """Return whether the positive class was left at the default, so that all labels must be 0/1 or False/True."""
    return type(pos_label) is bool


def is_binary(label: Label) -> bool:
    """Return whether a label is 0, 1, False or True."""
    return isinstance(label, int | float) and label in (0, 1)


def is_fraction(label: object) -> bool:
    """Return whether a label is a float that is no whole number."""
    return isinstance(label, float) and not label.is_integer()


def check_binary(label: Label, argument: str, position: int | None = None) -> None:
    """Raise LabelError for a label that the default `pos_label` has no place for."""
    if label != 0 and label != 1:
        _refuse(label, "to be 0 or 1, False or True", argument, position, PASS_POS_LABEL)


def check_with_single_score(pos_label: Label, truth: Label, position: int | None = None) -> None:
    """Raise LabelError for a true label that a single score, that of `pos_label`, cannot be about."""
    if truth == pos_label or type(truth) is type(pos_label) is str:
        return
    if type(pos_label) is bool:
        check_binary(truth, "y_true", position)
    elif sort_key(truth)[0] != sort_key(pos_label)[0]:
        expected = f"to be of the type of pos_label={pos_label!r}, because a single score is that of this label"
        _refuse(truth, expected, "y_true", position)
    elif not is_fraction(pos_label):
        check_whole(truth, (), "y_true", position)


def check_whole(label: Label, named: Iterable[Label | None], argument: str, position: int | None = None) -> None:
    """Raise LabelError for a float with a fraction, unless some of the labels that were `named` have fractions."""
    if is_fraction(label) and not any(map(is_fraction, named)):
        hint = "a number with a fraction is a label only if `labels=` names it"
        hint = hint if argument == "y_true" else f"did you mean `scores=`? Otherwise {hint}"
        _refuse(label, "to be a label", argument, position, f"; {hint}")


def check_possible(pos_label: Label, labels: Collection[Label] | None, other: Label | None = None) -> None:
    """Raise LabelError for a positive class that no sample can have."""
    if labels is not None and pos_label not in labels and (other is None or pos_label != other):
        expected = f"to be one of the fixed labels {list(labels)!r:.200}"
        _refuse(pos_label, expected, "pos_label", hint=PASS_POS_LABEL if is_default(pos_label) else "")


def _refuse(label: Label, expected: str, argument: str, position: int | None = None, hint: str = "") -> None:
    """Raise LabelError for a label, unless it was counted before."""
    if not _COUNTED_BEFORE.get():
        but = f"got {label!r:.60}{hint}"
        raise LabelError(argument=argument, position=position, expected=expected, got=label, but=but)


def spelled_like(number: Any, example: Any) -> Any:
    """Return 0 or 1 in the type of `example` if that is a number: bool, int or float; anything else as it is."""
    return type(example)(number) if is_binary(number) and isinstance(example, int | float) else number
