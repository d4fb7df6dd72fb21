"""A table of a report: columns of cells beside the names of rows, laid out as fixed-width text.

A cell may end in a mark, `*` or `!`, which stands outside so that the digits stay below each other, and may have an
interval behind it. Footnotes explain the marks that are shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from stream_metrics.report.intervals import bracketed, doubts
from stream_metrics.report.layout import display_width, fit_names, pad, shorten, wrap

if TYPE_CHECKING:
    from stream_metrics.inference.intervals.interval import Interval


GAP = "  "
MARKS = "*!"
EXPLAINED = {
    "!": "! the model is not above every baseline",
    "*": "* undefined (0/0), replaced by zero_division",
    "-": "- undefined (0/0)",
}
MOST_MARKS = 2  # in a row; with more, the reader sees marks and no figures


class ReportColumn(NamedTuple):
    """One column: its heading in full and in short, its cells, and the intervals behind them.

    Of columns with a `drop` above 0, those with the highest are left out first. Cells are aligned right (`>`), left
    (`<`) or at the decimal point (`.`).
    """

    heading: str
    short: str
    cells: Sequence[str]
    drop: float = 0
    align: Literal["<", ">", "."] = ">"
    intervals: Sequence[Interval | None] = ()

    def texts(self, blank: str = " ") -> list[str]:
        """Return the cells with their intervals; a `blank` that is not a space is one of HTML, which aligns marks."""
        cells = list(self.cells)
        if self.align == ".":
            behind = [len(cell.partition(".")[2]) for cell in cells]
            cells = [cell + blank * (max(behind) - n) * ("." in cell) for cell, n in zip(cells, behind, strict=True)]
        elif self.align == ">" and blank == " " and self.has(MARKS):
            cells = [cell if cell.endswith(tuple(MARKS)) else f"{cell} " for cell in cells]
        intervals = bracketed(self.intervals)
        wide = max(map(len, intervals), default=0)
        if not wide:
            return cells
        if not any(cells):
            return intervals
        return [f"{c}{blank}{i.rjust(wide if blank == ' ' else 0)}" for c, i in zip(cells, intervals, strict=True)]

    def has(self, marks: str) -> bool:
        """Tell whether a cell ends in one of `marks`."""
        return any(cell.endswith(tuple(marks)) for cell in self.cells)

    def note(self, row: int) -> str:
        """Return why the interval of a row is not to be trusted; empty if it is, or there is none."""
        interval = self.intervals[row] if self.intervals else None
        return "" if interval is None else interval.note

    def without_cell(self, row: int) -> ReportColumn:
        """Return the column with a hyphen in place of a value."""
        return self._replace(cells=[*self.cells[:row], "-", *self.cells[row + 1 :]])

    def without_interval(self, row: int) -> ReportColumn:
        """Return the column without the interval of a row."""
        return self._replace(intervals=[*self.intervals[:row], None, *self.intervals[row + 1 :]])

    def width(self) -> int:
        """Return the columns of text that it takes."""
        return max(map(display_width, (self.heading, *self.texts())))


class Table(NamedTuple):
    """Rows with a name each, and columns; `positions` number the labels that rows are named after.

    `least` is the width that names get at least, `left_out` has the headings of columns that did not fit,
    `blanked` the reasons why intervals were left out.
    """

    heading: str
    names: Sequence[str]
    columns: Sequence[ReportColumn]
    title: str = ""
    least: int = 10
    positions: Sequence[int] | None = None
    left_out: tuple[str, ...] = ()
    blanked: tuple[str, ...] = ()

    def fit(self, width: int) -> Table:
        """Return the table for `width` columns of text.

        Headings become short, then columns are left out, before names get fewer than `least` columns.
        """
        natural = max(map(display_width, [self.heading, *self.names]))
        shown = list(self.columns)
        if _space(shown, width) < min(natural, max(self.least, 16)):
            shown = [column._replace(heading=column.short) for column in shown]
            while _space(shown, width) < min(natural, self.least) and (last := max(c.drop for c in shown)):
                shown = [column for column in shown if column.drop != last]
        first = max(3, min(natural, _space(shown, width)))
        names = [pad(name, first) for name in fit_names(self.names, first, self.positions)]
        drops = {column.drop for column in shown}
        left_out = tuple(column.heading for column in self.columns if column.drop not in drops)
        return self._replace(heading=shorten(self.heading, first), names=names, columns=shown, left_out=left_out)

    def calm(self) -> Table:
        """Return the table with at most two marks in a row: in rows with more, what is marked is left out."""
        columns = list(self.columns)
        reasons: list[str] = []
        for row in range(len(self.names)):
            undefined = [at for at, column in enumerate(columns) if column.cells[row].endswith("*")]
            doubted = [at for at, column in enumerate(columns) if column.note(row)]
            if len(undefined) + len(doubted) <= MOST_MARKS:
                continue
            for at in undefined:
                columns[at] = columns[at].without_cell(row)
            for at in doubted:
                reasons.append(columns[at].note(row))
                columns[at] = columns[at].without_interval(row)
        return self._replace(columns=columns, blanked=tuple(dict.fromkeys(reasons)))

    def lines(self) -> list[str]:
        """Return the table as text."""
        first = max(map(display_width, [self.heading, *self.names]))
        lines = [pad(name, first) for name in (self.heading, *self.names)]
        for column in self.columns:
            size, align = column.width(), "<" if column.align == "<" else ">"
            texts = [column.heading, *column.texts()]
            lines = [line + GAP + pad(text, size, align) for line, text in zip(lines, texts, strict=True)]
        return [line.rstrip() for line in lines]

    def doubts(self) -> list[str]:
        """Return a footnote with the reasons why intervals are not to be trusted, if there are any."""
        notes = doubts(interval for column in self.columns for interval in column.intervals)
        if self.blanked:
            notes.append(f"Intervals that are not to be trusted are left out: {'; '.join(self.blanked)}")
        return notes

    def width_note(self) -> list[str]:
        """Return a footnote with the columns that did not fit, if there are any."""
        return [f"Left out at this width: {', '.join(self.left_out)}"] if self.left_out else []

    def marks(self) -> list[str]:
        """Return the footnotes of the marks that cells have."""
        return [text for mark, text in EXPLAINED.items() if any(column.has(mark) for column in self.columns)]


def block(table: Table, notes: Sequence[str], width: int) -> list[str]:
    """Return a fitted table with its title above and its footnotes below, as text."""
    lines = wrap(table.title, width) if table.title else []
    if table.names:
        lines += table.lines()
    return lines + [line for note in notes if note for line in wrap(note, width, GAP)]


def _space(columns: Sequence[ReportColumn], width: int) -> int:
    """Return the columns of text left for the names."""
    return width - sum(len(GAP) + column.width() for column in columns)
