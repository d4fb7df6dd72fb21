"""The confusion matrix in fixed-width text.

Rows are true classes. The correct cell of a row stands in brackets, its largest error in parentheses, a zero is a
point. Cells are counts if they fit, else percent of the true class. Columns are headed by names if they fit, else by
the numbers of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stream_metrics.report.layout import display_width, fit_names, numbers, pad, shorten, wrap

if TYPE_CHECKING:
    from stream_metrics.snapshots.snapshot import Snapshot

__all__ = ["matrix_lines", "percent"]

CLASSES = 40  # more never fit a readable line
NAME = 10  # columns that the names of rows get at least
HEADING = 8  # a shorter column heading gives way to a number
TITLE = "Confusion matrix: rows true, columns predicted"
LEGEND = "[ ] correct, ( ) largest error of the row"


def matrix_lines(snapshot: Snapshot, names: Sequence[str], width: int) -> list[str]:
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
