"""Times and lengths of time, as whole nanoseconds.

A float is rounded to the nearest nanosecond, so that 0.3 is 300 ms, as it reads, and not the last nanosecond before it;
floats near the present are 238 ns apart. A naive datetime is taken to be in UTC, because the local time of a machine is
no property of the data, and a date is its first instant in UTC. Text is ISO 8601 with hyphens, because digits alone are
seconds in a file. What lies further from 1970 than 2**62 nanoseconds (before 1823, after 2116) is refused: such times
are placeholders or wrong units. In records a number is seconds since 1970, in quotes too, since every value of a CSV is
text.
"""

from __future__ import annotations

import json
import math
import operator
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_metrics.errors import TimeError
from stream_metrics.inputs.arrow import is_single
from stream_metrics.inputs.columns import read_numbers

Time: TypeAlias = "int | float | str | date | np.datetime64"  # a datetime is a date
Length: TypeAlias = "int | float | str | timedelta | np.timedelta64"

SECOND = 10**9
LIMIT = 2**62
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND, "d": 86400 * SECOND}
NAMES = {  # other names of units, without the plural
    "nanosecond": "ns", "microsecond": "us", "millisecond": "ms", "second": "s", "sec": "s", "minute": "m", "min": "m",
    "hour": "h", "hr": "h", "day": "d",
}  # fmt: skip
LONGEST_TEXT = 100  # characters of a length of time; the pattern below takes quadratic time for digits without a unit
PART = re.compile(rf"\s*(\d+(?:\.\d+)?)\s*(?:({'|'.join(NAMES)})s?|({'|'.join(UNITS)}))(?![a-z])")
NANOSECONDS = re.compile(r"[.,]\d{6}(\d{1,3})")  # the digits of a second that a datetime has no place for


def parse_duration(value: Length, argument: str, *, zero: bool = False) -> int:
    """Return a length of time in nanoseconds: a number of seconds, a timedelta, or text such as "1h30m".

    Raises ``ValueError`` naming the argument if it is none, not above 0 (or, with `zero`, below 0), or more than 73
    years.
    """
    nanoseconds = _length(value)
    if nanoseconds is None or not (0 if zero else 1) <= nanoseconds < LIMIT // 2:
        least = "of at least 0" if zero else "above 0"
        raise ValueError(
            f'Expected `{argument}` to be a length of time {least}: seconds, a timedelta, or text such as "30s", "5m", '
            f'"1h", "2d", but got {value!r:.60}'
        )
    return nanoseconds


def _length(value: object) -> int | None:
    if hasattr(value, "to_timedelta64"):  # of pandas, which has nanoseconds
        value = value.to_timedelta64()
    if isinstance(value, np.timedelta64):
        fixed = np.datetime_data(value.dtype)[0] not in ("Y", "M", "generic")
        small = fixed and abs(value / np.timedelta64(1, "s")) < LIMIT // SECOND  # so not NaT
        return int(value.astype("timedelta64[ns]").astype(np.int64)) if small else None
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1) * 1000
    if isinstance(value, str):
        parts = PART.findall(value) if len(value) <= LONGEST_TEXT else []
        if not parts or PART.sub("", value).strip():
            return None
        exact = sum(Fraction(number) * UNITS[NAMES.get(name, unit)] for number, name, unit in parts)
        return int(exact) if exact.denominator == 1 else None
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LIMIT:
        return value * SECOND if isinstance(value, int) else round(value * 1e9)
    return None


def to_epoch_ns(t: object, position: int | None = None) -> int:
    """Return a time in nanoseconds since 1970; ``TimeError`` for anything that is no time, or out of range."""
    nanoseconds = _instant(t)
    if nanoseconds is None or not -LIMIT < nanoseconds < LIMIT:
        expected = "to be seconds since 1970, a date, a datetime, a datetime64 or ISO 8601 text, from 1824 to 2115"
        raise TimeError(argument="t", position=position, expected=expected, got=t)
    return nanoseconds


def _instant(t: object) -> int | None:
    if isinstance(t, bool | np.bool_):
        return None
    if isinstance(t, str):
        return _from_text(t.strip())
    if isinstance(t, float | np.floating):
        seconds = float(t)
        if not abs(seconds) < 2 * LIMIT // SECOND - 1:
            return None
        whole = math.floor(seconds)  # as `seconds_to_ns` does
        return whole * SECOND + round((seconds - whole) * 1e9)
    if isinstance(t, Decimal):
        return round(Fraction(t) * SECOND) if t.is_finite() and abs(t) < LIMIT else None
    if isinstance(t, datetime):
        if hasattr(t, "to_datetime64"):  # of pandas, which has nanoseconds
            return _instant(t.to_datetime64())
        since = (t if t.tzinfo is not None else t.replace(tzinfo=UTC)) - EPOCH
        return since // timedelta(microseconds=1) * 1000
    if isinstance(t, date):
        return (t.toordinal() - EPOCH.toordinal()) * 86_400 * SECOND
    if isinstance(t, np.datetime64):
        small = not np.isnat(t) and abs(int(t.astype("datetime64[s]").astype(np.int64))) < LIMIT // SECOND
        return int(t.astype("datetime64[ns]").astype(np.int64)) if small else None
    if getattr(t, "shape", None) == () and hasattr(t, "item"):
        kind = getattr(getattr(t, "dtype", None), "kind", "")
        return _instant(np.asarray(t)[()]) if kind == "M" else None if kind == "m" else _instant(t.item())
    return operator.index(t) * SECOND if hasattr(t, "__index__") and not hasattr(t, "__len__") else None


def _from_text(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text) if "-" in text and len(text) <= LONGEST_TEXT else None
    except ValueError:
        return None
    finer = NANOSECONDS.search(text)
    nanoseconds = _instant(moment)
    return None if nanoseconds is None else nanoseconds + (int(finer[1].ljust(3, "0")) if finer else 0)


def is_one_time(t: object) -> bool:
    """Tell whether `t` is one time for all rows of a batch, and no column."""
    return is_single(t) or isinstance(t, date | np.datetime64 | Decimal)


def column_to_epoch_ns(column: object, n: int) -> NDArray[np.int64]:
    """Return the times of `n` rows: a column of times, or one time for all of them; errors name the position."""
    if is_one_time(column):
        return np.full(n, to_epoch_ns(column), np.int64)
    values = read_numbers(column, "t")
    shape = (len(values),) if isinstance(values, list) else values.shape
    if shape != (n,):
        but = f"got the shape {shape}" if len(shape) > 1 else f"got {shape[0]}"
        raise TimeError(argument="t", expected=f"to have as many rows as `y_true`, {n}", got=shape[0], but=but)
    if isinstance(values, np.ndarray) and (kind := values.dtype.kind) in "fiuM":
        values = values.astype(np.float64, copy=False) if kind == "f" else values
        seconds = values.astype("datetime64[s]").astype(np.int64) if kind == "M" else values
        with np.errstate(invalid="ignore"):
            in_range = bool(((seconds > -(LIMIT // SECOND)) & (seconds < LIMIT // SECOND)).all())
        if in_range and kind == "M":
            return values.astype("datetime64[ns]").astype(np.int64)
        if in_range:
            return seconds_to_ns(values) if kind == "f" else values.astype(np.int64) * SECOND
    return np.fromiter((to_epoch_ns(t, position) for position, t in enumerate(values)), np.int64, n)


def seconds_to_ns(seconds: Any) -> Any:
    """Return floats as nanoseconds; the whole seconds apart, because the product would be rounded near the present."""
    whole = np.floor(seconds)
    return whole.astype(np.int64) * SECOND + np.rint((seconds - whole) * 1e9).astype(np.int64)


def format_duration(nanoseconds: int) -> str:
    """Return a length of time as text, in the largest unit of which it is a whole number."""
    unit = max((unit for unit in UNITS if nanoseconds % UNITS[unit] == 0), key=UNITS.__getitem__)
    return f"{nanoseconds // UNITS[unit]}{unit}"


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
