"""The laws of an accumulator, kept by sets and metrics that read scores."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.rank_streams import SPECIAL

import stream_metrics as sm
from stream_metrics import testing

FIXED: list[Any] = ["b", "a", True, 2.5]
METRICS: dict[str, Callable[..., Any]] = {  # one for each kind of state
    "ROCAUC": sm.ROCAUC,
    "HandTillAUC": sm.HandTillAUC,
    "CrossEntropy": sm.CrossEntropy,
}
SHARING: dict[str, Callable[..., Any]] = {  # their state is that of one above
    "AveragePrecision": lambda: sm.AveragePrecision(pos_label="a"),
    "TopKAccuracy": lambda: sm.TopKAccuracy(3),
    "BrierScore": sm.BrierScore,
}
TINY = [law for law in testing.LAWS if law.__name__ != "revert_undoes"]  # scores that share a cell cannot be told apart
ONE_STATE = {"merge_commutes", "merge_associates", "empty_is_identity", "reset_forgets"}  # laws of the state alone


def pool(numbers: list[float]) -> testing.Samples:
    """Samples of a fixed pool, cheap to draw: mappings of up to five labels, single numbers, abstentions, weights."""
    rng = random.Random(3)
    names = ["a", "b", True, 0, 2.5, b"a", (1, "x"), "\ud800"]
    weights = [1, 1, 1, 0, 0.1, 0.5, 2.0**-70, 7, 2**40]
    drawn: list[tuple[Any, ...]] = []
    for _ in range(60):
        row = {label: rng.choice(numbers) for label in rng.sample(names, rng.randrange(6))}
        drawn.append((rng.choice(names), row, rng.choice(weights)))
        drawn.append((rng.choice([True, False, 1, 0.0]), rng.choice([*numbers, None]), rng.choice(weights)))
    return st.sampled_from(drawn)


PROBABILITIES = pool([0.0, -0.0, 1.0, 0.5, 0.25, 1 / 3, 1e-300, 1 - 2.0**-53, 0.1, 0.7])


def fixed_samples() -> testing.Samples:
    """Samples of the fixed labels only."""
    labels = st.sampled_from(FIXED)
    hard = st.sampled_from(["b", "a", True, None])
    return st.tuples(labels, st.one_of(hard, st.dictionaries(labels, testing.probabilities())), testing.weights())


def named(law: testing.Law) -> str:
    """Return the name of a law."""
    return law.__name__


@pytest.mark.parametrize("law", testing.LAWS, ids=named)
def test_sets_obey_the_laws(law: testing.Law) -> None:
    """While every score is exact, a set obeys every law, for mappings, numbers, labels, abstentions and fractions."""
    law(lambda: sm.MetricSet(scores=True), testing.soft_samples())


@pytest.mark.parametrize("law", TINY, ids=named)
def test_coarse_sets_obey_the_laws(law: testing.Law) -> None:
    """Where scores share cells, sets obey every law but that of revert."""
    law(lambda: sm.MetricSet(scores=True, buckets=2, sample=1), PROBABILITIES)


@pytest.mark.parametrize("law", testing.LAWS, ids=named)
def test_sets_of_any_scores_obey_the_laws(law: testing.Law) -> None:
    """Scores may be any finite numbers where no probabilities are needed."""
    law(lambda: sm.MetricSet(scores="any"), testing.soft_samples(st.sampled_from(SPECIAL), weighted=False))


@pytest.mark.parametrize("law", testing.LAWS, ids=named)
def test_chosen_metrics_obey_the_laws(law: testing.Law) -> None:
    """A set keeps no more states than its metrics need, and obeys the laws whatever they are."""
    law(
        lambda: sm.MetricSet(["confidence_auc", "accuracy"], pos_label=1, threshold=0.3, zero_division=1.0),
        PROBABILITIES,
    )


@pytest.mark.parametrize("law", testing.LAWS, ids=named)
def test_sets_of_fixed_labels_obey_the_laws(law: testing.Law) -> None:
    """A fixed set of labels obeys them on the labels that it allows."""
    law(lambda: sm.MetricSet(scores=True, labels=FIXED), fixed_samples())


@pytest.mark.parametrize("law", testing.LAWS, ids=named)
@pytest.mark.parametrize("make", METRICS.values(), ids=METRICS)
def test_metrics_obey_the_laws(law: testing.Law, make: Callable[..., Any]) -> None:
    """Single metrics obey every law."""
    law(make, PROBABILITIES)


@pytest.mark.parametrize("law", [law for law in testing.LAWS if law.__name__ not in ONE_STATE], ids=named)
@pytest.mark.parametrize("make", SHARING.values(), ids=SHARING)
def test_metrics_of_the_same_states_obey_the_laws(law: testing.Law, make: Callable[..., Any]) -> None:
    """Metrics with options of their own obey the laws in which these take part."""
    law(make, PROBABILITIES)


@pytest.mark.parametrize("law", TINY, ids=named)
def test_coarse_metrics_obey_the_laws(law: testing.Law) -> None:
    """Metrics of a tiny sketch obey every law but that of revert."""
    law(lambda: sm.HandTillAUC(buckets=2, sample=1), pool(SPECIAL))


@pytest.mark.parametrize(("hard", "weighted"), [(True, True), (False, False)])
def test_every_form_is_drawn(hard: bool, weighted: bool) -> None:
    """The strategy draws mappings, numbers, abstentions and, if asked for, labels; what it draws can be counted."""
    kinds: set[type] = set()
    metrics = sm.MetricSet(scores=True)

    @settings(max_examples=60, database=None, derandomize=True)
    @given(testing.soft_samples(hard=hard, weighted=weighted))
    def draw(sample: tuple[Any, ...]) -> None:
        assert len(sample) == 2 + weighted
        kinds.add(type(sample[1]))
        metrics.update(*sample)

    draw()
    assert kinds >= {dict, float, type(None)}
    assert (kinds - {dict, float, type(None)} != set()) is hard
