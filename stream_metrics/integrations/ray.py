"""Batches on a Ray cluster become one state: counted by tasks, or by actors that live on; merged in a tree of tasks.

    import ray
    import stream_metrics as sm
    from stream_metrics.integrations.ray import Accumulator, accumulate, accumulate_by, tree_merge
    from stream_metrics.integrations.tables import Fields

    fields = Fields(y_true="label", y_pred="prediction")
    total = accumulate(ray.data.read_parquet("predictions/"), sm.MetricSet(), fields)
    print(total.snapshot())

    batches = [load.remote(path) for path in paths]  # or the tables themselves, also from a generator
    total = accumulate(batches, sm.MetricSet(), fields)

    total, bad = accumulate(batches, sm.MetricSet(), fields, on_bad="count")  # leaves out what cannot be counted
    print(bad)

    states = accumulate_by(batches, "label", sm.MetricSet(), fields)  # a Dataset with a row a group
    print({row["label"]: sm.from_bytes(row["state"]).n for row in states.iter_rows()})

    workers = [Accumulator.remote(sm.MetricSet()) for _ in range(2)]
    workers[0].update_many.remote(["cat", "dog"], ["cat", "cat"])
    total = tree_merge([worker.state.remote() for worker in workers])

The result of a task depends on its batch only. When Ray loses a process or a machine and runs its tasks again, they
give the same bytes, and each batch is counted once.

An actor has only the batches since its start. By default Ray does not restart a lost actor, and calls to it raise.
With `max_restarts` it starts again from its initial state, and with `max_task_retries` a batch may be counted twice.
Where actors restart, let an `sm.Aggregate` have their reports:

    aggregate.put("worker 1", *ray.get(worker.report.remote()))

The first report of a restarted actor replaces those before, as its epoch has the number of restarts, which Ray counts;
no clock matters. Its sequence is the number of calls that have changed its state: where these are batches only, those
from that number on are to be fed again. A new actor that takes the place of a lost one is given an epoch:

    worker = Accumulator.remote(sm.MetricSet(), epoch=aggregate.register("worker 1"))
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from stream_metrics.containers.aggregate import merge
from stream_metrics.integrations.tables import Job, Part, merge_in_tree, merge_records, parts_of
from stream_metrics.states import protocols
from stream_metrics.tables.bad_rows import Counted, OnBad
from stream_metrics.tables.counting import MOST_LABELS, Place
from stream_metrics.tables.fields import Fields, check_columns
from stream_metrics.wire import from_bytes

try:
    import ray
    from ray._private.state import actors  # as ray.runtime_context does: elsewhere the count needs the dashboard
except ImportError as error:
    raise ImportError('Expected Ray to be installed: pip install "stream-metrics[ray]"') from error

__all__ = ["Accumulator", "accumulate", "accumulate_by", "tree_merge"]

State = TypeVar("State", bound=protocols.Accumulator)
FIELDS = Fields()
AHEAD = 2  # batches under way for each processor: one to count and one to fetch


@ray.remote
class Accumulator:
    """An actor that feeds a copy of a state: `Accumulator.options(name="validation").remote(sm.MetricSet())`.

    Parameters
    ----------
    state : state, Metric, MetricSet or container
        What counts; its own counts are taken over.
    epoch : int, optional
        The epoch of its first life. By default 0 with a random number in the low bits, so that two actors that report
        under one name are not mixed up: of both, the aggregate takes one and refuses the other.
    """

    def __init__(self, state: protocols.Accumulator, epoch: int | None = None) -> None:
        self._state, self._sequence, restarts = state.copy(), 0, _restarts()
        self._epoch = (restarts << 32) + secrets.randbelow(2**32) if epoch is None else epoch + restarts

    def update(self, *sample: object, **named: object) -> None:
        """Count one sample, given as to `update` of the state."""
        self._state.update(*sample, **named)
        self._sequence += 1

    def update_many(self, *columns: object, **named: object) -> None:
        """Count a batch, given as to `update_many` of the state; a bad row rejects the whole batch."""
        self._state.update_many(*columns, **named)
        self._sequence += 1

    def merge(self, other: protocols.Accumulator | bytes) -> None:
        """Add the counts of a state of the same configuration, or of its bytes."""
        self._state.merge(from_bytes(other) if isinstance(other, bytes) else other)
        self._sequence += 1

    def reset(self) -> None:
        """Forget every sample; the sequence goes on, so that the next report replaces those before."""
        self._state.reset()
        self._sequence += 1

    def snapshot(self) -> Any:
        """Return the snapshot of the state."""
        return self._state.snapshot()

    def state(self) -> bytes:
        """Return the state as bytes."""
        return bytes(self._state.to_bytes())

    def report(self) -> tuple[bytes, int, int]:
        """Return the state as bytes, the number of changes, and the epoch, which grows with each restart."""
        return self.state(), self._sequence, self._epoch


def _restarts() -> int:
    """Return how often Ray has restarted this actor."""
    return int(actors(ray.get_runtime_context().get_actor_id())["NumRestarts"])


def accumulate(
    source: Any,
    prototype: State,
    fields: Fields = FIELDS,
    *,
    fan_in: int = 8,
    on_bad: OnBad = "raise",
    max_labels: int | None = MOST_LABELS,
    **options: Any,
) -> Any:
    """Return a new state like `prototype` that has counted all tables of `source`, each in a task.

    Parameters
    ----------
    source : Dataset or iterable
        A Ray Dataset, or an iterable of tables or of references to tables: Arrow tables, pandas data frames, or
        mappings from name to column. Of an iterable at most two tables for each processor of the cluster are in work at
        once.
    prototype : state, Metric, MetricSet or container
        The accumulator to count with. It is not changed, and samples that it has already are not included.
    fields : Fields, optional
        The columns; by default "y_true" and "y_pred".
    fan_in : int, default 8
        The largest number of states that a task merges.
    on_bad : {"raise", "count"}, default "raise"
        Whether a row that cannot be counted raises, or is left out and recorded.
    max_labels : int or None, default 100_000
        The largest number of distinct labels, as for `stream_metrics.count`. None is no limit.
    **options : Any
        Options of the tasks that count: `num_cpus`, `max_retries`, ...

    Returns
    -------
    state or Counted
        The state; with on_bad="count" the named tuple (state, bad), whose second is a `BadRows`. It numbers the tables
        of an iterable as partitions; blocks of a Dataset have no numbers.

    Raises
    ------
    RayTaskError
        The first error of a task, as soon as it is known. It is also a `LabelError` where the task raised one. Of a
        Dataset it is Ray's `UserCodeException`.
    ValueError
        If `prototype` is not an accumulator or does not merge, or an option is not allowed.
    TypeError
        If `source` is a single table.
    """
    job = Job.of(prototype, fields, on_bad, max_labels)
    packed = ray.put(job)
    if _is_dataset(source):
        parts = _counted_blocks(_selected(source, fields.columns()), job, options)
    else:
        parts = (part for (part,) in _counted(source, packed, _counting.options(**options, num_returns=2)))
    last = merge_in_tree(parts, lambda refs: _merging_parts.remote(packed, *refs), fan_in)
    return job.result(part for ref in last for part in _parts(ray.get(ref)))


def accumulate_by(
    source: Any,
    keys: str | Sequence[str],
    prototype: State,
    fields: Fields = FIELDS,
    *,
    blocks: int = 16,
    on_bad: OnBad = "raise",
    max_labels: int | None = MOST_LABELS,
    **options: Any,
) -> Any:
    """Return a Dataset with a row for each combination of `keys`: these columns, and `state`, bytes.

    Parameters
    ----------
    source : Dataset or iterable
        The tables, as for `accumulate`. Of a Dataset, the columns that are read pass through the object store.
    keys : str or sequence of str
        The columns of groups. A missing key is a key.
    prototype : state, Metric, MetricSet or container
        The accumulator to count each group with, as for `accumulate`; not a `ByGroup`.
    fields : Fields, optional
        The columns; by default "y_true" and "y_pred".
    blocks : int, default 16
        The number of blocks of the result. The states of a group are merged in one of them, which the hash of its key
        chooses, so that no process holds the states of all groups.
    on_bad : {"raise", "count"}, default "raise"
        Whether a row that cannot be counted raises, or is left out and recorded.
    max_labels : int or None, default 100_000
        The largest number of distinct labels, as for `stream_metrics.count`. None is no limit.
    **options : Any
        Options of the tasks that count.

    Returns
    -------
    Dataset or Counted
        The groups; with on_bad="count" the named tuple (dataset, bad), whose second is a `BadRows`.

    Raises
    ------
    ValueError
        If a key is called state or comes twice, `prototype` does not merge, or an option is not allowed.
    RayTaskError, TypeError
        As for `accumulate`.
    """
    import ray.data

    from stream_metrics.integrations.group_states import GroupJob  # needs pandas, as ray.data does

    job = GroupJob.of(prototype, keys, fields, on_bad, max_labels, blocks, "blocks")
    packed = ray.put(job)
    if _is_dataset(source):
        source = _selected(source, list(dict.fromkeys([*job.keys, *fields.columns()]))).to_arrow_refs()
    counted = list(_counted(source, packed, _counting_groups.options(**options, num_returns=blocks + 2)))
    columns = list(zip(*counted, strict=True))[:blocks]
    buckets = [_merging_groups.remote(packed, *parts) for parts in columns]
    states = ray.data.from_arrow_refs(buckets) if buckets else ray.data.from_items([])
    if on_bad == "raise":
        return states
    return Counted(states, merge_records(ray.get(parts[blocks]) for parts in counted))


def tree_merge(refs: Iterable[ray.ObjectRef], fan_in: int = 8) -> Any:
    """Return the merge of states that are in Ray's object store.

    Parameters
    ----------
    refs : iterable of ObjectRef
        References to states, or to their bytes.
    fan_in : int, default 8
        The largest number of states that a task merges.

    Returns
    -------
    state
        The merge.

    Raises
    ------
    MergeError
        If there is no state, or two of them count differently.
    """
    last = merge_in_tree(refs, lambda parts: _merging.remote(*parts), fan_in)
    return merge(map(ray.get, last))


def _is_dataset(source: Any) -> bool:
    """Tell whether a source is a Dataset, or else an iterable of tables; TypeError for a single table."""
    blocks = hasattr(source, "map_batches")
    if not blocks and (isinstance(source, Mapping) or hasattr(source, "columns")):
        raise TypeError(f"Expected `source` to be a Dataset or an iterable of tables, but got {type(source).__name__}")
    return blocks


def _selected(dataset: ray.data.Dataset, names: list[str]) -> ray.data.Dataset:
    """Return a Dataset with the named columns; LabelError for one that it does not have."""
    known = dataset.columns(fetch_if_missing=False)  # None where only reading would tell
    if known is not None:
        check_columns(names, known, "dataset")
    return dataset.select_columns(names)


def _counted_blocks(dataset: ray.data.Dataset, job: Job, options: dict[str, Any]) -> Iterator[ray.ObjectRef]:
    """Yield references to tables with the states of all blocks."""
    yield from dataset.map_batches(
        partial(_count_block, job), batch_format="pyarrow", batch_size=None, **options
    ).to_arrow_refs()


def _counted(source: Iterable[Any], job: ray.ObjectRef, count: Any) -> Iterator[list[ray.ObjectRef]]:
    """Yield references to the results of the tasks that count tables, in the order in which they are ready."""
    limit = AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
    under_way: dict[ray.ObjectRef, list[ray.ObjectRef]] = {}
    for partition, table in enumerate(source):
        *results, done = count.remote(job, table, partition)
        under_way[done] = results
        if len(under_way) == limit:
            yield from _ready(under_way)
    while under_way:
        yield from _ready(under_way)


def _ready(under_way: dict[ray.ObjectRef, list[ray.ObjectRef]]) -> Iterator[list[ray.ObjectRef]]:
    """Wait for a task, raise its error, or yield the references to its results."""
    for done in ray.wait(list(under_way))[0]:
        ray.get(done)
        yield under_way.pop(done)


def _count_block(job: Job, table: object) -> object:
    """Return the state of an Arrow table, and the record of its bad rows, as a table of one row."""
    import pyarrow as pa  # Ray alone does without

    place = Place() if job.on_bad == "raise" else Place(row=None)
    state, bad = job.count([(table, place)])
    return pa.table({"state": pa.array([state], pa.binary()), "bad": pa.array([bad], pa.binary())})


def _count_table(job: Job, table: object, partition: int) -> tuple[Part, None]:
    """Return the state of a table and, to learn of errors by, something that costs nothing to fetch."""
    return job.count([(table, Place(partition=partition))]), None


def _count_groups(job: Any, table: object, partition: int) -> tuple[object, ...]:
    """Return the states of a table by bucket, the record of its bad rows, and None as above."""
    return *job.count(table, partition), None


def _merge_groups(job: Any, *frames: Any) -> object:
    """Return the states of a bucket as an Arrow table."""
    import pyarrow as pa

    return pa.Table.from_pandas(job.merge(frames), preserve_index=False)


def _merge_parts(job: Job, *payloads: Any) -> Part:
    """Return the merge of the results of other tasks."""
    return job.merge(part for payload in payloads for part in _parts(payload))


def _parts(payload: Any) -> list[Part]:
    """Return the parts in the result of a task: a part, or a table of parts, which may have no columns."""
    if not hasattr(payload, "column_names"):
        return [payload]
    return parts_of(payload) if payload.num_rows else []


def _merge(*payloads: Any) -> bytes:
    """Return the merge of states, or of their bytes."""
    return bytes(merge(payloads).to_bytes())


_counting, _merging, _merging_parts = ray.remote(_count_table), ray.remote(_merge), ray.remote(_merge_parts)
_counting_groups, _merging_groups = ray.remote(_count_groups), ray.remote(_merge_groups)
