"""Arguments that several commands share, and how their texts are read."""

from __future__ import annotations

import argparse
import json
import math
from typing import Protocol

from stream_metrics.catalog.table import UnknownMetricError, find
from stream_metrics.cli.sources import STDIN, declared_format
from stream_metrics.labels import Label

__all__ = [
    "Commands",
    "LISTING",
    "add_command",
    "add_format",
    "add_keys",
    "add_output",
    "classes",
    "delimiter",
    "field",
    "labels",
    "level",
    "number",
    "positive",
    "seconds",
    "zero_division",
]


LISTING = "'stream-metrics metrics' lists them"


class Commands(Protocol):
    """What `ArgumentParser.add_subparsers` returns; its class is private."""

    def add_parser(
        self, name: str, *, help: str, description: str, epilog: str, formatter_class: type[argparse.HelpFormatter]
    ) -> argparse.ArgumentParser:
        """Add a command."""


def add_command(commands: Commands, name: str, summary: str, epilog: str) -> argparse.ArgumentParser:
    """Add a command whose help ends with ``epilog`` as it is."""
    parser = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add --format and --metrics."""
    add_format(parser, "table", "json", "csv")
    add_keys(parser, "print these metrics only, such as accuracy,macro_f1,recall (default: all)")


def add_keys(parser: argparse.ArgumentParser, meaning: str) -> None:
    """Add --metrics."""
    parser.add_argument("--metrics", type=_keys, metavar="K1,K2", help=f"{meaning}; {LISTING}")


def add_format(parser: argparse.ArgumentParser, *choices: str) -> None:
    """Add --format; the first of its choices is the default."""
    parser.add_argument("--format", choices=choices, default=choices[0], help=f"how to print (default: {choices[0]})")


def _keys(text: str) -> tuple[str, ...]:
    """Read metric keys; an unknown one is refused with the nearest names."""
    keys = tuple(part.strip() for part in text.split(",") if part.strip())
    if not keys:
        raise argparse.ArgumentTypeError("expected at least one metric")
    try:
        return tuple(find(key).key for key in keys)
    except UnknownMetricError as error:
        raise argparse.ArgumentTypeError(str(UnknownMetricError(error.key, LISTING))) from None


def labels(text: str) -> list[Label]:
    """Read a class set: text parts between commas, or a JSON list, whose values keep their types."""
    if not text.lstrip().startswith("["):
        return [part.strip() for part in text.split(",")]
    try:
        parsed: list[Label] = json.loads(text)
    except (RecursionError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no JSON list: {error}") from None
    return parsed


def classes(text: str) -> tuple[str, ...]:
    """Read the classes of lists of scores: as text, which scores are named by."""
    parsed = labels(text)
    keys = tuple(label if isinstance(label, str) else json.dumps(label) for label in parsed)
    if not all(keys) or len(set(keys)) < len(keys):
        raise argparse.ArgumentTypeError(f"expected distinct classes, but got {text!r}")
    return keys


def positive(text: str) -> int:
    """Read a whole number from 1 on."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 on, but got {text!r}")
    return number


def number(text: str) -> float:
    """Read a finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"expected a finite number, but got {text!r}")
    return value


def seconds(text: str) -> float:
    """Read a number of seconds above 0."""
    value = number(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"expected seconds above 0, but got {text!r}")
    return value


def field(text: str) -> str:
    """Read a field that may be left out; a file after the option, which would be taken for the field, is refused."""
    return _no_file(text, "a field")


def level(text: str) -> float:
    """Read the level of --intervals, which may be left out."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
        _no_file(text, "a level")
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"expected a level between 0 and 1, such as 0.95, but got {text!r}")
    return value


def _no_file(text: str, what: str) -> str:
    """Refuse the name of a file after an option whose argument may be left out."""
    if text == STDIN or declared_format(text) is not None:
        raise argparse.ArgumentTypeError(f"{text!r} is a file, not {what}: put files before this option")
    return text


def delimiter(text: str) -> str:
    """Read the delimiter of CSV: one character, or a word for the tab."""
    text = {"tab": "\t", "\\t": "\t"}.get(text.lower(), text)
    if len(text) != 1 or text in '"\r\n\0':
        raise argparse.ArgumentTypeError(f"expected one character or 'tab', but got {text!r}")
    return text


def zero_division(text: str) -> float:
    """Read the value that stands for 0/0."""
    value = {"0": 0.0, "1": 1.0, "nan": math.nan}.get(text.lower())
    if value is None:
        raise argparse.ArgumentTypeError(f"expected 0, 1 or nan, but got {text!r}")
    return value
