"""The class of every metric: value, options, what it refuses, bytes, documentation."""

from __future__ import annotations

import inspect
import pickle
from functools import partial
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import every_case
from support.metric_classes import CLASSES
from support.refusals import all_refused, refused
from support.state_checks import fed

import stream_metrics as sm

NAN = float("nan")
LABELS: list[tuple[Any, ...]] = list(zip("aabccbac", "abbacbab", strict=True))
BINARY_LABELS = [(True, True), (True, False), (False, False), (False, True), (True, True), (False, False)]
SCORES: list[tuple[Any, ...]] = [
    ("a", {"a": 0.5, "b": 0.25, "c": 0.25}), ("b", {"a": 0.5, "b": 0.5}, 2), ("c", {"c": 0.75, "a": 0.125}, 0.5),
    ("a", None), ("b", {"b": 0.875, "c": 0.125}), ("c", {"b": 0.5, "c": 0.375, "a": 0.125}, 3), ("a", {}),
    ("a", {"b": 1.0}, 0.25), ("b", {"a": 0.25, "b": 0.25, "c": 0.5}),
]  # fmt: skip
BINARY_SCORES = [(True, 0.75), (False, 0.5), (True, 0.5), (False, 0.25), (True, 0.25), (False, 0.25)]
INFO = {name: sm.metrics()[cls.key] for name, cls in CLASSES.items()}
COUNTS = [name for name, info in INFO.items() if info.reads == "labels"]
SCORED = [name for name in CLASSES if name not in COUNTS]
ONE_CLASS = [name for name, info in INFO.items() if info.kind == "per_class"]
OPTIONS: dict[str, dict[str, Any]] = {  # arguments that a class requires, or that select another row of the catalog
    "GeneralF1": {"average": "power", "p": 2.0},
    "GeneralFowlkesMallows": {"average": "power", "p": -1.0},
    "WeightedBalancedAccuracy": {"weights": {"a": 1.0, "b": 2, "c": 3, True: 1, False: 2}},
}
SHARED: dict[type, dict[str, Any]] = {
    sm.ConfusionMatrix: {"labels": ("c", "b", "a")},
    sm.RankSketch: {"pos_label": "a", "buckets": 64, "sample": 64},
    sm.ProbabilityLosses: {"pos_label": "a"},
}


def make(name: str, **options: Any) -> Any:
    """Return an empty metric of a class."""
    return CLASSES[name](**OPTIONS.get(name, {}), **options)


def of_class(name: str, pos_label: Any) -> dict[str, Any]:
    """Return the option that names the positive class, where a metric is of one class."""
    return {"pos_label": pos_label} if name in ONE_CLASS else {}


def shared_options(name: str) -> dict[str, Any]:
    """Return options of the state of a class."""
    return SHARED[type(make(name).state)]


def configured(name: str) -> Any:
    """Return an empty metric of a class with options of its state and another value of 0/0."""
    return make(name, **of_class(name, "b") | shared_options(name), zero_division=1.0)


def samples_of(name: str, binary: bool = False) -> list[tuple[Any, ...]]:
    """Return samples that a class takes, of 0 and 1 if asked for."""
    labels = name in COUNTS
    return (BINARY_LABELS if labels else BINARY_SCORES) if binary else LABELS if labels else SCORES


def same(a: Any, b: Any) -> bool:
    """Whether two numbers are equal; nan equals nan."""
    return a == b or (a != a and b != b)


@pytest.mark.quick
def test_every_key_that_names_a_class_has_one_that_documents_it() -> None:
    """The class has that key; its docstring has summary, key, formula and undefined case of the catalog."""
    assert {info.class_name for info in sm.metrics().values() if info.class_name} == {*CLASSES} - {"CrossEntropy"}
    assert sm.CrossEntropy is sm.LogLoss
    with every_case() as case:
        for name, cls in CLASSES.items():
            with case(name):
                info, doc = INFO[name], " ".join((cls.__doc__ or "").split())
                assert (cls.__name__, cls.__module__) == (info.class_name, "stream_metrics")
                assert cls.requires_labels is (name in COUNTS)
                assert doc.startswith(info.summary)
                assert f"Key: ``{info.key}``." in doc
                assert f"Formula: ``{info.formula}``" in doc
                assert f"0/0: {info.undefined}." in doc
                assert cls.bigger_is_better is (info.better == "higher")


@pytest.mark.quick
def test_the_value_is_that_of_the_snapshot() -> None:
    """After every sample `get` is the value of the key, of `pos_label` for one class; a set has the same value."""
    with every_case() as case:
        for name in CLASSES:
            for pos_label in ("b", True):
                samples = samples_of(name, pos_label is True)
                chosen = {"pos_label": pos_label} if "pos_label" in inspect.signature(CLASSES[name]).parameters else {}
                metric = make(name, **chosen)
                sources = [metric] if name in COUNTS else [metric, sm.MetricSet(scores=True, pos_label=pos_label)]
                with case(f"{name} {pos_label}"):
                    for sample in [None, *samples, *samples[::-1]]:
                        for source in sources if sample else []:
                            source.update(*sample)
                        value = metric.get()
                        assert type(value) in ((int, float) if name in COUNTS else (float,))
                        for source in sources:
                            expected = source.snapshot().value(INFO[name].key, **OPTIONS.get(name, {}))
                            if name in ONE_CLASS:
                                expected = expected.get(pos_label, value)
                            assert same(value, expected)
    for pos_label, recall in [("a", 2 / 3), ("b", 1.0), ("c", 1 / 3), ("z", 0.0), (7, 0.0)]:
        assert fed(sm.Recall(pos_label=pos_label), LABELS).get() == recall


labels = st.sampled_from(["a", "a", "b", 1, (1, "a"), b"a"])
weights = st.one_of(
    st.just(1), st.integers(0, 9), st.floats(0, 3), st.sampled_from([2.0**-64, 2**52, 2**53 + 1, 2**59, 2**52 + 0.5])
)


@given(
    samples=st.lists(st.tuples(labels, st.one_of(st.none(), labels), weights), max_size=12),
    beta=st.sampled_from([0.0, 0.3, 1.0, 2.0, 1e3, 1e9, float("inf")]),
    instead=st.sampled_from([0.0, 1.0, NAN]),
)
def test_compiled_values_have_the_bits_of_the_formula(samples: list[Any], beta: float, instead: float) -> None:
    """For any weights, after every sample, of a merged copy and of a state that is reverted to nothing."""

    def formula(metric: Any) -> Any:
        values = metric.snapshot().value(metric.key, **({"beta": beta} if hasattr(metric, "beta") else {}))
        return values.get("a", metric.get()) if isinstance(values, dict) else values

    with every_case() as case:
        for name in COUNTS:
            beta_option = {"beta": beta} if "beta" in inspect.signature(CLASSES[name]).parameters else {}
            if name not in ONE_CLASS and not name.startswith(("Accuracy", "Micro", "ZeroOne", "WeightedRecall")):
                continue
            with case(name):
                metric = make(name, **of_class(name, "a"), **beta_option, zero_division=instead)
                for sample in samples:
                    metric.update(*sample)
                    assert repr(metric.get()) == repr(formula(metric))
                twin = metric.copy().merge(metric)
                for sample in [None, *samples]:
                    if sample:
                        twin.revert(*sample)
                    assert repr(twin.get()) == repr(formula(twin))


@pytest.mark.quick
def test_every_class_keeps_its_configuration() -> None:
    """A clone, bytes, pickles, a batch and reverts have options with types, counts and value; so river can build it."""
    with every_case() as case:
        for name in CLASSES:
            with case(name):
                samples, shared = samples_of(name), shared_options(name)
                whole, batch = fed(configured(name), samples), configured(name)
                parameters = inspect.signature(CLASSES[name]).parameters
                assert get_type_hints(CLASSES[name].__init__).keys() == {*parameters, "return"}
                clone = CLASSES[name](**{parameter: getattr(whole, parameter) for parameter in parameters})
                assert {option: getattr(whole, option) for option in shared} == shared
                assert clone.n == 0
                truth, predicted = ([sample[at] for sample in samples] for at in range(2))
                batch.update_many(truth, predicted, [sample[2] if len(sample) > 2 else 1 for sample in samples])
                twin = pickle.loads(pickle.dumps(sm.from_bytes(whole.to_bytes())))
                assert type(twin) is type(whole)
                assert twin == whole == batch == fed(clone, samples)
                assert same(twin.get(), whole.get())
                for sample in samples:
                    twin.revert(*sample)
                assert twin == configured(name) != whole


@pytest.mark.quick
def test_options_come_by_position_or_name() -> None:
    """Options of the formula come first; options of all classes are keywords, and others are a TypeError."""
    for metric, *options in (sm.FBeta(2.0), 2.0, True), (sm.FBeta(2, pos_label="a"), 2, "a"), (sm.FBeta(), 1.0, True):
        assert [metric.beta, metric.pos_label, metric.labels, metric.zero_division] == [*options, None, 0.0]
    assert sm.FBeta(beta=2.0).beta == 2.0
    calls: list[Any] = [
        lambda: sm.MCC(beta=1.0), lambda: sm.MCC(1.0), lambda: sm.MCC(pos_label=True), lambda: sm.FBeta(1.0, True),
        lambda: sm.FBeta(1.0, beta=1.0), lambda: sm.FBeta(zero_divison=1.0), lambda: sm.ROCAUC(labels=["a"]),
        lambda: sm.ROCAUC(max_fpr=0.1), lambda: sm.CrossEntropy(buckets=64),
    ]  # fmt: skip
    all_refused((call, TypeError, "") for call in calls)
    refused(sm.Metric, TypeError, "stream_metrics.MacroF1")


@pytest.mark.quick
def test_options_are_checked_by_the_constructor() -> None:
    """The constructor refuses an option that the formula or the state would refuse."""
    refusals: dict[str, list[dict[str, Any]]] = {
        "FBeta": [{"beta": -1.0}, {"beta": NAN}], "PartialROCAUC": [{"max_fpr": 0}], "TPRAtFPR": [{"fpr": 1.5}],
        "GeneralF1": [{"average": "no such average"}], "MacroF1": [{"variant": "x"}],
        "WeightedKappa": [{"weights": "cubic"}], "Recall": [{"pos_label": NAN}, {"labels": ["a", "a"]}, {"other": "a"}],
        "PrecisionAtRecall": [{"recall": -0.1}], "BrierScore": [{"scale_by_half": "x"}],
        "SingleScoreAUC": [{"direction": "left"}], "ExpectedCalibrationError": [{"bins": 0}, {"strategy": "x"}],
        "ROCAUC": [{"buckets": 1}, {"sample": 0}, {"zero_division": 0.5}, {"pos_label": NAN}],
        "LogLoss": [{"pos_label": NAN}],
    }  # fmt: skip
    all_refused(
        (partial(CLASSES[name], **options), ValueError, next(iter(options)))
        for name, given in refusals.items()
        for options in given
    )
    refused(lambda: sm.GeneralF1("power"), ValueError, "`p`")
    refused(lambda: sm.Accuracy(zero_division=0.5), ValueError, "`zero_division` to be 0.0, 1.0 or nan, but got 0.5")
    for k in (11, 2.0):
        refused(partial(sm.TopKAccuracy, k=k), ValueError, f"`k` to be a whole number from 1 to 10, but got {k}")  # type: ignore[arg-type]


@pytest.mark.quick
def test_zero_division_replaces_an_undefined_value() -> None:
    """Without samples 0/0 is `zero_division`, a float; without it nan for scores, and every key is undefined."""
    with every_case() as case:
        for name in ("Precision", "MCC", "MacroF1", "BalancedAccuracy", *SCORED):
            for instead in (0.0, 1.0, NAN, 0, 1, *([None] if name in SCORED else [])):
                with case(f"{name} {instead}"):
                    metric = make(name, **({} if instead is None else {"zero_division": instead}))
                    assert type(metric.get()) is float
                    assert same(metric.get(), NAN if instead is None else instead)
                    if name in SCORED:  # no class has occurred
                        assert metric.snapshot().undefined == tuple(metric.snapshot())
                        assert INFO[name].kind != "whole" or metric.key in (*metric.snapshot().undefined, *OPTIONAL)


OPTIONAL = {info.key for info in INFO.values() if info.key not in sm.MetricSet(scores=True).snapshot()}


@pytest.mark.quick
def test_a_snapshot_of_one_metric_names_what_its_state_lacks() -> None:
    """The snapshot lists and writes what its state can compute; a KeyError says what other keys need."""
    with every_case() as case:
        for name in SCORED:
            with case(name):
                snapshot = fed(make(name, **of_class(name, "b")), SCORES).snapshot()
                ranks = type(make(name).state) is sm.RankSketch
                present, absent = ("roc_auc_ovr", "log_loss")[:: 1 if ranks else -1]
                assert snapshot.to_dict()["n"] == snapshot.n == 7
                assert snapshot.abstained == 2
                assert isinstance(snapshot.to_json(), str)
                assert present in snapshot
                for key, lacks, instead in (
                    ("accuracy", "labels, but this snapshot is of scores only", ""),
                    ("confidence_auc", "probabilities of all classes", "MetricSet(scores=True)"),
                    (absent, "", "MetricSet"),
                ):
                    error = refused(lambda: snapshot[key], KeyError, f"'{key}' needs {lacks}")  # noqa: B023
                    assert instead in str(error)


@pytest.mark.quick
def test_repr_shows_the_value() -> None:
    """The repr has name and value; `k` of a metric stays a whole number through bytes."""
    top = fed(sm.TopKAccuracy(1), SCORES)
    assert type(sm.from_bytes(top.to_bytes()).k) is int
    assert top.get() == top.snapshot()["top_k_accuracy"] == sm.from_bytes(top.to_bytes()).get()
    assert repr(fed(sm.Accuracy(), LABELS)) == "Accuracy: 0.625"
    assert repr(sm.ZeroOneLoss()) == f"ZeroOneLoss: {sm.ZeroOneLoss().get():.6g}"
    assert repr(fed(sm.ROCAUC(), BINARY_SCORES)) == f"ROCAUC: {6.5 / 9:.6g}"  # 3 + 2.5 + 1 of 9 pairs
    assert repr(sm.CrossEntropy()) == "LogLoss: nan"
