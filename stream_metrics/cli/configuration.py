"""The state that ``run`` counts into: made from the command line, or read from the file that --resume names."""

from __future__ import annotations

import argparse
from typing import Any

import stream_metrics as sm
from stream_metrics.cli import containers, files, options
from stream_metrics.cli.errors import UsageError
from stream_metrics.cli.sources import declared_format
from stream_metrics.labels import Label
from stream_metrics.labels.class_names import ClassNames, number_named
from stream_metrics.states.protocols import Accumulator

ALWAYS = ("labels", "other", "zero_division")
SCORED = ("pos_label", "threshold", "margins", "classes", "buckets", "sample", "no_pairs")
WINDOWS = ("window", "time_field", "panes", "lateness", "by", "max_groups")
FIELDS = ("time_field", "by", "classes")  # options that a resumed state needs, too


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the state to the parser."""
    parser.add_argument(
        "--labels",
        type=options.labels,
        help="fixed class set: text parts a,b,c or, for numbers and true/false in JSON Lines, a JSON list '[0, 1]'",
    )
    options.add(parser, *map(_option, ALWAYS[1:]))
    options.add(parser.add_argument_group("options of --scores"), *map(_option, SCORED))
    options.add(parser.add_argument_group("windows and groups"), *map(_option, WINDOWS))


def check(arguments: argparse.Namespace) -> None:
    """Refuse options that do not go together."""
    values = {name: getattr(arguments, name) for name in (*ALWAYS, *SCORED, *WINDOWS)}
    given = [name for name, value in values.items() if value is not None and value is not False]
    if arguments.resume and (fixed := [name for name in given if name not in FIELDS]):
        raise UsageError(f"{_option(fixed[0])} does not go with --resume: the state brings its configuration")
    for name in SCORED:
        if name in given and arguments.scores is None and not (name == "pos_label" and arguments.every):
            raise UsageError(f"{_option(name)} needs --scores{' or --every' if name == 'pos_label' else ''}")
    if arguments.scores is not None and arguments.other is not None:
        raise UsageError("--other is for labels only and does not go with --scores")
    if not arguments.resume:
        containers.check(arguments)


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def make(arguments: argparse.Namespace) -> Accumulator:
    """Return the state to count into."""
    if arguments.resume:
        return _resumed(arguments)
    chosen: dict[str, Any] = {name: getattr(arguments, name) for name in ALWAYS}
    if arguments.scores is not None:
        chosen |= {name: getattr(arguments, name) for name in ("threshold", "buckets", "sample")}
        chosen |= {"scores": "any" if arguments.margins else True, "pos_label": _pos_label(arguments)}
        chosen["pairs"] = not arguments.no_pairs
    try:
        plain = sm.MetricSet(**{name: value for name, value in chosen.items() if value is not None})
    except ValueError as error:
        raise UsageError(str(error)) from None
    return containers.wrap_state(plain, arguments)


def _resumed(arguments: argparse.Namespace) -> Accumulator:
    state = files.load(arguments.resume)
    inner = containers.innermost(state)
    has_scores = isinstance(inner, sm.MetricSet) and inner.scored is not None
    if has_scores and arguments.scores is None:
        raise UsageError(f"{arguments.resume} keeps scores: --scores says where they are")
    if arguments.scores is not None and not has_scores:
        raise UsageError(f"{arguments.resume} keeps no scores in a set of metrics, so --scores feeds nothing")
    containers.check_fields(state, arguments)
    return state


def label_of_running_values(arguments: argparse.Namespace) -> Label | None:
    """Return the class that --pos-label names; None without it."""
    return None if arguments.pos_label is None else _pos_label(arguments)


def _pos_label(arguments: argparse.Namespace) -> Label:
    """Return the class that --pos-label names: one of --labels, else a number in JSON Lines, else text."""
    text = arguments.pos_label
    if text is None:
        return True
    if arguments.labels is not None:
        label = ClassNames(arguments.labels).of(text, True)
        if label is None:
            raise UsageError(f"--pos-label {text} is none of --labels")
        return label
    value = number_named(text)
    form = arguments.input or next((declared_format(file.path) for file in arguments.files), None)
    if value is not None and form is None:
        raise UsageError(f"--pos-label {text} is a number in JSON Lines and text in CSV: --input says which it is")
    return text if value is None or form == "csv" else value
