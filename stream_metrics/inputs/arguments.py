"""Names of arguments: what a method says of a keyword that it does not have."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S")

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


def unknown_argument(call: str, name: str, allowed: Iterable[str]) -> TypeError:
    """Return the error of a call with a keyword that it does not have; it names the one that may be meant."""
    import difflib

    names = [each for each in allowed if each not in ("self", "cls")]
    meant = OTHER_NAMES.get(name, "")
    close = [meant] if meant in names else difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean `{close[0]}`?" if close else f"it has {', '.join(f'`{each}`' for each in names)}"
    return TypeError(f"{call}() got an unexpected keyword argument {name!r}; {hint}")


def named_arguments(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Let a method refuse an unknown keyword in the name of the class of its object, and say which one is meant."""
    names = inspect.signature(method).parameters

    @functools.wraps(method)
    def checked(self: S, /, *arguments: P.args, **keywords: P.kwargs) -> T:
        for name in keywords:
            if name not in names:
                owner, called = type(self).__name__, method.__name__
                raise unknown_argument(owner if called == "__init__" else f"{owner}.{called}", name, names)
        return method(self, *arguments, **keywords)

    return checked
