"""The summary at the end of a command: its content, that it fits, and that hostile names stay text."""

from __future__ import annotations

from itertools import product

from support.inner_views import facts, summary
from support.page_views import empty_view, hostile_view, make_view, typed

HOSTILE = ["[red]x[/red]", "\x1b[31mred", "a\nb", "", "日本語の長い名前はここで切られる", "x" * 300, "[/]"]
VIEWS = [make_view(3, 2, drift=0.5), make_view(200, 100), empty_view(), hostile_view(HOSTILE)]


def test_the_summary() -> None:
    """It fits, and has every window, the worst groups, alerts with their duration, and names as they are written."""
    for view, width in product(VIEWS, (80, 140)):
        assert max(map(len, summary(typed(view), width).splitlines())) <= width
    view = make_view(4, 14, drift=0.9)
    text, hostile = summary(typed(view), 80), summary(typed(VIEWS[-1]), 100)

    assert text.startswith("window")
    assert all(f"{view['by_window'][name]['metrics']['accuracy']:.3f}" in text for name in view["windows"])
    assert "and 4 groups that do better" in text
    assert "firing for 12.3 min: balanced_accuracy[1h] < 0.8 for 5m" in text
    assert ("[red]x[/red]" in hostile, "a\\nb" in hostile, "\x1b" in hostile) == (True, True, False)

    assert "any labels" not in dict(facts(typed(view)))
    view["checkpoint"]["error"], view["incomplete"] = "disk full", ["some are gone"]
    view["by_window"]["1h"]["label_bounds"] = {"macro_f1": [0.8, 0.95], "accuracy": [0.85, 0.97], "log_loss": [0, 1]}
    said = facts(typed(view))
    assert said[-2:] == [("not saved", "disk full"), ("incomplete", "some are gone")]
    assert dict(said)["any labels"] == "accuracy 0.850 to 0.970, macro F1 0.800 to 0.950"
    assert {("labels (total)", "none is due yet"), ("delay", "no label yet")} <= set(facts(typed(empty_view())))
    for name in ("1h", "1d"):
        view["by_window"][name]["n"] = 0  # then the total is the window that facts are of
    assert "any labels" not in dict(facts(typed(view)))
