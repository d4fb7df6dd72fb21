"""Text in columns: no label breaks a table, and no rounded value looks exact."""

from __future__ import annotations

import math

import pytest

from stream_metrics.report.layout import display_width, fit_names, number, numbers, score, shorten, visible, wrap
from stream_metrics.report.matrix import percent


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.000"),
        (-0.0, "0.000"),
        (1.0, "1.000"),
        (-1.0, "-1.000"),
        (0.99996, ">.999"),
        (0.00004, "<.001"),
        (-0.00004, ">-.001"),
        (-0.99996, "<-.999"),
        (0.8536, "0.854"),
        (-0.25, "-0.250"),
        (math.nan, "nan"),
    ],
)
def test_only_exact_values_look_exact(value, text):
    """A score is 0, 1 or -1 in print only if it is; anything close shows on which side."""
    assert score(value) == text
    assert score(value, undefined=True) == text + "*"


@pytest.mark.parametrize(
    ("value", "total", "text"),
    [(0, 5, "0"), (1, 3000, "<1"), (1, 2, "50"), (2999, 3000, ">99"), (7, 7, "100")],
)
def test_shares_are_0_or_100_percent_only_if_exact(value, total, text):
    """Rounding never hides an error or invents a perfect class."""
    assert percent(value, total) == text


def test_numbers_are_grouped():
    """Thousands are grouped; one number with a fraction gives all of them decimals."""
    assert number(1234567) == "1 234 567"
    assert number(1234.0) == "1 234"
    assert numbers([2.0, 1234.5, 1e-9]) == ["2.00", "1 234.50", "<.01"]


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("plain", "plain"),
        ("a\tb\nc\x1b[31m", "a\\tb\\nc\\x1b[31m"),
        ("\u202eabc", "\\u202eabc"),
        ("\ud800", "\\ud800"),
        ("", "''"),
        (" a", "' a'"),
        ("日本 語", "日本 語"),
    ],
)
def test_labels_are_made_visible(label, text):
    """Control characters, changes of direction and lone surrogates are escaped, blanks at the ends are quoted."""
    assert visible(label) == text


@pytest.mark.parametrize(
    ("text", "width", "short"),
    [
        ("abcdefghij", 10, "abcdefghij"),
        ("abcdefghij", 5, "ab…ij"),
        ("日本語日本語", 6, "日…語"),
        ("abcdef", 1, "…"),
        ("e\u0301" * 6, 3, "e\u0301…e\u0301"),
    ],
)
def test_names_are_shortened_in_the_middle(text, width, short):
    """Both ends of a long name survive, wide and combined characters are never cut in two."""
    assert shorten(text, width) == short
    assert display_width(short) <= width


def test_equal_short_names_get_their_number():
    """Names that become equal are told apart by their position."""
    assert fit_names(["aaaa1bbbb", "aaaa2bbbb", "c"], 6) == ["aa…b#1", "aa…b#2", "c"]


def test_lines_break_at_blanks():
    """Text is broken at blanks and continues with the indent."""
    assert wrap("one two three", 8, "  ") == ["one two", "  three"]
