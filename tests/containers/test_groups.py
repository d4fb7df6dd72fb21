"""Groups: which have their own state, the overflow group, comparison, and errors."""

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

import stream_metrics as sm
from stream_metrics import testing
from stream_metrics.containers.rolling import Rolling

KEPT = (True, "uk", b"x")  # the three keys with the smallest hashes, of those below
COUNTRIES = ["de", "fr", "us", "uk", "it"]


def stream(n: int = 400, seed: int = 3) -> list[tuple[str, str, str]]:
    """Return truth, prediction and country; the model is the worse the later the country stands in the list."""
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        at = rng.randrange(len(COUNTRIES))
        truth = rng.choice("xyz")
        rows.append((truth, truth if rng.random() < 0.95 - 0.15 * at else rng.choice("xyz"), COUNTRIES[at]))
    return rows


def fed(groups: sm.ByGroup, rows: Iterable[tuple[Any, Any, Any]]) -> sm.ByGroup:
    """Return the groups after some samples."""
    for y_true, y_pred, group in rows:
        groups.update(y_true, y_pred, group=group)
    return groups


def test_every_group_is_a_state_of_its_own() -> None:
    """Each is what a fresh state fed with its samples is, and overall is what one fed with all is."""
    rows = stream()
    snapshot = fed(sm.ByGroup(sm.MetricSet()), rows).snapshot()
    overall = sm.MetricSet()
    for country in COUNTRIES:
        alone = sm.MetricSet()
        for y_true, y_pred, group in rows:
            if group == country:
                alone.update(y_true, y_pred)
                overall.update(y_true, y_pred)
        assert snapshot[country].to_json() == alone.snapshot().to_json()

    assert list(snapshot) == sorted(COUNTRIES)
    assert snapshot.overall.to_json() == overall.snapshot().to_json()
    assert snapshot.other is None
    assert snapshot.folded == 0


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("ab"), st.integers(0, 30)), max_size=60),
    st.integers(1, 6),
)
def test_folding_keeps_a_choice_that_depends_on_the_keys_only(rows: list[tuple[str, str, int]], most: int) -> None:
    """The kept groups are complete; they are those of any larger limit that have the smallest hashes."""
    bounded, free = fed(sm.ByGroup(sm.MetricSet(), most), rows), fed(sm.ByGroup(sm.MetricSet()), rows)
    wider = fed(sm.ByGroup(sm.MetricSet(), most + 3), rows[::-1])

    assert len(bounded.groups) == min(most, len(free.groups))
    assert set(bounded.groups) <= set(wider.groups)
    assert all(bounded.state(group) == free.state(group) for group in bounded.groups)
    assert bounded.n == free.n == len(rows)
    assert bounded.folded == sum(group not in bounded.groups for _, _, group in rows)
    assert set(sm.ByGroup(sm.MetricSet(), most).merge(free_of(free, most)).groups) == set(bounded.groups)


def free_of(groups: sm.ByGroup, most: int) -> sm.ByGroup:
    """Return groups of the limit that were merged from one state a group."""
    parts = []
    for group in groups.groups:
        part = sm.ByGroup(sm.MetricSet(), most)
        part.update("a", "a", group=group)
        parts.append(part)
    return sm.merge(parts) if parts else sm.ByGroup(sm.MetricSet(), most)


def test_the_choice_of_groups_is_for_ever() -> None:
    """Which of these are kept must not change, or old states would not merge with new ones."""
    groups = sm.ByGroup(sm.Accuracy(), 3)
    for key in [*COUNTRIES, 1, 0.5, b"x", ("de", 1), True, 1.0]:
        groups.update(1, 1, group=key)

    assert groups.groups == KEPT


def test_many_folded_keys_cost_no_memory() -> None:
    """A hundred thousand customers leave as many states as are kept apart, and a bounded cache."""
    groups = sm.ByGroup(sm.Accuracy(), max_groups=10)
    for i in range(20_000):
        groups.update(1, 1, group=f"customer {i}")

    assert len(groups.groups) == 10
    assert groups.folded == 19_990
    assert len(groups._folded) <= 4096


def test_equal_numbers_are_one_group() -> None:
    """True, 1 and 1.0 are one, shown in the narrowest type that was seen, also after a revert."""
    groups = sm.ByGroup(sm.Accuracy())
    for key in (1.0, 1, True, np.int64(1), np.float32(1)):
        groups.update(1, 1, group=key)
    assert repr(groups.groups) == "(True,)"

    groups.revert(1, 1, group=True)
    assert repr(groups.groups) == "(1,)"
    assert groups.state(True).n == 4


def test_a_group_that_is_reverted_is_gone() -> None:
    """An empty group is none; reverting what was not counted is refused."""
    groups = fed(sm.ByGroup(sm.Accuracy()), [(1, 1, "a"), (1, 0, "b")])
    groups.revert(1, 0, group="b")

    assert groups == fed(sm.ByGroup(sm.Accuracy()), [(1, 1, "a")])
    for sample in ((1, 0, "b"), (1, 0, "a")):
        with pytest.raises(sm.WeightError):
            groups.revert(*sample[:2], group=sample[2])
    assert groups.groups == ("a",)


def test_revert_says_why_it_is_not_there() -> None:
    """What cannot be undone has no `revert`."""
    with pytest.raises(AttributeError, match="folded groups"):
        sm.ByGroup(sm.Accuracy(), 3).revert(1, 1, group="a")
    with pytest.raises(AttributeError, match="TimeWindow cannot"):
        sm.ByGroup(sm.TimeWindow(sm.Accuracy(), "1h")).revert(1, 1, group="a")


@pytest.mark.parametrize(
    "column",
    [
        COUNTRIES, tuple(COUNTRIES), np.array(COUNTRIES), np.array(COUNTRIES, object), pd.Series(COUNTRIES),
        pd.Series(COUNTRIES, dtype="category"), pd.Categorical(COUNTRIES),
        sm.Categorical(np.array([0, 1, 2, 3, 4]), COUNTRIES),
    ],
)  # fmt: skip
@pytest.mark.parametrize("most", [None, 2])
def test_columns_of_groups(column: Any, most: int | None) -> None:
    """Columns of every kind give what single updates give."""
    y_true, y_pred = [1, 0, 1, 1, 0], [1, 1, 1, 0, 0]
    batch = sm.ByGroup(sm.MetricSet(), most)
    batch.update_many(y_true, y_pred, group=column)

    assert batch == fed(sm.ByGroup(sm.MetricSet(), most), zip(y_true, y_pred, COUNTRIES, strict=True))


def test_batches_of_scores() -> None:
    """Tables of scores are dealt out by row, with their classes; one group may stand for all rows."""
    table = np.array([[0.7, 0.3], [0.2, 0.8], [0.6, 0.4]])
    groups, single = sm.ByGroup(sm.MetricSet(scores=True)), sm.ByGroup(sm.MetricSet(scores=True))
    groups.update_many(["a", "b", "b"], scores=table, classes=["a", "b"], group=[1, 2, 1])
    groups.update_many(["a", "b", "b"], scores=table, classes=["a", "b"], group="all")
    for (y_true, row), group in zip(zip("abb", table.tolist(), strict=True), [1, 2, 1], strict=True):
        single.update(y_true, scores=row, classes=["a", "b"], group=group)
        single.update(y_true, dict(zip("ab", row, strict=True)), group="all")

    assert groups == single


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"y_pred": ["x", float("inf"), "x"]}, "position 1"),
        ({"group": ["a", "b", None]}, "`group` at position 2"),
        ({"group": ["a", "b"]}, "`group` to have as many rows as `y_true`, 3"),
        ({"w": [1, 1, float("inf")]}, "position 2"),
    ],
)
def test_a_bad_row_rejects_the_batch(rows: dict[str, Any], message: str) -> None:
    """Nothing is counted, and the error names the row of the batch."""
    groups = fed(sm.ByGroup(sm.MetricSet(), 2), stream(20))
    before = groups.to_bytes()

    with pytest.raises(ValueError, match=message):
        groups.update_many(**{"y_true": ["x", "y", "x"], "y_pred": ["x", "x", "y"], "group": ["a", "b", "a"], **rows})
    assert groups.to_bytes() == before


def test_a_sample_that_is_refused_makes_no_group() -> None:
    """Neither a bad group nor a bad label of a new group leaves anything."""
    groups = sm.ByGroup(sm.MetricSet(), 1)
    for sample in (("a", float("inf"), "new"), ("a", "a", None), ("a", "a", float("nan")), ("a", "a", [])):
        with pytest.raises(sm.LabelError):
            fed(groups, [sample])
    with pytest.raises(TypeError, match="group"):
        groups.update("a", "a")

    assert groups == sm.ByGroup(sm.MetricSet(), 1)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: sm.ByGroup(sm.ByGroup(sm.MCC())), "tuples as keys"),
        (lambda: sm.ByGroup(sm.TimeWindow(sm.ByGroup(sm.MCC()), "1h")), "tuples as keys"),
        (lambda: sm.ByGroup(sm.MCC(), 0), "`max_groups`"),
        (lambda: sm.ByGroup(sm.MCC(), True), "`max_groups`"),
        (lambda: sm.ByGroup(sm.MCC(), 3, other=5), "`other`"),
        (lambda: sm.ByGroup(sm.Fading(sm.MCC(), 10), 3), "fade by time where groups are folded"),
        (lambda: sm.ByGroup(Rolling(sm.MCC(), 10), 3), "`inner` to be mergeable, as groups that are folded are merged"),
        (lambda: sm.ByGroup("accuracy"), "`inner` to be a state"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Any, reason: str) -> None:
    """At construction, with the reason."""
    with pytest.raises(ValueError, match=reason):
        make()


def test_other_configurations_do_not_merge() -> None:
    """The error names what differs."""
    groups = fed(sm.ByGroup(sm.MCC(), 3), [(1, 1, "a")])
    for other, message in (
        (sm.ByGroup(sm.MCC(), 4), "`max_groups` to be the same in both, but got 3 in one and 4 in"),
        (sm.ByGroup(sm.MCC()), "`max_groups`"),
        (sm.ByGroup(sm.MCC(labels=[1, 2]), 3), "`labels`"),
        (sm.ByGroup(sm.Recall(), 3), "`pos_label`"),
        (sm.ByGroup(sm.MetricSet(), 3), "to merge an MCC, but got a MetricSet"),
        (sm.MCC(), "to merge a ByGroup, but got an MCC"),
    ):
        with pytest.raises(sm.MergeError, match=message):
            groups.merge(other)
    assert groups == fed(sm.ByGroup(sm.MCC(), 3), [(1, 1, "a")])


def test_groups_of_windows_are_read_at_one_time() -> None:
    """A group whose samples are old is empty as of the latest time of any group."""
    groups = sm.ByGroup(sm.TimeWindow(sm.MetricSet(), 30, 3))
    groups.update("x", "x", group="old", t=0)
    groups.update("x", "y", group="new", t=100)
    snapshot = groups.snapshot()

    assert (snapshot["old"].n, snapshot["new"].n, snapshot.overall.n, groups.n) == (0, 1, 1, 1)
    assert groups.state("old").n == 1
    assert snapshot.worst("accuracy") == [("new", 0.0)]
    assert math.isnan(snapshot.max_gap("accuracy"))


def test_groups_that_fade_are_read_at_one_time() -> None:
    """The weights of all groups are as of the latest time of any."""
    groups = sm.ByGroup(sm.Fading(sm.MetricSet(), "10s"))
    groups.update("x", "x", group="old", t=0)
    groups.update("x", "y", group="new", t=10)
    snapshot = groups.snapshot()

    assert (snapshot["old"].weight, snapshot["new"].weight) == pytest.approx((0.5, 1.0))
    assert snapshot.overall["accuracy"] == pytest.approx(1 / 3)


def test_groups_of_the_last_samples_have_no_whole() -> None:
    """The last N of each group are kept and written; there is no state of all, and no merge, with the reason."""
    groups = sm.ByGroup(Rolling(sm.MetricSet(), 2))
    for y_pred in "xxyyyy":
        groups.update("x", y_pred, group="a")
        groups.update("x", "x", group="b")
    snapshot = groups.snapshot()

    assert (snapshot["a"]["accuracy"], snapshot["b"]["accuracy"], snapshot.overall) == (0.0, 1.0, None)
    assert "(all)" not in snapshot.report(80)
    assert sm.from_bytes(groups.to_bytes()) == groups
    assert not hasattr(groups, "revert")
    before = groups.to_bytes()
    with pytest.raises(sm.MergeError, match="TimeWindow"):
        groups.merge(groups.copy())
    assert groups.to_bytes() == before


@pytest.mark.parametrize("size", [30, 3000, 12000])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", [list, np.array, pd.Categorical, "codes"])
def test_columns_of_any_form_count_as_rows_do(size: int, weighted: bool, form: Any) -> None:
    """Few and many rows of a group, as lists, text, categories, or codes, give the bytes of rows one by one."""
    rows = stream(size)
    weights = [1 + i % 3 / 2 for i in range(size)] if weighted else [1] * size
    expected = sm.ByGroup(sm.MetricSet())
    for (y_true, y_pred, group), w in zip(rows, weights, strict=True):
        expected.update(y_true, y_pred, w, group=group)

    def column(values: list[str]) -> Any:
        if form != "codes":
            return form(values)
        names = sorted(set(values))
        return sm.Categorical(np.array([names.index(value) for value in values]), names)

    groups = sm.ByGroup(sm.MetricSet())
    truth, predicted, keys = (column([row[i] for row in rows]) for i in range(3))
    groups.update_many(truth, predicted, weights if weighted else None, group=keys)

    assert groups == expected


@pytest.mark.parametrize("inner", [sm.MetricSet(), sm.ConfusionMatrix([0, "a", 1.5], other="rest")])
@pytest.mark.parametrize("weighted", [False, True])
@given(st.data())
def test_a_batch_of_groups_has_the_bytes_of_its_samples(inner: Any, weighted: bool, data: st.DataObject) -> None:
    """Labels that are equal in several types, abstentions, and weights that are 0 or have a fraction."""
    rows = data.draw(st.lists(st.tuples(testing.samples(weighted=weighted), st.integers(0, 3)), min_size=1))
    one_by_one, batches = sm.ByGroup(inner), sm.ByGroup(inner)
    for sample, group in rows:
        one_by_one.update(*sample, group=group)
    cut = data.draw(st.integers(0, len(rows)))
    for part in (rows[:cut], rows[cut:]):
        if part:
            columns = map(list, zip(*(sample for sample, _ in part), strict=True))
            batches.update_many(*columns, group=[group for _, group in part])
    assert batches.to_bytes() == one_by_one.to_bytes()


def test_a_label_that_is_refused_in_one_group_is_named_by_its_place_in_the_batch() -> None:
    """All groups stay as they are, those before it too."""
    groups = sm.ByGroup(sm.MetricSet(labels=["x", "y"]))
    groups.update("x", "y", group="a")
    before = groups.to_bytes()
    with pytest.raises(sm.LabelError) as caught:
        groups.update_many(["x", "x", "y"], ["x", "y", "z"], group=["a", "a", "b"])
    assert (caught.value.argument, caught.value.position, caught.value.got) == ("y_pred", 2, "z")
    assert groups.to_bytes() == before
