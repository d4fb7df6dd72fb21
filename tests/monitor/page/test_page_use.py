"""The live page in a real browser: use by keyboard, screen reader and mouse, and in dark mode."""

from __future__ import annotations

import contextlib
import json
from urllib.parse import parse_qs

from support.page_server import PageServer
from support.page_views import make_view
from support.page_waits import wait_until

pytest_plugins = ("support.page_browser",)

LISTEN = """() => {
    const count = (changes) => { window.spoken = (window.spoken ?? 0) + changes.length; };
    const options = {childList: true, characterData: true, subtree: true};
    new MutationObserver(count).observe(document.getElementById("announce"), options);
}"""
LABELS = "() => [...document.querySelectorAll('#classes-table tbody th')].map((cell) => cell.textContent)"
RECALLS = "() => [...document.querySelectorAll('#classes-table td:nth-child(5)')].map((cell) => cell.textContent)"
GROUND = "getComputedStyle(document.body).backgroundColor"
# The contrast of each text to the backgrounds below it, painted in their order, by the formula of WCAG 2.


VIEW = make_view(4, 3)
UNKNOWN = {"rule": "n[1h] < 1", "state": "unknown", "since": None, "value": None, "note": "no samples"}
FIRING = UNKNOWN | {"state": "firing", "value": 0.0, "note": None}
SILENT = {"state": "silent", "silence": 724.0}
AWAY = {"state": "away", "problem": "Connection refused", "silence": 41.0}
LATE = {"state": "unassigned", "problem": "no partition is assigned", "silence": 41.0}
REJECTING = {"records": {"rejected_share": 0.087, "rejected": {"decode": 2, "label": 12}}}
TOO_MANY = {"rule": "rejected_share > 0.01", "state": "firing", "since": VIEW["now"] - 60, "value": 0.087}
DIFFER = VIEW["by_window"]["1h"] | {"mismatch": "Classes are counted apart: 1 and '1'"}
SHARE = "of the last records; since the start 12 for label, 2 for decode"
STATES = [  # kind of the bar, what differs in the view, the words of the bar, and what its detail has
    ("nodata", {"source": SILENT, "alerts": [UNKNOWN]}, "No data", "No event for 12 min"),
    ("blind", {"source": AWAY}, "Blind", "Connection refused; the last event came 41 s ago"),
    ("warn", {"alerts": [UNKNOWN]}, "1 rule unknown", "n[1h] < 1 (no samples)"),
    ("stale", {"source": LATE}, "Waiting for partitions", "no partition is assigned; the last event came 41 s ago"),
    ("firing", {"source": AWAY, "alerts": [FIRING]}, "1 alert firing", "blind: the source cannot be read"),
    ("well", {"source": {"state": "ended"}}, "Well", "read to its end, to events of"),
    ("warn", REJECTING, "Rejecting 8.7 %", SHARE),
    ("firing", REJECTING | {"alerts": [TOO_MANY]}, "Rejecting 8.7 %", SHARE),
    ("warn", {"by_window": {"1h": DIFFER}}, "Labels differ", "Classes are counted apart: 1 and '1'"),
    ("firing", REJECTING | {"alerts": [TOO_MANY, FIRING]}, "2 alerts firing", ""),
    ("warn", {"join": {"corrections_refused": 3}}, "Corrections refused", "3 labels were corrected later than keep_"),
]


def test_what_is_not_known_or_doubtful_is_never_green(visit):
    """No data, a source that is away, rules without a value and wrong records have words and colours; firing wins."""
    page, server = visit(VIEW)
    colours = {}
    for kind, differing, words, detail in STATES:
        changes = {
            name: VIEW[name] + more if isinstance(more, list) else VIEW[name] | more for name, more in differing.items()
        }
        server.publish(VIEW | changes)
        page.wait_for_selector(f"#bar[data-kind={kind}]")
        colours[kind] = page.evaluate("getComputedStyle(document.getElementById('bar')).getPropertyValue('--state')")
        assert page.inner_text("#state") == words
        assert detail in page.inner_text("#state-detail")

    assert len(set(colours.values())) == 5


def test_numbers_that_say_little_are_not_well(visit):
    """Events come but no label does, or records wait and the newest event is old: the bar says so."""
    empty, behind = make_view(4, 3), make_view(3, 0)
    for part in (empty["by_window"]["1h"], empty["by_window"]["1d"]):
        part |= {"n": 0, "metrics": dict.fromkeys(part["metrics"])}
    behind |= {"lag": {"records": 812_345, "seconds": 200_000.0}, "event_time": behind["now"] - 200_000}
    behind["history"]["1h"]["t"] = [t - 200_000 for t in behind["history"]["1h"]["t"]]

    page, _ = visit(empty)
    page.wait_for_selector("#bar[data-kind=nodata]")
    assert page.inner_text("#state-detail").startswith("No labelled prediction in the last 1d")
    page, _ = visit(behind)
    page.locator("#bar", has_text="Catching up").wait_for()
    assert page.inner_text("#trends-legend .when").startswith("2023-11-12 ")
    assert "812,345 records still to be read; numbers of 2023-11-12" in page.inner_text("#bar")


def test_state_is_told_in_words_and_aloud(visit):
    """Well and firing are words, in the page and on its tab; the polite region speaks when they change, once."""
    page, server = visit(make_view(4, 3))
    page.evaluate(LISTEN)
    well = page.inner_text("#state"), page.title()
    server.publish(make_view(4, 3, drift=0.9, step=5))
    page.wait_for_selector("#bar[data-kind=firing]")
    server.publish(make_view(4, 3, drift=1.0, step=9))
    wait_until(page, "() => document.getElementById('foot').textContent.includes(':29')")

    assert well == ("Well", "Well \N{EN DASH} animals")
    assert page.inner_text("#state") == "1 alert firing"
    assert page.inner_text("#announce") == "1 alert firing: balanced_accuracy[1h] < 0.8 for 5m"
    assert page.evaluate("window.spoken") == 1
    assert page.locator("#tiles .alarm").all_inner_texts() == ["", "alert firing", "", ""]


def test_the_state_of_each_alert_is_a_word_in_its_list(visit):
    """Not a colour alone; without rules there is no state. A change that fires first stands in its own words."""
    page, server = visit(make_view(4, 3, drift=0.9))
    assert page.locator("#alerts-list .chip:visible").all_inner_texts() == ["firing", "ok", "ok"]

    view, note = make_view(4, 3), "changed; 15 of 1 000 outcomes since"
    alert = {"rule": "changed(accuracy) arl=9", "state": "firing", "since": view["now"], "value": 9.0, "note": note}
    server.publish(view | {"alerts": [alert]})
    note = note.replace("1 000", "1,000")
    page.locator("#alerts-list", has_text=note).wait_for()
    assert f"\N{MIDDLE DOT} {note} \N{MIDDLE DOT}" in page.inner_text("#state-detail")
    server.publish(make_view(4, 3) | {"alerts": []})
    page.locator("#alerts-list", has_text="No rules are set").wait_for()
    assert page.locator("#alerts-list .chip:visible").count() == 0


def test_keyboard_chooses_the_window(visit):
    """Tab reaches the window selector, arrows change it, every number follows, and the choice outlives a reload."""
    view = make_view(4, 3, drift=0.3)
    page, _ = visit(view)
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.name === 'window'"):
            break

    page.keyboard.press("ArrowRight")
    chosen = page.evaluate("document.activeElement.value")
    page.reload()
    page.wait_for_selector("#tiles li")

    shown = page.inner_text("#tiles .value >> nth=0")
    assert chosen == "1d"
    assert page.is_checked("#windows input[value='1d']")
    assert shown == f"{view['by_window']['1d']['metrics']['accuracy']:.4f}"


def test_keyboard_reads_the_matrix_and_the_curves(visit):
    """The matrix is one tab stop with arrows inside, the largest confusion leads to its cell, a curve is a slider."""
    view = make_view(5, 0, drift=0.4)
    counts = view["by_window"]["1h"]["matrix"]["counts"]
    largest = max(n for i, row in enumerate(counts) for j, n in enumerate(row) if i != j)
    page, _ = visit(view)

    page.locator(".matrix tbody td").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    readout = page.inner_text("#matrix-readout")
    page.click("#worst li:first-child button")
    focused = page.evaluate("document.activeElement.textContent")
    page.locator("[role=slider]").first.focus()
    page.keyboard.press("End")

    point = page.get_attribute("[role=slider] >> nth=0", "aria-valuetext")
    assert readout.startswith(f"true cow, predicted cow: {counts[1][1]:,}, ")
    assert focused == f"{largest:,}"
    assert page.locator(".matrix tbody td[tabindex='0']").count() == 1
    assert point == "false positive rate 1.0000, true positive rate 1.0000"


def test_order_is_held_under_the_pointer(visit):
    """While the mouse is over a sorted table its rows stay where they are, with new numbers."""
    page, server = visit(make_view(8, 0))
    page.click("#classes-table th:nth-child(5) button")
    page.hover("#classes-table tbody tr:nth-child(3)")
    order, before = page.evaluate(LABELS), page.evaluate(RECALLS)
    server.publish(make_view(8, 0, drift=0.9, step=9))
    wait_until(page, "() => document.getElementById('foot').textContent.includes(':29')")

    order_after, after = page.evaluate(LABELS), page.evaluate(RECALLS)

    assert before == sorted(before)
    assert order_after == order
    assert after != before
    assert after != sorted(after)


def test_token_opens_the_page(chromium):
    """The token in the address opens the page and leaves the address; views and reloads then go without it."""
    with contextlib.closing(PageServer(make_view(3, 2), token="secret")) as server:
        page = chromium.new_context().new_page()
        page.goto(f"{server.url}?token=secret#classes")
        page.wait_for_selector("#tiles li")
        address = page.url
        page.reload()
        page.wait_for_selector("#tiles li")
        server.publish(make_view(3, 2, drift=0.9, step=9))
        page.wait_for_selector("#bar[data-kind=firing]")

        assert address == f"{server.url}#classes"
        assert page.evaluate("document.cookie") == ""
        page.context.close()


def test_themes(visit):
    """The browser's preference holds until another one is chosen, which outlives a reload."""
    page, _ = visit(make_view(3, 2), color_scheme="dark")
    dark = page.evaluate(GROUND)

    page.click("#theme")
    page.reload()

    assert dark == "rgb(13, 17, 23)"
    assert page.evaluate(GROUND) == "rgb(243, 245, 248)"
    assert page.inner_text("#theme") == "Theme: light"


def test_what_happened_is_listed_newest_first(visit):
    """Alerts that fired, with how long, and annotations; without any there is no list."""
    view = make_view(4, 3)
    view["firings"].append({"rule": "n[1h] < 1", "began": view["now"] - 60, "ended": None, "value": 0.0})
    page, server = visit(view)

    rows = page.locator("#past-list li").all_inner_texts()

    assert ["n[1h] < 1" in rows[0], "fires for 60 s, at 0.0000" in rows[0]] == [True, True]
    assert "fired for 12 min, at 0.8800" in rows[1]
    assert rows[2].endswith("deployed 2.1")
    assert page.inner_text("#reference").startswith("Reference: 2023-11-")
    server.publish(view | {"firings": [], "annotations": [], "reference": None})
    page.locator("#past").wait_for(state="hidden")
    assert page.locator("#reference").is_hidden()


def answered(view, points=4, **more):
    """What /api/range answers: points of an hour each, the second of which has no sample."""
    rows = []
    for i in range(points):
        values = dict.fromkeys(view["headline"], None if i == 1 else 0.5 + i / 10)
        low, high = ({} if i == 1 else {key: values[key] + by for key in values} for by in (-0.05, 0.05))
        start = view["now"] - 3600 * (points - i)
        bounds = {"from": start, "to": start + 3600, "low": low, "high": high}
        rows.append(bounds | {"n": 0 if i == 1 else 100, "values": values})
    bounds = {"from": rows[0]["from"], "to": rows[-1]["to"], "complete_from": rows[0]["from"]}
    return 200, json.dumps(bounds | {"points": rows} | more).encode()


def test_a_range_of_time_is_chosen_and_left_again(visit):
    """Trends are those of the range, with what it lacks and what went wrong in words; live ones come back."""
    view = make_view(4, 3)
    page, server = visit(view)
    page.click("#trends-data summary")
    page.locator("#trends-table tbody tr").first.wait_for()
    live = page.locator("#trends-table tbody tr").count()
    server.answer = answered(view, complete_from=view["now"] - 7200)

    page.check("#range input[value='1d']", force=True)
    page.locator("#trends-note").filter(has_text="each point covers 60 min; complete from ").wait_for()
    rows = page.locator("#trends-table tbody tr").all_inner_texts()
    asked = parse_qs(server.asked[-1])
    server.answer = 503, b'{"error": "the store is away"}'
    page.check("#range input[value='dates']", force=True)
    page.fill("#range-from", "2023-11-05T10:00")
    page.fill("#range-to", "2023-11-04T10:00")
    page.locator("#trends-note").filter(has_text="choose two times, the first before the second").wait_for()
    page.fill("#range-to", "2023-11-06T10:00")
    page.locator("#trends-note").filter(has_text="the store is away").wait_for()
    page.check("#range input[value='live']", force=True)

    assert [row.split("\t")[2] for row in rows] == ["0.8000", "0.7000", "\N{EN DASH}", "0.5000"]
    assert asked["metrics"] == [",".join(view["headline"])]
    assert float(asked["to"][0]) - float(asked["from"][0]) == 86_400
    assert page.locator("#trends-table tbody tr").count() == live
    assert page.inner_text("#trends-note") == "by event time, each point covers 1h"
