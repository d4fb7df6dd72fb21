"""One table for all engines: how each counts tables that are its partitions, and what one process counts."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import stream_metrics as sm
from stream_metrics.tables.fields import Fields

ROWS = 600
CLASSES = ("cat", "cow", "dog")
NAMED = {name: f"p_{name}" for name in CLASSES}
FIELDS = Fields("label", "guess")
CASES: dict[str, tuple[Callable[[], Any], Fields]] = {
    "state": (sm.ConfusionMatrix, FIELDS),
    "weights": (sm.MetricSet, Fields("label", "guess", weight="weight")),
    "groups": (lambda: sm.ByGroup(sm.MetricSet(), max_groups=2), Fields("label", "guess", group="site")),
    "window": (lambda: sm.TimeWindow(sm.MCC(), "1h", panes=4), Fields("label", "guess", time="at")),
    "column of scores": (sm.ROCAUC, Fields("right", None, "p_cat")),
    "columns of scores": (lambda: sm.MetricSet(scores=True, buckets=64), Fields("label", None, NAMED, "weight")),
    "coarse": (lambda: sm.RankSketch(buckets=16, sample=8), Fields("right", None, "p_cat")),
}


def table(bad: tuple[int, ...] = ()) -> Any:
    """Return a table with everything that is read; rows without a label are bad."""
    rng, p = random.Random(8), np.random.default_rng(8).dirichlet((1, 1, 1), ROWS)
    labels = [rng.choice(CLASSES) for _ in range(ROWS)]
    columns = {
        "label": pa.array([None if at in bad else label for at, label in enumerate(labels)]).dictionary_encode(),
        "guess": [rng.choice([*CLASSES, None]) for _ in range(ROWS)],
        "right": [label == "cat" for label in labels],
        "weight": [rng.choice([1, 2, 0.1]) for _ in range(ROWS)],
        "site": [rng.choice(["fr", "de", "it", "us"]) for _ in range(ROWS)],
        "country": [rng.choice(["fr", "de", None]) for _ in range(ROWS)],
        "at": pa.array([rng.randrange(7_200_000_000) for _ in range(ROWS)], pa.timestamp("us")),
        "id": [str(at) for at in range(ROWS)],
    }
    return pa.table({**columns, **{f"p_{name}": p[:, at] for at, name in enumerate(CLASSES)}})


def parts(whole: Any) -> list[Any]:
    """Return a table in parts of uneven size, one of them empty."""
    return [whole.slice(low, high - low) for low, high in pairwise([0, 10, 10, 250, 251, len(whole)])]


def counted(state: Any, fields: Fields, rows: Any) -> Any:
    """Return a state after one process has fed it the columns of all rows."""
    arguments = {"w": fields.weight, "group": fields.group, "t": fields.time}
    named = {name: rows[column].to_numpy() for name, column in arguments.items() if column is not None}
    if isinstance(fields.scores, dict):
        scores = np.column_stack([rows[column].to_numpy() for column in fields.scores.values()])
        state.update_many(rows[fields.y_true].to_pylist(), scores=scores, classes=list(fields.scores), **named)
    else:
        state.update_many(
            *(rows[name].to_pylist() for name in (fields.y_true, fields.y_pred or fields.scores)), **named
        )
    return state


def write(folder: Path, tables: list[Any]) -> str:
    """Write each table to a Parquet file of a new folder, and return its path."""
    target = folder / f"{len(list(folder.iterdir()))}"
    target.mkdir()
    for at, part in enumerate(tables):
        pq.write_table(part, target / f"{at}.parquet")
    return str(target)


def by_beam(tables: list[Any], folder: Path, *arguments: Any, **options: Any) -> Any:
    """Count tables with the combiner, a bundle each, whose accumulators travel."""
    from stream_metrics.integrations.beam import Accumulate

    fn = Accumulate(*arguments, **options)
    coder = fn.get_accumulator_coder()
    bundles = (fn.add_input(fn.create_accumulator(), table) for table in tables)
    return fn.extract_output(fn.merge_accumulators(coder.decode(coder.encode(bundle)) for bundle in bundles))


def by_dask(tables: list[Any], folder: Path, *arguments: Any, **options: Any) -> Any:
    """Count tables as partitions that are computed on a thread."""
    import dask

    from stream_metrics.integrations.dask import accumulate

    return accumulate([dask.delayed(part) for part in tables], *arguments, **options).compute(scheduler="sync")


def by_ray(tables: list[Any], folder: Path, *arguments: Any, **options: Any) -> Any:
    """Count tables in tasks."""
    from stream_metrics.integrations.ray import accumulate

    return accumulate(tables, *arguments, **options)


def by_spark(tables: list[Any], folder: Path, *arguments: Any, **options: Any) -> Any:
    """Count Parquet files, each of which is a partition."""
    from stream_metrics.integrations.spark import accumulate

    return accumulate(frame(tables, folder), *arguments, **options)


def frame(tables: list[Any], folder: Path) -> Any:
    """Return tables as a data frame of Spark."""
    from pyspark.sql import SparkSession

    spark = SparkSession.getActiveSession()
    return spark.read.parquet(write(folder, tables or [table().slice(0, 0)]))  # type: ignore[union-attr]


COUNT: dict[str, Callable[..., Any]] = {"beam": by_beam, "dask": by_dask, "ray": by_ray, "spark": by_spark}


def dask_groups(tables: list[Any], folder: Path, *arguments: Any, **options: Any) -> tuple[Iterator[Any], Any]:
    """Return keys and states from Dask, and the record of bad rows."""
    import dask
    import dask.dataframe as dd

    from stream_metrics.integrations.dask import accumulate_by

    rows = dd.from_map(lambda part: part.to_pandas(), tables)
    states = accumulate_by(rows, *arguments, **options)
    states, bad = states if options.get("on_bad") == "count" else (states, None)
    frames, bad = dask.compute(states.to_delayed(), bad, scheduler="sync")
    return (row for part in frames for row in part.itertuples(index=False, name=None)), bad


def ray_groups(tables: list[Any], folder: Path, *arguments: Any, **options: Any) -> tuple[Iterator[Any], Any]:
    """Return keys and states from Ray, and the record of bad rows."""
    from stream_metrics.integrations.ray import accumulate_by

    states = accumulate_by(tables, *arguments, **options)
    states, bad = states if options.get("on_bad") == "count" else (states, None)
    return (tuple(row.values()) for row in states.iter_rows()), bad


def spark_groups(tables: list[Any], folder: Path, *arguments: Any, **options: Any) -> tuple[Iterator[Any], Any]:
    """Return keys and states from Spark, and the record of bad rows."""
    from stream_metrics.integrations.spark import accumulate_by

    states = accumulate_by(frame(tables, folder), *arguments, **options)
    states, bad = states if options.get("on_bad") == "count" else (states, None)
    return (tuple(row) for row in states.collect()), bad


BY_KEY: dict[str, Callable[..., Any]] = {"dask": dask_groups, "ray": ray_groups, "spark": spark_groups}
