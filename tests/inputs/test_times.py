"""Times and lengths of time become whole nanoseconds."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics.inputs.times import column_to_epoch_ns, format_duration, parse_duration, to_epoch_ns

SECOND = 10**9


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1h", 3600 * SECOND), ("30s", 30 * SECOND), ("5m", 300 * SECOND), ("2d", 2 * 86400 * SECOND),
        ("1h30m", 5400 * SECOND), ("1.5h", 5400 * SECOND), ("250ms", SECOND // 4), (" 10 us ", 10_000), ("1ns", 1),
        ("60min", 3600 * SECOND), ("1 hour", 3600 * SECOND), ("90 s", 90 * SECOND), ("90sec", 90 * SECOND),
        ("1 hour 30 minutes", 5400 * SECOND), ("2hrs", 7200 * SECOND), ("1 day", 86400 * SECOND),
        ("5 milliseconds", 5_000_000), (np.timedelta64(90, "m"), 5400 * SECOND), (pd.Timedelta("60min"), 3600 * SECOND),
        (pd.Timedelta(1, "ns"), 1),
        (1, SECOND), (0.1, SECOND // 10), (timedelta(minutes=1), 60 * SECOND), (timedelta(microseconds=1), 1000),
    ],
)  # fmt: skip
def test_lengths(text: Any, expected: int) -> None:
    """Seconds, timedeltas and text with units; what is shown reads back."""
    assert parse_duration(text, "period") == expected
    assert parse_duration(format_duration(expected), "period") == expected


@pytest.mark.parametrize(
    "bad",
    ["", "h", "1", "-1h", "1x", "1h foo", "0s", 0, -1, True, None, float("nan"), float("inf"), "0.1ns", "200000d",
     "1 mo", "1 month", "1hourly", np.timedelta64("NaT"), pd.NaT, np.timedelta64(10**6, "D"), np.timedelta64(1, "Y")],
)  # fmt: skip
def test_bad_lengths(bad: Any) -> None:
    """Anything else is refused by name and value."""
    with pytest.raises(ValueError, match="Expected `half_life` to be a length of time"):
        parse_duration(bad, "half_life")


@pytest.mark.parametrize("text", ["9" * 100_000, "1s" * 51, " " * 100_000 + "1s"])
def test_long_text_is_no_length(text: str) -> None:
    """It is refused without a search that takes minutes, and not repeated in the message."""
    with pytest.raises(ValueError, match="Expected `half_life` to be a length of time") as caught:
        parse_duration(text, "half_life")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("t", "expected"),
    [
        (0, 0), (-1, -SECOND), (0.3, 3 * SECOND // 10), (1e-9, 1), (-0.5, -SECOND // 2),
        (np.float64(1.5), 3 * SECOND // 2),
        (np.int32(7), 7 * SECOND), (np.array(2), 2 * SECOND), (datetime(1970, 1, 1), 0),
        (datetime(1970, 1, 1, tzinfo=timezone(timedelta(hours=2))), -7200 * SECOND),
        (datetime(2024, 2, 29, 12, 30, 15, 250000, tzinfo=UTC), 1709209815 * SECOND + SECOND // 4),
        (np.datetime64("2024-02-29T12:30:15.250"), 1709209815 * SECOND + SECOND // 4),
        (np.datetime64("2024-02-29"), 1709164800 * SECOND), (pd.Timestamp("1970-01-01 00:00:00.000000001"), 1),
        ("2024-02-29T12:30:15.250Z", 1709209815 * SECOND + SECOND // 4), ("2024-02-29", 1709164800 * SECOND),
        (" 1970-01-01 02:00:00.000000001+02:00 ", 1), (np.str_("1970-01-01T00:00:01"), SECOND),
        (pd.Timestamp("1970-01-01", tz="Asia/Tokyo"), -9 * 3600 * SECOND),
    ],
)  # fmt: skip
def test_instants(t: Any, expected: int) -> None:
    """Every form of a time, alone and in a column; without a zone it is in UTC."""
    assert to_epoch_ns(t) == expected
    assert column_to_epoch_ns([t, t], 2).tolist() == [expected] * 2


@pytest.mark.parametrize(
    "bad",
    [None, True, "20240101", "1700000000", "now", "0001-01-01T00:00:00+14:00", "2024-13-01",
     float("nan"), float("inf"), 1e10, 10**10, datetime(9999, 1, 1), date(9999, 1, 1),
     np.datetime64("NaT"), pd.NaT, np.datetime64("3000-01-01"), 1_700_000_000_000],
)  # fmt: skip
def test_bad_times(bad: Any) -> None:
    """What is no time, or in milliseconds by mistake, is refused; in a column with the position."""
    window = sm.TimeWindow(sm.Accuracy(), 10, 1)
    if bad is not None:
        with pytest.raises(ValueError, match="Expected `t` to be"):
            window.update(1, 1, t=bad)
    with pytest.raises(ValueError, match="`t` at position 1"):
        column_to_epoch_ns([0, bad], 2)
    with pytest.raises(ValueError, match="`t` at position 1"):
        column_to_epoch_ns(np.array([0, bad], object), 2)
    assert window == sm.TimeWindow(sm.Accuracy(), 10, 1)


@given(
    st.one_of(
        st.datetimes(datetime(1831, 1, 1), datetime(2109, 1, 1)),
        st.datetimes(datetime(1831, 1, 1), datetime(2109, 1, 1), timezones=st.just(UTC)),
        st.floats(-4e9, 4e9),
        st.integers(-4 * 10**9, 4 * 10**9),
    )
)
def test_the_compiled_way_reads_the_same_time(t: Any) -> None:
    """What `update` computes in compiled code is what `instant` says, for every date, leap years included."""
    window = sm.TimeWindow(sm.Accuracy(), 1, 1)
    window.update(1, 1, t=t)

    assert window._latest == to_epoch_ns(t)


@given(st.lists(st.floats(-4e9, 4e9)))
def test_arrays_are_read_as_their_elements(times: list[float]) -> None:
    """An array of floats, or of dates, gives to the bit what its elements do."""
    dates = np.array([np.datetime64(round(t), "s") for t in times], "datetime64[s]")

    assert column_to_epoch_ns(np.array(times), len(times)).tolist() == [to_epoch_ns(t) for t in times]
    assert column_to_epoch_ns(dates, len(times)).tolist() == [to_epoch_ns(t) for t in dates]
