"""The matrix against a plain-Python table: the same calls give the same readings and the same refusals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.oracle import Oracle
from support.state_checks import FORMS, assert_same_readings, fed

import stream_metrics as sm
from stream_metrics import testing

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
        pairs = list(zip(state.ratios(above, below).tolist(), oracle.ratios(above, below).tolist(), strict=True))
        for undefined, by_support in ((0.0, False), (1.0, True), (NAN, False), (NAN, True)):
            if above[0] == 1 and min(below) >= 0:  # a ratio in [0, 1]
                mean = oracle.mean_ratio(above, below, undefined, by_support)
                pairs.append((state.mean_ratio(above, below, undefined, by_support), mean))
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


@given(st.lists(good, max_size=20), testing.labels())
def test_one_vs_rest(stream: list[Any], label: Any) -> None:
    """One class against the rest, seen or not, has the same cells and ratios."""
    mine, theirs = (fed(table, stream).one_vs_rest(label) for table in (sm.ConfusionMatrix(), Oracle()))

    assert mine.matrix.tolist() == theirs.matrix.tolist()
    assert (mine.total, mine.hits, mine.k) == (theirs.total, theirs.hits, 2)
    assert_same_ratios(mine, theirs)
