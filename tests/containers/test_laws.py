"""The laws of an accumulator hold for windows of time, fading states, groups, and their combinations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.timed_streams import Faded, FadedGroups, Grouped, GroupedTimes, Timed, TimedGroups, keys, samples, times

import stream_metrics as sm
from stream_metrics import testing

CASES: dict[str, tuple[Callable[[], Any], Any]] = {
    "TimeWindow(MetricSet)": (lambda: Timed(sm.MetricSet(), 4, 4, 1.5), samples(times())),
    "tumbling": (lambda: Timed(sm.MCC(), 1, 1), samples(times())),
    "TimeWindow(MetricSet(scores))": (
        lambda: Timed(sm.MetricSet(scores=True), 3, 3), samples(times(), scores=True),
    ),
    "TimeWindow(coarse scores)": (
        lambda: Timed(sm.MetricSet(scores=True, buckets=2, sample=1), 3, 3), samples(times(), scores=True),
    ),
    "TimeWindow(ByGroup)": (lambda: TimedGroups(sm.ByGroup(sm.MetricSet()), 4, 4, 1), samples(times(), keys())),
    "TimeWindow(ByGroup of 2)": (
        lambda: TimedGroups(sm.ByGroup(sm.Accuracy(), max_groups=2), 4, 4, 1), samples(times(), keys()),
    ),
    "ByGroup(MetricSet)": (lambda: Grouped(sm.MetricSet()), samples(keys())),
    "ByGroup(scores)": (lambda: Grouped(sm.MetricSet(scores=True)), samples(keys(), scores=True)),
    "ByGroup of 1": (lambda: Grouped(sm.MetricSet(), max_groups=1), samples(keys())),
    "ByGroup of 3": (lambda: Grouped(sm.MetricSet(scores=True), max_groups=3), samples(keys(), scores=True)),
    "ByGroup(TimeWindow)": (lambda: GroupedTimes(sm.TimeWindow(sm.MetricSet(), 4, 4, 1)), samples(times(), keys())),
    "ByGroup(TimeWindow) of 2": (
        lambda: GroupedTimes(sm.TimeWindow(sm.MCC(), 4, 4, 1), max_groups=2), samples(times(), keys()),
    ),
    "Fading by time": (lambda: Faded(sm.MetricSet(), "100ms"), samples(times(), most=1e6)),
    "Fading(scores)": (
        lambda: Faded(sm.MetricSet(scores=True), "200ms"), samples(times(), scores=True, most=1e3),
    ),
    "Fading(ByGroup)": (lambda: FadedGroups(sm.ByGroup(sm.MCC(), 2), "80ms"), samples(times(), keys(), most=1e6)),
    "ByGroup(Fading)": (
        lambda: GroupedTimes(sm.Fading(sm.MetricSet(), "100ms"), max_groups=2), samples(times(), keys(), most=1e6),
    ),
}  # fmt: skip


@pytest.mark.parametrize("law", testing.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("case", CASES)
def test_compositions_obey_the_laws(case: str, law: testing.Law) -> None:
    """For any shards, batches, trees and order of times, the state is the same to the byte."""
    law(*CASES[case])


@pytest.mark.parametrize("case", CASES)
def test_only_groups_revert(case: str) -> None:
    """There is a `revert` where the laws could test it: in groups that are not folded and do not forget."""
    made = CASES[case][0]()

    assert hasattr(made, "revert") == (case in ("ByGroup(MetricSet)", "ByGroup(scores)"))
