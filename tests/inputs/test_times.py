"""Times and lengths of time become whole nanoseconds."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.refusals import refused

import stream_metrics as sm

SECOND = 10**9


def window(period: Any = "1ns") -> sm.TimeWindow[Any, Any]:
    """Return a window of one pane of a length."""
    return sm.TimeWindow(sm.Accuracy(), period, 1)


def timed(*nanoseconds: int) -> sm.TimeWindow[Any, Any]:
    """Return a window that counted one sample at each of some times in nanoseconds."""
    state = window()
    for t in nanoseconds:
        state.update(1, 1, t=np.datetime64(t, "ns"))
    return state


@pytest.mark.quick
def test_lengths() -> None:
    """Seconds, timedeltas and text with units; what is shown reads back."""
    cases: list[tuple[str, list[Any]]] = [
        ("1ns", ["1ns", pd.Timedelta(1, "ns"), 1e-9]),
        ("1us", [timedelta(microseconds=1), "0.001 milliseconds", "1000nanoseconds"]),
        ("10us", [" 10 us ", 1e-5]),
        ("5ms", ["5 milliseconds", 0.005]),
        ("100ms", [0.1]),
        ("250ms", ["250ms", 0.25]),
        ("1s", [1, 1.0, "1 sec"]),
        ("30s", ["30s", "30 seconds"]),
        ("1m", [timedelta(minutes=1), "1 min", "1minute"]),
        ("5m", ["5m"]),
        ("90s", ["90 s", "90sec"]),
        ("1h", ["1h", "60min", "1 hour", pd.Timedelta("60min"), 3600]),
        ("90m", ["1h30m", "1.5h", "1 hour 30 minutes", np.timedelta64(90, "m")]),
        ("2h", ["2hrs"]),
        ("1d", ["1 day"]),
        ("2d", ["2d", 2 * 86400]),
    ]
    for shown, lengths in cases:
        for length in lengths:
            assert window(length).period == shown, length
        assert window(shown) == window(lengths[0])


@pytest.mark.quick
def test_bad_lengths() -> None:
    """Anything else is refused by name and value, and long text is not searched for minutes or repeated."""
    bad: list[Any] = [
        "", "h", "1", "-1h", "1x", "1h foo", "0s", 0, -1, True, None, float("nan"), float("inf"), "0.1ns", "200000d",
        "1 mo", "1 month", "1hourly", np.timedelta64("NaT"), pd.NaT, np.timedelta64(10**6, "D"),
        np.timedelta64(1, "Y"), "9" * 100_000, "1s" * 51, " " * 100_000 + "1s",
    ]  # fmt: skip
    for length in bad:
        error = refused(lambda: window(length), ValueError, "Expected `period` to be a length of time")  # noqa: B023
        assert len(str(error)) < 300


@pytest.mark.quick
def test_instants() -> None:
    """Every form of a time, alone and in a column; without a zone it is in UTC."""
    cases: list[tuple[Any, int]] = [
        (0, 0), (-1, -SECOND), (0.3, 3 * SECOND // 10), (1709209815.25, 1709209815 * SECOND + SECOND // 4),
        (Decimal("1709209815.000000001"), 1709209815 * SECOND + 1), (1e-9, 1), (-0.5, -SECOND // 2),
        (np.float64(1.5), 3 * SECOND // 2), (np.int32(7), 7 * SECOND), (np.array(2), 2 * SECOND),
        (datetime(1970, 1, 1), 0),
        (datetime(1970, 1, 1, tzinfo=timezone(timedelta(hours=2))), -7200 * SECOND),
        (datetime(2024, 2, 29, 12, 30, 15, 250000, tzinfo=UTC), 1709209815 * SECOND + SECOND // 4),
        (np.datetime64("2024-02-29T12:30:15.250"), 1709209815 * SECOND + SECOND // 4),
        (np.datetime64("2024-02-29"), 1709164800 * SECOND), (date(2024, 2, 29), 1709164800 * SECOND),
        (pd.Timestamp("1970-01-01 00:00:00.000000001"), 1),
        ("2024-02-29T12:30:15.250Z", 1709209815 * SECOND + SECOND // 4), ("2024-02-29", 1709164800 * SECOND),
        (" 1970-01-01 02:00:00.000000001+02:00 ", 1), (np.str_("1970-01-01T00:00:01"), SECOND),
        (pd.Timestamp("1970-01-01", tz="Asia/Tokyo"), -9 * 3600 * SECOND),
    ]  # fmt: skip
    for t, expected in cases:
        one, many, whole = window(), window(), window()
        one.update(1, 1, t=t)
        many.update_many([1, 1], [1, 1], t=[t, t])
        whole.update_many([1, 1], [1, 1], t=t)

        assert one == timed(expected), t
        assert one.latest == pytest.approx(expected / SECOND, rel=1e-15), t
        assert many == whole == timed(expected, expected), t
        groups = sm.ByGroup(window())
        groups.update_many([1, 1], [1, 1], t=t, group=[1, 2])
        assert groups.state(1).latest == groups.state(2).latest == one.latest


@pytest.mark.quick
def test_bad_times() -> None:
    """What is no time, or in milliseconds by mistake, is refused; in a column with the position."""
    bad: list[Any] = [
        True, "20240101", "1700000000", "now", "0001-01-01T00:00:00+14:00", "2024-13-01", float("nan"), float("inf"),
        1e10, 10**10, datetime(9999, 1, 1), date(9999, 1, 1), np.datetime64("NaT"), pd.NaT,
        np.datetime64("3000-01-01"), 1_700_000_000_000, None,
    ]  # fmt: skip
    state = sm.TimeWindow(sm.Accuracy(), 10, 1)
    for t in bad:
        if t is not None:
            error: Any = refused(lambda: state.update(1, 1, t=t), sm.TimeError)  # noqa: B023
            assert (error.argument, error.position) == ("t", None), t
        for column in ([0, t], np.array([0, t], object)):
            error = refused(lambda: state.update_many([1, 1], [1, 1], t=column), sm.TimeError)  # noqa: B023
            assert (error.argument, error.position) == ("t", 1), t
    refused(lambda: state.update_many([1, 1], [1, 1], t=[1, 2, 3]), sm.TimeError, "as many rows as `y_true`, 2")

    assert state == sm.TimeWindow(sm.Accuracy(), 10, 1)


@pytest.mark.quick
def test_the_range_of_times() -> None:
    """Times up to a second less than 2**62 ns from 1970 are taken, in every form, and none beyond that."""
    largest = 2**62 // SECOND
    for sign in (1, -1):
        inside, beyond = sign * (largest - 1), sign * (largest + 1)
        for t in (inside, float(inside), np.array(inside), np.datetime64(inside, "s")):
            one, many = window(), window()
            one.update(1, 1, t=t)
            many.update_many([1], [1], t=[t])
            assert one == many == timed(inside * SECOND)
        for seconds in (beyond, sign * 10**12):
            for column in ([seconds], np.array([seconds]), np.array([float(seconds)]), np.array([seconds], "M8[s]")):
                refused(lambda: window().update_many([1], [1], t=column), sm.TimeError, "t")  # noqa: B023
                refused(lambda: window().update(1, 1, t=column[0]), sm.TimeError, "t")  # noqa: B023


def moment(t: Any) -> int:
    """Return a time in nanoseconds, computed independently of the package."""
    if isinstance(t, datetime):
        return (t.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 1000
    return math.floor(t) * SECOND + (round((t - math.floor(t)) * 1e9) if isinstance(t, float) else 0)
