"""What a report says as a list of elements, each of which is written as text and as HTML.

**HTML.** A notebook tells its output area neither its theme nor its background, so nothing here sets a text colour or
an opaque background: text inherits, lines are translucent grey, and the heat of a cell is a translucent colour of
middle luminance, on which black text on a white page and white text on a dark page both stay legible. Sanitisers that
drop `<style>` leave plain tables.

**Text** fits any terminal from 40 columns. Nothing depends on colour: marks in the cells say what stands out. Whatever
is left out is said, with the way to get it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import NamedTuple, Protocol

from stream_metrics.report.layout import fit_names, visible, wrap
from stream_metrics.report.table import MARKS, ReportColumn, Table, block

NAME = 40  # characters of a label in a row; a longer one is in full in the tooltip
THIN = "\u202f"  # narrow no-break space between thousands
FIGURE_SPACE = "\u2007"  # as wide as a digit

STYLE = """
.sm-report{font-size:13px;line-height:1.35;overflow-x:auto}
.sm-report table{border-collapse:collapse;border:0;margin:.9em 0 .2em;font-size:inherit;color:inherit}
.sm-report tr{background:none!important}
.sm-report th,.sm-report td{border:0;padding:.2em .6em;text-align:right;white-space:nowrap;
 font-variant-numeric:tabular-nums;color:inherit}
.sm-report thead th{font-weight:600;vertical-align:bottom;border-bottom:1px solid rgba(128,128,128,.6)}
.sm-report tbody th{font-weight:400}
.sm-report th:first-child{text-align:left}
.sm-report p{margin:.1em 0;font-size:12px;opacity:.8}
.sm-report .sm-warning{margin:.4em 0;opacity:1}
.sm-report .sm-title{margin:1em 0 .1em;font-size:13px;font-weight:600;opacity:1}
.sm-report .sm-title+table{margin-top:.2em}
.sm-report .sm-mark{position:absolute}
.sm-report .sm-zero{opacity:.4}
.sm-report .sm-matrix td{text-align:center;min-width:2em;border:1px solid rgba(128,128,128,.3)}
.sm-report .sm-matrix .sm-sum{border:0;text-align:right;opacity:.8}
.sm-report .sm-matrix thead th{text-align:center}
.sm-report .sm-up span{display:inline-block;writing-mode:vertical-rl;transform:rotate(180deg)}
"""


def fragment(parts: Iterable[str]) -> str:
    """Return the parts of a report as one HTML element."""
    return "".join([f'<div class="sm-report"><style>{STYLE}</style>', *parts, "</div>"])


def warnings_html(sentences: Iterable[str]) -> str:
    """Return the warnings of a snapshot."""
    return "".join(f'<p class="sm-warning"><b>Warning:</b> {escape(visible(text))}.</p>' for text in sentences)


def title_html(text: str) -> str:
    """Return the title of a part."""
    return f'<p class="sm-title">{escape(text)}</p>'


def notes_html(texts: Iterable[str]) -> str:
    """Return footnotes."""
    return "".join(f"<p>{escape(text)}</p>" for text in texts if text)


def head_html(text: str, full: str) -> str:
    """Return the cell with the name of a row, and the whole name as its tooltip."""
    tip = f' title="{escape(full)}"' if full != text else ""
    return f'<th style="text-align:left"{tip}>{escape(text)}</th>'


def table_html(table: Table) -> str:
    """Return a table with its title; nothing if it has no rows."""
    if not table.names:
        return ""
    labels = table.positions is not None  # of any length, unlike titles
    names = fit_names(table.names, NAME, table.positions) if labels else table.names
    heads = [head_html(text, full) for text, full in zip(names, table.names, strict=True)]
    return (title_html(table.title) if table.title else "") + rows_html([table.heading], heads, table.columns)


def rows_html(headings: Sequence[str], heads: Sequence[str], columns: Sequence[ReportColumn]) -> str:
    """Return a table of rows with the cells `heads` in front."""
    titles = "".join(f"<th>{escape(text)}</th>" for text in (*headings, *(column.heading for column in columns)))
    body = "".join(
        f"<tr>{head}{''.join(map(_cell, cells))}</tr>"
        for head, *cells in zip(heads, *(column.texts(FIGURE_SPACE) for column in columns), strict=True)
    )
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"


def _cell(text: str) -> str:
    """Return a cell of figures; a mark at its end stands outside, so that the digits stay below each other."""
    figure = escape(text.rstrip(MARKS))
    mark = text[len(text.rstrip(MARKS)) :]
    return f'<td>{figure}<span class="sm-mark">{mark}</span></td>' if mark else f"<td>{figure}</td>"


NARROWEST = 40
WIDEST = 140  # without a width of its own; longer lines are hard to read


class Medium(NamedTuple):
    """What a report is written for: text of so many columns, or HTML where the width is None."""

    width: int | None

    @property
    def separator(self) -> str:
        """What stands between thousands."""
        return THIN if self.width is None else " "

    def fit(self, table: Table) -> Table:
        """Return a table as it fits the text."""
        return table if self.width is None else table.fit(self.width)


class Element(Protocol):
    """A part of a report."""

    def lines(self, width: int) -> list[str]:
        """Return it as lines of text; none if there is nothing to say."""

    def html(self) -> str:
        """Return it as HTML."""


class Title(NamedTuple):
    """The first line of a report."""

    text: str

    def lines(self, width: int) -> list[str]:
        """Return it as lines of text."""
        return wrap(self.text, width)

    def html(self) -> str:
        """Return it as HTML."""
        return title_html(self.text)


class Warnings(NamedTuple):
    """The warnings of a snapshot."""

    sentences: Sequence[str]

    def lines(self, width: int) -> list[str]:
        """Return them as lines of text."""
        return [line for text in self.sentences for line in wrap(f"Warning: {visible(text)}.", width, "  ")]

    def html(self) -> str:
        """Return them as HTML."""
        return warnings_html(self.sentences)


class Notes(NamedTuple):
    """Sentences, each of which starts a line; where one is broken, its next lines are indented."""

    texts: Sequence[str]
    indent: str = ""

    def lines(self, width: int) -> list[str]:
        """Return them as lines of text."""
        return [line for text in self.texts for line in wrap(text, width, self.indent)]

    def html(self) -> str:
        """Return them as HTML."""
        return notes_html(self.texts)


class Section(NamedTuple):
    """A table that fits its medium, and its footnotes."""

    table: Table
    notes: Sequence[str] = ()

    def lines(self, width: int) -> list[str]:
        """Return it as lines of text."""
        return block(self.table, self.notes, width)

    def html(self) -> str:
        """Return it as HTML."""
        return table_html(self.table) + notes_html(self.notes)


def text(document: Callable[[Medium], Sequence[Element]], width: int | None) -> str:
    """Return a report as text of at most `width` columns, 40 or more; by default those of the terminal, up to 140."""
    width = max(min(shutil.get_terminal_size().columns, WIDEST) if width is None else width, NARROWEST)
    blocks = [element.lines(width) for element in document(Medium(width))]
    return "\n\n".join("\n".join(lines) for lines in blocks if lines)


def html(document: Callable[[Medium], Sequence[Element]]) -> str:
    """Return a report as one HTML element."""
    return fragment(element.html() for element in document(Medium(None)))
