"""``stream-metrics show``: print the metrics of a saved state."""

from __future__ import annotations

import argparse

from stream_metrics import plots
from stream_metrics.cli import files, options
from stream_metrics.cli.output import print_snapshot, view
from stream_metrics.cli.problems import Problem, UsageProblem
from stream_metrics.snapshot import Snapshot

__all__ = ["add"]

HELP = """\
The kind and configuration of the state are in the file. --metrics also reads
metrics that are no part of the report, such as fbeta.

examples:
  stream-metrics show all.state
  stream-metrics show all.state --format json --metrics accuracy,macro_f1,recall
  stream-metrics show all.state --plot all.png"""


def add(commands: options.Commands) -> None:
    """Add the command to the parser."""
    parser = options.add_command(commands, "show", "print the metrics of a saved state", HELP)
    parser.add_argument("state", metavar="STATE", help="state file, from run --state, merge or to_bytes()")
    options.add_output(parser)
    parser.add_argument(
        "--plot", metavar="IMAGE", help="also draw the confusion matrix and the per-class values (.png, .svg, .pdf)"
    )
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Read, draw, print."""
    state = files.load(arguments.state)
    if arguments.plot:
        _draw(state.snapshot(), arguments.plot)
    print_snapshot(view(state, arguments.metrics), arguments.format)
    return 0


def _draw(snapshot: Snapshot, path: str) -> None:
    """Write an image: the confusion matrix, and beside it precision, recall and F1 of each class."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageProblem('--plot needs matplotlib: pip install "stream-metrics[plot]"') from None
    classes = len(snapshot.labels)
    side = min(max(4.0, 0.45 * classes), 9.0)
    figure = Figure(figsize=(side + 9.5, max(side + 1.6, 1.5 + 0.32 * min(classes, 40))), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(side + 2.5, 7.0))
    try:
        plots.confusion_matrix(snapshot, ax=left)
        plots.per_class(snapshot, ax=right)
        figure.savefig(path)
    except ValueError as error:  # too many classes, or an image format that matplotlib does not write
        raise Problem(f"{path}: {error}") from None
