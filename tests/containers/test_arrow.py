"""Windows, fading and groups read columns of Arrow: times of every type, text of every type, streams read once."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from support.arrow_columns import pa

import stream_metrics as sm

START = datetime.datetime(2024, 5, 1, 12, 0, 0, 250_000)
ROWS = [START + datetime.timedelta(seconds=900 * k) for k in range(6)]
SECONDS = [row.replace(tzinfo=datetime.UTC).timestamp() for row in ROWS]
STATES: dict[str, Callable[[], Any]] = {
    "window": lambda: sm.TimeWindow(sm.MetricSet(), period="1h", panes=4),
    "fading": lambda: sm.Fading(sm.MetricSet(), half_life="1h"),
}
TRUTH, PREDICTED = ["a", "b", "a", "a", "b", "a"], ["a", "b", None, "b", "b", "a"]


class Stream:
    """What another library gives out: a stream of arrays that can be read once."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        held, self.held = self.held, None
        return held.__arrow_c_stream__(requested_schema)


TIMES: dict[str, Any] = {
    **{unit: lambda unit=unit: pa.array(ROWS, pa.timestamp(unit)) for unit in ("ms", "us", "ns")},
    "zone": lambda: (
        pa.array(ROWS, pa.timestamp("us")).cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("ns", "Asia/Tokyo"))
    ),
    "chunks": lambda: pa.chunked_array([ROWS[:2], [], ROWS[2:]], pa.timestamp("us")),
    "slice": lambda: pa.array([START, *ROWS], pa.timestamp("us")).slice(1),
    "seconds": lambda: pa.array(SECONDS),
    "dictionary of seconds": lambda: pa.array(SECONDS).dictionary_encode(),
    "stream": lambda: Stream(pa.chunked_array([ROWS], pa.timestamp("ns"))),
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("kind", TIMES)
def test_times_are_those_of_the_rows(kind: str, state: str) -> None:
    """Timestamps of any unit, in any zone or none, and seconds are the times of the same datetimes."""
    filled, expected = STATES[state](), STATES[state]()
    filled.update_many(pa.array(TRUTH), pa.array(PREDICTED), t=TIMES[kind]())
    expected.update_many(TRUTH, PREDICTED, t=SECONDS if "seconds" in kind else ROWS)

    assert filled.to_bytes() == expected.to_bytes()


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(
    ("times", "position"),
    [
        (lambda: pa.array([*ROWS[:2], None, *ROWS[3:]], pa.timestamp("us")), 2),
        (lambda: pa.chunked_array([[1, 2, 3], [4, None, 6]]), 4),
        (lambda: pa.array([1.0, float("nan"), 3, 4, 5, 6]), 1),
        (lambda: pa.array(["x"] * 6), 0),
    ],
)
def test_what_is_no_time_is_named(state: str, times: Callable[[], Any], position: int) -> None:
    """A time that is null, NaN or text raises, naming the position, and nothing is counted."""
    filled = STATES[state]()
    with pytest.raises(ValueError, match=f"`t` at position {position} "):
        filled.update_many(TRUTH, PREDICTED, t=times())

    assert filled == STATES[state]()


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()])
def test_a_date_is_its_first_instant(state: str, kind: Any) -> None:
    """Dates are times: the first instant of the day, in UTC."""
    filled, expected = STATES[state](), STATES[state]()
    day = datetime.datetime(START.year, START.month, START.day, tzinfo=datetime.UTC)
    filled.update_many(TRUTH, PREDICTED, t=pa.array([START.date()] * 6, kind))
    expected.update_many(TRUTH, PREDICTED, t=[day] * 6)

    assert filled.to_bytes() == expected.to_bytes()


@pytest.mark.parametrize("kind", [pa.string(), pa.string_view(), pa.dictionary(pa.uint8(), pa.large_string())])
def test_columns_that_are_dealt_out(kind: Any) -> None:
    """Text in views, which Arrow cannot pick rows of, and streams go to the groups of their rows."""
    columns = [pa.array(rows).cast(kind) for rows in (TRUTH, PREDICTED, ["x", "y", "x", "x", "z", "x"])]
    group, expected, streamed = (sm.ByGroup(sm.MetricSet()) for _ in "abc")
    group.update_many(columns[0], columns[1], group=columns[2])
    streamed.update_many(
        *(Stream(pa.chunked_array([c])) for c in columns[:2]), group=Stream(pa.chunked_array(columns[2:]))
    )
    expected.update_many(TRUTH, PREDICTED, group=["x", "y", "x", "x", "z", "x"])

    assert group == streamed == expected


def test_a_window_of_samples_reads_a_stream() -> None:
    """A stream that can be read only once leaves the same last samples as a list."""
    window, expected = sm.Rolling(sm.MetricSet(), 4), sm.Rolling(sm.MetricSet(), 4)
    window.update_many(Stream(pa.chunked_array([TRUTH])), Stream(pa.chunked_array([PREDICTED])))
    expected.update_many(TRUTH, PREDICTED)

    assert window == expected
