"""Every law of `stream_metrics.testing`, for every kind of state, configuration and stream of samples.

Windows, groups, counts of the monitor and detectors run the laws next to their own tests, because their samples need
times, groups or outcomes.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.rank_streams import SPECIAL, binary, several

import stream_metrics as sm
from stream_metrics import testing

text = st.sampled_from(["a", "b", "c", ""])
heavy = st.tuples(text, text, st.sampled_from([1, 2**31, 2**33 + 1, 0.5]))
FIXED: list[Any] = ["b", "a", True, 2.5]
CLASSES = ("a", "b", 1, 0, 2.5, b"a", (1, "x"))


def pool(numbers: list[float]) -> testing.Samples:
    """Samples of a fixed pool, cheap to draw: mappings of up to five labels, single numbers, abstentions, weights."""
    rng = random.Random(3)
    names = ["a", "b", True, 0, 2.0, b"a", (1, "x"), "\ud800"]
    weights = [1, 1, 1, 0, 0.1, 0.5, 2.0**-70, 7, 2**40]
    samples: list[tuple[Any, ...]] = []
    for _ in range(60):
        row = {label: rng.choice(numbers) for label in rng.sample(names, rng.randrange(6))}
        samples.append((rng.choice(names), row, rng.choice(weights)))
        samples.append((rng.choice([True, False, 1, 0.0]), rng.choice([*numbers, None]), rng.choice(weights)))
    return st.sampled_from(samples)


def rounded_probabilities() -> st.SearchStrategy[float]:
    """Probabilities of every size, ties, the ends, and rounding errors beyond them."""
    ends = [0.0, 1.0, 0.5, 0.25, 1 / 3, 1e-300, 2.0**-52, 2.0**-53, 1 - 2.0**-53, 1 + 1e-7, -1e-17, -0.0]
    return st.one_of(st.sampled_from(ends), st.floats(0, 1), st.floats(0, 1, width=32))


def fixed_samples() -> testing.Samples:
    """Samples of the fixed labels only."""
    labels = st.sampled_from(FIXED)
    hard = st.sampled_from(["b", "a", True, None])
    return st.tuples(labels, st.one_of(hard, st.dictionaries(labels, testing.probabilities())), testing.weights())


def rows_of_scores() -> testing.Samples:
    """Samples whose scores are mappings, sequences or missing."""
    scores = rounded_probabilities()
    mappings = st.dictionaries(testing.labels(), scores, max_size=6)
    rows = st.lists(scores, min_size=len(CLASSES), max_size=len(CLASSES))
    truth = st.one_of(testing.labels(), st.sampled_from(CLASSES))
    return st.tuples(truth, st.one_of(mappings, rows, st.none()), testing.weights())


class UnitFirst(sm.Comparison):
    """A comparison whose first argument is the unit, so that samples have one."""

    def update(self, unit: Any, y_true: Any, pred_a: Any, pred_b: Any) -> None:  # type: ignore[override]
        """Count one sample."""
        super().update(y_true, pred_a, pred_b, unit=unit)

    def update_many(self, unit: Any, y_true: Any, pred_a: Any, pred_b: Any) -> None:  # type: ignore[override]
        """Count a batch."""
        super().update_many(y_true, pred_a, pred_b, unit=unit)


any_label = st.one_of(testing.labels(), st.none())
one_score = st.tuples(st.sampled_from([True, False, 1, 0.0, False]), rounded_probabilities(), testing.weights())
equal_weights = st.tuples(
    st.sampled_from(["a", "b", "c"]), st.lists(st.floats(0, 1), min_size=3, max_size=3), st.just(1)
)
mapping = st.fixed_dictionaries({"a": testing.probabilities(), "b": testing.probabilities()})
PROBABILITIES = pool([0.0, -0.0, 1.0, 0.5, 0.25, 1 / 3, 1e-300, 1 - 2.0**-53, 0.1, 0.7])
STATES: dict[str, tuple[Callable[[], Any], Any]] = {
    "matrix": (sm.ConfusionMatrix, testing.samples()),
    "matrix, other": (lambda: sm.ConfusionMatrix(labels=["a", True, 2.5], other=0), testing.samples()),
    "matrix, text": (sm.ConfusionMatrix, st.tuples(text, text)),
    "matrix, numbers": (
        sm.ConfusionMatrix,
        st.tuples(st.integers(-3, 3), st.one_of(st.integers(-3, 3), st.booleans(), st.just(1.0)), testing.weights()),
    ),
    "matrix, one class": (sm.ConfusionMatrix, st.tuples(st.just("a"), st.just("a"), testing.weights())),
    "matrix, heavy": (sm.ConfusionMatrix, heavy),
    "matrix, unweighted": (sm.ConfusionMatrix, testing.samples(weighted=False)),
    "matrix, fixed": (lambda: sm.ConfusionMatrix(labels=["c", "a", "b", ""]), heavy),
    "MCC": (sm.MCC, testing.samples()),
    "FBeta": (lambda: sm.FBeta(2.0, pos_label="a", zero_division=1.0), testing.samples()),
    "ROCAUC": (sm.ROCAUC, binary()),
    "HandTillAUC": (sm.HandTillAUC, PROBABILITIES),
    "HandTillAUC, coarse": (lambda: sm.HandTillAUC(buckets=2, sample=1), pool(SPECIAL)),
    "CrossEntropy": (sm.CrossEntropy, PROBABILITIES),
    "AveragePrecision": (lambda: sm.AveragePrecision(pos_label="a"), several()),
    "TopKAccuracy": (lambda: sm.TopKAccuracy(3), PROBABILITIES),
    "set": (lambda: sm.MetricSet(["accuracy", "macro_f1"], labels=["b", "a"], other="z"), testing.samples()),
    "set of scores": (lambda: sm.MetricSet(scores=True), testing.soft_samples()),
    "set of scores, coarse": (lambda: sm.MetricSet(scores=True, buckets=2, sample=1), PROBABILITIES),
    "set of any scores": (
        lambda: sm.MetricSet(scores="any"), testing.soft_samples(st.sampled_from(SPECIAL), weighted=False),
    ),
    "set of scores, chosen metrics": (
        lambda: sm.MetricSet(["confidence_auc", "accuracy"], pos_label=1, threshold=0.3, zero_division=1.0),
        PROBABILITIES,
    ),
    "set of scores, fixed": (lambda: sm.MetricSet(scores=True, labels=FIXED), fixed_samples()),
    "losses": (lambda: sm.ProbabilityLosses(classes=CLASSES), rows_of_scores()),
    "losses, one score": (lambda: sm.ProbabilityLosses(classes=CLASSES), one_score),
    "losses, squares": (lambda: sm.ProbabilityLosses(classes=["a", "b", "c"]), equal_weights),
    "comparison": (sm.Comparison, st.tuples(testing.labels(), any_label, any_label, testing.weights())),
    "comparison, unweighted": (lambda: sm.Comparison("old", "new", folds=5), st.tuples(text, text, text)),
    "comparison, fixed": (
        lambda: sm.Comparison(labels=["c", "a", "b", ""]), st.tuples(text, text, st.one_of(text, st.none())),
    ),
    "comparison, units": (lambda: UnitFirst(folds=3), st.tuples(testing.labels(), text, text, text)),
    "comparison, scores": (
        lambda: sm.Comparison(scores=True, folds=3),
        st.tuples(st.booleans(), testing.probabilities(), st.one_of(testing.probabilities(), st.none())),
    ),
    "comparison, mappings": (
        lambda: sm.Comparison(scores="any", pos_label="a", folds=3),
        st.tuples(st.sampled_from(["a", "b"]), mapping, mapping),
    ),
}  # fmt: skip
for size in ((2, 1), (3, 2), (8, 4), (1024, 512)):
    for pairs in (True, False):
        name = f"ranks {size} {'pairs' if pairs else 'no pairs'}"
        for weighted in (True, False):
            suffix = "" if weighted else ", unweighted"
            STATES[f"{name}, binary{suffix}"] = (
                lambda size=size, pairs=pairs: sm.RankSketch(*size, pairs=pairs), binary(weighted=weighted),
            )  # fmt: skip
            STATES[f"{name}, several{suffix}"] = (
                lambda size=size, pairs=pairs: sm.RankSketch(*size, "a", pairs), several(weighted=weighted),
            )  # fmt: skip


def is_coarse(state: Any) -> bool:
    """Whether scores of the state share cells after a few samples, so that none can be reverted."""
    return getattr(state, "buckets", None) is not None and state.buckets < 1024


CASES = [
    pytest.param(law, *case, id=f"{law.__name__}-{state}")
    for state, case in STATES.items()
    for law in testing.LAWS
    if not (law.__name__ == "revert_undoes" and is_coarse(case[0]()))
]


@pytest.mark.parametrize(("law", "make", "samples"), CASES)
def test_law(law: testing.Law, make: Callable[[], Any], samples: Any) -> None:
    """The law holds for the state and its samples; coarse sketches of ranks do not revert."""
    law(make, samples)


def test_check_runs_every_law() -> None:
    """`check` runs all laws on a state."""
    testing.check(lambda: sm.Accuracy(labels=["a", "b", "c", ""]), st.tuples(text, text))


@pytest.mark.parametrize(("hard", "weighted"), [(True, True), (False, False)])
def test_every_form_is_drawn(hard: bool, weighted: bool) -> None:
    """The strategy draws mappings, numbers, abstentions and, if asked for, labels; a set counts them all."""
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
