"""A missing prediction is an abstention however it is spelled, and a missing truth is an error."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.input_states import LABELS, alone, together
from support.refusals import refused

import stream_metrics as sm

TRUTH = [1, 0, 1]
FORMS: dict[str, Any] = {
    "None": [1, 0, None],
    "empty mapping": [1, 0, {}],
    "nan": [1, 0, float("nan")],
    "float64": np.array([1, 0, np.nan]),
    "float32": np.array([1, 0, np.nan], "f4"),
    "objects": np.array([1, 0, None], object),
    "masked": np.ma.array([1, 0, 1], mask=[0, 0, 1]),
    "NaT": [1, 0, pd.NaT],
    "NumPy NaT": [1, 0, np.datetime64("NaT")],
    "NA": [1, 0, pd.NA],
    "Series": pd.Series([1, 0, None]),
    "Int64": pd.Series([1, 0, None], dtype="Int64"),
    "Float64": pd.Series([1, 0, None], dtype="Float64"),
    "boolean": pd.Series([True, False, None], dtype="boolean"),
    "categorical": pd.Categorical([1, 0, None]),
    "text": pd.Series(["1", "0", None]),
}


@pytest.mark.quick
def test_a_missing_prediction_is_an_abstention() -> None:
    """One by one, in a batch and taken back, in every state and window; the two others are counted."""
    for (name, make), (form, column) in product(LABELS.items(), FORMS.items()):
        rows = column.astype(object).tolist() if isinstance(column, pd.Series) else list(column)
        batch = together(make, 3, y_true=TRUTH, y_pred=column)
        assert batch == alone(make, y_true=TRUTH, y_pred=rows), (name, form)
        state = sm.from_bytes(batch)
        if isinstance(state, sm.ByGroup):
            continue
        assert (state.n, state.abstained) == (0 if name == "full window" else 2, 1), (name, form)
        if isinstance(state, sm.ConfusionMatrix | sm.MetricSet | sm.Metric):
            for row in zip(TRUTH, rows, strict=True):
                state.revert(*row)
            assert state == make(), (name, form)


@pytest.mark.quick
def test_a_missing_truth_is_an_error() -> None:
    """The error names the row, and nothing is counted."""
    for form, column in FORMS.items():
        state = sm.ConfusionMatrix()
        error: Any = refused(lambda: state.update_many(column, TRUTH), sm.LabelError)  # noqa: B023
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


@pytest.mark.quick
def test_a_comparison_abstains_alike() -> None:
    """Either model may abstain in any spelling."""
    for form in ("nan", "float64", "NA", "Series"):
        batch, single = sm.Comparison(), sm.Comparison()
        batch.update_many(TRUTH, FORMS[form], TRUTH)
        for row in zip(TRUTH, list(FORMS[form]), TRUTH, strict=True):
            single.update(*row)
        assert single == batch
        assert batch.n == 2
