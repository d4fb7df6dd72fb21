"""Trend lines of a collector have bounded size and start at the first look."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.collector_server import MetricHistory

pytestmark = pytest.mark.quick
LINES = ("accuracy", "macro_f1")
MOST = 360


def moment(n: int, accuracy: float | None = 0.5) -> Any:
    """Return the part of a view that history reads."""
    return SimpleNamespace(n=n, metrics={"accuracy": accuracy, "log_loss": 1.0})


def test_lines_have_the_values_of_the_views() -> None:
    """Moments that come faster than the interval replace each other; time never goes back; None is no value."""
    history = MetricHistory(LINES, interval=10.0)
    assert history.lines() == {"t": [], "n": [], "accuracy": [], "macro_f1": []}
    moments = [(0.0, 0.25), (1.0, 0.5), (2.0, 0.5), (12.0, None), (13.0, 0.75), (5.0, 1.0), (float("nan"), 1.0)]
    for t, accuracy in moments:
        history.note(t, moment(0 if t != t else int(t), accuracy))
    lines = {"t": [0.0, 12.0, 13.0], "n": [0, 12, 13], "accuracy": [0.25, None, 0.75], "macro_f1": [None] * 3}
    assert history.lines() == lines


@given(st.lists(st.floats(0, 1e5), min_size=1, max_size=300), st.integers(1, 20))
def test_lines_stay_bounded_and_reach_back(gaps: list[float], repeat: int) -> None:
    """However many moments, however far apart: at most 360 points, from the first moment to the last, rising."""
    history = MetricHistory(LINES)
    t = start = 1.7e9
    history.note(start, moment(0))
    for number, gap in enumerate(gaps * repeat):
        t += gap
        history.note(t, moment(number))

    lines = history.lines()
    assert len(lines["t"]) <= MOST
    assert (lines["t"][0], lines["t"][-1]) == (start, t)
    assert lines["t"] == sorted(set(lines["t"]))
    assert {len(line) for line in lines.values()} == {len(lines["t"])}


def test_full_lines_are_thinned_by_half() -> None:
    """After a long time there are still more than a hundred points, evenly spaced."""
    history = MetricHistory(LINES)
    for t in range(20_000):
        history.note(float(t), moment(t))

    times = [t for t in history.lines()["t"] if t is not None]
    assert MOST // 2 <= len(times) <= MOST
    assert {b - a for a, b in pairwise(times[:-1])} == {64.0}
