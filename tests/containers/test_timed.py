"""Windows of time: what is in them by hand, clocks, batches, refusals, bytes and memory."""

from __future__ import annotations

import tracemalloc
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest

import stream_metrics as sm
from stream_metrics.containers.rolling import Rolling
from stream_metrics.wire import MAGIC, VERSION


class Clock:
    """A clock that is set by hand."""

    now: Any = 0.0

    def __call__(self) -> Any:
        """Return the time that was set."""
        return self.now


def test_the_window_is_the_pane_of_now_and_those_before() -> None:
    """Panes of 10 s, three of them: at 35 the window is 10 <= t < 40, at 40 it is 20 <= t < 50."""
    window = sm.TimeWindow(sm.ConfusionMatrix(), 30, panes=3)
    for t in (9.9, 10, 19.9, 20, 35):
        window.update("a", "b", t=t)

    assert window.n == 4
    assert window.snapshot(39.9).n == 4
    assert window.snapshot(40).n == 2
    assert window.snapshot(60).n == 0
    assert window.n == 4
    window.update("a", "a", t=40)
    assert (window.n, window.latest) == (3, 40.0)


def test_a_late_sample_goes_to_its_own_pane() -> None:
    """It counts while its pane is in the window, or in the one that ended `lateness` ago; later it is dropped."""
    window = sm.TimeWindow(sm.ConfusionMatrix(), 30, panes=3, lateness=15)
    window.update("a", "a", t=54.9)
    window.update("b", "b", t=20.0)
    assert (window.n, window.dropped) == (1, 0)
    assert window.snapshot(49).labels == ("b",)

    window.update("c", "c", t=55.0)
    window.update("b", "b", t=19.9)
    assert (window.n, window.dropped) == (2, 1)
    with pytest.raises(ValueError, match=r"ends at 50.0 s"):
        window.snapshot(39)


def test_an_early_sample_waits_for_its_time() -> None:
    """A reading at a time before the latest leaves out what is ahead of it."""
    window = sm.TimeWindow(sm.Accuracy(), 30, panes=3, lateness="1m")
    window.update(1, 1, t=100)
    window.update(1, 0, t=125)

    assert window.get(t=105) == 1.0
    assert window.get() == 0.5


def test_without_times_the_clock_counts_and_expires() -> None:
    """Samples get the time of the clock, and a reading expires by the clock though nothing arrives."""
    clock = Clock()
    window = sm.TimeWindow(sm.Accuracy(), 10, panes=10, clock=clock)
    window.update(1, 1)
    clock.now = 5
    window.update(1, 0)

    assert window.get() == 0.5
    clock.now = 12.5
    assert (window.get(), window.n) == (0.0, 1)
    clock.now = datetime(1970, 1, 1, 1, tzinfo=UTC)
    assert window.n == 0
    clock.now = 1.0  # set back: the latest time seen is as far as it goes
    assert window.n == 2
    window.update(1, 1, t=6)
    assert window.n == 3


def test_the_default_clock_is_the_time_of_day() -> None:
    """Samples without a time are in the window of now."""
    window = sm.TimeWindow(sm.MetricSet(), "1h")
    window.update("a", "a")
    window.update_many(["a", "b"], ["a", "a"])

    assert window.n == 3
    assert abs(window.latest - datetime.now(UTC).timestamp()) < 60


@pytest.mark.parametrize(
    "column",
    [
        [10, 20.5, datetime(1970, 1, 1, 0, 0, 31)],
        np.array([10.0, 20.5, 31.0]),
        np.array([10_000, 20_500, 31_000], "datetime64[ms]"),
        pd.Series(pd.to_datetime([10_000, 20_500, 31_000], unit="ms")),
        pd.Series(pd.to_datetime([10_000, 20_500, 31_000], unit="ms", utc=True)),
        pd.to_datetime([10_000, 20_500, 31_000], unit="ms", utc=True).tz_convert("Asia/Tokyo"),
        (timedelta(seconds=x) + datetime(1970, 1, 1, tzinfo=UTC) for x in (10, 20.5, 31)),
    ],
)
def test_columns_of_times(column: Any) -> None:
    """Lists, arrays, series and iterators of numbers and dates say the same."""
    window, expected = (sm.TimeWindow(sm.MetricSet(), "30s", 3) for _ in range(2))
    for y_true, y_pred, t in (("a", "b", 10), ("b", "b", 20.5), ("a", "a", 31)):
        expected.update(y_true, y_pred, t=t)
    window.update_many(["a", "b", "a"], np.array(["b", "b", "a"]), t=column)

    assert window == expected


def test_one_time_for_a_whole_batch() -> None:
    """A single time is that of every row."""
    window = sm.TimeWindow(sm.MetricSet(scores=True), "30s", 3)
    window.update_many([True, False], scores=np.array([0.7, 0.2]), t=datetime(2030, 1, 1))

    assert window.snapshot()["roc_auc"] == 1.0
    assert window.latest == datetime(2030, 1, 1, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"y_pred": [1, float("inf"), 1]}, "position 1"),
        ({"w": [1, 1, -1.0]}, "position 2"),
        ({"t": [1, 2, float("nan")]}, "`t` at position 2"),
        ({"t": [1, 2]}, "as many rows as `y_true`, 3, but got 2"),
        ({"y_pred": [1, 1]}, "as many rows as `y_true`, 3, but got 2"),
        ({"t": "now"}, "Expected `t`"),
    ],
)
def test_a_bad_row_rejects_the_batch(rows: dict[str, Any], message: str) -> None:
    """Nothing is counted and the time stays, and the error names the row of the batch, not of a pane."""
    window = sm.TimeWindow(sm.MetricSet(), 30, 3)
    window.update(1, 1, t=0)
    before = window.to_bytes()

    with pytest.raises(ValueError, match=message):
        window.update_many(**{"y_true": [1, 0, 1], "y_pred": [1, 1, 1], "t": [1, 100, 200], **rows})
    assert window.to_bytes() == before


def test_a_late_row_does_not_move_the_positions() -> None:
    """Rows that are dropped still count where an error says which row is bad."""
    window = sm.TimeWindow(sm.MetricSet(), 30, 3)
    window.update(1, 1, t=1000)

    with pytest.raises(sm.LabelError, match="position 2"):
        window.update_many([1, 1, 1], [1, 1, float("inf")], t=[0, 1000, 1000])
    window.update_many([1, 1, 1], [1, 1, 0], t=[0, 1000, 1000])
    assert (window.n, window.dropped) == (3, 1)


def test_a_sample_that_is_refused_leaves_no_trace() -> None:
    """Neither a pane nor the time of a refused sample is kept."""
    window = sm.TimeWindow(sm.MetricSet(), 30, 3)
    window.update(1, 1, t=0)
    before = window.to_bytes()
    for sample in ((1, 1, -1), (1, float("inf"), 1)):
        with pytest.raises(ValueError, match="Expected"):
            window.update(*sample, t=1000)

    assert window.to_bytes() == before
    assert (window.n, window.latest) == (1, 0.0)


class Doubling(sm.Accuracy):
    """A metric whose update is not that of its class."""

    def update(self, y_true: Any, y_pred: Any, w: Any = 1) -> None:
        """Count twice."""
        super().update(y_true, y_pred, 2 * w)


def test_an_update_that_was_overridden_is_called() -> None:
    """The counters are fed directly only where that is what `update` does."""
    window, groups = sm.TimeWindow(Doubling(), 30, 3), sm.ByGroup(Doubling())
    window.update(1, 1, t=0)
    groups.update(1, 1, group="a")

    assert window.merged().state.weight == 2
    assert groups.state("a").state.weight == 2


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: sm.TimeWindow(sm.TimeWindow(sm.MCC(), "1m"), 10), "a TimeWindow, which forgets"),
        (lambda: sm.TimeWindow(sm.Fading(sm.MCC(), 10), 10), "a Fading, which forgets"),
        (lambda: sm.TimeWindow(sm.ByGroup(sm.TimeWindow(sm.MCC(), "1m")), 10), "a TimeWindow, which forgets"),
        (lambda: sm.TimeWindow(Rolling(sm.MCC(), 10), 10), "a Rolling, which forgets"),
        (lambda: sm.TimeWindow(3, 10), "`inner` to be a state"),
        (lambda: sm.TimeWindow(sm.MCC, 10), "`inner` to be a state"),
        (lambda: sm.TimeWindow(sm.MCC(), 0), "`period`"),
        (lambda: sm.TimeWindow(sm.MCC(), "1 month"), "`period`"),
        (lambda: sm.TimeWindow(sm.MCC(), "1h", 0), "`panes`"),
        (lambda: sm.TimeWindow(sm.MCC(), "1h", 2.0), "`panes`"),
        (lambda: sm.TimeWindow(sm.MCC(), "1s", 7), "but got 1s for 7 panes: 5 would do"),
        (lambda: sm.TimeWindow(sm.MCC(), 1, 1, -1), "`lateness`"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Any, reason: str) -> None:
    """At construction, with the reason."""
    with pytest.raises(ValueError, match=reason):
        make()


def test_other_configurations_do_not_merge() -> None:
    """The error names what differs and both values, and nothing has changed."""
    window = sm.TimeWindow(sm.MCC(), "1h", 60)
    for other, message in (
        (sm.TimeWindow(sm.MCC(), "2h", 60), "`period` to be the same in both, but got '1h' in one and '2h'"),
        (sm.TimeWindow(sm.MCC(), "1h", 30), "`panes`"),
        (sm.TimeWindow(sm.MCC(), "1h", 60, 1), "`lateness` to be the same in both, but got '0d' in one and '1s'"),
        (sm.TimeWindow(sm.MCC(labels=[1, 2]), "1h", 60), "labels"),
        (sm.TimeWindow(sm.MetricSet(), "1h", 60), "to merge an MCC, but got a MetricSet"),
        (sm.MCC(), "to merge a TimeWindow, but got an MCC"),
    ):
        with pytest.raises(sm.MergeError, match=message):
            window.merge(other)
    assert window == sm.TimeWindow(sm.MCC(), timedelta(hours=1), 60)


def test_inner_is_a_pattern_only() -> None:
    """What `inner` has counted, or counts later, is not in the window."""
    inner = sm.Accuracy()
    inner.update(1, 0)
    window = sm.TimeWindow(inner, 10, 1)
    window.update(1, 1, t=0)
    inner.update(1, 0)

    assert (window.get(), inner.n) == (1.0, 2)


def test_damaged_content_is_refused() -> None:
    """Content that no window would have written is refused even if the checksum is right."""
    window = sm.TimeWindow(sm.Accuracy(), 30, 3, 5)
    for t in (1, 12, 25):
        window.update("a", "b", t=t)
    good = window._content()
    bad: list[Any] = []
    for at, value in ((1, 7), (2, 0), (3, -1), (4, []), (4, [25 * 10**9, 1]), (4, [10**9]), (4, [2**70]), (5, 1)):
        bad.append([*good[:at], value, *good[at + 1 :]])
    panes = good[6]
    for wrong in (panes[::-1], [*panes, panes[0]], [[9, panes[0][1]]], [[-9, panes[0][1]]], [[0, good[0][1]]]):
        bad.append([*good[:6], wrong])
    for content in bad:
        body = sm.wire.encoded(["timed", content])
        data = MAGIC + bytes([VERSION]) + sm.wire.zlib.crc32(body).to_bytes(4, "little") + body
        with pytest.raises(sm.DecodeError):
            sm.from_bytes(data)


def test_memory_is_that_of_the_panes() -> None:
    """Whatever flows through, there are at most panes + lateness / pane + 1 states, read or not."""
    window = sm.TimeWindow(sm.MetricSet(), 60, panes=6, lateness=20)

    def run(turns: range) -> None:
        for i in turns:
            window.update("abcdef"[i % 6], "abcdef"[i % 5], t=float(i))
            if i % 7 == 0:
                window.update("a", "a", t=float(i - 15))
                window.merged()
            assert len({*window._open, *window._merges.frozen}) <= 6 + 2 + 1
            assert len(window._merges._front.panes) <= 6 + 2 + 1

    run(range(2000))
    tracemalloc.start()
    run(range(2000, 2100))
    before = tracemalloc.get_traced_memory()[0]
    run(range(2100, 6000))
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 200_000


@pytest.mark.parametrize("call", range(6))
@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
def test_a_reading_that_is_interrupted_changes_no_later_one(
    monkeypatch: pytest.MonkeyPatch, call: int, late: bool
) -> None:
    """Ctrl-C while panes are merged, before or after any of the merges: the next reading has every sample once."""

    def fed() -> sm.TimeWindow:
        window = sm.TimeWindow(sm.ConfusionMatrix(), 4, panes=4, lateness=4)
        for t in (0, 1, 2, 3):
            window.update(t, t, t=t)
        window.snapshot()
        for t in (5, 2, 3, 6):
            window.update(t, "late", t=t)
        return window

    window, expected = fed(), fed().merged()
    merge, calls = sm.ConfusionMatrix.merge, iter(range(100))

    def interrupted(self: sm.ConfusionMatrix, other: sm.ConfusionMatrix) -> sm.ConfusionMatrix:
        now = next(calls) == call
        if late or not now:
            merge(self, other)
        if now:
            raise KeyboardInterrupt
        return self

    with monkeypatch.context() as patch:
        patch.setattr(sm.ConfusionMatrix, "merge", interrupted)
        with suppress(KeyboardInterrupt):
            window.snapshot()

    assert window.merged() == expected
    assert window.merged() == expected


def test_a_time_in_the_place_of_the_weight_is_refused() -> None:
    """It would count as a weight of 1.7e9; with a time beside it, or a clock of other times, it is a weight."""
    window = sm.TimeWindow(sm.Accuracy(), "1h", clock=lambda: 1_750_000_000)
    for time in (1_700_000_000, 1.7e9, 1_700_000_000.25):
        with pytest.raises(sm.WeightError, match=r"`w` to be a weight, but got the time .*; pass it as `t=`"):
            window.update(1, 1, time)
    assert window == sm.TimeWindow(sm.Accuracy(), "1h")

    window.update(1, 1, 1_700_000_000, t=1_700_000_000)
    other = sm.TimeWindow(sm.Accuracy(), "1h", clock=lambda: 0)
    other.update(1, 1, 1_700_000_000)
    assert window.n == other.n == 1
