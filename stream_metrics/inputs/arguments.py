"""Names of arguments: what a call says about a keyword that it does not have."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

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
