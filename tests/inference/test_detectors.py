"""Change detectors: their evidence by hand, alarms, levels, bytes, groups and panes, and what they refuse."""

from __future__ import annotations

import itertools
import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics import testing
from stream_metrics.inference.change import reference_levels
from stream_metrics.states.detector import ChangeDetector, outcome

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
ALONE = [law for law in testing.LAWS if "merge" not in law.__name__ and law.__name__[:5] not in ("empty", "split")]


def plain(losses: list[float], p0: float, bets: list[float], cusum: bool = False, up: bool = True) -> list[float]:
    """Return the mean evidence after each loss, by the definition and without alarms."""
    factors = bets if up else [1 / bet for bet in bets]
    rates = [p0 * bet / (1 - p0 + p0 * bet) for bet in factors]
    evidence, means = [0.0] * len(rates), []
    for x in losses:
        ratio = [1 + (p1 - p0) / (p0 * (1 - p0)) * (x - p0) for p1 in rates]
        evidence = [r * (max(m, 1) if cusum else m + 1) for r, m in zip(ratio, evidence, strict=True)]
        means.append(sum(evidence) / len(evidence))
    return means


@given(st.lists(LOSSES, max_size=40), st.booleans(), st.booleans())
def test_evidence_is_that_of_the_definition(losses: list[float], cusum: bool, up: bool) -> None:
    """e-SR and e-CUSUM, for rises and falls, follow their recursions."""
    detector = ChangeDetector(
        0.25, arl=1e14, method="cusum" if cusum else "sr", direction="up" if up else "down", bets=(1.5, 3)
    )
    detector.update_many(losses)

    expected = plain(losses, 0.25, [1.5, 3.0], cusum, up)
    assert detector.evidence == pytest.approx(expected[-1] if expected else 0.0, rel=1e-9)


def test_a_bet_on_outcomes_is_the_likelihood_ratio() -> None:
    """For 0 and 1, a bet multiplies by p1/p0 and (1 - p1)/(1 - p0), the odds of p1 being those of p0 times the bet."""
    p0, p1 = 0.1, 0.1 * 2 / (0.9 + 0.1 * 2)
    for x, ratio in ((1, p1 / p0), (0, (1 - p1) / (1 - p0))):
        detector = ChangeDetector(p0, bets=[2.0])
        detector.update(x)
        assert detector.evidence == pytest.approx(ratio, rel=1e-12)


@pytest.mark.parametrize("method", ["sr", "cusum"])
def test_the_mean_evidence_never_beats_the_clock(method: str) -> None:
    """Over all 2^12 streams, weighted by their probability under p0, the evidence of e-SR is n on average, exactly."""
    mean = 0.0
    for stream in itertools.product((0, 1), repeat=12):
        detector = ChangeDetector(0.3, arl=1e14, method=method)
        for x in stream:
            detector.update(x)
        mean += 0.3 ** sum(stream) * 0.7 ** (12 - sum(stream)) * detector.evidence

    assert mean == pytest.approx(12, rel=1e-9) if method == "sr" else mean < 12


def test_an_alarm_comes_when_the_evidence_reaches_the_run_length() -> None:
    """The alarm is raised by the sample with which the mean evidence reaches `arl`, and by no other."""
    losses = [0.0] * 50 + [1.0] * 20
    detector, evidence = ChangeDetector(0.1, arl=1000), plain(losses, 0.1, [1.2, 1.5, 2.0, 3.0])
    expected = next(i for i, mean in enumerate(evidence, 1) if mean >= 1000)
    raised = []
    for number, x in enumerate(losses[: expected + 1], 1):
        detector.update(x)
        raised += [number] * detector.alarm

    assert raised == [expected]
    assert (detector.changes, detector.alarms, detector.changed, detector.alarm) == ((expected,), 1, True, False)


def test_after_an_alarm_it_goes_on_as_told() -> None:
    """Same level, new level, or nothing more."""
    rise = [0.0] * 150 + [1.0] * 140
    same, stop = (ChangeDetector(0.1, arl=100, restart=restart) for restart in ("same", "stop"))
    taught = partial(ChangeDetector, reference=100, learn="running", arl=100)
    learn, back = (taught(restart=restart) for restart in ("reference", "same"))
    for detector in (same, stop, learn, back):
        detector.update_many(rise)

    assert same.alarms > 5
    assert stop.alarms == 1
    assert stop.stopped
    assert stop.evidence == 0
    assert learn.alarms == 1
    assert learn.levels is not None
    assert learn.levels[1] > 0.8
    assert back.alarms > 2
    assert back.levels is not None
    assert back.levels[1] < 0.5


def test_a_level_is_learned_once_and_stays() -> None:
    """The first `reference` losses give the levels, by the bound of Hoeffding; later ones do not move them."""
    detector = ChangeDetector(reference=100, direction="both", arl=1e9, learn="bound")
    detector.update_many([0.0, 1.0, 0.5, 0.5] * 25)
    levels = detector.levels
    detector.update_many([0.4, 0.6] * 500)

    assert levels == detector.levels == reference_levels(0.5, 100)
    for p in reference_levels(0.3, 50):
        assert 50 * (0.3 * math.log(0.3 / p) + 0.7 * math.log(0.7 / (1 - p))) == pytest.approx(math.log(20), rel=1e-9)
    assert reference_levels(0.0, 10) == (pytest.approx(1 - 0.05**0.1), 0.0)


def test_the_level_of_a_reference_is_seldom_too_low() -> None:
    """P[largest allowed mean < true mean] stays at most 1/20, by exact binomial sums."""
    for n, p in ((30, 0.1), (200, 0.5), (200, 0.02)):
        wrong = sum(
            math.comb(n, x) * p**x * (1 - p) ** (n - x) for x in range(n + 1) if reference_levels(x / n, n)[0] < p
        )
        assert wrong <= 0.05


@pytest.mark.parametrize("law", ALONE, ids=lambda law: law.__name__)
@pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
def test_detectors_obey_the_laws_of_one_stream(law: testing.Law, make: Any) -> None:
    """Round trips, copies and resets; what is about merging does not apply."""
    law(make, st.tuples(LOSSES))


@given(st.lists(LOSSES, max_size=60), st.integers(1, 60))
def test_batches_are_samples_in_their_order(losses: list[float], cut: int) -> None:
    """One by one, in batches, and from bytes in the middle: the same bytes."""
    for make in MAKES.values():
        one, many = make(), make()
        for x in losses:
            one.update(x)
        many.update_many(losses[:cut])
        many = sm.from_bytes(many.to_bytes())
        many.update_many(np.array(losses[cut:], float))
        assert one == many


def test_outcomes_are_errors_of_their_rate() -> None:
    """1, 0 or None for each pair of truth and prediction."""
    pairs = [("cat", "cat"), ("cat", "dog"), ("dog", "cat"), ("dog", "dog"), ("cat", None)]
    expected = {
        ("accuracy", None): [0, 1, 1, 0, None],
        ("recall", "cat"): [0, 1, None, None, None],
        ("precision", "cat"): [0, None, 1, None, None],
        ("specificity", "cat"): [None, None, 1, 0, None],
        ("npv", "cat"): [None, 1, None, 0, None],
    }

    for (key, label), outcomes in expected.items():
        assert [outcome(key, label)(*pair) for pair in pairs] == outcomes
    assert outcome("recall", True)(np.int64(1), {1: 0.4, 0: 0.6}) == 1


def test_a_detector_of_a_rate_watches_what_the_rate_is_about() -> None:
    """Pairs that a recall is not about are counted and change no evidence; abstentions are counted apart."""
    detector, alone = ChangeDetector(0.2, of=("recall", "cat")), ChangeDetector(0.2)
    detector.update_many(["cat", "dog", "cat", "cat"], ["cat", "cat", None, "dog"])
    alone.update_many([0, 1])

    assert detector.evidence == alone.evidence
    assert (detector.n, detector.abstained) == (3, 1)


def test_groups_have_a_detector_each() -> None:
    """Fed one by one and in batches, with bytes in between, a group's detector is that of its own samples."""
    random = np.random.default_rng(5)
    truth, group = random.integers(0, 2, 400), random.choice(["x", "y"], 400)
    predicted = np.where(random.random(400) < 0.8, truth, 1 - truth)
    groups, batches = (sm.ByGroup(ChangeDetector(0.1, of="accuracy", arl=50)) for _ in range(2))
    for t, p, g in zip(truth.tolist(), predicted.tolist(), group.tolist(), strict=True):
        groups.update(t, p, group=g)
    for part in np.split(np.arange(400), [150, 151, 300]):
        batches.update_many(truth[part], predicted[part], group=group[part])
        batches = sm.from_bytes(batches.to_bytes())
    alone = ChangeDetector(0.1, of="accuracy", arl=50)
    alone.update_many(truth[group == "x"], predicted[group == "x"])

    assert groups == batches
    assert groups.state("x") == alone
    assert alone.alarms > 1
    assert groups.snapshot()["x"].changes == list(alone.changes)


def test_panes_of_shards_feed_one_detector() -> None:
    """Windows of two shards merge pane by pane; the total of each closed pane is one step of one detector."""
    random = np.random.default_rng(6)
    shards = [sm.TimeWindow(sm.Accuracy(), "10s", panes=1, lateness="1000s") for _ in range(2)]
    for t in range(600):
        wrong = random.random() < (0.1 if t < 400 else 0.5)
        shards[t % 2].update("a", "b" if wrong else "a", t=float(t))
    both = shards[0].merge(shards[1])
    detector = ChangeDetector(0.1, arl=1000)
    for end in range(10, 600, 10):
        pane = both.merged(t=end - 1)
        detector.update_sum(pane.n * (1 - pane.get()), pane.n)

    assert 400 < detector.changes[0] <= 480


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_a_sum_never_counts_more_than_its_losses(losses: list[float]) -> None:
    """Known by their sum alone, losses multiply a bet by at most what they do one by one, equally for 0 and 1."""
    for direction in ("up", "down"):
        step = ChangeDetector(0.3, arl=1e14, direction=direction, bets=[2.0], method="cusum")
        step.update_sum(math.fsum(losses) if math.fsum(losses) < len(losses) else float(len(losses)), len(losses))
        factor = 2.0 if direction == "up" else 0.5
        share = (0.3 * factor / (0.7 + 0.3 * factor) - 0.3) / 0.21
        assert step.evidence <= math.prod(1 + share * (x - 0.3) for x in losses) * (1 + 1e-9)
    step, clock = (ChangeDetector(0.3, arl=1e14, bets=[2.0], method="cusum") for _ in range(2))
    step.update_sum(sum(x > 0.5 for x in losses), len(losses))
    ratio = math.prod(1 + (0.6 / 1.3 - 0.3) / 0.21 * ((x > 0.5) - 0.3) for x in losses)
    assert step.evidence == pytest.approx(ratio, rel=1e-9)
    assert clock.evidence == 0


def test_the_mean_evidence_of_panes_is_the_number_of_samples() -> None:
    """A step of n losses adds n to the clock of e-SR: weighted by their probability, evidence is n on average,
    exactly."""
    mean = 0.0
    for x, y in itertools.product(range(4), range(6)):
        detector = ChangeDetector(0.3, arl=1e14)
        detector.update_sum(x, 3)
        detector.update_sum(y, 5)
        chance = math.comb(3, x) * 0.3**x * 0.7 ** (3 - x) * math.comb(5, y) * 0.3**y * 0.7 ** (5 - y)
        mean += chance * detector.evidence

    assert mean == pytest.approx(8, rel=1e-12)


def test_detectors_are_merged_by_nothing() -> None:
    """A merge names the reason and what to do; so do windows and bounded groups."""
    for call in (
        lambda: ChangeDetector(0.1).merge(ChangeDetector(0.1)),
        lambda: sm.TimeWindow(ChangeDetector(0.1), "1h"),
        lambda: sm.ByGroup(ChangeDetector(0.1), max_groups=3),
        lambda: sm.Fading(ChangeDetector(0.1), 10),
    ):
        with pytest.raises((sm.MergeError, ValueError), match=r"order of all samples: .* update_sum"):
            call()


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: ChangeDetector(), "either `p0` or `reference`"),
        (lambda: ChangeDetector(0.1, reference=5), "either `p0` or `reference`"),
        (lambda: ChangeDetector(1.0), "`p0`"),
        (lambda: ChangeDetector(reference=0), "`reference`"),
        (lambda: ChangeDetector(0.1, learn="bound"), "`learn`"),
        (lambda: ChangeDetector(0.1, block=0), "`block`"),
        (lambda: ChangeDetector(reference=5, block=6), "`reference`"),
        (lambda: ChangeDetector(reference=5, learn="never"), "`learn`"),  # type: ignore[arg-type]
        (lambda: ChangeDetector(reference=5, learn="running").update_sum(2.5, 5), "whole number of errors"),
        (lambda: ChangeDetector(reference=5, learn="running").update_sum(2, 2**31), "whole number of errors"),
        (lambda: ChangeDetector(reference=5).alarm_probability(), "`rate`"),
        (lambda: ChangeDetector(reference=5).alarm_probability(rate=1), "`rate`"),
        (lambda: ChangeDetector(0.1).alarm_probability(0), "`n`"),
        (lambda: ChangeDetector(0.1, arl=1), "`arl`"),
        (lambda: ChangeDetector(0.1, bets=[]), "`bets`"),
        (lambda: ChangeDetector(0.1, bets=[0.5]), "`bets`"),
        (lambda: ChangeDetector(0.1, direction="left"), "`direction`"),  # type: ignore[arg-type]
        (lambda: ChangeDetector(0.1, restart="reference"), "`reference`"),
        (lambda: ChangeDetector(0.1, of="recall"), "`label`"),
        (lambda: ChangeDetector(0.1, of="kappa"), "`key`"),
        (lambda: ChangeDetector(0.1).update(1.5), "`x`.*1.5"),
        (lambda: ChangeDetector(0.1).update(float("nan")), "`x`.*nan"),
        (lambda: ChangeDetector(0.1).update("1"), "`x`"),
        (lambda: ChangeDetector(0.1).update(1, "b"), "`y_pred`"),
        (lambda: ChangeDetector(0.1).update(1, None, 2), "`w`"),
        (lambda: ChangeDetector(0.1).update_many([0, 1, 2]), "position 2"),
        (lambda: ChangeDetector(0.1).update_many({0, 1}), "`x` to be a column of losses"),
        (lambda: ChangeDetector(0.1).update_many({0: 1, 1: 0}), "`x` to be a column of losses"),
        (lambda: ChangeDetector(0.1).update_many(b"\0\1"), "`x` to be a column of losses"),
        (lambda: ChangeDetector(0.1).update_many([0, 1], w={1}), "`w` to be a column of weights"),
        (lambda: ChangeDetector(0.1).update_many([0, 1], w=[1]), "`w` to be a column of 2 weights"),
        (lambda: ChangeDetector(0.1).update_many([0, 1], w=[1, 2]), "`w`, or weights of 1"),
        (lambda: ChangeDetector(0.1).update_sum(3, 2), "`total`"),
        (lambda: ChangeDetector(0.1, of="accuracy").update(float("nan"), "b"), "y_true"),
    ],
)
def test_bad_arguments_are_refused(call: Any, match: str) -> None:
    """Errors name the argument and what came."""
    with pytest.raises(ValueError, match=match):
        call()
