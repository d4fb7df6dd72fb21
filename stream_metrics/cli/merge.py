"""``stream-metrics merge``: add up the saved states of many workers."""

from __future__ import annotations

import argparse
import os

import stream_metrics as sm
from stream_metrics.cli import files, options
from stream_metrics.cli.errors import EXPECTED, CliError, explained
from stream_metrics.cli.files import Ledger, without_lists
from stream_metrics.cli.sources import matching
from stream_metrics.containers.keyed import walk_inner
from stream_metrics.errors import quantity
from stream_metrics.states.batches import mergeable
from stream_metrics.states.protocols import Accumulator


def add(commands: options.Commands, name: str) -> None:
    """Add the command to the parser."""
    parser = options.add_command(commands, name, execute)
    parser.add_argument(
        "states", nargs="+", metavar="STATE", help="state file of run, to_bytes() or a monitor, or a pattern of files"
    )
    parser.add_argument("-o", "--output", required=True, metavar="OUT", help="file for the merged state")


def execute(arguments: argparse.Namespace) -> int:
    """Add up the saved states of many workers.

    The result is the same, byte for byte, as if one process had counted everything,
    whatever the order of the files. All files must count the same; if they show
    other metrics, or labels in another order, the result shows what the first does.
    If files are bad, each of them is named and nothing is written. Lists of counted
    files (STATE.files) are joined, and states into which one file was counted twice
    are refused. Files are read one after the other. A STATE in quotes may be a
    pattern, in which ** matches folders
    of any depth: more files than fit on a command line. Windows of time merge pane
    by pane, and groups one by one; the last N records of two workers do not merge,
    since their common order is unknown.

    examples:
      stream-metrics merge shard-*.state -o all.state
      stream-metrics merge 'workers/**/*.state' -o all.state
    """
    files.check_target(arguments.output)
    paths = without_lists([path for named in arguments.states for path in _matching(named)])
    files.check_inputs(paths, arguments.output)
    total, ledger = _merged(paths)
    files.save(arguments.output, total, ledger)
    print(f"{arguments.output}: {quantity(len(paths), 'state')}, {quantity(total.n, 'sample', ' ')}")
    return 0


def _matching(named: str) -> list[str]:
    """Return the files that a pattern stands for, or the one file that is named so."""
    paths = matching(named)
    named_files = [named] if paths is None else [path for path in paths if os.path.isfile(path)]
    if not named_files:
        raise CliError(f"{named}: no file is named like this")
    return named_files


def _merged(paths: list[str]) -> tuple[Accumulator, Ledger]:
    total: Accumulator | None = None
    ledger = Ledger()
    problems = []
    for path in paths:
        try:
            state = files.load(path)
            if len(paths) > 1 and any(isinstance(inner, sm.Rolling) for inner in walk_inner(state)):
                problems.append(f"{path}: {mergeable(state)}")
                continue
            if total is None:
                total = state
            else:
                total.merge(state)
            twice = ledger.merge(Ledger.load(path))
            if twice is not None:
                problems.append(f"{path}: {twice} was counted into one of the states before it, too")
        except sm.MergeError as error:
            problems.append(f"{path}: {error}")
        except EXPECTED as error:
            problems.append(explained(error))
    if problems or total is None:
        raise CliError("\nstream-metrics: ".join(problems))
    return total, ledger
