"""The terminal view: its content, that it fits the screen, and that hostile names stay text."""

from __future__ import annotations

import io
from collections import deque
from typing import Any

import pytest
from support.page_views import empty_view, hostile_view, make_view, real_view, typed

from stream_metrics.monitor.view.summary import duration, facts, short_window, summary

pytest.importorskip("rich", reason="the terminal view needs rich")

from rich.console import Console

from stream_metrics.monitor.view.terminal import Screen, render, sparkline

HOSTILE = ["[red]x[/red]", "\x1b[31mred", "a\nb", "", "日本語の長い名前はここで切られる", "x" * 300, "[/]"]


def drawn(view: dict[str, Any], width: int, height: int, lines: tuple[str, ...] = ()) -> list[str]:
    """Return the lines that are drawn."""
    console = Console(width=width, height=height, file=io.StringIO(), force_terminal=True, color_system=None)
    console.print(render(typed(view), width, height, lines), end="")
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().removesuffix("\n").split("\n")


@pytest.mark.parametrize(("width", "height"), [(80, 24), (80, 60), (140, 40), (200, 70), (60, 20)])
@pytest.mark.parametrize(("classes", "groups"), [(3, 2), (8, 8), (200, 100)])
def test_it_fits(width, height, classes, groups) -> None:
    """No line is too wide, and there are not more of them than the terminal has."""
    lines = drawn(make_view(classes, groups, drift=0.5), width, height, ("the page is at http://127.0.0.1:1",))

    assert max(map(len, lines)) <= width
    assert len(lines) <= height


def test_what_is_shown() -> None:
    """Headline, alert, classes, groups from the worst, the matrix, and the facts are those of the view."""
    view = make_view(4, 4, drift=0.9)
    text = "\n".join(drawn(view, 140, 60))

    part = view["by_window"]["1h"]
    assert "ALERT" in text
    assert "balanced_accuracy[1h] < 0.8 for 5m" in text
    for key in view["headline"]:
        assert f"{part['metrics'][key]:.3f}" in text
    for row in part["classes"]:
        assert f"{row['recall']:.3f}" in text
    worst = [row["group"] for row in part["groups"]["rows"]]
    places = [text.index(f"\n{group} ") if f"\n{group} " in text else text.index(f" {group} ") for group in worst]
    assert places == sorted(places)
    assert "truth (rows) by prediction" in text
    assert all(fact[:40] in text for _, fact in facts(typed(view)))


def test_many_classes_show_the_weakest() -> None:
    """Where not all classes fit, those with the lowest recall are shown, and the heading says how many there are."""
    view = make_view(100, 0, drift=0.3)
    text = "\n".join(drawn(view, 100, 40))

    rows = sorted(view["by_window"]["1h"]["classes"], key=lambda row: row["recall"])
    assert "of 100 with the lowest recall" in text
    assert rows[0]["label"] in text
    assert rows[-1]["label"] not in text
    assert "with the lowest recall of the 200 most frequent" in "\n".join(drawn(make_view(1000, 0), 100, 40))


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({}, "WELL"),
        ({"alerts": []}, "LIVE"),
        ({"lag": {"records": 5, "seconds": 59.0}}, "WELL"),
        ({"lag": {"records": 5, "seconds": 60.0}}, "CATCHING UP"),
        ({"lag": {"records": 0, "seconds": 9000.0}}, "WELL"),
        ({"incomplete": ["some are gone"]}, "INCOMPLETE"),
        ({"unreadable": ["none is an event"]}, "UNREADABLE"),
        ({"checkpoint": {"error": "disk full"}, "incomplete": ["some are gone"]}, "NOT SAVED"),
        ({"source": {"state": "away", "problem": "no broker"}, "incomplete": ["some are gone"]}, "BLIND"),
        ({"source": {"state": "unassigned", "problem": "none"}}, "WAITING"),
    ],
)
def test_the_first_word_is_the_worst_of_what_is_known(changes, word) -> None:
    """A backlog, counts that lack records, and a checkpoint that failed are not well."""
    assert drawn(make_view(3, 0) | changes, 80, 40)[0].startswith(f" {word} ")


def test_a_monitor_without_samples_waits() -> None:
    """Also where rules say nothing yet; what is not known is said in words, not as a row of dashes."""
    view = empty_view() | {"alerts": [{"rule": "accuracy < 0.9", "state": "unknown", "since": None, "value": None}]}
    lines = drawn(view, 80, 24)
    assert lines[0].startswith(" WAITING ")
    assert ("labels (total)", "none is due yet") in facts(typed(view))
    assert ("delay", "no label yet") in facts(typed(view))


def test_a_fact_that_is_cut_ends_in_an_ellipsis() -> None:
    """Half a counter would be a wrong one."""
    line = next(line for line in drawn(make_view(), 80, 60) if line.startswith("join"))
    assert line.rstrip().endswith("\N{HORIZONTAL ELLIPSIS}")


@pytest.mark.parametrize("view", [empty_view(), real_view(200)], ids=["empty", "real"])
def test_views_without_and_with_data(view) -> None:
    """A monitor that has counted nothing is shown, by both, and so is a real one."""
    assert "window" in "\n".join(drawn(view, 80, 24))
    assert summary(typed(view), 80).startswith("window")


def test_hostile_names_stay_text() -> None:
    """Markup, escapes and line breaks in labels, groups and rules appear as they are written, or escaped."""
    view = hostile_view(HOSTILE)
    for text in ("\n".join(drawn(view, 140, 60, ("\x1b[2J said",))), summary(typed(view), 100)):
        assert "\x1b[31m" not in text
        assert "\x1b[2J" not in text
        assert "[red]x[/red]" in text
        assert "a\\nb" in text


def test_the_summary_fits() -> None:
    """As plain text, too, no line is wider than asked for, and windows, groups and alerts are there."""
    view = make_view(4, 14, drift=0.9)
    for width in (80, 140):
        text = summary(typed(view), width)
        assert max(map(len, text.splitlines())) <= width
        assert all(f"{view['by_window'][name]['metrics']['accuracy']:.3f}" in text for name in view["windows"])
        assert "and 4 groups that do better" in text
        assert "firing for 12.3 min: balanced_accuracy[1h] < 0.8 for 5m" in text


def test_what_went_wrong_is_said() -> None:
    """A checkpoint that failed, and counts that lack records, are among the facts."""
    view = make_view()
    view["checkpoint"]["error"], view["incomplete"] = "disk full", ["some are gone"]

    assert facts(typed(view))[-2:] == [("not saved", "disk full"), ("incomplete", "some are gone")]


@pytest.mark.parametrize(
    ("values", "width", "bars"),
    [
        ([], 3, "   "),
        ([None, None], 2, "  "),
        ([0.5, 0.5], 2, "▅▅"),
        ([0.0, 0.5, 1.0], 3, "▁▅█"),
        ([0.0, None, 1.0], 3, "▁ █"),
        ([0.0, 0.0, 1.0, 1.0], 2, "▁█"),
        ([1.0], 4, "   ▅"),
    ],
)
def test_sparklines(values, width, bars) -> None:
    """Bars span what the values do, but at least a little, with blanks where there is no value."""
    assert sparkline(values, width) == bars


def test_lengths_of_time() -> None:
    """Each in its own unit."""
    values = (None, 0, 0.0042, 12.0, 740, 7300, 200_000)
    assert [duration(value) for value in values] == ["\u2013", "0 s", "4.2 ms", "12 s", "12.3 min", "2.03 h", "2.31 d"]


def test_the_window_shown_is_the_first_with_samples() -> None:
    """Without any in a window it is the total."""
    view = make_view()
    assert short_window(typed(view)) == "1h"

    for name in ("1h", "1d"):
        view["by_window"][name]["n"] = 0
    assert short_window(typed(view)) == "total"


def test_a_screen_draws_views_and_lines() -> None:
    """Each view replaces the one before, with the lines as they are then; after the end nothing is drawn."""
    lines = deque(["the page is at http://x"])
    file = io.StringIO()
    settings = {"TERM": "xterm", "COLUMNS": "100", "LINES": "40"}
    console = Console(file=file, force_terminal=True, color_system=None, _environ=settings)
    with Screen(lines, console) as screen:
        screen.show(typed(make_view(3)))
        lines.append("second line")
        screen.show(typed(make_view(3)))
        shown = file.getvalue()
    screen.show(typed(make_view()))

    assert "the page is at" in shown
    assert "second line" in shown
    assert file.getvalue().startswith(shown)
    assert "second line" not in file.getvalue()[len(shown) + 100 :]


def test_missing_labels_leave_something_open() -> None:
    """The facts say between what the headline lies regardless of the missing labels; nothing if none is missing."""
    view = make_view(3, 0)
    assert "any labels" not in dict(facts(typed(view)))
    view["by_window"]["1h"]["label_bounds"] = {"macro_f1": [0.8, 0.95], "accuracy": [0.85, 0.97], "log_loss": [0, 1]}

    assert dict(facts(typed(view)))["any labels"] == "accuracy 0.850 to 0.970, macro F1 0.800 to 0.950"
