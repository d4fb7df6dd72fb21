"""Metric: one row of the catalog, live; options, labels, bytes, merging."""

from __future__ import annotations

import inspect
import pickle
import random
from typing import Any

import pytest
from support.metric_classes import CLASSES

import stream_metrics as sm
from stream_metrics.catalog.table import CATALOG

NAN = float("nan")
OF_COUNTS = [name for name, cls in CLASSES.items() if cls.row.state == "counts"]
SAMPLES = [("a", "a"), ("a", "b"), ("b", "b"), ("c", "a"), ("c", "c"), ("b", "b"), ("a", "a"), ("c", "b")]
BINARY = [(True, True), (True, False), (False, False), (False, True), (True, True), (False, False)]
OPTIONS: dict[str, dict[str, Any]] = {  # arguments without which a class cannot be made, or means another row
    "GeneralF1": {"average": "power", "p": 2.0},
    "GeneralFowlkesMallows": {"average": "power", "p": -1.0},
    "WeightedBalancedAccuracy": {"weights": {"a": 1.0, "b": 2, "c": 3, True: 1, False: 2}},
}


def fed(metric: Any, samples: Any = SAMPLES) -> Any:
    """Return the metric after the samples."""
    for sample in samples:
        metric.update(*sample)
    return metric


def same(a: Any, b: Any) -> bool:
    """Whether two numbers are equal, nan to nan."""
    return a == b or (a != a and b != b)


def test_every_row_that_names_a_class_has_one() -> None:
    """Class names of the catalog are public classes with that key."""
    assert {name: cls.key for name, cls in CLASSES.items()} == {
        name: key for key, row in CATALOG.items() for name in (row.class_name, row.alias) if name
    }
    for name, cls in CLASSES.items():
        assert getattr(sm, name) is cls
        assert name in (cls.row.class_name, cls.row.alias)
        assert (cls.__name__, cls.__module__) == (cls.row.class_name, "stream_metrics")
        assert issubclass(cls, sm.Metric)


@pytest.mark.parametrize("name", OF_COUNTS)
def test_the_live_value_is_that_of_the_snapshot(name: str) -> None:
    """After every sample `get` is the value of the row, of `pos_label` where it is per class."""
    cls, row, options = CLASSES[name], CLASSES[name].row, OPTIONS.get(name, {})
    for samples, pos_label in ((SAMPLES, "b"), (BINARY, True)):
        metric = cls(**options, **({"pos_label": pos_label} if row.kind == "per_class" else {}))
        for sample in [None, *samples, *samples[::-1]]:
            if sample:
                metric.update(*sample)
            value, snapshot = metric.get(), metric.snapshot()
            expected = snapshot.value(row.key, **options)
            if row.kind == "per_class":
                expected = expected.get(pos_label, value)
            assert type(value) in (int, float)
            assert same(value, expected)


@pytest.mark.parametrize("name", OF_COUNTS)
def test_it_can_be_made_again_from_its_attributes(name: str) -> None:
    """Every argument of the constructor is an attribute, from which a clone can be made, as river does."""
    metric = fed(CLASSES[name](**OPTIONS.get(name, {}), labels=["a", "b", "c"], zero_division=1.0))
    arguments = {argument: getattr(metric, argument) for argument in inspect.signature(CLASSES[name]).parameters}
    clone = CLASSES[name](**arguments)

    assert clone.n == 0
    assert same(fed(clone).get(), metric.get())
    assert clone == metric


@pytest.mark.parametrize("name", OF_COUNTS)
def test_it_survives_bytes_pickle_and_copy(name: str) -> None:
    """Configuration and counts come back from bytes, pickle and copy, and go on independently."""
    metric = fed(CLASSES[name](**OPTIONS.get(name, {}), labels=["c", "b", "a"]))
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
        twin.update("a", "c", 5)
        assert twin != metric

    assert metric.to_bytes() == before


@pytest.mark.parametrize("name", OF_COUNTS)
def test_shards_merge_to_the_whole(name: str) -> None:
    """Shards of a stream, merged in any order, give the bytes and the value of the whole."""
    make = lambda: CLASSES[name](**OPTIONS.get(name, {}))  # noqa: E731
    shards = [fed(make(), SAMPLES[at::3]) for at in range(3)]
    whole = fed(make())
    random.Random(0).shuffle(shards)

    assert sm.merge(shards) == whole
    assert same(sm.merge(shards).get(), whole.get())
    assert shards[0].merge(shards[1]) is shards[0]


@pytest.mark.parametrize(
    ("arguments", "keywords", "beta", "pos_label"),
    [((2.0,), {}, 2.0, True), ((), {"beta": 2.0}, 2.0, True), ((2,), {"pos_label": "a"}, 2, "a"), ((), {}, 1.0, True)],
)
def test_options_come_by_position_or_name(arguments: Any, keywords: Any, beta: Any, pos_label: Any) -> None:
    """Options of the formula come first; what all classes share comes by keyword."""
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
    ],
)
def test_unknown_arguments_are_refused(name: str, arguments: Any, keywords: Any) -> None:
    """A misspelt or superfluous argument is a TypeError."""
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
    ],
)
def test_options_are_checked_when_they_are_given(name: str, keywords: dict[str, Any], message: str) -> None:
    """An option that the formula would refuse is refused by the constructor."""
    with pytest.raises(ValueError, match=message):
        CLASSES[name](**keywords)


@pytest.mark.parametrize("instead", [0.0, 1.0, NAN, 0, 1])
@pytest.mark.parametrize("name", ["Precision", "MCC", "MacroF1", "BalancedAccuracy"])
def test_an_undefined_value_is_what_was_asked_for(name: str, instead: float) -> None:
    """Without samples 0/0 is `zero_division`, a float."""
    value = CLASSES[name](zero_division=instead).get()

    assert type(value) is float
    assert same(value, instead)


@pytest.mark.parametrize(("pos_label", "expected"), [("a", 2 / 3), ("b", 1.0), ("c", 1 / 3), ("z", 0.0), (7, 0.0)])
def test_a_positive_label_may_be_any(pos_label: Any, expected: float) -> None:
    """Among more than two classes the value is that of one against the rest; an absent one is 0/0."""
    assert fed(sm.Recall(pos_label=pos_label)).get() == expected


def test_the_positive_label_is_true_and_so_is_one() -> None:
    """The default `pos_label` finds True, 1 and 1.0 alike."""
    for positive, negative in ((True, False), (1, 0), (1.0, 0.0), (1, "other")):
        metric = sm.Precision()
        metric.update_many([positive, negative, positive], [positive, positive, negative])
        assert metric.get() == 0.5


def test_metric_itself_has_no_formula() -> None:
    """The base class cannot be made, and says what can."""
    with pytest.raises(TypeError, match=r"stream_metrics\.MacroF1"):
        sm.Metric()


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (sm.FBeta(2.0), sm.FBeta(1.0)),
        (sm.FBeta(2.0), sm.F1()),
        (sm.Recall(pos_label="a"), sm.Recall(pos_label="b")),
        (sm.Recall(), sm.Recall(zero_division=1.0)),
        (sm.Recall(), sm.Recall(labels=["a"])),
        (sm.MCC(), sm.MetricSet()),
        (sm.MCC(), sm.ConfusionMatrix()),
    ],
)
def test_different_configurations_do_not_merge(mine: Any, theirs: Any) -> None:
    """A MergeError names both, and nothing changes."""
    fed(mine, [("a", "a")] * (mine.labels is None))
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
def test_equal_configurations_merge_however_they_were_written(mine: Any, theirs: Any) -> None:
    """Numbers of another type, nan, and mappings in another order are the same configuration."""
    assert mine == theirs
    assert fed(mine.merge(fed(theirs, [("a", "b")])), [("a", "a")]).n == 2


class Doubling(sm.MCC):
    """A metric that counts every sample twice."""

    def update(self, y_true: Any, y_pred: Any, w: Any = 1) -> None:
        super().update(y_true, y_pred, w)
        super().update(y_true, y_pred, w)


def test_a_subclass_may_override_update() -> None:
    """An overridden method is called, also after copies, bytes and pickle; the others are the state's own."""
    metric = Doubling()
    for twin in (metric, metric.copy(), pickle.loads(pickle.dumps(metric)), Doubling.from_bytes(metric.to_bytes())):
        twin.update("a", "b")
        twin.update_many(["a"], ["b"])
        assert type(twin) is Doubling
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
    """A metric in a prompt says its name and value."""
    assert repr(fed(sm.Accuracy())) == "Accuracy: 0.625"
    assert repr(sm.ZeroOneLoss()) == f"ZeroOneLoss: {sm.ZeroOneLoss().get():.6g}"


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_documents_its_metric(name: str) -> None:
    """The docstring says what it measures, and names the key and the undefined case; every option is an argument."""
    cls, row = CLASSES[name], CLASSES[name].row
    doc = " ".join((cls.__doc__ or "").split())

    assert doc.startswith(row.summary)
    assert f"Key: ``{cls.key}``." in doc
    assert f"Formula: ``{row.definition}``" in doc
    assert f"0/0: {row.undefined_when}." in doc
    assert cls.bigger_is_better is (row.direction == "higher")
    assert list(inspect.signature(cls).parameters)[: len(row.options)] == list(row.options)
