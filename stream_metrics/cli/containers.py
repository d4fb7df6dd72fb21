"""Windows and groups around the state of ``run``: their options, and how they combine.

A window is of the whole stream and the groups are in it: the last 1000 records are those of all groups together. So the
values of all groups together exist, and a group that has left the window is gone.
"""

from __future__ import annotations

import argparse

import stream_metrics as sm
from stream_metrics.cli.errors import UsageError
from stream_metrics.containers.inner import walk_inner
from stream_metrics.errors import OptionError
from stream_metrics.inputs.times import parse_duration
from stream_metrics.states.protocols import Accumulator


def check(arguments: argparse.Namespace) -> None:
    """Refuse options that do not go together."""
    window, timed = arguments.window, arguments.time_field is not None
    if timed and window is None:
        raise UsageError("--time-field needs --window, a length of time such as 5m: nothing else depends on time")
    if not timed and (arguments.panes is not None or arguments.lateness is not None):
        name = "panes" if arguments.panes is not None else "lateness"
        raise UsageError(f"--{name} is of windows of time: it needs --time-field")
    if window is not None and not timed and not _is_count(window):
        raise UsageError(
            f"expected --window to be a number of records from 1 on or, with --time-field, a length of time, but got "
            f"{window!r}"
        )
    if window is not None and timed and _is_count(window):
        raise UsageError(f"--window {window} is a number of records, but with --time-field it has a unit: {window}s")
    if timed:
        try:
            parse_duration(window, "--window")
        except ValueError:
            reason = f"expected --window to be a length of time such as 30s, 5m, 1h, 2d, but got {window!r}"
            raise UsageError(reason) from None
    if arguments.max_groups is not None and arguments.by is None:
        raise UsageError("--max-groups needs --by")
    if arguments.max_groups is not None and window is not None and not timed:
        raise UsageError(
            "--max-groups does not go with --window N: what is folded into one group cannot leave the window again"
        )


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdecimal() and int(text) > 0


def wrap_state(state: Accumulator, arguments: argparse.Namespace) -> Accumulator:
    """Return an empty state inside the groups and windows of the options."""
    try:
        if arguments.by is not None:
            state = sm.ByGroup(state, arguments.max_groups)
        if arguments.time_field is not None:
            period = parse_duration(arguments.window, "period")
            panes = arguments.panes or next(n for n in range(60, 0, -1) if period % n == 0)
            return sm.TimeWindow(state, arguments.window, panes, arguments.lateness or 0)
        return state if arguments.window is None else sm.Rolling(state, int(arguments.window))
    except OptionError as error:
        option = "window" if error.argument == "period" else error.argument
        raise UsageError(str(error.with_subject(f"--{option}"))) from None


def innermost(state: Accumulator) -> Accumulator:
    """Return the state inside all windows and groups; it has their configuration and may be empty."""
    inner: Accumulator
    *_, inner = walk_inner(state)
    return inner


def is_timed(state: Accumulator) -> bool:
    """Tell whether a state depends on the times of its samples."""
    return any(inner.KIND == "timed" or (inner.KIND == "fading" and not inner.by_count) for inner in walk_inner(state))


def check_fields(state: Accumulator, arguments: argparse.Namespace) -> None:
    """Refuse a resumed state that needs a field which is not named, or has no use for one that is."""
    grouped = any(isinstance(inner, sm.ByGroup) for inner in walk_inner(state))
    for option, value, needs, what in (
        ("--time-field", arguments.time_field, is_timed(state), "times"),
        ("--by", arguments.by, grouped, "groups"),
    ):
        if needs and value is None:
            raise UsageError(f"{arguments.resume} keeps {what}: {option} says where they are")
        if value is not None and not needs:
            raise UsageError(f"{arguments.resume} keeps no {what}, so {option} feeds nothing")
