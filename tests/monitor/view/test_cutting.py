"""Views that are cut short: in the thread that asked for it, at the next part, with the counts as they were."""

from __future__ import annotations

import threading

import pytest

from stream_metrics.monitor.config import Counting
from stream_metrics.monitor.counts.counting import Counts, Pair
from stream_metrics.monitor.view.cutting import ViewCut, check_cut, cut_if
from stream_metrics.monitor.view.window_reading import read


def test_only_the_thread_that_asked_is_cut() -> None:
    """Neither is another thread, nor this one afterwards."""
    others = list[str]()

    def other() -> None:
        check_cut()
        others.append("not cut")

    with cut_if(lambda: True):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        with pytest.raises(ViewCut):
            check_cut()
    check_cut()

    assert others == ["not cut"]


def test_a_reading_that_is_cut_changes_nothing() -> None:
    """Each window is a part, and so are its groups; the next reading has all samples."""
    counts = Counts(Counting(windows=("1h", "1d"), max_groups=5))
    counts.add([Pair("ab"[at % 2], "a", None, 1, "g", 1e3 * at, 1e3 * at, ("t", 0, at)) for at in range(20)])
    before = counts.to_bytes()
    for parts in range(6):
        asked, reading = iter([False] * parts + [True]), read([counts])
        with pytest.raises(ViewCut), cut_if(lambda asked=asked: next(asked)):
            [(each.state, each.groups) for each in reading.values()]
        assert counts.to_bytes() == before
        assert reading["1d"].state.n == reading["1d"].groups.n == 20
    again = Counts.from_bytes(counts.config, before)

    assert [(each.state, each.groups) for each in read([counts]).values()] == [
        (each.state, each.groups) for each in read([again]).values()
    ]
    assert read([counts])["1d"].state.n == 20
