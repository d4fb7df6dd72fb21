"""Units of one model: samples that depend on each other, counted in folds by the hash of their unit."""

from __future__ import annotations

import doctest
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics.metrics import metric_set
from stream_metrics.metrics.folds import FOLDS
from stream_metrics.states.folds import fold_of
from stream_metrics.wire import encoded

MAKERS: dict[str, Callable[[], Any]] = {
    "set": sm.MetricSet,
    "scored set": lambda: sm.MetricSet(scores=True),
    "matrix metric": sm.MacroF1,
    "area": lambda: sm.ROCAUC(pos_label="a"),
    "loss": sm.CrossEntropy,
}
UNITS = [0, True, 1, 2.5, -(2**70), "a", "é", b"a", (1, "x"), *range(100, 140)]
LABELS = ["a", "b", "c"]


def rows(scored: bool, n: int = 120, seed: int = 0) -> list[tuple[Any, ...]]:
    """Return truths, predictions, weights and units."""
    source = random.Random(seed)
    found = []
    for _ in range(n):
        soft = {label: source.randrange(1, 9) / 32 for label in LABELS}
        predicted = soft if scored else source.choice(LABELS)
        given = (source.choice(LABELS), predicted if source.random() < 0.95 else None)
        found.append((*given, source.choice([1, 1, 2, 0.5, 0]), source.choice(UNITS)))
    return found


def is_scored(state: Any) -> bool:
    """Tell whether a state takes scores."""
    return bool(getattr(state, "scores", False)) or isinstance(state, sm.ROCAUC | sm.CrossEntropy)


def fed(state: Any, samples: list[tuple[Any, ...]]) -> Any:
    """Return a state that has counted samples one by one; a unit of None is no unit."""
    for truth, predicted, w, unit in samples:
        state.update(truth, predicted, w, unit=unit)
    return state


def in_batch(state: Any, samples: list[tuple[Any, ...]]) -> Any:
    """Return a state that has counted samples at once."""
    truth, predicted, w, unit = (list(column) for column in zip(*samples, strict=True))
    state.update_many(truth, predicted, w, unit=unit)
    return state


@pytest.fixture(params=MAKERS, name="make")
def maker(request: pytest.FixtureRequest) -> Callable[[], Any]:
    """Return what makes an empty state that takes units."""
    return MAKERS[request.param]


def test_every_split_gives_the_same_bytes(make: Callable[[], Any]) -> None:
    """One by one, in a batch, merged from shards in any order, through bytes in the middle."""
    samples = rows(is_scored(make()))
    whole = fed(make(), samples)
    assert len(whole.unit_folds) > 20
    batch = in_batch(make(), samples)
    shards = [fed(make(), samples[at::3]) for at in range(3)]
    through = sm.from_bytes(shards[2].to_bytes())
    merged = through.merge(shards[0]).merge(sm.from_bytes(shards[1].to_bytes()))
    two = fed(sm.from_bytes(in_batch(make(), samples[:50]).to_bytes()), samples[50:])
    for other in (batch, merged, two, whole.copy(), make().merge(whole), sm.from_bytes(whole.to_bytes())):
        assert other.to_bytes() == whole.to_bytes()


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.data())
def test_folds_add_up_and_revert_restores_the_bytes(data: st.DataObject) -> None:
    """The samples of all folds are those of the whole; updates that are taken back leave nothing."""
    make = data.draw(st.sampled_from(list(MAKERS.values())))
    samples = rows(is_scored(make()), data.draw(st.integers(1, 40)), data.draw(st.integers(0, 10**6)))
    kept = data.draw(st.integers(0, len(samples)))
    state, before = fed(make(), samples), fed(make(), samples[:kept])
    total = make()
    for part in state.unit_folds.values():
        total.merge(part)
    assert encoded(total._content()) == encoded(state._content()[:-1])
    for truth, predicted, w, unit in reversed(samples[kept:]):
        state.revert(truth, predicted, w, unit=unit)
    assert state.to_bytes() == before.to_bytes()


def test_states_without_units_are_written_as_before(make: Callable[[], Any]) -> None:
    """Folds are in the bytes of states that have some; the values are those of samples without units."""
    samples = rows(is_scored(make()))
    plain = fed(make(), [(*row[:3], None) for row in samples])
    keyed = fed(make(), samples)
    assert encoded(plain._content()) == encoded(keyed._content()[:-1])
    assert keyed.snapshot().to_json() == plain.snapshot().to_json()
    if hasattr(keyed, "key"):
        assert repr(keyed.get()) == repr(plain.get())


def test_reset_and_clone_forget_units(make: Callable[[], Any]) -> None:
    """Nothing of them is left; a clone with its samples has them."""
    state = fed(make(), rows(is_scored(make())))
    assert state.clone(include_attributes=True) == state
    assert state.clone() == make()
    state.reset()
    assert state.to_bytes() == make().to_bytes()


def test_copies_are_independent(make: Callable[[], Any]) -> None:
    """What a copy, a merged state or a snapshot holds does not move with the original."""
    samples = rows(is_scored(make()))
    state = fed(make(), samples[:60])
    copy, merged, snapshot = state.copy(), make().merge(state), state.snapshot()
    folds = snapshot.evaluation.folds
    before, values = state.to_bytes(), [part.copy() for states in folds.values() for part in states.values()]
    fed(state, samples[60:])
    state.merge(state)
    assert copy.to_bytes() == before == merged.to_bytes()
    assert values == [part for states in snapshot.evaluation.folds.values() for part in states.values()]
    assert state.n == 2 * fed(make(), samples).n


@pytest.mark.parametrize(
    "bad", [("a", object(), 1, 1), (None, "a", 1, 1), ("a", "b", -1, 1), ("a", "b", 1, float("nan"))]
)
def test_a_failed_call_changes_nothing(make: Callable[[], Any], bad: tuple[Any, ...]) -> None:
    """Neither the whole nor a fold, alone or in a batch."""
    samples = rows(is_scored(make()))
    state = fed(make(), samples)
    before = state.to_bytes()
    for call in (fed, in_batch):
        with pytest.raises((sm.LabelError, sm.ScoreError, sm.WeightError)):
            call(state, [bad])
        assert state.to_bytes() == before


def test_reverts_that_cannot_be_are_refused(make: Callable[[], Any]) -> None:
    """A unit that has no samples, a sample of another unit, none where all samples have one."""
    truth, predicted, w, unit = next(row for row in rows(is_scored(make())) if row[1] is not None)
    state = fed(make(), [(truth, predicted, w, unit)])
    before = state.to_bytes()
    other = next(x for x in range(100) if fold_of(x, FOLDS) != fold_of(unit, FOLDS))
    for wrong in (other, None):
        with pytest.raises(sm.WeightError, match="unit"):
            state.revert(truth, predicted, w, unit=wrong)
        assert state.to_bytes() == before
    state.update(truth, predicted, w)
    state.revert(truth, predicted, w)
    assert state.to_bytes() == before


def test_a_sample_of_a_unit_is_not_reverted_as_one_without() -> None:
    """What is left would be less than the folds hold."""
    state = fed(sm.MetricSet(), [("a", "a", 5, 1), ("b", "b", 1, None)])
    before = state.to_bytes()
    with pytest.raises(sm.WeightError, match="unit"):
        state.revert("a", "a", 5)
    assert state.to_bytes() == before
    state.revert("b", "b", 1)
    assert state == fed(sm.MetricSet(), [("a", "a", 5, 1)])


def test_a_unit_of_any_type_is_one_unit_by_value() -> None:
    """Equal numbers are one unit; a column, an array and a single value for all rows agree."""
    import numpy as np

    single, column, array = sm.MetricSet(), sm.MetricSet(), sm.MetricSet()
    single.update_many([1, 2, 1], [1, 1, 1], unit=7)
    column.update_many([1, 2, 1], [1, 1, 1], unit=[7.0, 7, np.int8(7)])
    array.update_many([1, 2, 1], [1, 1, 1], unit=np.full(3, 7, np.uint8))
    assert single == column == array == fed(sm.MetricSet(), [(1, 1, 1, 7), (2, 1, 1, 7.0), (1, 1, 1, np.int64(7))])
    with pytest.raises(sm.LabelError, match="`unit` to have as many rows"):
        single.update_many([1, 2], [1, 2], unit=[1])
    with pytest.raises(sm.LabelError, match="unit"):
        single.update_many([1, 2], [1, 2], unit=[1, None])


def test_containers_pass_units_on(make: Callable[[], Any]) -> None:
    """A rolling window takes back what leaves with its unit; panes and groups have folds; batches agree."""
    samples = rows(is_scored(make()))
    truth, predicted, w, unit = (list(column) for column in zip(*samples, strict=True))
    last = fed(make(), samples[-50:])

    single, batch = sm.Rolling(make(), 50), sm.Rolling(make(), 50)
    fed(single, samples)
    batch.update_many(truth[:70], predicted[:70], w[:70], unit=unit[:70])
    batch.update_many(truth[70:100], predicted[70:100], w[70:100], unit=unit[70:100])
    in_batch(batch, samples[100:])
    assert single == batch == sm.from_bytes(single.to_bytes()) == single.copy()
    assert {fold: part.n for fold, part in single.state.unit_folds.items()} == {
        fold: part.n for fold, part in last.unit_folds.items()
    }

    window, group = sm.TimeWindow(make(), 100, 4), sm.ByGroup(make())
    for at, row in enumerate(samples):
        window.update(*row[:3], t=at, unit=row[3])
        group.update(*row[:3], group=at % 2, unit=row[3])
    both = sm.TimeWindow(make(), 100, 4), sm.ByGroup(make())
    both[0].update_many(truth, predicted, w, t=list(range(120)), unit=unit)
    both[1].update_many(truth, predicted, w, group=[at % 2 for at in range(120)], unit=unit)
    assert (window, group) == both
    assert window.merged() == fed(make(), samples[25:])
    assert group.state(1) == fed(make(), samples[1::2])


@pytest.mark.parametrize(
    "damage", ["order", "range", "empty part", "empty", "too many", "nested", "twice", "heavier", "other labels"]
)
def test_impossible_folds_are_refused(damage: str) -> None:
    """Bytes in which folds are out of order or range, hold nothing, or more than the whole."""
    state = fed(sm.MetricSet(), [("a", "b", 1, unit) for unit in range(10)])
    content = state._content()
    folds = content[-1]
    empty = sm.MetricSet()._content()[1:]
    changed = {
        "order": folds[::-1],
        "range": [*folds, [FOLDS, folds[0][1]]],
        "empty part": [[folds[0][0], empty], *folds[1:]],
        "empty": [],
        "too many": [[fold, sm.MetricSet._content(state)[1:-1]] for fold, _ in folds],
        "nested": [[folds[0][0], [*folds[0][1], [folds[0]]]], *folds[1:]],
        "twice": folds,
        "heavier": [[folds[0][0], fed(sm.MetricSet(), [("a", "b", 2**62, 0)])._content()[1:-1]], *folds[1:]],
        "other labels": [[folds[0][0], fed(sm.MetricSet(), [("a", "z", 1, 0)])._content()[1:-1]], *folds[1:]],
    }[damage]
    damaged = [*content[:-1], changed, *([folds] if damage == "twice" else [])]
    with pytest.raises(sm.DecodeError):
        sm.MetricSet.from_content(_read(damaged))
    assert sm.MetricSet.from_content(_read(content)) == state


def _read(content: Any) -> Any:
    """Return a content as it is read from bytes."""
    return tuple(map(_read, content)) if isinstance(content, list | tuple) else content


def test_the_example_of_the_docstring() -> None:
    """It prints what it says."""
    test = doctest.DocTestFinder(recurse=False).find(metric_set.MetricSet, "MetricSet", globs={})
    assert doctest.DocTestRunner().run(test[0]).failed == 0
