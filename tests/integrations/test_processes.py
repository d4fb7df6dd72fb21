"""concurrent.futures and joblib: states travel by pickle, and merge to the bytes of one process."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from itertools import pairwise

import pytest
import support.process_workers as workers
from hypothesis import example, given
from hypothesis import strategies as st
from support.refusals import refused

import stream_metrics as sm

EDGES = [0, 17, 200, 200, workers.ROWS]  # parts of uneven size, one of them empty


@pytest.fixture(scope="module")
def executor() -> Iterator[ProcessPoolExecutor]:
    """Two processes that are started afresh, as on every system."""
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        yield pool


def whole(name: str) -> bytes:
    """Return the bytes of one process."""
    return bytes(workers.count(workers.PROTOTYPES[name](), 0, workers.ROWS).to_bytes())


@given(edges=st.lists(st.integers(0, workers.ROWS), max_size=4), name=st.sampled_from(sorted(workers.PROTOTYPES)))
@example(edges=EDGES[1:-1], name="groups of windows")
def test_any_split_over_processes(executor: ProcessPoolExecutor, edges: list[int], name: str) -> None:
    """However rows are split, also when a process goes on from what another sent, states merge to the same bytes."""
    prototype = workers.PROTOTYPES[name]()
    first, *others = pairwise([0, *sorted(edges), workers.ROWS])
    begun = executor.submit(workers.count, prototype, *first).result()
    tasks = [executor.submit(workers.count, begun, *part) for part in others[:1]]
    tasks += [executor.submit(workers.count, prototype, *part) for part in others[1:]]
    total = sm.merge([task.result() for task in as_completed(tasks)] or [begun])

    assert type(total) is type(prototype)
    assert total.to_bytes() == whole(name)
    assert prototype.n == 0


def test_joblib() -> None:
    """`Parallel` gives states to merge, from processes and from threads."""
    joblib = pytest.importorskip("joblib", reason="needs joblib")

    for backend in ("loky", "threading"):
        job = joblib.delayed(workers.count)
        jobs = (job(sm.MetricSet(), low, high) for low, high in pairwise(EDGES))
        total = sm.merge(joblib.Parallel(n_jobs=2, backend=backend)(jobs))

        assert total.to_bytes() == whole("set")


def test_states_that_depend_on_order_travel_too(executor: ProcessPoolExecutor) -> None:
    """A process can go on with a window of samples, or one that fades, where another left off."""
    half = workers.ROWS // 2
    for state in (sm.Rolling(sm.MCC(), 50), sm.Fading(sm.MetricSet(), half_life=100)):
        begun = executor.submit(workers.count, state, 0, half).result()
        done = executor.submit(workers.count, begun, half, workers.ROWS).result()
        assert done.to_bytes() == workers.count(state.copy(), 0, workers.ROWS).to_bytes()


def test_errors_come_back_as_they_are(executor: ProcessPoolExecutor) -> None:
    """What a process raises is raised here, with its type, its fields and its words."""
    here = refused(partial(workers.refuse, sm.MCC()), sm.LabelError)
    there = refused(executor.submit(workers.refuse, sm.MCC()).result, sm.LabelError)

    assert (str(there), there.argument, there.position) == (str(here), "y_true", 0)


def test_snapshots_and_aggregates_come_back(executor: ProcessPoolExecutor) -> None:
    """A snapshot says the same in another process, and an aggregate holds the same workers."""
    state = workers.count(sm.MetricSet(), 0, workers.ROWS)
    aggregate = sm.Aggregate()
    aggregate.put("worker", state, 1)

    assert executor.submit(workers.returned, state.snapshot()).result().to_json() == state.snapshot().to_json()
    assert executor.submit(workers.returned, aggregate).result().to_bytes() == aggregate.to_bytes()
