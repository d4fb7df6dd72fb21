"""What do a window of time, fading and a hundred groups cost on top of counting, and beside river's window of time?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import streams
from river import metrics, utils
from timing import Line, Loop, Run, best, clock, empty_loop, empty_weighted_loop, per_sample, update_loop

import stream_metrics as sm

ROUNDS = 60
INSIDE = 10_000
STEP = 0.1  # seconds between samples: 36,000 in an hour, 600 in a pane
Times = Callable[[float], Any]


def timed_loop(target: Any, samples: Sequence[Any]) -> int:
    """Time `target.update` with a time for each sample."""
    start = clock()
    for y_true, y_pred, t in samples:
        target.update(y_true, y_pred, t=t)
    return clock() - start


def clocked_loop(target: Any, samples: Sequence[Any]) -> int:
    """Time `target.update` with the time of the clock."""
    start = clock()
    for y_true, y_pred, _t in samples:
        target.update(y_true, y_pred)
    return clock() - start


def group_loop(target: Any, samples: Sequence[Any]) -> int:
    """Time `target.update` with a group for each sample."""
    start = clock()
    for y_true, y_pred, group in samples:
        target.update(y_true, y_pred, group=group)
    return clock() - start


class Onwards:
    """Samples with times that go on from one turn to the next, as a stream's do; `late` comes in turn."""

    def __init__(
        self, pairs: streams.Pairs, kind: Times = float, late: tuple[float, ...] = (0.0,), step: float = STEP
    ) -> None:
        self.pairs, self.kind, self.late, self.step = pairs, kind, late, step
        self.now = 1_700_000_000.0

    def __call__(self) -> list[tuple[Any, Any, Any]]:
        """Return the next samples."""
        first, self.now = self.now, self.now + self.step * len(self.pairs)
        late, n = self.late, len(self.late)
        return [(t, p, self.kind(first + i * self.step - late[i % n])) for i, (t, p) in enumerate(self.pairs)]


def naive(t: float) -> datetime:
    """Return a time as river takes it."""
    return datetime.fromtimestamp(t, UTC).replace(tzinfo=None)


def net(runs: dict[str, Run], rounds: int) -> dict[str, float]:
    """Return the nanoseconds a sample of each contender, net of the empty loop over samples of its form."""
    nothing: dict[str, Run] = {
        f"empty {name}": (empty_loop if loop is update_loop else empty_weighted_loop, None, samples)
        for name, (loop, _, samples) in runs.items()
    }
    times = per_sample(runs | nothing, rounds)
    return {name: times[name] - times[f"empty {name}"] for name in runs}


def hour() -> sm.TimeWindow:
    """Return the window that all lines are about."""
    return sm.TimeWindow(sm.MetricSet(), "1h", panes=60)


def lines() -> Iterator[Line]:
    """Yield what is measured."""
    pairs = streams.pairs(streams.names(10), 2000)
    yield from window_updates(pairs)
    yield from beside_river(pairs)
    yield from window_readings(pairs)
    yield from groups(pairs)
    yield fading(pairs)


def window_updates(pairs: streams.Pairs) -> Iterator[Line]:
    """Yield what an update of a window costs: in order, late, with datetimes, by the clock."""
    cases: dict[str, tuple[Loop, Onwards, float | None]] = {
        "in order, 600 samples a pane": (timed_loop, Onwards(pairs), 3),
        "by the clock": (clocked_loop, Onwards(pairs), 3),
        "in order, 60 samples a pane": (timed_loop, Onwards(pairs, step=1.0), None),
        "three panes in turn": (timed_loop, Onwards(pairs, late=(0.0, 70.0, 200.0)), None),
        "datetimes": (timed_loop, Onwards(pairs, naive), None),
    }
    for case, (loop, samples, target) in cases.items():
        ns = net({"plain": (update_loop, sm.MetricSet(), lambda: pairs), "window": (loop, hour(), samples)}, ROUNDS)
        yield Line(
            f"`TimeWindow(MetricSet(), '1h', 60).update` / `MetricSet().update`, {case}", ns["window"] / ns["plain"],
            target=target, figures=f"{ns['window']:.1f} / {ns['plain']:.1f} ns",
        )  # fmt: skip


def beside_river(pairs: streams.Pairs) -> Iterator[Line]:
    """Yield the cost of an update with 10,000 samples inside, beside river's window of one metric."""
    period = timedelta(seconds=STEP * INSIDE)
    few = pairs[:200]
    theirs = utils.TimeRolling(metrics.Accuracy(), period=period)
    ours = sm.TimeWindow(sm.MetricSet(), period, panes=50)
    river_samples, dates, seconds = Onwards(few, naive), Onwards(few, naive), Onwards(few)
    for _ in range(INSIDE // len(few)):
        for y_true, y_pred, t in river_samples():
            theirs.update(y_true, y_pred, t=t)
    runs: dict[str, Run] = {
        "river": (timed_loop, theirs, river_samples),
        "dates": (timed_loop, ours, dates),
        "seconds": (timed_loop, ours.copy(), seconds),
    }
    ns = net(runs, 10)
    for case, text in (("seconds", "seconds for ours"), ("dates", "datetimes for both")):
        yield Line(
            f"river `TimeRolling(Accuracy())` / `TimeWindow(MetricSet())`, 10,000 samples inside, 50 panes, {text}",
            ns["river"] / ns[case], target=100, at_least=True, figures=f"{ns['river']:.0f} / {ns[case]:.0f} ns",
        )  # fmt: skip


def window_readings(pairs: streams.Pairs) -> Iterator[Line]:
    """Yield what a reading costs, every pane read once, beside the merge of all panes."""
    window, samples = hour(), Onwards(pairs)
    for _ in range(20):
        for y_true, y_pred, t in samples():
            window.update(y_true, y_pred, t=t)

    def pane_and_reading() -> None:
        window.update("class_1", "class_1", t=window.latest + 60)
        window.merged()

    panes = list({**window._open, **window._merges.frozen}.values())

    def all_panes() -> None:
        total = panes[0].copy()
        for pane in panes[1:]:
            total.merge(pane)

    ns = best({"window": pane_and_reading, "panes": all_panes}, 200)
    yield Line(
        "merge of 60 panes / a new pane and a reading of `TimeWindow`", ns["panes"] / ns["window"],
        figures=f"{ns['panes'] / 1000:.1f} / {ns['window'] / 1000:.1f} us",
    )  # fmt: skip


def groups(pairs: streams.Pairs) -> Iterator[Line]:
    """Yield what an update of one of a hundred groups costs."""
    names = [f"group_{i:02d}" for i in range(100)]
    drawn = [(t, p, names[(i * 37) % 100]) for i, (t, p) in enumerate(pairs)]
    runs: dict[str, Run] = {
        "plain": (update_loop, sm.MetricSet(), lambda: pairs),
        "groups": (group_loop, sm.ByGroup(sm.MetricSet()), lambda: drawn),
        "bounded": (group_loop, sm.ByGroup(sm.MetricSet(), max_groups=20), lambda: drawn),
    }
    ns = net(runs, ROUNDS)
    yield Line(
        "`ByGroup(MetricSet()).update`, 100 groups / `MetricSet().update`", ns["groups"] / ns["plain"], target=2.5,
        figures=f"{ns['groups']:.1f} / {ns['plain']:.1f} ns",
    )  # fmt: skip
    yield Line(
        "the same, 80 of them folded", ns["bounded"] / ns["plain"],
        figures=f"{ns['bounded']:.1f} / {ns['plain']:.1f} ns",
    )  # fmt: skip


def fading(pairs: streams.Pairs) -> Line:
    """Return what fading costs."""
    runs: dict[str, Run] = {
        "plain": (update_loop, sm.MetricSet(), lambda: pairs),
        "fading": (update_loop, sm.Fading(sm.MetricSet(), half_life=5000), lambda: pairs),
    }
    ns = net(runs, 10)
    return Line(
        "`Fading(MetricSet(), 5000).update` / `MetricSet().update`", ns["fading"] / ns["plain"], target=15,
        figures=f"{ns['fading']:.0f} / {ns['plain']:.1f} ns",
    )  # fmt: skip
