"""The matrix against a plain-Python table: the same readings and refusals; exact sums, ratios and means."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracle import Oracle
from support.refusals import refused
from support.state_checks import FORMS, assert_same_readings, counted, fed

import stream_metrics as sm
from stream_metrics import ByGroup, ConfusionMatrix, MetricSet, testing

pytestmark = pytest.mark.quick
NAN = float("nan")
RATIOS = [*FORMS, ((1.25, 0, 0, 0), (0, 0.25, 1, 0))]
CONFIGURATIONS = st.sampled_from([
    {}, {}, {"labels": [1, 0, "a", b"a"]}, {"labels": ["b", "a", 2.5, True], "other": "rest"},
    {"labels": [], "other": 0},
])  # fmt: skip
bad_labels = st.sampled_from([NAN, float("inf"), [1], (1, None), {"a"}, 1j])
scores = st.dictionaries(testing.labels(), st.sampled_from([0, 0.5, 0.5, 1, -3.0, np.float32(0.5)]), max_size=4)
truths = st.one_of(testing.labels(), testing.labels(), testing.labels(), bad_labels, st.none())
predictions = st.one_of(testing.labels(), testing.labels(), scores, st.none(), bad_labels, st.just({"a": NAN}))
weights = st.one_of(testing.weights(), testing.weights(), st.sampled_from([-1, NAN, 2**62, 2.0**63, "1", np.int8(3)]))
samples = st.tuples(truths, predictions, weights)
good = st.tuples(testing.labels(), st.one_of(testing.labels(), scores, st.none()), testing.weights())
steps = st.tuples(st.sampled_from(["update", "update", "revert", "bytes"]), st.one_of(good, good, samples))

Pair = tuple[sm.ConfusionMatrix, Oracle]


def same_outcome(pair: Pair, call: Callable[[Any], Any]) -> None:
    """Make the same call on both; they must agree whether it is refused, and a refusal changes nothing."""
    before, outcomes = pair[0].to_bytes(), []
    for table in pair:
        try:
            call(table)
            outcomes.append("counted")
        except sm.StreamMetricsError:
            outcomes.append("refused")
    assert outcomes[0] == outcomes[1]
    assert outcomes[0] == "counted" or pair[0].to_bytes() == before


def assert_same_ratios(state: Any, oracle: Oracle) -> None:
    """Ratios of forms with whole coefficients are correctly rounded; means add ratios in units of 2^-62."""
    for above, below in RATIOS:
        pairs = list(zip(state._ratios(above, below).tolist(), oracle._ratios(above, below).tolist(), strict=True))
        for undefined, by_support in ((0.0, False), (1.0, True), (NAN, False), (NAN, True)):
            if above[0] == 1 and min(below) >= 0:  # a ratio in [0, 1]
                mean = oracle._mean_ratio(above, below, undefined, by_support)
                pairs.append((state._mean_ratio(above, below, undefined, by_support), mean))
        for at, (mine, theirs) in enumerate(pairs):
            exact = all(x == int(x) for x in above + below)
            slack = 0 if exact and at < oracle.k else 4 * math.ulp(theirs) + 2.0**-62 * (at >= oracle.k)
            assert mine == theirs or abs(mine - theirs) <= slack or (mine != mine and theirs != theirs)


@given(CONFIGURATIONS, st.lists(steps, max_size=40))
def test_updates_reverts_and_bytes(configuration: dict[str, Any], stream: list[Any]) -> None:
    """Good and bad samples counted and taken back, also through bytes: the same are refused, and readings agree."""
    pair = sm.ConfusionMatrix(**configuration), Oracle(**configuration)
    for step, sample in stream:
        if step == "bytes":
            pair = sm.from_bytes(pair[0].to_bytes()), pair[1]
        else:
            same_outcome(pair, lambda table, sample=sample, step=step: getattr(table, step)(*sample))

    assert_same_readings(*pair)
    assert_same_ratios(*pair)
    assert_same_readings(sm.from_bytes(pair[0].to_bytes()), pair[1])


@given(CONFIGURATIONS, st.lists(st.lists(st.one_of(good, good, good, good, samples), max_size=8), max_size=6))
def test_batches(configuration: dict[str, Any], batches: list[list[Any]]) -> None:
    """A batch is counted as its rows, or refused where one of them is."""
    pair = sm.ConfusionMatrix(**configuration), Oracle(**configuration)
    for batch in batches:
        columns = [[row[at] for row in batch] for at in range(3)]
        same_outcome(pair, lambda table, columns=columns: table.update_many(*columns))

    assert_same_readings(*pair)
    assert_same_ratios(*pair)


@given(CONFIGURATIONS, CONFIGURATIONS, st.lists(good, max_size=15), st.lists(good, max_size=15), st.booleans())
def test_merges(mine: dict[str, Any], theirs: dict[str, Any], first: list[Any], second: list[Any], part: bool) -> None:
    """Merging and subtracting, of states that fit and that do not."""
    pairs = [(sm.ConfusionMatrix(**c), Oracle(**c)) for c in (mine, theirs)]
    for pair, stream in zip(pairs, (first + second * part, second), strict=True):
        for sample in stream:
            same_outcome(pair, lambda table, sample=sample: table.update(*sample))
    others = {type(table): table for table in pairs[1]}
    for step in ("subtract", "merge"):
        same_outcome(pairs[0], lambda table, step=step: getattr(table, step)(others[type(table)]))
        assert_same_readings(*pairs[0])
    assert_same_readings(*pairs[1])


counted_weights = st.sampled_from([1, 2, 0.5, 0])  # whose multiples are exact
ROW = st.tuples(testing.labels(), st.one_of(testing.labels(), st.none()), counted_weights, st.integers(0, 3))


@given(CONFIGURATIONS, CONFIGURATIONS, st.lists(ROW, max_size=12))
def test_tables_of_counts_and_other_labels(before: dict[str, Any], after: dict[str, Any], table: list[Any]) -> None:
    """A row of a table counts as often as it says; with other labels a state is the table that had them, or refused."""
    oracle, other, rows, lost = Oracle(**before), Oracle(**after), [], False
    for truth, predicted, w, n in table:
        try:
            for _ in range(n):
                oracle.update(truth, predicted, w)
            rows += [(truth, predicted, n, n * w)] * (n > 0)
        except sm.LabelError:
            continue
        try:
            for _ in range(n):
                other.update(truth, predicted, w)
        except sm.LabelError:
            lost = True
    state = sm.ConfusionMatrix(**before)
    state.update_counts(*[[row[at] for row in rows] for at in range(4)])
    assert_same_readings(state, oracle)
    try:
        again = state.reconfigured(**{"labels": None, "other": None} | after)
    except sm.OptionError:
        return
    if not lost:
        assert_same_readings(again, other)


@given(st.lists(good, max_size=20), testing.labels())
def test_one_vs_rest(stream: list[Any], label: Any) -> None:
    """One class against the rest, seen or not, has the same cells and ratios."""
    mine, theirs = (fed(table, stream).one_vs_rest(label) for table in (sm.ConfusionMatrix(), Oracle()))

    assert mine.matrix.tolist() == theirs.matrix.tolist()
    assert (mine.total, mine.hits, mine.k) == (theirs.total, theirs.hits, 2)
    assert_same_ratios(mine, theirs)


RECALL, PRECISION = FORMS[:2]
WHOLE = np.array([[6, 0, 1, 2], [3, 9, 1, 1], [1, 0, 10, 2], [1, 2, 1, 12]])  # Grandini et al. 2020, Fig. 1
state_of = sm.ConfusionMatrix.from_matrix


def test_arrays_of_totals_and_cells() -> None:
    """Totals are read-only, and an int where halves add up to one; cells are the matrix in row-major order."""
    state, halves = state_of(WHOLE), state_of([[0.5, 0.5], [0.5, 0.5]])
    for array in (state.true_totals, state.predicted_totals, state.diagonal):
        assert array.dtype == np.int64
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    rows, columns, values = state.cells()
    assert list(zip(rows.tolist(), columns.tolist(), strict=True)) == [tuple(x) for x in np.argwhere(WHOLE).tolist()]
    assert values.tolist() == WHOLE[rows, columns].tolist()
    assert {array.dtype for array in (halves.true_totals, halves.diagonal, halves.matrix)} == {np.dtype(float)}
    assert (type(halves.total), halves.total, type(halves.hits), halves.hits) == (int, 2, int, 1)


def test_a_ratio_is_nan_exactly_where_its_denominator_is_zero() -> None:
    """0/0 is decided on exact counts: a tiny denominator is not zero."""
    state = counted(("a", "a", 2**60), ("b", "a", 2.0**-64), labels=["a", "b", "c"])

    assert np.isnan(state._ratios(*RECALL)).tolist() == [False, False, True]
    assert np.isnan(state._ratios(*PRECISION)).tolist() == [False, True, True]
    assert np.isnan(state._ratios((0, 0, 0, 1), (1, -1, 0, 0))).tolist() == [True, False, True]


four = st.lists(st.integers(0, 2**58), min_size=4, max_size=4)


@settings(max_examples=20)
@given(st.lists(four, min_size=4, max_size=4), st.sampled_from([*FORMS, ((1, -1, -1, 1), (0, 0, 0, 1))]))
def test_ratios_and_means_of_any_counts(cells: list[list[int]], form: Any) -> None:
    """Numerator and denominator are exact before they become doubles, and so are sums of means."""
    for matrix in (cells, (WHOLE * (cells[0][0] % 2**56 + 1)).tolist(), WHOLE.repeat(8, 0).repeat(8, 1).tolist()):
        state, exact = state_of(matrix), Oracle.from_matrix(matrix)
        got, expected = state._ratios(*form), exact._ratios(*form)
        assert np.isnan(got).tolist() == np.isnan(expected).tolist()
        assert all(abs(a - b) <= 2 * math.ulp(b) for a, b in zip(got, expected, strict=True) if not math.isnan(b))
        for undefined, by_support in ((0.0, False), (1.0, False), (NAN, False), (0.0, True), (NAN, True)):
            mean = exact._mean_ratio(*form, undefined, by_support)
            assert state._mean_ratio(*form, undefined, by_support) == pytest.approx(mean, rel=2**-51, nan_ok=True)


def test_what_has_no_samples() -> None:
    """The mean of no class is nan or `undefined`; a label without samples has no positives; a form has four numbers."""
    fixed, state = sm.ConfusionMatrix(labels=["a", "b"]), counted(("a", "b", 2.5), "zz")
    state.revert("z", "z")
    for undefined in (0.0, 1.0, NAN):
        assert math.isnan(sm.ConfusionMatrix()._mean_ratio(*RECALL, undefined))
        assert math.isnan(fixed._mean_ratio(*RECALL, undefined, by_support=True))
        assert repr(fixed._mean_ratio(*RECALL, undefined)) == repr(undefined)
    for label in ("z", "never", 5, ("a",)):
        assert state.one_vs_rest(label).matrix.tolist() == [[0, 0], [0, 2.5]]
    refused(lambda: state.one_vs_rest(NAN), sm.LabelError)
    for form in ((1, 2, 3), (1, 2, 3, 4, 5), (1, NAN, 0, 0), (1, "x", 0, 0)):
        with pytest.raises((TypeError, ValueError)):
            state._ratios(form, (0, 0, 0, 1))


LABELS: list[Any] = ["a", "b", b"a", 0, 1, 2, True, False, 1.0, 2.0, ("a", 1), ("a", 1.0), 2**70]
labels, light = st.sampled_from(LABELS), st.sampled_from([1, 1, 1, 0, 2, 0.5])
few = st.lists(st.tuples(labels, st.one_of(labels, st.none()), light), max_size=5)


def reached(some: list[Any], more: list[Any], how: int) -> Any:
    """Return a state that counts samples: in order, with others taken back, by a merge, or read from its bytes."""
    state, other = ConfusionMatrix(), ConfusionMatrix()
    if how == 1:
        fed(state, more)
    for at, sample in enumerate(some):
        (other if how == 2 and at % 2 else state).update(*sample)
    if how == 1:
        for sample in more:
            state.revert(*sample)
    state.merge(other)
    return sm.from_bytes(state.to_bytes()) if how == 3 else state


def check(a: Any, b: Any) -> None:
    """Assert that two objects are equal exactly if their bytes are."""
    equal = a.to_bytes() == b.to_bytes()
    assert (a == b) is (b == a) is equal
    assert a == a.copy() == a


def check_distinct(every: list[Any]) -> None:
    """Assert that objects are equal to themselves only."""
    for a in every:
        for b in every:
            check(a, b)
            assert (a == b) is (a is b)


@pytest.mark.quick
@given(few, few, few, st.integers(0, 3), st.integers(0, 3), st.booleans())
def test_states_are_equal_where_their_bytes_are(
    first: Any, second: Any, more: Any, one: int, two: int, same: bool
) -> None:
    """Counted in any order, with others taken back, merged, or read from bytes."""
    check(reached(first, more, one), reached(sorted(first, key=repr) if same else second, more, two))


@pytest.mark.quick
def test_configurations_and_what_is_no_cell_are_compared() -> None:
    """Labels are compared with their types, weights of 0 and abstentions count; states have no hash."""
    options: list[Any] = [
        (), ([1, 0],), ([0, 1],), ([0.0, 1.0],), ([False, True],), (["a", "b"], "b"), (["a", "b"],), ([("a", 1)],),
        ([("a", "1")],),
    ]  # fmt: skip
    check_distinct([ConfusionMatrix(*option) for option in options])
    rows: list[Any] = [[], ["ab"], [("a", None)], [("a", "b", 0)], [("a", "b", 2)]]
    check_distinct([fed(ConfusionMatrix(), some) for some in rows])
    groups = [ByGroup(ConfusionMatrix()), ByGroup(ConfusionMatrix(), 3), ByGroup(ConfusionMatrix(), 3, "rest")]
    check_distinct([*groups, *map(ByGroup, (ConfusionMatrix(["a"]), MetricSet(), MetricSet(["accuracy"])))])
    keyed = [ByGroup(ConfusionMatrix(), most) for most in (None, 1) for _ in range(3)]
    for at, state in enumerate(keyed):
        state.update_many([1, 2], [1, 2], group=["x", "yx"[at % 3 - 1]]) if at % 3 else None
    check_distinct(keyed)
    assert ConfusionMatrix() != "a state"
    with pytest.raises(TypeError, match="unhashable"):
        hash(ConfusionMatrix())


def test_metrics_and_sets_are_equal_where_their_bytes_are() -> None:
    """Options, units and samples are compared."""
    make = (
        sm.MacroF1, sm.Accuracy, MetricSet, lambda: sm.MacroF1(labels=[0, 1]), lambda: sm.MacroF1(zero_division=1.0),
        lambda: MetricSet(["accuracy"]), lambda: MetricSet(scores=True), lambda: MetricSet(scores="any"), sm.ROCAUC,
    )  # fmt: skip
    some = [fed(new(), [(1, {1: 0.6, 0: 0.4} if at > 5 else 0)]) for at, new in enumerate(make)]
    every = [new() for new in make] + some + [state.copy() for state in some]
    for unit in ("u", 1):
        every.append(sm.Accuracy())
        every[-1].update(1, 0, unit=unit)
    for a in every:
        for b in every:
            check(a, b)
