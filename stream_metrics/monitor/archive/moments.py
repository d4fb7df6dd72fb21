"""Times as users write them: ISO 8601, seconds since 1970, "now", or a length of time before now, such as -7d."""

from __future__ import annotations

import math

from stream_metrics.errors import TimeError
from stream_metrics.inputs.times import parse_duration, to_epoch_ns

__all__ = ["moment"]


def moment(text: str, argument: str, now: float) -> int:
    """Return a time in nanoseconds since 1970; `now` is in seconds. ``TimeError`` names the argument."""
    text = text.strip()
    try:
        if text == "now":
            return to_epoch_ns(now)
        if text.startswith("-") and not _is_number(text):
            return to_epoch_ns(now) - parse_duration(text[1:], argument)
        return to_epoch_ns(float(text) if _is_number(text) else text)
    except ValueError:
        expected = 'to be a time: seconds since 1970, ISO 8601, "now", or a length of time before now such as -7d'
        raise TimeError(argument=argument, expected=expected, got=text) from None


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
