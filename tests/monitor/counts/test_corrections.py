"""After a correction the counts are those of the corrected pair alone; a refused correction changes nothing."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from support.pair_streams import HARD, SOFT, countable, fed, pairs, placed

from stream_metrics import testing
from stream_metrics.catalog.table import CATALOG
from stream_metrics.errors import StreamMetricsError
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.monitor.config import Counting
from stream_metrics.monitor.counts import counting
from stream_metrics.monitor.counts.counting import Counts, Pair
from stream_metrics.monitor.events.records import MISSING
from stream_metrics.monitor.view.window_reading import read
from stream_metrics.monitor.view.window_view import window_view
from stream_metrics.snapshots.snapshot import Snapshot
from stream_metrics.states.confusion import ConfusionMatrix

ROOMY = replace(SOFT, max_groups=20)


def pair(truth: str, at: int, scores: Any = MISSING, group: Any = None) -> Pair:
    """Return a pair at a time in seconds."""
    return Pair(truth, "a", scores, 1, group, float(at), at + 0.5, ("t", 0, at))


def ranked(n: int) -> list[Pair]:
    """Return pairs with more scores than a sketch has cells for, all in one pane."""
    scores = [{"a": 1 / (at + 2), "b": 1 - 1 / (at + 2)} for at in range(n)]
    return [pair("ab"[at % 2], 100, given, "de") for at, given in enumerate(scores)]


@given(st.lists(pairs(), min_size=1, max_size=20).map(placed), st.data())
def test_a_correction_equals_a_recount(drawn: list[Pair], data: st.DataObject) -> None:
    """For any samples before and after, read or not, the corrected counts are those of the corrected pairs."""
    drawn = countable(ROOMY, drawn)
    counts, final = fed(ROOMY, drawn), list(drawn)
    for _ in range(data.draw(st.integers(0, 4)) if drawn else 0):
        at = data.draw(st.integers(0, len(final) - 1))
        new = final[at]._replace(truth=data.draw(testing.labels()))
        if data.draw(st.booleans()):
            read([counts])
        if countable(ROOMY, [new]):
            assert counts.correct(final[at], new)
            final[at] = new

    assert counts.to_bytes() == fed(ROOMY, final).to_bytes()
    expected, corrected = read([fed(ROOMY, final)]), read([counts])
    assert {name: (window.state, window.groups) for name, window in corrected.items()} == {
        name: (window.state, window.groups) for name, window in expected.items()
    }


def in_window(config: Counting, name: str, final: list[Pair]) -> list[Pair]:
    """Return the pairs that are in a window at the latest time, by a plain look at each."""
    if name == "total":
        return final
    length = float(name[:-1]) / config.panes
    newest = max(row.labelled_at for row in final) // length
    return [row for row in final if row.labelled_at // length > newest - config.panes]


def recounted(rows: list[Pair]) -> MetricSet:
    """Return a plain set with a cell for every score."""
    state = MetricSet(scores=True, buckets=100_000, pairs=False)
    for row in rows:
        state.update(row.truth, row.prediction, row.weight, scores=row.scores)
    return state


def matrix(rows: list[Pair]) -> ConfusionMatrix:
    """Return the counts of labels."""
    state = ConfusionMatrix()
    for row in rows:
        state.update(row.truth, row.prediction, row.weight)
    return state


def assert_exact(actual: Snapshot, recount: Snapshot) -> None:
    """Assert that what is counted exactly is equal, and that intervals hold the areas of the raw scores."""
    assert (actual.n, actual.weight, actual.scored, actual.labels) == (
        recount.n, recount.weight, recount.scored, recount.labels,
    )  # fmt: skip
    keys = [key for key, row in CATALOG.items() if recount.evaluation.obstacle(key) is None and row.kind == "whole"]
    for key in keys:
        exact, bounds = recount.estimate(key), actual.estimate(key)
        if CATALOG[key].state in ("counts", "losses"):
            assert actual[key] == recount[key] or math.isnan(recount[key]), key
        elif key in ("roc_auc_ovr", "average_precision_ovr", "roc_auc_micro"):
            assert bounds.low - 1e-9 <= exact.value <= bounds.high + 1e-9, key


@pytest.mark.parametrize("digits", [1, 2, 3, 6])
def test_corrections_are_those_of_a_recount(digits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows, total and groups: labels and losses to the bit, areas in their intervals, also after a restart."""
    monkeypatch.setattr(counting, "BUCKETS", 24)
    rng, config, final = random.Random(digits), replace(SOFT, max_groups=2), list[Pair]()
    counts = Counts(config)
    counts.driven = True
    for start in range(0, 400, 20):
        chunk = []
        for at in range(start, start + 20):
            first = round(rng.random(), digits)
            truth = "abc"[(rng.random() < first) + (rng.random() < 0.1)]
            scores, weight = {"a": first, "b": round(1 - first, digits)}, rng.choice([1, 1, 0.5, 3])
            group, time = rng.choice(["de", "fr", "us", "jp"]), at / 30
            chunk.append(Pair(truth, "ab"[first < 0.5], scores, weight, group, time, time, ("t", 0, at)))
        assert not counts.add(chunk)
        final += chunk
        for _ in range(rng.randrange(8)):
            old = rng.randrange(len(final))
            later = final[old].labelled_at if rng.random() < 0.5 else final[-1].labelled_at
            new = final[old]._replace(truth=rng.choice("abcd"), labelled_at=later)
            assert counts.correct(final[old], new)
            final[old] = new
        if start % 100 == 40:
            counts.move(int(max(row.labelled_at for row in final) * 1e9))
            read([counts])
            counts = Counts.from_bytes(config, counts.to_bytes())
            counts.driven = True
    counts.move(int(max(row.labelled_at for row in final) * 1e9))

    readings = read([counts])
    for name, reading in readings.items():
        rows, groups = in_window(config, name, final), reading.groups
        assert_exact(reading.state.snapshot(), recounted(rows).snapshot())
        assert groups.n == len(rows)
        for group in groups.groups:
            assert groups.state(group) == matrix([row for row in rows if row.group == group])
    assert (counts.total.scored.removed is None) == (digits == 1)


def test_labels_are_corrected_beside_a_coarse_sketch() -> None:
    """A pair that has no scores is in no sketch."""
    rows = ranked(300)
    hard = pair("a", 100)
    counts = fed(SOFT, [*rows, hard])

    assert counts.correct(hard, hard._replace(truth="b"))
    assert counts.to_bytes() == fed(SOFT, [*rows, hard._replace(truth="b")]).to_bytes()


def test_a_window_that_the_pair_has_left_stays() -> None:
    """An old pair is taken back from the total; what has left a window is gone from it already."""
    rows = [pair("a", 10), pair("a", 100)]
    counts = fed(HARD, rows)
    late = rows[0]._replace(truth="b", labelled_at=100.5)

    assert counts.correct(rows[0], late)
    assert counts.total.snapshot().per_class["support"] == {"a": 1, "b": 1}
    assert read([counts])["4s"].state.snapshot().per_class["support"] == {"a": 1, "b": 1}


def test_the_last_sample_of_a_group_goes_with_it() -> None:
    """A group without samples is no group, and where others are folded, they stay folded."""
    rows = [pair("a", at, group=group) for at, group in enumerate(["de", "fr"], 100)]
    counts = fed(HARD, rows)

    assert counts.correct(rows[0], rows[0]._replace(group=None))
    assert counts.total_groups.groups == ("fr",)

    many = [pair("a", at, group=at) for at in range(100, 110)]
    counts = fed(HARD, many)
    row = next(row for row in many if row.group in counts.total_groups.groups)

    assert counts.correct(row, row._replace(group=None))
    reading = read([counts])["total"]
    (shown,) = window_view(reading, ("accuracy",)).groups.rows
    assert (shown.n, reading.groups.folded) == (1, 8)
    assert Counts.from_bytes(HARD, counts.to_bytes()).to_bytes() == counts.to_bytes()


def test_folded_groups_are_apart_again_once_all_are_taken_out() -> None:
    """Where no sample is folded any more, no group is."""
    many = [pair("a", 100, group=at) for at in range(4)]
    counts = fed(HARD, many)
    for row in many:
        if row.group not in counts.total_groups.groups:
            assert counts.correct(row, row._replace(group=None))
    assert counts.total_groups.folded == 0
    left = [row if row.group in counts.total_groups.groups else row._replace(group=None) for row in many]
    assert counts.to_bytes() == fed(HARD, left).to_bytes()


def test_a_folded_group_is_corrected() -> None:
    """A sample of those that are counted together is taken back from them."""
    many = [pair("a", 100 + at % 3, group=at % 10) for at in range(100)]
    counts = fed(HARD, many)
    folded = next(row for row in many if row.group not in counts.total_groups.groups)

    assert counts.correct(folded, folded._replace(truth="b"))
    final = [row if row is not folded else row._replace(truth="b") for row in many]
    assert counts.to_bytes() == fed(HARD, final).to_bytes()


def test_what_was_not_counted_is_not_taken_back() -> None:
    """A pair that no state has, cannot be corrected; a new one that cannot be counted is an error."""
    counts = fed(HARD, [pair("a", 100)])
    before = counts.to_bytes()

    assert not counts.correct(pair("z", 100), pair("b", 100))
    with pytest.raises(StreamMetricsError):
        counts.correct(pair("a", 100), pair("b", 100)._replace(truth=None))
    with pytest.raises(StreamMetricsError):
        counts.correct(pair("a", 100), pair("b", 100)._replace(labelled_at=float("nan")))
    with pytest.raises(StreamMetricsError):
        counts.correct(pair("a", 100), pair("b", 100)._replace(weight=2**63))
    assert counts.to_bytes() == before
    assert isinstance(counts, Counts)
