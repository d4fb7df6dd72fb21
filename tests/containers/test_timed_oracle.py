"""Windows of time against a list of samples from which every window is computed from scratch."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from math import floor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.timed_streams import PlainWindow, samples, times

import stream_metrics as sm

SHAPES = [(1, 1, 0), (1, 4, 0), (0.5, 3, 1.25), (2, 2, 3), (0.25, 8, 0.125)]  # pane, panes, lateness
MAKES: dict[str, Callable[[], Any]] = {
    "MetricSet": sm.MetricSet,
    "scores": lambda: sm.MetricSet(scores=True),
    "Accuracy": sm.Accuracy,
    "ConfusionMatrix": sm.ConfusionMatrix,
}


def both(make: Callable[[], Any], shape: tuple[float, int, float]) -> tuple[sm.TimeWindow, PlainWindow]:
    """Return a window and the plain one."""
    length, panes, lateness = shape
    return sm.TimeWindow(make(), length * panes, panes, lateness), PlainWindow(make, length, panes, lateness)


def compare(window: sm.TimeWindow, plain: PlainWindow, t: Fraction) -> None:
    """Compare every reading of the window at `t`, which may be a time that is gone."""
    seconds = float(t)
    if not plain.readable(t):
        with pytest.raises(ValueError, match="oldest window that is kept"):
            window.snapshot(seconds)
        return
    expected = plain.window(t)
    assert window.merged(seconds).to_bytes() == expected.to_bytes()
    assert repr(window.snapshot(seconds)) == repr(expected.snapshot())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
@given(data=st.data())
def test_every_reading_is_that_of_a_fresh_state(
    make: Callable[[], Any], shape: tuple[float, int, float], data: st.DataObject
) -> None:
    """After every sample, in whatever order, the window at any time is a fresh state fed with what is in it."""
    window, plain = both(make, shape)
    drawn = data.draw(st.lists(samples(times(), scores=make is MAKES["scores"]), min_size=1, max_size=12))
    for *sample, t in drawn:
        window.update(*sample, t=t)
        plain.update(t, tuple(sample))
        assert plain.latest is not None

        assert window.dropped == plain.dropped
        assert window.n == plain.window(plain.latest).n
        assert window.abstained == plain.window(plain.latest).abstained
        if data.draw(st.booleans()):
            compare(window, plain, plain.latest)
        if data.draw(st.booleans()):
            compare(window, plain, plain.latest + Fraction(data.draw(st.integers(-32, 32)), 8))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("disorder", [0.0, 0.6, 6.0])
def test_long_streams_read_often(shape: tuple[float, int, float], disorder: float) -> None:
    """Thousands of samples over hundreds of panes, nearly in order or not, read at every turn of the kept merges."""
    rng = random.Random(7)
    window, plain = both(sm.ConfusionMatrix, shape)
    now = 0.0
    for _ in range(3000):
        now += rng.expovariate(8)
        t = round(now - disorder * rng.random() ** 3, 6)
        sample = (rng.choice("abc"), rng.choice("abcd"), rng.choice([1, 1, 2, 0.3]))
        window.update(*sample, t=t)
        plain.update(t, sample)
        assert plain.latest is not None
        oldest = floor((plain.latest - 12) / plain.length)
        plain.samples = [sample for sample in plain.samples if sample[0] >= oldest]
        if rng.random() < 0.2:
            compare(window, plain, plain.latest + (0 if rng.random() < 0.7 else Fraction(rng.randrange(-9, 12), 3)))

    assert window.dropped == plain.dropped
    assert plain.dropped > 0 if disorder > 3 else plain.dropped == 0 or disorder > 0
    assert sm.from_bytes(window.to_bytes()) == window


@given(st.lists(samples(times()), max_size=25), st.randoms())
def test_batches_count_what_single_updates_count(drawn: list[tuple[Any, ...]], rng: random.Random) -> None:
    """A batch gives the state of its rows one by one; columns of several kinds give the same."""
    single, batch = (sm.TimeWindow(sm.MetricSet(), 3, 3, 0.5) for _ in range(2))
    for y_true, y_pred, w, t in drawn:
        single.update(y_true, y_pred, w, t=t)
    at = 0
    while at < len(drawn):
        size = rng.randint(1, len(drawn))
        y_true, y_pred, w, t = (list(column) for column in zip(*drawn[at : at + size], strict=True))
        batch.update_many(y_true, y_pred, w, t=t)
        at += size

    assert batch == single
