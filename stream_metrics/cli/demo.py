"""``stream-metrics demo``: river classifiers on river's data sets, counted by four workers and merged.

Each sample is predicted before it is learnt from (progressive validation), so the values are of unseen data. The
probabilities of all classes are counted, by four states as if by four workers; the states go through files and are
merged. The merged bytes must be those of a fifth state that saw every sample.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import stream_metrics as sm
from stream_metrics.cli import files, options
from stream_metrics.cli.errors import CliError, UsageError, river
from stream_metrics.cli.logs import Progress
from stream_metrics.report.layout import number

if TYPE_CHECKING:
    from river.base import Classifier
    from river.datasets.base import Dataset


SHARDS = 4

INTRODUCTION = """\
{tasks} classifiers of river learn {tasks} data sets, one sample at a time. Each sample is
predicted first, and the prediction is counted twice: by one of {shards} shards, as
{shards} workers would, and by one process that sees all. For each data set follow the
report of the merged shards, and whether their bytes are those of the one
process. The last line says PASS or FAIL.
"""


class DemoTask(NamedTuple):
    """A data set and the classifier that learns it."""

    title: str
    slug: str
    model_name: str
    data: Dataset
    model: Classifier


def add(commands: options.Commands, name: str) -> None:
    """Add the command to the parser."""
    parser = options.add_command(commands, name, execute)
    parser.add_argument("--limit", type=options.positive, metavar="N", help="use the first N samples of each data set")
    parser.add_argument("--out", metavar="DIR", help="keep the state files in this folder")
    parser.add_argument("--live", action="store_true", help="watch a model with late labels and a drift on a live page")
    parser.add_argument("--seconds", type=options.seconds, metavar="N", help="of --live: end after N seconds")
    parser.add_argument("--port", type=int, default=8765, help="of --live: port of the page, 0 for any (default: 8765)")


def execute(arguments: argparse.Namespace) -> int:
    """Validate river classifiers on four shards and merge them.

    Every sample is predicted before it is learnt from, and its probabilities are
    counted by one of four shards. Their states are saved, read back, merged and
    compared, byte for byte, with the state of one process that saw everything; exit
    status 1 if they differ. Areas and calibration errors come with certified bounds.

    With --live a model is watched instead: predictions, late labels, a drift in every
    other minute, an alert that fires and ends, and the page of the monitor; until Ctrl-C.

    Needs river: pip install "stream-metrics[river]". The data comes with river;
    nothing is downloaded. Without --live it takes about fifteen seconds.

    examples:
      stream-metrics demo
      stream-metrics demo --limit 500 --out demo-states
      stream-metrics demo --live
    """
    if arguments.live and arguments.out:
        raise UsageError("Expected no --out with --live, which keeps no state files")
    if not arguments.live and arguments.seconds is not None:
        raise UsageError("Expected --seconds beside --live only")
    if arguments.live:
        from stream_metrics.cli.demo_live import live

        return live(arguments.port, arguments.seconds, arguments.limit)
    tasks = _tasks()
    if arguments.out is not None:
        Path(arguments.out).mkdir(parents=True, exist_ok=True)
    with nullcontext(arguments.out) if arguments.out else tempfile.TemporaryDirectory() as folder:
        print(INTRODUCTION.format(tasks=len(tasks), shards=SHARDS), flush=True)
        wrong = [task.title for task in tasks if not _validate(task, arguments.limit, Path(folder))]
    if wrong:
        print(f"FAIL: {SHARDS} shards merged differ from one process: {', '.join(wrong)}")
        return CliError.status
    print(f"PASS: {SHARDS} shards merged = one process, byte for byte")
    return 0


def _tasks() -> list[DemoTask]:
    data, linear, scaling = river("datasets"), river("linear_model"), river("preprocessing").StandardScaler
    softmax, logistic = scaling() | linear.SoftmaxRegression(), scaling() | linear.LogisticRegression()
    forest, tree = river("forest").ARFClassifier(n_models=5, seed=1), river("tree").HoeffdingTreeClassifier()
    return [
        DemoTask("Image segments", "images", "softmax regression", data.ImageSegments(), softmax),
        DemoTask("Phishing sites", "phishing", "logistic regression", data.Phishing(), logistic),
        DemoTask("Bananas", "bananas", "adaptive random forest of 5 trees", data.Bananas(), forest),
        DemoTask("Shuttle anomalies", "shuttle", "Hoeffding tree", data.Shuttle(), tree),
    ]


def _validate(task: DemoTask, limit: int | None, folder: Path) -> bool:
    """Count, save, merge, compare and print one task; return whether the merged bytes are those of one process."""
    title = f"{task.title}: {task.model_name}"
    print(f"{title}\n{'=' * len(title)}\n", flush=True)
    began = time.perf_counter()
    shards, whole = _count(task, limit)
    seconds = time.perf_counter() - began
    paths = [str(folder / f"{task.slug}-{at}.state") for at in range(1, SHARDS + 1)]
    for path, shard in zip(paths, shards, strict=True):
        files.save(path, shard)
    merged = sm.merge(files.load(path) for path in paths)
    files.save(str(folder / f"{task.slug}.state"), merged)
    data = merged.to_bytes()
    same = data == whole.to_bytes()
    print(merged.snapshot())
    print(f"\nPredicted and learnt in {seconds:.1f} s.")
    answer = f"yes ({number(len(data))} bytes)" if same else "NO"
    print(f"{SHARDS} shards merged = one process, byte for byte: {answer}\n", flush=True)
    return same


def _count(task: DemoTask, limit: int | None) -> tuple[list[sm.MetricSet], sm.MetricSet]:
    """Predict, count, learn; return the states of the four workers and of one that saw everything."""
    shards, whole = [sm.MetricSet(scores=True) for _ in range(SHARDS)], sm.MetricSet(scores=True)
    done = 0
    total = min(task.data.n_samples, limit or task.data.n_samples)
    with Progress(lambda: (done, done), total):
        for features, truth in task.data.take(total):
            scores = task.model.predict_proba_one(features)
            shards[done % SHARDS].update(truth, scores)
            whole.update(truth, scores)
            task.model.learn_one(features, truth)
            done += 1
    return shards, whole
