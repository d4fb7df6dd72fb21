"""Batches on a Ray cluster become one state: counted by tasks, or by actors that live on; merged in a tree of tasks.

    import ray
    import stream_metrics as sm
    from stream_metrics.integrations.ray import Accumulator, accumulate, tree_merge
    from stream_metrics.integrations.tables import Fields

    fields = Fields(y_true="label", y_pred="prediction")
    total = accumulate(ray.data.read_parquet("predictions/"), sm.MetricSet(), fields)
    print(total.snapshot())

    batches = [load.remote(path) for path in paths]  # or the tables themselves, also from a generator
    total = accumulate(batches, sm.MetricSet(), fields)

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
no clock matters. Its sequence is the number of batches that are in its state, so batches from that number on are to be
fed again. A new actor that takes the place of a lost one is given an epoch:

    worker = Accumulator.remote(sm.MetricSet(), epoch=aggregate.register("worker 1"))
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any, TypeVar

from stream_metrics.containers.aggregate import merge
from stream_metrics.integrations.tables import Fields, count_table, empty_copy, merge_in_tree
from stream_metrics.states import protocols
from stream_metrics.wire import from_bytes

try:
    import ray
    from ray._private.state import actors  # as ray.runtime_context does: elsewhere the count needs the dashboard
except ImportError as error:
    raise ImportError('Expected Ray to be installed: pip install "stream-metrics[ray]"') from error

__all__ = ["Accumulator", "accumulate", "tree_merge"]

State = TypeVar("State", bound=protocols.Accumulator)
FIELDS = Fields()
AHEAD = 2  # batches under way for each processor: one to count and one to fetch


@ray.remote
class Accumulator:
    """An actor that feeds a copy of `state`: `Accumulator.options(name="validation").remote(sm.MetricSet())`.

    `epoch` is that of its first life. By default it is 0 with a random number in the low bits, so that two actors that
    report under one name are not mixed up: of both, the aggregate takes one and refuses the other.
    """

    def __init__(self, state: protocols.Accumulator, epoch: int | None = None) -> None:
        self._state, self._sequence, restarts = state.copy(), 0, _restarts()
        self._epoch = (restarts << 32) + secrets.randbelow(2**32) if epoch is None else epoch + restarts

    def update_many(self, *columns: object, **named: object) -> None:
        """Count a batch, given as to `update_many` of the state; a bad row rejects the whole batch."""
        self._state.update_many(*columns, **named)
        self._sequence += 1

    def state(self) -> bytes:
        """Return the state as bytes."""
        return bytes(self._state.to_bytes())

    def report(self) -> tuple[bytes, int, int]:
        """Return the state as bytes, the number of batches in it, and the epoch, which grows with each restart."""
        return self.state(), self._sequence, self._epoch


def _restarts() -> int:
    """Return how often Ray has restarted this actor."""
    return int(actors(ray.get_runtime_context().get_actor_id())["NumRestarts"])


def accumulate(source: Any, prototype: State, fields: Fields = FIELDS, *, fan_in: int = 8, **options: Any) -> State:
    """Return a new state like `prototype` that has counted all tables of `source`, each in a task.

    `source` is a Ray Dataset, or an iterable of tables or of references to tables; a table is an Arrow table, a pandas
    data frame, or a mapping from name to column, and `fields` names its columns. Of an iterable no more tables are
    under way at once than two for each processor of the cluster. `prototype` is the configuration, any accumulator
    that merges; its counts are ignored. `options` are those of the tasks that count (`num_cpus`,
    `max_retries`), and `fan_in` is the number of states that a task merges.

    Raises the first error of a task as soon as it is known: ``RayTaskError``, which is also a ``LabelError`` where the
    task raised one, but of a Dataset Ray's own ``UserCodeException``. ``ValueError`` if `prototype` is no accumulator,
    or does not merge; ``TypeError`` for a single table.
    """
    blocks = hasattr(source, "map_batches")
    if not blocks and (isinstance(source, Mapping) or hasattr(source, "columns")):
        raise TypeError(f"Expected `source` to be a Dataset or an iterable of tables, but got {type(source).__name__}")
    empty = empty_copy(prototype).to_bytes()
    counted = _counted_blocks if blocks else _counted
    total: State = tree_merge(chain([ray.put(empty)], counted(source, empty, fields, options)), fan_in)
    return total


def tree_merge(refs: Iterable[ray.ObjectRef], fan_in: int = 8) -> Any:
    """Return the merge of the states that `refs` refer to, states or their bytes; tasks merge `fan_in` of them at once.

    Raises ``MergeError`` if there is none, or if kinds or configurations differ.
    """
    last = merge_in_tree(refs, lambda parts: _merging.remote(*parts), fan_in)
    return merge(state for ref in last for state in _states(ray.get(ref)))


def _counted_blocks(
    dataset: ray.data.Dataset, empty: bytes, fields: Fields, options: dict[str, Any]
) -> Iterator[ray.ObjectRef]:
    """Yield references to tables with the states of all blocks."""
    there = dataset.columns(fetch_if_missing=False)  # None where only reading would tell
    if there is not None:
        fields.check(there, "dataset")
    count = partial(_count_block, empty, fields)
    wanted = dataset.select_columns(fields.columns())
    yield from wanted.map_batches(count, batch_format="pyarrow", batch_size=None, **options).to_arrow_refs()


def _counted(source: Iterable[Any], empty: bytes, fields: Fields, options: dict[str, Any]) -> Iterator[ray.ObjectRef]:
    """Yield references to the states of all tables, in the order in which they are ready."""
    count = _counting.options(**options, num_returns=2)
    packed, limit = ray.put(empty), AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
    under_way: dict[ray.ObjectRef, ray.ObjectRef] = {}
    for table in source:
        state, done = count.remote(packed, fields, table)
        under_way[done] = state
        if len(under_way) == limit:
            yield from _ready(under_way)
    while under_way:
        yield from _ready(under_way)


def _ready(under_way: dict[ray.ObjectRef, ray.ObjectRef]) -> Iterator[ray.ObjectRef]:
    """Wait for a task, raise its error, or yield the reference to its state."""
    for done in ray.wait(list(under_way))[0]:
        ray.get(done)
        yield under_way.pop(done)


def _count(empty: bytes, fields: Fields, table: object) -> bytes:
    """Return the state of a table."""
    state = from_bytes(empty)
    count_table(state, table, fields)
    return bytes(state.to_bytes())


def _count_block(empty: bytes, fields: Fields, table: object) -> object:
    """Return the state of an Arrow table as a table of one row."""
    import pyarrow as pa  # Ray alone does without

    return pa.table({"state": pa.array([_count(empty, fields, table)], pa.binary())})


def _count_table(empty: bytes, fields: Fields, table: object) -> tuple[bytes, None]:
    """Return the state of a table and, to learn of errors by, something that costs nothing to fetch."""
    return _count(empty, fields, table), None


def _merge(*payloads: Any) -> bytes:
    """Return the merge of the results of other tasks."""
    return bytes(merge(state for payload in payloads for state in _states(payload)).to_bytes())


def _states(payload: Any) -> Iterable[Any]:
    """Return the states in the result of a task: bytes, a state, or a table of bytes, which may have no columns."""
    if hasattr(payload, "column_names"):
        return map(from_bytes, payload["state"].to_pylist() if payload.num_rows else ())
    return [from_bytes(payload) if isinstance(payload, bytes) else payload]


_counting, _merging = ray.remote(_count_table), ray.remote(_merge)
