"""The options of all commands in one table, and how their texts are read."""

from __future__ import annotations

import argparse
import inspect
import json
import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, TypeVar

from stream_metrics.catalog.table import UnknownMetricError, find
from stream_metrics.cli.errors import LISTING, UsageError
from stream_metrics.cli.sources import STDIN, declared_format
from stream_metrics.inputs.arguments import GROUP, SCORES, TIME, WEIGHT, Y_TRUE
from stream_metrics.inputs.times import parse_duration
from stream_metrics.labels import Label

T = TypeVar("T")
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_command(commands: Commands, name: str, execute: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
    """Add a command; the docstring of the function that executes it is its help."""
    description, _, epilog = (inspect.getdoc(execute) or name).partition("\n\n")
    parser = commands.add_parser(
        name,
        help=description[0].lower() + description[1:].rstrip("."),
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(execute=execute)
    return parser


def texts(text: str) -> list[str]:
    """Read the parts between commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def keys(text: str) -> tuple[str, ...]:
    """Read metric keys; an unknown one is refused with the nearest names."""
    keys = texts(text)
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


def _reader(kind: Callable[[str], T], allows: Callable[[T], bool], expected: str) -> Callable[[str], T]:
    """Return what reads a number, and says what is expected if the text is none."""

    def read(text: str) -> T:
        try:
            value = kind(text)
            if allows(value):
                return value
        except (ValueError, KeyError):
            pass
        raise argparse.ArgumentTypeError(f"expected {expected}, but got {text!r}")

    return read


positive = _reader(int, lambda value: value >= 1, "a whole number from 1 on")
whole = _reader(int, lambda value: True, "a whole number")
number = _reader(float, math.isfinite, "a finite number")
seconds = _reader(float, lambda value: 0 < value < math.inf, "seconds above 0")
length = _reader(lambda text: parse_duration(text, "") / 1e9, bool, "a length of time such as 30s, 5m, 1h or 2d")
zero_division = _reader(lambda text: {"0": 0.0, "1": 1.0, "nan": math.nan}[text.lower()], lambda _: True, "0, 1 or nan")
delimiter = _reader(
    lambda text: {"tab": "\t", "\\t": "\t"}.get(text.lower(), text),
    lambda text: len(text) == 1 and text not in '"\r\n\0',
    "one character or 'tab'",
)
_level = _reader(float, lambda value: 0 < value < 1, "a level between 0 and 1, such as 0.95")


def field(text: str) -> str:
    """Read a field that may be left out; a file after the option, which would be taken for the field, is refused."""
    return _no_file(text, "a field")


def level(text: str) -> float:
    """Read the level of --intervals, which may be left out."""
    return _level(_no_file(text, "a level"))


def _no_file(text: str, what: str) -> str:
    """Refuse the name of a file after an option whose argument may be left out."""
    if text == STDIN or declared_format(text) is not None:
        raise argparse.ArgumentTypeError(f"{text!r} is a file, not {what}: put files before this option")
    return text


class Option(NamedTuple):
    """An option with a value, or without a ``metavar`` a flag; ``alone`` is the value that may be left out."""

    metavar: str
    help: str
    type: Callable[[str], Any] = str
    alone: object = None
    default: object = None
    needs: tuple[str, ...] = ()  # one of these options


SCORES_ONLY, TIMES_ONLY = ("--scores",), ("--time-field",)
OPTIONS = {
    "--metrics": Option(
        "K1,K2", f"print these metrics only, such as accuracy,macro_f1,recall (default: all); {LISTING}", keys
    ),
    "--intervals": Option(
        "LEVEL", "print intervals beside the values, of this level (default: 0.95)", level, alone=0.95
    ),
    "--anytime": Option("", "intervals that stay valid however often one looks", needs=("--intervals",)),
    "--true": Option("FIELD", "field of the truth (default: y_true, or truth)", default=Y_TRUE),
    "--pred": Option(
        "FIELD", "field of the prediction (default: y_pred, or prediction; with --scores, the largest score)"
    ),
    "--scores": Option(
        "FIELD",
        "keep scores too, of this field (default: scores) or, in CSV, of these columns: 'p_*' or a=p_a,b=p_b",
        field,
        alone=SCORES,
    ),
    "--weight": Option(
        "FIELD",
        "count sample weights, of this field (default: weight); without, every record weighs 1",
        field,
        alone=WEIGHT,
    ),
    "--delimiter": Option(
        "CHAR", "what separates the columns of CSV (default: a comma, semicolon or tab, by the header)", delimiter
    ),
    "--skip-bad": Option("", "skip and report bad records instead of ending, unless all are bad"),
    "--skip-bad-files": Option(
        "", "skip and report files that are damaged or lack a field instead of ending; no record of them is counted"
    ),
    "--every": Option("N", "print values every N records", positive),
    "--jobs": Option(
        "N", "workers that count at once (default: one for each processor, where that is faster)", positive
    ),
    "--state": Option("OUT", "save the counts to this file"),
    "--resume": Option("STATE", "start from the counts, and the configuration, of this file"),
    "--labels": Option(
        "LABELS",
        "fixed class set: text parts a,b,c or, for numbers and true/false in JSON Lines, a JSON list '[0, 1]'",
        labels,
    ),
    "--other": Option("NAME", "class for labels outside --labels (default: they are errors)"),
    "--zero-division": Option(
        "0|1|nan",
        "what to print for a metric that is 0/0 (default: what the metric has for it, mostly 0; of scores, nan)",
        zero_division,
    ),
    "--pos-label": Option(
        "NAME",
        "class whose score one number is, and whose value --every prints of metrics that have one for each class "
        "(default: true, or 1)",
        needs=("--scores", "--every"),
    ),
    "--threshold": Option(
        "X", "one number of at least X predicts --pos-label (default: 0.5; with --margins 0)", number, needs=SCORES_ONLY
    ),
    "--margins": Option(
        "",
        "scores are any numbers, not probabilities from 0 to 1: areas and curves are kept, losses are not",
        needs=SCORES_ONLY,
    ),
    "--classes": Option(
        "A,B", "classes of scores that are lists, in the order of the lists", classes, needs=SCORES_ONLY
    ),
    "--buckets": Option("N", "cells of a column (default: 1024)", positive, needs=SCORES_ONLY),
    "--sample": Option("N", "scores kept per class (default: 512)", positive, needs=SCORES_ONLY),
    "--no-pairs": Option("", "do not compare classes in pairs, which allows more than 64 of them", needs=SCORES_ONLY),
    "--window": Option("N|5m", "metrics of the last N records or, by --time-field, of the last 30s, 5m, 1h, 2d"),
    "--time-field": Option(
        "FIELD",
        "windows of time, by this field (default: time): seconds since 1970, or ISO 8601 text",
        field,
        alone=TIME,
        needs=("--window", "--resume"),
    ),
    "--panes": Option("N", "steps in which time moves on (default: at most 60)", positive, needs=TIMES_ONLY),
    "--lateness": Option("5m", "how long after its window a record may come (default: 0s)", needs=TIMES_ONLY),
    "--by": Option(
        "FIELD",
        "metrics of each group, such as a country, and how they differ; by this field (default: group)",
        field,
        alone=GROUP,
    ),
    "--max-groups": Option("N", "groups kept apart; others are counted as one", positive, needs=("--by",)),
}


def add(parser: argparse._ActionsContainer, *names: str) -> None:
    """Add options of the table."""
    for name in names:
        option = OPTIONS[name]
        if not option.metavar:
            parser.add_argument(name, action="store_true", help=option.help)
            continue
        more: dict[str, Any] = {} if option.alone is None else {"nargs": "?", "const": option.alone}
        parser.add_argument(
            name, metavar=option.metavar, help=option.help, type=option.type, default=option.default, **more
        )


def given(arguments: argparse.Namespace) -> set[str]:
    """Return the options of the table that are on a command line; UsageError for one that needs another."""
    values = {name: getattr(arguments, name[2:].replace("-", "_"), None) for name in OPTIONS}
    names = {name for name, value in values.items() if value is not None and value is not False}
    for name in OPTIONS:
        needs = OPTIONS[name].needs
        if name in names and needs and names.isdisjoint(needs):
            raise UsageError(f"{name} needs {' or '.join(needs)}")
    return names


def add_format(parser: argparse.ArgumentParser, *choices: str) -> None:
    """Add --format; the first of its choices is the default."""
    parser.add_argument("--format", choices=choices, default=choices[0], help=f"how to print (default: {choices[0]})")
