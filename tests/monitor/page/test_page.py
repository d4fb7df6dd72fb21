"""The live page in a real browser: the numbers of the API, updates in time, layout, and what axe-core finds.

Every test fails on any error or warning in the browser's console.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from support.page_views import empty_view, hostile_view, make_view, real_view
from support.page_waits import wait_until

pytest_plugins = ("support.page_browser",)

DASH, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"
HOSTILE = [
    "<img src=x onerror=document.title='pwned'>",
    "</td><script>document.title='pwned'</script>",
    "\"quotes' & <b>bold</b>",
    "\u202egnp.exe",
    "\u05e9\u05dc\u05d5\u05dd",
    "word " * 300,
    "x" * 3_000,
    "",
    "new\nline",
    "javascript:alert(1)",
    "\N{GRINNING FACE}" * 50,
]
NO_STREAM = "EventSource = class { static CLOSED = 2; readyState = 2; close() {} }"


def cells(page: Any, rows: str, each: str = "th, td") -> list[list[str]]:
    """The texts of all that `each` selects in each of what `rows` selects."""
    script = """([rows, each]) => [...document.querySelectorAll(rows)].map(
        (row) => [...row.querySelectorAll(each)].map((node) => node.textContent))"""
    return page.evaluate(script, [rows, each])


def number(value: float | None) -> str:
    """A metric as the page writes it."""
    return DASH if value is None else f"{value:.4f}".replace("-", MINUS)


def accuracy(view: dict[str, Any], window: str = "1h") -> str:
    """What the first tile shows of a view."""
    return number(view["by_window"][window]["metrics"]["accuracy"])


def wait_for_accuracy(page: Any, view: dict[str, Any]) -> None:
    """Wait until the first tile shows this view."""
    wait_until(page, "(text) => document.querySelector('#tiles .value').textContent === text", accuracy(view))


def test_tiles_and_tables_equal_the_api(visit):
    """Every number of the headline, the classes, the groups and all metrics is the API's, in every window."""
    page, server = visit(make_view(5, 7, drift=0.4))
    view = json.loads(page.request.get(f"{server.url}api/snapshot").text())
    keys = view["headline"]

    for window, part in view["by_window"].items():
        page.check(f"#windows input[value='{window}']", force=True)
        metrics, bounds = part["metrics"], part["estimates"]
        classes = [
            [row["label"], f"{row['support']:,}", f"{row['predicted']:,}"]
            + [number(row[key]) for key in ("precision", "recall", "f1", "roc_auc")]
            for row in part["classes"]
        ]
        groups = [
            [row["group"], f"{row['n']:,}"]
            + [f"{number(row['metrics'][key])}[{', '.join(map(number, row['intervals'][key]))}]" for key in keys]
            for row in part["groups"]["rows"]
        ]
        areas = [[key, *map(number, (metrics[key], *bounds[key].values()))] for key in bounds]

        assert cells(page, "#tiles li", ".value") == [[number(metrics[key])] for key in keys]
        assert page.inner_text("#facts .value >> nth=0") == f"{part['n']:,}"
        assert cells(page, "#classes-table tbody tr") == classes
        assert cells(page, "#groups-table tbody tr") == groups
        assert [row[:2] for row in cells(page, "#metrics-table tbody tr")] == [
            [key, number(value)] for key, value in metrics.items()
        ]
        assert [row[:4] for row in cells(page, "#areas-table tbody tr")] == areas


def test_the_view_of_a_monitor_is_drawn(visit):
    """What a real monitor says is shown: counts, metrics, curves, trends, groups, what was rejected."""
    view = real_view()
    part = view["by_window"]["5m"]
    page, _ = visit(view)

    points = page.get_attribute("[role=slider] >> nth=0", "aria-valuemax")
    assert page.inner_text("#bar").startswith("Live No alert rules are set")
    assert cells(page, "#tiles li", ".value") == [[number(part["metrics"][key])] for key in view["headline"]]
    assert cells(page, "#classes-table tbody tr", "th") == [[row["label"]] for row in part["classes"]]
    assert cells(page, "#groups-table tbody tr", "th") == [[row["group"]] for row in part["groups"]["rows"]]
    assert int(points) > 10
    assert page.locator("#trends-chart canvas").count() == 1
    assert cells(page, "#rejected", ".value") == [["12"]]
    assert len(cells(page, "#letters-table tbody tr")) == 12


def test_intervals_bounds_and_warnings_are_shown_where_there_are_any(visit):
    """Below a value stand its interval and what missing labels leave open, below the tiles what is assumed or wrong."""
    view = make_view(3, 0)
    part = view["by_window"]["1h"]
    part["interval"] = {"level": 0.95, "valid": "fixed", "assumption": "for one look, if samples are independent"}
    part["intervals"] = {"accuracy": [0.9051, 0.919], "matthews_corrcoef": [-0.25, 0.5], "macro_f1": None}
    part["interval_notes"] = {"matthews_corrcoef": "only one class has samples"}
    part["label_bounds"] = {"accuracy": [0.86, 0.96]}
    part["label_bounds_missing"] = {"macro_f1": "no bound is known for this metric"}
    part["classes"][0]["label_bounds"] = {"recall": [0.7, 0.97]}
    part["classes"][1]["intervals"] = {"recall": [0.8, 0.95]}
    part["warnings"] = ["True labels and predictions have no class in common", "<b>"]
    missing = part["coverage"]["due"] - part["coverage"]["labelled"]
    page, _ = visit(view)
    accuracy, recalls = number(part["metrics"]["accuracy"]), [number(row["recall"]) for row in part["classes"]]
    classes = cells(page, "#classes-table tbody tr", "td:nth-child(5)")
    rows = {row[0]: row for row in cells(page, "#metrics-table tbody tr")}

    tiles = page.locator("#tiles .interval:visible").all_inner_texts()
    assert tiles == ["[0.9051, 0.9190]", f"[{MINUS}0.2500, 0.5000]?"]
    assert page.locator("#tiles .open:visible").all_inner_texts() == ["any labels: 0.8600 to 0.9600"]
    assert classes[:2] == [[f"{recalls[0]}0.7000 to 0.9700"], [f"{recalls[1]}[0.8000, 0.9500]"]]
    assert cells(page, "#classes-table tbody", ".interval") == [["[0.8000, 0.9500]"]]
    assert rows["accuracy"][1] == f"{accuracy}[0.9051, 0.9190]"
    assert (rows["accuracy"][4:6], rows["macro_f1"][4:6]) == (["0.8600", "0.9600"], [DASH, DASH])
    reason = page.get_attribute("#metrics-table tbody tr:has-text('macro_f1') td:nth-child(5)", "title")
    assert reason == "no bound is known for this metric"
    assert page.inner_text("#assumption") == (
        "In brackets: 95 % confidence interval, for one look, if samples are independent. Any labels: the value can be "
        "anything between these two, whichever of the classes seen so far the "
        f"{missing:,} due predictions without a label have."
    )
    shown = page.inner_text("#warnings")
    assert shown == "Warning: True labels and predictions have no class in common. Warning: <b>."
    page.check("#windows input[value='1d']", force=True)
    elsewhere = "main .interval:visible, main .open:visible, #assumption:visible, #warnings:visible"
    assert page.locator(elsewhere).all_inner_texts() == []


def test_matrix_equals_the_api(visit):
    """Cells are the counts, in order, zeros empty; the largest confusions are those of the matrix."""
    view = make_view(6, 0, drift=0.5)
    matrix = view["by_window"]["1h"]["matrix"]
    labels, counts = matrix["labels"], matrix["counts"]
    page, _ = visit(view)
    wrong = [(n, i, j) for i, row in enumerate(counts) for j, n in enumerate(row) if i != j and n]
    wrong.sort(key=lambda cell: (-cell[0], cell[1:]))

    assert cells(page, ".matrix tbody tr", "td") == [[f"{n:,}" if n else "" for n in row] for row in counts]
    assert cells(page, ".matrix thead tr", "th") == [labels]
    assert cells(page, "#worst li", "bdi, .number") == [[labels[i], labels[j], f"{n:,}"] for n, i, j in wrong[:12]]


def test_a_monitor_that_counted_nothing_yet(visit):
    """Without any sample the page stands, says that it waits, and what is undefined is a dash that says so."""
    page, _ = visit(empty_view())

    assert page.inner_text("#state") == "Waiting"
    assert cells(page, "#tiles li", ".value") == [[DASH]] * 4
    assert page.get_attribute("#tiles .value >> nth=0", "title") == "undefined so far"
    assert page.get_attribute("#metrics-table tbody td >> nth=0", "title") == "undefined"
    assert page.inner_text("#worst-empty") == "Nothing counted yet."
    assert page.inner_text("#trends-empty").startswith("No trend yet")
    assert page.text_content("#trends-note") == ""


def test_without_confusions_the_page_says_of_which_classes(visit):
    """Classes that are not in the matrix may be confused all the same."""
    for omitted, text in ((0, "No confusion."), (70, "No confusion between the classes of the matrix.")):
        view = make_view(3, 0)
        for part in view["by_window"].values():
            part["matrix"] |= {"counts": [[5, 0, 0], [0, 6, 0], [0, 0, 7]], "omitted": omitted}
        page, _ = visit(view)

        assert page.inner_text("#worst-empty") == text
        assert page.text_content("#worst-note") == ""


def test_updates_arrive_in_place(visit):
    """A published view changes the numbers, not the nodes; scroll, focus, sort and filter stay."""
    page, server = visit(make_view(30, 40))
    page.click("#classes-table th:nth-child(5) button")
    page.fill("#groups-table input", "shop 0")
    page.evaluate("document.querySelector('#classes .scroll').scrollTop = 90")
    page.evaluate("window.before = [...document.querySelectorAll('tbody td, #tiles .value, #worst button')]")
    later = make_view(30, 40, drift=0.3, step=60)
    server.publish(later)

    wait_for_accuracy(page, later)

    recalls = [float(row[4]) for row in cells(page, "#classes-table tbody tr")]
    assert page.evaluate("window.before.every((node) => node.isConnected)")
    assert page.evaluate("document.querySelector('#classes .scroll').scrollTop") == 90
    assert page.evaluate("document.activeElement === document.querySelector('#groups-table input')")
    assert len(recalls) == 30
    assert recalls == sorted(recalls)
    assert all("shop 0" in row[0] for row in cells(page, "#groups-table tbody tr"))


@pytest.mark.parametrize("width", [390, 1440])
def test_large_views_are_no_wider_than_the_window(visit, width):
    """Of 210 classes and 100 groups, all changed, the most frequent ones are shown, and the page says so."""
    page, server = visit(make_view(210, 100), width=width)
    later = make_view(210, 100, drift=0.5, step=3)
    server.publish(later)
    wait_for_accuracy(page, later)

    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("#classes-table tbody tr").count() == 200
    assert page.locator("#groups-table tbody tr").count() == 100
    assert page.locator(".matrix tbody td").count() == 2_500
    assert "50 most frequent of 210" in page.text_content("#confusion-note")
    server.publish(make_view(210, 0, step=5))  # without groups the last fact is about classes
    page.locator("#facts > :last-child .than", has_text=", of the 200 most frequent").wait_for()


@pytest.mark.parametrize("width", [390, 1440])
def test_hostile_labels_stay_text(visit, width):
    """Markup in whatever comes from outside is text: nothing runs, nothing is loaded, nothing overflows."""
    page, _ = visit(hostile_view(HOSTILE), width=width)

    labels = [row[0] for row in cells(page, "#classes-table tbody tr")]

    assert labels[:3] == HOSTILE[:3]
    assert (labels[3], labels[7], labels[8]) == (r"\u202egnp.exe", "(empty)", r"new\u000aline")
    assert page.locator("main img, main script, main b").count() == 0
    assert page.title() == f"12 alerts firing {DASH} {HOSTILE[0]}"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_server_restart_is_survived(visit):
    """When the server goes the page says since when; when another one comes, it goes on by itself."""
    page, server = visit(make_view(3, 3))
    server.close()
    page.wait_for_selector("#bar[data-kind=lost]")

    said = page.inner_text("#bar")
    changed = make_view(3, 3, drift=0.7) | {"started": 1_700_000_500.0}
    server.__init__(changed, server.port)
    page.wait_for_selector("#bar:not([data-kind=lost])")

    assert said.startswith("Disconnected since ")
    wait_for_accuracy(page, changed)


def test_without_a_stream_the_page_asks(visit):
    """Where the stream of events is refused, views still arrive, by plain requests."""
    page, server = visit(make_view(3, 3), script=NO_STREAM)
    later = make_view(3, 3, drift=0.7, step=5)
    server.publish(later)

    wait_for_accuracy(page, later)

    assert page.get_attribute("#bar", "data-kind") == "firing"


def test_a_monitor_that_reads_no_more_is_stale(visit):
    """A server that answers but says by /healthz that polling stopped makes the page stale, alerts or not."""
    page, server = visit(make_view(4, 3))
    server.healthy = False
    page.reload()

    page.wait_for_selector("#bar[data-kind=stale]")

    assert page.inner_text("#bar").startswith("Stale The monitor no longer reads its source")


def test_only_what_the_monitor_says_is_coloured(visit):
    """A change has a word and a colour where the view has a verdict; else it is a number with the reason as title."""
    view = make_view(3, 0)
    part, key = view["by_window"]["1h"], "accuracy"
    ends = {"low": -0.06, "high": -0.02, "verdict": "worse", "reason": ""}
    part["comparisons"][key][1] |= {"difference": -0.04} | ends
    part["comparisons"]["macro_f1"] = []
    page, _ = visit(view)

    tiles = page.locator("#tiles li")
    first = tiles.nth(0).locator(".change").all_inner_texts()
    assert first == ["▲ +0.0004 against the 1h before", f"▼ {MINUS}0.0400 worse against the reference"]
    assert tiles.nth(0).locator("[data-way=worse]").count() == 1
    assert page.locator("#tiles [data-way]").count() == 1
    title = tiles.nth(0).locator(".by").nth(0).get_attribute("title")
    assert title.endswith("; no more than chance may be")
    assert tiles.nth(2).locator(".change").all_inner_texts() == ["no earlier value"]


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
