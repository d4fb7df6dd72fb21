"""Scorers for scikit-learn: the values of its own, in cross-validation and searches, with weights, text and margins."""

from __future__ import annotations

import copy
import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn")

from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, make_scorer, precision_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from support.cases import every_case
from support.refusals import all_refused, refused

import stream_metrics as sm

X, CODES = make_classification(240, n_informative=5, n_classes=3, random_state=0)
TEXT = np.array(["ant", "bee", "cat"])[CODES]
BINARY = (CODES == 1).astype(int)
WEIGHTS = np.random.default_rng(0).random(240)
MODEL = LogisticRegression(max_iter=1000)


def test_values_are_those_of_scikit_learn() -> None:
    """Each fold has the score of scikit-learn's own scorer, also for text, losses, margins and pipelines."""
    keys = {
        "macro_f1": "f1_macro", "accuracy": "accuracy", "log_loss": "neg_log_loss", "roc_auc_ovr": "roc_auc_ovr",
        "roc_auc_ovo": "roc_auc_ovo", "mcc": "matthews_corrcoef",
    }  # fmt: skip
    areas = {"roc_auc": "roc_auc"}
    binary = [(model, BINARY, areas) for model in (LinearSVC(), MODEL, make_pipeline(StandardScaler(), MODEL))]
    with every_case() as case:
        for model, y, scorers in [(MODEL, CODES, keys), (MODEL, TEXT, keys), *binary]:
            scoring: Any = {key: sm.scorer(key) for key in scorers}
            scores = cross_validate(model, X, y, scoring=scoring | {f"their {key}": scorers[key] for key in scorers})
            for key in scorers:
                with case((model, key, y.dtype)):
                    assert scores[f"test_{key}"] == pytest.approx(scores[f"test_their {key}"], rel=1e-9)


def test_the_class_of_a_metric_of_one_class() -> None:
    """`pos_label` names it; without it text is refused, as it may not be the class that is meant."""
    fitted = MODEL.fit(X, TEXT)
    theirs = make_scorer(precision_score, average=None, labels=["bee"])(fitted, X, TEXT)
    first, second = (np.where(CODES == 0, "no", "yes"), np.where(CODES == 0, "yes", "no"))

    assert sm.scorer("precision", pos_label="bee")(fitted, X, TEXT) == pytest.approx(theirs.item())
    refused(lambda: sm.scorer("precision")(fitted, X, TEXT), sm.LabelError, "pos_label")
    # "yes" is the class of positive margins in both, as "no" sorts before it
    areas = [sm.scorer("roc_auc", pos_label="yes")(LinearSVC().fit(X, y), X, y) for y in (first, second)]
    assert min(areas) > 0.8
    other = sm.scorer("roc_auc", pos_label="no")(LinearSVC().fit(X, first), X, first)
    assert other == pytest.approx(areas[0])


def test_searches_with_several_scorers() -> None:
    """A grid search refits by one of them; its clone has equal scorers."""
    scoring = {"f1": sm.scorer("macro_f1"), "loss": sm.scorer("log_loss"), "theirs": "accuracy"}
    search = GridSearchCV(MODEL, {"C": [0.01, 1.0]}, scoring=scoring, refit="f1", cv=3).fit(X, TEXT)
    theirs = GridSearchCV(MODEL, {"C": [0.01, 1.0]}, scoring="f1_macro", cv=3).fit(X, TEXT)

    assert search.best_score_ == pytest.approx(theirs.best_score_)
    assert search.best_params_ == theirs.best_params_
    assert (search.cv_results_["mean_test_loss"] < 0).all()
    assert repr(clone(search).scoring["f1"]) == "scorer('macro_f1')"


def test_copies_pickles_processes_and_weights() -> None:
    """A scorer travels to other processes; weights count exactly as scikit-learn's."""
    score = sm.scorer("fbeta", beta=2.0, pos_label="ant")
    fitted = MODEL.fit(X, TEXT)

    values = {twin(fitted, X, TEXT) for twin in (score, copy.deepcopy(score), pickle.loads(pickle.dumps(score)))}
    assert len(values) == 1
    parallel = cross_val_score(MODEL, X, TEXT, scoring=score, n_jobs=2)
    assert parallel.tolist() == cross_val_score(MODEL, X, TEXT, scoring=score).tolist()
    theirs = f1_score(TEXT, fitted.predict(X), average="macro", sample_weight=WEIGHTS)
    assert sm.scorer("macro_f1")(fitted, X, TEXT, sample_weight=WEIGHTS) == pytest.approx(theirs)
    assert sm.scorer("macro_f1")(fitted, X, TEXT) != pytest.approx(theirs)


@config_context(enable_metadata_routing=True)
def test_metadata_routing() -> None:
    """Weights that are requested reach the scorer, alone and among several; others raise, or are not passed."""
    model = GaussianNB().set_fit_request(sample_weight=True)

    def folds(scoring: Any) -> Any:
        results = cross_validate(model, X, TEXT, params={"sample_weight": WEIGHTS}, scoring=scoring)
        return results.get("test_score", results.get("test_f1"))

    theirs = make_scorer(f1_score, average="macro")
    for wanted in (True, False):
        expected = folds(copy.deepcopy(theirs).set_score_request(sample_weight=wanted))
        ours = sm.scorer("macro_f1").set_score_request(sample_weight=wanted)
        assert folds(ours) == pytest.approx(expected)
        assert folds({"f1": ours, "more": copy.deepcopy(ours)}) == pytest.approx(expected)
    with pytest.raises(UnsetMetadataPassedError):
        folds(sm.scorer("macro_f1"))
    requested = sm.scorer("macro_f1").set_score_request(sample_weight=True)
    search = GridSearchCV(model, {"var_smoothing": [1e-9]}, scoring=requested)
    search.fit(X, TEXT, sample_weight=WEIGHTS)
    assert search.best_score_ == pytest.approx(folds(theirs.set_score_request(sample_weight=True)).mean())


class Rude(ClassifierMixin, BaseEstimator):
    """A classifier that only predicts, always the same."""

    def fit(self, X: Any, y: Any) -> Rude:
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.repeat(self.classes_[:1], len(X))


def test_what_cannot_be_scored() -> None:
    """A model without scores, a loss of margins, and metrics without direction or value are refused by name."""
    rude, margins = Rude().fit(X, TEXT), LinearSVC().fit(X, TEXT)
    all_refused([
        (lambda: sm.scorer("roc_auc_ovr")(rude, X, TEXT), sm.ScoreError, "to have `classes_` and predict_proba or "),
        (lambda: sm.scorer("log_loss")(margins, X, TEXT), sm.ScoreError, "which 'log_loss' reads, but got LinearSVC"),
        (lambda: sm.scorer("prevalence"), ValueError, "'prevalence' has no direction"),
        (lambda: sm.scorer("power_mean_four_rates"), ValueError, "one for each class"),
        (lambda: sm.scorer("macro_f"), sm.UnknownMetricError, "macro_f1"),
        (lambda: sm.scorer("macro_f1", betta=2), TypeError, ""),
    ])  # fmt: skip
    theirs = f1_score(TEXT, np.repeat("ant", 240), average="macro")
    assert sm.scorer("macro_f1")(rude, X, TEXT) == pytest.approx(theirs)


def test_scores_of_pairs_of_classes_are_no_scores_of_classes() -> None:
    """Three classes have as many pairs, so the number of columns does not tell that they are pairs."""
    pairs = make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo"))
    search = GridSearchCV(SVC(), {"decision_function_shape": ["ovo"]}, scoring="accuracy", cv=2)
    for model in (pairs, search):
        fitted = model.fit(X, TEXT)
        assert fitted.decision_function(X).shape[1] == len(fitted.classes_) == 3
        score = partial(sm.scorer("roc_auc_ovr"), fitted, X, TEXT)
        refused(score, sm.ScoreError, "a score for each class, but got one for each pair")
        assert sm.scorer("accuracy")(fitted, X, TEXT) == fitted.score(X, TEXT)
    two = X[TEXT != "ant"], TEXT[TEXT != "ant"]
    binary = SVC(decision_function_shape="ovo").fit(*two)
    expected = roc_auc_score(two[1] == binary.classes_[1], binary.decision_function(two[0]))
    assert sm.scorer("roc_auc", pos_label=binary.classes_[1].item())(binary, *two) == pytest.approx(expected)
