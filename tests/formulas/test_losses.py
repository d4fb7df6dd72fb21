"""Losses against scikit-learn, river, the golden file and values worked by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import metrics as river_metrics
from sklearn import metrics as sklearn_metrics

from stream_metrics.formulas.losses import brier_score, log_loss, spherical_score, top_k_accuracy
from stream_metrics.states.losses import ProbabilityLosses

GOLDEN = [
    case
    for case in json.loads((Path(__file__).parents[1] / "golden" / "golden.json").read_text())
    if case["metric"] == "log_loss"
]


def drawn(n: int, k: int, seed: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return true columns, rows of probabilities without ties, and weights."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, k, n), rng.dirichlet(np.ones(k), n), rng.random(n)


@pytest.mark.parametrize("case", GOLDEN, ids=[case["id"] for case in GOLDEN])
def test_golden(case: dict[str, Any]) -> None:
    """The golden values of log loss come out to the last bits."""
    state = ProbabilityLosses()
    for p in case["inputs"]["p_true"]:
        state.update("a", {"a": float(p), "b": 1 - float(p)})

    assert log_loss(state, **case["params"]) == pytest.approx(float(case["value"]), rel=2e-16)


def test_golden_cases_exist() -> None:
    """The golden file has the three values of the source."""
    assert len(GOLDEN) == 3


@pytest.mark.parametrize("k", [3, 10, 40])
@pytest.mark.parametrize("weighted", [False, True])
def test_against_sklearn(k: int, weighted: bool) -> None:
    """Rows of K classes agree with scikit-learn to 1e-12, with weights and without."""
    truth, rows, w = drawn(2000, k, k)
    state = ProbabilityLosses(classes=range(k))
    state.update_many(truth, rows, w if weighted else None)
    options = {"sample_weight": w if weighted else None, "labels": range(k)}

    assert log_loss(state) == pytest.approx(sklearn_metrics.log_loss(truth, rows, **options), rel=1e-12)
    assert log_loss(state, normalize=False) == pytest.approx(
        sklearn_metrics.log_loss(truth, rows, normalize=False, **options), rel=1e-12
    )
    assert brier_score(state) == pytest.approx(sklearn_metrics.brier_score_loss(truth, rows, **options), rel=1e-12)
    for top in (1, 2, 5, 10):
        if top < k:
            expected = sklearn_metrics.top_k_accuracy_score(truth, rows, k=top, **options)
            assert top_k_accuracy(state, k=top) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("form", ["one score", "two columns", "mappings"])
def test_binary_against_sklearn(form: str) -> None:
    """Two classes agree with scikit-learn whether their scores are one number or two: Brier is then in [0, 1]."""
    rng = np.random.default_rng(1)
    truth, scores = rng.random(500) < 0.3, rng.random(500)
    both = np.column_stack([1 - scores, scores])
    forms = {"one score": scores, "two columns": both, "mappings": [dict(enumerate(row)) for row in both.tolist()]}
    state = ProbabilityLosses(classes=[False, True])
    state.update_many(truth, forms[form])

    assert log_loss(state) == pytest.approx(sklearn_metrics.log_loss(truth, scores), rel=1e-12)
    assert brier_score(state) == pytest.approx(sklearn_metrics.brier_score_loss(truth, scores), rel=1e-12)
    assert brier_score(state, scale_by_half=False) == pytest.approx(2 * brier_score(state), rel=1e-15)


def test_brier_scale_follows_the_samples() -> None:
    """One sample of three classes puts the whole on the scale of rows; one early class alone does not."""
    state = ProbabilityLosses()
    state.update(True, {False: 1.0})
    assert brier_score(state) == 1.0
    state.update("a", {"a": 1.0, "b": 0.0, "c": 0.0})

    assert brier_score(state) == 1.0  # (2 + 0) / 2
    assert brier_score(state, scale_by_half=True) == 0.5


def test_ties_differ_from_sklearn() -> None:
    """Among equal scores the first label in order is ahead here, the last one in scikit-learn."""
    rows = [[0.4, 0.4, 0.2]]
    state = ProbabilityLosses(classes=[0, 1, 2])
    state.update_many([0], rows)

    assert top_k_accuracy(state, k=1) == 1.0
    assert sklearn_metrics.top_k_accuracy_score([0], rows, k=1, labels=[0, 1, 2]) == 0.0


def test_against_river() -> None:
    """Log loss is river's wherever every true class has a score; where it has none, river scores it perfect."""
    truth, rows, _ = drawn(300, 4, 2)
    theirs, state = river_metrics.CrossEntropy(), ProbabilityLosses()
    for y, row in zip(truth.tolist(), rows.tolist(), strict=True):
        theirs.update(y, dict(enumerate(row)))
        state.update(y, dict(enumerate(row)))
    assert log_loss(state) == pytest.approx(theirs.get(), rel=1e-12)

    unseen, expected = ProbabilityLosses(), 52 * math.log(2)
    unseen.update("new", {"a": 0.6, "b": 0.4})
    assert log_loss(unseen) == pytest.approx(expected, rel=1e-15)


def test_perfect_prediction_costs_nothing() -> None:
    """There is no clipping at the top: a certain hit has loss exactly 0 and the best score in all."""
    state = ProbabilityLosses()
    state.update("a", {"a": 1.0, "b": 0.0})

    assert (log_loss(state), brier_score(state), spherical_score(state), top_k_accuracy(state, k=1)) == (0, 0, 1, 1)


@pytest.mark.parametrize("formula", [log_loss, brier_score, spherical_score, top_k_accuracy])
def test_nan_without_data(formula: Any) -> None:
    """Without data, or with no more than abstentions and weights of zero, every value is nan."""
    state = ProbabilityLosses()
    state.update(True, None)
    state.update(True, 0.5, 0)

    assert math.isnan(formula(ProbabilityLosses()))
    assert math.isnan(formula(state))
    assert math.isnan(log_loss(state, normalize=False))


@pytest.mark.parametrize("k", [0, 11, 1.0, True, "1"])
def test_k_is_checked(k: Any) -> None:
    """Ranks are kept up to 10."""
    with pytest.raises(ValueError, match="`k` to be an int from 1 to 10"):
        top_k_accuracy(ProbabilityLosses(), k=k)


def test_scale_is_checked() -> None:
    """The scale of the Brier score is one of three."""
    with pytest.raises(ValueError, match="`scale_by_half`"):
        brier_score(ProbabilityLosses(), scale_by_half="no")  # type: ignore[arg-type]


def test_spherical_by_hand() -> None:
    """(.6 / 1 + .8 / 1) / 2, and a row of zeros counts as 0; a multiple of a row has the same score."""
    state = ProbabilityLosses()
    state.update("a", {"a": 0.6, "b": 0.8})
    state.update("b", {"a": 0.6, "b": 0.8})
    assert spherical_score(state) == pytest.approx(0.7, rel=1e-15)
    state.update("a", {"a": 0.0, "b": 0.0})
    assert spherical_score(state) == pytest.approx(1.4 / 3, rel=1e-15)

    half = ProbabilityLosses()
    half.update("a", {"a": 0.3, "b": 0.4})
    assert spherical_score(half) == pytest.approx(0.6, rel=1e-15)
