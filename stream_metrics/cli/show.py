"""``stream-metrics show``: print the metrics of a saved state."""

from __future__ import annotations

import argparse

from stream_metrics.cli import drawing, files, options
from stream_metrics.cli.output import check_intervals, print_snapshot, view, with_intervals
from stream_metrics.metrics.metric import Metric


def add(commands: options.Commands, name: str) -> None:
    """Add the command to the parser."""
    parser = options.add_command(commands, name, execute)
    parser.add_argument("state", metavar="STATE", help="state file: of run --state, merge, to_bytes() or a monitor")
    options.add_format(parser, "table", "json", "csv")
    options.add(parser, "--metrics", "--intervals", "--anytime")
    parser.add_argument(
        "--plot",
        metavar="IMAGE",
        help="also draw the confusion matrix and, of scores, ROC, PR and reliability curves; of groups, their metrics "
        "(.png, .svg, .pdf)",
    )


def execute(arguments: argparse.Namespace) -> int:
    """Print the metrics of a saved state.

    The file has the kind and configuration of the state. --metrics also computes
    metrics that the report does not show, such as fbeta. Values of scores that the
    state does not know exactly come with certified bounds.

    examples:
      stream-metrics show all.state
      stream-metrics show all.state --format json --metrics accuracy,roc_auc,log_loss
      stream-metrics show all.state --intervals
      stream-metrics show all.state --plot all.png
    """
    drawing.check(arguments)
    files.check_inputs([arguments.state], arguments.plot)
    state = files.load(arguments.state)
    check_intervals(state, arguments)
    snapshot = with_intervals(view(state, arguments.metrics), arguments)
    if isinstance(state, Metric) and arguments.format == "table" and not arguments.metrics:
        print(f"{state!r}\n")  # its own value, which may be none of the report
    print_snapshot(snapshot, arguments.format)
    if arguments.plot:
        drawing.draw(with_intervals(state.snapshot(), arguments), arguments.plot)
    return 0
