"""What a report says as a list of elements, each of which is written as text and as HTML.

Text fits any terminal from 40 columns. Nothing depends on colour: marks in the cells say what stands out. Whatever is
left out is said, with the way to get it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from stream_metrics.report.layout import visible, wrap
from stream_metrics.report.markup import THIN, fragment, notes_html, table_html, title_html, warnings_html
from stream_metrics.report.table import Table, block

__all__ = ["Element", "Medium", "Notes", "Section", "Title", "Warnings", "html", "text"]

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
