"""What the scripts that measure coverage share: their flags, Markdown tables, and their sections of README.md."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

README = Path(__file__).with_name("README.md")
Marks = tuple[str, str]  # the comments at which a section begins and ends


def flags(doc: str | None, **others: str) -> argparse.ArgumentParser:
    """Return a parser with `--write`, and with more flags by their help."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--write", action="store_true", help="put the tables into README.md as well")
    for name, text in others.items():
        parser.add_argument(f"--{name}", action="store_true", help=text)
    return parser


def write_section(marks: Marks, text: str) -> None:
    """Replace the section of README.md between two marks."""
    head, _, rest = README.read_text(encoding="utf-8").partition(marks[0])
    _, _, tail = rest.partition(marks[1])
    README.write_text(f"{head}{marks[0]}\n{text}\n{marks[1]}{tail}", encoding="utf-8")


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; the first row is its head."""
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
