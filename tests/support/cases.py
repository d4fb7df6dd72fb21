"""A loop over cases that goes on after a failure and lists every case that failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest


@contextmanager
def every_case() -> Iterator[Callable[[object], AbstractContextManager[None]]]:
    """Give a context manager for each case, and fail in the end with the names and errors of those that failed."""
    failures: list[str] = []

    @contextmanager
    def case(name: object) -> Iterator[None]:
        try:
            yield
        except (Exception, pytest.fail.Exception) as failure:
            failures.append(f"{name}: {type(failure).__name__}: {failure!s:.500}")

    yield case
    assert not failures, "\n".join([f"{len(failures)} cases:", *failures[:20]])
