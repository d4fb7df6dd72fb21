"""``stream-metrics run``: count records from files or stdin and print the metrics."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from stream_metrics.cli import configuration, files, options
from stream_metrics.cli.configuration import is_timed
from stream_metrics.cli.errors import CliError, UsageError, interruptible
from stream_metrics.cli.files import Ledger, expand_paths
from stream_metrics.cli.jobs import MIXED, Counter, Skipped
from stream_metrics.cli.logs import Progress
from stream_metrics.cli.output import (
    check_intervals,
    print_snapshot,
    view,
    with_intervals,
)
from stream_metrics.cli.sources import STDIN, TABLES, Fields, format_of
from stream_metrics.containers.keyed import emptied
from stream_metrics.errors import quantity
from stream_metrics.inputs.arguments import Y_PRED
from stream_metrics.report.layout import number
from stream_metrics.states.batches import mergeable
from stream_metrics.states.protocols import Accumulator

if TYPE_CHECKING:
    from stream_metrics.cli.running import RunningValues


FIELDS = "--true", "--pred", "--scores", "--weight", "--delimiter", "--skip-bad", "--skip-bad-files"


def add(commands: options.Commands, name: str) -> None:
    """Add the command to the parser."""
    parser = options.add_command(commands, name, execute)
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="file, folder, 'pattern-*', or URL; - is stdin; gzip, bzip2, xz and zstd are decompressed",
    )
    parser.add_argument("--input", choices=("jsonl", "csv", *TABLES), help="format (default: by name, or first line)")
    options.add(parser, *FIELDS)
    options.add_format(parser, "table", "json", "csv")
    options.add(parser, "--metrics", "--intervals", "--anytime", "--every")
    parser.add_argument(
        "--plot",
        metavar="IMAGE",
        help="draw the confusion matrix, curves of scores, or groups; with --every, the values that it prints over "
        "records or time (.png, .svg, .pdf)",
    )
    options.add(parser, "--jobs", "--state", "--resume")
    configuration.add(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Count records from files or stdin and print the metrics.

    Records are JSON Lines, CSV with a header, or rows of tables: Parquet, Arrow IPC
    (Feather) or ORC. A prediction that is null, or an empty CSV field, is an
    abstention. FIELD is a key or column, or the keys of nested objects joined by
    dots. Values of JSON and tables keep their type and CSV values are text, so the 1
    of a JSON file and the 1 of a CSV are two classes. Tables need the extra
    stream-metrics[parquet].

    FILE is a path or a URL (s3, gs, abfs, hdfs, https, ...), which needs the extra
    stream-metrics[remote] and the package that fsspec has for the scheme. A folder is
    all files of these formats in it and below; what begins with _ or . is not read. A
    folder KEY=VALUE is a field of all records in it, as text, unless they have it.
    Tables of Delta and Iceberg are read with stream_metrics.count.

    --scores also counts the scores of each record, for ROC and PR areas, calibration
    and log loss. In JSON Lines, FIELD is an object {"cat": 0.7, "dog": 0.3}, or one
    number, the score of --pos-label; null means no scores. Keys are classes: if the
    truth is a number, true or false, keys are read as such ("1", "true"); with
    --labels, each key is the label with that text. In CSV it is one column, the score
    of --pos-label, or a column for each class, named by a pattern in which * is the
    class or by a list class=column; if all fields are empty, there are no scores.
    Tables have either; objects are structs or maps. A record with scores and without
    a prediction predicts the class with the largest score. Scores that are lists, in
    JSON Lines or tables, need --classes.

    A record that cannot be counted ends the run with exit status 1: its file, line
    and reason are printed, and neither a result nor a state is written. Ctrl-C prints
    and saves what was counted so far and exits with status 130.

    --state writes the counts, and beside them OUT.files, the list of the files that
    were counted. With --resume, records in that list are not counted again, also where
    the run was interrupted in the middle of a file. A file whose size or version has
    changed since it was counted ends the run.

    --window counts the last N records only or, with --time-field, those of the last
    5m; with --by, the last records of all groups together. A window of time ends at
    the latest time seen; a record that comes more than --lateness after its window
    is not counted. --every prints values of all groups together. Windows of time and
    groups merge; the last N records of two streams do not.

    --intervals prints intervals beside the values, at 95 % or another level. They are
    valid for one look at the end. Those of --every, and all with --anytime, are valid
    for any number of looks together. In a window, each interval is valid for one
    look. All assume independent samples.

    --format csv prints a row for each value (metric, class, value) or, with --every, for
    each line of values, and then nothing else.

    Several workers count files at once where that is faster, or as many as --jobs
    says: threads for tables, processes for large CSV and JSON Lines. Each file is
    counted by one worker: split a large one first. The merged counts equal those of
    one worker, byte for byte. Records have no order then, so --every and a window of
    the last N are counted by one, and so is a window of time unless --jobs says
    otherwise: records that come late are not recognised then.

    examples:
      stream-metrics run predictions.jsonl
      stream-metrics run mon.csv.gz tue.csv.gz --true label --state week.state
      stream-metrics run wed.csv.gz --true label --resume week.state --state week.state
      tail -f log | stream-metrics run - --true data.label --pred data.answer --every 1000
      stream-metrics run probabilities.jsonl --scores
      stream-metrics run probabilities.csv --scores 'p_*'
      stream-metrics run spam.csv --scores p --labels ham,spam --pos-label spam
      stream-metrics run predictions.jsonl --window 1000 --every 100 --plot drift.png
      stream-metrics run predictions.jsonl --time-field ts --window 5m --every 100
      stream-metrics run predictions.jsonl --by country --metrics accuracy,macro_f1
      stream-metrics run warehouse/predictions/ 'more/part-*.parquet'
    """
    arguments.files = expand_paths(arguments.files)
    _check(arguments)
    place = "row" if arguments.input in TABLES else "line"
    skipped = Skipped(arguments.skip_bad, place, arguments.skip_bad_files)
    state = configuration.make(arguments)
    ledger = _without_counted(arguments)
    check_intervals(state, arguments)
    view(state, arguments.metrics)  # refuses metrics that the state cannot compute
    running = None
    if arguments.every:
        from stream_metrics.cli.running import RunningValues

        running = RunningValues(arguments, configuration.label_of_running_values(arguments))
    counter, interrupted = _count(arguments, state, skipped, running)
    state = counter.state
    ledger.add(counter.log)
    if (skipped.count or skipped.files) and not counter.counted and not interrupted:
        skipped.report()
        raise CliError("no record could be counted")
    if arguments.state:
        files.save(arguments.state, state, ledger)
    extra = skipped.to_dict() or None
    snapshot = with_intervals(view(state, arguments.metrics), arguments)
    if not (arguments.every and arguments.format == "csv"):  # a file has one table
        print_snapshot(snapshot, arguments.format, extra, indent=None if arguments.every else 2)
    skipped.report()
    if late := getattr(state, "dropped", 0):
        print(f"stream-metrics: {number(late)} too late for the window and not counted (--lateness)", file=sys.stderr)
    if arguments.plot:
        from stream_metrics.cli import drawing

        if running is None:
            drawing.draw(with_intervals(state.snapshot(), arguments), arguments.plot)
        else:
            drawing.draw_running(running.points, arguments.plot, running.bounds)
    if interrupted:
        print("stream-metrics: interrupted; what was read until then is counted", file=sys.stderr)
    return 130 if interrupted else 0


def _without_counted(arguments: argparse.Namespace) -> Ledger:
    """Leave out the files that the resumed state already counts; return the ledger."""
    if not arguments.resume:
        return Ledger()
    ledger = Ledger.load(arguments.resume)
    given = len(arguments.files)
    arguments.files = ledger.remaining(arguments.files)
    if left_out := given - len(arguments.files):
        what = quantity(left_out, "file", " ")
        print(f"stream-metrics: {what} counted before, and not counted again", file=sys.stderr)
    return ledger


def _check(arguments: argparse.Namespace) -> None:
    paths = [file.path for file in arguments.files]
    formats = {form for path in paths if (form := arguments.input or format_of(path))}
    tables = formats & set(TABLES)
    if tables and formats - tables:
        raise UsageError("Parquet and other formats together: count them in two runs, by --state and --resume")
    if len(formats - tables) > 1:
        raise UsageError(f"CSV and JSON Lines together: {MIXED}")
    if paths.count(STDIN) > 1:
        raise UsageError("stdin can be read once only")
    if arguments.every and arguments.jobs and arguments.jobs > 1:
        raise UsageError("--every does not go with --jobs: records that are counted in parallel have no order")
    if arguments.every and arguments.skip_bad_files:
        raise UsageError("--every does not go with --skip-bad-files: it prints values before a file is read to its end")
    if arguments.delimiter and formats - {"csv"}:
        raise UsageError(f"--delimiter is of CSV, but the input is {' and '.join(sorted(map(str, formats)))}")
    if tables:
        if STDIN in paths:
            raise UsageError("Parquet is read from files, not from stdin: its index is at its end")
        arguments.input = min(tables)
    options.given(arguments)
    if arguments.plot:
        from stream_metrics.cli import drawing

        drawing.check(arguments)
    if arguments.every:
        from stream_metrics.cli.running import check_keys

        check_keys(arguments.metrics)
    if arguments.state:
        files.check_target(arguments.state)
    files.check_inputs(paths, arguments.state, arguments.plot)


def _count(
    arguments: argparse.Namespace, state: Accumulator, skipped: Skipped, running: RunningValues | None
) -> tuple[Counter, bool]:
    """Count all files into a state, with one worker or several; return the counts, and whether Ctrl-C ended it."""

    def report() -> None:
        progress.clear()
        if running is not None:
            running.print(counter.state, counter.counted)

    jobs, fields, inputs = _jobs(arguments, state), _fields(arguments), arguments.files
    counter, interrupted = Counter(state, fields, skipped, arguments.every or 0, report), False
    if jobs > 1 and len(inputs) > 1:
        from stream_metrics.cli.jobs import count_in_parallel

        empty = emptied(state)
        with interruptible():
            return counter, count_in_parallel(arguments.input, fields, empty, inputs, min(jobs, len(inputs)), counter)
    sizes = [file.size for file in inputs]
    total = None if None in sizes else sum(sizes)
    with interruptible(), Progress(lambda: (counter.counted, counter.position()), total) as progress:
        try:
            for file in inputs:
                counter.count(file, arguments.input)
        except KeyboardInterrupt:
            interrupted = True
    return counter, interrupted


def _jobs(arguments: argparse.Namespace, state: Accumulator) -> int:
    """Return how many workers count: as many as --jobs says, or count fastest; 1 where the order of records matters."""
    stdin = any(file.path == STDIN for file in arguments.files)
    if arguments.jobs is None:
        ordered = arguments.every or is_timed(state) or stdin
        if ordered or len(arguments.files) == 1 or mergeable(state):
            return 1
        from stream_metrics.cli.jobs import fastest_jobs

        return fastest_jobs(arguments.files, arguments.input)
    if arguments.jobs > 1 and (reason := mergeable(state)) is not None:
        raise UsageError(f"--jobs does not go with these counts: {reason}")
    if arguments.jobs > 1 and stdin:
        raise UsageError("--jobs shares files between workers, and stdin is none")
    return int(arguments.jobs)


def _fields(arguments: argparse.Namespace) -> Fields:
    """Return the fields to read: with the prediction, unless it follows from the scores."""
    prediction = Y_PRED if arguments.pred is None and arguments.scores is None else arguments.pred
    named = {
        "y_true": arguments.true,
        "y_pred": prediction,
        "w": arguments.weight,
        "t": arguments.time_field,
        "group": arguments.by,
    }
    given = {argument: name for argument, name in named.items() if name is not None}
    return Fields(given, arguments.scores, arguments.classes, arguments.delimiter)
