"""Fixed-width text: how wide a label is, how it is shortened, how a number is written.

Labels come from users, so they may hold anything. Control characters, line separators, lone surrogates and the
characters that change the direction of writing are written as escapes, since each would break a table; wide East
Asian characters count as two columns, combining marks as none. Thousands are separated by an ordinary space: in
fixed-width text it is as narrow as a typographic thin space, and unlike that it survives any output encoding.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Sequence

ELLIPSIS = "…"
JOINERS = "\u200c\u200d"  # needed inside words of some scripts, and without width
ESCAPED = {"Cc", "Cf", "Cs", "Zl", "Zp"}
DIGITS = 3


def visible(text: str) -> str:
    """Return `text` on one line: control characters escaped, quoted if it is empty or has blanks at an end."""
    if not text.isascii() or not text.isprintable():
        text = "".join(map(_escape, text))
    return text if text and text == text.strip() else f"'{text}'"


def _escape(character: str) -> str:
    if unicodedata.category(character) not in ESCAPED or character in JOINERS:
        return character
    return character.encode("unicode_escape").decode("ascii")


def display_width(text: str) -> int:
    """Return the number of terminal columns that `text` takes."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def shorten(text: str, width: int) -> str:
    """Return `text` in at most `width` columns, with an ellipsis in place of its middle if it is longer."""
    if display_width(text) <= width:
        return text
    if width < 3:
        return ELLIPSIS[:width]
    clusters = _clusters(text)
    tail, used = "", 0
    for cluster in reversed(clusters):
        if (used := used + display_width(cluster)) > (width - 1) // 2:
            break
        tail = cluster + tail
    head, free = "", width - 1 - display_width(tail)
    for cluster in clusters:
        if (free := free - display_width(cluster)) < 0:
            break
        head += cluster
    return head + ELLIPSIS + tail


def _clusters(text: str) -> list[str]:
    """Split `text` into characters that keep their combining marks."""
    clusters: list[str] = []
    for character in text:
        if clusters and _columns(character) == 0:
            clusters[-1] += character
        else:
            clusters.append(character)
    return clusters


def fit_names(names: Sequence[str], width: int, positions: Sequence[int] | None = None) -> list[str]:
    """Shorten distinct `names`; those that become equal end in `#` and their number, which is their position plus 1."""
    short = [shorten(name, width) for name in names]
    seen = Counter(short)
    for row, text in enumerate(short):
        if seen[text] > 1:
            mark = f"#{(row if positions is None else positions[row]) + 1}"
            short[row] = shorten(names[row], max(width - len(mark), 1)) + mark
    return short


def pad(text: str, width: int, align: str = "<") -> str:
    """Fill `text` with blanks to `width` columns, on the right for `<` and on the left for `>`."""
    blanks = " " * (width - display_width(text))
    return text + blanks if align == "<" else blanks + text


def number(value: float, separator: str = " ") -> str:
    """Return a count or a sum of weights, with its thousands grouped; two decimals unless it is whole."""
    return numbers([value], separator)[0]


def numbers(values: Sequence[float], separator: str = " ") -> list[str]:
    """Return the numbers of one table: two decimals for all of them unless all are whole."""
    if all(value == int(value) for value in values):
        return [f"{int(value):,}".replace(",", separator) for value in values]
    return ["<.01" if 0 < value < 0.005 else f"{value:,.2f}".replace(",", separator) for value in values]


def score(value: float, undefined: bool = False, digits: int = DIGITS) -> str:
    """Return a score with `digits` decimals and `*` if it is undefined.

    Only exact 0, 1 and -1 are written as such: 0.99996 is `>.999`, not 1.000.
    """
    mark = "*" if undefined else ""
    if math.isnan(value):
        return "nan" + mark
    text = f"{value:.{digits}f}"
    if value != float(text) and float(text) in (0.0, 1.0, -1.0):
        edge = f".{'9' * digits}" if float(text) else f".{'0' * (digits - 1)}1"
        outwards = (value > 0) == (abs(value) > 0.5)
        if abs(value) < 1:
            text = f"{'>' if outwards else '<'}{'-' if value < 0 else ''}{edge}"
    return ("0." + "0" * digits if float(value) == 0 else text) + mark


def wrap(text: str, width: int, indent: str = "") -> list[str]:
    """Break `text` at blanks into lines of at most `width` columns; a longer word is shortened."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        word = shorten(word, width - len(indent))
        if line and display_width(line) + 1 + display_width(word) > width:
            lines.append(line)
            line = indent + word
        else:
            line = f"{line} {word}" if line else (indent if lines else "") + word
    return [*lines, line]
