"""``stream-metrics run``: count records from files or stdin and print the metrics."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import stream_metrics as sm
from stream_metrics.cli import files, options
from stream_metrics.cli.counting import Counter, Skipped
from stream_metrics.cli.interrupts import interruptible
from stream_metrics.cli.output import RunningValues, print_snapshot, view
from stream_metrics.cli.problems import UsageProblem
from stream_metrics.cli.progress import Progress
from stream_metrics.cli.reading import Fields, rows
from stream_metrics.cli.sources import STDIN, Reached, declared_format, opened, total_size

__all__ = ["add"]

HELP = """\
Records are JSON Lines, or CSV with a header. A prediction that is null, or an
empty CSV field, is an abstention. FIELD is a key, or keys of nested objects
joined by dots. JSON values keep their type and CSV values are text, so the 1 of
a JSON file and the 1 of a CSV are two classes.

A record that cannot be counted ends the run with exit status 1: its file, line
and reason are printed, no result is, and no state is saved. Ctrl-C prints and
saves what was counted so far and exits with 130.

examples:
  stream-metrics run predictions.jsonl
  stream-metrics run mon.csv.gz tue.csv.gz --true label --state week.state
  stream-metrics run wed.csv.gz --true label --resume week.state --state week.state
  tail -f log | stream-metrics run - --true data.label --pred data.answer --every 1000"""

MIXED = "their labels differ in type, so they cannot be counted in one run"


def add(commands: options.Commands) -> None:
    """Add the command to the parser."""
    parser = options.add_command(commands, "run", "count records from files or stdin and print the metrics", HELP)
    parser.add_argument("files", nargs="+", metavar="FILE", help="input file, unpacked if it ends in .gz; - is stdin")
    _add_input(parser)
    _add_configuration(parser)
    options.add_output(parser)
    parser.add_argument("--every", type=options.positive, default=0, metavar="N", help="print values every N records")
    parser.add_argument("--state", metavar="OUT", help="save the counts to this file")
    parser.add_argument("--resume", metavar="STATE", help="start from the counts, and the configuration, of this file")
    parser.set_defaults(execute=execute)


def _add_input(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--input", choices=("jsonl", "csv"), help="format (default: by extension, or first line)")
    parser.add_argument("--true", default="y_true", metavar="FIELD", help="field of the truth (default: y_true)")
    parser.add_argument("--pred", default="y_pred", metavar="FIELD", help="field of the prediction (default: y_pred)")
    parser.add_argument("--weight", metavar="FIELD", help="field of the sample weight (default: every record weighs 1)")
    parser.add_argument("--skip-bad", action="store_true", help="skip and report bad records instead of ending")


def _add_configuration(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--labels",
        type=options.labels,
        help="fixed class set: text parts a,b,c or, for numbers and true/false in JSON Lines, a JSON list '[0, 1]'",
    )
    parser.add_argument("--other", metavar="NAME", help="class for labels outside --labels (default: they are errors)")
    parser.add_argument(
        "--zero-division",
        type=options.zero_division,
        metavar="0|1|nan",
        help="what to print for a metric that is 0/0 (default: what the metric has for it, mostly 0)",
    )


def execute(arguments: argparse.Namespace) -> int:
    """Count, save, print."""
    _check(arguments)
    skipped = Skipped(arguments.skip_bad)
    state = _state(arguments)
    interrupted = _count(arguments, state, skipped)
    if arguments.state:
        files.save(arguments.state, state)
    extra = {"skipped": {"count": skipped.count, "first": skipped.first}} if skipped.allowed else None
    print_snapshot(view(state, arguments.metrics), arguments.format, extra, indent=None if arguments.every else 2)
    skipped.report()
    if interrupted:
        print("stream-metrics: interrupted; what was read until then is counted", file=sys.stderr)
    return 130 if interrupted else 0


def _check(arguments: argparse.Namespace) -> None:
    formats = {declared_format(path) for path in arguments.files} - {None}
    if arguments.input is None and len(formats) > 1:
        raise UsageProblem(f"CSV and JSON Lines together: {MIXED}")
    if arguments.files.count(STDIN) > 1:
        raise UsageProblem("stdin can be read once only")
    configuration = (arguments.labels, arguments.other, arguments.zero_division)
    if arguments.resume and any(value is not None for value in configuration):
        raise UsageProblem("--labels, --other and --zero-division come from the state that --resume names")
    if arguments.state:
        files.check_target(arguments.state)


def _state(arguments: argparse.Namespace) -> Any:
    if arguments.resume:
        return files.load(arguments.resume)
    configuration = {"labels": arguments.labels, "other": arguments.other, "zero_division": arguments.zero_division}
    try:
        return sm.MetricSet(**configuration)
    except ValueError as error:
        raise UsageProblem(str(error)) from None


def _count(arguments: argparse.Namespace, state: Any, skipped: Skipped) -> bool:
    """Count all files; tell whether Ctrl-C ended it."""
    running = RunningValues(arguments.metrics, arguments.format)
    reached = Reached()

    def report() -> None:
        progress.clear()
        running.print(state)

    counter = Counter(state, arguments.weight is not None, skipped, arguments.every, report)
    progress = Progress(lambda: (counter.seen, reached.position()), total_size(arguments.files))
    with interruptible():
        try:
            _feed(arguments, counter, reached, progress)
        except KeyboardInterrupt:
            counter.flush()
            return True
        finally:
            progress.clear()
    return False


def _feed(arguments: argparse.Namespace, counter: Counter, reached: Reached, progress: Progress) -> None:
    fields = Fields(arguments.true, arguments.pred, arguments.weight)
    form = arguments.input
    for path in arguments.files:
        with opened(path, arguments.input) as source:
            if form not in (None, source.format):
                raise UsageProblem(f"{source.name} is {source.format}, but what came before it is {form}: {MIXED}")
            form = source.format
            reached.enter(source)
            counter.feed(source.name, rows(source, fields, counter.refuse), progress.tick)
            reached.leave()
