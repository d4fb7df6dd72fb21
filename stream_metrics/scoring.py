"""Scorers for scikit-learn: a metric by its key, as `cross_val_score` and `GridSearchCV` take it.

scikit-learn is imported only if it asks a scorer which metadata it wants.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stream_metrics.catalog.table import find
from stream_metrics.errors import ScoreError
from stream_metrics.metrics.metric_set import metric_of_key
from stream_metrics.states.losses import ProbabilityLosses

__all__ = ["Scorer", "scorer"]

SURE = ("losses", "confidence")  # states that only probabilities can feed


class Scorer:
    """A function of a fitted model and data to a number, larger for better models; made by `scorer`.

    Parameters
    ----------
    key : str
        The key of the metric.
    **options : Any
        The options of its class.

    Notes
    -----
    It can be copied, pickled and sent to other processes. With scikit-learn's metadata routing,
    `set_score_request(sample_weight=True)` asks for weights.
    """

    def __init__(self, key: str, **options: Any) -> None:
        row = find(key)
        if row.direction is None:
            raise ValueError(f"Expected a metric of which more or less is better, but {row.key!r} has no direction")
        self.key, self.options = row.key, options
        self._sign = 1 if row.direction == "higher" else -1
        self._requested: dict[str, Any] = {"sample_weight": None}
        self._empty = metric_of_key(row.key, **options)

    def __call__(self, estimator: Any, X: Any, y_true: Any, sample_weight: Any = None) -> float:
        """Return the score of a model.

        Parameters
        ----------
        estimator : estimator of scikit-learn
            A fitted classifier.
        X : array-like
            What the model predicts from.
        y_true : array-like of shape (n,)
            True labels.
        sample_weight : array-like of shape (n,), optional
            Weights >= 0; 1 for every sample by default.

        Returns
        -------
        float
            The value; negated if lower is better.

        Raises
        ------
        ScoreError
            If the metric reads scores and the model has none, or those of pairs of classes only.
        LabelError
            If a label is not allowed.
        """
        counts = self._empty.copy()
        if find(self.key).state == "counts":
            counts.update_many(y_true, estimator.predict(X), sample_weight)
        else:
            table, classes = self._scores(estimator, X)
            if isinstance(counts.state, ProbabilityLosses):  # all classes are known
                counts._attach(ProbabilityLosses(counts.state.pos_label, classes))
            counts.update_many(y_true, scores=table, w=sample_weight, classes=classes)
        value = counts.get()
        return self._sign * float(value[self.key] if isinstance(value, dict) else value)

    def _scores(self, estimator: Any, X: Any) -> tuple[Any, list[Any]]:
        """Return a column of scores for each class, and the classes."""
        methods = ["predict_proba"] if find(self.key).state in SURE else ["predict_proba", "decision_function"]
        method = next((name for name in methods if hasattr(estimator, name)), None)
        if method is None or not hasattr(estimator, "classes_"):
            expected = f"to have `classes_` and {' or '.join(methods)}, which {self.key!r} reads"
            raise ScoreError(argument="estimator", expected=expected, but=f"got {type(estimator).__name__}")
        table = np.asarray(getattr(estimator, method)(X))
        classes = np.asarray(estimator.classes_).tolist()
        if method == "decision_function" and len(classes) > 2 and _compares_pairs(estimator):
            but = "got one for each pair of classes, of decision_function_shape='ovo'"
            raise ScoreError(argument="estimator", expected="to have a score for each class", but=but)
        return (np.column_stack([-table, table]) if table.ndim == 1 else table), classes

    def set_score_request(self, *, sample_weight: bool | str | None) -> Scorer:
        """Say whether scikit-learn's metadata routing passes weights.

        Parameters
        ----------
        sample_weight : bool or str or None
            True passes them, a text names the metadata to pass as weights, False passes none, and None, the default,
            makes scikit-learn raise if weights are given.

        Returns
        -------
        Scorer
            This scorer.
        """
        self._requested = {"sample_weight": sample_weight}
        return self

    def get_metadata_routing(self) -> Any:
        """Return what scikit-learn's metadata routing passes.

        Returns
        -------
        MetadataRequest
            The request.
        """
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        for name, alias in self._requested.items():
            request.score.add_request(param=name, alias=alias)
        return request

    def _accept_sample_weight(self) -> bool:
        """Tell scikit-learn, which asks every scorer, that this one takes weights."""
        return True

    def __repr__(self) -> str:
        return f"scorer({', '.join([repr(self.key), *(f'{name}={value!r}' for name, value in self.options.items())])})"


def _compares_pairs(estimator: Any) -> bool:
    """Tell whether columns of `decision_function` are pairs of classes; of three classes there are three pairs."""
    model = getattr(estimator, "best_estimator_", estimator)
    options = model.get_params() if hasattr(model, "get_params") else {}
    return any(name.endswith("decision_function_shape") and value == "ovo" for name, value in options.items())


def scorer(key: str, **options: Any) -> Scorer:
    """Return a scorer for scikit-learn: `cross_val_score(model, X, y, scoring=sm.scorer("macro_f1"))`.

    Parameters
    ----------
    key : str
        A key of the catalog or an alias; see `metrics()`.
    **options : Any
        Options of the class of the metric, such as `pos_label`, `beta` or `zero_division`.

    Returns
    -------
    Scorer
        A function of (estimator, X, y, sample_weight=None). Of a metric that is better when smaller, such as
        `log_loss`, it returns the negative value, as scorers of scikit-learn do.

    Raises
    ------
    UnknownMetricError
        If the key is not in the catalog.
    ValueError
        If the metric is not one number, has no better direction, or an option does not fit.

    Notes
    -----
    Metrics of labels read `predict`. All others read `predict_proba`, with the classes that the model names, or
    `decision_function` where only the order of scores matters. Classes keep their names, so text needs no encoding;
    metrics of one class take `pos_label`, 1 or True by default.

    Examples
    --------
    >>> import stream_metrics as sm
    >>> from sklearn.dummy import DummyClassifier
    >>> model = DummyClassifier().fit([[0], [1], [2]], ["ham", "ham", "spam"])
    >>> score = sm.scorer("recall", pos_label="ham")
    >>> score(model, [[3], [4]], ["ham", "spam"])
    1.0
    """
    return Scorer(key, **options)
