"""The state that ``run`` counts into: made from the command line, or read from the file that --resume names.

A window is of the whole stream and the groups are in it: the last 1000 records are those of all groups together. So the
values of all groups together exist, and a group that has left the window is gone.
"""

from __future__ import annotations

import argparse
import re

import stream_metrics as sm
from stream_metrics.cli import files, options
from stream_metrics.cli.errors import UsageError
from stream_metrics.cli.sources import declared_format
from stream_metrics.containers.keyed import walk_inner
from stream_metrics.errors import OptionError
from stream_metrics.inputs.times import parse_duration
from stream_metrics.labels import Label
from stream_metrics.labels.class_names import ClassNames, number_named
from stream_metrics.states.protocols import Accumulator

ALWAYS = ("--labels", "--other", "--zero-division")
SCORED = ("--pos-label", "--threshold", "--margins", "--classes", "--buckets", "--sample", "--no-pairs")
WINDOWS = ("--window", "--time-field", "--panes", "--lateness", "--by", "--max-groups")
FIELDS = ("--time-field", "--by", "--classes")  # options that a resumed state needs, too


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the state to the parser."""
    options.add(parser, *ALWAYS)
    options.add(parser.add_argument_group("options of --scores"), *SCORED)
    options.add(parser.add_argument_group("windows and groups"), *WINDOWS)


def make(arguments: argparse.Namespace) -> Accumulator:
    """Return the state to count into."""
    given = options.given(arguments)
    if arguments.resume:
        fixed = next((name for name in (*ALWAYS, *SCORED, *WINDOWS) if name in given and name not in FIELDS), None)
        if fixed:
            raise UsageError(f"{fixed} does not go with --resume: the state brings its configuration")
        return _resumed(arguments)
    more = {name: getattr(arguments, name) for name in ("labels", "other", "zero_division")}
    if arguments.scores is not None:
        more |= {name: getattr(arguments, name) for name in ("threshold", "buckets", "sample")}
        more |= {"scores": "any" if arguments.margins else True, "pos_label": _pos_label(arguments)}
        more["pairs"] = not arguments.no_pairs
    try:
        state = sm.MetricSet(**{name: value for name, value in more.items() if value is not None})
        return _in_containers(state, arguments)
    except ValueError as error:
        if isinstance(error, OptionError):
            error = error.with_subject(f"`{error.argument}`")
        names = {"`period`": "--window"} | {f"`{name[2:].replace('-', '_')}`": name for name in given}
        raise UsageError(re.sub("`[a-z_]+`", lambda name: names.get(name[0], name[0]), str(error))) from None


def _in_containers(state: Accumulator, arguments: argparse.Namespace) -> Accumulator:
    """Return an empty state inside the groups and windows of the options."""
    if arguments.by is not None:
        state = sm.ByGroup(state, arguments.max_groups)
    window = arguments.window
    if arguments.time_field is not None:
        period = parse_duration(window, "period")
        panes = arguments.panes or next(n for n in range(60, 0, -1) if period % n == 0)
        return sm.TimeWindow(state, window, panes, arguments.lateness or 0)
    if window is None:
        return state
    return sm.Rolling(state, int(window) if window.isdecimal() else window)


def _resumed(arguments: argparse.Namespace) -> Accumulator:
    """Return the state to go on with, which has a use for each field that is named, and needs no other."""
    state = files.load(arguments.resume)
    inner = innermost(state)
    grouped = any(isinstance(part, sm.ByGroup) for part in walk_inner(state))
    scored = isinstance(inner, sm.MetricSet) and inner.scored is not None
    for option, value, needs, what in (
        ("--scores", arguments.scores, scored, "scores"),
        ("--time-field", arguments.time_field, is_timed(state), "times"),
        ("--by", arguments.by, grouped, "groups"),
    ):
        if needs and value is None:
            raise UsageError(f"{arguments.resume} keeps {what}: {option} says where they are")
        if value is not None and not needs:
            raise UsageError(f"{arguments.resume} keeps no {what}, so {option} feeds nothing")
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
        return text if label is None else label  # which the state refuses
    value = number_named(text)
    form = arguments.input or next((declared_format(file.path) for file in arguments.files), None)
    if value is not None and form is None:
        raise UsageError(f"--pos-label {text} is a number in JSON Lines and text in CSV: --input says which it is")
    return text if value is None or form == "csv" else value


def innermost(state: Accumulator) -> Accumulator:
    """Return the state inside all windows and groups; it has their configuration and may be empty."""
    inner: Accumulator
    *_, inner = walk_inner(state)
    return inner


def is_timed(state: Accumulator) -> bool:
    """Tell whether a state depends on the times of its samples."""
    return any(inner.KIND == "timed" or (inner.KIND == "fading" and not inner.by_count) for inner in walk_inner(state))
