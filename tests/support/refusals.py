"""One way to say that a call is refused: the type of the error, and the argument or key that it is about."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def refused(call: Callable[[], Any], kind: type[Exception] = ValueError, about: str = "") -> Exception:
    """Assert that a call raises an error of a kind about an argument, a key or a reason, and return the error."""
    with pytest.raises(kind) as caught:
        call()
    argument = getattr(caught.value, "argument", None)
    assert about.strip("`") == argument or about in str(caught.value), f"{about!r} is not in {caught.value!r}"
    return caught.value


def all_refused(calls: Iterable[tuple[Callable[[], Any], type[Exception], str]]) -> None:
    """Assert that each call is refused, and name the ones that are not by their position."""
    failures = []
    for at, (call, kind, about) in enumerate(calls):
        try:
            refused(call, kind, about)
        except (Exception, pytest.fail.Exception) as failure:
            failures.append((at, about, repr(failure)[:200]))
    assert not failures
