"""Every API of river that takes a metric, with our metrics."""

from __future__ import annotations

import copy
import inspect
import pickle
import random
from functools import partial
from itertools import product
from typing import Any

import pytest
from river import (
    active,
    anomaly,
    bandit,
    base,
    checks,
    cluster,
    datasets,
    ensemble,
    evaluate,
    forest,
    linear_model,
    metrics,
    model_selection,
    multioutput,
    naive_bayes,
    tree,
    utils,
)  # fmt: skip
from support.refusals import refused
from support.river_outcomes import every_class, fed, logistic, outcomes, phishing

import stream_metrics as sm
from stream_metrics.integrations.river import RiverMetric, as_river


def test_evaluation_agrees_with_river() -> None:
    """`progressive_val_score` gives river's value, with all labels, delayed ones, and those that a learner asks for."""
    for ours, theirs in [
        (sm.Accuracy(), metrics.Accuracy()),
        (sm.F1(), metrics.F1()),
        (sm.MCC(), metrics.MCC()),
        (sm.CohenKappa(), metrics.CohenKappa()),
        (sm.LogLoss(), metrics.LogLoss()),
        (sm.MetricSet(scores=True), metrics.Accuracy()),
    ]:
        for make, how in [
            (logistic, {}),
            (logistic, {"delay": 30}),
            (lambda: active.EntropySampler(logistic(), discount_factor=3, seed=1), {}),
        ]:
            expected = evaluate.progressive_val_score(phishing(150), make(), theirs.clone(), **how).get()
            for metric in (as_river(ours), ours.clone())[: 1 if isinstance(ours, sm.MetricSet) else 2]:
                assert evaluate.progressive_val_score(phishing(150), make(), metric, **how) is metric
                assert metric.get() == pytest.approx(expected, abs=1e-9), (metric, how)


def test_steps_name_each_metric() -> None:
    """Step dicts have an entry for each metric, also for two of one class with different options."""
    both = as_river(sm.FBeta(0.5)) + as_river(sm.FBeta(2.0)) + as_river(sm.Recall(pos_label=False))
    steps = [
        (step["Step"], set(step), step["FBeta(beta=2.0)"].snapshot().n)
        for step in evaluate.iter_progressive_val_score(phishing(100), logistic(), both, step=40)
    ]

    names = {"FBeta(beta=0.5)", "FBeta(beta=2.0)", "Recall(pos_label=False)", "Step"}
    assert steps == [(40, names, 40), (80, names, 80), (100, names, 100)]


def test_plus_composes_on_either_side() -> None:
    """`+` makes a list of metrics, on either side, each fed with labels or probabilities; clones are empty."""
    lists = [
        as_river(sm.MCC()) + metrics.Accuracy(),
        metrics.Accuracy() + as_river(sm.MCC()),
        metrics.Accuracy() + as_river(sm.ROCAUC()) + as_river(sm.MCC()),
        as_river(sm.LogLoss()) + metrics.Accuracy() + metrics.LogLoss(),
        metrics.base.Metrics([sm.LogLoss(), sm.MCC(), metrics.LogLoss()]),
    ]
    for both in lists:
        assert isinstance(both, metrics.base.Metrics)
        assert both.works_with(logistic())
        evaluate.progressive_val_score(phishing(), logistic(), both)
        again = both.clone()
        assert [m.get() for m in again] != both.get()
        assert evaluate.progressive_val_score(phishing(), logistic(), again).get() == both.get()
    assert lists[0].get() == lists[1].get()[::-1]
    assert lists[4].get()[0] == pytest.approx(lists[4].get()[2], abs=1e-9)
    assert lists[3].get()[0] == pytest.approx(lists[3].get()[2], abs=1e-9)


def test_selection_is_that_of_river() -> None:
    """Successive halving and bandits choose as they do by river's own accuracy."""

    def models() -> list[Any]:
        return [naive_bayes.GaussianNB(), tree.HoeffdingTreeClassifier(grace_period=20), logistic(), logistic()]

    def halving(metric: Any) -> Any:
        return model_selection.SuccessiveHalvingClassifier(models(), metric, budget=600)

    def choosing(metric: Any) -> Any:
        policy = bandit.EpsilonGreedy(epsilon=0.1, decay=0.001, burn_in=20, seed=1)
        return model_selection.BanditClassifier(models(), metric, policy)

    for metric, selector in product((sm.Accuracy(), as_river(sm.Accuracy())), (halving, choosing)):
        ours, theirs = selector(metric.clone()), selector(metrics.Accuracy())
        for x, y in phishing():
            assert ours.predict_proba_one(x) == theirs.predict_proba_one(x)
            ours.learn_one(x, y)
            theirs.learn_one(x, y)
        assert ours.clone().metric.get() == 0.0
        assert selector is halving or ours.policy.ranking == theirs.policy.ranking


def test_selection_by_probabilities() -> None:
    """Halving by a loss or a ranking keeps the better model, and bears predictions of models that know nothing."""
    for candidate in (sm.LogLoss(), as_river(sm.LogLoss()), sm.ROCAUC(), as_river(sm.ROCAUC())):
        models = [linear_model.LogisticRegression(l2=100.0), logistic(), tree.HoeffdingTreeClassifier()]
        chooser = model_selection.SuccessiveHalvingClassifier(models, candidate, budget=900)
        for x, y in phishing(400):
            chooser.learn_one(x, y)
        assert chooser.best_model is models[1]


class Abstaining(metrics.Accuracy):
    """River's accuracy, without the class None that it makes of the first prediction of a tree."""

    def update(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        if y_pred is not None:
            super().update(y_true, y_pred, w)


def test_forests_vote_as_with_river() -> None:
    """ARF and SRP predict as they do with river's own accuracy, to the bit."""

    def forests(metric: Any) -> list[Any]:
        leaf = tree.HoeffdingTreeClassifier(grace_period=20)
        return [forest.ARFClassifier(3, metric=metric, seed=7), ensemble.SRPClassifier(leaf, 3, metric=metric, seed=7)]

    for ours, live, theirs in zip(
        forests(as_river(sm.Accuracy())), forests(sm.Accuracy()), forests(Abstaining()), strict=True
    ):  # fmt: skip
        for x, y in phishing(150):
            expected = theirs.predict_proba_one(x)
            assert ours.predict_proba_one(x) == live.predict_proba_one(x) == expected
            for model in (ours, live, theirs):
                model.learn_one(x, y)


def test_forests_take_metrics_of_probabilities() -> None:
    """ARF gives probabilities to an adapter that asks for them; SRP gives labels, which are refused unless numbers."""
    model = forest.ARFClassifier(2, metric=as_river(sm.MacroROCAUC(), undefined=0.0), seed=7)
    segments = list(datasets.ImageSegments().take(60))
    evaluate.progressive_val_score(segments, model, as_river(sm.MacroF1()))
    assert all(m.snapshot().scored > 0 for m in vars(model)["_metrics"])

    patches = ensemble.SRPClassifier(tree.HoeffdingTreeClassifier(), 2, metric=as_river(sm.MacroROCAUC()), seed=7)
    with pytest.raises(sm.ScoreError):
        evaluate.progressive_val_score(segments, patches, as_river(sm.MacroF1()))


def test_several_outputs() -> None:
    """`MacroAverage` keeps a copy for each output and takes it back."""
    average = metrics.multioutput.MacroAverage(as_river(sm.F1()))
    theirs = metrics.multioutput.MacroAverage(metrics.F1())
    chain = multioutput.ClassifierChain(naive_bayes.GaussianNB(), ["a", "b"])
    assert average.works_with(chain)
    assert not average.works_with(naive_bayes.GaussianNB())

    rolled = utils.Rolling(metrics.multioutput.MacroAverage, 20, metric=as_river(sm.F1()))
    samples = [(truth, max(p, key=p.get, default=False)) for truth, p in outcomes()]
    pairs = [({"a": t, "b": not t}, {"a": p, "b": True}) for t, p in samples]
    for truth, predicted in pairs:
        for metric in (average, theirs, rolled):
            metric.update(truth, predicted)
        assert average.get() == pytest.approx(theirs.get(), abs=1e-9)
    last = metrics.multioutput.MacroAverage(as_river(sm.F1()))
    for truth, predicted in pairs[-20:]:
        last.update(truth, predicted)
    assert rolled.get() == last.get()
    assert "MacroAverage(F1)" in repr(average)


def test_a_forest_that_holds_one_passes_the_checks_of_river() -> None:
    """Pickling, cloning and printing a model that holds a metric of ours: river's own checks of an estimator."""
    for metric in (sm.MCC(), as_river(sm.MCC())):
        model, ran = forest.ARFClassifier(1, metric=metric, seed=1), 0
        for check in checks.yield_checks(model):
            if not hasattr(check, "keywords") and "dataset" not in inspect.signature(check).parameters:
                check(model.clone())
                ran += 1
        assert ran > 10
        for check in (checks.common.check_pickling, checks.common.check_clone_is_independent):
            check(model.clone(), list(phishing(40)))


def test_models_without_classes() -> None:
    """Rankings take the score of a detector, an int 0 at first, and the class of a filter; labels take clusters."""
    shuttle = [(x, bool(y)) for x, y in datasets.Shuttle().take(600)]
    detector = anomaly.HalfSpaceTrees(n_trees=3, height=3, window_size=50, seed=1)
    caught = anomaly.QuantileFilter(detector.clone(), q=0.9)
    assert isinstance(detector, base.AnomalyDetector)

    areas = [
        evaluate.progressive_val_score(shuttle, detector.clone(), metric).get()
        for metric in (sm.ROCAUC(), as_river(sm.ROCAUC()), as_river(sm.MetricSet(scores=True), "roc_auc"))
    ]
    assert areas[0] == areas[1] == areas[2]
    exact = metrics.ROCAUC(n_thresholds=2000)
    assert areas[0] == pytest.approx(evaluate.progressive_val_score(shuttle, detector.clone(), exact).get(), abs=2e-3)
    assert evaluate.progressive_val_score(shuttle, caught, as_river(sm.ROCAUC())).get() > 0.5
    for other in (sm.Accuracy(), sm.LogLoss(), as_river(sm.ProbabilityLosses()), as_river(sm.MetricSet())):
        assert not other.works_with(detector)
    assert sm.CramersV().works_with(cluster.KMeans())
    assert as_river(sm.MetricSet(), "cramers_v").works_with(cluster.KMeans())
    assert not sm.ROCAUC().works_with(cluster.KMeans())


def test_sets_and_windows_are_evaluated_as_they_are() -> None:
    """They count what the adapter counts, scores if they have some; groups and states name the adapter."""

    def evaluated(metric: Any) -> Any:
        return evaluate.progressive_val_score(datasets.Phishing(), linear_model.LogisticRegression(), metric)

    for make, n in [
        (sm.MetricSet, 1250),
        (lambda: sm.MetricSet(scores=True), 1250),
        (lambda: sm.Rolling(sm.MCC(), 100), 100),
        (lambda: sm.Rolling(sm.ROCAUC(), 100), 100),
        (lambda: sm.TimeWindow(sm.MetricSet(scores=True), "1h"), 1250),
        (lambda: sm.Fading(sm.LogLoss(), 100), None),
    ]:
        plain, adapted = evaluated(make()), evaluated(as_river(make()))
        if not isinstance(plain, sm.TimeWindow):  # panes follow the clock
            assert plain.to_bytes() == adapted.live.to_bytes()
        assert plain.n == (adapted.live.n if n is None else n)
        assert not plain.works_with(linear_model.LinearRegression())
    for other in (sm.ByGroup(sm.MCC()), sm.TimeWindow(sm.ConfusionMatrix(), "1h")):
        refused(partial(evaluated, other), TypeError, "as_river")


def test_a_window_of_river_is_a_fresh_metric() -> None:
    """River's windows of weighted samples hold a new metric that was fed the window, alone and in the adapter."""
    rng = random.Random(1)
    for labels, weights in [(["ant", "bee", "cat"], [0.1, 0.2, 0.7, 1 / 3, 0.0]), ([0, 1, 2], [0, 1, 2, 3])]:
        for (name, cls, options), size in product(every_class(labels), (1, 5)):
            window, adapted = (
                utils.Rolling(cls, size, **options),
                utils.Rolling(RiverMetric, size, metric=cls(**options)),
            )
            stream: list[tuple[Any, ...]] = []
            for at in range(20):
                parts = [rng.choice([1, 1, 2, 5]) for _ in labels]
                p_of = {label: part / sum(parts) for label, part in zip(labels, parts, strict=True)}
                y_pred = rng.choice(labels) if cls.requires_labels else p_of
                stream.append((rng.choice(labels), y_pred, rng.choice(weights)))
                for metric in (window, adapted):
                    metric.update(*stream[-1])
                fresh = cls(**options)
                for row in stream[max(0, at + 1 - size) :]:
                    fresh.update(*row)
                assert window.obj.to_bytes() == fresh.to_bytes(), name
            assert adapted.obj.live == window.obj


def test_every_metric_has_what_river_touches() -> None:
    """Every class has keyword updates, a float, `works_with`, and copies and pickles with its value and its future."""
    for adapt, (name, cls, options) in product((False, True), every_class([True, False])):
        empty = as_river(cls(**options)) if adapt else cls(**options)
        metric = fed(empty.clone(), outcomes())
        value, later = metric.get(), fed(empty.clone(), [*outcomes(), *outcomes()[:9]]).get()

        assert metric.works_with(logistic()) is True
        assert metric.works_with(linear_model.LinearRegression()) is False
        assert metric.works_with_weights is True
        assert isinstance(metric.bigger_is_better, bool)
        assert isinstance(metric.is_better_than(metric), bool)
        assert isinstance(value, int | float)
        assert value == value or not adapt
        assert repr(metric).startswith(type(metric).__name__)
        for twin in (pickle.loads(pickle.dumps(metric)), copy.deepcopy(metric), metric.clone(include_attributes=True)):
            assert type(twin) is type(metric)
            assert (repr(twin), repr(twin.get())) == (repr(metric), repr(value)), name
            assert repr(fed(twin, outcomes()[:9]).get()) == repr(later), name
        clone = metric.clone()
        assert type(clone) is type(metric)
        assert repr(clone.get()) == repr(empty.get())
        assert repr(fed(clone, outcomes()).get()) == repr(value)
        for truth, probabilities in outcomes()[::-1]:
            y_pred = max(probabilities, key=probabilities.get) if metric.requires_labels else probabilities
            metric.revert(y_true=truth, y_pred=y_pred)
        assert repr(metric.get()) == repr(empty.get()), name
