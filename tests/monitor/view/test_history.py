"""Trend lines have bounded size, start at the first sample, and survive a restart."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_metrics.monitor.view.history import MOST_POINTS, History
from stream_metrics.monitor.view.types import WindowView

LINES = ("accuracy", "macro_f1")


def moment(n: int, accuracy: float | None = 0.5) -> dict[str, WindowView]:
    """Return the part of a view that history reads."""
    return {name: WindowView(n=n, metrics={"accuracy": accuracy, "log_loss": 1.0}) for name in ("total", "1h")}


def test_lines_have_the_values_of_the_views() -> None:
    """Times, n and headline metrics of each window, None where there is no value."""
    history = History(("total", "1h"), LINES)
    history.note(10.0, moment(1, 0.25))
    history.note(11.0, moment(2, None))

    expected = {"t": [10.0, 11.0], "n": [1, 2], "accuracy": [0.25, None], "macro_f1": [None, None]}
    assert history.view() == {"total": expected, "1h": expected}


def test_the_newest_moment_is_always_the_last_point() -> None:
    """Moments that come faster than the interval replace each other; time never goes back."""
    history = History(("1h",), LINES, interval=10.0)
    for t in (0.0, 1.0, 2.0, 12.0, 13.0, 5.0, float("nan")):
        history.note(t, moment(int(t) if t == t else 0))

    assert history.view()["1h"]["t"] == [0.0, 12.0, 13.0]
    assert history.view()["1h"]["n"] == [0, 12, 13]


@given(st.lists(st.floats(0, 1e5), min_size=1, max_size=300), st.integers(1, 20))
def test_lines_stay_bounded_and_reach_back(gaps: list[float], repeat: int) -> None:
    """However many moments, however far apart: at most 360 points, from the first moment to the last, rising."""
    history = History(("1h",), LINES)
    t = start = 1.7e9
    history.note(start, moment(0))
    for number, gap in enumerate(gaps * repeat):
        t += gap
        history.note(t, moment(number))

    found = history.view()["1h"]
    assert len(found["t"]) <= MOST_POINTS
    assert found["t"][0] == start
    assert found["t"][-1] == t
    assert found["t"] == sorted(set(found["t"]))
    assert {len(line) for line in found.values()} == {len(found["t"])}


def test_full_lines_are_thinned_by_half() -> None:
    """After a long time there are still more than a hundred points, evenly spaced."""
    history = History(("1h",), LINES)
    for t in range(20_000):
        history.note(float(t), moment(t))

    found = [t for t in history.view()["1h"]["t"] if t is not None]
    assert MOST_POINTS // 2 <= len(found) <= MOST_POINTS
    assert {b - a for a, b in pairwise(found[:-1])} == {history.interval} == {64.0}


def test_lines_survive_a_restart() -> None:
    """What was written is read again, through JSON too; new windows and metrics start without values."""
    history = History(("total", "1h"), LINES)
    for t in range(500):
        history.note(float(t), moment(t))
    data = json.loads(json.dumps(history.to_data(), allow_nan=False))
    same, wider = History(("total", "1h"), LINES), History(("1h", "1d"), (*LINES, "cohen_kappa"))
    same.restore(data)
    wider.restore(data)

    assert same.view() == history.view()
    assert same.interval == history.interval
    assert wider.view()["1h"]["accuracy"] == history.view()["1h"]["accuracy"]
    assert wider.view()["1d"]["t"] == history.view()["1h"]["t"]
    assert set(wider.view()["1h"]["cohen_kappa"]) == {None}
    same.note(500.0, moment(500))
    assert same.view()["1h"]["n"][-1] == 500


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"interval": 0, "lines": {}},
        {"interval": "soon", "lines": {}},
        {"interval": 1.0, "lines": {"1h": {"t": [2.0, 1.0]}}},
        {"interval": 1.0, "lines": {"1h": {"t": [1.0], "n": []}}},
        {"interval": 1.0, "lines": {"1h": {"t": [float(t) for t in range(400)]}}},
    ],
)
def test_other_data_are_refused_and_nothing_changes(data: Any) -> None:
    """Damaged lines are an error, and those that are there stay."""
    history = History(("1h",), LINES)
    history.note(1.0, moment(1))
    before = history.view()

    with pytest.raises(ValueError, match="trend lines"):
        history.restore(data)
    assert history.view() == before


def test_no_moments_no_points() -> None:
    """Empty lines are complete."""
    assert History(("1h",), LINES).view() == {"1h": {"t": [], "n": [], "accuracy": [], "macro_f1": []}}
    with pytest.raises(ValueError, match="interval"):
        History(("1h",), LINES, interval=0)
