"""The HTML report: the tables of the text report, any label is safe, in any theme."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pytest
from support.values import html, snapshot

import stream_metrics as sm

pytestmark = pytest.mark.quick
BLEIK_GAUHER = [[24, 2, 1], [3, 30, 4], [0, 5, 31]]
ABC = ["a", "b", "c"]
TAGS = {"div", "style", "p", "table", "thead", "tbody", "tr", "th", "td", "span"}


def parsed(taken: Any) -> Any:
    """Return the HTML report as a tree; the fragment is well-formed XML."""
    return ElementTree.fromstring(html(taken).replace("&nbsp;", " "))


def test_html_holds_the_same_tables() -> None:
    """The notebook report has scores, classes and matrix, and baselines only where a score has one."""
    tables = parsed(snapshot(BLEIK_GAUHER, ABC)).findall("table")
    cells = [[cell.text for cell in row.findall("td")] for row in tables[2].find("tbody")]
    alone = snapshot(BLEIK_GAUHER, ABC, keys=["cramers_v"])

    upright = [len(re.findall('class="sm-up"', html(snapshot([[3, 1], [1, 3]], ["x", "y" * n])))) for n in (6, 7)]

    assert upright == [0, 2]
    assert len(tables) == 3
    assert [cell.text for cell in tables[0].find("tbody")[0].findall("td")] == ["0.8500", "0.3700", "0.3333", "0.3394"]
    assert cells == [["24", "2", "1", "27"], ["3", "30", "4", "37"], ["0", "5", "31", "36"], ["27", "37", "36"]]
    assert [cell.text for cell in parsed(alone).find("table").find("thead")[0]] == ["Score", "model"]
    assert "Guessing" not in html(alone)


def test_html_is_safe_and_self_contained() -> None:
    """Markup in a label is text; no script, no link, no colour that clashes with a theme."""
    hostile = snapshot(BLEIK_GAUHER, ("<script>alert(1)</script>", '"><img src=x>', "a & b\n"))
    tree, text = parsed(hostile), html(snapshot(BLEIK_GAUHER, ABC))

    assert "<script" not in html(hostile)
    assert {element.tag for element in tree.iter()} <= TAGS
    assert "a & b\\n" in "".join(tree.itertext())
    assert "script" not in text
    assert "http" not in text
    assert not re.search(r"[;{\"]color:(?!inherit)", text)
    assert all(match == "rgba" for match in re.findall(r"background:(\w+)\(", text))


def test_html_of_many_classes_is_capped() -> None:
    """The worst of 200 classes and the most frequent confusions, not a square table; short notes where none are."""
    taken = snapshot(np.tri(200, dtype=int) + 300 * np.eye(200, dtype=int))
    text = "".join(parsed(taken).itertext())

    assert len(html(taken)) < 30_000
    assert "150 classes left out" in text
    assert "matrix does not fit here: JSON has it" in text
    assert "Nothing counted yet." in html(sm.ConfusionMatrix().snapshot())
    assert "No confusions: every prediction is right." in html(snapshot(300 * np.eye(40, dtype=int)))
