"""A missing prediction is an abstention however it is spelled, and a missing truth is an error."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.input_forms import needing
from support.input_states import LABELS, alone, together
from support.refusals import refused

import stream_metrics as sm

TRUTH = [1, 0, 1]
FORMS: dict[str, Callable[[], Any]] = {
    "None": lambda: [1, 0, None],
    "empty mapping": lambda: [1, 0, {}],
    "nan": lambda: [1, 0, float("nan")],
    "float64": lambda: np.array([1, 0, np.nan]),
    "float32": lambda: np.array([1, 0, np.nan], "f4"),
    "objects": lambda: np.array([1, 0, None], object),
    "masked": lambda: np.ma.array([1, 0, 1], mask=[0, 0, 1]),
    "masked text": lambda: np.ma.array(["1", "0", "?"], mask=[0, 0, 1]),
    "NaT": lambda: [1, 0, pd.NaT],
    "NumPy NaT": lambda: [1, 0, np.datetime64("NaT")],
    "NA": lambda: [1, 0, pd.NA],
    **{t: lambda t=t: pd.Series([1, 0, None], dtype=t) for t in ("O", "f8", "Int64", "Float64", "boolean", "category")},
    "categorical": lambda: pd.Categorical([1, 0, None]),
    "text": lambda: pd.Series(["1", "0", None]),
    "codes": lambda: sm.Categorical([1, 0, -1], ["0", "1"]),
    "Arrow": lambda: import_module("pyarrow").array(["1", "0", None]),
    "Arrow chunks": lambda: import_module("pyarrow").chunked_array([["1"], ["0", None]]),
    "Arrow dictionary": lambda: import_module("pyarrow").array(["1", "0", None]).dictionary_encode(),
    "polars": lambda: import_module("polars").Series(["1", "0", None]),
}


def rows_of(column: Any) -> list[Any]:
    """Return a column row by row."""
    if isinstance(column, sm.Categorical):
        return [None if code < 0 else column.categories[code] for code in column.codes]
    if isinstance(column, pd.Series):
        return column.astype(object).tolist()
    return column.to_pylist() if hasattr(column, "to_pylist") else list(column)


@pytest.mark.quick
@pytest.mark.parametrize("library", ["numpy", "pyarrow", "polars"])
def test_a_missing_prediction_is_an_abstention(library: str) -> None:
    """One by one, in a batch and taken back, weighted or not, in every state and window; two others are counted."""
    forms = needing(library, FORMS)
    for (name, make), form, w in product(LABELS.items(), forms, ([1, 1, 1], [1, 2.5, 3])):
        column = forms[form]()
        rows = rows_of(column)
        batch = together(make, 3, y_true=TRUTH, y_pred=column, w=w)
        assert batch == alone(make, y_true=TRUTH, y_pred=rows, w=w), (name, form)
        state = sm.from_bytes(batch)
        if isinstance(state, sm.ByGroup):
            continue
        assert (state.n, state.abstained) == (0 if name == "full window" else 2, 1), (name, form)
        if isinstance(state, sm.ConfusionMatrix | sm.MetricSet | sm.Metric):
            for row in zip(TRUTH, rows, w, strict=True):
                state.revert(*row)
            assert state == make(), (name, form)


@pytest.mark.quick
def test_a_missing_truth_is_an_error() -> None:
    """The error names the row, and nothing is counted."""
    for form, make in needing("numpy", FORMS).items():
        state = sm.ConfusionMatrix()
        error: Any = refused(lambda: state.update_many(make(), TRUTH), sm.LabelError)  # noqa: B023
        assert (error.argument, error.position) == ("y_true", 2), form
        assert state == sm.ConfusionMatrix()


@pytest.mark.quick
def test_a_missing_score_that_is_no_number_is_an_abstention() -> None:
    """NA and NaT are no scores; nan is a number that a model should not return."""
    windows = lambda: sm.Rolling(sm.ROCAUC(), 9), lambda: sm.MetricSet(scores=True)
    for make in (sm.ROCAUC, sm.LogLoss, sm.RankSketch, *windows):
        for missing in (None, pd.NA, pd.NaT):
            state, batch = make(), make()
            state.update(1, 0.5)
            state.update(1, missing)
            batch.update_many([1, 1], [0.5, missing])
            assert (state.n, state.abstained) == (1, 1)
            assert state == batch
        refused(lambda: state.update(1, float("nan")), sm.ScoreError)  # noqa: B023
    masked = sm.MetricSet(scores=True)
    masked.update_many([True, False], np.ma.array([0.25, 0.75], mask=[False, True]))
    assert (masked.n, masked.abstained, masked.snapshot().scored) == (1, 1, 1)


@pytest.mark.quick
def test_a_comparison_abstains_alike() -> None:
    """Either model may abstain in any spelling."""
    for form in ("nan", "float64", "NA", "O"):
        batch, single = sm.Comparison(), sm.Comparison()
        batch.update_many(TRUTH, FORMS[form](), TRUTH)
        for row in zip(TRUTH, list(FORMS[form]()), TRUTH, strict=True):
            single.update(*row)
        assert single == batch
        assert batch.n == 2
