"""Ray: tasks, actors and datasets give the bytes of one process, also when processes are killed."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import textwrap
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", reason="needs Arrow")
pq = pytest.importorskip("pyarrow.parquet", reason="needs Arrow")
pytest.importorskip("pandas", reason="needs pandas")
ray = pytest.importorskip("ray", reason="needs Ray")

import stream_metrics as sm  # noqa: E402
from stream_metrics.integrations import ray as adapter  # noqa: E402
from stream_metrics.integrations.ray import Accumulator, accumulate, tree_merge  # noqa: E402
from stream_metrics.integrations.tables import Fields  # noqa: E402

pytestmark = pytest.mark.filterwarnings(
    r"ignore:.* is deprecated:DeprecationWarning:ray\.data"  # Ray Data warns of its own options when it is imported
)
ROWS = 600
CLASSES = ("cat", "cow", "dog")
FIELDS = {
    "labels": Fields(),
    "scores": Fields(y_pred=None, scores={name: f"p_{name}" for name in CLASSES}, weight="w"),
    "groups": Fields(group="country"),
}


@pytest.fixture(scope="module", autouse=True)
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Two processors of this machine as a cluster, with a home of its own, since Ray keeps a token there."""
    with pytest.MonkeyPatch.context() as patch:
        import ray.data  # so that what it warns of is silenced as above

        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=200 * 2**20)
        yield
        ray.shutdown()


def prototype(name: str) -> Any:
    """Return an empty accumulator."""
    if name == "groups":
        return sm.ByGroup(sm.MetricSet(), max_groups=3)
    return sm.MetricSet(scores=True, buckets=64) if name == "scores" else sm.MetricSet()


def table() -> Any:
    """Return a table with everything that is read."""
    random = np.random.default_rng(8)
    truth = random.integers(0, 3, ROWS)
    p = random.dirichlet((1, 1, 1), ROWS)
    columns = {
        "y_true": np.array(CLASSES)[truth],
        "y_pred": np.array(CLASSES)[p.argmax(1)],
        "w": random.integers(1, 9, ROWS),
        "country": np.array([f"country {number}" for number in random.integers(0, 6, ROWS)]),
        "unread": np.arange(ROWS),
    }
    return pa.table({**columns, **{f"p_{name}": p[:, at] for at, name in enumerate(CLASSES)}})


def parts(count: int = 7) -> list[Any]:
    """Return the table in pieces of uneven size, the last one empty if there are several."""
    inner = np.random.default_rng(9).integers(0, ROWS, count)[2:].tolist()
    edges = [0, *sorted(inner), ROWS, ROWS][: count + 1]
    return [table().slice(low, high - low) for low, high in pairwise(edges)]


def whole(name: str) -> bytes:
    """Return the bytes of one process."""
    counted = prototype(name)
    rows = table()
    if name == "scores":
        scores = np.column_stack([rows[f"p_{label}"].to_numpy() for label in CLASSES])
        counted.update_many(rows["y_true"], w=rows["w"], scores=scores, classes=CLASSES)
    else:
        group = {"group": rows["country"].to_pylist()} if name == "groups" else {}
        counted.update_many(rows["y_true"], rows["y_pred"], **group)
    return bytes(counted.to_bytes())


@pytest.mark.parametrize("name", FIELDS)
def test_tasks_count_what_one_process_counts(name: str) -> None:
    """Tables of all sorts, in the object store or not, merged in a tree, give the bytes of one process."""
    forms = [lambda part: part, ray.put, lambda part: part.to_pandas(), lambda part: part.to_pydict()]
    source = (forms[at % 4](part) for at, part in enumerate(parts()))

    total = accumulate(source, prototype(name), FIELDS[name], fan_in=2)

    assert type(total) is type(prototype(name))
    assert total.to_bytes() == whole(name)


def test_what_the_prototype_has_counted_is_not_taken_over() -> None:
    """The prototype is a configuration, and stays as it is; of no tables comes an empty state."""
    used = sm.MetricSet()
    used.update("cat", "dog")

    assert accumulate([table()], used).to_bytes() == whole("labels")
    assert accumulate([], used) == sm.MetricSet()
    assert used.n == 1


def test_a_killed_task_runs_again_and_counts_once(tmp_path: Path) -> None:
    """A process that is killed in the middle of a batch costs another run of the task, and not a bit."""

    class Killing:
        def __init__(self, labels: list[str]) -> None:
            self.labels, self.driver, self.runs = labels, os.getpid(), tmp_path / "runs"

        def __iter__(self) -> Iterator[str]:
            assert os.getpid() != self.driver
            with self.runs.open("a") as file:
                file.write("x")
            if self.runs.stat().st_size == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            return iter(self.labels)

    first, *others = parts()
    columns = {**first.to_pydict(), "y_pred": Killing(first["y_pred"].to_pylist())}

    total = accumulate([columns, *others], prototype("labels"), max_retries=2)

    assert (tmp_path / "runs").read_text() == "xx"
    assert total.to_bytes() == whole("labels")


def test_no_more_is_read_than_is_counted_soon() -> None:
    """A long source is read as its tables are counted, two for a processor, and the first bad one is the last."""
    given = []

    def source() -> Iterator[Any]:
        for number in range(12):
            given.append(number)
            yield {"y_true": [True], "y_pred": ["bad"]}

    with pytest.raises(sm.LabelError, match="bad"):
        accumulate(source(), sm.MetricSet(labels=[True, False]))

    assert len(given) == 4


@pytest.mark.parametrize(("count", "fan_in"), [(1, 8), (9, 2), (9, 3), (9, 8)])
def test_merging_in_a_tree(count: int, fan_in: int) -> None:
    """States and bytes of states merge in trees of every shape."""
    states = []
    for at, part in enumerate(parts(count)):
        state = sm.MetricSet()
        state.update_many(part["y_true"], part["y_pred"])
        states.append(ray.put(state if at % 2 else state.to_bytes()))

    assert tree_merge(iter(states), fan_in).to_bytes() == whole("labels")


def test_errors_of_the_tree() -> None:
    """Nothing to merge, what does not merge, and a tree that would not end are refused."""
    with pytest.raises(sm.MergeError, match="at least one state"):
        tree_merge([])
    for fan_in in (2, 8):
        with pytest.raises(sm.MergeError, match=r"`labels`.*\(0, 1\)"):
            tree_merge([ray.put(sm.MCC()), ray.put(sm.MCC(labels=[0, 1]))], fan_in)
    with pytest.raises(ValueError, match="Expected `fan_in` to be a whole number above 1, but got 1"):
        tree_merge([], 1)


@pytest.mark.parametrize(
    ("given", "message"), [(sm.Rolling(sm.MCC(), 5), "mergeable, but: .*Rolling"), (0.5, "a state, .*but got 0.5")]
)
def test_prototypes_that_cannot_be_merged(given: Any, message: str) -> None:
    """What no tasks could make a whole of is refused before any of them runs."""
    with pytest.raises(ValueError, match=f"Expected `prototype` to be {message}"):
        accumulate([table()], given)


def test_a_table_without_a_column() -> None:
    """An error of a task is the error that it would be here, and a dataset is asked before there is any task."""
    with pytest.raises(sm.LabelError, match="Expected 'label' to be a column of the table"):
        accumulate([table()], sm.MetricSet(), Fields(y_true="label"))
    with pytest.raises(sm.LabelError, match="Expected 'label' to be a column of the dataset"):
        accumulate(ray.data.from_arrow(table()), sm.MetricSet(), Fields(y_true="label"))


def test_actors_are_fed_and_merge() -> None:
    """Actors keep states of their own, which merge to the bytes of one process; a bad batch is in none of them."""
    workers = [Accumulator.remote(sm.MetricSet()) for _ in range(2)]
    for at, part in enumerate(parts()):
        workers[at % 2].update_many.remote(part["y_true"], y_pred=part["y_pred"])

    with pytest.raises(sm.LabelError, match="as many rows"):
        ray.get(workers[0].update_many.remote(["cat"], []))

    assert tree_merge(worker.state.remote() for worker in workers).to_bytes() == whole("labels")
    assert ray.get(workers[0].report.remote())[1] == 4


def test_a_restarted_actor_and_an_aggregate() -> None:
    """Each batch counts once if a restarted actor is fed from the position that its reports give."""
    worker = Accumulator.options(max_restarts=1).remote(sm.MetricSet())
    aggregate = sm.Aggregate()
    batches = parts(4)
    for part in batches[:2]:
        worker.update_many.remote(part["y_true"], part["y_pred"])
    before = ray.get(worker.report.remote())
    aggregate.put("worker", *before)

    ray.kill(worker, no_restart=False)
    _, sequence, epoch = restarted(worker, epoch=before[2])
    for part in batches[sequence:]:
        worker.update_many.remote(part["y_true"], part["y_pred"])
    aggregate.put("worker", *ray.get(worker.report.remote()))
    aggregate.put("worker", *before)

    assert (before[1], sequence) == (2, 0)
    assert epoch > before[2]
    assert aggregate.total().to_bytes() == whole("labels")


def test_an_actor_needs_no_clock() -> None:
    """Epochs are counts of restarts, from one that the aggregate gave on; an actor in its place has a larger one."""
    aggregate = sm.Aggregate()
    worker = Accumulator.options(max_restarts=2).remote(sm.MetricSet(), aggregate.register("w"))
    epochs = [ray.get(worker.report.remote())[2]]
    for _ in range(2):
        ray.kill(worker, no_restart=False)
        epochs.append(restarted(worker, epochs[-1])[2])
        assert aggregate.put("w", *ray.get(worker.report.remote()))
    assert epochs == [epochs[0], epochs[0] + 1, epochs[0] + 2]

    late = ray.get(worker.report.remote())
    other = Accumulator.remote(sm.MetricSet(), epoch=aggregate.register("w"))
    assert aggregate.put("w", *ray.get(other.report.remote()))
    assert aggregate.put("w", *late) is sm.PutResult.FENCED


def restarted(worker: Any, epoch: int) -> Any:
    """Return the first report of an actor that is on its way back."""
    for _ in range(100):
        with contextlib.suppress(ray.exceptions.RayActorError):
            report = ray.get(worker.report.remote())
            if report[2] > epoch:
                return report
        time.sleep(0.2)
    raise AssertionError("the actor did not come back")


@pytest.mark.parametrize("name", FIELDS)
def test_datasets_count_what_one_process_counts(name: str) -> None:
    """The blocks of a Ray Dataset, one of them empty, give the bytes of one process."""
    dataset = ray.data.from_arrow(parts())

    assert accumulate(dataset, prototype(name), FIELDS[name], num_cpus=1).to_bytes() == whole(name)


def bad_parts() -> list[Any]:
    """Return the table in pieces, with two bad rows."""
    labels = table()["y_true"].to_pylist()
    labels[5] = labels[400] = None
    rows = table().set_column(0, "y_true", pa.array(labels))
    return [rows.slice(0, 300), rows.slice(300)]


def good_rows(by: str | None = None) -> Any:
    """Return the state of the rows that are not bad, or a state for each key."""
    rows = pa.concat_tables(bad_parts()).to_pandas().dropna()
    if by is None:
        return sm.count(rows)
    return {key: sm.count(part) for key, part in rows.groupby(by)}


def test_bad_rows_are_counted() -> None:
    """Good rows of tables and of a Dataset are counted, and the record knows the table and the row, or neither."""
    total, bad = accumulate(bad_parts(), sm.MetricSet(), on_bad="count")
    assert total == good_rows()
    assert [row[:3] for row in bad.first] == [(None, 0, 5), (None, 1, 100)]

    total, bad = accumulate(ray.data.from_arrow(bad_parts()), sm.MetricSet(), on_bad="count")
    assert total == good_rows()
    assert [row[:3] for row in bad.first] == [(None, None, None)] * 2

    with pytest.raises(sm.LabelError, match=r"`y_true` at position (5 of partition 0|100 of partition 1)"):
        accumulate(bad_parts(), sm.MetricSet())


def test_a_wrong_column() -> None:
    """Identifiers as labels raise in a task, or where parts are merged."""
    for most in (100, 500):
        with pytest.raises(sm.LabelError, match=f"labels of column 'unread' to be at most {most}, but"):
            accumulate([table().slice(0, 300), table().slice(300)], sm.MetricSet(), Fields("unread"), max_labels=most)


@pytest.mark.parametrize("form", ["tables", "dataset"])
def test_states_by_key(form: str) -> None:
    """There is a row for each key, with the bytes of its good rows, and the record of the others."""
    source = bad_parts() if form == "tables" else ray.data.from_arrow(bad_parts())
    states, bad = adapter.accumulate_by(source, "country", sm.MetricSet(), blocks=3, on_bad="count")

    assert {row["country"]: sm.from_bytes(row["state"]) for row in states.iter_rows()} == good_rows("country")
    assert bad.n == 2
    assert adapter.accumulate_by([], "country", sm.MetricSet()).count() == 0
    with pytest.raises(sm.LabelError, match="`y_true` at position"):
        adapter.accumulate_by(bad_parts(), "country", sm.MetricSet())
    with pytest.raises(ValueError, match="`blocks` to be a whole number above 0, but got 0"):
        adapter.accumulate_by([], "country", sm.MetricSet(), blocks=0)


def test_an_actor_is_an_accumulator() -> None:
    """It counts samples, merges states, is read and reset; every change makes its report newer."""
    worker = Accumulator.remote(sm.Accuracy())
    other = sm.Accuracy()
    other.update("a", "b")
    worker.update.remote("a", "a")
    worker.merge.remote(other)
    worker.merge.remote(other.to_bytes())
    snapshot, report = ray.get([worker.snapshot.remote(), worker.report.remote()])
    worker.reset.remote()
    after = ray.get(worker.report.remote())

    assert snapshot["accuracy"] == 1 / 3
    assert (report[1], after[1]) == (3, 4)
    assert sm.from_bytes(after[0]) == sm.Accuracy()
    with pytest.raises(sm.MergeError):
        ray.get(worker.merge.remote(sm.ConfusionMatrix()))


def test_the_example_of_the_docstring(tmp_path: Path) -> None:
    """What the docstring shows runs, over Parquet files and over tasks that load them."""
    paths = [str(tmp_path / f"{number}.parquet") for number in range(2)]
    for path in paths:
        pq.write_table(table().rename_columns({"y_true": "label", "y_pred": "prediction"}), path)
    scope: dict[str, Any] = {"paths": paths, "load": ray.remote(lambda path: pq.read_table(path))}
    text = (adapter.__doc__ or "").split("\n\n", 1)[1].split("\n\nThe result of a task")[0]
    twice = sm.from_bytes(whole("labels")).merge(sm.from_bytes(whole("labels")))

    first, last = textwrap.dedent(text).replace("predictions/", str(tmp_path)).split("\nworkers =")
    exec(first, scope)
    assert scope["total"].to_bytes() == twice.to_bytes()

    exec("workers =" + last, scope)
    assert scope["total"].state.matrix.tolist() == [[1, 0], [1, 0]]


@pytest.mark.parametrize("source", [{"y_true": [1], "y_pred": [1]}, pa.table({"y_true": [1], "y_pred": [1]})])
def test_a_single_table_is_no_source(source: Any) -> None:
    """A table, whose columns would be taken for tables, is refused."""
    with pytest.raises(TypeError, match="Expected `source` to be a Dataset or an iterable of tables, but got"):
        accumulate(source, sm.MetricSet())
    with pytest.raises(TypeError, match="but got DataFrame"):
        accumulate(pa.table({"y_true": [1]}).to_pandas(), sm.MetricSet())


def test_missing_ray_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Ray the import of the adapter says what to install."""
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "stream_metrics.integrations.ray")

    with pytest.raises(ImportError, match=r"stream-metrics\[ray\]"):
        import stream_metrics.integrations.ray  # noqa: F401
