"""How many columns of a terminal a text takes, by the rule of Unicode and independent of the package."""

import unicodedata


def columns(text: str) -> int:
    """Return the columns that a line takes: two for wide characters, none for those that combine."""
    shown = [each for each in text if unicodedata.category(each) not in ("Mn", "Me", "Cf")]
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in shown)


def widest(text: str) -> int:
    """Return the columns of the longest line."""
    return max(map(columns, text.split("\n")))
