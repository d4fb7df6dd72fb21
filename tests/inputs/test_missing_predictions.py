"""A missing prediction is an abstention however it is spelled, a missing truth is an error, sets are no columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

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
MAKERS: dict[str, Callable[[], Any]] = {
    "matrix": sm.ConfusionMatrix,
    "set": sm.MetricSet,
    "metric": sm.Recall,
    "rolling": lambda: sm.Rolling(sm.Accuracy(), 10),
    "full window": lambda: sm.Rolling(sm.Accuracy(), 1),
    "time": lambda: sm.TimeWindow(sm.Accuracy(), 60),
    "fading": lambda: sm.Fading(sm.Accuracy(), 10),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("form", FORMS)
def test_missing_prediction_is_an_abstention(make: Callable[[], Any], form: str) -> None:
    """One by one and in a batch, in every state and window; two others are counted."""
    if form == "text" and isinstance(make(), sm.Recall):
        pytest.skip("text is no binary label")
    column = FORMS[form]
    batch, single, bytes_between = make(), make(), make()
    timed = isinstance(batch, sm.TimeWindow)
    batch.update_many(TRUTH, column, **({"t": [0.0] * 3} if timed else {}))
    rows = column.astype(object).tolist() if isinstance(column, pd.Series) else list(column)
    for row in zip(TRUTH, rows, strict=True):
        single.update(*row, **({"t": 0.0} if timed else {}))
        bytes_between = sm.from_bytes(bytes_between.to_bytes())
        bytes_between.update(*row, **({"t": 0.0} if timed else {}))

    assert batch.abstained == single.abstained == 1
    assert batch.n == single.n == (0 if getattr(batch, "window", None) == 1 else 2)
    assert single == bytes_between
    if hasattr(single, "revert") and not timed:
        for row in zip(TRUTH, rows, strict=True):
            single.revert(*row)
        assert single == make()


@pytest.mark.parametrize("form", FORMS)
def test_missing_truth_is_an_error(form: str) -> None:
    """The message names the row, and nothing is counted."""
    state = sm.ConfusionMatrix()
    with pytest.raises(sm.LabelError, match="`y_true` at position 2"):
        state.update_many(FORMS[form], TRUTH)
    assert state == sm.ConfusionMatrix()


def test_missing_score_that_is_no_number_is_an_abstention() -> None:
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
        with pytest.raises(sm.ScoreError):
            state.update(1, float("nan"))


def test_comparison_abstains_alike() -> None:
    """Either model may abstain in any spelling."""
    for form in ("nan", "float64", "NA", "Series"):
        batch, single = sm.Comparison(), sm.Comparison()
        batch.update_many(TRUTH, FORMS[form], TRUTH)
        for row in zip(TRUTH, list(FORMS[form]), TRUTH, strict=True):
            single.update(*row)
        assert single == batch
        assert batch.n == 2


@pytest.mark.parametrize("bad", [{1, 2}, frozenset((1, 2)), {1: 0.5, 2: 0.5}, {1: 0, 2: 0}.keys()], ids=repr)
def test_what_has_no_order_is_no_column(bad: Any) -> None:
    """In every argument that is a column."""
    calls: list[Callable[[], object]] = [
        lambda: sm.evaluate(bad, [1, 2]),
        lambda: sm.evaluate([1, 2], bad),
        lambda: sm.MetricSet().update_many([1, 2], [1, 2], bad),
        lambda: sm.MetricSet().update_many([1, 2], [1, 2], unit=bad),
        lambda: sm.MetricSet(scores=True).update_many([1, 0], scores=bad),
        lambda: sm.ByGroup(sm.Accuracy()).update_many([1, 2], [1, 2], group=bad),
        lambda: sm.TimeWindow(sm.Accuracy(), 60).update_many([1, 2], [1, 2], t=bad),
        lambda: sm.Comparison().update_many([1, 2], bad, [1, 2]),
        lambda: sm.Comparison(scores=True).update_many([1, 0], bad, [0.5, 0.5]),
        lambda: sm.ROCAUC().update_many([1, 0], bad),
        lambda: sm.Rolling(sm.Accuracy(), 2).update_many(bad, [1, 2]),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="Expected"):
            call()
