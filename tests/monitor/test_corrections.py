"""After a correction the counts are those of the corrected pair alone; a refused correction changes nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pair_streams import HARD, SOFT, countable, fed, pairs, placed

from stream_metrics import testing
from stream_metrics.errors import StreamMetricsError
from stream_metrics.monitor.counting import Counts, Pair
from stream_metrics.monitor.records import MISSING
from stream_metrics.monitor.window_reading import read

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
    """Whatever was counted before and after, read or not, the corrected counts are those of the corrected pairs."""
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


def test_a_coarse_sketch_refuses_and_nothing_changes() -> None:
    """Where scores share cells none can be taken out, so labels and groups stay too."""
    rows = ranked(300)
    counts = fed(SOFT, rows)
    before = counts.to_bytes()

    assert not counts.correct(rows[299], rows[299]._replace(truth="b"))
    assert counts.to_bytes() == before


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
    """A group without samples is no group, unless others are folded: then the correction is refused."""
    rows = [pair("a", at, group=group) for at, group in enumerate(["de", "fr"], 100)]
    counts = fed(HARD, rows)

    assert counts.correct(rows[0], rows[0]._replace(group=None))
    assert counts.total_groups.groups == ("fr",)

    many = [pair("a", at, group=at) for at in range(100, 110)]
    counts = fed(HARD, many)
    before = counts.to_bytes()
    kept = next(row for row in many if row.group in counts.total_groups.groups)

    assert not counts.correct(kept, kept._replace(truth="b"))
    assert counts.to_bytes() == before


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
