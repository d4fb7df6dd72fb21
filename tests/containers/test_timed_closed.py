"""Windows that close, by hand, with what Apache Beam says of the same stream.

Beam's rules (its programming guide, sections on windowing and on watermarks and late data; class `TestStream` for the
notation): a fixed window of 60 s holds start <= t < end; a sliding one of size S and period P puts an element into
every window [k P, k P + S) that holds its time; an element is dropped from a window once the watermark has reached
the window's end plus the allowed lateness. The watermark here is the latest time seen, or what `advance` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import stream_metrics as sm


def window(period: float, panes: int = 1, lateness: float = 0, **more: Any) -> sm.TimeWindow:
    """Return a window that keeps what has closed."""
    return sm.TimeWindow(sm.ConfusionMatrix(), period, panes, lateness, **{"on_close": "keep", **more})


def add(made: sm.TimeWindow, *elements: tuple[str, float]) -> None:
    """Add elements with their times."""
    for name, t in elements:
        made.update(name, name, t=t)


def closed(made: sm.TimeWindow) -> list[tuple[float, float, Sequence[str]]]:
    """Return start, end and elements of the windows that have closed."""
    return [(start, end, state.labels) for start, end, state in made.closed()]


def test_fixed_windows_close_at_their_end() -> None:
    """addElements(a@10, b@59.9), advanceWatermarkTo(60): the window [0, 60) has a and b; c@30 is late and dropped."""
    made = window(60)
    add(made, ("a", 10), ("b", 59.9))
    assert closed(made) == []

    made.advance(60)
    assert closed(made) == [(0, 60, ("a", "b"))]
    add(made, ("c", 30))
    assert made.dropped == 1
    made.advance(200)
    assert closed(made) == []


def test_an_element_at_the_end_is_in_the_next_window() -> None:
    """start <= t < end: a@60 is in [60, 120), and closes [0, 60) as it moves the watermark there."""
    made = window(60)
    add(made, ("b", 0), ("a", 60))

    assert closed(made) == [(0, 60, ("b",))]
    made.advance(119.999)
    assert closed(made) == []
    made.advance(120)
    assert closed(made) == [(60, 120, ("a",))]


def test_allowed_lateness_keeps_a_window_open() -> None:
    """withAllowedLateness(30 s): c@30 counts at the watermark 89, and is dropped at 90 = end + lateness."""
    made = window(60, lateness=30)
    add(made, ("a", 10), ("x", 89), ("c", 30))
    assert closed(made) == []

    made.advance(90)
    assert closed(made) == [(0, 60, ("a", "c"))]
    add(made, ("d", 30))
    assert made.dropped == 1


def test_sliding_windows_hold_an_element_each_time() -> None:
    """SlidingWindows(size 60, period 20): a@25 is in [-20, 40), [0, 60) and [20, 80)."""
    made = window(60, panes=3)
    add(made, ("a", 25))
    made.advance(1000)

    assert closed(made) == [(-20, 40, ("a",)), (0, 60, ("a",)), (20, 80, ("a",))]


def test_an_element_late_for_some_sliding_windows_counts_in_the_others() -> None:
    """At the watermark 65 the windows of b@30 that end at 40 and 60 have expired; it is in [20, 80) only."""
    made = window(60, panes=3)
    add(made, ("a", 25), ("x", 65), ("b", 30))
    assert made.dropped == 0
    assert closed(made) == [(-20, 40, ("a",)), (0, 60, ("a",))]

    made.advance(80)
    assert closed(made) == [(20, 80, ("a", "b", "x"))]
    add(made, ("c", 39))
    assert made.dropped == 1


def test_empty_windows_are_not_closed() -> None:
    """After a gap only the windows with elements come out, in the order of time."""
    made = window(10)
    add(made, ("a", 1), ("b", 500_000), ("c", 1_000_000))

    assert closed(made) == [(0, 10, ("a",)), (500_000, 500_010, ("b",))]


def test_windows_before_1970_lie_as_after_it() -> None:
    """Panes are numbered from 1970 in both directions: -0.5 is in [-60, 0)."""
    made = window(60)
    add(made, ("a", -60), ("b", -0.5), ("c", 0.0))

    assert closed(made) == [(-60, 0, ("a", "b"))]


def test_a_callback_is_called_in_the_update_that_closes() -> None:
    """`on_close` gets start, end and state as soon as the time has come, also in the middle of a pane."""
    calls: list[tuple[float, float, int]] = []
    made = window(60, lateness=1.5, on_close=lambda start, end, state: calls.append((start, end, state.n)))
    add(made, ("a", 59), ("b", 61), ("a", 61.4))
    assert calls == []
    add(made, ("b", 61.5))
    assert calls == [(0, 60, 1)]

    made.update_many(["a"] * 3, ["a"] * 3, t=[61.6, 190, 130])
    assert calls == [(0, 60, 1), (60, 120, 4), (120, 180, 1)]


def test_a_batch_closes_with_all_its_rows() -> None:
    """What was in time before a batch is counted, though later rows of the batch close its window."""
    made = window(60)
    made.update_many(["a", "b", "c"], ["a", "b", "c"], t=[10, 70, 20])

    assert closed(made) == [(0, 60, ("a", "c"))]
    assert made.dropped == 0


def test_a_callback_that_raises_loses_nothing() -> None:
    """The error comes out of the update, which has counted; the other windows are given at the next call."""
    seen: list[float] = []

    def once(start: float, _end: float, _state: Any) -> None:
        seen.append(start)
        if len(seen) == 1:
            raise RuntimeError("no space")

    made = window(10, on_close=once)
    with pytest.raises(RuntimeError, match="no space"):
        made.update_many(["a", "b", "c"], ["a", "b", "c"], t=[1, 11, 21])
    assert made.n == 1
    made.advance(31)

    assert seen == [0, 10, 20]


def test_a_merge_closes_nothing() -> None:
    """Windows that end by a merge are not passed to `on_close`; those that end later are."""
    a, b = window(60), window(60)
    add(a, ("a", 10))
    add(b, ("b", 130))
    a.merge(b)
    assert closed(a) == []

    a.advance(180)
    assert closed(a) == [(120, 180, ("b",))]


def test_closed_windows_are_stored_only_with_on_close() -> None:
    """Without `on_close` there are no closed windows to iterate over, and the error says what to do."""
    with pytest.raises(ValueError, match="on_close='keep'"):
        window(60, on_close=None).closed()
    with pytest.raises(ValueError, match="on_close"):
        window(60, on_close="drop")
