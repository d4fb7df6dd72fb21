"""How names, signs and operators of a formula are written in MathML."""

from __future__ import annotations

import re
from html import escape

__all__ = ["BIG", "SPACE", "big", "name", "row", "sign"]

BIG = {"sum": "∑", "prod": "∏", "max": "max", "min": "min", "argmax": "arg max"}  # operators with an index below
SIGNS = {"-": "−", "<=": "≤", ">=": "≥", "...": "…"}
WRITTEN = {"phi": "<mi>φ</mi>", "chi2": "<msup><mi>χ</mi><mn>2</mn></msup>"}
SPACE = "<mspace width='0.17em'/>"


def row(mathml: str) -> str:
    """Return several elements as one."""
    return f"<mrow>{mathml}</mrow>"


def sign(text: str, form: str = "") -> str:
    """Return a sign between two terms, or with a form such as "prefix" in another place."""
    attribute = f' form="{form}"' if form else ""
    return f"<mo{attribute}>{escape(SIGNS.get(text, text))}</mo>"


def big(stem: str, index: str, is_call: bool) -> str:
    """Return a sum or another operator over an index; `is_call` if brackets follow, as in max(a, b)."""
    if BIG[stem].isascii():
        space = "0" if is_call and not index else "0.17em"
        operator = f'<mo lspace="0.17em" rspace="{space}" movablelimits="true">{BIG[stem]}</mo>'
    else:
        operator = f"<mo>{BIG[stem]}</mo>"
    return f"<munder>{operator}{_letters(index)}</munder>" if index else operator


def name(stem: str, index: str = "") -> str:
    """Return a name such as K', F1 or t with its index."""
    letters = stem.rstrip("'")
    base = WRITTEN.get(letters) or f"<mi>{letters}</mi>"
    if digit := re.fullmatch(r"([A-Z])(\d)", letters):
        base = row(f"<mi>{digit[1]}</mi><mn>{digit[2]}</mn>")
    if stem.endswith("'"):
        base = row(f'{base}<mo lspace="0" rspace="0">′</mo>')
    if not index:
        return base
    is_word = len(index) > 2 and index.isalpha()
    return f"<msub>{base}{f'<mtext>{index}</mtext>' if is_word else _letters(index)}</msub>"


def _letters(index: str) -> str:
    """Return an index of single letters, digits and signs."""
    parts = re.findall(r"\d+|[a-zA-Z]|.", index)
    return row("".join(f"<mn>{x}</mn>" if x.isdigit() else f"<mi>{x}</mi>" if x.isalpha() else sign(x) for x in parts))
