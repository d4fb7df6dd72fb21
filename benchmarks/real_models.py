"""Scores of real classifiers on real data, for `real_scores.py`; nothing is downloaded.

The data sets come with scikit-learn (digits, breast cancer, wine, iris) and with river (Phishing, Bananas,
ImageSegments, Shuttle). Every score is that of a sample which the model has not learned from: by five-fold
cross-validation, repeated with other folds, or by testing each sample and then learning from it, repeated in other
orders. So a small set gives a score for each sample and repetition. Only the isolation forest has seen the samples it
scores; like the other anomaly score, it knows no labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from river import anomaly, datasets, linear_model, naive_bayes, preprocessing, tree
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import GradientBoostingClassifier, IsolationForest, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, minmax_scale
from sklearn.svm import SVC

Array = np.ndarray[Any, Any]
Make = Callable[[int], Any]


class Scores(NamedTuple):
    """The true classes of some samples, and what a model said: one score, or one for each of the classes."""

    data: str
    model: str
    truth: Array
    scores: Array
    classes: list[Any] | None


class Centroids(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Cosine similarity of a sample to the mean of every class."""

    def fit(self, x: Array, y: Array) -> Self:
        """Take the means."""
        self.classes_ = np.unique(y)
        means = np.array([x[y == label].mean(axis=0) for label in self.classes_])
        self.means_ = means / np.linalg.norm(means, axis=1, keepdims=True)
        return self

    def decision_function(self, x: Array) -> Array:
        """Return the similarities."""
        similarities: Array = x @ self.means_.T / np.linalg.norm(x, axis=1, keepdims=True)
        return similarities

    def predict(self, x: Array) -> Array:
        """Return the class of the most similar mean."""
        nearest: Array = self.classes_[self.decision_function(x).argmax(axis=1)]
        return nearest


def folded(data: str, model: str, load: Any, make: Make, times: int, method: str = "predict_proba") -> Scores:
    """Return scores by repeated cross-validation."""
    x, y = load(return_X_y=True) if callable(load) else load
    parts = []
    for seed in range(times):
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        parts.append(cross_val_predict(make(seed), x, y, cv=folds, method=method))
    scores, truth = np.concatenate(parts), np.tile(y, times)
    classes = np.unique(y).tolist()
    if len(classes) > 2:
        return Scores(data, model, truth, scores, classes)
    return Scores(data, model, truth == classes[1], scores if scores.ndim == 1 else scores[:, 1], None)


def streamed(stream: Any, model: str, make: Callable[[], Any], times: int) -> Scores:
    """Return scores by testing, then learning, over shuffled samples."""
    samples = list(stream)
    truth, said = [], []
    for seed in range(times):
        learner = make()
        for i in np.random.default_rng(seed).permutation(len(samples)):
            x, y = samples[i]
            said.append(learner.predict_proba_one(x))
            truth.append(y)
            learner.learn_one(x, y)
    classes = sorted({y for _, y in samples})
    table = np.array([[row.get(label, 0.0) for label in classes] for row in said], np.float64)
    name = type(stream).__name__
    if len(classes) > 2:
        return Scores(name, model, np.array(truth), table, classes)
    return Scores(name, model, np.array(truth) == classes[1], table[:, 1], None)


def arrays(stream: Any) -> tuple[Array, Array]:
    """Return a stream of river as features and classes."""
    samples = list(stream)
    return np.array([list(x.values()) for x, _ in samples], np.float64), np.array([y for _, y in samples])


def half_space_trees() -> Scores:
    """Return the anomaly scores of river's half-space trees on the first part of Shuttle."""
    x, y = arrays(datasets.Shuttle())
    model, said = anomaly.HalfSpaceTrees(seed=1), []
    for row in minmax_scale(x[:30_000]).tolist():
        sample = dict(enumerate(row))
        said.append(model.score_one(sample))
        model.learn_one(sample)
    return Scores("Shuttle", "half-space trees", y[: len(said)] == 1, np.array(said), None)


def isolation_forest() -> Scores:
    """Return the anomaly scores of an isolation forest on Shuttle."""
    x, y = arrays(datasets.Shuttle())
    return Scores("Shuttle", "isolation forest", y == 1, -IsolationForest(random_state=1).fit(x).score_samples(x), None)


def logistic(seed: int) -> Any:
    """Return logistic regression on standardised features."""
    return make_pipeline(StandardScaler(), LogisticRegression(C=0.3, max_iter=200, random_state=seed))


def forest(seed: int) -> Any:
    """Return a random forest."""
    return RandomForestClassifier(100, random_state=seed)


def naive(_seed: int) -> Any:
    """Return naive Bayes with normal features."""
    return GaussianNB()


def boosted(seed: int) -> Any:
    """Return gradient boosting that draws its rows."""
    return GradientBoostingClassifier(n_estimators=60, subsample=0.7, random_state=seed)


def margin(_seed: int) -> Any:
    """Return a support vector machine with the usual kernel."""
    return make_pipeline(StandardScaler(), SVC())


def river_logistic() -> Any:
    """Return river's logistic regression on standardised features."""
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


def real() -> Iterator[Scores]:
    """Yield the scores of every model."""
    bananas = arrays(datasets.Bananas())
    yield folded("digits", "naive Bayes", load_digits, naive, 20)
    yield folded("digits", "random forest", load_digits, forest, 3)
    yield folded("digits", "logistic regression", load_digits, logistic, 5)
    yield folded("digits", "SVM margins", load_digits, margin, 4, "decision_function")
    yield folded("digits", "cosine to centroid", load_digits, lambda _: Centroids(), 20, "decision_function")
    yield folded("breast cancer", "logistic regression", load_breast_cancer, logistic, 40)
    yield folded("breast cancer", "gradient boosting", load_breast_cancer, boosted, 6)
    yield folded("wine", "naive Bayes", load_wine, naive, 60)
    yield folded("iris", "logistic regression", load_iris, logistic, 60)
    yield folded("Bananas", "SVM margin", bananas, margin, 3, "decision_function")
    yield folded("Bananas", "random forest", bananas, forest, 1)
    yield streamed(datasets.Bananas(), "naive Bayes (river)", naive_bayes.GaussianNB, 4)
    yield streamed(datasets.Phishing(), "logistic regression (river)", river_logistic, 8)
    yield streamed(datasets.ImageSegments(), "Hoeffding tree (river)", tree.HoeffdingTreeClassifier, 4)
    yield isolation_forest()
    yield half_space_trees()
