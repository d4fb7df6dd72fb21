"""Live metrics of scores: the classes of the catalog rows that read sketches or losses."""

from __future__ import annotations

import inspect
import pickle
import random
from typing import Any

import numpy as np
import pytest
from support.metric_classes import CLASSES

import stream_metrics as sm

NAN = float("nan")
OF_SCORES = [name for name, cls in CLASSES.items() if cls.row.state != "counts"]
SAMPLES: list[tuple[Any, ...]] = [
    ("a", {"a": 0.5, "b": 0.25, "c": 0.25}),
    ("b", {"a": 0.5, "b": 0.5}, 2),
    ("c", {"c": 0.75, "a": 0.125}, 0.5),
    ("a", None),
    ("b", {"b": 0.875, "c": 0.125}),
    ("c", {"b": 0.5, "c": 0.375, "a": 0.125}, 3),
    ("a", {}),
    ("a", {"b": 1.0}, 0.25),
    ("b", {"a": 0.25, "b": 0.25, "c": 0.5}),
]
BINARY: list[tuple[Any, ...]] = [(True, 0.75), (False, 0.5), (True, 0.5), (False, 0.25), (True, 0.25), (False, 0.25)]


def fed(metric: Any, samples: Any = SAMPLES) -> Any:
    """Return the metric after the samples."""
    for sample in samples:
        metric.update(*sample)
    return metric


def same(a: Any, b: Any) -> bool:
    """Whether two numbers are equal, nan to nan."""
    return a == b or (a != a and b != b)


def test_every_state_of_scores_has_classes() -> None:
    """Rows of all sorts but confidence, which needs a set, have live classes, under the names of the field."""
    assert {CLASSES[name].row.state for name in OF_SCORES} == {"ranks", "losses"}
    assert {
        "ROCAUC",
        "HandTillAUC",
        "AveragePrecision",
        "CrossEntropy",
        "LogLoss",
        "BrierScore",
        "TopKAccuracy",
    } <= set(OF_SCORES)
    assert not any(CLASSES[name].requires_labels for name in OF_SCORES)


@pytest.mark.parametrize("name", OF_SCORES)
def test_the_live_value_is_that_of_the_snapshot(name: str) -> None:
    """After every sample `get` is the value of the row, of `pos_label` where it is per class, in a set as well."""
    cls, row = CLASSES[name], CLASSES[name].row
    for samples, pos_label in ((SAMPLES, "b"), (BINARY, True)):
        metric, metrics = cls(pos_label=pos_label), sm.MetricSet(scores=True, pos_label=pos_label)
        for sample in [None, *samples, *samples[::-1]]:
            if sample:
                metric.update(*sample)
                metrics.update(*sample)
            value = metric.get()
            for snapshot in (metric.snapshot(), metrics.snapshot()):
                expected = snapshot.value(row.key)
                if row.kind == "per_class":
                    expected = expected.get(pos_label, value)
                assert type(value) is float
                assert same(value, expected)


@pytest.mark.parametrize("name", OF_SCORES)
def test_it_can_be_made_again_from_its_attributes(name: str) -> None:
    """Every argument of the constructor is an attribute, from which a clone can be made, as river does."""
    size = {"buckets": 64, "sample": 64} if CLASSES[name].row.state == "ranks" else {}
    metric = fed(CLASSES[name](pos_label="a", zero_division=1.0, **size))
    arguments = {argument: getattr(metric, argument) for argument in inspect.signature(CLASSES[name]).parameters}
    clone = CLASSES[name](**arguments)

    assert {key: arguments[key] for key in size} == size
    assert clone.n == 0
    assert same(fed(clone).get(), metric.get())
    assert clone == metric


@pytest.mark.parametrize("name", OF_SCORES)
def test_it_survives_bytes_pickle_and_copy(name: str) -> None:
    """Configuration and counts come back from bytes, pickle and copy, and go on independently."""
    metric = fed(CLASSES[name](pos_label="c"))
    before = metric.to_bytes()
    for twin in (
        sm.from_bytes(before),
        type(metric).from_bytes(before),
        pickle.loads(pickle.dumps(metric)),
        metric.copy(),
    ):
        assert type(twin) is type(metric)
        assert twin == metric
        assert same(twin.get(), metric.get())
        twin.update("a", {"a": 0.5}, 5)
        assert twin != metric

    assert metric.to_bytes() == before


@pytest.mark.parametrize("name", OF_SCORES)
def test_shards_and_batches_are_the_whole(name: str) -> None:
    """Shards of a stream, merged in any order, and one batch of it, give the bytes and the value of the whole."""
    shards = [fed(CLASSES[name](), SAMPLES[at::3]) for at in range(3)]
    whole, batch = fed(CLASSES[name]()), CLASSES[name]()
    batch.update_many([s[0] for s in SAMPLES], [s[1] for s in SAMPLES], [s[2] if len(s) > 2 else 1 for s in SAMPLES])
    random.Random(0).shuffle(shards)

    assert sm.merge(shards) == whole == batch
    assert same(sm.merge(shards).get(), whole.get())
    assert (whole.n, whole.abstained) == (7, 2)
    for sample in SAMPLES:
        whole.revert(*sample)
    assert whole == CLASSES[name]()


@pytest.mark.parametrize("name", OF_SCORES)
@pytest.mark.parametrize("instead", [None, 0.0, 1.0])
def test_an_undefined_value_is_what_was_asked_for(name: str, instead: float | None) -> None:
    """Without samples 0/0 is nan, or `zero_division`."""
    metric = CLASSES[name]() if instead is None else CLASSES[name](zero_division=instead)

    assert same(metric.get(), NAN if instead is None else instead)
    assert metric.snapshot().undefined == tuple(metric.snapshot())  # no class has occurred
    assert metric.row.kind != "whole" or not metric.row.default or metric.key in metric.snapshot().undefined


@pytest.mark.parametrize("name", OF_SCORES)
def test_a_snapshot_of_one_metric_is_data(name: str) -> None:
    """What the state of a metric can tell is listed, computed and written; it names what it lacks."""
    snapshot = fed(CLASSES[name]()).snapshot()

    assert snapshot.to_dict()["n"] == snapshot.n == 7
    assert snapshot.abstained == 2
    assert isinstance(snapshot.to_json(), str)
    with pytest.raises(KeyError, match="'accuracy' needs labels, but this snapshot is of scores only"):
        snapshot["accuracy"]
    with pytest.raises(
        KeyError, match=r"'confidence_auc' needs probabilities of all classes.*MetricSet\(scores=True\)"
    ):
        snapshot["confidence_auc"]
    missing, found = ("log_loss", "roc_auc_ovr") if CLASSES[name].row.state == "ranks" else ("roc_auc_ovr", "log_loss")
    with pytest.raises(KeyError, match=f"'{missing}' needs .*MetricSet"):
        snapshot[missing]
    assert found in snapshot


@pytest.mark.parametrize(
    ("name", "keywords", "message"),
    [
        ("PartialROCAUC", {"max_fpr": 0}, "`max_fpr`"),
        ("TPRAtFPR", {"fpr": 1.5}, "`fpr`"),
        ("PrecisionAtRecall", {"recall": -0.1}, "`recall`"),
        ("TopKAccuracy", {"k": 11}, "`k` to be a whole number from 1 to 10, but got 11"),
        ("TopKAccuracy", {"k": 2.0}, "`k` to be a whole number from 1 to 10, but got 2.0"),
        ("BrierScore", {"scale_by_half": "x"}, "`scale_by_half`"),
        ("SingleScoreAUC", {"direction": "left"}, "`direction`"),
        ("ExpectedCalibrationError", {"bins": 0}, "`bins`"),
        ("ExpectedCalibrationError", {"strategy": "x"}, "`strategy`"),
        ("ROCAUC", {"buckets": 1}, "buckets"),
        ("ROCAUC", {"sample": 0}, "sample"),
        ("ROCAUC", {"zero_division": 0.5}, "`zero_division`"),
        ("ROCAUC", {"pos_label": NAN}, "`pos_label`"),
        ("LogLoss", {"pos_label": NAN}, "`pos_label`"),
    ],
)
def test_options_are_checked_when_they_are_given(name: str, keywords: dict[str, Any], message: str) -> None:
    """An option that the formula or the state would refuse is refused by the constructor."""
    with pytest.raises(ValueError, match=message):
        CLASSES[name](**keywords)


@pytest.mark.parametrize(
    ("name", "keywords"),
    [("ROCAUC", {"labels": ["a"]}), ("CrossEntropy", {"buckets": 64}), ("ROCAUC", {"max_fpr": 0.1})],
)
def test_unknown_arguments_are_refused(name: str, keywords: dict[str, Any]) -> None:
    """An option of another state or formula is a TypeError."""
    with pytest.raises(TypeError):
        CLASSES[name](**keywords)


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (sm.ROCAUC(), sm.ROCAUC(buckets=512)),
        (sm.ROCAUC(), sm.ROCAUC(sample=256)),
        (sm.ROCAUC(), sm.ROCAUC(pos_label="b")),
        (sm.ROCAUC(), sm.AveragePrecision()),
        (sm.ROCAUC(), sm.HandTillAUC()),
        (sm.TopKAccuracy(2), sm.TopKAccuracy(3)),
        (sm.LogLoss(), sm.BrierScore()),
        (sm.LogLoss(), sm.LogLoss(pos_label="a")),
        (sm.ROCAUC(), sm.MetricSet(scores=True)),
        (sm.ROCAUC(), sm.RankSketch(pairs=False)),
    ],
)
def test_different_configurations_do_not_merge(mine: Any, theirs: Any) -> None:
    """A MergeError names both, and nothing changes."""
    fed(mine)
    before = mine.to_bytes()

    with pytest.raises(sm.MergeError, match=r"^Expected .*, but got "):
        mine.merge(theirs)
    assert mine.to_bytes() == before


@pytest.mark.parametrize(
    "name", ["ROCAUC", "HandTillAUC", "AveragePrecision", "CrossEntropy", "TopKAccuracy", "BrierScore"]
)
@pytest.mark.parametrize("bad", [{"a": NAN}, {"a": "x"}, {None: 0.5}, NAN, "a"])
def test_a_bad_sample_changes_nothing(name: str, bad: Any) -> None:
    """What is no score is refused, alone and in a batch, and nothing is counted."""
    metric = fed(CLASSES[name]())
    before = metric.to_bytes()
    with pytest.raises(sm.StreamMetricsError, match="Expected"):
        metric.update("a", bad)
    with pytest.raises(sm.StreamMetricsError, match="at position 1"):
        metric.update_many(["a", "a"], [{"a": 0.5}, bad])

    assert metric.to_bytes() == before


@pytest.mark.parametrize("name", ["ROCAUC", "AveragePrecision", "CrossEntropy", "BrierScore"])
def test_columns_of_floats_are_batches(name: str) -> None:
    """A column of floats is the scores of `pos_label`, one after the other."""
    rng = np.random.default_rng(1)
    truth, scores = rng.random(100) < 0.5, rng.random(100)
    single, batch = CLASSES[name](), CLASSES[name]()
    for sample in zip(truth.tolist(), scores.tolist(), strict=True):
        single.update(*sample)
    batch.update_many(truth, scores)

    assert single == batch
    assert single.get() == batch.get()


def test_top_k_keeps_the_type_of_its_option() -> None:
    """`k` stays an int through bytes and clones."""
    metric = sm.TopKAccuracy(1)
    fed(metric)

    assert type(sm.from_bytes(metric.to_bytes()).k) is int
    assert metric.get() == metric.snapshot().value("top_k_accuracy", k=1)
    assert metric.get() != metric.snapshot()["top_k_accuracy"]


def test_repr_shows_the_value() -> None:
    """A metric in a prompt says its name and value."""
    assert repr(fed(sm.ROCAUC(), BINARY)) == f"ROCAUC: {6.5 / 9:.6g}"  # 3 + 2.5 + 1 of 9 pairs
    assert repr(sm.CrossEntropy()) == "CrossEntropy: nan"
