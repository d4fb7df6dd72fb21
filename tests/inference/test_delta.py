"""Gradients against finite differences, standard errors against the bootstrap, batched formulas against the catalog."""

from __future__ import annotations

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics.catalog.table import CATALOG
from stream_metrics.evaluation.evaluate import compute
from stream_metrics.inference.intervals.batched_counts import batched, cells_of
from stream_metrics.inference.intervals.batched_formulas import CELLS, MARGINS, PER_CLASS
from stream_metrics.inference.intervals.gradients import ANALYTIC, class_standard_errors, gradient, standard_error

rng = np.random.default_rng(4)
MATRIX = rng.integers(5, 90, (4, 4)) + np.diag(rng.integers(50, 100, 4))
WHOLE = {**MARGINS, **CELLS}


def tables(matrix):
    """Return the tables of one matrix."""
    where = cells_of(sm.ConfusionMatrix.from_matrix(matrix))
    return batched(where.values, where)


def in_cells(found, k):
    """Return a gradient as one number for each cell."""
    if found.cells is not None:
        return found.cells
    diagonal, true, predicted = (np.broadcast_to(part, k) for part in found[:3])
    return (np.add.outer(true, predicted) + np.diag(diagonal)).ravel()


def differences(form, one, zero, step=1e-3):
    """Return the derivatives of a form in the cells by central differences."""
    moved = [one.where.values + sign * step * np.eye(len(one.where.values)) for sign in (1, -1)]
    up, down = (form(batched(values, one.where), zero) for values in moved)
    return (up - down) / (2 * step)


@pytest.mark.parametrize("key", sorted(set(WHOLE) - {"chi2"}))
def test_gradients_are_finite_differences(key):
    """Up to a constant over the cells, which no variance sees; `chi2` alone is no function of shares."""
    one = tables(MATRIX)
    expected = differences(WHOLE[key], one, 0.0)
    found = in_cells(gradient(key, one, 0.0), 4)

    shift = found - expected
    assert shift - shift.mean() == pytest.approx(0, abs=2e-7 * np.abs(expected).max())


@pytest.mark.parametrize("key", sorted(ANALYTIC))
@pytest.mark.parametrize("zero", [0.0, 1.0, np.nan])
def test_gradients_with_a_class_that_is_empty_on_one_side(key, zero):
    """A class never predicted, one never true: what stands for 0/0 is a constant, or the class is left out."""
    matrix = np.array([[30, 5, 0, 2], [4, 40, 0, 1], [6, 3, 0, 3], [0, 0, 0, 0]])
    one = tables(matrix)
    expected = differences(MARGINS[key], one, zero)
    found = in_cells(gradient(key, one, zero), 4)[4 * one.where.rows + one.where.columns]

    shift = found - expected
    assert shift - shift.mean() == pytest.approx(0, abs=1e-6 * np.abs(expected).max())


def test_standard_errors_are_those_of_the_bootstrap():
    """At 10^5 samples delta method and bootstrap agree within 2 %, for every metric."""
    matrix = np.random.default_rng(1).multinomial(100_000, MATRIX.ravel() / MATRIX.sum()).reshape(4, 4)
    one = tables(matrix)
    draws = np.random.default_rng(2).multinomial(100_000, one.where.values / 1e5, 20_000).astype(float)
    drawn = batched(draws, one.where)

    for key in sorted(set(WHOLE) - {"chi2"}):
        found = standard_error(one, gradient(key, one, 0.0))
        assert found == pytest.approx(WHOLE[key](drawn, 0.0).std(), rel=0.02), key
    for key, form in PER_CLASS.items():
        assert class_standard_errors(key, one, 0.0) == pytest.approx(form(drawn, 0.0).std(axis=0), rel=0.02), key


@pytest.mark.parametrize("zero", [0.0, 1.0, np.nan])
@pytest.mark.parametrize(("classes", "n"), [(2, 12), (3, 9), (5, 60)])
def test_forms_are_the_formulas_of_the_catalogue(classes, n, zero):
    """On every draw of a thin matrix, lost classes and all, the form of many matrices is the formula of one."""
    source = np.random.default_rng(classes)
    shares = source.dirichlet(np.full(classes**2, 0.4)) + np.eye(classes).ravel() * 0.2
    matrix = source.multinomial(n, shares / shares.sum()).reshape(classes, classes)
    where = cells_of(sm.ConfusionMatrix.from_matrix(matrix))
    draws = source.multinomial(n, where.values / n, 25)
    drawn = batched(draws.astype(float), where)

    states = []
    for draw in draws:
        full = np.zeros((classes, classes), int)
        full[where.rows, where.columns] = draw
        states.append(sm.ConfusionMatrix.from_matrix(full))
    for key, form in {**WHOLE, **PER_CLASS}.items():
        expected = np.array([compute(CATALOG[key], state, zero) for state in states], float)
        np.testing.assert_allclose(form(drawn, zero), expected, rtol=1e-9, atol=1e-9, err_msg=key)


def test_golden_standard_errors():
    """Values of the formulas as they are written in the literature, for one small matrix."""
    one = tables([[24, 2, 1], [3, 30, 4], [0, 5, 31]])
    shares = one.matrix / one.total
    r, c, d, e = shares.sum(1), shares.sum(0), np.diag(shares), np.eye(3)
    right, chance = d.sum(), r @ c
    f1 = 2 * d / (r + c)
    u = f1 / (r + c)
    by_hand = {
        "accuracy": e,
        "cohen_kappa": (e * (1 - chance) - (1 - right) * (c[:, None] + r)) / (1 - chance) ** 2,
        "macro_f1": (np.diag(2 / (r + c)) - u[:, None] - u) / 3,
        "balanced_accuracy": (np.diag(1 / r) - (d / r**2)[:, None]) / 3,
    }

    for key, g in by_hand.items():
        expected = np.sqrt(((shares * g * g).sum() - (shares * g).sum() ** 2) / one.total)
        se = standard_error(one, gradient(key, one, 0.0))
        assert se == pytest.approx(float(expected[0] if expected.ndim else expected))
