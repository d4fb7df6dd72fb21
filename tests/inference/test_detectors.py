"""Change detectors: their evidence by hand, alarms, levels, bytes, groups and panes, and what they refuse."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.refusals import all_refused, refused

import stream_metrics as sm
from stream_metrics import ChangeDetector, testing

pytestmark = pytest.mark.quick
LOSSES = st.one_of(st.sampled_from([0, 1, 0.0, 1.0, True, False]), st.floats(0, 1))
MAKES = {
    "given": lambda: ChangeDetector(0.2, arl=20),
    "learned": lambda: ChangeDetector(reference=5, learn="running", arl=10, direction="both", method="cusum"),
    "bound": lambda: ChangeDetector(reference=5, arl=10, direction="both", learn="bound"),
    "block": lambda: ChangeDetector(0.3, arl=20, block=4),
    "blocks": lambda: ChangeDetector(reference=6, learn="running", arl=20, block=3, method="cusum"),
    "calibrated": lambda: ChangeDetector(0.2, arl=50, method="calibrated"),
    "stopped": lambda: ChangeDetector(0.3, arl=5, direction="down", restart="stop", bets=(2.0,)),
    "same": lambda: ChangeDetector(reference=3, learn="running", arl=5, restart="same"),
}


OPTIONS = st.fixed_dictionaries({
    "direction": st.sampled_from(["up", "down", "both"]), "method": st.sampled_from(["sr", "cusum"]),
    "arl": st.sampled_from([3, 100]),
})  # fmt: skip
LEVELS = st.fixed_dictionaries({
    "restart": st.sampled_from(["same", "reference", "stop"]), "reference": st.integers(2, 6),
    "learn": st.just("bound"),
}) | st.fixed_dictionaries({"restart": st.sampled_from(["same", "stop"]), "p0": st.just(0.25)})  # fmt: skip


def watched(
    losses: list[float], *, direction: str, method: str, arl: int, restart: str, reference: int = 0,
    learn: str = "", p0: float | None = None,
) -> tuple[list[int], float]:  # fmt: skip
    """Return when alarms come, by the definitions, and the evidence at the end; a known level `p0` is not learned."""
    sides = {"up": (1,), "down": (-1,), "both": (1, -1)}[direction]

    def level(mean: float, end: float) -> float:
        inside = mean
        for _ in range(60):
            p = (inside + end) / 2
            parts = [(mean, p), (1 - mean, 1 - p)]
            distance = sum(x * math.log(x / q) for x, q in parts if x)
            inside, end = (p, end) if reference * distance < math.log(20) else (inside, p)
        return end

    changes, learned, levels = [], [], {} if p0 is None else dict.fromkeys(sides, p0)
    evidence = {(side, bet): 0.0 for side in levels for bet in (1.5, 3.0)}
    for n, x in enumerate(losses, 1):
        if not levels:
            learned.append(x)
            if len(learned) == reference:
                mean = sum(learned) / reference
                levels = {side: level(mean, float(side > 0)) for side in sides}
                evidence = {(side, bet): 0.0 for side in levels for bet in (1.5, 3.0)}
            continue
        for (side, bet), m in evidence.items():
            p = levels[side]
            q = p * bet**side / (1 - p + p * bet**side)
            factor = (x * q / p + (1 - x) * (1 - q) / (1 - p)) if 0 < p < 1 else 0.0
            evidence[side, bet] = factor * (max(m, 1.0) if method == "cusum" else m + 1)
        if sum(evidence.values()) / len(evidence) >= arl:
            changes.append(n)
            evidence = dict.fromkeys(evidence, 0.0)
            if restart == "stop":
                break
            levels, learned = (levels, learned) if restart == "same" else ({}, [])
    return changes, sum(evidence.values()) / max(len(evidence), 1) if levels else 0.0


@given(st.lists(LOSSES | st.sampled_from([0, 1]), max_size=60), OPTIONS, LEVELS)
def test_alarms_and_levels_are_those_of_the_definition(losses: list[float], options: Any, levels: Any) -> None:
    """Levels known or by Hoeffding's bound, bets in both directions, each alarm with its sample, and what comes after.

    An alarm is raised by the sample with which the mean evidence reaches `arl`, and by no other.
    """
    detector, raised = ChangeDetector(bets=(1.5, 3), **options | levels), []
    for n, x in enumerate(losses, 1):
        detector.update(x)
        raised += [n] * detector.alarm
    changes, evidence = watched(losses, **options, **levels)

    assert [*detector.changes] == raised == changes
    assert (detector.alarms, detector.changed) == (len(changes), bool(changes))
    assert detector.evidence == pytest.approx(evidence, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("method", ["sr", "cusum"])
def test_the_mean_evidence_of_sums_never_beats_the_clock(method: Any) -> None:
    """Weighted by the probability of sums under p0, evidence of e-SR is the number of samples on average, exactly."""
    mean = 0.0
    for x, y in itertools.product(range(4), range(6)):
        detector = ChangeDetector(0.3, arl=1e14, method=method)
        detector.update_sum(x, 3)
        detector.update_sum(y, 5)
        mean += math.comb(3, x) * math.comb(5, y) * 0.3 ** (x + y) * 0.7 ** (8 - x - y) * detector.evidence

    assert mean == pytest.approx(8, rel=1e-12) if method == "sr" else mean < 8


def test_a_level_is_learned_once_and_stays() -> None:
    """The first `reference` losses give the levels, by the bound of Hoeffding; later ones do not move them."""

    def bound(n: int, losses: list[float]) -> Any:
        """Return the levels that a reference gives."""
        detector = ChangeDetector(reference=n, direction="both", arl=1e9, learn="bound")
        detector.update_many(losses)
        return detector.levels

    levels = {(x, n): bound(n, [1.0] * x + [0.0] * (n - x)) for n in (10, 30, 50, 100, 200) for x in range(n + 1)}
    for later in ([], [0.4, 0.6] * 500):
        assert bound(100, [0.0, 1.0, 0.5, 0.5] * 25 + later) == levels[50, 100]
    for p in levels[15, 50]:
        assert 50 * (0.3 * math.log(0.3 / p) + 0.7 * math.log(0.7 / (1 - p))) == pytest.approx(math.log(20), rel=1e-9)
    assert levels[0, 10] == (pytest.approx(1 - 0.05**0.1), 0.0)
    for n, p in ((30, 0.1), (200, 0.5), (200, 0.02)):  # the level is seldom too low, by exact binomial sums
        low = [x for x in range(n + 1) if levels[x, n][0] < p]
        assert sum(math.comb(n, x) * p**x * (1 - p) ** (n - x) for x in low) <= 0.05


@pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
def test_detectors_obey_the_laws_of_one_stream(make: Any) -> None:
    """Round trips, copies and resets, batches in order, also of other types; what is about merging does not apply."""
    for law in testing.LAWS:
        if "merge" not in law.__name__ and law.__name__[:5] not in ("empty", "split"):
            law(make, st.tuples(LOSSES))


def test_outcomes_are_errors_of_their_rate() -> None:
    """1, 0 or None for each pair; pairs that a rate is not about change no evidence; abstentions are counted apart."""
    pairs = [("cat", "cat"), ("cat", "dog"), ("dog", "cat"), ("dog", "dog"), ("cat", None)]
    expected = {
        ("accuracy", None): [0, 1, 1, 0, None],
        ("recall", "cat"): [0, 1, None, None, None],
        ("precision", "cat"): [0, None, 1, None, None],
        ("specificity", "cat"): [None, None, 1, 0, None],
        ("npv", "cat"): [None, 1, None, 0, None],
    }
    detector, alone = ChangeDetector(0.2, of=("recall", "cat")), ChangeDetector(0.2)
    detector.update_many(["cat", "dog", "cat", "cat"], ["cat", "cat", None, "dog"])
    alone.update_many([0, 1])

    for (key, label), outcomes in expected.items():
        assert [sm.outcome(key, label)(*pair) for pair in pairs] == outcomes
    assert sm.outcome("recall", True)(np.int64(1), {1: 0.4, 0: 0.6}) == 1
    assert detector.evidence == alone.evidence
    assert (detector.n, detector.abstained) == (3, 1)


def test_panes_of_shards_feed_one_detector() -> None:
    """Windows of two shards merge pane by pane; the total of each closed pane is one step of one detector."""
    random = np.random.default_rng(6)
    shards = [sm.TimeWindow(sm.Accuracy(), "10s", panes=1, lateness="1000s") for _ in range(2)]
    for t in range(600):
        shards[t % 2].update("a", "b" if random.random() < (0.1 if t < 400 else 0.5) else "a", t=float(t))
    both, detector = shards[0].merge(shards[1]), ChangeDetector(0.1, arl=1000)
    for end in range(10, 600, 10):
        pane = both.merged(t=end - 1)
        detector.update_sum(pane.n * (1 - pane.get()), pane.n)

    assert 400 < detector.changes[0] <= 480


def test_groups_have_a_detector_each() -> None:
    """Fed in batches, a group's detector is that of its own samples, and its snapshot tells the changes."""
    random = np.random.default_rng(5)
    truth, group = random.integers(0, 2, 400), random.choice(["x", "y"], 400)
    predicted = np.where(random.random(400) < 0.8, truth, 1 - truth)
    groups, alone = sm.ByGroup(ChangeDetector(0.1, of="accuracy", arl=50)), ChangeDetector(0.1, of="accuracy", arl=50)
    for part in np.split(np.arange(400), [150, 151, 300]):
        groups.update_many(truth[part], predicted[part], group=group[part])
        groups = sm.from_bytes(groups.to_bytes())
    alone.update_many(truth[group == "x"], predicted[group == "x"])

    assert groups.state("x") == alone
    assert alone.alarms > 1
    assert groups.snapshot()["x"].changes == list(alone.changes)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_a_sum_never_counts_more_than_its_losses(losses: list[float]) -> None:
    """Known by their sum alone, losses multiply a bet by at most what they do one by one, equally for 0 and 1."""
    for direction, factor in (("up", 2.0), ("down", 0.5)):
        share = (0.3 * factor / (0.7 + 0.3 * factor) - 0.3) / 0.21
        step, errors = (
            ChangeDetector(0.3, arl=1e14, direction=direction, bets=[2.0], method="cusum")  # type: ignore[arg-type]
            for _ in range(2)
        )
        step.update_sum(min(math.fsum(losses), float(len(losses))), len(losses))
        errors.update_sum(sum(x > 0.5 for x in losses), len(losses))
        assert step.evidence <= math.prod(1 + share * (x - 0.3) for x in losses) * (1 + 1e-9)
        ratio = math.prod(1 + share * ((x > 0.5) - 0.3) for x in losses)
        assert errors.evidence == pytest.approx(ratio, rel=1e-9)


def test_a_bet_on_a_block_is_fair() -> None:
    """The factor of a block is linear in its mean, 1 at the level, never 0; alarms come at its end; sums are blocks."""
    seen = []
    for total in range(6):
        detector, sums = (ChangeDetector(0.2, block=5, arl=1e9, bets=[2.0]) for _ in range(2))
        detector.update_many([0.0] * (5 - total) + [1.0] * total)
        sums.update_sum(total, 5)
        assert detector.evidence == sums.evidence
        seen.append(detector.evidence / 5)
    alarms = ChangeDetector(0.2, block=5, arl=20, restart="stop")
    alarms.update_many([1.0] * 33)

    assert np.diff(seen) == pytest.approx([seen[1] - seen[0]] * 5)
    assert seen[1] == pytest.approx(1)  # a mean of .2
    assert seen[0] >= 0.1
    assert alarms.changes[0] % 5 == 0


def test_a_detector_at_one_moment() -> None:
    """A snapshot can be copied by pickle and by copy; an attribute that it does not have is named."""
    taken = ChangeDetector(0.1).snapshot()

    for twin in (copy.copy(taken), copy.deepcopy(taken), pickle.loads(pickle.dumps(taken))):
        assert twin.to_dict() == taken.to_dict()
    refused(lambda: taken.speed, AttributeError, "'speed'")


def test_bad_arguments_are_refused() -> None:
    """Errors name the argument and what came; a merge names the reason and what to do."""
    known, taught, one = partial(ChangeDetector, 0.1), partial(ChangeDetector, reference=5), ChangeDetector(0.1)
    running, rates = taught(learn="running"), known(of="accuracy")
    calls: list[tuple[Any, str]] = [
        (ChangeDetector, "either `p0` or `reference`"), (partial(known, reference=5), "either `p0` or `reference`"),
        (partial(ChangeDetector, 1.0), "`p0`"), (partial(ChangeDetector, reference=0), "`reference`"),
        (partial(taught, block=6), "`reference`"), (partial(taught, learn="never"), "`learn`"),
        (partial(known, restart="reference"), "`reference`"), (partial(known, of="recall"), "`label`"),
        (partial(known, of="kappa"), "`key`"), (partial(known, learn="bound"), "`learn`"),
        (partial(known, block=0), "`block`"), (partial(known, arl=1), "`arl`"),
        (partial(known, direction="left"), "`direction`"),
        *((partial(known, bets=bets), "`bets`") for bets in ([], [0.5], 3)),
        *((partial(known, of=of), "`of`") for of in (3, ("recall", "a", "b"))),
        (partial(running.update_sum, 2.5, 5), "whole number of errors"),
        (partial(running.update_sum, 2, 2**31), "whole number of errors"),
        (taught().alarm_probability, "`rate`"), (partial(taught().alarm_probability, rate=1), "`rate`"),
        (partial(one.alarm_probability, 0), "`n`"), (partial(one.update_sum, 3, 2), "`total`"),
        *((partial(one.update, x), "`x`") for x in (1.5, float("nan"), "1")),
        (partial(one.update, 1, "b"), "`y_pred`"), (partial(one.update, 1, None, 2), "`w`"),
        (partial(rates.update, float("nan"), "b"), "y_true"), (partial(one.update_many, [0, 1, 2]), "position 2"),
        *((partial(one.update_many, x), "`x`") for x in ({0, 1}, {0: 1, 1: 0}, b"\0\1")),
        *((partial(one.update_many, [0, 1], w=w), "`w`") for w in ({1}, [1], [1, 2])),
        (partial(sm.TimeWindow, one, "1h"), "update_sum"), (partial(sm.Fading, one, 10), "update_sum"),
        (partial(sm.ByGroup, one, max_groups=3), "update_sum"),
    ]  # fmt: skip
    all_refused([(call, ValueError, about) for call, about in calls])
    refused(partial(one.merge, known()), sm.MergeError, "update_sum")
    assert one == known()
