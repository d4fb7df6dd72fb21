"""``stream-metrics merge``: add up the saved states of many workers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import stream_metrics as sm
from stream_metrics.cli import files, options
from stream_metrics.cli.problems import Problem, UsageProblem
from stream_metrics.report.layout import number
from stream_metrics.windows.panes import inside, mergeable

__all__ = ["add"]

HELP = """\
The result is the same, byte for byte, as if one process had counted everything,
in whatever order the files are named. All files must have one configuration.
If any file is bad, each bad one is named and nothing is written. Windows of time
merge pane by pane and groups one by one; the last N records of two workers do
not merge, since they do not tell which are the last of both.

example:
  stream-metrics merge shard-*.state -o all.state"""


def add(commands: options.Commands) -> None:
    """Add the command to the parser."""
    parser = options.add_command(commands, "merge", "add up the saved states of many workers", HELP)
    parser.add_argument("states", nargs="+", metavar="STATE", help="state file, from run --state or from to_bytes()")
    parser.add_argument("-o", "--output", required=True, metavar="OUT", help="file for the merged state")
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Read, merge, write."""
    files.check_target(arguments.output)
    _refuse_repeated(arguments.states)
    total = _merged(arguments.states)
    files.save(arguments.output, total)
    print(f"{arguments.output}: {len(arguments.states)} states, {number(total.n)} samples")
    return 0


def _refuse_repeated(paths: list[str]) -> None:
    seen: dict[Path, str] = {}
    for path in paths:
        first = seen.setdefault(Path(path).resolve(), path)
        if first is not path:
            raise UsageProblem(f"{path} is the same file as {first}: it would be counted twice")


def _merged(paths: list[str]) -> Any:
    total: Any = None
    problems = []
    for path in paths:
        try:
            state = files.load(path)
            if len(paths) > 1 and any(isinstance(held, sm.Rolling) for held in inside(state)):
                problems.append(f"{path}: {mergeable(state)}")
            elif total is None:
                total = state
            else:
                total.merge(state)
        except sm.MergeError as error:
            problems.append(f"{path}: {error}")
        except Problem as problem:
            problems.append(str(problem))
    if problems:
        raise Problem("\nstream-metrics: ".join(problems))
    return total
