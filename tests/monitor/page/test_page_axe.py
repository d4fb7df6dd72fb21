"""The live page in a real browser: axe-core finds nothing that a screen reader or a keyboard would stumble over."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from support.page_views import empty_view, hostile_view, make_view

pytest_plugins = ("support.page_browser",)

SCRIPT = Path(os.environ.get("AXE_CORE", "build/axe/node_modules/axe-core/axe.min.js"))
CHECK = """async () => {
    const {violations, passes} = await axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"]});
    const shown = violations.map((rule) => [rule.id, rule.help, rule.nodes.slice(0, 3).map((node) => node.html)]);
    return [shown, passes.length];
}"""
BLIND = {"state": "away", "problem": "Connection refused", "silence": 41.0, "idle": 300.0, "time": None}


def striking() -> dict[str, Any]:
    """Return a view whose heat map has its strongest colours, and an alert that is pending."""
    view = make_view(6, 4, drift=1.0)
    part = view["by_window"]["1h"]
    part["matrix"]["counts"][0][1] = part["classes"][0]["support"]
    view["alerts"][1]["state"] = "pending"
    return view


STATES: dict[str, Any] = {
    "striking": striking,
    "empty": empty_view,
    "two": lambda: make_view(2, 2),
    "blind": lambda: make_view(4, 3) | {"source": BLIND},
    "firing": lambda: make_view(7, 6, drift=0.9, step=40),
    "fifty": lambda: make_view(50, 20),
    "thousand": lambda: make_view(1_000, 100),
    "hostile": lambda: hostile_view(["<b>", "\u202egnp", "", "x" * 900]),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("state", STATES)
def test_axe_finds_nothing(visit, state: str, scheme: str) -> None:
    """No violation in any state, number of classes and colour scheme, wide and narrow."""
    if not SCRIPT.exists():
        pytest.skip(f"axe-core is not at {SCRIPT}: .ci/run fetches it with npm")
    for width in (1440, 390):
        page, _ = visit(STATES[state](), width=width, color_scheme=scheme)
        page.evaluate(SCRIPT.read_text())

        violations, passed = page.evaluate(CHECK)

        assert violations == []
        assert passed > 20
