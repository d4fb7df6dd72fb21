"""Windows that close, by hand, with what Apache Beam says of the same stream.

Beam's rules (its programming guide, sections on windowing and on watermarks and late data; class `TestStream` for the
notation): a fixed window of 60 s holds start <= t < end; a sliding one of size S and period P puts an element into
every window [k P, k P + S) that holds its time; an element is dropped from a window once the watermark has reached
the window's end plus the allowed lateness. The watermark here is the latest time seen, or what `advance` says.
"""

from __future__ import annotations

from typing import Any

import pytest
from support.refusals import all_refused, refused

import stream_metrics as sm

pytestmark = pytest.mark.quick

Step = tuple[str, float] | float | list[tuple[float, float, tuple[str, ...]]]
STREAMS: dict[str, tuple[dict[str, Any], list[Step], int]] = {  # steps, and how many elements are dropped in the end
    # elements are (name, time), a watermark is a number, a list is what has closed since the last list
    "a fixed window closes at its end": (
        {"period": 60}, [("a", 10), ("b", 59.9), [], 60, [(0, 60, ("a", "b"))], ("c", 30), 200, []], 1,
    ),
    "an element at the end is in the next window": (
        {"period": 60}, [("b", 0), ("a", 60), [(0, 60, ("b",))], 119.999, [], 120, [(60, 120, ("a",))]], 0,
    ),
    "allowed lateness keeps a window open": (
        {"period": 60, "lateness": 30},
        [("a", 10), ("x", 89), ("c", 30), [], 90, [(0, 60, ("a", "c"))], ("d", 30)], 1,
    ),
    "sliding windows hold an element each time": (
        {"period": 60, "panes": 3}, [("a", 25), 1000, [(-20, 40, ("a",)), (0, 60, ("a",)), (20, 80, ("a",))]], 0,
    ),
    "an element late for some sliding windows counts in the others": (
        {"period": 60, "panes": 3},
        [("a", 25), ("x", 65), ("b", 30), [(-20, 40, ("a",)), (0, 60, ("a",))], 80, [(20, 80, ("a", "b", "x"))],
         ("c", 39)], 1,
    ),
    "empty windows are not closed": (
        {"period": 10}, [("a", 1), ("b", 500_000), ("c", 1_000_000), [(0, 10, ("a",)), (500_000, 500_010, ("b",))]], 0,
    ),
    "windows before 1970 lie as after it": (
        {"period": 60}, [("a", -60), ("b", -0.5), ("c", 0.0), [(-60, 0, ("a", "b"))]], 0,
    ),
}  # fmt: skip


def window(period: float, panes: int = 1, lateness: float = 0, on_close: Any = "keep") -> sm.TimeWindow:
    """Return a window that stores what has closed."""
    return sm.TimeWindow(sm.ConfusionMatrix(), period, panes, lateness, on_close=on_close)


def add(state: sm.TimeWindow, *elements: tuple[str, float]) -> None:
    """Add elements with their times."""
    for name, t in elements:
        state.update(name, name, t=t)


def closed(state: sm.TimeWindow) -> list[tuple[float, float, tuple[str, ...]]]:
    """Return start, end and elements of the windows that have closed."""
    return [(start, end, tuple(each.labels)) for start, end, each in state.closed()]


@pytest.mark.parametrize("name", STREAMS)
def test_windows_close_as_in_beam(name: str) -> None:
    """After each element and each watermark the windows that have closed are those of Beam, in the order of time."""
    options, steps, dropped = STREAMS[name]
    state = window(**options)
    for step in steps:
        if isinstance(step, list):
            assert closed(state) == step
        elif isinstance(step, tuple):
            add(state, step)
        else:
            state.advance(step)
    assert state.dropped == dropped


def test_a_callback_is_called_in_the_update_that_closes() -> None:
    """`on_close` gets start, end and state as soon as the time has come, also in the middle of a pane."""
    calls: list[tuple[float, float, int]] = []
    state = window(60, lateness=1.5, on_close=lambda start, end, each: calls.append((start, end, each.n)))
    add(state, ("a", 59), ("b", 61), ("a", 61.4))
    assert calls == []
    add(state, ("b", 61.5))
    assert calls == [(0, 60, 1)]

    state.update_many(["a"] * 3, ["a"] * 3, t=[61.6, 190, 130])
    assert calls == [(0, 60, 1), (60, 120, 4), (120, 180, 1)]


def test_a_batch_closes_with_all_its_rows() -> None:
    """What was in time before a batch is counted, though later rows of the batch close its window."""
    state = window(60)
    state.update_many(["a", "b", "c"], ["a", "b", "c"], t=[10, 70, 20])

    assert closed(state) == [(0, 60, ("a", "c"))]
    assert state.dropped == 0


def test_a_callback_that_raises_loses_nothing() -> None:
    """The error comes out of the update, which has counted; the other windows are given at the next call."""
    seen: list[float] = []

    def once(start: float, _end: float, _state: Any) -> None:
        seen.append(start)
        if len(seen) == 1:
            raise RuntimeError("no space")

    state = window(10, on_close=once)
    refused(lambda: state.update_many(["a", "b", "c"], ["a", "b", "c"], t=[1, 11, 21]), RuntimeError, "no space")
    assert state.n == 1
    state.advance(31)

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


def test_a_window_closes_in_few_merges() -> None:
    """A window of 200 panes closes in about three merges a pane, not 200, however late samples may come."""
    merges = []

    class Counting(sm.ConfusionMatrix):
        def merge(self, other: Any) -> Any:
            merges.append(1)
            return super().merge(other)

    for lateness in (0, 5, 300):
        state = sm.TimeWindow(Counting(), 200, panes=200, lateness=lateness, on_close="keep")
        for t in range(800):
            state.update("a", "a", t=float(t))
        assert [each.state.n for each in state.closed()] == [*range(1, 201), *[200] * (599 - lateness)]
    assert len(merges) < 3 * 3 * 800


def test_closed_windows_are_stored_only_with_on_close() -> None:
    """Without `on_close` there are no closed windows to iterate over, and the error says what to do."""
    all_refused([
        (lambda: window(60, on_close=None).closed(), ValueError, "on_close='keep'"),
        (lambda: window(60, on_close="drop"), ValueError, "on_close"),
    ])  # fmt: skip


def test_a_late_sample_opens_the_same_windows_in_a_batch() -> None:
    """A window that ended without samples is not closed later, whether a late sample comes alone or in a batch."""
    one, batch = (sm.TimeWindow(sm.ConfusionMatrix(), 2, panes=2, on_close="keep") for _ in range(2))
    for t in (10.0, 9.5):
        one.update("a", "a", t=t)
        batch.update_many(["a"], ["a"], t=[t])
    assert [one.advance(20.0), batch.advance(20.0)] == [None, None]
    assert closed(one) == closed(batch) != []
