"""The class of every catalog row: value, options, labels, bytes, merging, documentation."""

from __future__ import annotations

import inspect
import pickle
import random
from typing import Any

import numpy as np
import pytest
from support.metric_classes import CLASSES

import stream_metrics as sm
from stream_metrics.catalog.table import CATALOG

NAN = float("nan")
LABELS: list[tuple[Any, ...]] = [
    ("a", "a"), ("a", "b"), ("b", "b"), ("c", "a"), ("c", "c"), ("b", "b"), ("a", "a"), ("c", "b")
]  # fmt: skip
BINARY_LABELS = [(True, True), (True, False), (False, False), (False, True), (True, True), (False, False)]
SCORES: list[tuple[Any, ...]] = [
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
BINARY_SCORES = [(True, 0.75), (False, 0.5), (True, 0.5), (False, 0.25), (True, 0.25), (False, 0.25)]
SAMPLES = {name: LABELS if cls.row.state == "counts" else SCORES for name, cls in CLASSES.items()}
COUNTS = [name for name in CLASSES if SAMPLES[name] is LABELS]
SCORED = [name for name in CLASSES if SAMPLES[name] is SCORES]
OPTIONS: dict[str, dict[str, Any]] = {  # arguments that a class requires, or that select another row of the catalog
    "GeneralF1": {"average": "power", "p": 2.0},
    "GeneralFowlkesMallows": {"average": "power", "p": -1.0},
    "WeightedBalancedAccuracy": {"weights": {"a": 1.0, "b": 2, "c": 3, True: 1, False: 2}},
}
SHARED = {"counts": {"labels": ("c", "b", "a")}, "ranks": {"pos_label": "a", "buckets": 64, "sample": 64}}

every_class = pytest.mark.parametrize("name", CLASSES)
scored_classes = pytest.mark.parametrize("name", SCORED)


def make(name: str, **options: Any) -> Any:
    """Return an empty metric of a class."""
    return CLASSES[name](**OPTIONS.get(name, {}), **options)


def configured(name: str) -> Any:
    """Return an empty metric of a class with options of its state."""
    chosen = {"pos_label": "b"} if CLASSES[name].row.kind == "per_class" else {}
    return make(name, **chosen | SHARED.get(CLASSES[name].row.state, {"pos_label": "a"}), zero_division=1.0)


def samples_of(metric: Any) -> list[tuple[Any, ...]]:
    """Return samples that a metric takes: of 0 and 1 if it is of one class, and that is the default."""
    binary = metric.row.kind == "per_class" and metric.pos_label is True
    labels = metric.row.state == "counts"
    return (BINARY_LABELS if labels else BINARY_SCORES) if binary else LABELS if labels else SCORES


def fed(metric: Any, samples: Any) -> Any:
    """Return the metric after the samples."""
    for sample in samples:
        metric.update(*sample)
    return metric


def same(a: Any, b: Any) -> bool:
    """Whether two numbers are equal; nan equals nan."""
    return a == b or (a != a and b != b)


def test_every_row_that_names_a_class_has_one() -> None:
    """Class names of the catalog are public classes with that key."""
    assert {name: cls.key for name, cls in CLASSES.items()} == {
        name: key for key, row in CATALOG.items() for name in (row.class_name, row.alias) if name
    }
    assert {cls.row.state for cls in CLASSES.values()} == {"counts", "ranks", "losses"}
    for name, cls in CLASSES.items():
        assert getattr(sm, name) is cls
        assert name in (cls.row.class_name, cls.row.alias)
        assert (cls.__name__, cls.__module__) == (cls.row.class_name, "stream_metrics")
        assert issubclass(cls, sm.Metric)
        assert cls.requires_labels is (name in COUNTS)


@every_class
def test_the_value_is_that_of_the_snapshot(name: str) -> None:
    """After every sample `get` is the value of the row, of `pos_label` if it is per class; a set has the same value."""
    row, options = CLASSES[name].row, OPTIONS.get(name, {})
    has_pos_label = "pos_label" in inspect.signature(CLASSES[name]).parameters
    binary = BINARY_LABELS if name in COUNTS else BINARY_SCORES
    for samples, pos_label in ((SAMPLES[name], "b"), (binary, True)):
        metric = make(name, **({"pos_label": pos_label} if has_pos_label else {}))
        sources = [metric] if name in COUNTS else [metric, sm.MetricSet(scores=True, pos_label=pos_label)]
        for sample in [None, *samples, *samples[::-1]]:
            if sample:
                for source in sources:
                    source.update(*sample)
            value = metric.get()
            for source in sources:
                expected = source.snapshot().value(row.key, **options)
                if row.kind == "per_class":
                    expected = expected.get(pos_label, value)
                assert type(value) in ((int, float) if name in COUNTS else (float,))
                assert same(value, expected)


@every_class
def test_a_clone_is_built_from_the_attributes(name: str) -> None:
    """Every argument of the constructor is an attribute, from which river builds clones."""
    metric = fed(configured(name), SAMPLES[name])
    arguments = {argument: getattr(metric, argument) for argument in inspect.signature(CLASSES[name]).parameters}
    clone = CLASSES[name](**arguments)

    assert {key: arguments[key] for key in SHARED.get(metric.row.state, {})} == SHARED.get(metric.row.state, {})
    assert clone.n == 0
    assert same(fed(clone, SAMPLES[name]).get(), metric.get())
    assert clone == metric


@every_class
def test_configurations_survive_bytes_shards_and_batches(name: str) -> None:
    """A copy, shards that travelled as bytes and pickles, and one batch have the configuration, counts and value."""
    samples = SAMPLES[name]
    whole, batch = fed(configured(name), samples), configured(name)
    truth, predicted, *_ = zip(*(sample[:2] for sample in samples), strict=True)
    batch.update_many(truth, predicted, [sample[2] if len(sample) > 2 else 1 for sample in samples])
    shards = [fed(configured(name), samples[at::3]) for at in range(3)]
    random.Random(0).shuffle(shards)
    shards = [sm.from_bytes(shards[0].to_bytes()), pickle.loads(pickle.dumps(shards[1])), shards[2].copy()]
    merged = sm.merge(shards)

    assert [type(shard) for shard in shards] == [type(whole)] * 3
    assert merged == whole == batch
    assert same(merged.get(), whole.get())
    assert shards[0].merge(shards[1]) is shards[0]
    for sample in samples:
        merged.revert(*sample)
    assert merged == configured(name)
    assert merged != whole


@pytest.mark.parametrize(
    ("arguments", "keywords", "beta", "pos_label"),
    [((2.0,), {}, 2.0, True), ((), {"beta": 2.0}, 2.0, True), ((2,), {"pos_label": "a"}, 2, "a"), ((), {}, 1.0, True)],
)
def test_options_come_by_position_or_name(arguments: Any, keywords: Any, beta: Any, pos_label: Any) -> None:
    """Options of the formula come first; options of all classes are keywords."""
    metric = sm.FBeta(*arguments, **keywords)

    assert (metric.beta, metric.pos_label, metric.labels, metric.zero_division) == (beta, pos_label, None, 0.0)


@pytest.mark.parametrize(
    ("name", "arguments", "keywords"),
    [
        ("MCC", (), {"beta": 1.0}),
        ("MCC", (1.0,), {}),
        ("MCC", (), {"pos_label": True}),
        ("FBeta", (1.0, True), {}),
        ("FBeta", (1.0,), {"beta": 1.0}),
        ("FBeta", (), {"zero_divison": 1.0}),
        ("ROCAUC", (), {"labels": ["a"]}),
        ("ROCAUC", (), {"max_fpr": 0.1}),
        ("CrossEntropy", (), {"buckets": 64}),
    ],
)
def test_unknown_arguments_are_refused(name: str, arguments: Any, keywords: Any) -> None:
    """A misspelt argument, or one of another formula or state, is a TypeError."""
    with pytest.raises(TypeError):
        CLASSES[name](*arguments, **keywords)


@pytest.mark.parametrize(
    ("name", "keywords", "message"),
    [
        ("FBeta", {"beta": -1.0}, "`beta`"),
        ("FBeta", {"beta": NAN}, "`beta`"),
        ("GeneralF1", {"average": "no such average"}, "average"),
        ("GeneralF1", {"average": "power"}, "`p`"),
        ("MacroF1", {"variant": "x"}, "variant"),
        ("WeightedKappa", {"weights": "cubic"}, "weights"),
        ("Accuracy", {"zero_division": 0.5}, "`zero_division` to be 0.0, 1.0 or nan, but got 0.5"),
        ("Recall", {"pos_label": NAN}, "`pos_label`"),
        ("Recall", {"labels": ["a", "a"]}, "`labels`"),
        ("Recall", {"other": "a"}, "`other`"),
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
def test_options_are_checked_by_the_constructor(name: str, keywords: dict[str, Any], message: str) -> None:
    """The constructor refuses an option that the formula or the state would refuse."""
    with pytest.raises(ValueError, match=message):
        CLASSES[name](**keywords)


@pytest.mark.parametrize("instead", [0.0, 1.0, NAN, 0, 1])
@pytest.mark.parametrize("name", ["Precision", "MCC", "MacroF1", "BalancedAccuracy"])
def test_zero_division_replaces_an_undefined_value(name: str, instead: float) -> None:
    """Without samples 0/0 is `zero_division`, a float."""
    value = CLASSES[name](zero_division=instead).get()

    assert type(value) is float
    assert same(value, instead)


@scored_classes
@pytest.mark.parametrize("instead", [None, 0.0, 1.0])
def test_an_undefined_value_of_scores_is_nan_or_zero_division(name: str, instead: float | None) -> None:
    """Without samples 0/0 is nan, or `zero_division`, and every key is listed as undefined."""
    metric = CLASSES[name]() if instead is None else CLASSES[name](zero_division=instead)

    assert same(metric.get(), NAN if instead is None else instead)
    assert metric.snapshot().undefined == tuple(metric.snapshot())  # no class has occurred
    assert metric.row.kind != "whole" or not metric.row.default or metric.key in metric.snapshot().undefined


@scored_classes
def test_a_snapshot_of_one_metric_names_what_its_state_lacks(name: str) -> None:
    """The snapshot lists and writes what its state can compute; a KeyError says what other keys need."""
    options = {"pos_label": "b"} if CLASSES[name].row.kind == "per_class" else {}
    snapshot = fed(CLASSES[name](**options), SCORES).snapshot()

    assert snapshot.to_dict()["n"] == snapshot.n == 7
    assert snapshot.abstained == 2
    assert isinstance(snapshot.to_json(), str)
    with pytest.raises(KeyError, match="'accuracy' needs labels, but this snapshot is of scores only"):
        snapshot["accuracy"]
    with pytest.raises(
        KeyError, match=r"'confidence_auc' needs probabilities of all classes.*MetricSet\(scores=True\)"
    ):
        snapshot["confidence_auc"]
    present, absent = ("roc_auc_ovr", "log_loss") if CLASSES[name].row.state == "ranks" else ("log_loss", "roc_auc_ovr")
    with pytest.raises(KeyError, match=f"'{absent}' needs .*MetricSet"):
        snapshot[absent]
    assert present in snapshot


@pytest.mark.parametrize(("pos_label", "expected"), [("a", 2 / 3), ("b", 1.0), ("c", 1 / 3), ("z", 0.0), (7, 0.0)])
def test_any_label_may_be_positive(pos_label: Any, expected: float) -> None:
    """Among more than two classes the value is that of one against the rest; an absent one is 0/0."""
    assert fed(sm.Recall(pos_label=pos_label), LABELS).get() == expected


def test_the_default_positive_label_is_true_and_one() -> None:
    """The default `pos_label` is True, 1 and 1.0 alike."""
    for positive, negative in ((True, False), (1, 0), (1.0, 0.0), (1, False)):
        metric = sm.Precision()
        metric.update_many([positive, negative, positive], [positive, positive, negative])
        assert metric.get() == 0.5


def test_the_base_class_cannot_be_instantiated() -> None:
    """The error names a class that can."""
    with pytest.raises(TypeError, match=r"stream_metrics\.MacroF1"):
        sm.Metric()


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (sm.Recall(), sm.Recall(pos_label=1)),
        (sm.Recall(), sm.Accuracy()),
        (sm.Recall(), sm.Recall(labels=[0, 1])),
        (sm.MCC(), sm.MetricSet()),
        (sm.MCC(), sm.ConfusionMatrix()),
        (sm.ROCAUC(), sm.ROCAUC(buckets=512)),
        (sm.ROCAUC(), sm.ROCAUC(sample=256)),
        (sm.ROCAUC(), sm.ROCAUC(pos_label="b")),
        (sm.ROCAUC(), sm.HandTillAUC()),
        (sm.ROCAUC(), sm.LogLoss()),
        (sm.LogLoss(), sm.LogLoss(pos_label="a")),
        (sm.ROCAUC(), sm.MetricSet(scores=True)),
        (sm.ROCAUC(), sm.RankSketch(pairs=False)),
    ],
)
def test_different_configurations_do_not_merge(mine: Any, theirs: Any) -> None:
    """A MergeError names both, and nothing changes."""
    fed(mine, samples_of(mine))
    before = mine.to_bytes()

    with pytest.raises(sm.MergeError, match=r"^Expected .*, but got "):
        mine.merge(theirs)
    assert mine.to_bytes() == before


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (sm.FBeta(2), sm.FBeta(beta=2.0)),
        (sm.Recall(zero_division=NAN), sm.Recall(zero_division=float("nan"))),
        (sm.WeightedBalancedAccuracy({"a": 1, "b": 2}), sm.WeightedBalancedAccuracy({"b": 2.0, "a": 1.0})),
    ],
)
def test_equal_configurations_merge_however_they_are_written(mine: Any, theirs: Any) -> None:
    """Numbers of another type, nan, and mappings in another order are the same configuration."""
    assert mine == theirs
    first, second = samples_of(mine)[:2]
    assert fed(mine.merge(fed(theirs, [first])), [second]).n == 2


@pytest.mark.parametrize(
    "name", ["ROCAUC", "HandTillAUC", "AveragePrecision", "CrossEntropy", "TopKAccuracy", "BrierScore"]
)
@pytest.mark.parametrize("bad", [{"a": NAN}, {"a": "x"}, {None: 0.5}, NAN, "a"])
def test_a_bad_score_changes_nothing(name: str, bad: Any) -> None:
    """A value that is no score is refused, alone and in a batch, and nothing is counted."""
    metric = fed(CLASSES[name](**({"pos_label": "a"} if CLASSES[name].row.kind == "per_class" else {})), SCORES)
    before = metric.to_bytes()
    with pytest.raises(sm.StreamMetricsError, match="Expected"):
        metric.update("a", bad)
    with pytest.raises(sm.StreamMetricsError, match="at position 1"):
        metric.update_many(["a", "a"], [{"a": 0.5}, bad])

    assert metric.to_bytes() == before


def test_a_metric_of_scores_reads_a_table() -> None:
    """`classes` names the columns of a table."""
    metric = sm.HandTillAUC()
    metric.update_many(["a", "b", "c"], np.eye(3), classes=["a", "b", "c"])

    assert metric.get() == 1.0


def test_top_k_keeps_the_type_of_its_option() -> None:
    """`k` stays an int through bytes and clones."""
    metric = fed(sm.TopKAccuracy(1), SCORES)

    assert type(sm.from_bytes(metric.to_bytes()).k) is int
    assert metric.get() == metric.snapshot().value("top_k_accuracy", k=1)
    assert metric.get() != metric.snapshot()["top_k_accuracy"]


class CountsTwice(sm.MCC):
    """A metric that counts every sample twice."""

    def update(self, y_true: Any, y_pred: Any, w: Any = 1) -> None:
        super().update(y_true, y_pred, w)
        super().update(y_true, y_pred, w)


def test_a_subclass_may_override_update() -> None:
    """Its method is called, also after copies, bytes and pickle; the others are those of the state."""
    metric = CountsTwice()
    twins = (metric, metric.copy(), pickle.loads(pickle.dumps(metric)), CountsTwice.from_bytes(metric.to_bytes()))
    for twin in twins:
        twin.update("a", "b")
        twin.update_many(["a"], ["b"])
        assert type(twin) is CountsTwice
        assert twin.n == 3


def test_a_metric_feeds_its_own_state() -> None:
    """Updates reach the metric's own state, also after reset and in a copy."""
    metric = sm.MCC()
    metric.update("a", "b")
    twin = metric.copy()
    metric.reset()
    metric.update_many(["a", "b"], ["a", "b"])
    twin.revert("a", "b")

    assert (metric.n, metric.state.n, twin.n) == (2, 2, 0)
    assert (metric.abstained, twin.abstained) == (0, 0)


def test_repr_shows_the_value() -> None:
    """The repr has name and value."""
    assert repr(fed(sm.Accuracy(), LABELS)) == "Accuracy: 0.625"
    assert repr(sm.ZeroOneLoss()) == f"ZeroOneLoss: {sm.ZeroOneLoss().get():.6g}"
    assert repr(fed(sm.ROCAUC(), BINARY_SCORES)) == f"ROCAUC: {6.5 / 9:.6g}"  # 3 + 2.5 + 1 of 9 pairs
    assert repr(sm.CrossEntropy()) == "LogLoss: nan"


@every_class
def test_a_class_documents_its_metric(name: str) -> None:
    """The docstring has summary, key, formula and undefined case of the row; every option is an argument."""
    cls, row = CLASSES[name], CLASSES[name].row
    doc = " ".join((cls.__doc__ or "").split())

    assert doc.startswith(row.summary)
    assert f"Key: ``{cls.key}``." in doc
    assert f"Formula: ``{row.definition}``" in doc
    assert f"0/0: {row.undefined_when}." in doc
    assert cls.bigger_is_better is (row.direction == "higher")
    assert list(inspect.signature(cls).parameters)[: len(row.options)] == list(row.options)
