"""The live page in a real browser: parts use their cards, regardless of the number of classes and the width."""

from __future__ import annotations

import pytest
from support.page_views import make_view

pytest_plugins = ("support.page_browser",)

SHARE = """() => document.querySelector(".heat").offsetWidth / document.querySelector("#matrix").clientWidth"""
SPAN = """async (span) => {
    const {times, STEPS} = await import(`${location.origin}/static/axes.js`);
    const plot = {scales: {x: {min: 1700000000, max: 1700000000 + span}}};
    const step = STEPS.find((each) => span / each <= 10) ?? STEPS[STEPS.length - 1];
    const ticks = [];
    for (let at = Math.ceil(plot.scales.x.min / step) * step; at <= plot.scales.x.max; at += step) ticks.push(at);
    return times(plot, ticks, null, 0, step);
}"""


@pytest.mark.parametrize(("classes", "least"), [(2, 0.7), (4, 0.9), (7, 0.9), (12, 0.85), (21, 0.85), (50, 0.75)])
def test_the_matrix_uses_its_card(visit, classes, least):
    """From two classes to fifty the cells are as wide as the card allows, and counts are shown where they fit."""
    page, _ = visit(make_view(classes, 3))

    assert least < page.evaluate(SHARE) <= 1.001
    assert page.is_visible("#matrix-numbers") == (classes == 50)
    height = page.locator(".matrix tbody td").first.bounding_box()["height"]
    assert height >= 13


def test_a_matrix_wider_than_a_phone_scrolls_inside(visit):
    """The note says so, and the page itself does not become wider."""
    page, _ = visit(make_view(30, 3), width=390)

    assert "scroll sideways for more" in page.inner_text("#confusion-note")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("document.querySelector('#classes .scroll').clientWidth <= innerWidth")


def test_labels_of_the_time_axis_differ(visit):
    """However short or long the stretch, no two ticks say the same."""
    page, _ = visit(make_view(2, 0))

    for span in (3, 8, 45, 200, 3_600, 30_000, 90_000, 900_000, 9_000_000):
        labels = page.evaluate(SPAN, span)

        assert len(labels) >= 2
        assert len(set(labels)) == len(labels)


def test_a_long_past_scrolls_in_its_list(visit):
    """A hundred alerts that fired do not push the page down."""
    view = make_view(2, 0)
    view["firings"] = [{"rule": "accuracy < 0.9", "began": i, "ended": i + 1.0, "value": 0.8} for i in range(100)]
    page, _ = visit(view)

    past = page.locator("#past-list")
    assert past.locator("li").count() == 101
    assert past.bounding_box()["height"] <= 260
    assert past.evaluate("node => node.scrollHeight > node.clientHeight")
