"""A pair that cannot be counted is rejected with a reason, and changes nothing for the others."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from support.pair_streams import HARD, SOFT, counted, fed, pair

from stream_metrics.monitor.config import Counting
from stream_metrics.monitor.counts.counting import Counts, Pair
from stream_metrics.monitor.events.records import MISSING
from stream_metrics.monitor.view.window_reading import read

SPAM = Counting(scores=True, pos_label="spam")


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (pair(truth=None), "label"),
        (pair(truth=[1]), "label"),
        (pair(truth=float("nan")), "label"),
        (pair(prediction=MISSING), "label"),
        (pair(truth="a", prediction="a", scores=0.5), "label"),
        (pair(scores={"a": float("nan")}), "score"),
        (pair(scores={"a": "0.5"}), "score"),
        (pair(scores={"a": 1.5}), "score"),
        (pair(scores=[0.5]), "score"),
        (pair(scores=10**400), "score"),
        (pair(weight=-1), "weight"),
        (pair(weight="1"), "weight"),
        (pair(weight=2**63), "weight"),
        (pair(labelled_at=float("nan")), "time"),
        (pair(predicted_at=1e12), "time"),
        (pair(labelled_at="now"), "time"),
        (pair(group=["de"]), "other"),
        (pair(group=float("inf")), "other"),
    ],
)
def test_a_bad_pair_comes_back_alone(bad: Pair, reason: str) -> None:
    """It is named with its record and a reason; the others are counted as if it had never come."""
    good = [pair(origin=("t", 0, at), group="de", labelled_at=100.0 + at) for at in range(40)]
    with_bad = [*good[:7], bad._replace(origin=("topic", 3, 17)), *good[7:]]
    counts = Counts(SOFT)
    rejected = counts.add(with_bad)

    assert [item[:4] for item in rejected] == [("topic", 3, 17, reason)]
    assert rejected[0].detail
    assert len(rejected[0].detail) <= 200
    assert counts.to_bytes() == _fed_alone(good).to_bytes()


def _fed_alone(good: list[Pair]) -> Counts:
    counts = Counts(SOFT)
    assert counts.add(good) == []
    return counts


def test_many_bad_pairs_among_many() -> None:
    """Good ones are counted however many are refused, and in whatever places."""
    rows = [pair("ab"[at % 2], "a", {"a": 0.5, "b": 0.5 if at % 3 else 2.0}, origin=("t", 0, at)) for at in range(1500)]
    counts = Counts(SOFT)
    rejected = counts.add(rows)

    assert [item.offset for item in rejected] == list(range(0, 1500, 3))
    assert counts.total == counted(SOFT, [row for row in rows if row.origin[2] % 3])


def test_weights_that_overflow_are_refused_and_nothing_breaks() -> None:
    """What the total has no room for is refused; what it has room for is counted, in all states alike."""
    heavy = [pair(weight=2**62, group="de", origin=("t", 0, at)) for at in range(3)]
    counts = Counts(HARD)
    rejected = counts.add([*heavy, pair(origin=("t", 0, 3))])

    assert [(item.offset, item.reason) for item in rejected] == [(1, "weight"), (2, "weight")]
    assert counts.total.snapshot().weight == 2**62 + 1
    assert read([counts])["4s"].state == counts.total


def test_fixed_labels_refuse_others() -> None:
    """With `labels`, a truth or a prediction that is none of them is refused."""
    counts = Counts(Counting(labels=("a", "b")))
    rejected = counts.add([pair("a", "b"), pair("c", "a", origin=("t", 0, 1)), pair("a", "c", origin=("t", 0, 2))])

    assert [(item.offset, item.reason) for item in rejected] == [(1, "label"), (2, "label")]
    assert counts.total.snapshot().labels == ("a", "b")


@pytest.mark.parametrize("key", ["log_loss", "roc_auc", "brier", "ece"])
def test_metrics_of_scores_need_scores(key: str) -> None:
    """What the headline can never show is refused at once, also under another name."""
    with pytest.raises(ValueError, match="Expected `metrics` without scores, since `scores` is false"):
        Counts(Counting(metrics=("accuracy", key)))
    Counts(Counting(metrics=("accuracy", key), scores=True))


def test_score_classes_may_come_in_any_order() -> None:
    """The same scores under keys in another order are the same samples, in one batch or in several."""
    one = [pair("a", MISSING, {"a": 0.2, "b": 0.3, "c": 0.5}, origin=("t", 0, at)) for at in range(50)]
    other = [pair("a", MISSING, {"c": 0.5, "a": 0.2, "b": 0.3}, origin=("t", 0, at)) for at in range(50)]

    assert fed(SOFT, [*one, *other]).to_bytes() == fed(SOFT, one + one).to_bytes()


@pytest.mark.parametrize(
    ("options", "bad", "reason"),
    [
        (HARD, pair(prediction=MISSING, scores=0.5), "where no scores are kept"),
        (
            SPAM,
            pair(truth="spam", prediction=MISSING, scores=0.25),
            "the class beside 'spam' is not known yet, but got 0.25",
        ),
    ],
)
def test_a_score_of_one_class_needs_a_prediction(options: Counting, bad: Pair, reason: str) -> None:
    """Unless scores are kept, or the other class is known, a single score says nothing about the prediction."""
    counts = Counts(options)
    (rejected,) = counts.add([bad])

    assert reason in rejected.detail
    assert counts.to_bytes() == Counts(options).to_bytes()


@pytest.mark.parametrize("bad", [["x"], float("nan"), 1.5, None])
def test_a_refused_label_names_no_other_class(bad: object) -> None:
    """Single scores that follow it are read as they would be without it, in one batch or one by one."""
    good = [pair("a", "b"), pair("a", MISSING, 0.3), pair("a", "b", 0.4)]
    refused = [pair(bad, "b"), pair(bad, "b", 0.4)]
    pairs = [good[0], *refused, *good[1:]]
    options = replace(SPAM, pos_label="a")
    together, apart, without = Counts(options), Counts(options), Counts(options)

    assert without.add(good) == []
    assert len(together.add(pairs)) == len(refused)
    assert sum(len(apart.add([each])) for each in pairs) == len(refused)
    assert together.to_bytes() == apart.to_bytes() == without.to_bytes()
