"""What is exported to Prometheus, without the label `model`, which is on every series."""

from __future__ import annotations

import re

MODEL = re.compile(r'(?<=[{,])model="(?:[^"\\]|\\.)*"(?:,|(?=\}))')


def unlabelled(text: str) -> str:
    """Return the text of an export without the label; an error if a series does not have it."""
    lines = text.splitlines(keepends=True)
    assert all(line.startswith("#") or MODEL.search(line) for line in lines)
    return "".join(
        line if line.startswith("#") else MODEL.sub("", line, count=1).replace(",} ", "} ").replace("{} ", " ")
        for line in lines
    )
