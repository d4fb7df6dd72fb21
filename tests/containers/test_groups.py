"""Groups: which have their own state, the overflow group, batches and tables of counts, comparison, and errors."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.refusals import all_refused, refused

import stream_metrics as sm
from stream_metrics import testing

COUNTRIES = ["de", "fr", "us", "uk", "it"]
ALL_KEYS = [*COUNTRIES, 1, 0.5, b"x", ("de", 1), True, 1.0]
SMALLEST = (True, "uk", b"x")  # the three of these with the smallest hashes
INNER: dict[str, Any] = {
    "matrix": sm.ConfusionMatrix, "fixed matrix": lambda: sm.ConfusionMatrix([0, "a", 1.5], other="rest"),
    "set": sm.MetricSet, "metric": lambda: sm.Accuracy(labels=["a", "b", 1], other="c"),
}  # fmt: skip


def fed(groups: sm.ByGroup, rows: Iterable[tuple[Any, ...]]) -> sm.ByGroup:
    """Return the groups after some samples, whose group comes last."""
    for *sample, group in rows:
        groups.update(*sample, group=group)
    return groups


@pytest.mark.quick
def test_every_group_is_a_state_of_its_own() -> None:
    """Each is what a fresh state fed with its samples is, and overall is what one fed with all is."""
    rng, rows = random.Random(3), []
    for _ in range(400):
        at, truth = rng.randrange(len(COUNTRIES)), rng.choice("xyz")
        rows.append((truth, truth if rng.random() < 0.95 - 0.15 * at else rng.choice("xyz"), COUNTRIES[at]))
    snapshot, overall = fed(sm.ByGroup(sm.MetricSet()), rows).snapshot(), sm.MetricSet()
    for country in COUNTRIES:
        alone = sm.MetricSet()
        for y_true, y_pred, group in rows:
            if group == country:
                alone.update(y_true, y_pred)
                overall.update(y_true, y_pred)
        assert snapshot[country].to_json() == alone.snapshot().to_json()

    assert list(snapshot) == sorted(COUNTRIES)
    assert snapshot.overall.to_json() == overall.snapshot().to_json()
    assert (snapshot.other, snapshot.folded) == (None, 0)


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("ab"), st.integers(0, 30)), max_size=60),
    st.integers(1, 6),
)
def test_folding_is_a_choice_that_depends_on_the_keys_only(rows: list[tuple[str, str, int]], most: int) -> None:
    """The groups that are not folded are complete; they are those of any larger limit with the smallest hashes."""
    bounded, free = fed(sm.ByGroup(sm.MetricSet(), most), rows), fed(sm.ByGroup(sm.MetricSet()), rows)
    wider = fed(sm.ByGroup(sm.MetricSet(), most + 3), rows[::-1])
    parts = [fed(sm.ByGroup(sm.MetricSet(), most), [("a", "a", group)]) for group in free.groups]

    assert len(bounded.groups) == min(most, len(free.groups))
    assert set(bounded.groups) <= set(wider.groups)
    assert all(bounded.state(group) == free.state(group) for group in bounded.groups)
    assert bounded.n == free.n == len(rows)
    assert bounded.folded == sum(group not in bounded.groups for _, _, group in rows)
    assert sm.merge([sm.ByGroup(sm.MetricSet(), most), *parts]).groups == bounded.groups


@pytest.mark.quick
def test_the_choice_of_groups_is_for_ever() -> None:
    """Which of these are not folded must not change, or old states would not merge with new ones."""
    assert fed(sm.ByGroup(sm.Accuracy(), 3), [(1, 1, key) for key in ALL_KEYS]).groups == SMALLEST


@pytest.mark.quick
def test_equal_numbers_are_one_group() -> None:
    """True, 1 and 1.0 are one, shown in the narrowest type that was seen, also after a revert."""
    groups = fed(sm.ByGroup(sm.Accuracy()), [(1, 1, key) for key in (1.0, 1, True, np.int64(1), np.float32(1))])
    assert repr(groups.groups) == "(True,)"

    groups.revert(1, 1, group=True)
    assert repr(groups.groups) == "(1,)"
    assert groups.state(True).n == 4


@pytest.mark.quick
def test_a_group_that_is_reverted_is_gone() -> None:
    """An empty group is none; what was not counted is refused; what cannot be undone has no `revert`."""
    groups = fed(sm.ByGroup(sm.Accuracy()), [(1, 1, "a"), (1, 0, "b")])
    groups.revert(1, 0, group="b")

    assert groups == fed(sm.ByGroup(sm.Accuracy()), [(1, 1, "a")])
    all_refused([
        (lambda: groups.revert(1, 0, group="b"), sm.WeightError, ""),
        (lambda: groups.revert(1, 0, group="a"), sm.WeightError, ""),
        (lambda: groups.state("b"), KeyError, "'b'"),
        (lambda: sm.ByGroup(sm.Accuracy(), 3).revert, AttributeError, "folded groups"),
        (lambda: sm.ByGroup(sm.TimeWindow(sm.Accuracy(), "1h")).revert, AttributeError, "TimeWindow cannot"),
    ])  # fmt: skip
    assert groups.groups == ("a",)


@pytest.mark.parametrize("name", INNER)
@given(st.data())
def test_batches_and_tables_of_counts_have_the_bytes_of_their_samples(name: str, data: st.DataObject) -> None:
    """Labels and keys equal in several types, abstentions, fractions and zeros of weights, folded groups or none."""
    keys = st.sampled_from(["x", "y", 1, True, 1.0, ("z", 2)])
    rows = data.draw(st.lists(st.tuples(testing.samples(), st.integers(0, 3), keys), max_size=20))
    most = data.draw(st.sampled_from([None, 2]))
    hard = [truth if isinstance(predicted, dict) else predicted for (truth, predicted, _), _, _ in rows]
    samples, repeated, batches, counts = (sm.ByGroup(INNER[name](), most) for _ in range(4))
    for ((truth, predicted, w), n, key), label in zip(rows, hard, strict=True):
        samples.update(truth, predicted, w, group=key)
        fed(repeated, [(truth, label, key)] * n)
    cut = data.draw(st.integers(0, len(rows)))
    for part in (slice(0, cut), slice(cut, None)):
        truth, predicted, w = ([sample[i] for sample, _, _ in rows[part]] for i in range(3))
        n, group = ([row[i] for row in rows[part]] for i in (1, 2))
        batches.update_many(truth, predicted, w, group=group)
        counts.update_counts(truth, hard[part], n, group=group)

    assert batches.to_bytes() == samples.to_bytes()
    assert counts.to_bytes() == repeated.to_bytes()


@pytest.mark.parametrize("rows", [30, 5000])
def test_weights_and_one_group_of_tables(rows: int) -> None:
    """Small groups are counted row by row, large ones as batches; one group may be named for all rows."""
    rng = np.random.default_rng(rows)
    truth, predicted, n, group = rng.integers(0, (3, 3, 4, 5), (rows, 4)).T
    w = n * rng.choice([1, 0.5, 3], rows)
    repeated = [np.repeat(column, n) for column in (truth, predicted, np.where(n > 0, w / np.maximum(n, 1), 0), group)]
    for inner in (sm.ConfusionMatrix(), sm.MetricSet()):
        groups, expected = sm.ByGroup(inner), sm.ByGroup(inner)
        groups.update_counts(truth, pd.Series(predicted), n, w, group=pd.Series(group))
        expected.update_many(*repeated[:3], group=repeated[3])
        assert groups.to_bytes() == expected.to_bytes()
        groups.update_counts(truth, predicted, n, group="all")
        expected.update_many(*repeated[:2], group="all")
        assert groups.to_bytes() == expected.to_bytes()


BAD_BATCHES: list[tuple[dict[str, Any], type[Exception], str | None, int | None]] = [
    ({"y_pred": [0, float("inf"), 0]}, sm.LabelError, "y_pred", 1),
    ({"y_pred": [0, 1, 7], "group": ["x", "x", "y"]}, sm.LabelError, "y_pred", 2),
    *(({"group": group}, sm.LabelError, "group", at) for group, at in ((["a", "b", None], 2), (["a", "b"], None))),
    ({"w": [1, 1, float("inf")]}, sm.WeightError, "w", 2),
]
BAD_TABLES: list[tuple[dict[str, Any], type[Exception], str | None, int | None]] = [
    ({"n": [1, -1]}, sm.WeightError, "n", 1),
    ({"n": [1, 0], "w": [1, 2]}, sm.WeightError, "w", 1),
    *(({key: rows}, sm.LabelError, key, 1) for key, rows in (("y_true", [0, None]), ("y_pred", [0, 7]))),
    *(({"group": group}, sm.LabelError, "group", at) for group, at in ((["x", None], 1), (["x"], None))),
    ({"group": "x", "w": [2**62, 2**62]}, sm.WeightError, "w", None),
]


@pytest.mark.quick
def test_a_bad_row_rejects_a_batch_or_a_table() -> None:
    """Nothing is counted in any group, and the error names the row of the batch or of the table."""
    groups = fed(sm.ByGroup(sm.ConfusionMatrix([0, 1]), 2), [(0, 1, "x"), (1, 1, "y"), (0, 0, "z")])
    before = groups.to_bytes()
    batch = {"y_true": [0, 1, 0], "y_pred": [0, 0, 1], "group": ["a", "b", "a"]}
    table = {"y_true": [0, 1], "y_pred": [0, 1], "n": [1, 1], "group": ["x", "y"]}
    for cases, rows, count in ((BAD_BATCHES, batch, groups.update_many), (BAD_TABLES, table, groups.update_counts)):
        for change, kind, argument, position in cases:
            error = refused(lambda: count(**{**rows, **change}), kind)  # noqa: B023
            assert (error.argument, error.position) == (argument, position)  # type: ignore[attr-defined]
            assert groups.to_bytes() == before


@pytest.mark.quick
def test_a_sample_that_is_refused_makes_no_group() -> None:
    """Neither a bad group nor a bad label of a new group leaves anything."""
    groups = sm.ByGroup(sm.MetricSet(), 1)
    samples = [("a", float("inf"), "new"), ("a", "a", None), ("a", "a", float("nan")), ("a", "a", [])]
    all_refused((lambda sample=sample: fed(groups, [sample]), sm.LabelError, "") for sample in samples)
    refused(lambda: groups.update("a", "a"), TypeError, "group")

    assert groups == sm.ByGroup(sm.MetricSet(), 1)


@pytest.mark.quick
def test_what_makes_no_sense_is_refused() -> None:
    """At construction, with the reason; other configurations do not merge, and the error names what differs."""
    groups = fed(sm.ByGroup(sm.MCC(), 3), [(1, 1, "a")])
    scored = [sm.RankSketch(), sm.ROCAUC(), sm.MetricSet(scores=True), sm.Rolling(sm.Accuracy(), 5)]
    all_refused([
        (lambda: sm.ByGroup(sm.ByGroup(sm.MCC())), ValueError, "tuples as keys"),
        (lambda: sm.ByGroup(sm.TimeWindow(sm.ByGroup(sm.MCC()), "1h")), ValueError, "tuples as keys"),
        *((lambda x=x: sm.ByGroup(sm.MCC(), x), ValueError, "`max_groups`") for x in (0, True, 2.0)),
        (lambda: sm.ByGroup(sm.MCC(), 3, other=5), ValueError, "`other`"),
        (lambda: sm.ByGroup(sm.Fading(sm.MCC(), 10), 3), ValueError, "fade by time where groups are folded"),
        (lambda: sm.ByGroup(sm.Rolling(sm.MCC(), 10), 3), ValueError, "to be mergeable, as groups that are folded are"),
        (lambda: sm.ByGroup("accuracy"), ValueError, "`inner` to be a state"),
        *((lambda other=other: groups.merge(other), sm.MergeError, about) for other, about in (
            (sm.ByGroup(sm.MCC(), 4), "got 3 in one and 4 in"), (sm.ByGroup(sm.MCC()), "max_groups"),
            (sm.ByGroup(sm.MCC(labels=[1, 2]), 3), "`labels`"), (sm.ByGroup(sm.Recall(), 3), "`pos_label`"),
            (sm.ByGroup(sm.MetricSet(), 3), "an MCC, but got a MetricSet"), (sm.MCC(), "a ByGroup, but got an MCC"),
        )),
        *((lambda x=x: sm.ByGroup(x).update_counts([0], [0], [1], group="x"), sm.OptionError, "inner") for x in scored),
    ])  # fmt: skip
    assert groups == fed(sm.ByGroup(sm.MCC(), 3), [(1, 1, "a")])


@pytest.mark.quick
def test_groups_of_windows_are_read_at_one_time() -> None:
    """A group whose samples are old is empty, or has faded, as of the latest time of any group."""
    windows, fading = map(sm.ByGroup, (sm.TimeWindow(sm.MetricSet(), 30, 3), sm.Fading(sm.MetricSet(), "10s")))
    for groups, now in ((windows, 100), (fading, 10)):
        groups.update("x", "x", group="old", t=0)
        groups.update("x", "y", group="new", t=now)
    snapshot, faded = windows.snapshot(), fading.snapshot()

    assert (snapshot["old"].n, snapshot["new"].n, snapshot.overall.n, windows.n) == (0, 1, 1, 1)
    assert windows.state("old").n == 1
    assert snapshot.worst("accuracy") == [("new", 0.0)]
    assert math.isnan(snapshot.max_gap("accuracy"))
    assert (faded["old"].weight, faded["new"].weight) == pytest.approx((0.5, 1.0))
    assert faded.overall["accuracy"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("inner", [sm.ConfusionMatrix(["a", 1], "z"), sm.MetricSet(), sm.MCC()])
@pytest.mark.parametrize("limit", [None, 700])
def test_many_new_groups_in_a_batch_count_as_one_by_one(inner: Any, limit: int | None) -> None:
    """Tables of counts, too; batches merge, and what was read from bytes merges as what counted."""
    rng = np.random.default_rng(5)
    keys, labels = [*range(1500), 2.0, True, "g"], ["a", "b", 1, True, 1.0, ("x", 2)]
    group = [keys[at] for at in rng.integers(0, len(keys), 5000)]
    truth, predicted = ([labels[at] for at in rng.integers(0, len(labels), 5000)] for _ in range(2))
    predicted = [None if at % 7 == 0 else label for at, label in enumerate(predicted)]
    alone, batch = sm.ByGroup(inner, limit), sm.ByGroup(inner, limit)
    for sample in zip(truth, predicted, group, strict=True):
        alone.update(*sample[:2], group=sample[2])
    batch.update_many(truth, predicted, group=group)
    assert batch.to_bytes() == alone.to_bytes()
    assert (batch.n, batch.abstained) == (alone.n, alone.abstained) == (4285, 715)
    counted = sm.ByGroup(inner, limit)
    counted.update_counts([*truth, "a"], [*predicted, "b"], [1] * 5000 + [0], group=[*group, "none"])
    assert counted == batch
    shards = [batch.copy(), sm.from_bytes(batch.to_bytes())]
    twice = alone + alone
    for merged in (a + b for a in shards for b in shards):
        assert merged == twice
        assert (merged.n, merged.abstained) == (twice.n, twice.abstained)
    with pytest.raises(sm.LabelError) as caught:
        batch.update_many([*["a"] * 1999, float("nan")], ["a"] * 2000, group=range(2000))
    assert (caught.value.argument, caught.value.position) == ("y_true", 1999)
    assert shards[0] == alone


@pytest.mark.quick
def test_states_that_were_read_are_counted_in_copies() -> None:
    """The numbers of samples of a copy, a merge and an aggregate hold groups whose state a caller has."""
    groups = sm.ByGroup(sm.MetricSet())
    groups.update_many([1] * 6, [1] * 6, group=["x"] * 5 + ["y"])
    groups.state("x").update(1, None)
    aggregate = sm.Aggregate()
    aggregate.put("worker", groups, 1)
    for state in (groups.copy(), groups.copy().copy(), sm.merge([groups, groups.copy()]), aggregate.total()):
        assert (state.n, state.abstained) in {(6, 1), (12, 2)}
    assert aggregate.n == 6
