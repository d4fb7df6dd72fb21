"""What holds for every engine: the bytes of one process, bad rows, limits, keys, and what is refused."""

from __future__ import annotations

import importlib
import sys
from functools import partial
from pathlib import Path

import pytest

pa = pytest.importorskip("pyarrow", reason="needs PyArrow")
pd = pytest.importorskip("pandas", reason="needs pandas")

from support.engines import BY_KEY, CASES, COUNT, FIELDS, counted, parts, table  # noqa: E402
from support.refusals import all_refused, refused  # noqa: E402

import stream_metrics as sm  # noqa: E402

pytestmark = pytest.mark.filterwarnings(
    r"ignore:.* is deprecated:DeprecationWarning:ray\.data"  # Ray Data warns of its own options
)
BAD = (3, 255)  # rows 3 of the first part, and 4 of the last one


@pytest.fixture(scope="module", params=COUNT)
def engine(request: pytest.FixtureRequest) -> str:
    """The name of an engine that is there."""
    return started(request)


@pytest.fixture(scope="module", params=BY_KEY)
def grouping(request: pytest.FixtureRequest) -> str:
    """The name of an engine that is there, and returns states by key."""
    return started(request)


def started(request: pytest.FixtureRequest) -> str:
    """Start an engine that has a session, and return its name."""
    pytest.importorskip({"beam": "apache_beam", "spark": "pyspark"}.get(request.param, request.param))
    if request.param in ("ray", "spark"):
        request.getfixturevalue(request.param)
    return str(request.param)


def test_parts_merge_to_the_bytes_of_one_process(engine: str, tmp_path: Path) -> None:
    """Every accumulator; the prototype is a configuration, whose counts are neither taken over nor changed."""
    for name, (make, fields) in CASES.items():
        prototype = counted(make(), fields, table().slice(0, 20))
        before = prototype.to_bytes()
        state = COUNT[engine](parts(table()), tmp_path, prototype, fields)

        assert type(state) is type(prototype)
        assert state.to_bytes() == counted(make(), fields, table()).to_bytes(), name
        assert state.n > 0
        assert prototype.to_bytes() == before
    assert COUNT[engine]([], tmp_path, prototype, fields) == make()


def test_bad_rows(engine: str, tmp_path: Path) -> None:
    """The state is that of the good rows, and the record names partition and row; without it the first one raises."""
    whole = table(BAD)
    state, bad = COUNT[engine](parts(whole), tmp_path, sm.MetricSet(), FIELDS, on_bad="count")

    assert state == counted(sm.MetricSet(), FIELDS, whole.filter(pa.compute.is_valid(whole["label"])))
    assert (bad.n, ["y_true" in row.error for row in bad.first]) == (2, [True, True])
    if engine == "beam":
        assert {(row.partition, row.row) for row in bad.first} == {(None, None)}
    else:  # Spark numbers files as it likes
        assert sorted(row.row for row in bad.first) == [3, 4]
        assert {row.partition for row in bad.first} == {0, 4} or engine == "spark"
    with pytest.raises(Exception, match="y_true") as error:
        COUNT[engine](parts(whole), tmp_path, sm.MetricSet(), FIELDS)
    assert isinstance(error.value, sm.LabelError) or engine == "spark"


def test_labels_are_limited(engine: str, tmp_path: Path) -> None:
    """Identifiers as labels raise in a part, or where parts are merged; a limit that is just large enough does not."""
    fields = FIELDS._replace(y_true="id")
    whole = counted(sm.MetricSet(), fields, table())
    labels = len(whole.snapshot().labels)
    count = partial(COUNT[engine], parts(table()), tmp_path, sm.MetricSet())
    for most, weight in [(100, None), (labels - 1, None), (100, "weight")]:  # without weights Spark counts itself
        with pytest.raises(Exception, match=f"labels of column '.*' to be at most {most}, but") as error:
            count(fields._replace(weight=weight), max_labels=most)
        assert isinstance(error.value, sm.LabelError) or engine == "spark"
    for most in (labels, None):
        assert count(fields, max_labels=most) == whole


def test_what_is_refused(engine: str, tmp_path: Path) -> None:
    """What does not merge, options that are not allowed and columns that are not there raise before anything runs."""
    count = partial(COUNT[engine], parts(table()), tmp_path)
    all_refused(
        [
            (partial(count, 0.5, FIELDS), ValueError, "`prototype` to be a state"),
            (partial(count, sm.Rolling(sm.MCC(), 5), FIELDS), ValueError, "`prototype` to be mergeable"),
            (partial(count, sm.ByGroup(sm.Rolling(sm.MCC(), 5)), FIELDS), ValueError, "`prototype` to be mergeable"),
            (partial(count, sm.MCC(), FIELDS, on_bad="ignore"), ValueError, "`on_bad`"),
            (partial(count, sm.MCC(), FIELDS._replace(y_pred="nothing")), sm.LabelError, "to be a column of"),
            *((partial(count, sm.MCC(), FIELDS, max_labels=n), ValueError, "`max_labels`") for n in (0, 1.5, True)),
        ]
    )


def test_states_by_key(grouping: str, tmp_path: Path) -> None:
    """There is a row for each key, null among them, with the bytes of its good rows, and the record of the others."""
    good = table().filter(pa.array([at not in BAD for at in range(len(table()))])).to_pandas()
    expected = {
        None if pd.isna(key) else key: counted(sm.MetricSet(), FIELDS, pa.Table.from_pandas(rows)).to_bytes()
        for key, rows in good.groupby("country", dropna=False)
    }
    count = partial(BY_KEY[grouping], parts(table(BAD)), tmp_path)
    rows, bad = count("country", sm.MetricSet(), FIELDS, on_bad="count")

    assert {None if pd.isna(key) else key: bytes(state) for key, state in rows} == expected
    assert len(expected) == 3
    assert (bad.n, sorted(row.row for row in bad.first)) == (2, [3, 4])
    with pytest.raises(Exception, match="y_true"):
        list(count("country", sm.MetricSet(), FIELDS)[0])
    all_refused(
        [
            (partial(count, [], sm.MCC(), FIELDS), ValueError, "`keys`"),
            (partial(count, "country", sm.Rolling(sm.MCC(), 5), FIELDS), ValueError, "mergeable"),
            (partial(count, "country", sm.MCC(), FIELDS, on_bad="ignore"), ValueError, "`on_bad`"),
        ]
    )
    for weight in (None, "weight"):
        fields = FIELDS._replace(y_true="id", weight=weight)
        count = partial(BY_KEY[grouping], parts(table()), tmp_path, "country", sm.MetricSet(), fields)
        refused(lambda count=count: list(count(max_labels=60)[0]), Exception, "to be at most 60, but")
        assert len(list(count(max_labels=700)[0])) == 3


def test_what_to_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its library an adapter says on import which extra has it."""
    needed = {
        "beam": "apache_beam",
        "dask": "dask.delayed",
        "ray": "ray",
        "river": "river",
        "spark": "pyspark.sql",
        "torch": "torch.distributed",
        "torchmetrics": "torchmetrics",
    }
    for extra, library in needed.items():
        name = f"stream_metrics.integrations.{extra}"
        monkeypatch.setitem(sys.modules, library, None)
        monkeypatch.delitem(sys.modules, name, raising=False)
        refused(partial(importlib.import_module, name), ImportError, f"stream-metrics[{extra}]")
