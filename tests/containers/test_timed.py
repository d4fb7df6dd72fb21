"""Windows of time: what is in them by hand and against a plain list of samples, clocks, batches, refusals."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import partial
from math import floor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.refusals import all_refused, refused
from support.timed_streams import PlainWindow, samples, times

import stream_metrics as sm

SHAPES = [(1, 1, 0), (1, 4, 0), (0.5, 3, 1.25), (2, 2, 3), (0.25, 8, 0.125)]  # pane, panes, lateness
MAKES: dict[str, Callable[[], Any]] = {
    "Accuracy": sm.Accuracy, "MetricSet": sm.MetricSet, "scores": lambda: sm.MetricSet(scores=True),
    "ConfusionMatrix": sm.ConfusionMatrix,
}  # fmt: skip


def both(make: Callable[[], Any], shape: tuple[float, int, float]) -> tuple[sm.TimeWindow, PlainWindow]:
    """Return a window and the plain one."""
    length, panes, lateness = shape
    return sm.TimeWindow(make(), length * panes, panes, lateness), PlainWindow(make, length, panes, lateness)


def compare(window: sm.TimeWindow, plain: PlainWindow, t: Fraction) -> None:
    """Compare every reading of the window at `t`, which may be a time that is gone."""
    seconds = float(t)
    if not plain.readable(t):
        refused(lambda: window.snapshot(seconds), ValueError, "oldest window that is kept")
        return
    expected = plain.window(t)
    assert window.merged(seconds).to_bytes() == expected.to_bytes()
    assert repr(window.snapshot(seconds)) == repr(expected.snapshot())


@pytest.mark.parametrize("name", [pytest.param("Accuracy", marks=pytest.mark.quick), *list(MAKES)[1:]])
@given(data=st.data())
def test_every_reading_is_that_of_a_fresh_state(name: str, data: st.DataObject) -> None:
    """After every sample, in whatever order, the window at any time is a fresh state fed with what is in it."""
    for shape in SHAPES:
        window, plain = both(MAKES[name], shape)
        for *sample, t in data.draw(st.lists(samples(times(), scores=name == "scores"), min_size=1, max_size=9)):
            window.update(*sample, t=t)
            plain.update(t, tuple(sample))
            assert plain.latest is not None
            expected = plain.window(plain.latest)
            assert (window.dropped, window.n, window.abstained) == (plain.dropped, expected.n, expected.abstained)
            assert window.latest == float(plain.latest)
            if data.draw(st.booleans()):
                compare(window, plain, plain.latest)
            if data.draw(st.booleans()):
                compare(window, plain, plain.latest + Fraction(data.draw(st.integers(-32, 32)), 8))


@pytest.mark.parametrize("shape", SHAPES)
def test_long_streams_read_often(shape: tuple[float, int, float]) -> None:
    """Thousands of samples over hundreds of panes, nearly in order or not, read at every turn of the stored merges."""
    for disorder in (0.0, 0.6, 6.0):
        rng = random.Random(7)
        window, plain = both(sm.ConfusionMatrix, shape)
        now = 0.0
        for _ in range(2000):
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


@pytest.mark.quick
def test_without_times_the_clock_counts_and_expires() -> None:
    """Samples get the time of the clock, and a reading expires by the clock though nothing arrives."""
    now: list[Any] = [0.0]
    window = sm.TimeWindow(sm.Accuracy(), 10, panes=10, clock=lambda: now[0])
    window.update(1, 1)
    now[0] = 5
    window.update(1, 0)
    assert window.get() == 0.5
    now[0] = 12.5
    assert (window.get(), window.n) == (0.0, 1)
    now[0] = datetime(1970, 1, 1, 1, tzinfo=UTC)
    assert window.n == 0
    now[0] = 1.0  # set back: the latest time seen is as far as it goes
    assert window.n == 2
    window.update(1, 1, t=6)
    assert window.n == 3


def test_the_default_clock_is_the_time_of_day() -> None:
    """Samples without a time are in the window of now."""
    window, before = sm.TimeWindow(sm.MetricSet(), "1h"), datetime.now(UTC).timestamp()
    window.update("a", "a")
    window.update_many(["a", "b"], ["a", "a"])

    assert window.n == 3
    assert before <= window.latest <= datetime.now(UTC).timestamp()


BAD_ROWS: list[tuple[dict[str, Any], type[Exception], str, int | None]] = [  # with what it is about and the position
    ({"y_pred": [1, float("inf"), 1]}, sm.LabelError, "y_pred", 1),
    ({"y_true": [1, 1, float("inf")]}, sm.LabelError, "y_true", 2),
    ({"w": [1, 1, -1.0]}, sm.WeightError, "w", 2),
    ({"t": [1, 2, float("nan")]}, ValueError, "`t`", 2),
    ({"t": [1, 2]}, ValueError, "`t` to have as many rows as `y_true`, 3, but got 2", None),
    ({"y_pred": [1, 1]}, ValueError, "`y_pred` to have as many rows as `y_true`, 3, but got 2", None),
    ({"t": "now"}, ValueError, "`t`", None),
]


@pytest.mark.quick
@pytest.mark.parametrize("start", [0, 1000])
def test_a_bad_row_rejects_the_batch(start: int) -> None:
    """Nothing is counted and the time stays; the error names the row of the batch, though rows before it are late."""
    window = sm.TimeWindow(sm.MetricSet(), 30, 3)
    window.update(1, 1, t=start)
    before, rows = window.to_bytes(), {"y_true": [1, 0, 1], "y_pred": [1, 1, 1], "t": [1, 1000, 1200]}
    for change, kind, about, position in BAD_ROWS:
        error = refused(lambda: window.update_many(**{**rows, **change}), kind, about)  # noqa: B023
        assert getattr(error, "position", None) == position
        assert window.to_bytes() == before
    for sample in ((1, 1, -1), (1, float("inf"), 1)):
        refused(lambda: window.update(*sample, t=2000), ValueError)  # noqa: B023
    assert (window.to_bytes(), window.n, window.latest, window.dropped) == (before, 1, float(start), 0)
    window.update_many(**rows)
    assert window.dropped == (start == 1000)


def test_an_update_that_was_overridden_is_called() -> None:
    """The counters are fed directly only where that is what `update` does."""

    class Doubling(sm.Accuracy):
        def update(self, y_true: Any, y_pred: Any, w: Any = 1) -> None:
            super().update(y_true, y_pred, 2 * w)

    window, groups = sm.TimeWindow(Doubling(), 30, 3), sm.ByGroup(Doubling())
    window.update(1, 1, t=0)
    groups.update(1, 1, group="a")
    assert window.snapshot().weight == groups.snapshot().overall.weight == 2


def test_what_makes_no_sense_is_refused() -> None:
    """At construction, with the reason; shards of other configurations name what differs and both values."""
    hour = sm.TimeWindow(sm.MCC(), "1h", 60)
    minute = sm.TimeWindow(sm.MCC(), "1m")
    all_refused((partial(sm.TimeWindow, *arguments), ValueError, about) for arguments, about in (
        ((minute, 10), "a TimeWindow, which forgets"), ((sm.Fading(sm.MCC(), 10), 10), "a Fading, which forgets"),
        ((sm.ByGroup(minute), 10), "a TimeWindow, which"), ((sm.Rolling(sm.MCC(), 10), 10), "a Rolling, which forgets"),
        ((3, 10), "`inner` to be a state"), ((sm.MCC, 10), "`inner` to be a state"),
        ((sm.MCC(), 0), "`period`"), ((sm.MCC(), "1 month"), "`period`"), ((sm.MCC(), "1h", 0), "`panes`"),
        ((sm.MCC(), "1h", 2.0), "`panes`"), ((sm.MCC(), "1s", 7), "but got 1s for 7 panes: 5 would do"),
        ((sm.MCC(), 1, 1, -1), "`lateness`"),
    ))  # fmt: skip
    all_refused((partial(hour.merge, other), sm.MergeError, about) for other, about in (
        (sm.TimeWindow(sm.MCC(), "2h", 60), "but got '1h' in one and '2h'"),
        (sm.TimeWindow(sm.MCC(), "1h", 30), "panes"), (sm.TimeWindow(sm.MCC(), "1h", 60, 1), "lateness"),
        (sm.TimeWindow(sm.MCC(labels=[1, 2]), "1h", 60), "labels"),
        (sm.TimeWindow(sm.MetricSet(), "1h", 60), "an MCC, but got a MetricSet"),
        (sm.MCC(), "to merge a TimeWindow, but got an MCC"),
    ))  # fmt: skip
    assert hour == sm.TimeWindow(sm.MCC(), timedelta(hours=1), 60)


def test_batches_of_one_row_keep_no_more_after_many() -> None:
    """Objects do not grow with the batches before, also where shards are merged and read; late panes have a bound."""
    window, t, blocks = sm.TimeWindow(sm.Accuracy(), 60, panes=6, lateness=20), 0.0, list[int]()
    for turn in range(60):
        for _ in range(50):
            t += 0.5 * (turn % 2)
            window.update_many(["a"], ["a"], t=t)
        blocks.append(sys.getallocatedblocks())
        assert len(window._slots) <= 6 + 2 + 1
        shard = sm.TimeWindow(sm.Accuracy(), 60, panes=6, lateness=20)
        shard.update_many(["b"] * 7, ["a"] * 7, t=t - 10.0 * np.arange(7))
        window.merge(shard).get()
    assert min(blocks[40:]) - min(blocks[20:30]) < 500


@pytest.mark.quick
def test_a_time_in_the_place_of_the_weight_is_refused() -> None:
    """It would count as a weight of 1.7e9; with a time beside it, or a clock of other times, it is a weight."""
    window, other = (sm.TimeWindow(sm.Accuracy(), "1h", clock=lambda now=now: now) for now in (1_750_000_000, 0))
    for time in (1_700_000_000, 1.7e9, 1_700_000_000.25):
        refused(lambda: window.update(1, 1, time), sm.WeightError, "pass it as `t=`")  # noqa: B023
    assert window == sm.TimeWindow(sm.Accuracy(), "1h")

    window.update(1, 1, 1_700_000_000, t=1_700_000_000)
    other.update(1, 1, 1_700_000_000)
    assert window.n == other.n == 1
