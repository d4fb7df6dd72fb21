"""``stream-metrics show``: print the metrics of a saved state."""

from __future__ import annotations

import argparse

from stream_metrics import plots
from stream_metrics.cli import files, options
from stream_metrics.cli.errors import CliError, UsageError
from stream_metrics.cli.output import add_intervals, check_intervals, print_snapshot, view, with_intervals
from stream_metrics.metrics.metric import Metric
from stream_metrics.snapshots.groups import GroupSnapshot
from stream_metrics.snapshots.snapshot import Snapshot

__all__ = ["add"]

HELP = """\
The file has the kind and configuration of the state. --metrics also computes
metrics that the report does not show, such as fbeta. Values of scores that the
state does not know exactly come with certified bounds.

examples:
  stream-metrics show all.state
  stream-metrics show all.state --format json --metrics accuracy,roc_auc,log_loss
  stream-metrics show all.state --intervals
  stream-metrics show all.state --plot all.png"""


def add(commands: options.Commands) -> None:
    """Add the command to the parser."""
    parser = options.add_command(commands, "show", "print the metrics of a saved state", HELP)
    parser.add_argument("state", metavar="STATE", help="state file, from run --state, merge or to_bytes()")
    options.add_output(parser)
    add_intervals(parser)
    parser.add_argument(
        "--plot",
        metavar="IMAGE",
        help="also draw the confusion matrix and, of scores, ROC, PR and reliability curves (.png, .svg, .pdf)",
    )
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Read, draw, print."""
    state = files.load(arguments.state)
    check_intervals(state, arguments)
    snapshot = with_intervals(view(state, arguments.metrics), arguments)
    if arguments.plot:
        _draw(with_intervals(state.snapshot(), arguments), arguments.plot)
    if isinstance(state, Metric) and arguments.format == "table" and not arguments.metrics:
        print(f"{state!r}\n")  # its own value, which may be none of the report
    print_snapshot(snapshot, arguments.format)
    return 0


def _draw(taken: Snapshot | GroupSnapshot, path: str) -> None:
    """Write an image: the confusion matrix and, where scores are kept, ROC, precision-recall and reliability curves."""
    snapshot = taken.overall if isinstance(taken, GroupSnapshot) else taken
    if snapshot is None:
        raise CliError(f"{path}: nothing to draw, since the states of these groups do not merge into one")
    try:
        plots.overview(snapshot).savefig(path)
    except ImportError:
        raise UsageError('--plot needs matplotlib: pip install "stream-metrics[plot]"') from None
    except LookupError:
        raise CliError(f"{path}: nothing to draw, since the state has neither labels nor ranks of scores") from None
    except ValueError as error:  # too many classes, or an image format that matplotlib does not write
        raise CliError(f"{path}: {error}") from None
