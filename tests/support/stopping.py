"""Operations that are stopped by an exception at a line of the package."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import stream_metrics as sm

__all__ = ["Stop", "stopped_at"]

PACKAGE = str(Path(sm.__file__).parent)


class Stop(BaseException):
    """What stops an operation."""


def stopped_at(line: int, call: Callable[[], object]) -> bool:
    """Call a function and raise at the n-th line event inside the package; return whether there were so many."""
    left = line

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line":
            left -= 1
            if left == 0:
                raise Stop
        return trace

    outer = sys.gettrace()  # of a measurement of coverage
    sys.settrace(trace)
    try:
        call()
    except Stop:
        return True
    finally:
        sys.settrace(outer)
    return left <= 0
