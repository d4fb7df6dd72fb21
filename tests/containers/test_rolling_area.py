"""The area of a rolling window: kept as a number of pairs, the same to the bit as that of its snapshot."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from support.rank_streams import binary, scores

import stream_metrics as sm
from stream_metrics.containers.rolling import Rolling


def reads(rolling: Rolling) -> tuple[Any, ...]:
    """Return the value of a window and the value of its state."""
    return repr(rolling.get()), rolling.n, rolling.abstained


def says(state: Any) -> tuple[Any, ...]:
    """Return the same of a state."""
    return repr(state.get()), state.n, state.abstained


@pytest.mark.parametrize("make", [sm.ROCAUC, sm.Gini, lambda: sm.ROCAUC(pos_label="a", zero_division=1.0)])
@given(data=st.data())
def test_the_area_is_that_of_the_state(make: Any, data: st.DataObject) -> None:
    """Area, `n` and `abstained` equal those of state and snapshot to the bit, whatever is read in between."""
    rolling = Rolling(make(), data.draw(st.sampled_from([1, 2, 7])))
    default = rolling.inner.pos_label is True
    labels = st.sampled_from([True, False, 1, 0.0] if default else ["a", "b"])
    mapping = st.dictionaries(st.sampled_from([True, False, 1] if default else [True, "a"]), scores(), max_size=3)
    sample = st.one_of(st.tuples(labels, scores()), st.tuples(labels, mapping), *([binary()] if default else []))
    for drawn in data.draw(st.lists(sample, max_size=30)):
        rolling.update(*drawn)
        read = reads(rolling)
        if data.draw(st.booleans()):
            assert read == says(rolling.state)
            areas = rolling.snapshot().per_class[rolling.inner.key]
            assert read[0] == repr(areas.get(rolling.inner.pos_label, rolling.inner.zero_division))
        elif data.draw(st.booleans()):
            twin = rolling.copy() if data.draw(st.booleans()) else sm.from_bytes(rolling.to_bytes())
            assert reads(twin) == read
            assert twin == rolling


def test_a_gini_coefficient_is_rounded_once() -> None:
    """2 * (1/3) - 1 in floats is not -1/3."""
    rolling = Rolling(sm.Gini(), 7)
    for truth, score in [(True, 0.1), (True, 0.2), (True, 1.0), (False, 0.9)]:
        rolling.update(truth, score)
    assert rolling.get() == rolling.state.get() == -1 / 3


@pytest.mark.parametrize("window", [1, 2, 5, 10, 100, 1000])
def test_the_area_is_that_of_scikit_learn(window: int) -> None:
    """On ties and on distinct scores, at every step of a long stream."""
    rng = random.Random(window)
    rolling, stream = Rolling(sm.ROCAUC(), window), []
    for i in range(2_500):
        stream.append((rng.random() < 0.3, rng.randrange(50) / 50 if i < 1_200 else rng.random()))
        rolling.update(*stream[-1])
        last = stream[-window:]
        if i % 17 == 0 and len({y for y, _ in last}) == 2:
            assert rolling.get() == pytest.approx(roc_auc_score(*zip(*last, strict=True)), abs=1e-12)


def test_samples_that_the_area_cannot_take_come_and_go() -> None:
    """A weight, a score shared by many, another number: counted by the state until they have left."""
    rng = random.Random(2)
    odd = [(True, 0.5, 2), (True, 1e308), (False, -1.7e308), (True, -1.7e308), (True, 0.25, 0.5), (False, 0.5, 0)]
    rolling, stream = Rolling(sm.ROCAUC(), 6), []
    for i in range(400):
        stream.append(odd[i // 10 % len(odd)] if i % 10 == 0 else (rng.random() < 0.5, rng.randrange(4) / 4))
        rolling.update(*stream[-1])
        fresh = sm.ROCAUC()
        for one in stream[-6:]:
            fresh.update(*one)
        assert reads(rolling) == says(fresh)
        if i % 3 == 0:
            assert rolling.state.to_bytes() == fresh.to_bytes()


def test_batches_and_resets() -> None:
    """Batches, and a reset, leave the area that single samples leave."""
    rng = random.Random(4)
    rolling = Rolling(sm.ROCAUC(), 40)
    for size in (3, 10, 39, 40, 41, 100, 2):
        batch = [(rng.random() < 0.5, rng.random()) for _ in range(size)]
        rolling.update_many(*zip(*batch, strict=True))
        assert reads(rolling) == says(rolling.state)
    rolling.reset()
    assert repr(rolling.get()) == "nan"
    assert rolling == Rolling(sm.ROCAUC(), 40)
    rolling.update(True, 0.5)
    rolling.update(False, 0.25)

    assert rolling.get() == 1.0


def test_a_metric_that_does_more_is_asked_itself() -> None:
    """A class of one's own with another `get` answers with it."""

    class Percent(sm.ROCAUC):
        def get(self) -> float:
            return 100 * super().get()

    rolling = Rolling(Percent(), 10)
    for y_true, score in ((True, 0.75), (False, 0.25), (True, 0.125)):
        rolling.update(y_true, score)

    assert rolling.get() == 50.0
