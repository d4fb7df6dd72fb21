"""Times of records: text or numbers to nanoseconds since 1970, and back to text.

A number is seconds since 1970, in quotes too, since every value of a CSV is text; so ISO 8601 dates need their hyphens.
A time without an offset is taken to be in UTC, because the local time of a machine is no property of the data.
"""

from __future__ import annotations

import json

import numpy as np

from stream_metrics.inputs.times import to_epoch_ns

__all__ = ["nanoseconds", "text_of"]


def nanoseconds(value: object) -> int:
    """Return the time that a field holds; ValueError if it is none, or not from 1824 to 2115."""
    try:
        return to_epoch_ns(_read(value) if isinstance(value, str) else value)
    except (ValueError, OverflowError):
        raise ValueError(
            f"expected the time to be seconds since 1970 or ISO 8601 text, from 1824 to 2115, but got "
            f"{json.dumps(value)[:40]}"
        ) from None


def _read(text: str) -> int | float | str:
    try:
        return int(text) if text.strip().isdecimal() else float(text)
    except ValueError:
        return text


def text_of(seconds: float) -> str:
    """Return a time as ISO 8601 text in UTC, to the microsecond."""
    return f"{np.datetime64(round(seconds * 1e6), 'us')}Z"
