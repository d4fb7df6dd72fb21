"""Every law of `stream_metrics.testing`, for every kind of state, set, window and group; a few kinds are quick.

Rolling windows and detectors, which do not merge, and counts of the monitor run the laws next to their own tests.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.rank_streams import SPECIAL, binary, several
from support.timed_streams import Named, keys, samples, times

import stream_metrics as sm
from stream_metrics import testing

text = st.sampled_from(["a", "b", "c", ""])
label, weight, probability, none = testing.labels(), testing.weights(), testing.probabilities(), st.none()
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


ENDS = [0.0, 1.0, 0.5, 0.25, 1 / 3, 1e-300, 2.0**-52, 2.0**-53, 1 - 2.0**-53, 1 + 1e-7, -1e-17, -0.0]
rounded = st.one_of(st.sampled_from(ENDS), st.floats(0, 1), st.floats(0, 1, width=32))  # and a little beyond [0, 1]
row = st.one_of(st.dictionaries(label, rounded, max_size=6), st.lists(rounded, min_size=7, max_size=7), none)
truth = label | st.sampled_from(CLASSES)
fixed, special = st.sampled_from(FIXED), st.sampled_from(SPECIAL)
fixed_row = st.one_of(st.sampled_from(["b", "a", True, None]), st.dictionaries(fixed, probability))


def of_units(drawn: testing.Samples) -> testing.Samples:
    """Put units after samples; a few have none."""
    units = st.sampled_from([None, 0, True, 2.5, "a", b"a", (1, "x"), *range(9)])
    return st.tuples(units, drawn).map(lambda pair: (*pair[1], pair[0]))


number = st.one_of(st.integers(-3, 3), st.booleans(), st.just(1.0))
mapping = st.fixed_dictionaries({"a": probability, "b": probability})
abc, three = st.sampled_from("abc"), st.lists(st.floats(0, 1), min_size=3, max_size=3)
whole = label.filter(lambda x: x not in ((), 2.5))
tags = st.frozensets(whole, max_size=4) | st.dictionaries(whole, st.booleans(), min_size=1, max_size=4)
by_label = st.fixed_dictionaries({"a": probability, "b": st.floats(0, 1), 1: probability})
PROBABILITIES = pool([0.0, -0.0, 1.0, 0.5, 0.25, 1 / 3, 1e-300, 1 - 2.0**-53, 0.1, 0.7])
scored = partial(sm.MetricSet, scores=True)
STATES: dict[str, tuple[Callable[[], Any], Any]] = {
    "matrix": (sm.ConfusionMatrix, testing.samples()),
    "matrix, other": (lambda: sm.ConfusionMatrix(labels=["a", True, 2.5], other=0), testing.samples()),
    "matrix, numbers": (sm.ConfusionMatrix, st.tuples(st.integers(-3, 3), number, weight)),
    "matrix, fixed, heavy": (
        lambda: sm.ConfusionMatrix(labels=["c", "a", "b", ""]),
        st.tuples(text, text, st.sampled_from([1, 2**31, 2**33 + 1, 0.5])),
    ),
    "MCC": (sm.MCC, testing.samples(weighted=False)),
    "FBeta": (lambda: sm.FBeta(2.0, pos_label="a", zero_division=1.0), testing.samples()),
    "ROCAUC": (sm.ROCAUC, binary()),
    "HandTillAUC": (sm.HandTillAUC, PROBABILITIES),
    "HandTillAUC, coarse": (lambda: sm.HandTillAUC(buckets=2, sample=1), pool(SPECIAL)),
    "CrossEntropy": (sm.CrossEntropy, PROBABILITIES),
    "AveragePrecision": (lambda: sm.AveragePrecision(pos_label="a"), several()),
    "ranks, pairs": (sm.RankSketch, several()),
    "ranks, no pairs": (lambda: sm.RankSketch(pos_label="a", pairs=False), several(weighted=False)),
    "ranks, binary": (lambda: sm.RankSketch(8, 4, pairs=False), binary()),
    "ranks, coarse pairs": (lambda: sm.RankSketch(2, 1), several()),
    "ranks, coarse": (lambda: sm.RankSketch(3, 2, "a", pairs=False), several(weighted=False)),
    "losses": (partial(sm.ProbabilityLosses, classes=CLASSES), st.tuples(truth, row, weight)),
    "losses, squares": (partial(sm.ProbabilityLosses, classes=[*"abc"]), st.tuples(abc, three, st.just(1))),
    "set": (lambda: sm.MetricSet(["accuracy", "macro_f1"], labels=["b", "a"], other="z"), testing.samples()),
    "set of scores": (scored, testing.soft_samples()),
    "set of any scores": (partial(scored, scores="any"), testing.soft_samples(special, weighted=False)),
    "set of scores, chosen metrics": (
        lambda: sm.MetricSet(["confidence_auc", "accuracy"], pos_label=1, threshold=0.3, zero_division=1.0),
        PROBABILITIES,
    ),
    "set of scores, fixed": (partial(scored, labels=FIXED), st.tuples(fixed, fixed_row, weight)),
    "several labels": (sm.MultiLabel, st.tuples(tags, tags | none, weight)),
    "several labels, scores": (
        lambda: sm.MultiLabel(labels=["b", "a", 1.0], scores=True, threshold=0.3),
        st.tuples(st.frozensets(st.sampled_from(["a", True])), by_label | none),
    ),
    "comparison": (sm.Comparison, st.tuples(label, label | none, label | none, weight)),
    "comparison, fixed": (partial(sm.Comparison, labels=["c", "a", "b", ""]), st.tuples(text, text, text | none)),
    "comparison, scores": (
        lambda: sm.Comparison(scores=True, folds=3), st.tuples(st.booleans(), probability, probability | none),
    ),
    "comparison, mappings": (
        lambda: sm.Comparison(scores="any", pos_label="a", folds=3), st.tuples(st.sampled_from("ab"), mapping, mapping),
    ),
}  # fmt: skip
NAMED: dict[str, tuple[str, Callable[[], Any], Any]] = {
    "set of units": ("unit", sm.MetricSet, of_units(testing.samples())),
    "set of scores of units": ("unit", scored, of_units(PROBABILITIES)),
    "MacroF1 of units": ("unit", sm.MacroF1, of_units(st.tuples(text, text))),
    "ROCAUC of units": ("unit", sm.ROCAUC, of_units(binary())),
    "CrossEntropy of units": ("unit", sm.CrossEntropy, of_units(PROBABILITIES)),
    "comparison, units": ("unit", lambda: sm.Comparison(folds=3), st.tuples(text, text, text, testing.labels())),
    "window": ("t", lambda: sm.TimeWindow(sm.MetricSet(), 4, 4, 1.5), samples(times())),
    "window of coarse scores": (
        "t", lambda: sm.TimeWindow(scored(buckets=2, sample=1), 3, 3), samples(times(), scores=True),
    ),
    "window of several labels": ("t", lambda: sm.TimeWindow(sm.MultiLabel(), 4, 4, 1), st.tuples(tags, tags, times())),
    "fading of several labels": ("t", lambda: sm.Fading(sm.MultiLabel(), "80ms"), st.tuples(tags, tags, times())),
    "window of groups": (
        "t group", lambda: sm.TimeWindow(sm.ByGroup(sm.Accuracy(), max_groups=2), 4, 4, 1), samples(times(), keys()),
    ),
    "groups of scores": ("group", lambda: sm.ByGroup(scored()), samples(keys(), scores=True)),
    "groups, folded": ("group", lambda: sm.ByGroup(sm.MetricSet(), max_groups=1), samples(keys())),
    "groups of windows": (
        "t group", lambda: sm.ByGroup(sm.TimeWindow(sm.MetricSet(), 4, 4, 1)), samples(times(), keys()),
    ),
    "groups of fading": (
        "t group", lambda: sm.ByGroup(sm.Fading(sm.MetricSet(), "100ms"), 2), samples(times(), keys(), most=1e6),
    ),
    "fading": ("t", lambda: sm.Fading(sm.MetricSet(), "100ms"), samples(times(), most=1e6)),
    "fading of scores": ("t", lambda: sm.Fading(scored(), "200ms"), samples(times(), scores=True, most=1e3)),
    "fading of groups": (
        "t group", lambda: sm.Fading(sm.ByGroup(sm.MCC(), 2), "80ms"), samples(times(), keys(), most=1e6),
    ),
}  # fmt: skip
STATES |= {
    name: (lambda names=names, make=make: Named(make(), *names.split()), drawn)
    for name, (names, make, drawn) in NAMED.items()
}
QUICK = {
    "matrix", "matrix, other", "HandTillAUC", "ranks, coarse pairs", "losses", "set of scores of units", "comparison",
    "several labels", "window of several labels",
    "window", "groups, folded", "fading",
}  # fmt: skip


def is_coarse(state: Any) -> bool:
    """Whether scores of the state share cells after a few samples, so that none can be reverted."""
    return getattr(state, "buckets", None) is not None and state.buckets < 1024


CASES = [
    pytest.param(law, *case, id=f"{law.__name__}-{state}", marks=[pytest.mark.quick] if state in QUICK else [])
    for state, case in STATES.items()
    for law in testing.LAWS
    if not (law.__name__ == "revert_undoes" and is_coarse(case[0]()))
]


@pytest.mark.parametrize(("law", "make", "samples"), CASES)
def test_law(law: testing.Law, make: Callable[[], Any], samples: Any) -> None:
    """The law holds for the state and its samples; coarse sketches of ranks do not revert."""
    law(make, samples)


def test_every_form_is_drawn_and_check_runs_every_law() -> None:
    """The strategy draws mappings, numbers, abstentions and, if asked for, labels; a set counts them all."""
    testing.check(lambda: sm.Accuracy(labels=["a", "b", "c", ""]), st.tuples(text, text))
    for hard, weighted in ((True, True), (False, False)):
        kinds: set[type] = set()
        metrics = sm.MetricSet(scores=True)

        @settings(max_examples=60, database=None, derandomize=True)
        @given(testing.soft_samples(hard=hard, weighted=weighted))
        def draw(sample: tuple[Any, ...]) -> None:
            assert len(sample) == 2 + weighted  # noqa: B023
            kinds.add(type(sample[1]))  # noqa: B023
            metrics.update(*sample)  # noqa: B023

        draw()
        assert kinds >= {dict, float, type(None)}
        assert (kinds - {dict, float, type(None)} != set()) is hard


def test_only_states_that_can_undo_have_revert() -> None:
    """The laws skip `revert` where there is none: in windows, fading states, comparisons and folded groups."""
    without = {name for name, (make, _) in STATES.items() if not hasattr(make(), "revert")}
    assert without == {name for name in STATES if name.startswith(("comparison", "window", "fading"))} | {
        "groups, folded", "groups of windows", "groups of fading",
    }  # fmt: skip
