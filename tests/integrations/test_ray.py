"""Ray: tasks, actors and datasets give the bytes of one process, also when processes are killed."""

from __future__ import annotations

import contextlib
import os
import signal
import textwrap
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow", reason="needs Arrow")
pq = pytest.importorskip("pyarrow.parquet", reason="needs Arrow")
pytest.importorskip("pandas", reason="needs pandas")
ray = pytest.importorskip("ray", reason="needs Ray")

from support.engines import CASES, FIELDS, counted, parts, table  # noqa: E402
from support.refusals import all_refused, refused  # noqa: E402

import stream_metrics as sm  # noqa: E402
from stream_metrics.integrations import ray as adapter  # noqa: E402
from stream_metrics.integrations.ray import Accumulator, accumulate, accumulate_by, tree_merge  # noqa: E402
from stream_metrics.tables.fields import Fields  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings(r"ignore:.* is deprecated:DeprecationWarning:ray\.data"),  # of Ray Data's own options
    pytest.mark.usefixtures("ray"),
]


def whole() -> bytes:
    """Return the bytes of one process."""
    return bytes(counted(sm.MetricSet(), FIELDS, table()).to_bytes())


def labels(part: Any) -> tuple[list[str], list[str]]:
    """Return the true labels and the predictions of a table."""
    return part["label"].to_pylist(), part["guess"].to_pylist()


def test_tables_of_all_sorts() -> None:
    """Tables of all sorts, in the object store or not, and of an iterator, give the bytes of one process."""
    forms = [lambda part: part, ray.put, lambda part: part.to_pandas(), lambda part: part.to_pydict()]
    source = (forms[at % 4](part) for at, part in enumerate(parts(table())))

    assert accumulate(source, sm.MetricSet(), FIELDS, fan_in=2).to_bytes() == whole()


def test_a_killed_task_runs_again_and_counts_once(tmp_path: Path) -> None:
    """A process that is killed in the middle of a batch costs another run of the task, and not a bit."""
    driver, runs = os.getpid(), tmp_path / "runs"

    class Killing:
        def __init__(self, labels: list[str]) -> None:
            self.labels = labels

        def __iter__(self) -> Iterator[str]:
            assert os.getpid() != driver
            with runs.open("a") as file:
                file.write("x")
            if runs.stat().st_size == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            return iter(self.labels)

    first, *others = parts(table())
    columns = {**first.to_pydict(), "guess": Killing(first["guess"].to_pylist())}
    total = accumulate([columns, *others], sm.MetricSet(), FIELDS, max_retries=2)

    assert (runs.read_text(), total.to_bytes()) == ("xx", whole())


def test_no_more_is_read_than_is_counted_soon() -> None:
    """A long source is read as its tables are counted, two for a processor, and the first bad one is the last."""
    given = []

    def source() -> Iterator[Any]:
        for number in range(12):
            given.append(number)
            yield {"y_true": [True], "y_pred": ["bad"]}

    refused(partial(accumulate, source(), sm.MetricSet(labels=[True, False])), sm.LabelError, "bad")

    assert len(given) == 4


def test_merging_in_a_tree() -> None:
    """States and bytes of states merge in trees of every shape; what is no tree of states of one kind is refused."""
    states = []
    for at, part in enumerate(parts(table())):
        state = counted(sm.MetricSet(), FIELDS, part)
        states.append(ray.put(state if at % 2 else state.to_bytes()))
    for fan_in in (2, 3, 8):
        assert tree_merge(iter(states), fan_in).to_bytes() == whole()
        assert tree_merge(states[:1], fan_in) == counted(sm.MetricSet(), FIELDS, parts(table())[0])

    others = [ray.put(sm.MCC()), ray.put(sm.MCC(labels=[0, 1]))]
    all_refused(
        [
            (partial(tree_merge, []), sm.MergeError, "at least one state"),
            *((partial(tree_merge, others, fan_in), sm.MergeError, "`labels`") for fan_in in (2, 8)),
            (partial(tree_merge, [], 1), ValueError, "`fan_in` to be a whole number above 1, but got 1"),
        ]
    )


def test_what_is_refused() -> None:
    """A single table, whose columns would be taken for tables, a column that there is not, and blocks that are none."""
    mapping, arrow = {"y_true": [1], "y_pred": [1]}, pa.table({"y_true": [1], "y_pred": [1]})
    count = partial(accumulate, prototype=sm.MetricSet(), fields=Fields("no"))
    all_refused(
        [
            *((partial(count, one), TypeError, f"but got {type(one).__name__}") for one in (mapping, arrow)),
            (partial(count, arrow.to_pandas()), TypeError, "tables, but got DataFrame"),
            (partial(count, [table()]), sm.LabelError, "'no' to be a column of the table"),
            (partial(count, ray.data.from_arrow(table())), sm.LabelError, "'no' to be a column of the dataset"),
            (partial(accumulate_by, [], "site", sm.MetricSet(), blocks=0), ValueError, "`blocks`"),
        ]
    )


def test_actors_are_accumulators() -> None:
    """Actors count batches and samples, merge states, are read and reset; every change makes their report newer."""
    workers = [Accumulator.remote(sm.MetricSet()) for _ in range(2)]
    for at, part in enumerate(parts(table())):
        truth, guess = labels(part)
        workers[at % 2].update_many.remote(truth, y_pred=guess)
    for error, call in [
        (sm.LabelError, workers[0].update_many.remote(["cat"], [])),
        (sm.MergeError, workers[0].merge.remote(sm.ConfusionMatrix())),
    ]:
        refused(partial(ray.get, call), error)
    assert tree_merge(worker.state.remote() for worker in workers).to_bytes() == whole()
    assert ray.get(workers[0].report.remote())[1] == 3

    worker, other = Accumulator.remote(sm.Accuracy()), sm.Accuracy()
    other.update("a", "b")
    worker.update.remote("a", "a")
    worker.merge.remote(other)
    worker.merge.remote(other.to_bytes())
    snapshot, report = ray.get([worker.snapshot.remote(), worker.report.remote()])
    worker.reset.remote()
    after = ray.get(worker.report.remote())
    assert (snapshot["accuracy"], report[1], after[1]) == (1 / 3, 3, 4)
    assert sm.from_bytes(after[0]) == sm.Accuracy()


def test_restarted_actors_and_an_aggregate() -> None:
    """Each batch counts once if a restarted actor is fed from the position that its reports give.

    Epochs are counts of restarts, from one that the aggregate gave on; an actor in its place has a larger one.
    """
    aggregate, batches = sm.Aggregate(), parts(table())
    worker = Accumulator.options(max_restarts=2).remote(sm.MetricSet(), aggregate.register("w"))
    for part in batches[:2]:
        worker.update_many.remote(*labels(part))
    reports = [ray.get(worker.report.remote())]
    assert aggregate.put("w", *reports[0])
    for _ in range(2):
        ray.kill(worker, no_restart=False)
        reports.append(restarted(worker, reports[-1][2]))
    assert [report[1] for report in reports] == [2, 0, 0]
    assert [report[2] - reports[0][2] for report in reports] == [0, 1, 2]
    for part in batches:
        worker.update_many.remote(*labels(part))
    aggregate.put("w", *ray.get(worker.report.remote()))
    aggregate.put("w", *reports[0])
    assert aggregate.total().to_bytes() == whole()

    other = Accumulator.remote(sm.MetricSet(), epoch=aggregate.register("w"))
    assert aggregate.put("w", *ray.get(other.report.remote()))
    assert aggregate.put("w", *reports[-1]) is sm.PutResult.FENCED


def restarted(worker: Any, epoch: int) -> Any:
    """Return the first report of an actor that is on its way back."""
    until = time.monotonic() + 300
    while time.monotonic() < until:
        with contextlib.suppress(ray.exceptions.RayActorError):
            report = ray.get(worker.report.remote())
            if report[2] > epoch:
                return report
    raise AssertionError("the actor did not come back")


def test_datasets() -> None:
    """The blocks of a Dataset, one of them empty, give the bytes of one process, and records without places."""
    for name in ("state", "groups", "columns of scores"):
        make, fields = CASES[name]
        total = accumulate(ray.data.from_arrow(parts(table())), make(), fields, num_cpus=1)
        assert total.to_bytes() == counted(make(), fields, table()).to_bytes()

    source, good = ray.data.from_arrow(parts(table((3, 255)))), table().to_pandas().drop(index=[3, 255])
    total, bad = accumulate(source, sm.MetricSet(), FIELDS, on_bad="count")
    states, by_site = accumulate_by(source, "site", sm.MetricSet(), FIELDS, blocks=3, on_bad="count")
    by_key = {row["site"]: sm.from_bytes(row["state"]) for row in states.iter_rows()}
    assert total == counted(sm.MetricSet(), FIELDS, pa.Table.from_pandas(good))
    assert by_key == {
        site: counted(sm.MetricSet(), FIELDS, pa.Table.from_pandas(rows)) for site, rows in good.groupby("site")
    }
    assert ([row[:3] for row in bad.first], by_site.n) == ([(None, None, None)] * 2, 2)
    assert accumulate_by([], "site", sm.MetricSet()).count() == 0


def test_the_example_of_the_docstring(tmp_path: Path) -> None:
    """What the docstring shows runs, over Parquet files and over tasks that load them."""
    paths = [str(tmp_path / f"{number}.parquet") for number in range(2)]
    rows = table().select(["guess"]).append_column("label", table()["label"].cast(pa.string()))
    for path in paths:
        pq.write_table(rows.rename_columns({"guess": "prediction"}), path)
    scope: dict[str, Any] = {"paths": paths, "load": ray.remote(lambda path: pq.read_table(path))}
    text = (adapter.__doc__ or "").split("\n\n", 1)[1].split("\n\nThe result of a task")[0]
    twice = sm.from_bytes(whole()).merge(sm.from_bytes(whole()))

    first, last = textwrap.dedent(text).replace("predictions/", str(tmp_path)).split("\nworkers =")
    exec(first, scope)
    assert scope["total"].to_bytes() == twice.to_bytes()

    exec("workers =" + last, scope)
    assert scope["total"].state.matrix.tolist() == [[1, 0], [1, 0]]
