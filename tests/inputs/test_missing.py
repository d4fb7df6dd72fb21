"""A missing prediction is an abstention however it is spelled, and a missing truth is an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
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
MAKERS: list[Callable[[], Any]] = [
    sm.ConfusionMatrix,
    sm.MetricSet,
    sm.Recall,
    lambda: sm.Rolling(sm.Accuracy(), 10),
    lambda: sm.Rolling(sm.Accuracy(), 1),
    lambda: sm.TimeWindow(sm.Accuracy(), 60),
    lambda: sm.Fading(sm.Accuracy(), 10),
]


@pytest.mark.quick
def test_a_missing_prediction_is_an_abstention() -> None:
    """One by one, in a batch and after bytes, in every state and window; the two others are counted."""
    failures = []
    for make in MAKERS:
        for form, column in FORMS.items():
            batch, single, bytes_between = make(), make(), make()
            if form == "text" and isinstance(batch, sm.Recall):
                continue  # text is no binary label
            timed = {"t": 0.0} if isinstance(batch, sm.TimeWindow) else {}
            batch.update_many(TRUTH, column, **timed)
            rows = column.astype(object).tolist() if isinstance(column, pd.Series) else list(column)
            for row in zip(TRUTH, rows, strict=True):
                single.update(*row, **timed)
                bytes_between = sm.from_bytes(bytes_between.to_bytes())
                bytes_between.update(*row, **timed)
            alike = batch.abstained == single.abstained == 1 and single == bytes_between
            counted = batch.n == single.n == (0 if getattr(batch, "window", None) == 1 else 2)
            if hasattr(single, "revert") and not timed:
                for row in zip(TRUTH, rows, strict=True):
                    single.revert(*row)
                alike = alike and single == make()
            if not (alike and counted):
                failures.append((make(), form))

    assert not failures


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
