"""The page of a collector in a real browser: the workers, and nothing that only a monitor has."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from support.page_views import make_view
from support.page_waits import wait_until

pytest_plugins = ("support.page_browser",)


def worker(name: str, state: str = "live", **more: Any) -> dict[str, Any]:
    """Return the row of a worker."""
    row = {"worker": name, "state": state, "n": 10, "age": 2.0, "accepted": 3, "duplicate": 0, "stale": 0, "fenced": 0}
    return row | more


def view_of(*rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return the view of a collector with these workers."""
    states = [row["state"] for row in rows]
    counts = {state: states.count(state) for state in ("live", "silent", "missing")}
    outcomes = {"accepted": 7, "duplicate": 2}
    workers = {**counts, "retired": 12, "expected": 3, "outcomes": outcomes, "refused": {"merge": 1}, "rows": rows}
    return make_view() | {"windows": ["total"], "alerts": [], "incomplete": [], "workers": workers | more}


@pytest.mark.parametrize("width", [1440, 390])
def test_workers_are_shown(visit: Callable[..., Any], width: int) -> None:
    """Facts, rows and the sentence at the top say who reports; the page is no wider than the window."""
    rows = [
        worker("pod-2", "missing", n=0, age=None, accepted=0),
        worker("pod-1", "silent", age=600.0, fenced=4),
        worker("<b>pod</b>"),
    ]
    page, server = visit(view_of(*rows, omitted=5), width)
    cells = page.evaluate(
        "[...document.querySelectorAll('#workers tbody tr')].map(r => [...r.children].map(c => c.textContent))"
    )
    assert cells == [
        ["pod-2", "missing", "\N{EN DASH}", "0", "0", "0", "0", "0"],
        ["pod-1", "silent", "10 min ago", "10", "3", "0", "0", "4"],
        ["<b>pod</b>", "live", "2 s ago", "10", "3", "0", "0", "0"],
    ]
    assert page.text_content("#state") == "Workers away"
    assert re.match("1 missing, 1 silent; numbers of ", page.text_content("#state-detail"))
    assert page.text_content("#workers-note") == "1 missing, 1 silent; 5 more report"
    script = "[...document.querySelectorAll('#facts dt')].map(n => [n.textContent, n.nextSibling.textContent])"
    facts = dict(page.evaluate(script))
    assert facts.items() >= {"Workers live": "1", "Silent": "1", "Missing": "1", "Retired": "12"}.items()
    assert facts.items() >= {"Reports": "9", "Refused": "1"}.items()
    for hidden in ("#alerts", "#labels", "#partitions-table"):
        assert not page.is_visible(hidden)
    assert page.evaluate("document.documentElement.scrollWidth") == width

    server.publish(view_of(worker("pod-1")))
    wait_until(page, "() => document.getElementById('state').textContent === 'Live'")
    assert page.text_content("#workers-note") == "all report"


def test_a_file_that_cannot_be_written_comes_first(visit: Callable[..., Any]) -> None:
    """That reports are not stored matters more than who is silent."""
    view = view_of(worker("pod-1", "silent"))
    page, _ = visit(view | {"checkpoint": view["checkpoint"] | {"error": "disk is full"}})
    assert page.text_content("#state") == "Not saved"
    assert "disk is full" in page.text_content("#state-detail")


def test_a_monitor_has_no_workers(visit: Callable[..., Any]) -> None:
    """Its page is as it was."""
    page, _ = visit(make_view())
    assert not page.is_visible("#workers")
    assert not page.is_visible("a[href='#workers']")
    for shown in ("#alerts", "#labels", "#partitions-table"):
        assert page.is_visible(shown)
