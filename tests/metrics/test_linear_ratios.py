"""Metrics that compiled code reads: the value is that of the formula, whatever was counted."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.metric_classes import CLASSES

from stream_metrics.catalog.table import CATALOG
from stream_metrics.formulas.linear import ONE_CLASS, POOLED, linear_forms

LINEAR = sorted(name for name, cls in CLASSES.items() if cls.row.key in {*POOLED, *ONE_CLASS, "fbeta"})
BETAS = (0.0, 0.3, 1.0, 2.0, 1e3, 1e9, float("inf"))
labels = st.sampled_from(["a", "b", "c", 1, (1, "a"), b"a"])
weights = st.one_of(
    st.just(1), st.integers(0, 9), st.floats(0, 3), st.sampled_from([2.0**-64, 2**52, 2**53 + 1, 2**59, 2**52 + 0.5])
)
samples = st.lists(st.tuples(labels, st.one_of(st.none(), labels), weights), max_size=12)


def options_of(name: str, beta: float, instead: float) -> dict[str, Any]:
    """Return the options of a class."""
    row = CLASSES[name].row
    options: dict[str, Any] = {"pos_label": "a"} if row.kind == "per_class" else {}
    return options | ({"beta": beta} if "beta" in row.options else {}) | {"zero_division": instead}


@pytest.mark.parametrize("name", LINEAR)
@given(samples=samples, beta=st.sampled_from(BETAS), instead=st.sampled_from([0.0, 1.0, float("nan")]))
def test_the_value_is_that_of_the_formula(name: str, samples: list[Any], beta: float, instead: float) -> None:
    """After every sample, of a copy, of a state that was merged or reverted to nothing, the bits are the same."""
    metric = CLASSES[name](**options_of(name, beta, instead))
    assert metric._linear_ratio is not None
    for sample in samples:
        metric.update(*sample)
        assert repr(metric.get()) == repr(metric._value())
    twin = metric.copy().merge(metric)
    assert twin._linear_ratio is not None
    assert repr(twin.get()) == repr(twin._value())
    for sample in samples:
        twin.revert(*sample)
        assert repr(twin.get()) == repr(twin._value())


@pytest.mark.parametrize("name", LINEAR)
def test_the_value_is_the_exact_fraction_rounded(name: str) -> None:
    """The forms of a row are those of its formula in exact fractions."""
    metric = CLASSES[name](**options_of(name, 2.0, 0.0))
    for sample in [("a", "a", 3), ("a", "b", 2), ("b", "a"), ("c", "c", 5), ("c", "b", 0.5)]:
        metric.update(*sample)
    forms = linear_forms(metric.key, metric._options)
    assert forms is not None
    hits, true, predicted, total = (3, 5, 4, 11.5) if metric.row.kind == "per_class" else (8, 11.5, 11.5, 11.5)
    above, below = (
        sum(Fraction(a) * Fraction(b) for a, b in zip(form, (hits, true, predicted, total), strict=True))
        for form in forms
    )
    assert metric.get() == float(above / below)


def test_every_row_with_forms_has_a_class() -> None:
    """A key of the tables is one of the catalog, of the kind that its table is for."""
    assert {CATALOG[key].kind for key in POOLED} == {"whole"}
    assert {CATALOG[key].kind for key in ONE_CLASS} == {"per_class"}
