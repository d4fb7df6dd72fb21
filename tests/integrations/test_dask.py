"""Collections of Dask on its local schedulers: the bytes of one process, for any collection and partitions."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import random
import sys
import textwrap
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics.integrations.tables import Fields

dask = pytest.importorskip("dask", reason="Dask is not installed; .ci/run installs it")
pd = pytest.importorskip("pandas", reason="needs pandas")

import dask.array as da  # noqa: E402
import dask.bag as db  # noqa: E402
import dask.dataframe as dd  # noqa: E402
from dask.core import get_dependencies  # noqa: E402

from stream_metrics.integrations import dask as adapter  # noqa: E402
from stream_metrics.integrations.dask import accumulate  # noqa: E402

SCHEDULERS = pytest.mark.parametrize("scheduler", ["threads", "sync"])
CLASSES = ["cat", "dog", "cow"]
FIELDS = Fields("label", "guess")
WEIGHTED = Fields("label", "guess", weight="weight")
SOME = "id > 90 and id < 130"  # rows of two partitions of five


def table(n: int = 200) -> Any:
    """Return a data frame with labels, scores, weights, groups and times."""
    rng = random.Random(5)
    p = [round(rng.random(), 3) for _ in range(n)]
    return pd.DataFrame(
        {
            "label": [rng.choice(CLASSES) for _ in range(n)],
            "guess": [rng.choice(CLASSES) for _ in range(n)],
            "cat": p,
            "dog": [round(1 - x, 3) for x in p],
            "weight": [rng.choice([1, 2, 0.1]) for _ in range(n)],
            "country": [rng.choice(["fr", "de"]) for _ in range(n)],
            "at": pd.to_datetime([rng.randrange(7200) for _ in range(n)], unit="s"),
            "id": range(n),
        }
    )


def two_classes() -> Any:
    """Return these rows without the class that has no score."""
    rows = table()
    return rows[rows["label"] != "cow"].reset_index(drop=True)


def categorical(rows: Any) -> Any:
    """Return a data frame whose partitions each have categories of their own."""
    kinds = {"label": "category", "guess": "category"}
    return dd.from_pandas(rows, npartitions=5).map_partitions(lambda part: part.astype(kinds), meta=rows.astype(kinds))


CASES: dict[str, tuple[Callable[[], Any], Fields, Callable[[], Any]]] = {
    "state": (sm.ConfusionMatrix, FIELDS, table),
    "weights": (sm.MetricSet, WEIGHTED, table),
    "groups": (lambda: sm.ByGroup(sm.MetricSet()), Fields("label", "guess", group="country"), table),
    "window": (lambda: sm.TimeWindow(sm.MCC(), "1h", panes=4), Fields("label", "guess", time="at"), table),
    "column of scores": (lambda: sm.ROCAUC(pos_label="cat"), Fields("label", None, "cat"), two_classes),
    "columns of scores": (
        lambda: sm.MetricSet(scores=True),
        Fields("label", None, {"cat": "cat", "dog": "dog"}, "weight"),
        two_classes,
    ),
    "coarse": (
        lambda: sm.RankSketch(buckets=16, sample=8, pos_label="cat"),
        Fields("label", None, "cat"),
        two_classes,
    ),
}


def counted(state: Any, fields: Fields, frame: Any) -> Any:
    """Return the state after one process has fed it all rows at once."""
    columns = [fields.y_true, fields.y_pred or fields.scores]
    arguments = {"w": fields.weight, "group": fields.group, "t": fields.time}
    named = {name: frame[column] for name, column in arguments.items() if column is not None}
    if isinstance(fields.scores, dict):
        names = list(fields.scores)
        state.update_many(frame["label"], scores=frame[names].to_numpy(), classes=names, **named)
    else:
        state.update_many(*(frame[column] for column in columns), **named)
    return state


def tuples(frame: Any, fields: Fields) -> list[tuple[Any, ...]]:
    """Return rows with the columns that are read, in the order of the fields."""
    return list(frame[fields.columns()].itertuples(index=False, name=None))


def pieces(frame: Any, n: int = 5) -> list[Any]:
    """Return a frame in pieces."""
    return [frame.iloc[at * len(frame) // n : (at + 1) * len(frame) // n] for at in range(n)]


COLLECTIONS: dict[str, Callable[[Any, Fields], Any]] = {
    "frame": lambda frame, fields: dd.from_pandas(frame, npartitions=5),
    "categories": lambda frame, fields: categorical(frame),
    "empty partitions": lambda frame, fields: dd.from_pandas(frame, npartitions=5).query(SOME),
    "bag of mappings": lambda frame, fields: db.from_sequence(frame.to_dict("records"), npartitions=5),
    "bag of tuples": lambda frame, fields: db.from_sequence(tuples(frame, fields), npartitions=5),
    "bag of generators": lambda frame, fields: db.from_sequence(tuples(frame, fields), npartitions=5).filter(bool),
    "delayed": lambda frame, fields: [dask.delayed(part) for part in pieces(frame)],
    "columns": lambda frame, fields: [dask.delayed(part.to_dict("list")) for part in pieces(frame)],
    "tables": lambda frame, fields: iter(pieces(frame)),
    "one": lambda frame, fields: dask.delayed(frame),
}


@pytest.mark.parametrize("collection", ["frame", "bag of tuples"])
@pytest.mark.parametrize("case", CASES)
def test_every_accumulator(case: str, collection: str) -> None:
    """What is accumulated has the bytes of one process."""
    make, fields, rows = CASES[case]
    total = accumulate(COLLECTIONS[collection](rows(), fields), make(), fields, fan_in=2).compute(scheduler="sync")

    assert total.to_bytes() == counted(make(), fields, rows()).to_bytes()
    assert total.n > 0


@SCHEDULERS
@pytest.mark.parametrize("collection", COLLECTIONS)
def test_every_collection(collection: str, scheduler: str) -> None:
    """For any kind of collection, the merged state has the bytes of one process."""
    total = accumulate(COLLECTIONS[collection](table(), WEIGHTED), sm.MetricSet(), WEIGHTED)
    rows = table().query(SOME) if collection == "empty partitions" else table()

    assert total.compute(scheduler=scheduler).to_bytes() == counted(sm.MetricSet(), WEIGHTED, rows).to_bytes()


def test_arrow(tmp_path: Path) -> None:
    """Record batches are partitions, and Parquet files a data frame."""
    pa = pytest.importorskip("pyarrow", reason="needs Arrow")
    from pyarrow import parquet

    whole = pa.Table.from_pandas(table().astype({"label": "category"}))
    for at in range(4):
        parquet.write_table(whole[at * 50 : at * 50 + 50], tmp_path / f"{at}.parquet")
    collections = [[dask.delayed(batch) for batch in whole.to_batches(30)], dd.read_parquet(tmp_path)]

    assert isinstance(collections[1]["label"].dtype, pd.CategoricalDtype)
    for total in dask.compute(*(accumulate(c, sm.MetricSet(), WEIGHTED) for c in collections), scheduler="sync"):
        assert total.to_bytes() == counted(sm.MetricSet(), WEIGHTED, table()).to_bytes()


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

    assert (total.n, asked) == (40, [["label", "guess", "weight"]] * 2)


def test_the_prototype_is_left_alone() -> None:
    """What the prototype has counted is neither taken over nor changed; a class of one's own is kept, and merges."""
    merged = []

    class Own(sm.MetricSet):
        def merge(self, other: Any) -> Any:
            merged.append(other.n)
            return super().merge(other)

    mine = Own()
    mine.update("cat", "dog")
    total = accumulate([[("cat", "cat")] * n for n in range(4)], mine, fan_in=2).compute(scheduler="sync")

    assert type(total) is Own
    assert (total.n, total.get()["accuracy"], mine.n) == (6, 1.0, 1)
    assert sorted(merged) == [0, 1, 1, 3, 5]  # the check that it merges, two pairs, an empty one with both


FRAME = dd.from_pandas(table(4), npartitions=1)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([], 5), ValueError, "Expected `prototype` to be a state, a metric or a set of metrics, but got 5"),
        (([], sm.Rolling(sm.MCC(), 5)), ValueError, "Expected `prototype` to be mergeable, but: "),
        ((table(4), sm.MCC()), TypeError, "an iterable of partitions, but got DataFrame"),
        (({"y_true": [1]}, sm.MCC()), TypeError, "an iterable of partitions, but got dict"),
        ((FRAME["label"], sm.MCC()), sm.LabelError, "Expected 'y_true' to be a column"),
        ((FRAME, sm.MCC(), Fields("label", "prediction")), sm.LabelError, "'prediction' to be a column of .*'guess'"),
    ],
)
def test_what_is_refused(arguments: Any, error: type[Exception], message: str) -> None:
    """What cannot be accumulated is refused before anything is computed."""
    with pytest.raises(error, match=message):
        accumulate(*arguments)


@pytest.mark.parametrize("fan_in", [1, 2.0])
def test_fan_in(fan_in: Any) -> None:
    """A tree that would not end is refused."""
    with pytest.raises(ValueError, match="Expected `fan_in` to be a whole number above 1, but got"):
        accumulate([], sm.MCC(), fan_in=fan_in)


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        (
            [(1, 1), (1, 1, 1)],
            sm.LabelError,
            r"rows of 2, \['y_true', 'y_pred'\], but got \(1, 1, 1\) at position 1 of partition 0",
        ),
        ([{"y_true": 1, "y_pred": 1}, {"y_true": 1}], sm.LabelError, "Expected 'y_pred' to be in every row"),
        ([(1, 1), (float("nan"), 1)], sm.LabelError, "`y_true` at position 1 of partition 0"),
        ([(1, 1), 5], sm.LabelError, "rows of 2, .* but got 5 at position 1 of partition 0"),
        ({"y_true": [1]}, sm.LabelError, "Expected 'y_pred' to be a column of the table"),
    ],
)
def test_bad_partitions(rows: Any, error: type[Exception], message: str) -> None:
    """What is wrong in a partition is raised when it is computed."""
    with pytest.raises(error, match=message):
        accumulate([rows], sm.MCC()).compute(scheduler="sync")


def test_the_examples() -> None:
    """The examples of the module run: groups of a data frame, and arrays chunk by chunk."""
    truth, guess = (da.from_array(table()[name].to_numpy(str), chunks=70) for name in FIELDS.columns())
    scores = da.from_array(np.full((200, 3), 1 / 3), chunks=(50, 2))
    names = {"dask": dask, "truth": truth, "guess": guess, "scores": scores}
    lines = inspect.getdoc(adapter).splitlines()
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(textwrap.dedent("\n".join(line for line in lines if line.startswith("    "))), names)

    assert out.getvalue() == "1.0 0.6666666666666666\nNo bad rows\n"
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
    with pytest.raises(sm.LabelError, match=r"Expected 2 arrays, for .*, but got 1"):
        accumulate((t,), sm.MetricSet())
    with pytest.raises(sm.LabelError, match="'y_pred' to be a column of the mapping"):
        accumulate({"y_true": t}, sm.MetricSet())


def with_bad_rows() -> Any:
    """Return rows, two of which are bad."""
    rows = table()
    rows.loc[[3, 95], "label"] = None
    return rows


@pytest.mark.parametrize("collection", sorted(set(COLLECTIONS) - {"empty partitions"}))
def test_bad_rows_are_counted(collection: str) -> None:
    """The state is that of the good rows, and the record has partition and row, regardless of the collection."""
    rows = with_bad_rows()
    parts = COLLECTIONS[collection](rows, FIELDS)
    total, bad = accumulate(parts, sm.MetricSet(), FIELDS, on_bad="count", fan_in=2).compute(scheduler="sync")

    assert total == counted(sm.MetricSet(), FIELDS, rows.dropna())
    places = [(None, 0, 3), (None, 0, 95)] if collection == "one" else [(None, 0, 3), (None, 2, 15)]
    assert [row[:3] for row in bad.first] == places
    with pytest.raises(sm.LabelError, match=r"at position (3|15|95) of partition"):
        accumulate(COLLECTIONS[collection](rows, FIELDS), sm.MetricSet(), FIELDS).compute(scheduler="sync")


def test_rows_without_a_column_are_bad() -> None:
    """Rows of a bag that lack a column, or are no rows, are recorded in their order with their own numbers."""
    rows = [("a", "a"), ("a",), 5, ("b", None), (None, "a"), "ab"]
    total, bad = accumulate([rows, []], sm.MetricSet(), on_bad="count").compute(scheduler="sync")

    assert (total.n, total.abstained) == (1, 1)
    assert [row.row for row in bad.first] == [1, 2, 4, 5]


def test_a_wrong_column() -> None:
    """Identifiers as labels raise, in a partition or where partitions are merged."""
    frame = dd.from_pandas(table(), npartitions=5)
    for most in (30, 150):
        with pytest.raises(sm.LabelError, match=f"labels of column 'id' to be at most {most}, but"):
            accumulate(frame, sm.MetricSet(), Fields("id", "guess"), max_labels=most).compute(scheduler="sync")
    assert accumulate(frame, sm.MetricSet(), Fields("id", "guess"), max_labels=203).compute(scheduler="sync").n == 200


def keyed() -> Any:
    """Return rows with keys of several types, some missing."""
    rows = table()
    rows["number"] = [1.5, None, -0.0, 0.0] * 50
    rows["text"] = ["x", None] * 100
    rows["kind"] = pd.Categorical(["u", "v", None, "u"] * 50)
    return rows


@pytest.mark.parametrize(
    "keys", ["country", "id", "number", "at", "kind", ["text", "number"], ["country", "kind", "id"]]
)
def test_states_by_key(keys: Any) -> None:
    """There is a row for each group of `groupby`, missing keys among them, with the bytes of its rows."""
    rows, names = keyed(), [keys] if isinstance(keys, str) else keys
    frame = dd.from_pandas(rows, npartitions=5)
    states = adapter.accumulate_by(frame, keys, sm.MetricSet(), FIELDS, npartitions=3)
    result = states.compute(scheduler="sync")

    def plain(values: Any) -> tuple[Any, ...]:
        return tuple(None if pd.isna(value) else value for value in values)

    expected = {
        plain(key if isinstance(key, tuple) else (key,)): counted(sm.MetricSet(), FIELDS, part).to_bytes()
        for key, part in rows.groupby(names, dropna=False, observed=True)
    }
    by_key = {plain(row[:-1]): row[-1] for row in result[[*names, "state"]].itertuples(index=False, name=None)}
    assert by_key == expected
    assert len(result) == len(expected)
    assert states.npartitions == 3
    assert list(states.columns) == [*names, "state"]


def test_states_by_the_index_and_bad_rows() -> None:
    """The index can be a key and a column that is counted; bad rows come of the same pass."""
    rows = with_bad_rows()
    frame = dd.from_pandas(rows.set_index("country"), npartitions=4, sort=False)
    states, bad = adapter.accumulate_by(frame, "country", sm.MetricSet(), FIELDS, on_bad="count")
    parts, record = dask.compute(states.to_delayed(), bad, scheduler="sync")
    merged = {row.country: sm.from_bytes(row.state) for part in parts for row in part.itertuples()}

    assert merged == {key: counted(sm.MetricSet(), FIELDS, part) for key, part in rows.dropna().groupby("country")}
    assert [row[1:3] for row in record.first] == [(0, 3), (1, 45)]
    by = accumulate(frame, sm.ByGroup(sm.MetricSet()), Fields("label", "guess", group="country"), on_bad="count")
    assert by.compute(scheduler="sync").state.state("fr") == merged["fr"]


def test_what_states_by_key_refuse() -> None:
    """Keys that there are not, that come twice or are called state, and what is no data frame."""
    for keys in ("state", ["country", "country"], []):
        with pytest.raises(ValueError, match="`keys` to be columns, each once, and none called 'state'"):
            adapter.accumulate_by(FRAME, keys, sm.MCC(), FIELDS)
    with pytest.raises(sm.LabelError, match="'nope' to be a column of the data frame"):
        adapter.accumulate_by(FRAME, "nope", sm.MCC(), FIELDS)
    with pytest.raises(TypeError, match="a data frame of Dask, but got DataFrame"):
        adapter.accumulate_by(table(4), "country", sm.MCC(), FIELDS)
    with pytest.raises(ValueError, match="`inner` of a ByGroup to have no groups"):
        adapter.accumulate_by(FRAME, "country", sm.ByGroup(sm.MCC()), FIELDS)
    with pytest.raises(ValueError, match="`npartitions` to be a whole number above 0, but got 0"):
        adapter.accumulate_by(FRAME, "country", sm.MCC(), FIELDS, npartitions=0)


def test_without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Dask the import says what to install."""
    monkeypatch.setitem(sys.modules, "dask.delayed", None)
    monkeypatch.delitem(sys.modules, adapter.__name__)

    with pytest.raises(ImportError, match=r"stream-metrics\[dask\]"):
        importlib.import_module(adapter.__name__)
