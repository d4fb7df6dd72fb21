"""The confusion matrix of a report, or where it does not fit the most frequent confusions.

Rows are true classes. In text the correct cell of a row stands in brackets, its largest error in parentheses, a zero is
a point. Cells are counts if they fit, else percent of the true class. Columns are headed by names if they fit, else by
the numbers of the rows. In HTML correct cells are blue, errors orange, a pair that colour-blind readers can tell apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_metrics.report.content import CONFUSIONS, Confusion, confusions, matrix_place
from stream_metrics.report.document import NAME as ROW_NAME
from stream_metrics.report.document import THIN, head_html, notes_html, rows_html, title_html
from stream_metrics.report.layout import display_width, fit_names, number, numbers, pad, shorten, wrap
from stream_metrics.report.table import GAP, ReportColumn, Table, block

if TYPE_CHECKING:
    from stream_metrics.snapshots.snapshot import Snapshot


ARROW = " -> "
CLASSES = 40  # of a matrix as text; more never fit a readable line
HTML_CLASSES = 30
NAME = 10  # columns that the names of rows get at least
HEADING = 8  # a shorter column heading gives way to a number
TITLE = "Confusion matrix: rows true, columns predicted"
NO_CONFUSIONS = "No confusions: every prediction is right."
LEGEND = "[ ] correct, ( ) largest error of the row"
COLUMN_NAME = 16  # characters of a label above a column of HTML
UPRIGHT = 6  # longer column names than this stand upright
CORRECT, WRONG = "0,114,178", "213,94,0"  # blue and vermilion of Okabe & Ito (2008)
FAINTEST, STRONGEST = 0.08, 0.8


class MatrixElement(NamedTuple):
    """The confusion matrix of a snapshot as a part of its report, with the names of the classes."""

    snapshot: Snapshot
    names: Sequence[str]

    def lines(self, width: int) -> list[str]:
        """Return it as lines of text."""
        return _matrix_lines(self.snapshot, self.names, width) or self._confusion_lines(width)

    def html(self) -> str:
        """Return it as HTML."""
        if len(self.names) > HTML_CLASSES:
            return self._confusion_html()
        return _matrix_html(self.snapshot, self.names)

    def _confusion_lines(self, width: int) -> list[str]:
        pairs, count = confusions(self.snapshot, CONFUSIONS)
        rest = matrix_place(self.snapshot)
        if not pairs:
            return [*wrap(NO_CONFUSIONS, width), *wrap(rest, width, "  ")]
        columns = self._columns(pairs, " ", " %")
        half = (width - sum(len(GAP) + column.width() for column in columns) - len(ARROW)) // 2
        short = self._short_names(pairs, half)
        first = max(display_width(true) for true, _ in short)
        rows = [pad(true, first) + ARROW + predicted for true, predicted in short]
        heading = pad("True", first) + " " * len(ARROW) + "Predicted"
        return block(Table(heading, rows, columns, _confusion_title(pairs, count, " ")).fit(width), [rest], width)

    def _confusion_html(self) -> str:
        pairs, count = confusions(self.snapshot, CONFUSIONS)
        if not pairs:
            return notes_html([NO_CONFUSIONS, matrix_place(self.snapshot)])
        heads = [
            head_html(true, self.names[pair.true]) + head_html(predicted, self.names[pair.predicted])
            for pair, (true, predicted) in zip(pairs, self._short_names(pairs, ROW_NAME), strict=True)
        ]
        table = rows_html(["True", "Predicted"], heads, self._columns(pairs, THIN, "%"))
        return title_html(_confusion_title(pairs, count, THIN)) + table + notes_html([matrix_place(self.snapshot)])

    def _columns(self, pairs: Sequence[Confusion], separator: str, unit: str) -> list[ReportColumn]:
        """Return the weights of confusions, and their shares of the true classes."""
        support = self.snapshot.evaluation.value_and_undefined("support")[0]
        return [
            ReportColumn("samples", "samples", numbers([pair.weight for pair in pairs], separator)),
            ReportColumn("of true", "of true", [percent(pair.weight, support[pair.true]) + unit for pair in pairs]),
        ]

    def _short_names(self, pairs: Sequence[Confusion], width: int) -> list[tuple[str, str]]:
        """Return the true and the predicted class of each confusion in at most `width` columns."""
        used = sorted({position for pair in pairs for position in pair[:2]})
        short = dict(zip(used, fit_names([self.names[position] for position in used], width, used), strict=True))
        return [(short[pair.true], short[pair.predicted]) for pair in pairs]


def _confusion_title(pairs: Sequence[Confusion], count: int, separator: str) -> str:
    """Return the title of a table of the most frequent confusions, of `count` in all."""
    if count == len(pairs):
        return "All confusions"
    return f"The {len(pairs)} most frequent of {number(count, separator)} confusions"


def _matrix_lines(snapshot: Snapshot, names: Sequence[str], width: int) -> list[str]:
    """Return the matrix with its title, in at most `width` columns; no line if it does not fit."""
    if len(names) > CLASSES:
        return []
    matrix = snapshot.confusion_matrix
    count = len(names)
    flat = numbers(
        [*matrix.ravel().tolist(), *matrix.sum(axis=0).tolist(), *matrix.sum(axis=1).tolist(), matrix.sum().item()]
    )
    cells, bottom, totals = flat[: count * count], flat[count * count :][:count], flat[count * count + count :]
    texts = [text if value else "." for text, value in zip(cells, matrix.ravel().tolist(), strict=True)]
    counts = [
        *_marked([texts[row * count :][:count] for row in range(count)], matrix),
        [f" {text} " for text in bottom],
    ]
    grid = _grid(counts, [*names, "total"], totals, width)
    if grid:
        return [*wrap(TITLE, width), *grid, *wrap(LEGEND, width)]
    shares = [[percent(value, sum(row)) if value else "." for value in row] for row in matrix.tolist()]
    grid = _grid(_marked(shares, matrix), names, totals[:-1], width)
    return [*wrap(f"{TITLE}, percent of the row", width), *grid, *wrap(LEGEND, width)] if grid else []


def percent(value: float, total: float) -> str:
    """Return the share of `value` in `total` as whole percent; 0 and 100 only if they are exact."""
    text = f"{100 * value / total:.0f}"
    if text == "0" and value:
        return "<1"
    return ">99" if text == "100" and value != total else text


def _marked(cells: list[list[str]], matrix: NDArray[np.generic]) -> list[list[str]]:
    """Put marks around the correct cell and the largest error of each row, and blanks around the others."""
    wrong = matrix.copy()
    np.fill_diagonal(wrong, 0)
    marked = [[f" {text} " for text in row] for row in cells]
    for row, column in enumerate(wrong.argmax(axis=1).tolist()):
        marked[row][row] = f"[{cells[row][row]}]"
        if wrong[row, column]:
            marked[row][column] = f"({cells[row][column]})"
    return marked


def _grid(cells: list[list[str]], names: Sequence[str], totals: list[str], width: int) -> list[str]:
    """Lay out `cells` with names on the left and totals on the right; empty if `width` is too small."""
    count = len(cells[0])
    total = max(map(len, [*totals, "total"]))
    cell = max(len(text) for row in cells for text in row)
    longest = max(map(display_width, names))
    space = width - total - 2  # for names and cells; every cell has a blank before it
    smallest = max(cell, len(str(count)) + 1)
    widest = (space - min(longest, 2 * NAME)) // count - 1  # of a cell
    if widest < smallest:
        widest = (space - min(longest, NAME)) // count - 1
    if widest < smallest:
        return []
    headings = [shorten(name, widest - 1) for name in names[:count]]
    numbered = longest >= widest and (widest <= HEADING or len(set(headings)) < count)
    if numbered:
        headings = [str(column + 1) for column in range(count)]
    cell = max(cell, *(display_width(text) + 1 for text in headings))
    first = space - count * (cell + 1)
    rows = _numbered(names, first, count) if numbered else fit_names(names, first)
    corner = "true\\predicted" if first >= 14 else "true"
    size = max(map(display_width, [*rows, corner]))
    lines = []
    for name, texts, sum_ in zip(
        [corner, *rows], [[f"{text} " for text in headings], *cells], ["total", *totals], strict=True
    ):
        line = "".join(" " + pad(text, cell, ">") for text in texts)
        lines.append(f"{pad(name, size)}{line}| {pad(sum_, total, '>')}")
    return lines


def _numbered(names: Sequence[str], width: int, count: int) -> list[str]:
    """Put its number before each name of a class; `names` may end in a name for the totals, which gets none."""
    digits = len(str(count))
    short = fit_names(names, max(width - digits - 1, 1))
    marks = [str(row + 1) if row < count else "" for row in range(len(names))]
    return [f"{mark:>{digits}} {name}" for mark, name in zip(marks, short, strict=True)]


def _matrix_html(snapshot: Snapshot, names: Sequence[str]) -> str:
    """Return the matrix as HTML, with a colour for each cell."""
    matrix = snapshot.confusion_matrix
    count = len(names)
    texts = numbers([*matrix.ravel().tolist(), *matrix.sum(axis=1).tolist(), *matrix.sum(axis=0).tolist()], THIN)
    totals, bottom = texts[count * count :][:count], texts[count * count + count :]
    short = fit_names(names, ROW_NAME)
    body = []
    for at, (row, text) in enumerate(zip(matrix.tolist(), short, strict=True)):
        heat = [_heat(value, sum(row), column == at) for column, value in enumerate(row)]
        cells = [
            f'<td{colour} title="{escape(f"true {names[at]}, predicted {names[column]}: {share}")}">{value}</td>'
            for column, ((colour, share), value) in enumerate(zip(heat, texts[at * count :][:count], strict=True))
        ]
        body.append(f'<tr>{head_html(text, names[at])}{"".join(cells)}<td class="sm-sum">{totals[at]}</td></tr>')
    sums = "".join(f'<td class="sm-sum" style="text-align:center">{text}</td>' for text in bottom)
    body.append(f"<tr><th>total</th>{sums}</tr>")
    columns = fit_names(names, COLUMN_NAME)
    up = ' class="sm-up"' if max(map(len, columns)) > UPRIGHT else ""
    heads = "".join(
        f'<th{up} title="{escape(name)}"><span>{escape(text)}</span></th>'
        for name, text in zip(names, columns, strict=True)
    )
    head = f"<thead><tr><th>true \\ predicted</th>{heads}<th>total</th></tr></thead>"
    table = f'<table class="sm-matrix">{head}<tbody>{"".join(body)}</tbody></table>'
    note = "Colour: share of the row on a square-root scale; blue correct, orange wrong"
    return title_html(TITLE) + table + notes_html([note])


def _heat(value: float, total: float, correct: bool) -> tuple[str, str]:
    """Return the attributes of a cell for its colour, and its share of the row in words."""
    if not value:
        return ' class="sm-zero"', "none"
    strength = FAINTEST + (STRONGEST - FAINTEST) * math.sqrt(value / total)
    colour = f"rgba({CORRECT if correct else WRONG},{strength:.2f})"
    return f' style="background:{colour}"', f"{percent(value, total)}% of the row"
