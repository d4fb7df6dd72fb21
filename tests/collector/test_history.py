"""Trend lines of a collector have bounded size and start at the first look."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_metrics.collector.history import MOST_POINTS, History
from stream_metrics.monitor.view.types import WindowView

LINES = ("accuracy", "macro_f1")


def moment(n: int, accuracy: float | None = 0.5) -> WindowView:
    """Return the part of a view that history reads."""
    return WindowView(n=n, metrics={"accuracy": accuracy, "log_loss": 1.0})


def test_lines_have_the_values_of_the_views() -> None:
    """Times, n and the metrics, None where there is no value."""
    history = History(LINES)
    history.note(10.0, moment(1, 0.25))
    history.note(11.0, moment(2, None))

    assert history.lines() == {"t": [10.0, 11.0], "n": [1, 2], "accuracy": [0.25, None], "macro_f1": [None, None]}


def test_the_newest_moment_is_always_the_last_point() -> None:
    """Moments that come faster than the interval replace each other; time never goes back."""
    history = History(LINES, interval=10.0)
    for t in (0.0, 1.0, 2.0, 12.0, 13.0, 5.0, float("nan")):
        history.note(t, moment(int(t) if t == t else 0))

    assert history.lines()["t"] == [0.0, 12.0, 13.0]
    assert history.lines()["n"] == [0, 12, 13]


@given(st.lists(st.floats(0, 1e5), min_size=1, max_size=300), st.integers(1, 20))
def test_lines_stay_bounded_and_reach_back(gaps: list[float], repeat: int) -> None:
    """However many moments, however far apart: at most 360 points, from the first moment to the last, rising."""
    history = History(LINES)
    t = start = 1.7e9
    history.note(start, moment(0))
    for number, gap in enumerate(gaps * repeat):
        t += gap
        history.note(t, moment(number))

    lines = history.lines()
    assert len(lines["t"]) <= MOST_POINTS
    assert lines["t"][0] == start
    assert lines["t"][-1] == t
    assert lines["t"] == sorted(set(lines["t"]))
    assert {len(line) for line in lines.values()} == {len(lines["t"])}


def test_full_lines_are_thinned_by_half() -> None:
    """After a long time there are still more than a hundred points, evenly spaced."""
    history = History(LINES)
    for t in range(20_000):
        history.note(float(t), moment(t))

    times = [t for t in history.lines()["t"] if t is not None]
    assert MOST_POINTS // 2 <= len(times) <= MOST_POINTS
    assert {b - a for a, b in pairwise(times[:-1])} == {history.interval} == {64.0}


def test_no_moments_no_points() -> None:
    """Empty lines are complete."""
    assert History(LINES).lines() == {"t": [], "n": [], "accuracy": [], "macro_f1": []}
    with pytest.raises(ValueError, match="interval"):
        History(LINES, interval=0)
