"""Windows, fading and groups read columns of Arrow: times of every type, text of every type, streams read once."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from support.arrow_columns import pa
from support.refusals import refused

import stream_metrics as sm

pytestmark = pytest.mark.quick

START = datetime.datetime(2024, 5, 1, 12, 0, 0, 250_000)
ROWS = [START + datetime.timedelta(seconds=900 * k) for k in range(6)]
SECONDS = [row.replace(tzinfo=datetime.UTC).timestamp() for row in ROWS]
TRUTH, PREDICTED = ["a", "b", "a", "a", "b", "a"], ["a", "b", None, "b", "b", "a"]


class Stream:
    """What another library gives out: a stream of arrays that can be read once."""

    def __init__(self, *chunks: Any) -> None:
        self.column = pa.chunked_array(list(chunks))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        column, self.column = self.column, None
        return column.__arrow_c_stream__(requested_schema)


def states() -> list[Any]:
    """Return a window and a fading state."""
    return [sm.TimeWindow(sm.MetricSet(), period="1h", panes=4), sm.Fading(sm.MetricSet(), half_life="1h")]


def filled(times: Any) -> list[bytes]:
    """Return the bytes of states that counted the rows at the times that a function returns."""
    result = states()
    for state in result:
        state.update_many(pa.array(TRUTH), pa.array(PREDICTED), t=times())
    return [state.to_bytes() for state in result]


def test_times_are_those_of_the_rows() -> None:
    """Timestamps of any unit, in any zone or none, and seconds are the times of the same datetimes."""
    us = pa.timestamp("us")
    plain = pa.array(ROWS, us)
    zone = plain.cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("ns", "Asia/Tokyo"))
    times: dict[str, Any] = {
        **{unit: lambda unit=unit: pa.array(ROWS, pa.timestamp(unit)) for unit in ("ms", "us", "ns")},
        "zone": lambda: zone,
        "chunks": lambda: pa.chunked_array([ROWS[:2], [], ROWS[2:]], us),
        "slice": lambda: pa.array([START, *ROWS], us).slice(1),
        "stream": lambda: Stream(pa.array(ROWS, pa.timestamp("ns"))),
    }
    expected, in_seconds = filled(lambda: ROWS), filled(lambda: SECONDS)
    assert [name for name, make in times.items() if filled(make) != expected] == []
    assert filled(lambda: pa.array(SECONDS)) == filled(lambda: pa.array(SECONDS).dictionary_encode()) == in_seconds


def test_what_is_no_time_is_named() -> None:
    """A time that is null, NaN or text raises, naming the position, and nothing is counted."""
    for times, position in (
        (pa.array([*ROWS[:2], None, *ROWS[3:]], pa.timestamp("us")), 2),
        (pa.chunked_array([[1, 2, 3], [4, None, 6]]), 4),
        (pa.array([1.0, float("nan"), 3, 4, 5, 6]), 1),
        (pa.array(["x"] * 6), 0),
    ):
        for state, empty in zip(states(), states(), strict=True):
            error = refused(lambda: state.update_many(TRUTH, PREDICTED, t=times), sm.TimeError, "t")  # noqa: B023
            assert error.position == position  # type: ignore[attr-defined]
            assert state == empty


def test_columns_that_are_dealt_out_and_streams() -> None:
    """Text in views, which Arrow cannot pick rows of, and streams that are read once count as lists do."""
    keys = ["x", "y", "x", "x", "z", "x"]
    expected, rolling, window = sm.ByGroup(sm.MetricSet()), *(sm.Rolling(sm.MetricSet(), 4) for _ in "ab")
    expected.update_many(TRUTH, PREDICTED, group=keys)
    for kind in (pa.string(), pa.string_view(), pa.dictionary(pa.uint8(), pa.large_string())):
        columns = [pa.array(rows).cast(kind) for rows in (TRUTH, PREDICTED, keys)]
        group, streamed = sm.ByGroup(sm.MetricSet()), sm.ByGroup(sm.MetricSet())
        group.update_many(*columns[:2], group=columns[2])
        streamed.update_many(*map(Stream, columns[:2]), group=Stream(columns[2]))
        assert group == streamed == expected
    rolling.update_many(Stream(TRUTH), Stream(PREDICTED))
    window.update_many(TRUTH, PREDICTED)
    assert rolling == window
