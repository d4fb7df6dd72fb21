"""Share of predictions with a label, and delays of labels, by window: equal to a plain count."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pair_streams import times

from stream_metrics.errors import DecodeError, MergeError
from stream_metrics.monitor.counts.coverage import Coverage
from stream_metrics.monitor.counts.delays import DELAYS, delay_classes, delay_quantile
from stream_metrics.monitor.counts.tallies import Tallies

SECOND = 10**9
seconds = st.floats(0, 1e7, allow_subnormal=False)
streams = st.lists(st.tuples(times(), st.one_of(st.none(), times())), max_size=30)  # made at, the label came after


def nanoseconds(values: list[float]) -> Any:
    """Return times as they are counted."""
    return np.array([round(value * 1e9) for value in values], np.int64)


def covered(coverage: Coverage, stream: list[tuple[float, float | None]]) -> Coverage:
    """Count a stream."""
    labelled = [(made, made + delay, delay) for made, delay in stream if delay is not None]
    coverage.predictions(nanoseconds([made for made, _ in stream]))
    if labelled:
        made, came, delays = (list(column) for column in zip(*labelled, strict=True))
        coverage.labels(nanoseconds(made), nanoseconds(came), np.array(delays))
    return coverage


@given(streams, st.sampled_from([0, 1, 3, 7]), st.integers(0, 50))
def test_coverage_is_of_the_predictions_that_came_of_age_in_the_window(
    stream: list[tuple[float, float | None]], due: int, after: int
) -> None:
    """At any time of reading, as a plain count has it; with an age, by whole panes."""
    window = covered(Coverage(SECOND, 4, due * SECOND), stream)
    total = covered(Coverage(None, 60, due * SECOND), stream)
    at = max((made + (delay or 0) for made, delay in stream), default=0.0) + after

    last = math.floor(at) - due - (1 if due else 0)
    inside = [(made, delay) for made, delay in stream if last - 4 < math.floor(made) <= last]
    assert window.read(round(at * 1e9))[:2] == (len(inside), sum(delay is not None for _, delay in inside))
    old = [(made, delay) for made, delay in stream if not due or math.floor(made) <= last]
    assert total.read(round(at * 1e9))[:2] == (len(old), sum(delay is not None for _, delay in old))


@given(st.lists(seconds, min_size=1, max_size=60), st.sampled_from([0.1, 0.5, 0.9, 0.99, 1.0]))
def test_quantiles_of_delays_are_off_by_an_eighth_at_most(delays: list[float], share: float) -> None:
    """The quantile lies in the class of the delay within which that share came."""
    counts = np.bincount(delay_classes(np.array(delays)), minlength=DELAYS)
    exact = sorted(delays)[max(math.ceil(share * len(delays)) - 1, 0)]
    found = delay_quantile(counts, share)

    assert found is not None
    assert exact / 1.125 - 2**-9 <= found <= exact * 1.125 + 2**-9


def test_delays_out_of_range_are_in_the_first_and_the_last_class() -> None:
    """A label before its prediction took no time; one after a hundred years took very long."""
    found = delay_classes(np.array([-5.0, 0.0, 1e-9, 2.0**30, 1e12]))

    assert found.tolist() == [0, 0, 0, DELAYS - 1, DELAYS - 1]
    assert delay_quantile(np.zeros(DELAYS, np.int64), 0.5) is None


def test_a_long_age_makes_panes_longer_and_not_more() -> None:
    """The number of panes that are kept is bounded, whatever the age from which a label is due."""
    coverage = Coverage(60 * SECOND, 60, 30 * 86400 * SECOND)
    coverage.predictions(np.arange(0, 40 * 86400, 60, dtype=np.int64) * SECOND)

    assert len(coverage.predicted.panes) <= 1500
    assert 60 <= coverage.read(40 * 86400 * SECOND).due <= 60 + coverage.predicted.length // (60 * SECOND)


@given(st.lists(st.tuples(times(), st.integers(0, 3)), max_size=40), st.booleans(), st.randoms())
def test_tallies_of_any_split_merge_to_the_same(rows: list[tuple[float, int]], all_time: bool, random: Any) -> None:
    """Order, batches and shards change nothing; a copy and a round trip are the same."""

    def fed(part: list[tuple[float, int]]) -> Tallies:
        made = Tallies(4, SECOND, 3, all_time=all_time)
        made.add(nanoseconds([t for t, _ in part]), np.array([place for _, place in part], np.int64))
        return made

    whole, shuffled = fed(rows), random.sample(rows, len(rows))
    cut = random.randrange(len(rows) + 1)
    merged = fed(shuffled[:cut]).merge(fed(shuffled[cut:]))
    again = Tallies(4, SECOND, 3, all_time=all_time)
    again.fill(whole.content())
    one_by_one = Tallies(4, SECOND, 3, all_time=all_time)
    for t, place in shuffled:
        one_by_one.add(nanoseconds([t]), place)

    assert merged.content() == whole.content() == again.content() == whole.copy().content() == one_by_one.content()
    if all_time:
        assert whole.total(None, 10**6).tolist() == [sum(place == k for _, place in rows) for k in range(4)]


def test_tallies_of_another_form_do_not_merge() -> None:
    """The message names both forms; what was written in another form is left out, what is damaged is refused."""
    mine, other = Tallies(2, SECOND, 3), Tallies(2, SECOND, 4)
    other.add(np.array([5 * SECOND]), 1)

    with pytest.raises(MergeError, match="3, False"):
        mine.merge(other)
    mine.fill(other.content())
    assert not mine.panes
    with pytest.raises(DecodeError):
        mine.fill([2, SECOND, 3, False, None, [7, 1], []])
    with pytest.raises(DecodeError):
        mine.fill([2, SECOND])
