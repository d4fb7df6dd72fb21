"""The HTML report: the tables of the text report, any label is safe, in any theme."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import numpy as np

import stream_metrics as sm
from stream_metrics.report.html import html
from stream_metrics.snapshots.snapshot import Snapshot

BLEIK_GAUHER = [[24, 2, 1], [3, 30, 4], [0, 5, 31]]
ABC = ["a", "b", "c"]
TAGS = {"div", "style", "p", "table", "thead", "tbody", "tr", "th", "td", "span"}


def snap(matrix, labels=None, **options):
    """Return a snapshot of a matrix."""
    return Snapshot(sm.ConfusionMatrix.from_matrix(matrix, labels), **options)


def parsed(taken):
    """Return the HTML report as a tree; the fragment is well-formed XML."""
    return ElementTree.fromstring(html(taken).replace("&nbsp;", " "))


def test_html_holds_the_same_tables():
    """The notebook report has the scores, the classes and the matrix."""
    tree = parsed(snap(BLEIK_GAUHER, ABC))
    tables = tree.findall("table")
    cells = [[cell.text for cell in row.findall("td")] for row in tables[2].find("tbody")]

    assert len(tables) == 3
    assert [cell.text for cell in tables[0].find("tbody")[0].findall("td")] == ["0.8500", "0.3700", "0.3333", "0.3394"]
    assert cells == [["24", "2", "1", "27"], ["3", "30", "4", "37"], ["0", "5", "31", "36"], ["27", "37", "36"]]


def test_html_has_baselines_only_where_a_score_has_one():
    """A metric without a baseline has no empty columns beside it, and no note on guessing, as in the text."""
    taken = snap(BLEIK_GAUHER, ABC, keys=["cramers_v"])
    heads = [cell.text for cell in parsed(taken).find("table").find("thead")[0]]

    assert heads == ["Score", "model"]
    assert "Guessing" not in html(taken)


def test_html_escapes_labels():
    """Markup in a label is text, never an element or an attribute."""
    taken = snap(BLEIK_GAUHER, ("<script>alert(1)</script>", '"><img src=x>', "a & b\n"))
    tree = parsed(taken)

    assert "<script" not in html(taken)
    assert {element.tag for element in tree.iter()} <= TAGS
    assert "a & b\\n" in "".join(tree.itertext())


def test_html_is_self_contained_and_leaves_colours_to_the_page():
    """There is no script, no link, and neither text colour nor opaque background to clash with a theme."""
    text = html(snap(BLEIK_GAUHER, ABC))

    assert "script" not in text
    assert "http" not in text
    assert not re.search(r"[;{\"]color:(?!inherit)", text)
    assert all(match == "rgba" for match in re.findall(r"background:(\w+)\(", text))


def test_html_of_many_classes_is_capped():
    """With 200 classes the notebook gets the worst classes and the most frequent confusions, not a square table."""
    taken = snap(np.tri(200, dtype=int) + 300 * np.eye(200, dtype=int))
    tree = parsed(taken)

    assert len(html(taken)) < 30_000
    assert "150 classes left out" in "".join(tree.itertext())
    assert "matrix does not fit here: JSON has it" in "".join(tree.itertext())


def test_html_without_samples():
    """Zero samples give a short note."""
    assert "Nothing counted yet." in html(sm.ConfusionMatrix().snapshot())
    assert snap(BLEIK_GAUHER)._repr_html_() == html(snap(BLEIK_GAUHER))


def test_html_without_mistakes():
    """Where every prediction is right there are no confusions to list."""
    assert "No confusions: every prediction is right." in html(snap(300 * np.eye(40, dtype=int)))
