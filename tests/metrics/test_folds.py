"""Units of one model: samples that depend on each other, counted in folds by the hash of their unit."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.cases import every_case
from support.refusals import refused
from support.state_checks import with_batch
from support.timed_streams import Named
from support.wire_reader import fold_of_int, framed, packed, read

import stream_metrics as sm

MAKERS: dict[str, Callable[[], Any]] = {
    "set": sm.MetricSet, "scored set": lambda: sm.MetricSet(scores=True), "matrix metric": sm.MacroF1,
    "area": lambda: sm.ROCAUC(pos_label="a"), "loss": sm.CrossEntropy,
}  # fmt: skip
UNITS = [0, True, 1, 2.5, -(2**70), "a", "é", b"a", (1, "x"), *range(100, 140)]
LABELS = ["a", "b", "c"]


def rows(name: str) -> list[tuple[Any, ...]]:
    """Return truths, predictions, weights and units that a state takes."""
    source = random.Random(0)
    samples = []
    for _ in range(120):
        soft = {label: source.randrange(1, 9) / 32 for label in LABELS}
        predicted = source.choice(LABELS) if name in ("set", "matrix metric") else soft
        given = (source.choice(LABELS), predicted if source.random() < 0.95 else None)
        samples.append((*given, source.choice([1, 1, 2, 0.5, 0]), source.choice(UNITS)))
    return samples


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


def folds_of(state: Any) -> dict[int, Any]:
    """Return the folds that are in the bytes of a state, each as a state."""
    kind, (configuration, *_, folds) = read(state.to_bytes())
    return {fold: sm.from_bytes(framed(packed([kind, [configuration, *states]]))) for fold, states in folds}


def test_folds_add_up_to_what_is_counted_without_units() -> None:
    """They come after what the bytes of a state without units have; values and clones are the same."""
    with every_case() as case:
        for name, make in MAKERS.items():
            with case(name):
                samples = rows(name)
                plain, keyed = fed(make(), [(*row[:3], None) for row in samples]), fed(make(), samples)
                kind, content = read(keyed.to_bytes())
                assert len(folds_of(keyed)) > 20
                assert sm.merge([*folds_of(keyed).values()]).to_bytes() == plain.to_bytes()
                assert framed(packed([kind, content[:-1]])) == plain.to_bytes()
                assert keyed.snapshot().to_json() == plain.snapshot().to_json()
                assert repr(keyed.get()) == repr(plain.get())
                assert in_batch(make(), samples) == keyed == keyed.clone(include_attributes=True)
                assert keyed.clone() == make()
                assert keyed.merge(keyed).n == 2 * plain.n
    few = fed(sm.MetricSet(), [("a", "a", 1, unit) for unit in range(50)])
    assert {*folds_of(few)} == {*map(fold_of_int, range(50))}


@pytest.mark.quick
def test_folds_of_a_snapshot_do_not_change() -> None:
    """Intervals of a snapshot, which come from folds, are of the moment at which it was taken."""
    keys = {"set": "accuracy", "scored set": "log_loss", "matrix metric": "macro_f1", "loss": "log_loss"}
    for name, key in keys.items():
        state = fed(MAKERS[name](), rows(name)[:60])
        snapshot, before = state.snapshot(), state.snapshot().interval(key)
        fed(state, rows(name)[60:])
        assert snapshot.interval(key) == before != state.snapshot().interval(key)


def test_what_cannot_be_counted_or_reverted_changes_nothing() -> None:
    """A bad sample, alone and in a batch; a unit without samples, a sample of another unit, or of none."""
    bad: list[Any] = [("a", object(), 1, 1), (None, "a", 1, 1), ("a", "b", -1, 1), ("a", "b", 1, float("nan"))]
    with every_case() as case:
        for name, make in MAKERS.items():
            with case(name):
                state = fed(make(), rows(name))
                before = state.to_bytes()
                for row in bad:
                    for call in (fed, in_batch):
                        with pytest.raises((sm.LabelError, sm.ScoreError, sm.WeightError)):
                            call(state, [row])
                        assert state.to_bytes() == before

                truth, predicted, w, _ = next(row for row in rows(name) if row[1] is not None)
                state = fed(make(), [(truth, predicted, w, 1)])
                before = state.to_bytes()
                other = next(unit for unit in range(100) if fold_of_int(unit) != fold_of_int(1))
                for wrong in (other, None):
                    refused(partial(state.revert, truth, predicted, w, unit=wrong), sm.WeightError, "unit")
                    assert state.to_bytes() == before
                state.update(truth, predicted, w)
                state.revert(truth, predicted, w)
                assert state.to_bytes() == before
    left = fed(sm.MetricSet(), [("a", "a", 5, 1), ("b", "b", 1, None)])
    before = left.to_bytes()
    refused(lambda: left.revert("a", "a", 5), sm.WeightError, "unit")
    assert left.to_bytes() == before
    left.revert("b", "b", 1)
    assert left == fed(sm.MetricSet(), [("a", "a", 5, 1)])


@pytest.mark.quick
def test_a_unit_of_any_type_is_one_unit_by_value() -> None:
    """Equal numbers are one unit; a column, an array and a single value for all rows agree."""
    units = 7, [7.0, 7, np.int8(7)], np.full(3, 7, np.uint8)
    single, column, array = (with_batch(sm.MetricSet(), [1, 2, 1], [1, 1, 1], unit=unit) for unit in units)
    assert single == column == array == fed(sm.MetricSet(), [(1, 1, 1, 7), (2, 1, 1, 7.0), (1, 1, 1, np.int64(7))])
    refused(lambda: single.update_many([1, 2], [1, 2], unit=[1, None]), sm.LabelError, "unit")


def test_containers_pass_units_on() -> None:
    """A rolling window takes back what leaves with its unit; panes and groups have folds; batches agree."""
    with every_case() as case:
        for name, make in MAKERS.items():
            with case(name):
                samples = rows(name)
                last = folds_of(fed(make(), samples[-50:]))
                rolling, batch = fed(sm.Rolling(make(), 50), samples), sm.Rolling(make(), 50)
                for part in (samples[:70], samples[70:100], samples[100:]):
                    in_batch(batch, part)
                assert rolling == batch == sm.from_bytes(rolling.to_bytes()) == rolling.copy()
                assert {at: part.n for at, part in folds_of(rolling.state).items()} == {at: last[at].n for at in last}

                for wrap, column, names in ((sm.TimeWindow, range(120), "t"), (sm.ByGroup, [0, 1] * 60, "group")):
                    options = {"period": 100, "panes": 4} if wrap is sm.TimeWindow else {}
                    single, batch = (Named(wrap(make(), **options), names, "unit") for _ in range(2))
                    for at, row in enumerate(samples):
                        single.update(*row[:3], column[at], row[3])
                    truth, predicted, w, unit = map(list, zip(*samples, strict=True))
                    batch.update_many(truth, predicted, w, list(column), unit)
                    assert single == batch
                    part = single.state(1) if wrap is sm.ByGroup else single.merged()
                    assert part == fed(make(), samples[1::2] if wrap is sm.ByGroup else samples[25:])


def test_impossible_folds_are_refused() -> None:
    """Bytes in which folds are out of order or range, hold nothing, or more than the whole."""
    state = fed(sm.MetricSet(), [("a", "b", 1, unit) for unit in range(10)])
    kind, (*content, folds) = read(state.to_bytes())
    (first, counts), *rest = folds

    def states_of(*samples: tuple[Any, ...]) -> Any:
        return read(fed(sm.MetricSet(), list(samples)).to_bytes())[1][1:]

    damaged: dict[str, list[Any]] = {
        "order": [folds[::-1]], "range": [[*folds, [32, counts]]], "empty part": [[[first, states_of()], *rest]],
        "empty": [[]], "twice": [folds, folds], "too many": [[[fold, content[1:]] for fold, _ in folds]],
        "nested": [[[first, [*counts, [[first, counts]]]], *rest]],
        "heavier": [[[first, states_of(("a", "b", 2**62, None))], *rest]],
        "other labels": [[[first, states_of(("a", "z", 1, None))], *rest]],
    }  # fmt: skip
    with every_case() as case:
        for name, parts in damaged.items():
            with case(name):
                refused(partial(sm.from_bytes, framed(packed([kind, [*content, *parts]]))), sm.DecodeError)
    assert sm.from_bytes(framed(packed([kind, [*content, folds]]))) == state
