"""The live page in a real browser: parts use their cards, regardless of the number of classes and the width."""

from __future__ import annotations

import pytest
from support.page_views import make_view

pytest_plugins = ("support.page_browser",)

SHARE = """() => document.querySelector(".heat").offsetWidth / document.querySelector("#matrix").clientWidth"""


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
