"""Dask: the bytes of one process for any collection and partitions; in two processes, whatever fails."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import run_example
from support.refusals import all_refused, refused

import stream_metrics as sm
from stream_metrics.tables.fields import Fields

dask = pytest.importorskip("dask", reason="Dask is not installed; .ci/run installs it")
pd = pytest.importorskip("pandas", reason="needs pandas")
pytest.importorskip("pyarrow", reason="needs Arrow")

import dask.array as da  # noqa: E402
import dask.bag as db  # noqa: E402
import dask.dataframe as dd  # noqa: E402
from dask.core import get_dependencies  # noqa: E402
from support import engines  # noqa: E402
from support.engines import FIELDS  # noqa: E402

from stream_metrics.integrations import dask as adapter  # noqa: E402
from stream_metrics.integrations.dask import accumulate, accumulate_by  # noqa: E402

WEIGHTED = FIELDS._replace(weight="weight")
KINDS = {"label": "category", "guess": "category"}
SOME = "id > 90 and id < 130"  # rows of two partitions of five


def table(n: int = 200) -> Any:
    """Return a data frame with labels, weights, and keys of several types, some missing."""
    rows = engines.table().slice(0, n).to_pandas().astype({"label": object})
    kind = pd.Categorical([("u", "v", None, "u")[at % 4] for at in range(n)])
    number, text = [(1.5, None, -0.0, 0.0)[at % 4] for at in range(n)], [("x", None)[at % 2] for at in range(n)]
    return rows.assign(id=range(n), number=number, text=text, kind=kind, country=rows["site"])


def counted(rows: Any, weight: bool = False) -> Any:
    """Return the state of rows in one process."""
    state = sm.MetricSet()
    state.update_many(rows["label"], rows["guess"], rows["weight"] if weight else None)
    return state


def tuples(rows: Any) -> list[tuple[Any, ...]]:
    """Return rows with the columns that are read, in the order of the fields."""
    return list(rows[["label", "guess", "weight"]].itertuples(index=False, name=None))


def pieces(rows: Any, n: int = 5) -> list[Any]:
    """Return a frame in pieces."""
    return [rows.iloc[at * len(rows) // n : (at + 1) * len(rows) // n] for at in range(n)]


def framed(rows: Any) -> Any:
    """Return rows as a data frame of Dask."""
    return dd.from_pandas(rows, npartitions=5)


COLLECTIONS: dict[str, Callable[[Any], Any]] = {
    "frame": framed,
    "categories": lambda rows: framed(rows).map_partitions(lambda part: part.astype(KINDS), meta=rows.astype(KINDS)),
    "empty partitions": lambda rows: framed(rows).query(SOME),
    "bag of mappings": lambda rows: db.from_sequence(rows.to_dict("records"), npartitions=5),
    "bag of tuples": lambda rows: db.from_sequence(tuples(rows), npartitions=5),
    "bag of generators": lambda rows: db.from_sequence(tuples(rows), npartitions=5).filter(bool),
    "delayed": lambda rows: [dask.delayed(part) for part in pieces(rows)],
    "columns": lambda rows: [dask.delayed(part.to_dict("list")) for part in pieces(rows)],
    "tables": lambda rows: iter(pieces(rows)),
    "one": dask.delayed,
}


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_every_collection(collection: str) -> None:
    """The state has the bytes of one process; bad rows are recorded with partition and row, or raise."""
    rows, collect = table(), COLLECTIONS[collection]
    chosen = rows.query(SOME) if collection == "empty partitions" else rows
    for scheduler in ("threads", "sync"):
        total = accumulate(collect(rows), sm.MetricSet(), WEIGHTED).compute(scheduler=scheduler)
        assert total.to_bytes() == counted(chosen, weight=True).to_bytes()

    rows.loc[[3, 95], "label"] = None
    job = accumulate(collect(rows), sm.MetricSet(), WEIGHTED, on_bad="count", fan_in=2)
    total, bad = job.compute(scheduler="sync")
    chosen = rows.query(SOME) if collection == "empty partitions" else rows
    places = {"one": [(None, 0, 3), (None, 0, 95)], "empty partitions": [(None, 2, 4)]}
    assert total == counted(chosen.dropna(subset="label"), weight=True)
    assert [row[:3] for row in bad.first] == places.get(collection, [(None, 0, 3), (None, 2, 15)])
    with pytest.raises(sm.LabelError, match=r"at position (3|4|15|95) of partition"):
        accumulate(collect(rows), sm.MetricSet(), WEIGHTED).compute(scheduler="sync")


@given(parts=st.lists(st.integers(0, 4), max_size=40), fan_in=st.integers(2, 5))
def test_the_tree(parts: list[int], fan_in: int) -> None:
    """Any number of partitions, empty ones and none at all too, is merged in tasks of at most `fan_in` states."""
    rows = [("cat", at % 3) for at in range(sum(parts))]
    ends = np.cumsum([0, *parts]).tolist()
    bag = [rows[start:end] for start, end in pairwise(ends)]
    total = accumulate(bag, sm.MetricSet(), fan_in=fan_in)
    whole = sm.MetricSet()
    for row in rows:
        whole.update(*row)

    assert total.compute(scheduler="sync").to_bytes() == whole.to_bytes()
    graph = dict(total.dask)
    assert max(len(get_dependencies(graph, key)) for key in graph) <= fan_in


def test_nothing_runs_before_compute() -> None:
    """Partitions are read when the state is computed, each once for several states."""
    read = []

    def part(at: int) -> list[tuple[int, int]]:
        read.append(at)
        return [(at, 0)]

    parts = [dask.delayed(part)(at) for at in range(3)]
    both = accumulate(parts, sm.MetricSet()), accumulate(parts, sm.ConfusionMatrix())
    assert read == []

    first, second = dask.compute(*both, scheduler="sync")
    assert sorted(read) == [0, 1, 2]
    assert first.state == second
    total = dask.delayed(sm.merge)([both[0], both[0]])
    assert total.compute(scheduler="sync").n == 6


def test_only_columns_that_are_counted_are_read() -> None:
    """A source that can leave out columns is asked for those of the fields."""
    asked = []

    class Source:
        def __dask_tokenize__(self) -> str:
            return "source"

        def __call__(self, at: int, columns: list[str]) -> Any:
            asked.append(list(columns))
            return table(20)[columns]

    frame = dd.from_map(Source(), range(2), meta=table(1), columns=list(table(1).columns))
    total = accumulate(frame, sm.MetricSet(), WEIGHTED).compute(scheduler="sync")

    assert (total.n + total.abstained, asked) == (40, [["label", "guess", "weight"]] * 2)


def test_what_is_refused() -> None:
    """What cannot be accumulated is refused before anything is computed, and rows when they are."""
    rows, frame = table(4), dd.from_pandas(table(4), npartitions=1)
    calls = [
        (partial(accumulate, rows, sm.MCC()), TypeError, "an iterable of partitions, but got DataFrame"),
        (partial(accumulate, {"y_true": [1]}, sm.MCC()), TypeError, "an iterable of partitions, but got dict"),
        (partial(accumulate, frame["label"], sm.MCC()), sm.LabelError, "Expected 'y_true' to be a column"),
        *((partial(accumulate, [], sm.MCC(), fan_in=n), ValueError, "whole number above 1") for n in (1, 2.0)),
        *(
            (partial(accumulate_by, frame, keys, sm.MCC(), FIELDS), ValueError, "each once, and none called 'state'")
            for keys in ("state", ["country", "country"])
        ),
        (partial(accumulate_by, frame, "nope", sm.MCC(), FIELDS), sm.LabelError, "a column of the data frame"),
        (partial(accumulate_by, rows, "country", sm.MCC(), FIELDS), TypeError, "of Dask, but got DataFrame"),
        (partial(accumulate_by, frame, "id", sm.ByGroup(sm.MCC()), FIELDS), ValueError, "to have no groups"),
        (partial(accumulate_by, frame, "id", sm.MCC(), FIELDS, npartitions=0), ValueError, "`npartitions`"),
    ]
    place = "at position 1 of partition 0"
    for part, about in [
        ([(1, 1), (1, 1, 1)], f"rows of 2, ['y_true', 'y_pred'], but got (1, 1, 1) {place}"),
        ([{"y_true": 1, "y_pred": 1}, {"y_true": 1}], "Expected 'y_pred' to be in every row"),
        ([(1, 1), (float("nan"), 1)], f"`y_true` {place}"),
        ([(1, 1), 5], f"but got 5 {place}"),
        ({"y_true": [1]}, "Expected 'y_pred' to be a column of the table"),
    ]:
        compute = accumulate([part], sm.MCC()).compute
        calls.append((partial(compute, scheduler="sync"), sm.LabelError, about))
    all_refused(calls)


def test_the_examples() -> None:
    """The examples of the module run: groups of a data frame, and arrays chunk by chunk."""
    truth, guess = (da.from_array(table()[name].to_numpy(str), chunks=70) for name in FIELDS.columns())
    scores = da.from_array(np.full((200, 3), 1 / 3), chunks=(50, 2))
    names = {"dask": dask, "truth": truth, "guess": guess, "scores": scores}

    assert run_example(adapter, names) == ["1.0 0.6666666666666666", "No bad rows"]
    assert sorted(names["states"].compute(scheduler="sync").country) == ["de", "fr"]


def test_arrays() -> None:
    """Arrays by name and by position, of other chunks, and tables of scores, are counted block by block."""
    rng = np.random.default_rng(1)
    truth, guess, scores = rng.integers(0, 3, 100), rng.integers(0, 3, 100), rng.dirichlet([1, 1, 1], 100)
    pairs, soft = sm.MetricSet(), sm.MetricSet(scores=True)
    pairs.update_many(truth, guess)
    soft.update_many(truth, scores=scores, classes=[0, 1, 2])
    t, p, s = (da.from_array(x, chunks=c) for x, c in ((truth, 30), (guess, 41), (scores, (17, 2))))
    fields = Fields(y_pred=None, scores="s", classes=[0, 1, 2])

    for arrays in (
        (t, p),
        {"y_pred": p, "more": s, "y_true": t},
        {"y_true": t[t >= 0], "y_pred": p.rechunk(30)[t >= 0]},
    ):
        assert accumulate(arrays, sm.MetricSet()).compute(scheduler="sync") == pairs
    assert accumulate((t, s), sm.MetricSet(scores=True), fields).compute(scheduler="sync") == soft
    refused(partial(accumulate, (t,), sm.MetricSet()), sm.LabelError, "Expected 2 arrays, for ")
    refused(partial(accumulate, {"y_true": t}, sm.MetricSet()), sm.LabelError, "'y_pred' to be a column of the mapping")


def test_rows_without_a_column_are_bad() -> None:
    """Rows of a bag that lack a column, or are no rows, are recorded in their order with their own numbers."""
    rows = [("a", "a"), ("a",), 5, ("b", None), (None, "a"), "ab"]
    total, bad = accumulate([rows, []], sm.MetricSet(), on_bad="count").compute(scheduler="sync")

    assert (total.n, total.abstained) == (1, 1)
    assert [row.row for row in bad.first] == [1, 2, 4, 5]


def test_states_by_key() -> None:
    """There is a row for each group of `groupby`, missing keys among them, with the bytes of its rows."""
    rows = table()

    def plain(values: Any) -> tuple[Any, ...]:
        return tuple(None if pd.isna(value) else value for value in values)

    for keys in ("id", "number", "at", "kind", ["text", "number"], ["country", "kind", "id"]):
        names = [keys] if isinstance(keys, str) else keys
        states = accumulate_by(framed(rows), keys, sm.MetricSet(), FIELDS, npartitions=3)
        expected = {
            plain(key if isinstance(key, tuple) else (key,)): counted(part).to_bytes()
            for key, part in rows.groupby(names, dropna=False, observed=True)
        }
        result = states.compute(scheduler="sync")
        by_key = {plain(row[:-1]): row[-1] for row in result.itertuples(index=False, name=None)}
        assert by_key == expected, keys
        assert len(result) == len(expected)
        assert (states.npartitions, list(states.columns)) == (3, [*names, "state"])


def test_states_by_the_index_and_bad_rows() -> None:
    """The index can be a key and a column that is counted; bad rows come of the same pass."""
    rows = table()
    rows.loc[[3, 95], "label"] = None
    frame = dd.from_pandas(rows.set_index("country"), npartitions=4, sort=False)
    states, bad = accumulate_by(frame, "country", sm.MetricSet(), FIELDS, on_bad="count")
    parts, record = dask.compute(states.to_delayed(), bad, scheduler="sync")
    merged = {row.country: sm.from_bytes(row.state) for part in parts for row in part.itertuples()}

    good = rows.dropna(subset="label")
    assert merged == {key: counted(part) for key, part in good.groupby("country")}
    assert [row[1:3] for row in record.first] == [(0, 3), (1, 45)]
    by = accumulate(frame, sm.ByGroup(sm.MetricSet()), Fields("label", "guess", group="country"), on_bad="count")
    assert by.compute(scheduler="sync").state.state("fr") == merged["fr"]


PARTS = 12
WITH_W = Fields(weight="w")
Rows = list[tuple[str, int, float]]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A cluster of two processes on this machine."""
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed; .ci/run installs it")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as connected,
    ):
        yield connected


def rows(part: int) -> Rows:
    """Return the samples of a partition."""
    return [("cat", (part + at) % 3, 0.1) if at % 2 else (str(part), at % 3, 1.0) for at in range(50)]


def source(folder: Path, places: set[str]) -> tuple[Any, Callable[[int, Rows], Rows]]:
    """Return an accumulator and a function that reads, which fail on the first attempt in these places.

    What was counted or merged before is then in the state that fails. Both are made in a function, so that they go to
    the workers by value.
    """
    target = str(folder)

    def once(place: str) -> None:
        with contextlib.suppress(FileExistsError), open(f"{target}/{place}", "x"):
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
    tables = [pd.DataFrame(rows(part), columns=["y_true", "y_pred", "w"]) for part in range(PARTS)]
    kinds = {"y_true": "category", "y_pred": "category"}
    frame = dd.from_pandas(pd.concat(tables, ignore_index=True).astype(kinds), npartitions=4)
    futures = [client.submit(list, rows(part)) for part in range(PARTS)]
    for collection in (futures, frame):
        assert accumulate(collection, sm.MetricSet(), WITH_W).compute().to_bytes() == one_process()


def test_tasks_that_fail(client: Any, tmp_path: Path) -> None:
    """Reading, counting and merging raise half-way on their first attempts; the bytes are those of one process."""
    prototype, read = source(tmp_path, {"read", "count", "merge"})
    parts = [dask.delayed(read)(part, rows(part)) for part in range(PARTS)]
    total = client.compute(accumulate(parts, prototype, WITH_W, fan_in=3), retries=3).result()

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
        client.gather(futures)

    assert [future.result().get() for future in futures] == [0.5, 1.0]
