"""Names and values of arguments: keywords that a call does not have, numbers, and the names of fields of records.

**Fields.** A record that lacks a default name may have another spelling of it, such as `truth` for `y_true`. A name
that a user chose has no other spelling.

Numbers are checked where an object is made, so that nothing fails when it is read.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Container, Iterable
from typing import ParamSpec, TypeVar

import numpy as np

from stream_metrics._core.numeric.kernels import real_number, row_values
from stream_metrics._core.numeric.kernels import whole as whole

Y_TRUE, Y_PRED, SCORES, WEIGHT, GROUP, TIME, ID = "y_true", "y_pred", "scores", "weight", "group", "time", "id"
OTHER_SPELLINGS = {Y_TRUE: ("truth",), Y_PRED: ("prediction",)}


def spellings(name: str) -> tuple[str, ...]:
    """Return a name and its other spellings, in the order in which a record is searched for them."""
    return name, *OTHER_SPELLINGS.get(name, ())


def field_in(names: Container[str], name: str) -> str:
    """Return the spelling of a name that is among `names`; the name itself if none is."""
    return next((spelling for spelling in spellings(name) if spelling in names), name)


def real(value: object, argument: str) -> float:
    """Return an option that is a real number, nan and infinities included; ``ValueError`` for anything else.

    Equal options are written as equal bytes, so there is one nan and one zero.
    """
    number = None if isinstance(value, bool | np.bool_) else real_number(value)
    if number is None:
        raise ValueError(f"Expected `{argument}` to be a number, but got {value!r:.60}")
    return math.nan if math.isnan(number) else number + 0.0  # -0.0 becomes 0.0


def truth(value: object, argument: str) -> bool:
    """Return an option that is True or False; ``ValueError`` for anything else but 1 and 0."""
    if isinstance(value, bool | np.bool_ | int) and value in (0, 1):
        return bool(value)
    raise ValueError(f"Expected `{argument}` to be True or False, but got {value!r:.60}")


def sequence(values: object, argument: str) -> list[object]:
    """Return the items of a sequence; ``ValueError`` for anything else, sets and text included."""
    items = row_values(values)
    if items is None:
        raise ValueError(f"Expected `{argument}` to be a sequence of numbers, but got {values!r:.60}")
    return items


P = ParamSpec("P")
T = TypeVar("T")

OTHER_NAMES = {  # what other libraries call an argument
    **dict.fromkeys(("sample_weight", "sample_weights", "weights", "weight"), "w"),
    **dict.fromkeys(("y_score", "y_scores", "y_proba", "y_prob", "probas", "proba", "score"), "scores"),
    **dict.fromkeys(("y_hat", "preds", "pred", "prediction", "predictions"), "y_pred"),
    **dict.fromkeys(("target", "targets", "truth", "label"), "y_true"),
    **dict.fromkeys(("time", "times", "timestamp", "timestamps"), "t"),
    **dict.fromkeys(("groups", "by"), "group"),
    **dict.fromkeys(("window_size", "size"), "window"),
    **dict.fromkeys(("window", "length", "duration"), "period"),
    **dict.fromkeys(("halflife", "half-life"), "half_life"),
    **dict.fromkeys(("units", "block"), "unit"),
    **dict.fromkeys(("count", "counts", "samples"), "n"),
}
NO_NAMES = {  # what other libraries have as an argument and this package has in another form
    "average": "averages are metrics of their own, such as `MacroF1` and 'weighted_recall'",
    **dict.fromkeys(
        ("num_classes", "n_classes", "task", "multiclass", "multi_class"),
        "classes are counted as they come, and `labels` of a `MetricSet` or of `evaluate` fixes them",
    ),
}


def unknown_argument(call: str, name: str, allowed: Iterable[str]) -> TypeError:
    """Return the error of a call with a keyword that it does not have; it names the one that may be meant."""
    import difflib

    names = [each for each in allowed if each not in ("self", "cls")]
    meant = OTHER_NAMES.get(name, "")
    close = [meant] if meant in names else difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean `{close[0]}`?" if close else f"it has {', '.join(f'`{each}`' for each in names)}"
    return TypeError(f"{call}() got an unexpected keyword argument {name!r}; {NO_NAMES.get(name, hint)}")


def named_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """Let a function refuse an unknown keyword and say which one is meant; a method names the class of its object."""
    names = dict.fromkeys(inspect.signature(function).parameters)
    is_method = "self" in names

    @functools.wraps(function)
    def checked(*arguments: P.args, **keywords: P.kwargs) -> T:
        for name in keywords:
            if name not in names:
                call = function.__name__
                if is_method and arguments:
                    owner = type(arguments[0]).__name__
                    call = owner if call == "__init__" else f"{owner}.{call}"
                raise unknown_argument(call, name, names)
        return function(*arguments, **keywords)

    return checked
