"""Views that are cut short: in the thread that asked for it, at the next part, with the counts as they were."""

from __future__ import annotations

import threading

import pytest
from support.inner_views import ViewCut, cut_if
from support.monitor_runs import Monitor, pair, read
from support.page_views import plain


def monitor_of() -> Monitor:
    """Return a monitor of two groups whose source has ended."""
    events = [pair(at, "ab"[at % 2], "a", group=at % 2) for at in range(20)]
    monitor = read(events, counting={"windows": ["1h", "1d"]})
    monitor.report_source(ended=True)
    return monitor


def test_a_view_that_is_cut_changes_nothing() -> None:
    """Windows, groups and metrics are parts; another thread is not cut, nor this one afterwards."""
    monitor, others = monitor_of(), list[int]()
    before = monitor.counts().to_bytes()
    for parts in range(30):
        asked = iter([False] * parts + [True])
        with pytest.raises(ViewCut), cut_if(lambda asked=asked: next(asked)):
            monitor.view()
        assert monitor.counts().to_bytes() == before

    with cut_if(lambda: True):
        thread = threading.Thread(target=lambda: others.append(monitor_of().view().by_window["1d"].n))
        thread.start()
        thread.join()
    assert others == [20]
    assert plain(monitor.view())["by_window"] == plain(monitor_of().view())["by_window"]
