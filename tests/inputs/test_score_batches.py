"""Batches of scores: every form of input leaves the bytes of the samples one by one."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import stream_metrics as sm

NAMES = ["cat", "dog", "bird", "cow"]  # not in order on purpose
STATES: dict[str, Callable[[], Any]] = {
    "probabilities": lambda: sm.MetricSet(scores=True),
    "any": lambda: sm.MetricSet(scores="any"),
    "fixed": lambda: sm.MetricSet(scores=True, labels=NAMES),
    "coarse": lambda: sm.MetricSet(scores=True, buckets=2, sample=1),
    "chosen": lambda: sm.MetricSet(["log_loss", "confidence_auc"]),
    "metric": sm.HandTillAUC,
    "sketch": lambda: sm.RankSketch(16, 8),
    "losses": lambda: sm.ProbabilityLosses(classes=NAMES),
}


def drawn(n: int = 60, seed: int = 1) -> tuple[list[str], np.ndarray[Any, Any], list[Any]]:
    """Return truths, rows of probabilities in eighths with many ties, and weights of which some have fractions."""
    rng = np.random.default_rng(seed)
    rows = rng.multinomial(8, np.full(4, 0.25), n) / 8
    return rng.choice(NAMES, n).tolist(), rows, rng.choice([1, 2, 0.5, 0.1, 0], n).tolist()


def mappings(p: np.ndarray[Any, Any]) -> list[dict[str, float]]:
    """Return the rows of a table as mappings."""
    return [dict(zip(NAMES, row, strict=True)) for row in p.tolist()]


TABLES: dict[str, Callable[[Any], tuple[Any, Any]]] = {  # scores of a table, with `classes` if they do not name them
    "mappings": lambda p: (mappings(p), None),
    "tuple of mappings": lambda p: (tuple(mappings(p)), None),
    "mappings of other types": lambda p: ([OrderedDict(reversed(row.items())) for row in mappings(p)], None),
    "generator": lambda p: (iter(mappings(p)), None),
    "object array": lambda p: (np.array(mappings(p)), None),
    "data frame": lambda p: (pd.DataFrame(p, columns=NAMES), None),
    "data frame in another order": lambda p: (pd.DataFrame(p, columns=NAMES)[NAMES[::-1]], None),
    "table": lambda p: (p, NAMES),
    "columns in another order": lambda p: (p[:, ::-1], NAMES[::-1]),
    "float32": lambda p: (p.astype(np.float32), NAMES),
    "fortran order": lambda p: (np.asfortranarray(p), NAMES),
    "rows": lambda p: (p.tolist(), NAMES),
    "array rows": lambda p: (list(p), tuple(NAMES)),
    "rows of float16": lambda p: (list(p.astype(np.float16)), NAMES),
}
COLUMNS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "series": lambda y: pd.Series(y, index=range(5, 65)),
    "categorical": pd.Categorical,
}


ROW = {"a": 0.9, "b": 0.1}
MIXED = [0.75, {True: 0.25, False: 0.75}, "a", None, {"a": 0.5, "b": 0.5}, {}, False, np.float32(0.25), {"b": 1.0}, 1]
SAMPLES: list[tuple[dict[str, list[Any]], list[Any] | None, tuple[int, int, int]]] = [  # columns, `classes`, counts
    ({"y_true": [True, False, "a", "a", "b", False, True, 0, "a", 1], "y_pred": MIXED,
      "w": [1, 2, 0.5, 1, 1, 3, 1, 1, 0.1, 1]}, None, (8, 5, 2)),
    ({"y_true": list("abab"), "y_pred": [{"a": 0.5}, "a", None, {"b": 0.25, "a": 0.5}]}, None, (3, 2, 1)),
    ({"y_true": ["b", "b"], "y_pred": ["b", None], "scores": [ROW, ROW]}, None, (2, 2, 0)),
    ({"y_true": ["b", "b"], "y_pred": ["b", None], "scores": [[0.9, 0.1]] * 2}, ["a", "b"], (2, 2, 0)),
    ({"y_true": list("bba"), "y_pred": ["a", None, None], "scores": [None, {}, {"a": 0.5}]}, None, (2, 1, 1)),
    ({"y_true": list("aab"), "scores": [np.full(2, 0.5, "f4"), None, np.eye(2)[0]]}, ["a", "b"], (2, 2, 1)),
    ({"y_true": [1, 1, 0, 0], "scores": [[0.25, 0.75], {1: 0.5, 0: 0.5}, 0.125, None]}, [0, 1], (3, 3, 1)),
]  # fmt: skip


def objects(rows: list[Any]) -> Any:
    """Return rows as an array of objects."""
    column = np.empty(len(rows), object)
    column[:] = rows
    return column


@pytest.mark.parametrize(
    "configuration", [{"scores": True}, {"scores": "any"}, {"scores": True, "buckets": 2}], ids=str
)
def test_columns_may_have_every_sort_of_prediction(configuration: dict[str, Any]) -> None:
    """Labels, mappings, rows, floats and what is missing may stand in one column, whatever type it has."""
    columns = [list, tuple, iter, lambda rows: pd.Series(objects(rows), range(len(rows), 0, -1), object), objects]
    failures = []
    for given, classes, counts in SAMPLES:
        single, named = sm.MetricSet(**configuration), {} if classes is None else {"classes": classes}
        for values in zip(*given.values(), strict=True):
            single.update(**dict(zip(given, values, strict=True)), **named)
        assert (single.n, single.snapshot().scored, single.abstained) == counts
        truths = [*columns, pd.Categorical] if given["y_true"] == list("abab") else columns
        for truth, column in product(truths, columns):
            batch = sm.MetricSet(**configuration)
            rest = {name: column(rows) for name, rows in given.items() if name not in ("y_true", "w")}
            weights = {"w": given["w"]} if "w" in given else {}
            batch.update_many(truth(given["y_true"]), **rest, **weights, **named)
            if batch != single:
                failures.append((given, truth, column))

    assert not failures


@pytest.mark.quick
def test_few_scores_beside_a_truth_of_many_names() -> None:
    """Of a truth with many names, only those of rows with scores reach the sketch, as they do one by one."""
    names = [f"label {i}" for i in range(500)]
    codes = np.arange(0, 500, 7)
    rows = [None if at % 9 else {names[code]: 0.5, "other": 0.25} for at, code in enumerate(codes)]
    batch, single = sm.MetricSet(scores=True), sm.MetricSet(scores=True)
    batch.update_many(sm.Categorical(codes, names), rows)
    for code, row in zip(codes, rows, strict=True):
        single.update(names[code], row)

    assert batch.to_bytes() == single.to_bytes()
