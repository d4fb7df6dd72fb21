"""Dask in two processes: tasks that fail, workers that die, sources that change; the bytes of one process."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import stream_metrics as sm

dask = pytest.importorskip("dask", reason="Dask is not installed; .ci/run installs it")
distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed; .ci/run installs it")

from stream_metrics.integrations.dask import accumulate  # noqa: E402
from stream_metrics.integrations.tables import Fields  # noqa: E402

PARTS = 12
FIELDS = Fields(weight="w")
Rows = list[tuple[str, int, float]]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A cluster of two processes on this machine."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as connected,
    ):
        yield connected


def rows(part: int) -> Rows:
    """Return the samples of a partition."""
    return [("cat", (part + at) % 3, 0.1) if at % 2 else (str(part), at % 3, 1.0) for at in range(50)]


def source(folder: Path, places: set[str], deadly: bool) -> tuple[Any, Callable[[int, Rows], Rows]]:
    """Return an accumulator and a function that reads, which fail on the first attempt in these places.

    What was counted or merged before is then in the state that fails. Both are made in a function, so that they go to
    the workers by value.
    """
    target = str(folder)

    def once(place: str) -> None:
        with contextlib.suppress(FileExistsError), open(f"{target}/{place}", "x"):
            if deadly:
                os._exit(1)
            raise OSError("first attempt")

    class Fails(sm.MetricSet):
        def update_many(self, *columns: Any, **named: Any) -> None:
            super().update_many(*columns, **named)
            if "count" in places:
                once("count")

        def merge(self, other: Any) -> Any:
            super().merge(other)
            if "merge" in places and self.n and other.n:
                once("merge")
            return self

    def read(part: int, content: Rows) -> Rows:
        if "read" in places and part == 1:
            once("read")
        with open(f"{target}/log", "a") as file:
            file.write(f"{part} ")
        return content

    return Fails(), read


def one_process() -> bytes:
    """Return the bytes of one process that has counted all partitions, sample by sample."""
    state = sm.MetricSet()
    for part in range(PARTS):
        for sample in rows(part):
            state.update(*sample)
    return state.to_bytes()


def test_futures_and_frames(client: Any) -> None:
    """Futures are partitions; data frames are counted on the workers."""
    pd = pytest.importorskip("pandas", reason="needs pandas")
    import dask.dataframe as dd

    tables = [pd.DataFrame(rows(part), columns=["y_true", "y_pred", "w"]) for part in range(PARTS)]
    kinds = {"y_true": "category", "y_pred": "category"}
    frame = dd.from_pandas(pd.concat(tables, ignore_index=True).astype(kinds), npartitions=4)
    futures = [client.submit(list, rows(part)) for part in range(PARTS)]
    for collection in (futures, frame):
        assert accumulate(collection, sm.MetricSet(), FIELDS).compute().to_bytes() == one_process()


def test_tasks_that_fail(client: Any, tmp_path: Path) -> None:
    """Reading, counting and merging raise half-way on their first attempts; the bytes are those of one process."""
    prototype, read = source(tmp_path, {"read", "count", "merge"}, deadly=False)
    parts = [dask.delayed(read)(part, rows(part)) for part in range(PARTS)]
    total = client.compute(accumulate(parts, prototype, FIELDS, fan_in=3), retries=3).result()

    assert {path.name for path in tmp_path.iterdir()} == {"log", "read", "count", "merge"}
    assert total.to_bytes() == one_process()


def test_a_source_that_has_changed(client: Any, tmp_path: Path) -> None:
    """A file that was counted before, and is another now, is read again, even if pure tasks are asked for."""
    path = str(tmp_path / "rows")

    def read(path: str) -> list[tuple[str, str]]:
        with open(path) as file:
            return [("cat", label) for label in file.read().split()]

    futures = []
    for content in ("cat dog", "cat cat cat"):
        Path(path).write_text(content)
        with dask.config.set(delayed_pure=True):
            part = dask.delayed(read)(path)
            futures.append(client.compute(accumulate([part], sm.Accuracy())))  # a result that is held
        distributed.wait(futures)

    assert [future.result().get() for future in futures] == [0.5, 1.0]


def test_workers_that_die(client: Any, tmp_path: Path) -> None:
    """A worker dies while it merges, and what it had counted is counted again; the bytes are those of one process."""
    prototype, read = source(tmp_path, {"merge"}, deadly=True)
    parts = [dask.delayed(read)(part, rows(part)) for part in range(PARTS)]
    total = accumulate(parts, prototype, FIELDS, fan_in=3).compute()

    assert {path.name for path in tmp_path.iterdir()} == {"log", "merge"}
    assert len((tmp_path / "log").read_text().split()) > PARTS
    assert total.to_bytes() == one_process()
